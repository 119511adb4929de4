/* SPDX-License-Identifier: MIT */
/* proc_start.c - a process that gets nothing of ours by accident (proc_start.h). */
#include "sys/proc_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unconst.h"

/* It gets fds[] as its first three. Each is set after those below it: of one that is
 * among these, a copy is taken (-1: none), which stays open until it has started. */
static int add_descriptors(posix_spawn_file_actions_t *actions, const int *fds,
			   int copies[3])
{
	int rc = 0;

	for (int i = 0; !rc && i < 3; i++) {
		int from = fds[i];

		if (from >= 0 && from < i) {
			copies[i] = fcntl(from, F_DUPFD_CLOEXEC, 3);
			if (copies[i] < 0)
				return errno;
			from = copies[i];
		}
		if (from >= 0)
			rc = posix_spawn_file_actions_adddup2(actions, from, i);
	}
	return rc;
}

int sonde_proc_start_plain(const char *path, const char *const *words,
			   char *const *environment, const int *fds,
			   pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t how;
	int copies[3] = { -1, -1, -1 };
	sigset_t all;
	sigset_t none;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return -rc;
	if (fds)
		rc = add_descriptors(&actions, fds, copies);
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	if (!rc)
		rc = posix_spawnattr_init(&how);
	if (!rc) {
		(void)posix_spawnattr_setsigdefault(&how, &all);
		(void)posix_spawnattr_setsigmask(&how, &none);
		(void)posix_spawnattr_setflags(
			&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
		rc = posix_spawnp(ret_pid, path, &actions, &how,
				  sonde_unconst(words), environment);
		(void)posix_spawnattr_destroy(&how);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; i < 3; i++)
		if (copies[i] >= 0)
			(void)close(copies[i]); /* the original is open */
	return -rc;
}

int sonde_proc_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
