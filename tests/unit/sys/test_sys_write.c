/* SPDX-License-Identifier: MIT */
/* test_sys_write.c - sys/write.h: all is written, or it is said that not. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/write.h"

#define SIZE (1u << 20) /* more than a pipe holds */

static void more_than_a_pipe_holds_is_written(void **state)
{
	char *bytes = malloc(SIZE);
	int fds[2];
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i % 251);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		(void)close(fds[0]);
		_exit(sonde_write_all(fds[1], bytes, SIZE) ? 1 : 0);
	}
	(void)close(fds[1]);
	for (size_t i = 0; i < SIZE; i++) {
		char byte;

		assert_int_equal(read(fds[0], &byte, 1), 1);
		assert_int_equal(byte, (char)(i % 251));
	}
	assert_int_equal(read(fds[0], bytes, 1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(fds[0]);
	free(bytes);
}

static void what_cannot_be_written_is_told(void **state)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(full >= 0);
	assert_int_equal(sonde_write_all(full, "abc", 3), -ENOSPC);
	assert_int_equal(sonde_write_all(full, "", 0), 0);
	assert_int_equal(sonde_write_all(-1, "abc", 3), -EBADF);
	assert_int_equal(sonde_pwrite_all(-1, "abc", 3, 7), -EBADF);
	(void)close(full);
}

static void a_place_in_a_file_is_written(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	char bytes[8] = "";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sonde_write_all(fd, "abcdef", 6), 0);
	assert_int_equal(sonde_pwrite_all(fd, "xy", 2, 3), 0);
	assert_int_equal(sonde_write_all(fd, "g", 1), 0); /* at the end still */
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 7);
	assert_memory_equal(bytes, "abcxyfg", 7);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_a_pipe_holds_is_written),
		cmocka_unit_test(what_cannot_be_written_is_told),
		cmocka_unit_test(a_place_in_a_file_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
