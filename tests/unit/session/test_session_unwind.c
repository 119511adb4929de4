/* SPDX-License-Identifier: MIT */
/*
 * test_session_unwind.c - tables of this program in an arena's room: nothing
 * that may be in use is written over, and nothing is copied twice.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

/* Where the section's header is in the program's file. */
static long section_at(FILE *file, const char *wanted)
{
	Elf64_Ehdr head;
	Elf64_Shdr names;
	Elf64_Shdr section;
	char name[16] = "";

	assert_int_equal(fread(&head, sizeof(head), 1, file), 1);
	for (unsigned i = 0; i < head.e_shnum; i++) {
		long at = (long)(head.e_shoff + i * sizeof(section));

		(void)fseek(file,
			    (long)head.e_shoff +
				    (long)(head.e_shstrndx * sizeof(section)),
			    SEEK_SET);
		assert_int_equal(fread(&names, sizeof(names), 1, file), 1);
		(void)fseek(file, at, SEEK_SET);
		assert_int_equal(fread(&section, sizeof(section), 1, file), 1);
		(void)fseek(file, (long)names.sh_offset + section.sh_name,
			    SEEK_SET);
		(void)fread(name, 1, sizeof(name) - 1, file);
		if (!strcmp(name, wanted))
			return at;
	}
	fail();
	return 0;
}

/* The program's code is that of a copy of it, whose rules have so many bytes: what
 * is behind them says nothing. */
static void have_rules_of(uint64_t bytes, char copy[])
{
	char command[4200];
	struct stat st;
	FILE *file;
	long at;

	assert_true(mkstemp(copy) >= 0);
	(void)snprintf(command, sizeof(command), "cp %s %s", path, copy);
	assert_int_equal(system(command), 0);
	assert_int_equal(truncate(copy, 64 << 20), 0);
	file = fopen(copy, "r+e");
	assert_non_null(file);
	at = section_at(file, ".eh_frame");
	(void)fseek(file, at + (long)offsetof(Elf64_Shdr, sh_size), SEEK_SET);
	assert_int_equal(fwrite(&bytes, sizeof(bytes), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(stat(copy, &st), 0);
	/* where nothing is, so that the path counts */
	code[0].end -= code[0].begin - 4096;
	code[0].begin = 4096;
	code[0].path = copy;
	code[0].ino = st.st_ino;
	code[0].dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
}

static bool is_awaited_for(uint64_t bytes)
{
	char copy[] = "/tmp/test_session_unwind_XXXXXX";
	struct sonde_unwind *unwind = sonde_unwind_new();
	struct sonde_unwind_room *room = new_room();
	bool is_there;

	have_rules_of(bytes, copy);
	room->is_awaited = true;
	stacks->ranges = 0;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	is_there = stacks->ranges & 0xffff;
	assert_int_equal(room->is_late, !is_there);
	room->is_awaited = false;
	sonde_unwind_publish(unwind, room, code, 1, &no_limit);
	assert_int_equal(stacks->ranges & 0xffff, 1);
	assert_false(room->is_late);
	assert_int_equal(unlink(copy), 0);
	sonde_unwind_room_free(room);
	sonde_unwind_free(unwind);
	return is_there;
}

static void a_process_waits_for_an_executable_of_30_mb(void **state)
{
	(void)state;
	assert_true(is_awaited_for(5 << 19));
	assert_false(is_awaited_for((5 << 19) + 1));
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
		TEST(a_process_waits_for_an_executable_of_30_mb),
		TEST(a_snapshot_publishes_nothing),
		TEST(what_has_no_room_is_not_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
