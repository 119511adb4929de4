/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_heap.c - a heap told by hand, and its invariants told at
 * random.
 */
#include "analysis/reports/heap.h"

#include "random.h"
#include "unit.h"

#include <string.h>

#define SEED 20261120u

static struct sonde_heap heap;
static int64_t now;

static int set_up(void **unused)
{
	(void)unused;
	sonde_heap_init(&heap);
	now = 0;
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	sonde_heap_fini(&heap);
	return 0;
}

/* The next event, a nanosecond later. */
static void replay(uint32_t op, int32_t tid, uint64_t size, uint64_t ptr,
		   uint64_t more)
{
	const struct sonde_journal_entry entry = {
		.time_ns = ++now,
		.words = { size, ptr, 0x1000 + size % 8, more },
		.tid = tid,
		.pid = 1,
		.op = op,
	};

	assert_int_equal(sonde_heap_replay(&heap, &entry), 0);
}

static void allocate(uint64_t size, uint64_t ptr)
{
	replay(SONDE_HEAP_MALLOC, 1, size, ptr, 0);
}

static void give_back(uint64_t ptr)
{
	replay(SONDE_HEAP_FREE, 1, 0, ptr, 0);
}

static void peak_is_the_first_greatest_moment(void **unused)
{
	(void)unused;
	allocate(100, 1);
	allocate(50, 2);
	give_back(1);
	allocate(100, 1); /* as much again, but not more */
	assert_int_equal(heap.peak_bytes, 150);
	assert_int_equal(heap.peak_blocks, 2);
	assert_int_equal(heap.peak_ns, 2);
	give_back(1);
	give_back(2);
	assert_int_equal(heap.live_bytes, 0);
	assert_int_equal(heap.lifetimes.count, 3);
}

static void realloc_moves_one_block(void **unused)
{
	(void)unused;
	allocate(100, 1);
	replay(SONDE_HEAP_REALLOC_BEGIN, 1, 70, 0, 1);
	assert_int_equal(heap.live_bytes, 100);
	replay(SONDE_HEAP_REALLOC, 1, 70, 2, 1);
	assert_int_equal(heap.live_bytes, 70);
	assert_int_equal(heap.live_blocks, 1);
	assert_int_equal(heap.peak_bytes, 100);
	give_back(2);
	assert_int_equal(heap.unknown_frees, 0);
	assert_int_equal(heap.live_blocks, 0);
}

static void address_may_be_given_out_while_its_block_moves(void **unused)
{
	(void)unused;
	allocate(100, 1);
	replay(SONDE_HEAP_REALLOC_BEGIN, 1, 200, 0, 1);
	replay(SONDE_HEAP_MALLOC, 2, 30, 1, 0);
	replay(SONDE_HEAP_REALLOC, 1, 200, 2, 1);
	assert_int_equal(heap.live_bytes, 230);
	assert_int_equal(heap.live_blocks, 2);
	assert_int_equal(heap.reused, 0);
}

static void failed_realloc_keeps_the_block(void **unused)
{
	(void)unused;
	allocate(100, 1);
	replay(SONDE_HEAP_REALLOC_BEGIN, 1, 1u << 30, 0, 1);
	replay(SONDE_HEAP_REALLOC, 1, 1u << 30, 0, 1);
	assert_int_equal(heap.live_bytes, 100);
	assert_int_equal(heap.calls[SONDE_HEAP_REALLOC].failed, 1);
	give_back(1);
	assert_int_equal(heap.unknown_frees, 0);
	assert_int_equal(heap.live_blocks, 0);
}

static void realloc_to_nothing_frees(void **unused)
{
	(void)unused;
	allocate(100, 1);
	replay(SONDE_HEAP_REALLOC_BEGIN, 1, 0, 0, 1);
	replay(SONDE_HEAP_REALLOC, 1, 0, 0, 1);
	assert_int_equal(heap.live_blocks, 0);
	assert_int_equal(heap.calls[SONDE_HEAP_REALLOC].failed, 0);
}

static void what_was_not_seen_is_counted(void **unused)
{
	(void)unused;
	give_back(1);
	replay(SONDE_HEAP_REALLOC, 1, 10, 3, 2); /* its begin was lost */
	assert_int_equal(heap.unknown_frees, 2);
	allocate(100, 3); /* its free was lost */
	assert_int_equal(heap.reused, 1);
	assert_int_equal(heap.live_bytes, 100);
	replay(SONDE_HEAP_CALLOC, 1, 1000, 0, 4);
	assert_int_equal(heap.calls[SONDE_HEAP_CALLOC].failed, 1);
}

static uint64_t state = SEED;

/* Invariants 1 and 3 of heap.h, and what sites held when the peak began. */
static void check_sums(const uint64_t *at_peak)
{
	uint64_t live = 0;
	uint64_t peak = 0;

	for (size_t i = 0; i < heap.nr_sites; i++) {
		const struct sonde_heap_site *site = &heap.sites[i];

		live += site->live_bytes;
		peak += sonde_heap_site_peak(&heap, site);
		assert_int_equal(sonde_heap_site_peak(&heap, site),
				 at_peak[site->at.caller - 0x1000]);
	}
	assert_int_equal(live, heap.live_bytes);
	assert_int_equal(peak, heap.peak_bytes);
}

static void sites_sum_up_to_all_that_is_live(void **unused)
{
	uint64_t at_peak[8] = { 0 };

	(void)unused;
	for (int step = 0; step < 20000; step++) {
		uint64_t ptr = 1 + random_below(&state, 60);
		uint64_t before = heap.peak_bytes;

		if (random_below(&state, 5) < 2)
			allocate(random_below(&state, 3000), ptr);
		else if (random_below(&state, 3))
			give_back(ptr);
		else
			replay(random_below(&state, 2) ?
				       SONDE_HEAP_REALLOC_BEGIN :
				       SONDE_HEAP_REALLOC,
			       (int32_t)random_below(&state, 3),
			       random_below(&state, 3000),
			       random_below(&state, 50), ptr);
		for (size_t i = 0;
		     heap.peak_bytes > before && i < heap.nr_sites; i++)
			at_peak[heap.sites[i].at.caller - 0x1000] =
				heap.sites[i].live_bytes;
		check_sums(at_peak);
	}
	assert_true(heap.peak_bytes > 0);
}

int main(void)
{
#define HEAP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		HEAP_TEST(peak_is_the_first_greatest_moment),
		HEAP_TEST(realloc_moves_one_block),
		HEAP_TEST(address_may_be_given_out_while_its_block_moves),
		HEAP_TEST(failed_realloc_keeps_the_block),
		HEAP_TEST(realloc_to_nothing_frees),
		HEAP_TEST(what_was_not_seen_is_counted),
		HEAP_TEST(sites_sum_up_to_all_that_is_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
