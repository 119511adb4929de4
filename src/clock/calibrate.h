/* SPDX-License-Identifier: MIT */
/*
 * calibrate.h - which clock to record with, and what its values mean.
 *
 * A recording has one clock: the CPU's counter where that counts at one rate
 * on all CPUs, else CLOCK_MONOTONIC in nanoseconds. sonde_clock_choose() finds
 * out at the start, at once or in a few milliseconds. At the end, two snapshots
 * tell the rate better than any source at the start can: sonde_clock_refine().
 *
 * From the clock to the time of day: one snapshot ties a counter value to
 * CLOCK_REALTIME, the frequency does the rest (sonde_clock_origin()). The error
 * is the snapshot's (its `width_ns` says at most how much, 100 ns or so) plus
 * the frequency's times the distance from the snapshot. A recording during
 * which somebody sets the time of day keeps the one at its start.
 *
 * All functions are hosted; those that read clocks may be called by any thread.
 */
#ifndef CLOCK_CALIBRATE_H
#define CLOCK_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

enum sonde_clock_source {
	SONDE_CLOCK_SOURCE_CPU = 0,       /* as SONDE_CLOCK_CPU in layout.h */
	SONDE_CLOCK_SOURCE_MONOTONIC = 1, /* as SONDE_CLOCK_MONOTONIC */
};

/* Where the frequency comes from, best first. */
enum sonde_clock_rate {
	SONDE_CLOCK_RATE_EXACT,    /* nanoseconds, or an architected register */
	SONDE_CLOCK_RATE_PERF,     /* the kernel's own, by perf_event_open() */
	SONDE_CLOCK_RATE_CPUID,    /* the CPU's word */
	SONDE_CLOCK_RATE_MEASURED, /* against CLOCK_MONOTONIC_RAW, briefly */
};

struct sonde_clock {
	enum sonde_clock_source source;
	enum sonde_clock_rate rate;
	uint64_t freq;           /* Hz */
	const char *name;        /* an identifier; static */
	const char *description; /* static */
};

/* The clocks at one instant. */
struct sonde_clock_snapshot {
	uint64_t counter; /* of the clock that was asked for */
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
	uint64_t tai_ns;
	uint64_t width_ns; /* the readings lie within this time */
};

/* Time in seconds since 1970 is offset_s + (counter + offset) / freq. */
struct sonde_clock_origin {
	int64_t offset_s;
	uint64_t offset; /* cycles, < freq */
};

/* Choose the clock. Always succeeds; `allow_cpu` false: CLOCK_MONOTONIC. */
void sonde_clock_choose(bool allow_cpu, struct sonde_clock *ret_clock);

/* Whether it is still fit for it: the kernel may find out later that the
 * counter's CPUs don't agree, and gives it up for itself. */
bool sonde_clock_is_sound(const struct sonde_clock *clock);

/* The clock's value now. Not for hot paths. */
uint64_t sonde_clock_now(const struct sonde_clock *clock);

/* The tightest of a few tries; some microseconds. */
void sonde_clock_snapshot(const struct sonde_clock *clock,
			  struct sonde_clock_snapshot *ret_snapshot);

/*
 * The frequency by two snapshots, put into clock->freq if it is better than
 * what is there: they must be a second or more apart, and must agree with it
 * to a thousandth. Goes by CLOCK_REALTIME, so that both ends of a recording
 * have the right time of day, or by CLOCK_MONOTONIC if the time of day was set
 * in between. Returns whether it was changed.
 */
bool sonde_clock_refine(struct sonde_clock *clock,
			const struct sonde_clock_snapshot *first,
			const struct sonde_clock_snapshot *last);

struct sonde_clock_origin
sonde_clock_origin(const struct sonde_clock *clock,
		   const struct sonde_clock_snapshot *snapshot);

/* This boot's id, the same in all recordings until the machine starts anew;
 * -errno if the system doesn't say (a container without /proc). */
int sonde_clock_boot_id(uint8_t ret_uuid[16]);

/*
 * The parts of sonde_clock_choose(), for its tests: whether the system's own
 * description of its CPUs ("flags" of /proc/cpuinfo) and its current
 * clocksource say that the counter is the same everywhere and never stops.
 */
bool sonde_clock_x86_usable(const char *flags, const char *clocksource);

#endif /* CLOCK_CALIBRATE_H */
