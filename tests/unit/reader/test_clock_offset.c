/* SPDX-License-Identifier: MIT */
/*
 * test_clock_offset.c - the file .clock: what is taken and what is refused, and that
 * a scale with the line in it shows what the line says.
 */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "reader/core/clock_offset.h"

#define S INT64_C(1000000000)

static int parse(const char *text, struct sonde_pool *pool,
		 struct sonde_clock_offset *line, size_t *nr)
{
	sonde_pool_init(pool, 0);
	return sonde_clock_offset_parse(text, pool, line, nr);
}

static void what_is_written_is_read_again(void **state)
{
	struct sonde_clock_point points[] = { { -5, 7 }, { 0, -1 }, { 9, 0 } };
	const struct sonde_clock_offset line = {
		.to = "web 1",
		.at_ns = { -7 * S, 8 * S },
		.add_ns = { 3, -4 },
		.points = points,
		.nr_points = 3,
	};
	char *text = sonde_clock_offset_text(&line);
	struct sonde_clock_offset again;
	struct sonde_pool pool;
	size_t nr;

	(void)state;
	assert_non_null(text);
	assert_int_equal(parse(text, &pool, &again, &nr), 0);
	assert_string_equal(again.to, line.to);
	assert_memory_equal(again.at_ns, line.at_ns, sizeof(line.at_ns));
	assert_memory_equal(again.add_ns, line.add_ns, sizeof(line.add_ns));
	assert_int_equal(again.nr_points, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(again.points[i].at_ns, points[i].at_ns);
		assert_int_equal(again.points[i].bound_ns, points[i].bound_ns);
	}
	sonde_pool_fini(&pool);
	free(text);
}

#define GOOD "sonde clock 1\nto web\nline 0 0 1000 1\n"

static void what_makes_no_sense_is_refused_by_its_line(void **state)
{
	static const struct {
		const char *text;
		size_t line;
	} bad[] = {
		{ "", 1 },
		{ "sonde clock 2\n", 1 },
		{ "sonde clock 1\nto \n", 2 },
		{ "sonde clock 1\nto web\nline 5 0 5 0\nat 1 1\n", 3 },
		{ "sonde clock 1\nto web\nline 0 0 999 1\nat 1 1\n", 3 },
		{ "sonde clock 1\nto web\nline 0 0 2305843009213693953 0\n",
		  3 },
		{ GOOD, 4 },
		{ GOOD "at 1 -2\n", 4 },
		{ GOOD "at 1 2", 4 },
		{ GOOD "at 1 2\nat 1 2\n", 6 },
		{ GOOD "at 1 2\nat 2 x\n", 5 },
	};
	struct sonde_clock_offset line;
	struct sonde_pool pool;
	size_t nr;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text, &pool, &line, &nr),
				 -EINVAL);
		assert_int_equal(nr, bad[i].line);
		sonde_pool_fini(&pool);
	}
	assert_int_equal(parse(GOOD "at 1 2\n", &pool, &line, &nr), 0);
	sonde_pool_fini(&pool);
}

static void a_bound_holds_between_two_known_points_only(void **state)
{
	struct sonde_clock_offset line;
	struct sonde_pool pool;
	size_t nr;

	(void)state;
	assert_int_equal(parse(GOOD "at 10 5\nat 20 7\nat 30 -\nat 40 1\n"
				    "at 50 2\nat 60 3\nat 70 9\n",
			       &pool, &line, &nr),
			 0);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 9), -1);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 10), 7);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 19), 7);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 25), -1);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 39), -1);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 45), 3);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 70), 9);
	assert_int_equal(sonde_clock_offset_bound_ns(&line, 71), -1);
	assert_int_equal(sonde_clock_offset_widest(&line, 40, 55).bound_ns, 9);
	assert_true(sonde_clock_offset_widest(&line, 40, 55).is_all);
	assert_false(sonde_clock_offset_widest(&line, 12, 55).is_all);
	assert_int_equal(sonde_clock_offset_widest(&line, 71, 72).bound_ns, -1);
	sonde_pool_fini(&pool);
}

/* The clock's own time, and then what the line says. */
static void a_scale_with_the_line_shows_what_the_line_says(void **state)
{
	uint64_t random = 20261129;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		int64_t run = (int64_t)(next_random(&random) >> 20) + 1000000;
		int64_t slope = (int64_t)(next_random(&random) % 2001) - 1000;
		int64_t add = (int64_t)(next_random(&random) >> 4) -
			      (INT64_C(1) << 59);
		const struct sonde_clock_scale scale = {
			.whole = i % 2,
			.fraction = next_random(&random) | 1,
			.base_ns = (int64_t)(next_random(&random) >> 3),
			.last = UINT64_MAX,
		};
		uint64_t ticks = next_random(&random) >> 5;
		int64_t own = sonde_scale_ns(&scale, ticks);
		const struct sonde_clock_offset line = {
			.at_ns = { own - 5 * S, own - 5 * S + run },
			.add_ns = { add, add + run / 1000000 * slope },
		};
		struct sonde_clock_scale other =
			sonde_clock_offset_scale(&line, &scale);
		int64_t shown = sonde_scale_ns(&other, ticks);

		assert_in_range(
			shown - (own + sonde_clock_offset_add_ns(&line, own)) +
				SONDE_CLOCK_OFFSET_ROUNDING_NS,
			0, 2 * SONDE_CLOCK_OFFSET_ROUNDING_NS);
	}
}

static void times_behind_the_end_of_time_are_no_times(void **state)
{
	const struct sonde_clock_offset line = {
		.at_ns = { 0, S },
		.add_ns = { SONDE_CLOCK_OFFSET_MAX,
			    SONDE_CLOCK_OFFSET_MAX + 1000 },
	};
	const struct sonde_clock_scale scale = { .whole = 1,
						 .last = INT64_MAX - 2 };
	struct sonde_clock_scale other =
		sonde_clock_offset_scale(&line, &scale);
	int64_t last = sonde_scale_ns(&other, other.last);

	(void)state;
	assert_true(last > INT64_MAX - 10 && last < INT64_MAX);
	assert_true(sonde_scale_ns(&other, other.last + 1) == SONDE_TIME_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(what_makes_no_sense_is_refused_by_its_line),
		cmocka_unit_test(a_bound_holds_between_two_known_points_only),
		cmocka_unit_test(
			a_scale_with_the_line_shows_what_the_line_says),
		cmocka_unit_test(times_behind_the_end_of_time_are_no_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
