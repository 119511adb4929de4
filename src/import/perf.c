/* SPDX-License-Identifier: MIT */
/*
 * perf.c - a perf.data into a trace.
 *
 * perf writes what it reads of its rings, one after the other, so records of
 * different CPUs are not in the order of time. They are read twice: first each
 * record's time and place is noted, and what a pipe tells of itself is learned;
 * these are sorted, and then the records are taken in that order. Memory: 16
 * bytes for each record, and as much once more while they are sorted.
 */
#include "import/perf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "import/perf_join.h"
#include "import/perf_put.h"
#include "import/perf_unzip.h"

#define PROGRESS_EACH 65536u /* records */

struct perf_entry {
	uint64_t ns;
	uint64_t offset; /* in the records */
};

struct perf_import {
	const struct sonde_import_config *config;
	struct sonde_import_perf perf;
	struct perf_entry *entries;
	size_t nr, room;
	bool has_times;
	uint64_t first_ns;
};

static int perf_progress(const struct perf_import *import, uint64_t nr,
			 uint64_t done, uint64_t all)
{
	if (nr % PROGRESS_EACH || !import->config->progress)
		return 0;
	return import->config->progress(done, all);
}

static int perf_note(struct perf_import *import, uint64_t offset,
		     const struct sonde_import_perf_record *record)
{
	bool is_first = record->ns &&
			(!import->has_times || record->ns < import->first_ns);

	if (SONDE_GROW(import->entries, import->nr, import->room))
		return -ENOMEM;
	import->entries[import->nr++] =
		(struct perf_entry){ record->ns, offset };
	import->has_times |= record->ns != 0;
	if (is_first)
		import->first_ns = record->ns;
	return 0;
}

/* One of the kernel's is noted, others are learned from. */
static int perf_look_at(struct perf_import *import,
			const struct sonde_import_perf_piece *piece,
			uint64_t offset, struct sonde_import_error *error)
{
	struct sonde_import_perf *perf = &import->perf;
	struct sonde_import_perf_record record;

	/* Within what was compressed, which perf doesn't write. */
	if (sonde_import_perf_is_zipped(piece->type)) {
		perf->unread++;
		return 0;
	}
	if (piece->type >= SONDE_PERF_HEADER_ATTR)
		return perf->is_pipe ?
			       sonde_import_perf_learn(perf, piece, error) :
			       0;
	if (!sonde_import_perf_read(perf, piece, &record)) {
		perf->unread++;
		return 0;
	}
	return perf_note(import, offset, &record);
}

static int perf_look(struct perf_import *import,
		     struct sonde_import_error *error)
{
	const struct sonde_import_bytes all = import->perf.records;
	struct sonde_import_bytes records = all;
	struct sonde_import_perf_piece piece;
	uint64_t nr = 0;
	int rc = 0;

	error->text[0] = '\0';
	while (!rc) {
		uint64_t offset = (uint64_t)(records.at - all.at);
		int more = sonde_import_perf_next(&records, &piece);

		if (more <= 0) {
			import->perf.unread += more < 0;
			break;
		}
		rc = perf_look_at(import, &piece, offset, error);
		if (!rc)
			rc = perf_progress(import, nr++, offset / 2, all.left);
	}
	if (rc && !error->text[0])
		return sonde_import_fail(error, rc, "%s", strerrordesc_np(-rc));
	return rc;
}

static int perf_compare(const void *a, const void *b)
{
	const struct perf_entry *x = a;
	const struct perf_entry *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int perf_take(struct perf_import *import,
		     struct sonde_import_perf_put *put)
{
	const struct sonde_import_bytes *all = &import->perf.records;
	int rc = 0;

	sonde_import_perf_put_begin(put, import->first_ns);
	for (size_t i = 0; !rc && i < import->nr; i++) {
		struct sonde_import_bytes bytes = *all;
		struct sonde_import_perf_piece piece;
		struct sonde_import_perf_record record;

		(void)sonde_import_bytes_take(&bytes,
					      import->entries[i].offset);
		/* It was a record, if nobody has changed it since. */
		if (sonde_import_perf_next(&bytes, &piece) <= 0 ||
		    !sonde_import_perf_read(&import->perf, &piece, &record))
			import->perf.unread++;
		else
			rc = sonde_import_perf_put_record(put, &piece, &record);
		if (!rc)
			rc = perf_progress(import, i,
					   all->left / 2 + all->left / 2 * i /
								   import->nr,
					   all->left);
	}
	return rc;
}

static int perf_write(struct perf_import *import,
		      struct sonde_import_report *report,
		      struct sonde_import_error *error)
{
	struct sonde_import_perf_put *put;
	int finished;
	int rc;

	if (import->nr && !import->has_times)
		return sonde_import_fail(error, -EINVAL,
					 "its records have no times: perf "
					 "record -T records them");
	qsort(import->entries, import->nr, sizeof(*import->entries),
	      perf_compare);
	rc = sonde_import_perf_put_new(&import->perf, import->config, &put,
				       error);
	if (rc)
		return rc;
	rc = perf_take(import, put);
	finished = sonde_import_perf_put_finish(put, report);
	if (!rc)
		rc = finished;
	return rc ? sonde_import_fail(error, rc, "writing the trace: %s",
				      strerrordesc_np(-rc)) :
		    0;
}

int sonde_import_perf(const struct sonde_import_bytes *file,
		      const struct sonde_import_bytes *parts, size_t nr,
		      const struct sonde_import_config *config,
		      struct sonde_import_report *report,
		      struct sonde_import_error *error)
{
	struct perf_import import = { .config = config };
	int rc = sonde_import_perf_open(file, &import.perf, error);

	if (!rc)
		rc = nr ? sonde_import_perf_join(&import.perf, parts, nr,
						 error) :
			  sonde_import_perf_unzip(&import.perf, error);
	if (!rc)
		rc = perf_look(&import, error);
	if (!rc)
		rc = perf_write(&import, report, error);
	report->unread += import.perf.unread;
	sonde_import_perf_close(&import.perf);
	free(import.entries);
	return rc;
}
