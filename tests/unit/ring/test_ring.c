/* SPDX-License-Identifier: MIT */
/*
 * test_ring.c - writer and reader of one slot, in one process, without
 * libsonde. Sub-buffers are as small as they may be, to give bugs a chance.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/rseq.h>

#include "clock/clock.h"
#include "records.h"
#include "ring/reader.h"
#include "ring/writer.h"
#include "unit.h"

#define NR_CPUS   64u
#define NR_LANES  4u
#define RECORD_ID 5u

struct fixture {
	struct sonde_slot slot;
	struct sonde_ring *rings;
	unsigned char *data;
	struct sonde_self self;
	void *rseq;
};

static uint64_t cpu_clock(void)
{
	return sonde_clock_cpu();
}

static void setup(struct fixture *f, uint32_t mode, uint32_t header,
		  uint32_t subbuf_size, uint32_t nr_subbufs)
{
	size_t nr = NR_CPUS + NR_LANES;

	*f = (struct fixture){
		.slot = { .mode = mode,
			  .header = header,
			  .nr_cpus = NR_CPUS,
			  .nr_lanes = NR_LANES,
			  .subbuf_size = subbuf_size,
			  .nr_subbufs = nr_subbufs },
		.self = { .key = 77ull << 32, .tid = 77, .pid = 7 },
	};
	f->rings = aligned_alloc(128, nr * sizeof(*f->rings));
	f->data = calloc(nr, (size_t)subbuf_size * nr_subbufs);
	assert_non_null(f->rings);
	assert_non_null(f->data);
	memset(f->rings, 0, nr * sizeof(*f->rings));
	for (size_t i = 0; i < nr; i++)
		f->rings[i].limit = nr_subbufs;
	if (__rseq_size && sonde_rseq_supported)
		f->rseq = (char *)__builtin_thread_pointer() + __rseq_offset;
}

static void teardown(struct fixture *f)
{
	free(f->rings);
	free(f->data);
}

static void append_as(struct fixture *f, const struct sonde_self *self,
		      void *rseq, const struct sonde_part *payload)
{
	struct sonde_part parts[2] = { [1] = *payload };
	struct sonde_append a = {
		.slot = &f->slot,
		.ctl = (unsigned char *)f->rings,
		.data = f->data,
		.self = self,
		.rseq = rseq,
		.clock = cpu_clock,
		.id = RECORD_ID,
		.nr_parts = 2,
		.size = payload->size + (payload->flags & SONDE_PART_STRING),
		.parts = parts,
	};

	sonde_writer_append(&a);
}

static void check_rings(const struct fixture *f)
{
	size_t span = (size_t)f->slot.subbuf_size * f->slot.nr_subbufs;

	for (size_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		const char *wrong = sonde_ring_check(&f->slot, &f->rings[i],
						     f->data + i * span);

		if (wrong)
			fail_msg("ring %zu: %s", i, wrong);
	}
}

static void append(struct fixture *f, const void *data, uint32_t size,
		   uint32_t flags)
{
	struct sonde_part payload = { data, size, flags };

	append_as(f, &f->self, f->rseq, &payload);
	check_rings(f);
}

static void reader_of(const struct fixture *f, uint32_t i,
		      struct sonde_ring_reader *ret_reader)
{
	size_t span = (size_t)f->slot.subbuf_size * f->slot.nr_subbufs;

	sonde_ring_reader_init(ret_reader, &f->rings[i], f->data + i * span,
			       f->slot.subbuf_size, f->slot.nr_subbufs);
}

static struct sonde_ring_totals totals(const struct fixture *f)
{
	struct sonde_ring_totals sum = { 0 };

	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		struct sonde_ring_totals one;
		struct sonde_ring_reader reader;

		reader_of(f, i, &reader);
		assert_int_equal(sonde_ring_count(&reader, &one), 0);
		sum.committed += one.committed;
		sum.discarded_full += one.discarded_full;
		sum.discarded_size += one.discarded_size;
	}
	return sum;
}

/*
 * Reads all rings from their cursors to their ends, checks headers, times and
 * that each sub-buffer starts with a context record; `size_of` gives a
 * record's payload. Returns the number of events seen.
 */
typedef uint32_t (*size_fn)(const unsigned char *payload);

static uint64_t walk_chunk(const struct fixture *f,
			   const struct sonde_ring_chunk *chunk,
			   size_fn size_of, uint64_t *time)
{
	const unsigned char *p = chunk->data;
	uint64_t nr = 0;

	if (chunk->first)
		*time = chunk->ts_begin;
	while (p < chunk->data + chunk->size) {
		struct record r = record_read(p, f->slot.header, *time);

		assert_true(r.time >= *time);
		*time = r.time;
		if (p == chunk->data && chunk->first)
			assert_int_equal(r.id, SONDE_CONTEXT_ID);
		if (r.id == SONDE_CONTEXT_ID) {
			assert_int_equal(record_uint(r.payload, 4), 77);
			p = r.payload + 8;
			continue;
		}
		assert_int_equal(r.id, RECORD_ID);
		p = r.payload + size_of(r.payload);
		nr++;
	}
	assert_ptr_equal(p, chunk->data + chunk->size);
	if (chunk->closed)
		assert_true(chunk->ts_end >= *time);
	return nr;
}

static uint64_t walk(const struct fixture *f, size_fn size_of)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		struct sonde_ring_reader reader;
		struct sonde_ring_chunk chunk;
		uint64_t before = 0;
		uint64_t time = 0;
		int rc;

		reader_of(f, i, &reader);
		if (f->slot.mode == SONDE_OVERWRITE)
			assert_true(sonde_ring_rewind(&reader) >= 0);
		while ((rc = sonde_ring_peek(&reader, &chunk)) == 1) {
			if (chunk.first)
				before = nr;
			nr += walk_chunk(f, &chunk, size_of, &time);
			assert_int_equal(chunk.events - chunk.events_before,
					 nr - before);
			if (f->slot.mode == SONDE_OVERWRITE)
				assert_true(sonde_ring_verify(&reader, &chunk));
			sonde_ring_advance(&reader, &chunk);
		}
		assert_int_equal(rc, 0);
	}
	return nr;
}

static uint32_t size_is_4(const unsigned char *payload)
{
	(void)payload;
	return 4;
}

/* A payload that starts with its own size. */
static uint32_t size_is_first(const unsigned char *payload)
{
	return (uint32_t)record_uint(payload, 4);
}

static void emitted_is_recorded_plus_discarded(void **state)
{
	(void)state;
	for (uint32_t header = 0; header < 2; header++) {
		struct sonde_ring_totals sum;
		struct fixture f;

		setup(&f, SONDE_DISCARD, header, SONDE_SUBBUF_MIN, 2);
		for (uint32_t i = 0; i < 5000; i++)
			append(&f, &i, 4, 0);
		sum = totals(&f);
		assert_int_equal(sum.committed + sum.discarded_full, 5000);
		assert_true(sum.discarded_full > 0);
		assert_int_equal(walk(&f, size_is_4), sum.committed);
		teardown(&f);
	}
}

static void overwritten_events_are_counted(void **state)
{
	(void)state;
	for (uint32_t header = 0; header < 2; header++) {
		struct fixture f;
		uint64_t left;

		setup(&f, SONDE_OVERWRITE, header, SONDE_SUBBUF_MIN, 4);
		for (uint32_t i = 0; i < 50000; i++)
			append(&f, &i, 4, 0);
		assert_int_equal(totals(&f).committed, 50000);
		left = walk(&f, size_is_4);
		assert_true(left > 1000 && left < 50000);
		teardown(&f);
	}
}

static void released_subbuffers_are_used_again(void **state)
{
	struct fixture f;
	uint64_t nr = 0;

	(void)state;
	setup(&f, SONDE_DISCARD, SONDE_COMPACT, SONDE_SUBBUF_MIN, 2);
	f.rseq = NULL; /* one lane: 77 % 4 */
	for (uint32_t i = 0; i < 20000; i++) {
		append(&f, &i, 4, 0);
		if (i % 100 == 0) {
			struct sonde_ring_reader reader;
			struct sonde_ring_chunk chunk;

			reader_of(&f, NR_CPUS + 77 % NR_LANES, &reader);
			reader.seq = f.rings[NR_CPUS + 1].limit - 2;
			while (sonde_ring_peek(&reader, &chunk) == 1 &&
			       chunk.closed) {
				nr += chunk.events - chunk.events_before;
				sonde_ring_advance(&reader, &chunk);
			}
			sonde_ring_release(&reader);
		}
	}
	assert_int_equal(totals(&f).committed, 20000);
	assert_int_equal(totals(&f).discarded_full, 0);
	assert_true(nr > 19000);
	teardown(&f);
}

/* Whatever is written: no further than the number says; and all again afterwards. */
static void a_narrowed_ring_is_written_no_further(void **state)
{
	const uint32_t i = NR_CPUS + 77 % NR_LANES;
	struct sonde_ring_reader reader;
	struct sonde_ring_chunk chunk;
	struct fixture f;
	uint64_t lost;

	(void)state;
	setup(&f, SONDE_DISCARD, SONDE_COMPACT, SONDE_SUBBUF_MIN, 16);
	f.rseq = NULL;
	reader_of(&f, i, &reader);
	assert_false(sonde_ring_narrow(&reader, 4)); /* nothing was read */
	for (uint32_t n = 0; n < 4000; n++)
		append(&f, &n, 4, 0);
	assert_false(sonde_ring_narrow(&reader, 4)); /* nor all */
	assert_int_equal(f.rings[i].limit, 16);
	while (sonde_ring_peek(&reader, &chunk) == 1)
		sonde_ring_advance(&reader, &chunk);
	assert_true(sonde_ring_narrow(&reader, 4));
	for (uint32_t n = 0; n < 20000; n++)
		append(&f, &n, 4, 0);
	assert_int_equal(sonde_w_seq(f.rings[i].w), reader.seq + 3);
	lost = totals(&f).discarded_full;
	assert_true(lost > 0);
	sonde_ring_release(&reader);
	for (uint32_t n = 0; n < 2000; n++)
		append(&f, &n, 4, 0);
	assert_int_equal(totals(&f).discarded_full, lost);
	teardown(&f);
}

/* How many events can be read from the oldest on. */
static uint64_t read_rest(struct sonde_ring_reader *reader)
{
	struct sonde_ring_chunk chunk;
	uint64_t nr = 0;
	uint64_t end = 0;

	if (sonde_ring_rewind(reader) == 0)
		return 0;
	while (sonde_ring_peek(reader, &chunk) == 1) {
		nr += chunk.events - (chunk.first ? chunk.events_before : end);
		end = chunk.events;
		sonde_ring_advance(reader, &chunk);
	}
	return nr;
}

static void what_was_written_before_a_seal_is_never_read(void **state)
{
	const struct sonde_part payload = { "12345678", 8, 0 };
	struct sonde_ring_reader reader;
	struct sonde_ring_reader later;
	uint64_t committed;
	struct fixture f;
	unsigned char *data;
	uint32_t lane;
	uint64_t w;

	(void)state;
	setup(&f, SONDE_OVERWRITE, SONDE_COMPACT, SONDE_SUBBUF_MIN, 4);
	lane = NR_CPUS + f.self.tid % NR_LANES;
	data = f.data + (size_t)lane * SONDE_SUBBUF_MIN * 4;
	reader_of(&f, lane, &reader);
	assert_int_equal(sonde_ring_seal(&reader, data, &committed), 0);
	append_as(&f, &f.self, NULL, &payload);
	w = f.rings[lane].w;
	assert_int_equal(sonde_ring_seal(&reader, data, &committed), 1);
	assert_int_equal(committed, 1);
	assert_int_equal(read_rest(&reader), 0);
	/* A writer that had planned a record commits it. */
	f.rings[lane].w = w + (16ull << SONDE_W_REST_SHIFT) + 1;
	assert_true(sonde_ring_is_unsealed(&reader));
	assert_int_equal(read_rest(&reader), 0);
	assert_int_equal(sonde_ring_seal(&reader, data, &committed), 1);
	assert_int_equal(committed, 2);
	assert_false(sonde_ring_is_unsealed(&reader));
	reader_of(&f, lane, &later);
	sonde_ring_inherit(&later);
	assert_int_equal(read_rest(&later), 0);
	for (uint32_t nr = 1; nr < 200; nr++) {
		append_as(&f, &f.self, NULL, &payload);
		assert_int_equal(read_rest(&reader), nr);
		reader_of(&f, lane, &later);
		sonde_ring_inherit(&later);
		assert_int_equal(read_rest(&later), nr);
	}
	assert_int_equal(totals(&f).committed, 201);
	teardown(&f);
}

/* Takes what there is, which is one chunk; whether it begins anew. */
static bool take_all(struct sonde_ring_reader *reader,
		     enum sonde_header_kind kind, uint64_t *ret_time)
{
	struct sonde_ring_chunk chunk;
	bool anew;

	assert_int_equal(sonde_ring_peek(reader, &chunk), 1);
	anew = sonde_ring_begins_anew(&chunk, kind, ret_time);
	sonde_ring_advance(reader, &chunk);
	return anew;
}

static void what_follows_a_parting_can_be_read_alone(void **state)
{
	const struct sonde_part payload = { "12345678", 8, 0 };

	(void)state;
	for (uint32_t kind = SONDE_COMPACT; kind <= SONDE_LARGE; kind++) {
		struct sonde_ring_reader reader;
		struct fixture f;
		uint64_t first;
		uint64_t time;
		uint32_t lane;

		setup(&f, SONDE_DISCARD, kind, SONDE_SUBBUF_MIN, 4);
		lane = NR_CPUS + f.self.tid % NR_LANES;
		reader_of(&f, lane, &reader);
		assert_true(sonde_ring_is_parted(&reader));
		append_as(&f, &f.self, NULL, &payload);
		assert_true(take_all(&reader, kind, &first));
		assert_false(sonde_ring_is_parted(&reader));
		append_as(&f, &f.self, NULL, &payload);
		assert_false(take_all(&reader, kind, &time));
		sonde_ring_part(&reader);
		assert_true(sonde_ring_is_parted(&reader));
		f.rings[lane].lock = 1; /* somebody is in the middle of one */
		assert_false(sonde_ring_is_parted(&reader));
		f.rings[lane].lock = 0;
		append_as(&f, &f.self, NULL, &payload);
		assert_false(sonde_ring_is_parted(&reader));
		assert_true(take_all(&reader, kind, &time));
		assert_true(time > first);
		assert_int_equal(totals(&f).committed, 3);
		teardown(&f);
	}
}

static void every_size_up_to_the_limit_is_recorded(void **state)
{
	enum {
		SUBBUF = 8192
	};
	static unsigned char payload[2 * SUBBUF];
	struct sonde_ring_totals sum;
	struct fixture f;
	uint32_t largest = SUBBUF - SONDE_SUBBUF_SLACK - SONDE_SUBBUF_HEAD -
			   14 - 8 - 1 - 4;

	(void)state;
	setup(&f, SONDE_DISCARD, SONDE_COMPACT, SUBBUF, 1024);
	for (uint32_t n = 4; n <= largest; n++) {
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		memcpy(payload, &n, 4); /* no text */
		append(&f, payload, n, 0);
	}
	assert_int_equal(totals(&f).discarded_size, 0);
	append(&f, payload, largest + 1, 0);
	append(&f, payload, sizeof(payload), 0);
	sum = totals(&f);
	assert_int_equal(sum.discarded_size, 2);
	assert_int_equal(sum.committed + sum.discarded_full, largest - 3);
	assert_int_equal(walk(&f, size_is_first), sum.committed);
	teardown(&f);
}

/* Whatever the ring is like when it comes: not opened, open, full. */
static void a_record_too_large_leaves_a_ring_to_others(void **state)
{
	static const unsigned char payload[2 * SONDE_SUBBUF_MIN] = { 4 };
	struct sonde_ring_totals sum;
	struct fixture f;
	uint64_t nr = 0;

	(void)state;
	setup(&f, SONDE_DISCARD, SONDE_COMPACT, SONDE_SUBBUF_MIN, 4);
	for (uint32_t i = 0; i < 3 * SONDE_SUBBUF_MIN / 8; i++) {
		append(&f, payload, sizeof(payload), 0);
		append(&f, payload, 4, 0);
		nr++;
	}
	sum = totals(&f);
	assert_int_equal(sum.discarded_size, nr);
	assert_int_equal(sum.committed, nr);
	assert_int_equal(walk(&f, size_is_first), nr);
	check_rings(&f);
	teardown(&f);
}

static void sequence_numbers_wrap_unnoticed(void **state)
{
	struct fixture f;
	struct sonde_ring *ring;
	struct sonde_subbuf *head;
	uint64_t seq = (3ull << 20) - 2;

	(void)state;
	setup(&f, SONDE_OVERWRITE, SONDE_COMPACT, SONDE_SUBBUF_MIN, 4);
	f.rseq = NULL;
	ring = &f.rings[NR_CPUS + 77 % NR_LANES];
	head = (void *)(f.data +
			(NR_CPUS + 77 % NR_LANES) * 4ull * SONDE_SUBBUF_MIN +
			(seq & 3) * SONDE_SUBBUF_MIN);
	head->seq = seq;
	ring->w = sonde_w_make(SONDE_SUBBUF_HEAD, SONDE_SUBBUF_MIN, seq, 0);
	for (uint32_t i = 0; i < 2500; i++)
		append(&f, &i, 4, 0);
	assert_int_equal(totals(&f).committed, 2500);
	assert_true(walk(&f, size_is_4) > 900);
	teardown(&f);
}

/* The payload of the only event of a fixture, whichever ring has it. */
static const unsigned char *only_payload(const struct fixture *f, size_t size)
{
	for (uint32_t i = 0; i < NR_CPUS + NR_LANES; i++) {
		struct sonde_ring_reader reader;
		struct sonde_ring_totals sum;
		struct sonde_ring_chunk chunk;

		reader_of(f, i, &reader);
		assert_int_equal(sonde_ring_count(&reader, &sum), 0);
		if (sum.committed == 0)
			continue;
		assert_int_equal(sonde_ring_peek(&reader, &chunk), 1);
		assert_true(chunk.size >= size);
		return chunk.data + chunk.size - size;
	}
	fail_msg("no ring has the event");
	return NULL;
}

/* The restartable sequence against its C reference, on random strings. */
static void both_writers_make_the_same_bytes(void **state)
{
	unsigned seed = 4711;

	(void)state;
	print_message("seed %u\n", seed);
	for (int i = 0; i < 2000; i++) {
		struct fixture cpu;
		struct fixture lane;
		char text[300];
		uint32_t n = (uint32_t)rand_r(&seed) % 290;
		size_t size;

		for (uint32_t k = 0; k < n; k++)
			text[k] = (char)(1 + rand_r(&seed) % 255);
		text[n] = '\0';
		if (rand_r(&seed) % 4 == 0) /* shorter than was measured */
			text[(unsigned)rand_r(&seed) % (n + 1)] = '\0';
		size = strlen(text) + 1;
		setup(&cpu, SONDE_DISCARD, SONDE_LARGE, SONDE_SUBBUF_MIN, 2);
		if (!cpu.rseq)
			skip();
		setup(&lane, SONDE_DISCARD, SONDE_LARGE, SONDE_SUBBUF_MIN, 2);
		lane.rseq = NULL;
		append(&lane, text, n, SONDE_PART_STRING);
		append(&cpu, text, n, SONDE_PART_STRING);
		assert_memory_equal(only_payload(&cpu, size), text, size);
		assert_memory_equal(only_payload(&lane, size), text, size);
		teardown(&lane);
		teardown(&cpu);
	}
}

/* From where short ones are copied by themselves to where long ones are. */
static void both_writers_copy_any_number_of_bytes(void **state)
{
	static unsigned char bytes[600];
	unsigned seed = 4711;

	(void)state;
	for (uint32_t n = 1; n <= sizeof(bytes); n++) {
		struct fixture cpu;
		struct fixture lane;

		for (uint32_t k = 0; k < n; k++)
			bytes[k] = (unsigned char)rand_r(&seed);
		setup(&cpu, SONDE_DISCARD, SONDE_LARGE, SONDE_SUBBUF_MIN, 2);
		if (!cpu.rseq)
			skip();
		setup(&lane, SONDE_DISCARD, SONDE_LARGE, SONDE_SUBBUF_MIN, 2);
		lane.rseq = NULL;
		append(&lane, bytes, n, 0);
		append(&cpu, bytes, n, 0);
		assert_memory_equal(only_payload(&cpu, n), bytes, n);
		assert_memory_equal(only_payload(&lane, n), bytes, n);
		teardown(&lane);
		teardown(&cpu);
	}
}

struct job {
	struct fixture *f;
	struct sonde_self self;
	uint32_t nr;
};

static void *job(void *arg)
{
	struct job *j = arg;
	void *rseq = NULL;

	if (j->f->rseq)
		rseq = (char *)__builtin_thread_pointer() + __rseq_offset;
	for (uint32_t i = 0; i < j->nr; i++) {
		struct sonde_part payload = { &i, 4, 0 };

		append_as(j->f, &j->self, rseq, &payload);
	}
	return NULL;
}

static void threads_lose_nothing_uncounted(void **state)
{
	enum {
		NR = 8,
		EACH = 20000
	};

	(void)state;
	for (int lanes = 0; lanes < 2; lanes++) {
		pthread_t thread[NR];
		struct job jobs[NR];
		struct sonde_ring_totals sum;
		struct fixture f;

		setup(&f, SONDE_OVERWRITE, SONDE_COMPACT, SONDE_SUBBUF_MIN, 4);
		if (lanes)
			f.rseq = NULL;
		for (uint32_t i = 0; i < NR; i++) {
			jobs[i] = (struct job){
				&f, { (uint64_t)(i + 1) << 32, i + 1, 1 }, EACH
			};
			assert_int_equal(pthread_create(&thread[i], NULL, job,
							&jobs[i]),
					 0);
		}
		for (uint32_t i = 0; i < NR; i++)
			(void)pthread_join(thread[i], NULL);
		check_rings(&f);
		sum = totals(&f);
		assert_int_equal(sum.committed + f.slot.lost_contended +
					 sum.discarded_full,
				 NR * EACH);
		teardown(&f);
	}
}

static void expect_wrong(const struct fixture *f, const char *what)
{
	const struct sonde_ring *ring = &f->rings[NR_CPUS];
	size_t span = (size_t)f->slot.subbuf_size * f->slot.nr_subbufs;
	const char *wrong =
		sonde_ring_check(&f->slot, ring, f->data + NR_CPUS * span);

	assert_non_null(wrong);
	assert_non_null(strstr(wrong, what));
}

/* In a lane, four sub-buffers of which are written, each thing is broken, and
 * mended. */
/* NOLINTNEXTLINE(readability-function-size): BREAK is many statements */
static void what_is_broken_in_a_ring_is_found(void **state)
{
	struct fixture f;
	struct sonde_ring *ring;
	struct sonde_subbuf *heads[4];

	(void)state;
	setup(&f, SONDE_DISCARD, SONDE_LARGE, SONDE_SUBBUF_MIN, 4);
	f.rseq = NULL;
	f.self.tid = NR_LANES; /* it begins with the first lane */
	ring = &f.rings[NR_CPUS];
	for (uint32_t i = 0; sonde_w_seq(ring->w) < 3; i++)
		append(&f, &i, 4, 0);
	append(&f, "", 1, 0);
	for (size_t i = 0; i < 4; i++)
		heads[i] =
			(void *)(f.data + (NR_CPUS * 4 + i) * SONDE_SUBBUF_MIN);
/* NOLINTBEGIN(bugprone-macro-parentheses): it is assigned to */
#define BREAK(thing, value, what)                \
	do {                                     \
		__typeof__(thing) whole = thing; \
		thing = value;                   \
		expect_wrong(&f, what);          \
		thing = whole;                   \
		check_rings(&f);                 \
	} while (0)
	/* NOLINTEND(bugprone-macro-parentheses) */
	BREAK(ring->w, ring->w + (1ull << 60), "1:");
	BREAK(ring->w, ring->w + (1ull << SONDE_W_SEQ_SHIFT), "another sub");
	BREAK(ring->w, ring->w | SONDE_W_COUNT_MASK, "room");
	BREAK(ring->w, 0, "3:");
	BREAK(ring->end, ring->end - SONDE_SUBBUF_MIN, "3:");
	BREAK(ring->key, 1, "3:");
	BREAK(ring->limit, 3, "5:");
	BREAK(heads[2]->seq, 6, "another's place");
	BREAK(heads[2]->events, heads[3]->events + 1, "fewer");
	BREAK(heads[2]->ts_begin, heads[3]->ts_begin + 1, "1: time");
	BREAK(heads[3]->prev_used, SONDE_SUBBUF_MIN, "1: a sub");
	BREAK(*((unsigned char *)heads[3] + SONDE_SUBBUF_HEAD), 0, "4:");
	BREAK(*((unsigned char *)heads[2] + SONDE_SUBBUF_HEAD + 2), 1, "4:");
#undef BREAK
	teardown(&f);
}

/* Whatever the owner scribbles, the reader stays inside the ring. */
static void a_scribbled_ring_misleads_nobody(void **state)
{
	unsigned seed = 20261120;

	(void)state;
	print_message("seed %u\n", seed);
	for (int round = 0; round < 20000; round++) {
		struct sonde_ring_reader reader;
		struct sonde_ring_chunk chunk;
		static unsigned char data[4 * SONDE_SUBBUF_MIN];
		struct sonde_ring ring = { .limit = 4 };
		volatile unsigned char sink = 0;

		ring.w = sonde_w_make((uint32_t)rand_r(&seed) % 5000,
				      SONDE_SUBBUF_MIN,
				      (uint64_t)rand_r(&seed) % 6, 3);
		if (rand_r(&seed) % 4 == 0)
			ring.w = (uint64_t)rand_r(&seed) << 33 ^
				 (uint64_t)rand_r(&seed);
		for (uint32_t i = 0; i < 4; i++) {
			struct sonde_subbuf *head =
				(void *)(data + i * SONDE_SUBBUF_MIN);

			*head = (struct sonde_subbuf){
				.seq = i + (rand_r(&seed) % 8 ? 0 : 4u),
				.prev_used = (uint64_t)rand_r(&seed) % 4200,
			};
		}
		sonde_ring_reader_init(&reader, &ring, data, SONDE_SUBBUF_MIN,
				       4);
		for (int i = 0; i < 16; i++) {
			if (sonde_ring_peek(&reader, &chunk) != 1)
				break;
			assert_true(chunk.data >= data);
			assert_true(chunk.data + chunk.size <=
				    data + sizeof(data));
			for (uint32_t k = 0; k < chunk.size; k++)
				sink ^= chunk.data[k];
			(void)sink; /* all was read: that is the test */
			sonde_ring_advance(&reader, &chunk);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(emitted_is_recorded_plus_discarded),
		cmocka_unit_test(overwritten_events_are_counted),
		cmocka_unit_test(released_subbuffers_are_used_again),
		cmocka_unit_test(a_narrowed_ring_is_written_no_further),
		cmocka_unit_test(what_was_written_before_a_seal_is_never_read),
		cmocka_unit_test(what_follows_a_parting_can_be_read_alone),
		cmocka_unit_test(every_size_up_to_the_limit_is_recorded),
		cmocka_unit_test(a_record_too_large_leaves_a_ring_to_others),
		cmocka_unit_test(sequence_numbers_wrap_unnoticed),
		cmocka_unit_test(both_writers_make_the_same_bytes),
		cmocka_unit_test(both_writers_copy_any_number_of_bytes),
		cmocka_unit_test(threads_lose_nothing_uncounted),
		cmocka_unit_test(what_is_broken_in_a_ring_is_found),
		cmocka_unit_test(a_scribbled_ring_misleads_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
