/* SPDX-License-Identifier: MIT */
/*
 * arguments.h - entries of functions with their arguments, exits with their
 * results, and probes of <sys/sdt.h>: what their events look like, and what the
 * agent collects for them.
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
#include <sys/types.h>

#include <sonde/abi.h>

#include "probe/inject/probes.h"
#include "probe/inject/publish.h"

struct sonde_condition;
struct sonde_probe_marker;

/* Of a function; and of a probe of <sys/sdt.h>. */
#define SONDE_HOOKS_ARGUMENTS_MAX 6u
#define SONDE_HOOKS_ITEMS_MAX     12u
/* Of a text, at most. */
#define SONDE_HOOKS_TEXT_MAX 128u

struct sonde_hooks_arguments {
	struct sonde_desc *desc; /* aligned to 8 */
	size_t nr, nr_programs;
	struct sonde_agent_item items[SONDE_HOOKS_ITEMS_MAX];
	struct sonde_program *programs[SONDE_HOOKS_ITEMS_MAX];
	struct sonde_condition *condition; /* of an entry; NULL: none */
	struct sonde_publish_filter filter;
};

/* 0; -ENOMEM. *ret is NULL if the words know none, unless it is wanted in any
 * case. */
int sonde_hooks_arguments_make(const char *words, bool is_exit,
			       bool in_any_case, uint64_t function,
			       struct sonde_hooks_arguments **ret);
/*
 * Those of a probe of <sys/sdt.h>, whose event is sdt:PROVIDER:NAME, with arg1,
 * arg2 ... by the types that the compiler noted (types/sdt.h); those of which
 * `texts` has a bit are pointers to text, which is recorded. *ret_left: how many can't
 * be had where they are, and are left out. 0; -EINVAL (no event is called so);
 * -ENOMEM.
 */
int sonde_hooks_arguments_of_site(pid_t pid,
				  const struct sonde_probe_marker *marker,
				  uint32_t texts, unsigned int *ret_left,
				  struct sonde_hooks_arguments **ret);
/* An entry's, or a site's. 0; -EINVAL with one line in `error`; -ENOENT: it never holds;
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
