/* SPDX-License-Identifier: MIT */
/* test_sys_kcore.c - sys/kcore.h, of core files that are made here: what is in
 * their parts is read, and nothing else; what is no such file is refused. */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/kcore.h"

#define BASE  0xffffffff81000000ull
#define BYTES 256u
#define PARTS 40u /* more than are read at once */

static Elf64_Ehdr head;
static Elf64_Phdr parts[PARTS];
static char path[64];
static int file;

/* Part i is at BASE + i MiB, of 256 bytes that are all i. */
static int begin(void **state)
{
	uint8_t bytes[BYTES];

	(void)state;
	file = memfd_create("kcore", MFD_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	head = (Elf64_Ehdr){ .e_type = ET_CORE,
			     .e_phoff = sizeof(head),
			     .e_phentsize = sizeof(parts[0]),
			     .e_phnum = PARTS };
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	memset(parts, 0, sizeof(parts));
	for (uint32_t i = 0; i < PARTS; i++) {
		parts[i].p_type = i ? PT_LOAD : PT_NOTE;
		parts[i].p_vaddr = BASE + ((uint64_t)i << 20);
		parts[i].p_memsz = BYTES;
		parts[i].p_offset = 8192 + i * BYTES;
		memset(bytes, (int)i, sizeof(bytes));
		if (pwrite(file, bytes, BYTES, 8192 + i * BYTES) != BYTES)
			return -1;
	}
	return file >= 0 ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return close(file);
}

/* As the head and the parts are now. */
static int open_it(void)
{
	assert_int_equal(pwrite(file, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(pwrite(file, parts, sizeof(parts), sizeof(head)),
			 sizeof(parts));
	return sonde_kcore_open(path);
}

static uint64_t at(uint32_t part)
{
	return BASE + ((uint64_t)part << 20);
}

static void what_is_in_a_part_is_read(void **state)
{
	uint8_t expected[BYTES];
	uint8_t bytes[BYTES];
	int fd = open_it();

	(void)state;
	assert_true(fd >= 0);
	for (uint32_t i = 1; i < PARTS; i++) {
		memset(expected, (int)i, sizeof(expected));
		assert_int_equal(sonde_kcore_read(fd, at(i), bytes, BYTES),
				 BYTES);
		assert_memory_equal(bytes, expected, BYTES);
	}
	/* up to its end */
	assert_int_equal(sonde_kcore_read(fd, at(7) + 250, bytes, BYTES), 6);
	(void)close(fd);
}

static void what_is_in_none_is_not(void **state)
{
	uint8_t bytes[BYTES];
	int fd = open_it();

	(void)state;
	assert_int_equal(sonde_kcore_read(fd, at(0), bytes, BYTES), 0);
	assert_int_equal(sonde_kcore_read(fd, at(1) - 1, bytes, BYTES), 0);
	assert_int_equal(sonde_kcore_read(fd, at(1) + BYTES, bytes, 1), 0);
	assert_int_equal(sonde_kcore_read(fd, UINT64_MAX, bytes, BYTES), 0);
	assert_int_equal(sonde_kcore_read(fd, 0, bytes, BYTES), 0);
	(void)close(fd);
}

static void wrong_numbers_read_nothing(void **state)
{
	uint8_t bytes[BYTES];
	int fd;

	(void)state;
	parts[1].p_offset = UINT64_MAX - 8; /* wraps around */
	parts[2].p_offset = INT64_MAX;
	parts[3].p_vaddr = UINT64_MAX;
	parts[3].p_memsz = UINT64_MAX;
	head.e_phnum = UINT16_MAX; /* of which the file has not all */
	fd = open_it();
	assert_true(fd >= 0);
	assert_int_equal(sonde_kcore_read(fd, at(1), bytes, BYTES), 0);
	assert_int_equal(sonde_kcore_read(fd, at(2) + 16, bytes, BYTES), 0);
	assert_true(sonde_kcore_read(fd, UINT64_MAX, bytes, BYTES) <= BYTES);
	(void)close(fd);
	head.e_phoff = UINT64_MAX - 100;
	fd = open_it();
	assert_int_equal(sonde_kcore_read(fd, at(4), bytes, BYTES), 0);
	(void)close(fd);
}

static void what_is_no_core_file_is_refused(void **state)
{
	(void)state;
	assert_int_equal(sonde_kcore_open("/nowhere"), -ENOENT);
	assert_int_equal(sonde_kcore_open("/dev/null"), -ENOEXEC);
	assert_int_equal(sonde_kcore_open("/proc/self/exe"), -ENOEXEC);
	head.e_phentsize = 1;
	assert_int_equal(open_it(), -ENOEXEC);
	head.e_phentsize = sizeof(parts[0]);
	head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_it(), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_in_a_part_is_read,
						begin, end),
		cmocka_unit_test_setup_teardown(what_is_in_none_is_not, begin,
						end),
		cmocka_unit_test_setup_teardown(wrong_numbers_read_nothing,
						begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_core_file_is_refused,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
