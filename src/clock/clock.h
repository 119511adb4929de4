/* SPDX-License-Identifier: MIT */
/*
 * clock.h - read the CPU's counter.
 *
 * Freestanding. The counter of every record: raw, 64 bits, the same on all
 * CPUs of a machine where calibrate.h says it is usable. Reading it is not
 * ordered with what surrounds it (no fence): a reading may be early or late by
 * a few tens of cycles, which costs nothing that matters here and saves half
 * of the price.
 */
#ifndef CLOCK_CLOCK_H
#define CLOCK_CLOCK_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define SONDE_HAVE_CPU_CLOCK 1
#else
#define SONDE_HAVE_CPU_CLOCK 0
#endif

/* The counter; 0 where SONDE_HAVE_CPU_CLOCK is 0. Any context. */
static inline uint64_t sonde_clock_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	return 0;
#endif
}

#endif /* CLOCK_CLOCK_H */
