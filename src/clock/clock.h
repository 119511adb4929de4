/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the CPU's counter, the clock of every record.
 *
 * The read is not a serialising one: it is ordered with the program's own
 * accesses by whoever needs that (ring/writer.h says how a record's time and
 * position agree). SONDE_CLOCK_HAVE_CPU says whether there is a counter; if it
 * may serve as a clock is calibrate.h's business.
 */
#ifndef CLOCK_CLOCK_H
#define CLOCK_CLOCK_H

#include <stdint.h>

#if defined(__x86_64__)
#define SONDE_CLOCK_HAVE_CPU 1
static inline uint64_t sonde_clock_cpu(void)
{
	uint32_t low;
	uint32_t high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define SONDE_CLOCK_HAVE_CPU 1
static inline uint64_t sonde_clock_cpu(void)
{
	uint64_t counter;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(counter)::"memory");
	return counter;
}
#else
#define SONDE_CLOCK_HAVE_CPU 0
static inline uint64_t sonde_clock_cpu(void)
{
	return 0;
}
#endif

#endif /* CLOCK_CLOCK_H */
