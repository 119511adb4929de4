/* SPDX-License-Identifier: MIT */
/* test_sys_proc_start.c - sys/proc_start.h, by grep as the process. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "sys/proc_start.h"

static int grep_for(const char *what, const char *path, int output)
{
	const char *const words[] = { "grep", "-c", what, path, NULL };
	const int fds[] = { -1, output, -1 };
	pid_t pid;

	assert_int_equal(
		sonde_proc_start_plain("grep", words, environ, fds, &pid), 0);
	return sonde_proc_wait(pid);
}

static void no_signal_is_blocked_or_ignored_in_it(void **state)
{
	const int signals[] = { SIGHUP, SIGINT, SIGPIPE, SIGUSR1 };
	char count[8] = "";
	int ends[2];
	sigset_t before;
	sigset_t all;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
	for (size_t i = 0; i < 4; i++)
		(void)signal(signals[i], SIG_IGN);
	/* glibc's own two are ignored while a process is started. */
	assert_int_equal(
		grep_for("^Sig\\(Blk\\|Ign\\):[[:space:]]0*\\(180000000\\)*$",
			 "/proc/self/status", ends[1]),
		0);
	for (size_t i = 0; i < 4; i++)
		(void)signal(signals[i], SIG_DFL);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	assert_int_equal(read(ends[0], count, sizeof(count) - 1), 2);
	assert_string_equal(count, "2\n");
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void its_end_is_told(void **state)
{
	const char *const words[] = { "sh", "-c", "kill -9 $$", NULL };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t pid;

	(void)state;
	assert_true(null >= 0);
	assert_int_equal(grep_for("no such word", "/proc/self/status", null),
			 1);
	assert_int_equal(sonde_proc_start_plain("/bin/sh", words, environ, NULL,
						&pid),
			 0);
	assert_int_equal(sonde_proc_wait(pid), 128);
	assert_int_equal(sonde_proc_wait(pid), -ECHILD);
	assert_int_equal(sonde_proc_start_plain("/sonde-has-no-such", words,
						environ, NULL, &pid),
			 -ENOENT);
	(void)close(null);
}

/* Its input is our output, and the other way round. */
static void descriptors_may_change_places(void **state)
{
	const char *const words[] = { "cat", NULL };
	const int fds[] = { 1, 0, -1 };
	char text[8] = "";
	int kept[2];
	int from[2];
	int to[2];
	pid_t pid = -1;

	(void)state;
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	for (int i = 0; i < 2; i++)
		kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
	assert_int_equal(write(from[1], "text", 4), 4);
	(void)close(from[1]);
	(void)dup2(from[0], 1);
	(void)dup2(to[1], 0);
	(void)sonde_proc_start_plain("cat", words, environ, fds, &pid);
	for (int i = 0; i < 2; i++) {
		(void)dup2(kept[i], i);
		(void)close(kept[i]);
	}
	(void)close(from[0]);
	(void)close(to[1]);
	assert_int_equal(sonde_proc_wait(pid), 0);
	assert_int_equal(read(to[0], text, sizeof(text) - 1), 4);
	assert_string_equal(text, "text");
	(void)close(to[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_signal_is_blocked_or_ignored_in_it),
		cmocka_unit_test(its_end_is_told),
		cmocka_unit_test(descriptors_may_change_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
