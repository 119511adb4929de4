/* SPDX-License-Identifier: MIT */
/*
 * functions.h - which function took how long, as its entries and exits tell.
 *
 * Each thread of an image has a stack of the calls that have begun. An exit
 * belongs to the innermost open call of its function, and what is above that
 * never ends: longjmp() left it, or its exit isn't in the trace. What can't be
 * paired is counted and has no duration; nothing is made up for it:
 *
 *   left      calls without an exit, whose caller's exit came
 *   open      calls that had not ended with the trace, their thread, or exec
 *   unbegun   exits of calls that are not open: the recording began in the
 *             middle, or it is a child's by fork, or another stack's
 *   lost      calls that were open when events were lost
 *   doubtful  entries and exits while events were lost: one of another call
 *             might pass for a missing one, so none of them is paired
 *   left_out  calls that the recording was not to have; the time of those is
 *             self time of who called them
 *
 * A call's time is *total*; its *self* time is that without the calls it made
 * that have ended by their exits. Of a recursive function the totals of calls
 * that are in no other one which ended are added up, so that no time counts
 * twice.
 *
 * Memory: 150 bytes and a histogram for each function of each thread, 40 bytes
 * for each open call, 80 for each thread.
 */
#ifndef ANALYSIS_REPORTS_FUNCTIONS_H
#define ANALYSIS_REPORTS_FUNCTIONS_H

#include "analysis/reports/histogram.h"
#include "analysis/reports/journal.h"
#include "analysis/reports/lost.h"
#include "analysis/reports/site.h"
#include "base/hash.h"

enum sonde_profile_call_op {
	SONDE_FUNCTIONS_ENTRY = 1,
	SONDE_FUNCTIONS_EXIT,
	SONDE_FUNCTIONS_LEFT_OUT, /* calls that have no events */
};

/* The words of an event. */
enum sonde_profile_word {
	SONDE_FUNCTIONS_ADDRESS,
	SONDE_FUNCTIONS_NR, /* calls that were left out before */
};

/* A function in a thread, or sums of several such. */
struct sonde_profile_row {
	struct sonde_analysis_site at; /* where it begins, and when it ran */
	int32_t tid;
	uint32_t open;  /* its innermost open call; 0: none; private */
	uint64_t calls; /* entries */
	uint64_t total_ns, self_ns;
	struct sonde_histogram durations; /* of calls that ended */
};

struct sonde_profile_counts {
	uint64_t left, open, unbegun, lost, doubtful;
	uint64_t threadless; /* events of which no thread is known */
	uint64_t left_out;   /* calls without events: --min-duration, --depth */
};

struct sonde_profile_calls {
	struct sonde_profile_row *rows;
	size_t nr_rows;
	struct sonde_profile_counts counts;
	/* ---- private ---- */
	size_t room;
	struct sonde_hash threads, places;
	uint64_t nr_open;
	struct sonde_lost lost;
};

/* 0 or -ENOMEM; to be finished in any case. The trace says when events were
 * lost; NULL: none were. */
int sonde_profile_calls_init(struct sonde_profile_calls *functions,
			     const struct sonde_trace *trace);
void sonde_profile_calls_fini(struct sonde_profile_calls *functions);

/* The next event (enum sonde_profile_word). 0, -ENOMEM, -E2BIG. For sonde_journal_run(): `ctx` is the functions. */
int sonde_profile_calls_replay(void *ctx,
			       const struct sonde_journal_entry *entry);
/* No event comes any more. */
void sonde_profile_calls_end(struct sonde_profile_calls *functions);

#endif /* ANALYSIS_REPORTS_FUNCTIONS_H */
