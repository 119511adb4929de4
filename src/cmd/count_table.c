/* SPDX-License-Identifier: MIT */
/*
 * count_table.c - a board as a table: a line for each row that has counted, the
 * most frequent first; with values, also drawings of the first of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/report.h"
#include "analysis/reports/histogram.h"
#include "base/bins.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/count.h"
#include "view/text/show.h"

/* To the upper left corner, and what was there is gone. */
#define CLEAR_SCREEN "\033[H\033[J"

#define DRAWINGS     4u
#define SIGN         (1ull << 63)
#define COLUMNS_MAX  (SONDE_TALLY_KEYS + 16u)

/* Where in the table what is; columns that aren't there are NONE. */
#define NONE SIZE_MAX
struct layout {
	struct sonde_column columns[COLUMNS_MAX];
	size_t nr;
	size_t keys, rate, values, process;
};

/* A row of the board as it is now. */
struct now {
	const struct sonde_board_row *row;
	uint64_t count;
	uint64_t before; /* in the table before */
	struct sonde_histogram histogram;
};

static size_t add_columns(struct layout *layout,
			  const struct sonde_column *columns, size_t nr)
{
	size_t first = layout->nr;

	memcpy(layout->columns + first, columns, nr * sizeof(*columns));
	layout->nr += nr;
	return first;
}

static void choose_columns(struct layout *layout,
			   const struct sonde_board *board,
			   const struct sonde_session_tally *tally)
{
	static const struct sonde_column event[] = { { "event", "EVENT",
						       SONDE_CELL_TEXT } };
	static const struct sonde_column count[] = { { "count", "COUNT",
						       SONDE_CELL_COUNT } };
	static const struct sonde_column rate[] = { { "rate", "RATE",
						      SONDE_CELL_RATE } };
	static const struct sonde_column values[] = { SONDE_HISTOGRAM_COLUMNS(
		SONDE_CELL_INT) };
	static const struct sonde_column process[] = {
		{ "process", "PROCESS", SONDE_CELL_TEXT },
		{ "pid", "PID", SONDE_CELL_INT }
	};

	*layout = (struct layout){ .values = NONE, .process = NONE };
	(void)add_columns(layout, event, 1);
	layout->keys = layout->nr;
	for (uint32_t i = 0; i < tally->nr_keys; i++) {
		struct sonde_column key = { tally->keys[i], tally->keys[i],
					    SONDE_CELL_INT };

		if (!board->is_signed[i])
			key.cell = SONDE_CELL_COUNT;
		(void)add_columns(layout, &key, 1);
	}
	(void)add_columns(layout, count, 1);
	layout->rate = add_columns(layout, rate, 1);
	if (board->has_value)
		layout->values =
			add_columns(layout, values, SONDE_ARRAY_SIZE(values));
	/* of whole numbers, and none itself */
	if (board->has_value)
		layout->columns[layout->values].cell = SONDE_CELL_NUMBER;
	if (board->by_process)
		layout->process = add_columns(layout, process, 2);
}

/* ---- values ---- */

/* Whether the sum may be beyond 64 bits. */
static bool may_overflow(const struct sonde_histogram *histogram)
{
	double most = -(double)histogram->min;

	if ((double)histogram->max > most)
		most = (double)histogram->max;
	return most * (double)histogram->count >= 0x1p63;
}

static int make_histogram(const struct sonde_board *board,
			  const struct sonde_board_row *row,
			  struct sonde_histogram *histogram)
{
	const uint64_t *bins = board->bins[row - board->rows];
	sonde_int128 about = 0;
	int first = SONDE_BINS_HALF;
	int last = -SONDE_BINS_HALF;

	for (int bin = -SONDE_BINS_HALF; bin < SONDE_BINS_HALF; bin++) {
		uint64_t count = sonde_load_relaxed(
			&bins[bin < 0 ? SONDE_BINS_HALF + ~bin : bin]);

		if (!count)
			continue;
		if (sonde_histogram_add_bin(histogram, bin, count))
			return -ENOMEM;
		first = bin < first ? bin : first;
		last = bin;
		about += (sonde_int128)sonde_bins_lower(bin) * count;
	}
	if (!histogram->count)
		return 0;
	histogram->max = (int64_t)(sonde_load_relaxed(&row->greatest) ^ SIGN);
	histogram->min = ~(int64_t)(sonde_load_relaxed(&row->least) ^ SIGN);
	/* What a thread that is between the addition to a bin and the rest has
	 * not told yet, the bins tell. */
	if (sonde_bins_of(histogram->min) != first)
		histogram->min = sonde_bins_lower(first);
	if (sonde_bins_of(histogram->max) != last)
		histogram->max = sonde_bins_lower(last + 1) - 1;
	histogram->sum = may_overflow(histogram) ?
				 about :
				 (int64_t)sonde_load_relaxed(&row->sum);
	return 0;
}

/* ---- the table ---- */

static int compare(const void *a, const void *b)
{
	const struct now *x = a;
	const struct now *y = b;
	int by_event = strcmp(x->row->event, y->row->event);

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_event ?
		       by_event :
		       memcmp(x->row->keys, y->row->keys, sizeof(x->row->keys));
}

static void put_keys(struct sonde_table *table, const struct layout *layout,
		     const struct sonde_board *board,
		     const struct sonde_board_row *row)
{
	for (uint32_t i = 0; i < board->nr_keys; i++) {
		if (board->is_signed[i])
			sonde_table_int(table, layout->keys + i,
					(int64_t)row->keys[i]);
		else
			sonde_table_uint(table, layout->keys + i, row->keys[i]);
	}
}

static void fill_row(struct sonde_table *table, const struct layout *layout,
		     const struct sonde_board *board, const struct now *now,
		     uint64_t since_ns)
{
	const struct sonde_board_row *row = now->row;

	sonde_table_row(table);
	sonde_table_text(table, 0, row->event);
	put_keys(table, layout, board, row);
	sonde_table_uint(table, layout->rate - 1, now->count);
	if (since_ns)
		sonde_table_double(table, layout->rate,
				   (double)(now->count - now->before) * 1e9 /
					   (double)since_ns);
	if (layout->values != NONE) {
		sonde_histogram_cells(&now->histogram, table, layout->values);
		sonde_table_double(table, layout->values,
				   sonde_histogram_mean(&now->histogram));
	}
	if (layout->process == NONE)
		return;
	sonde_table_text(table, layout->process, row->process);
	sonde_table_int(table, layout->process + 1, row->pid);
}

/* The rows that have counted anything; their number. */
static uint32_t collect(const struct sonde_board *board,
			struct sonde_command_drawn *drawn, bool is_last,
			struct now *ret_list)
{
	/* Pairs with sonde_store_release in find_or_add: the row is there. */
	uint32_t nr = sonde_load_acquire(&board->nr_rows);
	uint32_t n = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_board_row *row = &board->rows[i];
		struct now now = {
			.row = row,
			.count = sonde_load_relaxed(&row->count),
			.before = is_last ? 0 : drawn->counts[i],
		};

		drawn->counts[i] = now.count;
		if (now.count)
			ret_list[n++] = now;
	}
	qsort(ret_list, n, sizeof(*ret_list), compare);
	return n;
}

/* "http:request, status 200, tid 77" */
static void name_row(const struct sonde_board *board,
		     const struct sonde_session_tally *tally,
		     const struct sonde_board_row *row, char *to, size_t size)
{
	size_t at = (size_t)snprintf(to, size, "%.100s", row->event);

	for (uint32_t i = 0; i < board->nr_keys; i++)
		at += (size_t)snprintf(to + at, size - at,
				       board->is_signed[i] ?
					       ", %.40s %" PRIi64 :
					       ", %.40s %" PRIu64,
				       tally->keys[i], row->keys[i]);
}

static void draw_values(struct sonde_report *report,
			const struct sonde_board *board,
			const struct sonde_session_tally *tally,
			const struct now *list, uint32_t nr)
{
	char key[32];
	char title[300];

	for (uint32_t i = 0; i < nr && i < DRAWINGS; i++) {
		(void)snprintf(key, sizeof(key), i ? "values_%u" : "values",
			       i + 1);
		name_row(board, tally, list[i].row, title, sizeof(title));
		sonde_histogram_report(&list[i].histogram, report, key,
				       nr > 1 ? title : tally->value,
				       SONDE_CELL_INT);
	}
}

static int fill(const struct sonde_board *board,
		const struct sonde_session_tally *tally,
		struct sonde_command_drawn *drawn, bool is_last,
		struct sonde_report *report)
{
	uint64_t read_ns = sonde_load_relaxed(&board->read_ns);
	uint64_t since = is_last || !drawn->ns ? board->began_ns : drawn->ns;
	struct layout layout;
	struct sonde_table *table;
	struct now *list = calloc(SONDE_BOARD_ROWS, sizeof(*list));
	uint32_t nr = list ? collect(board, drawn, is_last, list) : 0;
	int rc = list ? 0 : -ENOMEM;

	choose_columns(&layout, board, tally);
	table = sonde_report_table(report, "events", NULL, layout.columns,
				   layout.nr);
	for (uint32_t i = 0; !rc && board->has_value && i < nr; i++)
		rc = make_histogram(board, list[i].row, &list[i].histogram);
	for (uint32_t i = 0; i < nr; i++)
		fill_row(table, &layout, board, &list[i],
			 read_ns > since ? read_ns - since : 0);
	if (board->has_value)
		draw_values(report, board, tally, list, nr);
	if (!nr)
		sonde_report_note(report, "no event has been counted");
	for (uint32_t i = 0; i < nr; i++)
		sonde_histogram_fini(&list[i].histogram);
	free(list);
	drawn->ns = read_ns;
	return rc;
}

int sonde_command_count_draw(const struct sonde_board *board,
			     const struct sonde_record_options *options,
			     struct sonde_command_drawn *drawn, bool is_last,
			     FILE *out)
{
	struct sonde_report *report =
		sonde_report_new(board->has_value ? "hist" : "count");
	struct sonde_show how;
	int rc = fill(board, &options->session.tally, drawn, is_last, report);

	sonde_show_init(&how, out);
	how.json = options->json;
	if (!rc)
		rc = sonde_report_error(report);
	if (options->live && !how.json && isatty(fileno(out)))
		(void)fputs(CLEAR_SCREEN, out);
	else if (options->live && !how.json && !is_last)
		(void)fputc('\n', out);
	if (!rc)
		rc = sonde_show_report(&how, report, out);
	sonde_report_free(report);
	return fflush(out) && !rc ? -errno : rc;
}
