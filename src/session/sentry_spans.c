/* SPDX-License-Identifier: MIT */
/*
 * sentry_spans.c - see sentry_spans.h. Numbers and times are a process's, and may be
 * anything: EDGES_MAX are noted between two looks, and OPEN_MAX spans are open, at
 * most.
 */
#include "session/sentry_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define EDGES_MAX 65536u
#define OPEN_MAX  65536u

struct open_span {
	struct sonde_key key; /* the number, in the wish */
	uint64_t begin;
};
_Static_assert(sizeof(struct open_span) % 16 == 0, "base/hash.h");

void sonde_sentry_spans_note(struct sonde_sentry_spans *spans,
			     const struct sonde_sentry_edge *edge)
{
	if (spans->nr == EDGES_MAX ||
	    SONDE_GROW(spans->edges, spans->nr, spans->capacity)) {
		spans->nr_missed++;
		return;
	}
	spans->edges[spans->nr] = *edge;
	spans->edges[spans->nr++].number = spans->nr_noted++;
}

static int by_edge_time(const void *a, const void *b)
{
	const struct sonde_sentry_edge *x = a;
	const struct sonde_sentry_edge *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void sonde_sentry_spans_settle(
	struct sonde_sentry_spans *spans, uint64_t until,
	void (*ended)(void *ctx, const struct sonde_sentry_edge *end,
		      uint64_t length),
	void *ctx)
{
	size_t nr = 0;

	if (!spans->nr)
		return;
	if (!spans->has_open)
		sonde_hash_init(&spans->open, sizeof(struct open_span),
				OPEN_MAX);
	spans->has_open = true;
	qsort(spans->edges, spans->nr, sizeof(*spans->edges), by_edge_time);
	for (; nr < spans->nr && spans->edges[nr].time < until; nr++) {
		const struct sonde_sentry_edge *edge = &spans->edges[nr];
		struct sonde_key key =
			sonde_key_make(SONDE_KEY_UINT, edge->key, edge->wish);
		struct open_span *open =
			edge->is_end ? sonde_hash_get(&spans->open, &key) :
				       sonde_hash_put(&spans->open, &key);

		if (!edge->is_end && open) {
			open->begin = edge->time;
		} else if (open) {
			uint64_t length = edge->time - open->begin;

			sonde_hash_remove(&spans->open, open);
			ended(ctx, edge, length);
		} else {
			/* Of an end, nobody saw it begin. */
			spans->nr_missed += !edge->is_end;
		}
	}
	spans->nr -= nr;
	memmove(spans->edges, spans->edges + nr,
		spans->nr * sizeof(*spans->edges));
}

void sonde_sentry_spans_fini(struct sonde_sentry_spans *spans)
{
	if (spans->has_open)
		sonde_hash_fini(&spans->open);
	free(spans->edges);
	*spans = (struct sonde_sentry_spans){ .nr = 0 };
}
