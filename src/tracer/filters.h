/* SPDX-License-Identifier: MIT */
/*
 * filters.h - conditions of events in the traced process (ring/filters.h).
 *
 * Of one session: the one that SONDE_SESSION named when the process started.
 * Where it has no conditions, nothing here makes a system call. What is learnt
 * is the process's own and never forgotten; children of fork inherit it.
 *
 * Cost: one round trip for up to SONDE_FILTERS_ASK new events. A condition that is
 * an interval (expr/interval.h) is five instructions; others are native code of
 * their own, or evaluated.
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

/*
 * A condition that is an interval: with the eight bytes at `at` as number, the
 * event is refused if number * scale - first + beyond carries out of 64 bits.
 * `scale` shifts the field's bits to the top, where they go round as the interval
 * does; what stands below them can't bring them over an end. All zero: nothing is
 * refused.
 */
struct sonde_filter_interval {
	uint64_t scale, first, beyond;
	uint32_t
		at; /* in the payload, which has or may be read up to there + 8 */
};

/* A number in the eight bytes at `at`, likewise: what is above it is shifted out,
 * then what is below; `mask` makes it what its type has of it. */
struct sonde_filter_slice {
	uint64_t mask;
	uint32_t at;
	uint8_t up, down; /* bits */
	bool is_signed, swap;
};

/* What is known of an event. `kind` is stored last. emit_x86_64.S knows the first
 * three, `first`, `at_once`, and how large it is. */
struct sonde_filter_known {
	/* NULL: there is none, or `interval` says all of it, or it takes
	 * sonde_filter_test() */
	sonde_filter_code *code;
	/* Rows from where its only cell is in the first, once that is known and all
	 * that is tallied is the number of a field; `rows` is stored last */
	struct sonde_cells cells;
	struct sonde_filter_interval interval;
	uint32_t kind; /* enum sonde_filter_kind */
	uint8_t slot;  /* whose condition it is */
	bool asked;    /* there is no need to ask again */
	bool executable;
	bool is_direct; /* all that is tallied is in a payload's first bytes */
	const unsigned char *file;
	const struct sonde_filters_rule *filter;
	/* What is tallied of it; NULL: nothing */
	const struct sonde_filter_value *values;
	struct sonde_filter_slice first; /* of `values`, if it is a field */
	uint32_t cell; /* its only one, once that is known; or 0 */
	/* Stored last of all: `cells` are known, and the assembly may add to them
	 * whatever `interval` doesn't refuse */
	uint32_t at_once;
} __attribute__((aligned(128)));

#ifdef __x86_64__
_Static_assert(
	sizeof(struct sonde_filter_known) == 128 &&
		offsetof(struct sonde_filter_known, code) == 0 &&
		offsetof(struct sonde_filter_known, cells.rows) == 8 &&
		offsetof(struct sonde_filter_known, interval.scale) == 32 &&
		offsetof(struct sonde_filter_known, interval.first) == 40 &&
		offsetof(struct sonde_filter_known, interval.beyond) == 48 &&
		offsetof(struct sonde_filter_known, interval.at) == 56 &&
		offsetof(struct sonde_filter_known, first.mask) == 96 &&
		offsetof(struct sonde_filter_known, first.at) == 104 &&
		offsetof(struct sonde_filter_known, first.up) == 108 &&
		offsetof(struct sonde_filter_known, first.down) == 109 &&
		offsetof(struct sonde_filter_known, at_once) == 116,
	"emit_x86_64.S");
#endif

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
				   SONDE_STATE_STACKED | SONDE_STATE_SLOTS);

	if (!(state & SONDE_STATE_GENERIC) || !sonde_filters ||
	    index >= SONDE_EVENTS_MAX)
		return NULL;
	known = &sonde_filters[index];
	/* Pairs with sonde_store_release in take_filter: all of it is there. */
	return sonde_load_acquire(&known->kind) ? known : NULL;
}

/* Whether its interval says that nobody wants it. */
static inline bool
sonde_filter_refuses(const struct sonde_filter_interval *interval,
		     const unsigned char *payload)
{
	uint64_t number;

	if (!interval->scale)
		return false;
	__builtin_memcpy(&number, payload + interval->at, sizeof(number));
	return number * interval->scale - interval->first > ~interval->beyond;
}

/* That number, of those eight bytes. */
static inline uint64_t sonde_filter_cut(const struct sonde_filter_slice *slice,
					uint64_t bytes)
{
	if (sonde_unlikely(slice->swap))
		bytes = __builtin_bswap64(bytes);
	return (uint64_t)((int64_t)(bytes << slice->up) >> slice->down) &
	       slice->mask;
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
