/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the system call of each thread.
 */
#include <string.h>

#include "analysis/model/state.h"

/* FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_LOCK_PI2: glibc's mutexes and rwlocks wait
 * so; with a bit set (FUTEX_WAIT_BITSET) all kinds of things do. */
static uint8_t futex_sort(int64_t operation)
{
	enum {
		WAIT = 0,
		LOCK_PI = 6,
		LOCK_PI2 = 13,
	};
	int64_t command = operation & 0x7f;

	return command == WAIT || command == LOCK_PI || command == LOCK_PI2 ?
		       SONDE_LOCK_SORT_FUTEX :
		       SONDE_LOCK_SORT_NONE;
}

/* What says what the call waits for. */
static void note_cause(struct sonde_model_thread *thread,
		       const struct sonde_step *step)
{
	thread->address = (uint64_t)step->numbers[CALL_ADDRESS];
	thread->length = (uint64_t)step->numbers[CALL_LENGTH];
	thread->offset = (uint64_t)step->numbers[CALL_OFFSET];
	thread->lock_sort = SONDE_LOCK_SORT_NONE;
	if ((step->has >> CALL_ADDRESS) & 1 &&
	    (step->has >> CALL_OPERATION) & 1)
		thread->lock_sort = futex_sort(step->numbers[CALL_OPERATION]);
}

static void note_change(struct sonde_model_thread *thread,
			const struct sonde_step *step)
{
	thread->change = (struct sonde_model_change){
		.flags = (step->has >> CALL_FLAGS) & 1 ?
				 step->numbers[CALL_FLAGS] :
				 -1,
		.command = (step->has >> CALL_COMMAND) & 1 ?
				   step->numbers[CALL_COMMAND] :
				   -1,
		.argument = step->numbers[CALL_ARGUMENT],
	};
	thread->address = 0;
	thread->lock_sort = SONDE_LOCK_SORT_NONE;
}

/* A program's event, unlike the kernel's, says whose thread it is. */
static void note_process(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	struct sonde_step process = *step;

	process.kind = SONDE_STEP_PROCESS;
	process.has = 0;
	process.numbers[TASK_TID] = step->tid;
	process.numbers[TASK_PID] = step->own_pid;
	process.texts[0] = NULL;
	sonde_model_on_process(kernel, &process);
}

void sonde_model_on_call(struct sonde_model *kernel,
			 const struct sonde_step *step)
{
	struct sonde_model_thread *thread =
		sonde_model_thread(kernel, step->tid);

	if (!thread)
		return;
	if (step->own_pid > 0 && !thread->has_pid)
		note_process(kernel, step);
	thread->call = SONDE_OPEN_YES;
	thread->role = step->role;
	thread->call_id = step->call;
	thread->call_ns = step->time_ns;
	thread->off_cpu_ns = 0;
	thread->fd = (step->has >> CALL_FD) & 1 ?
			     (int32_t)step->numbers[CALL_FD] :
			     -1;
	thread->path = NULL;
	thread->returned = false;
	thread->faulted = false;
	if (sonde_file_role_changes(step->role))
		note_change(thread, step);
	else if (kernel->tables->wants & SONDE_WANT_CAUSES)
		note_cause(thread, step);
	if (step->role == SONDE_FILE_OPEN &&
	    kernel->tables->wants & SONDE_WANT_FILES)
		thread->path = sonde_model_text(kernel, step->texts[0],
						step->lengths[0]);
}

/* A call that concerns files has returned. */
static void file_call(struct sonde_model *kernel, const struct sonde_step *step,
		      const struct sonde_model_thread *was)
{
	struct sonde_step file = {
		.kind = SONDE_STEP_FILE,
		.role = was->role,
		.wanted = step->wanted,
		.cpu = step->cpu,
		.tid = step->tid,
		.known_tid = step->known_tid,
		.time_ns = step->time_ns,
		.texts[0] = was->path,
		.lengths[0] = was->path ? (uint32_t)strlen(was->path) : 0,
	};

	file.numbers[FILE_FD] = was->fd;
	file.numbers[FILE_RET] = step->numbers[RETURN_RET];
	if (sonde_file_role_changes(was->role)) {
		file.numbers[FILE_FLAGS] = was->change.flags;
		file.numbers[FILE_COMMAND] = was->change.command;
		file.numbers[FILE_ARGUMENT] = was->change.argument;
	} else {
		file.numbers[FILE_BEGIN] = was->call_ns;
		file.numbers[FILE_LENGTH] = (int64_t)was->length;
		file.numbers[FILE_OFFSET] = (int64_t)was->offset;
	}
	if (kernel->is_part)
		sonde_model_journal(kernel, &file);
	else
		sonde_model_file_step(kernel, &file);
}

static void emit_call_interval(struct sonde_model *kernel,
			       const struct sonde_step *step,
			       const struct sonde_model_thread *was)
{
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_SYSCALL,
		.cpu = step->cpu,
		.tid = step->tid,
		.begin_ns = was->call_ns,
		.end_ns = step->time_ns,
		.call.id = was->call_id,
		.call.ret = step->numbers[RETURN_RET],
		.call.off_cpu_ns = was->off_cpu_ns +
				   (uint64_t)step->numbers[RETURN_OFF_CPU],
	};

	if (kernel->tables->wants & SONDE_WANT_CAUSES)
		sonde_model_cause(kernel, was, &interval.call.cause);
	sonde_model_emit(kernel, step, &interval);
}

/* It has done what it was asked for, which may change what is known of files, or be of
 * use to who looks at what it moved. */
static void end_call(struct sonde_model *kernel, const struct sonde_step *step,
		     const struct sonde_model_thread *was)
{
	bool concerns = kernel->tables->wants & SONDE_WANT_FILES &&
			was->role != SONDE_FILE_NONE;

	if (sonde_model_wants(kernel, SONDE_INTERVAL_SYSCALL))
		emit_call_interval(kernel, step, was);
	if (concerns && (sonde_file_role_changes(was->role) ||
			 was->role == SONDE_FILE_MAP ||
			 sonde_model_wants(kernel, SONDE_INTERVAL_FILE)))
		file_call(kernel, step, was);
}

void sonde_model_on_return(struct sonde_model *kernel,
			   const struct sonde_step *step)
{
	struct sonde_model_thread *thread =
		sonde_model_thread(kernel, step->tid);

	if (!thread)
		return;
	if (thread->call == SONDE_OPEN_YES) {
		end_call(kernel, step, thread);
	} else if (thread->call == SONDE_OPEN_UNKNOWN && kernel->is_part) {
		struct sonde_step asked = *step;

		asked.numbers[RETURN_OFF_CPU] = (int64_t)thread->off_cpu_ns;
		sonde_model_journal(kernel, &asked);
	}
	thread->call = SONDE_OPEN_NO;
	thread->returned = true;
	thread->off_cpu_ns = 0;
}

void sonde_model_cut_call(struct sonde_model *kernel,
			  const struct sonde_step *end,
			  const struct sonde_model_thread *thread)
{
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_SYSCALL,
		.open = true,
		.cpu = end->cpu,
		.tid = end->tid,
		.begin_ns = thread->call_ns,
		.end_ns = end->time_ns,
		.call.id = thread->call_id,
	};

	if (thread->call != SONDE_OPEN_YES)
		return;
	sonde_model_cause(kernel, thread, &interval.call.cause);
	sonde_model_emit(kernel, end, &interval);
}
