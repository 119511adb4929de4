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

static void longest_insert(struct sonde_longest *longest,
			   const struct sonde_longest_span *span)
{
	size_t at = longest->nr;

	if (at == SONDE_LONGEST_MAX) {
		if (!is_worse(span, &longest->spans[at - 1]))
			return;
		at--;
	} else {
		longest->nr++;
	}
	for (; at > 0 && is_worse(span, &longest->spans[at - 1]); at--)
		longest->spans[at] = longest->spans[at - 1];
	longest->spans[at] = *span;
}

void sonde_longest_add(struct sonde_longest *longest,
		       const struct sonde_longest_span *span,
		       const struct sonde_key *key)
{
	struct sonde_longest_span named = *span;
	const struct sonde_longest_span *last =
		&longest->spans[SONDE_LONGEST_MAX - 1];

	/* Nearly all: no time for names. */
	if (longest->nr == SONDE_LONGEST_MAX &&
	    sonde_elapsed_ns(span->begin_ns, span->end_ns) <
		    sonde_elapsed_ns(last->begin_ns, last->end_ns))
		return;
	(void)sonde_key_text(key, named.name, sizeof(named.name));
	longest_insert(longest, &named);
}

void sonde_longest_merge(struct sonde_longest *into,
			 const struct sonde_longest *from)
{
	for (size_t i = 0; i < from->nr; i++)
		longest_insert(into, &from->spans[i]);
}
