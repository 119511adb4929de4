/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mapped_files.c - which mappings are worth an event (mapped_files.h).
 *
 * A process's mappings are kept until all are there, and its executable ones
 * are sorted by file: a mapping is told if its file is among those. What is
 * beyond the bound is counted.
 */
#include "source/statedump/mapped_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/statedump/events.h"
#include "sys/proc.h"

int sonde_mapped_init(struct sonde_mapped *mapped, uint64_t deadline)
{
	int rc;

	*mapped = (struct sonde_mapped){ 0 };
	sonde_pool_init(&mapped->paths, 0);
	mapped->all =
		calloc(SONDE_STATEDUMP_MAPPINGS_MAX, sizeof(*mapped->all));
	mapped->code =
		calloc(SONDE_STATEDUMP_MAPPINGS_MAX, sizeof(*mapped->code));
	rc = sonde_build_ids_init(&mapped->build_ids, deadline);
	return mapped->all && mapped->code ? rc : -ENOMEM;
}

void sonde_mapped_fini(struct sonde_mapped *mapped)
{
	free(mapped->all);
	free(mapped->code);
	sonde_pool_fini(&mapped->paths);
	sonde_build_ids_fini(&mapped->build_ids);
	*mapped = (struct sonde_mapped){ 0 };
}

static int by_file(const void *left, const void *right)
{
	const struct sonde_statedump_mapping *a = left;
	const struct sonde_statedump_mapping *b = right;

	if (a->dev != b->dev)
		return a->dev > b->dev ? 1 : -1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

void sonde_mapped_flush(struct sonde_mapped *mapped, struct sonde_out *out)
{
	if (mapped->nr_code)
		qsort(mapped->code, mapped->nr_code, sizeof(*mapped->code),
		      by_file);
	for (size_t i = 0; mapped->nr_code && i < mapped->nr; i++) {
		const struct sonde_statedump_mapping *mapping = &mapped->all[i];
		const char *build_id;

		if (!bsearch(mapping, mapped->code, mapped->nr_code,
			     sizeof(*mapped->code), by_file) ||
		    (mapped->is_known &&
		     mapped->is_known(mapped->ctx, mapping)))
			continue;
		build_id = sonde_build_ids_get(&mapped->build_ids, mapping);
		if (!build_id)
			mapped->omitted++;
		sonde_statedump_emit_mapping(out, mapping,
					     build_id ? build_id : "");
	}
	mapped->nr = 0;
	mapped->nr_code = 0;
	sonde_pool_fini(&mapped->paths);
}

int sonde_mapped_add(struct sonde_mapped *mapped, struct sonde_out *out,
		     const struct sonde_statedump_mapping *mapping)
{
	const struct sonde_statedump_mapping *last;
	struct sonde_statedump_mapping own = *mapping;

	if (mapped->nr && mapped->all[0].pid != mapping->pid)
		sonde_mapped_flush(mapped, out);
	/* Files that have no path are not programs. */
	if (mapping->path[0] != '/')
		return 0;
	if (mapped->nr == SONDE_STATEDUMP_MAPPINGS_MAX) {
		mapped->omitted++;
		return 0;
	}
	last = mapped->nr ? &mapped->all[mapped->nr - 1] : NULL;
	own.path = last && !strcmp(last->path, own.path) ?
			   last->path :
			   sonde_pool_text(&mapped->paths, own.path,
					   strlen(own.path));
	if (!own.path)
		return -ENOMEM;
	mapped->all[mapped->nr++] = own;
	if (own.flags & SONDE_MAPPED_EXEC)
		mapped->code[mapped->nr_code++] = own;
	return 0;
}
