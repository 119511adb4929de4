/* SPDX-License-Identifier: MIT */
/*
 * replay.c - a kernel's state that takes all steps in the order of time (replay.h).
 *
 * A part of the trace is decoded to a journal of steps on any CPU; parts are
 * merged in their order, and merging replays the journal. So the state never has
 * to be joined. Which process a thread is of is written once for each part, and
 * again after its fork.
 */
#include "analysis/model/replay.h"

#include <errno.h>

#include "analysis/model/state.h"
#include "reader/reader.h"

#define SLICE_BYTES ((uint64_t)1 << 20)

struct config {
	const struct sonde_model_tables *tables;
	const struct sonde_model_sink_ops *ops;
	void *sink;
};

/* A part's state is only its journal. */
struct part {
	struct sonde_model *kernel;
};

static int part_begin(void *memory, const void *config_memory, bool first)
{
	const struct config *config = config_memory;
	struct part *part = memory;

	(void)first;
	part->kernel =
		sonde_model_new(config->tables, config->ops, config->sink);
	return part->kernel ? 0 : -ENOMEM;
}

/* Whose thread it is, said once in a part, and again after its fork; the first
 * word counts, until the kernel says otherwise. */
static void learn_process(struct sonde_model *part,
			  const struct sonde_event *event)
{
	int32_t tid = sonde_event_own_tid(event);
	int32_t pid = tid > 0 ? sonde_event_own_pid(event) : -1;
	struct sonde_model_thread *thread;

	if (pid <= 0)
		return;
	thread = sonde_model_thread(part, tid);
	if (!thread || thread->has_pid)
		return;
	thread->has_pid = true;
	sonde_model_journal(part,
			    &(struct sonde_step){
				    .kind = SONDE_STEP_MEMBER,
				    .time_ns = event->time_ns,
				    .tid = tid,
				    .has = 1u << TASK_TID | 1u << TASK_PID,
				    .numbers[TASK_TID] = tid,
				    .numbers[TASK_PID] = pid,
			    });
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct sonde_model *part = ((struct part *)memory)->kernel;
	struct sonde_model_thread *thread;
	struct sonde_step *step;
	struct sonde_step none;

	part->is_part = true;
	if (part->ops->seen)
		part->ops->seen(part->sink, event->time_ns);
	if (event->time_ns < part->first_ns)
		part->first_ns = event->time_ns;
	if (event->time_ns > part->last_ns)
		part->last_ns = event->time_ns;
	learn_process(part, event);
	step = sonde_model_journal_room(part);
	if (!sonde_step_read(part->tables, event, step ? step : &none))
		return 0;
	if (!step) {
		part->left_out++;
		return 0;
	}
	if (step->kind == SONDE_STEP_FORK) {
		thread = sonde_model_thread(
			part, sonde_step_tid(step->numbers[FORK_CHILD]));
		if (thread)
			thread->has_pid = false;
	}
	sonde_model_journal_end(part);
	return 0;
}

static int part_merge(void *whole_memory, void *memory)
{
	struct sonde_model *whole = ((struct part *)whole_memory)->kernel;
	struct sonde_model *part = ((struct part *)memory)->kernel;

	if (part->first_ns < whole->first_ns)
		whole->first_ns = part->first_ns;
	if (part->last_ns > whole->last_ns)
		whole->last_ns = part->last_ns;
	for (size_t i = 0; i < part->nr_journal; i++)
		sonde_model_take(whole, &part->journal[i]);
	whole->left_out += part->left_out;
	return 0;
}

static void part_fini(void *memory)
{
	sonde_model_free(((struct part *)memory)->kernel);
}

static const struct sonde_map_ops map_ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

int sonde_model_replay_trace(struct sonde_trace *trace,
			     const struct sonde_map_options *options,
			     const struct sonde_model_tables *tables,
			     const struct sonde_model_sink_ops *ops, void *sink,
			     struct sonde_model **ret_kernel)
{
	const struct config config = {
		.tables = tables,
		.ops = ops,
		.sink = sink,
	};
	struct sonde_map_options all = *options;
	struct part whole = { 0 };
	int error;

	all.filter = NULL;
	all.unmerged = false;
	if (!all.slice_bytes)
		all.slice_bytes = SLICE_BYTES;
	error = sonde_map(trace, &all, &map_ops, &config, &whole);
	if (error) {
		part_fini(&whole);
		return error;
	}
	sonde_model_close(whole.kernel);
	*ret_kernel = whole.kernel;
	return 0;
}
