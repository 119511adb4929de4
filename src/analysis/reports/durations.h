/* SPDX-License-Identifier: MIT */
/*
 * durations.h - a pass over a trace that joins the events of --begin with those
 * of --end, by --key. `latency` and `period` show what it finds.
 *
 * An event that is both ends one span and begins the next. An event without
 * the key, or whose thread isn't known if that is the key, is counted, and
 * nothing else.
 */
#ifndef ANALYSIS_REPORTS_DURATIONS_H
#define ANALYSIS_REPORTS_DURATIONS_H

#include <stdbool.h>

#include "analysis/analysis.h"
#include "analysis/reports/join.h"
#include "base/hash.h"

struct sonde_durations_config {
	const struct sonde_filter *begin, *end; /* borrowed, as is the key */
	const struct sonde_filter *key;         /* NULL: as below */
	const struct sonde_class *key_class;    /* how it is shown; NULL */
	/* The length of what an end ends, in ns: there are no begins. NULL */
	const struct sonde_filter *length;
	int64_t keep_ns;                            /* of struct sonde_join */
	const struct sonde_scatter_config *scatter; /* borrowed; NULL: none */
	bool by_thread; /* the key is the thread; else all are one */
};

enum sonde_durations_role {
	SONDE_DURATIONS_BEGINS = 1,
	SONDE_DURATIONS_ENDS = 2,
};

/* What events can be, by class, for free(). NULL without memory. */
uint8_t *sonde_durations_roles(const struct sonde_trace *trace,
			       const struct sonde_durations_config *config);
/* What an event is: none, one, or both. `roles` as above. */
unsigned int sonde_durations_role(const struct sonde_durations_config *config,
				  const uint8_t *roles,
				  const struct sonde_event *event);

/* The key of an event. -ENOENT: it has none. */
int sonde_durations_key(const struct sonde_durations_config *config,
			const struct sonde_event *event,
			struct sonde_key *ret_key);

/* The spans alone, to be finished in any case. As of struct sonde_analysis. */
int sonde_durations_find(struct sonde_analysis_args *args,
			 const struct sonde_durations_config *config,
			 struct sonde_join *ret_join);

/* Says what no span is made of, if any: events without a key, and pairs across
 * lost events. */
void sonde_durations_left_out(const struct sonde_analysis_args *args,
			      const struct sonde_durations_config *config,
			      const struct sonde_join *join,
			      struct sonde_report *report);
/* Says that there is no span, and what there is. */
void sonde_durations_none(const struct sonde_analysis_args *args,
			  const struct sonde_join *join,
			  struct sonde_report *report);

/* What of the report is not the same for all: a sentence, and values. */
typedef void sonde_durations_head(const struct sonde_analysis_args *args,
				  const struct sonde_join *join,
				  struct sonde_report *report);

/*
 * The whole report, of that name: its head, a row for all, a drawing, the ten
 * longest. As of struct sonde_analysis.
 */
int sonde_durations_run(struct sonde_analysis_args *args,
			const struct sonde_durations_config *config,
			const char *name, sonde_durations_head *head,
			struct sonde_report **ret_report);

#endif /* ANALYSIS_REPORTS_DURATIONS_H */
