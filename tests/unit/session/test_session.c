/* SPDX-License-Identifier: MIT */
/*
 * A session (session/session.h) whose sources are made up: each is a ring of
 * chunks that the test feeds.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/directory.h"
#include "random.h"
#include "session/session.h"
#include "source/packer.h"
#include "test_ctf_witness.h"
#include "types/build.h"

static uint64_t random_seed;

#define FAKES        6u
#define SLOTS        4u
#define EVENTS_MAX   8u
#define RECORD_BYTES 16u /* a head, the context, and the payload */
#define ROUNDS       4000u

struct slot {
	uint8_t bytes[(EVENTS_MAX + 1) * RECORD_BYTES];
	struct sonde_ring_chunk chunk;
};

/* A source of one stream. */
static struct fake {
	struct sonde_source base;        /* first */
	struct sonde_consumer *consumer; /* NULL: it isn't in the session */
	enum sonde_ring_mode mode;
	bool runs;
	bool interferes; /* writes while it is read */
	bool refuses;    /* to be changed */
	int start_error;
	uint32_t loglevel;
	uint64_t head; /* of the next chunk */
	uint64_t tail; /* of the next to be read */
	uint64_t committed;
	uint64_t discarded;
	uint64_t given;
	struct slot slots[SLOTS];
} fakes[FAKES];

static uint64_t emitted; /* by all, ever */
static int modes;        /* 1: discard alone */
static uint64_t clock_now;
static uint64_t desc[SONDE_DESC_MAX / 8];

static uint64_t now(void)
{
	return clock_now += 10;
}

static struct fake *of(const struct sonde_source *source)
{
	return &fakes[(const struct fake *)source - fakes];
}

/* ---- the source ---- */

static void fill(struct fake *fake, struct slot *slot, uint32_t nr)
{
	struct sonde_packer packer = {
		.at = slot->bytes,
		.end = slot->bytes + sizeof(slot->bytes),
	};
	uint64_t begin = now();

	sonde_packer_open(&packer, begin);
	for (uint32_t i = 0; i < nr; i++) {
		uint8_t *to = sonde_packer_head(&packer, SONDE_SOURCE_FIRST_ID,
						now(), 1);

		memcpy(to, &i, 4);
		packer.at = to + 4;
	}
	slot->chunk = (struct sonde_ring_chunk){
		.data = slot->bytes,
		.size = (uint32_t)(packer.at - slot->bytes),
		.first = true,
		.closed = true,
		.seq = fake->head,
		.ts_begin = begin,
		.ts_end = now(),
		.events_before = fake->committed,
		.events = fake->committed + nr,
		.discarded = fake->discarded,
	};
}

/* What a tracepoint does: nothing, if it isn't recorded. */
static void emit(struct fake *fake, uint32_t nr)
{
	if (!fake->runs || fake->loglevel < SONDE_INFO)
		return;
	emitted += nr;
	if (fake->mode == SONDE_DISCARD && fake->head - fake->tail == SLOTS) {
		fake->discarded += nr;
		return;
	}
	fill(fake, &fake->slots[fake->head % SLOTS], nr);
	fake->committed += nr;
	fake->head++;
}

static uint32_t one(const struct sonde_source *source)
{
	(void)source;
	return 1;
}

static const struct sonde_desc *event(const struct sonde_source *source,
				      uint32_t index)
{
	(void)source;
	(void)index;
	return (const struct sonde_desc *)desc;
}

static void stream(const struct sonde_source *source, uint32_t index,
		   struct sonde_source_stream *ret_stream)
{
	(void)source;
	(void)index;
	*ret_stream = (struct sonde_source_stream){ .name = "cpu0" };
}

static int start(struct sonde_source *source, pid_t root,
		 struct sonde_source_error *error)
{
	(void)root;
	if (of(source)->start_error)
		return sonde_source_fail(error, of(source)->start_error, "no");
	of(source)->runs = true;
	return 0;
}

static void stop(struct sonde_source *source)
{
	of(source)->runs = false;
}

static int change(struct sonde_source *source,
		  const struct sonde_source_change *wanted,
		  struct sonde_source_error *error)
{
	if (of(source)->refuses)
		return sonde_source_fail(error, -EINVAL, "not this");
	of(source)->loglevel = wanted->loglevel;
	return 0;
}

static int peek(struct sonde_source *source, uint32_t i,
		struct sonde_ring_chunk *ret_chunk)
{
	struct fake *fake = of(source);

	(void)i;
	if (fake->tail == fake->head)
		return 0;
	if (fake->head - fake->tail > SLOTS) {
		if (!source->ops->is_read_once)
			return -ESTALE;
		fake->tail = fake->head - SLOTS;
	}
	*ret_chunk = fake->slots[fake->tail % SLOTS].chunk;
	return 1;
}

static void advance(struct sonde_source *source, uint32_t i,
		    const struct sonde_ring_chunk *chunk)
{
	(void)i;
	of(source)->tail = chunk->seq + 1;
	of(source)->given += chunk->events - chunk->events_before;
}

static int rewind_fake(struct sonde_source *source, uint32_t i)
{
	struct fake *fake = of(source);

	(void)i;
	if (source->ops->is_read_once)
		return 1;
	fake->tail = fake->head > SLOTS ? fake->head - SLOTS : 0;
	return fake->head > 0;
}

/* Now and then the writer comes round right now. */
static bool verify(const struct sonde_source *source, uint32_t i,
		   const struct sonde_ring_chunk *chunk)
{
	struct fake *fake = of(source);

	(void)i;
	if (fake->interferes && random_int(&random_seed) % 8 == 0)
		for (uint32_t k = 0; k <= SLOTS; k++)
			emit(fake, 1);
	return fake->head - chunk->seq <= SLOTS;
}

/* Each chunk is a sub-buffer, which begins anew. */
static void part(struct sonde_source *source, uint32_t i)
{
	(void)source;
	(void)i;
}

static bool is_parted(const struct sonde_source *source, uint32_t i)
{
	(void)source;
	(void)i;
	return false;
}

static uint64_t capacity(const struct sonde_source *source, uint32_t i)
{
	(void)source;
	(void)i;
	return sizeof(fakes[0].slots);
}

/* Of a source that is read once: what came round before it was. */
static uint64_t overwritten(struct sonde_source *source)
{
	struct sonde_ring_chunk chunk = { .data = NULL };

	if (!source->ops->is_read_once)
		return 0;
	if (peek(source, 0, &chunk) <= 0)
		chunk.events_before = of(source)->committed;
	return chunk.events_before - of(source)->given;
}

static void counts(struct sonde_source *source, uint32_t i,
		   struct sonde_source_counts *ret_counts)
{
	(void)i;
	*ret_counts = (struct sonde_source_counts){
		.overwritten = overwritten(source),
		.lost_full = of(source)->discarded,
		.committed = of(source)->committed,
	};
}

static uint64_t missed(struct sonde_source *source)
{
	(void)source;
	return 0;
}

#define FAKE_OPS                                                               \
	.nr_events = one, .event = event, .nr_streams = one, .stream = stream, \
	.start = start, .stop = stop, .peek = peek, .advance = advance,        \
	.rewind = rewind_fake, .capacity = capacity, .counts = counts,         \
	.missed = missed

static const struct sonde_source_ops fake_ops = {
	.name = "fake",
	.change = change,
	.verify = verify,
	.part = part,
	.is_parted = is_parted,
	FAKE_OPS,
};

static const struct sonde_source_ops once_ops = {
	.name = "once",
	.is_read_once = true,
	.change = change,
	FAKE_OPS,
};

static const struct sonde_source_ops simple_ops = { .name = "simple",
						    FAKE_OPS };

/* ---- the test's side ---- */

static struct scratch scratch;
static struct sonde_summary summary;
static struct sonde_session_config config;
static struct sonde_session *session;
static const struct sonde_ctf_clock ctf_clock = {
	.name = "monotonic",
	.description = "",
	.freq = 1000000000,
};

static int open_dir(const char *path)
{
	struct sonde_directory_error words;
	struct sonde_directory place;
	int dir;

	assert_int_equal(sonde_directory_make(path, &place, &words), 0);
	dir = fcntl(place.dir, F_DUPFD_CLOEXEC, 0);
	sonde_directory_close(&place);
	return dir;
}

/* One that has a trace at `path`, and no sources. */
static struct sonde_session *new_session(const char *path,
					 struct sonde_summary *ret_summary)
{
	const struct sonde_session_setup parts = {
		.config = &config,
		.clock = &ctf_clock,
		.now = now,
		.summary = ret_summary,
	};
	struct sonde_session *made = sonde_session_new(&parts);
	int dir = open_dir(path);

	*ret_summary = (struct sonde_summary){ 0 };
	assert_non_null(made);
	assert_int_equal(sonde_session_open_trace(made, SONDE_CTF_KERNEL, dir,
						  "kernel", NULL, 0),
			 0);
	(void)close(dir);
	return made;
}

static int setup(void **state)
{
	struct sonde_build build;
	char error[80];

	(void)state;
	emitted = 0;
	modes = 2;
	clock_now = 1000000;
	memset(fakes, 0, sizeof(fakes));
	sonde_build_begin(&build, desc, "fake", "event", SONDE_INFO);
	sonde_build_int(&build, "number", 32, 0);
	assert_int_equal(sonde_build_end(&build), 0);
	sonde_session_config_init(&config);
	assert_int_equal(sonde_session_config_add(&config, '+', "*", error,
						  sizeof(error)),
			 0);
	scratch_make(&scratch);
	session = new_session(scratch.trace, &summary);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(&scratch);
	return 0;
}

/* Not yet started. */
static struct fake *add(uint32_t i, enum sonde_ring_mode mode,
			const struct sonde_source_ops *ops, bool is_trigger)
{
	struct fake *fake = &fakes[i];
	char files[16];
	const struct sonde_consumer_config consumer = {
		.class_id = sonde_session_take_class(session, SONDE_CTF_KERNEL),
		.header = SONDE_LARGE,
		.mode = mode,
		.is_trigger = is_trigger,
		.name = "fake",
		.files = files,
	};

	(void)snprintf(files, sizeof(files), "fake%u", consumer.class_id);
	*fake = (struct fake){
		.base.ops = ops,
		.mode = mode,
		.loglevel = sonde_session_selected(session)->loglevel,
	};
	assert_int_equal(sonde_session_add(session, SONDE_CTF_KERNEL,
					   &fake->base, &consumer,
					   &fake->consumer),
			 0);
	return fake;
}

static struct fake *add_started_of(uint32_t i, enum sonde_ring_mode mode,
				   const struct sonde_source_ops *ops)
{
	struct fake *fake = add(i, mode, ops, false);
	struct sonde_source_error error;

	assert_int_equal(sonde_consumer_start(fake->consumer, 0, &error), 0);
	return fake;
}

static struct fake *add_started(uint32_t i, enum sonde_ring_mode mode)
{
	return add_started_of(i, mode, &fake_ops);
}

static void take_out(struct fake *fake)
{
	sonde_session_remove(session, fake->consumer);
	fake->consumer = NULL;
	assert_false(fake->runs);
}

/* What no one has read yet. In overwrite mode that is all. */
static uint64_t unread(void)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < FAKES; i++) {
		const struct fake *fake = &fakes[i];

		if (!fake->consumer)
			continue;
		if (fake->mode == SONDE_OVERWRITE)
			nr += fake->committed;
		else if (fake->tail < fake->head)
			nr += fake->committed - fake->slots[fake->tail % SLOTS]
							.chunk.events_before;
	}
	return nr;
}

/* By the summary, what was taken out; state that was told is in it, too. */
static uint64_t accounted(void)
{
	uint64_t nr = summary.recorded + sonde_summary_lost(&summary);
	struct sonde_consumer_counts counts;

	for (uint32_t i = 0; i < FAKES; i++) {
		if (!fakes[i].consumer)
			continue;
		sonde_consumer_count(fakes[i].consumer, &counts);
		nr += counts.recorded + counts.discarded + counts.overwritten +
		      counts.lost_disk;
	}
	return nr;
}

/* The same, without state, if the sources are asked. */
static uint64_t surveyed(void)
{
	struct sonde_consumer_counts sum;

	sonde_session_survey(session, &sum);
	return sum.recorded + sum.discarded + sum.overwritten + sum.lost_disk +
	       sum.held;
}

/* Of all traces there. */
static void check_traces(const char *path, uint64_t nr)
{
	struct scratch of_all = scratch;
	struct witness witness;
	uint64_t nr_lines = 0;

	(void)snprintf(of_all.trace, sizeof(of_all.trace), "%s", path);
	witness = witness_call(&of_all, NULL);

	witness_content(&witness);
	for (const char *at = witness.out; *at; at++)
		nr_lines += *at == '\n';
	assert_int_equal(nr_lines, nr);
	witness_dismiss(&witness);
}

/* ---- snapshots ---- */

static void snapshot(struct sonde_summary *ret_summary)
{
	static uint32_t number;
	char path[sizeof(scratch.trace) + 32];
	struct sonde_session *copy;

	(void)snprintf(path, sizeof(path), "%s-snapshot%u", scratch.trace,
		       number++);
	copy = new_session(path, ret_summary);
	assert_int_equal(
		sonde_session_snapshot(session, SONDE_CTF_KERNEL, copy), 0);
	assert_int_equal(sonde_session_free(copy), 0);
}

static void
a_snapshot_has_what_the_rings_hold_and_the_session_goes_on(void **state)
{
	struct sonde_summary copy;
	struct fake *fake;

	(void)state;
	fake = add_started(0, SONDE_OVERWRITE);
	for (uint32_t i = 0; i < 10; i++)
		emit(fake, 2);
	snapshot(&copy);
	assert_int_equal(copy.recorded, SLOTS * 2);
	assert_int_equal(copy.lost_overwritten, 20 - SLOTS * 2);
	emit(fake, 3);
	snapshot(&copy);
	assert_int_equal(copy.recorded, SLOTS * 2 + 1);
	assert_int_equal(copy.recorded + copy.lost_overwritten, emitted);
	assert_true(fake->runs);
	assert_int_equal(summary.recorded, 0);
	take_out(fake);
	assert_int_equal(summary.recorded, SLOTS * 2 + 1);
	assert_int_equal(accounted(), emitted);
	assert_int_equal(sonde_session_free(session), 0);
}

static void what_a_source_gives_once_is_in_each_snapshot(void **state)
{
	struct sonde_summary copy;
	struct fake *fake;

	(void)state;
	fake = add_started_of(0, SONDE_OVERWRITE, &once_ops);
	for (uint32_t i = 0; i < SLOTS + 2; i++)
		emit(fake, 2);
	snapshot(&copy);
	assert_int_equal(copy.recorded, SLOTS * 2);
	assert_int_equal(copy.lost_overwritten, 4);
	emit(fake, 3);
	for (uint32_t i = 0; i < 2; i++) {
		snapshot(&copy);
		assert_int_equal(copy.recorded, SLOTS * 2 + 3);
		assert_int_equal(copy.lost_overwritten, 4);
	}
	/* There is a gap, and nothing from before it. */
	for (uint32_t i = 0; i < SLOTS + 1; i++)
		emit(fake, 1);
	snapshot(&copy);
	assert_int_equal(copy.recorded, SLOTS);
	assert_int_equal(copy.recorded + copy.lost_overwritten, emitted);
	assert_int_equal(accounted(), 0);
	take_out(fake);
	assert_int_equal(summary.recorded, SLOTS);
	assert_int_equal(accounted(), emitted);
	assert_int_equal(sonde_session_free(session), 0);
}

/* What is kept is as much as the source holds. */
static void of_what_is_given_once_the_oldest_goes(void **state)
{
	struct sonde_summary copy;
	struct fake *fake;
	uint64_t most = 0;

	(void)state;
	fake = add_started_of(0, SONDE_OVERWRITE, &once_ops);
	for (uint32_t i = 0; i < 100; i++) {
		emit(fake, EVENTS_MAX);
		snapshot(&copy);
		assert_int_equal(copy.recorded + copy.lost_overwritten,
				 emitted);
		if (copy.recorded > most)
			most = copy.recorded;
	}
	assert_in_range(most, EVENTS_MAX, sizeof(fake->slots) / 10);
	assert_true(copy.lost_overwritten);
	take_out(fake);
	assert_int_equal(accounted(), emitted);
	assert_int_equal(summary.recorded, copy.recorded);
	assert_int_equal(sonde_session_free(session), 0);
}

static void what_cant_be_read_while_it_records_is_named(void **state)
{
	struct sonde_source_error error;
	struct sonde_summary copy;

	(void)state;
	(void)add(0, SONDE_OVERWRITE, &simple_ops, false);
	assert_int_equal(sonde_session_start(session, 0, &error), 0);
	emit(&fakes[0], 1);
	snapshot(&copy);
	assert_int_equal(copy.recorded, 0);
	assert_int_equal(copy.nr_notes, 1);
	assert_non_null(strstr(copy.notes[0], "simple can't be read"));
	take_out(&fakes[0]);
	assert_int_equal(sonde_session_free(session), 0);
}

/* ---- start, change, triggers ---- */

static void if_one_source_does_not_start_none_does(void **state)
{
	struct sonde_source_error error;
	struct fake *before;

	(void)state;
	before = add_started(0, SONDE_DISCARD);
	(void)add(1, SONDE_DISCARD, &fake_ops, false);
	add(2, SONDE_DISCARD, &fake_ops, false)->start_error = -EIO;
	assert_int_equal(sonde_session_start(session, 0, &error), -EIO);
	assert_true(before->runs);
	assert_false(fakes[1].runs);
	fakes[2].start_error = 0;
	assert_int_equal(sonde_session_start(session, 0, &error), 0);
	assert_true(fakes[1].runs && fakes[2].runs);
	for (uint32_t i = 0; i < 3; i++)
		emit(&fakes[i], 1);
	assert_int_equal(sonde_session_free(session), 0);
	assert_int_equal(summary.recorded, 3);
}

static const struct sonde_source_change urgent = { .rules = "+*\0",
						   .rules_size = 4,
						   .loglevel = SONDE_ERR };
static const struct sonde_source_change all = { .rules = "+*\0",
						.rules_size = 4,
						.loglevel = SONDE_DEBUG };

static void a_change_is_made_to_all_sources_or_none(void **state)
{
	struct sonde_source_error error;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		(void)add_started(i, SONDE_DISCARD);
	assert_int_equal(sonde_session_change(session, &urgent, &error), 0);
	for (uint32_t i = 0; i < 3; i++)
		emit(&fakes[i], 1);
	assert_int_equal(emitted, 0);
	fakes[2].refuses = true;
	assert_int_equal(sonde_session_change(session, &all, &error), -EINVAL);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fakes[i].loglevel, SONDE_ERR);
	assert_int_equal(sonde_session_selected(session)->loglevel, SONDE_ERR);
	assert_int_equal(sonde_session_free(session), 0);
}

static void a_trigger_records_nothing_and_tells(void **state)
{
	struct fake *trigger;

	(void)state;
	trigger = add(0, SONDE_DISCARD, &fake_ops, true);
	trigger->runs = true;
	assert_int_equal(sonde_session_start(session, 0, NULL), 0);
	(void)sonde_session_consume(session);
	assert_false(sonde_session_has_happened(session));
	emit(trigger, 1);
	assert_int_equal(sonde_session_consume(session), 0);
	assert_true(sonde_session_has_happened(session));
	assert_int_equal(sonde_session_free(session), 0);
	assert_int_equal(summary.recorded, 0);
}

static void what_is_wrong_with_a_session_is_found(void **state)
{
	const struct sonde_consumer_config consumer = {
		.class_id = 7, /* nobody has taken it */
		.header = SONDE_LARGE,
		.name = "fake",
		.files = "wrong",
	};
	struct fake *fake = add_started(0, SONDE_DISCARD);
	struct sonde_source_error error;

	(void)state;
	emit(fake, 3);
	assert_null(sonde_session_check(session));
	fakes[1].base.ops = &fake_ops;
	assert_int_equal(sonde_session_add(session, SONDE_CTF_KERNEL,
					   &fakes[1].base, &consumer,
					   &fakes[1].consumer),
			 0);
	assert_non_null(sonde_session_check(session));
	assert_int_equal(sonde_consumer_start(fakes[1].consumer, 0, &error), 0);
	take_out(&fakes[1]);
	assert_null(sonde_session_check(session));
	assert_int_equal(sonde_session_free(session), 0);
}

/* ---- at random ---- */

static void come_or_go(struct fake *fake, uint32_t i)
{
	if (fake->consumer) {
		take_out(fake);
		return;
	}
	if (modes > 1 && random_int(&random_seed) % 3 == 0)
		add_started_of(i, SONDE_OVERWRITE, &once_ops);
	else
		add_started(i, random_int(&random_seed) % modes ?
				       SONDE_OVERWRITE :
				       SONDE_DISCARD)
			->interferes = random_int(&random_seed) % 2;
}

static void check_snapshot(void)
{
	struct sonde_summary copy;
	uint64_t before = 0;
	uint64_t after = 0;

	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i].consumer && fakes[i].mode == SONDE_OVERWRITE)
			before += fakes[i].committed;
	snapshot(&copy);
	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i].consumer && fakes[i].mode == SONDE_OVERWRITE)
			after += fakes[i].committed;
	/* Those that are written meanwhile may be in it. */
	assert_in_range(copy.recorded + copy.lost_overwritten, before, after);
}

static void step(void)
{
	uint32_t i = (uint32_t)random_int(&random_seed) % FAKES;
	struct sonde_source_error error;

	switch (random_int(&random_seed) % 64) {
	case 0:
	case 1:
		come_or_go(&fakes[i], i);
		break;
	case 2:
		assert_int_equal(sonde_session_change(
					 session,
					 random_int(&random_seed) % 2 ? &all :
									&urgent,
					 &error),
				 0);
		break;
	case 3:
		if (random_int(&random_seed) % 16 == 0)
			check_snapshot();
		break;
	case 4:
	case 5:
	case 6:
		assert_in_range(sonde_session_consume(session), 0, 1000);
		break;
	default:
		if (fakes[i].consumer)
			emit(&fakes[i], 1 + (uint32_t)random_int(&random_seed) %
							EVENTS_MAX);
		break;
	}
}

static void every_event_is_accounted_for_at_every_moment(void **state)
{
	uint64_t recorded;

	(void)state;
	NEED_WITNESS();
	random_seed = 4711;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		step();
		assert_int_equal(accounted() + unread(), emitted);
		assert_int_equal(surveyed(), emitted);
		assert_null(sonde_session_check(session));
	}
	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i].consumer)
			take_out(&fakes[i]);
	assert_int_equal(accounted(), emitted);
	recorded = summary.recorded;
	assert_int_equal(recorded + sonde_summary_lost(&summary), emitted);
	assert_true(recorded && summary.lost_kernel_full &&
		    summary.lost_overwritten);
	assert_int_equal(sonde_session_free(session), 0);
	check_traces(scratch.trace, recorded);
}

/* ---- from trace to trace ---- */

static int turn(void)
{
	static uint32_t number;
	char path[sizeof(scratch.top) + 32];
	int dir;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/next-%u", scratch.top, number++);
	dir = open_dir(path);
	rc = sonde_session_open_trace(session, SONDE_CTF_KERNEL, dir, "next",
				      NULL, 0);
	if (rc != -EBUSY) {
		int turned = sonde_session_turn(session, !rc);

		rc = rc ? rc : turned;
	}
	(void)close(dir);
	return rc;
}

static uint64_t in_trace(void)
{
	return sonde_session_output(session, SONDE_CTF_KERNEL)->recorded;
}

static uint64_t in_ending(void)
{
	return sonde_session_ending(session, SONDE_CTF_KERNEL)->recorded;
}

static void what_begins_after_a_turn_is_in_the_other_trace(void **state)
{
	struct fake *fake;

	(void)state;
	fake = add_started(0, SONDE_DISCARD);
	emit(fake, 3);
	(void)sonde_session_consume(session);
	assert_int_equal(turn(), 0);
	assert_true(sonde_session_is_turning(session));
	assert_int_equal(turn(), -EBUSY);
	assert_int_equal(in_trace(), 0);
	assert_int_equal(in_ending(), 3);
	emit(fake, 2);
	(void)sonde_session_consume(session);
	assert_false(sonde_session_is_turning(session));
	assert_int_equal(in_trace(), 2);
	assert_int_equal(in_ending(), 3);
	assert_int_equal(sonde_session_end_turn(session), 0);
	take_out(fake);
	assert_int_equal(sonde_session_free(session), 0);
	assert_int_equal(summary.recorded, 5);
}

static void a_source_that_cannot_be_parted_stays_where_it_is(void **state)
{
	struct sonde_source_error error;

	(void)state;
	(void)add(0, SONDE_DISCARD, &fake_ops, false);
	(void)add(1, SONDE_DISCARD, &simple_ops, false);
	assert_int_equal(sonde_session_start(session, 0, &error), 0);
	emit(&fakes[0], 3);
	emit(&fakes[1], 4);
	assert_int_equal(turn(), -EOPNOTSUPP);
	assert_false(sonde_session_is_turning(session));
	(void)sonde_session_consume(session);
	assert_int_equal(in_trace(), 7);
	assert_int_equal(sonde_session_free(session), 0);
	assert_int_equal(summary.recorded, 7);
}

static void turn_or_step(uint64_t *recorded)
{
	if (random_int(&random_seed) % 16) {
		step();
		return;
	}
	if (!sonde_session_ending(session, SONDE_CTF_KERNEL)->trace) {
		assert_int_equal(turn(), 0);
	} else if (!sonde_session_is_turning(session)) {
		*recorded += in_ending();
		assert_int_equal(sonde_session_end_turn(session), 0);
	}
}

static void every_event_is_in_one_trace(void **state)
{
	uint64_t recorded = 0;

	(void)state;
	NEED_WITNESS();
	random_seed = 1147;
	modes = 1;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		turn_or_step(&recorded);
		assert_int_equal(accounted() + unread(), emitted);
	}
	for (uint32_t i = 0; i < FAKES; i++)
		if (fakes[i].consumer)
			take_out(&fakes[i]);
	assert_int_equal(accounted(), emitted);
	if (sonde_session_ending(session, SONDE_CTF_KERNEL)->trace)
		recorded += in_ending();
	assert_int_equal(recorded + in_trace(), summary.recorded);
	assert_true(summary.lost_kernel_full);
	assert_int_equal(sonde_session_free(session), 0);
	check_traces(scratch.top, summary.recorded);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_snapshot_has_what_the_rings_hold_and_the_session_goes_on),
		CASE(what_a_source_gives_once_is_in_each_snapshot),
		CASE(of_what_is_given_once_the_oldest_goes),
		CASE(what_cant_be_read_while_it_records_is_named),
		CASE(if_one_source_does_not_start_none_does),
		CASE(a_change_is_made_to_all_sources_or_none),
		CASE(a_trigger_records_nothing_and_tells),
		CASE(what_is_wrong_with_a_session_is_found),
		CASE(every_event_is_accounted_for_at_every_moment),
		CASE(what_begins_after_a_turn_is_in_the_other_trace),
		CASE(a_source_that_cannot_be_parted_stays_where_it_is),
		CASE(every_event_is_in_one_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
