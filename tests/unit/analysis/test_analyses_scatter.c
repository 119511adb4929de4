/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_scatter.c - spans in a grid of begins and durations, in one part and
 * in many.
 */
#include "analysis/reports/scatter.h"

#include "random.h"
#include "unit.h"

#include <string.h>

#define SEED  20261129u
#define SPANS 2000u

static const struct sonde_scatter_config config = {
	.from_ns = -1000,
	.to_ns = 9000,
	.nr_columns = 7,
	.box_from_ns = 0,
	.box_to_ns = 5000,
	.least_ns = 100,
	.most_ns = 70000,
};

static uint64_t state = SEED;

static struct sonde_longest_span next_span(void)
{
	int64_t begin = (int64_t)(next_random(&state) % 12000) - 2000;
	int64_t ns =
		(int64_t)(next_random(&state) >> (next_random(&state) % 64));

	return (struct sonde_longest_span){
		.begin_ns = begin,
		.end_ns = ns > INT64_MAX / 2 || ns < 0 ? INT64_MAX : begin + ns,
		.tid = -1,
	};
}

static void add(struct sonde_scatter *scatter,
		const struct sonde_longest_span *span)
{
	const struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, 1, 0);

	assert_int_equal(sonde_scatter_add(scatter, span, &key), 0);
}

static bool is_within(const struct sonde_longest_span *span)
{
	return span->begin_ns >= config.from_ns &&
	       span->begin_ns < config.to_ns;
}

/* By comparing with both ends of each column and row. */
static uint32_t count_of(const struct sonde_longest_span *spans,
			 uint32_t column, uint32_t row)
{
	int64_t all = config.to_ns - config.from_ns;
	uint32_t nr = 0;

	for (size_t i = 0; i < SPANS; i++) {
		int64_t into = (spans[i].begin_ns - config.from_ns) *
			       config.nr_columns;
		int64_t ns =
			sonde_elapsed_ns(spans[i].begin_ns, spans[i].end_ns);

		nr += is_within(&spans[i]) && into >= column * all &&
		      into < (column + 1) * all &&
		      ns >= sonde_scatter_lower(row) &&
		      (ns < sonde_scatter_lower(row + 1) ||
		       row == SONDE_SCATTER_ROWS - 1);
	}
	return nr;
}

static uint64_t boxed_of(const struct sonde_longest_span *spans)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < SPANS; i++) {
		int64_t ns =
			sonde_elapsed_ns(spans[i].begin_ns, spans[i].end_ns);

		nr += spans[i].begin_ns >= config.box_from_ns &&
		      spans[i].begin_ns < config.box_to_ns &&
		      ns >= config.least_ns && ns <= config.most_ns;
	}
	return nr;
}

static void
each_span_is_counted_where_it_begins_and_how_long_it_is(void **unused)
{
	static struct sonde_longest_span spans[SPANS];
	struct sonde_scatter parts[3];

	(void)unused;

	for (size_t i = 0; i < 3; i++)
		parts[i] = (struct sonde_scatter){ .config = &config };
	for (size_t i = 0; i < SPANS; i++) {
		spans[i] = next_span();
		/* the last part stays empty, and so does the first at first */
		add(&parts[i % 2], &spans[i]);
	}
	sonde_scatter_merge(&parts[2], &parts[0]);
	sonde_scatter_merge(&parts[2], &parts[1]);
	assert_non_null(parts[2].counts);
	for (uint32_t x = 0; x < config.nr_columns; x++)
		for (uint32_t row = 0; row < SONDE_SCATTER_ROWS; row++)
			assert_int_equal(
				parts[2].counts[x * SONDE_SCATTER_ROWS + row],
				count_of(spans, x, row));
	for (size_t i = 0; i < 3; i++)
		sonde_scatter_fini(&parts[i]);
}

static void the_longest_are_those_of_the_box(void **unused)
{
	static struct sonde_longest_span spans[SPANS];
	struct sonde_scatter scatter = { .config = &config };
	int64_t last = INT64_MAX;

	(void)unused;

	for (size_t i = 0; i < SPANS; i++) {
		spans[i] = next_span();
		add(&scatter, &spans[i]);
	}
	assert_true(boxed_of(spans) > SONDE_LONGEST_MAX);
	assert_int_equal(scatter.nr_boxed, boxed_of(spans));
	assert_int_equal(scatter.worst.nr, SONDE_LONGEST_MAX);
	for (size_t i = 0; i < scatter.worst.nr; i++) {
		const struct sonde_longest_span *span = &scatter.worst.spans[i];
		int64_t ns = sonde_elapsed_ns(span->begin_ns, span->end_ns);

		assert_true(span->begin_ns >= config.box_from_ns &&
			    span->begin_ns < config.box_to_ns);
		assert_true(ns >= config.least_ns && ns <= config.most_ns &&
			    ns <= last);
		last = ns;
	}
	sonde_scatter_fini(&scatter);
}

static void a_count_that_is_too_large_stays_the_largest(void **unused)
{
	struct sonde_longest_span span = { .begin_ns = 0, .end_ns = 1 };
	struct sonde_scatter a = { .config = &config };
	struct sonde_scatter b = { .config = &config };
	size_t at = 0;

	(void)unused;

	add(&a, &span);
	add(&b, &span);
	while (!a.counts[at])
		at++;
	a.counts[at] = UINT32_MAX;
	add(&a, &span);
	assert_int_equal(a.counts[at], UINT32_MAX);
	sonde_scatter_merge(&a, &b);
	assert_int_equal(a.counts[at], UINT32_MAX);
	sonde_scatter_fini(&a);
	sonde_scatter_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_span_is_counted_where_it_begins_and_how_long_it_is),
		cmocka_unit_test(the_longest_are_those_of_the_box),
		cmocka_unit_test(a_count_that_is_too_large_stays_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
