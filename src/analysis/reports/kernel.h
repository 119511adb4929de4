/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - what the reports about a kernel's trace share: sums over the
 * intervals of analysis/model/kernel.h, and the run that makes them.
 *
 * A report's sums are a few *groups* of tallies (by thread, by CPU, by system
 * call, ...) and the ten worst intervals. They are added up in each slice and
 * merged here, in one place; so a report is two functions: which tallies an
 * interval counts in, and how tallies are shown.
 */
#ifndef ANALYSIS_REPORTS_KERNEL_H
#define ANALYSIS_REPORTS_KERNEL_H

#include "analysis/analysis.h"
#include "analysis/model/kernel.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"
#include "base/hash.h"
#include "base/port.h"

#define SONDE_TALLY_NUMBERS 10
#define SONDE_SUMS_GROUPS   6

/* One row of a group: what intervals with this key sum up to. */
struct sonde_tally {
	struct sonde_key key;
	uint64_t numbers[SONDE_TALLY_NUMBERS]; /* the report's */
	int64_t first_ns, last_ns; /* its first begin and last end */
	struct sonde_histogram durations;
};

struct sonde_model_report;

struct sonde_sums {
	const struct sonde_model_report *report;
	struct sonde_hash groups[SONDE_SUMS_GROUPS];
	struct sonde_longest worst;
	uint64_t left_out; /* there was no room for */
};

/* The result of a model, from which a report makes its tables. */
struct sonde_model_result {
	const struct sonde_analysis_args *args;
	const struct sonde_model_tables *tables;
	const struct sonde_model *kernel; /* names */
	const struct sonde_sums *sums;
	int64_t span_ns; /* of the trace that was looked at; not 0 */
};

struct sonde_model_table;

struct sonde_model_report {
	const char *name;
	const char *missing; /* which events there are none of, if so */
	unsigned int wants;
	unsigned int thread_groups; /* bit g: keys of group g are threads */
	void (*interval)(struct sonde_sums *sums,
			 const struct sonde_interval *interval);
	/* What is shown, in this order; what is NULL isn't. First a sentence on
	 * the durations of group 0, which has one tally; `noun` is of what:
	 * "wake-up". */
	const char *noun;
	void (*say)(const struct sonde_model_result *result,
		    struct sonde_report *report);
	const struct sonde_model_table *tables;
	size_t nr_tables;
	const char *took; /* title of the histogram of group 0 */
	const char *worst_title, *worst_what;
	void (*worst_name)(const struct sonde_model_result *result,
			   const struct sonde_longest_span *span, char *to,
			   size_t size);
	/* And what else. 0 or -ENOMEM, if not the report's own. */
	int (*show)(const struct sonde_model_result *result,
		    struct sonde_report *report);
};

/* Runs it, as of struct sonde_analysis. */
int sonde_model_report_run(const struct sonde_model_report *kernel_report,
			   struct sonde_analysis_args *args,
			   struct sonde_report **ret_report);

/* What was dropped, left out (beside `left_out` of the report's own) or had
 * not returned, as notes. */
void sonde_model_notes(const struct sonde_model *kernel, uint64_t left_out,
		       struct sonde_report *report);
/* Whether --by says this thread: its id, its process's, its name; or nothing.
 */
bool sonde_model_is_by(const struct sonde_analysis_args *args,
		       const struct sonde_model *kernel, int32_t tid);

/* ---- adding up ---- */

/*
 * The tally with this number in a group; the interval's time is added to its
 * first and last. NULL, and counted, if the group is full.
 */
struct sonde_tally *sonde_sums_at(struct sonde_sums *sums, unsigned int group,
				  int64_t number,
				  const struct sonde_interval *interval);
/* The tally with this key in a group, likewise. */
struct sonde_tally *sonde_sums_at_key(struct sonde_sums *sums,
				      unsigned int group,
				      const struct sonde_key *key,
				      const struct sonde_interval *interval);
/* Its duration, in the tally's histogram. NULL: nothing. */
void sonde_sums_add(struct sonde_sums *sums, struct sonde_tally *tally,
		    int64_t duration_ns);
/* Whether it is one of the ten; `place` is the report's (which call, ...). */
void sonde_sums_worst(struct sonde_sums *sums,
		      const struct sonde_interval *interval, uint64_t place);

/* ---- showing ---- */

/* What a column shows of a tally: one of its numbers, or one of these. A number
 * in a column of percentages is nanoseconds, as a share of the trace's. */
enum sonde_tally_part {
	SONDE_TALLY_OWN = SONDE_TALLY_NUMBERS, /* the table's row() shows it */
	SONDE_TALLY_KEY,                       /* a number, or a text */
	SONDE_TALLY_TID,                       /* the key, if it is known, */
	SONDE_TALLY_THREAD,                    /* and that thread's name */
	SONDE_TALLY_COUNT,                     /* of the durations */
	SONDE_TALLY_TOTAL,
	SONDE_TALLY_DURATIONS, /* SONDE_HISTOGRAM_COLUMNS */
	SONDE_TALLY_FIRST,
	SONDE_TALLY_LAST,
};

#define SONDE_TALLY_COLUMNS_MAX 16

struct sonde_tally_column {
	const char *key, *title; /* as of struct sonde_column */
	enum sonde_cell cell;
	unsigned int part;
};

/* A table from a group: rows of a tally, most first; none if it is empty. */
struct sonde_model_table {
	const char *key, *title;
	unsigned int group;
	bool by_process; /* of a group by threads: added up by process */
	const struct sonde_tally_column *columns;
	size_t nr_columns;
	size_t rows;    /* the report's choice */
	uint64_t minor; /* columns, as of sonde_table_minor() */
	/* How much of what the order is by; rows with 0 are not shown. */
	uint64_t (*weight)(const struct sonde_model_result *result,
			   const struct sonde_tally *tally);
	/* Its own cells of the last row; NULL: it has none. */
	void (*row)(const struct sonde_model_result *result,
		    struct sonde_table *table, const struct sonde_tally *tally);
};
#define SONDE_MODEL_TABLES(tables_) \
	.tables = (tables_), .nr_tables = SONDE_ARRAY_SIZE(tables_)
/* Such a table: behind these its weight, and then what else it has, such as
 * .row = ... */
#define SONDE_MODEL_TABLE(key_, title_, group_, columns_, rows_, ...)      \
	{                                                                  \
		.key = (key_), .title = (title_), .group = (group_),       \
		.columns = (columns_),                                     \
		.nr_columns = SONDE_ARRAY_SIZE(columns_), .rows = (rows_), \
		.weight = __VA_ARGS__                                      \
	}

/* In that order. 0 or -ENOMEM, if not the report's own. */
int sonde_model_tables(const struct sonde_model_result *result,
		       struct sonde_report *report,
		       const struct sonde_model_table *tables,
		       size_t nr_tables);

/* The sum of durations and their number, as weights; what took no time at all
 * is shown, too. */
uint64_t sonde_tally_total(const struct sonde_model_result *result,
			   const struct sonde_tally *tally);
uint64_t sonde_tally_count(const struct sonde_model_result *result,
			   const struct sonde_tally *tally);

/* The numbers of all tallies of a group, added up. */
void sonde_model_sum(const struct sonde_model_result *result,
		     unsigned int group,
		     uint64_t ret_numbers[SONDE_TALLY_NUMBERS]);
/* The tally of most weight in a group of the sums; NULL if none has any. */
const struct sonde_tally *
sonde_model_most(const struct sonde_model_result *result, unsigned int group,
		 uint64_t (*weight)(const struct sonde_model_result *result,
				    const struct sonde_tally *tally));

/* The ten worst: `what` and `name` give each one's title and name. */
void sonde_model_worst_table(
	const struct sonde_model_result *result, struct sonde_report *report,
	const char *title, const char *what,
	void (*name)(const struct sonde_model_result *result,
		     const struct sonde_longest_span *span, char *to,
		     size_t size));

#endif /* ANALYSIS_REPORTS_KERNEL_H */
