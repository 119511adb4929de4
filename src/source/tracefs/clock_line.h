/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * line.h - from one clock to another that runs evenly beside it.
 *
 * Where the kernel's buffers can't have the session's clock (a counter that no
 * trace clock shows: AArch64's), they have CLOCK_MONOTONIC_RAW, which is made
 * from the same counter with a fixed factor. Pairs of both clocks, taken at
 * once, give a line. It goes through the latest pair; its slope is that from
 * the first pair to the latest. So a factor that is a little wrong at the start
 * gets better, and no error grows with the recording's length.
 *
 * The error is known: by how much each new pair misses the line through those
 * before it, and how long it took to read the pair. sonde_line.error is the
 * largest, in nanoseconds.
 *
 * Pure; one thread.
 */
#ifndef SOURCE_TRACEFS_CLOCK_LINE_H
#define SOURCE_TRACEFS_CLOCK_LINE_H

#include <stdint.h>

struct sonde_line {
	uint64_t first_ns, first; /* the first pair: a time, and its value in
				     the session's clock */
	uint64_t last_ns, last;   /* the latest */
	double slope;             /* ticks of the session's clock in a ns */
	uint64_t error_ns;
	uint32_t nr; /* pairs so far */
};

/* One more pair, read within `width_ns`. The first two give the slope; they
 * should be a millisecond apart. */
void sonde_line_add(struct sonde_line *line, uint64_t ns, uint64_t value,
		    uint64_t width_ns);

/* Of the session's clock at `ns`; there is a pair. */
static inline uint64_t sonde_line_at(const struct sonde_line *line, uint64_t ns)
{
	double ticks = (double)(int64_t)(ns - line->last_ns) * line->slope;

	return line->last + (uint64_t)(int64_t)ticks;
}

#endif /* SOURCE_TRACEFS_CLOCK_LINE_H */
