/* SPDX-License-Identifier: MIT */
/* States by row, held against a plain array of them (view/index/rows.h), and what
 * is asked while a picture is drawn (view/index/walk.h), and the picture
 * (view/index/paint.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/port.h"
#include "unit.h"
#include "view/index/paint.h"
#include "view/index/walk.h"

#define ROWS   4
#define PIECES 36000
#define TIME   500000

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

/* Some kinds of states; more than a chunk has; as a CPU, two, and what goes with
 * one is another each time. */
static void random_kind(uint32_t row, struct sonde_view_piece *piece)
{
	static const int64_t limits[ROWS] = { 2, 2, 40, 1 << 20 };

	piece->state = (uint8_t)(1 + random_below(SONDE_VIEW_STATES - 1));
	piece->about = (uint32_t)random_below(limits[row]);
	if (row == 3)
		piece->state =
			piece->about % 4 ? SONDE_VIEW_RUNNING : SONDE_VIEW_IDLE;
	if (piece->state == SONDE_VIEW_IDLE && row == 3)
		piece->about = 0;
}

static void add_random(uint32_t row, int64_t *at)
{
	struct sonde_view_piece piece = {
		.begin = *at +
			 (row == 3 || random_below(4) ? 0 : random_below(9)),
	};

	random_kind(row, &piece);
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
	int64_t at[ROWS] = { 100, 0, 7, 0 };

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
	/* a node, chunks, and more than one group in the open one */
	assert_int_equal(rows.rows[0].nr_nodes, 1);
	assert_true(rows.rows[0].nr_entries > 1);
	assert_true(rows.rows[0].open->nr > SONDE_VIEW_GROUP);
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
			uint64_t sums[SONDE_VIEW_STATES] = { 0 };

			sonde_view_rows_sums(&rows, row, t, sums);
			assert_memory_equal(sums, expected, sizeof(sums));
			if (t >= rows.rows[row].begin && t < rows.rows[row].end)
				expected[states[row][t]]++;
		}
		assert_memory_equal(rows.rows[row].sums, expected,
				    sizeof(expected));
	}
}

/* At whatever level the walk stops, the sums are those of where it stopped. */
static void sums_are_exact_at_every_level(void **state)
{
	static const int64_t slacks[] = { 0, 30, 700, 6000, 100000, TIME };
	unsigned int nr_early = 0;
	unsigned int nr_late = 0;

	(void)state;
	for (uint32_t row = 0; row < ROWS; row++)
		for (size_t i = 0; i < sizeof(slacks) / sizeof(*slacks); i++) {
			struct sonde_view_walk walk;

			sonde_view_walk_init(&walk, &rows, row);
			for (int64_t t = 0; t < TIME;
			     t += 1 + random_below(60)) {
				uint64_t exact[SONDE_VIEW_STATES];
				uint64_t sums[SONDE_VIEW_STATES] = { 0 };
				int64_t when = sonde_view_walk_sums(
					&walk, t, slacks[i], sums);

				assert_true(llabs(t - when) <= slacks[i]);
				nr_early += when < t;
				nr_late += when > t;
				sonde_view_rows_sums(&rows, row, when, exact);
				assert_memory_equal(sums, exact, sizeof(sums));
			}
		}
	assert_true(nr_early > TIME / 60);
	assert_true(nr_late > 1000);
}

static void a_walk_goes_back_as_well(void **state)
{
	struct sonde_view_walk walk;

	(void)state;
	sonde_view_walk_init(&walk, &rows, 0);
	for (int i = 0; i < 100000; i++) {
		int64_t t = random_below(rows.rows[0].end);
		struct sonde_view_piece piece;
		uint64_t exact[SONDE_VIEW_STATES];
		uint64_t sums[SONDE_VIEW_STATES] = { 0 };

		if (i % 2 == 0 && sonde_view_walk_at(&walk, t, &piece))
			assert_int_equal(piece.state, states[0][t]);
		(void)sonde_view_walk_sums(&walk, t, 0, sums);
		sonde_view_rows_sums(&rows, 0, t, exact);
		assert_memory_equal(sums, exact, sizeof(sums));
	}
}

/* How long the row was what of that time; the longest. */
static int64_t count_states(uint32_t row, int64_t begin, int64_t end,
			    int64_t took[SONDE_VIEW_STATES])
{
	int64_t most = 0;

	memset(took, 0, SONDE_VIEW_STATES * sizeof(*took));
	for (int64_t t = begin < 0 ? 0 : begin; t < end && t < TIME; t++)
		took[states[row][t]]++;
	for (int i = 1; i < SONDE_VIEW_STATES; i++)
		most = took[i] > most ? took[i] : most;
	return most;
}

/* Each edge may be off by `slack`; a share is rounded down to a 255th. */
static void check_pixel(uint32_t row, const struct sonde_view_span *span,
			uint32_t pixels, const struct sonde_view_run *run)
{
	int64_t slack = (span->to - span->from) / pixels / 8;
	int64_t begin = sonde_view_pixel(span, run->x, pixels);
	int64_t end = sonde_view_pixel(span, run->x + 1u, pixels);
	int64_t took[SONDE_VIEW_STATES];
	int64_t most = count_states(row, begin, end, took);
	uint32_t about = begin < 0 || begin >= TIME ? 0 : abouts[row][begin];
	bool one = begin == end || took[run->state] == end - begin;

	if (begin == end && begin >= 0 && begin < TIME)
		assert_int_equal(run->state, states[row][begin]);
	assert_true(took[run->state] >= (run->state ? most - 4 * slack : 0));
	assert_true(!run->state == !most || most <= 4 * slack);
	if (run->state && begin < end)
		assert_true(llabs(run->share * (end - begin) -
				  255 * took[run->state]) <=
			    255 * (4 * slack) + (end - begin));
	for (int64_t t = begin; one && t < end && t < TIME; t++)
		one = t < 0 || abouts[row][t] == about;
	if (!slack)
		assert_int_equal(run->name,
				 one && run->state == SONDE_VIEW_SPAN ? about :
									0);
}

static struct sonde_view_run runs[ROWS * SONDE_VIEW_PIXELS];

static void pixels_show_what_took_most_of_them(void **state)
{
	static const struct {
		int64_t from, to;
		uint32_t pixels;
	} pictures[] = {
		{ 0, TIME, 11 },
		{ -500, TIME + 500, 300 },
		{ 0, TIME, 4001 },
		{ 1000, 9000, 1500 },
		{ TIME / 2, TIME / 2 + 900, 700 },
		{ 2000, 2040, 1000 },
	};
	static const uint32_t ids[] = { 0, 1, 2, 3 };

	(void)state;
	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(pictures); i++) {
		const struct sonde_view_span span = { pictures[i].from,
						      pictures[i].to };
		const struct sonde_view_picture picture = {
			.ids = ids,
			.nr = ROWS,
			.span = &span,
			.pixels = pictures[i].pixels,
			.runs = runs,
		};

		memset(runs, 0xff, sizeof(runs));
		for (size_t part = sonde_view_picture_parts(&picture);
		     part-- > 0;)
			sonde_view_paint_states(&rows, &picture, part);
		for (uint32_t x = 0; x < ROWS * picture.pixels; x++) {
			assert_int_equal(runs[x].x, x % picture.pixels);
			assert_int_equal(runs[x].width, 1);
			check_pixel(x / picture.pixels, &span, picture.pixels,
				    &runs[x]);
		}
	}
}

/* Of any number of rows: each is in one part, and is drawn as it is alone. */
static void a_row_is_drawn_as_it_is_alone(void **state)
{
	const struct sonde_view_span span = { 1000, TIME - 700 };
	uint32_t ids[70];
	struct sonde_view_picture all = {
		.ids = ids, .span = &span, .pixels = 61, .runs = runs
	};
	struct sonde_view_run alone[61];
	struct sonde_view_picture one = {
		.nr = 1, .span = &span, .pixels = 61, .runs = alone
	};

	(void)state;
	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(ids); i++)
		ids[i] = i * 7 % 5; /* 4: there is none */
	for (all.nr = 0; all.nr <= SONDE_ARRAY_SIZE(ids); all.nr++) {
		memset(runs, 0xff, sizeof(runs));
		for (size_t i = 0; i < sonde_view_picture_parts(&all); i++)
			sonde_view_paint_states(&rows, &all, i);
		for (size_t i = 0; i < all.nr; i++) {
			memset(alone, 0xff, sizeof(alone));
			one.ids = &ids[i];
			sonde_view_paint_states(&rows, &one, 0);
			assert_memory_equal(&runs[i * 61], alone,
					    sizeof(alone));
			assert_int_equal(alone[0].width == 1, ids[i] < ROWS);
		}
	}
}

/* Durations of any length, and sums that don't fit in 32 bits. */
static void long_times_are_kept(void **state)
{
	struct sonde_view_rows far;
	int64_t at = 5;

	(void)state;
	sonde_view_rows_init(&far, memfd_create("far", MFD_CLOEXEC));
	assert_int_equal(sonde_view_rows_new(&far, SONDE_VIEW_ROW_CPU, 0), 0);
	for (int i = 0; i < 1000; i++) {
		struct sonde_view_piece piece = {
			.begin = at,
			.end = at + ((int64_t)1 << i % 45) - i % 2,
			.state = (uint8_t)(1 + i % 2),
			.about = (uint32_t)i % 3,
		};

		assert_int_equal(sonde_view_rows_add(&far, 0, &piece), 0);
		at = piece.end > at ? piece.end : at;
	}
	assert_int_equal(sonde_view_rows_close(&far), 0);
	at = 5;
	for (int i = 0; i < 1000; i++) {
		int64_t end = at + ((int64_t)1 << i % 45) - i % 2;
		struct sonde_view_piece piece;

		if (end == at)
			continue;
		assert_true(sonde_view_rows_at(&far, 0, end - 1, &piece));
		assert_int_equal(piece.begin, at);
		assert_int_equal(piece.end, end);
		assert_int_equal(piece.about, i % 3);
		at = end;
	}
	sonde_view_rows_fini(&far);
}

static void all_is_the_same_once_it_is_in_the_file(void **state)
{
	assert_int_equal(sonde_view_rows_close(&rows), 0);
	state_is_what_was_told_at_every_time(state);
	sums_are_exact_at_every_time(state);
	sums_are_exact_at_every_level(state);
	a_walk_goes_back_as_well(state);
	pixels_show_what_took_most_of_them(state);
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
	/* for what looks at all of it again */
	memset(&states[1][end], SONDE_VIEW_IDLE, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_is_what_was_told_at_every_time),
		cmocka_unit_test(pieces_end_where_the_next_begins_and_differ),
		cmocka_unit_test(sums_are_exact_at_every_time),
		cmocka_unit_test(sums_are_exact_at_every_level),
		cmocka_unit_test(a_walk_goes_back_as_well),
		cmocka_unit_test(pixels_show_what_took_most_of_them),
		cmocka_unit_test(a_row_is_drawn_as_it_is_alone),
		cmocka_unit_test(long_times_are_kept),
		cmocka_unit_test(what_was_told_stays),
		cmocka_unit_test(all_is_the_same_once_it_is_in_the_file),
	};

	return cmocka_run_group_tests(tests, fill, drop);
}
