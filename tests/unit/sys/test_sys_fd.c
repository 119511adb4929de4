/* SPDX-License-Identifier: MIT */
/* test_sys_fd.c - sys/fd.h: the same file once more, and where it is. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"

static char path[] = "/tmp/sonde-fd-XXXXXX";

static void reads_at_a_place_of_its_own(void **state)
{
	char byte = 0;
	int fd = mkostemp(path, O_CLOEXEC);
	int own;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "ab", 2), 2);
	own = sonde_fd_reopen(fd, O_RDONLY);
	assert_true(own >= 0);
	assert_true(fcntl(own, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(own, &byte, 1), 1);
	assert_int_equal(byte, 'a');
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	assert_int_equal(write(own, "c", 1), -1);
	(void)close(own);
	(void)close(fd);
	assert_int_equal(sonde_fd_reopen(fd, O_RDONLY), -ENOENT);
}

static void is_where_the_file_is(void **state)
{
	char found[PATH_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sonde_fd_path(fd, found), 0);
	assert_string_equal(found, path);
	(void)unlink(path);
	assert_int_equal(sonde_fd_path(fd, found), 0);
	assert_non_null(strstr(found, " (deleted)"));
	(void)close(fd);
	assert_int_equal(sonde_fd_path(fd, found), -ENOENT);
	assert_string_equal(found, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_at_a_place_of_its_own),
		cmocka_unit_test(is_where_the_file_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
