/* SPDX-License-Identifier: MIT */
/* Values of counters, held against a plain array of them (view/index/series.h), and
 * how they are drawn (view/index/paint.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unit.h"
#include "view/index/paint.h"
#include "view/index/walk.h"

#define ROWS  4
#define TIME  400000
#define BEGIN 100

static struct sonde_view_rows rows;
/* What each counter was at each time; NaN: not known. */
static double truth[ROWS][TIME];
static unsigned int chance = 7;

static int64_t random_below(int64_t limit)
{
	chance = chance * 1103515245u + 12345u;
	return (int64_t)(chance >> 8) % limit;
}

/* A small one that goes up and down; bytes; fractions; all that there is, with what is
 * no number. */
static double random_value(uint32_t row, double last)
{
	static const double odd[] = { -0.0,      1e308,   -1e-300, 0x1p53,
				      -0x1p53,   0x1p53,  0x1p60,  INFINITY,
				      -INFINITY, 4.5e-13, 0,       -7 };

	if (isnan(last))
		last = 0;
	if (row == 0)
		return last + (double)random_below(3) - 1;
	if (row == 1)
		return last + 4096.0 * (double)(random_below(4000) - 2000);
	if (row == 2)
		return (double)random_below(1000) / 8;
	return odd[random_below(sizeof(odd) / sizeof(*odd))];
}

static void fill_counter(uint32_t row)
{
	double value = 0;

	for (int64_t at = BEGIN; at < TIME;) {
		struct sonde_view_piece piece = {
			.begin = at + (random_below(100) ? 0 : 5),
			.state = SONDE_VIEW_VALUE,
		};

		value = piece.value = random_value(row, value);
		piece.end = piece.begin + 1 + random_below(8);
		if (piece.end > TIME)
			break;
		assert_int_equal(sonde_view_rows_add(&rows, row, &piece), 0);
		for (int64_t t = piece.begin; t < piece.end; t++)
			truth[row][t] = isfinite(value) ? value : NAN;
		if (!isfinite(value))
			value = 0;
		at = piece.end;
	}
}

static int fill(void **state)
{
	(void)state;
	sonde_view_rows_init(&rows, memfd_create("rows", MFD_CLOEXEC));
	for (uint32_t row = 0; row < ROWS; row++) {
		for (int64_t t = 0; t < TIME; t++)
			truth[row][t] = NAN;
		assert_int_equal(sonde_view_rows_new(&rows,
						     SONDE_VIEW_ROW_COUNTER,
						     (int32_t)row),
				 (int)row);
		fill_counter(row);
	}
	/* three levels: leaves, branches of these, and of those */
	assert_non_null(rows.rows[1].series->levels[1]);
	assert_true(rows.rows[1].series->levels[0]->nr > 0);
	assert_true(rows.rows[1].series->nr > 0);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sonde_view_rows_fini(&rows);
	return 0;
}

static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void value_is_what_was_told_at_every_time(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++)
		for (int64_t t = 0; t < TIME; t++) {
			struct sonde_view_piece piece;
			double expected = truth[row][t];

			if (t < rows.rows[row].begin ||
			    t >= rows.rows[row].end) {
				assert_false(sonde_view_rows_at(&rows, row, t,
								&piece));
				continue;
			}
			assert_true(sonde_view_rows_at(&rows, row, t, &piece));
			assert_true(piece.begin <= t && t < piece.end);
			assert_int_equal(piece.state,
					 isnan(expected) ? SONDE_VIEW_UNKNOWN :
							   SONDE_VIEW_VALUE);
			if (!isnan(expected))
				assert_true(piece.value == expected);
		}
}

static void
pieces_of_a_counter_end_where_the_next_begins_and_differ(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		struct sonde_view_piece last = { .state = SONDE_VIEW_STATES };
		struct sonde_view_piece piece;
		int64_t t = rows.rows[row].begin;

		for (; sonde_view_rows_at(&rows, row, t, &piece);
		     t = piece.end, last = piece) {
			assert_int_equal(piece.begin, t);
			assert_false(last.state == piece.state &&
				     (piece.state == SONDE_VIEW_UNKNOWN ||
				      last.value == piece.value));
		}
		assert_int_equal(t, rows.rows[row].end);
	}
}

/* Of all times from one to another; of none, that of the first. */
static struct sonde_view_reach exact_reach(uint32_t row, int64_t from,
					   int64_t to)
{
	struct sonde_view_reach reach = { INFINITY, -INFINITY, NAN };

	if (to == from)
		to++;
	for (int64_t t = from; t < to; t++) {
		double value = t >= 0 && t < TIME ? truth[row][t] : NAN;

		reach.least = fmin(reach.least, value);
		reach.most = fmax(reach.most, value);
		if (t < rows.rows[row].end)
			reach.last = value;
	}
	return reach;
}

static void assert_exact(uint32_t row, const struct sonde_view_span *span,
			 uint32_t pixels)
{
	const struct sonde_view_values values =
		sonde_view_rows_values(&rows, row);
	struct sonde_view_edges edges = sonde_view_edges(span, pixels);
	struct sonde_view_reach got[500];

	sonde_view_values_paint(&values, &edges, pixels, 0, got);
	assert_int_equal(edges.at, span->to);
	for (uint32_t i = 0; i < pixels; i++) {
		struct sonde_view_reach expected =
			exact_reach(row, sonde_view_pixel(span, i, pixels),
				    sonde_view_pixel(span, i + 1, pixels));

		assert_true(is_same(got[i].least, expected.least));
		assert_true(is_same(got[i].most, expected.most));
		assert_true(is_same(got[i].last, expected.last));
	}
}

/* From all of it to pixels that are finer than the clock, and beyond both ends. */
static void
every_pixel_has_the_least_the_most_and_the_last_of_its_time(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		for (int i = 0; i < 400; i++) {
			int64_t length = 1 + random_below(1LL << (i % 19));
			struct sonde_view_span span = {
				.from = random_below(TIME + 200) - 100,
			};

			span.to = span.from + length;
			assert_exact(row, &span,
				     1 + (uint32_t)random_below(500));
		}
		assert_exact(row, &(struct sonde_view_span){ 0, TIME }, 500);
		assert_exact(row, &(struct sonde_view_span){ -9, TIME + 9 }, 1);
	}
}

/* With slack the ends of pixels move by no more than that. */
static void a_pixel_is_off_by_no_more_than_the_slack(void **state)
{
	const struct sonde_view_span span = { 0, TIME };
	const uint32_t pixels = 100;
	const int64_t slack = TIME / 100 / 8;
	struct sonde_view_reach got[100];

	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		const struct sonde_view_values values =
			sonde_view_rows_values(&rows, row);
		struct sonde_view_edges edges = sonde_view_edges(&span, pixels);

		sonde_view_values_paint(&values, &edges, pixels, slack, got);
		for (uint32_t i = 0; i < pixels; i++) {
			int64_t begin = sonde_view_pixel(&span, i, pixels);
			int64_t end = sonde_view_pixel(&span, i + 1, pixels);
			struct sonde_view_reach more =
				exact_reach(row, begin - slack, end + slack);
			struct sonde_view_reach less =
				exact_reach(row, begin + slack, end - slack);

			assert_true(got[i].least >= more.least);
			assert_true(got[i].most <= more.most);
			assert_true(got[i].least <= less.least);
			assert_true(got[i].most >= less.most);
		}
	}
}

static void a_row_knows_its_least_and_most(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		struct sonde_view_reach all = exact_reach(row, 0, TIME);

		assert_true(rows.rows[row].least == all.least);
		assert_true(rows.rows[row].most == all.most);
	}
}

static void check_scale(double least, double most, double low, double high)
{
	const struct sonde_view_row row = { .least = least, .most = most };
	double got[2];

	sonde_view_value_scale(&row, &got[0], &got[1]);
	assert_true(got[0] == low);
	assert_true(got[1] == high);
}

static void
a_scale_begins_at_0_unless_that_would_hide_what_changes(void **state)
{
	(void)state;
	check_scale(1, 10, 0, 10);
	check_scale(90, 100, 90, 100);
	check_scale(-10, -1, -10, 0);
	check_scale(-3, 4, -3, 4);
	check_scale(5, 5, 0, 5);
	check_scale(0, 0, 0, 1);
	check_scale(INFINITY, -INFINITY, 0, 1);
}

/* What lies in each pixel is drawn between its least and its most. */
static void a_counter_is_drawn_by_its_least_and_most(void **state)
{
	static struct sonde_view_run runs[SONDE_VIEW_PIXELS];
	const struct sonde_view_span span = { 1000, 1000 + 3000 };
	const uint32_t pixels = 600;
	double low;
	double high;

	(void)state;
	sonde_view_value_scale(&rows.rows[0], &low, &high);
	sonde_view_paint_counter(&rows, 0, &span, pixels, runs);
	for (uint32_t x = 0; x < pixels; x++) {
		struct sonde_view_reach reach =
			exact_reach(0, sonde_view_pixel(&span, x, pixels),
				    sonde_view_pixel(&span, x + 1, pixels));

		assert_int_equal(runs[x].x, x);
		if (reach.least > reach.most) {
			assert_int_equal(runs[x].state, SONDE_VIEW_UNKNOWN);
			continue;
		}
		assert_int_equal(runs[x].state, SONDE_VIEW_VALUE);
		assert_int_equal(runs[x].share, lround((reach.most - low) /
						       (high - low) * 255));
		assert_int_equal(runs[x].name, lround((reach.least - low) /
						      (high - low) * 255));
	}
}

/* Small steps, some ten to twenty times apart: three bytes each and the branches. */
static void a_value_takes_few_bytes(void **state)
{
	struct sonde_view_series *series = NULL;
	struct sonde_view_body body;
	uint64_t root;
	int64_t at = 0;

	(void)state;
	sonde_view_body_init(&body, memfd_create("body", MFD_CLOEXEC));
	for (int i = 0; i < 100000; i++, at += 10000 + random_below(20000))
		assert_int_equal(
			sonde_view_series_add(&series, &body, at, i % 7), 0);
	assert_int_equal(sonde_view_series_close(series, &body, at, &root), 0);
	assert_true(body.used < 100000 * 7 / 2);
	sonde_view_series_free(series);
	sonde_view_body_fini(&body);
}

static void all_values_are_the_same_once_they_are_in_the_file(void **state)
{
	assert_int_equal(sonde_view_rows_close(&rows), 0);
	for (uint32_t row = 0; row < ROWS; row++) {
		assert_null(rows.rows[row].series);
		assert_int_equal(rows.rows[row].nr_nodes, 1);
	}
	value_is_what_was_told_at_every_time(state);
	every_pixel_has_the_least_the_most_and_the_last_of_its_time(state);
	a_pixel_is_off_by_no_more_than_the_slack(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_is_what_was_told_at_every_time),
		cmocka_unit_test(
			pieces_of_a_counter_end_where_the_next_begins_and_differ),
		cmocka_unit_test(
			every_pixel_has_the_least_the_most_and_the_last_of_its_time),
		cmocka_unit_test(a_pixel_is_off_by_no_more_than_the_slack),
		cmocka_unit_test(a_row_knows_its_least_and_most),
		cmocka_unit_test(
			a_scale_begins_at_0_unless_that_would_hide_what_changes),
		cmocka_unit_test(a_counter_is_drawn_by_its_least_and_most),
		cmocka_unit_test(a_value_takes_few_bytes),
		cmocka_unit_test(
			all_values_are_the_same_once_they_are_in_the_file),
	};

	return cmocka_run_group_tests(tests, fill, drop);
}
