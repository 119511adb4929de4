/* SPDX-License-Identifier: MIT */
/*
 * counters_heap.c - the bytes that processes have from malloc() and its like, when
 * (counters.h): what the heap of `sonde report malloc` (reports/heap.h) has in use.
 *
 * One heap has the blocks of all processes; by how much an event changes it is its
 * process's. Where events were lost it begins anew, without a block: one of before that
 * is freed later is not known, and changes nothing.
 *
 * Memory: that of a heap of BLOCKS blocks; then the counters end, for what they would
 * be isn't known.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/plugin/counters.h"
#include "analysis/plugin/run.h"
#include "analysis/reports/heap.h"

#define BLOCKS ((size_t)7 << 17) /* 7/8 of 1 Mi */

struct heap_state {
	struct sonde_journal_binding *bindings;
	struct sonde_heap heap;
	uint64_t epoch;
	bool is_full;
	/* the process that was asked for last */
	int32_t pid;
	int counter;
};

static void begin_counted_heap(struct heap_state *state)
{
	sonde_heap_init(&state->heap);
	state->heap.blocks.limit = BLOCKS;
}

static int take_heap_counter(struct heap_state *state,
			     struct sonde_plugin_run *run, int32_t pid)
{
	char name[48];

	if (pid == state->pid)
		return state->counter;
	(void)snprintf(name, sizeof(name), "heap of %" PRId32, pid);
	state->counter = sonde_plugin_counter_number(run, name, "bytes");
	state->pid = pid;
	return state->counter;
}

/* By how much the event changes its process's; -E2BIG: there are too many blocks. */
static int play_counted_heap(struct heap_state *state,
			     const struct sonde_journal_entry *entry,
			     double *ret_change)
{
	uint64_t before = state->heap.live_bytes;
	int err = sonde_heap_replay(&state->heap, entry);

	*ret_change = (double)(int64_t)(state->heap.live_bytes - before);
	return err;
}

static int heap_hook(void *memory, struct sonde_plugin_run *run,
		     const struct sonde_event *event, const void *data)
{
	struct heap_state *state = memory;
	uint64_t epoch = sonde_plugin_epoch(run);
	struct sonde_journal_entry entry;
	double change;
	int err;

	(void)data;
	if (state->is_full ||
	    !sonde_journal_read(state->bindings, event, &entry))
		return 0;
	if (epoch != state->epoch) {
		sonde_heap_fini(&state->heap);
		begin_counted_heap(state);
		state->epoch = epoch;
	}
	err = play_counted_heap(state, &entry, &change);
	state->is_full = err == -E2BIG;
	if (state->is_full)
		return sonde_plugin_forget(run, event->time_ns);
	return err ? err :
		     sonde_plugin_counter_add(
			     run, take_heap_counter(state, run, entry.pid),
			     event, change);
}

static int heap_counter_begin(void *memory, const void *config,
			      struct sonde_plugin_run *run)
{
	struct heap_state *state = memory;

	(void)config;
	begin_counted_heap(state);
	state->pid = INT32_MIN;
	return sonde_plugin_counter_on(run, sonde_heap_forms,
				       sonde_heap_nr_forms, heap_hook,
				       &state->bindings);
}

static void heap_counter_fini(void *memory)
{
	struct heap_state *state = memory;

	sonde_heap_fini(&state->heap);
	free(state->bindings);
}

const struct sonde_plugin_rows sonde_plugin_counter_heap = {
	.size = sizeof(sonde_plugin_counter_heap),
	.name = "heap",
	.summary = "bytes that processes have from malloc()",
	.state_bytes = sizeof(struct heap_state),
	.begin = heap_counter_begin,
	.fini = heap_counter_fini,
};
