/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - the number of a process's seccomp filters, read from its status
 * file.
 *
 * Only openat, read and close are called. The file is read in pieces of a small
 * buffer; a line that is longer than the buffer is passed over by its
 * beginning. Async-signal-safe.
 */
#include "sys/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

/* Longer than the lines we look for; those of a process with many groups or
 * CPUs don't fit a buffer. */
#define LINE_BYTES 64u

struct found {
	int mode;    /* -1: no such line */
	int filters; /* likewise */
};

/* The number after "name:\t" if the line is of that name. */
static void seccomp_take_line(const char *line, const char *name, int *value)
{
	size_t length = strlen(name);

	uint64_t number;

	if (strncmp(line, name, length) != 0 || line[length] != ':')
		return;
	line += length + 1;
	line += strspn(line, " \t");
	if (sonde_number_take(&line, 10, INT_MAX, &number))
		*value = (int)number;
}

/* All complete lines in `text`; returns where the last, incomplete one
 * begins. */
static char *take_lines(char *text, struct found *found)
{
	char *end;

	while ((end = strchr(text, '\n'))) {
		seccomp_take_line(text, "Seccomp", &found->mode);
		seccomp_take_line(text, "Seccomp_filters", &found->filters);
		text = end + 1;
	}
	return text;
}

static void seccomp_read_lines(int fd, struct found *found)
{
	char text[4096 + LINE_BYTES];
	size_t kept = 0;
	ssize_t n;

	/* The filters' line comes right after the mode's. */
	while (found->filters < 0) {
		char *rest;

		n = read(fd, text + kept, sizeof(text) - 1 - kept);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text[kept + (size_t)n] = '\0';
		rest = take_lines(text, found);
		kept = strlen(rest);
		/* of a long line its beginning says which it is */
		if (kept >= LINE_BYTES)
			kept = LINE_BYTES - 1;
		memmove(text, rest, kept);
	}
}

int sonde_seccomp_filters(const char *path)
{
	struct found found = { -1, -1 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	seccomp_read_lines(fd, &found);
	(void)close(fd); /* it was only read */
	/* Without a line of its own: a kernel that has no filters. */
	if (found.mode <= 0)
		return 0;
	return found.filters > 0 ? found.filters : -1;
}
