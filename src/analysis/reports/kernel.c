/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - what reports about a kernel's trace share: tallies, the run, and
 * tables of them (kernel.h).
 *
 * A tally is found by its key in its group's hash table, and made by the first
 * interval that counts in it; sums of slices are added up key by key, in the
 * slices' order. What a report shows comes from the sums alone.
 */
#include "analysis/reports/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/ranking.h"
#include "base/number.h"
#include "base/port.h"

/* Of a group; 7/8 of a power of two fill its table. Some 600 bytes each. */
#define TALLIES ((size_t)7 << 14)

/* Steps about files and requests are kept until slices are joined: 100 bytes
 * for some 50 of the trace. */
#define KEEPING_SLICE_BYTES ((uint64_t)8 << 20)

/* ---- tallies ---- */

static void sums_init(struct sonde_sums *sums,
		      const struct sonde_model_report *report)
{
	*sums = (struct sonde_sums){ .report = report };
	for (size_t i = 0; i < SONDE_SUMS_GROUPS; i++)
		sonde_hash_init(&sums->groups[i], sizeof(struct sonde_tally),
				TALLIES);
}

static void tallies_fini(struct sonde_hash *group)
{
	struct sonde_tally *tally = NULL;

	while ((tally = sonde_hash_next(group, tally)))
		sonde_histogram_fini(&tally->durations);
	sonde_hash_fini(group);
}

/* A new one's times are those of nothing. */
static struct sonde_tally *put_tally(struct sonde_hash *group,
				     const struct sonde_key *key)
{
	size_t before = group->nr_entries;
	struct sonde_tally *tally = sonde_hash_put(group, key);

	if (tally && group->nr_entries != before) {
		tally->first_ns = INT64_MAX;
		tally->last_ns = INT64_MIN;
	}
	return tally;
}

struct sonde_tally *sonde_sums_at_key(struct sonde_sums *sums,
				      unsigned int group,
				      const struct sonde_key *key,
				      const struct sonde_interval *interval)
{
	struct sonde_tally *tally = put_tally(&sums->groups[group], key);

	if (!tally) {
		sums->left_out++;
		return NULL;
	}
	if (interval->begin_ns < tally->first_ns)
		tally->first_ns = interval->begin_ns;
	if (interval->end_ns > tally->last_ns)
		tally->last_ns = interval->end_ns;
	return tally;
}

struct sonde_tally *sonde_sums_at(struct sonde_sums *sums, unsigned int group,
				  int64_t number,
				  const struct sonde_interval *interval)
{
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)number, 0);

	return sonde_sums_at_key(sums, group, &key, interval);
}

void sonde_sums_add(struct sonde_sums *sums, struct sonde_tally *tally,
		    int64_t duration_ns)
{
	if (tally && sonde_histogram_add(&tally->durations, duration_ns))
		sums->left_out++;
}

void sonde_sums_worst(struct sonde_sums *sums,
		      const struct sonde_interval *interval, uint64_t place)
{
	const struct sonde_key no_name = { .kind = SONDE_KEY_NONE };
	const struct sonde_longest_span span = {
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.tid = interval->tid,
		.other_tid = interval->kind == SONDE_INTERVAL_READY ?
				     interval->ready.waker :
				     -1,
		.place = place,
		.other_place = (uint32_t)interval->cpu,
	};

	sonde_longest_add(&sums->worst, &span, &no_name);
}

/* What is in `from` is added to the tally with that key. 0 or -ENOMEM. */
static int add_tally(struct sonde_hash *group, const struct sonde_key *key,
		     const struct sonde_tally *from)
{
	struct sonde_tally *to = put_tally(group, key);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < SONDE_TALLY_NUMBERS; i++)
		to->numbers[i] += from->numbers[i];
	if (from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
	return sonde_histogram_merge(&to->durations, &from->durations);
}

static void sums_merge(struct sonde_sums *whole, const struct sonde_sums *part)
{
	for (size_t i = 0; i < SONDE_SUMS_GROUPS; i++) {
		const struct sonde_tally *tally = NULL;

		while ((tally = sonde_hash_next(&part->groups[i], tally)))
			if (add_tally(&whole->groups[i], &tally->key, tally))
				whole->left_out++;
	}
	sonde_longest_merge(&whole->worst, &part->worst);
	whole->left_out += part->left_out;
}

static void rename_tally(struct sonde_sums *sums, struct sonde_hash *group,
			 int32_t from, int32_t to)
{
	struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)(int64_t)from, 0);
	struct sonde_tally *old = sonde_hash_get(group, &key);
	struct sonde_tally copy;

	if (!old)
		return;
	copy = *old;
	sonde_hash_remove(group, old);
	key.number = (uint64_t)(int64_t)to;
	if (add_tally(group, &key, &copy))
		sums->left_out++;
	sonde_histogram_fini(&copy.durations);
}

/* ---- the sink of a state ---- */

static void sink_interval(void *sink, const struct sonde_interval *interval)
{
	struct sonde_sums *sums = sink;

	sums->report->interval(sums, interval);
}

static void sink_rename(void *sink, int32_t from, int32_t to)
{
	struct sonde_sums *sums = sink;

	for (size_t i = 0; i < SONDE_SUMS_GROUPS; i++)
		if (sums->report->thread_groups >> i & 1)
			rename_tally(sums, &sums->groups[i], from, to);
	for (size_t i = 0; i < sums->worst.nr; i++) {
		struct sonde_longest_span *span = &sums->worst.spans[i];

		if (span->tid == from)
			span->tid = to;
		if (span->other_tid == from)
			span->other_tid = to;
	}
}

static const struct sonde_model_sink_ops sink_ops = {
	.interval = sink_interval,
	.rename = sink_rename,
};

/* ---- a part of the map ---- */

struct config {
	const struct sonde_model_report *report;
	const struct sonde_model_tables *tables;
};

struct part {
	struct sonde_model *kernel;
	struct sonde_sums sums;
};

static int part_begin(void *memory, const void *config_memory, bool first)
{
	const struct config *config = config_memory;
	struct part *part = memory;

	(void)first; /* the first part is joined to an empty whole */
	sums_init(&part->sums, config->report);
	part->kernel = sonde_model_new(config->tables, &sink_ops, &part->sums);
	return part->kernel ? 0 : -ENOMEM;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;

	sonde_model_event(part->kernel, event);
	return 0;
}

static int part_merge(void *whole_memory, void *memory)
{
	struct part *whole = whole_memory;
	struct part *part = memory;

	sonde_model_join(whole->kernel, part->kernel);
	sums_merge(&whole->sums, &part->sums);
	return 0;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	for (size_t i = 0; i < SONDE_SUMS_GROUPS; i++)
		tallies_fini(&part->sums.groups[i]);
	sonde_model_free(part->kernel);
}

static const struct sonde_map_ops map_ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- the run ---- */

/* Notes which threads' time is not in the report. */
static void note_scope(const struct sonde_model_counts *counts,
		       struct sonde_report *report)
{
	if (counts->own)
		sonde_report_note(report,
				  "Left out: the recorder's own threads, which "
				  "ran for %.3f ms; --self shows them",
				  (double)counts->own_ns / 1e6);
	if (counts->others)
		sonde_report_note(report,
				  "Left out: what threads of other programs "
				  "did; the trace is of one program, and has "
				  "only a part of it");
	if (counts->whose == SONDE_WHOSE_UNKNOWN)
		sonde_report_note(report,
				  "The trace is of one program and doesn't say "
				  "which threads that has: times of other "
				  "programs' threads are wrong");
}

void sonde_model_notes(const struct sonde_model *kernel, uint64_t left_out,
		       struct sonde_report *report)
{
	struct sonde_model_counts counts;

	sonde_model_counts(kernel, &counts);
	counts.left_out += left_out;
	note_scope(&counts, report);
	if (counts.dropped)
		sonde_report_note(report,
				  "%" PRIu64 " intervals are not counted: "
				  "events were lost while they lasted",
				  counts.dropped);
	if (counts.unseen)
		sonde_report_note(report,
				  "%" PRIu64 " runs are not counted: the "
				  "trace doesn't have the switches that ended "
				  "them; who ran for %.3f ms is unknown",
				  counts.unseen,
				  (double)counts.unseen_ns / 1e6);
	if (counts.left_out)
		sonde_report_note(report,
				  "%" PRIu64 " things are left out: there "
				  "were more than are kept",
				  counts.left_out);
	if (counts.calls_open)
		sonde_report_note(report,
				  "%" PRIu64 " system calls had not returned "
				  "at the end",
				  counts.calls_open);
}

/* A sentence on a tally's durations; `what` is the noun. NULL, or none: nothing. */
static void model_say(const struct sonde_model_result *result,
		      struct sonde_report *report,
		      const struct sonde_tally *tally, const char *what)
{
	const struct sonde_longest *worst = &result->sums->worst;
	struct sonde_cell_text words = { .args = result->args };
	const struct sonde_histogram *took;

	if (!tally || !tally->durations.count || !worst->nr)
		return;
	took = &tally->durations;
	sonde_report_note(
		report,
		"%s: half took at most %s, 99 of 100 at most %s; the longest "
		"took %s, from %s on.",
		sonde_cell_text_count(&words, took->count, what),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(took, 0.5)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION,
				    sonde_histogram_quantile(took, 0.99)),
		sonde_cell_text_int(&words, SONDE_CELL_DURATION, took->max),
		sonde_cell_text_int(&words, SONDE_CELL_TIME,
				    worst->spans[0].begin_ns));
}

static int model_show(const struct sonde_model_report *shown,
		      const struct sonde_model_result *result,
		      struct sonde_report *report)
{
	const struct sonde_tally *all =
		sonde_hash_next(&result->sums->groups[0], NULL);
	int error;

	if (shown->noun)
		model_say(result, report, all, shown->noun);
	if (shown->say)
		shown->say(result, report);
	error = sonde_model_tables(result, report, shown->tables,
				   shown->nr_tables);
	if (error)
		return error;
	if (shown->took && all)
		sonde_histogram_report(&all->durations, report, "histogram",
				       shown->took, SONDE_CELL_DURATION);
	if (shown->worst_name)
		sonde_model_worst_table(result, report, shown->worst_title,
					shown->worst_what, shown->worst_name);
	return shown->show ? shown->show(result, report) : 0;
}

static int make_report(struct sonde_analysis_args *args,
		       const struct config *config, struct part *whole,
		       struct sonde_report **ret_report)
{
	struct sonde_report *report = sonde_report_new(config->report->name);
	struct sonde_model_result result = {
		.args = args,
		.tables = config->tables,
		.kernel = whole->kernel,
		.sums = &whole->sums,
		.span_ns = 1,
	};
	struct sonde_section section;
	int64_t begin_ns;
	int64_t end_ns;
	int error;

	if (sonde_model_span(whole->kernel, &begin_ns, &end_ns) &&
	    end_ns > begin_ns)
		result.span_ns = sonde_elapsed_ns(begin_ns, end_ns);

	sonde_model_close(whole->kernel);
	error = model_show(config->report, &result, report);
	if (!error && !sonde_report_section(report, 0, &section))
		sonde_report_note(report,
				  "Nothing to report: what was read has no "
				  "events %s, or too few of them.",
				  config->report->missing);
	sonde_model_notes(whole->kernel, whole->sums.left_out, report);
	return sonde_report_end(report, error, ret_report);
}

int sonde_model_report_run(const struct sonde_model_report *kernel_report,
			   struct sonde_analysis_args *args,
			   struct sonde_report **ret_report)
{
	struct sonde_model_tables *tables;
	struct sonde_map_options options = args->map;
	struct config config = { .report = kernel_report };
	struct part whole = { 0 };
	int error = sonde_model_tables_new(args->trace, kernel_report->wants,
					   &options, &tables);

	if (error == -ENODATA)
		return sonde_analysis_fail(args, error,
					   "the trace has no events %s",
					   kernel_report->missing);
	if (error)
		return error;
	config.tables = tables;
	if (!options.slice_bytes &&
	    kernel_report->wants & (SONDE_WANT_FILES | SONDE_WANT_BLOCK))
		options.slice_bytes = KEEPING_SLICE_BYTES;
	/* States need all events; the filter chooses intervals. */
	options.filter = NULL;
	error = sonde_map(args->trace, &options, &map_ops, &config, &whole);
	if (!error)
		error = make_report(args, &config, &whole, ret_report);
	part_fini(&whole);
	sonde_model_tables_free(tables);
	return error;
}

/* ---- showing ---- */

bool sonde_model_is_by(const struct sonde_analysis_args *args,
		       const struct sonde_model *kernel, int32_t tid)
{
	const char *by = args->by;
	uint64_t number;

	if (!by)
		return true;
	if (sonde_number_parse(by, INT32_MAX, &number))
		return tid == (int32_t)number ||
		       sonde_model_thread_pid(kernel, tid) == (int32_t)number;
	return !strcmp(sonde_model_thread_name(kernel, tid), by);
}

/* The group by threads as one by processes, for tallies_fini(). 0 or -ENOMEM:
 * then there is nothing to free. */
static int add_by_process(const struct sonde_model_result *result,
			  unsigned int group, struct sonde_hash *ret_group)
{
	const struct sonde_tally *tally = NULL;

	sonde_hash_init(ret_group, sizeof(struct sonde_tally), TALLIES);
	while ((tally = sonde_hash_next(&result->sums->groups[group], tally))) {
		int32_t pid = sonde_model_thread_pid(
			result->kernel, (int32_t)tally->key.number);
		struct sonde_key key = sonde_key_make(
			SONDE_KEY_INT, (uint64_t)(int64_t)pid, 0);
		int error = add_tally(ret_group, &key, tally);

		if (error) {
			tallies_fini(ret_group);
			return error;
		}
	}
	return 0;
}

uint64_t sonde_tally_total(const struct sonde_model_result *result,
			   const struct sonde_tally *tally)
{
	(void)result;
	return (uint64_t)sonde_histogram_sum(&tally->durations) +
	       (tally->durations.count != 0);
}

uint64_t sonde_tally_count(const struct sonde_model_result *result,
			   const struct sonde_tally *tally)
{
	(void)result;
	return tally->durations.count;
}

struct view {
	const struct sonde_model_result *result;
	const struct sonde_model_table *what;
};

static int compare_weights(const void *a, const void *b, void *ctx)
{
	const struct view *view = ctx;
	uint64_t left = view->what->weight(view->result, a);
	uint64_t right = view->what->weight(view->result, b);

	return (left < right) - (left > right);
}

/* The id, unless it is unknown. */
static void put_tally_tid(struct sonde_table *table, size_t at, int64_t tid)
{
	if (tid >= 0)
		sonde_table_int(table, at, tid);
}

/* As the kernel tells; else as the recorder has seen it. */
static void put_tally_thread(const struct sonde_model_result *result,
			     struct sonde_table *table, size_t at, int64_t tid)
{
	const char *name = "(unknown)";

	if (tid >= 0)
		name = sonde_model_thread_name(result->kernel, (int32_t)tid);
	if (!*name)
		name = sonde_analysis_thread_name(result->args, (int32_t)tid);
	sonde_table_text(table, at, name ? name : "");
}

static void put_tally_key(struct sonde_table *table, size_t at,
			  const struct sonde_key *key)
{
	if (key->kind == SONDE_KEY_TEXT)
		sonde_table_textn(table, at, key->text, key->space);
	else
		sonde_table_uint(table, at, key->number);
}

static void put_tally_number(const struct sonde_model_result *result,
			     struct sonde_table *table, size_t at,
			     enum sonde_cell cell, uint64_t number)
{
	if (cell == SONDE_CELL_PERCENT)
		sonde_table_double(table, at,
				   (double)number / (double)result->span_ns);
	else
		sonde_table_uint(table, at, number);
}

static void put_tally_cell(const struct view *view, struct sonde_table *table,
			   size_t at, const struct sonde_tally *tally)
{
	const struct sonde_tally_column *column = &view->what->columns[at];

	switch (column->part) {
	case SONDE_TALLY_OWN:
		break;
	case SONDE_TALLY_KEY:
		put_tally_key(table, at, &tally->key);
		break;
	case SONDE_TALLY_TID:
		put_tally_tid(table, at, (int64_t)tally->key.number);
		break;
	case SONDE_TALLY_THREAD:
		put_tally_thread(view->result, table, at,
				 (int64_t)tally->key.number);
		break;
	case SONDE_TALLY_COUNT:
		sonde_table_uint(table, at, tally->durations.count);
		break;
	case SONDE_TALLY_TOTAL:
		sonde_table_int(table, at,
				sonde_histogram_sum(&tally->durations));
		break;
	case SONDE_TALLY_DURATIONS:
		sonde_histogram_cells(&tally->durations, table, at);
		break;
	case SONDE_TALLY_FIRST:
		sonde_table_int(table, at, tally->first_ns);
		break;
	case SONDE_TALLY_LAST:
		sonde_table_int(table, at, tally->last_ns);
		break;
	default:
		put_tally_number(view->result, table, at, column->cell,
				 tally->numbers[column->part]);
	}
}

static void add_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct view *view = ctx;
	const struct sonde_model_table *what = view->what;

	sonde_table_row(table);
	for (size_t at = 0; at < what->nr_columns;) {
		put_tally_cell(view, table, at, entry);
		at += what->columns[at].part == SONDE_TALLY_DURATIONS ?
			      SONDE_HISTOGRAM_NR_COLUMNS :
			      1;
	}
	if (what->row)
		what->row(view->result, table, entry);
}

static int add_tally_table(const struct sonde_model_result *result,
			   struct sonde_report *report,
			   const struct sonde_hash *group,
			   const struct sonde_model_table *what)
{
	struct view view = { .result = result, .what = what };
	struct sonde_ranking ranking = {
		.hash = group,
		.compare = compare_weights,
		.add = add_row,
		.ctx = &view,
		.rows = sonde_analysis_rows(result->args, what->rows),
	};
	struct sonde_column columns[SONDE_TALLY_COLUMNS_MAX];
	const struct sonde_tally *tally = NULL;
	struct sonde_table *table;

	while ((tally = sonde_hash_next(group, tally)))
		ranking.candidates += what->weight(result, tally) != 0;
	if (!ranking.candidates)
		return 0;
	for (size_t i = 0; i < what->nr_columns; i++)
		columns[i] = (struct sonde_column){
			.key = what->columns[i].key,
			.title = what->columns[i].title,
			.cell = what->columns[i].cell,
		};
	table = sonde_report_table(report, what->key, what->title, columns,
				   what->nr_columns);
	sonde_table_minor(table, what->minor);
	return sonde_ranking_add(&ranking, table);
}

int sonde_model_tables(const struct sonde_model_result *result,
		       struct sonde_report *report,
		       const struct sonde_model_table *tables, size_t nr_tables)
{
	int error = 0;

	for (size_t i = 0; i < nr_tables && !error; i++) {
		const struct sonde_hash *group =
			&result->sums->groups[tables[i].group];
		struct sonde_hash by_process;

		if (!tables[i].by_process) {
			error = add_tally_table(result, report, group,
						&tables[i]);
			continue;
		}
		error = add_by_process(result, tables[i].group, &by_process);
		if (error)
			break;
		error = add_tally_table(result, report, &by_process,
					&tables[i]);
		tallies_fini(&by_process);
	}
	return error;
}

void sonde_model_sum(const struct sonde_model_result *result,
		     unsigned int group,
		     uint64_t ret_numbers[SONDE_TALLY_NUMBERS])
{
	const struct sonde_tally *tally = NULL;

	memset(ret_numbers, 0, SONDE_TALLY_NUMBERS * sizeof(*ret_numbers));
	while ((tally = sonde_hash_next(&result->sums->groups[group], tally)))
		for (size_t i = 0; i < SONDE_TALLY_NUMBERS; i++)
			ret_numbers[i] += tally->numbers[i];
}

const struct sonde_tally *
sonde_model_most(const struct sonde_model_result *result, unsigned int group,
		 uint64_t (*weight)(const struct sonde_model_result *result,
				    const struct sonde_tally *tally))
{
	const struct sonde_tally *most = NULL;
	const struct sonde_tally *tally = NULL;
	uint64_t greatest = 0;

	while ((tally = sonde_hash_next(&result->sums->groups[group], tally))) {
		uint64_t one = weight(result, tally);

		if (!one || one < greatest ||
		    (one == greatest &&
		     sonde_key_compare(&tally->key, &most->key) > 0))
			continue;
		most = tally;
		greatest = one;
	}
	return most;
}

void sonde_model_worst_table(
	const struct sonde_model_result *result, struct sonde_report *report,
	const char *title, const char *what,
	void (*name)(const struct sonde_model_result *result,
		     const struct sonde_longest_span *span, char *to,
		     size_t size))
{
	const struct sonde_column columns[] = {
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "begin", "BEGIN", SONDE_CELL_TIME },
		{ "end", "END", SONDE_CELL_TIME },
		{ "cpu", "CPU", SONDE_CELL_INT },
		{ "tid", "TID", SONDE_CELL_INT },
		{ "thread", "THREAD", SONDE_CELL_TEXT },
		{ "what", what, SONDE_CELL_TEXT },
	};
	const struct sonde_longest *worst = &result->sums->worst;
	struct sonde_table *table;

	if (!worst->nr)
		return;
	table = sonde_report_table(report, "worst", title, columns,
				   SONDE_ARRAY_SIZE(columns));
	sonde_table_minor(table, 1u << 2 | 1u << 3); /* end, CPU */
	for (size_t i = 0; i < worst->nr; i++) {
		const struct sonde_longest_span *span = &worst->spans[i];
		char text[SONDE_LONGEST_NAME];

		sonde_table_row(table);
		sonde_table_int(table, 0,
				sonde_elapsed_ns(span->begin_ns, span->end_ns));
		sonde_table_int(table, 1, span->begin_ns);
		sonde_table_int(table, 2, span->end_ns);
		sonde_table_int(table, 3, (int64_t)span->other_place);
		put_tally_tid(table, 4, span->tid);
		put_tally_thread(result, table, 5, span->tid);
		name(result, span, text, sizeof(text));
		sonde_table_text(table, 6, text);
	}
}
