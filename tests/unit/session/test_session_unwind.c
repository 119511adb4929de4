/* SPDX-License-Identifier: MIT */
/*
 * test_session_unwind.c - tables of this program in an arena's room: nothing
 * that may be in use is written over, and nothing is copied twice.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/unwind.h"
#include "unit.h"

#define DEPTH 4u

static struct sonde_stacks *stacks;
static char path[4096];
static struct sonde_statedump_mapping code[2];
static const struct sonde_unwind_budget no_limit = { UINT64_MAX, UINT64_MAX };

/* The mapping that `main` is in. */
static bool find_code(const char *line, uint64_t address)
{
	struct sonde_statedump_mapping *mapping = &code[0];
	unsigned int major;
	unsigned int minor;

	*mapping = (struct sonde_statedump_mapping){ .pid = getpid() };
	/* the kernel wrote it NOLINTNEXTLINE(cert-err34-c) */
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %x:%x %" SCNu64
		   " %4095s",
		   &mapping->begin, &mapping->end, &mapping->offset, &major,
		   &minor, &mapping->ino, path) != 7)
		return false;
	mapping->dev = (uint64_t)major << 20 | minor;
	mapping->path = path;
	return address >= mapping->begin && address < mapping->end;
}

static int set_up(void **state)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_found = false;
	char line[5000];

	(void)state;
	assert_non_null(maps);
	while (!is_found && fgets(line, sizeof(line), maps))
		is_found = find_code(line, (uint64_t)(uintptr_t)set_up);
	(void)fclose(maps);
	assert_true(is_found);
	code[1] = (struct sonde_statedump_mapping){
		.pid = getpid(),
		.begin = code[0].end + 4096,
		.end = code[0].end + 8192,
		.path = "/nothing/has/this/name",
	};
	stacks = calloc(1, sonde_stacks_bytes(DEPTH));
	assert_non_null(stacks);
	stacks->depth = DEPTH;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(stacks);
	return 0;
}

static struct sonde_unwind_room *new_room(void)
{
	struct sonde_unwind_room *room = calloc(1, sizeof(*room));

	assert_non_null(room);
	room->stacks = stacks;
	room->depth = DEPTH;
	return room;
}

static void another_recorder_writes_behind_what_is_in_use(void **state)
{
	uint64_t first = sonde_stacks_tables_off(DEPTH);
	unsigned char *rows = (unsigned char *)stacks + first;
	unsigned char *copy;
	uint64_t before;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sonde_unwind *unwind = sonde_unwind_new();
		struct sonde_unwind_room *room = new_room();

		before = stacks->ranges;
		copy = malloc(SONDE_STACKS_TABLES);
		assert_non_null(copy);
		memcpy(copy, rows, SONDE_STACKS_TABLES);
		/* The second has another set first. */
		sonde_unwind_publish(unwind, room, code + i, (size_t)(2 - i),
				     &no_limit);
		assert_int_equal(stacks->ranges & 0xffff, 1 - i);
		if (i) {
			uint64_t used = (before >> 16) + 24 - first;

			assert_memory_equal(copy, rows, used);
			assert_true(stacks->ranges >> 16 >= first + used);
		}
		free(copy);
		sonde_unwind_room_free(room);
		sonde_unwind_free(unwind);
	}
}

static void a_files_rows_are_copied_once(void **state)
{
	struct sonde_unwind *unwind = sonde_unwind_new();
	struct sonde_unwind_room *room = new_room();
	uint64_t used;

	(void)state;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	used = room->used;
	assert_true(used > sizeof(struct sonde_stacks_range));
	sonde_unwind_publish(unwind, room, code, 2, &no_limit);
	assert_int_equal(room->used, used + sizeof(struct sonde_stacks_range));
	assert_int_equal(stacks->ranges & 0xffff, 1);
	sonde_unwind_room_free(room);
	sonde_unwind_free(unwind);
}

static void what_a_budget_is_not_enough_for_comes_later(void **state)
{
	const struct sonde_unwind_budget no_work = { 0, UINT64_MAX };
	const struct sonde_unwind_budget no_wait = { UINT64_MAX, 0 };
	struct sonde_unwind *unwind = sonde_unwind_new();
	struct sonde_unwind_room *room = new_room();

	(void)state;
	sonde_unwind_publish(unwind, room, code, 1, &no_work);
	assert_int_equal(stacks->ranges & 0xffff, 0);
	sonde_unwind_publish(unwind, room, code, 1, &no_wait);
	assert_int_equal(stacks->ranges & 0xffff, 0);
	assert_true(room->hash == 0);
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	assert_int_equal(stacks->ranges & 0xffff, 1);
	assert_true(room->hash != 0);
	sonde_unwind_room_free(room);
	sonde_unwind_free(unwind);
}

static void a_snapshot_publishes_nothing(void **state)
{
	struct sonde_unwind *unwind = sonde_unwind_new();
	struct sonde_unwind *snapshot = sonde_unwind_new();
	struct sonde_unwind_room *room = new_room();
	uint64_t ranges;

	(void)state;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	ranges = stacks->ranges;
	sonde_unwind_publish(snapshot, room, code, 2, &no_limit);
	assert_int_equal(stacks->ranges, ranges);
	sonde_unwind_room_free(room);
	sonde_unwind_free(snapshot);
	sonde_unwind_free(unwind);
}

/* Else each look would try again. */
static void what_has_no_room_is_not_tried_again(void **state)
{
	struct sonde_unwind *unwind = sonde_unwind_new();
	struct sonde_unwind_room *room = new_room();

	(void)state;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	room->used = SONDE_STACKS_TABLES;
	room->hash = 0;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	assert_int_not_equal(room->hash, 0);
	sonde_unwind_room_free(room);
	sonde_unwind_free(unwind);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(another_recorder_writes_behind_what_is_in_use),
		TEST(a_files_rows_are_copied_once),
		TEST(what_a_budget_is_not_enough_for_comes_later),
		TEST(a_snapshot_publishes_nothing),
		TEST(what_has_no_room_is_not_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
