/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "sys/rundir.h"

static char base[64];
static struct sonde_rundir dir;

static const struct sonde_rundir_socket server = { "server", SOCK_STREAM, 0600,
						   4 };

static int start(void **state)
{
	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/rundir-test-XXXXXX");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	if (!mkdtemp(base) || setenv("XDG_RUNTIME_DIR", base, 1))
		return -1;
	dir.fd = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	sonde_rundir_close(&dir);
	return folder_remove(base);
}

static void the_directory_is_ours_alone(void **state)
{
	struct stat st;

	(void)state;
	(void)umask(0);
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_memory_equal(dir.path, base, strlen(base));
	assert_int_equal(stat(dir.path, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(st.st_mode & 07777, geteuid() ? 0700 : 0711);
}

static void expect_another(void)
{
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_memory_not_equal(dir.path, base, strlen(base));
}

static void a_place_that_others_write_to_is_not_taken(void **state)
{
	(void)state;
	assert_int_equal(chmod(base, 0777), 0);
	expect_another();
}

static void a_directory_that_others_write_to_is_not_taken(void **state)
{
	char path[80];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/sonde", base);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	expect_another();
}

static void a_link_is_not_followed(void **state)
{
	char path[80];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/sonde", base);
	assert_int_equal(symlink("/tmp", path), 0);
	expect_another();
}

static void another_users_directory_is_not_taken(void **state)
{
	char path[80];

	(void)state;
	if (geteuid() != 0)
		skip();
	(void)snprintf(path, sizeof(path), "%s/sonde", base);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	expect_another();
}

static void a_path_too_long_for_sockets_is_not_taken(void **state)
{
	char path[300];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/%0100d", base, 0);
	assert_int_equal(mkdir(path, 0700), 0);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	assert_int_equal(setenv("XDG_RUNTIME_DIR", path, 1), 0);
	expect_another();
}

/* In /tmp names can be taken by others; ours is found again. */
static void where_others_make_directories_ours_is_found_again(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (!pid) {
		struct sonde_rundir again;
		struct stat st;

		if (setuid(61234) || sonde_rundir_open(&dir) ||
		    sonde_rundir_open(&again) ||
		    strncmp(dir.path, "/tmp/sonde-61234-", 17) != 0 ||
		    strcmp(dir.path, again.path) != 0 || stat(dir.path, &st) ||
		    (st.st_mode & 07777) != 0700 || rmdir(dir.path))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_server_is_reached_by_its_name(void **state)
{
	struct stat st;
	int fd;
	int to;
	int from;

	(void)state;
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_int_equal(sonde_rundir_connect(&dir, "server", SOCK_STREAM, &to),
			 -ENOENT);
	assert_int_equal(sonde_rundir_listen(&dir, &server, &fd), 0);
	assert_int_equal(fstatat(dir.fd, "server", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(sonde_rundir_connect(&dir, "server", SOCK_STREAM, &to),
			 0);
	from = accept(fd, NULL, NULL);
	assert_true(from >= 0);
	(void)close(from);
	(void)close(to);
	(void)close(fd);
	assert_int_equal(sonde_rundir_connect(&dir, "server", SOCK_STREAM, &to),
			 -ECONNREFUSED);
	sonde_rundir_remove(&dir, "server");
	assert_int_equal(sonde_rundir_connect(&dir, "server", SOCK_STREAM, &to),
			 -ENOENT);
}

static void a_name_is_taken_while_its_server_lives(void **state)
{
	int first;
	int second;

	(void)state;
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &server, &first), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &server, &second),
			 -EADDRINUSE);
	/* killed: its socket stays, and is taken over */
	(void)close(first);
	assert_int_equal(sonde_rundir_listen(&dir, &server, &second), 0);
	(void)close(second);
}

static void only_what_nobody_listens_at_is_cleaned(void **state)
{
	struct sonde_rundir_socket other = { "other", SOCK_SEQPACKET, 0600, 4 };
	struct stat st;
	int stale;
	int fd[2];
	int file;

	(void)state;
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &server, &fd[0]), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &other, &fd[1]), 0);
	other.name = "stale";
	assert_int_equal(sonde_rundir_listen(&dir, &other, &stale), 0);
	(void)close(stale);
	file = openat(dir.fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	(void)close(file);
	sonde_rundir_clean(&dir);
	assert_int_equal(fstatat(dir.fd, "stale", &st, 0), -1);
	assert_int_equal(fstatat(dir.fd, "server", &st, 0), 0);
	assert_int_equal(fstatat(dir.fd, "other", &st, 0), 0);
	assert_int_equal(fstatat(dir.fd, "file", &st, 0), 0);
	/* and those that live noticed nothing */
	assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(accept(fd[0], NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

/* What everybody can read about sockets. */
static void the_name_of_a_socket_is_told_to_nobody(void **state)
{
	struct sonde_rundir_socket secret = { "s3cr3tname", SOCK_SEQPACKET,
					      0666, 4 };
	char line[512];
	FILE *table;
	int nr_ours = 0;
	int fd;

	(void)state;
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &secret, &fd), 0);
	table = fopen("/proc/net/unix", "re");
	assert_non_null(table);
	while (fgets(line, sizeof(line), table)) {
		nr_ours += strstr(line, dir.path) != NULL;
		assert_null(strstr(line, secret.name));
	}
	(void)fclose(table);
	assert_int_equal(nr_ours, 1);
	(void)close(fd);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	struct sonde_rundir_socket bad = { "../x", SOCK_STREAM, 0600, 4 };
	int fd;

	(void)state;
	assert_int_equal(sonde_rundir_open(&dir), 0);
	assert_int_equal(sonde_rundir_listen(&dir, &bad, &fd), -EINVAL);
	bad.name = "0123456789012345678901234567890123456789";
	assert_int_equal(sonde_rundir_listen(&dir, &bad, &fd), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_directory_is_ours_alone),
		TEST(a_place_that_others_write_to_is_not_taken),
		TEST(a_directory_that_others_write_to_is_not_taken),
		TEST(a_link_is_not_followed),
		TEST(another_users_directory_is_not_taken),
		TEST(a_path_too_long_for_sockets_is_not_taken),
		TEST(where_others_make_directories_ours_is_found_again),
		TEST(a_server_is_reached_by_its_name),
		TEST(a_name_is_taken_while_its_server_lives),
		TEST(only_what_nobody_listens_at_is_cleaned),
		TEST(the_name_of_a_socket_is_told_to_nobody),
		TEST(names_that_lead_elsewhere_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
