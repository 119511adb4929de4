/* SPDX-License-Identifier: MIT */
/*
 * host_lines.h - the clocks of several machines put on the first one's, for as long
 * as that was traced: what `sonde sync --write` writes beside traces
 * (reader/core/clock_offset.h).
 *
 * The first machine's time is looked at in points, at most half a minute apart, and
 * at each of them each clock is known to a bound, or isn't (host_clocks.h). A clock is
 * taken to be a line of the first one's for the half minute behind a point, so
 * between two points it is no further from a line through both than at the wider of the
 * two. A trace gets one line, through two points where least is unknown; how far that is
 * from what is known at a point is part of the point's bound.
 *
 * Cost: for each point all messages are sorted, and hulls are made of those near it.
 */
#ifndef ANALYSIS_REPORTS_HOST_LINES_H
#define ANALYSIS_REPORTS_HOST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/reports/transfers.h"
#include "reader/core/clock_offset.h"

struct sonde_host_line {
	bool is_known; /* somewhere */
	struct sonde_clock_offset line;
	size_t nr_known;   /* points where it is known */
	int64_t widest_ns; /* of their bounds */
};

/* A line for each machine of the trace, which was opened as it was recorded, to be
 * finished in any case. Transfers are matched. 0, -ENOMEM; -ENODATA: the first one has
 * no name or no events; -E2BIG: it was traced for too long. */
int sonde_host_lines_find(const struct sonde_transfers *transfers,
			  const struct sonde_trace *trace,
			  struct sonde_host_line *lines);
/* Frees what `nr` lines hold; zeros are none. */
void sonde_host_lines_fini(struct sonde_host_line *lines, size_t nr);

#endif /* ANALYSIS_REPORTS_HOST_LINES_H */
