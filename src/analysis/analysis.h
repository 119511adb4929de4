/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - the reports of `sonde report`, each a map over slices of a trace
 * and a merge (reader/map.h) that ends in a report (analysis/report.h).
 *
 * To add one: a file here, a line in registry.c, a section in
 * man/sonde-report.1, and a test that one slice and many give the same. Plug-ins
 * add theirs by sonde_analysis_add().
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "analysis/report.h"
#include "base/text.h"
#include "reader/map.h"
#include "reader/names/names.h"

struct sonde_analysis;

struct sonde_analysis_args {
	const struct sonde_analysis *analysis; /* set by sonde_analysis_run() */
	struct sonde_trace *trace;
	struct sonde_map_options map; /* span, filter, threads, progress */
	uint64_t limit; /* rows of a table; 0: the report's choice */
	/* of --begin, --end, --key, --value; NULL where not given */
	const struct sonde_filter *begin, *end, *key, *value;
	const char *by; /* of --by; NULL */
	uint64_t nth;   /* of --nth: which of the longest; 0: the first */
	/* If --by, --key are names of fields, those: they say how values are
	 * shown. NULL */
	const struct sonde_class *by_class, *key_class;
	struct sonde_names *names; /* of code; NULL: addresses will do */
	/* How to write a value in a sentence: sonde_show_cell(). */
	int (*show)(enum sonde_cell cell, const struct sonde_cell_value *value,
		    char *to, size_t size);
	char error[256]; /* set when run() returns -EINVAL or -ENODATA */
	/* set by run(): what is broken (check), and what differs (diff) or is
	 * doubtful */
	uint64_t nr_errors, nr_warnings, nr_notes;
	/* of latency: say why spans took so long; those of this length and
	 * longer, or the longest (0) */
	bool explain;
	int64_t over_ns;
	bool across;  /* of latency: begins and ends are of any machine */
	bool verbose; /* of stat: environment, all about clocks */
	/* of diff: what counts (0.1: 10 %), whether rates are compared, not
	 * numbers, and the other trace: B, with a span and filters of its own */
	double threshold;
	bool rates;
	const struct sonde_analysis_args *other;
};

struct sonde_analysis {
	const char *name;
	const char *summary; /* for the list of reports: "CPU time by thread" */
	const char *needs;   /* "kernel", "malloc", "locks", "" any trace */
	/* Of "kernel": one of these is enough, of enum sonde_model_wants. */
	unsigned int about;
	/* One of: a report from a kernel's model (reports/kernel.h), which runs
	 * like all of these; and one that runs in a way of its own. */
	const struct sonde_model_report *model;
	int (*run)(struct sonde_analysis_args *args,
		   struct sonde_report **ret_report);
	/* Of the trace, not of its events: JSON has all rows, and what was lost
	 * or is damaged is in the report. */
	bool is_inventory;
	/* Traces of several machines are one question: it tells them apart. All
	 * others are asked of each machine, unless `across` is asked for. */
	bool spans_machines;
	/* For the run() of analysis/plugin/reports.h: a report of a plug-in; or
	 * rows, up to a NULL. And where it is from: a file's name; NULL: it is
	 * ours. */
	const struct sonde_plugin_report *plugin;
	const struct sonde_plugin_rows *const *rows;
	const char *origin;
};

/* Those that `sonde report` knows by name; NULL beyond the last. stat, check and
 * diff, which are commands of their own, are in reports.h. */
const struct sonde_analysis *sonde_analysis(size_t i);
const struct sonde_analysis *sonde_analysis_find(const char *name);
/* One more, which stays as it is; before there are threads. 0; -EEXIST: one is
 * called so; -ENOMEM. */
int sonde_analysis_add(const struct sonde_analysis *analysis);
/* Whether the trace has the events that the analysis needs: those of which
 * occurs[] says so, by class (reader/occurring.h); NULL: that it declares. */
bool sonde_analysis_applies(const struct sonde_analysis *analysis,
			    struct sonde_trace *trace, const bool *occurs);

/* 0; -EINVAL or -ENODATA with args->error; another negative errno. */
int sonde_analysis_run(const struct sonde_analysis *analysis,
		       struct sonde_analysis_args *args,
		       struct sonde_report **ret_report);

/* ---- what analyses share ---- */

/* Whether there may be events of that kind, a word of `needs`. */
bool sonde_analysis_has(const struct sonde_trace *trace, const char *needs);

/* How many seconds of the trace are analysed. 0: a rate, which is then no
 * finite number, is shown as unknown. */
double sonde_analysis_seconds(const struct sonde_analysis_args *args);
/* How many rows a table has: what the user says, or the report's choice. */
size_t sonde_analysis_rows(const struct sonde_analysis_args *args,
			   size_t choice);
/* A value as a whole number: fractions are rounded. False: it is none. */
bool sonde_analysis_number(const struct sonde_value *value,
			   int64_t *ret_number);
/* The last name that a thread had; NULL unknown. And whether any is known: a
 * table's last column has names only then. */
const char *sonde_analysis_thread_name(const struct sonde_analysis_args *args,
				       int32_t tid);
bool sonde_analysis_has_names(const struct sonde_analysis_args *args);
#define SONDE_NAME_COLUMN                         \
	{                                         \
		"thread", "NAME", SONDE_CELL_TEXT \
	}
/* Sets args->error, and returns `err`. */
#define sonde_analysis_fail(args, err, ...) \
	sonde_text_say((args)->error, sizeof((args)->error), err, __VA_ARGS__)

#endif /* ANALYSIS_ANALYSIS_H */
