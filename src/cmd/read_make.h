/* SPDX-License-Identifier: MIT */
/*
 * read_make.h - a report of a trace, or of each machine that it is of, as `sonde
 * report` and who works for it on another machine make it. What is wrong is said on
 * standard error.
 */
#ifndef CMD_READ_MAKE_H
#define CMD_READ_MAKE_H

#include "analysis/report_wire.h"
#include "cmd/read.h"

enum sonde_read_ask_expression {
	SONDE_READ_BEGIN,
	SONDE_READ_END,
	SONDE_READ_KEY,
	SONDE_READ_VALUE,
	SONDE_READ_NR_EXPRESSIONS,
};

/* What a report is asked, besides what all commands that read have. */
struct sonde_read_ask {
	const char *by;
	uint64_t nth;
	uint64_t over_us;
	bool explain;
	bool across; /* of all machines together */
	bool no_names;
	struct sonde_read_expression list[SONDE_READ_NR_EXPRESSIONS];
};

/* With the options' names, and nothing asked. */
struct sonde_read_ask sonde_read_ask_none(void);

/* The report, which the caller frees; or a negative errno, or the exit status. */
int sonde_read_make(struct sonde_read *read, struct sonde_read_ask *ask,
		    const struct sonde_analysis *analysis,
		    struct sonde_report **ret_report);

/* One of each machine of read->trace, by itself, as threads and CPUs of different
 * ones have the same numbers: `items` has room for all, and names that are the
 * trace's. NULL: it has nothing for it. The caller frees the reports, after an error
 * as well. */
int sonde_read_make_machines(struct sonde_read *read,
			     struct sonde_read_ask *ask,
			     const struct sonde_analysis *analysis,
			     struct sonde_report_item *items);

/* Whether one of them has a report. */
bool sonde_read_has_made(const struct sonde_report_item *items, size_t nr);

/* None has anything for it: of all together it is said why. An exit status, or a
 * negative errno. */
int sonde_read_explain_none(struct sonde_read *read, struct sonde_read_ask *ask,
			    const struct sonde_analysis *analysis);

#endif /* CMD_READ_MAKE_H */
