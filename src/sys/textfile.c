/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * textfile.c - small text files: whole up to a bound, or line by line.
 *
 * What is returned always ends with a NUL. Of a line that is too long the first
 * SONDE_LINE_MAX bytes are given and the rest is passed over. The buffer is
 * filled again only when no whole line is left in it.
 */
#include "sys/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 0))) static int
textfile_open_file(const char *path_format, va_list args)
{
	char path[PATH_MAX];
	int n = vsnprintf(path, sizeof(path), path_format, args);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Closes `fd`; it may be an error instead. */
static int textfile_read_all(int fd, char *to, size_t size)
{
	size_t used = 0;
	ssize_t n = fd;

	while (fd >= 0 && used < size - 1) {
		n = read(fd, to + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			n = -errno;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	if (fd >= 0)
		(void)close(fd); /* it was only read */
	to[n < 0 ? 0 : used] = '\0';
	return n < 0 ? (int)n : (int)used;
}

int sonde_textfile_read(char *to, size_t size, const char *path_format, ...)
{
	va_list args;
	int fd;

	va_start(args, path_format);
	fd = textfile_open_file(path_format, args);
	va_end(args);
	return textfile_read_all(fd, to, size);
}

int sonde_textfile_read_at(int dir, const char *path, char *to, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	return textfile_read_all(fd < 0 ? -errno : fd, to, size);
}

int sonde_textfile_read_line(char *to, size_t size, const char *path_format,
			     ...)
{
	va_list args;
	size_t length;
	int rc;

	va_start(args, path_format);
	rc = textfile_open_file(path_format, args);
	va_end(args);
	rc = textfile_read_all(rc, to, size);
	length = strcspn(to, "\n");
	to[length] = '\0';
	return rc < 0 ? rc : (int)length;
}

int sonde_lines_open(struct sonde_lines *lines, const char *path_format, ...)
{
	va_list args;

	lines->error = 0;
	lines->at_end = false;
	lines->in_line = false;
	lines->begin = 0;
	lines->end = 0;
	va_start(args, path_format);
	lines->fd = textfile_open_file(path_format, args);
	va_end(args);
	return lines->fd < 0 ? lines->fd : 0;
}

/* More bytes, behind those that are there; false if there are none. */
static bool fill(struct sonde_lines *lines)
{
	ssize_t n;

	if (lines->at_end || lines->fd < 0)
		return false;
	memmove(lines->bytes, lines->bytes + lines->begin,
		lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	n = read(lines->fd, lines->bytes + lines->end,
		 sizeof(lines->bytes) - 1 - lines->end);
	if (n <= 0) {
		lines->error = n ? -errno : 0;
		lines->at_end = true;
		return false;
	}
	lines->end += (size_t)n;
	return true;
}

/* A line, or a part of one that is too long. NULL at the end. */
static char *textfile_next_part(struct sonde_lines *lines, bool *ret_whole)
{
	for (;;) {
		char *begin = lines->bytes + lines->begin;
		size_t size = lines->end - lines->begin;
		char *newline = memchr(begin, '\n', size);

		*ret_whole = true;
		if (newline && newline - begin <= SONDE_LINE_MAX) {
			*newline = '\0';
			lines->begin += (size_t)(newline - begin) + 1;
			return begin;
		}
		if (size > SONDE_LINE_MAX) {
			/* Its end is found, and passed over, later. */
			*ret_whole = false;
			begin[SONDE_LINE_MAX] = '\0';
			lines->begin += SONDE_LINE_MAX + 1;
			return begin;
		}
		if (fill(lines))
			continue;
		if (!size)
			return NULL;
		lines->bytes[lines->end] = '\0';
		lines->begin = lines->end;
		return lines->bytes + lines->end - size;
	}
}

char *sonde_lines_next(struct sonde_lines *lines)
{
	bool is_whole;
	bool is_rest;
	char *part;

	do {
		is_rest = lines->in_line;
		part = textfile_next_part(lines, &is_whole);
		lines->in_line = !is_whole;
	} while (part && is_rest);
	return part;
}

void sonde_lines_close(struct sonde_lines *lines)
{
	if (lines->fd >= 0)
		(void)close(lines->fd); /* it was only read */
	lines->fd = -1;
}
