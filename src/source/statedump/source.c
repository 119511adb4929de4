/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.c - the state of the system as a source (source.h).
 *
 * Threads are collected first (tasks.h), since a parent or
 * a table of descriptors is only understood when all are known; files go out as
 * they are found, mappings process by process (mapped_files.h).
 */
#include "source/statedump/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "source/statedump/events.h"
#include "source/statedump/iter.h"
#include "source/statedump/mapped_files.h"
#include "source/statedump/packets.h"
#include "source/statedump/proc.h"
#include "source/statedump/system.h"
#include "source/statedump/tasks.h"
#include "sys/proc.h"

struct dump {
	struct sonde_source source; /* first */
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS];
	struct sonde_out out;
	struct sonde_iter *iter; /* NULL: it goes by /proc */
	struct sonde_proc *proc;
	uint64_t omitted; /* not yet said in an event */
	uint64_t lost;    /* of the output's, those that were */
	/* While a dump is taken. */
	struct sonde_tasks tasks;
	struct sonde_mapped mapped;
	uint64_t deadline;
};

static struct dump *dump_of(struct sonde_source *source)
{
	return (struct dump *)source;
}

static const struct dump *const_dump_of(const struct sonde_source *source)
{
	return (const struct dump *)source;
}

/* ---- readers ---- */

/* Takes it over; from now on it goes by that, or by /proc if that is NULL. */
static void dump_use(struct dump *dump, struct sonde_iter *iter)
{
	sonde_iter_free(dump->iter);
	dump->iter = iter;
}

/* ---- what readers say ---- */

static int on_task(void *ctx, const struct sonde_statedump_task *task)
{
	struct dump *dump = ctx;

	return sonde_tasks_add(&dump->tasks, task);
}

static int dump_on_file(void *ctx, const struct sonde_statedump_file *file)
{
	struct dump *dump = ctx;
	uint64_t table = sonde_tasks_table(&dump->tasks, file->files);

	/* A table that came into being meanwhile: its process is not known. */
	if (table)
		sonde_statedump_emit_file(&dump->out, file, table);
	return 0;
}

static int on_mapping(void *ctx, const struct sonde_statedump_mapping *mapping)
{
	struct dump *dump = ctx;

	return sonde_mapped_add(&dump->mapped, &dump->out, mapping);
}

static void on_omission(void *ctx, uint64_t nr)
{
	struct dump *dump = ctx;

	dump->omitted += nr;
}

static struct sonde_statedump_target target_of(struct dump *dump)
{
	return (struct sonde_statedump_target){ dump, on_task, dump_on_file,
						on_mapping, on_omission };
}

/* ---- taking one ---- */

/* What the kernel's side didn't get to the end of counts as one omission: most of it
 * is there. Only memory is worth an error. */
static int forgive(struct dump *dump, int rc)
{
	if (!rc || rc == -ENOMEM)
		return rc;
	dump->omitted++;
	return 0;
}

static int collect_by_proc(struct dump *dump, int32_t only_pid)
{
	struct sonde_statedump_target target = target_of(dump);

	return forgive(
		dump,
		only_pid ?
			sonde_proc_tasks_of(dump->proc, only_pid, &target) :
			sonde_proc_tasks(dump->proc, dump->deadline, &target));
}

/* All threads; or those of one process, and maybe others. */
static int collect_tasks(struct dump *dump, int32_t only_pid)
{
	struct sonde_statedump_target target = target_of(dump);
	int rc = sonde_tasks_init(&dump->tasks, dump->proc);

	if (!rc && dump->iter)
		rc = sonde_iter_tasks(dump->iter, only_pid, &target);
	if (rc && rc != -ENOMEM) {
		/* It worked when it was loaded, and does no longer. */
		dump_use(dump, NULL);
		sonde_tasks_fini(&dump->tasks);
		rc = sonde_tasks_init(&dump->tasks, dump->proc);
	}
	if (!rc && !dump->iter)
		rc = collect_by_proc(dump, only_pid);
	return rc ? rc : sonde_tasks_finish(&dump->tasks);
}

static void emit_processes(struct dump *dump)
{
	for (size_t i = 0; i < dump->tasks.nr; i++) {
		const struct sonde_statedump_task *task = &dump->tasks.all[i];

		sonde_statedump_emit_process(
			&dump->out, task, sonde_tasks_vppid(&dump->tasks, task),
			sonde_tasks_table(&dump->tasks, task->files));
	}
}

static int add_files(struct dump *dump, int32_t only_pid,
		     const struct sonde_statedump_wanted *wanted)
{
	struct sonde_statedump_target target = target_of(dump);

	if (dump->iter)
		return forgive(dump, sonde_iter_files(dump->iter, only_pid,
						      wanted, &target));
	return sonde_proc_files(dump->proc, wanted, dump->deadline, &target);
}

static int dump_add_mappings(struct dump *dump, int32_t only_pid,
			     const struct sonde_statedump_wanted *wanted)
{
	struct sonde_statedump_target target = target_of(dump);
	int rc = sonde_mapped_init(&dump->mapped,
				   sonde_monotonic_ns() +
					   SONDE_STATEDUMP_BUILD_IDS_NS);

	if (!rc && dump->iter)
		rc = forgive(dump, sonde_iter_mappings(dump->iter, only_pid,
						       wanted, &target));
	else if (!rc)
		rc = sonde_proc_mappings(dump->proc, wanted, dump->deadline,
					 &target);
	sonde_mapped_flush(&dump->mapped, &dump->out);
	dump->omitted += dump->mapped.omitted;
	sonde_mapped_fini(&dump->mapped);
	return rc;
}

static int take(struct dump *dump, const struct sonde_source_state *request)
{
	int32_t only_pid = request->root_only ? request->roots[0] : 0;
	/* By /proc numbers are as the roots are. */
	const struct sonde_tasks_roots roots = {
		.pids = request->roots,
		.nr = request->nr_roots,
		.pid_ns = dump->iter ? sonde_process_ns(0, "pid") : 0,
		.alone = request->root_only,
	};
	struct sonde_statedump_wanted wanted;
	int rc;

	rc = collect_tasks(dump, only_pid);
	if (rc)
		return rc;
	dump->omitted += dump->tasks.omitted;
	if (!only_pid) {
		sonde_statedump_emit_start(
			&dump->out, sonde_statedump_reader(&dump->source));
		emit_processes(dump);
	}
	wanted = sonde_tasks_wanted(&dump->tasks, &roots);
	rc = add_files(dump, only_pid, &wanted);
	if (!rc)
		rc = dump_add_mappings(dump, only_pid, &wanted);
	if (!rc && !only_pid)
		rc = sonde_statedump_system(&dump->out);
	if (!rc && request->symbols)
		sonde_statedump_symbols(&dump->out);
	return rc;
}

static int dump_take(struct sonde_source *source,
		     const struct sonde_source_state *request)
{
	struct dump *dump = dump_of(source);
	int rc;

	if (request->root_only && request->nr_roots != 1)
		return -EINVAL;
	for (size_t i = 0; i < request->nr_roots; i++)
		if (request->roots[i] <= 0)
			return -EINVAL;
	dump->deadline =
		sonde_monotonic_ns() +
		(request->limit_ns ? request->limit_ns : SONDE_STATEDUMP_NS);
	dump->out.bytes_max = SONDE_STATEDUMP_BYTES_MAX;
	rc = take(dump, request);
	sonde_tasks_fini(&dump->tasks);
	dump->omitted += dump->out.lost - dump->lost;
	dump->lost = dump->out.lost;
	if (!request->root_only) {
		/* There is room for the last event. */
		dump->out.bytes_max += 2ull * SONDE_OUT_BLOCK_BYTES;
		sonde_statedump_emit_end(&dump->out, dump->omitted);
		dump->omitted = 0;
	}
	sonde_out_flush(&dump->out);
	return rc ? rc : dump->out.is_out_of_memory ? -ENOMEM : 0;
}

enum sonde_statedump_reader
sonde_statedump_reader(const struct sonde_source *source)
{
	return const_dump_of(source)->iter ? SONDE_STATEDUMP_BY_ITERATORS :
					     SONDE_STATEDUMP_BY_PROC;
}

int sonde_statedump_read_by(struct sonde_source *source,
			    enum sonde_statedump_reader reader)
{
	struct sonde_iter *iter = NULL;
	int rc = 0;

	if (reader == SONDE_STATEDUMP_BY_ITERATORS)
		rc = sonde_iter_new(&iter);
	if (!rc)
		dump_use(dump_of(source), iter);
	return rc;
}

/* ---- a source ---- */

static void dump_close(struct sonde_source *source)
{
	struct dump *dump = dump_of(source);

	if (!dump)
		return;
	dump_use(dump, NULL);
	sonde_proc_free(dump->proc);
	sonde_statedump_descs_free(dump->descs);
	sonde_out_fini(&dump->out);
	free(dump);
}

static int dump_open(const struct sonde_source_config *config,
		     struct sonde_source **ret_source,
		     struct sonde_source_error *error)
{
	struct dump *dump = calloc(1, sizeof(*dump));
	int rc;

	if (!dump)
		return sonde_source_fail(error, -ENOMEM, "state dump: %s",
					 "out of memory");
	dump->source.ops = &sonde_source_statedump;
	sonde_out_init(&dump->out, config->now, (uint32_t)gettid(),
		       SONDE_STATEDUMP_BYTES_MAX);
	rc = sonde_statedump_descs_new(dump->descs);
	if (!rc) {
		dump->proc = sonde_proc_new();
		rc = dump->proc ? 0 : -ENOMEM;
	}
	if (rc) {
		dump_close(&dump->source);
		return sonde_source_fail(error, rc, "state dump: %s",
					 "out of memory");
	}
	/* Else it goes by /proc. */
	(void)sonde_statedump_read_by(&dump->source,
				      SONDE_STATEDUMP_BY_ITERATORS);
	*ret_source = &dump->source;
	return 0;
}

static uint32_t dump_nr_events(const struct sonde_source *source)
{
	(void)source;
	return SONDE_STATEDUMP_NR_EVENTS;
}

static const struct sonde_desc *dump_event(const struct sonde_source *source,
					   uint32_t index)
{
	return const_dump_of(source)->descs[index];
}

static uint32_t dump_nr_streams(const struct sonde_source *source)
{
	(void)source;
	return 1;
}

static void dump_stream(const struct sonde_source *source, uint32_t index,
			struct sonde_source_stream *ret_stream)
{
	(void)source;
	(void)index;
	*ret_stream = (struct sonde_source_stream){ .name = "dump" };
}

static int dump_peek(struct sonde_source *source, uint32_t stream,
		     struct sonde_ring_chunk *ret_chunk)
{
	(void)stream;
	return sonde_out_peek(&dump_of(source)->out, ret_chunk);
}

static void dump_advance(struct sonde_source *source, uint32_t stream,
			 const struct sonde_ring_chunk *chunk)
{
	(void)stream;
	(void)chunk; /* it was all of the packet */
	sonde_out_advance(&dump_of(source)->out);
}

static int dump_rewind(struct sonde_source *source, uint32_t stream)
{
	struct sonde_ring_chunk chunk;

	/* Nothing is ever overwritten. */
	return dump_peek(source, stream, &chunk);
}

static uint64_t dump_capacity(const struct sonde_source *source,
			      uint32_t stream)
{
	(void)source;
	(void)stream;
	return SONDE_STATEDUMP_BYTES_MAX;
}

static void dump_counts(struct sonde_source *source, uint32_t stream,
			struct sonde_source_counts *ret_counts)
{
	const struct sonde_out *out = &dump_of(source)->out;

	(void)stream;
	*ret_counts = (struct sonde_source_counts){
		.delivered = out->delivered,
		.lost_full = out->lost,
	};
}

const struct sonde_source_ops sonde_source_statedump = {
	.name = "dump",
	.is_state = true,
	.open = dump_open,
	.nr_events = dump_nr_events,
	.event = dump_event,
	.nr_streams = dump_nr_streams,
	.stream = dump_stream,
	.take = dump_take,
	.peek = dump_peek,
	.advance = dump_advance,
	.rewind = dump_rewind,
	.capacity = dump_capacity,
	.counts = dump_counts,
	.close = dump_close,
};
