/* SPDX-License-Identifier: MIT */
/*
 * loop.c - a loop that does nothing but read the counter: whatever takes the CPU
 * away from it, for however short, is a gap between two readings.
 *
 * Measured is from one reading to the next; what the loop itself does with a
 * reading is in the next gap. A turn without an event is one reading, one
 * addition to a counter and three comparisons.
 */
#include "base/time.h"
#include "clock/clock.h"
#include "latency/measure_parts.h"

static uint64_t loop_ticks(const struct sonde_latency_thread *thread,
			   uint64_t ns)
{
	return (uint64_t)((sonde_latency_wide)ns * thread->freq / 1000000000u);
}

static SONDE_COLD void loop_over(struct sonde_latency_thread *thread,
				 uint64_t gap)
{
	thread->cpu->nr_over++;
	if (thread->config->over)
		thread->config->over((uint64_t)((sonde_latency_wide)gap *
						1000000000u / thread->freq));
}

/* Those that are due, of which there may be more in the next turn; when the next one
 * is. */
static uint64_t loop_events(const struct sonde_latency_config *config,
			    struct sonde_latency_cpu *cpu, uint64_t next,
			    uint64_t every, uint64_t now)
{
	uint32_t nr = 0;

	do {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): it is set */
		config->tick(cpu->nr_ticks++);
		next += every;
	} while (++nr < config->burst && now >= next);
	return next;
}

int sonde_latency_loop(struct sonde_latency_thread *thread)
{
	const struct sonde_latency_config *config = thread->config;
	struct sonde_latency_cpu *cpu = thread->cpu;
	uint64_t over = config->over_ns ? loop_ticks(thread, config->over_ns) :
					  UINT64_MAX;
	uint64_t every = config->rate ? thread->freq / config->rate : 0;
	uint64_t last = sonde_clock_cpu();
	uint64_t end = last + loop_ticks(thread, thread->length_ns);
	uint64_t next = config->tick ? last : UINT64_MAX;
	uint64_t now;

	do {
		now = sonde_clock_cpu();
		sonde_latency_gaps_add(&cpu->gaps, now - last);
		if (sonde_unlikely(now - last > over))
			loop_over(thread, now - last);
		if (now >= next)
			next = loop_events(config, cpu, next, every, now);
		last = now;
	} while (now < end);
	return 0;
}

/* The quickest of many short tries, as others may take the CPU in between. */
double sonde_latency_clock_rate(void)
{
	enum {
		TRIES = 200,
		READINGS = 2000
	};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin_ns = sonde_monotonic_ns();
		uint64_t passed_ns;

		for (int j = 0; j < READINGS; j++) {
			uint64_t now = sonde_clock_cpu();

			__asm__ volatile("" ::"r"(now)); /* it is wanted */
		}
		passed_ns = sonde_monotonic_ns() - begin_ns;
		if (passed_ns && passed_ns < least)
			least = passed_ns;
	}
	return READINGS * 1e9 / (double)least;
}
