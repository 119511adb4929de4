/* SPDX-License-Identifier: MIT */
/*
 * filters.h - conditions of events in the traced process (ring/filters.h).
 *
 * Of one session: the one that SONDE_SESSION named when the process started.
 * Where it has no conditions, nothing here makes a system call. What is learnt
 * is the process's own and never forgotten; children of fork inherit it.
 *
 * Cost: one round trip for up to SONDE_FILTERS_ASK new events. A test by
 * native code takes 1 to 2 ns.
 */
#ifndef TRACER_FILTERS_H
#define TRACER_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "base/port.h"
#include "ring/cells.h"
#include "ring/control.h"
#include "ring/filters.h"

typedef bool sonde_filter_code(const void *payload,
			       const struct sonde_filter_whence *whence);

/* What is known of an event. `kind` is stored last. emit_x86_64.S knows where the
 * first two are, and how large it is. */
struct sonde_filter_known {
	/* NULL: use sonde_filter_test() */
	sonde_filter_code *code;
	/* Rows from where its only cell is in the first, once that is known and all
	 * that is tallied is the number of a field; `rows` is stored last */
	struct sonde_cells cells;
	uint32_t kind; /* enum sonde_filter_kind */
	uint8_t slot;  /* whose condition it is */
	bool asked;    /* there is no need to ask again */
	bool executable;
	const unsigned char *file;
	const struct sonde_filters_rule *filter;
	/* What is tallied of it; NULL: nothing */
	const struct sonde_filter_value *values;
	bool is_direct; /* all of it is in the first bytes of a payload */
	uint32_t cell;  /* its only one, once that is known; or 0 */
} __attribute__((aligned(128)));

_Static_assert(sizeof(struct sonde_filter_known) == 128 &&
		       offsetof(struct sonde_filter_known, code) == 0 &&
		       offsetof(struct sonde_filter_known, cells.rows) == 8,
	       "emit_x86_64.S");

/* By the event's index; NULL: nobody has conditions. */
extern SONDE_HIDDEN struct sonde_filter_known *sonde_filters;

/* The session that has just taken the arena; called once. */
SONDE_HIDDEN void sonde_filters_start(const char *session);

/* Whether events are to be asked about before their sites are enabled. */
SONDE_HIDDEN bool sonde_filters_wanted(void);

/* Ask about these entries. Several threads: the loader's lock, as with
 * sonde_register(). An event whose condition can't be had is not recorded. */
SONDE_HIDDEN void sonde_filters_learn(const uint32_t *index, uint32_t nr);

/* What is known of the event with that state word; NULL: it has no filter. */
static inline struct sonde_filter_known *sonde_filter_of(uint32_t state)
{
	struct sonde_filter_known *known;
	uint32_t index = state & ~(SONDE_STATE_GENERIC | SONDE_STATE_ALONE |
				   SONDE_STATE_STACKED);

	if (!(state & SONDE_STATE_GENERIC) || !sonde_filters ||
	    index >= SONDE_EVENTS_MAX)
		return NULL;
	known = &sonde_filters[index];
	/* Pairs with sonde_store_release in take_filter: all of it is there. */
	return sonde_load_acquire(&known->kind) ? known : NULL;
}

/* Whether the event is wanted. */
SONDE_HIDDEN bool sonde_filter_test(const struct sonde_filter_known *known,
				    const struct sonde_part *parts,
				    uint32_t nr_parts);

/* Those that are wanted of the event; the first is the value. */
SONDE_HIDDEN void
sonde_filter_numbers(const struct sonde_filter_known *known,
		     const struct sonde_part *parts, uint32_t nr_parts,
		     struct sonde_filter_number ret[SONDE_FILTER_VALUES]);

/* The same where known->is_direct. */
SONDE_HIDDEN void
sonde_filter_numbers_at(const struct sonde_filter_known *known,
			const unsigned char *payload,
			struct sonde_filter_number ret[SONDE_FILTER_VALUES]);

#endif /* TRACER_FILTERS_H */
