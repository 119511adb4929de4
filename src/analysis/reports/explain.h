/* SPDX-License-Identifier: MIT */
/*
 * explain.h - what kept threads from going on in some spans of their time, by the
 * kernel's events.
 *
 * A span is a thread's. All its time is given to exactly one of: an interrupt's
 * handler, a soft interrupt's, a timer's; another thread that had the CPU while
 * this one wanted it; what it waited for; itself, which ran with none of that;
 * and what the trace doesn't tell. Where handlers nest, the inner one has the
 * time: hard interrupts before timers, those before soft ones.
 *
 * The *main* reason of a span is what took most of it, of the reasons that are
 * not the thread itself, if these took half of it or more; else, if the thread
 * missed a page in it, that; else itself, or what isn't told, whichever took
 * longer.
 *
 * Memory: 110 bytes for each state of any thread in the spans, of which at most
 * SONDE_EXPLAIN_MAX are kept; the rest is counted.
 */
#ifndef ANALYSIS_REPORTS_EXPLAIN_H
#define ANALYSIS_REPORTS_EXPLAIN_H

#include "analysis/analysis.h"
#include "analysis/reports/join.h"
#include "analysis/reports/offcpu_cause.h"
#include "base/hash.h"

#define SONDE_EXPLAIN_MAX  ((size_t)1 << 20)
#define SONDE_EXPLAIN_TEXT 256
#define SONDE_EXPLAIN_TOP  3 /* reasons of a span that are told */

enum sonde_explain_kind {
	SONDE_EXPLAIN_UNTOLD, /* the trace doesn't tell */
	SONDE_EXPLAIN_ASLEEP, /* for what, it doesn't tell */
	SONDE_EXPLAIN_ITSELF,
	SONDE_EXPLAIN_BLOCKED,
	SONDE_EXPLAIN_WAITED, /* for a CPU, and nobody was seen to run there */
	SONDE_EXPLAIN_THREAD, /* another had the CPU */
	SONDE_EXPLAIN_SOFTIRQ,
	SONDE_EXPLAIN_TIMER,
	SONDE_EXPLAIN_IRQ,
	SONDE_EXPLAIN_FAULT, /* takes no time of its own */
};

/* Why, over all spans. */
struct sonde_explain_reason {
	struct sonde_key key;
	uint8_t kind; /* enum sonde_explain_kind */
	char text[SONDE_EXPLAIN_TEXT];
	uint64_t nr_spans; /* in which it took time, or happened */
	uint64_t nr_main;  /* of which it was the main reason */
	int64_t ns, longest_ns;
	/* ---- private ---- */
	uint64_t last_span;
	int64_t now_ns; /* in that one */
};

struct sonde_explain_share {
	uint8_t kind;
	int64_t ns;
	char text[SONDE_EXPLAIN_TEXT];
};

/* A span with its main reason, which comes first, and the next ones by time. */
struct sonde_explain_span {
	const struct sonde_join_span *span;
	size_t nr;
	struct sonde_explain_share shares[SONDE_EXPLAIN_TOP];
};

struct sonde_explain {
	struct sonde_hash reasons; /* of struct sonde_explain_reason */
	struct sonde_model_tables *tables;
	struct sonde_model *kernel;
	struct sonde_causes causes;
	uint64_t left_out; /* there was no room for */
	/* ---- private ---- */
	struct sonde_interval *intervals; /* by end */
	size_t nr_intervals, capacity;
	struct sonde_join_span *windows; /* disjoint, in order */
	size_t nr_windows;
};

/* Reads what happened in the spans. For _fini() in any case; as of struct
 * sonde_analysis. */
int sonde_explain_read(struct sonde_analysis_args *args,
		       const struct sonde_join_span *spans, size_t nr,
		       struct sonde_explain *ret_explain);
void sonde_explain_fini(struct sonde_explain *explain);

/* Gives a span's time to its reasons, and tells them. Each span once. 0 or
 * -ENOMEM. */
int sonde_explain_span(struct sonde_explain *explain,
		       const struct sonde_join_span *span, uint64_t number,
		       struct sonde_explain_span *ret_span);

/* Of `report latency --explain`: the whole report. */
int sonde_explain_latency(struct sonde_analysis_args *args,
			  struct sonde_report **ret_report);

#endif /* ANALYSIS_REPORTS_EXPLAIN_H */
