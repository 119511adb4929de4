/* SPDX-License-Identifier: MIT */
/*
 * files.c - which descriptor is which file, and what moves through it.
 *
 * Descriptors belong to processes; they are learned from a dump of the state,
 * from system calls that open, and from fork, which copies those below
 * FORK_COPIES. A path that may be another file's by now is forgotten: what an
 * exec may have closed, and what a number was given to that has no path.
 * (pipe() gives numbers that no trace knows; they are free until then.) Only the whole keeps them: a part doesn't know which process a
 * thread is of, so it can't know either whose descriptors another thread's
 * call has changed.
 */
#include <string.h>

#include "analysis/model/state.h"

#define FORK_COPIES 1024

/* Of the kernel's interface; the trace may come from another machine. */
enum {
	CLOSE_ON_EXEC = 02000000, /* O_CLOEXEC, SOCK_CLOEXEC */
	DUP = 0,                  /* F_DUPFD, and so on */
	SET_FLAGS = 2,
	DUP_CLOSE_ON_EXEC = 1030,
	IOCTL_CLOSE_ON_EXEC = 0x5451,
	IOCTL_STAY = 0x5450,
	RANGE_CLOSE_ON_EXEC = 4,
};

static struct sonde_key file_key(int32_t pid, int64_t fd)
{
	return sonde_key_make(SONDE_KEY_UINT,
			      (uint64_t)(uint32_t)pid << 32 | (uint32_t)fd, 0);
}

static struct sonde_model_file *find_descriptor(const struct sonde_model *whole,
						int32_t pid, int64_t fd)
{
	struct sonde_key key = file_key(pid, fd);

	return pid >= 0 ? sonde_hash_get(&whole->files, &key) : NULL;
}

const char *sonde_model_file_path(const struct sonde_model *whole, int32_t pid,
				  int64_t fd)
{
	const struct sonde_model_file *file = find_descriptor(whole, pid, fd);

	return file ? file->path : NULL;
}

/* Closed, or not known any more. */
static void forget_descriptor(struct sonde_model *whole, int32_t pid,
			      int64_t fd)
{
	struct sonde_model_file *file = find_descriptor(whole, pid, fd);

	if (file)
		sonde_hash_remove(&whole->files, file);
}

/* path NULL: not known. pid below 0: nobody's. */
static void set_path(struct sonde_model *whole, int32_t pid, int64_t fd,
		     const char *path, bool stays)
{
	struct sonde_key key = file_key(pid, fd);
	struct sonde_model_file *file;

	if (!path || pid < 0) {
		forget_descriptor(whole, pid, fd);
		return;
	}
	file = sonde_model_put(whole, &whole->files, &key);
	if (file) {
		file->path = path;
		file->stays = stays;
	}
}

static void set_stays(const struct sonde_model *whole, int32_t pid, int64_t fd,
		      bool stays)
{
	struct sonde_model_file *file = find_descriptor(whole, pid, fd);

	if (file)
		file->stays = stays;
}

/* By flags that are not known (-1), none does. */
static bool stays_by(int64_t flags)
{
	return !(flags & CLOSE_ON_EXEC);
}

/* A thread of another process begins with its parent's files. */
static void files_on_fork(struct sonde_model *whole,
			  const struct sonde_step *step)
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
	for (int32_t fd = 0; pid != parent && fd < FORK_COPIES; fd++) {
		const struct sonde_model_file *file =
			find_descriptor(whole, parent, fd);

		if (file)
			set_path(whole, pid, fd, file->path, file->stays);
		else
			forget_descriptor(whole, pid, fd);
	}
}

/* The files of a process are gone when its first thread is. */
static void on_exit_step(struct sonde_model *whole,
			 const struct sonde_step *step)
{
	int32_t tid = sonde_step_tid(step->numbers[TASK_TID]);

	if (sonde_model_thread_pid(whole, tid) != tid)
		return;
	for (int32_t fd = 0; fd < FORK_COPIES; fd++)
		forget_descriptor(whole, tid, fd);
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
		 sonde_model_text(whole, step->texts[0], step->lengths[0]),
		 (step->has >> DESCRIPTOR_FLAGS) & 1 &&
			 stays_by(step->numbers[DESCRIPTOR_FLAGS]));
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

/* ---- calls that change descriptors ---- */

static void on_dup(struct sonde_model *whole, int32_t pid,
		   const struct sonde_step *step, bool stays)
{
	int64_t fd = step->numbers[FILE_FD];
	int64_t ret = step->numbers[FILE_RET];

	if (ret != fd)
		set_path(whole, pid, ret, sonde_model_file_path(whole, pid, fd),
			 stays);
}

static void on_fcntl(struct sonde_model *whole, int32_t pid,
		     const struct sonde_step *step)
{
	int64_t command = step->numbers[FILE_COMMAND];

	if (command == DUP || command == DUP_CLOSE_ON_EXEC)
		on_dup(whole, pid, step, command == DUP);
	else if (command == SET_FLAGS)
		set_stays(whole, pid, step->numbers[FILE_FD],
			  !(step->numbers[FILE_ARGUMENT] & 1));
}

static void on_ioctl(struct sonde_model *whole, int32_t pid,
		     const struct sonde_step *step)
{
	int64_t command = step->numbers[FILE_COMMAND];

	if (command == IOCTL_STAY || command == IOCTL_CLOSE_ON_EXEC)
		set_stays(whole, pid, step->numbers[FILE_FD],
			  command == IOCTL_STAY);
}

static void on_close_range(struct sonde_model *whole, int32_t pid,
			   const struct sonde_step *step)
{
	int64_t flags = step->numbers[FILE_FLAGS];
	/* The last number is often the largest there is, by any sign. */
	uint64_t last = (uint32_t)step->numbers[FILE_ARGUMENT];
	int64_t end = last < FORK_COPIES ? (int64_t)last + 1 : FORK_COPIES;

	for (int64_t fd = step->numbers[FILE_FD]; fd >= 0 && fd < end; fd++) {
		if (flags >= 0 && flags & RANGE_CLOSE_ON_EXEC)
			set_stays(whole, pid, fd, false);
		else
			forget_descriptor(whole, pid, fd);
	}
}

static void on_exec(struct sonde_model *whole, int32_t pid)
{
	for (int32_t fd = 0; fd < FORK_COPIES; fd++) {
		const struct sonde_model_file *file =
			find_descriptor(whole, pid, fd);

		if (file && !file->stays)
			forget_descriptor(whole, pid, fd);
	}
}

/* The call has done what it was asked for. */
static void on_change(struct sonde_model *whole, const struct sonde_step *step)
{
	static const char socket[] = "socket";
	int32_t pid = sonde_model_thread_pid(whole, step->known_tid);
	int64_t ret = step->numbers[FILE_RET];
	int64_t flags = step->numbers[FILE_FLAGS];

	switch (step->role) {
	case SONDE_FILE_OPEN:
		set_path(whole, pid, ret,
			 sonde_model_text(whole, step->texts[0],
					  step->lengths[0]),
			 stays_by(flags));
		break;
	case SONDE_FILE_SOCKET:
		set_path(whole, pid, ret,
			 sonde_model_text(whole, socket, strlen(socket)),
			 stays_by(flags));
		break;
	case SONDE_FILE_OTHER:
		forget_descriptor(whole, pid, ret);
		break;
	case SONDE_FILE_DUP:
		/* dup() and dup2() have no flags. */
		on_dup(whole, pid, step, flags < 0 || stays_by(flags));
		break;
	case SONDE_FILE_FCNTL:
		on_fcntl(whole, pid, step);
		break;
	case SONDE_FILE_IOCTL:
		on_ioctl(whole, pid, step);
		break;
	case SONDE_FILE_CLOSE:
		forget_descriptor(whole, pid, step->numbers[FILE_FD]);
		break;
	case SONDE_FILE_CLOSE_RANGE:
		on_close_range(whole, pid, step);
		break;
	case SONDE_FILE_EXEC:
		on_exec(whole, pid);
		break;
	default:
		break;
	}
}

static void on_file(struct sonde_model *whole, const struct sonde_step *step)
{
	if (step->role == SONDE_FILE_MAP)
		on_map(whole, step,
		       sonde_model_thread_pid(whole, step->known_tid));
	else if (!sonde_file_role_changes(step->role))
		emit_file(whole, step);
	else if (step->numbers[FILE_RET] >= 0)
		on_change(whole, step);
}

void sonde_model_file_step(struct sonde_model *whole,
			   const struct sonde_step *step)
{
	if (step->kind == SONDE_STEP_FORK)
		files_on_fork(whole, step);
	else if (step->kind == SONDE_STEP_EXIT)
		on_exit_step(whole, step);
	else if (step->kind == SONDE_STEP_PROCESS)
		on_process(whole, step);
	else if (step->kind == SONDE_STEP_DESCRIPTOR)
		on_descriptor(whole, step);
	else
		on_file(whole, step);
}
