/* SPDX-License-Identifier: MIT */
/*
 * test_ring_cells.c - additions to cells, from threads and from signal handlers
 * in the middle of them: the sum over all rows has each of them once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "ring/cells.h"
#include "unit.h"

#define NR_CPUS   1024u
#define ROW_BYTES 4096u
#define NR_ADDS   400000u
#define THREADS   4u
#define OFFSET    64u

/* glibc's, from 2.35 on
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

static struct sonde_cells cells;
static volatile sig_atomic_t nr_handlers;

static void *unit_rseq(void)
{
	if (!&__rseq_size || !__rseq_size)
		return NULL;
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): a register */
	return (char *)__builtin_thread_pointer() + __rseq_offset;
}

static uint64_t sum(uint64_t offset)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i <= NR_CPUS; i++)
		all += *(const uint64_t *)(const void *)(cells.rows +
							 i * ROW_BYTES +
							 offset);
	return all;
}

static int set_up(void **state)
{
	(void)state;
	cells = (struct sonde_cells){
		.rows = calloc(NR_CPUS + 1, ROW_BYTES),
		.row_bytes = ROW_BYTES,
		.nr_cpus = NR_CPUS,
	};
	return cells.rows ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(cells.rows);
	return 0;
}

static void *add_many(void *value)
{
	for (uint32_t i = 0; i < NR_ADDS; i++)
		sonde_cells_add(&cells, unit_rseq(), OFFSET,
				*(const uint64_t *)value);
	return NULL;
}

static void add_from_threads(void)
{
	static uint64_t values[THREADS] = { 1, 10, 100, 1000 };
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many,
						&values[i]),
				 0);
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void cells_have_what_all_threads_added(void **state)
{
	(void)state;
	add_from_threads();
	assert_int_equal(sum(OFFSET), 1111ull * NR_ADDS);
	assert_int_equal(sum(OFFSET - 8), 0);
	assert_int_equal(sum(OFFSET + 8), 0);
}

static void on_signal(int number)
{
	(void)number;
	/* what is tested NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c) */
	sonde_cells_add(&cells, unit_rseq(), OFFSET, 1);
	nr_handlers++;
}

static void cells_have_what_handlers_added_in_the_middle(void **state)
{
	struct itimerval timer = { { 0, 50 }, { 0, 50 } };
	uint64_t nr = 0;

	(void)state;
	nr_handlers = 0;
	assert_true(signal(SIGALRM, on_signal) != SIG_ERR);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
	for (; nr_handlers < 200; nr++)
		sonde_cells_add(&cells, unit_rseq(), OFFSET, 1);
	memset(&timer, 0, sizeof(timer));
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
	assert_true(signal(SIGALRM, SIG_IGN) != SIG_ERR);
	assert_int_equal(sum(OFFSET), nr + (uint64_t)nr_handlers);
}

static void cells_of_no_known_cpu_are_behind_all(void **state)
{
	uint32_t no_cpu[8] __attribute__((aligned(32))) = { 0, UINT32_MAX };
	uint64_t *last =
		(uint64_t *)(void *)(cells.rows + NR_CPUS * ROW_BYTES + OFFSET);

	(void)state;
	sonde_cells_add(&cells, NULL, OFFSET, 3);
	assert_int_equal(*last, 3);
	sonde_cells_add(&cells, no_cpu, OFFSET, 4);
	assert_int_equal(*last, 7);
	no_cpu[1] = NR_CPUS;
	sonde_cells_add(&cells, no_cpu, OFFSET, UINT64_MAX);
	assert_int_equal(*last, 6);
	assert_int_equal(sum(OFFSET), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			cells_have_what_all_threads_added, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			cells_have_what_handlers_added_in_the_middle, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			cells_of_no_known_cpu_are_behind_all, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
