/* SPDX-License-Identifier: MIT */
/*
 * counters.c - a thread's counters (src/tracer/counters.c) on a CPU that has some: they
 * count what the thread does, and nobody else; where they can't, they say so.
 *
 * For a guest whose counters count instructions (QEMU's -icount), with the kernel's
 * leave (perf_user_access), which it gives itself. Prints a line FAIL for what isn't
 * so, and `N passed, M failed`.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/layout.h"
#include "tracer/contexts.h"
#include "tracer/self.h"

#define NR_THREADS   50
#define LOOP         20000ul
#define INSTRUCTIONS 3u    /* of a turn of the loop */
#define BESIDE       3000u /* of what is around it, opening included */

static struct sonde_arena header;
unsigned char *sonde_arena = (unsigned char *)&header;
const bool sonde_rseq_supported = false; /* there are no rings */
static int nr_passed, nr_failed;

#define CHECK(what, name)                                                      \
	do {                                                                   \
		if (what) {                                                    \
			__atomic_fetch_add(&nr_passed, 1, __ATOMIC_RELAXED);   \
		} else {                                                       \
			__atomic_fetch_add(&nr_failed, 1, __ATOMIC_RELAXED);   \
			(void)printf("FAIL %s: line %d: %s\n", name, __LINE__, \
				     #what);                                   \
		}                                                              \
	} while (0)

static uint64_t ask(enum sonde_ring_context which)
{
	uint64_t values[SONDE_CONTEXTS];

	(void)sonde_tracer_contexts(1u << which, values);
	return values[0];
}

static uint64_t instructions(void)
{
	return ask(SONDE_CONTEXT_INSTRUCTIONS);
}

static bool is_known(uint64_t value)
{
	return value != SONDE_CONTEXT_UNKNOWN;
}

__attribute__((noinline)) static void loop(unsigned long n)
{
	__asm__ volatile("1: nop\n\tsubs %0, %0, #1\n\tb.ne 1b"
			 : "+r"(n)
			 :
			 : "cc");
}

/* What `n` turns add; unknown if that is. */
static uint64_t added_by(unsigned long n)
{
	uint64_t before = instructions();
	uint64_t after;

	loop(n);
	after = instructions();
	return is_known(before) && is_known(after) && after > before ?
		       after - before :
		       SONDE_CONTEXT_UNKNOWN;
}

static bool is_of_loop(uint64_t added, unsigned long n)
{
	return added >= INSTRUCTIONS * n && added < INSTRUCTIONS * n + BESIDE;
}

static unsigned nr_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned nr = 0;

	while (maps && fgets(line, sizeof(line), maps))
		nr += strstr(line, "[perf_event]") != NULL;
	if (maps)
		(void)fclose(maps);
	return nr;
}

static void a_loop_is_counted(void)
{
	for (unsigned long n = LOOP; n <= 16 * LOOP; n *= 2)
		CHECK(is_of_loop(added_by(n), n), __func__);
	CHECK(is_known(ask(SONDE_CONTEXT_CYCLES)), __func__);
	CHECK(nr_mapped() == 2, __func__);
	/* The emulated CPU has none of these. */
	CHECK(!is_known(ask(SONDE_CONTEXT_CACHE_MISSES)), __func__);
	CHECK(!is_known(ask(SONDE_CONTEXT_CACHE_MISSES)), __func__);
	CHECK(header.nr_uncounted == 1, __func__);
}

static int child_of_fork(uint64_t of_parent)
{
	uint64_t first = instructions();

	return is_known(first) && first < of_parent && first < BESIDE &&
			       is_of_loop(added_by(LOOP), LOOP) ?
		       0 :
		       1;
}

static bool is_good(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void a_child_has_its_own(void)
{
	uint64_t before = instructions();
	pid_t pid = fork();

	if (!pid)
		_exit(child_of_fork(before));
	CHECK(is_good(pid), __func__);
	pid = _Fork(); /* calls no handlers */
	if (!pid)
		_exit(child_of_fork(before));
	CHECK(is_good(pid), __func__);
	/* It doesn't know who it is: then it has none, and must not crash. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(is_known(instructions()));
	CHECK(is_good(pid), __func__);
	CHECK(is_of_loop(added_by(LOOP), LOOP), __func__);
	CHECK(instructions() > before, __func__);
}

static int in_our_memory(void *is_new)
{
	uint64_t value =
		ask(is_new ? SONDE_CONTEXT_CYCLES : SONDE_CONTEXT_INSTRUCTIONS);

	/* It lost the CPU to us: what its page says is its own, or unknown. */
	return is_new && is_known(value);
}

static pid_t spawn(void *is_new)
{
	static char stack[65536] __attribute__((aligned(16)));

	return clone(in_our_memory, stack + sizeof(stack),
		     CLONE_VM | CLONE_VFORK | SIGCHLD, is_new);
}

static void *spawn_first(void *unused)
{
	(void)unused;
	(void)is_known(instructions());
	CHECK(is_good(spawn(&nr_passed)), __func__);
	CHECK(is_of_loop(added_by(LOOP), LOOP), __func__);
	CHECK(is_known(ask(SONDE_CONTEXT_CYCLES)), __func__);
	return NULL;
}

static void run_thread(void *(*work)(void *), void *with)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, with))
		abort();
	(void)pthread_join(thread, NULL);
}

/* A child that borrows our memory opens nothing in our place. */
static void a_child_of_vfork_leaves_ours_alone(void)
{
	CHECK(is_good(spawn(NULL)), __func__);
	CHECK(is_of_loop(added_by(LOOP), LOOP), __func__);
	run_thread(spawn_first, NULL);
}

static void *work(void *number)
{
	unsigned long n = LOOP * (1 + *(unsigned long *)number);
	uint64_t sum = added_by(n);
	uint64_t last = instructions();

	CHECK(is_of_loop(sum, n), __func__);
	for (int i = 0; i < 100; i++) {
		uint64_t value = instructions();

		if (!is_known(value) || value < last)
			CHECK(!"each is more than the one before", __func__);
		last = value;
		if (i % 10 == 0)
			(void)sched_yield();
	}
	return NULL;
}

static void threads_have_their_own(void)
{
	static unsigned long numbers[NR_THREADS];
	pthread_t threads[NR_THREADS];
	uint32_t before = header.nr_uncounted;
	uint64_t ours = instructions();
	uint64_t added;

	for (unsigned long i = 0; i < NR_THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, work, &numbers[i]))
			abort();
	}
	for (unsigned long i = 0; i < NR_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	added = instructions() - ours;
	/* We made threads, and waited. */
	CHECK(added < NR_THREADS * LOOP, __func__);
	CHECK(nr_mapped() == 2, __func__);
	CHECK(header.nr_uncounted == before, __func__);
}

static volatile uint64_t in_handler;

static void handle(int unused)
{
	(void)unused;
	in_handler = instructions();
}

static void *first_in_handler(void *unused)
{
	(void)unused;
	in_handler = SONDE_CONTEXT_UNKNOWN;
	(void)raise(SIGUSR1);
	CHECK(is_known(in_handler), __func__);
	CHECK(is_of_loop(added_by(LOOP), LOOP), __func__);
	return NULL;
}

static void a_signal_handler_may_be_first(void)
{
	(void)signal(SIGUSR1, handle);
	run_thread(first_in_handler, NULL);
	CHECK(nr_mapped() == 2, __func__);
}

static void *without_descriptors(void *unused)
{
	(void)unused;
	CHECK(!is_known(instructions()), __func__);
	return NULL;
}

static void without_descriptors_it_isnt_known(void)
{
	uint32_t before = header.nr_uncounted;
	struct rlimit old;
	struct rlimit none;

	(void)getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	(void)setrlimit(RLIMIT_NOFILE, &none);
	run_thread(without_descriptors, NULL);
	(void)setrlimit(RLIMIT_NOFILE, &old);
	CHECK(header.nr_uncounted == before + 1, __func__);
	run_thread(work, &(unsigned long){ 1 });
}

static pthread_key_t late;
static bool was_known, is_known_late;

static void ask_late(void *unused)
{
	(void)unused;
	is_known_late = is_known(instructions());
}

static void *end_late(void *unused)
{
	(void)unused;
	was_known = is_known(instructions());
	(void)pthread_setspecific(late, &late);
	return NULL;
}

static void behind_its_end_a_thread_has_none(void)
{
	is_known_late = true;
	(void)pthread_key_create(&late, ask_late);
	run_thread(end_late, NULL);
	CHECK(was_known, __func__);
	CHECK(!is_known_late, __func__);
	CHECK(nr_mapped() == 2, __func__);
}

/* What a page without the kernel's leave says, in a thread of its own. */
static void *without_leave(void *unused)
{
	(void)unused;
	CHECK(!is_known(instructions()), __func__);
	return NULL;
}

static void give_leave(void)
{
	int fd = open("/proc/sys/kernel/perf_user_access", O_WRONLY);

	if (fd < 0 || write(fd, "1", 1) != 1)
		(void)printf("FAIL: no leave to read counters\n");
	(void)close(fd);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	run_thread(without_leave, NULL);
	CHECK(header.nr_uncounted == 1, __func__);
	header.nr_uncounted = 0;
	give_leave();
	a_loop_is_counted();
	a_child_has_its_own();
	a_child_of_vfork_leaves_ours_alone();
	threads_have_their_own();
	a_signal_handler_may_be_first();
	without_descriptors_it_isnt_known();
	behind_its_end_a_thread_has_none();
	(void)printf("%d passed, %d failed\n", nr_passed, nr_failed);
	return nr_failed != 0;
}
