/* SPDX-License-Identifier: MIT */
/*
 * test_symbols.c - variables of this very program have their names, and files
 * that are none, or not the same, or that say nonsense, name nothing.
 */
#include "reader/symbols.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern uint64_t unit_in_bss[512], unit_in_data[512];
uint64_t unit_in_bss[512];
uint64_t unit_in_data[512] = { 1 };

/* Where the file with the variable's bytes, or the closest below, is mapped. */
static struct sonde_symbols_place find_place(const void *variable)
{
	struct sonde_symbols_place place = { .path = "/proc/self/exe" };
	uint64_t address = (uintptr_t)variable;
	char line[4096];
	char exe[4096] = "";
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	while (fgets(line, sizeof(line), maps)) {
		uint64_t begin;
		uint64_t offset;

		line[strcspn(line, "\n")] = 0;
		/* NOLINTBEGIN(cert-err34-c): the kernel wrote it */
		if (!strstr(line, exe) ||
		    sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &begin,
			   &offset) != 2 ||
		    begin > address)
			/* NOLINTEND(cert-err34-c) */
			continue;
		place.begin = begin;
		place.offset = offset;
	}
	assert_int_equal(fclose(maps), 0);
	assert_int_not_equal(place.begin, 0);
	return place;
}

static void check_name(const void *variable, const char *name, size_t distance)
{
	struct sonde_symbols *symbols = sonde_symbols_new();
	struct sonde_symbols_place place = find_place(variable);
	struct sonde_symbol symbol;

	assert_non_null(symbols);
	assert_int_equal(sonde_symbols_find(symbols, &place,
					    (uintptr_t)variable + distance,
					    &symbol),
			 0);
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.distance, distance);
	sonde_symbols_free(symbols);
}

static void variables_have_their_names(void **unused)
{
	(void)unused;
	check_name(unit_in_bss, "unit_in_bss", 0);
	check_name(unit_in_bss, "unit_in_bss", sizeof(unit_in_bss) - 1);
	check_name(unit_in_data, "unit_in_data", 0);
	check_name(unit_in_data, "unit_in_data", 8);
}

static int find(const struct sonde_symbols_place *place, const void *address)
{
	struct sonde_symbols *symbols = sonde_symbols_new();
	struct sonde_symbol symbol;
	int error;

	assert_non_null(symbols);
	error = sonde_symbols_find(symbols, place, (uintptr_t)address, &symbol);
	/* asked again, a file says the same */
	assert_int_equal(sonde_symbols_find(symbols, place, (uintptr_t)address,
					    &symbol),
			 error);
	sonde_symbols_free(symbols);
	return error;
}

static void what_is_elsewhere_has_no_name(void **unused)
{
	struct sonde_symbols_place place = find_place(unit_in_data);
	int on_stack = 0;

	(void)unused;
	assert_int_equal(find(&place, &on_stack), -ENOENT);
	assert_int_equal(find(&place, NULL), -ENOENT);
	place.offset = UINT64_MAX;
	assert_int_equal(find(&place, unit_in_data), -ENOENT);
}

static void another_build_names_nothing(void **unused)
{
	struct sonde_symbols_place place = find_place(unit_in_data);

	(void)unused;
	place.build_id = "0123456789012345678901234567890123456789";
	assert_int_equal(find(&place, unit_in_data), -ENOENT);
	place.build_id = "../../../etc";
	assert_int_equal(find(&place, unit_in_data), -ENOENT);
}

static void what_is_no_program_names_nothing(void **unused)
{
	static const char *const paths[] = {
		"/nowhere", "/dev/zero", "/proc/self/maps", "/", "",
	};
	struct sonde_symbols_place place = find_place(unit_in_data);

	(void)unused;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		place.path = paths[i];
		assert_int_equal(find(&place, unit_in_data), -ENOENT);
	}
}

/* Opening one to read waits until somebody writes. */
static void a_fifo_is_not_waited_for(void **unused)
{
	struct sonde_symbols_place place = find_place(unit_in_data);
	char directory[] = "/tmp/sonde-unit-XXXXXX";
	char path[64];

	(void)unused;
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	place.path = path;
	assert_int_equal(find(&place, unit_in_data), -ENOENT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* A copy of this program, with bytes changed and cut off at random. */
static void damaged_files_do_no_harm(void **unused)
{
	struct sonde_symbols_place place = find_place(unit_in_data);
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char path[] = "/tmp/sonde-unit-XXXXXX";
	int to = mkostemp(path, O_CLOEXEC);
	struct stat about;
	uint8_t *bytes;

	(void)unused;
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &about), 0);
	bytes = malloc((size_t)about.st_size);
	assert_non_null(bytes);
	place.path = path;
	srandom(20261122);
	for (int i = 0; i < 200; i++) {
		size_t size = (size_t)about.st_size;

		assert_int_equal(pread(from, bytes, size, 0), size);
		/* heads, and the table of sections at the end */
		for (int k = 0; k < 8; k++)
			bytes[k % 2 ? (size_t)random() % 1024 :
				      size - 1 - (size_t)random() % 2560] =
				(uint8_t)random();
		if (i % 3 == 0)
			size = (size_t)random() % size;
		assert_int_equal(ftruncate(to, 0), 0);
		assert_int_equal(pwrite(to, bytes, size, 0), size);
		(void)find(&place, unit_in_data);
	}
	free(bytes);
	assert_int_equal(close(from), 0);
	assert_int_equal(close(to), 0);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_have_their_names),
		cmocka_unit_test(what_is_elsewhere_has_no_name),
		cmocka_unit_test(another_build_names_nothing),
		cmocka_unit_test(what_is_no_program_names_nothing),
		cmocka_unit_test(a_fifo_is_not_waited_for),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
