/* SPDX-License-Identifier: MIT */
/*
 * recorditself.c - a program that is its own flight recorder: it keeps its newest
 * events in memory, and writes them when a request was slow.
 *
 *	cc recorditself.c $(pkg-config --cflags --libs sonde sonde-control)
 *	./a.out DIR
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <sonde/control.h>
#include <sonde/tracepoint.h>

/* One in a hundred takes longer. */
static void serve(int id)
{
	struct timespec pause = { 0, id % 100 == 99 ? 5000000 : 10000 };

	sonde_event(shop, request_begin, id);
	nanosleep(&pause, NULL);
	sonde_event(shop, request_end, id);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int serve_until_slow(const char *name, const char *directory)
{
	struct sonde_control_error error;
	struct sonde_control_events events;

	for (int id = 0; id < 1000; id++) {
		long long begin = now_ns();

		serve(id);
		if (now_ns() - begin < 4000000)
			continue;
		if (sonde_control_snapshot(name, directory, &events, &error)) {
			fprintf(stderr, "%s\n", error.text);
			return 1;
		}
		printf("request %d was slow: %llu events in %s\n", id,
		       (unsigned long long)events.recorded, directory);
		return 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char name[24];
	char pid[16];
	char trace[300];
	const char *options[] = { "-p", pid,   "--mode", "overwrite",
				  "-o", trace, NULL };
	struct sonde_control_error error;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	snprintf(name, sizeof(name), "shop-%d", (int)getpid());
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(trace, sizeof(trace), "%.250s-all", argv[1]);
	if (sonde_control_start(name, options, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	status = serve_until_slow(name, argv[1]);
	if (sonde_control_destroy(name, &error))
		fprintf(stderr, "%s\n", error.text);
	return status;
}
