/* SPDX-License-Identifier: MIT */
/*
 * critical_path.h - what the time between two events was spent with, on
 * whatever thread: going back from the end, a thread's time is followed up to
 * where it was woken, and from there that of the thread that woke it.
 *
 * Where a request is handed from thread to thread, the path moves on to the
 * waker and stays there, until it comes to the thread that began; on that
 * thread, a wait is replaced by what its waker did in just that time, which may
 * again be a wait, and so on, and then the path goes on before the wait. What
 * the thread did before it waited is its own, whatever others did then.
 *
 *  1. Segments are disjoint, in the order of time, without gaps, from the begin
 *     to the end: their lengths add up to the interval, exactly.
 *
 * A wait for bytes that a thread sent, on whatever machine (senders.h), goes on from
 * the sending thread as it began to send them; from there to the wait's end, it was
 * the network's. Where nobody can tell whether they were sent before the wait began,
 * it isn't followed.
 *
 * A wait that an interrupt ended, or nobody known, is a segment of its own. So
 * is what is not known of a thread. Threads are followed through at most
 * SONDE_PATH_DEPTH waits within waits, and as many wake-ups at the same time.
 */
#ifndef ANALYSIS_REPORTS_CRITICAL_PATH_H
#define ANALYSIS_REPORTS_CRITICAL_PATH_H

#include "analysis/reports/blame_history.h"

#define SONDE_PATH_DEPTH 16

struct sonde_path_segment {
	int32_t tid;
	enum sonde_state_kind kind;
	int64_t begin_ns, end_ns;
	struct sonde_cause cause; /* .kind UNKNOWN: none */
	struct sonde_waker waker; /* of a BLOCKED that ends with it */
};

struct sonde_path {
	struct sonde_path_segment *segments;
	size_t nr_segments;
	/* ---- private ---- */
	size_t capacity;
};

struct sonde_path_ends {
	int32_t begin_tid, end_tid;
	int64_t begin_ns, end_ns;
};

/* 0 or -ENOMEM; the path is for _fini(), in any case. */
int sonde_path_find(struct sonde_path *path,
		    const struct sonde_history *history,
		    const struct sonde_path_ends *ends);
void sonde_path_fini(struct sonde_path *path);

#endif /* ANALYSIS_REPORTS_CRITICAL_PATH_H */
