/* SPDX-License-Identifier: MIT */
/*
 * files.c - which descriptor is which file, and what moves through it.
 *
 * Descriptors belong to processes; they are learned from a dump of the state,
 * from system calls that open, and from fork, which copies those below
 * FORK_COPIES. Only the whole keeps them: a part doesn't know which process a
 * thread is of, so it can't know either whose descriptors another thread's
 * call has changed.
 */
#include <string.h>

#include "analysis/model/state.h"

#define FORK_COPIES 1024

static struct sonde_key file_key(int32_t pid, int64_t fd)
{
	return sonde_key_make(SONDE_KEY_UINT,
			      (uint64_t)(uint32_t)pid << 32 | (uint32_t)fd, 0);
}

const char *sonde_model_file_path(const struct sonde_model *whole, int32_t pid,
				  int64_t fd)
{
	struct sonde_key key = file_key(pid, fd);
	const struct sonde_model_file *file =
		sonde_hash_get(&whole->files, &key);

	return file && pid >= 0 ? file->path : NULL;
}

/* path NULL: closed, or not known any more. pid below 0: nobody's. */
static void set_path(struct sonde_model *whole, int32_t pid, int64_t fd,
		     const char *path)
{
	struct sonde_key key = file_key(pid, fd);
	struct sonde_model_file *file;

	if (pid < 0)
		return;
	if (!path) {
		file = sonde_hash_get(&whole->files, &key);
		if (file)
			sonde_hash_remove(&whole->files, file);
		return;
	}
	file = sonde_model_put(whole, &whole->files, &key);
	if (file)
		file->path = path;
}

/* A thread of another process begins with its parent's files. */
static void on_fork(struct sonde_model *whole, const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[FORK_CHILD]);
	struct sonde_model_thread *child = sonde_model_thread(whole, tid);
	int32_t parent = sonde_model_thread_pid(whole, step->known_tid);
	int32_t pid = tid;

	if ((step->has >> FORK_CHILD_PID) & 1)
		pid = sonde_step_tid(step->numbers[FORK_CHILD_PID]);
	if ((step->has >> FORK_PARENT_PID) & 1)
		parent = sonde_step_tid(step->numbers[FORK_PARENT_PID]);
	if (child) {
		child->has_pid = true;
		child->pid = pid;
	}
	for (int32_t fd = 0; pid != parent && fd < FORK_COPIES; fd++)
		set_path(whole, pid, fd,
			 sonde_model_file_path(whole, parent, fd));
}

/* The files of a process are gone when its first thread is. */
static void on_exit_step(struct sonde_model *whole,
			 const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[TASK_TID]);

	if (sonde_model_thread_pid(whole, tid) != tid)
		return;
	for (int32_t fd = 0; fd < FORK_COPIES; fd++)
		set_path(whole, tid, fd, NULL);
}

/* Later LTTng names a process's descriptors by the table they are in. */
static void on_process(struct sonde_model *whole, const struct sonde_step *step)
{
	int32_t pid = sonde_step_tid(step->numbers[TASK_PID]);
	struct sonde_model_thread *thread = sonde_model_thread(
		whole, sonde_step_tid(step->numbers[TASK_TID]));
	struct sonde_key key = sonde_key_make(
		SONDE_KEY_HEX, (uint64_t)step->numbers[TASK_FILES], 0);
	struct sonde_model_files_owner *owner;

	if (thread) {
		thread->has_pid = true;
		thread->pid = pid;
	}
	if (!((step->has >> TASK_FILES) & 1))
		return;
	owner = sonde_model_put(whole, &whole->owners, &key);
	if (owner)
		owner->pid = pid;
}

static void on_descriptor(struct sonde_model *whole,
			  const struct sonde_step *step)
{
	struct sonde_key key = sonde_key_make(
		SONDE_KEY_HEX, (uint64_t)step->numbers[DESCRIPTOR_FILES], 0);
	const struct sonde_model_files_owner *owner;
	int32_t pid;

	if ((step->has >> DESCRIPTOR_PID) & 1) {
		pid = sonde_step_tid(step->numbers[DESCRIPTOR_PID]);
	} else {
		owner = sonde_hash_get(&whole->owners, &key);
		if (!owner)
			return;
		pid = owner->pid;
	}
	set_path(whole, pid, step->numbers[DESCRIPTOR_FD],
		 sonde_model_text(whole, step->texts[0], step->lengths[0]));
}

static void emit_file(struct sonde_model *whole, const struct sonde_step *step)
{
	struct sonde_interval interval = {
		.kind = SONDE_INTERVAL_FILE,
		.cpu = step->cpu,
		.tid = step->known_tid,
		.begin_ns = step->numbers[FILE_BEGIN],
		.end_ns = step->time_ns,
		.file.role = step->role,
		.file.fd = (int32_t)step->numbers[FILE_FD],
		.file.ret = step->numbers[FILE_RET],
	};

	interval.file.pid = sonde_model_thread_pid(whole, step->known_tid);
	interval.file.path = sonde_model_file_path(whole, interval.file.pid,
						   step->numbers[FILE_FD]);
	sonde_model_emit(whole, step, &interval);
}

/* What mmap() returned is an address, or an error. */
static void on_map(struct sonde_model *whole, const struct sonde_step *step,
		   int32_t pid)
{
	uint64_t length = (uint64_t)step->numbers[FILE_LENGTH];
	uint64_t begin = (uint64_t)step->numbers[FILE_RET];
	struct sonde_model_mapping mapping = {
		.pid = pid,
		.begin = begin,
		.offset = (uint64_t)step->numbers[FILE_OFFSET],
		.path = sonde_model_file_path(whole, pid,
					      step->numbers[FILE_FD]),
	};

	if (step->numbers[FILE_RET] < 0 || !mapping.path ||
	    __builtin_add_overflow(begin, length, &mapping.end))
		return;
	sonde_model_map(whole, &mapping);
}

static void on_file(struct sonde_model *whole, const struct sonde_step *step)
{
	static const char socket[] = "socket";
	int32_t pid = sonde_model_thread_pid(whole, step->known_tid);
	int64_t fd = step->numbers[FILE_FD];
	int64_t ret = step->numbers[FILE_RET];

	switch ((enum sonde_file_role)step->role) {
	case SONDE_FILE_READ:
	case SONDE_FILE_WRITE:
	case SONDE_FILE_SYNC:
		emit_file(whole, step);
		break;
	case SONDE_FILE_OPEN:
		if (ret >= 0)
			set_path(whole, pid, ret,
				 sonde_model_text(whole, step->texts[0],
						  step->lengths[0]));
		break;
	case SONDE_FILE_SOCKET:
		if (ret >= 0)
			set_path(whole, pid, ret,
				 sonde_model_text(whole, socket,
						  strlen(socket)));
		break;
	case SONDE_FILE_DUP:
		if (ret >= 0)
			set_path(whole, pid, ret,
				 sonde_model_file_path(whole, pid, fd));
		break;
	case SONDE_FILE_CLOSE:
		if (ret >= 0)
			set_path(whole, pid, fd, NULL);
		break;
	case SONDE_FILE_MAP:
		on_map(whole, step, pid);
		break;
	case SONDE_FILE_NONE:
		break;
	}
}

void sonde_model_file_step(struct sonde_model *whole,
			   const struct sonde_step *step)
{
	if (step->kind == SONDE_STEP_FORK)
		on_fork(whole, step);
	else if (step->kind == SONDE_STEP_EXIT)
		on_exit_step(whole, step);
	else if (step->kind == SONDE_STEP_PROCESS)
		on_process(whole, step);
	else if (step->kind == SONDE_STEP_DESCRIPTOR)
		on_descriptor(whole, step);
	else
		on_file(whole, step);
}
