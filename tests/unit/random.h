/* SPDX-License-Identifier: MIT */
/* random.h - numbers that look random and are the same in each run (splitmix64). */
#ifndef UNIT_RANDOM_H
#define UNIT_RANDOM_H

#include <stdint.h>

/* `seed`, a uint64_t, may have any value. */
static inline uint64_t next_random(void *seed)
{
	uint64_t *state = seed;
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* From 0 on. */
static inline int random_int(uint64_t *seed)
{
	return (int)(next_random(seed) >> 33);
}

/* 0 .. limit - 1; 0 of nothing. */
static inline uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	return limit ? next_random(seed) % limit : 0;
}

#endif /* UNIT_RANDOM_H */
