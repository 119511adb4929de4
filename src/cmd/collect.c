/* SPDX-License-Identifier: MIT */
/*
 * collect.c - `sonde collect`: traces of other machines, as 'sonde ship'
 * published them, become directories here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/read_watch.h"
#include "fleet/collect.h"
#include "view/text/show.h"

#define PAUSE_NS (SONDE_NS_PER_S / 5)

static const char usage[] =
	"sonde collect [options] --from URL -o DIR\n"
	"\n"
	"Makes trace directories of what 'sonde ship' published, with the bytes\n"
	"that were recorded: DIR/HOST/TRACE. The same DIR again: what has come\n"
	"since then. Killed, it goes on where it was.\n";

struct collecting {
	struct sonde_collect_config config;
	struct sonde_net_error error;
	const char *from;
	bool follows, json, quiet;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct collecting, member)
static const struct sonde_option options[] = {
	{ "from", 0, "URL", NULL, TO(from),
	  "where from: file:///DIRECTORY, nats://HOST or kafka://HOST/TOPIC" },
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(config.out),
	  "where to: a new directory, or one of an earlier collect" },
	{ "hosts", 0, "GLOB", NULL, TO(config.hosts),
	  "only of these machines; several with commas between" },
	{ "traces", 0, "GLOB", NULL, TO(config.traces),
	  "only recordings of these names; several with commas between" },
	{ "follow", 0, NULL, NULL, TO(follows),
	  "go on as more comes, until interrupted" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "what there is, as JSON" },
	{ 0 }
};
/* clang-format on */

enum column {
	COLUMN_HOST,
	COLUMN_TRACE,
	COLUMN_UUID,
	COLUMN_PIECES,
	COLUMN_MISSING,
	COLUMN_DAMAGED,
	COLUMN_STATE,
};

static const struct sonde_column columns[] = {
	[COLUMN_HOST] = { "host", "HOST", SONDE_CELL_TEXT },
	[COLUMN_TRACE] = { "trace", "TRACE", SONDE_CELL_TEXT },
	[COLUMN_UUID] = { "uuid", "UUID", SONDE_CELL_TEXT },
	[COLUMN_PIECES] = { "pieces", "PIECES", SONDE_CELL_COUNT },
	[COLUMN_MISSING] = { "missing", "MISSING", SONDE_CELL_COUNT },
	[COLUMN_DAMAGED] = { "damaged", "DAMAGED", SONDE_CELL_COUNT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
};

static int collect_ask(void)
{
	return sonde_watch_progress(0, 0);
}

/* What is waited for is told once. */
static void collect_warn(const char *text)
{
	sonde_complain_anew("collect", text);
}

static int collect_looks(struct sonde_collect *collect, bool follows)
{
	const struct timespec pause = { 0, PAUSE_NS };
	int err;

	while ((err = sonde_collect_look(collect)) >= 0 && follows &&
	       (err = collect_ask()) == 0)
		(void)nanosleep(&pause, NULL); /* a signal may end it */
	return err < 0 ? err : 0;
}

static void collect_put_trace(struct sonde_table *table,
			      const struct sonde_collect_trace *trace)
{
	char uuid[33];

	sonde_hex_put(trace->trace, 16, uuid);
	sonde_table_row(table);
	sonde_table_text(table, COLUMN_HOST, trace->host);
	sonde_table_text(table, COLUMN_TRACE, trace->place);
	sonde_table_text(table, COLUMN_UUID, uuid);
	sonde_table_uint(table, COLUMN_PIECES, trace->pieces);
	sonde_table_uint(table, COLUMN_MISSING, trace->missing);
	sonde_table_uint(table, COLUMN_DAMAGED, trace->damaged);
	sonde_table_text(table, COLUMN_STATE,
			 trace->missing || trace->damaged ? "incomplete" :
			 trace->is_ended                  ? "complete" :
							    "growing");
}

/* Whether nothing is missing of what was said to be there. */
static bool collect_show(const struct sonde_collect *collect,
			 const struct collecting *wanted)
{
	struct sonde_report *report = sonde_report_new("collect");
	struct sonde_table *table = sonde_report_table(
		report, "traces", NULL, columns, SONDE_ARRAY_SIZE(columns));
	struct sonde_collect_trace trace;
	struct sonde_show how;
	bool is_whole = true;
	bool has_any = false;

	sonde_show_init(&how, stdout);
	how.json = wanted->json;
	sonde_table_minor(table, 1u << COLUMN_UUID);
	for (size_t i = 0; i < sonde_collect_nr(collect); i++) {
		if (!sonde_collect_get(collect, i, &trace))
			continue;
		has_any = true;
		collect_put_trace(table, &trace);
		is_whole = is_whole && !trace.missing && !trace.damaged;
	}
	if ((!wanted->quiet || wanted->json) &&
	    sonde_show_report(&how, report, stdout))
		is_whole = false;
	sonde_report_free(report);
	if (!has_any && !wanted->follows) {
		sonde_complain("collect: nothing%s was shipped to "
			       "%.300s%s%.100s",
			       wanted->config.traces ? " of that name" : "",
			       wanted->from, wanted->config.hosts ? " by " : "",
			       wanted->config.hosts ? wanted->config.hosts :
						      "");
		return false;
	}
	return is_whole;
}

static int collect_to_end(struct collecting *wanted)
{
	struct sonde_collect *collect = NULL;
	int err = sonde_collect_new(&wanted->config, &collect);
	bool is_whole = false;

	if (!err) {
		sonde_watch_begin("collect", false);
		err = collect_looks(collect, wanted->follows);
		sonde_watch_end();
	}
	if (err && err != -EINTR)
		sonde_complain("collect: %s", wanted->error.text);
	else
		is_whole = collect_show(collect, wanted);
	sonde_collect_free(collect);
	if (err == -EINTR && !wanted->follows)
		return 130;
	return (err && err != -EINTR) || !is_whole;
}

static int collect_run(int argc, char **argv)
{
	struct collecting wanted = { .error.text = "no memory" };
	int status = sonde_option_take(&sonde_command_collect, argc, argv,
				       &wanted, NULL);

	if (status != -1)
		return status;
	if (optind != argc || !wanted.from || !wanted.config.out) {
		sonde_complain(
			!wanted.from       ? "collect: where from? --from "
					     "file:///DIRECTORY, nats://HOST or "
					     "kafka://HOST/TOPIC" :
			!wanted.config.out ? "collect: where to? -o DIR" :
					     "collect: it takes no words but "
					     "its options");
		return SONDE_EXIT_USAGE;
	}
	if (sonde_net_open(wanted.from, &sonde_command_net, &wanted.error,
			   &wanted.config.net)) {
		sonde_complain("collect: %s", wanted.error.text);
		return SONDE_EXIT_USAGE;
	}
	wanted.config.error = &wanted.error;
	wanted.config.warn = collect_warn;
	wanted.config.ask = collect_ask;
	status = collect_to_end(&wanted);
	sonde_net_close(wanted.config.net);
	return status;
}

const struct sonde_command sonde_command_collect = {
	.name = "collect",
	.run = collect_run,
	.brief = "--from URL -o DIR",
	.does = "traces of other machines",
	.usage = usage,
	.options = options,
};
