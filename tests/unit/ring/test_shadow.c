/* SPDX-License-Identifier: MIT */
/*
 * test_shadow.c - calls that are short or deep leave nothing, and are counted.
 */
#include "ring/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

static uint64_t random_seed;

#define A      1
#define B      2
#define C      3
#define STACK  1000000u
#define EVENTS 4096

static struct sonde_shadow shadow;
static struct sonde_shadow_rule rule;
static uint64_t left_out;

/* What was recorded: a function, negative at its end, and how long ago. */
static struct event {
	int64_t function;
	uint64_t ago_ns;
} events[EVENTS];
static size_t nr_events;

static void note(int64_t function, uint64_t ago_ns, uint32_t nr)
{
	assert_true(nr_events < EVENTS);
	events[nr_events++] = (struct event){ function, ago_ns };
	left_out += nr;
}

static uint64_t unit_now;

static void note_begin(void *ctx, uint64_t function, uint64_t begin,
		       uint32_t nr)
{
	assert_ptr_equal(ctx, events);
	note((int64_t)function, 2 * (unit_now - begin), nr);
}

static void note_end(void *ctx, uint64_t function, uint32_t nr)
{
	assert_ptr_equal(ctx, events);
	note(-(int64_t)function, 0, nr);
}

static struct sonde_shadow_hit unit_hit(uint64_t function, uint64_t stack)
{
	return (struct sonde_shadow_hit){
		.function = function,
		.stack = stack,
		.ctx = events,
		.begin = note_begin,
		.end = note_end,
	};
}

static void enter(uint64_t function, uint64_t stack, uint64_t now)
{
	const struct sonde_shadow_hit hit = unit_hit(function, stack);

	unit_now = now;
	sonde_shadow_enter(&shadow, &rule, &hit, now);
}

static void leave(uint64_t function, uint64_t stack, uint64_t now)
{
	const struct sonde_shadow_hit hit = unit_hit(function, stack);

	unit_now = now;
	sonde_shadow_leave(&shadow, &rule, &hit, now);
}

/* A tick is two nanoseconds. */
static int set_up(void **unused)
{
	(void)unused;
	memset(&shadow, 0, sizeof(shadow));
	rule = (struct sonde_shadow_rule){ .min_ticks = 10 };
	nr_events = 0;
	left_out = 0;
	return 0;
}

static void were(const struct event *expected, size_t nr)
{
	assert_int_equal(nr_events, nr);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(events[i].function, expected[i].function);
		assert_int_equal(events[i].ago_ns, expected[i].ago_ns);
	}
}

#define WERE(...)                                            \
	were((const struct event[]){ __VA_ARGS__ },          \
	     sizeof((const struct event[]){ __VA_ARGS__ }) / \
		     sizeof(struct event))

static void a_short_call_leaves_nothing_and_is_counted(void **unused)
{
	(void)unused;
	enter(A, STACK, 1);
	enter(B, STACK - 10, 2);
	leave(B, STACK - 10, 4);
	assert_int_equal(nr_events, 0);
	leave(A, STACK, 31);
	WERE({ A, 60 }, { -A, 0 });
	assert_int_equal(left_out, 1);
}

static void entries_come_late_from_the_outermost_on(void **unused)
{
	(void)unused;
	enter(A, STACK, 1);
	enter(B, STACK - 10, 2);
	enter(C, STACK - 20, 3);
	leave(C, STACK - 20, 14);
	leave(B, STACK - 10, 15);
	leave(A, STACK, 16);
	WERE({ A, 26 }, { B, 24 }, { C, 22 }, { -C, 0 }, { -B, 0 }, { -A, 0 });
}

static void a_long_call_is_told_by_the_first_one_in_it(void **unused)
{
	(void)unused;
	enter(A, STACK, 1);
	enter(B, STACK - 10, 50);
	WERE({ A, 98 });
	leave(B, STACK - 10, 51);
	leave(A, STACK, 52);
	WERE({ A, 98 }, { -A, 0 });
	assert_int_equal(left_out, 1);
}

static void deep_calls_leave_nothing(void **unused)
{
	(void)unused;
	rule = (struct sonde_shadow_rule){ .depth = 2 };
	enter(A, STACK, 1);
	enter(B, STACK - 10, 1);
	enter(C, STACK - 20, 1);
	leave(C, STACK - 20, 1);
	leave(B, STACK - 10, 1);
	leave(A, STACK, 1);
	WERE({ A, 0 }, { B, 0 }, { -B, 0 }, { -A, 0 });
	assert_int_equal(left_out, 1);
}

static void what_was_left_without_an_exit_is_dropped(void **unused)
{
	(void)unused;
	enter(A, STACK, 1);
	enter(B, STACK - 10, 2);
	enter(C, STACK - 20, 14);
	leave(A, STACK, 20); /* longjmp() */
	WERE({ A, 26 }, { B, 24 }, { -A, 0 });
	assert_int_equal(left_out, 1); /* C */
	assert_int_equal(shadow.depth, 0);
}

static void the_exit_of_what_began_before_is_recorded(void **unused)
{
	(void)unused;
	leave(A, STACK, 5);
	WERE({ -A, 0 });
}

static void what_finds_no_room_is_left_out(void **unused)
{
	const uint32_t nr = SONDE_SHADOW_CALLS + 70;

	(void)unused;
	rule.min_ticks = 0;
	for (uint32_t i = 0; i < nr; i++)
		enter(A, STACK - i, 1);
	assert_int_equal(nr_events, SONDE_SHADOW_CALLS);
	for (uint32_t i = nr; i-- > 0;)
		leave(A, STACK - i, 1);
	assert_int_equal(nr_events, 2 * SONDE_SHADOW_CALLS);
	assert_int_equal(left_out, 70);
	assert_int_equal(shadow.depth, 0);
}

static void calls_that_are_over_make_room(void **unused)
{
	(void)unused;
	rule.min_ticks = 0;
	enter(A, STACK, 1);
	for (uint32_t i = 1; i < 1000; i++)
		enter(B, STACK - 1 - i % 2, 1); /* longjmp() each time */
	nr_events = 0;
	enter(C, STACK - 1, 1);
	leave(C, STACK - 1, 1);
	leave(A, STACK, 1);
	WERE({ C, 0 }, { -C, 0 }, { -A, 0 });
}

static void another_thread_begins_anew(void **unused)
{
	(void)unused;
	enter(A, STACK, 1);
	sonde_shadow_reset(&shadow, 7);
	enter(B, STACK, 2);
	leave(B, STACK, 40);
	WERE({ B, 76 }, { -B, 0 });
}

/* Of any calls that nest, those that last are recorded, and the rest counted. */
static void whatever_nests_has_its_records(void **unused)
{
	static struct {
		uint64_t function, begin;
	} open[100];
	uint64_t now = 1;
	uint64_t expected = 0;
	uint64_t all = 0;
	size_t depth = 0;

	(void)unused;
	random_seed = 1;
	rule.depth = 6;
	for (int i = 0; i < 4000 || depth; i++) {
		bool enters =
			i < 4000 && depth < 9 && random_int(&random_seed) % 2;

		now += (uint64_t)random_int(&random_seed) % 6;
		if (enters) {
			open[depth].function =
				(uint64_t)random_int(&random_seed) % 5 + 1;
			open[depth].begin = now;
			enter(open[depth].function, STACK - depth, now);
			depth++;
			all++;
		} else if (depth) {
			depth--;
			expected += depth < 6 && now - open[depth].begin >= 10;
			leave(open[depth].function, STACK - depth, now);
		}
	}
	assert_int_equal(nr_events, 2 * expected);
	left_out += sonde_shadow_left_out(&shadow);
	assert_int_equal(left_out, all - expected);
}

/* ---- of calls of which some are wanted ---- */

static bool give(uint64_t function, uint64_t stack)
{
	const struct sonde_shadow_hit hit = unit_hit(function, stack);

	return sonde_shadow_give(&shadow, &hit);
}

static bool take(uint64_t function, uint64_t stack)
{
	const struct sonde_shadow_hit hit = unit_hit(function, stack);

	return sonde_shadow_take(&shadow, &hit);
}

static void an_exit_is_of_the_call_with_its_return_address(void **unused)
{
	(void)unused;
	assert_true(give(A, STACK));
	/* an inner one that isn't wanted, and another function there */
	assert_false(take(A, STACK - 1));
	assert_false(take(B, STACK));
	assert_true(take(A, STACK));
	assert_false(take(A, STACK));
	assert_int_equal(nr_events, 0);
}

static void what_a_wanted_call_was_in_outlives_it(void **unused)
{
	(void)unused;
	assert_true(give(A, STACK));
	assert_true(give(B, STACK - 1));
	assert_true(give(A, STACK - 2)); /* left without an exit */
	assert_true(take(B, STACK - 1));
	assert_false(take(A, STACK - 2));
	assert_true(take(A, STACK));
}

static void calls_that_are_wanted_have_as_much_room(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < SONDE_SHADOW_CALLS; i++)
		assert_true(give(A, STACK - i));
	assert_false(give(A, STACK - SONDE_SHADOW_CALLS));
	assert_true(take(A, STACK - SONDE_SHADOW_CALLS + 1));
	assert_true(give(A, STACK - SONDE_SHADOW_CALLS));
}

#define UNIT(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(a_short_call_leaves_nothing_and_is_counted),
		UNIT(entries_come_late_from_the_outermost_on),
		UNIT(a_long_call_is_told_by_the_first_one_in_it),
		UNIT(deep_calls_leave_nothing),
		UNIT(what_was_left_without_an_exit_is_dropped),
		UNIT(the_exit_of_what_began_before_is_recorded),
		UNIT(what_finds_no_room_is_left_out),
		UNIT(calls_that_are_over_make_room),
		UNIT(another_thread_begins_anew),
		UNIT(whatever_nests_has_its_records),
		UNIT(an_exit_is_of_the_call_with_its_return_address),
		UNIT(what_a_wanted_call_was_in_outlives_it),
		UNIT(calls_that_are_wanted_have_as_much_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
