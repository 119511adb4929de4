/* SPDX-License-Identifier: MIT */
/*
 * perf.h - a perf.data into a trace (perf_file.h, perf_put.h).
 */
#ifndef IMPORT_PERF_H
#define IMPORT_PERF_H

#include "import/bytes.h"
#include "import/report.h"

/* Of a file in memory, and the `nr` files that hold more of its records
 * (perf_join.h). As sonde_import() (import.h). */
int sonde_import_perf(const struct sonde_import_bytes *file,
		      const struct sonde_import_bytes *parts, size_t nr,
		      const struct sonde_import_config *config,
		      struct sonde_import_report *report,
		      struct sonde_import_error *error);

#endif /* IMPORT_PERF_H */
