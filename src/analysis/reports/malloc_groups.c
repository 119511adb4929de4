/* SPDX-License-Identifier: MIT */
/*
 * malloc_groups.c - allocations by call site, or those of call sites that have a
 * function, a line or a module in common, as two tables: what was held at the
 * peak, and what was never freed.
 *
 * A site is in one group: that of its address, or that of its name, or, without
 * one, that of its address as text. Each site is looked up once.
 */
#include "analysis/reports/malloc_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/malloc_sums.h"
#include "analysis/reports/ranking.h"
#include "base/port.h"

#define GROUPS_MAX ((size_t)1 << 20)

struct group {
	struct sonde_key key;
	const struct sonde_heap_site *site; /* one of them */
	uint64_t sums[SONDE_ANALYSIS_TREE_SUMS];
};

enum by {
	BY_SITE,
	BY_FUNCTION,
	BY_LINE,
	BY_MODULE,
	NR_BY,
};

static const struct kind {
	const char *name, *column, *title, *leaks;
} kinds[NR_BY] = {
	[BY_SITE] = { "caller", "CALLED FROM", "Who held it, by call site",
		      "Not freed, by call site" },
	[BY_FUNCTION] = { "function", "FUNCTION", "Who held it, by function",
			  "Not freed, by function" },
	[BY_LINE] = { "line", "LINE", "Who held it, by line",
		      "Not freed, by line" },
	[BY_MODULE] = { "module", "MODULE", "Who held it, by module",
			"Not freed, by module" },
};

/* What tables are made of. */
struct grouping {
	const struct sonde_analysis_args *args;
	const struct sonde_heap *heap;
	enum by by;
	struct sonde_malloc_whole whole;
	struct sonde_hash groups;
};

/* What has no such name is a group of its own for each address. */
static void label(const struct sonde_name *name, enum by by, char *to,
		  size_t size)
{
	const char *text = name->text;

	switch (by) {
	case BY_SITE:
	case NR_BY:
		break;
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

static int groups_add_site(struct grouping *of, const struct sonde_key *key,
			   const struct sonde_heap_site *site)
{
	struct group *group = sonde_hash_put(&of->groups, key);

	if (!group)
		return sonde_hash_error(&of->groups);
	group->site = site;
	sonde_malloc_sums_add(group->sums, of->heap, site);
	return 0;
}

static int groups_add_named(struct grouping *of,
			    const struct sonde_heap_site *site)
{
	const struct sonde_name *name =
		sonde_analysis_site_name(of->args, &site->at);
	struct sonde_key key;
	char text[4400]; /* a path and a line */

	if (!name)
		return -ENOMEM;
	label(name, of->by, text, sizeof(text));
	key = sonde_key_of_text(text, strlen(text));
	return groups_add_site(of, &key, site);
}

static int groups_add_sites(struct grouping *of)
{
	const struct sonde_heap_caller *caller = NULL;
	int err = 0;

	while (!err && (caller = sonde_hash_next(&of->heap->callers, caller))) {
		const struct sonde_heap_site *site =
			&of->heap->sites[caller->site];

		err = of->by == BY_SITE ?
			      groups_add_site(of, &caller->key, site) :
			      groups_add_named(of, site);
	}
	return err;
}

/* By one sum, and where it is the same by another. */
static int groups_compare(const struct group *a, const struct group *b,
			  enum sonde_malloc_sum by, enum sonde_malloc_sum then)
{
	if (a->sums[by] == b->sums[by])
		by = then;
	return (a->sums[by] < b->sums[by]) - (a->sums[by] > b->sums[by]);
}

static int compare_peaks(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return groups_compare(a, b, SONDE_MALLOC_PEAK, SONDE_MALLOC_BYTES);
}

static int compare_leaks(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return groups_compare(a, b, SONDE_MALLOC_LIVE_BYTES,
			      SONDE_MALLOC_LIVE_BLOCKS);
}

static void add_row(struct sonde_table *table, const void *entry, void *ctx)
{
	const struct group *group = entry;
	const struct grouping *of = ctx;

	sonde_table_row(table);
	sonde_malloc_sums_put(table, 1, group->sums, &of->whole);
	if (of->by == BY_SITE) {
		sonde_table_uint(table, 0, group->site->at.caller);
		sonde_table_text(table, 1 + SONDE_MALLOC_NR_COLUMNS,
				 sonde_analysis_site_text(of->args,
							  &group->site->at));
	} else {
		sonde_table_textn(table, 0, group->key.text, group->key.space);
	}
}

/* Only sites have a last column, and only where the code has names. */
static int groups_rank(const struct sonde_ranking *ranking,
		       const struct grouping *of, const char *key,
		       const char *title, struct sonde_report *report)
{
	const bool site = of->by == BY_SITE;
	const struct sonde_column columns[] = {
		{ kinds[of->by].name, kinds[of->by].column,
		  site ? SONDE_CELL_HEX : SONDE_CELL_TEXT },
		SONDE_MALLOC_COLUMNS,
		{ "code", "CODE", SONDE_CELL_TEXT },
	};
	const bool code = site && sonde_names_has_mappings(of->args->names);

	return sonde_ranking_add(
		ranking, sonde_report_table(report, key, title, columns,
					    SONDE_ARRAY_SIZE(columns) - !code));
}

static int groups_add_tables(struct grouping *of, size_t rows,
			     struct sonde_report *report)
{
	const bool site = of->by == BY_SITE;
	struct sonde_ranking ranking = {
		.hash = &of->groups,
		.compare = compare_peaks,
		.add = add_row,
		.ctx = of,
		.rows = rows,
	};
	const struct group *group = NULL;
	int err;

	err = groups_rank(&ranking, of, site ? "sites" : "groups",
			  kinds[of->by].title, report);
	while ((group = sonde_hash_next(ranking.hash, group)))
		ranking.candidates +=
			group->sums[SONDE_MALLOC_LIVE_BLOCKS] != 0;
	if (err || !ranking.candidates)
		return err;
	ranking.compare = compare_leaks;
	return groups_rank(&ranking, of, site ? "leaks" : "leak_groups",
			   kinds[of->by].leaks, report);
}

static int groups_add(const struct sonde_analysis_args *args,
		      const struct sonde_heap *heap, enum by by, size_t rows,
		      struct sonde_report *report)
{
	struct grouping of = {
		.args = args,
		.heap = heap,
		.by = by,
		.whole = { heap->peak_bytes, sonde_analysis_seconds(args) },
	};
	int err;

	sonde_hash_init(&of.groups, sizeof(struct group), GROUPS_MAX);
	err = groups_add_sites(&of);
	if (!err)
		err = groups_add_tables(&of, rows, report);
	sonde_hash_fini(&of.groups);
	return err;
}

int sonde_malloc_sites(const struct sonde_analysis_args *args,
		       const struct sonde_heap *heap, size_t rows,
		       struct sonde_report *report)
{
	return groups_add(args, heap, BY_SITE, rows, report);
}

int sonde_malloc_groups(struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report)
{
	enum by by = BY_FUNCTION;

	while (by < NR_BY && strcmp(args->by, kinds[by].name) != 0)
		by++;
	if (by == NR_BY)
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
	return groups_add(args, heap, by, rows, report);
}
