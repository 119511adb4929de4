/* SPDX-License-Identifier: MIT */
/* host_policy.c - the file of a machine's policy, read again and again
 * (host_policy.h). It is some hundred bytes, so its bytes are compared, and no
 * times. */
#include "cmd/host_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"

/* Whether nobody else can write it: NULL, or why not. */
static const char *policy_file_error(int fd)
{
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		return strerrordesc_np(errno);
	if (!S_ISREG(stat.st_mode))
		return "it is no file";
	if (stat.st_uid != geteuid() && stat.st_uid)
		return "it is neither yours nor root's";
	return stat.st_mode & (S_IWGRP | S_IWOTH) ?
		       "others may write it: chmod go-w" :
		       NULL;
}

/* What is in it; NULL, or why it can't be known. */
static const char *policy_file_read(const char *path, char *text, size_t size,
				    size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = policy_file_error(fd);
	ssize_t n = why ? 0 : read(fd, text, size);

	if (n < 0)
		why = strerrordesc_np(errno);
	*ret_size = n > 0 ? (size_t)n : 0;
	if (fd >= 0)
		(void)close(fd);
	return why;
}

/* Whether it is another one than it was. What is wrong is in `why`: "" if nothing
 * is, and only then policy->policy is what it says. */
static bool policy_read(struct sonde_command_host_policy *policy)
{
	static struct sonde_fleet_policy parsed;
	static char text[SONDE_FLEET_POLICY_MAX];
	size_t size;
	char error[sizeof(policy->why)] = "";
	const char *why =
		policy_file_read(policy->path, text, sizeof(text), &size);

	if (!why && !sonde_fleet_policy_parse(text, size, &parsed, error,
					      sizeof(error)))
		policy->policy = parsed;
	else if (!why)
		why = error;
	if (!why)
		why = "";
	if (size == policy->size && !memcmp(text, policy->text, size) &&
	    !strcmp(why, policy->why))
		return false;
	memcpy(policy->text, text, size);
	policy->size = size;
	(void)snprintf(policy->why, sizeof(policy->why), "%s", why);
	return true;
}

int sonde_command_host_policy_begin(struct sonde_command_host_policy *policy,
				    const char *path)
{
	*policy = (struct sonde_command_host_policy){ .path = path };
	(void)policy_read(policy);
	if (!*policy->why)
		return 0;
	sonde_complain("host: --policy %.400s: %s", path, policy->why);
	return SONDE_EXIT_USAGE;
}

void sonde_command_host_policy_renew(struct sonde_command_host_policy *policy,
				     bool quiet)
{
	if (!policy_read(policy))
		return;
	if (*policy->why)
		sonde_complain("host: --policy %.400s: %s; what was permitted "
			       "before still is",
			       policy->path, policy->why);
	else if (!quiet)
		sonde_complain(
			"host: --policy %.400s has changed, and is heeded",
			policy->path);
}
