/* SPDX-License-Identifier: MIT */
/*
 * uftrace.h - uftrace's data directory into a trace of function entries and exits.
 *
 *	a class for each program	function:entry { addr }, function:exit
 *					{ addr }; a stream for each thread
 *	class 0, "names"		sonde:code: what the functions that occur
 *					are called, by the files *.sym
 *
 * Which CPU a call was on isn't known. Names are those that uftrace has written
 * down, so the programs need not be there.
 */
#ifndef IMPORT_UFTRACE_H
#define IMPORT_UFTRACE_H

#include <stdbool.h>

#include "import/report.h"

/* Whether the directory at `path` is such a one. */
bool sonde_import_uftrace_is(const char *path);

/* As sonde_import() (import.h). */
int sonde_import_uftrace(const char *path,
			 const struct sonde_import_config *config,
			 struct sonde_import_report *report,
			 struct sonde_import_error *error);

#endif /* IMPORT_UFTRACE_H */
