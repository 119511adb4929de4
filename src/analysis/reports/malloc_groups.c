/* SPDX-License-Identifier: MIT */
/*
 * malloc_groups.c - call sites of allocations added up by function, line or
 * module.
 *
 * A site is in one group: that of its name, or, without one, that of its
 * address. Each site is looked up once.
 */
#include "analysis/reports/malloc_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/ranking.h"
#include "base/port.h"

#define GROUPS_MAX ((size_t)1 << 20)

struct group {
	struct sonde_key key;
	uint64_t peak_bytes, live_bytes, live_blocks, calls, bytes;
};

enum by {
	BY_FUNCTION,
	BY_LINE,
	BY_MODULE,
};

static const struct {
	const char *name, *column, *title, *leaks;
} kinds[] = {
	[BY_FUNCTION] = { "function", "FUNCTION", "Who held it, by function",
			  "Not freed, by function" },
	[BY_LINE] = { "line", "LINE", "Who held it, by line",
		      "Not freed, by line" },
	[BY_MODULE] = { "module", "MODULE", "Who held it, by module",
			"Not freed, by module" },
};

/* What has no such name is a group of its own for each address. */
static void label(const struct sonde_name *name, enum by by, char *to,
		  size_t size)
{
	const char *text = name->text;

	switch (by) {
	case BY_FUNCTION:
		if (*name->function)
			text = name->function;
		break;
	case BY_LINE:
		if (*name->file) {
			(void)snprintf(to, size, "%s:%" PRIu32, name->file,
				       name->line);
			return;
		}
		break;
	case BY_MODULE:
		if (*name->module)
			text = name->module;
		break;
	}
	(void)snprintf(to, size, "%s", text);
}

static int groups_add_site(struct sonde_hash *groups,
			   const struct sonde_heap *heap,
			   const struct sonde_heap_site *site, const char *text)
{
	const struct sonde_key key = sonde_key_of_text(text, strlen(text));
	struct group *group = sonde_hash_put(groups, &key);

	if (!group)
		return sonde_hash_error(groups);
	group->peak_bytes += sonde_heap_site_peak(heap, site);
	group->live_bytes += site->live_bytes;
	group->live_blocks += site->live_blocks;
	group->calls += site->calls.calls;
	group->bytes += site->calls.bytes;
	return 0;
}

static int groups_add_sites(const struct sonde_analysis_args *args, enum by by,
			    const struct sonde_heap *heap,
			    struct sonde_hash *groups)
{
	int err = 0;

	for (size_t i = 0; !err && i < heap->nr_sites; i++) {
		const struct sonde_name *name =
			sonde_analysis_site_name(args, &heap->sites[i].at);
		char text[4400]; /* a path and a line */

		if (!name)
			return -ENOMEM;
		label(name, by, text, sizeof(text));
		err = groups_add_site(groups, heap, &heap->sites[i], text);
	}
	return err;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct group *x = a;
	const struct group *y = b;

	(void)ctx;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int compare_leaks(const void *a, const void *b, void *ctx)
{
	const struct group *x = a;
	const struct group *y = b;

	(void)ctx;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return (x->live_blocks < y->live_blocks) -
	       (x->live_blocks > y->live_blocks);
}

/* Of all groups, for their shares and rates. */
struct sum {
	uint64_t peak_bytes;
	double seconds;
};

static void add_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct group *group = entry;
	const struct sum *sum = ctx;

	sonde_table_row(table);
	sonde_table_textn(table, 0, group->key.text, group->key.space);
	sonde_table_int(table, 1, (int64_t)group->peak_bytes);
	sonde_table_double(table, 2,
			   sum->peak_bytes ? (double)group->peak_bytes /
						     (double)sum->peak_bytes :
					     0.0);
	sonde_table_int(table, 3, (int64_t)group->live_bytes);
	sonde_table_uint(table, 4, group->live_blocks);
	sonde_table_uint(table, 5, group->calls);
	sonde_table_double(table, 6, (double)group->calls / sum->seconds);
	sonde_table_int(table, 7, (int64_t)group->bytes);
}

static int groups_rank(const struct sonde_ranking *ranking, enum by by,
		       const char *key, const char *title,
		       struct sonde_report *report)
{
	const struct sonde_column columns[] = {
		{ kinds[by].name, kinds[by].column, SONDE_CELL_TEXT },
		{ "peak", "AT THE PEAK", SONDE_CELL_BYTES },
		{ "peak_share", "SHARE", SONDE_CELL_PERCENT },
		{ "left", "NOT FREED", SONDE_CELL_BYTES },
		{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },
		{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT },
		{ "rate", "RATE", SONDE_CELL_RATE },
		{ "allocated", "BYTES IN ALL", SONDE_CELL_BYTES },
	};

	return sonde_ranking_add(ranking,
				 sonde_report_table(report, key, title, columns,
						    SONDE_ARRAY_SIZE(columns)));
}

/* What was held at the peak, and what was never freed. */
static int groups_add_tables(const struct sonde_ranking *form, enum by by,
			     struct sonde_report *report)
{
	struct sonde_ranking ranking = *form;
	const struct group *group = NULL;
	int err;

	err = groups_rank(&ranking, by, "groups", kinds[by].title, report);
	while ((group = sonde_hash_next(form->hash, group)))
		ranking.candidates += group->live_blocks != 0;
	if (err || !ranking.candidates)
		return err;
	ranking.compare = compare_leaks;
	return groups_rank(&ranking, by, "leak_groups", kinds[by].leaks,
			   report);
}

int sonde_malloc_groups(struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report)
{
	struct sonde_hash groups;
	struct sum sum = { heap->peak_bytes, sonde_analysis_seconds(args) };
	const struct sonde_ranking ranking = {
		.hash = &groups,
		.compare = compare,
		.add = add_row,
		.ctx = &sum,
		.rows = rows,
	};
	size_t by = 0;
	int err;

	while (by < SONDE_ARRAY_SIZE(kinds) &&
	       strcmp(args->by, kinds[by].name) != 0)
		by++;
	if (by == SONDE_ARRAY_SIZE(kinds))
		return sonde_analysis_fail(
			args, -EINVAL,
			"--by %.100s: call sites are added "
			"up by function, line, module or stack",
			args->by);
	if (!sonde_names_has_mappings(args->names))
		return sonde_analysis_fail(
			args, -EINVAL, "--by %s: %s", kinds[by].name,
			args->names ? "the trace doesn't say which files were "
				      "mapped" :
				      "that takes names, and --no-names wants "
				      "none");
	sonde_hash_init(&groups, sizeof(struct group), GROUPS_MAX);
	err = groups_add_sites(args, (enum by)by, heap, &groups);
	if (!err)
		err = groups_add_tables(&ranking, (enum by)by, report);
	sonde_hash_fini(&groups);
	return err;
}
