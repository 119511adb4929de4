/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * textfile.h - read the small text files of /proc and /sys: whole, up to a
 * bound, or line by line.
 */
#ifndef SYS_TEXTFILE_H
#define SYS_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>

/* The start of a file, terminated by a NUL: up to size - 1 bytes. Their number,
 * or -errno; `to` is then empty. */
__attribute__((format(printf, 3, 4))) int
sonde_textfile_read(char *to, size_t size, const char *path_format, ...);

/* The same of a file in the directory `dir`. */
int sonde_textfile_read_at(int dir, const char *path, char *to, size_t size);

/* The same of its first line, without the newline. */
__attribute__((format(printf, 3, 4))) int
sonde_textfile_read_line(char *to, size_t size, const char *path_format, ...);

/* A line longer than this is cut there. */
#define SONDE_LINE_MAX 32768u

struct sonde_lines {
	int fd;
	int error;    /* 0, or -errno: the file could not be read on */
	bool at_end;  /* of the file */
	bool in_line; /* in one that was cut */
	size_t begin; /* of what is not yet delivered */
	size_t end;
	char bytes[2 * SONDE_LINE_MAX + 1];
};

/* 0 or -errno. Closed by sonde_lines_close(), which may be called anyway. */
__attribute__((format(printf, 2, 3))) int
sonde_lines_open(struct sonde_lines *lines, const char *path_format, ...);
/* The next line without its newline, to be written to by the caller until the
 * next call; NULL at the end, or where it can't be read: `error` says which. */
char *sonde_lines_next(struct sonde_lines *lines);
void sonde_lines_close(struct sonde_lines *lines);

#endif /* SYS_TEXTFILE_H */
