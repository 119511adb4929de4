/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.c - the source "bpf": programs on the kernel's tracepoints that write
 * our records into our rings (shared.h), which the same reader reads that reads
 * the rings of programs.
 *
 * Open: what is selected -> conditions into the programs' code -> load (the
 * kernel verifies them; constants folded) -> map the rings. Start: attach; mark
 * who is in the tree; then all CPUs at once. Halt: no CPU any more. Stop: wait
 * until the programs that run are done; detach, which may take seconds.
 *
 * Where time goes at the start is in docs/benchmarks.md: most of it the kernel
 * verifying the programs, those of system calls first.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"

static struct bpf_source *source_of(struct sonde_source *source)
{
	return (struct bpf_source *)source;
}

static const struct bpf_source *
source_of_const(const struct sonde_source *source)
{
	return (const struct bpf_source *)source;
}

/* ---- time ---- */

/* Into another slot than those programs may be reading, then `gen`. */
static void publish(struct bpf_source *source)
{
	struct sonde_bpf_clock *clock = source->clock;
	uint64_t gen = clock->gen + 1;
	struct sonde_bpf_slot *slot = &clock->slot[gen % SONDE_BPF_SLOTS];

	sonde_store_relaxed(&slot->base_ns, source->timing.line.base_ns);
	sonde_store_relaxed(&slot->base_counter,
			    source->timing.line.base_counter);
	sonde_store_relaxed(&slot->mult, source->timing.line.mult);
	/* Pairs with the load of `gen` in now() (writer.h): the slot is
	 * filled in. */
	sonde_store_release(&clock->gen, gen);
}

/* The rate's shift is a constant of the programs: before they are loaded. */
static int init_timing(struct bpf_source *source,
		       struct sonde_source_error *error)
{
	source->consts[SONDE_BPF_IS_IDENTITY] =
		source->config.clock == SONDE_CLOCK_MONOTONIC;
	source->consts[SONDE_BPF_SHIFT] = 32;
	if (source->consts[SONDE_BPF_IS_IDENTITY])
		return 0;
	if (!sonde_timing_begin(&source->timing, &source->first_pair,
				source->config.now, CLOCK_MONOTONIC))
		return sonde_source_fail(error, -ENODEV,
					 "BPF: the CPU's counter and "
					 "CLOCK_MONOTONIC don't agree on which "
					 "way time goes");
	source->consts[SONDE_BPF_SHIFT] = source->timing.shift;
	return 0;
}

static void update_timing(struct bpf_source *source)
{
	if (!source->consts[SONDE_BPF_IS_IDENTITY] &&
	    sonde_timing_measure(&source->timing, source->config.now,
				 CLOCK_MONOTONIC))
		publish(source);
}

static void bpf_tick(struct sonde_source *base)
{
	update_timing(source_of(base));
	bpf_probes_tick(source_of(base));
}

static uint64_t bpf_clock_error_ns(const struct sonde_source *base)
{
	const struct bpf_source *source = source_of_const(base);

	return source->consts[SONDE_BPF_IS_IDENTITY] ?
		       0 :
		       sonde_timing_error_ns(&source->timing);
}

/* ---- life ---- */

static void bpf_close(struct sonde_source *base)
{
	struct bpf_source *source = source_of(base);

	if (!source)
		return;
	bpf_object_free(source);
	bpf_rings_free(source);
	bpf_events_free(source);
	sonde_callstacks_own_fini(&source->own_code);
	free(source);
}

/* Which conditions are put into; without any, programs.c takes others. */
static int copy_image(struct bpf_source *source)
{
	const unsigned char *from = sonde_bpf_programs;
	size_t size = sonde_bpf_programs_size;

	if (source->config.stacks) {
		from = sonde_bpf_stacks;
		size = sonde_bpf_stacks_size;
	}
	source->image = malloc(size);
	if (!source->image)
		return -ENOMEM;
	memcpy(source->image, from, size);
	source->image_size = size;
	return 0;
}

static int prepare(struct bpf_source *source, struct sonde_source_error *error)
{
	int rc = bpf_object_able(source, error);

	if (!rc)
		rc = bpf_rings_plan(source, error);
	if (rc)
		return rc;
	source->consts[SONDE_BPF_IS_OVERWRITE] =
		source->config.mode == SONDE_OVERWRITE;
	source->consts[SONDE_BPF_IS_TREE] =
		source->config.scope == SONDE_SOURCE_TREE;
	/* The second counts only if there is a first. */
	if (source->config.self[0])
		source->consts[SONDE_BPF_SELF_1] =
			(uint32_t)source->config.self[1];
	source->consts[SONDE_BPF_SELF_0] = (uint32_t)source->config.self[0];
	source->consts[SONDE_BPF_STACK_FRAMES] = source->config.stack_frames;
	source->consts[SONDE_BPF_STACK_COPY] = bpf_stacks_copy_bytes(source);
	source->base.has_stacks = source->config.stacks != NULL;
	rc = copy_image(source);
	if (!rc)
		rc = bpf_events_select(source, error);
	if (rc)
		return rc;
	source->has_copies = source->has_late || source->config.stacks;
	/* Spares come last: without them, there are that many fewer. */
	if (!source->needs_spares || source->consts[SONDE_BPF_IS_OVERWRITE]) {
		source->geometry.total -= source->geometry.nr_spares;
		source->geometry.nr_spares = 0;
	}
	source->consts[SONDE_BPF_SPARE] =
		source->geometry.total - source->geometry.nr_spares;
	/* A hit that is left out is of whomever, and has met no condition. */
	source->base.loses_unwanted =
		source->has_late || source->config.nr_probes;
	source->consts[SONDE_BPF_HAS_CURRENT] =
		source->has_entries || source->has_exits ||
		source->consts[SONDE_BPF_ID + SONDE_BPF_SCHED_SWITCH];
	return init_timing(source, error);
}

static int bpf_open(const struct sonde_source_config *config,
		    struct sonde_source **ret_source,
		    struct sonde_source_error *error)
{
	struct bpf_source *source = calloc(1, sizeof(*source));
	int rc;

	if (!source)
		return sonde_source_fail(error, -ENOMEM, "out of memory");
	source->base.ops = &sonde_source_bpf;
	source->config = *config;
	source->mark_fd = -1;
	source->load.types = -1;
	source->misses.load.types = -1;
	if (config->clock != SONDE_CLOCK_MONOTONIC)
		sonde_pair_measure(config->now, CLOCK_MONOTONIC,
				   &source->first_pair);
	rc = prepare(source, error);
	if (!rc)
		rc = bpf_object_load(source, error);
	if (!rc) {
		rc = bpf_rings_init(source);
		if (!rc) {
			bpf_probes_begin(source);
			rc = bpf_late_init(source);
		}
		if (rc)
			(void)sonde_source_fail(error, rc,
						"BPF: the buffers can't be "
						"mapped");
	}
	if (rc) {
		if (rc == -ENOMEM && !error->text[0])
			(void)sonde_source_fail(error, rc, "out of memory");
		bpf_close(&source->base);
		return rc;
	}
	*ret_source = &source->base;
	return 0;
}

/*
 * Runs `mark` on each CPU. Whether it found itself in an interrupt where it was
 * in one, on all other CPUs, and in none where it was called: if not, where we
 * believe the count to be is something else.
 */
static bool mark_all(struct bpf_source *source)
{
	bool is_right = true;

	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++) {
		int before = sched_getcpu();
		int rc = bpf_object_mark(source, i, SONDE_BPF_WISH_MARK);
		int expected = before == (int)i ? SONDE_BPF_IN_THREAD :
						  SONDE_BPF_IN_INTERRUPT;

		if (!rc && before == sched_getcpu() &&
		    source->cpus[i].marked_in != expected)
			is_right = false;
	}
	return is_right;
}

static int bpf_start(struct sonde_source *base, pid_t root,
		     struct sonde_source_error *error)
{
	struct bpf_source *source = source_of(base);
	bool trust;
	int rc;

	if (!source->consts[SONDE_BPF_IS_IDENTITY]) {
		update_timing(source);
		publish(source);
	}
	rc = bpf_object_attach(source, error);
	if (!rc && source->consts[SONDE_BPF_IS_TREE])
		rc = bpf_tree_seed(source, root, error);
	if (!rc)
		rc = bpf_stacks_begin(source);
	if (rc) {
		bpf_object_detach(source);
		return rc;
	}
	/* Whoever runs this very moment does not come by a switch. A CPU that
	 * isn't there has nobody. */
	trust = mark_all(source);
	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		source->cpus[i].trusts_count = trust;
	bpf_rings_switch(source, true);
	source->is_started = true;
	return 0;
}

static void bpf_halt(struct sonde_source *base)
{
	bpf_rings_switch(source_of(base), false);
}

static void bpf_stop(struct sonde_source *base)
{
	struct bpf_source *source = source_of(base);

	if (!source->is_started)
		return;
	source->is_started = false;
	bpf_halt(base);
	bpf_rings_quiesce(source);
	bpf_object_detach(source);
	update_timing(source);
}

/* ---- events ---- */

static uint32_t bpf_nr_events(const struct sonde_source *base)
{
	return source_of_const(base)->nr_events;
}

static const struct sonde_desc *bpf_event(const struct sonde_source *base,
					  uint32_t index)
{
	return source_of_const(base)->events[index].desc;
}

static uint64_t bpf_unread(const struct sonde_source *base, uint32_t i)
{
	return bpf_probes_faults(source_of_const(base), i);
}

static bool bpf_has(const struct sonde_source *base, const char *group,
		    const char *name)
{
	return bpf_events_has(source_of_const(base), group, name);
}

/* ---- streams ---- */

static uint32_t bpf_nr_streams(const struct sonde_source *base)
{
	return source_of_const(base)->geometry.nr_cpus * SONDE_BPF_LEVELS;
}

static void bpf_stream(const struct sonde_source *base, uint32_t index,
		       struct sonde_source_stream *ret_stream)
{
	uint32_t cpu = index / SONDE_BPF_LEVELS;
	uint32_t level = index % SONDE_BPF_LEVELS;

	(void)base;
	ret_stream->cpu = cpu;
	if (level)
		(void)snprintf(ret_stream->name, sizeof(ret_stream->name),
			       "cpu%u_nested%u", cpu, level);
	else
		(void)snprintf(ret_stream->name, sizeof(ret_stream->name),
			       "cpu%u", cpu);
}

static int bpf_peek(struct sonde_source *base, uint32_t index,
		    struct sonde_ring_chunk *ret_chunk)
{
	struct bpf_source *source = source_of(base);
	struct bpf_stream *stream = &source->streams[index];
	int rc;

	if (stream->is_empty)
		return 0;
	rc = sonde_ring_peek(&stream->reader, ret_chunk);
	if (rc == 1 && source->has_copies)
		rc = bpf_late_peek(source, stream, index / SONDE_BPF_LEVELS,
				   ret_chunk);
	return rc;
}

/* Of what was delivered before and is again, nothing is counted anew. */
static void bpf_advance(struct sonde_source *base, uint32_t index,
			const struct sonde_ring_chunk *chunk)
{
	struct bpf_source *source = source_of(base);
	struct bpf_stream *stream = &source->streams[index];

	if (chunk->first && chunk->events_before > stream->at) {
		stream->overwritten += chunk->events_before - stream->at;
		stream->at = chunk->events_before;
	}
	if (chunk->events > stream->at) {
		stream->delivered += chunk->events - stream->at;
		stream->at = chunk->events;
	}
	if (source->has_copies)
		stream->late = stream->ahead;
	sonde_ring_advance(&stream->reader,
			   source->has_copies ? &stream->raw : chunk);
	if (!source->consts[SONDE_BPF_IS_OVERWRITE])
		sonde_ring_release(&stream->reader);
}

/* What was left out of an earlier reading counts as overwritten if it has been
 * since: nobody can tell any more. */
static int bpf_rewind(struct sonde_source *base, uint32_t index)
{
	struct bpf_stream *stream = &source_of(base)->streams[index];

	if (stream->is_empty)
		return 0;
	stream->late = (struct bpf_late){ 0 };
	return sonde_ring_rewind(&stream->reader);
}

static bool bpf_verify(const struct sonde_source *base, uint32_t index,
		       const struct sonde_ring_chunk *chunk)
{
	return sonde_ring_verify(&source_of_const(base)->streams[index].reader,
				 chunk);
}

/* What comes next begins a sub-buffer, if it is not in the one that is read. All
 * rings of the CPU are parted at once; a CPU that is not there writes nothing. */
static void bpf_part(struct sonde_source *base, uint32_t index)
{
	const struct bpf_source *source = source_of(base);

	if (!source->streams[index].is_empty &&
	    sonde_ring_is_within(&source->streams[index].reader))
		(void)bpf_object_mark(source, index / SONDE_BPF_LEVELS,
				      SONDE_BPF_WISH_PART);
}

static bool bpf_is_parted(const struct sonde_source *base, uint32_t index)
{
	const struct bpf_stream *stream =
		&source_of_const(base)->streams[index];

	return stream->is_empty || (!stream->reader.offset &&
				    sonde_ring_is_parted(&stream->reader));
}

static uint64_t bpf_capacity(const struct sonde_source *base, uint32_t index)
{
	const struct bpf_source *source = source_of_const(base);
	const struct bpf_stream *stream = &source->streams[index];

	if (stream->is_empty)
		return 0;
	return (uint64_t)stream->reader.nr_subbufs * stream->reader.subbuf_size;
}

static void bpf_counts(struct sonde_source *base, uint32_t index,
		       struct sonde_source_counts *ret_counts)
{
	const struct bpf_source *source = source_of(base);
	const struct bpf_stream *stream = &source->streams[index];
	struct sonde_ring_totals totals;

	/* A ring that contradicts itself has its counters still. */
	(void)sonde_ring_count(&stream->reader, &totals);
	*ret_counts = (struct sonde_source_counts){
		.delivered = stream->delivered,
		.lost_full = totals.discarded_full,
		.lost_size = totals.discarded_size,
		.overwritten = stream->overwritten,
		/* How many of them are wanted, only reading tells. */
		.committed = source->has_late ? 0 : totals.committed,
	};
}

static const char *bpf_uncounted(const struct sonde_source *base)
{
	return bpf_misses_uncounted(source_of_const(base));
}

static uint64_t bpf_missed(struct sonde_source *base)
{
	struct bpf_source *source = source_of(base);
	uint64_t missed = source->is_started ? bpf_missed_by_programs(source) :
					       source->missed;

	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		missed += sonde_load_relaxed(&source->cpus[i].lost_deep);
	return missed;
}

static uint64_t bpf_unfollowed(struct sonde_source *base)
{
	const struct bpf_source *source = source_of(base);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		nr += sonde_load_relaxed(&source->cpus[i].lost_track);
	return nr;
}

static uint64_t bpf_shortened(struct sonde_source *base)
{
	const struct bpf_source *source = source_of(base);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < bpf_nr_streams(base); i++)
		nr += source->streams[i].late.lean;
	return nr;
}

/* Not of a tree, whose switches are followed for another purpose. */
static uint64_t bpf_unseen(struct sonde_source *base)
{
	const struct bpf_source *source = source_of(base);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		nr += sonde_load_relaxed(&source->cpus[i].unseen);
	return source->consts[SONDE_BPF_ID + SONDE_BPF_SCHED_SWITCH] ? nr : 0;
}

const struct sonde_source_ops sonde_source_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.nr_events = bpf_nr_events,
	.event = bpf_event,
	.has = bpf_has,
	.nr_streams = bpf_nr_streams,
	.stream = bpf_stream,
	.start = bpf_start,
	.halt = bpf_halt,
	.stop = bpf_stop,
	.tick = bpf_tick,
	.peek = bpf_peek,
	.advance = bpf_advance,
	.rewind = bpf_rewind,
	.verify = bpf_verify,
	.part = bpf_part,
	.is_parted = bpf_is_parted,
	.capacity = bpf_capacity,
	.counts = bpf_counts,
	.missed = bpf_missed,
	.uncounted = bpf_uncounted,
	.unfollowed = bpf_unfollowed,
	.shortened = bpf_shortened,
	.unseen = bpf_unseen,
	.unread = bpf_unread,
	.clock_error_ns = bpf_clock_error_ns,
	.close = bpf_close,
};
