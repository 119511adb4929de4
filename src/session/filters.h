/* SPDX-License-Identifier: MIT */
/*
 * filters.h - which events of programs are recorded under which condition, and
 * the answer to a process that asks (ring/filters.h).
 *
 *	-e 'GLOB if CONDITION'	the last -e that matches an event decides about
 *				its condition
 *	--filter CONDITION	must hold besides, for all events
 *
 * A condition is compiled for each description by source/condition.h: to native
 * code where the generator can (expr/jit/jit.h), and always to a program. A
 * condition that doesn't fit an event (types) is a note in the summary, and the
 * event isn't recorded; a field that no event had is a note at the end.
 *
 * Bounds: what one arena may ask for is that many bytes of descriptions, and
 * one answer has SONDE_FILTERS_BYTES at most. One thread.
 */
#ifndef SESSION_FILTERS_H
#define SESSION_FILTERS_H

#include <stdint.h>

#include "ring/filters.h"
#include "session/arena.h"
#include "session/config.h"
#include "session/summary.h"

#define SONDE_FILTERS_BYTES (16u << 20)

struct sonde_condition; /* source/condition.h */
struct sonde_filters;

/* *ret_filters is NULL if there are no conditions. `config` is borrowed, and
 * so is `summary`, for notes. 0 or -errno. */
int sonde_filters_new(const struct sonde_session_config *config,
		      struct sonde_summary *summary,
		      struct sonde_filters **ret_filters);

/* The file for `ask`, which was received as it is, of the process with that
 * arena. 0 and a descriptor; -EPROTO, or another -errno. */
int sonde_filters_answer(struct sonde_filters *filters,
			 struct sonde_arena_view *view,
			 const struct sonde_filters_ask *ask, int *ret_fd);

/* What must hold for the event to be recorded, all of it in one; *ret_condition is NULL
 * if that is nothing. It is for sonde_condition_free(), and borrows `desc`. 0;
 * -EINVAL: it doesn't fit the event, which is told in the summary; -ENOMEM. */
int sonde_filters_condition(struct sonde_filters *filters,
			    const struct sonde_desc *desc,
			    struct sonde_condition **ret_condition);

/* Notes about what no event had. */
void sonde_filters_finish(struct sonde_filters *filters);

/* NULL is fine. */
void sonde_filters_free(struct sonde_filters *filters);

#endif /* SESSION_FILTERS_H */
