/* SPDX-License-Identifier: MIT */
/*
 * counters.c - the calling thread's counters of the CPU's (counters.h).
 *
 * A thread has its pages in a variable of its own; no descriptor stays open, as the
 * page holds the counter. What may go wrong with that, and mustn't:
 *
 *  - A child of fork has the variable and not the pages. It knows by a page that the
 *    kernel wipes for it (MADV_WIPEONFORK), so no way to fork is missed.
 *  - A child of vfork has its parent's variable, and would open counters of its own
 *    there: only who is the thread that the variable is of opens any.
 *  - A signal handler's event may come between any two steps: what is half made is in
 *    no variable, and who is second throws away what he made.
 *  - An event may come when the thread's end has unmapped the pages: it has none, and
 *    makes none again.
 *
 * The thread's end is told by a key of thread-specific data. glibc keeps the first
 * KEYS_IN_PLACE without allocating: there are no counters where these are taken.
 */
#include "tracer/counters.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/counter.h"
#include "tracer/calls.h"
#include "tracer/self.h"

#define KEYS_IN_PLACE 32u
#define WIPED_BYTES   4096u

_Static_assert(SONDE_CONTEXT_BRANCH_MISSES - SONDE_CONTEXT_CYCLES ==
		       SONDE_COUNTER_BRANCH_MISSES - SONDE_COUNTER_CYCLES,
	       "they are in the same order");

struct own_counters {
	const struct perf_event_mmap_page *pages[SONDE_COUNTERS];
	uint32_t tried; /* bits of enum sonde_counter */
	bool has_ended;
};

static __thread struct own_counters own
	__attribute__((tls_model("initial-exec")));

static uint32_t *is_here; /* what it points to is 0 in a child of fork */
static uint32_t end_key;  /* the key, and 1; 0: there is none */

/* ---- what the CPU has ---- */

#ifdef __aarch64__

#define CYCLE_COUNTER 31u

#define READ_EVENT(n)                                                         \
	case n:                                                               \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
		break
#define READ_FIVE(a, b, c, d, e) \
	READ_EVENT(a);           \
	READ_EVENT(b);           \
	READ_EVENT(c);           \
	READ_EVENT(d);           \
	READ_EVENT(e)

static bool cpu_counter(uint32_t number, uint64_t *ret_bits)
{
	uint64_t value;

	switch (number) {
		READ_FIVE(0, 1, 2, 3, 4);
		READ_FIVE(5, 6, 7, 8, 9);
		READ_FIVE(10, 11, 12, 13, 14);
		READ_FIVE(15, 16, 17, 18, 19);
		READ_FIVE(20, 21, 22, 23, 24);
		READ_FIVE(25, 26, 27, 28, 29);
		READ_EVENT(30);
	case CYCLE_COUNTER:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
	default:
		return false;
	}
	*ret_bits = value;
	return true;
}

#elif defined(__x86_64__) || defined(__i386__)

static bool cpu_counter(uint32_t number, uint64_t *ret_bits)
{
	*ret_bits = (uint64_t)__builtin_ia32_rdpmc((int)number);
	return true;
}

#else

/* No page says that it can be read. */
static bool cpu_counter(uint32_t number, uint64_t *ret_bits)
{
	(void)number;
	(void)ret_bits;
	return false;
}

#endif

/* ---- which thread, which process ---- */

/* Of this process; a child of fork forgets what its parent had. */
static bool is_at_home(void)
{
	/* Pairs with the exchange in mark_the_process: it is 1. */
	uint32_t *page = sonde_load_acquire(&is_here);

	if (sonde_unlikely(page && !*page)) {
		own = (struct own_counters){ .tried = 0 };
		sonde_self_forked(); /* by _Fork(), too, which calls no handlers */
		sonde_self_learn();
		sonde_barrier();
		*page = 1;
	}
	return !own.has_ended;
}

static bool mark_the_process(void)
{
	uint32_t *none = NULL;
	uint32_t *page;

	if (sonde_load_relaxed(&is_here))
		return true;
	page = mmap(NULL, WIPED_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	*page = 1;
	/* Pairs with sonde_load_acquire in is_at_home: it is 1. */
	if (!madvise(page, WIPED_BYTES, MADV_WIPEONFORK) &&
	    __atomic_compare_exchange_n(&is_here, &none, page, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	(void)munmap(page, WIPED_BYTES);
	return sonde_load_relaxed(&is_here);
}

/* ---- its end ---- */

static void end_thread(void *unused)
{
	(void)unused;
	own.has_ended = true;
	sonde_barrier(); /* a signal handler's event reads none of them */
	for (uint32_t i = 0; i < SONDE_COUNTERS; i++)
		if (own.pages[i])
			sonde_counter_unmap(own.pages[i]);
}

static bool hear_of_the_end(void)
{
	uint32_t known = sonde_load_relaxed(&end_key);
	pthread_key_t key;

	if (!known) {
		if (pthread_key_create(&key, end_thread))
			return false;
		if (!__atomic_compare_exchange_n(
			    &end_key, &known, (uint32_t)key + 1, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			(void)pthread_key_delete(key);
		known = sonde_load_relaxed(&end_key);
	}
	return known <= KEYS_IN_PLACE && !pthread_setspecific(known - 1, &own);
}

/* ---- opening ---- */

static const struct perf_event_mmap_page *open_page(enum sonde_counter which)
{
	const struct perf_event_mmap_page *page;
	int fd = sonde_counter_open(which);

	if (fd < 0)
		return NULL;
	page = sonde_counter_map(fd);
	(void)close(fd); /* the page has it */
	if (page && !sonde_counter_is_readable(page)) {
		sonde_counter_unmap(page);
		return NULL;
	}
	return page;
}

/* Whether the thread has it. */
static bool have_counter(enum sonde_counter which)
{
	const struct perf_event_mmap_page *page = open_page(which);
	const struct perf_event_mmap_page *none = NULL;

	/* A signal handler may have been faster. */
	if (page &&
	    !__atomic_compare_exchange_n(&own.pages[which], &none, page, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		sonde_counter_unmap(page);
	return own.pages[which];
}

static void open_counters(uint32_t missing)
{
	struct sonde_arena *header = (void *)sonde_arena;
	bool may = sonde_calls_allowed();
	uint32_t nr_failed = 0;

	if (!sonde_self_is_known())
		sonde_self_learn();
	/* In a child of vfork it is its parent. */
	if (may && (syscall(SYS_getpid) != sonde_self.pid ||
		    syscall(SYS_gettid) != sonde_self.tid))
		return;
	may = may && mark_the_process() && hear_of_the_end();
	for (uint32_t i = 0; i < SONDE_COUNTERS; i++)
		if (missing >> i & 1 &&
		    !(may && have_counter((enum sonde_counter)i)))
			nr_failed++;
	own.tried |= missing;
	if (nr_failed && header)
		(void)sonde_add_relaxed(&header->nr_uncounted, 1);
}

void sonde_tracer_counters(uint32_t wanted, uint64_t values[SONDE_CONTEXTS])
{
	uint32_t counters =
		wanted >> SONDE_CONTEXT_CYCLES & ((1u << SONDE_COUNTERS) - 1);

	if (!is_at_home())
		return;
	if (sonde_unlikely(counters & ~own.tried))
		open_counters(counters & ~own.tried);
	for (uint32_t i = 0; i < SONDE_COUNTERS; i++)
		if (counters >> i & 1 && own.pages[i])
			values[SONDE_CONTEXT_CYCLES + i] =
				sonde_counter_value(own.pages[i], cpu_counter);
}
