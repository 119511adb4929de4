/* SPDX-License-Identifier: MIT */
/*
 * accounting.c - emitted = recorded + discarded, to the last event.
 *
 *	accounting THREADS EVENTS [SUBBUF_SIZE [NR_SUBBUFS]]
 *
 * Each thread emits its number and a sequence number, by turns as a word, as a
 * block and in parts with a string. The program reads its own rings meanwhile,
 * in discard mode, and checks each record: whole, of the thread its context
 * record names, in order. Statically linked it runs where there is nothing
 * else: docs/aarch64.md.
 *
 * The last line says what was counted and by which kind of writer; the exit
 * status is 0 if all is accounted for.
 */
#include <pthread.h>

#include <sonde/abi.h>

#include "inprocess.h"
#include "ring/control.h"

#define THREADS_MAX  64u
#define RINGS_MAX    512u
#define CONTEXT_SIZE (SONDE_HEAD_COMPACT_FULL + 8u)
#define BLOCK_SIZE   40u

enum {
	ID_WORD = 1,
	ID_BLOCK = 2,
	ID_PARTS = 3
};

struct lane_reader {
	struct sonde_ring_reader reader;
	uint32_t tid; /* of the last context record; 0: none yet */
};

static struct inprocess session;
static uint32_t nr_threads;
static uint32_t nr_events;
static uint32_t done;
static uint32_t tids[THREADS_MAX];
static struct lane_reader readers[RINGS_MAX];
static uint64_t recorded;
static uint64_t wrong;
static const char text[] = "a string of forty-one characters, no more";

/* Ids are states where there is a fast path; without rseq there is none. */
static uint32_t state_of(uint32_t id)
{
	const struct sonde_arena *arena = (const void *)session.arena;

	return arena->writer == SONDE_WRITER_RSEQ ? id :
						    id | SONDE_STATE_GENERIC;
}

static void emit(uint64_t value, uint32_t turn)
{
	unsigned char block[BLOCK_SIZE] = { 0 };
	const struct sonde_part parts[2] = {
		{ &value, sizeof(value), 0 },
		{ text, sizeof(text) - 1, SONDE_PART_STRING },
	};

	if (turn == 0) {
		sonde_emit_word(state_of(ID_WORD), value, SONDE_INC(8));
	} else if (turn == 1) {
		memcpy(block, &value, sizeof(value));
		memset(block + 8, 0x5a, sizeof(block) - 8);
		sonde_emit_block(state_of(ID_BLOCK), block,
				 SONDE_INC(BLOCK_SIZE));
	} else {
		sonde_emit_parts(state_of(ID_PARTS), parts, 2);
	}
}

static void *run(void *arg)
{
	uint32_t *tid = arg;
	uint64_t thread = (uint64_t)(tid - tids);

	sonde_store_relaxed(tid, (uint32_t)gettid());
	for (uint32_t i = 0; i < nr_events; i++)
		emit(thread << 32 | i, i % 3);
	__atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Size of the record's payload after its first eight bytes; 0 if it is bad. */
static uint32_t check_rest(const unsigned char *rest, uint32_t id)
{
	if (id == ID_BLOCK) {
		for (uint32_t i = 0; i < BLOCK_SIZE - 8; i++)
			wrong += rest[i] != 0x5a;
		return BLOCK_SIZE - 8;
	}
	if (id == ID_PARTS) {
		wrong += memcmp(rest, text, sizeof(text)) != 0;
		return sizeof(text);
	}
	wrong += id != ID_WORD;
	return 0;
}

static uint32_t check_record(struct lane_reader *r, const unsigned char *p)
{
	static uint32_t next[THREADS_MAX][RINGS_MAX];
	uint32_t id = *p & 31u;
	uint64_t value;
	uint64_t thread;
	uint32_t *least;

	if (id == SONDE_COMPACT_ESCAPE) {
		memcpy(&r->tid, p + SONDE_HEAD_COMPACT_FULL, 4);
		return CONTEXT_SIZE;
	}
	memcpy(&value, p + SONDE_HEAD_COMPACT, sizeof(value));
	thread = value >> 32;
	recorded++;
	if (thread >= nr_threads || tids[thread] != r->tid) {
		wrong++;
	} else {
		least = &next[thread][r - readers];
		wrong += (uint32_t)value < *least;
		*least = (uint32_t)value + 1;
	}
	return SONDE_HEAD_COMPACT + 8 +
	       check_rest(p + SONDE_HEAD_COMPACT + 8, id);
}

/* True if there was anything. */
static bool read_ring(struct lane_reader *r)
{
	struct sonde_ring_chunk chunk;
	bool any = false;
	int rc;

	while ((rc = sonde_ring_peek(&r->reader, &chunk)) == 1) {
		uint32_t at = 0;

		any = true;
		if (chunk.first)
			r->tid = 0;
		while (at < chunk.size)
			at += check_record(r, chunk.data + at);
		wrong += at != chunk.size;
		sonde_ring_advance(&r->reader, &chunk);
	}
	wrong += rc != 0;
	sonde_ring_release(&r->reader);
	return any;
}

static bool read_all(void)
{
	bool any = false;

	for (uint32_t i = 0; i < session.nr_rings; i++)
		any |= read_ring(&readers[i]);
	return any;
}

static int report(void)
{
	const struct sonde_arena *arena = (const void *)session.arena;
	uint64_t emitted = (uint64_t)nr_threads * nr_events;
	uint64_t lost = session.slot->lost_contended;
	uint64_t committed = 0;
	uint64_t in_lanes = 0;
	bool right;

	for (uint32_t i = 0; i < session.nr_rings; i++) {
		struct sonde_ring_totals totals;

		wrong += sonde_ring_count(&readers[i].reader, &totals) != 0;
		committed += totals.committed;
		lost += totals.discarded_full + totals.discarded_size;
		if (i >= session.slot->nr_cpus)
			in_lanes += totals.committed;
	}
	right = !wrong && recorded == committed && recorded + lost == emitted;
	printf("%s: emitted %llu recorded %llu discarded %llu in lanes %llu "
	       "wrong %llu writer %s\n",
	       right ? "ok" : "FAIL", (unsigned long long)emitted,
	       (unsigned long long)recorded, (unsigned long long)lost,
	       (unsigned long long)in_lanes, (unsigned long long)wrong,
	       arena->writer == SONDE_WRITER_RSEQ ? "rseq" : "lanes");
	return !right;
}

static uint32_t number(int argc, char **argv, int i, uint32_t otherwise)
{
	return i < argc ? (uint32_t)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX] = { 0 };

	nr_threads = number(argc, argv, 1, 4);
	nr_events = number(argc, argv, 2, 100000);
	if (nr_threads > THREADS_MAX)
		return 2;
	inprocess_start(&session, SONDE_DISCARD, SONDE_COMPACT,
			number(argc, argv, 3, 4096), number(argc, argv, 4, 8));
	if (session.nr_rings > RINGS_MAX)
		return 2;
	for (uint32_t id = ID_WORD; id <= ID_PARTS; id++)
		session.slot->ids[id] = (uint16_t)id;
	for (uint32_t i = 0; i < session.nr_rings; i++)
		inprocess_reader(&session, i, &readers[i].reader);
	for (uint32_t i = 0; i < nr_threads; i++) {
		if (pthread_create(&threads[i], NULL, run, &tids[i]))
			inprocess_fail("pthread_create");
	}
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < nr_threads)
		(void)read_all();
	for (uint32_t i = 0; i < nr_threads; i++)
		(void)pthread_join(threads[i], NULL);
	while (read_all())
		continue;
	return report();
}
