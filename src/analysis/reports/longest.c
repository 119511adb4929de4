/* SPDX-License-Identifier: MIT */
/*
 * longest.c - the ten longest spans, in order (longest.h).
 *
 * The list is always sorted, longest first. A span that is shorter than the
 * last one costs one comparison.
 */
#include "analysis/reports/longest.h"

#include <stdbool.h>
#include <string.h>

static bool is_worse(const struct sonde_longest_span *a,
		     const struct sonde_longest_span *b)
{
	int64_t a_ns = sonde_elapsed_ns(a->begin_ns, a->end_ns);
	int64_t b_ns = sonde_elapsed_ns(b->begin_ns, b->end_ns);

	if (a_ns != b_ns)
		return a_ns > b_ns;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns;
	if (a->tid != b->tid)
		return a->tid < b->tid;
	return strcmp(a->name, b->name) < 0;
}

static void worst_insert(struct sonde_longest *worst,
			 const struct sonde_longest_span *span)
{
	size_t at = worst->nr;

	if (at == SONDE_LONGEST_MAX) {
		if (!is_worse(span, &worst->spans[at - 1]))
			return;
		at--;
	} else {
		worst->nr++;
	}
	for (; at > 0 && is_worse(span, &worst->spans[at - 1]); at--)
		worst->spans[at] = worst->spans[at - 1];
	worst->spans[at] = *span;
}

void sonde_longest_add(struct sonde_longest *worst,
		       const struct sonde_longest_span *span,
		       const struct sonde_key *key)
{
	struct sonde_longest_span named = *span;
	const struct sonde_longest_span *last =
		&worst->spans[SONDE_LONGEST_MAX - 1];

	/* Nearly all: no time for names. */
	if (worst->nr == SONDE_LONGEST_MAX &&
	    sonde_elapsed_ns(span->begin_ns, span->end_ns) <
		    sonde_elapsed_ns(last->begin_ns, last->end_ns))
		return;
	(void)sonde_key_text(key, named.name, sizeof(named.name));
	worst_insert(worst, &named);
}

void sonde_longest_merge(struct sonde_longest *into,
			 const struct sonde_longest *from)
{
	for (size_t i = 0; i < from->nr; i++)
		worst_insert(into, &from->spans[i]);
}
