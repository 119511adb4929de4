/* SPDX-License-Identifier: MIT */
/*
 * process.c - a process and its servant: opening, calls, memory.
 *
 * Whether the process is still the same program is asked of the kernel: it and
 * the servant share their memory until the process ends or executes another
 * program.
 *
 * One tool at a time looks whether there is a servant, and has a thread borrowed:
 * two would find the same unused bytes, and the thread would go on by what the
 * other one wrote there. A lock of /proc/PID/mem sees to that; whoever holds it
 * lets it go by its end, whatever that is.
 */
#include "probe/inject/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/port.h"
#include "base/unconst.h"
#include "probe/inject/inject.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/procfs.h"
#include "session/find.h"
#include "sys/proc.h"
#include "sys/write.h"

#define LOCK_TRIES     6000
#define LOCK_PAUSE_NS  1000000L
#define STRAY_TRIES    100
#define STRAY_PAUSE_NS 1000000L
#define PASS_RIGHTS    83 /* SO_PASSRIGHTS */
#define OWN_END_MS     1000
#define OTHER_END_MS   (SONDE_SERVANT_PATIENCE_MS + 1000)

static void close_one(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* ---- messages ---- */

uint64_t sonde_process_extra_at(const struct sonde_process *process,
				size_t nr_calls)
{
	return process->servant_memory + SONDE_SERVANT_BUFFER_AT +
	       sizeof(struct sonde_servant_message) +
	       nr_calls * sizeof(struct sonde_remote_call);
}

static int send_message(const struct sonde_process *process, size_t size,
			int fd)
{
	struct iovec vector = { .iov_len = size };
	union {
		unsigned char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
	struct cmsghdr *part;
	ssize_t n;

	vector.iov_base = sonde_unconst(process->message);
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		part = CMSG_FIRSTHDR(&header);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(process->socket, &header, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : -EPIPE;
}

static int receive_message(struct sonde_process *process, size_t size)
{
	ssize_t n;

	do {
		n = recv(process->socket, process->message, size, 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : -EPIPE;
}

int sonde_process_run(struct sonde_process *process,
		      const struct sonde_process_batch *batch)
{
	const size_t calls_size = batch->nr * sizeof(*batch->calls);
	const size_t head = sizeof(struct sonde_servant_message);
	const size_t size = head + calls_size + batch->extra_size;
	struct sonde_servant_message message = {
		.nr_calls = (uint32_t)batch->nr,
	};
	int rc;

	if (process->socket < 0)
		return -EPIPE;
	if (batch->nr > SONDE_SERVANT_BUFFER_SIZE / sizeof(*batch->calls) ||
	    batch->extra_size > SONDE_SERVANT_BUFFER_SIZE ||
	    size > SONDE_SERVANT_BUFFER_SIZE)
		return -E2BIG;
	memcpy(process->message, &message, head);
	memcpy(process->message + head, batch->calls, calls_size);
	if (batch->extra_size != 0)
		memcpy(process->message + head + calls_size, batch->extra,
		       batch->extra_size);
	rc = send_message(process, size, batch->fd);
	if (rc == 0)
		rc = receive_message(process, size);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < batch->nr; i++)
		memcpy(&batch->calls[i].result,
		       process->message + head + i * sizeof(*batch->calls) +
			       offsetof(struct sonde_remote_call, result),
		       sizeof(batch->calls[i].result));
	if (batch->extra_size != 0)
		memcpy(batch->extra, process->message + head + calls_size,
		       batch->extra_size);
	return 0;
}

int sonde_process_call(struct sonde_process *process,
		       struct sonde_remote_call *calls, size_t nr)
{
	const size_t most = SONDE_SERVANT_BUFFER_SIZE / sizeof(*calls) - 1;
	int rc = 0;

	while (nr > 0 && rc == 0) {
		const size_t some = nr < most ? nr : most;
		const struct sonde_process_batch batch = {
			.calls = calls,
			.nr = some,
			.fd = -1,
		};

		rc = sonde_process_run(process, &batch);
		calls += some;
		nr -= some;
	}
	return rc;
}

/* ---- opening ---- */

static int check_process(pid_t pid, struct sonde_process_error *error)
{
	uint64_t seccomp = 0;
	int rc = sonde_proc_status(pid, "Seccomp", 10, &seccomp);

	if (rc == -ESRCH) {
		sonde_process_error_set(error, "there is no process %d",
					(int)pid);
		return rc;
	}
	if (rc == 0 && seccomp != 0) {
		sonde_process_error_set(
			error,
			"process %d has a seccomp filter, which could kill it "
			"for the system calls that probes need",
			(int)pid);
		return -EPERM;
	}
	return 0;
}

static int open_files(struct sonde_process *process,
		      struct sonde_process_error *error)
{
	process->fd = sonde_proc_pidfd(process->pid);
	if (process->fd < 0) {
		sonde_process_error_set(
			error, "there is no process %d (or it is a thread)",
			(int)process->pid);
		return process->fd;
	}
	process->memory_fd = sonde_proc_memory(process->pid, O_RDWR);
	if (process->memory_fd < 0) {
		sonde_process_error_set(
			error,
			"process %d may not be looked into: run as root%s",
			(int)process->pid,
			sonde_procfs_yama() > 0 ?
				", or: sysctl kernel.yama.ptrace_scope=0" :
				"");
		return process->memory_fd == -EACCES ? -EPERM :
						       process->memory_fd;
	}
	return 0;
}

/* Whether it has the process's memory. Where the kernel can't compare (ENOSYS)
 * it is taken for granted. */
static bool shares_memory(const struct sonde_process *process)
{
	const long differs = syscall(SYS_kcmp, process->pid, process->servant,
				     KCMP_VM, 0, 0);

	return differs == 0 || (differs < 0 && errno == ENOSYS);
}

/* Our end of its socket. */
static int take_socket(struct sonde_process *process)
{
	int fd;

	process->servant_fd = sonde_proc_pidfd(process->servant);
	if (process->servant_fd < 0)
		return process->servant_fd;
	/* Its number was in the process's memory, and could be anybody's. */
	if (!shares_memory(process))
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_getfd, process->servant_fd,
			  SONDE_SERVANT_FD_PASSED, 0);
	if (fd < 0)
		return -errno;
	process->socket = fd;
	/* The process may look into its servant, and send us descriptors whose
	 * closing takes as long as it likes. Older kernels know no remedy. */
	(void)setsockopt(fd, SOL_SOCKET, PASS_RIGHTS, &(int){ 0 }, sizeof(int));
	return 0;
}

/* From now on it ends with the socket, and has the process's memory at hand.
 * Whether it may write there what is read-only, it tries on its own code. */
static int greet(struct sonde_process *process)
{
	struct sonde_remote_call let_go = {
		.number = SYS_close,
		.args = { SONDE_SERVANT_FD_PASSED },
	};
	struct sonde_remote_call keep[] = {
		{ .number = SYS_dup3,
		  .args = { SONDE_SERVANT_FD_PASSED, SONDE_SERVANT_FD_MEMORY,
			    O_CLOEXEC } },
		{ .number = SYS_close, .args = { SONDE_SERVANT_FD_PASSED } },
		{ .number = SYS_pwrite64,
		  .args = { SONDE_SERVANT_FD_MEMORY, process->servant_memory, 1,
			    process->servant_memory } },
	};
	const struct sonde_process_batch batch = {
		.calls = keep,
		.nr = SONDE_ARRAY_SIZE(keep),
		.fd = process->memory_fd,
	};
	int rc = sonde_process_call(process, &let_go, 1);

	if (rc == 0)
		rc = sonde_process_run(process, &batch);
	if (rc == 0 && keep[0].result < 0)
		rc = (int)keep[0].result;
	process->opens_text = keep[2].result != 1;
	return rc;
}

static int meet_servant(struct sonde_process *process)
{
	int32_t inner = 0;
	int rc = sonde_process_read(
		process, process->servant_memory + SONDE_SERVANT_CODE_SIZE,
		&inner, sizeof(inner));

	if (rc == 0)
		rc = sonde_procfs_outer_pid(process->pid, inner,
					    &process->servant);
	process->inner_servant = inner;
	if (rc == 0)
		rc = take_socket(process);
	return rc != 0 ? rc : greet(process);
}

/* ---- one tool at a time ---- */

/* False: another tool has it. Where there are no such locks, we go on. */
static bool lock_process(const struct sonde_process *process)
{
	return flock(process->memory_fd, LOCK_EX | LOCK_NB) == 0 ||
	       errno != EWOULDBLOCK;
}

static int await_lock(const struct sonde_process *process)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (lock_process(process))
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* ---- the end of a servant ---- */

static bool has_ended(int pidfd, int limit_ms)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&ended, 1, limit_ms) == 1;
}

/* A child of the process's that has ended, and that it knows nothing of: one of
 * its threads waits for it. One that has no time is none the worse: the next
 * tool comes here, too. */
static void have_it_waited_for(const struct sonde_process *process, pid_t inner)
{
	struct sonde_process_error error;
	struct sonde_remote_call wait = {
		.number = SYS_wait4,
		.args = { (uint64_t)inner, 0, (uint64_t)(__WALL | WNOHANG) },
	};
	const struct sonde_inject_request request = {
		.pid = process->pid,
		.memory_fd = process->memory_fd,
	};

	(void)sonde_inject_call(&request, &error, &wait);
}

static void await_own_servant(const struct sonde_process *process)
{
	if (process->servant_fd < 0 || process->is_held ||
	    !has_ended(process->servant_fd, OWN_END_MS) ||
	    has_ended(process->fd, 0))
		return;
	if (sonde_procfs_is_left(process->pid, process->servant) &&
	    lock_process(process))
		have_it_waited_for(process, process->inner_servant);
}

/* One that another tool has made. If that was killed, it ends as soon as it has
 * taken the probes out. 0; -EBUSY: it is at work. */
static int await_other_servant(struct sonde_process *process, bool is_stray)
{
	uint64_t inner = 0;
	int pidfd;
	int rc = 0;

	if (sonde_procfs_child(process->pid, SONDE_SERVANT_COMM,
			       &process->servant) != 0 ||
	    sonde_proc_status(process->servant, "NStgid", 10, &inner) != 0)
		return 0;
	pidfd = sonde_proc_pidfd(process->servant);
	if (!sonde_procfs_is_left(process->pid, process->servant)) {
		/* Anybody can have that name. */
		if (!shares_memory(process))
			goto out;
		if (is_stray && pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL,
				      NULL, 0);
		if (!has_ended(pidfd, OTHER_END_MS))
			rc = -EBUSY;
	}
	if (rc == 0)
		have_it_waited_for(process, (pid_t)inner);
out:
	close_one(pidfd);
	process->servant = 0;
	return rc;
}

/* The helper was killed, but the thread may have got through, or may be about
 * to. If it takes longer, the servant loses patience. */
static void end_stray_servant(struct sonde_process *process)
{
	const struct timespec pause = { .tv_nsec = STRAY_PAUSE_NS };

	for (int i = 0; i < STRAY_TRIES; i++) {
		if (sonde_process_is_served(process->pid)) {
			(void)await_other_servant(process, true);
			break;
		}
		(void)nanosleep(&pause, NULL);
	}
}

bool sonde_process_is_served(pid_t pid)
{
	pid_t servant = 0;

	return sonde_procfs_child(pid, SONDE_SERVANT_COMM, &servant) == 0 &&
	       !sonde_procfs_is_left(pid, servant);
}

void sonde_process_leave(struct sonde_process *process, uint64_t function,
			 uint64_t data)
{
	const uint64_t will[] = { function, data };

	(void)sonde_process_write(process,
				  process->servant_memory +
					  SONDE_SERVANT_CODE_SIZE +
					  offsetof(struct sonde_servant, will),
				  will, sizeof(will));
}

static int start_servant(struct sonde_process *process,
			 const struct sonde_borrow_ops *borrow,
			 void *borrow_ctx, struct sonde_process_error *error)
{
	uint64_t inner = (uint64_t)process->pid;
	int rc;

	(void)sonde_proc_status(process->pid, "NStgid", 10, &inner);
	rc = sonde_inject(
		&(struct sonde_inject_request){
			.pid = process->pid,
			.inner_pid = (pid_t)inner,
			.tracer = (pid_t)inner == process->pid ? getpid() : 0,
			.memory_fd = process->memory_fd,
			.borrow = borrow,
			.borrow_ctx = borrow_ctx,
		},
		error, &process->servant_memory);
	if (rc == -EINTR && !process->is_held)
		end_stray_servant(process);
	if (rc != 0)
		return rc;
	rc = meet_servant(process);
	if (rc != 0)
		sonde_process_error_set(
			error, "process %d: no contact with its servant: %s",
			(int)process->pid, strerrordesc_np(-rc));
	return rc;
}

static struct sonde_process *new_process(pid_t pid, bool is_held)
{
	struct sonde_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->is_held = is_held;
	process->servant_fd = -1;
	process->fd = -1;
	process->memory_fd = -1;
	process->socket = -1;
	process->agent.fd = -1;
	return process;
}

/* Whose probes it has: who holds the servant that is at work. */
static void tell_other(const struct sonde_process *process,
		       struct sonde_process_error *error)
{
	char name[SONDE_COMM_SIZE];
	pid_t servant;
	pid_t other = 0;

	if (!sonde_procfs_child(process->pid, SONDE_SERVANT_COMM, &servant))
		other = sonde_procfs_pidfd_holder(servant);
	if (!other) {
		sonde_process_error_set(error,
					"process %d has probes of another "
					"server, whose process can't be seen "
					"from here; end that first",
					(int)process->pid);
		return;
	}
	sonde_process_name(other, name);
	sonde_process_error_set(error,
				"process %d has probes of another server, "
				"process %d (%s); end that first",
				(int)process->pid, (int)other, name);
}

static int open_to_look(pid_t pid, bool is_held,
			struct sonde_process_error *error,
			struct sonde_process **ret_process)
{
	struct sonde_process *process;
	int rc = check_process(pid, error);

	if (rc != 0)
		return rc;
	process = new_process(pid, is_held);
	if (!process) {
		sonde_process_error_set(error, "no memory");
		return -ENOMEM;
	}
	rc = open_files(process, error);
	if (rc == 0)
		rc = await_lock(process);
	if (rc == 0 && !process->is_held)
		rc = await_other_servant(process, false);
	if (rc == -EBUSY)
		tell_other(process, error);
	if (rc != 0) {
		sonde_process_close(process);
		return rc;
	}
	*ret_process = process;
	return 0;
}

int sonde_process_look(pid_t pid, struct sonde_process_error *error,
		       struct sonde_process **ret_process)
{
	return open_to_look(pid, false, error, ret_process);
}

static int enter_by(struct sonde_process *process,
		    const struct sonde_borrow_ops *borrow, void *borrow_ctx,
		    struct sonde_process_error *error)
{
	int rc = start_servant(process, borrow, borrow_ctx, error);

	(void)flock(process->memory_fd, LOCK_UN); /* it is open */
	return rc;
}

int sonde_process_enter(struct sonde_process *process,
			struct sonde_process_error *error)
{
	return enter_by(process, NULL, NULL, error);
}

int sonde_process_open(pid_t pid, const struct sonde_borrow_ops *borrow,
		       void *borrow_ctx, struct sonde_process_error *error,
		       struct sonde_process **ret_process)
{
	struct sonde_process *process;
	int rc = open_to_look(pid, borrow != NULL, error, &process);

	if (rc != 0)
		return rc;
	rc = enter_by(process, borrow, borrow_ctx, error);
	if (rc != 0) {
		sonde_process_close(process);
		return rc;
	}
	*ret_process = process;
	return 0;
}

/* What the servant has no need of to end: it can't unmap what it runs in, so
 * code, data and a page for this message stay. Its will is void: what has been
 * put in stays. */
static void say_goodbye(struct sonde_process *process)
{
	const uint64_t kept = SONDE_SERVANT_BUFFER_AT + SONDE_SERVANT_CODE_SIZE;
	struct sonde_remote_call unmap = {
		.number = SYS_munmap,
		.args = { process->servant_memory + kept,
			  SONDE_SERVANT_SIZE - kept },
	};

	if (process->servant_memory == 0)
		return;
	sonde_process_leave(process, 0, 0);
	(void)sonde_process_call(process, &unmap, 1);
}

int sonde_process_abandon(struct sonde_process *process, uint64_t function,
			  uint64_t data)
{
	sonde_process_leave(process, function, data);
	close_one(process->socket);
	process->socket = -1;
	return has_ended(process->servant_fd, OTHER_END_MS) ? 0 : -EBUSY;
}

void sonde_process_close(struct sonde_process *process)
{
	if (!process)
		return;
	say_goodbye(process);
	close_one(process->socket);
	process->socket = -1;
	await_own_servant(process);
	close_one(process->servant_fd);
	close_one(process->memory_fd);
	close_one(process->fd);
	if (process->agent.here)
		(void)munmap(process->agent.here, process->agent.size);
	close_one(process->agent.fd);
	free(process->looked_at);
	free(process);
}

/* ---- asking ---- */

pid_t sonde_process_pid(const struct sonde_process *process)
{
	return process->pid;
}

bool sonde_process_lives(const struct sonde_process *process)
{
	struct pollfd ended = { .fd = process->fd, .events = POLLIN };

	return poll(&ended, 1, 0) == 0 && shares_memory(process);
}

/* ---- memory ---- */

int sonde_process_read(const struct sonde_process *process, uint64_t address,
		       void *to, size_t size)
{
	unsigned char *at = to;

	while (size > 0) {
		const ssize_t n =
			pread(process->memory_fd, at, size, (off_t)address);

		if (n <= 0)
			return -EIO;
		at += n;
		address += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int sonde_process_write(const struct sonde_process *process, uint64_t address,
			const void *from, size_t size)
{
	return sonde_pwrite_all(process->memory_fd, from, size, address) ?
		       -EIO :
		       0;
}

/* NOLINTNEXTLINE(readability-function-size): mmap() takes as much */
/* NOLINTNEXTLINE(readability-function-size): those of mmap() */
int sonde_process_map(struct sonde_process *process, int fd, uint64_t offset,
		      size_t size, int protection, uint64_t address,
		      uint64_t *ret_address)
{
	struct sonde_remote_call calls[] = {
		{ .number = SYS_mmap,
		  .go_on = 1,
		  .args = { address, size, (uint64_t)protection,
			    MAP_SHARED | (address ? MAP_FIXED_NOREPLACE : 0),
			    SONDE_SERVANT_FD_PASSED, offset } },
		{ .number = SYS_close, .args = { SONDE_SERVANT_FD_PASSED } },
	};
	const struct sonde_process_batch batch = {
		.calls = calls,
		.nr = SONDE_ARRAY_SIZE(calls),
		.fd = fd,
	};
	int rc = sonde_process_run(process, &batch);

	if (rc != 0)
		return rc;
	if (calls[0].result < 0 && calls[0].result >= -4095)
		return (int)calls[0].result;
	/* A kernel that knows no MAP_FIXED_NOREPLACE takes it for a hint. */
	if (address != 0 && calls[0].result != (int64_t)address) {
		struct sonde_remote_call unmap = {
			.number = SYS_munmap,
			.args = { (uint64_t)calls[0].result, size },
		};

		(void)sonde_process_call(process, &unmap, 1);
		return -EEXIST;
	}
	*ret_address = (uint64_t)calls[0].result;
	return 0;
}
