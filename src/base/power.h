/* SPDX-License-Identifier: MIT */
/*
 * power.h - powers of two, which the sizes of rings are. Pure.
 */
#ifndef BASE_POWER_H
#define BASE_POWER_H

#include <stdbool.h>
#include <stdint.h>

/* The largest that isn't above n; 0 for 0. */
static inline uint64_t sonde_power_below(uint64_t n)
{
	return n ? 1ull << (63 - __builtin_clzll(n)) : 0;
}

static inline bool sonde_is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

#endif /* BASE_POWER_H */
