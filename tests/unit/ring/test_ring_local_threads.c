/* SPDX-License-Identifier: MIT */
/*
 * test_ring_local_threads.c - the kernel's ring with a reader on another CPU,
 * and with signals for interrupts.
 *
 * A signal handler that traces is exactly a nested writer: it runs on its
 * thread, between any two instructions, to its end. (Should the scheduler move
 * the thread to another CPU, the ring goes with it.) Three timers with three
 * signals that don't block one another nest three deep. Under TSan the reader
 * tells whether what is published is ordered; signals are left out there, for it
 * delivers them late.
 *
 * How much is nested depends on the machine; so the tests go on until enough
 * has been.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "records.h"
#include "unit.h"

static uint64_t unit_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can't fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether a signal's handler runs: else the writer is the thread itself. Told
 * where there are signals only: what a writer that is alone tells the reader
 * orders all that was before, too, and TSan is to see whether commits do. */
static volatile sig_atomic_t nr_handlers;
static bool is_told;
#define SONDE_LOCAL_IS_ALONE(ring)  ((void)(ring), is_told && !nr_handlers)
#define SONDE_LOCAL_EPOCH(ring)     ((void)(ring), 0u)
#define SONDE_LOCAL_NOW(ring)       ((void)(ring), unit_now())
#define SONDE_LOCAL_TESTPOINT(name) ((void)0)
/* It is made to be included. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "ring/local.c"

#define SIZE      256u
#define NR_MAX    64u
#define LEVELS    4u
#define RECORD_ID 9u
/* In the payload: level, number of the event at its level, then fill. */
#define PAYLOAD_MIN 10u
#define EVENTS_MIN  50000u
#define NESTED_MIN  2000u
#define TIMER_NS    50000

struct reader {
	uint64_t time;
	uint64_t seq;
	uint32_t offset;
	uint64_t next[LEVELS]; /* at least that is the next event's number */
	uint64_t nr;
	uint64_t nr_bad;
	bool is_lossless;
};

static struct {
	struct sonde_local_ring ring;
	struct sonde_local_subbuf subbufs[NR_MAX];
	unsigned char data[(NR_MAX + 1) * SIZE];
	/* the writers', each its level's; read when they have stopped */
	uint64_t emitted[LEVELS];
	uint64_t lost[LEVELS];
	struct reader reader;
	uint32_t is_stopped;
} w;

static void emit(uint32_t level)
{
	uint64_t nr = w.emitted[level]++;
	uint32_t size = PAYLOAD_MIN + (uint32_t)(nr % 23);
	struct sonde_local_place place;
	unsigned char *at =
		sonde_local_reserve(&w.ring, RECORD_ID, level, size, &place);

	if (!at) {
		w.lost[level]++;
		return;
	}
	at[0] = (unsigned char)level;
	at[1] = (unsigned char)size;
	__builtin_memcpy(at + 2, &nr, 8);
	for (uint32_t i = PAYLOAD_MIN; i < size; i++)
		at[i] = (unsigned char)(nr + i);
	sonde_local_commit(&w.ring, &place);
}

/* cmocka's assertions belong to one thread, so what is wrong is counted. */
static const unsigned char *check_record(struct reader *r,
					 const unsigned char *p)
{
	struct record record = record_read(p, SONDE_LARGE, r->time);
	const unsigned char *payload = record.payload + 4;
	uint32_t level = payload[0] % LEVELS;
	uint32_t size = payload[1];
	uint64_t nr = record_uint(payload + 2, 8);

	r->nr_bad += record.id != RECORD_ID || record.time < r->time;
	r->nr_bad += record_uint(record.payload, 4) != payload[0];
	r->nr_bad += size != PAYLOAD_MIN + nr % 23 || nr < r->next[level];
	r->nr_bad += r->is_lossless && nr != r->next[level];
	for (uint32_t i = PAYLOAD_MIN; i < size; i++)
		r->nr_bad += payload[i] != (unsigned char)(nr + i);
	r->time = record.time;
	r->next[level] = nr + 1;
	return payload + (size < PAYLOAD_MIN ? PAYLOAD_MIN : size);
}

static bool read_one(struct reader *r)
{
	struct sonde_local_chunk chunk;
	const unsigned char *p;
	const unsigned char *end;
	uint64_t nr = 0;

	if (!sonde_local_get(&w.ring, &chunk))
		return false;
	p = w.data + (size_t)chunk.memory * SIZE + chunk.offset;
	end = p + chunk.size;
	if (chunk.first) {
		r->nr_bad += chunk.ts_begin < r->time;
		r->time = chunk.ts_begin;
	}
	for (; p < end; nr++)
		p = check_record(r, p);
	r->nr_bad += p != end || nr != chunk.events || chunk.seq < r->seq;
	r->nr_bad += chunk.offset != r->offset;
	r->nr += nr;
	r->seq = chunk.seq + chunk.closed;
	r->offset = chunk.closed ? 0 : chunk.offset + chunk.size;
	if (chunk.closed) {
		r->nr_bad += chunk.ts_end < r->time;
		r->time = chunk.ts_end;
	}
	r->nr_bad += !sonde_local_put(&w.ring, &chunk);
	return true;
}

static void *read_all(void *arg)
{
	(void)arg;
	/* Pairs with sonde_store_release in stop: what was written before is
	 * read. */
	while (!sonde_load_acquire(&w.is_stopped))
		while (read_one(&w.reader))
			continue;
	return NULL;
}

/* In the last test a ring is never more than half full, and a few events. */
static bool has_room(void)
{
	return w.ring.pos - w.ring.read_pos < NR_MAX / 2 * SIZE;
}

static void on_signal(int number)
{
	if (w.reader.is_lossless && !has_room())
		return;
	nr_handlers++;
	for (uint32_t i = 0; i < 3; i++)
		emit((uint32_t)(number - SIGRTMIN) + 1);
	nr_handlers--;
}

static timer_t start_timer(int number)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = number,
	};
	struct itimerspec often = {
		.it_interval = { .tv_nsec =
					 TIMER_NS + 977 * (number - SIGRTMIN) },
		.it_value = { .tv_nsec = TIMER_NS },
	};
	timer_t timer;

	/* A signal is not interrupted by itself: its events have numbers. */
	(void)sigemptyset(&action.sa_mask);
	(void)sigaddset(&action.sa_mask, number);
	assert_int_equal(sigaction(number, &action, NULL), 0);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

static uint64_t sum(const uint64_t *of)
{
	return of[0] + of[1] + of[2] + of[3];
}

/* Emits until enough has been, and enough of it nested. */
static void write_all(bool is_nested)
{
	timer_t timers[LEVELS - 1];
	volatile uint64_t *emitted = w.emitted;

	if (is_nested)
		for (int i = 0; i < (int)LEVELS - 1; i++)
			timers[i] = start_timer(SIGRTMIN + i);
	while (emitted[0] < EVENTS_MIN ||
	       (is_nested &&
		(emitted[1] < NESTED_MIN || emitted[2] < NESTED_MIN ||
		 emitted[3] < NESTED_MIN)))
		emit(0);
	if (is_nested)
		for (int i = 0; i < (int)LEVELS - 1; i++)
			assert_int_equal(timer_delete(timers[i]), 0);
}

static void stop(pthread_t thread)
{
	/* Pairs with sonde_load_acquire in read_all: all records. */
	sonde_store_release(&w.is_stopped, 1u);
	assert_int_equal(pthread_join(thread, NULL), 0);
	sonde_local_flush(&w.ring);
	while (read_one(&w.reader))
		continue;
}

static void begin(enum sonde_ring_mode mode, uint32_t nr_subbufs)
{
	/* Bytes and events overflow on the way. */
	uint64_t start = ((1ull << 40) - 8ull * SIZE) * nr_subbufs;

	memset(&w, 0, sizeof(w));
	sonde_local_init(&w.ring, w.data, w.subbufs, SIZE, nr_subbufs, mode,
			 start);
	for (uint32_t i = 0; i < nr_subbufs; i++)
		w.subbufs[i].commit += ((1ull << 24) - 100)
				       << SONDE_LOCAL_COMMIT_BITS;
}

static void check_account(void)
{
	const struct sonde_local_ring *ring = &w.ring;

	assert_int_equal(w.reader.nr_bad, 0);
	assert_int_equal(w.reader.nr, ring->delivered);
	assert_int_equal(sum(w.lost), sonde_local_discarded(ring));
	assert_int_equal(ring->lost_size, 0);
	assert_int_equal(sum(w.emitted),
			 ring->delivered + ring->overwritten + sum(w.lost));
}

static void run_both(enum sonde_ring_mode mode, uint32_t nr_subbufs,
		     bool is_nested)
{
	sigset_t all;
	sigset_t before;
	pthread_t thread;

	begin(mode, nr_subbufs);
	is_told = is_nested;
	/* The reader's CPU has no interrupts of ours. */
	(void)sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_all, NULL), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	write_all(is_nested);
	stop(thread);
	check_account();
}

static void a_reader_beside_gets_what_is_not_discarded(void **state)
{
	(void)state;
	run_both(SONDE_DISCARD, 4, false);
	assert_int_equal(w.ring.overwritten, 0);
}

static void a_reader_beside_gets_what_is_not_overwritten(void **state)
{
	(void)state;
	run_both(SONDE_OVERWRITE, 4, false);
	assert_int_equal(sum(w.lost), 0);
}

#ifndef SONDE_LOCAL_PORTABLE
static void the_smallest_ring_is_exchanged_under_load(void **state)
{
	(void)state;
	run_both(SONDE_OVERWRITE, 2, true);
	assert_int_equal(w.ring.lost_full, 0);
}

static void signals_nest_while_a_reader_takes(void **state)
{
	(void)state;
	run_both(SONDE_OVERWRITE, 16, true);
	assert_int_equal(w.ring.lost_full, 0);
}

static void signals_nest_while_a_reader_follows(void **state)
{
	(void)state;
	run_both(SONDE_DISCARD, 16, true);
	assert_int_equal(w.ring.overwritten, 0);
}

/* The writer itself reads now and then, so that the ring is never full, and
 * only a false alarm can lose an event. */
static void nothing_is_lost_to_signals_where_there_is_room(void **state)
{
	timer_t timers[LEVELS - 1];
	sigset_t all;
	sigset_t before;
	volatile uint64_t *emitted = w.emitted;

	(void)state;
	begin(SONDE_DISCARD, NR_MAX);
	w.reader.is_lossless = true;
	(void)sigfillset(&all);
	for (int i = 0; i < (int)LEVELS - 1; i++)
		timers[i] = start_timer(SIGRTMIN + i);
	while (emitted[1] < NESTED_MIN || emitted[2] < NESTED_MIN ||
	       emitted[3] < NESTED_MIN) {
		emit(0);
		if (has_room())
			continue;
		assert_int_equal(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
		while (read_one(&w.reader))
			continue;
		assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL),
				 0);
	}
	for (int i = 0; i < (int)LEVELS - 1; i++)
		assert_int_equal(timer_delete(timers[i]), 0);
	sonde_local_flush(&w.ring);
	while (read_one(&w.reader))
		continue;
	check_account();
	assert_int_equal(sum(w.lost), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_beside_gets_what_is_not_discarded),
		cmocka_unit_test(a_reader_beside_gets_what_is_not_overwritten),
#ifndef SONDE_LOCAL_PORTABLE
		cmocka_unit_test(the_smallest_ring_is_exchanged_under_load),
		cmocka_unit_test(signals_nest_while_a_reader_takes),
		cmocka_unit_test(signals_nest_while_a_reader_follows),
		cmocka_unit_test(
			nothing_is_lost_to_signals_where_there_is_room),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
