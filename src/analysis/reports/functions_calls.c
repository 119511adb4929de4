/* SPDX-License-Identifier: MIT */
/*
 * functions_calls.c - entries and exits replayed to stacks of calls (functions.h).
 *
 * A thread's entry has its stack. The open calls of a row are a chain, from the
 * innermost on, so that an exit without an entry costs no search, and any other
 * one pops what it passes.
 *
 * Invariants: 1. row->open is the depth of the row's innermost open call, and
 * its call->outer that of the next. 2. nr_open is the sum of the stacks' depths.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/reports/functions.h"
#include "base/grow.h"
#include "reader/reader.h"

#define THREADS_MAX ((size_t)7 << 16)
#define ROWS_MAX    ((size_t)7 << 17)
#define OPEN_MAX    ((uint64_t)1 << 24)

struct call {
	uint32_t row;
	int64_t begin_ns;
	uint64_t inner_ns; /* of calls it made */
	uint64_t same_ns;  /* total of those of the same function in it */
	uint32_t outer;    /* the depth of the one it is in; 0: none */
};

struct caller {
	struct sonde_key key; /* tid, image */
	struct call *calls;
	size_t depth, room;
	size_t passed; /* losses at its last event */
	uint32_t index;
};

/* Where a function's row of a thread is. */
struct place {
	struct sonde_key key; /* address, the thread's index */
	uint32_t row;
	uint32_t is_set;
};

int sonde_profile_calls_init(struct sonde_profile_calls *functions,
			     const struct sonde_trace *trace)
{
	*functions = (struct sonde_profile_calls){ 0 };
	sonde_hash_init(&functions->threads, sizeof(struct caller),
			THREADS_MAX);
	sonde_hash_init(&functions->places, sizeof(struct place), ROWS_MAX);
	return trace ? sonde_lost_read(&functions->lost, trace, NULL) : 0;
}

void sonde_profile_calls_fini(struct sonde_profile_calls *functions)
{
	struct caller *caller = NULL;

	while ((caller = sonde_hash_next(&functions->threads, caller)))
		free(caller->calls);
	for (size_t i = 0; i < functions->nr_rows; i++)
		sonde_histogram_fini(&functions->rows[i].durations);
	free(functions->rows);
	sonde_lost_fini(&functions->lost);
	sonde_hash_fini(&functions->threads);
	sonde_hash_fini(&functions->places);
}

/* ---- who calls what ---- */

static struct caller *get_caller(struct sonde_profile_calls *functions,
				 const struct sonde_journal_entry *entry)
{
	const struct sonde_key key =
		sonde_analysis_site_key((uint64_t)entry->tid, entry->image, 0);
	struct caller *caller = sonde_hash_get(&functions->threads, &key);

	if (caller)
		return caller;
	caller = sonde_hash_put(&functions->threads, &key);
	if (caller) {
		caller->index = (uint32_t)functions->threads.nr_entries;
		caller->passed = functions->lost.passed;
	}
	return caller;
}

static int add_function_row(struct sonde_profile_calls *functions,
			    struct place *place)
{
	if (SONDE_GROW(functions->rows, functions->nr_rows, functions->room))
		return -ENOMEM;
	place->row = (uint32_t)functions->nr_rows;
	place->is_set = 1;
	functions->rows[functions->nr_rows++] = (struct sonde_profile_row){ 0 };
	return 0;
}

/* The row of the event's function and thread. */
static int get_row(struct sonde_profile_calls *functions,
		   const struct caller *caller,
		   const struct sonde_journal_entry *entry, uint32_t *ret_row)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_HEX,
			       entry->words[SONDE_FUNCTIONS_ADDRESS],
			       caller->index);
	struct place *place = sonde_hash_put(&functions->places, &key);
	struct sonde_profile_row *row;

	if (!place)
		return sonde_hash_error(&functions->places);
	if (!place->is_set && add_function_row(functions, place))
		return -ENOMEM;
	row = &functions->rows[place->row];
	row->tid = entry->tid;
	sonde_analysis_site_use(&row->at, entry->words[SONDE_FUNCTIONS_ADDRESS],
				entry->image, entry->time_ns);
	*ret_row = place->row;
	return 0;
}

/* ---- stacks ---- */

/* Takes the innermost call off. What is known of the time of calls in it
 * becomes its caller's, and `same_ns` that of its function's next outer call. */
static struct call take_innermost(struct sonde_profile_calls *functions,
				  struct caller *caller, uint64_t inner_ns,
				  uint64_t same_ns)
{
	const struct call call = caller->calls[--caller->depth];
	struct sonde_profile_row *row = &functions->rows[call.row];

	functions->nr_open--;
	row->open = call.outer;
	if (call.outer)
		caller->calls[call.outer - 1].same_ns += same_ns;
	else
		row->total_ns += same_ns;
	if (caller->depth)
		caller->calls[caller->depth - 1].inner_ns += inner_ns;
	return call;
}

/* It never ended, as far as is known. */
static void drop_last(struct sonde_profile_calls *functions,
		      struct caller *caller, uint64_t *count)
{
	const struct call *last = &caller->calls[caller->depth - 1];

	(void)take_innermost(functions, caller, last->inner_ns, last->same_ns);
	(*count)++;
}

/* Whether the event came while others were lost. After a loss nobody knows what
 * is still open. */
static bool is_doubtful(struct sonde_profile_calls *functions,
			struct caller *caller, int64_t time_ns)
{
	bool inside = sonde_lost_pass(&functions->lost, time_ns);

	if (inside || caller->passed != functions->lost.passed)
		while (caller->depth)
			drop_last(functions, caller, &functions->counts.lost);
	caller->passed = functions->lost.passed;
	return inside;
}

static int enter_call(struct sonde_profile_calls *functions,
		      struct caller *caller, uint32_t row, int64_t time_ns)
{
	if (functions->nr_open == OPEN_MAX)
		return -E2BIG;
	if (SONDE_GROW(caller->calls, caller->depth, caller->room))
		return -ENOMEM;
	caller->calls[caller->depth++] = (struct call){
		.row = row,
		.begin_ns = time_ns,
		.outer = functions->rows[row].open,
	};
	functions->rows[row].open = (uint32_t)caller->depth;
	functions->nr_open++;
	return 0;
}

/* The innermost call has ended by its exit. */
static int end_innermost(struct sonde_profile_calls *functions,
			 struct caller *caller, int64_t time_ns)
{
	int64_t begin_ns = caller->calls[caller->depth - 1].begin_ns;
	int64_t ns =
		time_ns > begin_ns ? sonde_elapsed_ns(begin_ns, time_ns) : 0;
	const struct call call =
		take_innermost(functions, caller, (uint64_t)ns, (uint64_t)ns);
	struct sonde_profile_row *row = &functions->rows[call.row];

	if ((uint64_t)ns > call.inner_ns)
		row->self_ns += (uint64_t)ns - call.inner_ns;
	return sonde_histogram_add(&row->durations, ns);
}

static int leave_call(struct sonde_profile_calls *functions,
		      struct caller *caller, uint32_t row, int64_t time_ns)
{
	if (!functions->rows[row].open) {
		functions->counts.unbegun++;
		return 0;
	}
	while (caller->depth > functions->rows[row].open)
		drop_last(functions, caller, &functions->counts.left);
	return end_innermost(functions, caller, time_ns);
}

int sonde_profile_calls_replay(void *ctx,
			       const struct sonde_journal_entry *entry)
{
	struct sonde_profile_calls *functions = ctx;
	bool enters = entry->op == SONDE_FUNCTIONS_ENTRY;
	struct caller *caller;
	uint32_t row = 0;
	int err;

	functions->counts.left_out += entry->words[SONDE_FUNCTIONS_NR];
	if (entry->op == SONDE_FUNCTIONS_LEFT_OUT)
		return 0;
	if (entry->tid < 0) {
		functions->counts.threadless++;
		return 0;
	}
	caller = get_caller(functions, entry);
	if (!caller)
		return sonde_hash_error(&functions->threads);
	err = get_row(functions, caller, entry, &row);
	if (err)
		return err;
	functions->rows[row].calls += enters;
	if (is_doubtful(functions, caller, entry->time_ns)) {
		functions->counts.doubtful++;
		return 0;
	}
	return enters ? enter_call(functions, caller, row, entry->since_ns) :
			leave_call(functions, caller, row, entry->time_ns);
}

void sonde_profile_calls_end(struct sonde_profile_calls *functions)
{
	struct caller *caller = NULL;

	while ((caller = sonde_hash_next(&functions->threads, caller)))
		while (caller->depth)
			drop_last(functions, caller, &functions->counts.open);
}
