/* SPDX-License-Identifier: MIT */
/*
 * top_calls.h - which system calls threads make, how long they take, and how often
 * in vain, played event by event.
 *
 * A kernel's state (analysis/model) tells more of calls, and belongs to the tables
 * of one trace; here events come from part after part. What an event means to
 * calls is the model's to know (model/steps.h) all the same.
 *
 * A call counts when it returns. Which one it is, and how long it took, is known if
 * its begin was seen: what began before, or where events were lost meanwhile, is
 * "unknown" and has no duration.
 */
#ifndef VIEW_LIVE_TOP_CALLS_H
#define VIEW_LIVE_TOP_CALLS_H

#include <stdint.h>

#include "analysis/reports/journal.h"
#include "base/hash.h"
#include "view/live/meter.h"

struct sonde_model_tables;

struct sonde_top_call {
	char name[48];
	struct sonde_meter count, errors, timed, ns;
	int64_t max_ns;
};

struct sonde_top_calls {
	struct sonde_top_call *list; /* in the order they were seen first */
	size_t nr;
	uint64_t unnamed; /* there was no room for their names */
	/* Events were lost: of what began up to then nobody knows the end. */
	int64_t unsure_ns;
	/* ---- private ---- */
	size_t room;
	struct sonde_hash numbers;         /* by name: which of the list */
	struct sonde_hash open;            /* by thread */
	struct sonde_model_tables *tables; /* of the part; NULL: no calls */
};

void sonde_top_calls_init(struct sonde_top_calls *calls);
void sonde_top_calls_fini(struct sonde_top_calls *calls);

/* A part of the trace. 0 or -ENOMEM; end in any case. */
int sonde_top_calls_begin(struct sonde_top_calls *calls,
			  struct sonde_trace *trace);
void sonde_top_calls_end(struct sonde_top_calls *calls);

/* 1: the event is of a call; an entry, to be played when it is due. 0, -ENOMEM. */
int sonde_top_calls_read(struct sonde_top_calls *calls,
			 const struct sonde_event *event,
			 struct sonde_journal_entry *ret_entry);
/* 0 or -ENOMEM. */
int sonde_top_calls_replay(struct sonde_top_calls *calls,
			   const struct sonde_journal_entry *entry);

void sonde_top_calls_turn(struct sonde_top_calls *calls);

#endif /* VIEW_LIVE_TOP_CALLS_H */
