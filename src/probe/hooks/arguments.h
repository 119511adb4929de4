/* SPDX-License-Identifier: MIT */
/*
 * arguments.h - entries of functions with their arguments, and exits with their
 * results: what their events look like, and what the agent collects for them.
 *
 * The event is function:entry, or function:exit, whose first field is `addr`,
 * as without; then there is one for each argument, by its name (and a '_'
 * where it is called addr as well), or `result`. Numbers have 64 bits. So there
 * are as many events of that name as there are different lists of arguments.
 *
 * Which they are, signature.h says, in words that are checked here.
 *
 * A condition is over the fields of the entry's event, as those of -e are
 * (source/condition.h).
 */
#ifndef PROBE_HOOKS_ARGUMENTS_H
#define PROBE_HOOKS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "probe/inject/probes.h"
#include "probe/inject/publish.h"

struct sonde_condition;

#define SONDE_HOOKS_ARGUMENTS_MAX 6u
/* Of a text, at most. */
#define SONDE_HOOKS_TEXT_MAX 128u

struct sonde_hooks_arguments {
	struct sonde_desc *desc; /* aligned to 8 */
	size_t nr;               /* items, and programs */
	struct sonde_agent_item items[1 + SONDE_HOOKS_ARGUMENTS_MAX];
	struct sonde_program *programs[1 + SONDE_HOOKS_ARGUMENTS_MAX];
	struct sonde_condition *condition; /* of an entry; NULL: none */
	struct sonde_publish_filter filter;
};

/* 0; -ENOMEM. *ret is NULL if the words know none, unless it is wanted in any
 * case. */
int sonde_hooks_arguments_make(const char *words, bool is_exit,
			       bool in_any_case, uint64_t function,
			       struct sonde_hooks_arguments **ret);
/* An entry's. 0; -EINVAL with one line in `error`; -ENOENT: it never holds;
 * -ENOMEM. */
int sonde_hooks_arguments_filter(struct sonde_hooks_arguments *arguments,
				 const char *condition, char *error,
				 size_t error_size);
void sonde_hooks_arguments_free(struct sonde_hooks_arguments *arguments);

/* They are collected at that probe; borrowed by the spec. */
void sonde_hooks_arguments_collect(
	const struct sonde_hooks_arguments *arguments,
	struct sonde_probe_spec *spec);

#endif /* PROBE_HOOKS_ARGUMENTS_H */
