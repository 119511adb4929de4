/* SPDX-License-Identifier: MIT */
/*
 * trigger_work.c - what bench/trigger records: for each line that it reads, it asks
 * for a snapshot, and then tells how many nanoseconds later it was told by the system
 * that there is a new directory in the one that it was given: the snapshot's, which
 * is made at its beginning. Before that, it says that it runs.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include <sonde/tracepoint.h>

static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
	char line[16];
	char news[4096];

	if (argc != 2)
		return 2;
	(void)puts("ready");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int fd = inotify_init1(IN_CLOEXEC);
		int64_t began;

		/* Of what was made before, nobody is told. */
		if (inotify_add_watch(fd, argv[1], IN_CREATE) < 0)
			return 1;
		began = now_ns();
		sonde_snapshot("measured");
		if (read(fd, news, sizeof(news)) <= 0)
			return 1;
		(void)printf("%" PRId64 "\n", now_ns() - began);
		(void)fflush(stdout);
		(void)close(fd);
	}
	return 0;
}
