/* SPDX-License-Identifier: MIT */
/*
 * blame_history.c - what every thread did in some windows of time
 * (blame_history.h).
 *
 * First what the kernel's state emits is written down as it comes; then states
 * and calls are put in order and cut where they overlap, so that a thread's are
 * disjoint; then they are asked for, by bisection. Sorting is what costs.
 */
#include "analysis/reports/blame_history.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/replay.h"
#include "base/grow.h"
#include "base/search.h"
#include "reader/reader.h"

/* ---- what the state emits ---- */

/* Windows are disjoint and in order by now. */
static bool is_in_window(const struct sonde_history *history,
			 const struct sonde_interval *interval)
{
	size_t i;

	/* The first window that ends behind the interval's begin. */
	SONDE_SEARCH(i, history->nr_windows,
		     history->windows[i].end_ns <= interval->begin_ns);
	return i < history->nr_windows &&
	       history->windows[i].begin_ns < interval->end_ns;
}

/* The machine's own ids become those of all machines. */
static void history_add_machine(const struct sonde_history *history,
				struct sonde_cause *cause,
				struct sonde_waker *waker)
{
	cause->pid = sonde_history_tid(history->nr_machines, history->machine,
				       cause->pid);
	cause->holder = sonde_history_tid(history->nr_machines,
					  history->machine, cause->holder);
	if (waker)
		waker->tid = sonde_history_tid(history->nr_machines,
					       history->machine, waker->tid);
}

static void add_call(struct sonde_history *history,
		     const struct sonde_interval *interval)
{
	if (history->nr_calls == SONDE_HISTORY_MAX ||
	    SONDE_GROW(history->calls, history->nr_calls,
		       history->calls_capacity)) {
		history->left_out++;
		return;
	}
	history->calls[history->nr_calls++] = (struct sonde_history_call){
		.tid = interval->tid,
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
		.cause = interval->call.cause,
	};
	history_add_machine(history,
			    &history->calls[history->nr_calls - 1].cause, NULL);
}

static void add_state(struct sonde_history *history,
		      const struct sonde_interval *interval)
{
	struct sonde_history_state state = {
		.tid = interval->tid,
		.kind = SONDE_STATE_RUN,
		.begin_ns = interval->begin_ns,
		.end_ns = interval->end_ns,
	};

	if (history->nr_states == SONDE_HISTORY_MAX ||
	    SONDE_GROW(history->states, history->nr_states,
		       history->states_capacity)) {
		history->left_out++;
		return;
	}
	if (interval->kind == SONDE_INTERVAL_READY) {
		state.kind = interval->ready.woken ? SONDE_STATE_READY :
						     SONDE_STATE_PREEMPTED;
	} else if (interval->kind == SONDE_INTERVAL_BLOCKED) {
		state.kind = SONDE_STATE_BLOCKED;
		state.cause = interval->blocked.cause;
		state.waker = interval->blocked.waker;
		state.stack = interval->blocked.stack;
		state.waker_stack = interval->blocked.waker_stack;
		history_add_machine(history, &state.cause, &state.waker);
	}
	history->states[history->nr_states++] = state;
}

static void add_interval(void *ctx, const struct sonde_interval *theirs)
{
	struct sonde_history *history = ctx;
	struct sonde_interval interval = *theirs;

	if (!interval.tid || interval.tid == -1 ||
	    __builtin_sub_overflow(theirs->begin_ns, history->offset_ns,
				   &interval.begin_ns) ||
	    __builtin_sub_overflow(theirs->end_ns, history->offset_ns,
				   &interval.end_ns) ||
	    !is_in_window(history, &interval))
		return;
	if (interval.kind == SONDE_INTERVAL_SYSCALL)
		add_call(history, &interval);
	else if (interval.kind == SONDE_INTERVAL_RUN ||
		 interval.kind == SONDE_INTERVAL_READY ||
		 interval.kind == SONDE_INTERVAL_BLOCKED)
		add_state(history, &interval);
}

/* Who a stand-in is, is asked at the end. */
static void history_ignore_rename(void *ctx, int32_t from, int32_t to)
{
	(void)ctx;
	(void)from;
	(void)to;
}

/* ---- into order ---- */

/* The members that states and calls both begin with. */
struct span {
	int32_t tid;
	int64_t begin_ns, end_ns;
};
#define IS_SPAN(type)                                                       \
	_Static_assert(offsetof(type, tid) == offsetof(struct span, tid) && \
			       offsetof(type, begin_ns) ==                  \
				       offsetof(struct span, begin_ns) &&   \
			       offsetof(type, end_ns) ==                    \
				       offsetof(struct span, end_ns),       \
		       "it begins as a span does")
IS_SPAN(struct sonde_history_state);
IS_SPAN(struct sonde_history_call);

static int compare(int32_t left_tid, int64_t left_ns, int32_t right_tid,
		   int64_t right_ns)
{
	if (left_tid != right_tid)
		return left_tid < right_tid ? -1 : 1;
	return (left_ns > right_ns) - (left_ns < right_ns);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *left = a;
	const struct span *right = b;

	int order =
		compare(left->tid, left->begin_ns, right->tid, right->begin_ns);

	return order ? order :
		       (left->end_ns > right->end_ns) -
			       (left->end_ns < right->end_ns);
}

/* Of a machine. What a damaged trace says twice about the same time is cut: the
 * first word counts; and what it says of threads that can't be. Those before
 * `from` are another's. Returns how many of the `nr` are left. */
static size_t order_spans(const struct sonde_history *history, void *list,
			  size_t from, size_t nr, size_t size)
{
	const struct sonde_model *kernel =
		history->machines[history->machine].kernel;
	uint8_t *bytes = list;
	struct span *last = NULL;
	size_t kept = from;

	for (size_t i = from; i < nr; i++) {
		struct span *span = (void *)(bytes + i * size);

		span->tid = sonde_history_tid(
			history->nr_machines, history->machine,
			sonde_model_real_tid(kernel, span->tid));
	}
	if (nr > from)
		qsort(bytes + from * size, nr - from, size, compare_spans);
	for (size_t i = from; i < nr; i++) {
		struct span *span = (void *)(bytes + i * size);

		if (last && last->tid == span->tid &&
		    last->end_ns > span->begin_ns)
			span->begin_ns = last->end_ns;
		if (span->begin_ns >= span->end_ns || span->tid <= 0)
			continue;
		last = (void *)(bytes + kept++ * size);
		if (last != span)
			memcpy(last, span, size);
	}
	return kept;
}

static int compare_windows(const void *a, const void *b)
{
	const struct sonde_history_window *left = a;
	const struct sonde_history_window *right = b;

	return (left->begin_ns > right->begin_ns) -
	       (left->begin_ns < right->begin_ns);
}

/* Sorts them and makes one of those that touch; at least one. */
static void order_windows(struct sonde_history *history,
			  struct sonde_history_window *windows,
			  size_t nr_windows)
{
	size_t nr = 0;

	qsort(windows, nr_windows, sizeof(*windows), compare_windows);
	for (size_t i = 1; i < nr_windows; i++) {
		if (windows[i].begin_ns > windows[nr].end_ns)
			windows[++nr] = windows[i];
		else if (windows[i].end_ns > windows[nr].end_ns)
			windows[nr].end_ns = windows[i].end_ns;
	}
	history->windows = windows;
	history->nr_windows = nr + 1;
}

/* ---- reading ---- */

static int play_machine(struct sonde_analysis_args *args,
			const struct sonde_map_options *options,
			struct sonde_history *history)
{
	static const struct sonde_model_sink_ops ops = {
		.interval = add_interval,
		.rename = history_ignore_rename,
	};
	struct sonde_history_machine *machine =
		&history->machines[history->machine];
	size_t nr_states = history->nr_states;
	size_t nr_calls = history->nr_calls;
	int error = sonde_model_tables_new(args->trace, SONDE_WANT_PLAYED,
					   options, &machine->tables);

	if (error == -ENODATA)
		return sonde_analysis_fail(args, error,
					   "the trace has no events of the "
					   "scheduler");
	if (error)
		return error;
	error = sonde_model_replay_trace(args->trace, options, machine->tables,
					 &ops, history, &machine->kernel);
	if (error)
		return error;
	history->nr_states =
		order_spans(history, history->states, nr_states,
			    history->nr_states, sizeof(*history->states));
	history->nr_calls =
		order_spans(history, history->calls, nr_calls,
			    history->nr_calls, sizeof(*history->calls));
	return 0;
}

/* One of several: its streams alone. */
static int read_machine(struct sonde_analysis_args *args,
			const struct sonde_map_options *options,
			const struct sonde_host_clock *clock,
			struct sonde_history *history)
{
	struct sonde_map_options own = *options;
	int64_t end_ns = history->windows[history->nr_windows - 1].end_ns;
	bool *streams = NULL;
	int error;

	history->offset_ns = clock->offset_ns;
	if (__builtin_add_overflow(end_ns, clock->offset_ns, &end_ns))
		end_ns = SONDE_TIME_MAX;
	if (end_ns < own.to_ns)
		own.to_ns = end_ns;
	if (history->nr_machines > 1) {
		streams = sonde_map_streams_of(args->trace, history->machine);
		if (!streams)
			return -ENOMEM;
		own.streams = streams;
	}
	error = play_machine(args, &own, history);
	free(streams);
	return error;
}

int sonde_history_read(struct sonde_analysis_args *args,
		       struct sonde_history_window *windows, size_t nr_windows,
		       const struct sonde_host_clock *clocks, size_t first,
		       struct sonde_history *ret_history)
{
	struct sonde_map_options options = args->map;
	struct sonde_history *history = ret_history;
	size_t nr = args->trace->nr_machines;
	int error = 0;

	*history = (struct sonde_history){ 0 };
	order_windows(history, windows, nr_windows);
	/* The filter has chosen the windows; threads are followed anyway. */
	options.filter = NULL;
	history->machines = calloc(nr, sizeof(*history->machines));
	if (!history->machines)
		return -ENOMEM;
	history->nr_machines = nr;
	for (size_t i = 0; i < nr && !error; i++) {
		history->machine = (uint32_t)i;
		if (clocks[i].is_known)
			error = read_machine(args, &options, &clocks[i],
					     history);
		if (error == -ENODATA && i != first)
			error = 0;
	}
	return error;
}

void sonde_history_fini(struct sonde_history *history)
{
	for (size_t i = 0; i < history->nr_machines; i++) {
		sonde_model_free(history->machines[i].kernel);
		sonde_model_tables_free(history->machines[i].tables);
	}
	free(history->machines);
	free(history->states);
	free(history->calls);
}

/* ---- asking ---- */

/* How many states come before the thread's first that begins at or after that
 * time. */
static size_t history_count_before(const struct sonde_history *history,
				   int32_t tid, int64_t time_ns)
{
	const struct sonde_history_state *states = history->states;
	size_t i;

	SONDE_SEARCH(i, history->nr_states,
		     compare(states[i].tid, states[i].begin_ns, tid, time_ns) <
			     0);
	return i;
}

const struct sonde_history_state *
sonde_history_before(const struct sonde_history *history, int32_t tid,
		     int64_t time_ns)
{
	size_t nr = history_count_before(history, tid, time_ns);

	return nr && history->states[nr - 1].tid == tid ?
		       &history->states[nr - 1] :
		       NULL;
}

/* The place of the thread's first call that ends behind that time. */
static size_t first_call(const struct sonde_history *history, int32_t tid,
			 int64_t time_ns)
{
	const struct sonde_history_call *calls = history->calls;
	size_t i;

	SONDE_SEARCH(i, history->nr_calls,
		     compare(calls[i].tid, calls[i].end_ns, tid, time_ns) <= 0);
	return i;
}

struct asking {
	const struct sonde_history *history;
	int32_t tid;
	int64_t begin_ns, end_ns;
	sonde_history_piece_fn *piece;
	void *ctx;
};

static void history_give(const struct asking *asking,
			 struct sonde_history_piece piece)
{
	if (piece.begin_ns < piece.end_ns)
		asking->piece(asking->ctx, &piece);
}

/* A piece in and out of calls, bit by bit. */
static void give_by_calls(const struct asking *asking,
			  struct sonde_history_piece piece)
{
	const struct sonde_history *history = asking->history;
	int64_t end_ns = piece.end_ns;

	for (size_t i = first_call(history, asking->tid, piece.begin_ns);
	     i < history->nr_calls; i++) {
		const struct sonde_history_call *call = &history->calls[i];

		if (call->tid != asking->tid || call->begin_ns >= end_ns)
			break;
		if (call->begin_ns > piece.begin_ns) {
			piece.end_ns = call->begin_ns;
			piece.cause = NULL;
			history_give(asking, piece);
			piece.begin_ns = call->begin_ns;
		}
		piece.end_ns = call->end_ns < end_ns ? call->end_ns : end_ns;
		piece.cause = &call->cause;
		history_give(asking, piece);
		piece.begin_ns = piece.end_ns;
	}
	piece.end_ns = end_ns;
	piece.cause = NULL;
	history_give(asking, piece);
}

static void give_state(const struct asking *asking,
		       const struct sonde_history_state *state)
{
	struct sonde_history_piece piece = {
		.kind = (enum sonde_state_kind)state->kind,
		.begin_ns = state->begin_ns > asking->begin_ns ?
				    state->begin_ns :
				    asking->begin_ns,
		.end_ns = state->end_ns < asking->end_ns ? state->end_ns :
							   asking->end_ns,
	};

	if (state->kind != SONDE_STATE_BLOCKED) {
		give_by_calls(asking, piece);
		return;
	}
	piece.cause = &state->cause;
	piece.blocked = state;
	if (piece.end_ns == state->end_ns)
		piece.waker = &state->waker;
	history_give(asking, piece);
}

void sonde_history_pieces(const struct sonde_history *history, int32_t tid,
			  int64_t begin_ns, int64_t end_ns,
			  sonde_history_piece_fn *piece, void *ctx)
{
	const struct asking asking = {
		.history = history,
		.tid = tid,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.piece = piece,
		.ctx = ctx,
	};
	size_t i = history_count_before(history, tid, begin_ns);
	int64_t done_ns = begin_ns;

	if (i && history->states[i - 1].tid == tid &&
	    history->states[i - 1].end_ns > begin_ns)
		i--;
	for (; i < history->nr_states && history->states[i].tid == tid &&
	       history->states[i].begin_ns < end_ns;
	     i++) {
		const struct sonde_history_state *state = &history->states[i];

		history_give(&asking, (struct sonde_history_piece){
					      .kind = SONDE_STATE_UNKNOWN,
					      .begin_ns = done_ns,
					      .end_ns = state->begin_ns,
				      });
		give_state(&asking, state);
		done_ns = state->end_ns;
	}
	history_give(&asking, (struct sonde_history_piece){
				      .kind = SONDE_STATE_UNKNOWN,
				      .begin_ns = done_ns,
				      .end_ns = end_ns,
			      });
}
