/* SPDX-License-Identifier: MIT */
/* States by row, held against a plain array of them (view/index/rows.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unit.h"
#include "view/index/rows.h"

#define ROWS   3
#define PIECES 3000
#define TIME   60000

static struct sonde_view_rows rows;
/* What each row was doing at each time: the state, what goes with it. */
static uint8_t states[ROWS][TIME];
static uint32_t abouts[ROWS][TIME];
static unsigned int chance = 19;

static int64_t random_below(int64_t limit)
{
	chance = chance * 1103515245u + 12345u;
	return (int64_t)(chance >> 8) % limit;
}

static void add_random(uint32_t row, int64_t *at)
{
	struct sonde_view_piece piece = {
		.begin = *at + (random_below(4) ? 0 : random_below(9)),
		.state = (uint8_t)(1 + random_below(SONDE_VIEW_STATES - 1)),
		.about = (uint32_t)random_below(2),
	};

	piece.end = piece.begin + random_below(20);
	if (piece.end > TIME)
		return;
	assert_int_equal(sonde_view_rows_add(&rows, row, &piece), 0);
	for (int64_t t = piece.begin; t < piece.end; t++) {
		states[row][t] = piece.state;
		abouts[row][t] = piece.about;
	}
	if (piece.end > piece.begin)
		*at = piece.end;
}

static int fill(void **state)
{
	int64_t at[ROWS] = { 100, 0, 7 };

	(void)state;
	sonde_view_rows_init(&rows, memfd_create("rows", MFD_CLOEXEC));
	for (int i = 0; i < ROWS; i++)
		assert_int_equal(sonde_view_rows_new(&rows,
						     SONDE_VIEW_ROW_THREAD, i),
				 i);
	for (int i = 0; i < ROWS * PIECES; i++) {
		uint32_t row = (uint32_t)random_below(ROWS);

		add_random(row, &at[row]);
	}
	/* full chunks, and more than one group in the open one */
	assert_true(rows.rows[0].nr_chunks > 10);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sonde_view_rows_fini(&rows);
	return 0;
}

static void state_is_what_was_told_at_every_time(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++)
		for (int64_t t = -1; t < TIME; t++) {
			struct sonde_view_piece piece;
			bool known = sonde_view_rows_at(&rows, row, t, &piece);

			if (t < 0 || t < rows.rows[row].begin ||
			    t >= rows.rows[row].end) {
				assert_false(known);
				continue;
			}
			assert_true(known);
			assert_true(piece.begin <= t && t < piece.end);
			assert_int_equal(piece.state, states[row][t]);
			assert_int_equal(piece.about, abouts[row][t]);
		}
}

static void pieces_end_where_the_next_begins_and_differ(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		struct sonde_view_piece last = { .end = -1 };
		struct sonde_view_piece piece;
		int64_t t = rows.rows[row].begin;

		for (; sonde_view_rows_at(&rows, row, t, &piece);
		     t = piece.end, last = piece) {
			assert_int_equal(piece.begin, t);
			assert_false(last.end >= 0 &&
				     last.state == piece.state &&
				     last.about == piece.about);
		}
		assert_int_equal(t, rows.rows[row].end);
	}
}

static void sums_are_exact_at_every_time(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < ROWS; row++) {
		uint64_t expected[SONDE_VIEW_STATES] = { 0 };

		for (int64_t t = 0; t < TIME; t++) {
			uint64_t sums[SONDE_VIEW_STATES];

			sonde_view_rows_sums(&rows, row, t, sums);
			assert_memory_equal(sums, expected, sizeof(sums));
			if (t >= rows.rows[row].begin && t < rows.rows[row].end)
				expected[states[row][t]]++;
		}
		assert_memory_equal(rows.rows[row].sums, expected,
				    sizeof(expected));
	}
}

/* Whatever comes twice, or too late, was known before. */
static void what_was_told_stays(void **state)
{
	struct sonde_view_row *row = &rows.rows[1];
	struct sonde_view_piece piece = {
		.begin = row->end - 50,
		.end = row->end - 10,
		.state = SONDE_VIEW_IDLE,
	};
	struct sonde_view_piece found;
	int64_t end = row->end;

	(void)state;
	assert_int_equal(sonde_view_rows_add(&rows, 1, &piece), 0);
	assert_int_equal(row->end, end);
	piece.end = SONDE_VIEW_TIME_MAX + 1;
	assert_int_equal(sonde_view_rows_add(&rows, 1, &piece), 0);
	assert_int_equal(row->end, end);
	piece.end = end + 5;
	assert_int_equal(sonde_view_rows_add(&rows, 1, &piece), 0);
	assert_true(sonde_view_rows_at(&rows, 1, end - 1, &found));
	assert_int_equal(found.state, states[1][end - 1]);
	assert_true(sonde_view_rows_at(&rows, 1, end, &found));
	assert_int_equal(found.state, SONDE_VIEW_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_is_what_was_told_at_every_time),
		cmocka_unit_test(pieces_end_where_the_next_begins_and_differ),
		cmocka_unit_test(sums_are_exact_at_every_time),
		cmocka_unit_test(what_was_told_stays),
	};

	return cmocka_run_group_tests(tests, fill, drop);
}
