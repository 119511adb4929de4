/* SPDX-License-Identifier: MIT */
/*
 * senders.c - what was received is put in the order of threads and times, as
 * states are, and each wait looks at what its thread received behind it
 * (senders.h).
 */
#include "analysis/reports/senders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/search.h"

/* A soft interrupt, by number. */
#define NET_RX 3

struct receipt {
	int32_t tid;              /* of all machines */
	int64_t call_ns, time_ns; /* by the first machine's clock; call_ns MIN:
				     * unknown */
	const struct sonde_transfer *sent; /* NULL: whose it is nobody knows */
};

struct receipts {
	struct sonde_history *history;
	const struct sonde_transfers *transfers;
	const struct sonde_host_clock *clocks;
	struct receipt *at; /* by thread, then time */
	size_t nr;
};

/* ---- in order ---- */

static int compare_receipts(const void *one, const void *other)
{
	const struct receipt *a = one;
	const struct receipt *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* By the first machine's clock. */
static int64_t time_of(const struct receipts *receipts, uint32_t machine,
		       int64_t time_ns)
{
	int64_t at_ns;

	if (time_ns == SONDE_TIME_MIN ||
	    __builtin_sub_overflow(time_ns, receipts->clocks[machine].offset_ns,
				   &at_ns))
		return SONDE_TIME_MIN;
	return at_ns;
}

static void add_receipt(struct receipts *receipts,
			const struct sonde_transfer *transfer)
{
	struct receipt *receipt;

	if (transfer->is_sent || !receipts->clocks[transfer->machine].is_known)
		return;
	receipt = &receipts->at[receipts->nr++];
	*receipt = (struct receipt){
		.tid = sonde_history_tid(receipts->history->nr_machines,
					 transfer->machine, transfer->tid),
		.call_ns =
			time_of(receipts, transfer->machine, transfer->call_ns),
		.time_ns =
			time_of(receipts, transfer->machine, transfer->time_ns),
	};
	if (transfer->sender != SONDE_TRANSFERS_NONE)
		receipt->sent = &receipts->transfers->at[transfer->sender];
}

static int list_receipts(struct receipts *receipts)
{
	const struct sonde_transfers *transfers = receipts->transfers;

	receipts->at = calloc(transfers->nr + 1, sizeof(*receipts->at));
	if (!receipts->at)
		return -ENOMEM;
	for (size_t i = 0; i < transfers->nr; i++)
		add_receipt(receipts, &transfers->at[i]);
	qsort(receipts->at, receipts->nr, sizeof(*receipts->at),
	      compare_receipts);
	return 0;
}

/* ---- which bytes ended a wait ---- */

bool sonde_senders_may_be_bytes(const struct sonde_waker *waker)
{
	return waker->kind == SONDE_WAKER_INTERRUPT ||
	       waker->kind == SONDE_WAKER_MAYBE ||
	       (waker->kind == SONDE_WAKER_SOFTIRQ && waker->number == NET_RX);
}

/* Whether it waits for any of several. */
static bool waits_for_any(const struct receipts *receipts,
			  const struct sonde_history_state *state)
{
	static const char *const calls[] = {
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
		"ppoll",      "select",      "pselect6",
	};
	const struct sonde_history_machine *machine =
		&receipts->history->machines[sonde_history_machine(
			receipts->history->nr_machines, state->tid)];
	const char *call;

	if (state->cause.kind != SONDE_CAUSE_CALL)
		return false;
	call = sonde_model_call_name(machine->tables, state->cause.call);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(calls); i++)
		if (!strcmp(call, calls[i]))
			return true;
	return false;
}

static bool is_same_sender(const struct receipt *a, const struct receipt *b)
{
	return a->sent && b->sent && a->sent->tid == b->sent->tid &&
	       a->sent->machine == b->sent->machine;
}

/* What ended the wait, of what was received behind it up to `limit_ns`. NULL:
 * nothing did, or nobody knows. */
static const struct receipt *
find_receipt(const struct receipts *receipts,
	     const struct sonde_history_state *state, int64_t limit_ns)
{
	const struct receipt key = { .tid = state->tid,
				     .time_ns = state->end_ns };
	const struct receipt *first;
	size_t i;

	SONDE_SEARCH(i, receipts->nr,
		     compare_receipts(&receipts->at[i], &key) < 0);
	first = &receipts->at[i];
	if (i == receipts->nr || first->tid != state->tid ||
	    first->time_ns > limit_ns || !first->sent ||
	    first->call_ns == SONDE_TIME_MIN)
		return NULL;
	if (first->call_ns <= state->begin_ns)
		return first;
	if (first->call_ns < state->end_ns || !waits_for_any(receipts, state))
		return NULL;
	for (i++; i < receipts->nr && receipts->at[i].tid == state->tid &&
		  receipts->at[i].time_ns <= limit_ns;
	     i++)
		if (!is_same_sender(first, &receipts->at[i]))
			return NULL;
	return first;
}

/* ---- when they were sent ---- */

/* How far off the sender's time can be from that of the state's machine. */
static int64_t bound_of(const struct receipts *receipts, uint32_t sender,
			size_t receiver)
{
	if (sender == receiver)
		return 0;
	return receipts->clocks[sender].bound_ns +
	       receipts->clocks[receiver].bound_ns;
}

/* Whether the bytes were sent before the wait ended, for sure, as the call that
 * was blocked received them; else by the clocks. */
static void set_sender(const struct receipts *receipts,
		       const struct receipt *receipt,
		       struct sonde_history_state *state)
{
	const struct sonde_transfer *sent = receipt->sent;
	const struct sonde_host_clock *clock = &receipts->clocks[sent->machine];
	bool is_sure = receipt->call_ns <= state->begin_ns;
	int64_t at_ns = time_of(receipts, sent->machine, sent->call_ns);
	int64_t bound_ns =
		bound_of(receipts, sent->machine,
			 sonde_history_machine(receipts->history->nr_machines,
					       state->tid));
	struct sonde_waker waker = {
		.kind = SONDE_WAKER_UNORDERED,
		.tid = sonde_history_tid(receipts->history->nr_machines,
					 sent->machine, sent->tid),
	};

	if (clock->is_known && at_ns != SONDE_TIME_MIN) {
		if (!is_sure && at_ns - bound_ns > state->end_ns)
			return; /* it was something else */
		if (at_ns + bound_ns <= state->begin_ns ||
		    (at_ns - bound_ns > state->begin_ns &&
		     (is_sure || at_ns + bound_ns <= state->end_ns)))
			waker.kind = SONDE_WAKER_SENDER;
	}
	waker.sent_ns = at_ns < state->end_ns ? at_ns : state->end_ns;
	state->waker = waker;
}

/* The begin of the thread's next wait. */
static int64_t next_wait(const struct sonde_history *history, size_t i)
{
	int32_t tid = history->states[i].tid;

	for (i++; i < history->nr_states && history->states[i].tid == tid; i++)
		if (history->states[i].kind == SONDE_STATE_BLOCKED)
			return history->states[i].begin_ns;
	return SONDE_TIME_MAX;
}

int sonde_senders_find(struct sonde_history *history,
		       const struct sonde_transfers *transfers,
		       const struct sonde_host_clock *clocks)
{
	struct receipts receipts = {
		.history = history,
		.transfers = transfers,
		.clocks = clocks,
	};
	int error = transfers->nr ? list_receipts(&receipts) : 0;

	for (size_t i = 0; !error && receipts.nr && i < history->nr_states;
	     i++) {
		struct sonde_history_state *state = &history->states[i];
		const struct receipt *receipt;

		if (state->kind != SONDE_STATE_BLOCKED ||
		    !sonde_senders_may_be_bytes(&state->waker))
			continue;
		receipt = find_receipt(&receipts, state, next_wait(history, i));
		if (receipt)
			set_sender(&receipts, receipt, state);
	}
	free(receipts.at);
	return error;
}
