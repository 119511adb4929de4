/* SPDX-License-Identifier: MIT */
/*
 * kernel_memory.c - `sonde report memory`: pages, and the memory the kernel
 * takes for itself, by the process that ran meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

#define SITE_TEXT 600u

enum {
	BY_THREAD,
	BY_SITE,
};

enum {
	PAGES_TAKEN,
	PAGES_FREED,
	TAKEN, /* objects of the kernel's own */
	FREED,
	TAKEN_BYTES,
	ASKED_BYTES,
};

static void add_objects(struct sonde_tally *tally,
			const struct sonde_interval *interval)
{
	if (!tally)
		return;
	tally->numbers[interval->memory.release ? FREED : TAKEN]++;
	tally->numbers[TAKEN_BYTES] += interval->memory.bytes;
	tally->numbers[ASKED_BYTES] += interval->memory.asked_bytes;
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	struct sonde_key site;
	struct sonde_tally *thread;

	if (interval->kind != SONDE_INTERVAL_PAGES &&
	    interval->kind != SONDE_INTERVAL_KMEM)
		return;
	thread = sonde_sums_at(sums, BY_THREAD, interval->tid, interval);
	if (interval->kind == SONDE_INTERVAL_KMEM) {
		site = sonde_key_make(SONDE_KEY_HEX, interval->memory.site, 0);
		add_objects(thread, interval);
		add_objects(sonde_sums_at_key(sums, BY_SITE, &site, interval),
			    interval);
	} else if (thread) {
		thread->numbers[interval->memory.release ? PAGES_FREED :
							   PAGES_TAKEN] +=
			interval->memory.pages;
	}
}

static void memory_row(const struct sonde_model_result *result,
		       struct sonde_table *table,
		       const struct sonde_tally *tally)
{
	(void)result;
	sonde_table_int(table, 4,
			(int64_t)(tally->numbers[PAGES_TAKEN] -
				  tally->numbers[PAGES_FREED]));
}

/* Of which kernel an address is can be told if there is one. */
static const struct sonde_source *the_kernel(const struct sonde_trace *trace)
{
	const struct sonde_source *found = NULL;

	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		const struct sonde_source *source =
			sonde_trace_source(trace, i);

		if (sonde_names_kernel_is(source) && found)
			return NULL;
		if (sonde_names_kernel_is(source))
			found = source;
	}
	return found;
}

static void site_row(const struct sonde_model_result *result,
		     struct sonde_table *table, const struct sonde_tally *tally)
{
	struct sonde_names_kernel *names =
		sonde_names_kernel(result->args->names);
	const struct sonde_source *kernel = the_kernel(result->args->trace);
	struct sonde_names_function function;
	char text[SITE_TEXT];

	if (!names || !kernel)
		return;
	function = sonde_names_kernel_find(names, kernel, tally->key.number);
	(void)snprintf(text, sizeof(text),
		       function.name ? "%s+0x%" PRIx64 : "(%s)",
		       function.name ? function.name : function.lack,
		       function.distance);
	sonde_table_text(table, 5, text);
}

/* Pages are the larger part of memory: 4 KiB each, more or less. */
static uint64_t used(const struct sonde_model_result *result,
		     const struct sonde_tally *tally)
{
	(void)result;
	return (tally->numbers[PAGES_TAKEN] + tally->numbers[PAGES_FREED]) *
		       4096 +
	       tally->numbers[TAKEN_BYTES] + tally->numbers[FREED];
}

/* clang-format off */
#define MEMORY_COLUMNS                                                  \
	{ "pages_taken", "PAGES", SONDE_CELL_COUNT, PAGES_TAKEN },      \
	{ "pages_freed", "FREED", SONDE_CELL_COUNT, PAGES_FREED },      \
	{ "pages_kept", "KEPT", SONDE_CELL_INT, SONDE_TALLY_OWN },      \
	{ "objects_taken", "OBJECTS", SONDE_CELL_COUNT, TAKEN },        \
	{ "objects_freed", "FREED", SONDE_CELL_COUNT, FREED },          \
	{ "objects", "BYTES", SONDE_CELL_BYTES, TAKEN_BYTES }
/* clang-format on */

static const struct sonde_tally_column process_columns[] = {
	{ "pid", "PID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "process", "PROCESS", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	MEMORY_COLUMNS,
};
static const struct sonde_tally_column thread_columns[] = {
	{ "tid", "TID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "thread", "THREAD", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	MEMORY_COLUMNS,
};
static const struct sonde_tally_column site_columns[] = {
	{ "site", "CALLED FROM", SONDE_CELL_HEX, SONDE_TALLY_KEY },
	{ "taken", "OBJECTS", SONDE_CELL_COUNT, TAKEN },
	{ "freed", "FREED", SONDE_CELL_COUNT, FREED },
	{ "used", "BYTES", SONDE_CELL_BYTES, TAKEN_BYTES },
	{ "asked", "ASKED FOR", SONDE_CELL_BYTES, ASKED_BYTES },
	{ "function", "FUNCTION", SONDE_CELL_TEXT, SONDE_TALLY_OWN },
};
static const struct sonde_model_table tables[] = {
	SONDE_MODEL_TABLE("processes", "By process", BY_THREAD, process_columns,
			  20, used, .by_process = true, .row = memory_row),
	SONDE_MODEL_TABLE("threads", "By thread", BY_THREAD, thread_columns, 20,
			  used, .row = memory_row),
	SONDE_MODEL_TABLE("sites", "The kernel's own, by caller", BY_SITE,
			  site_columns, 20, used, .row = site_row),
};

static uint64_t pages_taken(const struct sonde_model_result *result,
			    const struct sonde_tally *tally)
{
	(void)result;
	return tally->numbers[PAGES_TAKEN];
}

static void say(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	const struct sonde_tally *most =
		sonde_model_most(result, BY_THREAD, pages_taken);
	struct sonde_cell_text words = { .args = result->args };
	uint64_t sums[SONDE_TALLY_NUMBERS];

	sonde_model_sum(result, BY_THREAD, sums);
	if (most)
		sonde_report_note(
			report,
			"%s taken, %s given back; thread %" PRId64
			" (%s) took most: %s.",
			sonde_cell_text_count(&words, sums[PAGES_TAKEN],
					      "page"),
			sonde_cell_text_int(&words, SONDE_CELL_COUNT,
					    (int64_t)sums[PAGES_FREED]),
			(int64_t)most->key.number,
			sonde_model_thread_name(result->kernel,
						(int32_t)most->key.number),
			sonde_cell_text_int(
				&words, SONDE_CELL_COUNT,
				(int64_t)most->numbers[PAGES_TAKEN]));
	if (sums[TAKEN])
		sonde_report_note(
			report,
			"The kernel took %s of %s in all for itself, and freed "
			"%s.",
			sonde_cell_text_count(&words, sums[TAKEN], "object"),
			sonde_cell_text_int(&words, SONDE_CELL_BYTES,
					    (int64_t)sums[TAKEN_BYTES]),
			sonde_cell_text_int(&words, SONDE_CELL_COUNT,
					    (int64_t)sums[FREED]));
}

static const struct sonde_model_report model = {
	.name = "memory",
	.missing = "of pages or of the kernel's memory",
	.wants = SONDE_WANT_MEMORY,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.say = say,
	SONDE_MODEL_TABLES(tables),
};

const struct sonde_analysis sonde_analysis_memory = {
	.name = "memory",
	.summary = "pages and the kernel's memory, by process and caller",
	.needs = "kernel",
	.about = SONDE_WANT_MEMORY,
	.model = &model,
};
