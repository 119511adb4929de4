/* SPDX-License-Identifier: MIT */
/*
 * worst.c - what the dearest events take, each by itself, in ticks of the counter:
 * of a guest that counts instructions, instructions.
 *
 *	papers_worst OPERATION [FILL [wait]]
 *		"OPERATION LEAST MOST": of ROUNDS rounds the least hit of all, and
 *		the greatest hit of the round where that is least, for an interrupt
 *		of the timer comes into some rounds, but not into all
 *
 * Operations: `fast`, events one after the other; `switch`, so many that each round
 * opens a sub-buffer (of 64 KiB, of which a round must be more than one);
 * `thread`, an event of a thread after one of another on the same CPU; `first`, a
 * thread's first event; `full`, after FILL events, of which the last must have
 * found the ring full. All on the CPU that the program is on; with `wait` once a line
 * can be read, so that sessions can attach before.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sonde/tracepoint.h>
#include <sys/mman.h>

#include "../measure.h"

#define ROUNDS 40

static uint64_t one_hit(int i)
{
	uint64_t begin;

	__builtin_ia32_lfence();
	begin = measure_tsc();
	sonde_event(bench, integer, sonde_field(i, i));
	return measure_tsc() - begin;
}

static uint64_t nothing(void)
{
	uint64_t begin;

	__builtin_ia32_lfence();
	begin = measure_tsc();
	__asm__ volatile("" ::: "memory");
	return measure_tsc() - begin;
}

struct seen {
	uint64_t least;
	uint64_t most;
};

static void see(struct seen *seen, uint64_t ticks)
{
	if (ticks < seen->least)
		seen->least = ticks;
	if (ticks > seen->most)
		seen->most = ticks;
}

static void hits(struct seen *seen, int nr)
{
	for (int i = 0; i < nr; i++)
		see(seen, one_hit(i));
}

static void fast(struct seen *seen)
{
	hits(seen, 1000);
}

static void subbuf_switch(struct seen *seen)
{
	hits(seen, 12000);
}

/* ---- threads ---- */

static sem_t asked, answered;

static void *other(void *arg)
{
	(void)arg;
	for (;;) {
		(void)sem_wait(&asked);
		(void)one_hit(0);
		(void)sem_post(&answered);
	}
	return NULL;
}

static void thread(struct seen *seen)
{
	static pthread_t id;

	if (!id && (sem_init(&asked, 0, 0) || sem_init(&answered, 0, 0) ||
		    pthread_create(&id, NULL, other, NULL)))
		exit(1);
	for (int i = 0; i < 20; i++) {
		(void)sem_post(&asked);
		(void)sem_wait(&answered);
		see(seen, one_hit(i));
	}
}

static void *first_hit(void *seen)
{
	see(seen, one_hit(0));
	return NULL;
}

static void first(struct seen *seen)
{
	for (int i = 0; i < 10; i++) {
		pthread_t id;

		if (pthread_create(&id, NULL, first_hit, seen))
			exit(1);
		(void)pthread_join(id, NULL);
	}
}

/* ---- all ---- */

static const struct {
	const char *name;
	void (*one_round)(struct seen *seen);
} operations[] = {
	{ "fast", fast },     { "switch", subbuf_switch },
	{ "thread", thread }, { "first", first },
	{ "full", fast },
};

static void measure(const char *name, void (*one_round)(struct seen *seen))
{
	struct seen all = { UINT64_MAX, UINT64_MAX };
	uint64_t bare = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		struct seen seen = { UINT64_MAX, 0 };
		uint64_t read = nothing();

		if (read < bare)
			bare = read;
		one_round(&seen);
		if (i && seen.least < all.least) /* the first one warms up */
			all.least = seen.least;
		if (i && seen.most < all.most)
			all.most = seen.most;
	}
	printf("%s %ld %ld\n", name, (long)(all.least - bare),
	       (long)(all.most - bare));
}

int main(int argc, char **argv)
{
	struct seen filled = { UINT64_MAX, 0 };

	(void)mlockall(MCL_CURRENT | MCL_FUTURE); /* as far as it may */
	if (argc > 3 && getchar() == EOF)
		return 1;
	if (argc > 2)
		hits(&filled, atoi(argv[2]));
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (argc > 1 && !strcmp(argv[1], operations[i].name)) {
			measure(argv[1], operations[i].one_round);
			return 0;
		}
	(void)fputs("usage: papers_worst OPERATION [FILL [wait]]\n", stderr);
	return 2;
}
