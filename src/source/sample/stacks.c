/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.c - the call stacks of one trace of the kernel, as a source of state: those
 * that its events and samples have by their numbers (source/callstacks.h).
 *
 *	sonde:stack, sonde:stacks_lost	as of programs, of image 0
 *	sonde:code, sonde:code_lost	names of code that processes have made at run
 *					time, of those in whose code stacks were; when
 *					this source is stopped
 *	sonde:looked	{pid, nr, age}: which code a process had mapped, of which nobody
 *			tells, from `age` ticks before this event on: `nr` times
 *			sonde:mapping follow; 0: it had ended, or executed another
 *			program, before that was looked for. What was told of it
 *			before is of another program
 *	sonde:mapping	{pid, begin, end, offset, flags, path, build_id}
 *
 * Each trace, a chunk or a snapshot as well, has one of its own, which is opened
 * when the trace begins and closed when all its events are in it: so it is told
 * every stack anew that one of its events has. One stream; a stack is told in the
 * round in which an event with it was read, if this source is read after the
 * others.
 *
 * Cost: a look at each place of the tables since the first that wasn't told.
 */
#include <errno.h>
#include <stdlib.h>

#include "source/callstacks.h"
#include "source/sample/events.h"
#include "source/sample/mapped_code.h"

#define LOOKS_AT_ONCE 64u
/* More than what is told at once has. */
#define TELLER_OUT_BYTES (8ull << 20)
/* All the stacks there can be, twice. */
#define TELLER_BYTES_MAX \
	(2ull * SONDE_STACKS_MAX * (64 + 8 * SONDE_STACKS_DEPTH_MAX))

struct teller {
	struct sonde_source base; /* first */
	const struct sonde_callstacks_store *stacks;
	struct sonde_callstacks_telling telling;
	struct sonde_perf_code *code; /* or NULL */
	uint32_t nr_makers;           /* whose code was told */
	uint32_t nr_looks;            /* likewise */
	bool is_ending;
	struct sonde_out out;
};

static struct teller *teller_of(struct sonde_source *base)
{
	return (struct teller *)base;
}

static int teller_open(const struct sonde_source_config *config,
		       struct sonde_source **ret_source,
		       struct sonde_source_error *error)
{
	struct teller *teller;

	if (!config->stacks)
		return -ENODATA;
	teller = calloc(1, sizeof(*teller));
	if (!teller)
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	teller->base.ops = &sonde_source_stacks;
	teller->stacks = config->stacks;
	teller->code = config->code;
	if (teller->code && teller->code->nr_looks > SONDE_PERF_LOOKS_MAX)
		teller->nr_looks =
			teller->code->nr_looks - SONDE_PERF_LOOKS_MAX;
	teller->telling.nr_turns = config->stacks->nr_turns;
	sonde_out_init(&teller->out, config->now, 0, TELLER_OUT_BYTES);
	*ret_source = &teller->base;
	return 0;
}

static int teller_describe(struct sonde_source *base,
			   struct sonde_source_known *known)
{
	static const enum sonde_sample_event events[] = {
		SONDE_SAMPLE_STACK,  SONDE_SAMPLE_STACKS_LOST,
		SONDE_SAMPLE_CODE,   SONDE_SAMPLE_CODE_LOST,
		SONDE_SAMPLE_LOOKED, SONDE_SAMPLE_MAPPING,
	};
	uint64_t room[SONDE_DESC_MAX / 8];
	int rc = 0;

	(void)base;
	for (size_t i = 0; !rc && !known->begun && i < SONDE_ARRAY_SIZE(events);
	     i++) {
		rc = sonde_sample_describe(events[i], room);
		if (!rc)
			rc = known->add(known->ctx,
					SONDE_SOURCE_FIRST_ID + events[i],
					(const struct sonde_desc *)room);
	}
	known->begun = !rc;
	return rc;
}

static uint32_t teller_nr_streams(const struct sonde_source *base)
{
	(void)base;
	return 1;
}

static void teller_stream(const struct sonde_source *base, uint32_t index,
			  struct sonde_source_stream *ret_stream)
{
	(void)base;
	(void)index;
	*ret_stream = (struct sonde_source_stream){ .name = "stacks",
						    .defines = true };
}

/* Of a process; what it doesn't say has no name. */
static void teller_tell_code(struct teller *teller,
			     const struct sonde_perf_maker *maker)
{
	const struct sonde_source_code_target target = {
		.out = &teller->out,
		.code_id = SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_CODE,
		.lost_id = SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_CODE_LOST,
		.owner = (uint32_t)maker->pid,
	};

	(void)sonde_source_code_tell(&maker->place, &target);
}

static void teller_tell_look(struct teller *teller,
			     const struct sonde_perf_look *look)
{
	const int32_t pid = (int32_t)look->key.space;
	struct sonde_statedump_mapping mapping;
	uint8_t *at =
		sonde_out_event(&teller->out,
				SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_LOOKED,
				SONDE_SAMPLE_LOOKED_BYTES);
	uint64_t age;

	if (!at)
		return; /* counted */
	age = teller->out.packer.last - look->since;
	memcpy(at, &pid, 4);
	memcpy(at + 4, &look->nr, 4);
	memcpy(at + 8, &age, 8);
	for (uint32_t i = 0; i < look->nr; i++) {
		const char *build_id = sonde_perf_code_looked_mapping(
			teller->code, look, i, &mapping);

		if (build_id)
			sonde_statedump_emit_mapping(&teller->out, &mapping,
						     build_id);
	}
}

/* Some of those that are new. */
static void teller_tell_looks(struct teller *teller)
{
	struct sonde_perf_look look;

	for (uint32_t i = 0;
	     i < LOOKS_AT_ONCE && teller->nr_looks != teller->code->nr_looks;
	     i++)
		if (sonde_perf_code_looked(teller->code, teller->nr_looks++,
					   &look))
			teller_tell_look(teller, &look);
}

static void teller_stop(struct sonde_source *base)
{
	teller_of(base)->is_ending = true;
}

/* What is new, piece by piece, until there is nothing more. */
static int teller_peek(struct sonde_source *base, uint32_t stream,
		       struct sonde_ring_chunk *ret_chunk)
{
	struct teller *teller = teller_of(base);
	struct sonde_callstacks_target target = {
		.out = &teller->out,
		.stack_id = SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_STACK,
		.lost_id = SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_STACKS_LOST,
	};

	(void)stream;
	if (!teller->out.first)
		(void)sonde_callstacks_store_tell(&teller->telling,
						  teller->stacks, &target);
	while (!teller->out.first && teller->code &&
	       teller->nr_looks != teller->code->nr_looks)
		teller_tell_looks(teller);
	while (!teller->out.first && teller->is_ending && teller->code &&
	       teller->nr_makers < teller->code->nr_makers)
		teller_tell_code(teller,
				 &teller->code->makers[teller->nr_makers++]);
	sonde_out_flush(&teller->out);
	return sonde_out_peek(&teller->out, ret_chunk);
}

static void teller_advance(struct sonde_source *base, uint32_t stream,
			   const struct sonde_ring_chunk *chunk)
{
	(void)stream;
	(void)chunk; /* it was all of the packet */
	sonde_out_advance(&teller_of(base)->out);
}

static uint64_t teller_capacity(const struct sonde_source *base,
				uint32_t stream)
{
	(void)base;
	(void)stream;
	return TELLER_BYTES_MAX;
}

static void teller_counts(struct sonde_source *base, uint32_t stream,
			  struct sonde_source_counts *ret_counts)
{
	const struct teller *teller = teller_of(base);

	(void)stream;
	*ret_counts = (struct sonde_source_counts){
		.delivered = teller->out.delivered,
		.lost_full = teller->out.lost,
	};
}

static void teller_close(struct sonde_source *base)
{
	struct teller *teller = teller_of(base);

	if (!teller)
		return;
	sonde_callstacks_telling_fini(&teller->telling);
	sonde_out_fini(&teller->out);
	free(teller);
}

const struct sonde_source_ops sonde_source_stacks = {
	.name = "stacks",
	.is_state = true,
	.open = teller_open,
	.describe = teller_describe,
	.nr_streams = teller_nr_streams,
	.stream = teller_stream,
	.peek = teller_peek,
	.advance = teller_advance,
	.stop = teller_stop,
	.capacity = teller_capacity,
	.counts = teller_counts,
	.close = teller_close,
};
