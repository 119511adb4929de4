/* SPDX-License-Identifier: MIT */
/*
 * near.h - the answers that a thread got last, so that events of the same places
 * have their names without a lock.
 *
 * An answer holds for a span of time: what is known of mappings changes at some
 * times only, and between two of these all questions about an address have one
 * answer. Answers are those of one `serial`; with a new one all are gone.
 *
 * 64 answers a thread, by address. Any thread; each has its own.
 */
#ifndef READER_NAMES_NEAR_H
#define READER_NAMES_NEAR_H

#include <stdint.h>

#include "reader/names/names.h"

/* From `from_ns` on, before `to_ns`. */
struct sonde_names_span {
	int64_t from_ns, to_ns;
};

/* Answers change at `at_ns`: what was found at `time_ns` holds on one side of it. */
static inline void sonde_names_span_end(struct sonde_names_span *span,
					int64_t time_ns, int64_t at_ns)
{
	if (at_ns <= time_ns && at_ns > span->from_ns)
		span->from_ns = at_ns;
	else if (at_ns > time_ns && at_ns < span->to_ns)
		span->to_ns = at_ns;
}

/* One that no one has had. */
uint64_t sonde_names_near_serial(void);

/* NULL: it isn't known. */
const struct sonde_name *
sonde_names_near_find(uint64_t serial, const struct sonde_names_place *place);

void sonde_names_near_keep(uint64_t serial,
			   const struct sonde_names_place *place,
			   struct sonde_names_span span,
			   const struct sonde_name *name);

#endif /* READER_NAMES_NEAR_H */
