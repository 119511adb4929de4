/* SPDX-License-Identifier: MIT */
/* test_probe_unpack.c - probe/unpack.h: a file of symbols, this program's own, is
 * what it was before xz, zstd or gzip, whose own programs are the witnesses, has
 * compressed it. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/port.h"
#include "base/unconst.h"
#include "probe/unpack.h"

static const char *const packers[] = { "xz", "zstd", "gzip" };

static void find_self(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	assert_true(n > 0);
	path[n] = '\0';
}

/* A descriptor of what the program makes of this one; -1: it isn't here. */
static int pack(const char *packer)
{
	char self[PATH_MAX];
	char *words[] = { sonde_unconst(packer), "-c", "-1", self, NULL };
	char *no_environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int fd = memfd_create("packed", MFD_CLOEXEC);
	int status = 0;
	pid_t pid;
	int rc;

	find_self(self);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&actions, fd, 1), 0);
	rc = posix_spawnp(&pid, packer, &actions, NULL, words, no_environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (!rc) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		return fd;
	}
	(void)close(fd);
	return -1;
}

static int unpack_fd(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return sonde_probe_unpack(path);
}

static void *map(int fd, size_t *ret_size)
{
	struct stat stat;
	void *at;

	assert_int_equal(fstat(fd, &stat), 0);
	*ret_size = (size_t)stat.st_size;
	at = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	return at;
}

/* Closes it. */
static void check_is_self(int fd)
{
	char path[PATH_MAX];
	size_t expected;
	size_t size;
	void *at = map(fd, &size);
	void *self;
	int from;

	find_self(path);
	from = open(path, O_RDONLY | O_CLOEXEC);
	self = map(from, &expected);
	assert_int_equal(size, expected);
	assert_memory_equal(at, self, size);
	(void)munmap(at, size);
	(void)munmap(self, expected);
	(void)close(from);
	(void)close(fd);
}

static void what_is_compressed_is_as_it_was(void **state)
{
	int nr = 0;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(packers); i++) {
		int packed = pack(packers[i]);
		int fd = packed < 0 ? -1 : unpack_fd(packed);

		if (packed < 0)
			continue;
		nr++;
		assert_true(fd >= 0);
		check_is_self(fd);
		(void)close(packed);
	}
	assert_true(nr > 0); /* gzip is everywhere */
}

static void what_is_not_compressed_is_as_it_was(void **state)
{
	char self[PATH_MAX];
	int fd;

	(void)state;
	find_self(self);
	fd = sonde_probe_unpack(self);
	assert_true(fd >= 0);
	check_is_self(fd);
}

static void programs_that_are_started_have_it(void **state)
{
	char self[PATH_MAX];
	int fd;

	(void)state;
	find_self(self);
	fd = sonde_probe_unpack(self);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	(void)close(fd);
}

static void what_is_torn_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(packers); i++) {
		int packed = pack(packers[i]);
		struct stat stat;

		if (packed < 0)
			continue;
		assert_int_equal(fstat(packed, &stat), 0);
		assert_int_equal(ftruncate(packed, stat.st_size / 2), 0);
		assert_int_equal(unpack_fd(packed), -ENOEXEC);
		(void)close(packed);
	}
}

static void what_has_no_symbols_is_refused(void **state)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(unpack_fd(fd), -ENOEXEC);
	assert_int_equal(write(fd, "not an ELF file\n", 16), 16);
	assert_int_equal(unpack_fd(fd), -ENOEXEC);
	assert_int_equal(sonde_probe_unpack("/nowhere/ext4.ko.xz"), -ENOENT);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_compressed_is_as_it_was),
		cmocka_unit_test(what_is_not_compressed_is_as_it_was),
		cmocka_unit_test(programs_that_are_started_have_it),
		cmocka_unit_test(what_is_torn_is_refused),
		cmocka_unit_test(what_has_no_symbols_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
