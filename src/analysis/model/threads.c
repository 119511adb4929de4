/* SPDX-License-Identifier: MIT */
/*
 * threads.c - what threads wait for, and who they are (state.h).
 *
 * A thread is unknown until a step names it; then it runs, is ready or blocked.
 * Blocked it is from when it stops running until it is woken, ready from then, or
 * from when it loses its CPU, until it runs. Each is an interval, which is emitted
 * at its end, before the thread's state changes; one whose begin is not in the
 * trace is none. Thread 0 idles, on each CPU, and waits for nothing.
 */
#include <string.h>

#include "analysis/model/state.h"
#include "reader/reader.h"

/* Where and why it was blocked, and until who woke it. */
static void threads_explain(struct sonde_model *kernel,
			    const struct sonde_step *step,
			    const struct sonde_model_thread *thread,
			    struct sonde_interval *interval)
{
	interval->blocked.stack = thread->stack;
	if (step->kind == SONDE_STEP_WAKE)
		interval->blocked.waker_stack = step->stack;
	if (!(kernel->tables->wants & SONDE_WANT_CAUSES))
		return;
	sonde_model_cause(kernel, thread, &interval->blocked.cause);
	interval->blocked.waker.tid = -1;
	if (step->kind == SONDE_STEP_WAKE)
		sonde_model_waker(kernel, step, thread,
				  &interval->blocked.waker);
}

/* A thread's wait ends. */
static void emit_wait(struct sonde_model *kernel, const struct sonde_step *step,
		      struct sonde_model_thread *thread, int32_t prio)
{
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_BLOCKED,
		.cpu = step->cpu,
		.tid = (int32_t)thread->key.number,
		.begin_ns = thread->since_ns,
		.end_ns = step->time_ns,
	};

	if (thread->sched == SONDE_SCHED_READY) {
		interval.kind = SONDE_INTERVAL_READY;
		interval.ready.woken = thread->woken;
		interval.ready.waker_kind = thread->waker_kind;
		interval.ready.waker = -1;
		if (thread->woken)
			interval.ready.waker =
				sonde_model_real_tid(kernel, thread->waker);
		interval.ready.prio = prio;
		interval.ready.moved =
			thread->cpu >= 0 && thread->cpu != step->cpu;
	} else {
		threads_explain(kernel, step, thread, &interval);
	}
	if (thread->call != SONDE_OPEN_NO)
		thread->off_cpu_ns += (uint64_t)sonde_elapsed_ns(
			thread->since_ns, step->time_ns);
	sonde_model_emit(kernel, step, &interval);
}

void sonde_model_on_run_begin(struct sonde_model *kernel,
			      const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[SWITCH_NEXT]);
	struct sonde_model_thread *thread;

	/* Every CPU has an idle thread 0, which waits for nothing. */
	thread = tid > 0 ? sonde_model_thread(kernel, tid) : NULL;
	if (!thread)
		return;
	if (thread->sched == SONDE_SCHED_UNKNOWN && kernel->is_part)
		sonde_model_journal(kernel, step);
	if (thread->sched == SONDE_SCHED_READY ||
	    thread->sched == SONDE_SCHED_BLOCKED)
		emit_wait(kernel, step, thread,
			  (int32_t)step->numbers[RUN_BEGIN_PRIO]);
	thread->sched = SONDE_SCHED_RUNNING;
	thread->cpu = step->cpu;
	sonde_model_thread_set_name(kernel, step, thread, step->texts[1],
				    step->lengths[1]);
}

#define UNINTERRUPTIBLE 2

static void on_run_out(struct sonde_model *kernel,
		       const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[SWITCH_PREV]);
	int64_t state = step->numbers[SWITCH_STATE];
	struct sonde_model_thread *thread;

	thread = tid > 0 ? sonde_model_thread(kernel, tid) : NULL;
	if (!thread)
		return;
	thread->sched = sonde_step_can_run(state) ? SONDE_SCHED_READY :
						    SONDE_SCHED_BLOCKED;
	thread->woken = false;
	thread->cpu = step->cpu;
	thread->since_ns = step->time_ns;
	thread->uninterruptible = (state & 0xff) == UNINTERRUPTIBLE;
	thread->stack = step->stack;
	if (kernel->tables->wants & SONDE_WANT_CAUSES)
		thread->holder = sonde_model_holder(kernel, thread);
	if (state & (kernel->tables->old_states ? 0x70 : 0x30)) {
		thread->sched = SONDE_SCHED_NONE;
		thread->cpu = -1;
		thread->call = SONDE_OPEN_NO;
	}
	sonde_model_thread_set_name(kernel, step, thread, step->texts[0],
				    step->lengths[0]);
}

void sonde_model_on_switch(struct sonde_model *kernel,
			   const struct sonde_step *step)
{
	struct sonde_step one;

	/* Only a part's journal has one half without the other. */
	if (!kernel->is_part) {
		sonde_model_on_run_end(kernel, step);
		on_run_out(kernel, step);
		sonde_model_on_run_begin(kernel, step);
		return;
	}
	one = *step;
	one.kind = SONDE_STEP_RUN_END;
	sonde_model_on_run_end(kernel, &one);
	on_run_out(kernel, step);
	one.kind = SONDE_STEP_RUN_BEGIN;
	sonde_model_on_run_begin(kernel, &one);
}

void sonde_model_on_wake(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[WAKE_TID]);
	struct sonde_model_thread *thread;

	thread = tid > 0 ? sonde_model_thread(kernel, tid) : NULL;
	if (!thread)
		return;
	sonde_model_thread_set_name(kernel, step, thread, step->texts[0],
				    step->lengths[0]);
	if (thread->sched == SONDE_SCHED_UNKNOWN && kernel->is_part) {
		/* If the first one means nothing, later ones don't either. */
		if (!thread->wake_asked)
			sonde_model_journal(kernel, step);
		thread->wake_asked = true;
		return;
	}
	if (thread->sched == SONDE_SCHED_RUNNING ||
	    thread->sched == SONDE_SCHED_READY)
		return;
	if (thread->sched == SONDE_SCHED_BLOCKED)
		emit_wait(kernel, step, thread, 0);
	thread->sched = SONDE_SCHED_READY;
	thread->woken = true;
	thread->waker = step->tid;
	thread->waker_kind = sonde_model_said_waker(step);
	thread->since_ns = step->time_ns;
}

void sonde_model_on_fork(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[FORK_CHILD]);
	struct sonde_model_thread *child;
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_FORK,
		.cpu = step->cpu,
		.tid = step->tid,
		.begin_ns = step->time_ns,
		.end_ns = step->time_ns,
		.fork.child = tid,
	};

	child = tid > 0 ? sonde_model_thread(kernel, tid) : NULL;
	if (!child)
		return;
	child->sched = SONDE_SCHED_NONE;
	child->cpu = -1;
	child->call = SONDE_OPEN_NO;
	child->has_pid = (step->has >> FORK_CHILD_PID) & 1;
	child->guessed = !child->has_pid;
	child->pid = sonde_step_tid(step->numbers[FORK_CHILD_PID]);
	child->ppid = (step->has >> FORK_PARENT_PID) & 1 ?
			      sonde_step_tid(step->numbers[FORK_PARENT_PID]) :
			      -1;
	if (child->guessed && kernel->tables->wants & SONDE_WANT_CAUSES)
		child->ppid = sonde_model_thread_pid(kernel, step->known_tid);
	sonde_model_thread_set_name(kernel, step, child, step->texts[0],
				    step->lengths[0]);
	sonde_model_emit(kernel, step, &interval);
	if (kernel->tables->wants & SONDE_WANT_FILES)
		sonde_model_journal(kernel, step);
}

void sonde_model_on_exec(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	struct sonde_model_thread *thread = sonde_model_thread(
		kernel, sonde_step_tid(step->numbers[TASK_TID]));
	const char *path = step->texts[0];
	const char *slash;

	sonde_model_on_renumber(kernel, step);
	if (!thread || !path)
		return;
	slash = memrchr(path, '/', step->lengths[0]);
	slash = slash ? slash + 1 : path;
	sonde_model_thread_set_name(kernel, step, thread, slash,
				    step->lengths[0] - (size_t)(slash - path));
	thread->mapped_since = kernel->next_mapping;
}

void sonde_model_on_exit(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	if (kernel->tables->wants & SONDE_WANT_FILES)
		sonde_model_journal(kernel, step);
}

void sonde_model_on_process(struct sonde_model *kernel,
			    const struct sonde_step *step)
{
	struct sonde_model_thread *thread = sonde_model_thread(
		kernel, sonde_step_tid(step->numbers[TASK_TID]));

	if (!thread)
		return;
	thread->has_pid = true;
	thread->guessed = false;
	thread->pid = sonde_step_tid(step->numbers[TASK_PID]);
	if ((step->has >> TASK_PPID) & 1)
		thread->ppid = sonde_step_tid(step->numbers[TASK_PPID]);
	sonde_model_thread_set_name(kernel, step, thread, step->texts[0],
				    step->lengths[0]);
	if (kernel->tables->wants & SONDE_WANT_FILES)
		sonde_model_journal(kernel, step);
}

/* The step's thread, whose process is known by now; NULL: there is no room. */
static struct sonde_model_thread *member_thread(struct sonde_model *kernel,
						const struct sonde_step *step)
{
	struct sonde_model_thread *thread = sonde_model_thread(
		kernel, sonde_step_tid(step->numbers[TASK_TID]));

	if (!thread || (thread->has_pid && !thread->guessed))
		return thread;
	thread->has_pid = true;
	thread->guessed = false;
	thread->pid = sonde_step_tid(step->numbers[TASK_PID]);
	return thread;
}

void sonde_model_on_member(struct sonde_model *kernel,
			   const struct sonde_step *step)
{
	(void)member_thread(kernel, step);
}

void sonde_model_on_named(struct sonde_model *kernel,
			  const struct sonde_step *step)
{
	struct sonde_model_thread *thread = member_thread(kernel, step);

	if (thread)
		sonde_model_thread_set_name(kernel, step, thread,
					    step->texts[0], step->lengths[0]);
}

void sonde_model_on_origin(struct sonde_model *kernel,
			   const struct sonde_step *step)
{
	struct sonde_model_thread *thread = member_thread(kernel, step);

	if (thread)
		thread->ppid = sonde_step_tid(step->numbers[TASK_PPID]);
}

void sonde_model_cut_wait(struct sonde_model *kernel,
			  const struct sonde_step *end,
			  const struct sonde_model_thread *thread)
{
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_BLOCKED,
		.open = true,
		.cpu = end->cpu,
		.tid = end->tid,
		.begin_ns = thread->since_ns,
		.end_ns = end->time_ns,
	};

	if (thread->sched == SONDE_SCHED_READY) {
		interval.kind = SONDE_INTERVAL_READY;
		interval.ready.woken = thread->woken;
		interval.ready.waker = -1;
		interval.ready.prio = SONDE_PRIO_UNKNOWN;
	} else if (thread->sched != SONDE_SCHED_BLOCKED) {
		return;
	} else {
		threads_explain(kernel, end, thread, &interval);
	}
	sonde_model_emit(kernel, end, &interval);
}
