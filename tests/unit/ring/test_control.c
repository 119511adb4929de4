/* SPDX-License-Identifier: MIT */
/*
 * test_control.c - which way an event goes: the state word that slots, ids and
 * abilities make.
 */
#include "ring/control.h"

#include <stdlib.h>

#include "unit.h"

#define INDEX 7u
#define ONE   (SONDE_STATE_GENERIC | INDEX)

static unsigned char *arena;
static struct sonde_slot *slots;
static struct sonde_entry *entry;

/* An arena whose process has mapped all of it, and knows all words. */
static int make_arena(void **state)
{
	struct sonde_arena *header;

	(void)state;
	arena = calloc(1, SONDE_META_SPAN);
	assert_non_null(arena);
	header = (void *)arena;
	header->writer = SONDE_WRITER_RSEQ;
	header->mapped = SONDE_ARENA_SPAN;
	header->abilities = UINT32_MAX;
	slots = (void *)(arena + SONDE_SLOTS_OFF);
	entry = (struct sonde_entry *)(void *)(arena + SONDE_ENTRIES_OFF) +
		INDEX;
	return 0;
}

static int free_arena(void **state)
{
	(void)state;
	free(arena);
	return 0;
}

static void record(uint32_t slot, uint16_t id)
{
	slots[slot].header =
		id < SONDE_LARGE_FIRST_ID ? SONDE_COMPACT : SONDE_LARGE;
	slots[slot].ids[INDEX] = id;
	slots[slot].state = SONDE_SLOT_ACTIVE;
}

static uint32_t word(void)
{
	const struct sonde_arena_control control =
		sonde_arena_control_view(arena);

	sonde_arena_control_refresh(&control, INDEX);
	return control.states[INDEX];
}

static uint32_t naming(uint32_t bits)
{
	return ONE | bits << SONDE_STATE_SLOTS_SHIFT;
}

static void the_first_slot_alone_is_the_events_id(void **state)
{
	(void)state;
	assert_int_equal(word(), 0);
	record(0, 3);
	assert_int_equal(word(), 3);
}

static void slots_that_a_fast_path_can_write_are_named(void **state)
{
	(void)state;
	record(1, 3);
	assert_int_equal(word(), naming(2));
	record(0, 400);
	assert_int_equal(word(), naming(3));
	record(3, 5);
	assert_int_equal(word(), naming(11));
	slots[0].state = SONDE_SLOT_STOPPED;
	assert_int_equal(word(), naming(10));
	assert_int_equal(sonde_state_slots(word()), 10);
}

static void one_slot_that_wants_more_leaves_all_to_the_slow_path(void **state)
{
	(void)state;
	record(0, 3);
	record(1, 3);
	slots[1].stacks_off = 1;
	assert_int_equal(word(), ONE);
	slots[1].stacks_off = 0;
	slots[1].mode = SONDE_COUNT;
	assert_int_equal(word(), ONE);
	slots[1].mode = SONDE_OVERWRITE;
	assert_int_equal(word(), naming(3));
	slots[1].clock = SONDE_CLOCK_MONOTONIC;
	assert_int_equal(word(), ONE);
	slots[1].clock = SONDE_CLOCK_CPU;
	/* A compact stream has no short header for such an id. */
	slots[1].ids[INDEX] = 31;
	assert_int_equal(word(), ONE);
	slots[1].ids[INDEX] = 30;
	entry->flags = SONDE_ENTRY_FILTERED;
	assert_int_equal(word(), ONE);
}

static void a_process_that_does_not_know_them_is_told_no_slots(void **state)
{
	struct sonde_arena *header = (void *)arena;

	(void)state;
	header->abilities = ~SONDE_ARENA_CAN_SEVERAL;
	record(0, 3);
	record(1, 3);
	assert_int_equal(word(), ONE);
}

static void an_id_is_never_taken_for_slots(void **state)
{
	(void)state;
	assert_int_equal(sonde_state_slots(SONDE_STATE_LARGE_MAX), 0);
}

static const struct CMUnitTest control_tests[] = {
	cmocka_unit_test_setup_teardown(the_first_slot_alone_is_the_events_id,
					make_arena, free_arena),
	cmocka_unit_test_setup_teardown(
		slots_that_a_fast_path_can_write_are_named, make_arena,
		free_arena),
	cmocka_unit_test_setup_teardown(
		one_slot_that_wants_more_leaves_all_to_the_slow_path,
		make_arena, free_arena),
	cmocka_unit_test_setup_teardown(
		a_process_that_does_not_know_them_is_told_no_slots, make_arena,
		free_arena),
	cmocka_unit_test(an_id_is_never_taken_for_slots),
};

int main(void)
{
	return cmocka_run_group_tests(control_tests, NULL, NULL);
}
