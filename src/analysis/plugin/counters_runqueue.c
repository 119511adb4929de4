/* SPDX-License-Identifier: MIT */
/*
 * counters_runqueue.c - how many threads can run on each CPU (counters.h): the one that
 * runs, and those that wait for it there.
 *
 * Events say who joins a queue and who leaves it, not who is in it: who waits since
 * before the trace began, or events were lost, is counted from when it runs, and until
 * then a queue has at least as many as are told. A CPU that begins to idle has
 * nobody left. A thread is in one queue at most: where it woke, where it lost its CPU,
 * to where it was moved, or where it runs.
 *
 *	invariant	`nr` of a CPU is how many threads of the table have its number
 *			and its generation
 *
 * The kernel moves a thread that it wakes before it says that it woke: so one that is in
 * no queue isn't counted when it is moved.
 *
 * sched_waking isn't looked at: which CPU the thread will get isn't known then.
 *
 * Memory: 32 bytes for each of THREADS threads; further ones are not counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/model/steps.h"
#include "analysis/plugin/counters.h"
#include "analysis/plugin/run.h"
#include "base/hash.h"
#include "base/port.h"

#define THREADS ((size_t)7 << 16)

enum {
	RUNQUEUE_SWITCH = 1,
	RUNQUEUE_WAKEUP,
	RUNQUEUE_MOVE,
};

enum { /* the events' fields */
	SWITCH_FROM = 0,
	SWITCH_FROM_STATE = 1,
	SWITCH_TO = 2,
	QUEUED_TID = 0,
	QUEUED_CPU = 1,
};

struct queued_thread {
	struct sonde_key key;
	uint32_t cpu, generation;
};

struct runqueue {
	uint32_t nr;
	uint32_t generation; /* how often it was found empty */
	uint32_t told;
	bool is_told;
	int counter; /* if it is */
};

struct runqueue_state {
	struct sonde_journal_binding *bindings;
	struct sonde_hash threads;
	uint64_t epoch;
	struct runqueue queues[SONDE_MODEL_CPUS];
};

static bool is_in_queue(const struct runqueue_state *state,
			const struct queued_thread *thread)
{
	return thread &&
	       state->queues[thread->cpu].generation == thread->generation;
}

static int take_runqueue(struct sonde_plugin_run *run, uint32_t cpu,
			 int *ret_counter)
{
	char name[48];

	(void)snprintf(name, sizeof(name), "CPU %" PRIu32 " run queue", cpu);
	*ret_counter = sonde_plugin_counter_number(run, name, "threads");
	return *ret_counter < 0 && *ret_counter != -E2BIG ? *ret_counter : 0;
}

/* How many it has, if that is new. */
static int tell_queue(struct runqueue_state *state,
		      struct sonde_plugin_run *run, uint32_t cpu,
		      int64_t time_ns)
{
	struct runqueue *queue = &state->queues[cpu];
	int err = 0;

	if (queue->is_told && queue->told == queue->nr)
		return 0;
	if (!queue->is_told)
		err = take_runqueue(run, cpu, &queue->counter);
	queue->is_told = true;
	queue->told = queue->nr;
	return err ? err :
		     sonde_plugin_count(run, queue->counter, time_ns,
					queue->nr);
}

static struct sonde_key queued_key(uint64_t tid)
{
	return sonde_key_make(SONDE_KEY_UINT, (uint32_t)tid, 0);
}

static int leave_queue(struct runqueue_state *state,
		       struct sonde_plugin_run *run, uint64_t tid,
		       int64_t time_ns)
{
	const struct sonde_key key = queued_key(tid);
	struct queued_thread *thread = sonde_hash_get(&state->threads, &key);
	uint32_t cpu;

	if (!thread)
		return 0;
	cpu = thread->cpu;
	if (is_in_queue(state, thread))
		state->queues[cpu].nr--;
	sonde_hash_remove(&state->threads, thread);
	return tell_queue(state, run, cpu, time_ns);
}

/* From the queue that it is in, if it is in one. To be told still. */
static int join_queue(struct runqueue_state *state,
		      struct sonde_plugin_run *run, uint64_t tid, uint32_t cpu,
		      int64_t time_ns)
{
	const struct sonde_key key = queued_key(tid);
	struct queued_thread *thread = sonde_hash_get(&state->threads, &key);
	int err = 0;

	if (is_in_queue(state, thread) && thread->cpu == cpu)
		return 0;
	if (thread)
		err = leave_queue(state, run, tid, time_ns);
	if (err)
		return err;
	thread = sonde_hash_put(&state->threads, &key);
	if (!thread)
		return sonde_hash_error(&state->threads) == -E2BIG ? 0 :
								     -ENOMEM;
	thread->cpu = cpu;
	thread->generation = state->queues[cpu].generation;
	state->queues[cpu].nr++;
	return 0;
}

/* ---- events ---- */

/* The thread that leaves its CPU. */
static int play_switch_out(struct runqueue_state *state,
			   struct sonde_plugin_run *run, const uint64_t *words,
			   uint32_t cpu, int64_t time_ns)
{
	uint64_t tid = words[SWITCH_FROM];

	if (!tid)
		return 0;
	return sonde_step_can_run((int64_t)words[SWITCH_FROM_STATE]) ?
		       join_queue(state, run, tid, cpu, time_ns) :
		       leave_queue(state, run, tid, time_ns);
}

static int play_switch(struct runqueue_state *state,
		       struct sonde_plugin_run *run,
		       const struct sonde_event *event, const uint64_t *words)
{
	int32_t cpu = sonde_event_cpu(event);
	int64_t time_ns = event->time_ns;
	int err;

	if (cpu < 0 || cpu >= SONDE_MODEL_CPUS)
		return 0;
	err = play_switch_out(state, run, words, (uint32_t)cpu, time_ns);
	if (!err && words[SWITCH_TO])
		err = join_queue(state, run, words[SWITCH_TO], (uint32_t)cpu,
				 time_ns);
	if (!words[SWITCH_TO]) {
		state->queues[cpu].nr = 0;
		state->queues[cpu].generation++;
	}
	return err ? err : tell_queue(state, run, (uint32_t)cpu, time_ns);
}

static int play_queued(struct runqueue_state *state,
		       struct sonde_plugin_run *run, uint32_t op,
		       const uint64_t *words, int64_t time_ns)
{
	const struct sonde_key key = queued_key(words[QUEUED_TID]);
	uint32_t cpu = (uint32_t)words[QUEUED_CPU];
	int err;

	if (!words[QUEUED_TID] || words[QUEUED_CPU] >= SONDE_MODEL_CPUS)
		return 0;
	if (op == RUNQUEUE_MOVE &&
	    !is_in_queue(state, sonde_hash_get(&state->threads, &key)))
		return 0;
	err = join_queue(state, run, words[QUEUED_TID], cpu, time_ns);
	return err ? err : tell_queue(state, run, cpu, time_ns);
}

static void forget_queues(struct runqueue_state *state, uint64_t epoch)
{
	for (uint32_t i = 0; i < SONDE_MODEL_CPUS; i++)
		state->queues[i] = (struct runqueue){ 0 };
	sonde_hash_fini(&state->threads);
	sonde_hash_init(&state->threads, sizeof(struct queued_thread), THREADS);
	state->epoch = epoch;
}

static int runqueue_hook(void *memory, struct sonde_plugin_run *run,
			 const struct sonde_event *event, const void *data)
{
	struct runqueue_state *state = memory;
	uint64_t words[SONDE_JOURNAL_WORDS];
	uint32_t op = sonde_journal_words(state->bindings, event, words);
	uint64_t epoch = sonde_plugin_epoch(run);

	(void)data;
	if (epoch != state->epoch)
		forget_queues(state, epoch);
	if (op == RUNQUEUE_SWITCH)
		return play_switch(state, run, event, words);
	return op ? play_queued(state, run, op, words, event->time_ns) : 0;
}

/* ---- as rows ---- */

/* clang-format off */
static const struct sonde_journal_form runqueue_forms[] = {
	{ "sched_switch", RUNQUEUE_SWITCH,
	  { "prev_tid", "prev_state", "next_tid" } },
	{ "sched_wakeup", RUNQUEUE_WAKEUP, { "tid", "target_cpu" } },
	{ "sched_wakeup_new", RUNQUEUE_WAKEUP, { "tid", "target_cpu" } },
	{ "sched_migrate_task", RUNQUEUE_MOVE,
	  { "tid", "dest_cpu" } },
	/* as perf converts them; its pid is a thread's */
	{ "sched:sched_switch", RUNQUEUE_SWITCH,
	  { "prev_pid", "prev_state", "next_pid" } },
	{ "sched:sched_wakeup", RUNQUEUE_WAKEUP, { "pid", "target_cpu" } },
	{ "sched:sched_wakeup_new", RUNQUEUE_WAKEUP, { "pid", "target_cpu" } },
	{ "sched:sched_migrate_task", RUNQUEUE_MOVE,
	  { "pid", "dest_cpu" } },
};
/* clang-format on */

/* Without one of them a queue would be told wrong. */
static bool has_all_runqueue_events(const struct sonde_trace *trace)
{
	const char *const needed[] = { "*sched_switch", "*sched_wakeup",
				       "*sched_wakeup_new",
				       "*sched_migrate_task" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(needed); i++)
		if (!sonde_plugin_counter_has(trace, needed[i]))
			return false;
	return true;
}

static int runqueue_begin(void *memory, const void *config,
			  struct sonde_plugin_run *run)
{
	struct runqueue_state *state = memory;

	(void)config;
	if (!has_all_runqueue_events(sonde_plugin_trace(run)))
		return -ENODATA;
	forget_queues(state, 0);
	return sonde_plugin_counter_on_all(run, runqueue_forms,
					   SONDE_ARRAY_SIZE(runqueue_forms),
					   runqueue_hook, &state->bindings);
}

static void runqueue_fini(void *memory)
{
	struct runqueue_state *state = memory;

	sonde_hash_fini(&state->threads);
	free(state->bindings);
}

const struct sonde_plugin_rows sonde_plugin_counter_runqueue = {
	.size = sizeof(sonde_plugin_counter_runqueue),
	.name = "runqueue",
	.summary = "threads that can run on each CPU",
	.state_bytes = sizeof(struct runqueue_state),
	.begin = runqueue_begin,
	.fini = runqueue_fini,
};
