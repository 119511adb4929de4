/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.c - samples of what runs, as a source: some hundred times a second the
 * kernel notes, on each CPU that isn't idle, which thread runs and its call
 * stack (perf.h).
 *
 *	sonde:sample	{pid, stack, period}: the thread of the context `tid` ran;
 *			`stack` is the number of its call stack, `period` how
 *			much of the CPU's time it stands for, in nanoseconds
 *			(stacks.c)
 *	sonde:began	{pid, parent}: a process by a fork; parent 0: it executes
 *			a program, and nothing is mapped that was
 *	sonde:mapping	{pid, begin, end, offset, flags, path, build_id}: a file
 *			with code, from then on
 *
 * Processes that run already join one by one (threads.h).
 *
 * Without samples (sample_hz 0) it tells the others: the kernel has an event for
 * that (PERF_COUNT_SW_DUMMY).
 *
 * Two streams for each CPU, of samples and of what names them, of packets in memory
 * that are made some times a second; in overwrite mode the oldest go when there is no room,
 * and what names things stays longer, as there is less of it. A program's frames are
 * found in the copy of its stack that comes with a sample (mapped_code.h), where the CPU has
 * rules for that; else by frame pointers, the kernel's own way.
 *
 * A sample has the number of its stack when it comes. When the table of stacks turns
 * (callstacks.h), those that are in memory get others, each once: so a chunk and a
 * snapshot are told the stacks of their own samples. In overwrite mode the table
 * turns before it is full, too: stacks of samples that were overwritten are forgotten.
 *
 * In the traced program: nothing. The kernel takes some ten microseconds of the
 * program's CPU time for each sample, a third of it for the copy
 * (docs/decisions/0025-samples.md).
 * Accounts: what a full ring lost, the kernel counts; what finds no room in
 * memory is counted by its packets.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/port.h"
#include "base/time.h"
#include "source/callstacks.h"
#include "source/sample/events.h"
#include "source/sample/mapped_code.h"
#include "source/sample/perf.h"
#include "source/sample/threads.h"
#include "source/source.h"
#include "source/timing.h"
#include "sys/cpus.h"
#include "sys/proc.h"
#include "types/desc.h"

#define SAMPLE_PACKET_NS UINT64_C(50000000) /* followers see them by then */
#define SAMPLE_STACK_AT  4u                 /* in a sample's payload */
#define SAMPLE_OUT_BYTES (16ull << 20)      /* of a stream, not yet written */
/* Of a stream in overwrite mode; of samples at least. */
#define SAMPLE_KEPT_BYTES (1ull << 20)

struct sample_cpu {
	struct sonde_perf_ring ring;
	struct sonde_perf_record record; /* the ring's next */
	const void *bytes;               /* of it; NULL: there is none */
	size_t size;
	struct sonde_out samples; /* as many as there is room for */
	struct sonde_out mapped;  /* what names them */
};

struct sample {
	struct sonde_source base; /* first */
	struct sonde_source_config config;
	struct sonde_desc *descs[SONDE_SAMPLE_NR_EVENTS];
	bool no_kernel;
	uint32_t nr_cpus;
	struct sample_cpu *cpus;
	struct sonde_perf_threads threads; /* of those that join */
	bool is_identity; /* the session's clock is the samples' */
	struct sonde_timing timing;
	struct sonde_pair first_pair;
	uint64_t flushed_ns; /* packets were closed, by CLOCK_MONOTONIC */
	uint32_t *
		order; /* CPUs with a next record: a heap, the earliest first */
	uint32_t nr_ordered;
};

static struct sample *sample_of(struct sonde_source *base)
{
	return (struct sample *)base;
}

static const struct sample *sample_of_const(const struct sonde_source *base)
{
	return (const struct sample *)base;
}

/* ---- events ---- */

static int sample_make_descs(struct sample *sample)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	const struct sonde_desc *made = (const void *)room;

	for (size_t i = 0; i < SONDE_SAMPLE_NR_EVENTS; i++) {
		int rc =
			sonde_sample_describe((enum sonde_sample_event)i, room);

		if (rc)
			return rc;
		sample->descs[i] = malloc(made->size);
		if (!sample->descs[i])
			return -ENOMEM;
		memcpy(sample->descs[i], made, made->size);
	}
	return 0;
}

/* All but the stacks, which are told by another source. */
static int sample_describe(struct sonde_source *base,
			   struct sonde_source_known *known)
{
	static const enum sonde_sample_event events[] = {
		SONDE_SAMPLE_BEGAN,
		SONDE_SAMPLE_MAPPING,
		SONDE_SAMPLE,
	};
	const struct sample *sample = sample_of(base);
	size_t nr = SONDE_ARRAY_SIZE(events) - !sample->config.sample_hz;
	int rc = 0;

	for (size_t i = 0; !rc && !known->begun && i < nr; i++)
		rc = known->add(known->ctx, SONDE_SOURCE_FIRST_ID + events[i],
				sample->descs[events[i]]);
	known->begun = !rc;
	return rc;
}

/* ---- times ---- */

static int sample_begin_timing(struct sample *sample)
{
	sample->is_identity = sample->config.clock == SONDE_CLOCK_MONOTONIC;
	if (sample->is_identity ||
	    sonde_timing_begin(&sample->timing, &sample->first_pair,
			       sample->config.now, CLOCK_MONOTONIC))
		return 0;
	return -EIO;
}

static uint64_t sample_clock_error_ns(const struct sonde_source *base)
{
	const struct sample *sample = sample_of_const(base);

	return sample->is_identity ? 0 : sonde_timing_error_ns(&sample->timing);
}

/* ---- records ---- */

/* Where a copy of the stack came with the sample, the program's half is by it. */
static void sample_unwind(struct sample *sample, struct sample_cpu *cpu)
{
	struct sonde_callstacks_chain *chain = &cpu->record.chain;
	struct sonde_perf_user user;

	if (!sonde_perf_parse_user(cpu->bytes, cpu->size, &user))
		return;
	user.at = cpu->samples.at;
	user.pid = cpu->record.pid;
	user.depth = SONDE_STACKS_DEPTH_MAX;
	chain->nr = cpu->record.nr_kernel;
	sonde_perf_code_walk(sample->config.code, &user, chain);
}

static void sample_put(struct sample *sample, struct sample_cpu *cpu)
{
	const struct sonde_perf_record *record = &cpu->record;
	uint32_t words[3] = { (uint32_t)record->pid, 0,
			      1000000000u / sample->config.sample_hz };
	uint8_t *at;

	if (record->pid == sample->config.self[0] ||
	    record->pid == sample->config.self[1])
		return;
	sample_unwind(sample, cpu);
	words[1] = sonde_callstacks_store_keep(sample->config.stacks,
					       &record->chain);
	at = sonde_out_event(&cpu->samples,
			     SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE,
			     SONDE_SAMPLE_BYTES);
	if (at)
		memcpy(at, words, SONDE_SAMPLE_BYTES);
}

static void sample_put_mapping(struct sample_cpu *cpu, const char *build_id)
{
	sonde_statedump_emit_mapping(&cpu->mapped, &cpu->record.mapping,
				     build_id);
}

static void sample_put_began(struct sample_cpu *cpu)
{
	const int32_t numbers[2] = { cpu->record.pid, cpu->record.parent };
	uint8_t *at =
		sonde_out_event(&cpu->mapped,
				SONDE_SOURCE_FIRST_ID + SONDE_SAMPLE_BEGAN,
				SONDE_SAMPLE_BEGAN_BYTES);

	if (at)
		memcpy(at, numbers, SONDE_SAMPLE_BEGAN_BYTES);
}

/* Where what record is of goes, and, as far as can be told, what is lost. */
static struct sonde_out *sample_out_of(const struct sample *sample,
				       struct sample_cpu *cpu,
				       enum sonde_perf_kind kind)
{
	return sample->config.sample_hz && (kind == SONDE_PERF_SAMPLE ||
					    kind == SONDE_PERF_LOST) ?
		       &cpu->samples :
		       &cpu->mapped;
}

static void sample_take(struct sample *sample, struct sample_cpu *cpu)
{
	const struct sonde_perf_record *record = &cpu->record;
	struct sonde_out *out = sample_out_of(sample, cpu, record->kind);
	char build_id[2 * SONDE_PERF_BUILD_ID_MAX + 1];

	if (record->kind == SONDE_PERF_OTHER)
		return;
	out->at = sample->is_identity ?
			  record->ns :
			  sonde_timing_at(&sample->timing, record->ns);
	out->tid = (uint32_t)record->tid;
	sonde_hex_put(record->build_id, record->build_id_bytes, build_id);
	sonde_perf_code_heed(sample->config.code, record, build_id, out->at);
	switch (record->kind) {
	case SONDE_PERF_SAMPLE:
		sample_put(sample, cpu);
		break;
	case SONDE_PERF_MAPPED:
		sample_put_mapping(cpu, build_id);
		break;
	case SONDE_PERF_BEGAN:
		sample_put_began(cpu);
		break;
	case SONDE_PERF_LOST:
		out->lost += record->lost;
		break;
	case SONDE_PERF_ENDED:
	case SONDE_PERF_OTHER:
		break;
	}
}

static bool sample_is_joined(const struct sample *sample)
{
	return sample->config.scope == SONDE_SOURCE_JOINED;
}

/* False: the record makes no sense. */
static bool sample_parse(struct sample *sample, struct sample_cpu *cpu,
			 void *bytes)
{
	uint64_t id = 0;

	if (sample_is_joined(sample) &&
	    !sonde_perf_take_id(bytes, &cpu->size, &id))
		return false;
	if (!sonde_perf_parse(bytes, cpu->size, &cpu->record))
		return false;
	if (id && cpu->record.kind == SONDE_PERF_SAMPLE)
		sonde_perf_threads_saw(&sample->threads, cpu->record.tid, id);
	return true;
}

/* The ring's next record that makes sense; false: there is none by now. */
static bool sample_fetch(struct sample *sample, struct sample_cpu *cpu)
{
	void *bytes;

	while ((bytes = sonde_perf_next(&cpu->ring, &cpu->size))) {
		cpu->bytes = bytes;
		if (sample_parse(sample, cpu, bytes))
			return true;
		sample_out_of(sample, cpu, SONDE_PERF_LOST)->lost++;
	}
	return false;
}

static uint64_t sample_ordered_ns(const struct sample *sample, uint32_t i)
{
	return sample->cpus[sample->order[i]].record.ns;
}

/* The heap below its i-th place is one, but for what is there. */
static void sample_sift(struct sample *sample, uint32_t i)
{
	uint32_t *order = sample->order;
	uint32_t least = i;

	do {
		uint32_t cpu = order[i];

		order[i] = order[least];
		order[least] = cpu;
		i = least;
		for (uint32_t k = 2 * i + 1;
		     k <= 2 * i + 2 && k < sample->nr_ordered; k++)
			if (sample_ordered_ns(sample, k) <
			    sample_ordered_ns(sample, least))
				least = k;
	} while (least != i);
}

/* The records of all CPUs, in the order of their times, as what one says of a
 * process's mappings tells how the stacks of samples on others are unwound. */
static void sample_drain(struct sample *sample)
{
	sample->nr_ordered = 0;
	for (uint32_t i = 0; i < sample->nr_cpus; i++)
		if (sample_fetch(sample, &sample->cpus[i]))
			sample->order[sample->nr_ordered++] = i;
	for (uint32_t i = sample->nr_ordered; i > 0; i--)
		sample_sift(sample, i - 1);
	while (sample->nr_ordered) {
		struct sample_cpu *cpu = &sample->cpus[sample->order[0]];

		sample_take(sample, cpu);
		if (!sample_fetch(sample, cpu))
			sample->order[0] = sample->order[--sample->nr_ordered];
		if (sample->nr_ordered)
			sample_sift(sample, 0);
	}
}

static void sample_catch_up(void *ctx)
{
	sample_drain(ctx);
}

static void sample_flush(struct sample *sample)
{
	if (sample->config.mode == SONDE_OVERWRITE)
		return;
	for (uint32_t i = 0; i < sample->nr_cpus; i++) {
		sonde_out_flush(&sample->cpus[i].samples);
		sonde_out_flush(&sample->cpus[i].mapped);
	}
}

/* A packet takes a page of the file, whatever is in it: not one in each round. */
static void sample_flush_old(struct sample *sample)
{
	const uint64_t now_ns = sonde_monotonic_ns();

	if (now_ns - sample->flushed_ns < SAMPLE_PACKET_NS)
		return;
	sample->flushed_ns = now_ns;
	sample_flush(sample);
}

/* ---- stacks ---- */

struct sample_renumbering {
	struct sonde_callstacks_store *stacks;
	uint64_t nr_without;
};

static void sample_renumber_one(void *ctx, uint8_t *payload)
{
	struct sample_renumbering *renumbering = ctx;
	uint32_t number;

	memcpy(&number, payload + SAMPLE_STACK_AT, sizeof(number));
	renumbering->nr_without += !number;
	number = sonde_callstacks_store_renew(renumbering->stacks, number);
	memcpy(payload + SAMPLE_STACK_AT, &number, sizeof(number));
}

static uint64_t sample_renumber(struct sonde_source *base)
{
	struct sample *sample = sample_of(base);
	struct sample_renumbering renumbering = {
		.stacks = sample->config.stacks,
	};

	for (uint32_t i = 0; i < sample->nr_cpus; i++)
		sonde_out_each(&sample->cpus[i].samples, SONDE_SAMPLE_BYTES,
			       sample_renumber_one, &renumbering);
	return renumbering.nr_without;
}

static void sample_tick(struct sonde_source *base)
{
	struct sample *sample = sample_of(base);

	/* Or it's no better. */
	if (!sample->is_identity)
		(void)sonde_timing_measure(&sample->timing, sample->config.now,
					   CLOCK_MONOTONIC);
	sample_drain(sample);
	sample_flush_old(sample);
}

/* ---- streams ---- */

/* Those of samples, if there are any, come first. */
static bool sample_is_of_samples(const struct sample *sample, uint32_t stream)
{
	return sample->config.sample_hz && stream < sample->nr_cpus;
}

static struct sonde_out *sample_out(struct sonde_source *base, uint32_t stream)
{
	struct sample *sample = sample_of(base);
	struct sample_cpu *cpu = &sample->cpus[stream % sample->nr_cpus];

	return sample_is_of_samples(sample, stream) ? &cpu->samples :
						      &cpu->mapped;
}

static uint32_t sample_nr_streams(const struct sonde_source *base)
{
	const struct sample *sample = sample_of_const(base);

	return sample->nr_cpus * (sample->config.sample_hz ? 2 : 1);
}

static void sample_stream(const struct sonde_source *base, uint32_t index,
			  struct sonde_source_stream *ret_stream)
{
	const struct sample *sample = sample_of_const(base);
	uint32_t cpu = index % sample->nr_cpus;

	*ret_stream = (struct sonde_source_stream){
		.cpu = cpu,
		.defines = !sample_is_of_samples(sample, index),
	};
	(void)snprintf(ret_stream->name, sizeof(ret_stream->name), "cpu%u%s",
		       cpu,
		       sample_is_of_samples(sample, index) ? "" : "_mapped");
}

static int sample_peek(struct sonde_source *base, uint32_t stream,
		       struct sonde_ring_chunk *ret_chunk)
{
	return sonde_out_peek(sample_out(base, stream), ret_chunk);
}

static void sample_advance(struct sonde_source *base, uint32_t stream,
			   const struct sonde_ring_chunk *chunk)
{
	(void)chunk; /* it was all of the packet */
	sonde_out_advance(sample_out(base, stream));
}

static int sample_rewind(struct sonde_source *base, uint32_t stream)
{
	struct sonde_ring_chunk chunk;

	sonde_out_rewind(sample_out(base, stream));
	return sample_peek(base, stream, &chunk);
}

/* Nobody else writes to a packet. */
static bool sample_verify(const struct sonde_source *base, uint32_t stream,
			  const struct sonde_ring_chunk *chunk)
{
	(void)base;
	(void)stream;
	(void)chunk;
	return true;
}

/* What is there by now is a packet, which can be read without others. */
static void sample_part(struct sonde_source *base, uint32_t stream)
{
	if (sample_of(base)->config.mode != SONDE_OVERWRITE)
		sonde_out_flush(sample_out(base, stream));
}

static bool sample_is_parted(const struct sonde_source *base, uint32_t stream)
{
	(void)base;
	(void)stream;
	return true;
}

/* Of what a CPU's samples may take. */
static uint64_t sample_kept_bytes(const struct sample *sample)
{
	uint64_t bytes = sample->config.memory_bytes / sample->nr_cpus;

	return bytes > SAMPLE_KEPT_BYTES ? bytes : SAMPLE_KEPT_BYTES;
}

/* Of the smallest that there is. */
static uint64_t sample_ring_bytes(const struct sample *sample)
{
	uint64_t least = SONDE_PERF_RING_BYTES_MAX;

	for (uint32_t i = 0; i < sample->nr_cpus; i++)
		if (sample->cpus[i].ring.map &&
		    sample->cpus[i].ring.bytes < least)
			least = sample->cpus[i].ring.bytes;
	return least;
}

static uint64_t sample_capacity(const struct sonde_source *base,
				uint32_t stream)
{
	const struct sample *sample = sample_of_const(base);

	if (sample->config.mode != SONDE_OVERWRITE)
		return sample_ring_bytes(sample);
	return sample_is_of_samples(sample, stream) ?
		       sample_kept_bytes(sample) :
		       SAMPLE_KEPT_BYTES;
}

static void sample_counts(struct sonde_source *base, uint32_t stream,
			  struct sonde_source_counts *ret_counts)
{
	const struct sonde_out *out = sample_out(base, stream);

	*ret_counts = (struct sonde_source_counts){
		.delivered = out->delivered,
		.lost_full = out->lost,
		.overwritten = out->overwritten,
		.committed = out->events,
	};
}

/* ---- life ---- */

static void sample_switch(struct sample *sample, bool on)
{
	if (sample_is_joined(sample))
		sonde_perf_threads_switch(&sample->threads, on);
	for (uint32_t i = 0; !sample_is_joined(sample) && i < sample->nr_cpus;
	     i++)
		sonde_perf_switch(&sample->cpus[i].ring, on);
}

static void sample_close_rings(struct sample *sample)
{
	for (uint32_t i = 0; i < sample->nr_cpus; i++)
		sonde_perf_close(&sample->cpus[i].ring);
}

static int sample_fail(int rc, const struct sample *sample,
		       struct sonde_source_error *error)
{
	const char *option = sample->config.sample_hz ? "--sample" : "--stack";

	bool is_all = sample->config.scope == SONDE_SOURCE_MACHINE;

	if (rc == -EACCES || rc == -EPERM)
		return sonde_source_fail(
			error, rc,
			"%s: the kernel doesn't let this user sample %s: "
			"become root, or sudo sysctl "
			"kernel.perf_event_paranoid=%s",
			option, is_all ? "all of the machine" : "programs",
			is_all ? "0" : "2");
	if (rc == -EINVAL)
		return sonde_source_fail(
			error, rc,
			"--sample=%u: the kernel takes no such event; at most "
			"kernel.perf_event_max_sample_rate a second are "
			"possible",
			sample->config.sample_hz);
	if (rc == -EMFILE || rc == -ENFILE)
		return sonde_source_fail(error, rc,
					 "%s: it takes some descriptors for "
					 "each CPU, more than ulimit -n allows",
					 option);
	return sonde_source_fail(error, rc, "%s: perf_event_open: %s", option,
				 strerrordesc_np(-rc));
}

/* What all events are like: those of joined threads, or of rings. */
static struct sonde_perf_config sample_perf_config(const struct sample *sample)
{
	return (struct sonde_perf_config){
		.hz = sample->config.sample_hz,
		.no_kernel = sample->no_kernel,
		.stack_bytes =
			sample->config.sample_hz ? SONDE_PERF_STACK_BYTES : 0,
		.nr_cpus = sample->nr_cpus,
		.has_ids = sample_is_joined(sample),
	};
}

/* CPUs that are off have no ring. */
static int sample_open_rings(struct sample *sample, pid_t root,
			     struct sonde_source_error *error)
{
	struct sonde_perf_config config = sample_perf_config(sample);
	uint32_t nr = 0;

	config.pid = root;
	/* Of our own, which are never on: others' records go to their rings. */
	if (sample_is_joined(sample)) {
		config.hz = 0;
		config.stack_bytes = 0;
		config.no_kernel = true;
	}
	for (uint32_t i = 0; i < sample->nr_cpus; i++) {
		int rc;

		config.cpu = i;
		rc = sonde_perf_open(&sample->cpus[i].ring, &config);
		if (rc && rc != -ENODEV) {
			sample_close_rings(sample);
			return sample_fail(rc, sample, error);
		}
		nr += !rc;
	}
	return nr ? 0 : sample_fail(-ENODEV, sample, error);
}

static int sample_start(struct sonde_source *base, pid_t root,
			struct sonde_source_error *error)
{
	struct sample *sample = sample_of(base);
	int rc = sample_begin_timing(sample);

	if (rc)
		return sonde_source_fail(error, rc, "--sample: %s",
					 "two clocks contradict each other");
	if (!sample_is_joined(sample))
		rc = sample_open_rings(
			sample,
			sample->config.scope == SONDE_SOURCE_TREE ? root : -1,
			error);
	if (!rc)
		sample_switch(sample, true);
	return rc;
}

static int sample_fail_to_join(int rc, pid_t pid, const struct sample *sample,
			       struct sonde_source_error *error)
{
	char name[SONDE_COMM_SIZE];

	sonde_process_name(pid, name);
	if (rc == -EMFILE || rc == -ENFILE)
		return sonde_source_fail(
			error, rc,
			"%s (pid %d) is not sampled: it takes a descriptor "
			"for each of its threads and CPUs (%u), more than "
			"ulimit -n allows",
			name, (int)pid, sample->nr_cpus);
	if (rc == -EACCES || rc == -EPERM)
		return sonde_source_fail(error, rc,
					 "%s (pid %d) is not sampled: it is "
					 "another user's, or has rights of its "
					 "own: become root",
					 name, (int)pid);
	return sonde_source_fail(error, rc, "%s (pid %d) is not sampled: %s",
				 name, (int)pid, strerrordesc_np(-rc));
}

static int sample_join(struct sonde_source *base, pid_t pid,
		       struct sonde_source_error *error)
{
	struct sample *sample = sample_of(base);
	int rc = sonde_perf_threads_join(&sample->threads, pid,
					 &sample->cpus->ring,
					 sizeof(*sample->cpus));

	return rc ? sample_fail_to_join(rc, pid, sample, error) : 0;
}

static void sample_stop(struct sonde_source *base)
{
	sample_switch(sample_of(base), false);
	sample_tick(base);
	sample_flush(sample_of(base));
}

static void sample_close(struct sonde_source *base)
{
	struct sample *sample = sample_of(base);

	if (!sample)
		return;
	sonde_perf_threads_fini(&sample->threads);
	sonde_perf_code_follow(sample->config.code, NULL, NULL);
	free(sample->order);
	sample_close_rings(sample);
	for (uint32_t i = 0; i < sample->nr_cpus; i++) {
		sonde_out_fini(&sample->cpus[i].samples);
		sonde_out_fini(&sample->cpus[i].mapped);
	}
	for (size_t i = 0; i < SONDE_SAMPLE_NR_EVENTS; i++)
		free(sample->descs[i]);
	free(sample->cpus);
	free(sample);
}

/* What this user may have: with the kernel's half, or without. */
static int sample_try(struct sample *sample, struct sonde_source_error *error)
{
	struct sonde_perf_config config = {
		.cpu = UINT32_MAX,
		.hz = sample->config.sample_hz,
		.no_kernel = !sample->config.sample_hz,
	};
	int rc;

	if (sample->config.scope == SONDE_SOURCE_MACHINE) {
		config.pid = -1;
		config.cpu = 0;
	}
	rc = sonde_perf_try(&config);
	sample->no_kernel = config.no_kernel;
	if ((rc == -EACCES || rc == -EPERM) && !config.no_kernel) {
		config.no_kernel = true;
		sample->no_kernel = true;
		sample->base.note =
			"the time that threads spend in the kernel is not "
			"sampled: this user may not (kernel.perf_event_"
			"paranoid is 2 or more)";
		rc = sonde_perf_try(&config);
	}
	return rc ? sample_fail(rc, sample, error) : 0;
}

static void sample_init_out(const struct sample *sample, struct sonde_out *out,
			    uint64_t kept_bytes)
{
	bool keeps_newest = sample->config.mode == SONDE_OVERWRITE;

	sonde_out_init(out, sample->config.now, 0,
		       keeps_newest ? kept_bytes : SAMPLE_OUT_BYTES);
	out->keeps_newest = keeps_newest;
}

static int sample_make_cpus(struct sample *sample)
{
	uint32_t nr = sonde_cpus_possible();

	sample->cpus = calloc(nr, sizeof(*sample->cpus));
	sample->order = calloc(nr, sizeof(*sample->order));
	if (!sample->cpus || !sample->order)
		return -ENOMEM;
	sample->nr_cpus = nr;
	for (uint32_t i = 0; i < nr; i++) {
		sample->cpus[i].ring.fd = -1;
		sample_init_out(sample, &sample->cpus[i].samples,
				sample_kept_bytes(sample));
		sample_init_out(sample, &sample->cpus[i].mapped,
				SAMPLE_KEPT_BYTES);
	}
	return 0;
}

/* They may join from now on. */
static int sample_get_joinable(struct sample *sample,
			       struct sonde_source_error *error)
{
	const struct sonde_perf_config config = sample_perf_config(sample);

	sonde_perf_threads_init(&sample->threads, &config, sample->nr_cpus);
	return sample_open_rings(sample, 0, error);
}

static int sample_open(const struct sonde_source_config *config,
		       struct sonde_source **ret_source,
		       struct sonde_source_error *error)
{
	struct sample *sample;
	int rc;

	if (!config->sample_hz && !config->stack_frames)
		return -ENODATA;
	sample = calloc(1, sizeof(*sample));
	if (!sample)
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	sample->base.ops = &sonde_source_samples;
	sample->config = *config;
	rc = sample_make_cpus(sample);
	if (!rc)
		rc = sample_make_descs(sample);
	if (rc)
		(void)sample_fail(rc, sample, error);
	else
		rc = sample_try(sample, error);
	if (!rc && sample_is_joined(sample))
		rc = sample_get_joinable(sample, error);
	if (rc) {
		sample_close(&sample->base);
		return rc;
	}
	sonde_pair_measure(config->now, CLOCK_MONOTONIC, &sample->first_pair);
	sonde_perf_code_follow(config->code, sample_catch_up, sample);
	*ret_source = &sample->base;
	return 0;
}

const struct sonde_source_ops sonde_source_samples = {
	.name = "samples",
	.open = sample_open,
	.describe = sample_describe,
	.nr_streams = sample_nr_streams,
	.stream = sample_stream,
	.start = sample_start,
	.join = sample_join,
	.stop = sample_stop,
	.tick = sample_tick,
	.peek = sample_peek,
	.advance = sample_advance,
	.rewind = sample_rewind,
	.verify = sample_verify,
	.renumber = sample_renumber,
	.part = sample_part,
	.is_parted = sample_is_parted,
	.capacity = sample_capacity,
	.counts = sample_counts,
	.clock_error_ns = sample_clock_error_ns,
	.close = sample_close,
};
