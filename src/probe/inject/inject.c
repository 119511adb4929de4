/* SPDX-License-Identifier: MIT */
/*
 * inject.c - borrowing a thread to make a system call, or a servant.
 *
 * By ptrace: the thread is seized and interrupted, and led by PTRACE_SETREGS to
 * code in unused bytes behind the code of a mapping, which makes one system call
 * and completes itself (servant_x86_64.S): it ends in the thread's own mask and
 * registers, and where it was. So who leads it may be killed at any step, and it
 * goes on by itself. Order:
 *
 *	1. the code and its data are complete before the registers point there
 *	2. registers, then the mask: all signals are blocked, so they stay
 *	   pending, and arrive when the thread goes on
 *	3. at the end of the system call the mask, and then the registers of the
 *	   first stop: only the kernel can go on with a system call as if it had
 *	   not been interrupted. (Alone, the thread makes it again: it looks as if
 *	   a signal had arrived just before it.) A tracer that detaches, or dies,
 *	   makes the kernel look for that
 *	4. the bytes are taken away when no registers point there
 *
 * For a servant that call is clone(): what else a servant needs it does itself,
 * while the thread has gone back to its work. Cost: the thread is stopped three
 * times (at first, before the call, behind it); what can be done before it is
 * stopped, is. Most of the time went into waking one another on CPUs that had
 * gone to sleep: so we stay awake, if it has another CPU than we, and keep its
 * own from sleeping (awake.h).
 *
 * No int3 and no single step: those force a SIGTRAP, which resets the process's
 * action if it is ignored or blocked.
 *
 * Some kernels let read-only memory be written by a task's tracer only, and only
 * through that task's /proc/PID/task/TID/mem (CONFIG_PROC_MEM_FORCE_PTRACE). So
 * that is what is written through, on all of them.
 *
 * A process of its own does this, of real-time priority where that is allowed,
 * which no signal but a SIGKILL of its own ends, while the tool waits for it, and
 * has another take a stub away that it has left, unless the thread was in it: it
 * has got through alone then, but unblocked its signals in there, and a handler
 * may return to that place at any later time. Such a stub stays where nothing was,
 * as it does if both are killed. A servant that is about to begin is told to end.
 *
 * By somebody who holds the thread already (struct sonde_borrow_ops): the same
 * code, with an int3 in place of the way back.
 */
#include "probe/inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "probe/inject/awake.h"
#include "probe/inject/grace_period.h"
#include "probe/inject/procfs.h"
#include "probe/inject/servant.h"
#include "session/find.h"
#include "sys/proc.h"
#include "sys/textfile.h"

#define CHOOSE_TRIES    1000
#define CHOOSE_PAUSE_NS 1000000L
#define CODE_SEGMENT    0x33
#define INT3            0xcc
#define STUB_ROOM       400u
#define AWAKE_NS        200000u /* a stop takes less, if all goes well */
#define ROOMS           8u      /* of a mapping's end that are looked at */
#define QUIET_MS        5000
/* How often a new servant is looked for. */
#define LOOK_NS 50000L
#define LOOKS   100000u
/* A system call's stops: before it, and behind it. */
#define CALL_STOPS     2
#define CLONE_SERVANT  (CLONE_UNTRACED | CLONE_SIGHAND | CLONE_FILES | CLONE_VM)
#define RSEQ_CS_OFFSET 8
#define SINGLE_STEP    0x100u /* TF */
#define ADDRESSES_END  (1ull << 47)
/* What the kernel keeps to itself unless a tracer looks. */
#define RESTART_SYS     (-512)
#define RESTART_NO_INTR (-513)
#define RESTART_NO_HAND (-514)
#define RESTART_BLOCK   (-516)

/* PTRACE_GET_RSEQ_CONFIGURATION's; older C libraries don't know it. */
#define GET_RSEQ_CONFIGURATION 0x420f
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size;
	uint32_t signature;
	uint32_t flags;
	uint32_t reserved;
};

struct critical_section { /* struct rseq_cs */
	uint32_t version, flags;
	uint64_t start, size, abort;
};

struct borrowed {
	const struct sonde_inject_request *request;
	struct sonde_process_error *error;
	pid_t tid;
	int memory;     /* its own, of which we are the tracer */
	uint64_t room;  /* unused bytes of code */
	uint64_t place; /* for the servant's memory: free addresses */
	uint64_t token;
	/* `room` while there is something that may be taken away at once */
	uint64_t *written, own_written;
	bool stays_awake; /* while it runs to its next stop */
	pid_t awake;      /* who keeps its CPU from sleeping */
	struct user_regs_struct saved;
	uint64_t mask;
};

static int fail(const struct borrowed *b, int rc, const char *what)
{
	sonde_process_error_set(b->error, "process %d: %s: %s",
				(int)b->request->pid, what,
				strerrordesc_np(-rc));
	return rc;
}

/* ---- one stop after the other ---- */

/* The thread's next stop; -ESRCH if it has ended. */
static int await_stop(const struct borrowed *b, int *ret_status)
{
	const uint64_t until_ns =
		b->stays_awake ? sonde_monotonic_ns() + AWAKE_NS : 0;
	bool is_awake = b->stays_awake;
	pid_t got;

	do {
		is_awake = is_awake && sonde_monotonic_ns() < until_ns;
		got = waitpid(b->tid, ret_status,
			      is_awake ? __WALL | WNOHANG : __WALL);
	} while (got == 0 || (got < 0 && errno == EINTR));
	return got == b->tid && WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static int resume(const struct borrowed *b, int how, int signal)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace wants it so */
	return ptrace(how, b->tid, NULL, (uintptr_t)signal) == 0 ? 0 : -errno;
}

/* Up to the stop that PTRACE_INTERRUPT asked for; signals that are on their
 * way are delivered. */
static int await_interrupt(const struct borrowed *b)
{
	int status = 0;
	int rc = await_stop(b, &status);

	while (rc == 0 && !is_event_stop(status)) {
		rc = resume(b, PTRACE_CONT, WSTOPSIG(status));
		if (rc == 0)
			rc = await_stop(b, &status);
	}
	return rc;
}

/* Up to the end of the first system call, and its result. SIGSTOP can't be
 * blocked, and has its effect when the thread is let go. */
static int run_stub(const struct borrowed *b, int64_t *ret_result)
{
	const int wanted = SIGTRAP | 0x80;
	struct user_regs_struct regs;
	unsigned int stops = 0;
	int status = 0;
	int rc = 0;

	while (rc == 0 && stops < CALL_STOPS) {
		const bool is_signal = status != 0 && !is_event_stop(status) &&
				       WSTOPSIG(status) != wanted;

		rc = resume(b, PTRACE_SYSCALL,
			    is_signal ? WSTOPSIG(status) : 0);
		if (rc == 0)
			rc = await_stop(b, &status);
		stops += rc == 0 && WSTOPSIG(status) == wanted;
	}
	if (rc == 0 && ptrace(PTRACE_GETREGS, b->tid, NULL, &regs) != 0)
		rc = -errno;
	if (rc == 0)
		*ret_result = (int64_t)regs.rax;
	return rc;
}

/* ---- where to, and back ---- */

static struct user_regs_struct registers_at(const struct borrowed *b,
					    uint64_t at)
{
	struct user_regs_struct regs = b->saved;

	regs.rip = at;
	regs.orig_rax = UINT64_MAX; /* nothing to restart */
	regs.eflags &= ~(uint64_t)SINGLE_STEP;
	return regs;
}

static void set_call(struct user_regs_struct *regs,
		     const struct sonde_remote_call *call)
{
	regs->rax = call->number;
	regs->rdi = call->args[0];
	regs->rsi = call->args[1];
	regs->rdx = call->args[2];
	regs->r10 = call->args[3];
	regs->r8 = call->args[4];
	regs->r9 = call->args[5];
}

/* How the thread gets back without the kernel's help: an interrupted system
 * call is made again, or the rest of it. */
static struct user_regs_struct registers_alone(const struct borrowed *b)
{
	struct user_regs_struct regs = registers_at(b, b->saved.rip);

	if ((int64_t)b->saved.orig_rax < 0)
		return regs;
	switch ((int64_t)b->saved.rax) {
	case RESTART_SYS:
	case RESTART_NO_INTR:
	case RESTART_NO_HAND:
		regs.rax = b->saved.orig_rax;
		break;
	case RESTART_BLOCK:
		regs.rax = SYS_restart_syscall;
		break;
	default:
		return regs;
	}
	regs.rip -= 2;
	return regs;
}

/* Leads it to `at`, and through the call there. */
static int lead(const struct borrowed *b, const struct user_regs_struct *regs,
		int64_t *ret_result)
{
	const uint64_t all = UINT64_MAX;

	if (ptrace(PTRACE_SETREGS, b->tid, NULL, regs) != 0 ||
	    ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(all), &all) != 0)
		return -errno;
	return run_stub(b, ret_result);
}

static int open_memory(struct borrowed *b)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/mem",
		       (int)b->request->pid, (int)b->tid);
	b->memory = open(path, O_RDWR | O_CLOEXEC);
	return b->memory >= 0 ? 0 : -errno;
}

static void close_memory(struct borrowed *b)
{
	if (b->memory >= 0)
		close(b->memory);
	b->memory = -1;
}

static int write_memory(const struct borrowed *b, uint64_t address,
			const void *from, size_t size)
{
	const struct sonde_borrow_ops *ops = b->request->borrow;

	if (ops)
		return ops->write(b->request->borrow_ctx, address, from, size);
	return pwrite(b->memory, from, size, (off_t)address) == (ssize_t)size ?
		       0 :
		       -EIO;
}

/* ---- unused bytes ---- */

static int read_code(const struct borrowed *b, uint64_t at, void *to,
		     size_t size)
{
	const struct sonde_borrow_ops *ops = b->request->borrow;

	if (ops)
		return ops->read(b->request->borrow_ctx, at, to, size);
	return pread(b->request->memory_fd, to, size, (off_t)at) ==
			       (ssize_t)size ?
		       0 :
		       -EIO;
}

/* Unused bytes at the end of a mapping with code. */
static int find_unused(struct borrowed *b, const struct sonde_maps *mappings)
{
	static const unsigned char unused[STUB_ROOM];
	unsigned char bytes[STUB_ROOM];

	for (size_t i = 0; i < mappings->nr * ROOMS; i++) {
		const struct sonde_mapping *m = &mappings->list[i / ROOMS];
		const uint64_t at = m->end - (i % ROOMS + 1) * STUB_ROOM;

		if (!m->executable || m->shared || m->path[0] == '\0' ||
		    at < m->start ||
		    read_code(b, at, bytes, sizeof(bytes)) != 0 ||
		    memcmp(bytes, unused, sizeof(bytes)) != 0)
			continue;
		b->room = at;
		return 0;
	}
	return -ENOENT;
}

/* Amid the widest gap: what the process maps meanwhile comes to its ends. */
static int find_gap(struct borrowed *b, const struct sonde_maps *mappings)
{
	uint64_t widest = 4 * SONDE_SERVANT_SIZE;

	b->place = 0;
	for (size_t i = 1; i < mappings->nr; i++) {
		const uint64_t start = mappings->list[i - 1].end;
		const uint64_t size = mappings->list[i].start - start;

		/* vsyscall is above */
		if (mappings->list[i].start > ADDRESSES_END || size <= widest)
			continue;
		widest = size;
		b->place = (start + size / 2) & -(uint64_t)SONDE_SERVANT_SIZE;
	}
	return b->place != 0 ? 0 : -ENOMEM;
}

static int find_room(struct borrowed *b)
{
	struct sonde_maps mappings;
	int rc = sonde_process_mappings(b->request->pid, &mappings);

	if (rc != 0)
		return rc;
	rc = find_unused(b, &mappings);
	if (rc == 0)
		rc = find_gap(b, &mappings);
	sonde_maps_free(&mappings);
	return rc;
}

/* What the thread is led through. */
struct stub {
	const unsigned char *code, *end;
};

static const struct stub call_stub = { sonde_stub_code, sonde_stub_code_end };
static const struct stub birth_stub = { sonde_birth_code,
					sonde_birth_code_end };

static size_t stub_size(const struct stub *stub)
{
	return (size_t)(stub->end - stub->code);
}

_Static_assert(sizeof(struct sonde_stub_data) < STUB_ROOM, "and the code");

static struct sonde_stub_data stub_data(const struct borrowed *b)
{
	const struct user_regs_struct alone = registers_alone(b);

	return (struct sonde_stub_data){
		.mask = b->mask,
		.rdi = alone.rdi,
		.rsi = alone.rsi,
		.rdx = alone.rdx,
		.r10 = alone.r10,
		.r8 = alone.r8,
		.r9 = alone.r9,
		.rax = alone.rax,
		.rcx = alone.rcx,
		.r11 = alone.r11,
		.rip = alone.rip,
		.memory = b->place,
		.token = b->token,
		.name = SONDE_SERVANT_COMM,
	};
}

/* All but what is known of the thread only when it has stopped. */
static int put_stub_code(const struct borrowed *b, const struct stub *stub)
{
	unsigned char bytes[STUB_ROOM] = { 0 };

	if (stub_size(stub) + sizeof(struct sonde_stub_data) > sizeof(bytes))
		return -ENOSPC;
	memcpy(bytes, stub->code, stub_size(stub));
	*b->written = b->room;
	return write_memory(b, b->room, bytes, sizeof(bytes));
}

static int put_stub_data(const struct borrowed *b, const struct stub *stub)
{
	const struct sonde_stub_data data = stub_data(b);

	return write_memory(b, b->room + stub_size(stub), &data, sizeof(data));
}

static void take_stub(const struct borrowed *b)
{
	static const unsigned char unused[STUB_ROOM];

	if (*b->written != 0 &&
	    write_memory(b, b->room, unused, sizeof(unused)) == 0)
		*b->written = 0;
}

/* ---- the servant's memory, and its life ---- */

static struct sonde_servant servant_data(const struct borrowed *b)
{
	const uint64_t data = b->place + SONDE_SERVANT_CODE_SIZE;
	const uint64_t buffer = b->place + SONDE_SERVANT_BUFFER_AT;
	struct sonde_servant servant = {
		.pid = b->request->inner_pid,
		.timeout_ms = SONDE_SERVANT_PATIENCE_MS,
		.polls = { { SONDE_SERVANT_FD_SOCKET, POLLIN, 0 },
			   { SONDE_SERVANT_FD_PROCESS, POLLIN, 0 } },
		.signals = UINT64_MAX,
		.root = "/",
		.tracer = (uint64_t)b->request->tracer,
		.token = b->token,
	};

	/* Addresses in the process are integers here. */
	memcpy(&servant.vector.iov_base, &buffer, sizeof(buffer));
	servant.vector.iov_len = SONDE_SERVANT_BUFFER_SIZE;
	memcpy(&servant.header.msg_iov,
	       &(uint64_t){ data + offsetof(struct sonde_servant, vector) },
	       sizeof(uint64_t));
	servant.header.msg_iovlen = 1;
	memcpy(&servant.header.msg_control,
	       &(uint64_t){ data + offsetof(struct sonde_servant, control) },
	       sizeof(uint64_t));
	return servant;
}

static struct sonde_remote_call clone_call(void)
{
	return (struct sonde_remote_call){
		.number = SYS_clone,
		.args = { CLONE_SERVANT },
	};
}

static int read_data(const struct borrowed *b, struct sonde_servant *ret)
{
	return pread(b->request->memory_fd, ret, sizeof(*ret),
		     (off_t)(b->place + SONDE_SERVANT_CODE_SIZE)) ==
			       (ssize_t)sizeof(*ret) ?
		       0 :
		       -EIO;
}

/* It is the servant's own memory, and writable. */
static int write_data(const struct borrowed *b, uint64_t offset,
		      const void *from, size_t size)
{
	return pwrite(b->request->memory_fd, from, size,
		      (off_t)(b->place + offset)) == (ssize_t)size ?
		       0 :
		       -EIO;
}

static int send_word(const struct borrowed *b, uint32_t go)
{
	return write_data(
		b, SONDE_SERVANT_CODE_SIZE + offsetof(struct sonde_servant, go),
		&go, sizeof(go));
}

/* The memory that it has mapped gets code and data; then it may begin. */
static int fill_memory(const struct borrowed *b)
{
	const struct sonde_servant data = servant_data(b);
	int rc = write_data(
		b, 0, sonde_servant_code,
		(size_t)(sonde_servant_code_end - sonde_servant_code));

	if (rc == 0)
		rc = write_data(b, SONDE_SERVANT_CODE_SIZE, &data,
				sizeof(data));
	return rc == 0 ? send_word(b, SONDE_SERVANT_GO) : rc;
}

static bool has_mapped(const struct borrowed *b,
		       const struct sonde_servant *data)
{
	return data->token == b->token;
}

static bool is_ready(const struct borrowed *b, const struct sonde_servant *data)
{
	(void)b;
	return data->ready != 0 || data->status != 0;
}

/* Until it is so far; -ETIMEDOUT. */
static int await_servant(const struct borrowed *b,
			 bool (*is_so_far)(const struct borrowed *b,
					   const struct sonde_servant *data),
			 struct sonde_servant *ret)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };

	for (unsigned int i = 0; i < LOOKS; i++) {
		if (read_data(b, ret) == 0 && is_so_far(b, ret))
			return 0;
		if (syscall(SYS_kill, b->request->pid, 0) != 0 &&
		    errno == ESRCH)
			return -ESRCH;
		(void)nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

/* Whether the process's child may be a servant that is still in the stub: it
 * shares the memory, and runs, or sleeps there. */
static bool may_be_in_stub(const struct borrowed *b, pid_t child)
{
	struct sonde_proc_syscall call;
	int rc = sonde_proc_syscall(child, child, &call);

	if (rc == 0)
		return call.pc - b->room < STUB_ROOM;
	return rc == -EAGAIN &&
	       syscall(SYS_kcmp, b->request->pid, child, KCMP_VM, 0, 0) == 0;
}

static bool is_any_in_stub(const struct borrowed *b)
{
	pid_t *children = NULL;
	size_t nr = 0;
	bool is_any = false;

	if (sonde_procfs_children(b->request->pid, &children, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		is_any |= may_be_in_stub(b, children[i]);
	free(children);
	return is_any;
}

/* From its being cloned to its being ready; it has left the stub, then. */
static int raise_servant(const struct borrowed *b)
{
	struct sonde_servant made = { 0 };
	int rc = await_servant(b, has_mapped, &made);

	if (rc == 0)
		rc = fill_memory(b);
	if (rc == 0)
		rc = await_servant(b, is_ready, &made);
	if (rc == 0)
		rc = made.status;
	return rc == 0 ? 0 : fail(b, rc, "no servant could be made");
}

/* ---- by ptrace ---- */

/* A restartable sequence was left by the interrupt; the kernel would abort it
 * when the thread goes on, and forgets it if the thread goes on elsewhere. */
static void leave_rseq(struct borrowed *b)
{
	const int memory = b->request->memory_fd;
	struct rseq_configuration config = { 0 };
	struct critical_section section;
	uint64_t at = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, b->tid, sizeof(config), &config) <=
		    0 ||
	    config.pointer == 0 ||
	    pread(memory, &at, sizeof(at),
		  (off_t)(config.pointer + RSEQ_CS_OFFSET)) != sizeof(at) ||
	    at == 0 ||
	    pread(memory, &section, sizeof(section), (off_t)at) !=
		    sizeof(section))
		return;
	if (b->saved.rip - section.start < section.size)
		b->saved.rip = section.abort;
}

/* A system call that was cut short by the interrupt alone begins again. */
static void restart_call(struct borrowed *b)
{
	if ((int64_t)b->saved.orig_rax < 0 || (int64_t)b->saved.rax != -EINTR ||
	    !sonde_procfs_restarts((long)b->saved.orig_rax) ||
	    sonde_procfs_signal_pends(b->request->pid, b->tid))
		return;
	b->saved.rax = b->saved.orig_rax;
	b->saved.rip -= 2;
	b->saved.orig_rax = UINT64_MAX;
}

static int inject_save(struct borrowed *b)
{
	if (ptrace(PTRACE_GETREGS, b->tid, NULL, &b->saved) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, b->tid, sizeof(b->mask), &b->mask) != 0)
		return -errno;
	if (b->saved.cs != CODE_SEGMENT) {
		sonde_process_error_set(b->error,
					"process %d is a 32-bit program; only "
					"64-bit ones can have probes",
					(int)b->request->pid);
		return -ENOTSUP;
	}
	restart_call(b);
	leave_rseq(b);
	return 0;
}

static int fail_seize(const struct borrowed *b, int rc)
{
	const pid_t pid = b->request->pid;
	struct sonde_process_error *error = b->error;

	if (rc == -EPERM && sonde_procfs_tracer(pid) > 0)
		sonde_process_error_set(
			error,
			"process %d is held by another debugger or tracer, "
			"process %d; detach it first",
			(int)pid, (int)sonde_procfs_tracer(pid));
	else if (rc == -EPERM && geteuid() == 0)
		sonde_process_error_set(error,
					"process %d may not be attached to: "
					"the capability CAP_SYS_PTRACE is "
					"missing (docker run --cap-add "
					"SYS_PTRACE)",
					(int)pid);
	else if (rc == -EPERM && sonde_procfs_yama() > 0)
		sonde_process_error_set(
			error,
			"process %d may not be attached to: run as root, or "
			"allow it with: sysctl kernel.yama.ptrace_scope=0",
			(int)pid);
	else if (rc == -EPERM)
		sonde_process_error_set(error,
					"process %d belongs to another user or "
					"is protected; run as root",
					(int)pid);
	else
		return fail(b, rc, "can't attach");
	return rc;
}

static int trace(struct borrowed *b, pid_t tid)
{
	b->tid = tid;
	return ptrace(PTRACE_SEIZE, tid, NULL,
		      (uintptr_t)PTRACE_O_TRACESYSGOOD) == 0 ?
		       0 :
		       fail_seize(b, -errno);
}

/* If it has another CPU than we, neither sleeps. That is where it is now; it may
 * go elsewhere, which costs time. */
static void stay_awake(struct borrowed *b)
{
	struct sonde_proc_stat now;
	const int ours = sched_getcpu();
	char load[128];

	(void)sonde_textfile_read_line(load, sizeof(load), "/proc/loadavg");
	b->stays_awake = ours >= 0 && sonde_proc_stat(b->tid, &now) == 0 &&
			 now.cpu != (uint32_t)ours;
	if (b->stays_awake &&
	    sonde_inject_awake_helps(load, sysconf(_SC_NPROCESSORS_ONLN)))
		b->awake = sonde_inject_awake_begin(now.cpu);
}

static int stop_thread(const struct borrowed *b)
{
	return ptrace(PTRACE_INTERRUPT, b->tid, NULL, NULL) == 0 &&
			       await_interrupt(b) == 0 ?
		       0 :
		       fail(b, -ESRCH, "can't stop a thread");
}

/* Seizes it and waits till it stops. */
static int seize(struct borrowed *b, pid_t tid)
{
	int rc = trace(b, tid);

	return rc == 0 ? stop_thread(b) : rc;
}

/* One that can be had. All may sleep uninterruptibly, in a file system say,
 * for an instant: looks again for as long as CHOOSE_TRIES take. */
static int choose_thread(pid_t pid, pid_t *ret_tid)
{
	const struct timespec pause = { .tv_nsec = CHOOSE_PAUSE_NS };
	int rc = -EBUSY;

	for (int i = 0; i < CHOOSE_TRIES; i++) {
		rc = sonde_procfs_choose_thread(pid, ret_tid);
		if (rc != -EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return rc;
}

/* A thread of the process, traced, which runs on yet; and the code. */
static int borrow_thread(struct borrowed *b, const struct stub *stub)
{
	pid_t tid = 0;
	int rc = choose_thread(b->request->pid, &tid);

	if (rc != 0)
		return fail(b, rc, "no thread that could be borrowed");
	rc = trace(b, tid);
	if (rc != 0)
		return rc;
	rc = open_memory(b);
	if (rc == 0)
		rc = put_stub_code(b, stub);
	/* One that is traced and runs can't be let go: it is stopped before. */
	if (rc != 0 && ptrace(PTRACE_INTERRUPT, b->tid, NULL, NULL) == 0 &&
	    await_interrupt(b) == 0)
		(void)resume(b, PTRACE_DETACH, 0);
	return rc;
}

/* While it is stopped. */
static int make_call(struct borrowed *b, const struct stub *stub,
		     struct sonde_remote_call *call)
{
	struct user_regs_struct regs;
	int rc = inject_save(b);

	if (rc == 0)
		rc = put_stub_data(b, stub);
	if (rc == 0) {
		regs = registers_at(b, b->room);
		set_call(&regs, call);
		*b->written = 0;
		rc = lead(b, &regs, &call->result);
		/* See the top. The thread is where it was. */
		(void)ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(b->mask),
			     &b->mask);
		if (ptrace(PTRACE_SETREGS, b->tid, NULL, &b->saved) == 0)
			*b->written = b->room;
	}
	(void)resume(b, PTRACE_DETACH, 0);
	return rc;
}

/* A thread makes one call. -errno if it can't be made; what the kernel says is
 * in call->result. */
static int call_by_thread(struct borrowed *b, const struct stub *stub,
			  struct sonde_remote_call *call)
{
	int rc = borrow_thread(b, stub);

	if (rc == 0) {
		stay_awake(b);
		rc = stop_thread(b);
		if (rc == 0)
			rc = make_call(b, stub, call);
		sonde_inject_awake_stop(b->awake);
	}
	return rc;
}

/* Where only a tracer may write code, it must be one once more. */
static void clear_stub(struct borrowed *b)
{
	take_stub(b);
	if (*b->written == 0 || seize(b, b->tid) != 0)
		return;
	take_stub(b);
	(void)resume(b, PTRACE_DETACH, 0);
}

static void end_awake(struct borrowed *b)
{
	sonde_inject_awake_end(b->awake);
	b->awake = 0;
}

static int call_by_ptrace(struct borrowed *b, struct sonde_remote_call *call)
{
	int rc = call_by_thread(b, &call_stub, call);

	if (*b->written != 0)
		clear_stub(b);
	close_memory(b);
	end_awake(b);
	return rc;
}

/* A servant that has ended before it was one. */
static void wait_for_servant(struct borrowed *b, int64_t servant)
{
	struct sonde_remote_call wait = {
		.number = SYS_wait4,
		.args = { (uint64_t)servant, 0, (uint64_t)(__WALL | WNOHANG) },
	};

	(void)call_by_ptrace(b, &wait);
}

static int inject_by_ptrace(struct borrowed *b)
{
	struct sonde_remote_call clone = clone_call();
	int rc = call_by_thread(b, &birth_stub, &clone);
	int made = rc;

	if (rc == 0 && clone.result < 0)
		rc = made =
			fail(b, (int)clone.result, "no servant could be made");
	if (rc == 0)
		rc = raise_servant(b);
	if (*b->written != 0 && (rc == 0 || !is_any_in_stub(b)))
		clear_stub(b);
	close_memory(b);
	end_awake(b);
	if (made == 0 && rc != 0 && *b->written == 0)
		wait_for_servant(b, clone.result);
	return rc;
}

/* ---- masks ---- */

static int unblock(struct borrowed *b, uint64_t signals)
{
	uint64_t own = 0;
	uint64_t shared = 0;

	if (ptrace(PTRACE_GETREGS, b->tid, NULL, &b->saved) != 0 ||
	    ptrace(PTRACE_GETSIGMASK, b->tid, sizeof(b->mask), &b->mask) != 0)
		return -errno;
	(void)sonde_proc_status(b->tid, "SigPnd", 16, &own);
	(void)sonde_proc_status(b->tid, "ShdPnd", 16, &shared);
	if ((b->mask & signals) != 0 && ((own | shared) & signals) == 0) {
		b->mask &= ~signals;
		if (ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(b->mask),
			   &b->mask) != 0)
			return -errno;
	}
	restart_call(b);
	return ptrace(PTRACE_SETREGS, b->tid, NULL, &b->saved) == 0 ? 0 :
								      -errno;
}

int sonde_inject_unblock(pid_t pid, pid_t tid, uint64_t signals)
{
	const struct sonde_inject_request request = { .pid = pid,
						      .memory_fd = -1 };
	struct sonde_process_error error;
	struct borrowed b = { .request = &request, .error = &error };
	const char state = sonde_procfs_state(tid);
	int rc;

	if (state != 'R' && state != 'S')
		return -EBUSY;
	rc = seize(&b, tid);
	if (rc != 0)
		return rc;
	rc = unblock(&b, signals);
	(void)resume(&b, PTRACE_DETACH, 0);
	return rc;
}

/* ---- by somebody else ---- */

static int run_to_trap(const struct borrowed *b, struct user_regs_struct *regs)
{
	const struct sonde_borrow_ops *ops = b->request->borrow;
	void *ctx = b->request->borrow_ctx;
	int rc = ops->set_registers(ctx, regs);

	if (rc == 0)
		rc = ops->run_to_trap(ctx);
	if (rc == 0)
		rc = ops->get_registers(ctx, regs);
	return rc;
}

/* The birth's code, whose way back is an int3. */
static int put_birth_by_ops(const struct borrowed *b)
{
	static const unsigned char int3 = INT3;
	int rc = put_stub_code(b, &birth_stub);

	if (rc == 0)
		rc = put_stub_data(b, &birth_stub);
	if (rc == 0)
		rc = write_memory(b,
				  b->room + (uint64_t)(sonde_birth_back -
						       sonde_birth_code),
				  &int3, sizeof(int3));
	return rc;
}

static int clone_by_ops(const struct borrowed *b)
{
	struct sonde_remote_call clone = clone_call();
	struct user_regs_struct regs = registers_at(b, b->room);
	int rc;

	set_call(&regs, &clone);
	rc = run_to_trap(b, &regs);
	if (rc != 0 || (int64_t)regs.rax < 0)
		return fail(b, rc != 0 ? rc : (int)regs.rax,
			    "no servant could be made");
	return 0;
}

static int inject_by_ops(struct borrowed *b)
{
	const struct sonde_borrow_ops *ops = b->request->borrow;
	void *ctx = b->request->borrow_ctx;
	int rc = ops->get_registers(ctx, &b->saved);

	b->own_written = 0;
	b->written = &b->own_written;
	if (rc == 0)
		rc = put_birth_by_ops(b);
	if (rc != 0)
		return fail(b, rc, "no thread can be borrowed");
	rc = clone_by_ops(b);
	(void)ops->set_registers(ctx, &b->saved);
	if (rc == 0)
		rc = raise_servant(b);
	if (rc == 0 || !is_any_in_stub(b))
		take_stub(b);
	return rc;
}

/* ---- by a process of its own ---- */

/* What the helper says; in memory that both have. */
struct said {
	int rc;
	uint64_t written;
	struct sonde_remote_call call;
	struct sonde_process_error error;
};

/* The servant, or one call. */
static int do_by_ptrace(struct borrowed *b, struct said *said, bool is_call)
{
	b->error = &said->error;
	b->written = &said->written;
	return is_call ? call_by_ptrace(b, &said->call) : inject_by_ptrace(b);
}

_Noreturn static void be_helper(struct borrowed *b, struct said *said,
				bool is_call)
{
	const struct sched_param least = { .sched_priority = 1 };
	sigset_t all;

	/* No other process's turn makes a stop longer. It may not be allowed. */
	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
	/* Nothing but a SIGKILL of its own ends it on the way. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "sonde-attach"); /* for ps */
	said->rc = do_by_ptrace(b, said, is_call);
	_exit(0);
}

/* Traces a thread, which doesn't stop for that, and lets it go by its end. */
_Noreturn static void be_cleaner(struct borrowed *b)
{
	if (choose_thread(b->request->pid, &b->tid) == 0 &&
	    ptrace(PTRACE_SEIZE, b->tid, NULL, NULL) == 0 &&
	    open_memory(b) == 0)
		take_stub(b);
	_exit(0);
}

/* One that no helper fills the memory of any more ends. */
static int dismiss_servant(const struct borrowed *b)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct sonde_servant data;

	for (unsigned int i = 0; i < LOOKS; i++) {
		if (!is_any_in_stub(b))
			return 0;
		if (read_data(b, &data) == 0 && has_mapped(b, &data) &&
		    data.go == 0)
			(void)send_word(b, SONDE_SERVANT_END);
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* What a helper that was killed has left, once the thread is through. */
static void inject_clean_up(struct borrowed *b, struct said *said)
{
	const struct sonde_grace_period_range range = {
		.start = b->room - 1,
		.end = b->room + STUB_ROOM,
	};
	pid_t cleaner;

	if (sonde_grace_period_wait(b->request->pid, &range, 1, QUIET_MS) !=
		    0 ||
	    dismiss_servant(b) != 0 || said->written == 0)
		return;
	b->written = &said->written;
	cleaner = fork();
	if (cleaner == 0)
		be_cleaner(b);
	while (cleaner > 0 && waitpid(cleaner, NULL, 0) < 0 && errno == EINTR)
		;
}

static int do_by_helper(struct borrowed *b, struct said *said, bool is_call)
{
	pid_t helper;
	pid_t got;

	said->rc = -EINTR; /* if it is killed */
	helper = fork();
	if (helper == 0)
		be_helper(b, said, is_call);
	if (helper < 0)
		return -errno;
	do {
		got = waitpid(helper, NULL, 0);
	} while (got < 0 && errno == EINTR);
	if (said->rc == -EINTR || said->written != 0)
		inject_clean_up(b, said);
	/* Yama may allow it to an ancestor of the process only: to us. */
	if (said->rc == -EPERM && geteuid() != 0 && sonde_procfs_yama() > 0)
		said->rc = do_by_ptrace(b, said, is_call);
	return said->rc;
}

/* Where to, for whoever does it. */
static int inject_prepare(const struct sonde_inject_request *request,
			  struct sonde_process_error *error,
			  struct borrowed *ret)
{
	int rc;

	*ret = (struct borrowed){
		.request = request,
		.error = error,
		.memory = -1,
	};
	if (getrandom(&ret->token, sizeof(ret->token), 0) !=
	    (ssize_t)sizeof(ret->token))
		return fail(ret, -errno, "a random number");
	rc = find_room(ret);
	return rc == 0 ? 0 : fail(ret, rc, "no unused bytes of code");
}

/* call NULL: a servant. */
static int inject(struct borrowed *b, struct sonde_remote_call *call)
{
	struct sonde_process_error *error = b->error;
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (said == MAP_FAILED)
		return fail(b, -errno, "no memory to attach with");
	if (call)
		said->call = *call;
	rc = do_by_helper(b, said, call != NULL);
	if (call)
		call->result = said->call.result;
	b->error = error;
	if (said->error.text[0])
		*error = said->error;
	else if (rc != 0)
		(void)fail(b, rc, "can't attach");
	(void)munmap(said, sizeof(*said));
	return rc;
}

int sonde_inject(const struct sonde_inject_request *request,
		 struct sonde_process_error *error, uint64_t *ret_memory)
{
	struct borrowed b;
	int rc = inject_prepare(request, error, &b);

	if (rc == 0)
		rc = request->borrow ? inject_by_ops(&b) : inject(&b, NULL);
	if (rc == 0)
		*ret_memory = b.place;
	return rc;
}

int sonde_inject_call(const struct sonde_inject_request *request,
		      struct sonde_process_error *error,
		      struct sonde_remote_call *call)
{
	struct borrowed b;
	int rc = inject_prepare(request, error, &b);

	return rc == 0 ? inject(&b, call) : rc;
}
