/* SPDX-License-Identifier: MIT */
/*
 * key_senders.c - a pass writes down which thread had an event with which key when;
 * then each wait that is left looks at its thread's events around it, and at those of
 * other machines in it (key_senders.h).
 */
#include "analysis/reports/key_senders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/durations.h"
#include "analysis/reports/senders.h"
#include "base/grow.h"
#include "base/search.h"
#include "clock/align.h"
#include "reader/reader.h"

/* An event with a key. */
struct mention {
	uint64_t key;    /* a number, or a text's hash */
	uint64_t sort;   /* of the key: what it is, and a text's length */
	int64_t time_ns; /* by the clock of the machine with the windows */
	int32_t tid;     /* of all machines */
};

struct mentions {
	const struct sonde_durations_config *config;
	const struct sonde_host_clock *clocks;
	size_t nr_machines;
	struct mention *at; /* malloc */
	size_t nr, room;
	uint64_t left_out;
};

struct finding {
	const struct sonde_host_clock *clocks;
	size_t nr_machines;
	const struct mention *by_thread, *by_key; /* then by time */
	size_t nr;
};

/* ---- the pass ---- */

static int mentions_begin(void *memory, const void *config, bool first)
{
	(void)first; /* they are sorted later */
	*(struct mentions *)memory = *(const struct mentions *)config;
	return 0;
}

static int mentions_add(struct mentions *mentions,
			const struct mention *mention)
{
	if (mentions->nr == SONDE_SENDERS_KEYS_MAX) {
		mentions->left_out++;
		return 0;
	}
	if (SONDE_GROW(mentions->at, mentions->nr, mentions->room))
		return -ENOMEM;
	mentions->at[mentions->nr++] = *mention;
	return 0;
}

static int mentions_event(void *memory, const struct sonde_event *event)
{
	struct mentions *mentions = memory;
	size_t machine = event->stream->source->machine;
	const struct sonde_host_clock *clock = &mentions->clocks[machine];
	struct mention mention;
	struct sonde_key key;

	if (!clock->is_known || event->time_ns == SONDE_TIME_MIN ||
	    sonde_durations_key(mentions->config, event, &key) ||
	    __builtin_sub_overflow(event->time_ns, clock->offset_ns,
				   &mention.time_ns) ||
	    mention.time_ns < -SONDE_ALIGN_MAX ||
	    mention.time_ns > SONDE_ALIGN_MAX) /* so that no sum overflows */
		return 0;
	mention.key = key.number;
	mention.sort = (uint64_t)(key.kind == SONDE_KEY_TEXT) << 32 | key.space;
	mention.tid = sonde_history_tid(mentions->nr_machines, machine,
					sonde_event_tid(event));
	return mention.tid > 0 ? mentions_add(mentions, &mention) : 0;
}

static int mentions_merge(void *whole, void *part)
{
	struct mentions *to = whole;
	const struct mentions *from = part;
	int error = 0;

	for (size_t i = 0; i < from->nr && !error; i++)
		error = mentions_add(to, &from->at[i]);
	to->left_out += from->left_out;
	return error;
}

static void mentions_fini(void *memory)
{
	free(((struct mentions *)memory)->at);
}

static const struct sonde_map_ops ops =
	SONDE_MAP_OPS(struct mentions, mentions_begin, mentions_event,
		      mentions_merge, mentions_fini);

/* Which streams are of programs, for free(). */
static bool *streams_of_programs(const struct sonde_analysis_args *args)
{
	const struct sonde_trace *trace = args->trace;
	bool *streams = calloc(trace->nr_streams + 1, sizeof(*streams));

	for (size_t i = 0; streams && i < trace->nr_streams; i++) {
		const char *domain =
			sonde_source_env(trace->streams[i]->source, "domain");

		streams[i] = (!domain || strcmp(domain, "kernel") != 0) &&
			     (!args->map.streams || args->map.streams[i]);
	}
	return streams;
}

static int mentions_read(struct sonde_analysis_args *args,
			 const struct mentions *config, struct mentions *whole)
{
	struct sonde_map_options options = args->map;
	bool *streams = streams_of_programs(args);
	int error;

	if (!streams)
		return -ENOMEM;
	options.streams = streams;
	options.filter = NULL; /* it has chosen the spans */
	options.unmerged = true;
	error = sonde_map(args->trace, &options, &ops, config, whole);
	free(streams);
	return error;
}

/* ---- in order ---- */

static int mention_compare_times(const struct mention *a,
				 const struct mention *b)
{
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int mention_compare_threads(const void *one, const void *other)
{
	const struct mention *a = one;
	const struct mention *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return mention_compare_times(a, b);
}

static bool mention_is_of(const struct mention *a, const struct mention *b)
{
	return a->key == b->key && a->sort == b->sort;
}

static int mention_compare_keys(const void *one, const void *other)
{
	const struct mention *a = one;
	const struct mention *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->sort != b->sort)
		return a->sort < b->sort ? -1 : 1;
	return mention_compare_times(a, b);
}

/* ---- whose a wait is ---- */

static size_t mention_machine(const struct finding *finding, int32_t tid)
{
	return sonde_history_machine(finding->nr_machines, tid);
}

/* How far apart the times of two threads' events can be from what they seem. */
static int64_t mention_bound(const struct finding *finding, int32_t one,
			     int32_t other)
{
	size_t a = mention_machine(finding, one);
	size_t b = mention_machine(finding, other);

	return a == b ? 0 :
			finding->clocks[a].bound_ns +
				finding->clocks[b].bound_ns;
}

/* What the thread works for during the wait; NULL: for nothing that is known. */
static const struct mention *
mention_around(const struct finding *finding,
	       const struct sonde_history_state *state)
{
	const struct mention begin = { .tid = state->tid,
				       .time_ns = state->begin_ns };
	const struct mention *at = finding->by_thread;
	size_t i;

	SONDE_SEARCH(i, finding->nr,
		     mention_compare_threads(&at[i], &begin) <= 0);
	if (!i || i == finding->nr || at[i - 1].tid != state->tid ||
	    at[i].tid != state->tid || at[i].time_ns < state->end_ns ||
	    !mention_is_of(&at[i - 1], &at[i]))
		return NULL;
	return &at[i - 1];
}

/* Whether another one than `first` may have been before it, in the wait. */
static bool mention_has_rival(const struct finding *finding, size_t i,
			      const struct mention *first,
			      const struct sonde_history_state *state)
{
	for (; i < finding->nr && mention_is_of(&finding->by_key[i], first);
	     i++) {
		const struct mention *other = &finding->by_key[i];
		int64_t bound_ns =
			mention_bound(finding, other->tid, first->tid);

		if (other->time_ns > state->end_ns)
			break;
		if (other->tid != first->tid &&
		    other->time_ns - first->time_ns <= bound_ns &&
		    mention_machine(finding, other->tid) !=
			    mention_machine(finding, state->tid))
			return true;
	}
	return false;
}

/* From the first that may be in the wait. */
static void look_in_wait(const struct finding *finding, size_t i,
			 struct sonde_history_state *state,
			 const struct mention *key)
{
	const struct mention *first = NULL;
	struct sonde_waker waker = { .kind = SONDE_WAKER_SENDER,
				     .is_by_key = true };
	size_t place = i;

	for (; i < finding->nr && mention_is_of(&finding->by_key[i], key);
	     i++) {
		const struct mention *at = &finding->by_key[i];
		int64_t bound_ns = mention_bound(finding, at->tid, state->tid);

		if (at->time_ns > state->end_ns)
			break;
		if (mention_machine(finding, at->tid) ==
			    mention_machine(finding, state->tid) ||
		    at->time_ns + bound_ns <= state->begin_ns)
			continue;
		if (!first) {
			first = at;
			place = i;
			if (at->time_ns - bound_ns <= state->begin_ns ||
			    at->time_ns + bound_ns >= state->end_ns)
				waker.kind = SONDE_WAKER_UNORDERED;
		}
		if (at->tid == first->tid)
			waker.sent_ns = at->time_ns;
	}
	if (!first)
		return;
	waker.tid = first->tid;
	if (mention_has_rival(finding, place, first, state))
		waker.kind = SONDE_WAKER_UNORDERED;
	state->waker = waker;
}

static void look_at_wait(const struct finding *finding, int64_t widest_ns,
			 struct sonde_history_state *state)
{
	const struct mention *key = mention_around(finding, state);
	struct mention begin;
	size_t i;

	if (!key)
		return;
	begin = *key;
	if (__builtin_sub_overflow(state->begin_ns, 2 * widest_ns,
				   &begin.time_ns))
		return;
	SONDE_SEARCH(i, finding->nr,
		     mention_compare_keys(&finding->by_key[i], &begin) < 0);
	look_in_wait(finding, i, state, key);
}

static int look_at_waits(const struct mentions *mentions,
			 struct sonde_history *history)
{
	struct mention *by_key = calloc(mentions->nr, sizeof(*by_key));
	const struct finding finding = {
		.clocks = mentions->clocks,
		.nr_machines = mentions->nr_machines,
		.by_thread = mentions->at,
		.by_key = by_key,
		.nr = mentions->nr,
	};
	int64_t widest_ns = 0;

	if (!by_key)
		return -ENOMEM;
	memcpy(by_key, mentions->at, mentions->nr * sizeof(*by_key));
	qsort(by_key, mentions->nr, sizeof(*by_key), mention_compare_keys);
	qsort(mentions->at, mentions->nr, sizeof(*by_key),
	      mention_compare_threads);
	for (size_t i = 0; i < mentions->nr_machines; i++)
		if (mentions->clocks[i].is_known &&
		    mentions->clocks[i].bound_ns > widest_ns)
			widest_ns = mentions->clocks[i].bound_ns;
	for (size_t i = 0; i < history->nr_states; i++)
		if (history->states[i].kind == SONDE_STATE_BLOCKED &&
		    sonde_senders_may_be_bytes(&history->states[i].waker))
			look_at_wait(&finding, widest_ns, &history->states[i]);
	free(by_key);
	return 0;
}

int sonde_senders_find_by_key(struct sonde_analysis_args *args,
			      struct sonde_history *history,
			      const struct sonde_host_clock *clocks,
			      uint64_t *ret_left_out)
{
	const struct sonde_durations_config config = {
		.key = args->key,
		.key_class = args->key_class,
	};
	const struct mentions begin = {
		.config = &config,
		.clocks = clocks,
		.nr_machines = history->nr_machines,
	};
	struct mentions whole = { .nr = 0 };
	int error = mentions_read(args, &begin, &whole);

	if (!error && whole.nr)
		error = look_at_waits(&whole, history);
	*ret_left_out = whole.left_out;
	mentions_fini(&whole);
	return error;
}
