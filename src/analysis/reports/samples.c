/* SPDX-License-Identifier: MIT */
/*
 * samples.c - `sonde report samples`: what the CPUs' time went to, of traces
 * recorded with --sample.
 *
 * A sample stands for a period of a CPU's time. It counts as the own time of the
 * code it is in, and once as the time of each function of its stack, however
 * often that is there. What it counts for is a text: a function and its file, a
 * line, or a file. Memory: 100 bytes for each of them and for each stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/stack_tree.h"
#include "analysis/reports/stack_weights.h"
#include "base/pool.h"
#include "base/port.h"

#define SAMPLES_ROWS  20
#define SAMPLES_MAX   ((size_t)1 << 20)
#define SAMPLES_TEXT  2048u
#define SAMPLES_STACK SONDE_ANALYSIS_TREE_SUMS

enum samples_by {
	SAMPLES_BY_FUNCTION,
	SAMPLES_BY_LINE,
	SAMPLES_BY_MODULE,
	SAMPLES_BY_STACK,
};

struct samples_code {
	struct sonde_key key; /* text */
	const char *text, *module;
	uint64_t self_ns, total_ns, samples;
	uint64_t stack; /* the last one it was counted for */
};

struct samples {
	const struct sonde_analysis_args *args;
	enum samples_by by;
	struct sonde_pool pool;
	struct sonde_hash codes;
	struct sonde_analysis_tree tree; /* by stack */
	uint64_t nr_stacks, stackless;   /* samples without a stack */
	uint64_t ns, nr;                 /* of all samples */
};

/* ---- what they count for ---- */

static const char *samples_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *samples_text(const struct samples *samples,
				const struct sonde_name *name, char *to,
				size_t size)
{
	if (samples->by == SAMPLES_BY_MODULE)
		return *name->module ? name->module : "unknown";
	if (samples->by == SAMPLES_BY_LINE && *name->file) {
		(void)snprintf(to, size, "%s:%" PRIu32,
			       samples_base(name->file), name->line);
		return to;
	}
	return *name->function ? name->function : name->text;
}

/* NULL: no memory, or too many. */
static struct samples_code *samples_code(struct samples *samples,
					 const struct sonde_name *name)
{
	char room[SAMPLES_TEXT];
	char both[2 * SAMPLES_TEXT]; /* the text, a NUL, the module */
	const char *text = samples_text(samples, name, room, sizeof(room));
	int length = snprintf(both, sizeof(both), "%s%c%s", text, '\0',
			      name->module);
	struct samples_code *code;
	struct sonde_key key;

	if ((size_t)length >= sizeof(both))
		length = sizeof(both) - 1;
	key = sonde_key_of_text(both, (size_t)length);
	code = sonde_hash_get(&samples->codes, &key);
	if (code)
		return code;
	key.text = sonde_pool_text(&samples->pool, both, (size_t)length);
	code = key.text ? sonde_hash_put(&samples->codes, &key) : NULL;
	if (!code)
		return NULL;
	code->text = key.text;
	code->module = key.text + strlen(key.text) + 1;
	return code;
}

static int samples_add_frame(struct samples *samples,
			     const struct sonde_analysis_weight *weight,
			     uint64_t frame, bool is_self)
{
	const struct sonde_names_place place =
		sonde_analysis_site_place(weight->at, frame);
	const struct sonde_name *name =
		sonde_names_code(samples->args->names, &place);
	struct samples_code *code = name ? samples_code(samples, name) : NULL;

	if (!code)
		return name ? sonde_hash_error(&samples->codes) : -ENOMEM;
	if (is_self)
		code->self_ns += weight->weight;
	if (code->stack == samples->nr_stacks)
		return 0;
	code->stack = samples->nr_stacks;
	code->total_ns += weight->weight;
	code->samples += weight->count;
	return 0;
}

static int samples_add(void *ctx, const struct sonde_analysis_weight *weight)
{
	struct samples *samples = ctx;
	const struct sonde_names_stack stack =
		sonde_analysis_site_stack(samples->args, weight->at);
	const uint64_t sums[SAMPLES_STACK] = { weight->weight, weight->count };
	int err = 0;

	samples->nr_stacks++;
	samples->ns += weight->weight;
	samples->nr += weight->count;
	if (!stack.nr)
		samples->stackless += weight->count;
	if (samples->by == SAMPLES_BY_STACK)
		return sonde_analysis_tree_add(&samples->tree, weight->at,
					       sums);
	for (uint32_t i = 0; !err && i < stack.nr; i++)
		err = samples_add_frame(samples, weight, stack.frames[i], !i);
	return err;
}

/* ---- rows ---- */

static int samples_compare(const void *a, const void *b, void *ctx)
{
	const struct samples_code *x = a;
	const struct samples_code *y = b;

	(void)ctx;
	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static void samples_add_row(struct sonde_table *table, const void *entry,
			    void *ctx)
{
	const struct samples_code *code = entry;
	const struct samples *samples = ctx;

	sonde_table_row(table);
	sonde_table_share(table, 0, code->self_ns, samples->ns);
	sonde_table_int(table, 1, (int64_t)code->self_ns);
	sonde_table_share(table, 2, code->total_ns, samples->ns);
	sonde_table_int(table, 3, (int64_t)code->total_ns);
	sonde_table_uint(table, 4, code->samples);
	sonde_table_text(table, 5, code->text);
	if (samples->by != SAMPLES_BY_MODULE)
		sonde_table_text(table, 6, samples_base(code->module));
}

static int samples_put_codes(struct samples *samples,
			     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "self_share", "SELF", SONDE_CELL_PERCENT },
		{ "self", "TIME", SONDE_CELL_DURATION },
		{ "total_share", "WITH CALLS", SONDE_CELL_PERCENT },
		{ "total", "TIME", SONDE_CELL_DURATION },
		{ "samples", "SAMPLES", SONDE_CELL_COUNT },
		{ "code", "CODE", SONDE_CELL_TEXT },
		{ "module", "IN", SONDE_CELL_TEXT },
	};
	const struct sonde_ranking ranking = {
		.hash = &samples->codes,
		.compare = samples_compare,
		.add = samples_add_row,
		.ctx = samples,
		.rows = sonde_analysis_rows(samples->args, SAMPLES_ROWS),
	};
	struct sonde_table *table = sonde_report_table(
		report, "codes", "What the CPUs' time went to", columns,
		SONDE_ARRAY_SIZE(columns) - (samples->by == SAMPLES_BY_MODULE));

	sonde_table_minor(table, 1u << 3 | 1u << 4);
	return sonde_ranking_add(&ranking, table);
}

static int samples_put_stacks(struct samples *samples,
			      struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "time", "TIME", SONDE_CELL_DURATION },
		{ "samples", "SAMPLES", SONDE_CELL_COUNT },
		SONDE_ANALYSIS_TREE_COLUMNS,
	};
	const struct sonde_analysis_tree_table table = {
		.key = "stacks",
		.title = "What the CPUs' time went to, by call stack",
		.columns = columns,
		.nr_columns = SONDE_ARRAY_SIZE(columns),
		.needs = 1,
		.rows = sonde_analysis_rows(samples->args, SAMPLES_ROWS),
		.put = sonde_analysis_tree_put_times,
		.ctx = &samples->ns,
	};

	return sonde_analysis_tree_put(&samples->tree, &table, report);
}

static int samples_put(struct samples *samples, struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = samples->args };
	const char *lack = sonde_names_kernel_lack(
		sonde_names_kernel(samples->args->names));

	sonde_report_note(report, "%s, for %s of CPU time.",
			  sonde_cell_text_count(&words, samples->nr, "sample"),
			  sonde_cell_text_int(&words, SONDE_CELL_DURATION,
					      (int64_t)samples->ns));
	if (samples->stackless)
		sonde_report_note(
			report, "%s no call stack: there was no room for it.",
			sonde_cell_text_count(&words, samples->stackless,
					      "sample has"));
	if (lack)
		sonde_report_note(report, "The kernel's code has no names: %s.",
				  lack);
	return samples->by == SAMPLES_BY_STACK ?
		       samples_put_stacks(samples, report) :
		       samples_put_codes(samples, report);
}

/* ---- the report ---- */

static int samples_parse_by(struct sonde_analysis_args *args,
			    enum samples_by *ret_by)
{
	static const char *const words[] = { "function", "line", "module",
					     "stack" };

	*ret_by = SAMPLES_BY_FUNCTION;
	if (!args->names)
		return sonde_analysis_fail(args, -EINVAL,
					   "samples are told apart by names, "
					   "and --no-names wants none");
	for (size_t i = 0; args->by && i < SONDE_ARRAY_SIZE(words); i++)
		if (!strcmp(args->by, words[i])) {
			*ret_by = (enum samples_by)i;
			return 0;
		}
	return args->by ? sonde_analysis_fail(
				  args, -EINVAL,
				  "samples are told apart --by function, line, "
				  "module or stack") :
			  0;
}

static int samples_run(struct sonde_analysis_args *args,
		       struct sonde_report **ret_report)
{
	struct samples samples = { .args = args };
	struct sonde_analysis_weightless less;
	struct sonde_report *report;
	int err = samples_parse_by(args, &samples.by);

	if (err)
		return err;
	sonde_pool_init(&samples.pool, 0);
	sonde_hash_init(&samples.codes, sizeof(struct samples_code),
			SAMPLES_MAX);
	sonde_analysis_tree_init(&samples.tree, args, 0);
	report = sonde_report_new("samples");
	err = sonde_analysis_weigh(args, SONDE_ANALYSIS_WEIGH_SAMPLES,
				   samples_add, &samples, &less);
	if (!err && !samples.nr)
		err = sonde_analysis_fail(args, -ENODATA,
					  "nothing was sampled: was any CPU "
					  "busy? --sample is for what runs");
	if (!err)
		err = samples_put(&samples, report);
	sonde_analysis_tree_fini(&samples.tree);
	sonde_hash_fini(&samples.codes);
	sonde_pool_fini(&samples.pool);
	return sonde_report_end(report, err, ret_report);
}

const struct sonde_analysis sonde_analysis_samples = {
	.name = "samples",
	.summary = "which code the CPUs' time went to, by samples",
	.needs = "samples",
	.run = samples_run,
};
