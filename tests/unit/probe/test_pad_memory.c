/* SPDX-License-Identifier: MIT */
/*
 * test_pad_memory.c - memory for pads, in a process that is made up here: a list of
 * mappings, and a sonde_process_map() that adds to it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/pad_memory.h"

#define MAPPINGS_MAX 4096
#define PROGRAM      0x555555554000u
#define HEAP         0x555555a00000u
#define LIBRARY      0x7ffff7c00000u
#define STACK        0x7ffffffde000u
#define NON_PIE      0x400000u

static struct sonde_mapping maps[MAPPINGS_MAX];
static size_t nr_maps, nr_mapped;
static int refuse; /* so many calls fail with -EEXIST */

static int by_start(const void *a, const void *b)
{
	const struct sonde_mapping *x = a;
	const struct sonde_mapping *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_mapping(uint64_t start, uint64_t size, char *path)
{
	assert_true(nr_maps < MAPPINGS_MAX);
	maps[nr_maps++] = (struct sonde_mapping){
		.start = start,
		.end = start + size,
		.executable = true,
		.path = path,
	};
	qsort(maps, nr_maps, sizeof(maps[0]), by_start);
}

/* ---- in place of process.c ---- */

pid_t sonde_process_pid(const struct sonde_process *process)
{
	(void)process;
	return 1;
}

int sonde_process_mappings(pid_t pid, struct sonde_maps *ret)
{
	(void)pid;
	ret->list = maps;
	ret->nr = nr_maps;
	return 0;
}

void sonde_maps_free(struct sonde_maps *mappings)
{
	(void)mappings;
}

/* NOLINTNEXTLINE(readability-function-size): process.h says so */
int sonde_process_map(struct sonde_process *process, int fd, uint64_t offset,
		      size_t size, int protection, uint64_t address,
		      uint64_t *ret_address)
{
	(void)process;
	(void)fd;
	(void)offset;
	(void)protection;
	assert_int_equal(address % 4096, 0);
	assert_int_equal(size % 4096, 0);
	if (refuse > 0) {
		refuse--;
		return -EEXIST;
	}
	for (size_t i = 0; i < nr_maps; i++)
		assert_false(address < maps[i].end &&
			     maps[i].start < address + size);
	add_mapping(address, size, "ours");
	nr_mapped++;
	*ret_address = address;
	return 0;
}

static struct sonde_agent *agent;

struct sonde_agent *sonde_process_agent(const struct sonde_process *process)
{
	(void)process;
	return agent;
}

/* ---- the made-up process ---- */

static struct sonde_pad_memory *places;

static int setup(void **state)
{
	(void)state;
	agent = calloc(1, sizeof(*agent));
	nr_maps = nr_mapped = 0;
	refuse = 0;
	add_mapping(PROGRAM, 0x100000, "/bin/program");
	add_mapping(HEAP, 0x40000, "[heap]");
	add_mapping(LIBRARY, 0x200000, "/lib/library");
	add_mapping(STACK, 0x21000, "[stack]");
	return sonde_pad_memory_new(NULL, &places);
}

static int teardown(void **state)
{
	(void)state;
	sonde_pad_memory_free(places);
	free(agent);
	return 0;
}

static struct sonde_window window_at(uint64_t address, uint32_t mask)
{
	return (struct sonde_window){
		.kind = mask ? SONDE_WINDOW_PUNNED : SONDE_WINDOW_SINGLE,
		.address = address,
		.mask = mask,
		.value = 0xcccccccc & mask,
	};
}

static void check_entry(const struct sonde_window *window, uint64_t entry)
{
	int64_t displacement = (int64_t)(entry - window->address - 5);

	assert_true(displacement == (int32_t)displacement);
	assert_int_equal((uint32_t)displacement & window->mask, window->value);
}

static void candidates_are_the_lowest(void **state)
{
	static const uint32_t masks[] = { 0xff, 0xff00, 0xffff, 0xff0000 };
	uint32_t seed = 1;

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		uint32_t mask = masks[i % SONDE_ARRAY_SIZE(masks)];
		seed = seed * 1103515245 + 12345;
		int32_t from = (int32_t)seed / 2;
		int32_t found;
		int32_t at = from;
		while (((uint32_t)at & mask) != (0xcccccccc & mask))
			at++;
		assert_true(sonde_pad_memory_candidate(mask, 0xcccccccc & mask,
						       from, &found));
		assert_int_equal(found, at);
	}
}

static void candidates_keep_the_sign(void **state)
{
	int32_t found;

	(void)state;
	assert_true(sonde_pad_memory_candidate(0xff000000, 0xcc000000,
					       INT32_MIN, &found));
	assert_int_equal(found, (int32_t)0xcc000000);
	assert_false(
		sonde_pad_memory_candidate(0xff000000, 0xcc000000, 0, &found));
	assert_false(sonde_pad_memory_candidate(0xff000000, 0xcc000000,
						(int32_t)0xcd000000, &found));
	/* from a negative to the first of the next block */
	assert_true(sonde_pad_memory_candidate(0xff0000ff, 0xcc0000cc,
					       (int32_t)0xcc0000cd, &found));
	assert_int_equal(found, (int32_t)0xcc0001cc);
	assert_true(sonde_pad_memory_candidate(0xff, 0xcc, -1, &found));
	assert_int_equal(found, 0xcc);
}

static void rooms_do_not_overlap(void **state)
{
	enum {
		NR = 3000,
		SIZE = 100
	};
	static const uint32_t masks[] = { 0,          0xff000000, 0xff0000ff,
					  0xff00ff00, 0xff,       0xffff00 };
	static struct sonde_pad_room got[NR];

	(void)state;
	for (unsigned int i = 0; i < NR; i++) {
		struct sonde_window w = window_at(
			LIBRARY + i * 37, masks[i % SONDE_ARRAY_SIZE(masks)]);
		assert_int_equal(
			sonde_pad_memory_take(places, &w, SIZE, &got[i]), 0);
		check_entry(&w, got[i].entry);
		memset(got[i].here, (int)(i % 251), SIZE);
	}
	for (unsigned int i = 0; i < NR; i++)
		for (unsigned int n = 0; n < SIZE; n++)
			assert_int_equal(got[i].here[n], i % 251);
	for (unsigned int i = 1; i < NR; i++)
		assert_true(got[i].there >= got[i - 1].there + SIZE ||
			    got[i - 1].there >= got[i].there + SIZE);
	/* many share a chunk */
	assert_in_range(nr_mapped, 1, NR / 4);
}

static void a_place_of_negative_addresses_is_none(void **state)
{
	struct sonde_window w = window_at(NON_PIE, 0xff000000);
	struct sonde_pad_room got;

	(void)state;
	assert_int_equal(sonde_pad_memory_take(places, &w, 100, &got), -ENOSPC);
	/* where the sign is free, there are places */
	w = window_at(NON_PIE, 0x00ffff00);
	assert_int_equal(sonde_pad_memory_take(places, &w, 100, &got), 0);
	check_entry(&w, got.entry);
	assert_true(got.entry >= 0x10000);
}

static void the_only_place_is_given_once(void **state)
{
	struct sonde_window w = window_at(LIBRARY, 0xffffffff);
	struct sonde_pad_room got;

	(void)state;
	assert_int_equal(sonde_pad_memory_take(places, &w, 100, &got), 0);
	assert_int_equal(got.entry, LIBRARY + 5 - 0x33333334u);
	assert_int_equal(sonde_pad_memory_take(places, &w, 100, &got), -ENOSPC);
}

static void a_narrow_place_gets_a_jump(void **state)
{
	struct sonde_window w = window_at(LIBRARY, 0xffffff00);
	bool jumped = false;

	(void)state;
	for (unsigned int i = 0; i < 40; i++) {
		struct sonde_pad_room got;
		assert_int_equal(sonde_pad_memory_take(places, &w, 90, &got),
				 0);
		check_entry(&w, got.entry);
		if (got.entry == got.there)
			continue;
		jumped = true;
		assert_in_range(got.entry > got.there ? got.entry - got.there :
							got.there - got.entry,
				5, 0x7fffffff);
	}
	assert_true(jumped);
}

static void heap_and_stack_can_grow(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		struct sonde_window w =
			window_at(PROGRAM + i * 64, i % 2 ? 0xff00 : 0);
		struct sonde_pad_room got;
		assert_int_equal(sonde_pad_memory_take(places, &w, 400, &got),
				 0);
		assert_false(got.there > HEAP && got.there < HEAP + (64 << 20));
		w = window_at(LIBRARY + i * 64, i % 2 ? 0xff00 : 0);
		assert_int_equal(sonde_pad_memory_take(places, &w, 400, &got),
				 0);
		assert_false(got.there > STACK - (64 << 20));
	}
}

static void another_try_follows_a_lost_race(void **state)
{
	struct sonde_window w = window_at(LIBRARY, 0);
	struct sonde_pad_room got;

	(void)state;
	refuse = 2;
	assert_int_equal(sonde_pad_memory_take(places, &w, 100, &got), 0);
	assert_int_equal(nr_mapped, 1);
}

#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(candidates_are_the_lowest),
		cmocka_unit_test(candidates_keep_the_sign),
		PLACE_TEST(rooms_do_not_overlap),
		PLACE_TEST(a_place_of_negative_addresses_is_none),
		PLACE_TEST(the_only_place_is_given_once),
		PLACE_TEST(a_narrow_place_gets_a_jump),
		PLACE_TEST(heap_and_stack_can_grow),
		PLACE_TEST(another_try_follows_a_lost_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
