/* SPDX-License-Identifier: MIT */
/* perf_unzip_none.c - a build without libzstd refuses compressed records
 * (perf_unzip.h). */
#include "import/perf_unzip.h"

#include <errno.h>

int sonde_import_perf_unzip(struct sonde_import_perf *perf,
			    struct sonde_import_error *error)
{
	struct sonde_import_bytes records = perf->records;
	struct sonde_import_perf_piece piece;

	while (sonde_import_perf_next(&records, &piece) > 0)
		if (sonde_import_perf_is_zipped(piece.type))
			return sonde_import_fail(
				error, -ENOTSUP,
				"its records are compressed, and this build "
				"lacks libzstd: perf inject -i IN -o OUT "
				"writes them as they were");
	return 0;
}
