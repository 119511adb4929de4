/* SPDX-License-Identifier: MIT */
/*
 * perf_join.c - records of several files, one behind the other (perf_join.h).
 *
 * Each part is unpacked by itself, for each has a stream of zstd's of its own; so
 * for a moment one part is there twice.
 */
#include "import/perf_join.h"

#include <errno.h>
#include <stdlib.h>

#include "import/perf_unzip.h"
#include "import/plain.h"

/* Whole records only, so that those of the next part begin behind one. */
static int join_records(struct sonde_import_plain *plain,
			struct sonde_import_perf *part)
{
	struct sonde_import_bytes records = part->records;
	struct sonde_import_perf_piece piece;
	size_t whole = 0;
	int more;

	while ((more = sonde_import_perf_next(&records, &piece)) > 0)
		whole = part->records.left - records.left;
	part->unread += more < 0;
	return sonde_import_plain_add(plain, part->records.at, whole);
}

static int join_part(struct sonde_import_plain *plain,
		     const struct sonde_import_bytes *bytes, uint64_t *unread,
		     struct sonde_import_error *error)
{
	struct sonde_import_perf part = { .records = *bytes };
	int rc = sonde_import_perf_unzip(&part, error);

	if (!rc) {
		rc = join_records(plain, &part);
		if (rc)
			(void)sonde_import_fail(
				error, rc,
				rc == -EFBIG ?
					"its files hold more than 8 GiB: perf "
					"record --max-size bounds them" :
					"no memory left");
	}
	*unread += part.unread;
	free(part.plain);
	return rc;
}

int sonde_import_perf_join(struct sonde_import_perf *perf,
			   const struct sonde_import_bytes *parts, size_t nr,
			   struct sonde_import_error *error)
{
	struct sonde_import_plain plain = { .at = NULL };
	int rc = join_part(&plain, &perf->records, &perf->unread, error);

	for (size_t i = 0; !rc && i < nr; i++)
		rc = join_part(&plain, &parts[i], &perf->unread, error);
	if (rc) {
		free(plain.at);
		return rc;
	}
	perf->plain = plain.at;
	perf->records = (struct sonde_import_bytes){ .at = plain.at,
						     .left = plain.used };
	return 0;
}
