/* SPDX-License-Identifier: MIT */
/*
 * inject.c - borrowing a thread to make a system call, or a servant.
 *
 * By ptrace: the thread is seized and interrupted, and led by PTRACE_SETREGS
 * to code that completes itself (servant_x86_64.S):
 *
 *	stub	in unused bytes behind the code of a mapping: one system call
 *	servant	in memory that a stub's mmap() has made: makes the servant
 *
 * Both end in the thread's own mask and registers, and where it was. So who
 * leads it may be killed at any step, and it goes on by itself. Order:
 *
 *	1. the code and its data are complete before the registers point there
 *	2. registers, then the mask: all signals are blocked, so they stay
 *	   pending, and arrive when the thread goes on
 *	3. at the end of the last system call, which has put back the mask, the
 *	   registers of the first stop: only the kernel can go on with a system
 *	   call as if it had not been interrupted. (Alone, the thread makes it
 *	   again: it looks as if a signal had arrived just before it.) A tracer
 *	   that detaches, or dies, makes the kernel look for that
 *	4. the stub's bytes are taken away when the registers point elsewhere
 *
 * No int3 and no single step: those force a SIGTRAP, which resets the process's
 * action if it is ignored or blocked.
 *
 * Some kernels let read-only memory be written by a task's tracer only, and only
 * through that task's /proc/PID/task/TID/mem (CONFIG_PROC_MEM_FORCE_PTRACE). So
 * that is what is written through, on all of them.
 *
 * A process of its own does this, which no signal but a SIGKILL of its own
 * ends, while the tool waits for it, and has another take a stub away that it has
 * left. If both are killed at that moment, the stub stays where nothing was.
 *
 * By somebody who holds the thread already (struct sonde_borrow_ops): the same
 * code, that ends at a `syscall; int3` put into such unused bytes.
 */
#include "probe/inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/inject/procfs.h"
#include "probe/inject/quiet.h"
#include "probe/inject/servant.h"
#include "sys/proc.h"

#define INTERRUPT_MS    200 /* for a thread to stop */
#define CHOOSE_TRIES    1000
#define CHOOSE_PAUSE_NS 1000000L
#define CODE_SEGMENT    0x33
#define GATE_SIZE       3
#define GATE_INT3       2
#define STUB_ROOM       256u
#define ROOMS           8u /* of a mapping's end that are looked at */
#define QUIET_MS        5000
#define RSEQ_CS_OFFSET  8
#define SINGLE_STEP     0x100u /* TF */
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
	int memory;        /* its own, of which we are the tracer */
	uint64_t room;     /* unused bytes of code */
	uint64_t *written; /* `room` while there is something */
	struct user_regs_struct saved;
	uint64_t mask;
};

void sonde_process_error_set(struct sonde_process_error *error,
			     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

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
	pid_t got;

	do {
		got = waitpid(b->tid, ret_status, __WALL);
	} while (got < 0 && errno == EINTR);
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

/* Up to the end of the system call behind which `at` is. Of the results on the
 * way, *ret_first is the first call's. SIGSTOP can't be blocked, and has its
 * effect when the thread is let go. */
static int run_to(const struct borrowed *b, uint64_t at, int64_t *ret_first)
{
	const int wanted = SIGTRAP | 0x80;
	struct user_regs_struct regs;
	unsigned int stops = 0;
	unsigned int there = 0;
	int status = 0;
	int rc = 0;

	while (rc == 0 && there < 2) {
		const bool is_signal = status != 0 && !is_event_stop(status) &&
				       WSTOPSIG(status) != wanted;

		rc = resume(b, PTRACE_SYSCALL,
			    is_signal ? WSTOPSIG(status) : 0);
		if (rc == 0)
			rc = await_stop(b, &status);
		if (rc != 0 || WSTOPSIG(status) != wanted)
			continue;
		if (ptrace(PTRACE_GETREGS, b->tid, NULL, &regs) != 0)
			return -errno;
		if (++stops == 2)
			*ret_first = (int64_t)regs.rax;
		there += regs.rip == at;
	}
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

/* Leads it to `at`, through the code there, up to `done`. */
static int lead(const struct borrowed *b, const struct user_regs_struct *regs,
		uint64_t done, int64_t *ret_first)
{
	const uint64_t all = UINT64_MAX;

	if (ptrace(PTRACE_SETREGS, b->tid, NULL, regs) != 0 ||
	    ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(all), &all) != 0)
		return -errno;
	return run_to(b, done, ret_first);
}

static int open_memory(struct borrowed *b)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/mem",
		       (int)b->request->pid, (int)b->tid);
	b->memory = open(path, O_RDWR | O_CLOEXEC);
	return b->memory >= 0 ? 0 : -errno;
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
static int find_room(struct borrowed *b)
{
	static const unsigned char unused[STUB_ROOM];
	struct sonde_mappings mappings;
	unsigned char bytes[STUB_ROOM];
	int rc = sonde_process_mappings(b->request->pid, &mappings);

	if (rc != 0)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < mappings.nr * ROOMS && rc != 0; i++) {
		const struct sonde_mapping *m = &mappings.list[i / ROOMS];
		const uint64_t at = m->end - (i % ROOMS + 1) * STUB_ROOM;

		if (!m->executable || m->shared || m->path[0] == '\0' ||
		    read_code(b, at, bytes, sizeof(bytes)) != 0 ||
		    memcmp(bytes, unused, sizeof(bytes)) != 0)
			continue;
		b->room = at;
		rc = 0;
	}
	sonde_mappings_free(&mappings);
	return rc;
}

static size_t stub_size(void)
{
	return (size_t)(sonde_stub_code_end - sonde_stub_code);
}

static int put_stub(const struct borrowed *b)
{
	const struct user_regs_struct alone = registers_alone(b);
	const struct sonde_stub_data data = {
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
	};
	unsigned char bytes[STUB_ROOM] = { 0 };

	memcpy(bytes, sonde_stub_code, stub_size());
	memcpy(bytes + stub_size(), &data, sizeof(data));
	*b->written = b->room;
	return write_memory(b, b->room, bytes, sizeof(bytes));
}

static void take_stub(const struct borrowed *b)
{
	static const unsigned char unused[STUB_ROOM];

	if (*b->written != 0 &&
	    write_memory(b, b->room, unused, sizeof(unused)) == 0)
		*b->written = 0;
}

/* By ptrace: one system call; the thread is then at its end. -errno if it
 * can't be made; what it says is in call->result. */
static int call_by_stub(const struct borrowed *b,
			struct sonde_remote_call *call)
{
	struct user_regs_struct regs = registers_at(b, b->room);
	int rc = put_stub(b);

	set_call(&regs, call);
	if (rc == 0)
		rc = lead(b, &regs,
			  b->room +
				  (uint64_t)(sonde_stub_done - sonde_stub_code),
			  &call->result);
	return rc;
}

/* ---- the servant's memory, and its life ---- */

static struct sonde_servant servant_data(const struct borrowed *b,
					 uint64_t memory)
{
	const uint64_t data = memory + SONDE_SERVANT_CODE_SIZE;
	const uint64_t buffer = memory + SONDE_SERVANT_BUFFER_AT;
	struct sonde_servant servant = {
		.pid = b->request->inner_pid,
		.timeout_ms = SONDE_SERVANT_PATIENCE_MS,
		.polls = { { SONDE_SERVANT_FD_SOCKET, POLLIN, 0 },
			   { SONDE_SERVANT_FD_PROCESS, POLLIN, 0 } },
		.signals = UINT64_MAX,
		.name = SONDE_SERVANT_NAME,
		.root = "/",
		.tracer = (uint64_t)b->request->tracer,
		.how = SIG_SETMASK,
		.mask = b->mask,
		.registers = registers_alone(b),
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

/* What is to be mapped: nothing but code, as far as it is known here; it makes
 * its data writable itself. */
static struct sonde_remote_call mapping_call(void)
{
	return (struct sonde_remote_call){
		.number = SYS_mmap,
		.args = { 0, SONDE_SERVANT_SIZE, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 },
	};
}

static int is_mapped(const struct sonde_remote_call *map)
{
	return map->result < 0 && map->result >= -4095 ? (int)map->result : 0;
}

static int fill_memory(const struct borrowed *b,
		       const struct sonde_servant *data, uint64_t memory)
{
	int rc = write_memory(
		b, memory, sonde_servant_code,
		(size_t)(sonde_servant_code_end - sonde_servant_code));

	if (rc == 0)
		rc = write_memory(b, memory + SONDE_SERVANT_CODE_SIZE, data,
				  sizeof(*data));
	return rc;
}

/* What came of it. */
static int check_servant(const struct borrowed *b, uint64_t memory)
{
	struct sonde_servant made;

	if (pread(b->request->memory_fd, &made, sizeof(made),
		  (off_t)(memory + SONDE_SERVANT_CODE_SIZE)) != sizeof(made))
		return -EIO;
	if (made.status != 0)
		return fail(b, made.status, "no servant could be made");
	return made.tid != 0 ? 0 : fail(b, -EACCES, "no servant could be made");
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

/* See the top. The thread is where it was; it is let go, and only then the
 * stub is of no use. */
static void give_back(const struct borrowed *b)
{
	(void)ptrace(PTRACE_SETREGS, b->tid, NULL, &b->saved);
	take_stub(b);
	(void)resume(b, PTRACE_DETACH, 0);
	close(b->memory);
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

/* Seizes it and waits till it stops. */
static int seize(struct borrowed *b, pid_t tid)
{
	b->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (uintptr_t)PTRACE_O_TRACESYSGOOD) !=
	    0)
		return fail_seize(b, -errno);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
	    await_interrupt(b) != 0)
		return fail(b, -ESRCH, "can't stop a thread");
	return 0;
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

/* A thread of the process, stopped; its state is saved. */
static int borrow(struct borrowed *b)
{
	pid_t tid = 0;
	int rc = find_room(b);

	if (rc != 0)
		return fail(b, rc, "no unused bytes of code");
	rc = choose_thread(b->request->pid, &tid);
	if (rc != 0)
		return fail(b, rc, "no thread that could be borrowed");
	rc = seize(b, tid);
	if (rc != 0)
		return rc;
	rc = inject_save(b);
	if (rc == 0)
		rc = open_memory(b);
	if (rc != 0)
		(void)resume(b, PTRACE_DETACH, 0);
	return rc;
}

/* The thread is led from the stub's end to the servant's code. */
static int make_servant(const struct borrowed *b, uint64_t memory)
{
	const struct user_regs_struct regs = registers_at(b, memory);
	const struct sonde_servant data = servant_data(b, memory);
	int64_t first = 0;
	int rc = fill_memory(b, &data, memory);

	if (rc == 0)
		rc = lead(b, &regs,
			  memory + (uint64_t)(sonde_servant_done -
					      sonde_servant_code),
			  &first);
	return rc == 0 ? check_servant(b, memory) : rc;
}

static int inject_by_ptrace(struct borrowed *b, uint64_t *ret_memory)
{
	struct sonde_remote_call map = mapping_call();
	int rc = borrow(b);

	if (rc != 0)
		return rc;
	rc = call_by_stub(b, &map);
	if (rc == 0)
		rc = is_mapped(&map);
	if (rc != 0)
		(void)fail(b, rc, "no memory could be mapped");
	else
		rc = make_servant(b, (uint64_t)map.result);
	if (rc == 0)
		*ret_memory = (uint64_t)map.result;
	give_back(b);
	return rc;
}

static int call_by_ptrace(struct borrowed *b, struct sonde_remote_call *call)
{
	int rc = borrow(b);

	if (rc != 0)
		return rc;
	rc = call_by_stub(b, call);
	give_back(b);
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

/* With `syscall; int3` in the room. */
static int make_by_ops(const struct borrowed *b, uint64_t *ret_memory)
{
	struct user_regs_struct regs = registers_at(b, b->room);
	struct sonde_remote_call map = mapping_call();
	struct sonde_servant data;
	int rc;

	set_call(&regs, &map);
	rc = run_to_trap(b, &regs);
	map.result = (int64_t)regs.rax;
	if (rc == 0)
		rc = is_mapped(&map);
	if (rc != 0)
		return fail(b, rc, "no memory could be mapped");
	/* It ends at the int3, with the mask that it has. */
	data = servant_data(b, (uint64_t)map.result);
	data.how = SIG_BLOCK;
	data.mask = 0;
	data.registers = registers_at(b, b->room + GATE_INT3);
	rc = fill_memory(b, &data, (uint64_t)map.result);
	regs = registers_at(b, (uint64_t)map.result);
	if (rc == 0)
		rc = run_to_trap(b, &regs);
	if (rc == 0)
		rc = check_servant(b, (uint64_t)map.result);
	if (rc == 0)
		*ret_memory = (uint64_t)map.result;
	return rc;
}

static int inject_by_ops(struct borrowed *b, uint64_t *ret_memory)
{
	static const unsigned char gate[GATE_SIZE] = { 0x0f, 0x05, 0xcc };
	static const unsigned char unused[GATE_SIZE];
	const struct sonde_borrow_ops *ops = b->request->borrow;
	void *ctx = b->request->borrow_ctx;
	int rc = find_room(b);

	if (rc == 0)
		rc = ops->get_registers(ctx, &b->saved);
	if (rc == 0)
		rc = ops->write(ctx, b->room, gate, sizeof(gate));
	if (rc != 0)
		return fail(b, rc, "no thread can be borrowed");
	rc = make_by_ops(b, ret_memory);
	(void)ops->set_registers(ctx, &b->saved);
	(void)ops->write(ctx, b->room, unused, sizeof(unused));
	return rc;
}

/* ---- by a process of its own ---- */

/* What the helper says; in memory that both have. */
struct said {
	int rc;
	uint64_t memory;
	uint64_t written;
	struct sonde_remote_call call;
	struct sonde_process_error error;
};

/* The servant, or one call. */
static int do_by_ptrace(struct borrowed *b, struct said *said, bool is_call)
{
	b->error = &said->error;
	b->written = &said->written;
	return is_call ? call_by_ptrace(b, &said->call) :
			 inject_by_ptrace(b, &said->memory);
}

_Noreturn static void be_helper(struct borrowed *b, struct said *said,
				bool is_call)
{
	sigset_t all;

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

/* What a helper that was killed has left, once the thread is through. */
static void inject_clean_up(struct borrowed *b, struct said *said)
{
	const struct sonde_quiet_range range = {
		.start = said->written - 1,
		.end = said->written + STUB_ROOM,
	};
	pid_t cleaner;

	if (said->written == 0 ||
	    sonde_quiet_wait(b->request->pid, &range, 1, QUIET_MS) != 0)
		return;
	b->room = said->written;
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
	inject_clean_up(b, said);
	/* Yama may allow it to an ancestor of the process only: to us. */
	if (said->rc == -EPERM && geteuid() != 0 && sonde_procfs_yama() > 0)
		said->rc = do_by_ptrace(b, said, is_call);
	return said->rc;
}

static int inject(const struct sonde_inject_request *request,
		  struct sonde_remote_call *call,
		  struct sonde_process_error *error, uint64_t *ret_memory)
{
	struct borrowed b = { .request = request, .error = error };
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (said == MAP_FAILED)
		return fail(&b, -errno, "no memory to attach with");
	if (call)
		said->call = *call;
	rc = do_by_helper(&b, said, call != NULL);
	if (call)
		call->result = said->call.result;
	if (ret_memory)
		*ret_memory = said->memory;
	if (said->error.text[0])
		*error = said->error;
	else if (rc != 0)
		(void)fail(&b, rc, "can't attach");
	(void)munmap(said, sizeof(*said));
	return rc;
}

int sonde_inject(const struct sonde_inject_request *request,
		 struct sonde_process_error *error, uint64_t *ret_memory)
{
	struct borrowed b = { .request = request, .error = error };

	return request->borrow ? inject_by_ops(&b, ret_memory) :
				 inject(request, NULL, error, ret_memory);
}

int sonde_inject_call(const struct sonde_inject_request *request,
		      struct sonde_process_error *error,
		      struct sonde_remote_call *call)
{
	return inject(request, call, error, NULL);
}
