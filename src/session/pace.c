/* SPDX-License-Identifier: MIT */
/*
 * pace.c - how long the recorder sleeps between two looks (pace.h).
 *
 * The interval is always within the limits that were chosen at the start, and
 * changes by a factor: down to a quarter, up by a quarter.
 */
#include "session/pace.h"

#define FULL  100u
#define EMPTY 20u

void sonde_pace_init(struct sonde_pace *pace, uint64_t fixed_ns)
{
	*pace = (struct sonde_pace){
		.interval_ns = fixed_ns ? fixed_ns : SONDE_PACE_START_NS,
		.longest_ns = SONDE_PACE_LONGEST_NS,
		.fixed = fixed_ns != 0,
	};
}

void sonde_pace_limit(struct sonde_pace *pace, uint64_t ring_bytes)
{
	/* A gigabyte per second is a byte per nanosecond. */
	uint64_t longest = ring_bytes / 2;

	if (pace->fixed)
		return;
	if (longest < SONDE_PACE_START_NS)
		longest = SONDE_PACE_START_NS;
	if (longest < pace->longest_ns)
		pace->longest_ns = longest;
	pace->interval_ns = SONDE_PACE_START_NS;
}

void sonde_pace_adapt(struct sonde_pace *pace, uint32_t fullest)
{
	if (pace->fixed)
		return;
	if (fullest > FULL)
		pace->interval_ns /= 4;
	else if (fullest < EMPTY)
		pace->interval_ns += pace->interval_ns / 4;
	if (pace->interval_ns < SONDE_PACE_LEAST_NS)
		pace->interval_ns = SONDE_PACE_LEAST_NS;
	if (pace->interval_ns > pace->longest_ns)
		pace->interval_ns = pace->longest_ns;
}
