/* SPDX-License-Identifier: MIT */
/*
 * test_latency_gaps.c - latency/gaps.h against the same values in a list: sums
 * are exact, quantiles are exact where times are short, and near where not.
 */
#include "latency/gaps.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define MANY 5000

static struct sonde_latency_gaps gaps;
static uint64_t values[MANY];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* As many below as above the limit of what is exact, in order. */
static void fill(uint64_t seed, unsigned int max_bits)
{
	memset(&gaps, 0, sizeof(gaps));
	for (size_t i = 0; i < MANY; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		values[i] =
			(seed >> 20) & ((1ull << (1 + seed % max_bits)) - 1);
		sonde_latency_gaps_add(&gaps, values[i]);
	}
	qsort(values, MANY, sizeof(values[0]), compare);
}

static void sums_are_exact(void **state)
{
	struct sonde_latency_summary summary;
	uint64_t sum = 0;
	long double squares = 0;
	long double mean;

	(void)state;
	fill(20261126, 30);
	for (size_t i = 0; i < MANY; i++) {
		sum += values[i];
		squares += (long double)values[i] * (long double)values[i];
	}
	mean = (long double)sum / MANY;
	sonde_latency_gaps_sum(&gaps, &summary);
	assert_int_equal(summary.count, MANY);
	assert_int_equal(summary.sum, sum);
	assert_int_equal(summary.min, values[0]);
	assert_int_equal(summary.max, values[MANY - 1]);
	assert_true(summary.mean == (double)mean);
	assert_true(summary.variance / (double)(squares / MANY - mean * mean) <
		    1.000001);
	assert_true(summary.variance / (double)(squares / MANY - mean * mean) >
		    0.999999);
}

/* What at least q of all are at most. */
static uint64_t expected_quantile(double q)
{
	size_t at = 0;

	while (at + 1 < MANY && (double)(at + 1) < q * MANY)
		at++;
	return values[at];
}

static void quantiles_are_exact_where_times_are_short(void **state)
{
	static const double qs[] = { 0, 0.1, 0.5, 0.9, 0.999, 1 };

	(void)state;
	fill(7, 12);
	assert_int_equal(gaps.nr_long, 0);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(qs); i++)
		assert_int_equal(sonde_latency_gaps_quantile(&gaps, qs[i]),
				 expected_quantile(qs[i]));
}

static void quantiles_are_near_where_they_are_long(void **state)
{
	static const double qs[] = { 0.5, 0.9, 0.99, 0.999, 0.9999 };

	(void)state;
	fill(99, 40);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(qs); i++) {
		double found =
			(double)sonde_latency_gaps_quantile(&gaps, qs[i]);
		double right = (double)expected_quantile(qs[i]);

		assert_true(found <= right * (1 + 1 / 31.0) + 1);
		assert_true(found >= right * (1 - 1 / 31.0) - 1);
	}
	assert_int_equal(sonde_latency_gaps_quantile(&gaps, 1),
			 values[MANY - 1]);
}

static void the_border_belongs_to_the_bins(void **state)
{
	struct sonde_latency_summary summary;

	(void)state;
	memset(&gaps, 0, sizeof(gaps));
	sonde_latency_gaps_add(&gaps, SONDE_LATENCY_EXACT - 1);
	assert_int_equal(gaps.nr_long, 0);
	sonde_latency_gaps_add(&gaps, SONDE_LATENCY_EXACT);
	assert_int_equal(gaps.nr_long, 1);
	sonde_latency_gaps_sum(&gaps, &summary);
	assert_int_equal(summary.min, SONDE_LATENCY_EXACT - 1);
	assert_int_equal(summary.max, SONDE_LATENCY_EXACT);
	assert_int_equal(sonde_latency_gaps_quantile(&gaps, 0.5),
			 SONDE_LATENCY_EXACT - 1);
}

static void an_empty_one_is_all_zeros(void **state)
{
	struct sonde_latency_summary summary;

	(void)state;
	memset(&gaps, 0, sizeof(gaps));
	sonde_latency_gaps_sum(&gaps, &summary);
	assert_int_equal(summary.count, 0);
	assert_int_equal(summary.max, 0);
	assert_int_equal(sonde_latency_gaps_quantile(&gaps, 0.99), 0);
}

static void the_longest_of_all_has_a_bin(void **state)
{
	(void)state;
	memset(&gaps, 0, sizeof(gaps));
	sonde_latency_gaps_add(&gaps, UINT64_MAX);
	sonde_latency_gaps_add(&gaps, INT64_MAX);
	assert_int_equal(gaps.nr_long, 2);
	assert_true(gaps.max_long == INT64_MAX);
	assert_true(sonde_latency_gaps_quantile(&gaps, 0.5) > INT64_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(quantiles_are_exact_where_times_are_short),
		cmocka_unit_test(quantiles_are_near_where_they_are_long),
		cmocka_unit_test(the_border_belongs_to_the_bins),
		cmocka_unit_test(an_empty_one_is_all_zeros),
		cmocka_unit_test(the_longest_of_all_has_a_bin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
