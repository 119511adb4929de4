/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_functions.c - calls told by hand.
 */
#include "analysis/reports/functions.h"

#include <stdlib.h>

#include "unit.h"

#define A 0x100
#define B 0x200
#define C 0x300

static struct sonde_profile_calls functions;

static int set_up(void **unused)
{
	(void)unused;
	return sonde_profile_calls_init(&functions, NULL);
}

static int tear_down(void **unused)
{
	(void)unused;
	sonde_profile_calls_fini(&functions);
	return 0;
}

static void replay(uint32_t op, uint64_t function, int32_t tid, int64_t time_ns)
{
	const struct sonde_journal_entry entry = {
		.time_ns = time_ns,
		.since_ns = time_ns,
		.words = { function },
		.tid = tid,
		.pid = 1,
		.op = op,
	};

	assert_int_equal(sonde_profile_calls_replay(&functions, &entry), 0);
}

static void enter(uint64_t function, int64_t time_ns)
{
	replay(SONDE_FUNCTIONS_ENTRY, function, 1, time_ns);
}

static void leave(uint64_t function, int64_t time_ns)
{
	replay(SONDE_FUNCTIONS_EXIT, function, 1, time_ns);
}

static void is(uint64_t function, uint64_t calls, uint64_t total_ns,
	       uint64_t self_ns)
{
	for (size_t i = 0; i < functions.nr_rows; i++) {
		const struct sonde_profile_row *row = &functions.rows[i];

		if (row->at.caller != function || row->tid != 1)
			continue;
		assert_int_equal(row->calls, calls);
		assert_int_equal(row->total_ns, total_ns);
		assert_int_equal(row->self_ns, self_ns);
		return;
	}
	fail_msg("no row of %#lx", (unsigned long)function);
}

static void a_call_has_its_time_without_those_it_made(void **unused)
{
	(void)unused;
	enter(A, 0);
	enter(B, 10);
	leave(B, 30);
	enter(B, 40);
	enter(C, 45);
	leave(C, 50);
	leave(B, 60);
	leave(A, 100);
	is(A, 1, 100, 60);
	is(B, 2, 40, 35);
	is(C, 1, 5, 5);
	assert_int_equal(functions.nr_open, 0);
}

static void of_recursion_the_outermost_call_is_the_total(void **unused)
{
	(void)unused;
	enter(A, 0);
	enter(A, 10);
	enter(B, 20);
	enter(A, 30);
	leave(A, 40);
	leave(B, 50);
	leave(A, 60);
	leave(A, 100);
	is(A, 3, 100, 80);
	is(B, 1, 30, 20);
	enter(A, 100);
	enter(A, 110);
	leave(A, 115);
	sonde_profile_calls_end(&functions);
	is(A, 5, 105, 85);
	assert_int_equal(functions.counts.open, 1);
	assert_int_equal(functions.rows[0].durations.count, 4);
	assert_int_equal(functions.rows[0].durations.max, 100);
	assert_int_equal(functions.rows[0].durations.min, 5);
}

static void what_is_left_by_a_jump_has_no_time(void **unused)
{
	(void)unused;
	enter(A, 0);
	enter(B, 10);
	enter(C, 20);
	leave(C, 25);
	enter(C, 30); /* jumps to A */
	enter(C, 50);
	leave(C, 60);
	leave(A, 100);
	assert_int_equal(functions.counts.left, 2);
	is(B, 1, 0, 0);
	is(C, 3, 15, 15);
	is(A, 1, 100, 85);
	assert_int_equal(functions.nr_open, 0);
}

static void ends_without_begins_and_begins_without_ends_count(void **unused)
{
	(void)unused;
	leave(A, 0);
	enter(B, 10);
	leave(C, 20);
	leave(B, 30);
	enter(A, 40);
	enter(B, 50);
	sonde_profile_calls_end(&functions);
	assert_int_equal(functions.counts.unbegun, 2);
	assert_int_equal(functions.counts.open, 2);
	assert_int_equal(functions.counts.left, 0);
	is(B, 2, 20, 20);
	is(A, 1, 0, 0);
}

static void threads_have_stacks_of_their_own(void **unused)
{
	(void)unused;
	enter(A, 0);
	replay(SONDE_FUNCTIONS_ENTRY, A, 2, 1);
	replay(SONDE_FUNCTIONS_ENTRY, B, 2, 2);
	leave(A, 10);
	replay(SONDE_FUNCTIONS_EXIT, B, 2, 20);
	replay(SONDE_FUNCTIONS_EXIT, A, 2, 31);
	replay(SONDE_FUNCTIONS_EXIT, A, -1, 40);
	is(A, 1, 10, 10);
	assert_int_equal(functions.nr_rows, 3);
	assert_int_equal(functions.counts.left, 0);
	assert_int_equal(functions.counts.unbegun, 0);
	assert_int_equal(functions.counts.threadless, 1);
}

static void lose(int64_t begin_ns, int64_t end_ns)
{
	assert_int_equal(sonde_lost_add(&functions.lost, begin_ns, end_ns), 0);
}

static void nothing_is_paired_across_a_loss_or_in_it(void **unused)
{
	(void)unused;
	lose(100, 200);
	enter(A, 0);
	enter(B, 10);
	leave(B, 20);
	enter(B, 90);
	leave(B, 150); /* another call's, perhaps */
	enter(B, 160);
	leave(B, 300);
	enter(C, 310);
	leave(C, 320);
	leave(A, 400);
	assert_int_equal(functions.counts.lost, 2);
	assert_int_equal(functions.counts.doubtful, 2);
	assert_int_equal(functions.counts.unbegun, 2);
	is(A, 1, 0, 0);
	is(B, 3, 10, 10);
	is(C, 1, 10, 10);
}

static void a_loss_between_two_events_of_a_thread_ends_its_calls(void **unused)
{
	(void)unused;
	lose(100, 200);
	enter(A, 0);
	replay(SONDE_FUNCTIONS_ENTRY, B, 2, 210);
	leave(A, 300);
	replay(SONDE_FUNCTIONS_EXIT, B, 2, 310);
	assert_int_equal(functions.counts.lost, 1);
	assert_int_equal(functions.counts.unbegun, 1);
	is(A, 1, 0, 0);
	assert_int_equal(functions.rows[1].total_ns, 100);
}

#define FUNCTIONS_TEST(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FUNCTIONS_TEST(a_call_has_its_time_without_those_it_made),
		FUNCTIONS_TEST(of_recursion_the_outermost_call_is_the_total),
		FUNCTIONS_TEST(what_is_left_by_a_jump_has_no_time),
		FUNCTIONS_TEST(
			ends_without_begins_and_begins_without_ends_count),
		FUNCTIONS_TEST(threads_have_stacks_of_their_own),
		FUNCTIONS_TEST(nothing_is_paired_across_a_loss_or_in_it),
		FUNCTIONS_TEST(
			a_loss_between_two_events_of_a_thread_ends_its_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
