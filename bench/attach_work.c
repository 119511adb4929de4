/* SPDX-License-Identifier: MIT */
/*
 * attach_work.c - what bench/attach attaches to: some 10,000 events a second,
 * until it is killed. It sleeps between them, so as to be let run at once.
 */
#include <sonde/tracepoint.h>

#include <stdio.h>
#include <time.h>

int main(void)
{
	const struct timespec pause = { 0, 20000 };

	(void)puts("ready");
	(void)fflush(stdout);
	for (unsigned long step = 0;; step++) {
		sonde_event(attach, step, step);
		(void)nanosleep(&pause, NULL);
	}
}
