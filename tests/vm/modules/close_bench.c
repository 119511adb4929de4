// SPDX-License-Identifier: MIT
/*
 * close_bench.c - how long many probes take to come and to go.
 *
 *	close_bench [N]		N probes of each kind (default 300)
 *
 * Prints, for each kind, milliseconds that opening took, that closing took, and
 * that the longest START and STOP of another session took meanwhile. Times of an
 * emulated machine say how the kinds and versions compare, no more.
 */
#include "client.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* can't fail */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- somebody else ---- */

static _Atomic bool is_over;
static _Atomic uint32_t nr_rounds;
static double longest_ms;

static void *somebody_else(void *arg)
{
	const struct client_config config = { .subbuf_bytes = 65536,
					      .nr_subbufs = 2 };

	while (!is_over) {
		double begin = now_ms();
		struct client client;

		client_open(&client, &config);
		(void)client_tick(&client, 0);
		client_start(&client);
		client_stop(&client);
		client_close(&client);
		if (now_ms() - begin > longest_ms)
			longest_ms = now_ms() - begin;
		nr_rounds++;
	}
	return arg;
}

/* ---- many probes ---- */

static int add(struct client *client, uint32_t type, const char *name,
	       uint32_t id)
{
	struct sonde_kmod_event event = { .size = sizeof(event),
					  .type = type,
					  .id = id };

	(void)snprintf(event.name, sizeof(event.name), "%s", name);
	return ioctl(client->channel, SONDE_KMOD_EVENT, &event);
}

/* Functions that the kernel lets be probed, from the list of all. */
static uint32_t add_many(struct client *client, uint32_t type,
			 const char *suffix, uint32_t wanted)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[300], kind;
	uint32_t nr = 0;

	if (!file)
		die("/proc/kallsyms");
	while (nr < wanted && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*x %c %99s", &kind, name) != 2 ||
		    kind != 'T' ||
		    (strncmp(name, "s", 1) != 0 || strstr(name, "stack")))
			continue;
		(void)strcat(name, suffix);
		nr += add(client, type, name, nr + 1) >= 0;
	}
	(void)fclose(file);
	return nr;
}

static void measure(const char *what, uint32_t type, const char *suffix,
		    uint32_t wanted)
{
	const struct client_config config = { .subbuf_bytes = 65536,
					      .nr_subbufs = 2 };
	double begin = now_ms(), opened, closing, closed;
	struct client client;
	pthread_t thread;
	uint32_t nr;

	client_open(&client, &config);
	nr = add_many(&client, type, suffix, wanted);
	client_start(&client);
	opened = now_ms();
	is_over = false;
	nr_rounds = 0;
	longest_ms = 0;
	if (pthread_create(&thread, NULL, somebody_else, NULL))
		die("pthread_create");
	while (!nr_rounds)
		(void)sched_yield();
	closing = now_ms();
	client_close(&client);
	closed = now_ms();
	is_over = true;
	(void)pthread_join(thread, NULL); /* it was created */
	printf("close_bench %s: %u: open %.0f ms, close %.0f ms, somebody "
	       "else's session %.0f ms\n",
	       what, nr, opened - begin, closed - closing, longest_ms);
}

int main(int argc, char **argv)
{
	uint32_t nr = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 300;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	measure("kprobe", SONDE_KMOD_KPROBE, "", nr);
	measure("kprobe+offset", SONDE_KMOD_KPROBE, "+9", nr);
	measure("kretprobe", SONDE_KMOD_KRETPROBE, "", nr);
	measure("function", SONDE_KMOD_FUNCTION, "", nr);
	return 0;
}
