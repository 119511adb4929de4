/* SPDX-License-Identifier: MIT */
/*
 * trigger_work.c - what bench/trigger records: for each line that it reads, it asks
 * for a snapshot, and then tells when (nanoseconds of CLOCK_REALTIME) it was about
 * to. Before that, it says that it runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <sonde/tracepoint.h>

int main(void)
{
	char line[16];
	struct timespec now;

	(void)puts("ready");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		(void)clock_gettime(CLOCK_REALTIME, &now);
		sonde_snapshot("measured");
		(void)printf("%lld%09ld\n", (long long)now.tv_sec, now.tv_nsec);
		(void)fflush(stdout);
	}
	return 0;
}
