/* SPDX-License-Identifier: MIT */
/*
 * import.h - what other tracers have recorded, as a CTF trace of ours: events with
 * the names and fields that our own recordings have, so that all reports, views
 * and exports work on them.
 *
 *	perf.c		perf.data, a file or a directory: tracepoints as kernel events, samples as those
 *			of --sample, processes, mappings and names as dumps
 *	tracedat.c	trace.dat of trace-cmd: kernel events
 *	uftrace.c	uftrace's data directory: entries and exits of functions
 *
 * Each format has a parser of its own; output.h is what all of them write by.
 *
 * Accounts: what the other tracer says it has lost is lost in the trace, in the
 * stream of its CPU. What can't be read, or has no place here, is counted in the
 * report, and told.
 *
 * The file is mapped. Nothing in it is believed. Who changes it meanwhile gets
 * other events; who makes it shorter ends the process by SIGBUS
 * (cmd/read_watch.h). One thread.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include "import/report.h"

enum sonde_import_kind {
	SONDE_IMPORT_NONE, /* nothing that we know */
	SONDE_IMPORT_PERF,
	SONDE_IMPORT_TRACEDAT,
	SONDE_IMPORT_UFTRACE, /* a directory */
};

/* By the first bytes of the file at `path`, or of one in it; NONE of what can't be read, too. */
enum sonde_import_kind sonde_import_look(const char *path);

/* 0; or -errno with *error, and what was written is to be removed. The report is
 * of what was done in any case. */
int sonde_import(const char *path, const struct sonde_import_config *config,
		 struct sonde_import_report *ret_report,
		 struct sonde_import_error *error);

#endif /* IMPORT_IMPORT_H */
