/* SPDX-License-Identifier: MIT */
/*
 * kernel_io.c - `sonde report io`: requests of block devices, and the system
 * calls that read, write and sync files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "analysis/reports/words.h"
#include "base/port.h"

enum {
	BY_DEVICE, /* device, what is done */
	BY_QUEUE,  /* likewise; durations: from insert to issue */
	BY_THREAD, /* durations: of calls */
	BY_FILE,   /* likewise */
	ALL,       /* of requests; one tally */
};

/* Of a device. */
enum {
	DEVICE_BYTES,
};

/* Of a thread or a file. */
enum {
	READS,
	READ_BYTES,
	WRITES,
	WRITE_BYTES,
	SYNCS,
	ERRORS,
};

#define SECTOR_BYTES 512

#define SORT_BITS    3

static void add_request(struct sonde_sums *sums,
			const struct sonde_interval *interval)
{
	int64_t ns = sonde_elapsed_ns(interval->begin_ns, interval->end_ns);
	int64_t number = (int64_t)interval->request.device << SORT_BITS |
			 interval->request.sort;
	struct sonde_tally *device =
		sonde_sums_at(sums, BY_DEVICE, number, interval);

	sonde_sums_add(sums, device, ns);
	if (device)
		device->numbers[DEVICE_BYTES] +=
			interval->request.sectors * SECTOR_BYTES;
	sonde_sums_add(sums, sonde_sums_at(sums, ALL, 0, interval), ns);
	sonde_sums_worst(sums, interval, (uint64_t)number);
	if (interval->request.queued_ns >= 0)
		sonde_sums_add(sums,
			       sonde_sums_at(sums, BY_QUEUE, number, interval),
			       interval->request.queued_ns);
}

static void add_call(struct sonde_sums *sums, struct sonde_tally *tally,
		     const struct sonde_interval *interval)
{
	int64_t ret = interval->file.ret;
	uint64_t bytes = ret > 0 ? (uint64_t)ret : 0;

	if (!tally)
		return;
	sonde_sums_add(sums, tally,
		       sonde_elapsed_ns(interval->begin_ns, interval->end_ns));
	tally->numbers[ERRORS] += ret < 0;
	if (interval->file.role == SONDE_FILE_READ) {
		tally->numbers[READS]++;
		tally->numbers[READ_BYTES] += bytes;
	} else if (interval->file.role == SONDE_FILE_WRITE) {
		tally->numbers[WRITES]++;
		tally->numbers[WRITE_BYTES] += bytes;
	} else {
		tally->numbers[SYNCS]++;
	}
}

/* A file by its path; if that is unknown, by who has it under what number. */
static struct sonde_tally *at_file(struct sonde_sums *sums,
				   const struct sonde_interval *interval)
{
	char unknown[64];
	struct sonde_value name = { .kind = SONDE_KIND_STRING };
	struct sonde_key key;

	name.text = interval->file.path;
	if (!name.text) {
		if (interval->file.pid < 0)
			(void)snprintf(unknown, sizeof(unknown), "(unknown)");
		else
			(void)snprintf(unknown, sizeof(unknown),
				       "descriptor %" PRId32
				       " of process %" PRId32,
				       interval->file.fd, interval->file.pid);
		name.text = unknown;
	}
	name.length = strlen(name.text);
	(void)sonde_key_of_value(&name, &key); /* a text always has one */
	return sonde_sums_at_key(sums, BY_FILE, &key, interval);
}

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	if (interval->kind == SONDE_INTERVAL_REQUEST) {
		add_request(sums, interval);
	} else if (interval->kind == SONDE_INTERVAL_FILE) {
		add_call(sums,
			 sonde_sums_at(sums, BY_THREAD, interval->tid,
				       interval),
			 interval);
		add_call(sums, at_file(sums, interval), interval);
	}
}

static void device_name(const struct sonde_model_result *result,
			uint64_t number, char *to, size_t size)
{
	static const char *const sorts[1u << SORT_BITS] = {
		[SONDE_REQUEST_READ] = "read",
		[SONDE_REQUEST_WRITE] = "write",
		[SONDE_REQUEST_FLUSH] = "flush",
		[SONDE_REQUEST_DISCARD] = "discard",
		[SONDE_REQUEST_OTHER] = "other",
	};
	uint64_t sort = number & ((1u << SORT_BITS) - 1);
	char name[40];

	sonde_model_device_name(result->kernel, (uint32_t)(number >> SORT_BITS),
				name, sizeof(name));
	(void)snprintf(to, size, "%s %s", name, sorts[sort]);
}

static void worst_name(const struct sonde_model_result *result,
		       const struct sonde_worst_span *span, char *to,
		       size_t size)
{
	device_name(result, span->place, to, size);
}

static void device_row(const struct sonde_model_result *result,
		       struct sonde_table *table,
		       const struct sonde_tally *tally)
{
	char name[SONDE_WORST_NAME];

	device_name(result, tally->key.number, name, sizeof(name));
	sonde_table_text(table, 0, name);
	sonde_table_uint(table, 1, tally->durations.count);
	sonde_table_int(table, 2, (int64_t)tally->numbers[DEVICE_BYTES]);
	sonde_histogram_cells(&tally->durations, table, 3);
}

static void queue_row(const struct sonde_model_result *result,
		      struct sonde_table *table,
		      const struct sonde_tally *tally)
{
	char name[SONDE_WORST_NAME];

	device_name(result, tally->key.number, name, sizeof(name));
	sonde_table_text(table, 0, name);
	sonde_table_uint(table, 1, tally->durations.count);
	sonde_histogram_cells(&tally->durations, table, 2);
}

/* From column `at` on: CALL_COLUMNS. */
static void call_cells(struct sonde_table *table, size_t at,
		       const struct sonde_tally *tally)
{
	sonde_table_uint(table, at, tally->numbers[READS]);
	sonde_table_int(table, at + 1, (int64_t)tally->numbers[READ_BYTES]);
	sonde_table_uint(table, at + 2, tally->numbers[WRITES]);
	sonde_table_int(table, at + 3, (int64_t)tally->numbers[WRITE_BYTES]);
	sonde_table_uint(table, at + 4, tally->numbers[SYNCS]);
	sonde_table_uint(table, at + 5, tally->numbers[ERRORS]);
	sonde_histogram_cells(&tally->durations, table, at + 6);
}

/* clang-format off */
#define CALL_COLUMNS                                        \
	{ "reads", "READS", SONDE_CELL_COUNT },             \
	{ "read", "READ", SONDE_CELL_BYTES },         \
	{ "writes", "WRITES", SONDE_CELL_COUNT },           \
	{ "written", "WRITTEN", SONDE_CELL_BYTES },   \
	{ "syncs", "SYNCS", SONDE_CELL_COUNT },             \
	{ "errors", "ERRORS", SONDE_CELL_COUNT },           \
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION)
/* clang-format on */

/* What was read, written, and how long it took matters more than how many
 * calls there were. */
#define CALL_MINOR (1u << 0 | 1u << 2 | 1u << 4 | 1u << 5)

static void process_row(const struct sonde_model_result *result,
			struct sonde_table *table,
			const struct sonde_tally *tally)
{
	sonde_model_thread_cells(result, table, 0, (int64_t)tally->key.number);
	call_cells(table, 2, tally);
}

static void file_row(const struct sonde_model_result *result,
		     struct sonde_table *table, const struct sonde_tally *tally)
{
	(void)result;
	sonde_table_textn(table, 0, tally->key.text, tally->key.space);
	call_cells(table, 1, tally);
}

/* Bytes first, then calls. */
static uint64_t moved(const struct sonde_model_result *result,
		      const struct sonde_tally *tally)
{
	(void)result;
	return tally->numbers[READ_BYTES] + tally->numbers[WRITE_BYTES] + 1;
}

static const struct sonde_column device_columns[] = {
	{ "device", "DEVICE", SONDE_CELL_TEXT },
	{ "requests", "REQUESTS", SONDE_CELL_COUNT },
	{ "moved", "BYTES", SONDE_CELL_BYTES },
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
};
static const struct sonde_column queue_columns[] = {
	{ "device", "DEVICE", SONDE_CELL_TEXT },
	{ "requests", "REQUESTS", SONDE_CELL_COUNT },
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION),
};

static const struct sonde_model_table devices = {
	.key = "devices",
	.title = "Requests of devices, from issue to completion",
	.columns = device_columns,
	.nr_columns = SONDE_ARRAY_SIZE(device_columns),
	.rows = 40,
	.weight = sonde_tally_total,
	.row = device_row,
};
static const struct sonde_model_table queues = {
	.key = "queues",
	.title = "Requests in queues, from insert to issue",
	.columns = queue_columns,
	.nr_columns = SONDE_ARRAY_SIZE(queue_columns),
	.rows = 40,
	.weight = sonde_tally_count,
	.row = queue_row,
};

static void say_calls(const struct sonde_model_result *result,
		      struct sonde_report *report)
{
	struct sonde_words words = { .args = result->args };
	uint64_t sums[SONDE_TALLY_NUMBERS];

	sonde_model_sum(result, BY_THREAD, sums);
	if (!sums[READS] && !sums[WRITES])
		return;
	sonde_report_note(report, "%s read %s, %s wrote %s.",
			  sonde_words_count(&words, sums[READS], "call"),
			  sonde_words_int(&words, SONDE_CELL_BYTES,
					  (int64_t)sums[READ_BYTES]),
			  sonde_words_count(&words, sums[WRITES], "call"),
			  sonde_words_int(&words, SONDE_CELL_BYTES,
					  (int64_t)sums[WRITE_BYTES]));
}

static int show_devices(const struct sonde_model_result *result,
			struct sonde_report *report)
{
	const struct sonde_tally *all =
		sonde_hash_next(&result->sums->groups[ALL], NULL);
	int error;

	sonde_model_say(result, report, all, "request");
	say_calls(result, report);
	error = sonde_model_table(result, report,
				  &result->sums->groups[BY_DEVICE], &devices);
	if (!error)
		error = sonde_model_table(result, report,
					  &result->sums->groups[BY_QUEUE],
					  &queues);
	if (!error && all)
		sonde_histogram_report(&all->durations, report, "histogram",
				       "How long requests took",
				       SONDE_CELL_DURATION);
	sonde_model_worst_table(result, report, "The longest requests",
				"REQUEST", worst_name);
	return error;
}

static const struct sonde_column process_columns[] = {
	{ "pid", "PID", SONDE_CELL_INT },
	{ "process", "PROCESS", SONDE_CELL_TEXT },
	CALL_COLUMNS,
};
static const struct sonde_column file_columns[] = {
	{ "file", "FILE", SONDE_CELL_TEXT },
	CALL_COLUMNS,
};
static const struct sonde_model_table processes = {
	.key = "processes",
	.title = "Calls by process",
	.columns = process_columns,
	.nr_columns = SONDE_ARRAY_SIZE(process_columns),
	.rows = 20,
	.minor = CALL_MINOR << 2,
	.weight = moved,
	.row = process_row,
};
static const struct sonde_model_table files = {
	.key = "files",
	.title = "Calls by file",
	.columns = file_columns,
	.nr_columns = SONDE_ARRAY_SIZE(file_columns),
	.rows = 20,
	.minor = CALL_MINOR << 1,
	.weight = moved,
	.row = file_row,
};

static int show(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	int error = show_devices(result, report);

	if (!error)
		error = sonde_model_process_table(result, report, BY_THREAD,
						  &processes);
	if (!error)
		error = sonde_model_table(
			result, report, &result->sums->groups[BY_FILE], &files);
	return error;
}

static int run(struct sonde_analysis_args *args,
	       struct sonde_report **ret_report)
{
	static const struct sonde_model_report io = {
		.name = "io",
		.missing = "of block requests or system calls",
		.wants = SONDE_WANT_BLOCK | SONDE_WANT_CALLS | SONDE_WANT_FILES,
		.thread_groups = 1u << BY_THREAD,
		.interval = add_interval,
		.show = show,
	};

	return sonde_model_report_run(&io, args, ret_report);
}

const struct sonde_analysis sonde_analysis_io = {
	.name = "io",
	.summary = "block requests by device, file I/O by process, file",
	.needs = "kernel",
	.about = SONDE_WANT_BLOCK | SONDE_WANT_CALLS,
	.run = run,
};
