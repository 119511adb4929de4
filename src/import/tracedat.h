/* SPDX-License-Identifier: MIT */
/*
 * tracedat.h - a trace.dat of trace-cmd into a trace of the kernel's events.
 *
 *	class 0, "ftrace"	events, a stream for each CPU of each instance
 *	class 1, "names"	names of threads, as of a state dump
 *
 * Only events that occur are described.
 */
#ifndef IMPORT_TRACEDAT_H
#define IMPORT_TRACEDAT_H

#include "import/bytes.h"
#include "import/report.h"

/* As sonde_import() (import.h). */
int sonde_import_tracedat(const struct sonde_import_bytes *file,
			  const struct sonde_import_config *config,
			  struct sonde_import_report *report,
			  struct sonde_import_error *error);

#endif /* IMPORT_TRACEDAT_H */
