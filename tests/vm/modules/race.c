// SPDX-License-Identifier: MIT
/*
 * race.c - probes come and go while their function is called on all CPUs.
 *
 *	race [ROUNDS]
 *
 * A thread on each CPU calls the function without a pause. Meanwhile a session
 * with a kprobe and a kretprobe there is opened, recorded with and closed, ROUNDS
 * times: each time calls are on their way into the probes, and others have
 * entered and not returned. Where CPUs run in parallel (guest.py, `parallel`),
 * this meets moments that a machine which runs them one after the other does
 * not have.
 *
 * Prints `ok NAME` or `FAIL NAME: why`, and `N passed, M failed`. A kernel that
 * doesn't survive is seen by who started it.
 */
#include "client.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTION "do_sys_openat2"

static _Atomic bool is_over;
static _Atomic uint64_t calls;

static void *call(void *cpu)
{
	bind_to((uint32_t)(uintptr_t)cpu);
	while (!is_over) {
		/* It fails, and soon: there is no such file. */
		(void)syscall(SYS_openat, AT_FDCWD, "/-", O_RDONLY);
		calls++;
	}
	return NULL;
}

static void add(struct client *client, uint32_t type, uint32_t id)
{
	const struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE, .index = 1, .bytes = 8 },
	};
	struct sonde_kmod_event event = { .size = sizeof(event),
					  .type = type,
					  .id = id,
					  .nr_caps = 1,
					  .caps = (uintptr_t)caps,
					  .name = FUNCTION };

	(void)client_event(client, &event);
}

/* One session, until some calls were made during it; what was recorded. */
static uint64_t record_some(void)
{
	const struct client_config config = { .subbuf_bytes = 16384,
					      .nr_subbufs = 4 };
	struct sonde_kmod_counts counts;
	struct client client;
	uint64_t before;
	uint64_t seen = 0;

	client_open(&client, &config);
	add(&client, SONDE_KMOD_KPROBE, 1);
	add(&client, SONDE_KMOD_KRETPROBE, 2);
	client_start(&client);
	before = calls;
	while (calls < before + 100)
		(void)sched_yield(); /* can't fail */
	/* Neither stopped nor read: it goes as if its reader was killed. */
	for (uint32_t cpu = 0; cpu < client.nr_cpus; cpu++) {
		struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };

		client_counts(&client, cpu, &counts);
		if (ioctl(client.stream[cpu], SONDE_KMOD_GET, &chunk) < 0)
			die("GET");
		seen += chunk.events + counts.lost_full;
	}
	client_close(&client);
	return seen;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100;
	uint32_t nr_cpus = online_cpus();
	uint32_t nr_empty = 0;
	pthread_t threads[CLIENT_CPUS_MAX];

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		if (pthread_create(&threads[cpu], NULL, call,
				   (void *)(uintptr_t)cpu))
			die("pthread_create");
	for (uint32_t i = 0; i < rounds; i++)
		nr_empty += record_some() == 0;
	is_over = true;
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		(void)pthread_join(threads[cpu], NULL); /* it was created */
	printf("%s probes_end_while_their_function_is_called_on_%u_cpus%s\n",
	       nr_empty ? "FAIL" : "ok", nr_cpus,
	       nr_empty ? ": sessions that saw nothing" : "");
	printf("%d passed, %d failed\n", !nr_empty, nr_empty != 0);
	return nr_empty != 0;
}
