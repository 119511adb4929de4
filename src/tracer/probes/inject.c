/* SPDX-License-Identifier: MIT */
/*
 * inject.c - borrowing a thread to make a servant.
 *
 * By ptrace: the thread is seized and interrupted, and its system calls are
 * made by PTRACE_SYSCALL at a `syscall` instruction of the vdso. No int3 and no
 * single step: those force a SIGTRAP, which resets the process's action if it
 * is ignored or blocked. All signals are blocked meanwhile, so they stay
 * pending and arrive when the thread goes on.
 *
 * How it goes on: an interrupted system call is restarted by the kernel when
 * the thread leaves the place where signals are handled. So after the last
 * call the registers are put back, and the thread is interrupted once more and
 * released from that stop.
 *
 * A tracer that is killed would leave the thread where it has led it. So a
 * process of its own does this, which no signal but a SIGKILL of its own ends,
 * while the tool waits for it.
 *
 * By somebody who holds the thread already (struct sonde_borrow_ops): the same
 * calls, at a `syscall; int3` put into unused bytes behind the code of a
 * mapping for that long.
 */
#include "tracer/probes/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "tracer/probes/procfs.h"
#include "tracer/probes/servant.h"

#define INTERRUPT_MS    200 /* for a thread to stop */
#define CHOOSE_TRIES    1000
#define CHOOSE_PAUSE_NS 1000000L
#define CODE_SEGMENT    0x33
#define GATE_SIZE       3
#define UNUSED_BYTES    16
#define RSEQ_CS_OFFSET  8

/* PTRACE_GET_RSEQ_CONFIGURATION's; older C libraries don't know it. */
#define GET_RSEQ_CONFIGURATION 0x420f
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size;
	uint32_t signature;
	uint32_t flags;
	uint32_t reserved;
};

struct borrowed {
	const struct sonde_inject_request *request;
	struct sonde_process_error *error;
	pid_t tid;
	uint64_t gate; /* a syscall instruction */
	unsigned char gate_bytes[GATE_SIZE];
	struct user_regs_struct saved;
	uint64_t mask;
	uint64_t rseq, rseq_cs; /* 0: none */
	int signal;             /* to be handed on when it goes on */
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

/* Up to a system call's begin or end. */
static int await_call(struct borrowed *b)
{
	const int wanted = SIGTRAP | 0x80;
	int status = 0;
	int rc;

	for (;;) {
		rc = resume(b, PTRACE_SYSCALL, 0);
		if (rc == 0)
			rc = await_stop(b, &status);
		if (rc != 0 || WSTOPSIG(status) == wanted)
			return rc;
		if (!is_event_stop(status))
			b->signal = WSTOPSIG(status);
	}
}

/* ---- a system call ---- */

static void set_call(struct user_regs_struct *regs,
		     const struct sonde_remote_call *call, uint64_t at)
{
	regs->rip = at;
	regs->rax = call->number;
	regs->orig_rax = UINT64_MAX; /* nothing to restart */
	regs->rdi = call->args[0];
	regs->rsi = call->args[1];
	regs->rdx = call->args[2];
	regs->r10 = call->args[3];
	regs->r8 = call->args[4];
	regs->r9 = call->args[5];
}

static int call_by_ptrace(struct borrowed *b, struct user_regs_struct *regs)
{
	int rc = 0;

	if (ptrace(PTRACE_SETREGS, b->tid, NULL, regs) != 0)
		return -errno;
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = await_call(b);
	if (rc == 0 && ptrace(PTRACE_GETREGS, b->tid, NULL, regs) != 0)
		rc = -errno;
	return rc;
}

static int call_by_ops(struct borrowed *b, struct user_regs_struct *regs)
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

/* Makes it at `at`, a syscall instruction; -errno if it fails. */
static int call_at(struct borrowed *b, struct sonde_remote_call *call,
		   uint64_t at)
{
	struct user_regs_struct regs = b->saved;
	int rc;

	set_call(&regs, call, at);
	rc = b->request->borrow ? call_by_ops(b, &regs) :
				  call_by_ptrace(b, &regs);
	if (rc != 0)
		return rc;
	call->result = (int64_t)regs.rax;
	return call->result < 0 && call->result >= -4095 ? (int)call->result :
							   0;
}

/* ---- the servant's memory, and its life ---- */

static struct sonde_servant servant_data(const struct borrowed *b,
					 uint64_t memory)
{
	const uint64_t data = memory + SONDE_SERVANT_CODE_SIZE;
	const uint64_t buffer = memory + SONDE_SERVANT_BUFFER_AT;
	struct sonde_servant servant = {
		.pid = b->request->inner_pid,
		.timeout_ms = 10000,
		.polls = { { SONDE_SERVANT_FD_SOCKET, POLLIN, 0 },
			   { SONDE_SERVANT_FD_PROCESS, POLLIN, 0 } },
		.signals = UINT64_MAX,
		.name = "sonde-servant",
		.root = "/",
		.tracer = (uint64_t)b->request->tracer,
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

static int write_memory(const struct borrowed *b, uint64_t address,
			const void *from, size_t size)
{
	return pwrite(b->request->memory_fd, from, size, (off_t)address) ==
			       (ssize_t)size ?
		       0 :
		       -EIO;
}

static int make_memory(struct borrowed *b, uint64_t *ret_memory)
{
	struct sonde_remote_call map = {
		.number = SYS_mmap,
		.args = { 0, SONDE_SERVANT_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 },
	};
	struct sonde_remote_call protect = {
		.number = SYS_mprotect,
		.args = { 0, SONDE_SERVANT_CODE_SIZE, PROT_READ | PROT_EXEC },
	};
	struct sonde_servant data;
	int rc = call_at(b, &map, b->gate);

	if (rc != 0)
		return rc;
	data = servant_data(b, (uint64_t)map.result);
	rc = write_memory(
		b, (uint64_t)map.result, sonde_servant_code,
		(size_t)(sonde_servant_code_end - sonde_servant_code));
	if (rc == 0)
		rc = write_memory(
			b, (uint64_t)map.result + SONDE_SERVANT_CODE_SIZE,
			&data, sizeof(data));
	protect.args[0] = (uint64_t)map.result;
	if (rc == 0)
		rc = call_at(b, &protect, b->gate);
	if (rc == 0)
		*ret_memory = (uint64_t)map.result;
	return rc;
}

/* An intermediate process, which makes the servant and ends. */
static int make_servant(struct borrowed *b, uint64_t memory)
{
	struct sonde_remote_call clone = {
		.number = SYS_clone,
		.args = { CLONE_VM | CLONE_SIGHAND | CLONE_FILES |
				  CLONE_UNTRACED,
			  memory + SONDE_SERVANT_SIZE },
	};
	struct sonde_remote_call wait = {
		.number = SYS_wait4,
		.args = { 0, 0, (uint64_t)__WALL },
	};
	int rc = call_at(b, &clone, memory);
	int status = 0;

	if (rc != 0)
		return fail(b, rc, "it can't clone a process");
	wait.args[0] = (uint64_t)clone.result;
	do {
		rc = call_at(b, &wait, b->gate);
	} while (rc == -EINTR || rc == -512 /* ERESTARTSYS */);
	/* ECHILD: another of its threads waits for whatever comes. */
	if (rc != 0 && rc != -ECHILD)
		return rc;
	if (pread(b->request->memory_fd, &status, sizeof(status),
		  (off_t)(memory + SONDE_SERVANT_CODE_SIZE +
			  offsetof(struct sonde_servant, status))) !=
	    sizeof(status))
		return -EIO;
	return status == 0 ? 0 : fail(b, status, "no servant could be made");
}

static int make_all(struct borrowed *b, uint64_t *ret_memory)
{
	uint64_t memory = 0;
	int rc = make_memory(b, &memory);

	if (rc != 0)
		return fail(b, rc, "no memory could be mapped");
	rc = make_servant(b, memory);
	if (rc == 0)
		*ret_memory = memory;
	return rc;
}

/* ---- by ptrace ---- */

/* A syscall instruction in the vdso. */
static int find_gate(struct borrowed *b)
{
	static const unsigned char wanted[] = { 0x0f, 0x05 };
	struct sonde_mappings mappings;
	unsigned char code[16384];
	int rc = sonde_process_mappings(b->request->pid, &mappings);

	if (rc != 0)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < mappings.nr && rc != 0; i++) {
		const struct sonde_mapping *m = &mappings.list[i];
		const unsigned char *found;
		ssize_t n;

		if (!m->executable || strcmp(m->path, "[vdso]") != 0)
			continue;
		n = pread(b->request->memory_fd, code, sizeof(code),
			  (off_t)m->start);
		if (n > (ssize_t)(m->end - m->start))
			n = (ssize_t)(m->end - m->start);
		found = n > 0 ? memmem(code, (size_t)n, wanted, 2) : NULL;
		if (found) {
			b->gate = m->start + (uint64_t)(found - code);
			rc = 0;
		}
	}
	sonde_mappings_free(&mappings);
	return rc;
}

/* A restartable sequence that was left by the interrupt: the kernel forgets
 * it once the thread runs elsewhere. */
static void save_rseq(struct borrowed *b)
{
	struct rseq_configuration config = { 0 };

	b->rseq = 0;
	if (ptrace(GET_RSEQ_CONFIGURATION, b->tid, sizeof(config), &config) <=
		    0 ||
	    config.pointer == 0)
		return;
	if (pread(b->request->memory_fd, &b->rseq_cs, sizeof(b->rseq_cs),
		  (off_t)(config.pointer + RSEQ_CS_OFFSET)) ==
		    sizeof(b->rseq_cs) &&
	    b->rseq_cs != 0)
		b->rseq = config.pointer;
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

static int save(struct borrowed *b)
{
	const uint64_t all = UINT64_MAX;

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
	save_rseq(b);
	if (ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(all), &all) != 0)
		return -errno;
	return 0;
}

/* See the top: the thread is left where signals are handled. */
static void give_back(struct borrowed *b)
{
	int status = 0;

	(void)ptrace(PTRACE_SETREGS, b->tid, NULL, &b->saved);
	(void)ptrace(PTRACE_SETSIGMASK, b->tid, sizeof(b->mask), &b->mask);
	if (b->rseq != 0)
		(void)write_memory(b, b->rseq + RSEQ_CS_OFFSET, &b->rseq_cs,
				   sizeof(b->rseq_cs));
	if (ptrace(PTRACE_INTERRUPT, b->tid, NULL, NULL) == 0 &&
	    resume(b, PTRACE_CONT, 0) == 0 && await_stop(b, &status) == 0 &&
	    !is_event_stop(status))
		b->signal = WSTOPSIG(status);
	(void)resume(b, PTRACE_DETACH, b->signal);
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

static int inject_by_ptrace(struct borrowed *b, uint64_t *ret_memory)
{
	pid_t tid = 0;
	int rc = find_gate(b);

	if (rc != 0)
		return fail(b, rc, "no vdso");
	rc = choose_thread(b->request->pid, &tid);
	if (rc != 0)
		return fail(b, rc, "no thread that could be borrowed");
	rc = seize(b, tid);
	if (rc != 0)
		return rc;
	rc = save(b);
	if (rc != 0) {
		(void)resume(b, PTRACE_DETACH, 0);
		return rc;
	}
	rc = make_all(b, ret_memory);
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
	(void)sonde_procfs_status(b->tid, "SigPnd", 16, &own);
	(void)sonde_procfs_status(b->tid, "ShdPnd", 16, &shared);
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
	const char state = sonde_procfs_state(pid, tid);
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

/* Some unused bytes at the end of a mapping with code. */
static int find_unused(struct borrowed *b)
{
	static const unsigned char unused[UNUSED_BYTES];
	struct sonde_mappings mappings;
	unsigned char bytes[UNUSED_BYTES];
	int rc = sonde_process_mappings(b->request->pid, &mappings);

	if (rc != 0)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < mappings.nr && rc != 0; i++) {
		const struct sonde_mapping *m = &mappings.list[i];
		const uint64_t at = m->end - UNUSED_BYTES;

		if (!m->executable || m->shared ||
		    b->request->borrow->read(b->request->borrow_ctx, at, bytes,
					     sizeof(bytes)) != 0 ||
		    memcmp(bytes, unused, sizeof(bytes)) != 0)
			continue;
		b->gate = at;
		rc = 0;
	}
	sonde_mappings_free(&mappings);
	return rc;
}

static int inject_by_ops(struct borrowed *b, uint64_t *ret_memory)
{
	static const unsigned char gate[GATE_SIZE] = { 0x0f, 0x05, 0xcc };
	const struct sonde_borrow_ops *ops = b->request->borrow;
	void *ctx = b->request->borrow_ctx;
	int rc = find_unused(b);

	if (rc == 0)
		rc = ops->read(ctx, b->gate, b->gate_bytes,
			       sizeof(b->gate_bytes));
	if (rc == 0)
		rc = ops->get_registers(ctx, &b->saved);
	if (rc == 0)
		rc = ops->write(ctx, b->gate, gate, sizeof(gate));
	if (rc != 0)
		return fail(b, rc, "no thread can be borrowed");
	rc = make_all(b, ret_memory);
	(void)ops->set_registers(ctx, &b->saved);
	(void)ops->write(ctx, b->gate, b->gate_bytes, sizeof(b->gate_bytes));
	return rc;
}

/* ---- by a process of its own ---- */

/* What the helper says; in memory that both have. */
struct said {
	int rc;
	uint64_t memory;
	struct sonde_process_error error;
};

_Noreturn static void be_helper(struct borrowed *b, struct said *said)
{
	sigset_t all;

	/* Nothing but a SIGKILL of its own ends it on the way. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "sonde-attach"); /* for ps */
	b->error = &said->error;
	said->rc = inject_by_ptrace(b, &said->memory);
	_exit(0);
}

static int inject_by_helper(struct borrowed *b, uint64_t *ret_memory)
{
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t helper;
	pid_t got;
	int rc;

	if (said == MAP_FAILED)
		return fail(b, -errno, "no memory to attach with");
	said->rc = -EINTR; /* if it is killed */
	helper = fork();
	if (helper == 0)
		be_helper(b, said);
	rc = helper < 0 ? -errno : 0;
	if (rc == 0) {
		do {
			got = waitpid(helper, NULL, 0);
		} while (got < 0 && errno == EINTR);
		rc = said->rc;
	}
	*ret_memory = said->memory;
	if (said->error.text[0])
		*b->error = said->error;
	else if (rc != 0)
		(void)fail(b, rc, "can't attach");
	(void)munmap(said, sizeof(*said));
	return rc;
}

int sonde_inject(const struct sonde_inject_request *request,
		 struct sonde_process_error *error, uint64_t *ret_memory)
{
	struct borrowed b = { .request = request, .error = error };
	int rc;

	if (request->borrow)
		return inject_by_ops(&b, ret_memory);
	rc = inject_by_helper(&b, ret_memory);
	/* Yama may allow it to an ancestor of the process only: to us. */
	return rc == -EPERM && geteuid() != 0 && sonde_procfs_yama() > 0 ?
		       inject_by_ptrace(&b, ret_memory) :
		       rc;
}
