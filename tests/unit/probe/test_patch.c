/* SPDX-License-Identifier: MIT */
/*
 * test_patch.c - text changed under threads that run through it, and signals
 * that the agent passes on.
 *
 * A forked process has a page of code at CODE:
 *
 *	pair:	inc %rdi		offset 0, 3 bytes
 *		inc %rsi		offset 3, 3 bytes
 *		lea (%rdi,%rsi),%rax	offset 6
 *		ret
 *	one:	mov $7,%eax		5 bytes, at an address that 8 divides
 *		ret
 *
 * and threads that call pair, pair + 3 and one over and over, and count what is
 * wrong. Pads are made here, by hand: count, the displaced instructions, back.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/patch.h"
#include "probe/inject/process_parts.h"
#include "probe/inject/publish.h"

#define CODE       0x1000000000ull
#define PAIR       CODE
#define INSIDE     (CODE + 3)
#define ONE        (CODE + 64)
#define PAGE       4096u
#define PAD_ROOM   256u
#define NR_THREADS 4
#define ROUNDS     25
#define PUNNED_AT  (CODE + 5 + 0x00cc0000) /* displacement 0x00cc0000 */
#define PUNNED_TOO (CODE + 5 + 0x01cc0000)
#define FREE_AT    (CODE + 0x2000000)
#define INT3       0xcc
#define JUMP       0xe9
#define JUMP_BYTES 5
#define SKIPPED    3 /* bytes of the instruction that faults */

static const uint8_t pair_code[] = { 0x48, 0xff, 0xc7, 0x48, 0xff, 0xc6,
				     0x48, 0x8d, 0x04, 0x37, 0xc3 };
static const uint8_t one_code[] = { 0xb8, 7, 0, 0, 0, 0xc3 };

struct shared {
	uint64_t rounds;
	uint64_t wrong;
	uint64_t handled;
	uint64_t bad_mask;
	uint32_t ready;
	uint32_t go;
	uint32_t quit;
	bool jumps_inside;
	bool blocks;
};

static struct shared *shared;
static pid_t child;
static struct sonde_process *process;

/* A page of pads at a place: code there, written here; behind it a counter. */
struct pads {
	uint64_t there;
	uint8_t *here;
	uint64_t *counter;
	size_t used;
};

/* ---- the process ---- */

typedef uint64_t (*pair_fn)(uint64_t a, uint64_t b);
typedef uint64_t (*one_fn)(void);

static void run_through(void)
{
	/* NOLINTBEGIN(performance-no-int-to-ptr): that is where they are */
	const pair_fn pair = (pair_fn)(uintptr_t)PAIR;
	const pair_fn inside = (pair_fn)(uintptr_t)INSIDE;
	const one_fn one = (one_fn)(uintptr_t)ONE;
	/* NOLINTEND(performance-no-int-to-ptr) */
	uint64_t wrong = 0;

	for (int i = 0; i < 100; i++) {
		wrong += pair(1, 2) != 5;
		wrong += one() != 7;
		wrong += shared->jumps_inside && inside(1, 2) != 4;
	}
	(void)sonde_add_relaxed(&shared->wrong, wrong);
	(void)sonde_add_relaxed(&shared->rounds, 1);
}

static void *run_thread(void *arg)
{
	(void)arg;
	while (!sonde_load_relaxed(&shared->quit))
		run_through();
	return NULL;
}

static void map_code(void)
{
	uint8_t *code =
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): a fixed place */
		mmap((void *)(uintptr_t)CODE, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (code == MAP_FAILED)
		_exit(1);
	memset(code, INT3, PAGE);
	memcpy(code, pair_code, sizeof(pair_code));
	memcpy(code + (ONE - CODE), one_code, sizeof(one_code));
	if (mprotect(code, PAGE, PROT_READ | PROT_EXEC) != 0)
		_exit(1);
}

static void block_all(void)
{
	sigset_t mask;

	sigfillset(&mask);
	(void)pthread_sigmask(SIG_BLOCK, &mask, NULL);
}

/* Its mask while it waits isn't the one that it has afterwards. */
static void *wait_and_run(void *arg)
{
	sigset_t mask;
	int number;

	(void)arg;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGTRAP);
	while (sigwait(&mask, &number) == 0 && number != SIGUSR1)
		;
	run_through();
	sonde_store_relaxed(&shared->handled, 1);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[NR_THREADS];

	map_code();
	if (shared->blocks) {
		block_all();
		(void)pthread_create(&threads[0], NULL, wait_and_run, NULL);
	}
	for (int i = 1; i < NR_THREADS; i++)
		(void)pthread_create(&threads[i], NULL, run_thread, NULL);
	sonde_store_release(&shared->ready, 1);
	(void)run_thread(NULL);
	for (int i = 1; i < NR_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static void await_word(const uint32_t *word)
{
	while (sonde_load_acquire(word) == 0)
		sched_yield();
}

static void start(void (*run)(void))
{
	struct sonde_process_error error = { "" };

	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGSEGV, SIG_DFL); /* cmocka's */
		run();
		_exit(0);
	}
	await_word(&shared->ready);
	if (sonde_process_open(child, NULL, NULL, &error, &process) != 0 ||
	    sonde_process_install(process, &error) != 0)
		fail_msg("%s", error.text);
}

static int setup(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = -1;
	process = NULL;
	return shared == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	sonde_process_close(process);
	if (child > 0) {
		kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	munmap(shared, sizeof(*shared));
	return 0;
}

static void await_rounds(uint64_t nr)
{
	const uint64_t before = sonde_load_relaxed(&shared->rounds);

	while (sonde_load_relaxed(&shared->rounds) < before + nr)
		sched_yield();
}

/* ---- pads ---- */

static struct pads make_pads(uint64_t address)
{
	const uint64_t page = address & -(uint64_t)PAGE;
	const int fd = memfd_create("pads", MFD_CLOEXEC);
	struct pads pads = { .there = page, .used = address - page };
	uint64_t at;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	pads.here =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(pads.here != MAP_FAILED);
	memset(pads.here, INT3, PAGE);
	pads.counter = (uint64_t *)(void *)(pads.here + PAGE);
	assert_int_equal(sonde_process_map(process, fd, 0, PAGE,
					   PROT_READ | PROT_EXEC, page, &at),
			 0);
	assert_int_equal(sonde_process_map(process, fd, PAGE, PAGE,
					   PROT_READ | PROT_WRITE, page + PAGE,
					   &at),
			 0);
	close(fd);
	return pads;
}

static void put(struct pads *pads, const void *bytes, size_t nr)
{
	memcpy(pads->here + pads->used, bytes, nr);
	pads->used += nr;
}

/* A displacement of four bytes, from behind itself. */
static void put_distance(struct pads *pads, uint64_t to)
{
	const uint64_t from = pads->there + pads->used + sizeof(int32_t);
	const int32_t distance = (int32_t)(int64_t)(to - from);

	assert_true((int64_t)(to - from) == distance);
	put(pads, &distance, sizeof(distance));
}

/* Counts, displaces and goes back; copies lead here by the trap table. */
static uint64_t make_pad(struct pads *pads, const struct sonde_window *window)
{
	static const uint8_t count[] = { 0xf0, 0x48, 0xff, 0x05 };
	const uint64_t start = pads->there + pads->used;
	struct sonde_agent *agent = sonde_process_agent(process);
	const uint8_t jump = JUMP;

	put(pads, count, sizeof(count)); /* lock incq counter(%rip) */
	put_distance(pads, pads->there + PAGE);
	for (unsigned int i = 0; i < window->nr_insns; i++) {
		const unsigned int end = i + 1 < window->nr_insns ?
						 window->starts[i + 1] :
						 window->nr_bytes;

		assert_int_equal(
			sonde_publish_trap(
				agent, window->address + window->starts[i],
				i == 0 ? start : pads->there + pads->used),
			0);
		put(pads, window->bytes + window->starts[i],
		    end - window->starts[i]);
	}
	put(pads, &jump, 1);
	put_distance(pads, window->address + window->nr_bytes);
	return start;
}

static const struct sonde_window pair_window = {
	.kind = SONDE_WINDOW_PUNNED,
	.address = PAIR,
	.nr_bytes = 6,
	.nr_insns = 2,
	.starts = { 0, 3 },
	.bytes = { 0x48, 0xff, 0xc7, 0x48, 0xff, 0xc6 },
};

static const struct sonde_window one_window = {
	.kind = SONDE_WINDOW_SINGLE,
	.address = ONE,
	.nr_bytes = 5,
	.nr_insns = 1,
	.bytes = { 0xb8, 7, 0, 0, 0 },
};

static struct sonde_window pair_as(enum sonde_window_kind kind)
{
	struct sonde_window window = pair_window;

	window.kind = kind;
	if (kind == SONDE_WINDOW_TRAP) {
		window.nr_bytes = 3;
		window.nr_insns = 1;
	}
	return window;
}

/* The patch that leads a window to `pad`. */
static struct sonde_patch lead(const struct sonde_window *window, uint64_t pad)
{
	const int32_t distance =
		(int32_t)(int64_t)(pad - window->address - JUMP_BYTES);
	struct sonde_patch patch = { .window = window };

	memcpy(patch.before, window->bytes, sizeof(patch.before));
	memcpy(patch.after, window->bytes, sizeof(patch.after));
	if (window->kind == SONDE_WINDOW_TRAP) {
		patch.after[0] = INT3;
		return patch;
	}
	memset(patch.after, INT3, window->nr_bytes);
	patch.after[0] = JUMP;
	memcpy(patch.after + 1, &distance, sizeof(distance));
	return patch;
}

static struct sonde_patch back(const struct sonde_patch *patch)
{
	struct sonde_patch reverse = *patch;

	memcpy(reverse.before, patch->after, sizeof(reverse.before));
	memcpy(reverse.after, patch->window->bytes, sizeof(reverse.after));
	return reverse;
}

static void check_bytes(const struct sonde_window *window,
			const uint8_t *wanted)
{
	uint8_t there[SONDE_WINDOW_BYTES];

	assert_int_equal(sonde_process_read(process, window->address, there,
					    window->nr_bytes),
			 0);
	assert_memory_equal(there, wanted, window->nr_bytes);
}

static void await_count(const uint64_t *counter, uint64_t more)
{
	const uint64_t before = sonde_load_relaxed(counter);

	while (sonde_load_relaxed(counter) < before + more)
		sched_yield();
}

/* ---- under threads ---- */

/* In and out, many times; each time it is passed through. */
static void in_and_out(const struct sonde_window *window, uint64_t pad_at,
		       int rounds)
{
	struct pads pads = make_pads(pad_at);
	const struct sonde_patch in = lead(window, make_pad(&pads, window));

	for (int i = 0; i < rounds; i++) {
		struct sonde_patch patch = in;

		assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
		check_bytes(window, in.after);
		await_count(pads.counter, 1);
		patch = back(&in);
		assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
		check_bytes(window, window->bytes);
	}
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
	assert_int_equal(sonde_process_agent(process)->strange_traps, 0);
}

static void single_windows_change_under_threads(void **state)
{
	(void)state;
	start(run_threads);
	in_and_out(&one_window, FREE_AT, ROUNDS);
}

static void punned_windows_change_under_threads_that_jump_inside(void **state)
{
	(void)state;
	shared->jumps_inside = true;
	start(run_threads);
	in_and_out(&pair_window, PUNNED_AT, ROUNDS);
}

static void free_windows_change_under_threads(void **state)
{
	const struct sonde_window window = pair_as(SONDE_WINDOW_FREE);

	(void)state;
	start(run_threads);
	in_and_out(&window, FREE_AT, ROUNDS / 20);
}

static void traps_change_under_threads_that_jump_inside(void **state)
{
	const struct sonde_window window = pair_as(SONDE_WINDOW_TRAP);

	(void)state;
	shared->jumps_inside = true;
	start(run_threads);
	in_and_out(&window, FREE_AT, ROUNDS);
}

static void a_jump_is_replaced_by_another(void **state)
{
	struct sonde_patch patches[3];
	struct pads first;
	struct pads second;

	(void)state;
	shared->jumps_inside = true;
	start(run_threads);
	first = make_pads(PUNNED_AT);
	second = make_pads(PUNNED_TOO);
	patches[0] = lead(&pair_window, make_pad(&first, &pair_window));
	patches[1] = lead(&pair_window, make_pad(&second, &pair_window));
	memcpy(patches[1].before, patches[0].after, SONDE_WINDOW_BYTES);
	patches[2] = back(&patches[1]);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(sonde_patch_apply(process, &patches[0], 1), 0);
		await_count(first.counter, 1);
		assert_int_equal(sonde_patch_apply(process, &patches[1], 1), 0);
		await_count(second.counter, 1);
		assert_int_equal(sonde_patch_apply(process, &patches[2], 1), 0);
	}
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
}

static void several_change_in_one_call(void **state)
{
	const struct sonde_window *windows[] = { &pair_window, &one_window };
	struct sonde_patch patches[2];
	struct pads pads[2];

	(void)state;
	shared->jumps_inside = true;
	start(run_threads);
	pads[0] = make_pads(PUNNED_AT);
	pads[1] = make_pads(FREE_AT);
	for (int i = 0; i < 2; i++)
		patches[i] = lead(windows[i], make_pad(&pads[i], windows[i]));
	for (int round = 0; round < ROUNDS; round++) {
		struct sonde_patch reverse[2];

		assert_int_equal(sonde_patch_apply(process, patches, 2), 0);
		for (int i = 0; i < 2; i++) {
			await_count(pads[i].counter, 1);
			reverse[i] = back(&patches[i]);
		}
		assert_int_equal(sonde_patch_apply(process, reverse, 2), 0);
	}
	for (int i = 0; i < 2; i++)
		check_bytes(windows[i], windows[i]->bytes);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
}

/* ---- a thread that is inside ---- */

/* Stops the child's first thread at `address`. */
static void stop_at(uint64_t address)
{
	struct user_regs_struct regs = { 0 };
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	for (;;) {
		assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
		if (regs.rip == address)
			return;
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL),
				 0);
		assert_int_equal(waitpid(child, &status, __WALL), child);
	}
}

static void a_thread_inside_a_punned_window_is_led_on(void **state)
{
	struct sonde_patch patch;
	struct pads pads;

	(void)state;
	start(run_threads);
	pads = make_pads(PUNNED_AT);
	patch = lead(&pair_window, make_pad(&pads, &pair_window));
	stop_at(INSIDE);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	check_bytes(&pair_window, patch.after);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
	patch = back(&patch);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
}

static void a_thread_inside_a_free_window_makes_it_refused(void **state)
{
	const struct sonde_window window = pair_as(SONDE_WINDOW_FREE);
	struct sonde_patch patch;
	struct pads pads;

	(void)state;
	start(run_threads);
	pads = make_pads(FREE_AT);
	patch = lead(&window, make_pad(&pads, &window));
	stop_at(INSIDE);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), -EAGAIN);
	assert_int_equal(patch.rc, -EAGAIN);
	check_bytes(&window, window.bytes);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	patch = back(&patch);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
}

/* A stopped thread elsewhere does not hinder it. */
static void a_thread_stopped_outside_is_no_hindrance(void **state)
{
	const struct sonde_window window = pair_as(SONDE_WINDOW_FREE);
	struct sonde_patch patch;
	struct pads pads;

	(void)state;
	start(run_threads);
	pads = make_pads(FREE_AT);
	patch = lead(&window, make_pad(&pads, &window));
	stop_at(PAIR);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
}

/* ---- what is refused ---- */

static void other_bytes_are_not_overwritten(void **state)
{
	struct sonde_patch patch;
	struct pads pads;

	(void)state;
	start(run_threads);
	pads = make_pads(PUNNED_AT);
	patch = lead(&pair_window, make_pad(&pads, &pair_window));
	patch.before[2]++;
	assert_int_equal(sonde_patch_apply(process, &patch, 1), -ESTALE);
	check_bytes(&pair_window, pair_window.bytes);
}

/* ---- text that is opened ---- */

static void check_protection(void)
{
	struct sonde_maps mappings;
	size_t nr = 0;

	assert_int_equal(sonde_process_mappings(child, &mappings), 0);
	for (size_t i = 0; i < mappings.nr; i++) {
		const struct sonde_mapping *m = &mappings.list[i];

		if (m->start > CODE || m->end <= CODE)
			continue;
		assert_true(m->readable && m->executable && !m->writable);
		nr++;
	}
	sonde_maps_free(&mappings);
	assert_int_equal(nr, 1);
}

/* What the servant does where the kernel makes it. */
static void read_only_text_is_opened_for_the_moment(void **state)
{
	(void)state;
	shared->jumps_inside = true;
	start(run_threads);
	process->opens_text = true;
	in_and_out(&pair_window, PUNNED_AT, ROUNDS);
	check_protection();
}

/* A call in between fails. */
static void text_is_closed_whatever_happens(void **state)
{
	struct sonde_remote_call calls[] = {
		{ .number = SYS_mprotect,
		  .args = { CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC } },
		{ .number = SYS_close, .args = { UINT32_MAX } },
		{ .number = SYS_munmap, .args = { CODE, PAGE } },
		{ .number = SYS_mprotect,
		  .always = 1,
		  .args = { CODE, PAGE, PROT_READ | PROT_EXEC } },
	};

	(void)state;
	start(run_threads);
	assert_int_equal(sonde_process_call(process, calls, 4), 0);
	assert_int_equal(calls[1].result, -EBADF);
	check_protection();
	await_rounds(2 * NR_THREADS);
}

/* The same code, of a file that can be written. */
static void share_code(void)
{
	const int fd = memfd_create("code", MFD_CLOEXEC);

	map_code();
	/* NOLINTBEGIN(performance-no-int-to-ptr): a fixed place */
	if (write(fd, (const void *)(uintptr_t)CODE, PAGE) != PAGE ||
	    mmap((void *)(uintptr_t)CODE, PAGE, PROT_READ | PROT_EXEC,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		_exit(1);
	/* NOLINTEND(performance-no-int-to-ptr) */
	sonde_store_release(&shared->ready, 1);
	for (;;)
		pause();
}

static void a_file_is_never_changed(void **state)
{
	struct sonde_patch patch;
	struct pads pads;

	(void)state;
	start(share_code);
	process->opens_text = true;
	pads = make_pads(PUNNED_AT);
	patch = lead(&pair_window, make_pad(&pads, &pair_window));
	assert_int_equal(sonde_patch_apply(process, &patch, 1), -EACCES);
	check_bytes(&pair_window, pair_window.bytes);
	check_protection();
}

/* Each runs into int3s afterwards; also the one that waited meanwhile. */
static void threads_that_block_all_signals_are_no_matter(void **state)
{
	struct sonde_patch patch;
	struct pads pads;
	const struct sonde_window trap_window = {
		.kind = SONDE_WINDOW_TRAP,
		.address = PAIR,
		.nr_bytes = 3,
		.nr_insns = 1,
		.bytes = { 0x48, 0xff, 0xc7 },
	};

	(void)state;
	shared->blocks = true;
	start(run_threads);
	pads = make_pads(PUNNED_AT);
	patch = lead(&trap_window, make_pad(&pads, &trap_window));
	patch.after[0] = INT3;
	memcpy(patch.after + 1, trap_window.bytes + 1, 2);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	await_count(pads.counter, 1);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(kill(child, SIGUSR1), 0);
	while (!sonde_load_relaxed(&shared->handled))
		sched_yield();
	patch = back(&patch);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	check_bytes(&trap_window, trap_window.bytes);
	await_rounds(2 * NR_THREADS);
	assert_int_equal(shared->wrong, 0);
}

/* ---- signals ---- */

/* A read of address 8, three bytes long: mov (%rax),%rax. */
static void read_badly(void)
{
	__asm__ volatile("movl $8, %%eax; movq (%%rax), %%rax" ::
				 : "rax", "memory");
}

static bool is_blocked(int number)
{
	sigset_t mask;

	(void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, number) == 1;
}

static void handle(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	/* its own mask, and itself unless it says otherwise */
	if (!is_blocked(number) || !is_blocked(SIGUSR2))
		shared->bad_mask++;
	if (info->si_code > 0 && number == SIGSEGV)
		at->uc_mcontext.gregs[REG_RIP] += SKIPPED;
	if (number == SIGSEGV && info->si_code > 0 &&
	    (uintptr_t)info->si_addr != 8)
		shared->wrong++;
	shared->handled++;
}

static void take_signal(int number, int flags)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | flags };

	action.sa_sigaction = handle;
	sigaddset(&action.sa_mask, SIGUSR2);
	(void)sigaction(number, &action, NULL);
}

static void get_ready(void)
{
	sonde_store_release(&shared->ready, 1);
	await_word(&shared->go);
}

static void fault_with_a_handler(void)
{
	take_signal(SIGSEGV, 0);
	get_ready();
	for (int i = 0; i < 10; i++)
		read_badly();
	if (is_blocked(SIGSEGV) || is_blocked(SIGUSR2))
		shared->bad_mask++;
	(void)raise(SIGSEGV); /* sent: not a fault */
	_exit(7);
}

static void fault_with_a_later_handler(void)
{
	get_ready();
	take_signal(SIGSEGV, 0);
	take_signal(SIGTRAP, SA_ONSTACK);
	shared->ready = 2;
	sonde_store_release(&shared->go, 0);
	await_word(&shared->go);
	read_badly();
	__asm__ volatile("int3");
	_exit(7);
}

static void fault_twice(void)
{
	take_signal(SIGSEGV, (int)SA_RESETHAND);
	get_ready();
	read_badly();
	read_badly();
	_exit(7);
}

static void fault(void)
{
	get_ready();
	read_badly();
	_exit(7);
}

static void trap(void)
{
	get_ready();
	__asm__ volatile("int3");
	_exit(7);
}

static void send_a_fault(void)
{
	get_ready();
	(void)raise(SIGSEGV);
	_exit(7);
}

static void ignore_traps(void)
{
	(void)signal(SIGTRAP, SIG_IGN);
	get_ready();
	(void)raise(SIGTRAP);
	_exit(7);
}

/* How it ends. */
static int end_of(void (*run)(void))
{
	int status = 0;

	start(run);
	sonde_store_release(&shared->go, 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = -1;
	return status;
}

static void a_handler_is_called_as_the_kernel_would(void **state)
{
	const int status = end_of(fault_with_a_handler);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(shared->handled, 11);
	assert_int_equal(shared->bad_mask, 0);
	assert_int_equal(shared->wrong, 0);
}

static void a_handler_that_is_set_later_is_kept(void **state)
{
	int status = 0;

	(void)state;
	start(fault_with_a_later_handler);
	sonde_store_release(&shared->go, 1);
	while (sonde_load_acquire(&shared->go) != 0)
		sched_yield();
	assert_int_equal(sonde_process_keep_signals(process), 0);
	assert_true(sonde_process_agent(process)->old_segv.handler != 0);
	assert_true(sonde_process_agent(process)->old_segv.handler !=
		    sonde_process_image(process)->fault);
	sonde_store_release(&shared->go, 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	child = -1;
	assert_true(WIFEXITED(status));
	assert_int_equal(shared->handled, 2);
	assert_int_equal(shared->bad_mask, 0);
	assert_int_equal(sonde_process_agent(process)->strange_traps, 1);
}

static void a_handler_for_once_is_called_once(void **state)
{
	const int status = end_of(fault_twice);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(shared->handled, 1);
}

static void it_dies_as_it_would(void **state)
{
	const struct {
		void (*run)(void);
		int number;
	} ends[] = { { fault, SIGSEGV },
		     { trap, SIGTRAP },
		     { send_a_fault, SIGSEGV } };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(ends); i++) {
		const int status = end_of(ends[i].run);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), ends[i].number);
		sonde_process_close(process);
		process = NULL;
		memset(shared, 0, sizeof(*shared));
	}
}

static void an_ignored_signal_stays_ignored(void **state)
{
	const int status = end_of(ignore_traps);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* A read in a pad's condition: pair's first instruction, with a bad read. */
static void bad_reads_in_pads_are_counted(void **state)
{
	enum {
		PROBE = 3
	};
	static const uint8_t read_null[] = { 0x31, 0xc0, 0x48, 0x8b, 0x00 };
	struct sonde_patch patch;
	struct pads pads;
	uint64_t start_at;

	(void)state;
	start(run_threads);
	pads = make_pads(FREE_AT);
	start_at = pads.there + pads.used;
	/* xor %eax,%eax; mov (%rax),%rax: faults, and goes on behind */
	put(&pads, read_null, sizeof(read_null));
	assert_int_equal(
		sonde_publish_fault(sonde_process_agent(process),
				    &(struct sonde_agent_fault){
					    .at = start_at + 2,
					    .to = start_at + sizeof(read_null),
					    .probe = PROBE }),
		0);
	(void)make_pad(&pads, &one_window);
	/* who traps while the jump is put in reads, too */
	assert_int_equal(sonde_publish_trap(sonde_process_agent(process),
					    one_window.address, start_at),
			 0);
	patch = lead(&one_window, start_at);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	await_count(pads.counter, 1000);
	patch = back(&patch);
	assert_int_equal(sonde_patch_apply(process, &patch, 1), 0);
	sonde_store_release(&shared->quit, 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	child = -1;
	assert_int_equal(shared->wrong, 0);
	assert_int_equal(sonde_process_agent(process)->probes[PROBE].faults,
			 sonde_load_relaxed(pads.counter));
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A_TEST(single_windows_change_under_threads),
		A_TEST(punned_windows_change_under_threads_that_jump_inside),
		A_TEST(free_windows_change_under_threads),
		A_TEST(traps_change_under_threads_that_jump_inside),
		A_TEST(a_jump_is_replaced_by_another),
		A_TEST(several_change_in_one_call),
		A_TEST(a_thread_inside_a_punned_window_is_led_on),
		A_TEST(a_thread_inside_a_free_window_makes_it_refused),
		A_TEST(a_thread_stopped_outside_is_no_hindrance),
		A_TEST(other_bytes_are_not_overwritten),
		A_TEST(read_only_text_is_opened_for_the_moment),
		A_TEST(text_is_closed_whatever_happens),
		A_TEST(a_file_is_never_changed),
		A_TEST(threads_that_block_all_signals_are_no_matter),
		A_TEST(a_handler_is_called_as_the_kernel_would),
		A_TEST(a_handler_that_is_set_later_is_kept),
		A_TEST(a_handler_for_once_is_called_once),
		A_TEST(it_dies_as_it_would),
		A_TEST(an_ignored_signal_stays_ignored),
		A_TEST(bad_reads_in_pads_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
