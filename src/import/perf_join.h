/* SPDX-License-Identifier: MIT */
/*
 * perf_join.h - the records of a perf.data that is a directory: perf record
 * --threads writes the head and its own records to the file `data`, and what each
 * of its threads reads to data.0, data.1 ... which hold records and nothing else.
 */
#ifndef IMPORT_PERF_JOIN_H
#define IMPORT_PERF_JOIN_H

#include "import/perf_file.h"

/*
 * perf->records become their own and then those of the parts, unpacked
 * (perf_unzip.h), in memory that is freed by sonde_import_perf_close(). What a part
 * ends with that is no record is counted as unread, and the next part isn't
 * touched by that. 0; or -errno with *error.
 */
int sonde_import_perf_join(struct sonde_import_perf *perf,
			   const struct sonde_import_bytes *parts, size_t nr,
			   struct sonde_import_error *error);

#endif /* IMPORT_PERF_JOIN_H */
