/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * time.h - the kernel's clocks, in nanoseconds.
 *
 * For how long something took and when to give up. What time an event has is
 * told by clock/, whose clock may be another.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define SONDE_NS_PER_S 1000000000

/* One of the clocks that every kernel has: reading those can't fail. */
static inline uint64_t sonde_time_ns(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now); /* see above */
	return (uint64_t)now.tv_sec * SONDE_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t sonde_monotonic_ns(void)
{
	return sonde_time_ns(CLOCK_MONOTONIC);
}

#endif /* BASE_TIME_H */
