/* SPDX-License-Identifier: MIT */
/*
 * test_tracer_counters.c - the life of a thread's counters (tracer/counters.c): whose
 * they are, and when they come and go. The kernel's part is made up: a counter is a
 * memory file with the number of its thread, which children of fork don't have either.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/layout.h"
#include "sys/counter.h"
#include "tracer/contexts.h"
#include "tracer/self.h"

#define NR_THREADS 50
#define PAGE       4096

static struct sonde_arena header;
unsigned char *sonde_arena = (unsigned char *)&header;
const bool sonde_rseq_supported = false; /* there are no rings */

static uint32_t nr_opened;
static bool is_refused;
static bool raises; /* a signal comes while one is opened */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming):
 * they are the linker's */
int __wrap_sonde_counter_open(enum sonde_counter which);
bool __wrap_sonde_counter_is_readable(const struct perf_event_mmap_page *page);
uint64_t __wrap_sonde_counter_value(const struct perf_event_mmap_page *page,
				    sonde_counter_reader *read_cpu);

int __wrap_sonde_counter_open(enum sonde_counter which)
{
	pid_t tid = gettid();
	int fd = is_refused ? -1 : memfd_create("a_counter", MFD_CLOEXEC);

	(void)which;
	(void)__atomic_fetch_add(&nr_opened, 1, __ATOMIC_RELAXED);
	if (fd < 0)
		return -EMFILE;
	if (ftruncate(fd, PAGE) ||
	    pwrite(fd, &tid, sizeof(tid), 0) != sizeof(tid))
		abort();
	if (raises) {
		raises = false;
		(void)raise(SIGUSR1);
	}
	return fd;
}

bool __wrap_sonde_counter_is_readable(const struct perf_event_mmap_page *page)
{
	return !madvise((void *)(uintptr_t)page, PAGE, MADV_DONTFORK);
}

uint64_t __wrap_sonde_counter_value(const struct perf_event_mmap_page *page,
				    sonde_counter_reader *read_cpu)
{
	pid_t tid;

	(void)read_cpu;
	memcpy(&tid, page, sizeof(tid));
	return (uint64_t)tid;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static uint64_t ask(enum sonde_ring_context which)
{
	uint64_t values[SONDE_CONTEXTS];

	(void)sonde_tracer_contexts(1u << which, values);
	return values[0];
}

static uint64_t cycles(void)
{
	return ask(SONDE_CONTEXT_CYCLES);
}

static bool is_ours(void)
{
	return cycles() == (uint64_t)gettid();
}

static unsigned nr_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned nr = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		nr += strstr(line, "a_counter") != NULL;
	assert_int_equal(fclose(maps), 0);
	return nr;
}

static void *run_thread(void *(*work)(void *), void *with)
{
	pthread_t thread;
	void *done = NULL;

	assert_int_equal(pthread_create(&thread, NULL, work, with), 0);
	assert_int_equal(pthread_join(thread, &done), 0);
	return done;
}

/* What a thread says if all is well. */
static void *verdict(bool is_good)
{
	return is_good ? &header : NULL;
}

static void the_first_event_alone_opens(void **state)
{
	uint32_t before = nr_opened;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(is_ours());
	assert_int_equal(nr_opened, before + 1);
	assert_int_equal(ask(SONDE_CONTEXT_BRANCH_MISSES), gettid());
	assert_int_equal(nr_opened, before + 2);
	assert_int_equal(nr_mapped(), 2);
}

static void assert_good(pid_t pid)
{
	int status = -1;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_child_of_fork_opens_its_own(void **state)
{
	pid_t pid;

	(void)state;
	assert_true(is_ours());
	pid = fork();
	if (!pid)
		_exit(!(is_ours() && is_ours() && nr_mapped() == 1));
	assert_good(pid);
	pid = _Fork(); /* calls no handlers */
	if (!pid)
		_exit(!(is_ours() && is_ours() && nr_mapped() == 1));
	assert_good(pid);
	assert_true(is_ours());
}

/* It is a stranger to the C library, too. */
static void a_child_that_nobody_knows_of_has_none(void **state)
{
	pid_t pid;

	(void)state;
	assert_true(is_ours());
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(!(cycles() == SONDE_CONTEXT_UNKNOWN));
	assert_good(pid);
}

static int in_our_memory(void *unused)
{
	(void)unused;
	return cycles() != SONDE_CONTEXT_UNKNOWN;
}

static void *borrow_memory(void *unused)
{
	_Alignas(16) static char stack[65536];
	int status = -1;
	pid_t pid;

	(void)unused;
	pid = clone(in_our_memory, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	return verdict(pid > 0 && waitpid(pid, &status, 0) == pid && !status &&
		       is_ours());
}

static void a_child_of_vfork_leaves_ours_alone(void **state)
{
	(void)state;
	assert_non_null(run_thread(borrow_memory, NULL));
}

static void *be_one_of_many(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++) {
		if (!is_ours())
			return verdict(false);
		(void)sched_yield();
	}
	return verdict(true);
}

static void threads_close_theirs_at_their_end(void **state)
{
	pthread_t threads[NR_THREADS];
	unsigned before = nr_mapped();
	void *done;

	(void)state;
	for (int i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						be_one_of_many, NULL),
				 0);
	for (int i = 0; i < NR_THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &done), 0);
		assert_non_null(done);
	}
	assert_int_equal(nr_mapped(), before);
}

static volatile uint64_t in_handler;

static void handle(int unused)
{
	(void)unused;
	in_handler = cycles();
}

static void *open_in_handler(void *while_opening)
{
	in_handler = 0;
	raises = while_opening;
	if (!while_opening)
		(void)raise(SIGUSR1);
	return verdict(is_ours() && in_handler == (uint64_t)gettid());
}

static void a_signal_handler_may_be_first(void **state)
{
	unsigned before = nr_mapped();

	(void)state;
	assert_true(signal(SIGUSR1, handle) != SIG_ERR);
	assert_non_null(run_thread(open_in_handler, NULL));
	assert_int_equal(nr_mapped(), before);
	assert_non_null(run_thread(open_in_handler, &header));
	assert_int_equal(nr_mapped(), before);
}

static void *be_refused(void *unused)
{
	uint32_t before = nr_opened;

	(void)unused;
	for (int i = 0; i < 3; i++)
		if (cycles() != SONDE_CONTEXT_UNKNOWN)
			return verdict(false);
	return verdict(nr_opened == before + 1);
}

static void what_is_refused_is_told_and_not_tried_again(void **state)
{
	uint32_t before = header.nr_uncounted;

	(void)state;
	is_refused = true;
	assert_non_null(run_thread(be_refused, NULL));
	is_refused = false;
	assert_int_equal(header.nr_uncounted, before + 1);
	assert_non_null(run_thread(be_one_of_many, NULL));
	assert_int_equal(header.nr_uncounted, before + 1);
}

static uint64_t at_last;

static void ask_late(void *unused)
{
	(void)unused;
	at_last = cycles();
}

static void *end_late(void *key)
{
	bool is_good = is_ours();

	(void)pthread_setspecific(*(pthread_key_t *)key, key);
	return verdict(is_good);
}

static void behind_its_end_a_thread_has_none(void **state)
{
	unsigned before = nr_mapped();
	pthread_key_t key; /* behind ours */

	(void)state;
	assert_int_equal(pthread_key_create(&key, ask_late), 0);
	assert_non_null(run_thread(end_late, &key));
	assert_true(at_last == SONDE_CONTEXT_UNKNOWN);
	assert_int_equal(nr_mapped(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_event_alone_opens),
		cmocka_unit_test(a_child_of_fork_opens_its_own),
		cmocka_unit_test(a_child_that_nobody_knows_of_has_none),
		cmocka_unit_test(a_child_of_vfork_leaves_ours_alone),
		cmocka_unit_test(threads_close_theirs_at_their_end),
		cmocka_unit_test(a_signal_handler_may_be_first),
		cmocka_unit_test(what_is_refused_is_told_and_not_tried_again),
		cmocka_unit_test(behind_its_end_a_thread_has_none),
	};

	/* A process's own, before it has any thread or child. */
	sonde_self_learn();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
