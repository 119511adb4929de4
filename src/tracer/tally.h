/* SPDX-License-Identifier: MIT */
/*
 * tally.h - events by keys, and how their values are spread, in the cells of a
 * slot that tallies (ring/layout.h).
 */
#ifndef TRACER_TALLY_H
#define TRACER_TALLY_H

#include "tracer/filters.h"

/* One more event with those numbers; `index` is its entry. Async-signal-safe. */
SONDE_HIDDEN void
sonde_emit_tally(struct sonde_filter_known *known, uint32_t index,
		 const struct sonde_filter_number numbers[SONDE_FILTER_VALUES]);

/* The same of an event with known->cells: its number, or a payload that has it
 * (emit_x86_64.S calls the first, too). */
SONDE_HIDDEN void sonde_emit_tally_number(struct sonde_filter_known *known,
					  uint64_t number);
SONDE_HIDDEN void sonde_emit_block_tally(struct sonde_filter_known *known,
					 const unsigned char *payload);

#endif /* TRACER_TALLY_H */
