/* SPDX-License-Identifier: MIT */
/*
 * malloc.c - `sonde report malloc`: where memory goes. For traces recorded
 * with --malloc; what is in use when is heap.c's to know.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/heap.h"
#include "analysis/reports/lost.h"
#include "analysis/reports/malloc_groups.h"
#include "analysis/reports/malloc_stacks.h"
#include "analysis/reports/ranking.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/stack_tree.h"
#include "base/port.h"

#define ROWS       10
#define FEW_ROWS   5
#define STACK_ROWS 30

static const char *const functions[SONDE_HEAP_NR_OPS] = {
	[SONDE_HEAP_MALLOC] = "malloc",     [SONDE_HEAP_CALLOC] = "calloc",
	[SONDE_HEAP_MEMALIGN] = "memalign", [SONDE_HEAP_REALLOC] = "realloc",
	[SONDE_HEAP_FREE] = "free",
};

/* The site that held most bytes at the peak. */
static const struct sonde_heap_site *
greatest_site(const struct sonde_heap *heap)
{
	const struct sonde_heap_site *most = &heap->sites[0];

	for (size_t i = 1; i < heap->nr_sites; i++)
		if (sonde_heap_site_peak(heap, &heap->sites[i]) >
		    sonde_heap_site_peak(heap, most))
			most = &heap->sites[i];
	return most;
}

/* "NAME (0x1234)"; where the function has no name, "the code at" a place in its
 * file, or else the address. */
static void say_site(struct sonde_cell_text *words,
		     const struct sonde_heap_site *site, char *to, size_t size)
{
	const struct sonde_name *name =
		sonde_analysis_site_name(words->args, &site->at);
	const char *address = sonde_cell_text_int(words, SONDE_CELL_HEX,
						  (int64_t)site->at.caller);

	if (name && *name->function)
		(void)snprintf(to, size, "%.400s (%s)", name->text, address);
	else
		(void)snprintf(to, size, "the code at %.400s",
			       name && *name->module ? name->text : address);
}

static void say_peak(struct sonde_cell_text *words,
		     const struct sonde_heap *heap, struct sonde_report *report)
{
	const struct sonde_heap_site *most;
	char site[512];

	if (!heap->peak_bytes) {
		sonde_report_note(report, "No memory was allocated.");
		return;
	}
	most = greatest_site(heap);
	say_site(words, most, site, sizeof(site));
	sonde_report_note(
		report,
		"At most %s were in use, in %s, at %s; %s of that was "
		"allocated by %s.",
		sonde_cell_text_int(words, SONDE_CELL_BYTES,
				    (int64_t)heap->peak_bytes),
		sonde_cell_text_count(words, heap->peak_blocks, "block"),
		sonde_cell_text_int(words, SONDE_CELL_TIME, heap->peak_ns),
		sonde_cell_text_double(words, SONDE_CELL_PERCENT,
				       (double)sonde_heap_site_peak(heap,
								    most) /
					       (double)heap->peak_bytes),
		site);
}

static void say_left(struct sonde_cell_text *words,
		     const struct sonde_heap *heap, struct sonde_report *report)
{
	if (!heap->live_blocks)
		sonde_report_note(report, "All blocks were freed.");
	else
		sonde_report_note(
			report, "%s not freed: %s in all.",
			sonde_cell_text_count(words, heap->live_blocks,
					      "block"),
			sonde_cell_text_int(words, SONDE_CELL_BYTES,
					    (int64_t)heap->live_bytes));
	if (heap->live_blocks && sonde_lost_any(words->args->trace))
		sonde_report_note(report, "Events were lost: some of these may "
					  "have been freed.");
	if (heap->unknown_frees)
		sonde_report_note(report,
				  "%s freed that had been allocated before "
				  "the trace, or unseen.",
				  sonde_cell_text_count(
					  words, heap->unknown_frees, "block"));
	if (heap->reused)
		sonde_report_note(
			report,
			"%s freed unseen: the memory was given out again.",
			sonde_cell_text_count(words, heap->reused, "block"));
}

static void add_summary(const struct sonde_heap *heap,
			struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "peak", "PEAK", SONDE_CELL_BYTES },
		{ "peak_blocks", "BLOCKS", SONDE_CELL_COUNT },
		{ "peak_time", "AT", SONDE_CELL_TIME },
		{ "left", "NOT FREED", SONDE_CELL_BYTES },
		{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },
		{ "unknown_frees", "UNKNOWN FREED", SONDE_CELL_COUNT },
		{ "reused", "FREED UNSEEN", SONDE_CELL_COUNT },
	};
	struct sonde_table *table = sonde_report_table(
		report, "heap", NULL, columns, SONDE_ARRAY_SIZE(columns));

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)heap->peak_bytes);
	sonde_table_uint(table, 1, heap->peak_blocks);
	if (heap->peak_bytes)
		sonde_table_int(table, 2, heap->peak_ns);
	sonde_table_int(table, 3, (int64_t)heap->live_bytes);
	sonde_table_uint(table, 4, heap->live_blocks);
	sonde_table_uint(table, 5, heap->unknown_frees);
	sonde_table_uint(table, 6, heap->reused);
}

/* What the rows of the table are made of. */
struct table {
	const struct sonde_analysis_args *args;
	const struct sonde_heap *heap;
	double seconds;
	uint64_t all;
};

static void add_functions(const struct sonde_analysis_args *args,
			  const struct sonde_heap *heap,
			  struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "function", "FUNCTION", SONDE_CELL_TEXT },
		{ "calls", "CALLS", SONDE_CELL_COUNT },
		{ "rate", "RATE", SONDE_CELL_RATE },
		{ "allocated", "BYTES", SONDE_CELL_BYTES },
		{ "failed", "FAILED", SONDE_CELL_COUNT },
	};
	struct sonde_table *table =
		sonde_report_table(report, "functions", "Calls", columns,
				   SONDE_ARRAY_SIZE(columns));

	for (size_t op = 1; op < SONDE_HEAP_NR_OPS; op++) {
		const struct sonde_heap_calls *calls = &heap->calls[op];

		if (!functions[op] || !calls->calls)
			continue;
		sonde_table_row(table);
		sonde_table_text(table, 0, functions[op]);
		sonde_table_uint(table, 1, calls->calls);
		sonde_table_double(table, 2,
				   (double)calls->calls /
					   sonde_analysis_seconds(args));
		if (op != SONDE_HEAP_FREE) {
			sonde_table_int(table, 3, (int64_t)calls->bytes);
			sonde_table_uint(table, 4, calls->failed);
		}
	}
}

static int malloc_compare_threads(const void *a, const void *b, void *ctx)
{
	const struct sonde_heap_thread *x = a;
	const struct sonde_heap_thread *y = b;

	(void)ctx;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void malloc_add_thread(struct sonde_table *table, const void *entry,
			      void *ctx)
{
	const struct table *of = ctx;
	const struct sonde_heap_thread *thread = entry;

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)thread->key.number);
	sonde_table_int(table, 1, (int64_t)thread->bytes);
	sonde_table_uint(table, 2, thread->allocations);
	sonde_table_double(table, 3, (double)thread->allocations / of->seconds);
	sonde_table_uint(table, 4, thread->frees);
	sonde_table_double(table, 5, (double)thread->frees / of->seconds);
	sonde_table_text(table, 6,
			 sonde_analysis_thread_name(
				 of->args, (int32_t)thread->key.number));
}

static int malloc_add_threads(const struct sonde_analysis_args *args,
			      struct table *of, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "tid", "THREAD", SONDE_CELL_INT },
		{ "allocated", "BYTES", SONDE_CELL_BYTES },
		{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT },
		{ "allocation_rate", "RATE", SONDE_CELL_RATE },
		{ "frees", "FREES", SONDE_CELL_COUNT },
		{ "free_rate", "RATE", SONDE_CELL_RATE },
		SONDE_NAME_COLUMN,
	};
	const struct sonde_ranking ranking = {
		.hash = &of->heap->threads,
		.compare = malloc_compare_threads,
		.add = malloc_add_thread,
		.ctx = of,
		.rows = sonde_analysis_rows(args, FEW_ROWS),
	};

	return sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "threads", "Threads", columns,
				   SONDE_ARRAY_SIZE(columns) -
					   !sonde_analysis_has_names(args)));
}

static int compare_sizes(const void *a, const void *b, void *ctx)
{
	const struct sonde_heap_size *x = a;
	const struct sonde_heap_size *y = b;

	(void)ctx;
	return (x->allocations < y->allocations) -
	       (x->allocations > y->allocations);
}

static int compare_sizes_left(const void *a, const void *b, void *ctx)
{
	const struct sonde_heap_size *x = a;
	const struct sonde_heap_size *y = b;

	(void)ctx;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return (x->live_blocks < y->live_blocks) -
	       (x->live_blocks > y->live_blocks);
}

static void add_size(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct table *of = ctx;
	const struct sonde_heap_size *size = entry;

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)size->key.number);
	sonde_table_uint(table, 1, size->allocations);
	sonde_table_share(table, 2, size->allocations, of->all);
	sonde_table_int(table, 3, (int64_t)size->bytes);
	sonde_table_int(table, 4, (int64_t)size->live_bytes);
	sonde_table_uint(table, 5, size->live_blocks);
}

static int add_sizes(const struct sonde_analysis_args *args, struct table *of,
		     struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "size", "SIZE", SONDE_CELL_BYTES },
		{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT },
		{ "share", "SHARE", SONDE_CELL_PERCENT },
		{ "allocated", "BYTES IN ALL", SONDE_CELL_BYTES },
		{ "left", "NOT FREED", SONDE_CELL_BYTES },
		{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },
	};
	struct sonde_ranking ranking = {
		.hash = &of->heap->sizes,
		.compare = compare_sizes,
		.add = add_size,
		.ctx = of,
		.rows = sonde_analysis_rows(args, FEW_ROWS),
	};
	const struct sonde_heap_size *size = NULL;
	int err = sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "sizes", "Sizes asked for most",
				   columns, SONDE_ARRAY_SIZE(columns)));

	while ((size = sonde_hash_next(ranking.hash, size)))
		ranking.candidates += size->live_blocks != 0;
	if (err || !ranking.candidates)
		return err;
	ranking.compare = compare_sizes_left;
	return sonde_ranking_add(
		&ranking,
		sonde_report_table(report, "leak_sizes", "Not freed, by size",
				   columns, SONDE_ARRAY_SIZE(columns)));
}

static uint64_t nr_allocations(const struct sonde_heap *heap)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < heap->nr_sites; i++)
		nr += heap->sites[i].calls.calls;
	return nr;
}

static int add_who(struct sonde_analysis_args *args, struct table *of,
		   struct sonde_report *report)
{
	int err = 0;

	/* Its sites are stacks. */
	if (of->heap->by_stack)
		return sonde_malloc_stacks(
			args, of->heap, sonde_analysis_rows(args, STACK_ROWS),
			report);
	if (args->by)
		err = sonde_malloc_groups(args, of->heap,
					  sonde_analysis_rows(args, ROWS),
					  report);
	if (!err)
		err = sonde_malloc_sites(args, of->heap,
					 sonde_analysis_rows(args, ROWS),
					 report);
	return err;
}

static int malloc_add_tables(struct sonde_analysis_args *args,
			     const struct sonde_heap *heap,
			     struct sonde_report *report)
{
	struct table of = { args, heap, sonde_analysis_seconds(args),
			    nr_allocations(heap) };
	int err;

	add_summary(heap, report);
	err = add_who(args, &of, report);
	if (err)
		return err;
	add_functions(args, heap, report);
	err = add_sizes(args, &of, report);
	if (!err)
		err = malloc_add_threads(args, &of, report);
	sonde_histogram_report(&heap->lifetimes, report, "lifetimes",
			       "How long blocks live", SONDE_CELL_DURATION);
	return err;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	struct sonde_cell_text words = { .args = args };
	struct sonde_report *report = NULL;
	struct sonde_heap heap;
	int err;

	err = sonde_analysis_by_stack_check(args, "--malloc --stack");
	if (err)
		return err;
	sonde_heap_init(&heap);
	heap.by_stack = sonde_analysis_by_stack(args);
	err = sonde_heap_read(args, &heap);
	if (!err && !heap.threads.nr_entries)
		err = sonde_analysis_fail(args, -ENODATA,
					  "no memory was allocated or freed; "
					  "a program's calls are recorded with "
					  "--malloc");
	if (!err) {
		report = sonde_report_new("malloc");
		say_peak(&words, &heap, report);
		say_left(&words, &heap, report);
		err = malloc_add_tables(args, &heap, report);
	}
	err = sonde_report_end(report, err, ret_report);
	sonde_heap_fini(&heap);
	return err;
}

const struct sonde_analysis sonde_analysis_malloc = {
	.name = "malloc",
	.summary = "where memory goes: peak, leaks, call sites, sizes",
	.needs = "malloc",
	.run = run,
};
