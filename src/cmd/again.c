/* SPDX-License-Identifier: MIT */
/* again.c - this program again (again.h). */
#include "cmd/again.h"

#include <spawn.h>
#include <unistd.h>

int sonde_command_spawn(const int theirs[3], char *const *argv, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return -rc;
	for (int i = 0; !rc && i < 3; i++)
		rc = posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
	if (!rc)
		rc = posix_spawn(ret_pid, "/proc/self/exe", &actions, NULL,
				 argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -rc;
}
