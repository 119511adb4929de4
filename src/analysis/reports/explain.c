/* SPDX-License-Identifier: MIT */
/*
 * explain.c - what kept threads from going on (explain.h): what the kernel's
 * state emits in the spans, written down as it comes, in the order of its ends.
 *
 * A span's thread makes the event that ends it, or another one does: so what
 * concerns the thread in the span has ended by then, but for the state that it
 * is in. Looking for it stops there.
 */
#include "analysis/reports/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/replay.h"
#include "analysis/reports/explain_pieces.h"
#include "base/grow.h"
#include "base/search.h"

/* ---- reading ---- */

static bool explain_wants(const struct sonde_explain *explain,
			  const struct sonde_interval *interval)
{
	size_t i;

	if (interval->tid == -1)
		return false;
	SONDE_SEARCH(i, explain->nr_windows,
		     explain->windows[i].end_ns < interval->begin_ns);
	return i < explain->nr_windows &&
	       explain->windows[i].begin_ns <= interval->end_ns;
}

static void explain_take(void *ctx, const struct sonde_interval *interval)
{
	struct sonde_explain *explain = ctx;

	if (interval->kind == SONDE_INTERVAL_SYSCALL ||
	    interval->kind == SONDE_INTERVAL_RAISE ||
	    interval->kind == SONDE_INTERVAL_FILE ||
	    interval->kind == SONDE_INTERVAL_FORK ||
	    !explain_wants(explain, interval))
		return;
	if (explain->nr_intervals == SONDE_EXPLAIN_MAX ||
	    SONDE_GROW(explain->intervals, explain->nr_intervals,
		       explain->capacity)) {
		explain->left_out++;
		return;
	}
	explain->intervals[explain->nr_intervals++] = *interval;
}

/* Who a stand-in is, is asked at the end. */
static void explain_rename(void *ctx, int32_t from, int32_t to)
{
	(void)ctx;
	(void)from;
	(void)to;
}

static int explain_compare_spans(const void *a, const void *b)
{
	const struct sonde_join_span *left = a;
	const struct sonde_join_span *right = b;

	return (left->begin_ns > right->begin_ns) -
	       (left->begin_ns < right->begin_ns);
}

static int explain_compare_ends(const void *a, const void *b)
{
	const struct sonde_interval *left = a;
	const struct sonde_interval *right = b;

	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? 1 : -1;
	return (left->begin_ns > right->begin_ns) -
	       (left->begin_ns < right->begin_ns);
}

/* Those that touch become one; at least one is left. */
static int explain_windows(struct sonde_explain *explain,
			   const struct sonde_join_span *spans, size_t nr)
{
	struct sonde_join_span *windows = calloc(nr, sizeof(*windows));
	size_t last = 0;

	if (!windows)
		return -ENOMEM;
	memcpy(windows, spans, nr * sizeof(*windows));
	qsort(windows, nr, sizeof(*windows), explain_compare_spans);
	for (size_t i = 1; i < nr; i++) {
		if (windows[i].begin_ns > windows[last].end_ns)
			windows[++last] = windows[i];
		else if (windows[i].end_ns > windows[last].end_ns)
			windows[last].end_ns = windows[i].end_ns;
	}
	explain->windows = windows;
	explain->nr_windows = last + 1;
	return 0;
}

static int explain_replay(struct sonde_analysis_args *args,
			  struct sonde_map_options *options,
			  struct sonde_explain *explain)
{
	static const struct sonde_model_sink_ops ops = {
		.interval = explain_take,
		.rename = explain_rename,
	};
	int64_t end_ns = explain->windows[explain->nr_windows - 1].end_ns;
	int error;

	/* The filter has chosen the spans; all else is followed anyway, the
	 * recorder's own threads as well: they may be the reason. */
	options->filter = NULL;
	options->shows_own = true;
	if (end_ns < options->to_ns)
		options->to_ns = end_ns;
	error = sonde_model_tables_new(args->trace, SONDE_WANT_PLAYED, options,
				       &explain->tables);
	if (error == -ENODATA)
		return sonde_analysis_fail(
			args, error,
			"the trace has no events of the "
			"scheduler; record with -k sched,irq");
	if (error)
		return error;
	return sonde_model_replay_trace(args->trace, options, explain->tables,
					&ops, explain, &explain->kernel);
}

int sonde_explain_read(struct sonde_analysis_args *args,
		       const struct sonde_join_span *spans, size_t nr,
		       struct sonde_explain *ret_explain)
{
	struct sonde_map_options options = args->map;
	int error;

	*ret_explain = (struct sonde_explain){ 0 };
	sonde_hash_init(&ret_explain->reasons,
			sizeof(struct sonde_explain_reason), 1u << 16);
	error = explain_windows(ret_explain, spans, nr);
	if (!error)
		error = explain_replay(args, &options, ret_explain);
	if (error)
		return error;
	for (size_t i = 0; i < ret_explain->nr_intervals; i++)
		ret_explain->intervals[i].tid = sonde_model_real_tid(
			ret_explain->kernel, ret_explain->intervals[i].tid);
	if (ret_explain->nr_intervals)
		qsort(ret_explain->intervals, ret_explain->nr_intervals,
		      sizeof(*ret_explain->intervals), explain_compare_ends);
	sonde_causes_init(&ret_explain->causes, ret_explain->tables,
			  ret_explain->kernel);
	return 0;
}

void sonde_explain_fini(struct sonde_explain *explain)
{
	sonde_causes_fini(&explain->causes);
	sonde_hash_fini(&explain->reasons);
	free(explain->intervals);
	free(explain->windows);
	sonde_model_free(explain->kernel);
	sonde_model_tables_free(explain->tables);
}

/* ---- a span's reasons ---- */

/* The reason of a piece; counts its span. NULL: no memory. */
static struct sonde_explain_reason *
explain_reason(struct sonde_explain *explain,
	       const struct sonde_explain_piece *piece, uint64_t number)
{
	char text[SONDE_EXPLAIN_TEXT];
	struct sonde_explain_reason *reason;
	struct sonde_key key;

	sonde_explain_piece_text(explain, piece, text, sizeof(text));
	key = sonde_key_of_text(text, strlen(text));
	reason = sonde_hash_put(&explain->reasons, &key);
	if (!reason)
		return NULL;
	if (!reason->nr_spans || reason->last_span != number) {
		reason->nr_spans++;
		reason->last_span = number;
		reason->now_ns = 0;
	}
	reason->kind = piece->kind;
	memcpy(reason->text, text, sizeof(text));
	return reason;
}

struct explain_sum {
	struct sonde_explain *explain;
	const struct sonde_join_span *span;
	uint64_t number;
	int64_t by_kind[SONDE_EXPLAIN_FAULT + 1];
	bool has_fault;
	int error;
};

static void explain_add(void *ctx, const struct sonde_explain_piece *piece)
{
	struct explain_sum *sum = ctx;
	struct sonde_explain_reason *reason =
		explain_reason(sum->explain, piece, sum->number);
	int64_t ns = piece->end_ns - piece->begin_ns;

	if (!reason) {
		sum->error = sonde_hash_error(&sum->explain->reasons);
		return;
	}
	sum->has_fault |= piece->kind == SONDE_EXPLAIN_FAULT;
	sum->by_kind[piece->kind] += ns;
	reason->ns += ns;
	reason->now_ns += ns;
	if (reason->now_ns > reason->longest_ns)
		reason->longest_ns = reason->now_ns;
}

/* Whether a kind may be the main one, of a span in which they took so long. */
static bool explain_is_main(const struct explain_sum *sum, uint8_t kind)
{
	int64_t untold = sum->by_kind[SONDE_EXPLAIN_UNTOLD] +
			 sum->by_kind[SONDE_EXPLAIN_ASLEEP];
	int64_t itself = sum->by_kind[SONDE_EXPLAIN_ITSELF];
	int64_t all = sum->span->end_ns - sum->span->begin_ns;

	if (all - untold - itself >= all / 2 && all > untold + itself)
		return kind > SONDE_EXPLAIN_ITSELF &&
		       kind != SONDE_EXPLAIN_FAULT;
	if (sum->has_fault)
		return kind == SONDE_EXPLAIN_FAULT;
	return untold > itself ? kind < SONDE_EXPLAIN_ITSELF :
				 kind == SONDE_EXPLAIN_ITSELF;
}

/* Main ones first, then by the time they took in this span. */
static int explain_compare(const void *a, const void *b, void *ctx)
{
	const struct explain_sum *sum = ctx;
	const struct sonde_explain_reason *left = a;
	const struct sonde_explain_reason *right = b;
	bool left_has = left->last_span == sum->number;
	bool right_has = right->last_span == sum->number;
	bool left_main = left_has && explain_is_main(sum, left->kind);
	bool right_main = right_has && explain_is_main(sum, right->kind);

	if (left_has != right_has)
		return left_has ? -1 : 1;
	if (left_main != right_main)
		return left_main ? -1 : 1;
	return (left->now_ns < right->now_ns) - (left->now_ns > right->now_ns);
}

static int explain_tell(struct sonde_explain *explain, struct explain_sum *sum,
			struct sonde_explain_span *ret_span)
{
	const void **sorted =
		sonde_hash_sorted(&explain->reasons, explain_compare, sum);

	if (!sorted)
		return explain->reasons.nr_entries ? -ENOMEM : 0;
	for (size_t i = 0;
	     i < explain->reasons.nr_entries && i < SONDE_EXPLAIN_TOP; i++) {
		const struct sonde_explain_reason *reason = sorted[i];
		struct sonde_explain_share *share;

		if (reason->last_span != sum->number)
			break;
		if (!i)
			((struct sonde_explain_reason *)sonde_hash_get(
				 &explain->reasons, &reason->key))
				->nr_main++;
		share = &ret_span->shares[ret_span->nr++];
		share->kind = reason->kind;
		share->ns = reason->now_ns;
		memcpy(share->text, reason->text, sizeof(share->text));
	}
	free(sorted);
	return 0;
}

int sonde_explain_span(struct sonde_explain *explain,
		       const struct sonde_join_span *span, uint64_t number,
		       struct sonde_explain_span *ret_span)
{
	struct explain_sum sum = {
		.explain = explain,
		.span = span,
		.number = number,
	};
	int error = sonde_explain_pieces(explain, span, explain_add, &sum);

	*ret_span = (struct sonde_explain_span){ .span = span };
	if (!error)
		error = sum.error;
	return error ? error : explain_tell(explain, &sum, ret_span);
}
