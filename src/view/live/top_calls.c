/* SPDX-License-Identifier: MIT */
/*
 * top_calls.c - system calls, played event by event (top_calls.h).
 *
 * Names are numbered as they come, since a part's own numbers mean nothing in the
 * next one. A thread is in one call at a time.
 */
#include "view/live/top_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/steps.h"
#include "base/grow.h"
#include "reader/reader.h"

#define CALLS_MAX     ((size_t)1 << 12)
#define THREADS_MAX   ((size_t)7 << 15)
#define LARGEST_ERRNO 4095
#define UNKNOWN       "unknown"

enum {
	OP_CALL = 1,
	OP_RETURN,
};

/* The words of an entry. */
enum {
	WORD_NUMBER, /* of the name */
	WORD_RET,
};

struct numbered {
	struct sonde_key key; /* a name */
	uint64_t number;
};

struct open_call {
	struct sonde_key key; /* a thread */
	uint64_t number;
	int64_t begin_ns;
};

static void init_open(struct sonde_top_calls *calls)
{
	sonde_hash_init(&calls->open, sizeof(struct open_call), THREADS_MAX);
}

void sonde_top_calls_init(struct sonde_top_calls *calls)
{
	*calls = (struct sonde_top_calls){ .unsure_ns = INT64_MIN };
	sonde_hash_init(&calls->numbers, sizeof(struct numbered), CALLS_MAX);
	init_open(calls);
}

void sonde_top_calls_fini(struct sonde_top_calls *calls)
{
	sonde_hash_fini(&calls->numbers);
	sonde_hash_fini(&calls->open);
	free(calls->list);
}

void sonde_top_calls_turn(struct sonde_top_calls *calls)
{
	for (size_t i = 0; i < calls->nr; i++) {
		struct sonde_top_call *call = &calls->list[i];

		sonde_meter_turn(&call->count);
		sonde_meter_turn(&call->errors);
		sonde_meter_turn(&call->timed);
		sonde_meter_turn(&call->ns);
	}
}

/* ---- a part ---- */

int sonde_top_calls_begin(struct sonde_top_calls *calls,
			  struct sonde_trace *trace)
{
	int err = sonde_model_tables_bind(trace, SONDE_WANT_CALLS,
					  SONDE_WANT_CALLS, &calls->tables);

	if (err)
		calls->tables = NULL;
	return err == -ENODATA ? 0 : err;
}

void sonde_top_calls_end(struct sonde_top_calls *calls)
{
	if (calls->tables)
		sonde_model_tables_unbind(calls->tables);
	calls->tables = NULL;
}

/* 0, -ENOMEM, or -E2BIG: there are too many. */
static int number_call(struct sonde_top_calls *calls, const char *name,
		       uint64_t *ret_number)
{
	const struct sonde_key key = sonde_key_of_text(name, strlen(name));
	struct numbered *of = sonde_hash_get(&calls->numbers, &key);
	struct sonde_top_call *call;

	if (of) {
		*ret_number = of->number;
		return 0;
	}
	if (SONDE_GROW(calls->list, calls->nr, calls->room))
		return -ENOMEM;
	of = sonde_hash_put(&calls->numbers, &key);
	if (!of)
		return sonde_hash_error(&calls->numbers);
	call = &calls->list[calls->nr];
	*call = (struct sonde_top_call){ .max_ns = 0 };
	(void)snprintf(call->name, sizeof(call->name), "%s", name);
	of->number = calls->nr++;
	*ret_number = of->number;
	return 0;
}

int sonde_top_calls_read(struct sonde_top_calls *calls,
			 const struct sonde_event *event,
			 struct sonde_journal_entry *ret_entry)
{
	struct sonde_step step;
	uint64_t number = 0;
	int err;

	if (!calls->tables || !sonde_step_read(calls->tables, event, &step) ||
	    (step.kind != SONDE_STEP_CALL && step.kind != SONDE_STEP_RETURN))
		return 0;
	/* which call it is that returns, the model doesn't say */
	err = number_call(calls,
			  step.kind == SONDE_STEP_CALL ?
				  sonde_model_call_name(calls->tables,
							step.call) :
				  UNKNOWN,
			  &number);
	calls->unnamed += err == -E2BIG;
	if (err)
		return err == -E2BIG ? 0 : err;
	*ret_entry = (struct sonde_journal_entry){
		.time_ns = event->time_ns,
		.tid = step.tid,
		.op = step.kind == SONDE_STEP_CALL ? OP_CALL : OP_RETURN,
		.words[WORD_NUMBER] = number,
		.words[WORD_RET] = (uint64_t)step.numbers[RETURN_RET],
	};
	return 1;
}

/* ---- playing ---- */

static int call_begins(struct sonde_top_calls *calls,
		       const struct sonde_key *thread,
		       const struct sonde_journal_entry *entry)
{
	struct open_call *open = sonde_hash_put(&calls->open, thread);

	if (!open && sonde_hash_error(&calls->open) == -E2BIG) {
		sonde_hash_fini(&calls->open);
		init_open(calls);
		open = sonde_hash_put(&calls->open, thread);
	}
	if (!open)
		return -ENOMEM;
	open->number = entry->words[WORD_NUMBER];
	open->begin_ns = entry->time_ns;
	return 0;
}

/* An event of a return may not say of which call; its entry has the number of
 * those that nobody knows. */
static void call_returns(struct sonde_top_calls *calls,
			 const struct sonde_key *thread,
			 const struct sonde_journal_entry *entry)
{
	struct open_call *open = sonde_hash_get(&calls->open, thread);
	bool is_known = open && open->begin_ns > calls->unsure_ns;
	struct sonde_top_call *call =
		&calls->list[is_known ? open->number :
					entry->words[WORD_NUMBER]];
	int64_t ret = (int64_t)entry->words[WORD_RET];

	call->count.now++;
	call->errors.now += ret < 0 && ret >= -LARGEST_ERRNO;
	if (is_known) {
		int64_t ns = sonde_elapsed_ns(open->begin_ns, entry->time_ns);

		call->timed.now++;
		call->ns.now += (uint64_t)ns;
		if (ns > call->max_ns)
			call->max_ns = ns;
	}
	if (open)
		sonde_hash_remove(&calls->open, open);
}

int sonde_top_calls_replay(struct sonde_top_calls *calls,
			   const struct sonde_journal_entry *entry)
{
	const struct sonde_key thread =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)entry->tid, 0);

	if (entry->op == OP_CALL)
		return call_begins(calls, &thread, entry);
	call_returns(calls, &thread, entry);
	return 0;
}
