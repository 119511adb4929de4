/* SPDX-License-Identifier: MIT */
/*
 * report.c - `sonde report`: answers to common questions, by name.
 *
 * Order: options; what users add, plug-ins and rows that they declare, so that its
 * names are known; then the report is found, and only then is a trace opened. No
 * name, or a directory in its place: the reports that the trace can answer are
 * listed. Of several machines each is asked by itself, unless the report spans
 * them. With --on, workers read the trace.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/analysis.h"
#include "analysis/plugin/reports.h"
#include "analysis/reports/longest.h"
#include "analysis/reports/reports.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/newest.h"
#include "cmd/pager.h"
#include "cmd/plugins.h"
#include "cmd/report_on.h"
#include "cmd/view_rows.h"
#include "reader/occurring.h"
#include "reader/reader.h"
#include "view/index/declared.h"

static const char usage[] =
	"sonde report NAME [options] [TRACE...]\n"
	"sonde report [TRACE...]\n"
	"\n"
	"Answers a question about a trace; without a name, lists the reports,\n"
	"and which of them fit the trace.\n";

struct words {
	const char *rows; /* a file */
	const char *nth, *threshold;
	bool shows_own;
	struct sonde_option_values plugins;
	struct sonde_read_on on;
	struct sonde_read_ask ask;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ .help = "What to look at (top, period, latency, blame, critical)" },
	{ "begin", 0, "EXPR", NULL, TO(ask.list[SONDE_READ_BEGIN].text),
	  "the events that begin something" },
	{ "end", 0, "EXPR", NULL, TO(ask.list[SONDE_READ_END].text),
	  "the events that end it" },
	{ "key", 0, "EXPR", NULL, TO(ask.list[SONDE_READ_KEY].text),
	  "begins and ends with the same value belong together (default: "
	  "those of a thread)" },
	{ "by", 0, "EXPR", "thread process cpu function line module stack", TO(ask.by),
	  "what to count by: thread, process, cpu, or any expression "
	  "(default: the event's name); of activity and offcpu: the name or "
	  "number of a thread; of malloc: function, line, module or "
	  "stack; of locks and offcpu: stack" },
	{ "nth", 0, "N", NULL, TO(nth),
	  "of blame and critical: not the longest span but the N-th, up to "
	  "10" },
	{ "value", 0, "EXPR", NULL, TO(ask.list[SONDE_READ_VALUE].text),
	  "what to add up" },
	{ "explain", 0, NULL, NULL, TO(ask.explain),
	  "of latency: what took the time of the longest spans, by the kernel's "
	  "events; --value EXPR in place of --begin: how many ns an end ended" },
	{ "across", 0, NULL, NULL, TO(ask.across),
	  "of latency: a span may end on another machine than it begins, by a "
	  "--key that is a request's on all of them" },
	{ "threshold", 0, "TIME", NULL, TO(threshold),
	  "of latency --explain: all spans that took so long, not the longest "
	  "ten" },
	{ .help = "Of code" },
	{ "no-names", 0, NULL, NULL, TO(ask.no_names),
	  "show addresses, and look for no names" },
	{ .help = "Of a kernel's trace" },
	{ "self", 0, NULL, NULL, TO(shows_own),
	  "show the recorder's own threads, too" },
	{ .help = "Of your own" },
	{ "rows", 0, "FILE", NULL, TO(rows),
	  "of rows: how long the states of the rows took that it declares "
	  "(default: ~/.config/sonde/rows)" },
	{ "plugin", 0, "FILE", SONDE_VALUE_FILE, TO(plugins),
	  SONDE_PLUGIN_HELP },
	{ .help = "Of what machines shipped" },
	{ "on", 0, "URL", NULL, TO(on.url),
	  "of that, in place of a TRACE: 'sonde worker' makes it where that is: "
	  "nats://HOST" },
	{ "hosts", 0, "GLOB", NULL, TO(on.hosts),
	  "only of these machines; several with commas between" },
	{ "traces", 0, "GLOB", NULL, TO(on.traces),
	  "only recordings of these names; several with commas between" },
	{ 0 }
};
/* clang-format on */

static int parse_nth(const char *text, uint64_t *ret_nth)
{
	uint64_t nth;

	if (!sonde_number_parse(text, SONDE_LONGEST_MAX, &nth) || !nth) {
		sonde_complain("--nth %.100s: give a number from 1 to %d", text,
			       SONDE_LONGEST_MAX);
		return -EINVAL;
	}
	*ret_nth = nth;
	return 0;
}

static int parse_threshold(const char *text, uint64_t *ret_us)
{
	if (!sonde_number_parse_time_us(text, ret_us) && *ret_us &&
	    *ret_us <= INT64_MAX / 1000)
		return 0;
	sonde_complain("--threshold %.100s: give a time, such as 100us or 5ms",
		       text);
	return -EINVAL;
}

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int status = sonde_option_take(read->command, argc, argv, words, read);

	if (status >= 0)
		return status;
	read->shows_own = words->shows_own;
	if (words->nth && parse_nth(words->nth, &words->ask.nth))
		return SONDE_EXIT_USAGE;
	if (words->threshold && !words->ask.explain) {
		sonde_complain("report: --threshold goes with --explain");
		return SONDE_EXIT_USAGE;
	}
	if (!words->on.url && (words->on.hosts || words->on.traces)) {
		sonde_complain("report: --hosts and --traces go with --on");
		return SONDE_EXIT_USAGE;
	}
	if (words->ask.across && words->on.url) {
		sonde_complain("report: --across doesn't go with --on, which "
			       "asks of each machine by itself; collect the "
			       "traces");
		return SONDE_EXIT_USAGE;
	}
	if (words->threshold &&
	    parse_threshold(words->threshold, &words->ask.over_us))
		return SONDE_EXIT_USAGE;
	return -1;
}

/* ---- the list of reports ---- */

static void list_analysis(struct sonde_table *table,
			  const struct sonde_analysis *analysis)
{
	char option[32];

	(void)snprintf(option, sizeof(option), "--%s", analysis->needs);
	sonde_table_row(table);
	sonde_table_text(table, 0, analysis->name);
	if (!strcmp(analysis->needs, "kernel"))
		sonde_table_text(table, 1, "kernel");
	else if (*analysis->needs)
		sonde_table_text(table, 1, option);
	sonde_table_text(table, 2, analysis->summary);
}

/* Whether any is from elsewhere. */
static bool has_origins(void)
{
	const struct sonde_analysis *analysis;

	for (size_t i = 0; (analysis = sonde_analysis(i)); i++)
		if (analysis->origin)
			return true;
	return false;
}

/* `trace` NULL: which fit is not asked. `occurs`: which of its events do. What a
 * plug-in's are for only it knows. */
static struct sonde_report *list(struct sonde_trace *trace, const bool *occurs)
{
	static const struct sonde_column fits = { "fits", "FITS",
						  SONDE_CELL_TEXT };
	static const struct sonde_column origin = { "origin", "FROM",
						    SONDE_CELL_TEXT };
	struct sonde_column columns[5] = {
		{ "name", "REPORT", SONDE_CELL_TEXT },
		{ "needs", "NEEDS", SONDE_CELL_TEXT },
		{ "summary", "SHOWS", SONDE_CELL_TEXT },
	};
	struct sonde_report *report = sonde_report_new("reports");
	const struct sonde_analysis *analysis;
	bool origins = has_origins();
	struct sonde_table *table;
	size_t nr = 3;

	if (trace)
		columns[nr++] = fits;
	if (origins)
		columns[nr++] = origin;
	table = sonde_report_table(report, "reports", NULL, columns, nr);
	for (size_t i = 0; (analysis = sonde_analysis(i)); i++) {
		list_analysis(table, analysis);
		if (origins && analysis->origin)
			sonde_table_text(table, nr - 1, analysis->origin);
		if (trace && !analysis->origin)
			sonde_table_text(table, 3,
					 sonde_analysis_applies(analysis, trace,
								occurs) ?
						 "yes" :
						 "no");
	}
	return report;
}

/* There is no trace to be read, so nothing of `read` is open. */
static int list_only(const struct sonde_read *read)
{
	struct sonde_report *report = list(NULL, NULL);
	struct sonde_show show;
	int err;

	sonde_show_init(&show, stdout);
	show.json = read->json;
	err = sonde_report_error(report);
	if (!err)
		err = sonde_show_report(&show, report, stdout);
	sonde_report_free(report);
	if (err)
		sonde_complain("report: %s", strerrordesc_np(-err));
	return err ? 1 : 0;
}

static int list_for(struct sonde_read *read, int argc, char **argv)
{
	struct sonde_report *report;
	bool *occurs;
	int status = sonde_read_open(read, argc, argv, 1, 0);

	if (status >= 0)
		return status;
	occurs = calloc(sonde_trace_nr_event_classes(read->trace) + 1,
			sizeof(*occurs));
	status = occurs ? sonde_occurring(read->trace, &read->map, occurs) :
			  -ENOMEM;
	report = status ? NULL : list(read->trace, occurs);
	status = sonde_read_finish(read, report, status);
	sonde_report_free(report);
	free(occurs);
	return status;
}

/* ---- one report ---- */

static int report_one(struct sonde_read *read, struct words *words,
		      const struct sonde_analysis *analysis)
{
	struct sonde_report *report = NULL;
	int status = sonde_read_make(read, &words->ask, analysis, &report);

	status = sonde_read_finish(read, report, status);
	sonde_report_free(report);
	return status;
}

/* Makes the report of each machine by itself. */
static int report_machines(struct sonde_read *read, struct words *words,
			   const struct sonde_analysis *analysis)
{
	size_t nr = read->trace->nr_machines;
	struct sonde_report_item *items = calloc(nr, sizeof(*items));
	int status = items ? sonde_read_make_machines(read, &words->ask,
						      analysis, items) :
			     -ENOMEM;

	if (!status && !sonde_read_has_made(items, nr))
		status = sonde_read_explain_none(read, &words->ask, analysis);
	if (!status && !read->output)
		sonde_pager_begin();
	if (!status)
		status = sonde_show_machines(&read->show, items, nr, read->to);
	read->quiet = true; /* each has said what it lacks */
	status = sonde_read_finish(read, NULL, status);
	for (size_t i = 0; items && i < nr; i++)
		sonde_report_free(items[i].report);
	free(items);
	return status;
}

static int complain_unknown(const char *name)
{
	const struct sonde_analysis *analysis;
	struct sonde_nearest nearest;
	const char *hint;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; (analysis = sonde_analysis(i)); i++)
		sonde_nearest_try(&nearest, analysis->name);
	hint = sonde_nearest_hint(&nearest);
	if (!strcmp(name, "rows"))
		hint = ": no rows are declared; see 'Rows of your own' in "
		       "sonde-view(1)";
	sonde_complain("no report is called '%.100s'%s", name,
		       *hint ? hint : "; 'sonde report' lists them");
	return SONDE_EXIT_USAGE;
}

/* ---- of a user's own ---- */

/* Rows that are declared, as a report of them. */
struct own_rows {
	struct sonde_view_rules rules;
	struct sonde_view_declared declared[SONDE_VIEW_RULES];
	struct sonde_plugin_rows rows[SONDE_VIEW_RULES];
	const struct sonde_plugin_rows *list[SONDE_VIEW_RULES + 1];
	struct sonde_analysis analysis;
};

/* Plug-ins, and rows that are declared if there are any. 0 or an exit status. */
static int add_own_reports(const struct words *words, struct own_rows *own)
{
	int status = sonde_command_view_rows(&sonde_command_report, words->rows,
					     &words->plugins, &own->rules);
	size_t nr;

	if (status || !own->rules.nr)
		return status;
	nr = sonde_view_declare(&own->rules, own->declared, own->rows);
	for (size_t i = 0; i < nr; i++)
		own->list[i] = &own->rows[i];
	own->analysis = (struct sonde_analysis){
		.name = "rows",
		.summary = "how long states of rows that you declare took",
		.needs = "",
		.run = sonde_plugin_sums_run,
		.rows = own->list,
		.origin = own->rules.rules[0]->file,
	};
	if (!sonde_analysis_add(&own->analysis))
		return 0;
	sonde_complain("report: a plug-in's report is called 'rows': yours "
		       "can't be");
	return SONDE_EXIT_USAGE;
}

static int report_named(int argc, char **argv, struct sonde_read *read,
			struct words *words)
{
	const struct sonde_analysis *analysis;
	char newest[NAME_MAX + 1];
	struct stat about;
	int status;

	if (optind == argc)
		return sonde_newest(true, newest) ? list_for(read, argc, argv) :
						    list_only(read);
	analysis = sonde_analysis_find(argv[optind]);
	if (!analysis && !stat(argv[optind], &about) && S_ISDIR(about.st_mode))
		return list_for(read, argc, argv);
	if (!analysis)
		return complain_unknown(argv[optind]);
	if (words->ask.across && analysis != &sonde_analysis_latency) {
		sonde_complain("report: --across goes with latency");
		return SONDE_EXIT_USAGE;
	}
	optind++;
	status = sonde_read_open(read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	return read->trace->nr_machines > 1 && !analysis->spans_machines &&
			       !words->ask.across ?
		       report_machines(read, words, analysis) :
		       report_one(read, words, analysis);
}

/* By workers, which have no reports but our own. */
static int report_on(int argc, char **argv, struct sonde_read *read,
		     const struct words *words)
{
	const struct sonde_analysis *analysis;

	if (optind + 1 != argc) {
		sonde_complain("report: --on goes with the name of a report, "
			       "and with no TRACE");
		return SONDE_EXIT_USAGE;
	}
	if (words->plugins.nr || words->rows) {
		sonde_complain(
			"report: --plugin and --rows don't go with --on");
		return SONDE_EXIT_USAGE;
	}
	analysis = sonde_analysis_find(argv[optind]);
	return analysis ? sonde_command_report_on(&words->on, read, &words->ask,
						  analysis) :
			  complain_unknown(argv[optind]);
}

static int run(int argc, char **argv)
{
	static struct own_rows own;
	struct words words = { .ask = sonde_read_ask_none() };
	struct sonde_read read;
	int status;

	sonde_read_init(&read, &sonde_command_report);
	status = parse(&read, argc, argv, &words);
	if (status >= 0)
		return status;
	if (words.on.url)
		return report_on(argc, argv, &read, &words);
	status = add_own_reports(&words, &own);
	if (!status)
		status = report_named(argc, argv, &read, &words);
	sonde_view_rules_fini(&own.rules);
	return status;
}

const struct sonde_command sonde_command_report = {
	.name = "report",
	.run = run,
	.brief = "[NAME] TRACE",
	.does = "answers: top, locks, malloc ...",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_REPORT "|" SONDE_VALUE_DIR " " SONDE_VALUE_DIR,
};
