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
	assert_int_equal(sonde_proc_start_plain("sonde-has-no-such", words,
						environ, NULL, &pid),
			 -ENOENT);
	(void)close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_signal_is_blocked_or_ignored_in_it),
		cmocka_unit_test(its_end_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
