/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.c - the source "modules": our own tracer in the kernel
 * (src/kmod), by /dev/sonde.
 *
 *	events.c	what is selected, and what the module is asked for
 *	geometry.c	how much memory a ring has
 *	device.c	the device: session, channel, events
 *	probes.c	probes at functions, as GDB's tracepoints are; behind the
 *			events, by their ids
 *	stream.c	a CPU's ring, read
 *	marks.c		lines that programs write
 *	stacks.c	call stacks of events, by their numbers
 *
 * Open: the device -> what is selected -> a session and its channel, with all
 * memory -> a stream and a mapping for every possible CPU -> the events, which
 * the module registers; nothing is recorded yet. Start: whose tree; go. Stop:
 * when it returns, no probe writes any more (a grace period has passed), so
 * what is read then is all there will be. Close: the descriptors; the kernel
 * takes away what hangs on them, also if this process is killed.
 *
 * A tracepoint that can't be recorded is an error if the user named it. If it
 * was selected with others, by a glob, it is left to other sources: has() says
 * no, and the rules' has_left that there is such a one.
 *
 * Records are in the rings as source/source.h has them; nothing is copied or
 * converted here but call stacks. Times are the session's clock itself.
 */
#include "source/module/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/module/marks.h"
#include "source/module/probes.h"
#include "source/module/stream.h"

struct module_source {
	struct sonde_source base;
	const struct module_system *system;
	struct sonde_source_config config;
	struct module_device device;
	struct module_events events;
	bool *left_out;              /* by event: another source has it */
	struct module_probes probes; /* their ids follow the events' */
	struct module_geometry geometry;
	struct module_stream *streams;
	uint32_t nr_streams;
	struct module_marks marks; /* their streams follow */
	struct module_stacks stacks;
	bool wants_door;
	bool is_started;
};

static struct module_source *source_of(struct sonde_source *source)
{
	return (struct module_source *)source;
}

static const struct module_source *
module_source_of_const(const struct sonde_source *source)
{
	return (const struct module_source *)source;
}

/* ---- opening ---- */

static int plan_memory(struct module_source *source,
		       struct sonde_source_error *error)
{
	const struct sonde_source_config *config = &source->config;
	uint32_t nr_cpus = source->device.info.nr_cpus;

	if (!module_geometry_init(&source->geometry, config->memory_bytes,
				  config->subbuf_bytes, nr_cpus)) {
		source->base.unused_bytes =
			config->memory_bytes -
			module_geometry_bytes(&source->geometry);
		return 0;
	}
	/* Another source may do with that. */
	return sonde_source_fail(
		error, -ENOSPC,
		"modules: %llu bytes for %u CPUs, in pieces of %u, make no "
		"buffers; --kernel-memory must be at least %llu KiB",
		(unsigned long long)config->memory_bytes, nr_cpus,
		config->subbuf_bytes,
		(unsigned long long)module_geometry_least(nr_cpus) / 1024);
}

static int module_open_streams(struct module_source *source,
			       struct sonde_source_error *error)
{
	uint32_t nr = source->geometry.nr_cpus;
	int rc = 0;

	source->streams = calloc(nr, sizeof(*source->streams));
	if (!source->streams)
		return -ENOMEM;
	while (!rc && source->nr_streams < nr) {
		uint32_t cpu = source->nr_streams++;

		rc = module_stream_open(&source->streams[cpu], source->system,
					source->device.channel,
					&source->geometry, cpu,
					source->config.mode == SONDE_OVERWRITE);
		if (!source->config.stacks)
			continue;
		source->streams[cpu].stacks = &source->stacks;
		source->streams[cpu].copy.has_places =
			source->config.mode == SONDE_OVERWRITE;
	}
	if (rc)
		return sonde_source_fail(
			error, rc, "modules: the buffer of CPU %u: %s%s",
			source->nr_streams - 1, strerrordesc_np(-rc),
			rc == -EMFILE ? "; raise ulimit -n" : "");
	return 0;
}

/* Whether it is another source's business. */
static bool can_leave(const struct module_event *event, int rc)
{
	return !event->is_named && event->event.type == SONDE_KMOD_TRACEPOINT &&
	       (rc == -ENOENT || rc == -EOPNOTSUPP);
}

static const char *why_refused(int rc)
{
	switch (rc) {
	case -ENOENT:
		return "the module finds no such event";
	case -E2BIG:
		return "its condition and those that others have there could "
		       "take milliseconds at each event";
	default:
		return strerrordesc_np(-rc);
	}
}

static int module_refused(const struct module_event *event, int rc,
			  struct sonde_source_error *error)
{
	if (event->condition && rc == -EINVAL)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "modules: %s:%s: the kernel's part "
					 "can't test 'if %.120s'; another "
					 "--kernel-source can",
					 event->group, event->name,
					 event->condition);
	if (rc == -EILSEQ) {
		char probe[SONDE_KMOD_NAME_MAX + 16];

		(void)snprintf(probe, sizeof(probe), "%s:%s", event->group,
			       event->name);
		return sonde_source_no_instruction(error, probe);
	}
	/* -EINVAL would say that the user is wrong. */
	return sonde_source_fail(error, rc == -EINVAL ? -EOPNOTSUPP : rc,
				 "modules: %s:%s can't be recorded: %s; "
				 "another --kernel-source may do it",
				 event->group, event->name, why_refused(rc));
}

static int add_events(struct module_source *source,
		      struct sonde_source_error *error)
{
	uint32_t nr_left_out = 0;

	source->left_out = calloc(source->events.nr + 1u, sizeof(bool));
	if (!source->left_out)
		return -ENOMEM;
	for (uint32_t i = 0; i < source->events.nr; i++) {
		struct module_event *event = &source->events.list[i];
		int rc;

		if (source->config.stacks)
			event->event.flags |= SONDE_KMOD_STACK;
		rc = module_device_add(&source->device, event);
		if (rc && !can_leave(event, rc))
			return module_refused(event, rc, error);
		source->left_out[i] = rc;
		nr_left_out += rc != 0;
	}
	if (nr_left_out)
		source->config.rules->has_left = true;
	return nr_left_out == source->events.nr && !source->marks.table &&
			       !source->config.nr_probes ?
		       -ENODATA :
		       0;
}

/* Those of config's events: whether the module has them. */
static int module_check_stacks(struct module_source *source,
			       struct sonde_source_error *error)
{
	if (!source->config.stacks)
		return 0;
	if (!(source->device.info.features & SONDE_KMOD_HAS_STACKS))
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "modules: call stacks aren't this "
					 "kernel's, or this module's; take "
					 "--kernel-source bpf");
	source->base.has_stacks = true;
	/* Before payloads, which must fit. */
	source->config.subbuf_bytes -=
		(uint32_t)sizeof(struct sonde_kmod_stack) +
		8 * (SONDE_KMOD_STACK_FRAMES + 1);
	return 0;
}

/* Where the module has none, tracefs has. */
static void module_open_door(struct module_source *source)
{
	int rc;

	if (!source->wants_door)
		return;
	rc = module_marks_plan(&source->marks, &source->config,
			       source->device.info.nr_cpus);
	if (!rc)
		rc = module_marks_open(
			&source->marks, &source->device, &source->config,
			SONDE_SOURCE_FIRST_ID + source->events.nr +
				source->config.nr_probes);
	if (!rc)
		return;
	module_marks_close(&source->marks);
	source->config.rules->has_left = true;
}

static int module_set_up(struct module_source *source,
			 struct sonde_source_error *error)
{
	int rc = module_device_open(&source->device, source->system, error);

	if (!rc)
		rc = plan_memory(source, error);
	if (rc)
		return rc;
	/* Texts are cut so that a record fits into a sub-buffer. */
	source->config.subbuf_bytes = source->geometry.subbuf_bytes;
	rc = module_check_stacks(source, error);
	if (!rc)
		rc = source->system->select(&source->config, &source->events,
					    error);
	if (rc == -ENODATA &&
	    (source->wants_door || source->config.nr_probes)) {
		error->text[0] = '\0'; /* the door is enough, and probes are */
		rc = 0;
	}
	if (!rc)
		rc = module_device_session(&source->device, &source->config,
					   &source->geometry, error);
	if (!rc)
		rc = module_open_streams(source, error);
	if (rc)
		return rc;
	module_open_door(source);
	rc = module_probes_open(&source->probes, &source->device,
				&source->config,
				SONDE_SOURCE_FIRST_ID + source->events.nr,
				error);
	return rc ? rc : add_events(source, error);
}

static void module_close(struct sonde_source *base)
{
	struct module_source *source = source_of(base);

	if (!source)
		return;
	for (uint32_t i = 0; i < source->nr_streams; i++)
		module_stream_close(&source->streams[i]);
	module_stacks_fini(&source->stacks);
	module_marks_close(&source->marks);
	module_probes_close(&source->probes, &source->device);
	module_device_close(&source->device);
	source->system->release(&source->events);
	free(source->streams);
	free(source->left_out);
	free(source);
}

int module_source_open(const struct module_system *system,
		       const struct sonde_source_config *config,
		       struct sonde_source **ret_source,
		       struct sonde_source_error *error)
{
	struct module_source *source = calloc(1, sizeof(*source));
	int rc;

	if (!source)
		return sonde_source_fail(error, -ENOMEM, "out of memory");
	source->base.ops = &sonde_source_modules;
	source->system = system;
	source->config = *config;
	/* A mark has no call stack, so it is in no such stream. */
	source->wants_door = !config->stacks && sonde_source_wants_door(config);
	rc = module_stacks_init(&source->stacks, config);
	if (!rc)
		rc = module_set_up(source, error);
	if (!rc) {
		*ret_source = &source->base;
		return 0;
	}
	if (rc == -ENOMEM && !error->text[0])
		(void)sonde_source_fail(error, rc, "out of memory");
	module_close(&source->base);
	return rc;
}

static int module_open(const struct sonde_source_config *config,
		       struct sonde_source **ret_source,
		       struct sonde_source_error *error)
{
	return module_source_open(&module_system_linux, config, ret_source,
				  error);
}

/* ---- life ---- */

static int module_start(struct sonde_source *base, pid_t root,
			struct sonde_source_error *error)
{
	struct module_source *source = source_of(base);
	bool is_tree = source->config.scope == SONDE_SOURCE_TREE;
	int rc;

	module_probes_tick(&source->probes, &source->device);
	rc = module_device_start(&source->device, is_tree ? root : 0, error);
	source->is_started = !rc;
	return rc;
}

static void module_stop(struct sonde_source *base)
{
	struct module_source *source = source_of(base);

	if (source->is_started)
		module_device_stop(&source->device);
	source->is_started = false;
	module_probes_tick(&source->probes, &source->device);
}

static void module_tick(struct sonde_source *base)
{
	struct module_source *source = source_of(base);

	module_probes_tick(&source->probes, &source->device);
}

static uint64_t module_unread(const struct sonde_source *base, uint32_t i)
{
	return module_probes_faults(&module_source_of_const(base)->probes, i);
}

static uint64_t module_missed(struct sonde_source *base)
{
	return module_device_missed(&source_of(base)->device);
}

static uint64_t module_missed_returns(struct sonde_source *base)
{
	return module_device_missed_returns(&source_of(base)->device);
}

static uint64_t module_unseen(struct sonde_source *base)
{
	return module_device_unseen(&source_of(base)->device);
}

/* ---- events ---- */

static uint32_t module_nr_events(const struct sonde_source *base)
{
	const struct module_source *source = module_source_of_const(base);

	return source->events.nr + source->config.nr_probes;
}

static const struct sonde_desc *module_event(const struct sonde_source *base,
					     uint32_t index)
{
	const struct module_source *source = module_source_of_const(base);
	uint32_t nr = source->events.nr;

	return index < nr ? source->events.list[index].desc :
			    source->config.probes[index - nr].desc;
}

static bool module_has(const struct sonde_source *base, const char *group,
		       const char *name)
{
	const struct module_source *source = module_source_of_const(base);

	if (source->marks.table && !strcmp(group, SONDE_MARK_PROVIDER) &&
	    !strcmp(name, SONDE_MARK_LINE))
		return true;
	for (uint32_t i = 0; i < source->events.nr; i++)
		if (source->left_out[i] &&
		    !strcmp(source->events.list[i].group, group) &&
		    !strcmp(source->events.list[i].name, name))
			return false;
	return source->system->has(&source->events, group, name);
}

static int module_describe(struct sonde_source *base,
			   struct sonde_source_known *known)
{
	return module_marks_describe(&source_of(base)->marks, known);
}

static const char *module_door(const struct sonde_source *base)
{
	const struct module_marks *marks = &module_source_of_const(base)->marks;

	return marks->table ? marks->door : NULL;
}

/* ---- streams ---- */

/* In the ring: an event stream's, or behind those, one of lines. */
static struct module_stream *raw_stream_at(struct sonde_source *base,
					   uint32_t index)
{
	struct module_source *source = source_of(base);

	return index < source->nr_streams ?
		       &source->streams[index] :
		       &source->marks.streams[index - source->nr_streams].raw;
}

static uint32_t module_nr_streams(const struct sonde_source *base)
{
	const struct module_source *source = module_source_of_const(base);

	return source->nr_streams + source->marks.nr_streams;
}

static void module_stream(const struct sonde_source *base, uint32_t index,
			  struct sonde_source_stream *ret_stream)
{
	uint32_t nr = module_source_of_const(base)->nr_streams;

	ret_stream->cpu = index % nr;
	(void)snprintf(ret_stream->name, sizeof(ret_stream->name), "cpu%u%s",
		       index % nr, index < nr ? "" : "_marks");
}

static int module_peek(struct sonde_source *base, uint32_t index,
		       struct sonde_ring_chunk *ret_chunk)
{
	struct module_source *source = source_of(base);
	uint32_t nr = source->nr_streams;

	return index < nr ?
		       module_stream_peek(&source->streams[index], ret_chunk) :
		       module_marks_peek(&source->marks, index - nr, ret_chunk);
}

/* Marks have no stacks. */
static const struct sonde_callstacks_places *
module_places(const struct sonde_source *base, uint32_t index)
{
	const struct module_source *source = module_source_of_const(base);

	return index < source->nr_streams ?
		       &source->streams[index].copy.places :
		       NULL;
}

static void module_advance(struct sonde_source *base, uint32_t index,
			   const struct sonde_ring_chunk *chunk)
{
	struct module_source *source = source_of(base);
	uint32_t nr = source->nr_streams;

	if (index < nr)
		module_stream_advance(&source->streams[index]);
	else
		module_marks_advance(&source->marks, index - nr, chunk);
}

static int module_rewind(struct sonde_source *base, uint32_t index)
{
	return module_stream_rewind(raw_stream_at(base, index));
}

static void module_part(struct sonde_source *base, uint32_t index)
{
	module_stream_part(raw_stream_at(base, index));
}

static bool module_is_parted(const struct sonde_source *base, uint32_t index)
{
	const struct module_source *source = module_source_of_const(base);
	uint32_t nr = source->nr_streams;

	return index < nr ? !source->streams[index].has_begun :
			    !source->marks.streams[index - nr].raw.has_begun;
}

static uint64_t module_capacity(const struct sonde_source *base, uint32_t index)
{
	const struct module_source *source = module_source_of_const(base);
	const struct module_geometry *geometry =
		index < source->nr_streams ? &source->geometry :
					     &source->marks.geometry;

	return (uint64_t)geometry->nr_subbufs * geometry->subbuf_bytes;
}

/* How many of the lines are wanted, only reading tells. */
static void module_counts(struct sonde_source *base, uint32_t index,
			  struct sonde_source_counts *ret_counts)
{
	struct module_source *source = source_of(base);
	uint32_t nr = source->nr_streams;

	if (index < nr)
		module_stream_counts(&source->streams[index], ret_counts);
	else
		module_marks_counts(&source->marks, index - nr, ret_counts);
}

const struct sonde_source_ops sonde_source_modules = {
	.name = "modules",
	.is_read_once = true,
	.open = module_open,
	.nr_events = module_nr_events,
	.event = module_event,
	.describe = module_describe,
	.has = module_has,
	.door = module_door,
	.nr_streams = module_nr_streams,
	.stream = module_stream,
	.start = module_start,
	.stop = module_stop,
	.tick = module_tick,
	.peek = module_peek,
	.advance = module_advance,
	.rewind = module_rewind,
	.places = module_places,
	.part = module_part,
	.is_parted = module_is_parted,
	.capacity = module_capacity,
	.counts = module_counts,
	.missed = module_missed,
	.unseen = module_unseen,
	.missed_returns = module_missed_returns,
	.unread = module_unread,
	.close = module_close,
};
