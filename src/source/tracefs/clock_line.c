/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * clock_line.c - a line from one clock to another, through pairs of both.
 *
 * It goes through the latest pair, with the slope from the first one; the error
 * is the largest distance of a new pair from the line before it. Pure.
 */
#include "source/tracefs/clock_line.h"

/* The distance of a pair from the line so far, in nanoseconds. */
static uint64_t miss_ns(const struct sonde_line *line, uint64_t ns,
			uint64_t value)
{
	uint64_t expected = sonde_line_at(line, ns);
	uint64_t ticks = expected > value ? expected - value : value - expected;

	return (uint64_t)((double)ticks / line->slope) + 1;
}

void sonde_line_add(struct sonde_line *line, uint64_t ns, uint64_t value,
		    uint64_t width_ns)
{
	uint64_t error = width_ns;

	if (line->nr && ns <= line->last_ns)
		return;
	if (!line->nr) {
		line->first_ns = ns;
		line->first = value;
		line->slope = 1;
	} else {
		/* Two pairs make a line; from the third on it can be wrong. */
		if (line->nr > 1)
			error += miss_ns(line, ns, value);
		/* A clock that stands still has no line; keep the last. */
		if (value > line->first)
			line->slope = (double)(value - line->first) /
				      (double)(ns - line->first_ns);
	}
	line->last_ns = ns;
	line->last = value;
	line->nr++;
	if (error > line->error_ns)
		line->error_ns = error;
}
