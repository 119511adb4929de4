/* SPDX-License-Identifier: MIT */
/*
 * test_clock.c - the choice of a clock, and what its values mean.
 *
 * Nothing here depends on how long anything takes: where a reading is compared
 * with the system's clock, the system's clock is read before and after it.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/calibrate.h"
#include "clock/clock.h"

#define NS_PER_S 1000000000ull

/*
 * What a reading may be off from the time of day: the widths of the snapshots
 * add to it, and the frequency's error, at worst that of a brief measurement
 * (100 parts in a million), over the time since the snapshot.
 */
#define TOLERANCE_NS  2000
#define TOLERANCE_PPM 100

static uint64_t realtime_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* As the trace says it to readers: a counter's time since 1970. */
static uint64_t time_of(const struct sonde_clock *clock,
			const struct sonde_clock_origin *origin,
			uint64_t counter)
{
	uint64_t s = (uint64_t)origin->offset_s + counter / clock->freq;
	uint64_t cycles = origin->offset + counter % clock->freq;

	return s * NS_PER_S + cycles * NS_PER_S / clock->freq;
}

static void check_reading(const struct sonde_clock *clock)
{
	struct sonde_clock_snapshot snapshot;
	struct sonde_clock_origin origin;

	sonde_clock_snapshot(clock, &snapshot);
	origin = sonde_clock_origin(clock, &snapshot);
	assert_true(origin.offset < clock->freq);
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t before = realtime_ns();
		uint64_t counter = sonde_clock_now(clock);
		uint64_t after = realtime_ns();
		uint64_t ns = time_of(clock, &origin, counter);
		uint64_t slack = TOLERANCE_NS + snapshot.width_ns +
				 (after - snapshot.realtime_ns) *
					 TOLERANCE_PPM / 1000000;

		assert_true(ns + slack >= before);
		assert_true(ns <= after + slack);
	}
}

static void the_chosen_clock_tells_the_time_of_day(void **state)
{
	struct sonde_clock clock;

	(void)state;
	sonde_clock_choose(true, &clock);
	print_message("clock %s, %llu Hz, source of the rate %d\n", clock.name,
		      (unsigned long long)clock.freq, (int)clock.rate);
	check_reading(&clock);
}

static void the_fallback_is_monotonic_ns_and_tells_the_time(void **state)
{
	struct sonde_clock clock;

	(void)state;
	sonde_clock_choose(false, &clock);
	assert_int_equal(clock.source, SONDE_CLOCK_SOURCE_MONOTONIC);
	assert_int_equal(clock.freq, NS_PER_S);
	check_reading(&clock);
}

static void the_cpu_counter_goes_forward(void **state)
{
	uint64_t first = sonde_clock_cpu();
	uint64_t last = first;

	(void)state;
	if (!SONDE_HAVE_CPU_CLOCK)
		skip();
	for (uint32_t i = 0; i < 1000 && last == first; i++)
		last = sonde_clock_cpu();
	assert_true(last > first);
}

static void only_a_steady_tsc_is_a_clock(void **state)
{
	(void)state;
	assert_true(sonde_clock_x86_usable(
		"flags\t: fpu tsc constant_tsc x nonstop_tsc", "tsc\n"));
	assert_false(sonde_clock_x86_usable("fpu tsc nonstop_tsc", "tsc\n"));
	assert_false(sonde_clock_x86_usable("tsc constant_tsc", "tsc\n"));
	assert_false(
		sonde_clock_x86_usable("constant_tsc nonstop_tsc", "hpet\n"));
	assert_false(sonde_clock_x86_usable("constant_tsc nonstop_tsc",
					    "tsc-early\n"));
	assert_false(
		sonde_clock_x86_usable("constant_tsc_x nonstop_tsc", "tsc"));
	assert_false(sonde_clock_x86_usable("", ""));
}

static const struct sonde_clock tsc = {
	.source = SONDE_CLOCK_SOURCE_CPU,
	.freq = 2600000000,
};

/* All of these are exact: no rounding is needed. */
static void the_origin_is_in_lowest_terms(void **state)
{
	static const uint64_t counters[] = {
		0, 1, 2599999999, 2600000000, 2600000001, 1ull << 62
	};
	static const uint64_t times[] = { 1700000000000000000,
					  1700000000999999995,
					  1700000000000000005 };

	(void)state;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		for (size_t j = 0; j < sizeof(times) / sizeof(times[0]); j++) {
			struct sonde_clock_snapshot snapshot = {
				.counter = counters[i],
				.realtime_ns = times[j],
			};
			struct sonde_clock_origin origin =
				sonde_clock_origin(&tsc, &snapshot);

			assert_true(origin.offset < tsc.freq);
			assert_int_equal(time_of(&tsc, &origin, counters[i]),
					 times[j]);
			assert_int_equal(time_of(&tsc, &origin,
						 counters[i] + 26000000000),
					 times[j] + 10 * NS_PER_S);
		}
	}
}

/* A snapshot so long after another, where the counter runs 20 ppm fast. */
static struct sonde_clock_snapshot later(uint64_t ns, int64_t step_ns)
{
	return (struct sonde_clock_snapshot){
		.counter = 1000 + ns / 1000 * 2600 + ns / 1000000 * 52,
		.monotonic_ns = 500 + ns,
		.realtime_ns = 1700000000000000000 + ns + (uint64_t)step_ns,
	};
}

static void two_snapshots_correct_the_frequency(void **state)
{
	struct sonde_clock clock = tsc;
	struct sonde_clock_snapshot first = later(0, 0);
	struct sonde_clock_snapshot last = later(10 * NS_PER_S, 0);

	(void)state;
	assert_true(sonde_clock_refine(&clock, &first, &last));
	assert_int_equal(clock.freq, 2600052000);
	assert_false(sonde_clock_refine(&clock, &first, &last));
}

static void a_recording_too_short_leaves_the_frequency(void **state)
{
	struct sonde_clock clock = tsc;
	struct sonde_clock_snapshot first = later(0, 0);
	struct sonde_clock_snapshot last = later(NS_PER_S - 1, 0);

	(void)state;
	assert_false(sonde_clock_refine(&clock, &first, &last));
	assert_int_equal(clock.freq, tsc.freq);
}

static void setting_the_time_of_day_does_not_change_the_rate(void **state)
{
	static const int64_t steps[] = { 3600, -3600, -5 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct sonde_clock clock = tsc;
		struct sonde_clock_snapshot first = later(0, 0);
		struct sonde_clock_snapshot last =
			later(10 * NS_PER_S, steps[i] * (int64_t)NS_PER_S);

		assert_true(sonde_clock_refine(&clock, &first, &last));
		assert_int_equal(clock.freq, 2600052000);
	}
}

static void an_absurd_rate_is_not_believed(void **state)
{
	struct sonde_clock clock = tsc;
	struct sonde_clock_snapshot first = later(0, 0);
	struct sonde_clock_snapshot last = later(10 * NS_PER_S, 0);

	(void)state;
	last.counter /= 2;
	assert_false(sonde_clock_refine(&clock, &first, &last));
	last.counter = 0;
	assert_false(sonde_clock_refine(&clock, &first, &last));
	assert_int_equal(clock.freq, tsc.freq);
}

static void the_boot_id_is_the_kernels(void **state)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char expected[64] = "";
	char text[64];
	uint8_t uuid[16] = { 0 };
	size_t size = 0;

	(void)state;
	if (!file)
		skip();
	assert_non_null(fgets(expected, sizeof(expected), file));
	(void)fclose(file);
	assert_int_equal(sonde_clock_boot_id(uuid), 0);
	for (uint32_t i = 0; i < 16; i++)
		size += (size_t)snprintf(
			text + size, sizeof(text) - size, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
	expected[strcspn(expected, "\n")] = 0;
	assert_string_equal(text, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chosen_clock_tells_the_time_of_day),
		cmocka_unit_test(
			the_fallback_is_monotonic_ns_and_tells_the_time),
		cmocka_unit_test(the_cpu_counter_goes_forward),
		cmocka_unit_test(only_a_steady_tsc_is_a_clock),
		cmocka_unit_test(the_origin_is_in_lowest_terms),
		cmocka_unit_test(two_snapshots_correct_the_frequency),
		cmocka_unit_test(a_recording_too_short_leaves_the_frequency),
		cmocka_unit_test(
			setting_the_time_of_day_does_not_change_the_rate),
		cmocka_unit_test(an_absurd_rate_is_not_believed),
		cmocka_unit_test(the_boot_id_is_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
