/* SPDX-License-Identifier: MIT */
/*
 * sentry_spans.h - from an event to another one with the same number in both: how
 * long that took.
 *
 * An event that ends a span ends what the last one that begins it with the same number
 * (in the same wish) began; a second begin replaces the first. Rings are read one after
 * the other, so events come in any order: they are noted, and paired in the order of
 * their times once all that is earlier has been read. What is too much is counted.
 * One thread.
 */
#ifndef SESSION_SENTRY_SPANS_H
#define SESSION_SENTRY_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct sonde_desc;

/* An event that begins or ends a span. */
struct sonde_sentry_edge {
	uint64_t time, key;
	const struct sonde_desc *desc; /* borrowed */
	uint32_t wish, tid, cpu;
	bool is_end;
	uint64_t number; /* of several with one time, which was noted first */
};

/* Zeros: none. */
struct sonde_sentry_spans {
	struct sonde_hash open;
	bool has_open;
	struct sonde_sentry_edge *edges; /* noted, not yet paired */
	size_t nr, capacity;
	uint64_t nr_noted, nr_missed;
};

void sonde_sentry_spans_note(struct sonde_sentry_spans *spans,
			     const struct sonde_sentry_edge *edge);

/* Pairs those before `until`; calls `ended` for each end, with the span's length. */
void sonde_sentry_spans_settle(
	struct sonde_sentry_spans *spans, uint64_t until,
	void (*ended)(void *ctx, const struct sonde_sentry_edge *end,
		      uint64_t length),
	void *ctx);

void sonde_sentry_spans_fini(struct sonde_sentry_spans *spans);

#endif /* SESSION_SENTRY_SPANS_H */
