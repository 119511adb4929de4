/* SPDX-License-Identifier: MIT */
/*
 * functions.c - `sonde report functions`: which function takes the time, of
 * traces recorded with --functions, or by LTTng's helper for such programs. What
 * happened is functions_calls.c's to know.
 *
 * Rows of threads are joined by what the function is called and where it stands,
 * so one that several processes have counts once; without names by address and
 * image.
 */
#include <errno.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/functions.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

#define ROWS       20
#define GROUPS_MAX ((size_t)7 << 17)

/* LTTng's two libraries name the events alike. */
#define LTTNG "lttng_ust_cyg_profile"

static const struct sonde_journal_form forms[] = {
	{ "function:entry", SONDE_FUNCTIONS_ENTRY, { "addr" } },
	{ "function:exit", SONDE_FUNCTIONS_EXIT, { "addr" } },
	{ "function:begin",
	  SONDE_FUNCTIONS_ENTRY,
	  { "addr", "left_out", "@since" } },
	{ "function:end", SONDE_FUNCTIONS_EXIT, { "addr", "left_out" } },
	{ "function:left_out", SONDE_FUNCTIONS_LEFT_OUT, { NULL, "calls" } },
	{ LTTNG ":func_entry", SONDE_FUNCTIONS_ENTRY, { "addr" } },
	{ LTTNG ":func_exit", SONDE_FUNCTIONS_EXIT, { "addr" } },
	{ LTTNG "_fast:func_entry", SONDE_FUNCTIONS_ENTRY, { "addr" } },
	{ LTTNG "_fast:func_exit", SONDE_FUNCTIONS_EXIT, { "addr" } },
};

/* Calls that a row of the table shows. */
struct group {
	struct sonde_key key;
	const struct sonde_name *name; /* NULL: none */
	struct sonde_profile_row sum;
};

struct listing {
	const struct sonde_analysis_args *args;
	bool by_thread;
	struct sonde_hash groups; /* struct group */
	uint64_t calls, self_ns;
	size_t nr_threads;
};

/* ---- rows ---- */

static const struct sonde_name *
function_name(const struct listing *listing,
	      const struct sonde_profile_row *row)
{
	const struct sonde_names_place place = {
		.image = row->at.image,
		.address = row->at.caller,
		.from_ns = row->at.first_ns,
		.to_ns = row->at.last_ns,
	};
	struct sonde_names *names = listing->args->names;

	return sonde_names_has_mappings(names) ?
		       sonde_names_code(names, &place) :
		       NULL;
}

static int add_to_group(struct group *group,
			const struct sonde_profile_row *row)
{
	struct sonde_profile_row *sum = &group->sum;

	sonde_analysis_site_use(&sum->at, row->at.caller, row->at.image,
				row->at.first_ns);
	sum->tid = row->tid;
	sum->calls += row->calls;
	sum->total_ns += row->total_ns;
	sum->self_ns += row->self_ns;
	return sonde_histogram_merge(&sum->durations, &row->durations);
}

/* By thread, rows are shown as they are: their place is their key. */
static int group_row(struct listing *listing,
		     const struct sonde_profile_calls *functions, size_t i)
{
	const struct sonde_profile_row *row = &functions->rows[i];
	const struct sonde_name *name = function_name(listing, row);
	struct sonde_key key =
		sonde_analysis_site_key(row->at.caller, row->at.image, 0);
	struct group *group;

	if (listing->by_thread)
		key = sonde_key_make(SONDE_KEY_UINT, i, 0);
	else if (name && *name->function)
		key = sonde_key_of_text(name->text, strlen(name->text));
	group = sonde_hash_put(&listing->groups, &key);
	if (!group)
		return sonde_hash_error(&listing->groups);
	group->name = name;
	listing->calls += row->calls;
	listing->self_ns += row->self_ns;
	return add_to_group(group, row);
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct sonde_profile_row *x = &((const struct group *)a)->sum;
	const struct sonde_profile_row *y = &((const struct group *)b)->sum;

	(void)ctx;
	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return (x->calls < y->calls) - (x->calls > y->calls);
}

static const char *group_text(const struct group *group)
{
	if (!group->name)
		return NULL;
	return *group->name->function ? group->name->function :
					group->name->text;
}

static void functions_add_row(struct sonde_table *table, const void *entry,
			      void *ctx)
{
	const struct group *group = entry;
	const struct sonde_profile_row *sum = &group->sum;
	const struct listing *listing = ctx;
	size_t column = 0;

	sonde_table_row(table);
	sonde_table_uint(table, column++, sum->at.caller);
	if (listing->by_thread)
		sonde_table_int(table, column++, sum->tid);
	sonde_table_uint(table, column++, sum->calls);
	sonde_table_int(table, column++, (int64_t)sum->total_ns);
	sonde_table_int(table, column++, (int64_t)sum->self_ns);
	if (listing->self_ns)
		sonde_table_double(table, column,
				   (double)sum->self_ns /
					   (double)listing->self_ns);
	sonde_histogram_cells(&sum->durations, table, ++column);
	column += SONDE_HISTOGRAM_NR_COLUMNS;
	sonde_table_text(table, column++, group_text(group));
	sonde_table_text(table, column, group->name ? group->name->text : NULL);
}

#define FUNCTION_COLUMNS                                      \
	{ "calls", "CALLS", SONDE_CELL_COUNT },               \
		{ "total", "TOTAL", SONDE_CELL_DURATION },    \
		{ "self", "SELF", SONDE_CELL_DURATION },      \
		{ "share", "SHARE", SONDE_CELL_PERCENT },     \
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION), \
		{ "function", "FUNCTION", SONDE_CELL_TEXT },  \
	{                                                     \
		"code", "CODE", SONDE_CELL_TEXT               \
	}

/* Of these the last ones go first on a narrow terminal: mean, quantiles. */
#define MINOR_OF(first) ((uint64_t)0x3d << (first))

static int functions_add_table(struct listing *listing,
			       struct sonde_report *report)
{
	static const struct sonde_column all[] = {
		{ "addr", "ADDRESS", SONDE_CELL_HEX },
		FUNCTION_COLUMNS,
	};
	static const struct sonde_column threads[] = {
		{ "addr", "ADDRESS", SONDE_CELL_HEX },
		{ "tid", "THREAD", SONDE_CELL_INT },
		FUNCTION_COLUMNS,
	};
	const struct sonde_ranking ranking = {
		.hash = &listing->groups,
		.compare = compare_groups,
		.add = functions_add_row,
		.ctx = listing,
		.rows = sonde_analysis_rows(listing->args, ROWS),
	};
	bool by_thread = listing->by_thread;
	size_t nr = SONDE_ARRAY_SIZE(all) + by_thread;
	bool named = sonde_names_has_mappings(listing->args->names);
	struct sonde_table *table = sonde_report_table(
		report, "functions", "Functions, by their own time",
		by_thread ? threads : all, named ? nr : nr - 2);

	sonde_table_minor(table, (named ? 1u : 0u) |
					 (uint64_t)named << (nr - 1) |
					 MINOR_OF(5u + by_thread));
	return sonde_ranking_add(&ranking, table);
}

/* ---- words ---- */

static void say_slowest(struct sonde_cell_text *words,
			const struct listing *listing,
			struct sonde_report *report)
{
	const struct group *worst = NULL;
	const struct group *group = NULL;

	while ((group = sonde_hash_next(&listing->groups, group)))
		if (!worst || compare_groups(group, worst, NULL) < 0)
			worst = group;
	if (!worst || !worst->sum.self_ns)
		return;
	sonde_report_note(
		report, "%s takes most time of its own: %s of %s, in %s.",
		group_text(worst) ?
			group_text(worst) :
			sonde_cell_text_int(words, SONDE_CELL_HEX,
					    (int64_t)worst->sum.at.caller),
		sonde_cell_text_int(words, SONDE_CELL_DURATION,
				    (int64_t)worst->sum.self_ns),
		sonde_cell_text_int(words, SONDE_CELL_DURATION,
				    (int64_t)listing->self_ns),
		sonde_cell_text_count(words, worst->sum.calls, "call"));
}

/* What has no duration; its time is its callers'. */
static void tell_unpaired(const struct sonde_profile_counts *counts,
			  struct sonde_report *report)
{
	const struct {
		const char *key, *title;
		uint64_t count;
	} values[] = {
		{ "left", "Calls left without an exit", counts->left },
		{ "open", "Calls without an end in the trace", counts->open },
		{ "unbegun", "Exits without an entry", counts->unbegun },
		{ "lost", "Calls open when events were lost", counts->lost },
		{ "doubtful", "Not paired: events were lost meanwhile",
		  counts->doubtful },
		{ "threadless", "Events of unknown threads",
		  counts->threadless },
		{ "left_out", "Calls left out (--min-duration, --depth)",
		  counts->left_out },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(values); i++)
		if (i < 3 || values[i].count)
			sonde_report_value(report, values[i].key,
					   values[i].title, SONDE_CELL_COUNT,
					   (int64_t)values[i].count, 0, NULL);
	if (counts->left)
		sonde_report_note(
			report,
			"Calls that were left, by longjmp() say, have no "
			"time: it is in the self time of who called them.");
	if (counts->left_out)
		sonde_report_note(
			report,
			"Calls that were left out have no row: their time is "
			"in the self time of who called them.");
}

static int show_functions(struct listing *listing,
			  const struct sonde_profile_calls *functions,
			  struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = listing->args };
	int err = 0;

	for (size_t i = 0; !err && i < functions->nr_rows; i++)
		err = group_row(listing, functions, i);
	if (err)
		return err;
	say_slowest(&words, listing, report);
	sonde_report_value(report, "calls", "Calls", SONDE_CELL_COUNT,
			   (int64_t)listing->calls, 0, NULL);
	tell_unpaired(&functions->counts, report);
	return functions_add_table(listing, report);
}

static void fini_listing(struct listing *listing)
{
	struct group *group = NULL;

	while ((group = sonde_hash_next(&listing->groups, group)))
		sonde_histogram_fini(&group->sum.durations);
	sonde_hash_fini(&listing->groups);
}

static int make_functions(struct sonde_analysis_args *args,
			  const struct sonde_profile_calls *functions,
			  bool by_thread, struct sonde_report **ret_report)
{
	struct listing listing = { .args = args, .by_thread = by_thread };
	struct sonde_report *report = sonde_report_new("functions");
	int err;

	sonde_hash_init(&listing.groups, sizeof(struct group), GROUPS_MAX);
	err = show_functions(&listing, functions, report);
	fini_listing(&listing);
	return sonde_report_end(report, err, ret_report);
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	bool by_thread = args->by && !strcmp(args->by, "thread");
	struct sonde_profile_calls functions;
	const struct sonde_journal_config config = {
		.forms = forms,
		.nr_forms = SONDE_ARRAY_SIZE(forms),
		.replay = sonde_profile_calls_replay,
		.ctx = &functions,
	};
	int err;

	if (args->by && !by_thread && strcmp(args->by, "function") != 0)
		return sonde_analysis_fail(args, -EINVAL,
					   "functions are told apart --by "
					   "function or --by thread");
	err = sonde_profile_calls_init(&functions, args->trace);
	if (!err)
		err = sonde_journal_run(args, &config);
	sonde_profile_calls_end(&functions);
	if (err == -E2BIG)
		err = sonde_analysis_fail(
			args, -EINVAL,
			"too many functions, threads or open "
			"calls; choose less with --from, --to "
			"or -f");
	if (!err && !functions.nr_rows && functions.counts.left_out)
		err = sonde_analysis_fail(
			args, -ENODATA,
			"all %llu calls of functions were left out when this "
			"was recorded (--min-duration, --depth)",
			(unsigned long long)functions.counts.left_out);
	if (!err && !functions.nr_rows)
		err = sonde_analysis_fail(
			args, -ENODATA,
			"no function was entered; record --functions=GLOB, or "
			"compile with -finstrument-functions and record "
			"--functions");
	if (!err)
		err = make_functions(args, &functions, by_thread, ret_report);
	sonde_profile_calls_fini(&functions);
	return err;
}

const struct sonde_analysis sonde_analysis_functions = {
	.name = "functions",
	.summary = "which function takes the time, its own and its calls'",
	.needs = "functions",
	.run = run,
};
