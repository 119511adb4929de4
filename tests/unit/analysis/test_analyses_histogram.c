/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_histogram.c - quantiles against sorted values, and merging
 * against adding.
 */
#include "analysis/reports/histogram.h"

#include "random.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define SEED 20261120u
#define MANY 4000

static uint64_t state;

/* Of any magnitude, as often small as large. */
static int64_t random_value(bool negative_too)
{
	int64_t value = (int64_t)(next_random(&state) >>
				  (1 + next_random(&state) % 63));

	return negative_too && next_random(&state) % 2 ? -value : value;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void fill(struct sonde_histogram *histogram, const int64_t *values,
		 size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sonde_histogram_add(histogram, values[i]), 0);
}

static void same(const struct sonde_histogram *a,
		 const struct sonde_histogram *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	assert_true(a->sum == b->sum);
	assert_true(a->squares == b->squares);
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->nr_bins, b->nr_bins);
	assert_memory_equal(a->counts, b->counts,
			    (size_t)a->nr_bins * sizeof(*a->counts));
}

static void quantiles_are_within_a_32nd(void **unused)
{
	static int64_t values[MANY];

	(void)unused;
	state = SEED;
	for (int round = 0; round < 4; round++) {
		struct sonde_histogram histogram = { 0 };

		for (size_t i = 0; i < MANY; i++)
			values[i] = random_value(round % 2);
		fill(&histogram, values, MANY);
		qsort(values, MANY, sizeof(values[0]), compare);
		for (size_t i = 0; i < MANY; i++) {
			double q = ((double)i + 0.5) / MANY;
			int64_t got = sonde_histogram_quantile(&histogram, q);
			double off = (double)got - (double)values[i];
			double size = (double)llabs(values[i]);

			assert_true((off < 0 ? -off : off) <= size / 32);
		}
		assert_int_equal(sonde_histogram_quantile(&histogram, 0.0),
				 values[0]);
		assert_int_equal(sonde_histogram_quantile(&histogram, 1.0),
				 values[MANY - 1]);
		sonde_histogram_fini(&histogram);
	}
}

static void small_values_are_exact(void **unused)
{
	(void)unused;
	for (int64_t value = -31; value < 32; value++) {
		struct sonde_histogram histogram = { 0 };
		const int64_t values[] = { -40, value, 40 };

		fill(&histogram, values, 3);
		assert_int_equal(sonde_histogram_quantile(&histogram, 0.5),
				 value);
		sonde_histogram_fini(&histogram);
	}
}

static void ends_of_the_range_are_kept(void **unused)
{
	const int64_t values[] = { INT64_MIN, INT64_MAX, 0, INT64_MIN };
	struct sonde_histogram histogram = { 0 };

	(void)unused;
	fill(&histogram, values, 4);
	assert_int_equal(histogram.min, INT64_MIN);
	assert_int_equal(histogram.max, INT64_MAX);
	assert_int_equal(sonde_histogram_sum(&histogram), INT64_MIN);
	assert_int_equal(sonde_histogram_quantile(&histogram, 0.75), 0);
	assert_true(sonde_histogram_quantile(&histogram, 0.5) <
		    INT64_MIN / 33 * 32);
	assert_true(sonde_histogram_quantile(&histogram, 0.99) >
		    INT64_MAX / 33 * 32);
	sonde_histogram_fini(&histogram);
}

static void merging_is_adding(void **unused)
{
	static int64_t values[MANY];

	(void)unused;
	state = SEED + 1;
	for (int round = 0; round < 20; round++) {
		struct sonde_histogram all = { 0 };
		struct sonde_histogram left = { 0 };
		struct sonde_histogram right = { 0 };
		size_t cut = (size_t)(next_random(&state) % MANY);

		for (size_t i = 0; i < MANY; i++)
			values[i] = random_value(true);
		fill(&all, values, MANY);
		fill(&left, values, cut);
		fill(&right, values + cut, MANY - cut);
		assert_int_equal(sonde_histogram_merge(&left, &right), 0);
		same(&left, &all);
		sonde_histogram_fini(&all);
		sonde_histogram_fini(&left);
		sonde_histogram_fini(&right);
	}
}

static void rounding_stays_within_the_type(void **unused)
{
	(void)unused;
	assert_int_equal(sonde_round(2.5), 3);
	assert_int_equal(sonde_round(-2.5), -3);
	assert_int_equal(sonde_round(1e300), INT64_MAX);
	assert_int_equal(sonde_round(-1e300), INT64_MIN);
	assert_int_equal(sonde_round((double)INT64_MAX), INT64_MAX);
}

static void empty_one_is_neutral(void **unused)
{
	struct sonde_histogram histogram = { 0 };
	struct sonde_histogram empty = { 0 };

	(void)unused;
	assert_int_equal(sonde_histogram_quantile(&empty, 0.5), 0);
	assert_int_equal(sonde_histogram_add(&histogram, -7), 0);
	assert_int_equal(sonde_histogram_merge(&histogram, &empty), 0);
	assert_int_equal(sonde_histogram_merge(&empty, &histogram), 0);
	same(&histogram, &empty);
	assert_int_equal(empty.max, -7);
	sonde_histogram_fini(&histogram);
	sonde_histogram_fini(&empty);
}

static void check_drawing(const struct sonde_histogram *histogram,
			  const int64_t *values)
{
	struct sonde_report *report = sonde_report_new("test");
	struct sonde_section drawn;

	sonde_histogram_report(histogram, report, "h", "", SONDE_CELL_INT);
	assert_true(sonde_report_section(report, 0, &drawn));
	assert_in_range(drawn.nr_bins, 1, 24);
	for (size_t bin = 0; bin < drawn.nr_bins; bin++) {
		uint64_t count = 0;

		for (size_t i = 0; i < MANY; i++)
			count += values[i] >= drawn.bounds[bin] &&
				 values[i] < drawn.bounds[bin + 1];
		assert_int_equal(count, drawn.counts[bin]);
	}
	sonde_report_free(report);
}

static void deviation_is_that_of_the_values(void **unused)
{
	const int64_t values[] = { 999990, 1000010, 999990, 1000010 };
	struct sonde_histogram histogram = { 0 };

	(void)unused;
	assert_true(sonde_histogram_deviation(&histogram) == 0.0);
	fill(&histogram, values, 4);
	assert_true(sonde_histogram_deviation(&histogram) > 9.99);
	assert_true(sonde_histogram_deviation(&histogram) < 10.01);
	sonde_histogram_fini(&histogram);
}

static void drawing_counts_what_is_between_its_bounds(void **unused)
{
	static int64_t values[MANY];

	(void)unused;
	state = SEED + 2;
	for (unsigned int bits = 1; bits < 64; bits++) {
		struct sonde_histogram histogram = { 0 };

		for (size_t i = 0; i < MANY; i++)
			values[i] =
				(int64_t)(next_random(&state) >> (64 - bits)) -
				(bits % 3 ? 0 : 1 << 4);
		fill(&histogram, values, MANY);
		check_drawing(&histogram, values);
		sonde_histogram_fini(&histogram);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_a_32nd),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(ends_of_the_range_are_kept),
		cmocka_unit_test(merging_is_adding),
		cmocka_unit_test(rounding_stays_within_the_type),
		cmocka_unit_test(empty_one_is_neutral),
		cmocka_unit_test(deviation_is_that_of_the_values),
		cmocka_unit_test(drawing_counts_what_is_between_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
