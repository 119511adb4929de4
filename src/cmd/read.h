/* SPDX-License-Identifier: MIT */
/*
 * read.h - what all commands that read traces have in common: their options,
 * opening, the span of time, the filter, the progress bar, where the result
 * goes.
 *
 * A command's main is:
 *
 *	struct sonde_read read;
 *	sonde_read_init(&read, &sonde_command_top);
 *	status = sonde_option_take(&sonde_command_top, argc, argv, &words, &read);
 *	if (status >= 0) return status;		// help was printed, or an error
 *	status = sonde_read_open(&read, argc, argv, min_traces, max_traces);
 *	if (status >= 0) return status;
 *	...
 *	return sonde_read_finish(&read, report, err);
 *
 * The command's `common` options are sonde_read_options, its `notes`
 * SONDE_READ_NOTES or more.
 *
 * Exit statuses: 0 done, or nobody reads the output any more; 1 failed, said
 * why; 2 wrong usage; 3 the answer is no (check: the trace is not sound; diff:
 * beyond the threshold); 130 by Ctrl-C.
 */
#ifndef CMD_READ_H
#define CMD_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "analysis/analysis.h"
#include "cmd/options.h"
#include "reader/map.h"
#include "view/text/show.h"

#define SONDE_EXIT_NO 3

struct sonde_read {
	const struct sonde_command *command;
	/* options: -f, --from, --to, --last, --json, --color WHEN, -o FILE,
	 * --threads N, -q, --limit N, -h */
	const char *filter_text, *from_text, *to_text, *last_text;
	const char *output; /* NULL: standard output */
	bool json, quiet;
	bool shows_own; /* of the command's own --self */
	int colour;     /* -1 automatic, 0, 1 */
	unsigned int threads;
	uint64_t limit; /* rows of tables, events of print; 0: default */
	/* after sonde_read_open() */
	struct sonde_trace *trace;     /* of all paths together, unless split */
	struct sonde_trace *traces[2]; /* `split`: each path by itself */
	bool split;                    /* set before open: diff A B */
	bool is_one; /* of several machines: what it lacks isn't said, for
		      * another may have it */
	bool flows;  /* set before open: output comes while reading, so there is
		     * no progress bar where it goes to a terminal */
	struct sonde_filter *filter; /* NULL without -f; of `trace` */
	struct sonde_filter *filters[2];
	int64_t from_ns, to_ns; /* of `trace` */
	struct sonde_show show;
	/* filled from all that, with progress; `maps`: of each, if split */
	struct sonde_map_options map, maps[2];
	FILE *to; /* where the result goes */
};

extern const struct sonde_option sonde_read_options[];
#define SONDE_READ_NOTES                                    \
	"Without a TRACE it is the newest recording here, " \
	"sonde-YYYYMMDD-HHMMSS.\n"

void sonde_read_init(struct sonde_read *read,
		     const struct sonde_command *command);
/* Without a trace, where one is wanted, it is the newest recording in the
 * working directory. -1: go on. Else the exit status: everything has been said and freed. */
int sonde_read_open(struct sonde_read *read, int argc, char **argv,
		    int min_traces, int max_traces);
/* The file of -o, and how to show it; part of that. 0 or the exit status. */
int sonde_read_open_output(struct sonde_read *read);
/* When a trace was, from which --from, --to and --last are told. */
struct sonde_read_range {
	int64_t begin_ns, end_ns; /* 0 without times */
	int64_t last_ns;          /* its last event */
	bool has_times, has_last;
};
/* 0 or a negative errno. */
int sonde_read_range(struct sonde_trace *trace,
		     struct sonde_read_range *ret_range);
/* What the options mean there: `map` comes with the whole span. 0 or -EINVAL: said
 * why. */
int sonde_read_span(const struct sonde_read *read,
		    const struct sonde_read_range *range,
		    struct sonde_map_options *map);
/* What `all`, which stays open, has of one machine, by itself: with the same
 * options and span, but for where the result goes. 0, and to be finished; or the
 * exit status. */
int sonde_read_machine(const struct sonde_read *all, size_t machine,
		       struct sonde_read *ret_one);
/* For commands that don't use sonde_map(): cheap, call it for every few
 * thousand events; not 0: Ctrl-C, stop. */
int sonde_read_progress(struct sonde_read *read, uint64_t done, uint64_t all);
/* Shows the report (may be NULL) if err is 0; on standard error, unless quiet:
 * what was lost or damaged in what was read. A negative errno is explained; a
 * positive err is an exit status of which all has been said. Frees all but the
 * report; the exit status. */
int sonde_read_finish(struct sonde_read *read, struct sonde_report *report,
		      int err);
/* What a report is asked, of the command line's options: the command adds its
 * own. After sonde_read_open(). */
struct sonde_analysis_args
sonde_read_args(const struct sonde_read *read,
		const struct sonde_analysis *analysis);
/* Runs it: 0; a negative errno; or the exit status, when all was said. */
int sonde_read_analyse(const struct sonde_read *read,
		       const struct sonde_analysis *analysis,
		       struct sonde_analysis_args *args,
		       struct sonde_report **ret_report);
/* Runs it and sonde_read_finish()es; the exit status. */
int sonde_read_report(struct sonde_read *read,
		      const struct sonde_analysis *analysis,
		      struct sonde_analysis_args *args);
/* An option whose value is an expression, of a trace. */
struct sonde_read_expression {
	const char *option, *text; /* text NULL: not given */
	struct sonde_filter *filter;
};
/* 0, or the exit status: what is wrong has been said. */
int sonde_read_expressions(struct sonde_read *read,
			   struct sonde_read_expression *list, size_t nr);
void sonde_read_expressions_fini(struct sonde_read_expression *list, size_t nr);
/* Says what is wrong with an expression, and where. */
void sonde_read_explain(const char *option, const char *text,
			const struct sonde_trace_error *error);
/* A filter from an option such as --begin, of `trace`; says what is wrong and
 * returns NULL. */
struct sonde_filter *sonde_read_filter(struct sonde_read *read,
				       const char *option, const char *text);

#endif /* CMD_READ_H */
