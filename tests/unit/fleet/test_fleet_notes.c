/* SPDX-License-Identifier: MIT */
/* test_fleet_notes.c - fleet/notes.h: which pieces are there, in whatever order
 * they came, and after the notes were written and read. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/notes.h"

#define NR 200u

static void pieces_are_known_in_whatever_order_they_came(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct sonde_notes_file file = { .version = 0 };
		bool has[NR] = { false };

		for (int i = 0; i < 300; i++) {
			uint64_t number;
			uint64_t nr = 0;

			seed = seed * 1664525 + 1013904223;
			number = (seed >> 16) % NR;
			has[number] = true;
			assert_int_equal(sonde_notes_add(&file, number), 0);
			for (uint64_t k = 0; k <= NR; k++) {
				assert_int_equal(sonde_notes_count(&file, k),
						 nr);
				nr += k < NR && has[k];
			}
			for (size_t k = 1; k < file.nr_ranges; k++)
				assert_true(file.ranges[k - 1].to <
					    file.ranges[k].from);
		}
		free(file.ranges);
	}
}

static void in_order_there_is_one_range(void **state)
{
	struct sonde_notes_file file = { .version = 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(sonde_notes_add(&file, i), 0);
	assert_int_equal(file.nr_ranges, 1);
	free(file.ranges);
}

static int a_directory(char dir[64])
{
	strcpy(dir, "/tmp/test_fleet_notes.XXXXXX");
	assert_non_null(mkdtemp(dir));
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_it(const char *dir, int fd)
{
	(void)unlinkat(fd, "notes", 0);
	(void)close(fd);
	assert_int_equal(rmdir(dir), 0);
}

static void notes_are_read_as_they_were_written(void **state)
{
	struct sonde_notes notes;
	struct sonde_notes read;
	struct sonde_notes_file *file;
	char dir[64];
	int fd = a_directory(dir);

	(void)state;
	sonde_notes_init(&notes);
	notes.position = UINT64_MAX;
	notes.ended = 3;
	notes.damaged = 4;
	strcpy(notes.place, "host/a trace/b");
	sonde_notes_file(&notes, "metadata")->version = 9;
	file = sonde_notes_file(&notes, "a file 1-2");
	file->wanted = 10;
	file->bytes = 4096;
	assert_int_equal(sonde_notes_add(file, 0), 0);
	assert_int_equal(sonde_notes_add(file, 5), 0);
	(void)sonde_notes_file(&notes, "empty");
	assert_int_equal(sonde_notes_write(&notes, fd, "notes"), 0);
	sonde_notes_fini(&notes);

	sonde_notes_init(&read);
	assert_int_equal(sonde_notes_read(&read, fd, "notes"), 0);
	assert_true(read.position == UINT64_MAX);
	assert_int_equal(read.ended, 3);
	assert_int_equal(read.damaged, 4);
	assert_string_equal(read.place, "host/a trace/b");
	assert_int_equal(read.files.nr_entries, 3);
	assert_int_equal(sonde_notes_file(&read, "metadata")->version, 9);
	file = sonde_notes_file(&read, "a file 1-2");
	assert_int_equal(file->wanted, 10);
	assert_int_equal(file->bytes, 4096);
	assert_int_equal(file->nr_ranges, 2);
	assert_int_equal(sonde_notes_count(file, 10), 2);
	sonde_notes_fini(&read);
	remove_it(dir, fd);
}

static void what_are_no_notes_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"other\n",
		"sonde-collect1\nplace ../x\n",
		"sonde-collect1\nfile 1 1 5-2 x\n",
		"sonde-collect1\nfile 1 1 0-2,1-3 x\n",
		"sonde-collect1\nfile 1 1 0-2 a/b\n",
		"sonde-collect1\ndocument 1 x\n",
		"sonde-collect1\nwhat\n",
	};
	char dir[64];
	int fd = a_directory(dir);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		int to = openat(fd, "notes",
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct sonde_notes notes;

		assert_int_equal(write(to, texts[i], strlen(texts[i])),
				 strlen(texts[i]));
		(void)close(to);
		sonde_notes_init(&notes);
		assert_int_equal(sonde_notes_read(&notes, fd, "notes"),
				 -EINVAL);
		assert_int_equal(sonde_notes_read(&notes, fd, "none"), -ENOENT);
		sonde_notes_fini(&notes);
	}
	remove_it(dir, fd);
}

static void an_end_says_how_much_there_should_be(void **state)
{
	static const char right[] = "3 100 a b\n0 0 empty\n";
	static const char wrong[] = "3 100 ../a\n";
	struct sonde_notes notes;

	(void)state;
	sonde_notes_init(&notes);
	assert_int_equal(sonde_notes_take_end(&notes, right, strlen(right)), 0);
	assert_int_equal(sonde_notes_file(&notes, "a b")->wanted, 3);
	assert_int_equal(notes.files.nr_entries, 2);
	assert_int_equal(sonde_notes_take_end(&notes, wrong, strlen(wrong)),
			 -EINVAL);
	sonde_notes_fini(&notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_known_in_whatever_order_they_came),
		cmocka_unit_test(in_order_there_is_one_range),
		cmocka_unit_test(notes_are_read_as_they_were_written),
		cmocka_unit_test(what_are_no_notes_is_refused),
		cmocka_unit_test(an_end_says_how_much_there_should_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
