/* SPDX-License-Identifier: MIT */
/*
 * report_on.h - `sonde report --on URL`: a report of what machines shipped, made by
 * `sonde worker` where that is.
 */
#ifndef CMD_REPORT_ON_H
#define CMD_REPORT_ON_H

#include "cmd/read_make.h"

struct sonde_read_on {
	const char *url;
	const char *hosts, *traces; /* globs; NULL: all */
};

/* The exit status; `read` has its options and nothing open. */
int sonde_command_report_on(const struct sonde_read_on *on,
			    struct sonde_read *read,
			    const struct sonde_read_ask *ask,
			    const struct sonde_analysis *analysis);

/* A look at traces (fleet/job_protocol.h), as a report: which machines they are of, "" if
 * there are some of an unknown one, and when. */
#define SONDE_LOOK          "look"
#define SONDE_LOOK_MACHINES "machines"
#define SONDE_LOOK_RANGE    "range"
enum sonde_read_look_column {
	SONDE_LOOK_BEGIN,
	SONDE_LOOK_END,
	SONDE_LOOK_LAST,
	SONDE_LOOK_NR_COLUMNS,
};

/* `sonde worker --do TRACE...`: answers the request on standard input. The exit
 * status; what is answered is on standard output. */
int sonde_command_worker_do(int argc, char **argv, unsigned int threads);

#endif /* CMD_REPORT_ON_H */
