/* SPDX-License-Identifier: MIT */
/*
 * read_timer.c - how long the recorder sleeps between two looks (read_timer.h).
 *
 * The interval is always within the limits that were chosen at the start, and
 * changes by a factor: down to a quarter, up by a quarter.
 */
#include "session/read_timer.h"

#define FULL  100u
#define EMPTY 20u

void sonde_read_timer_init(struct sonde_read_timer *timer, uint64_t fixed_ns)
{
	*timer = (struct sonde_read_timer){
		.interval_ns = fixed_ns ? fixed_ns : SONDE_READ_TIMER_START_NS,
		.longest_ns = SONDE_READ_TIMER_LONGEST_NS,
		.fixed = fixed_ns != 0,
	};
}

void sonde_read_timer_limit(struct sonde_read_timer *timer, uint64_t ring_bytes)
{
	/* A gigabyte per second is a byte per nanosecond. */
	uint64_t longest = ring_bytes / 2;

	if (timer->fixed)
		return;
	if (longest < SONDE_READ_TIMER_START_NS)
		longest = SONDE_READ_TIMER_START_NS;
	if (longest < timer->longest_ns)
		timer->longest_ns = longest;
	timer->interval_ns = SONDE_READ_TIMER_START_NS;
}

void sonde_read_timer_adapt(struct sonde_read_timer *timer, uint32_t fullest)
{
	if (timer->fixed)
		return;
	if (fullest > FULL)
		timer->interval_ns /= 4;
	else if (fullest < EMPTY)
		timer->interval_ns += timer->interval_ns / 4;
	if (timer->interval_ns < SONDE_READ_TIMER_LEAST_NS)
		timer->interval_ns = SONDE_READ_TIMER_LEAST_NS;
	if (timer->interval_ns > timer->longest_ns)
		timer->interval_ns = timer->longest_ns;
}
