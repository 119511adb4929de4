/* SPDX-License-Identifier: MIT */
/*
 * test_ring_local.c - the kernel's ring, interrupted at each of its steps.
 *
 * One thread plays all parts. Whatever runs (a writer, a flush, a reader) calls
 * visit() at each test point; a plan says at which visit of which level it is
 * interrupted, and by what: a nested writer, a flush, the reader on another
 * CPU, which may be interrupted in its turn, to depth 3. explore() tries every
 * visit of every level. Sub-buffers have 64 bytes, and rings two of them, to
 * give bugs a chance.
 *
 * An interruption may be the death of who is interrupted, and of whom he
 * interrupts: bury().
 *
 * What must hold after each run: every event that was emitted is lost (and its
 * cause counted), overwritten (and counted) or was delivered, once, intact and
 * in the order of time; or its writer died before it had committed.
 *
 * Built with one of the switches SONDE_LOCAL_BUG_... it must fail.
 */
#include <setjmp.h>
#include <string.h>

#include "records.h"
#include "unit.h"

static uint64_t unit_now(void);
static bool unit_is_alone(void);
static uint64_t unit_epoch(void);
static void visit(const char *name);
#define SONDE_LOCAL_IS_ALONE(ring)  ((void)(ring), unit_is_alone())
#define SONDE_LOCAL_EPOCH(ring)     ((void)(ring), unit_epoch())
#define SONDE_LOCAL_NOW(ring)       ((void)(ring), unit_now())
#define SONDE_LOCAL_TESTPOINT(name) visit(#name)
/* It is made to be included. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "ring/local.c"

#define SIZE       64u
#define NR_MAX     32u
#define EVENTS_MAX 256u
#define STEPS_MAX  20000u
#define DEPTH      3u
#define RECORD_ID  5u
#define TID        1000u

enum op {
	EMIT,  /* two or three fit into a sub-buffer */
	LARGE, /* only one fits */
	HUGE,  /* none */
	LATE,  /* more than 2^32 ticks after the one before */
	BURST, /* six, more than a small ring takes */
	FLUSH,
	READ,  /* one chunk */
	DRAIN, /* all */
	OPS,
	DIE, /* who is interrupted never goes on */
};

enum state {
	EMITTED,
	WRITTEN,
	DISCARDED,
	DELIVERED,
	UNFINISHED, /* its writer died */
};

struct emitted {
	enum state state;
	uint32_t size;
	uint32_t level;
	bool is_committed;
	uint64_t earliest; /* its time is at or after that, */
	uint64_t latest;   /* and at or before that */
};

struct config {
	enum sonde_ring_mode mode;
	uint32_t nr_subbufs;
	uint64_t start;
	uint64_t events; /* that every commit word has counted before */
	bool is_roomy;   /* nothing may be lost or overwritten */
	bool is_blind;   /* nobody knows that he is alone */
};

struct plan {
	enum op first;
	uint32_t prefill;
	uint32_t depth;
	enum op op[DEPTH]; /* what interrupts level i */
	uint32_t at[DEPTH];
};

static struct {
	struct sonde_local_ring ring;
	struct sonde_local_subbuf subbufs[NR_MAX];
	unsigned char data[(NR_MAX + 1) * SIZE];
	uint64_t clock;
	struct emitted events[EVENTS_MAX];
	uint32_t nr_events;
	uint32_t nr_huge;
	uint32_t writing[DEPTH + 1]; /* the event that each level is at */
	bool is_blind;
	uint64_t epoch; /* of what runs on level 0 */
	uint32_t deaths;
	/* the reader's */
	bool is_reading;
	uint64_t seq;
	uint32_t offset;
	uint64_t time;
	uint64_t discarded;
	/* the plan's */
	struct plan plan;
	uint32_t level;
	uint32_t visits[DEPTH + 1];
	uint32_t steps;
} w;

/* Where something was interrupted, in any run of the program. */
static const char *interrupted[48];
static uint32_t nr_interrupted;

static jmp_buf grave;

static uint64_t unit_now(void)
{
	return ++w.clock;
}

static bool unit_is_alone(void)
{
	return !w.level && !w.is_blind;
}

static uint64_t unit_epoch(void)
{
	return w.epoch;
}

/* What runs when visit() says so: run(). */
static void (*interrupt)(enum op op);

static void note(const char *name)
{
	for (uint32_t i = 0; i < nr_interrupted; i++)
		if (!strcmp(interrupted[i], name))
			return;
	assert_true(nr_interrupted < SONDE_ARRAY_SIZE(interrupted));
	interrupted[nr_interrupted++] = name;
}

static void emit(uint32_t size)
{
	uint32_t index = w.nr_events++;
	struct emitted *e = &w.events[index];
	struct sonde_local_place place;
	unsigned char *at;

	assert_true(index < EVENTS_MAX);
	*e = (struct emitted){
		.size = size,
		.level = w.level,
		.earliest = w.clock,
	};
	w.writing[w.level] = index;
	at = sonde_local_reserve(&w.ring, RECORD_ID, TID + w.level, size,
				 &place);
	if (!at) {
		e->state = DISCARDED;
		return;
	}
	e->latest = w.clock;
	e->state = WRITTEN;
	for (uint32_t i = 0; i < size; i++) {
		if (i == size / 2)
			visit("payload");
		at[i] = (unsigned char)(index + i);
	}
	sonde_local_commit(&w.ring, &place);
}

/* One event of a chunk: the one that it says it is, as it was written, and in
 * its time. Returns its end. */
static const unsigned char *check_record(const unsigned char *p)
{
	struct record r = record_read(p, SONDE_LARGE, w.time);
	const unsigned char *payload = r.payload + 4;
	struct emitted *e = &w.events[payload[0]];

	assert_int_equal(r.id, RECORD_ID);
	assert_true(r.time >= w.time);
	w.time = r.time;
	assert_true(payload[0] < w.nr_events);
	assert_int_equal(record_uint(r.payload, 4), TID + e->level);
	assert_int_equal(e->state, WRITTEN);
	e->state = DELIVERED;
	assert_true(r.time >= e->earliest);
	assert_true(r.time <= e->latest);
	for (uint32_t i = 0; i < e->size; i++)
		assert_int_equal(payload[i], (payload[0] + i) & 0xff);
	return payload + e->size;
}

static void check_chunk(const struct sonde_local_chunk *chunk)
{
	const unsigned char *p =
		w.data + (size_t)chunk->memory * SIZE + chunk->offset;
	const unsigned char *end = p + chunk->size;
	uint64_t nr = 0;

	assert_true(chunk->memory <= w.ring.mask + 1);
	assert_true(chunk->offset + chunk->size < SIZE);
	if (w.ring.mode == SONDE_DISCARD && !w.deaths)
		assert_int_equal(chunk->seq, w.seq);
	assert_true(chunk->seq >= w.seq);
	assert_int_equal(chunk->offset, w.offset);
	assert_int_equal(chunk->first, !w.offset);
	if (chunk->first) {
		assert_true(chunk->ts_begin >= w.time);
		w.time = chunk->ts_begin;
	}
	for (; p < end; nr++)
		p = check_record(p);
	assert_ptr_equal(p, end);
	assert_int_equal(chunk->events, nr);
	assert_true(chunk->discarded >= w.discarded);
	w.discarded = chunk->discarded;
	w.seq = chunk->seq + chunk->closed;
	w.offset = chunk->closed ? 0 : chunk->offset + chunk->size;
	if (chunk->closed) {
		assert_true(chunk->ts_end >= w.time);
		w.time = chunk->ts_end;
	} else {
		assert_int_equal(chunk->ts_end, 0);
	}
}

/* Writers may run while the chunk is held; they must not touch it. */
static bool read_one(void)
{
	struct sonde_local_chunk first = { 0 };
	struct sonde_local_chunk chunk = { 0 };

	if (!sonde_local_get(&w.ring, &first))
		return false;
	visit("held");
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.seq, first.seq);
	assert_int_equal(chunk.memory, first.memory);
	assert_int_equal(chunk.offset, first.offset);
	assert_true(chunk.size >= first.size);
	assert_true(chunk.events >= first.events);
	check_chunk(&chunk);
	visit("checked");
	assert_int_equal(sonde_local_put(&w.ring, &chunk), 1);
	return true;
}

static void run(enum op op)
{
	bool is_more = true;

	w.epoch += !w.level;
	switch (op) {
	case LATE:
		w.clock += 1ull << 32;
		emit(1);
		break;
	case LARGE:
		emit(SIZE - SONDE_LOCAL_HEAD - 1);
		break;
	case HUGE:
		w.nr_huge++;
		emit(SIZE - SONDE_LOCAL_HEAD);
		break;
	case BURST:
		for (uint32_t i = 0; i < 6; i++)
			emit(14 + i);
		break;
	case FLUSH:
		sonde_local_flush(&w.ring);
		break;
	case READ:
	case DRAIN:
		w.is_reading = true;
		while (is_more)
			is_more = read_one() && op == DRAIN;
		w.is_reading = false;
		break;
	case EMIT:
	case DIE:
	case OPS:
		emit(9);
		break;
	}
}

static void visit(const char *name)
{
	uint32_t level = w.level;
	enum op op;

	assert_true(w.steps++ < STEPS_MAX);
	if (!strcmp(name, "after_commit"))
		w.events[w.writing[level]].is_committed = true;
	if (level >= w.plan.depth || w.visits[level]++ != w.plan.at[level])
		return;
	op = w.plan.op[level];
	/* There is only one reader. */
	if (w.is_reading && (op == READ || op == DRAIN || op == DIE))
		return;
	/* What is exchanged here would not be counted if somebody died:
	 * local.h says so. */
	if (w.plan.op[w.plan.depth - 1] == DIE &&
	    !strcmp(name, "after_exchange"))
		return;
	note(name);
	if (op == DIE)
		longjmp(grave, 1);
	w.level++;
	w.visits[w.level] = 0;
	interrupt(op);
	w.level--;
}

static void begin(const struct config *config)
{
	memset(&w, 0, sizeof(w));
	sonde_local_init(&w.ring, w.data, w.subbufs, SIZE, config->nr_subbufs,
			 config->mode, config->start);
	for (uint32_t i = 0; i < config->nr_subbufs; i++) {
		w.subbufs[i].commit += config->events
				       << SONDE_LOCAL_COMMIT_BITS;
		w.subbufs[i].begin = w.subbufs[i].commit - SIZE;
	}
	w.is_blind = config->is_blind;
	w.seq = config->start / SIZE;
	w.clock = 100;
	interrupt = run;
}

static uint64_t nr_in_state(enum state state)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < w.nr_events; i++)
		nr += w.events[i].state == state;
	return nr;
}

/* Nobody runs any more: the rest is read, and everything must add up. */
static void end(const struct config *config)
{
	const struct sonde_local_ring *ring = &w.ring;

	sonde_local_quiet(&w.ring);
	run(FLUSH);
	run(DRAIN);
	assert_int_equal(nr_in_state(EMITTED), 0);
	assert_int_equal(nr_in_state(DELIVERED), ring->delivered);
	assert_int_equal(nr_in_state(WRITTEN),
			 ring->overwritten + ring->lost_damaged);
	assert_int_equal(nr_in_state(DISCARDED), sonde_local_discarded(ring));
	if (!w.deaths) {
		assert_int_equal(ring->lost_size, w.nr_huge);
		assert_int_equal(ring->damaged + ring->lost_damaged, 0);
	}
	if (config->mode == SONDE_DISCARD)
		assert_int_equal(ring->overwritten, 0);
	else
		assert_int_equal(ring->lost_full, 0);
	if (config->is_roomy) {
		assert_int_equal(ring->lost_full + ring->lost_busy, 0);
		assert_int_equal(ring->overwritten, 0);
	}
	assert_int_equal(ring->read_pos, ring->pos);
}

typedef void run_fn(const struct config *config, const struct plan *plan);

static void run_plan(const struct config *config, const struct plan *plan)
{
	begin(config);
	for (uint32_t i = 0; i < plan->prefill; i++)
		emit(9);
	w.plan = *plan;
	run(plan->first);
	w.plan.depth = 0;
	end(config);
}

static run_fn *runner = run_plan;

/* All visits at which level 0 can be interrupted; for each, all those of level
 * 1; and so on. */
static void explore(const struct config *config, struct plan plan)
{
	uint32_t level = 0;

	memset(plan.at, 0, sizeof(plan.at));
	for (;;) {
		uint32_t visits[DEPTH];

		/* Counted while it runs: end() has none. */
		runner(config, &plan);
		memcpy(visits, w.visits, sizeof(visits));
		level = plan.depth - 1;
		while (visits[level] <= plan.at[level]) {
			plan.at[level] = 0;
			if (!level)
				return;
			level--;
		}
		plan.at[level]++;
	}
}

static void explore_prefills(const struct config *config, uint32_t prefills,
			     struct plan plan)
{
	for (plan.prefill = 0; plan.prefill < prefills; plan.prefill++)
		explore(config, plan);
}

static const struct config roomy[] = {
	{ .mode = SONDE_DISCARD, .nr_subbufs = NR_MAX, .is_roomy = true },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = NR_MAX, .is_roomy = true },
};

static const struct config tight[] = {
	{ .mode = SONDE_DISCARD, .nr_subbufs = 2 },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = 2 },
	{ .mode = SONDE_DISCARD, .nr_subbufs = 4 },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = 4 },
};

/* Each counter overflows within the first lap or two. */
static const struct config overflowing[] = {
	/* bytes committed, modulo 2^40 */
	{ SONDE_DISCARD, 2, ((1ull << 40) - 2 * SIZE) * 2, 0, false, false },
	{ SONDE_OVERWRITE, 2, ((1ull << 40) - 2 * SIZE) * 2, 0, false, false },
	{ SONDE_DISCARD, 4, ((1ull << 40) - SIZE) * 4, 0, false, false },
	{ SONDE_OVERWRITE, 4, ((1ull << 40) - SIZE) * 4, 0, false, false },
	{ SONDE_OVERWRITE, 4, ((3ull << 40) - SIZE) * 4, 0, false, false },
	/* events, modulo 2^24 */
	{ SONDE_DISCARD, 2, 0, (1ull << 24) - 2, false, false },
	{ SONDE_OVERWRITE, 2, 0, (1ull << 24) - 2, false, false },
	/* both */
	{ SONDE_OVERWRITE, 2, ((1ull << 40) - SIZE) * 2, (1ull << 24) - 1,
	  false, false },
	/* the lap, modulo 2^51 */
	{ SONDE_DISCARD, 2, ((1ull << 51) - 2) * SIZE * 2, 0, false, false },
	{ SONDE_OVERWRITE, 2, ((1ull << 51) - 2) * SIZE * 2, 0, false, false },
	{ SONDE_OVERWRITE, 4, ((1ull << 51) - 1) * SIZE * 4, 0, false, false },
	/* 32 bits of position */
	{ SONDE_DISCARD, 2, (1ull << 32) - 2 * SIZE, 0, false, false },
	{ SONDE_OVERWRITE, 2, (1ull << 32) - 2 * SIZE, 0, false, false },
};

static void explore_pairs(const struct config *config)
{
	for (enum op first = 0; first < OPS; first++)
		for (enum op op = 0; op < OPS; op++)
			explore_prefills(config, 10,
					 (struct plan){ .first = first,
							.depth = 1,
							.op = { op } });
}

static void nothing_is_lost_where_there_is_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(roomy); i++)
		explore_pairs(&roomy[i]);
}

static void all_is_accounted_for_where_there_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(tight); i++)
		explore_pairs(&tight[i]);
}

static void each_counter_may_overflow(void **state)
{
	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(overflowing); i++)
		explore_pairs(&overflowing[i]);
}

static void explore_twice(const struct config *config)
{
	for (enum op first = 0; first < OPS; first++)
		for (enum op op = 0; op < OPS; op++)
			for (enum op deep = 0; deep < OPS; deep++)
				explore_prefills(
					config, 4,
					(struct plan){ .first = first,
						       .depth = 2,
						       .op = { op, deep } });
}

static void nested_writers_may_be_interrupted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(roomy); i++)
		explore_twice(&roomy[i]);
	/* Of two sub-buffers. */
	for (size_t i = 0; i < 2; i++)
		explore_twice(&tight[i]);
}

static const struct plan thrice[] = {
	{ .first = EMIT, .op = { EMIT, EMIT, EMIT } },
	{ .first = LARGE, .op = { LARGE, EMIT, LARGE } },
	{ .first = LARGE, .op = { LARGE, FLUSH, LARGE } },
	{ .first = LARGE, .op = { LARGE, DRAIN, LARGE } },
};

static void writers_nest_to_depth_three(void **state)
{
	const struct config *configs[] = { &roomy[0], &roomy[1], &tight[0],
					   &tight[1] };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(configs); i++) {
		for (size_t k = 0; k < SONDE_ARRAY_SIZE(thrice); k++) {
			struct plan plan = thrice[k];

			plan.depth = 3;
			explore_prefills(configs[i], 4, plan);
		}
	}
}

/* ---- writers that die ---- */

/* Whoever ran is dead, and all that he had not committed is lost with him. */
static void bury(void)
{
	w.deaths++;
	w.level = 0;
	w.plan.depth = 0;
	for (uint32_t i = 0; i < w.nr_events; i++) {
		struct emitted *e = &w.events[i];

		if (e->state == EMITTED ||
		    (e->state == WRITTEN && !e->is_committed))
			e->state = UNFINISHED;
	}
}

/* Events come on; all of them are recorded again when the ring has come round
 * once, at the latest. (Who doesn't know whether he is alone needs another
 * visit to know that it was another task's, for each damaged sub-buffer.) */
static void live_on(const struct config *config)
{
	uint32_t nr = config->nr_subbufs;
	uint64_t lost = sonde_local_discarded(&w.ring);

	for (uint32_t i = 0; i < 3 * nr + 4; i++) {
		run(LARGE);
		if (config->mode == SONDE_DISCARD)
			run(DRAIN);
		if (i == nr + (config->is_blind ? 3 : 1))
			lost = sonde_local_discarded(&w.ring);
	}
	assert_int_equal(sonde_local_discarded(&w.ring), lost);
}

static void run_deadly(const struct config *config, const struct plan *plan)
{
	begin(config);
	w.epoch++;
	for (uint32_t i = 0; i < plan->prefill; i++)
		emit(9);
	w.plan = *plan;
	if (setjmp(grave))
		bury();
	else
		run(plan->first);
	w.plan.depth = 0;
	if (config->mode == SONDE_DISCARD)
		run(DRAIN);
	live_on(config);
	end(config);
}

static const struct config deadly[] = {
	{ .mode = SONDE_DISCARD, .nr_subbufs = 2 },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = 2 },
	{ .mode = SONDE_DISCARD, .nr_subbufs = 4 },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = 4 },
	{ .mode = SONDE_DISCARD, .nr_subbufs = 2, .is_blind = true },
	{ .mode = SONDE_OVERWRITE, .nr_subbufs = 2, .is_blind = true },
	/* Bytes and events overflow. */
	{ SONDE_DISCARD, 2, ((1ull << 40) - SIZE) * 2, (1ull << 24) - 1, false,
	  false },
	{ SONDE_OVERWRITE, 2, ((1ull << 40) - SIZE) * 2, (1ull << 24) - 1,
	  false, false },
};

static void a_writer_may_die_at_each_step(void **state)
{
	(void)state;
	runner = run_deadly;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(deadly); i++)
		for (enum op first = 0; first < OPS; first++)
			explore_prefills(&deadly[i], 12,
					 (struct plan){ .first = first,
							.depth = 1,
							.op = { DIE } });
	runner = run_plan;
}

/* After it was interrupted; or both die. */
static void a_nested_writer_may_die_with_all_below(void **state)
{
	(void)state;
	runner = run_deadly;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(deadly); i++)
		for (enum op first = 0; first < OPS; first++)
			for (enum op op = 0; op < OPS; op++)
				explore_prefills(
					&deadly[i], 3,
					(struct plan){ .first = first,
						       .depth = 2,
						       .op = { op, DIE } });
	runner = run_plan;
}

/* Reserves, and never commits. */
static void die_in_payload(void)
{
	struct sonde_local_place place;

	w.deaths++;
	w.events[w.nr_events++].state = UNFINISHED;
	assert_non_null(
		sonde_local_reserve(&w.ring, RECORD_ID, TID, 4, &place));
}

/* Those that find the damage are interrupted. */
static void run_after_death(const struct config *config,
			    const struct plan *plan)
{
	begin(config);
	for (uint32_t i = 0; i < plan->prefill; i++)
		emit(9);
	die_in_payload();
	for (uint32_t i = 1; i < config->nr_subbufs; i++)
		run(LARGE);
	if (config->mode == SONDE_DISCARD)
		run(DRAIN);
	w.plan = *plan;
	run(plan->first);
	w.plan.depth = 0;
	end(config);
}

static void who_finds_a_death_may_be_interrupted(void **state)
{
	/* They enter sub-buffers, or take them. */
	static const enum op deep[] = { LARGE, BURST, DRAIN };

	(void)state;
	runner = run_after_death;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(deadly); i++)
		for (enum op op = 0; op < OPS; op++)
			for (size_t k = 0; k < SONDE_ARRAY_SIZE(deep); k++)
				explore_prefills(
					&deadly[i], 2,
					(struct plan){ .first = BURST,
						       .depth = 2,
						       .op = { op, deep[k] } });
	runner = run_plan;
}

static void what_was_whole_is_read_after_a_death(void **state)
{
	struct sonde_local_chunk chunk = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		begin(&deadly[i]);
		run(EMIT);
		die_in_payload();
		run(LARGE);
		sonde_local_quiet(&w.ring);
		sonde_local_flush(&w.ring);
		/* Of the first nothing was delivered, so nothing is. */
		assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
		assert_int_equal(chunk.seq, 1);
		assert_int_equal(chunk.events, 1);
		assert_int_equal(chunk.discarded, 2);
		assert_int_equal(sonde_local_put(&w.ring, &chunk), 1);
		assert_int_equal(w.ring.damaged, 1);
		assert_int_equal(w.ring.lost_damaged, 1);
	}
}

static void a_beginning_that_was_read_is_ended(void **state)
{
	struct sonde_local_chunk chunk = { 0 };

	(void)state;
	begin(&deadly[0]);
	run(EMIT);
	run(READ);
	die_in_payload();
	run(LARGE); /* alone, where the first has ended: nobody is in it */
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 0);
	run(LARGE);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.seq, 0);
	assert_int_equal(chunk.size, 0);
	assert_int_equal(chunk.closed, 1);
	assert_int_equal(chunk.first, 0);
	assert_true(chunk.ts_end >= w.time);
	run(DRAIN);
	end(&deadly[0]);
	assert_int_equal(w.ring.damaged, 1);
	assert_int_equal(w.ring.lost_damaged, 0);
}

/* Runs last: the tests before have interrupted everything. */
static void every_step_was_interrupted(void **state)
{
	static const char *const names[] = {
		"read",          "before_swap",        "after_swap",
		"before_commit", "after_commit",       "slow_read",
		"slow_clock",    "slow_before_swap",   "slow_after_swap",
		"before_lost",   "before_leave",       "before_rest",
		"after_rest",    "before_exchange",    "after_exchange",
		"before_begin",  "before_end",         "seen_read",
		"before_over",   "before_seen",        "before_revive",
		"after_revive",  "flush_read",         "reader_commit",
		"reader_pos",    "reader_before_take", "payload",
		"held",
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		bool is_there = false;

		for (uint32_t k = 0; k < nr_interrupted; k++)
			is_there |= !strcmp(interrupted[k], names[i]);
		if (!is_there)
			fail_msg("nothing was interrupted at %s", names[i]);
	}
}

static void a_full_ring_keeps_the_oldest_in_discard_mode(void **state)
{
	const struct config *config = &tight[2];

	(void)state;
	begin(config);
	for (uint32_t i = 0; i < 20; i++)
		run(LARGE);
	assert_int_equal(w.ring.lost_full, 16);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(w.events[i].state, WRITTEN);
	end(config);
}

static void a_full_ring_keeps_the_newest_in_overwrite_mode(void **state)
{
	const struct config *config = &tight[3];

	(void)state;
	begin(config);
	for (uint32_t i = 0; i < 20; i++)
		run(LARGE);
	assert_int_equal(w.ring.overwritten, 16);
	end(config);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(w.events[i].state,
				 i < 16 ? WRITTEN : DELIVERED);
}

static void the_current_subbuf_is_read_as_far_as_it_is_whole(void **state)
{
	struct sonde_local_place outer;
	struct sonde_local_chunk chunk = { 0 };

	(void)state;
	begin(&roomy[0]);
	run(EMIT);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.events, 1);
	assert_false(chunk.closed);
	assert_non_null(
		sonde_local_reserve(&w.ring, RECORD_ID, TID, 4, &outer));
	run(EMIT);
	/* The event after it is whole, but nothing is said of it. */
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.events, 1);
	assert_int_equal(sonde_local_put(&w.ring, &chunk), 1);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 0);
	sonde_local_commit(&w.ring, &outer);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.events, 2);
	assert_int_equal(chunk.offset + chunk.size, w.ring.pos);
}

static void an_interrupted_writer_keeps_others_out_of_its_subbuf(void **state)
{
	struct sonde_local_place outer;

	(void)state;
	begin(&tight[1]);
	assert_non_null(
		sonde_local_reserve(&w.ring, RECORD_ID, TID, 4, &outer));
	w.level++;
	for (uint32_t i = 0; i < 5; i++)
		run(LARGE);
	w.level--;
	assert_int_equal(w.ring.lost_busy, 4);
	sonde_local_commit(&w.ring, &outer);
	run(LARGE);
	assert_int_equal(w.ring.lost_busy, 4);
}

static void only_the_chunk_that_was_given_is_put(void **state)
{
	struct sonde_local_chunk chunk = { 0 };
	struct sonde_local_chunk other = { 0 };

	(void)state;
	begin(&tight[3]);
	run(LARGE);
	run(FLUSH);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	other = chunk;
	other.size++;
	assert_int_equal(sonde_local_put(&w.ring, &other), 0);
	other = chunk;
	other.seq++;
	assert_int_equal(sonde_local_put(&w.ring, &other), 0);
	other = chunk;
	other.offset++;
	assert_int_equal(sonde_local_put(&w.ring, &other), 0);
	assert_int_equal(w.ring.delivered, 0);
	assert_int_equal(sonde_local_put(&w.ring, &chunk), 1);
	assert_int_equal(sonde_local_put(&w.ring, &chunk), 0);
	assert_int_equal(w.ring.delivered, 1);
}

static void a_flush_of_nothing_does_nothing(void **state)
{
	struct sonde_local_chunk chunk = { 0 };
	uint64_t pos;

	(void)state;
	begin(&tight[1]);
	run(FLUSH);
	assert_int_equal(w.ring.pos, 0);
	run(EMIT);
	run(FLUSH);
	pos = w.ring.pos;
	run(FLUSH);
	assert_int_equal(w.ring.pos, pos);
	assert_int_equal(sonde_local_get(&w.ring, &chunk), 1);
	assert_int_equal(chunk.events, 1);
}

static void a_late_record_has_all_of_its_time(void **state)
{
	(void)state;
	begin(&roomy[0]);
	run(EMIT);
	run(LATE);
	end(&roomy[0]);
	assert_true(w.events[1].earliest >> 32);
	assert_int_equal(w.events[1].state, DELIVERED);
	/* Two heads, one of them long, and the two payloads. */
	assert_int_equal(w.subbufs[0].used,
			 SONDE_LOCAL_HEAD + SONDE_LOCAL_HEAD_FULL + 9 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_ring_keeps_the_oldest_in_discard_mode),
		cmocka_unit_test(
			a_full_ring_keeps_the_newest_in_overwrite_mode),
		cmocka_unit_test(
			the_current_subbuf_is_read_as_far_as_it_is_whole),
		cmocka_unit_test(
			an_interrupted_writer_keeps_others_out_of_its_subbuf),
		cmocka_unit_test(only_the_chunk_that_was_given_is_put),
		cmocka_unit_test(a_flush_of_nothing_does_nothing),
		cmocka_unit_test(a_late_record_has_all_of_its_time),
		cmocka_unit_test(nothing_is_lost_where_there_is_room),
		cmocka_unit_test(all_is_accounted_for_where_there_is_none),
		cmocka_unit_test(each_counter_may_overflow),
		cmocka_unit_test(nested_writers_may_be_interrupted),
		cmocka_unit_test(writers_nest_to_depth_three),
		cmocka_unit_test(what_was_whole_is_read_after_a_death),
		cmocka_unit_test(a_beginning_that_was_read_is_ended),
		cmocka_unit_test(a_writer_may_die_at_each_step),
		cmocka_unit_test(a_nested_writer_may_die_with_all_below),
		cmocka_unit_test(who_finds_a_death_may_be_interrupted),
		cmocka_unit_test(every_step_was_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
