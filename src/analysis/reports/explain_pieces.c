/* SPDX-License-Identifier: MIT */
/*
 * explain_pieces.c - a span of a thread's time, cut into pieces.
 *
 * What overlaps the span is collected as pieces that may lie upon one another.
 * Their ends cut the span into segments; each segment is given to the piece of
 * the greatest kind that covers it, by painting in the order of kinds. n pieces
 * cost n log n and what they paint.
 */
#include "analysis/reports/explain_pieces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/model/steps.h"
#include "base/grow.h"
#include "base/search.h"

struct cutting {
	const struct sonde_explain *explain;
	const struct sonde_join_span *span;
	struct sonde_explain_piece *pieces;
	size_t nr, capacity;
	int error;
};

/* ---- what overlaps ---- */

static void cutting_add(struct cutting *cutting, enum sonde_explain_kind kind,
			const struct sonde_interval *is, int64_t begin_ns,
			int64_t end_ns)
{
	const struct sonde_join_span *span = cutting->span;
	struct sonde_explain_piece piece = {
		.kind = (uint8_t)kind,
		.begin_ns =
			begin_ns > span->begin_ns ? begin_ns : span->begin_ns,
		.end_ns = end_ns < span->end_ns ? end_ns : span->end_ns,
		.is = is,
	};

	if (piece.begin_ns >= piece.end_ns && kind != SONDE_EXPLAIN_FAULT)
		return;
	if (SONDE_GROW(cutting->pieces, cutting->nr, cutting->capacity))
		cutting->error = -ENOMEM;
	else
		cutting->pieces[cutting->nr++] = piece;
}

/* The first interval that ends behind that time. */
static size_t explain_first(const struct sonde_explain *explain, int64_t ns)
{
	size_t i;

	SONDE_SEARCH(i, explain->nr_intervals,
		     explain->intervals[i].end_ns <= ns);
	return i;
}

/* How a thread came to want the CPU that it got at that time. */
static const struct sonde_interval *
explain_ready_of(const struct sonde_explain *explain, int32_t tid, int64_t ns)
{
	for (size_t i = explain_first(explain, ns - 1);
	     i < explain->nr_intervals && explain->intervals[i].end_ns == ns;
	     i++)
		if (explain->intervals[i].kind == SONDE_INTERVAL_READY &&
		    explain->intervals[i].tid == tid)
			return &explain->intervals[i];
	return NULL;
}

/* Who ran on the CPU while the thread wanted it. */
static void cutting_runners(struct cutting *cutting,
			    const struct sonde_interval *ready)
{
	const struct sonde_explain *explain = cutting->explain;
	size_t before = cutting->nr;

	for (size_t i = explain_first(explain, ready->begin_ns);
	     i < explain->nr_intervals; i++) {
		const struct sonde_interval *run = &explain->intervals[i];

		if (run->end_ns > ready->end_ns)
			break;
		if (run->kind == SONDE_INTERVAL_RUN && run->tid &&
		    run->tid != ready->tid && run->cpu == ready->cpu &&
		    run->begin_ns < ready->end_ns)
			cutting_add(cutting, SONDE_EXPLAIN_THREAD, run,
				    run->begin_ns > ready->begin_ns ?
					    run->begin_ns :
					    ready->begin_ns,
				    run->end_ns);
	}
	for (; before < cutting->nr; before++)
		cutting->pieces[before].ready =
			explain_ready_of(explain,
					 cutting->pieces[before].is->tid,
					 cutting->pieces[before].is->begin_ns);
}

/* Returns whether it is the thread's state at the span's end: the last that
 * matters. */
static bool cutting_take(struct cutting *cutting,
			 const struct sonde_interval *interval)
{
	enum sonde_explain_kind kind = SONDE_EXPLAIN_UNTOLD;
	bool is_state = true;

	if (interval->kind == SONDE_INTERVAL_RUN) {
		kind = SONDE_EXPLAIN_ITSELF;
	} else if (interval->kind == SONDE_INTERVAL_BLOCKED) {
		kind = interval->blocked.cause.kind == SONDE_CAUSE_UNKNOWN ?
			       SONDE_EXPLAIN_ASLEEP :
			       SONDE_EXPLAIN_BLOCKED;
	} else if (interval->kind == SONDE_INTERVAL_READY) {
		kind = SONDE_EXPLAIN_WAITED;
		cutting_runners(cutting, interval);
	} else {
		is_state = false;
		if (interval->kind == SONDE_INTERVAL_IRQ)
			kind = SONDE_EXPLAIN_IRQ;
		else if (interval->kind == SONDE_INTERVAL_SOFTIRQ)
			kind = SONDE_EXPLAIN_SOFTIRQ;
		else if (interval->kind == SONDE_INTERVAL_TIMER)
			kind = SONDE_EXPLAIN_TIMER;
		else if (interval->kind == SONDE_INTERVAL_FAULT &&
			 interval->begin_ns <= cutting->span->end_ns)
			kind = SONDE_EXPLAIN_FAULT;
	}
	if (kind != SONDE_EXPLAIN_UNTOLD)
		cutting_add(cutting, kind, interval, interval->begin_ns,
			    interval->end_ns);
	return is_state && interval->end_ns >= cutting->span->end_ns;
}

static void cutting_collect(struct cutting *cutting)
{
	const struct sonde_explain *explain = cutting->explain;

	cutting_add(cutting, SONDE_EXPLAIN_UNTOLD, NULL,
		    cutting->span->begin_ns, cutting->span->end_ns);
	for (size_t i = explain_first(explain, cutting->span->begin_ns);
	     i < explain->nr_intervals; i++)
		if (explain->intervals[i].tid == cutting->span->tid &&
		    cutting_take(cutting, &explain->intervals[i]))
			return;
}

/* ---- into segments ---- */

static int cutting_compare_kinds(const void *a, const void *b)
{
	const struct sonde_explain_piece *left = a;
	const struct sonde_explain_piece *right = b;

	if (left->kind != right->kind)
		return (left->kind > right->kind) - (left->kind < right->kind);
	return (left->begin_ns > right->begin_ns) -
	       (left->begin_ns < right->begin_ns);
}

static int cutting_compare_times(const void *a, const void *b)
{
	const int64_t *left = a;
	const int64_t *right = b;

	return (*left > *right) - (*left < *right);
}

/* owners[i] has the time from ends[i] to ends[i + 1]. */
static void cutting_paint(const struct cutting *cutting, const int64_t *ends,
			  const struct sonde_explain_piece **owners)
{
	size_t nr_ends = 2 * cutting->nr;

	for (size_t i = 0; i < cutting->nr; i++) {
		const struct sonde_explain_piece *piece = &cutting->pieces[i];

		size_t k;

		SONDE_SEARCH(k, nr_ends, ends[k] < piece->begin_ns);
		for (; k < nr_ends && ends[k] < piece->end_ns; k++)
			owners[k] = piece;
	}
}

/* What the segments are, one after the other; those of one piece that touch are
 * one. */
static void cutting_give(const struct cutting *cutting, const int64_t *ends,
			 const struct sonde_explain_piece *const *owners,
			 void (*give)(void *ctx,
				      const struct sonde_explain_piece *piece),
			 void *ctx)
{
	for (size_t i = 0; i + 1 < 2 * cutting->nr; i++) {
		struct sonde_explain_piece piece;

		if (!owners[i] || ends[i] == ends[i + 1])
			continue;
		piece = *owners[i];
		piece.begin_ns = ends[i];
		piece.end_ns = ends[i + 1];
		give(ctx, &piece);
	}
	for (size_t i = 0; i < cutting->nr; i++)
		if (cutting->pieces[i].kind == SONDE_EXPLAIN_FAULT)
			give(ctx, &cutting->pieces[i]);
}

int sonde_explain_pieces(const struct sonde_explain *explain,
			 const struct sonde_join_span *span,
			 void (*give)(void *ctx,
				      const struct sonde_explain_piece *piece),
			 void *ctx)
{
	struct cutting cutting = { .explain = explain, .span = span };
	const struct sonde_explain_piece **owners = NULL;
	int64_t *ends = NULL;

	cutting_collect(&cutting);
	if (!cutting.error && cutting.nr) {
		owners = calloc(2 * cutting.nr, sizeof(const void *));
		ends = calloc(2 * cutting.nr, sizeof(*ends));
		if (!owners || !ends)
			cutting.error = -ENOMEM;
	}
	if (!cutting.error && cutting.nr) {
		qsort(cutting.pieces, cutting.nr, sizeof(*cutting.pieces),
		      cutting_compare_kinds);
		for (size_t i = 0; i < cutting.nr; i++) {
			ends[2 * i] = cutting.pieces[i].begin_ns;
			ends[2 * i + 1] = cutting.pieces[i].end_ns;
		}
		qsort(ends, 2 * cutting.nr, sizeof(*ends),
		      cutting_compare_times);
		cutting_paint(&cutting, ends, owners);
		cutting_give(&cutting, ends, owners, give, ctx);
	}
	free(owners);
	free(ends);
	free(cutting.pieces);
	return cutting.error;
}

/* ---- in words ---- */

static void explain_thread_words(const struct sonde_explain *explain,
				 const struct sonde_explain_piece *piece,
				 char *to, size_t size)
{
	const struct sonde_interval *ready = piece->ready;
	char thread[80];
	char by[96] = "";
	struct sonde_waker waker;

	(void)sonde_cause_thread(&explain->causes, piece->is->tid, thread,
				 sizeof(thread));
	if (ready && ready->ready.woken) {
		waker = (struct sonde_waker){
			.kind = ready->ready.waker_kind,
			.tid = ready->ready.waker,
		};
		(void)sonde_waker_text(&explain->causes, &waker, by,
				       sizeof(by));
	}
	(void)snprintf(to, size, "%s%s had the CPU%s%s",
		       sonde_model_traced_threads_is_recorder(
			       &explain->tables->scope, piece->is->tid) ?
			       "our recorder " :
			       "",
		       thread, *by && *by != '-' ? ", woken by " : "",
		       *by == '-' ? "" : by);
}

static void explain_handler_words(const struct sonde_explain *explain,
				  const struct sonde_explain_piece *piece,
				  char *to, size_t size)
{
	const struct sonde_waker waker = {
		.kind = piece->kind == SONDE_EXPLAIN_IRQ ? SONDE_WAKER_IRQ :
							   SONDE_WAKER_SOFTIRQ,
		.number = piece->is->irq.number,
	};

	(void)sonde_waker_text(&explain->causes, &waker, to, size);
}

static void explain_blocked_words(const struct sonde_explain *explain,
				  const struct sonde_explain_piece *piece,
				  char *to, size_t size)
{
	char text[SONDE_CAUSE_TEXT];

	(void)snprintf(to, size, "waited: %.200s",
		       sonde_cause_text(&explain->causes,
					&piece->is->blocked.cause, text,
					sizeof(text)));
}

void sonde_explain_piece_text(const struct sonde_explain *explain,
			      const struct sonde_explain_piece *piece, char *to,
			      size_t size)
{
	switch ((enum sonde_explain_kind)piece->kind) {
	case SONDE_EXPLAIN_UNTOLD:
		(void)snprintf(to, size, "the trace doesn't tell");
		break;
	case SONDE_EXPLAIN_ASLEEP:
		(void)snprintf(to, size,
			       "waited: the trace doesn't tell for what");
		break;
	case SONDE_EXPLAIN_ITSELF:
		(void)snprintf(to, size, "itself: it had the CPU");
		break;
	case SONDE_EXPLAIN_BLOCKED:
		explain_blocked_words(explain, piece, to, size);
		break;
	case SONDE_EXPLAIN_WAITED:
		(void)snprintf(to, size,
			       piece->is->ready.moved ?
				       "wanted a CPU, and was moved to "
				       "CPU %" PRId32 :
				       "wanted CPU %" PRId32
				       ", where no thread was seen to run",
			       piece->is->cpu);
		break;
	case SONDE_EXPLAIN_THREAD:
		explain_thread_words(explain, piece, to, size);
		break;
	case SONDE_EXPLAIN_SOFTIRQ:
	case SONDE_EXPLAIN_IRQ:
		explain_handler_words(explain, piece, to, size);
		break;
	case SONDE_EXPLAIN_TIMER:
		(void)snprintf(to, size, "timer of the kernel's");
		break;
	case SONDE_EXPLAIN_FAULT:
		(void)snprintf(to, size, "page fault");
		break;
	}
}
