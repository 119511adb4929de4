/* SPDX-License-Identifier: MIT */
/*
 * worker_do.c - the process that a worker starts for each unit of work: a request on
 * standard input, traces as words, reports as bytes on standard output; words for
 * people go to standard error, as of `sonde report`.
 *
 * What traces do to this process, which reads them, they do to it alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/report_on.h"
#include "fleet/job_protocol.h"
#include "reader/reader.h"

static int worker_put_items(const struct sonde_report_item *items, size_t nr)
{
	size_t size = 0;
	void *bytes = NULL;
	int err = sonde_report_pack(items, nr, &bytes, &size);

	if (err == -E2BIG) {
		sonde_complain("report: it is too large to be sent, as it has "
			       "more than %u MiB, or %u million cells; give it "
			       "a --limit",
			       (unsigned int)(SONDE_REPORT_WIRE_MAX >> 20),
			       (unsigned int)(SONDE_REPORT_WIRE_CELLS >> 20));
		return 1;
	}
	if (!err && (fwrite(bytes, 1, size, stdout) != size || fflush(stdout)))
		err = -EIO;
	free(bytes);
	return err;
}

/* ---- a look ---- */

static void look_put_range(struct sonde_report *look,
			   const struct sonde_read_range *range)
{
	static const struct sonde_column columns[] = {
		[SONDE_LOOK_BEGIN] = { "begin", "BEGIN", SONDE_CELL_TIME },
		[SONDE_LOOK_END] = { "end", "END", SONDE_CELL_TIME },
		[SONDE_LOOK_LAST] = { "last", "LAST", SONDE_CELL_TIME },
	};
	struct sonde_table *table = sonde_report_table(
		look, SONDE_LOOK_RANGE, NULL, columns, SONDE_LOOK_NR_COLUMNS);

	sonde_table_row(table);
	if (range->has_times) {
		sonde_table_int(table, SONDE_LOOK_BEGIN, range->begin_ns);
		sonde_table_int(table, SONDE_LOOK_END, range->end_ns);
	}
	if (range->has_last)
		sonde_table_int(table, SONDE_LOOK_LAST, range->last_ns);
}

static void look_put_machines(struct sonde_report *look,
			      const struct sonde_trace *trace)
{
	static const struct sonde_column name = { "name", "NAME",
						  SONDE_CELL_TEXT };
	struct sonde_table *table =
		sonde_report_table(look, SONDE_LOOK_MACHINES, NULL, &name, 1);
	bool has_unknown = false;

	for (size_t i = 0; i < trace->nr_machines; i++) {
		sonde_table_row(table);
		sonde_table_text(table, 0, trace->machines[i].host);
		has_unknown = has_unknown || !*trace->machines[i].host;
	}
	for (size_t i = 0; !has_unknown && i < trace->nr_sources; i++) {
		const char *host =
			sonde_source_env(trace->sources[i], "hostname");

		if (host && *host)
			continue;
		has_unknown = true;
		sonde_table_row(table);
		sonde_table_text(table, 0, "");
	}
}

static int make_look(struct sonde_read *read, bool with_times,
		     struct sonde_report_item *item)
{
	struct sonde_read_range range = { .has_times = false };
	int status = with_times ? sonde_read_range(read->trace, &range) : 0;

	if (status)
		return status;
	item->name = SONDE_LOOK;
	item->report = sonde_report_new(SONDE_LOOK);
	look_put_machines(item->report, read->trace);
	look_put_range(item->report, &range);
	return sonde_report_error(item->report);
}

/* With the report of each machine, if `analysis` isn't NULL. */
static int do_look(struct sonde_read *read, struct sonde_read_ask *ask,
		   const struct sonde_analysis *analysis)
{
	size_t nr = 1 + (analysis ? read->trace->nr_machines : 0);
	struct sonde_report_item *items = calloc(nr, sizeof(*items));
	int status = items ? make_look(read, !analysis, items) : -ENOMEM;

	if (!status && analysis)
		status = sonde_read_make_machines(read, ask, analysis,
						  items + 1);
	if (!status)
		status = worker_put_items(items, nr);
	/* of several machines, each has said what it lacks */
	read->quiet = true;
	status = sonde_read_finish(read, NULL, status);
	for (size_t i = 0; items && i < nr; i++)
		sonde_report_free(items[i].report);
	free(items);
	return status;
}

/* ---- a report ---- */

/* The only machine's, or why there is nothing. */
static int make_only(struct sonde_read *read, struct sonde_read_ask *ask,
		     const struct sonde_analysis *analysis,
		     struct sonde_report_item *item)
{
	item->name = read->trace->machines[0].host;
	return read->trace->nr_machines > 1 ?
		       sonde_read_explain_none(read, ask, analysis) :
		       sonde_read_make(read, ask, analysis, &item->report);
}

static int do_report(struct sonde_read *read, struct sonde_read_ask *ask,
		     const struct sonde_analysis *analysis, bool is_only)
{
	size_t nr = is_only ? 1 : read->trace->nr_machines;
	struct sonde_report_item *items = calloc(nr, sizeof(*items));
	int status;

	if (!items)
		status = -ENOMEM;
	else if (is_only)
		status = make_only(read, ask, analysis, items);
	else
		status = sonde_read_make_machines(read, ask, analysis, items);
	if (!status)
		status = worker_put_items(items, nr);
	/* of several, each has said what it lacks */
	read->quiet |= !is_only || analysis->is_inventory;
	status = sonde_read_finish(read, NULL, status);
	for (size_t i = 0; items && i < nr; i++)
		sonde_report_free(items[i].report);
	free(items);
	return status;
}

/* NULL: it wasn't given. */
static const char *request_text_of(const struct sonde_fleet_request *request,
				   enum sonde_fleet_text which)
{
	return *request->texts[which] ? request->texts[which] : NULL;
}

static struct sonde_read_ask ask_of(const struct sonde_fleet_request *request)
{
	struct sonde_read_ask ask = sonde_read_ask_none();

	ask.by = request_text_of(request, SONDE_FLEET_BY);
	ask.nth = request->nth;
	ask.over_us = request->over_us;
	ask.explain = request->flags & SONDE_FLEET_EXPLAIN;
	ask.no_names = request->flags & SONDE_FLEET_NO_NAMES;
	ask.list[SONDE_READ_BEGIN].text =
		request_text_of(request, SONDE_FLEET_BEGIN);
	ask.list[SONDE_READ_END].text =
		request_text_of(request, SONDE_FLEET_END);
	ask.list[SONDE_READ_KEY].text =
		request_text_of(request, SONDE_FLEET_KEY);
	ask.list[SONDE_READ_VALUE].text =
		request_text_of(request, SONDE_FLEET_VALUE);
	return ask;
}

static int do_request(const struct sonde_fleet_request *request, int argc,
		      char **argv, unsigned int threads)
{
	const struct sonde_analysis *analysis =
		sonde_analysis_find(request->texts[SONDE_FLEET_REPORT]);
	struct sonde_read_ask ask = ask_of(request);
	struct sonde_read read;
	int status;

	if (*request->texts[SONDE_FLEET_REPORT] && !analysis) {
		sonde_complain("report: the worker knows no report '%.100s'",
			       request->texts[SONDE_FLEET_REPORT]);
		return 1;
	}
	sonde_read_init(&read, &sonde_command_report);
	read.filter_text = request_text_of(request, SONDE_FLEET_FILTER);
	read.threads = threads;
	read.limit = request->limit;
	read.json = request->flags & SONDE_FLEET_JSON;
	read.quiet = request->flags & SONDE_FLEET_QUIET;
	read.shows_own = request->flags & SONDE_FLEET_SELF;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	read.map.from_ns = read.from_ns = request->from_ns;
	read.map.to_ns = read.to_ns = request->to_ns;
	return request->looks ? do_look(&read, &ask, analysis) :
				do_report(&read, &ask, analysis,
					  request->flags & SONDE_FLEET_ONLY);
}

int sonde_command_worker_do(int argc, char **argv, unsigned int threads)
{
	static struct sonde_fleet_request request;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = fread(line, 1, sizeof(line), stdin);

	if (sonde_fleet_request_parse(line, size, &request)) {
		sonde_complain("worker: what is asked isn't understood; is it "
			       "another version of sonde that asks?");
		return 1;
	}
	return do_request(&request, argc, argv, threads);
}
