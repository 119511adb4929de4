/* SPDX-License-Identifier: MIT */
/* test_clock_align.c - clock/align.h on clocks that are simulated, so that the
 * truth is known: it is always within the bound. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "clock/align.h"

#define S  INT64_C(1000000000)
#define US INT64_C(1000)

static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* B's clock shows so much more than A's, and is so many parts in 10^9 faster. */
struct clocks {
	int64_t offset, drift;
};

/* Rounded down: a clock shows what has passed. */
static int64_t b_of(const struct clocks *clocks, int64_t a)
{
	__extension__ __int128 more = (__int128)a * clocks->drift;
	int64_t whole = (int64_t)(more / S) - (more % S < 0);

	return a + clocks->offset + whole;
}

/* Sometimes long, as queues are. */
static int64_t delay(int64_t least, int64_t jitter)
{
	int64_t more = (int64_t)any((uint64_t)jitter);

	return least + (any(10) ? more / 10 : more);
}

struct way {
	int64_t there, there_jitter, back, back_jitter;
};

/* Messages in both directions for so long, from `begin` on. */
static void exchange(struct sonde_align *align, const struct clocks *clocks,
		     const struct way *way, int64_t begin, int64_t length,
		     int nr)
{
	for (int i = 0; i < nr; i++) {
		int64_t sent = begin + (int64_t)any((uint64_t)length);
		int64_t got = sent + delay(way->there, way->there_jitter);

		assert_int_equal(
			sonde_align_there(align, sent, b_of(clocks, got)), 0);
		got = sent + delay(way->back, way->back_jitter);
		assert_int_equal(
			sonde_align_back(align, b_of(clocks, sent), got), 0);
	}
}

/* The truth, of which the clock shows the whole nanoseconds, is within; the
 * widest bound. */
static int64_t check_truth(const struct sonde_align *align,
			   const struct clocks *clocks, int64_t begin,
			   int64_t length)
{
	int64_t widest = 0;

	for (int i = -50; i <= 150; i++) {
		int64_t a = begin + length / 100 * i;
		int64_t truth = b_of(clocks, a);
		int64_t low;
		int64_t high;

		sonde_align_at(align, a, &low, &high);
		assert_true(low <= truth + 1 && truth <= high);
		assert_true(low <= high);
		if (i >= 0 && i <= 100 && high - low > widest)
			widest = high - low;
	}
	return widest;
}

static void the_truth_is_within_the_bound(void **state)
{
	static const struct way ways[] = {
		{ 2 * US, 5 * US, 2 * US, 5 * US },
		{ 2 * US, 5 * US, 500 * US, 9000 * US },
		{ 0, 1, 0, 1 },
		{ 1000 * US, 50000 * US, 10 * US, 20 * US },
	};
	const int64_t begin = 1800000000 * S;

	int solved = 0;

	(void)state;
	seed = 42;
	for (int round = 0; round < 200; round++) {
		struct clocks clocks = {
			.offset = (int64_t)any(20 * S) - 10 * S,
			.drift = (int64_t)any(200001) - 100000,
		};
		const struct way *way = &ways[round % 4];
		int64_t length = (int64_t)any(600 * S) + S;
		struct sonde_align align;

		sonde_align_init(&align);
		exchange(&align, &clocks, way, begin, length,
			 3 + (int)any(300));
		assert_int_not_equal(sonde_align_solve(&align), -EDOM);
		if (align.is_solved)
			(void)check_truth(&align, &clocks, begin, length);
		solved += align.is_solved;
		sonde_align_fini(&align);
	}
	assert_true(solved > 150);
}

static void on_a_short_way_the_bound_is_small(void **state)
{
	const struct clocks clocks = { 3 * S, 100000 };
	const struct way way = { 2 * US, 20 * US, 2 * US, 60 * US };
	struct sonde_align align;
	int64_t low;
	int64_t high;

	(void)state;
	seed = 7;
	sonde_align_init(&align);
	exchange(&align, &clocks, &way, 5 * S, 60 * S, 3000);
	assert_int_equal(sonde_align_solve(&align), 0);
	assert_true(check_truth(&align, &clocks, 5 * S, 60 * S) < 10 * US);
	sonde_align_drift(&align, &low, &high);
	assert_true(low <= 100000 && 100000 <= high && high - low < 500);
	assert_true(align.there.nr < 100 && align.back.nr < 100);
	sonde_align_fini(&align);
}

static void an_effect_before_its_cause_fits_no_line(void **state)
{
	const struct clocks clocks = { 0, 0 };
	const struct way way = { 10 * US, US, 10 * US, US };
	struct sonde_align align;

	(void)state;
	seed = 3;
	sonde_align_init(&align);
	exchange(&align, &clocks, &way, 0, 60 * S, 500);
	assert_int_equal(sonde_align_there(&align, 30 * S, 30 * S - 30 * US),
			 0);
	assert_int_equal(sonde_align_solve(&align), -EDOM);
	sonde_align_fini(&align);
}

static void clocks_that_drift_apart_faster_fit_no_line(void **state)
{
	const struct clocks first = { 0, 0 };
	const struct clocks second = { -20 * 1000 * US, 1000000 };
	const struct way way = { 10 * US, US, 10 * US, US };
	struct sonde_align align;

	(void)state;
	seed = 9;
	sonde_align_init(&align);
	exchange(&align, &first, &way, 0, 20 * S, 300);
	exchange(&align, &second, &way, 20 * S, 20 * S, 300);
	assert_int_equal(sonde_align_solve(&align), -EDOM);
	sonde_align_fini(&align);
}

static void one_direction_is_not_enough(void **state)
{
	struct sonde_align align;

	(void)state;
	sonde_align_init(&align);
	assert_int_equal(sonde_align_solve(&align), -ENODATA);
	for (int64_t i = 0; i < 10; i++)
		assert_int_equal(sonde_align_there(&align, i * S, i * S + 5),
				 0);
	assert_int_equal(sonde_align_solve(&align), -ENODATA);
	assert_int_equal(sonde_align_back(&align, 20 * S, 20 * S + 5), 0);
	assert_int_equal(sonde_align_solve(&align), -ENODATA);
	assert_int_equal(sonde_align_back(&align, -20 * S, 5 - 20 * S), 0);
	assert_int_equal(sonde_align_solve(&align), 0);
	sonde_align_fini(&align);
}

/* Points as they were added, small whole numbers. */
struct small {
	struct sonde_align_point there[6], back[6];
};

/* Whether a line with the slope `b` is between all points, tried for each. */
static bool can_be(const struct small *small, double b)
{
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 6; k++) {
			const struct sonde_align_point *h = &small->there[i];
			const struct sonde_align_point *u = &small->back[k];

			if ((double)(u->y - h->y) > b * (double)(u->x - h->x))
				return false;
		}
	return true;
}

static double slope_of(const struct sonde_align_point line[2])
{
	return (double)(line[1].y - line[0].y) /
	       (double)(line[1].x - line[0].x);
}

static void make_small(struct small *small, struct sonde_align *align)
{
	for (int i = 0; i < 6; i++) {
		int64_t x = (int64_t)any(20);

		assert_int_equal(
			sonde_align_there(align, x, x + (int64_t)any(8)), 0);
		x = (int64_t)any(20);
		assert_int_equal(
			sonde_align_back(align, x - (int64_t)any(8), x), 0);
	}
	memcpy(small->there, align->there.at, sizeof(small->there));
	memcpy(small->back, align->back.at, sizeof(small->back));
}

static void steepest_and_flattest_are_the_last_that_can_be(void **state)
{
	int solved = 0;

	(void)state;
	seed = 11;
	for (int round = 0; round < 3000; round++) {
		struct sonde_align align;
		struct small small;
		int err;

		sonde_align_init(&align);
		make_small(&small, &align);
		err = sonde_align_solve(&align);
		if (err == 0) {
			double steep = slope_of(align.steepest);
			double flat = slope_of(align.flattest);

			solved++;
			if (steep > flat)
				assert_true(can_be(&small, (steep + flat) / 2));
			assert_false(can_be(&small, steep + 1e-6));
			assert_false(can_be(&small, flat - 1e-6));
		}
		for (int i = -100; err == -EDOM && i <= 100; i++)
			assert_false(can_be(&small, i / 7.0 + 1e-3));
		sonde_align_fini(&align);
	}
	assert_true(solved > 300);
}

static void times_at_the_limits_do_not_overflow(void **state)
{
	const int64_t max = SONDE_ALIGN_MAX;
	struct sonde_align align;
	int64_t low;
	int64_t high;

	(void)state;
	sonde_align_init(&align);
	assert_int_equal(sonde_align_there(&align, max + 1, 0), -ERANGE);
	assert_int_equal(sonde_align_back(&align, -max - 1, 0), -ERANGE);
	assert_int_equal(sonde_align_there(&align, -max, max), 0);
	assert_int_equal(sonde_align_there(&align, max, max), 0);
	assert_int_equal(sonde_align_back(&align, -max, max), 0);
	assert_int_equal(sonde_align_back(&align, -max, -max), 0);
	assert_int_equal(sonde_align_solve(&align), 0);
	for (int64_t x = -max;; x += max / 4) {
		sonde_align_at(&align, x, &low, &high);
		assert_true(low <= high);
		if (x >= max)
			break;
	}
	sonde_align_drift(&align, &low, &high);
	sonde_align_fini(&align);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_truth_is_within_the_bound),
		cmocka_unit_test(on_a_short_way_the_bound_is_small),
		cmocka_unit_test(an_effect_before_its_cause_fits_no_line),
		cmocka_unit_test(clocks_that_drift_apart_faster_fit_no_line),
		cmocka_unit_test(one_direction_is_not_enough),
		cmocka_unit_test(
			steepest_and_flattest_are_the_last_that_can_be),
		cmocka_unit_test(times_at_the_limits_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
