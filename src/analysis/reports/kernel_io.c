/* SPDX-License-Identifier: MIT */
/*
 * kernel_io.c - `sonde report io`: requests of block devices, and the system
 * calls that read, write and sync files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/cell_text.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/port.h"

enum {
	ALL,       /* of requests; one tally */
	BY_DEVICE, /* device, what is done */
	BY_QUEUE,  /* likewise; durations: from insert to issue */
	BY_THREAD, /* durations: of calls */
	BY_FILE,   /* likewise */
};

/* The sums of a device's tally. */
enum {
	DEVICE_BYTES,
};

/* The sums of a thread's or a file's tally. */
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
	const char *name = interval->file.path;
	char unknown[64] = "(unknown)";
	struct sonde_key key;

	if (!name && interval->file.pid >= 0)
		(void)snprintf(unknown, sizeof(unknown),
			       "descriptor %" PRId32 " of process %" PRId32,
			       interval->file.fd, interval->file.pid);
	if (!name)
		name = unknown;
	key = sonde_key_of_text(name, strlen(name));
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
		       const struct sonde_longest_span *span, char *to,
		       size_t size)
{
	device_name(result, span->place, to, size);
}

static void device_row(const struct sonde_model_result *result,
		       struct sonde_table *table,
		       const struct sonde_tally *tally)
{
	char name[SONDE_LONGEST_NAME];

	device_name(result, tally->key.number, name, sizeof(name));
	sonde_table_text(table, 0, name);
}

/* clang-format off */
#define CALL_COLUMNS                                                \
	{ "reads", "READS", SONDE_CELL_COUNT, READS },              \
	{ "read", "READ", SONDE_CELL_BYTES, READ_BYTES },           \
	{ "writes", "WRITES", SONDE_CELL_COUNT, WRITES },           \
	{ "written", "WRITTEN", SONDE_CELL_BYTES, WRITE_BYTES },    \
	{ "syncs", "SYNCS", SONDE_CELL_COUNT, SYNCS },              \
	{ "errors", "ERRORS", SONDE_CELL_COUNT, ERRORS },           \
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS)
/* clang-format on */

/* What was read, written, and how long it took matters more than how many
 * calls there were. */
#define CALL_MINOR (1u << 0 | 1u << 2 | 1u << 4 | 1u << 5)

/* Bytes first, then calls. */
static uint64_t moved(const struct sonde_model_result *result,
		      const struct sonde_tally *tally)
{
	(void)result;
	return tally->numbers[READ_BYTES] + tally->numbers[WRITE_BYTES] + 1;
}

static const struct sonde_tally_column device_columns[] = {
	{ "device", "DEVICE", SONDE_CELL_TEXT, SONDE_TALLY_OWN },
	{ "requests", "REQUESTS", SONDE_CELL_COUNT, SONDE_TALLY_COUNT },
	{ "moved", "BYTES", SONDE_CELL_BYTES, DEVICE_BYTES },
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS),
};
static const struct sonde_tally_column queue_columns[] = {
	{ "device", "DEVICE", SONDE_CELL_TEXT, SONDE_TALLY_OWN },
	{ "requests", "REQUESTS", SONDE_CELL_COUNT, SONDE_TALLY_COUNT },
	SONDE_HISTOGRAM_COLUMNS(SONDE_CELL_DURATION, SONDE_TALLY_DURATIONS),
};
static const struct sonde_tally_column process_columns[] = {
	{ "pid", "PID", SONDE_CELL_INT, SONDE_TALLY_TID },
	{ "process", "PROCESS", SONDE_CELL_TEXT, SONDE_TALLY_THREAD },
	CALL_COLUMNS,
};
static const struct sonde_tally_column file_columns[] = {
	{ "file", "FILE", SONDE_CELL_TEXT, SONDE_TALLY_KEY },
	CALL_COLUMNS,
};
static const struct sonde_model_table devices[] = {
	SONDE_MODEL_TABLE("devices",
			  "Requests of devices, from issue to completion",
			  BY_DEVICE, device_columns, 40, sonde_tally_total,
			  .row = device_row),
	SONDE_MODEL_TABLE("queues", "Requests in queues, from insert to issue",
			  BY_QUEUE, queue_columns, 40, sonde_tally_count,
			  .row = device_row),
};
static const struct sonde_model_table calls[] = {
	SONDE_MODEL_TABLE("processes", "Calls by process", BY_THREAD,
			  process_columns, 20, moved, .by_process = true,
			  .minor = CALL_MINOR << 2),
	SONDE_MODEL_TABLE("files", "Calls by file", BY_FILE, file_columns, 20,
			  moved, .minor = CALL_MINOR << 1),
};

static void say_calls(const struct sonde_model_result *result,
		      struct sonde_report *report)
{
	struct sonde_cell_text words = { .args = result->args };
	uint64_t sums[SONDE_TALLY_NUMBERS];

	sonde_model_sum(result, BY_THREAD, sums);
	if (!sums[READS] && !sums[WRITES])
		return;
	sonde_report_note(report, "%s read %s, %s wrote %s.",
			  sonde_cell_text_count(&words, sums[READS], "call"),
			  sonde_cell_text_int(&words, SONDE_CELL_BYTES,
					      (int64_t)sums[READ_BYTES]),
			  sonde_cell_text_count(&words, sums[WRITES], "call"),
			  sonde_cell_text_int(&words, SONDE_CELL_BYTES,
					      (int64_t)sums[WRITE_BYTES]));
}

static int show(const struct sonde_model_result *result,
		struct sonde_report *report)
{
	return sonde_model_tables(result, report, calls,
				  SONDE_ARRAY_SIZE(calls));
}

static const struct sonde_model_report model = {
	.name = "io",
	.missing = "of block requests or system calls",
	.wants = SONDE_WANT_BLOCK | SONDE_WANT_CALLS | SONDE_WANT_FILES,
	.thread_groups = 1u << BY_THREAD,
	.interval = add_interval,
	.noun = "request",
	.say = say_calls,
	SONDE_MODEL_TABLES(devices),
	.took = "How long requests took",
	.worst_title = "The longest requests",
	.worst_what = "REQUEST",
	.worst_name = worst_name,
	.show = show,
};

const struct sonde_analysis sonde_analysis_io = {
	.name = "io",
	.summary = "block requests by device, file I/O by process, file",
	.needs = "kernel",
	.about = SONDE_WANT_BLOCK | SONDE_WANT_CALLS,
	.model = &model,
};
