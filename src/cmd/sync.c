/* SPDX-License-Identifier: MIT */
/*
 * sync.c - `sonde sync`: how the clocks of hosts were to one another, from
 * messages between them, with a bound: those that a file has, or those that are
 * found in traces.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/model/attribution.h"
#include "analysis/reports/transfers.h"
#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/sync_write.h"
#include "fleet/sync.h"
#include "reader/reader.h"
#include "sys/textfile.h"
#include "view/text/show.h"

#define WINDOW_MAX ((uint64_t)24 * 3600 * SONDE_NS_PER_S)

static const char usage[] =
	"sonde sync [options] FILE\n"
	"sonde sync [options] TRACE...\n"
	"\n"
	"Says how the clocks of hosts were to one another, from the times at which\n"
	"messages between them were sent and received: an offset, and how far it\n"
	"can be from the truth. FILE has a line for each message:\n"
	"FROM TO SENT RECEIVED, both times in nanoseconds by the host's own clock.\n"
	"Of traces of several hosts, with system calls and sock:sock_*_length, the\n"
	"messages are what their threads sent to each other by TCP. With --write\n"
	"these traces are put on the first one's clock, for all that reads them.\n";

struct words {
	const char *window;
	bool json, write;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "window", 0, "TIME", NULL, TO(window),
	  "how long a clock is taken to be even (default: 60s)" },
	{ "write", 0, NULL, NULL, TO(write),
	  "put the traces on the clock of the first one's host: a file .clock "
	  "beside each, which all commands heed" },
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
	{ 0 }
};
/* clang-format on */

enum column {
	COLUMN_A,
	COLUMN_B,
	COLUMN_BEGIN,
	COLUMN_END,
	COLUMN_THERE,
	COLUMN_BACK,
	COLUMN_OFFSET,
	COLUMN_BOUND,
	COLUMN_DRIFT,
	COLUMN_STATE,
};

static const struct sonde_column columns[] = {
	[COLUMN_A] = { "a", "A", SONDE_CELL_TEXT },
	[COLUMN_B] = { "b", "B", SONDE_CELL_TEXT },
	[COLUMN_BEGIN] = { "begin_ns", "BEGIN (A, ns)", SONDE_CELL_INT },
	[COLUMN_END] = { "end_ns", "END (A, ns)", SONDE_CELL_INT },
	[COLUMN_THERE] = { "there", "A>B", SONDE_CELL_COUNT },
	[COLUMN_BACK] = { "back", "B>A", SONDE_CELL_COUNT },
	[COLUMN_OFFSET] = { "offset_ns", "B - A (ns)", SONDE_CELL_INT },
	[COLUMN_BOUND] = { "bound", "+-", SONDE_CELL_DURATION },
	[COLUMN_DRIFT] = { "drift_ppb", "DRIFT (10^-9)", SONDE_CELL_INT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
};

/* The offset in the middle, the widest bound, and the drift's middle. */
static int64_t sync_middle(int64_t from, int64_t to)
{
	return to - (to - from) / 2;
}

static void sync_put_offset(struct sonde_table *table,
			    const struct sonde_sync_window *window)
{
	int64_t middle = sync_middle(window->begin, window->end);
	const int64_t at[] = { middle, window->begin, window->end };
	int64_t bound = 0;
	int64_t low;
	int64_t high;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(at); i++) {
		sonde_align_at(window->align, at[i], &low, &high);
		if (i == 0)
			sonde_table_int(table, COLUMN_OFFSET,
					sync_middle(low, high) - middle);
		if ((high - low + 1) / 2 > bound)
			bound = (high - low + 1) / 2;
	}
	sonde_table_int(table, COLUMN_BOUND, bound);
	sonde_align_drift(window->align, &low, &high);
	sonde_table_int(table, COLUMN_DRIFT, sync_middle(low, high));
}

static void put_window(void *ctx, const struct sonde_sync_window *window)
{
	struct sonde_table *table = ctx;

	sonde_table_row(table);
	sonde_table_text(table, COLUMN_A, window->a);
	sonde_table_text(table, COLUMN_B, window->b);
	sonde_table_int(table, COLUMN_BEGIN, window->begin);
	sonde_table_int(table, COLUMN_END, window->end);
	sonde_table_uint(table, COLUMN_THERE, window->nr_there);
	sonde_table_uint(table, COLUMN_BACK, window->nr_back);
	if (window->error == 0)
		sync_put_offset(table, window);
	sonde_table_text(table, COLUMN_STATE,
			 window->error == 0     ? "bounded" :
			 window->error == -EDOM ? "impossible" :
						  "too few messages");
}

/* 0, or an exit status, said why. */
static int sync_read(struct sonde_sync *sync, const char *path)
{
	struct sonde_lines lines;
	uint64_t nr = 0;
	char *line;
	int err = sonde_lines_open(&lines, "%s", path);
	int failed = err;

	while (!err && (line = sonde_lines_next(&lines))) {
		nr++;
		err = sonde_sync_take(sync, line);
		if (err == -EINVAL)
			sonde_complain("sync: %s:%" PRIu64 ": not a message: "
				       "FROM TO SENT RECEIVED, times in "
				       "nanoseconds",
				       path, nr);
		else if (err)
			sonde_complain("sync: no memory");
	}
	failed = failed ? failed : lines.error;
	if (failed)
		sonde_complain("sync: %s: %s", path, strerrordesc_np(-failed));
	sonde_lines_close(&lines);
	return err || failed ? 1 : 0;
}

/* ---- from traces ---- */

/* 0, or an exit status, said why. */
static int sync_take_transfers(struct sonde_sync *sync,
			       const struct sonde_trace *trace,
			       const struct sonde_transfers *transfers)
{
	struct sonde_transfer_message message;

	for (size_t i = 0; i < transfers->nr; i++) {
		int err = 0;

		if (sonde_transfer_message(transfers, &transfers->at[i],
					   &message))
			err = sonde_sync_add(sync,
					     trace->machines[message.from].host,
					     trace->machines[message.to].host,
					     message.sent_ns,
					     message.received_ns);
		if (err == -ENOMEM) {
			sonde_complain("sync: no memory");
			return 1;
		}
	}
	if (transfers->left_out)
		sonde_complain("sync: %" PRIu64
			       " transfers were not looked at: "
			       "there were too many",
			       transfers->left_out);
	if (transfers->has_events)
		return 0;
	sonde_complain("sync: these traces don't say who sent bytes to whom; "
		       "record with -k 'syscalls,sock:sock_*_length', by BPF, "
		       "on Linux 6.3 or later");
	return 1;
}

/* Opened as they were recorded: what an earlier look found of their clocks isn't
 * built upon. `report` gets a table of what was written, if it was asked for. */
static int sync_read_traces(struct sonde_sync *sync, char **paths, size_t nr,
			    bool write, struct sonde_report *report)
{
	struct sonde_transfers transfers = { 0 };
	struct sonde_map_options all;
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	int status = 1;
	int err = sonde_attribution_open_as_recorded((const char *const *)paths,
						     nr, &error, &trace);

	if (err) {
		sonde_complain("sync: %s", error.text);
		return 1;
	}
	sonde_map_options_init(&all);
	err = sonde_transfers_read(trace, &all, &transfers);
	if (err)
		sonde_complain("sync: %s", strerrordesc_np(-err));
	else
		status = sync_take_transfers(sync, trace, &transfers);
	if (!status && write)
		status = sonde_command_sync_write(trace, &transfers, report);
	sonde_transfers_fini(&transfers);
	sonde_trace_close(trace);
	return status;
}

static bool sync_is_trace(const char *path)
{
	struct stat about;

	return !stat(path, &about) && S_ISDIR(about.st_mode);
}

static int sync_show(struct sonde_sync *sync, uint64_t window_ns, bool json,
		     struct sonde_report *report)
{
	struct sonde_table *table = sonde_report_table(
		report, "windows", NULL, columns, SONDE_ARRAY_SIZE(columns));
	struct sonde_show how;
	int err = sonde_sync_solve(sync, window_ns, put_window, table);

	if (err)
		sonde_complain("sync: no memory");
	sonde_show_init(&how, stdout);
	how.json = json;
	if (!err)
		err = sonde_show_report(&how, report, stdout);
	return err ? 1 : 0;
}

/* -1: go on; or an exit status, said why. */
static int sync_parse(int argc, char **argv, struct words *words,
		      uint64_t *window_us)
{
	int status =
		sonde_option_take(&sonde_command_sync, argc, argv, words, NULL);

	if (status != -1)
		return status;
	if (optind == argc || ((words->write || optind + 1 < argc) &&
			       !sync_is_trace(argv[optind]))) {
		sonde_complain("sync: %s",
			       words->write ?
				       "for --write, traces are wanted" :
				       "one file of messages is wanted, or "
				       "traces");
		return SONDE_EXIT_USAGE;
	}
	if (words->window &&
	    (sonde_number_parse_time_us(words->window, window_us) ||
	     *window_us < 1000000 || *window_us > WINDOW_MAX / 1000)) {
		sonde_complain("sync: --window %.50s: from 1s to 24h",
			       words->window);
		return SONDE_EXIT_USAGE;
	}
	return -1;
}

static int sync_run(int argc, char **argv)
{
	uint64_t window_us = 60 * 1000000;
	struct words words = { 0 };
	int status = sync_parse(argc, argv, &words, &window_us);
	struct sonde_report *report;
	struct sonde_sync *sync;

	if (status != -1)
		return status;
	report = sonde_report_new("sync");
	sync = sonde_sync_new();
	if (!sync)
		status = 1;
	else if (sync_is_trace(argv[optind]))
		status = sync_read_traces(sync, argv + optind,
					  (size_t)(argc - optind), words.write,
					  report);
	else
		status = sync_read(sync, argv[optind]);
	if (status == 0)
		status = sync_show(sync, window_us * 1000, words.json, report);
	sonde_sync_free(sync);
	sonde_report_free(report);
	return status;
}

const struct sonde_command sonde_command_sync = {
	.name = "sync",
	.run = sync_run,
	.brief = "FILE|TRACE...",
	.does = "the clocks of hosts, compared",
	.usage = usage,
	.options = options,
	.words = SONDE_VALUE_FILE "|" SONDE_VALUE_DIR " " SONDE_VALUE_DIR,
};
