/* SPDX-License-Identifier: MIT */
/*
 * rings.c - the kernel module's ring (src/ring/local.h), protected in other ways
 * than it is: what does it gain that its writers need no lock and switch nothing
 * off?
 *
 * An event of 4 bytes, header and time stamp as in the module, to a ring of 2 MiB
 * in overwrite mode, that nobody reads. One source, three programs, for what
 * protects is chosen when it is compiled:
 *
 *	RING_LOCAL	operations atomic on one's own CPU, as the module is
 *	RING_LOCKED	the same operations with LOCK, atomic on all CPUs
 *	RING_PLAIN	a plain store where the others compare and swap (which
 *			nothing may interrupt): bare, in a spin lock, with all
 *			signals masked, and both
 *
 * Signals stand for interrupts, which a program can't switch off: masking them
 * is a system call, so those two variants are dearer than in a kernel. One
 * thread, nobody else wants the lock: so is the lock at its cheapest.
 */
#include "../measure.h"

#if defined(RING_LOCKED)
#define SONDE_LOCAL_PORTABLE 1
#define KIND                 "locked"
#elif defined(RING_PLAIN)
#define SONDE_LOCAL_BUG_STORE 1
#define KIND                  "plain"
#else
#define KIND "local"
#endif
#define SONDE_LOCAL_NOW(ring)       ((void)(ring), measure_tsc())
#define SONDE_LOCAL_IS_ALONE(ring)  ((void)(ring), 1)
#define SONDE_LOCAL_EPOCH(ring)     ((void)(ring), 0)
#define SONDE_LOCAL_TESTPOINT(name) ((void)0)
#include "ring/local.c"

#include <signal.h>

#define SUBBUF_SIZE (256u << 10)
#define NR_SUBBUFS  8u
#define NR_EVENTS   200000

static unsigned char memory[(NR_SUBBUFS + 1) * SUBBUF_SIZE]
	__attribute__((aligned(4096)));
static struct sonde_local_subbuf subbufs[NR_SUBBUFS];
static struct sonde_local_ring ring;

static inline void emit(int i)
{
	struct sonde_local_place place;
	unsigned char *at = sonde_local_reserve(&ring, 1, 1, sizeof(i), &place);

	if (!at)
		return; /* counted in the ring; main looks */
	memcpy(at, &i, sizeof(i));
	sonde_local_commit(&ring, &place);
}

static void run_bare(long nr)
{
	for (long i = 0; i < nr; i++)
		emit((int)i);
}

#ifdef RING_PLAIN
static int lock;
static sigset_t all_signals;

static void spin_lock(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
}

static void spin_unlock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void run_spin(long nr)
{
	for (long i = 0; i < nr; i++) {
		spin_lock();
		emit((int)i);
		spin_unlock();
	}
}

static void run_signals(long nr)
{
	sigset_t old;

	for (long i = 0; i < nr; i++) {
		(void)sigprocmask(SIG_SETMASK, &all_signals, &old);
		emit((int)i);
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
	}
}

static void run_both(long nr)
{
	sigset_t old;

	for (long i = 0; i < nr; i++) {
		(void)sigprocmask(SIG_SETMASK, &all_signals, &old);
		spin_lock();
		emit((int)i);
		spin_unlock();
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
	}
}
#endif

static struct measure_variant variants[] = {
	{ .name = "loop", .run = measure_loop, .nr = NR_EVENTS },
	{ .name = "bare", .run = run_bare, .nr = NR_EVENTS },
#ifdef RING_PLAIN
	{ .name = "spin", .run = run_spin, .nr = NR_EVENTS },
	{ .name = "signals", .run = run_signals, .nr = NR_EVENTS / 10 },
	{ .name = "both", .run = run_both, .nr = NR_EVENTS / 10 },
#endif
};

int main(void)
{
	size_t nr = sizeof(variants) / sizeof(variants[0]);

#ifdef RING_PLAIN
	(void)sigfillset(&all_signals);
#endif
	memset(memory, 1, sizeof(memory));
	sonde_local_init(&ring, memory, subbufs, SUBBUF_SIZE, NR_SUBBUFS,
			 SONDE_OVERWRITE, 0);
	measure_all(variants, nr);
	if (sonde_local_discarded(&ring) || !ring.overwritten) {
		(void)fputs("rings: events were lost\n", stderr);
		return 1;
	}
	measure_print(KIND "-", variants, nr);
	return 0;
}
