/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * instance.c - tracefs: where it is, and an instance of our own in it
 * (instance.h).
 *
 * All we change lies in our instance, but for record-cmd, which is everybody's.
 * Order: make (all off), switch on, switch off, remove.
 */
#include "source/tracefs/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/dir.h"
#include "sys/textfile.h"

#define MIN_CPU_KB 16u

/* ---- files ---- */

int sonde_tracefs_write(int dir, const char *file, const char *text)
{
	/* Appending: some of these files are emptied by opening them anew. */
	int fd = openat(dir, file, O_WRONLY | O_APPEND | O_CLOEXEC);
	size_t size = strlen(text);
	ssize_t n;
	int rc = 0;

	if (fd < 0)
		return -errno;
	do {
		n = write(fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		rc = -errno;
	else if ((size_t)n != size)
		rc = -EIO;
	close(fd);
	return rc;
}

/* ---- where it is ---- */

static int open_if_tracefs(const char *path, int *ret_error)
{
	struct statfs fs;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		*ret_error = errno;
		return -1;
	}
	if (!fstatfs(fd, &fs) &&
	    (fs.f_type == TRACEFS_MAGIC || fs.f_type == DEBUGFS_MAGIC) &&
	    !faccessat(fd, "trace_clock", F_OK, 0))
		return fd;
	close(fd);
	*ret_error = ENOENT;
	return -1;
}

int sonde_tracefs_open(struct sonde_source_error *error)
{
	static const char *const paths[] = { "/sys/kernel/tracing",
					     "/sys/kernel/debug/tracing" };
	int why[2] = { ENOENT, ENOENT };
	int fd = -1;

	for (size_t i = 0; i < 2 && fd < 0; i++)
		fd = open_if_tracefs(paths[i], &why[i]);
	if (fd >= 0)
		return fd;
	for (size_t i = 0; i < 2; i++)
		if (why[i] == EACCES || why[i] == EPERM)
			return sonde_source_fail(
				error, -why[i],
				"tracefs (/sys/kernel/tracing) is open to root "
				"only: run this as root, such as with sudo");
	if (access(paths[0], F_OK))
		return sonde_source_fail(
			error, -ENOSYS,
			"this kernel has no tracefs (CONFIG_FTRACE), or a "
			"container hides it");
	return sonde_source_fail(
		error, -ENODEV,
		"tracefs is not mounted; as root: mount -t tracefs tracefs "
		"/sys/kernel/tracing");
}

/* ---- an instance ---- */

bool sonde_instance_has_clock(int root, const char *clock)
{
	char text[512];
	char *save = NULL;

	if (sonde_textfile_read_at(root, "trace_clock", text, sizeof(text)) < 0)
		return false;
	for (char *word = strtok_r(text, " \n[]", &save); word;
	     word = strtok_r(NULL, " \n[]", &save))
		if (!strcmp(word, clock))
			return true;
	return false;
}

/* "0\n" is said if no event is on, "1" or "X" else. */
static bool has_events_on(int dir, const char *file)
{
	char text[16] = "";

	return sonde_textfile_read_at(dir, file, text, sizeof(text)) < 1 ||
	       text[0] != '0';
}

/* Whether somebody has an event on, here or in an instance. */
static bool others_trace(int root, int parent)
{
	bool found = has_events_on(root, "events/enable");
	DIR *dir = sonde_dir_open_at(parent, ".");
	const char *name;

	if (!dir)
		return true;
	while (!found && (name = sonde_dir_next(dir))) {
		char path[NAME_MAX + 32];

		(void)snprintf(path, sizeof(path), "%s/events/enable", name);
		found = has_events_on(parent, path);
	}
	closedir(dir);
	return found;
}

static int instance_set(const struct sonde_instance *instance, const char *file,
			const char *text, struct sonde_source_error *error)
{
	int rc = sonde_tracefs_write(instance->fd, file, text);

	return rc ? sonde_source_fail(error, rc, "tracefs: %s = %s: %s", file,
				      text, strerrordesc_np(-rc)) :
		    0;
}

static int instance_set_size(const struct sonde_instance *instance,
			     uint64_t bytes, struct sonde_source_error *error)
{
	char text[32];
	uint64_t kb = bytes >> 10;
	int rc;

	if (kb < MIN_CPU_KB)
		kb = MIN_CPU_KB;
	(void)snprintf(text, sizeof(text), "%" PRIu64, kb);
	rc = sonde_tracefs_write(instance->fd, "buffer_size_kb", text);
	if (rc == -ENOMEM)
		return sonde_source_fail(error, rc,
					 "no memory for trace buffers of %s "
					 "KiB for each CPU; give less with "
					 "--memory",
					 text);
	return rc ? sonde_source_fail(error, rc,
				      "tracefs: buffer_size_kb = %s: %s", text,
				      strerrordesc_np(-rc)) :
		    0;
}

static int instance_set_up(int root, const struct sonde_instance *instance,
			   const struct sonde_instance_config *config,
			   struct sonde_source_error *error)
{
	int rc = instance_set(instance, "tracing_on", "0", error);

	/* Best effort, see the header. */
	if (!rc && !others_trace(root, instance->parent))
		(void)sonde_tracefs_write(instance->fd, "trace_options",
					  "norecord-cmd");
	if (!rc)
		rc = instance_set(instance, "trace_options",
				  config->is_overwriting ? "overwrite" :
							   "nooverwrite",
				  error);
	if (!rc && config->follows_forks)
		rc = instance_set(instance, "trace_options", "event-fork",
				  error);
	if (!rc && config->has_stacks)
		rc = instance_set(instance, "trace_options", "stacktrace",
				  error);
	if (!rc && config->has_stacks)
		rc = instance_set(instance, "trace_options", "userstacktrace",
				  error);
	if (!rc)
		rc = instance_set(instance, "trace_clock", config->clock,
				  error);
	if (!rc)
		rc = instance_set_size(instance, config->cpu_bytes, error);
	return rc;
}

int sonde_instance_make(int root, const struct sonde_instance_config *config,
			struct sonde_instance *ret_instance,
			struct sonde_source_error *error)
{
	struct sonde_instance instance = { .fd = -1 };
	int rc;

	(void)snprintf(instance.name, sizeof(instance.name),
		       "sonde-%d-%" PRIx64, (int)config->owner,
		       config->session);
	instance.parent =
		openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (instance.parent < 0)
		return sonde_source_fail(error, -errno, "tracefs/instances: %s",
					 strerrordesc_np(errno));
	if (mkdirat(instance.parent, instance.name, 0700)) {
		rc = sonde_source_fail(error, -errno,
				       "can't make tracefs/instances/%s: %s; "
				       "run as root",
				       instance.name, strerrordesc_np(errno));
		close(instance.parent);
		return rc;
	}
	instance.fd = openat(instance.parent, instance.name,
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = instance.fd < 0 ?
		     sonde_source_fail(error, -errno,
				       "tracefs/instances/%s: %s",
				       instance.name, strerrordesc_np(errno)) :
		     instance_set_up(root, &instance, config, error);
	if (rc)
		(void)sonde_instance_remove(&instance); /* told of the first */
	else
		*ret_instance = instance;
	return rc;
}

int sonde_instance_switch(const struct sonde_instance *instance, bool on)
{
	return sonde_tracefs_write(instance->fd, "tracing_on", on ? "1" : "0");
}

int sonde_instance_remove(struct sonde_instance *instance)
{
	int rc = 0;

	if (unlinkat(instance->parent, instance->name, AT_REMOVEDIR))
		rc = -errno;
	/* Somebody has a file of it open: it stays, but costs nobody
	 * anything. */
	if (rc && instance->fd >= 0)
		(void)sonde_tracefs_write(instance->fd, "events/enable", "0");
	if (instance->fd >= 0)
		close(instance->fd);
	instance->fd = -1;
	close(instance->parent);
	return rc;
}
