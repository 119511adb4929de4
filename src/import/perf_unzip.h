/* SPDX-License-Identifier: MIT */
/*
 * perf_unzip.h - records of a perf.data that `perf record -z` has compressed.
 *
 * Records of two types hold pieces of one stream of zstd's, which goes on from one
 * to the next; what comes out of all of them are records again, one behind the
 * other, and a record may begin in one piece and end in the next.
 *
 * Memory: as much as the records had before, within the bounds of plain.h.
 */
#ifndef IMPORT_PERF_UNZIP_H
#define IMPORT_PERF_UNZIP_H

#include "import/perf_file.h"

/*
 * If there are such records, perf->records become all others and then those that
 * were compressed, in memory that is freed by sonde_import_perf_close(). What can't
 * be unpacked is left out and counted as unread. 0; or -errno with *error: -ENOTSUP
 * in a build without libzstd.
 */
int sonde_import_perf_unzip(struct sonde_import_perf *perf,
			    struct sonde_import_error *error);

/* Whether a record is such a one. */
static inline bool sonde_import_perf_is_zipped(uint32_t type)
{
	return type == SONDE_PERF_COMPRESSED || type == SONDE_PERF_COMPRESSED2;
}

#endif /* IMPORT_PERF_UNZIP_H */
