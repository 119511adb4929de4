/* SPDX-License-Identifier: MIT */
/*
 * ticker.c - a program with events of its own that goes on until it is killed,
 * or for a while.
 *
 *	ticker [NR [MARK]]
 *
 * NR times (without: for ever) an event ticker:tick, a getppid and another
 * event, ticker:tock. After the first of each it prints "ready"; MARK is a file
 * that it makes then. The exit status is 7, which nothing else gives.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

/* The first of each is over: says so, twice if there is a file to make. */
static int tell(const char *mark)
{
	int fd;

	if (mark) {
		fd = open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		(void)close(fd); /* nothing was written */
	}
	puts("ready");
	return fflush(stdout);
}

static void tick(uint64_t n)
{
	sonde_event(ticker, tick, n);
}

static void tock(uint64_t n)
{
	sonde_event(ticker, tock, n);
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	for (uint64_t n = 0; !nr || n < nr; n++) {
		tick(n);
		(void)syscall(SYS_getppid);
		tock(n);
		if (n == 0 && tell(argc > 2 ? argv[2] : NULL))
			return 1;
	}
	return 7;
}
