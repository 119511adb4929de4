/* SPDX-License-Identifier: MIT */
/*
 * read_timer.h - how long the recorder sleeps between two looks at the rings.
 *
 * Too often costs CPU time, too seldom loses events. After each look the
 * fullest ring tells: above a tenth, sleep a quarter as long; below a fiftieth,
 * a quarter longer. In between the interval stays as it is.
 *
 * The longest sleep is what a writer at full speed (a gigabyte per second)
 * needs to fill the smallest ring to the half, so that a program that was idle
 * may start at full speed at any time; within 1 ms .. 100 ms.
 *
 * Pure; one thread.
 */
#ifndef SESSION_READ_TIMER_H
#define SESSION_READ_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_READ_TIMER_LEAST_NS   250000ull
#define SONDE_READ_TIMER_START_NS   1000000ull
#define SONDE_READ_TIMER_LONGEST_NS 100000000ull

struct sonde_read_timer {
	uint64_t interval_ns;
	uint64_t longest_ns;
	bool fixed;
};

/* fixed_ns: 0 to adapt. */
void sonde_read_timer_init(struct sonde_read_timer *timer, uint64_t fixed_ns);

/* There is a ring of that many bytes now: start over, alert. */
void sonde_read_timer_limit(struct sonde_read_timer *timer,
			    uint64_t ring_bytes);

/* The fullest ring was found that full, in thousandths. */
void sonde_read_timer_adapt(struct sonde_read_timer *timer, uint32_t fullest);

#endif /* SESSION_READ_TIMER_H */
