/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * open_files.c - names of files as they are opened, looked up in /proc
 * (open_files.h).
 *
 * A look happens only if the records at hand show that the process still has
 * the file. At most SONDE_OPENED_MAX looks in a round, 10 us each.
 */
#include "source/tracefs/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "source/statedump/proc_parse.h"
#include "sys/proc.h"

#define STATUS_BYTES 4096u

int sonde_open_files_init(struct sonde_open_files *opened, const char *path)
{
	*opened = (struct sonde_open_files){ .proc = -1 };
	opened->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened->proc < 0)
		return -errno;
	sonde_open_files_refresh(opened);
	return sonde_statedump_descs_new(opened->descs);
}

void sonde_open_files_fini(struct sonde_open_files *opened)
{
	if (opened->proc >= 0)
		(void)close(opened->proc); /* a directory */
	opened->proc = -1;
	sonde_statedump_descs_free(opened->descs);
}

const struct sonde_desc *
sonde_open_files_desc(const struct sonde_open_files *opened)
{
	return opened->descs[SONDE_STATEDUMP_FILE];
}

void sonde_open_files_refresh(struct sonde_open_files *opened)
{
	opened->left = SONDE_OPENED_MAX;
	memset(opened->processes, 0, sizeof(opened->processes));
}

/* 0 if it is gone. The name in the first line has no line of its own, since
 * its newlines are escaped. */
static uint32_t read_pid(const struct sonde_open_files *opened, uint32_t tid)
{
	char text[STATUS_BYTES];
	char path[32];
	uint64_t pid = 0;

	(void)snprintf(path, sizeof(path), "%u/status", tid);
	if (sonde_textfile_read_at(opened->proc, path, text, sizeof(text)) <= 0)
		return 0;
	(void)sonde_proc_numbers(sonde_proc_find(text, "Tgid"), 10, &pid);
	return pid <= INT32_MAX ? (uint32_t)pid : 0;
}

static uint32_t open_files_pid_of(struct sonde_open_files *opened, uint32_t tid)
{
	uint32_t i = tid % SONDE_OPENED_PROCESSES;

	if (opened->processes[i].tid != tid) {
		opened->processes[i].tid = tid;
		opened->processes[i].pid = read_pid(opened, tid);
	}
	return opened->processes[i].pid;
}

bool sonde_open_files_is_kin(struct sonde_open_files *opened, uint32_t tid,
			     uint32_t other)
{
	return tid == other || open_files_pid_of(opened, tid) ==
				       open_files_pid_of(opened, other);
}

/* Where the description (source/statedump/events.c) has it. */
static size_t write_payload(struct sonde_open_files *opened, uint32_t pid,
			    int32_t fd, uint32_t flags, const char *name)
{
	uint8_t *at = opened->payload;
	uint64_t table = pid; /* by /proc: source/statedump/source.h */
	size_t size = strlen(name) + 1;

	memcpy(at, &pid, 4);
	memcpy(at + 4, &table, 8);
	memcpy(at + 12, &fd, 4);
	memcpy(at + 16, &flags, 4);
	memcpy(at + 20, name, size);
	return 20 + size;
}

size_t sonde_open_files_look(struct sonde_open_files *opened, uint32_t tid,
			     int32_t fd)
{
	char name[SONDE_STATEDUMP_PATH_MAX];
	char path[48];
	char text[512];
	uint32_t flags;
	uint32_t pid;
	ssize_t n;

	if (!opened->left)
		return 0;
	opened->left--;
	pid = open_files_pid_of(opened, tid);
	if (!pid)
		return 0;
	(void)snprintf(path, sizeof(path), "%u/fd/%d", tid, fd);
	n = readlinkat(opened->proc, path, name, sizeof(name) - 1);
	/* What has no path was not opened by one. */
	if (n <= 0 || name[0] != '/')
		return 0;
	name[n] = '\0';
	(void)snprintf(path, sizeof(path), "%u/fdinfo/%d", tid, fd);
	if (sonde_textfile_read_at(opened->proc, path, text, sizeof(text)) <=
		    0 ||
	    !sonde_text_fdinfo(text, &flags))
		return 0;
	return write_payload(opened, pid, fd, flags, name);
}
