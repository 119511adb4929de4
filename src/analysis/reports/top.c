/* SPDX-License-Identifier: MIT */
/*
 * top.c - `sonde report top`: how many events there are of each name, or of
 * each value of --by EXPR, and what their --value EXPR adds up to.
 *
 * A part counts by key, and merging adds. By name, the key is the event
 * class's number; classes of one name (of several streams) become one at the
 * end. The words `event`, `thread`, `process` and `cpu` are short for $event,
 * $tid, $pid and $cpu.
 *
 * Memory: some 150 bytes for each key, 2 KB with --value; so there is a limit
 * to the number of keys, and with more of them the report fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "base/hash.h"
#include "base/port.h"
#include "reader/key.h"
#include "reader/reader.h"

#define KEYS_MAX        ((size_t)7 << 17) /* 7/8 of 1 Mi */
#define KEYS_MAX_VALUES ((size_t)7 << 12)
#define ROWS            20

struct plan {
	const struct sonde_filter *by;      /* NULL: event class */
	const struct sonde_class *by_class; /* how it is shown; NULL */
	const struct sonde_filter *value;   /* NULL: none */
};

struct entry {
	struct sonde_key key;
	uint64_t count;
	struct sonde_histogram *values; /* NULL until there is one */
};

struct part {
	const struct plan *plan;
	struct sonde_hash keys;
	uint64_t events; /* that have the key */
	uint64_t keyless;
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first;
	part->plan = config;
	sonde_hash_init(&part->keys, sizeof(struct entry),
			part->plan->value ? KEYS_MAX_VALUES : KEYS_MAX);
	return 0;
}

static void part_fini(void *memory)
{
	struct part *part = memory;
	struct entry *entry = NULL;

	while ((entry = sonde_hash_next(&part->keys, entry))) {
		if (entry->values)
			sonde_histogram_fini(entry->values);
		free(entry->values);
	}
	sonde_hash_fini(&part->keys);
}

static int top_key_of(const struct plan *plan, const struct sonde_event *event,
		      struct sonde_key *ret_key)
{
	if (!plan->by) {
		*ret_key = sonde_key_make(SONDE_KEY_UINT,
					  event->cls->info.index, 0);
		return 0;
	}
	return sonde_filter_key(plan->by, plan->by_class, event, ret_key);
}

static struct sonde_histogram *values_of(struct entry *entry)
{
	if (!entry->values)
		entry->values = calloc(1, sizeof(*entry->values));
	return entry->values;
}

static int top_add_value(const struct plan *plan,
			 const struct sonde_event *event, struct entry *entry)
{
	struct sonde_value value;
	int64_t number;

	if (sonde_filter_value(plan->value, event, &value) ||
	    !sonde_analysis_number(&value, &number))
		return 0;
	return values_of(entry) ? sonde_histogram_add(entry->values, number) :
				  -ENOMEM;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	struct sonde_key key;
	struct entry *entry;

	if (top_key_of(part->plan, event, &key)) {
		part->keyless++;
		return 0;
	}
	entry = sonde_hash_put(&part->keys, &key);
	if (!entry)
		return sonde_hash_error(&part->keys);
	entry->count++;
	part->events++;
	return part->plan->value ? top_add_value(part->plan, event, entry) : 0;
}

static int merge_entry(struct part *left, const struct entry *from)
{
	struct entry *entry = sonde_hash_put(&left->keys, &from->key);

	if (!entry)
		return sonde_hash_error(&left->keys);
	entry->count += from->count;
	if (!from->values)
		return 0;
	return values_of(entry) ?
		       sonde_histogram_merge(entry->values, from->values) :
		       -ENOMEM;
}

static int part_merge(void *whole, void *memory)
{
	struct part *left = whole;
	struct part *right = memory;
	const struct entry *entry = NULL;
	int err = 0;

	while (!err && (entry = sonde_hash_next(&right->keys, entry)))
		err = merge_entry(left, entry);
	left->events += right->events;
	left->keyless += right->keyless;
	return err;
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- the report ---- */

/* From classes to names. */
static int name_classes(const struct sonde_trace *trace, struct part *whole)
{
	struct part named = { .plan = whole->plan };
	struct entry *entry = NULL;
	int err = 0;

	(void)part_begin(&named, whole->plan, true);
	while (!err && (entry = sonde_hash_next(&whole->keys, entry))) {
		const char *name = trace->classes[entry->key.number]->info.name;
		struct entry copy = *entry;

		copy.key = sonde_key_of_text(name, strlen(name));
		err = merge_entry(&named, &copy);
	}
	named.events = whole->events;
	part_fini(whole);
	*whole = named;
	return err;
}

struct table {
	const struct sonde_analysis_args *args;
	const struct part *part;
	double seconds;
	bool named; /* keys are threads, or processes by their first thread */
};

static int compare_counts(const void *a, const void *b, void *ctx)
{
	uint64_t x = ((const struct entry *)a)->count;
	uint64_t y = ((const struct entry *)b)->count;

	(void)ctx;
	return (x < y) - (x > y);
}

static int top_compare_sums(const void *a, const void *b, void *ctx)
{
	const struct entry *x = a;
	const struct entry *y = b;
	sonde_int128 x_sum = x->values ? x->values->sum : 0;
	sonde_int128 y_sum = y->values ? y->values->sum : 0;

	if (x_sum != y_sum)
		return x_sum < y_sum ? 1 : -1;
	return compare_counts(a, b, ctx);
}

/* The name of an enumeration's value, or the value. */
static const char *name_of(const struct plan *plan, const struct sonde_key *key,
			   char *to, size_t size)
{
	const char *label = NULL;

	if (plan->by_class && sonde_class_has_labels(plan->by_class) &&
	    key->kind != SONDE_KEY_TEXT)
		label = sonde_class_label(plan->by_class, key->number, 0);
	return label ? label : sonde_key_text(key, to, size);
}

static void add_row(struct sonde_table *table, const void *memory, void *ctx)
{
	const struct table *of = ctx;
	const struct entry *entry = memory;
	size_t sums = 4 + of->named;
	char text[256];

	sonde_table_row(table);
	sonde_table_text(table, 0,
			 name_of(of->part->plan, &entry->key, text,
				 sizeof(text)));
	sonde_table_uint(table, 1, entry->count);
	sonde_table_double(table, 2,
			   (double)entry->count / (double)of->part->events);
	sonde_table_double(table, 3, (double)entry->count / of->seconds);
	if (of->named)
		sonde_table_text(table, 4,
				 sonde_analysis_thread_name(
					 of->args, (int32_t)entry->key.number));
	if (!entry->values)
		return;
	sonde_table_int(table, sums, sonde_histogram_sum(entry->values));
	sonde_histogram_cells(entry->values, table, sums + 1);
}

static int top_add_table(const struct sonde_analysis_args *args,
			 const struct part *part, struct sonde_report *report)
{
	static const struct sonde_column plain[] = {
		{ "key", "KEY", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "rate", "RATE", SONDE_CELL_RATE },
		{ "sum", "SUM", SONDE_CELL_INT },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_INT),
	};
	static const struct sonde_column named[] = {
		{ "key", "KEY", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "rate", "RATE", SONDE_CELL_RATE },
		SONDE_NAME_COLUMN,
		{ "sum", "SUM", SONDE_CELL_INT },
		SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_INT),
	};
	bool values = part->plan->value;
	struct table of = {
		.args = args,
		.part = part,
		.seconds = sonde_analysis_seconds(args),
		.named = args->by &&
			 (!strcmp(args->by, "thread") ||
			  !strcmp(args->by, "process")) &&
			 sonde_analysis_has_names(args),
	};
	const struct sonde_ranking ranking = {
		.hash = &part->keys,
		.compare = values ? top_compare_sums : compare_counts,
		.add = add_row,
		.ctx = &of,
		.rows = sonde_analysis_rows(args, ROWS),
	};
	size_t nr = values ? SONDE_ARRAY_SIZE(plain) : 4;

	return sonde_ranking_add(&ranking,
				 sonde_report_table(report, "top", NULL,
						    of.named ? named : plain,
						    nr + of.named));
}

static int top_make_report(const struct sonde_analysis_args *args,
			   const struct part *part,
			   struct sonde_report **ret_report)
{
	struct sonde_report *report = sonde_report_new("top");
	struct sonde_cell_text words = { .args = args };
	int err;

	if (!part->events && part->keyless)
		sonde_report_note(
			report, "None of %s has the fields asked for.",
			sonde_cell_text_count(&words, part->keyless, "event"));
	else if (!part->events)
		sonde_report_note(report, "There are no such events.");
	else
		sonde_report_note(
			report, "%s in %s, %s: %s.",
			sonde_cell_text_count(&words, part->events, "event"),
			sonde_cell_text_int(
				&words, SONDE_CELL_DURATION,
				sonde_round(sonde_analysis_seconds(args) *
					    1e9)),
			sonde_cell_text_double(
				&words, SONDE_CELL_RATE,
				(double)part->events /
					sonde_analysis_seconds(args)),
			sonde_cell_text_count(&words, part->keys.nr_entries,
					      part->plan->by ?
						      "different value" :
						      "different name"));
	if (part->keyless)
		sonde_report_value(report, "keyless", "Events without it",
				   SONDE_CELL_COUNT, (int64_t)part->keyless, 0,
				   NULL);
	err = top_add_table(args, part, report);
	return sonde_report_end(report, err, ret_report);
}

/* --by as an expression; NULL: by name. */
static const char *expression_of(const char *by)
{
	static const struct {
		const char *word, *expression;
	} words[] = {
		{ "event", NULL },
		{ "thread", "$tid" },
		{ "process", "$pid" },
		{ "cpu", "$cpu" },
	};

	for (size_t i = 0; by && i < SONDE_ARRAY_SIZE(words); i++)
		if (!strcmp(by, words[i].word))
			return words[i].expression;
	return by;
}

static int compile_by(struct sonde_analysis_args *args,
		      struct sonde_filter **ret_by)
{
	const char *expression = expression_of(args->by);
	struct sonde_trace_error error;
	int err;

	if (!expression)
		return 0;
	err = sonde_filter_new(args->trace, expression, &error, ret_by);
	if (err == -EINVAL)
		return sonde_analysis_fail(args, err, "--by: column %u: %.200s",
					   error.column, error.text);
	return err;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct part whole = { 0 };
	struct sonde_filter *by = NULL;
	struct plan plan = { .value = args->value };
	int err = compile_by(args, &by);

	if (err)
		return err;
	plan.by = by;
	plan.by_class = args->by_class;
	args->map.unmerged = true;
	err = sonde_map(args->trace, &args->map, &ops, &plan, &whole);
	if (!err && !by)
		err = name_classes(args->trace, &whole);
	if (!err)
		err = top_make_report(args, &whole, ret_report);
	if (err == -E2BIG)
		err = sonde_analysis_fail(args, -EINVAL,
					  "more than %zu different values of "
					  "--by; choose less with -f",
					  whole.keys.limit);
	part_fini(&whole);
	sonde_filter_free(by);
	return err;
}

const struct sonde_analysis sonde_analysis_top = {
	.name = "top",
	.summary = "counts by name or --by EXPR, sums of --value EXPR",
	.needs = "",
	.run = run,
};
