/* SPDX-License-Identifier: MIT */
#include "session/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/budget.h"

/* Deeper than any honest tree of processes. */
#define ANCESTORS_MAX 256

/* The start of a small file as text; an empty string if it can't be read. */
static void read_text(const char *path, char *text, size_t size)
{
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, text, size - 1);
		(void)close(fd); /* it was only read */
	}
	text[n > 0 ? n : 0] = '\0';
}

void sonde_process_name(pid_t pid, char name[SONDE_COMM_SIZE])
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	read_text(path, name, SONDE_COMM_SIZE);
	name[strcspn(name, "\n")] = '\0';
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	if (!*name)
		(void)snprintf(name, SONDE_COMM_SIZE, "?");
}

/* 0 if there is none, or it can't be found out. */
static pid_t parent_of(pid_t pid)
{
	char path[48];
	char text[512];
	const char *after;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_text(path, text, sizeof(text));
	/* "pid (name) state ppid": the name may hold anything. */
	after = strrchr(text, ')');
	if (!after || strlen(after) < 5)
		return 0;
	return (pid_t)strtol(after + 4, NULL, 10);
}

bool sonde_is_kin(const struct ucred *peer, pid_t ancestor)
{
	pid_t pid = peer->pid;

	if (peer->uid == geteuid())
		return true;
	if (geteuid() != 0)
		return false;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (pid == ancestor)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

uint32_t sonde_nr_online_cpus(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr < SONDE_CPUS_MAX ? (uint32_t)nr : SONDE_CPUS_MAX;
}

uint32_t sonde_nr_possible_cpus(void)
{
	char text[256];
	uint32_t online = sonde_nr_online_cpus();
	uint32_t nr;
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	read_text("/sys/devices/system/cpu/possible", text, sizeof(text));
	nr = sonde_cpu_list_span(text);
	if (!nr && configured > 0 && configured <= SONDE_CPUS_MAX)
		nr = (uint32_t)configured;
	return nr > online ? nr : online;
}
