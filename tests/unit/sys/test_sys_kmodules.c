/* SPDX-License-Identifier: MIT */
/* test_sys_kmodules.c - sys/kmodules.h, of a /proc/modules that is made here: its
 * stamp is another when a module comes, goes, is elsewhere or is ready, and the
 * same whoever uses it. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/kmodules.h"

#define EXT4 "ext4 983040 1 - Live 0xffffffffc0400000\n"
#define LOOP "loop 32768 0 - Live 0xffffffffc0300000\n"

static uint64_t stamp_of(const char *text)
{
	char path[64];
	uint64_t stamp;
	int fd = memfd_create("modules", MFD_CLOEXEC);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	stamp = sonde_kmodules_stamp(path);
	(void)close(fd);
	return stamp;
}

static void a_module_that_comes_or_goes_changes_the_stamp(void **state)
{
	(void)state;
	assert_true(stamp_of(EXT4) != 0);
	assert_true(stamp_of(EXT4) != stamp_of(EXT4 LOOP));
	assert_true(stamp_of(EXT4) != stamp_of(LOOP));
	assert_true(stamp_of(EXT4) != stamp_of(""));
}

static void one_that_is_elsewhere_or_not_ready_does(void **state)
{
	(void)state;
	assert_true(stamp_of(EXT4) !=
		    stamp_of("ext4 983040 1 - Live 0xffffffffc0500000\n"));
	assert_true(stamp_of(EXT4) !=
		    stamp_of("ext4 987136 1 - Live 0xffffffffc0400000\n"));
	assert_true(stamp_of(EXT4) !=
		    stamp_of("ext4 983040 1 - Loading 0xffffffffc0400000\n"));
}

static void who_uses_it_does_not(void **state)
{
	(void)state;
	assert_int_equal(stamp_of(EXT4),
			 stamp_of("ext4 983040 3 - Live 0xffffffffc0400000\n"));
	assert_int_equal(
		stamp_of(EXT4),
		stamp_of("ext4 983040 3 a,b, Live 0xffffffffc0400000\n"));
}

/* A kernel without modules, and a file that can't be read. */
static void a_kernel_without_modules_has_one_stamp(void **state)
{
	uint64_t none = sonde_kmodules_stamp("/nowhere/modules");

	(void)state;
	assert_true(none != 0);
	assert_int_equal(none, sonde_kmodules_stamp("/nowhere/modules"));
	assert_int_equal(sonde_kmodules_stamp("/proc/self"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_that_comes_or_goes_changes_the_stamp),
		cmocka_unit_test(one_that_is_elsewhere_or_not_ready_does),
		cmocka_unit_test(who_uses_it_does_not),
		cmocka_unit_test(a_kernel_without_modules_has_one_stamp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
