/* SPDX-License-Identifier: MIT */
/*
 * mark_work.c - bench/mark's program: what a mark costs who writes it, beside the
 * empty loop, a system call that does next to nothing (the line to /dev/null), and
 * the same line to the trace_marker of an instance that nobody reads.
 *
 *	mark_work LINE_FD PLAIN_FD	"mark VARIANT MEDIAN DECILE1 DECILE9", ns
 *
 * Variants are interleaved (measure.h); each round of marks fits into the buffers,
 * which overwrite.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static const char line[] = "step n=7 who=\"Ada\"\n";
static int mark_fd, plain_fd, null_fd;

static void write_all(int fd, long nr)
{
	for (long i = 0; i < nr; i++)
		if (write(fd, line, sizeof(line) - 1) != sizeof(line) - 1)
			exit(1);
}

static void run_null(long nr)
{
	write_all(null_fd, nr);
}

static void run_plain(long nr)
{
	write_all(plain_fd, nr);
}

static void run_mark(long nr)
{
	write_all(mark_fd, nr);
}

static struct measure_variant variants[] = {
	{ .name = "loop", .run = measure_loop, .nr = 20000 },
	{ .name = "null", .run = run_null, .nr = 20000 },
	{ .name = "plain", .run = run_plain, .nr = 20000 },
	{ .name = "mark", .run = run_mark, .nr = 20000 },
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		(void)fprintf(stderr, "mark_work LINE_FD PLAIN_FD\n");
		return 2;
	}
	mark_fd = atoi(argv[1]);
	plain_fd = atoi(argv[2]);
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null_fd < 0)
		return 1;
	measure_all(variants, sizeof(variants) / sizeof(variants[0]));
	measure_print("mark ", variants,
		      sizeof(variants) / sizeof(variants[0]));
	return 0;
}
