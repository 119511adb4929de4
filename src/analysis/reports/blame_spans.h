/* SPDX-License-Identifier: MIT */
/*
 * blame_spans.h - what `blame` and `critical` begin with: the longest of the
 * spans between --begin and --end, which of them is asked for (--nth), and what
 * all threads did in the meantime.
 *
 * Of several machines, a span is one machine's, and the longest of all are chosen.
 * What threads of other machines did is told by the clock of the one that has the
 * span, as far as theirs are known (host_clocks.h), and waits for bytes are those of
 * who sent them (senders.h). A thread's number says which machine it is of
 * (blame_history.h).
 */
#ifndef ANALYSIS_REPORTS_BLAME_SPANS_H
#define ANALYSIS_REPORTS_BLAME_SPANS_H

#include "analysis/reports/blame_history.h"
#include "analysis/reports/join.h"
#include "analysis/reports/offcpu_cause.h"
#include "analysis/reports/senders.h"

struct sonde_blame_spans {
	const struct sonde_analysis_args *args;
	struct sonde_join join;                  /* its `worst` are the spans */
	const struct sonde_longest_span *chosen; /* NULL: there is no span */
	struct sonde_history history; /* if there is one; of all, or of it */
	struct sonde_causes causes;
	struct sonde_transfers transfers;
	uint64_t keys_left_out; /* events, when waits were matched by them */
	struct sonde_host_clock *clocks; /* of each machine */
	struct sonde_causes *hosts;      /* likewise, if there are several */
};

/* `all`: the history of all spans, not only of the one that is asked for.
 * *ret_spans is for _fini(), in any case. As of struct sonde_analysis. */
int sonde_blame_spans_find(struct sonde_analysis_args *args, const char *name,
			   bool all, struct sonde_blame_spans *ret_spans);
void sonde_blame_spans_fini(struct sonde_blame_spans *spans);

/* Why there is no span, if so; what is wrong with the rest. */
void sonde_blame_spans_notes(const struct sonde_blame_spans *spans,
			     struct sonde_report *report);

/* Of several machines: how their clocks are to that of the one with the span. */
void sonde_blame_spans_clocks(const struct sonde_blame_spans *spans,
			      struct sonde_report *report);

/* "running", "waiting for a CPU", ... */
const char *sonde_blame_state_text(enum sonde_state_kind kind);

/* A report about them: finds the spans, lets `show` fill it in if one is
 * chosen, and adds the notes. `all` is for _find(); else as
 * sonde_analysis.run. */
int sonde_blame_spans_report(struct sonde_analysis_args *args, const char *name,
			     bool all,
			     int (*show)(const struct sonde_blame_spans *spans,
					 struct sonde_report *report),
			     struct sonde_report **ret_report);

#endif /* ANALYSIS_REPORTS_BLAME_SPANS_H */
