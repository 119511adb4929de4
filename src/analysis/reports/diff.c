/* SPDX-License-Identifier: MIT */
/*
 * diff.c - what is different between two traces.
 *
 * Compared are how many events of each name there are, and how long what begins
 * and ends takes (profile.h): the median if there are ten of each at least, and
 * the 99th percentile if there are a thousand. A difference counts if it is
 * more than the threshold, or if an event is in one of the traces only.
 * Durations come from histograms and are exact to 3 %, so a threshold below
 * 7 % finds differences of durations where there are none.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/profile.h"
#include "analysis/reports/profile_kernel.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

#define ROWS        20
#define MEDIAN_FROM 10 /* that many make a median */
#define P99_FROM    1000

/* How many events of a name, on either side. */
struct event_row {
	struct sonde_key key;
	uint64_t counts[2];
	double change; /* B / A - 1 */
	bool beyond;
};

/* Which rows come first. */
enum rank {
	RANK_DIFFERS,
	RANK_ONE_SIDED,
	RANK_REST,
};

/* How long a pair takes, on either side. */
struct pair_row {
	struct sonde_key key;
	const struct sonde_histogram *durations[2]; /* NULL: no such pair */
	double median_change, p99_change;
	bool median_beyond, p99_beyond;
	const char *verdict;
	enum rank rank;
};

struct diff {
	const struct sonde_analysis_args
		*args[2]; /* A, B; A's say what counts */
	struct sonde_profile sides[2];
	struct sonde_hash events, pairs;
	size_t nr_new, nr_gone, nr_changed; /* events */
	size_t nr_durations;                /* that differ */
	size_t nr_pairs_new, nr_pairs_gone; /* durations on one side only */
	size_t nr_one_sided;                /* of them, those that count */
};

/* ---- comparing ---- */

static int collect(struct diff *diff, size_t side)
{
	const struct sonde_profile *profile = &diff->sides[side];
	const struct sonde_profile_name *name = NULL;
	const struct sonde_profile_pair *pair = NULL;

	while ((name = sonde_hash_next(&profile->names, name))) {
		struct event_row *row =
			sonde_hash_put(&diff->events, &name->key);

		if (!row)
			return -ENOMEM;
		row->counts[side] = name->count;
	}
	while ((pair = sonde_hash_next(&profile->pairs, pair))) {
		struct pair_row *row = sonde_hash_put(&diff->pairs, &pair->key);

		if (!row)
			return -ENOMEM;
		row->durations[side] = &pair->durations;
	}
	return 0;
}

static bool is_beyond(const struct diff *diff, double change)
{
	return fabs(change) > diff->args[0]->threshold;
}

static void compare_events(struct diff *diff)
{
	struct event_row *row = NULL;

	while ((row = sonde_hash_next(&diff->events, row))) {
		double a = (double)row->counts[0];
		double b = (double)row->counts[1];

		if (diff->args[0]->rates) {
			a /= diff->sides[0].seconds;
			b /= diff->sides[1].seconds;
		}
		row->beyond = true;
		if (!row->counts[0]) {
			diff->nr_new++;
		} else if (!row->counts[1]) {
			diff->nr_gone++;
		} else {
			row->change = b / a - 1;
			row->beyond = is_beyond(diff, row->change);
			diff->nr_changed += row->beyond;
		}
	}
}

/* Whether there are enough on both sides, and what has become of them. */
static bool compare_quantile(const struct pair_row *row, double q,
			     uint64_t enough, double *ret_change)
{
	double a;
	double b;

	if (row->durations[0]->count < enough ||
	    row->durations[1]->count < enough)
		return false;
	a = (double)sonde_histogram_quantile(row->durations[0], q);
	b = (double)sonde_histogram_quantile(row->durations[1], q);
	/* below a nanosecond there is nothing to compare */
	*ret_change = (b > 1 ? b : 1) / (a > 1 ? a : 1) - 1;
	return true;
}

/* What there is on one side only, or too little of, is not the same. */
static void judge_pair(struct diff *diff, struct pair_row *row)
{
	bool median;

	if (!row->durations[0] || !row->durations[1]) {
		const struct sonde_histogram *only = row->durations[0] ?
							     row->durations[0] :
							     row->durations[1];

		row->verdict = row->durations[1] ? "new" : "gone";
		row->rank = RANK_ONE_SIDED;
		diff->nr_pairs_new += only == row->durations[1];
		diff->nr_pairs_gone += only == row->durations[0];
		diff->nr_one_sided += only && only->count >= MEDIAN_FROM;
		return;
	}
	median = compare_quantile(row, 0.5, MEDIAN_FROM, &row->median_change);
	row->median_beyond = median && is_beyond(diff, row->median_change);
	row->p99_beyond =
		compare_quantile(row, 0.99, P99_FROM, &row->p99_change) &&
		is_beyond(diff, row->p99_change);
	if (row->median_beyond || row->p99_beyond) {
		row->verdict = "differs";
		row->rank = RANK_DIFFERS;
		diff->nr_durations++;
	} else {
		row->verdict = median ? "same" : "too few";
		row->rank = RANK_REST;
	}
}

/* ---- the order of rows ---- */

/* What counts comes first; then what makes the greatest difference. */
static int compare_event_rows(const void *a, const void *b, void *ctx)
{
	const struct event_row *x = a;
	const struct event_row *y = b;
	uint64_t x_far = x->counts[0] > x->counts[1] ?
				 x->counts[0] - x->counts[1] :
				 x->counts[1] - x->counts[0];
	uint64_t y_far = y->counts[0] > y->counts[1] ?
				 y->counts[0] - y->counts[1] :
				 y->counts[1] - y->counts[0];

	(void)ctx;
	if (x->beyond != y->beyond)
		return x->beyond ? -1 : 1;
	return (x_far < y_far) - (x_far > y_far);
}

static double sum_of(const struct sonde_histogram *durations)
{
	return durations ? (double)durations->sum : 0;
}

static int compare_pair_rows(const void *a, const void *b, void *ctx)
{
	const struct pair_row *x = a;
	const struct pair_row *y = b;
	double x_far = fabs(sum_of(x->durations[0]) - sum_of(x->durations[1]));
	double y_far = fabs(sum_of(y->durations[0]) - sum_of(y->durations[1]));

	(void)ctx;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x_far < y_far) - (x_far > y_far);
}

/* ---- sentences ---- */

struct say {
	const struct diff *diff;
	struct sonde_report *report;
	struct sonde_cell_text words;
};

static void say_totals(struct say *say)
{
	const struct sonde_profile *a = &say->diff->sides[0];
	const struct sonde_profile *b = &say->diff->sides[1];
	struct sonde_cell_text *words = &say->words;
	char change[32] = "";

	if (a->events)
		(void)snprintf(change, sizeof(change), " (%+.1f %%)",
			       ((double)b->events / (double)a->events - 1) *
				       100);
	sonde_report_note(say->report,
			  "B has %s instead of %s%s, in %s instead of %s.",
			  sonde_cell_text_count(words, b->events, "event"),
			  sonde_cell_text_int(words, SONDE_CELL_COUNT,
					      (int64_t)a->events),
			  change,
			  sonde_cell_text_int(words, SONDE_CELL_DURATION,
					      sonde_round(b->seconds * 1e9)),
			  sonde_cell_text_int(words, SONDE_CELL_DURATION,
					      sonde_round(a->seconds * 1e9)));
}

/* Says how many durations of each side have no pair in the other, and why. */
static void say_left_out(struct say *say)
{
	for (size_t i = 0; i < 2; i++) {
		uint64_t keyless = say->diff->sides[i].keyless;
		uint64_t across = say->diff->sides[i].across;

		if (across)
			sonde_report_note(say->report,
					  "In %c, %s left out: events were "
					  "lost between begin and end.",
					  "AB"[i],
					  sonde_cell_text_count(&say->words,
								across,
								"duration"));
		if (keyless)
			sonde_report_note(
				say->report,
				"In %c, %s of what begins and ends left out: "
				"the trace doesn't say %s.",
				"AB"[i],
				sonde_cell_text_count(&say->words, keyless,
						      "event"),
				say -> diff -> args[i]
				-> key ? "their --key" :
					 "which thread they are of");
	}
}

static void say_events(struct say *say)
{
	const struct diff *diff = say->diff;
	const char *what = diff->args[0]->rates ? "rate" : "number";
	const char *threshold = sonde_cell_text_double(
		&say->words, SONDE_CELL_PERCENT, diff->args[0]->threshold);

	if (diff->nr_new + diff->nr_gone + diff->nr_changed == 0)
		sonde_report_note(say->report,
				  "No event's %s differs by more than %s.",
				  what, threshold);
	else
		sonde_report_note(
			say->report,
			"Of %s, %zu differ in %s by more than %s, %zu are new, "
			"%zu are gone.",
			sonde_cell_text_count(&say->words,
					      diff->events.nr_entries,
					      "event name"),
			diff->nr_changed, what, threshold, diff->nr_new,
			diff->nr_gone);
}

static void say_pair(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct pair_row *row = entry;
	struct say *say = ctx;
	bool median = row->median_beyond;
	double change = median ? row->median_change : row->p99_change;
	double q = median ? 0.5 : 0.99;
	int64_t values[2];
	char name[64];

	(void)table;
	for (size_t i = 0; i < 2; i++)
		values[i] = sonde_histogram_quantile(row->durations[i], q);
	sonde_report_note(say->report,
			  "%s: %s, %s instead of %s (%+.1f %%) in the %s.",
			  change > 0 ? "Longer" : "Shorter",
			  sonde_key_text(&row->key, name, sizeof(name)),
			  sonde_cell_text_int(&say->words, SONDE_CELL_DURATION,
					      values[1]),
			  sonde_cell_text_int(&say->words, SONDE_CELL_DURATION,
					      values[0]),
			  change * 100, median ? "median" : "99th percentile");
}

/* The three that matter most. */
static int say_pairs(struct say *say)
{
	const struct diff *diff = say->diff;
	const struct sonde_ranking ranking = {
		.hash = &diff->pairs,
		.compare = compare_pair_rows,
		.add = say_pair,
		.ctx = say,
		.rows = 3,
		.candidates = diff->nr_durations,
	};

	if (!diff->pairs.nr_entries)
		return 0;
	if (diff->nr_pairs_new + diff->nr_pairs_gone)
		sonde_report_note(
			say->report,
			"Of %s of begin and end, %zu are new, %zu are gone.",
			sonde_cell_text_count(&say->words,
					      diff->pairs.nr_entries, "pair"),
			diff->nr_pairs_new, diff->nr_pairs_gone);
	if (!ranking.candidates) {
		sonde_report_note(
			say->report,
			"Nothing takes longer or shorter by more "
			"than %s.",
			sonde_cell_text_double(&say->words, SONDE_CELL_PERCENT,
					       diff->args[0]->threshold));
		return 0;
	}
	return sonde_ranking_add(&ranking, NULL);
}

/* ---- tables ---- */

static void add_event(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct event_row *row = entry;
	const struct diff *diff = ctx;
	char name[256];

	sonde_table_row(table);
	sonde_table_text(table, 0,
			 sonde_key_text(&row->key, name, sizeof(name)));
	sonde_table_uint(table, 1, row->counts[0]);
	sonde_table_uint(table, 2, row->counts[1]);
	sonde_table_double(table, 4,
			   (double)row->counts[0] / diff->sides[0].seconds);
	sonde_table_double(table, 5,
			   (double)row->counts[1] / diff->sides[1].seconds);
	if (row->counts[0] && row->counts[1])
		sonde_table_double(table, 3, row->change);
	sonde_table_text(table, 6,
			 !row->beyond    ? "same" :
			 !row->counts[0] ? "new" :
			 !row->counts[1] ? "gone" :
					   "differs");
}

static int add_events(const struct diff *diff, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "event", "EVENT", SONDE_CELL_TEXT },
		{ "a_count", "A", SONDE_CELL_COUNT },
		{ "b_count", "B", SONDE_CELL_COUNT },
		{ "change", "CHANGE", SONDE_CELL_PERCENT },
		{ "a_rate", "RATE A", SONDE_CELL_RATE },
		{ "b_rate", "RATE B", SONDE_CELL_RATE },
		{ "verdict", "VERDICT", SONDE_CELL_TEXT },
	};
	struct diff of = *diff;
	const struct sonde_ranking ranking = {
		.hash = &diff->events,
		.compare = compare_event_rows,
		.add = add_event,
		.ctx = &of,
		.rows = diff->args[0]->limit ? diff->args[0]->limit : ROWS,
	};

	struct sonde_table *table = sonde_report_table(
		report, "events", "Events", columns, SONDE_ARRAY_SIZE(columns));

	sonde_table_minor(table, 3u << 4); /* the rates */
	return sonde_ranking_add(&ranking, table);
}

static void add_quantile(struct sonde_table *table, size_t column,
			 const struct pair_row *row, double q)
{
	for (size_t i = 0; i < 2; i++)
		if (row->durations[i])
			sonde_table_int(
				table, column + i,
				sonde_histogram_quantile(row->durations[i], q));
}

static void add_pair(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct pair_row *row = entry;
	bool both = row->durations[0] && row->durations[1];
	char name[256];

	(void)ctx;
	sonde_table_row(table);
	sonde_table_text(table, 0,
			 sonde_key_text(&row->key, name, sizeof(name)));
	for (size_t i = 0; i < 2; i++)
		sonde_table_uint(table, 1 + i,
				 row->durations[i] ? row->durations[i]->count :
						     0);
	add_quantile(table, 3, row, 0.5);
	if (both && row->median_change != 0)
		sonde_table_double(table, 5, row->median_change);
	add_quantile(table, 6, row, 0.99);
	if (both && row->p99_change != 0)
		sonde_table_double(table, 8, row->p99_change);
	add_quantile(table, 9, row, 1.0);
	sonde_table_text(table, 11, row->verdict);
}

static int add_pairs(const struct diff *diff, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "pair", "WHAT TAKES TIME", SONDE_CELL_TEXT },
		{ "a_count", "A", SONDE_CELL_COUNT },
		{ "b_count", "B", SONDE_CELL_COUNT },
		{ "a_p50", "P50 A", SONDE_CELL_DURATION },
		{ "b_p50", "P50 B", SONDE_CELL_DURATION },
		{ "p50_change", "P50 CHANGE", SONDE_CELL_PERCENT },
		{ "a_p99", "P99 A", SONDE_CELL_DURATION },
		{ "b_p99", "P99 B", SONDE_CELL_DURATION },
		{ "p99_change", "P99 CHANGE", SONDE_CELL_PERCENT },
		{ "a_max", "MAX A", SONDE_CELL_DURATION },
		{ "b_max", "MAX B", SONDE_CELL_DURATION },
		{ "verdict", "VERDICT", SONDE_CELL_TEXT },
	};
	const struct sonde_ranking ranking = {
		.hash = &diff->pairs,
		.compare = compare_pair_rows,
		.add = add_pair,
		.rows = diff->args[0]->limit ? diff->args[0]->limit : ROWS,
	};

	struct sonde_table *table;

	if (!diff->pairs.nr_entries)
		return 0;
	table = sonde_report_table(report, "durations", "Durations", columns,
				   SONDE_ARRAY_SIZE(columns));
	/* the counts, the longest, and what P99 changed from */
	sonde_table_minor(table, 3u << 1 | 3u << 6 | 3u << 9);
	return sonde_ranking_add(&ranking, table);
}

/* ---- all of it ---- */

static int fill_report(const struct diff *diff, struct sonde_report *report)
{
	struct say say = { diff, report, { .args = diff->args[0] } };
	int err;

	say_totals(&say);
	say_left_out(&say);
	say_events(&say);
	err = say_pairs(&say);
	if (!err)
		err = add_pairs(diff, report);
	return err ? err : add_events(diff, report);
}

static int make_diff(struct diff *diff)
{
	struct pair_row *row = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < 2; i++) {
		err = sonde_profile_make(diff->args[i], &diff->sides[i]);
		if (!err)
			err = sonde_profile_kernel(diff->args[i],
						   &diff->sides[i]);
		if (!err)
			err = collect(diff, i);
	}
	if (err)
		return err;
	compare_events(diff);
	while ((row = sonde_hash_next(&diff->pairs, row)))
		judge_pair(diff, row);
	return 0;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct diff diff = { .args = { args, args->other } };
	struct sonde_report *report = NULL;
	int err;

	sonde_hash_init(&diff.events, sizeof(struct event_row), SIZE_MAX);
	sonde_hash_init(&diff.pairs, sizeof(struct pair_row), SIZE_MAX);
	err = make_diff(&diff);
	if (!err) {
		report = sonde_report_new("diff");
		err = fill_report(&diff, report);
	}
	err = sonde_report_end(report, err, ret_report);
	if (!err)
		args->nr_warnings = diff.nr_new + diff.nr_gone +
				    diff.nr_changed + diff.nr_durations +
				    diff.nr_one_sided;
	sonde_hash_fini(&diff.events);
	sonde_hash_fini(&diff.pairs);
	for (size_t i = 0; i < 2; i++)
		sonde_profile_fini(&diff.sides[i]);
	if (err != -E2BIG)
		return err;
	return sonde_analysis_fail(args, -ENODATA,
				   "too much begins and doesn't end; choose "
				   "less with -f");
}

const struct sonde_analysis sonde_analysis_diff = {
	.name = "diff",
	.summary = "what is different between two traces",
	.needs = "",
	.run = run,
};
