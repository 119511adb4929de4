/* SPDX-License-Identifier: MIT */
/*
 * bounded.h - the file that bounded.c writes and check_bounded.c reads: a head,
 * then `nr` pairs; the machine's byte order.
 */
#ifndef TESTS_KERNEL_BOUNDED_H
#define TESTS_KERNEL_BOUNDED_H

#include <stdint.h>

#define BOUNDED_MAGIC UINT64_C(0x646e756f622d3120)

enum bounded_clock {
	BOUNDED_COUNTER,   /* the CPU's */
	BOUNDED_MONOTONIC, /* CLOCK_MONOTONIC, nanoseconds */
};

struct bounded_head {
	uint64_t magic;
	uint32_t clock; /* enum bounded_clock */
	uint32_t tid;   /* whose calls they are */
	uint64_t nr;
};

struct bounded_pair {
	uint64_t before;
	uint64_t after;
};

#endif /* TESTS_KERNEL_BOUNDED_H */
