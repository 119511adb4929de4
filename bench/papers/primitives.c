/* SPDX-License-Identifier: MIT */
/*
 * primitives.c - what the operations cost that a tracer may use to protect its
 * buffers, in user space: alone, and around ten word-sized reads and a write, as
 * in table I of the paper on synchronisation for kernel tracing.
 *
 * 20,000 times each, in turns, by the thread's CPU time; printed as measure.h
 * does, in ns. What a program can't do has the nearest that it can in its place: it
 * masks its signals where the kernel switches interrupts off, and the read side of
 * liburcu is what switching preemption off is there.
 *
 * bench/papers shows the machine code of the loops, whose functions are therefore
 * kept out of line.
 */
#ifdef HAVE_URCU
#define _LGPL_SOURCE
#include <urcu/urcu-memb.h>
#endif

#include <signal.h>

#include "../measure.h"

#ifdef __x86_64__

#define NR 20000

static uint64_t word;
static uint32_t ticket;
static volatile uint32_t sequence;
static volatile uint64_t data[11];

/* ---- the operations ---- */

static inline void do_nothing(void)
{
}

static inline void cas_local(void)
{
	uint64_t was = 0;

	__asm__ volatile("cmpxchg %2, %1"
			 : "+a"(was), "+m"(word)
			 : "r"(0ull)
			 : "memory", "cc");
}

static inline void cas_sync(void)
{
	uint64_t was = 0;

	__asm__ volatile("lock cmpxchg %2, %1"
			 : "+a"(was), "+m"(word)
			 : "r"(0ull)
			 : "memory", "cc");
}

static inline void add_local(void)
{
	__asm__ volatile("addq $0, %0" : "+m"(word) : : "memory", "cc");
}

static inline void add_sync(void)
{
	__asm__ volatile("lock addq $0, %0" : "+m"(word) : : "memory", "cc");
}

/* A ticket lock: its owner's number in the lower half, the next one's in the
 * upper. */
static inline void spin_lock(void)
{
	uint32_t mine = __atomic_fetch_add(&ticket, 1u << 16, __ATOMIC_ACQUIRE);

	while ((uint16_t)__atomic_load_n(&ticket, __ATOMIC_ACQUIRE) !=
	       mine >> 16)
		__builtin_ia32_pause();
}

static inline void spin_unlock(void)
{
	uint16_t *owner = (uint16_t *)(void *)&ticket;

	__atomic_store_n(owner, (uint16_t)(*owner + 1), __ATOMIC_RELEASE);
}

static inline uint32_t seq_begin(void)
{
	uint32_t begin;

	while ((begin = sequence) & 1)
		__builtin_ia32_pause();
	__asm__ volatile("" ::: "memory");
	return begin;
}

static inline int seq_retry(uint32_t begin)
{
	__asm__ volatile("" ::: "memory");
	return sequence != begin;
}

/* Each is a system call. */
static sigset_t all_signals;
static sigset_t old_signals;

static inline void signals_off(void)
{
	(void)sigprocmask(SIG_SETMASK, &all_signals, &old_signals);
}

static inline void signals_back(void)
{
	(void)sigprocmask(SIG_SETMASK, &old_signals, NULL);
}

static inline void spin_lock_signals(void)
{
	signals_off();
	spin_lock();
}

static inline void spin_unlock_signals(void)
{
	spin_unlock();
	signals_back();
}

/* What is done under protection: ten reads, a write. */
static inline void work(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 10; i++)
		sum += data[i];
	data[10] = sum;
}

/* ---- each alone, and with the work ---- */

#define VARIANT(name, before, after)                                \
	static __attribute__((noinline)) void name##_alone(long nr) \
	{                                                           \
		for (long i = 0; i < nr; i++) {                     \
			before;                                     \
			__asm__ volatile("" ::: "memory");          \
			after;                                      \
		}                                                   \
	}                                                           \
	static __attribute__((noinline)) void name##_work(long nr)  \
	{                                                           \
		for (long i = 0; i < nr; i++) {                     \
			before;                                     \
			work();                                     \
			after;                                      \
		}                                                   \
	}

VARIANT(baseline, do_nothing(), do_nothing())
VARIANT(local_cas, cas_local(), do_nothing())
VARIANT(sync_cas, cas_sync(), do_nothing())
VARIANT(local_add, add_local(), do_nothing())
VARIANT(sync_add, add_sync(), do_nothing())
VARIANT(spinlock, spin_lock(), spin_unlock())
VARIANT(signals, signals_off(), signals_back())
VARIANT(mask, signals_off(), do_nothing())
VARIANT(unmask, do_nothing(), signals_back())
VARIANT(spinlock_signals, spin_lock_signals(), spin_unlock_signals())

static __attribute__((noinline)) void seqlock_alone(long nr)
{
	for (long i = 0; i < nr; i++)
		while (seq_retry(seq_begin()))
			;
}

static __attribute__((noinline)) void seqlock_work(long nr)
{
	for (long i = 0; i < nr; i++) {
		uint32_t begin;

		do {
			begin = seq_begin();
			work();
		} while (seq_retry(begin));
	}
}

#ifdef HAVE_URCU
VARIANT(rcu_read, urcu_memb_read_lock(), urcu_memb_read_unlock())
#endif

#define BOTH(op)                                                \
	{ .name = #op "_alone", .run = op##_alone, .nr = NR },  \
	{                                                       \
		.name = #op "_work", .run = op##_work, .nr = NR \
	}

static struct measure_variant variants[] = {
	BOTH(baseline),  BOTH(local_cas),        BOTH(sync_cas),
	BOTH(local_add), BOTH(sync_add),         BOTH(spinlock),
	BOTH(seqlock),   BOTH(signals),          BOTH(mask),
	BOTH(unmask),    BOTH(spinlock_signals),
#ifdef HAVE_URCU
	BOTH(rcu_read),
#endif
};

int main(void)
{
	size_t nr = sizeof(variants) / sizeof(variants[0]);

#ifdef HAVE_URCU
	urcu_memb_register_thread();
#endif
	(void)sigfillset(&all_signals);
	measure_all(variants, nr);
	measure_print("", variants, nr);
	return 0;
}

#else
int main(void)
{
	(void)fputs("primitives: of x86-64 only\n", stderr);
	return 77;
}
#endif
