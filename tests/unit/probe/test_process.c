/* SPDX-License-Identifier: MIT */
/*
 * test_process.c - a servant made in real processes: what they were doing goes
 * on as if nothing had been, and nothing is left behind.
 *
 * Each test forks a process that does one thing (struct shared is how it tells
 * what came of it). Nobody waits for time: for a system call to be entered, a
 * process to end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/probes.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/procfs.h"
#include "sys/proc.h"

#define LEFT_BYTES  16384u
#define ROUNDS      20
#define NR_SIGNALS  2000
#define NR_THREADS  8
#define SLEEP_NS    300000000
#define FAR         (1ull << 32)
#define PAGE        4096u
#define PATTERN     0x0123456789abcdefull
#define NO_NUMBER   (-2)
#define NR_FDS_ROOM 64

/* By parent and child. */
struct shared {
	uint32_t steps;  /* of the process that borrows a thread, so far */
	uint32_t die_at; /* it is killed before this one; 0: never */
	pid_t tool;      /* who is no borrower */
	pid_t told;      /* gets SIGUSR1 just before that; 0: nobody */
	uint64_t rounds; /* of a child that never sleeps */
	int64_t wrong;   /* how often something was not as it should be */
	int64_t result;  /* of the call that was interrupted */
	int64_t error;   /* its errno */
	uint32_t ready;  /* its handler is there */
	uint32_t done;   /* the call has returned */
	uint32_t enough; /* it need not sleep again */
	uint32_t futex;
	uint64_t signals; /* that arrived */
	uint64_t address;
	uint64_t value;
	int pipe[2];
	int epoll;
};

static struct shared *shared;

typedef void (*child_fn)(void);

static int setup(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(shared->pipe, O_CLOEXEC) != 0)
		return -1;
	shared->tool = getpid();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(shared->pipe[0]);
	close(shared->pipe[1]);
	munmap(shared, sizeof(*shared));
	return 0;
}

static pid_t start(child_fn run)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static struct sonde_process *open_it(pid_t pid)
{
	struct sonde_process_error error = { "" };
	struct sonde_process *process = NULL;
	const int rc = sonde_process_open(pid, NULL, NULL, &error, &process);

	if (rc != 0)
		fail_msg("%d: %s", rc, error.text);
	return process;
}

/* The system call that a thread sleeps in. */
static long call_of(pid_t pid)
{
	char path[64];
	long number = NO_NUMBER;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return number;
	/* NOLINTNEXTLINE(cert-err34-c): one number, our own */
	if (fscanf(file, "%ld", &number) != 1)
		number = NO_NUMBER;
	(void)fclose(file);
	return number;
}

static void await_call(pid_t pid, long number)
{
	while (call_of(pid) != number)
		sched_yield();
}

static void await_end(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	while (poll(&ended, 1, -1) != 1)
		;
	close(pidfd);
}

static int pidfd_of(pid_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}

static void await_word(const uint32_t *word)
{
	while (sonde_load_acquire(word) == 0)
		/* NOLINTNEXTLINE(bugprone-signal-handler, cert-sig30-c) */
		sched_yield(); /* a system call, and no more */
}

/* ---- the borrower's steps ---- */

/* The linker leads what the library calls here (--wrap). A step is a call that
 * the borrowed thread, or its memory, can tell from the one before. */
static void take_step(void)
{
	if (!shared || getpid() == shared->tool || shared->die_at == 0)
		return;
	if (++shared->steps != shared->die_at)
		return;
	if (shared->told)
		(void)kill(shared->told, SIGUSR1);
	(void)kill(getpid(), SIGKILL);
}

/* The linker's names.
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
long __real_ptrace(int request, pid_t pid, void *address, void *data);
long __wrap_ptrace(int request, pid_t pid, void *address, void *data);
long __wrap_ptrace(int request, pid_t pid, void *address, void *data)
{
	take_step();
	return __real_ptrace(request, pid, address, data);
}

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	take_step();
	return __real_waitpid(pid, status, options);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	take_step();
	return __real_sendmsg(fd, message, flags);
}

ssize_t __real_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t size, off_t at)
{
	take_step();
	return __real_pwrite64(fd, from, size, at);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* ---- calls that were interrupted ---- */

static void tell(int64_t result)
{
	shared->error = result < 0 ? errno : 0;
	shared->result = result;
	sonde_store_release(&shared->done, 1);
	for (;;)
		pause();
}

static void read_pipe(void)
{
	char byte;

	tell(read(shared->pipe[0], &byte, 1));
}

static void wait_futex(void)
{
	tell(syscall(SYS_futex, &shared->futex, FUTEX_WAIT, 0, NULL, NULL, 0));
}

static void wait_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	const int fd = epoll_create1(EPOLL_CLOEXEC);

	(void)epoll_ctl(fd, EPOLL_CTL_ADD, shared->pipe[0], &event);
	tell(epoll_wait(fd, &event, 1, -1));
}

static void wait_poll(void)
{
	struct pollfd fd = { .fd = shared->pipe[0], .events = POLLIN };

	tell(poll(&fd, 1, 1000000));
}

static void write_byte(void)
{
	assert_int_equal(write(shared->pipe[1], "x", 1), 1);
}

static void wake_futex(void)
{
	while (syscall(SYS_futex, &shared->futex, FUTEX_WAKE, 1, NULL, NULL,
		       0) != 1)
		sched_yield();
}

/* Opened many times, it still sleeps; then it returns what it should. */
static void check_call(child_fn run, long number, child_fn wake, int64_t wanted)
{
	const pid_t pid = start(run);

	await_call(pid, number);
	for (int i = 0; i < ROUNDS; i++) {
		struct sonde_process *process = open_it(pid);

		assert_int_equal(sonde_load_acquire(&shared->done), 0);
		sonde_process_close(process);
	}
	wake();
	await_word(&shared->done);
	assert_int_equal(shared->error, 0);
	assert_int_equal(shared->result, wanted);
	end(pid);
}

static void read_goes_on(void **state)
{
	(void)state;
	check_call(read_pipe, SYS_read, write_byte, 1);
}

static void futex_goes_on(void **state)
{
	(void)state;
	check_call(wait_futex, SYS_futex, wake_futex, 0);
}

static void epoll_goes_on(void **state)
{
	(void)state;
	check_call(wait_epoll, SYS_epoll_wait, write_byte, 1);
}

static void poll_goes_on(void **state)
{
	(void)state;
	check_call(wait_poll, SYS_poll, write_byte, 1);
}

/* Again and again, as who wants to meet it asleep may come late. */
static void sleep_for(int64_t ns)
{
	const struct timespec asleep = { 0, ns };
	struct timespec before;
	struct timespec after;
	int64_t slept;
	int rc;

	do {
		(void)clock_gettime(CLOCK_MONOTONIC, &before);
		rc = nanosleep(&asleep, NULL);
		(void)clock_gettime(CLOCK_MONOTONIC, &after);
		slept = (after.tv_sec - before.tv_sec) * 1000000000 +
			after.tv_nsec - before.tv_nsec;
		shared->wrong += slept < ns;
	} while (rc == 0 && !sonde_load_acquire(&shared->enough));
	tell(rc);
}

static void sleep_a_while(void)
{
	sleep_for(SLEEP_NS);
}

static void let_wake(void)
{
	sonde_store_release(&shared->enough, 1);
}

static void sleep_is_not_cut_short(void **state)
{
	const pid_t pid = start(sleep_a_while);

	(void)state;
	await_call(pid, SYS_clock_nanosleep);
	for (int i = 0; i < ROUNDS / 2; i++)
		sonde_process_close(open_it(pid));
	let_wake();
	await_word(&shared->done);
	assert_int_equal(shared->result, 0);
	assert_int_equal(shared->wrong, 0);
	end(pid);
}

/* ---- threads that run ---- */

/* All general registers and one of the vector ones, over and over. */
static void check_registers_once(void)
{
	/* The sequence leaves no register to find a place on the stack by. */
	static __thread uint64_t ok;

	ok = 0;
	__asm__ volatile("movq $0x1234567, %%rbx; movq %%rbx, %%xmm7\n"
			 "leaq 1(%%rbx), %%rcx; leaq 2(%%rbx), %%rdx\n"
			 "leaq 3(%%rbx), %%rsi; leaq 4(%%rbx), %%rdi\n"
			 "leaq 5(%%rbx), %%r8; leaq 6(%%rbx), %%r9\n"
			 "leaq 7(%%rbx), %%r10; leaq 8(%%rbx), %%r11\n"
			 "leaq 9(%%rbx), %%r12; leaq 10(%%rbx), %%r13\n"
			 "leaq 11(%%rbx), %%r14; leaq 12(%%rbx), %%r15\n"
			 "movl $20000, %%eax; stc\n"
			 "1: dec %%eax; jnc 2f; jnz 1b\n"
			 "movq %%xmm7, %%rax; subq %%rbx, %%rax\n"
			 "addq %%rcx, %%rax; addq %%rdx, %%rax\n"
			 "addq %%rsi, %%rax; addq %%rdi, %%rax\n"
			 "addq %%r8, %%rax; addq %%r9, %%rax\n"
			 "addq %%r10, %%rax; addq %%r11, %%rax\n"
			 "addq %%r12, %%rax; addq %%r13, %%rax\n"
			 "addq %%r14, %%rax; addq %%r15, %%rax\n"
			 "subq $(12 * 0x1234567 + 78), %%rax\n"
			 "sete %b[ok]\n"
			 "2:\n"
			 : [ok] "=m"(ok)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			   "r10", "r11", "r12", "r13", "r14", "r15", "xmm7",
			   "memory", "cc");
	if (ok != 1)
		(void)sonde_add_relaxed(&shared->wrong, 1);
	(void)sonde_add_relaxed(&shared->rounds, 1);
}

static void check_registers(void)
{
	for (;;)
		check_registers_once();
}

static void *registers_thread(void *arg)
{
	(void)arg;
	check_registers();
	return NULL;
}

static void check_registers_in_threads(void)
{
	pthread_t thread;

	for (int i = 1; i < NR_THREADS; i++)
		(void)pthread_create(&thread, NULL, registers_thread, NULL);
	check_registers();
}

static void await_rounds(uint64_t nr)
{
	const uint64_t before = sonde_load_relaxed(&shared->rounds);

	while (sonde_load_relaxed(&shared->rounds) < before + nr)
		sched_yield();
}

static void registers_are_kept(void **state)
{
	const pid_t pid = start(check_registers_in_threads);

	(void)state;
	await_rounds(1);
	for (int i = 0; i < ROUNDS; i++)
		sonde_process_close(open_it(pid));
	await_rounds(1);
	assert_int_equal(shared->wrong, 0);
	end(pid);
}

/* ---- signals ---- */

static void count_signal(int number)
{
	(void)number;
	(void)sonde_add_relaxed(&shared->signals, 1);
}

static void count_signals(void)
{
	struct sigaction action = { .sa_handler = count_signal };

	(void)sigaction(SIGRTMIN, &action, NULL);
	sonde_store_release(&shared->done, 1);
	for (;;)
		(void)sonde_add_relaxed(&shared->rounds, 1);
}

static void *send_signals(void *arg)
{
	const pid_t pid = *(const pid_t *)arg;

	for (int i = 0; i < NR_SIGNALS; i++)
		while (sigqueue(pid, SIGRTMIN, (union sigval){ i }) != 0)
			sched_yield();
	return NULL;
}

static void signals_all_arrive(void **state)
{
	pid_t pid = start(count_signals);
	pthread_t sender;

	(void)state;
	await_word(&shared->done);
	assert_int_equal(pthread_create(&sender, NULL, send_signals, &pid), 0);
	for (int i = 0; i < ROUNDS; i++)
		sonde_process_close(open_it(pid));
	assert_int_equal(pthread_join(sender, NULL), 0);
	while (sonde_load_relaxed(&shared->signals) < NR_SIGNALS)
		sched_yield();
	end(pid);
	assert_int_equal(shared->signals, NR_SIGNALS);
}

static void wait_for_signal(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	sigset_t mask;
	sigset_t none;
	sigset_t after;

	sigemptyset(&none);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	(void)sigaction(SIGUSR1, &action, NULL);
	(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
	sigsuspend(&none); /* NOLINT(concurrency-mt-unsafe): it is alone */
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	shared->wrong = !sigismember(&after, SIGUSR1);
	tell(0);
}

static void sigsuspend_goes_on_and_the_mask_is_kept(void **state)
{
	const pid_t pid = start(wait_for_signal);

	(void)state;
	await_call(pid, SYS_rt_sigsuspend);
	for (int i = 0; i < ROUNDS; i++)
		sonde_process_close(open_it(pid));
	assert_int_equal(sonde_load_acquire(&shared->done), 0);
	kill(pid, SIGUSR1);
	await_word(&shared->done);
	assert_int_equal(shared->signals, 1);
	assert_int_equal(shared->wrong, 0);
	end(pid);
}

static void ignore_traps(void)
{
	struct sigaction action;

	(void)signal(SIGTRAP, SIG_IGN);
	sonde_store_release(&shared->futex, 1);
	while (sonde_load_acquire(&shared->signals) == 0)
		;
	(void)sigaction(SIGTRAP, NULL, &action);
	tell(action.sa_handler == SIG_IGN);
}

static void an_ignored_sigtrap_stays_ignored(void **state)
{
	const pid_t pid = start(ignore_traps);

	(void)state;
	await_word(&shared->futex);
	sonde_process_close(open_it(pid));
	sonde_store_release(&shared->signals, 1);
	await_word(&shared->done);
	assert_int_equal(shared->result, 1);
	end(pid);
}

/* ---- a borrower that is killed ---- */

/* Where the code of each mapping ends: behind the last byte that isn't zero.
 * Behind it a borrower may have left what a thread may still come to. */
static uint64_t code_ends[64];

static uint64_t end_of_code(int memory, const struct sonde_mapping *m)
{
	static unsigned char bytes[PAGE];
	uint64_t at = m->end;

	while (at > m->start) {
		at -= PAGE;
		if (pread(memory, bytes, PAGE, (off_t)at) != PAGE)
			continue;
		for (size_t n = PAGE; n > 0; n--)
			if (bytes[n - 1])
				return at + n;
	}
	return at;
}

static uint64_t sum_of_bytes(int memory, uint64_t from, uint64_t to,
			     uint64_t sum)
{
	static unsigned char bytes[PAGE];

	for (uint64_t at = from; at < to; at += PAGE) {
		const size_t size = to - at < PAGE ? to - at : PAGE;

		if (pread(memory, bytes, size, (off_t)at) != (ssize_t)size)
			continue;
		for (size_t n = 0; n < size; n++)
			sum = (sum ^ bytes[n]) * 0x100000001b3ull;
	}
	return sum;
}

/* All code that there was when it was summed first, as a number (FNV-1a). */
static uint64_t sum_of_code(pid_t pid, bool is_first)
{
	struct sonde_maps mappings;
	uint64_t sum = 0xcbf29ce484222325ull;
	const int memory = sonde_proc_memory(pid, O_RDONLY);
	size_t nr = 0;

	assert_true(memory >= 0);
	assert_int_equal(sonde_process_mappings(pid, &mappings), 0);
	for (size_t i = 0; i < mappings.nr; i++) {
		const struct sonde_mapping *m = &mappings.list[i];

		/* a servant's memory has no name; an agent's and pads' are
		 * not the program's */
		if (!m->executable || m->path[0] == '\0' ||
		    strstr(m->path, "memfd:sonde"))
			continue;
		assert_true(nr < SONDE_ARRAY_SIZE(code_ends));
		if (is_first)
			code_ends[nr] = end_of_code(memory, m);
		sum = sum_of_bytes(memory, m->start, code_ends[nr++], sum);
	}
	sonde_maps_free(&mappings);
	close(memory);
	return sum;
}

/* True: it was killed before it was done. */
static bool open_and_die(pid_t pid, uint32_t step)
{
	struct sonde_process_error error = { "" };
	struct sonde_process *process = NULL;
	int rc;

	shared->steps = 0;
	shared->die_at = step;
	rc = sonde_process_open(pid, NULL, NULL, &error, &process);
	shared->die_at = 0;
	if (rc == 0)
		sonde_process_close(process);
	return rc != 0;
}

static void await_done(pid_t pid, uint32_t step)
{
	while (sonde_load_acquire(&shared->done) == 0) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			fail_msg("step %u: the program has been killed", step);
		sched_yield();
	}
}

/* At each step, or one in `every`, a process of its own is about `run`, and
 * what it does comes out as if nothing had been. */
static void check_deaths(child_fn run, child_fn await, child_fn wake,
			 int64_t wanted, uint32_t every)
{
	bool dies = true;
	uint32_t step;

	for (step = 1; dies; step += every) {
		const pid_t pid = start(run);
		uint64_t sum;

		shared->futex = (uint32_t)pid;
		await();
		sum = sum_of_code(pid, true);
		dies = open_and_die(pid, step);
		wake();
		await_done(pid, step);
		if (shared->result != wanted || shared->wrong != 0)
			fail_msg("step %u: %lld (%lld), %lld wrong", step,
				 (long long)shared->result,
				 (long long)shared->error,
				 (long long)shared->wrong);
		if (sum_of_code(pid, false) != sum)
			fail_msg("step %u: code is changed", step);
		/* and it can be had again */
		sonde_process_close(open_it(pid));
		assert_true(sum_of_code(pid, false) == sum);
		end(pid);
		sonde_store_release(&shared->done, 0);
		shared->enough = 0;
		shared->result = 0;
		shared->signals = 0;
	}
	assert_true(step > 10);
}

static void await_read(void)
{
	await_call((pid_t)shared->futex, SYS_read);
}

static void a_read_outlives_its_borrower(void **state)
{
	(void)state;
	check_deaths(read_pipe, await_read, write_byte, 1, 1);
}

static void await_poll(void)
{
	await_call((pid_t)shared->futex, SYS_poll);
}

static void drain_and_write(void)
{
	write_byte();
}

static void poll_and_read(void)
{
	struct pollfd fd = { .fd = shared->pipe[0], .events = POLLIN };
	const int rc = poll(&fd, 1, 1000000);
	char byte;

	if (rc == 1)
		(void)!read(shared->pipe[0], &byte, 1);
	tell(rc);
}

static void a_poll_outlives_its_borrower(void **state)
{
	(void)state;
	check_deaths(poll_and_read, await_poll, drain_and_write, 1, 3);
}

static void await_sleep(void)
{
	await_call((pid_t)shared->futex, SYS_clock_nanosleep);
}

static void sleep_a_little(void)
{
	sleep_for(SLEEP_NS / 3);
}

static void a_sleep_outlives_its_borrower(void **state)
{
	(void)state;
	check_deaths(sleep_a_little, await_sleep, let_wake, 0, 3);
}

static void await_suspend(void)
{
	await_call((pid_t)shared->futex, SYS_rt_sigsuspend);
}

static void send_usr1(void)
{
	kill((pid_t)shared->futex, SIGUSR1);
}

static void a_suspended_program_outlives_its_borrower(void **state)
{
	(void)state;
	check_deaths(wait_for_signal, await_suspend, send_usr1, 0, 1);
}

static void check_registers_and_mask(void)
{
	sigset_t before;
	sigset_t after;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (sonde_load_acquire(&shared->signals) == 0)
		check_registers_once();
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	(void)sonde_add_relaxed(&shared->wrong,
				memcmp(&before, &after, 8) != 0);
	tell(0);
}

static void await_two_rounds(void)
{
	await_rounds(2);
}

static void let_it_tell(void)
{
	sonde_store_release(&shared->signals, 1);
}

static void a_busy_thread_outlives_its_borrower(void **state)
{
	(void)state;
	check_deaths(check_registers_and_mask, await_two_rounds, let_it_tell, 0,
		     3);
}

/* A handler that lasts until it is let go, of a signal that comes just before the
 * borrower is killed. */
static void last_until_woken(int signal)
{
	(void)signal;
	sonde_store_release(&shared->signals, 1);
	await_word(&shared->enough);
}

static void count_turns(void)
{
	uint64_t turns = 0;

	(void)signal(SIGUSR1, last_until_woken);
	sonde_store_release(&shared->ready, 1);
	while (sonde_load_acquire(&shared->enough) == 0)
		turns++;
	tell(turns != 0);
}

static void a_handler_outlives_the_borrower_it_came_in(void **state)
{
	bool dies = true;

	(void)state;
	for (uint32_t step = 1; dies; step++) {
		const pid_t pid = start(count_turns);

		await_word(&shared->ready);
		shared->told = pid;
		dies = open_and_die(pid, step);
		shared->told = 0;
		sonde_store_release(&shared->enough, 1);
		await_done(pid, step);
		assert_int_equal(shared->result, 1);
		end(pid);
		sonde_store_release(&shared->done, 0);
		shared->enough = shared->ready = 0;
		shared->signals = 0;
	}
}

static void await_state(pid_t pid, char state)
{
	while (sonde_procfs_state(pid) != state)
		sched_yield();
}

/* It stays stopped, and reads when it is let go on; wherever the borrower is
 * killed. */
static void a_stopped_process_stays_stopped(void **state)
{
	bool dies = true;

	(void)state;
	/* few: the tool waits for a thread that doesn't come */
	for (uint32_t step = 1; dies; step += 29) {
		const pid_t pid = start(read_pipe);

		await_call(pid, SYS_read);
		kill(pid, SIGSTOP);
		await_state(pid, 'T');
		dies = open_and_die(pid, step);
		await_state(pid, 'T');
		assert_int_equal(sonde_load_acquire(&shared->done), 0);
		kill(pid, SIGCONT);
		write_byte();
		await_done(pid, step);
		assert_int_equal(shared->result, 1);
		end(pid);
		sonde_store_release(&shared->done, 0);
	}
}

/* ---- a tool that is killed while its probes are in ---- */

__attribute__((noinline)) static int probed(int a, int b)
{
	__asm__ volatile("" ::: "memory");
	return a * b + a;
}

static void run_probed(void)
{
	for (int i = 0; sonde_load_acquire(&shared->signals) == 0; i++) {
		if (probed(i & 1023, 3) != 4 * (i & 1023))
			(void)sonde_add_relaxed(&shared->wrong, 1);
		(void)sonde_add_relaxed(&shared->rounds, 1);
	}
	tell(0);
}

/* A tool's life. */
_Noreturn static void put_in_and_take_out(pid_t pid)
{
	const struct sonde_probe_spec spec = {
		.address = (uint64_t)(uintptr_t)probed,
	};
	struct sonde_process_error error = { "" };
	struct sonde_process *process = NULL;
	struct sonde_probes *probes = NULL;
	uint32_t index;

	if (sonde_process_open(pid, NULL, NULL, &error, &process) != 0 ||
	    sonde_process_install(process, &error) != 0 ||
	    sonde_probes_new(process, &probes) != 0 ||
	    sonde_probes_add(probes, &spec, &error, &index) != 0)
		_exit(1);
	await_rounds(1);
	if (sonde_probes_remove(probes, index) != 0 ||
	    sonde_probes_add(probes, &spec, &error, &index) != 0)
		_exit(1);
	sonde_probes_free(probes);
	sonde_process_close(process);
	_exit(0);
}

/* True: killed at this step. */
static bool tool_dies(pid_t pid, uint32_t step)
{
	pid_t tool;
	int status = 0;

	shared->steps = 0;
	shared->die_at = step;
	tool = fork();
	assert_true(tool >= 0);
	if (tool == 0)
		put_in_and_take_out(pid);
	assert_int_equal(waitpid(tool, &status, 0), tool);
	shared->die_at = 0;
	return status != 0;
}

static void no_probe_outlives_its_tool(void **state)
{
	bool dies = true;
	uint32_t step;

	(void)state;
	for (step = 1; dies; step += 2) {
		const pid_t pid = start(run_probed);
		uint64_t sum;

		await_rounds(2);
		sum = sum_of_code(pid, true);
		dies = tool_dies(pid, step);
		/* the servant takes them out */
		while (sum_of_code(pid, false) != sum)
			if (waitpid(pid, NULL, WNOHANG) != 0)
				fail_msg("step %u: killed", step);
		await_rounds(2);
		sonde_store_release(&shared->signals, 1);
		await_done(pid, step);
		if (shared->wrong != 0)
			fail_msg("step %u: wrong results", step);
		end(pid);
		sonde_store_release(&shared->done, 0);
		shared->signals = 0;
	}
	assert_true(step > 20);
}

/* ---- what is left ---- */

static size_t entries(pid_t pid, const char *of)
{
	char path[64];
	size_t nr = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, of);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir)) /* NOLINT(concurrency-mt-unsafe) */
		nr++;
	closedir(dir);
	return nr;
}

static void have_no_children(void)
{
	sonde_store_release(&shared->futex, 1);
	while (sonde_load_acquire(&shared->signals) == 0)
		(void)sonde_add_relaxed(&shared->rounds, 1);
	tell(waitpid(-1, NULL, WNOHANG | __WALL));
}

static uint64_t mapped_bytes(pid_t pid)
{
	struct sonde_maps mappings;
	uint64_t bytes = 0;

	assert_int_equal(sonde_process_mappings(pid, &mappings), 0);
	for (size_t i = 0; i < mappings.nr; i++)
		bytes += mappings.list[i].end - mappings.list[i].start;
	sonde_maps_free(&mappings);
	return bytes;
}

/* But for some pages: the servant's code can't unmap itself. */
static void nothing_is_left(void **state)
{
	const pid_t pid = start(have_no_children);
	struct sonde_process *process;
	uint64_t mapped;
	size_t fds;
	int servant;

	(void)state;
	await_word(&shared->futex);
	fds = entries(pid, "fd");
	mapped = mapped_bytes(pid);
	process = open_it(pid);
	assert_int_equal(entries(pid, "task"), 3);
	assert_int_equal(entries(pid, "fd"), fds);
	assert_true(sonde_process_lives(process));
	servant = pidfd_of(process->servant);
	sonde_process_close(process);
	await_end(servant);
	assert_int_equal(entries(pid, "task"), 3);
	assert_int_equal(entries(pid, "fd"), fds);
	assert_true(mapped_bytes(pid) <= mapped + LEFT_BYTES);
	sonde_store_release(&shared->signals, 1);
	await_word(&shared->done);
	assert_int_equal(shared->result, -1);
	assert_int_equal(shared->error, ECHILD);
	end(pid);
}

/* A program that is the first of its PID namespace, or has one for its init
 * that waits for nobody: nothing of ours stays there, and it hears of nothing. */
static void be_init(void)
{
	(void)signal(SIGCHLD, count_signal);
	sonde_store_release(&shared->futex, 1);
	while (sonde_load_acquire(&shared->value) == 0)
		;
	tell(waitpid(-1, NULL, WNOHANG));
}

static size_t nr_children(pid_t pid)
{
	char path[64];
	size_t nr = 0;
	int child;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		       (int)pid, (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	while (fscanf(file, "%d", &child) == 1)
		nr++;
	(void)fclose(file);
	return nr;
}

static void open_and_be_killed(pid_t pid)
{
	const pid_t tool = fork();
	int servant;

	assert_true(tool >= 0);
	if (tool == 0) {
		const struct sonde_process *process = open_it(pid);

		shared->address = (uint64_t)process->servant;
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(tool, NULL, 0), tool);
	servant = pidfd_of((pid_t)shared->address);
	await_end(servant);
}

static void no_zombie_stays(void **state)
{
	pid_t pid;

	(void)state;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		skip(); /* that takes root */
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_init();
	}
	await_word(&shared->futex);
	for (int i = 0; i < 3; i++)
		sonde_process_close(open_it(pid));
	assert_int_equal(nr_children(pid), 0);
	/* What a tool that was killed leaves, the next one takes away. */
	for (int i = 0; i < 3; i++)
		open_and_be_killed(pid);
	assert_int_equal(nr_children(pid), 1);
	sonde_process_close(open_it(pid));
	assert_int_equal(nr_children(pid), 0);
	sonde_store_release(&shared->value, 1);
	await_word(&shared->done);
	assert_int_equal(shared->result, -1);
	assert_int_equal(shared->error, ECHILD);
	assert_int_equal(shared->signals, 0);
	end(pid);
}

/* Descriptors that the process has are not the servant's. */
static void the_servant_has_its_own_descriptors(void **state)
{
	const pid_t pid = start(read_pipe);
	struct sonde_process *process;

	(void)state;
	await_call(pid, SYS_read);
	process = open_it(pid);
	/* ".", "..", the socket, the pidfd, the memory */
	assert_int_equal(entries(process->servant, "fd"), 5);
	sonde_process_close(process);
	end(pid);
}

static void the_servant_ends_with_the_process(void **state)
{
	const pid_t pid = start(check_registers_in_threads);
	struct sonde_process *process = open_it(pid);
	const int servant = pidfd_of(process->servant);
	struct sonde_remote_call call = { .number = SYS_getpid };

	(void)state;
	end(pid);
	await_end(servant);
	assert_false(sonde_process_lives(process));
	assert_int_equal(sonde_process_call(process, &call, 1), -EPIPE);
	sonde_process_close(process);
}

static void the_servant_ends_with_the_tool(void **state)
{
	const pid_t pid = start(check_registers);
	pid_t tool;
	int servant;

	(void)state;
	await_rounds(1);
	tool = fork();
	assert_true(tool >= 0);
	if (tool == 0) {
		const struct sonde_process *process = open_it(pid);

		sonde_store_release(&shared->futex, (uint32_t)process->servant);
		for (;;)
			pause();
	}
	await_word(&shared->futex);
	servant = pidfd_of((pid_t)shared->futex);
	end(tool);
	await_end(servant);
	await_rounds(2);
	assert_int_equal(shared->wrong, 0);
	end(pid);
}

static void execute_another(void)
{
	sonde_store_release(&shared->futex, 1);
	while (sonde_load_acquire(&shared->signals) == 0)
		;
	(void)execl("/bin/sleep", "sleep", "1000", NULL);
}

static void it_is_noticed_when_it_executes_another(void **state)
{
	const pid_t pid = start(execute_another);
	struct sonde_process *process;
	int servant;

	(void)state;
	await_word(&shared->futex);
	process = open_it(pid);
	assert_true(sonde_process_lives(process));
	servant = pidfd_of(process->servant);
	sonde_store_release(&shared->signals, 1);
	while (sonde_process_lives(process))
		sched_yield();
	sonde_process_close(process);
	await_end(servant);
	end(pid);
}

/* ---- what is refused ---- */

static int refusal(pid_t pid, struct sonde_process_error *error)
{
	struct sonde_process *process = NULL;
	const int rc = sonde_process_open(pid, NULL, NULL, error, &process);

	assert_null(process);
	return rc;
}

static void a_process_that_is_not_there_is_refused(void **state)
{
	struct sonde_process_error error = { "" };
	const pid_t pid = start(check_registers);

	(void)state;
	end(pid);
	assert_int_equal(refusal(pid, &error), -ESRCH);
	assert_non_null(strstr(error.text, "there is no process"));
}

static void a_process_with_another_servant_is_refused(void **state)
{
	struct sonde_process_error error = { "" };
	const pid_t pid = start(check_registers);
	struct sonde_process *process = open_it(pid);

	(void)state;
	assert_true(sonde_process_is_served(pid));
	assert_int_equal(refusal(pid, &error), -EBUSY);
	assert_non_null(strstr(error.text, "another server"));
	sonde_process_close(process);
	assert_false(sonde_process_is_served(pid));
	sonde_process_close(open_it(pid));
	end(pid);
}

static void filter_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	tell(0);
}

static void a_seccomp_filter_is_refused(void **state)
{
	struct sonde_process_error error = { "" };
	const pid_t pid = start(filter_calls);

	(void)state;
	await_word(&shared->done);
	assert_int_equal(refusal(pid, &error), -EPERM);
	assert_non_null(strstr(error.text, "seccomp"));
	end(pid);
}

static void be_traced(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	tell(0);
}

static void another_debugger_is_named(void **state)
{
	struct sonde_process_error error = { "" };
	const pid_t pid = start(be_traced);
	char us[32];

	(void)state;
	await_word(&shared->done);
	assert_int_equal(refusal(pid, &error), -EPERM);
	(void)snprintf(us, sizeof(us), "process %d;", (int)getpid());
	assert_non_null(strstr(error.text, us));
	end(pid);
}

/* ---- calls and memory ---- */

static void calls_stop_at_a_failure(void **state)
{
	const pid_t pid = start(check_registers);
	struct sonde_process *process = open_it(pid);
	struct sonde_remote_call calls[] = {
		{ .number = SYS_close, .args = { 77 }, .go_on = 1 },
		{ .number = SYS_getppid, .result = 1 },
		{ .number = SYS_close, .args = { 77 }, .result = 1 },
		{ .number = SYS_getppid, .result = 1 },
	};

	(void)state;
	assert_int_equal(sonde_process_call(process, calls, 4), 0);
	assert_int_equal(calls[0].result, -EBADF);
	assert_int_equal(calls[1].result, pid);
	assert_int_equal(calls[2].result, -EBADF);
	assert_int_equal(calls[3].result, 1);
	sonde_process_close(process);
	end(pid);
}

static void more_calls_than_a_message_holds(void **state)
{
	enum {
		NR = 2000
	};
	const pid_t pid = start(check_registers);
	struct sonde_process *process = open_it(pid);
	struct sonde_remote_call *calls = calloc(NR, sizeof(*calls));

	(void)state;
	assert_non_null(calls);
	for (int i = 0; i < NR; i++)
		calls[i] = (struct sonde_remote_call){
			.number = SYS_umask, .args = { (uint64_t)i % 0777 }
		};
	assert_int_equal(sonde_process_call(process, calls, NR), 0);
	for (int i = 1; i < NR; i++)
		assert_int_equal(calls[i].result, (i - 1) % 0777);
	free(calls);
	sonde_process_close(process);
	end(pid);
}

static void look_at_memory(void)
{
	uint64_t address;

	sonde_store_release(&shared->futex, 1);
	do {
		address = sonde_load_acquire(&shared->address);
	} while (address == 0);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	shared->value = *(volatile uint64_t *)(uintptr_t)address;
	tell(0);
}

static void memory_is_shared(void **state)
{
	const pid_t pid = start(look_at_memory);
	const int fd = memfd_create("test", MFD_CLOEXEC);
	struct sonde_process *process = open_it(pid);
	const uint64_t value = PATTERN;
	uint64_t near = 0;
	uint64_t again = 0;

	(void)state;
	await_word(&shared->futex);
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	assert_int_equal(pwrite(fd, &value, sizeof(value), PAGE), 8);
	assert_int_equal(sonde_process_map(process, fd, PAGE, PAGE, PROT_READ,
					   FAR, &near),
			 0);
	assert_int_equal(near, FAR);
	/* never over something else */
	assert_int_equal(sonde_process_map(process, fd, 0, PAGE, PROT_READ, FAR,
					   &again),
			 -EEXIST);
	assert_int_equal(sonde_process_read(process, near, &again, 8), 0);
	assert_int_equal(again, PATTERN);
	sonde_store_release(&shared->address, near);
	await_word(&shared->done);
	assert_int_equal(shared->value, PATTERN);
	assert_int_equal(entries(process->servant, "fd"), 5);
	assert_int_equal(sonde_process_read(process, 8, &again, 8), -EIO);
	close(fd);
	sonde_process_close(process);
	end(pid);
}

static void mappings_are_listed(void **state)
{
	const pid_t pid = start(check_registers);
	struct sonde_maps mappings;
	bool code = false;
	bool stack = false;

	(void)state;
	assert_int_equal(sonde_process_mappings(pid, &mappings), 0);
	for (size_t i = 0; i < mappings.nr; i++) {
		const struct sonde_mapping *m = &mappings.list[i];

		assert_true(m->start < m->end);
		if (i > 0)
			assert_true(m->start >= mappings.list[i - 1].end);
		code = code ||
		       (m->executable && !m->writable &&
			(uint64_t)(uintptr_t)check_registers >= m->start &&
			(uint64_t)(uintptr_t)check_registers < m->end &&
			strstr(m->path, "test_process"));
		stack = stack || strcmp(m->path, "[stack]") == 0;
	}
	assert_true(code);
	assert_true(stack);
	sonde_maps_free(&mappings);
	end(pid);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		A_TEST(read_goes_on),
		A_TEST(futex_goes_on),
		A_TEST(epoll_goes_on),
		A_TEST(poll_goes_on),
		A_TEST(sleep_is_not_cut_short),
		A_TEST(registers_are_kept),
		A_TEST(signals_all_arrive),
		A_TEST(sigsuspend_goes_on_and_the_mask_is_kept),
		A_TEST(an_ignored_sigtrap_stays_ignored),
		A_TEST(a_read_outlives_its_borrower),
		A_TEST(a_poll_outlives_its_borrower),
		A_TEST(a_sleep_outlives_its_borrower),
		A_TEST(a_suspended_program_outlives_its_borrower),
		A_TEST(a_busy_thread_outlives_its_borrower),
		A_TEST(a_handler_outlives_the_borrower_it_came_in),
		A_TEST(a_stopped_process_stays_stopped),
		A_TEST(no_probe_outlives_its_tool),
		A_TEST(nothing_is_left),
		A_TEST(the_servant_has_its_own_descriptors),
		A_TEST(the_servant_ends_with_the_process),
		A_TEST(the_servant_ends_with_the_tool),
		A_TEST(it_is_noticed_when_it_executes_another),
		A_TEST(a_process_that_is_not_there_is_refused),
		A_TEST(a_process_with_another_servant_is_refused),
		A_TEST(a_seccomp_filter_is_refused),
		A_TEST(another_debugger_is_named),
		A_TEST(calls_stop_at_a_failure),
		A_TEST(more_calls_than_a_message_holds),
		A_TEST(memory_is_shared),
		A_TEST(mappings_are_listed),
		A_TEST(no_zombie_stays),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
