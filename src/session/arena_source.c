/* SPDX-License-Identifier: MIT */
/*
 * arena_source.c - see arena_source.h: events, rings, life, and at last what
 * the process says of itself.
 */
#include "session/arena_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"
#include "ring/hello.h"
#include "ring/reader.h"
#include "session/rules.h"
#include "sys/fd.h"
#include "sys/program.h"
#include "types/desc.h"

#define RESERVE_AT_ONCE (4u << 20)
/* What an idle ring keeps, so that whoever begins to write finds room while the
 * rest is given back; and how long it has not filled a sub-buffer by then. */
#define KEPT_BYTES   (1u << 20)
#define KEPT_SUBBUFS 4u
#define IDLE_NS      1000000000ull

struct arena_ring {
	struct sonde_ring_reader reader;
	/* The sub-buffers with memory, up to a lap: from which on, how many. */
	uint64_t reserved_from;
	uint32_t nr_reserved;
	/* Of the last of that lap, how many have been given back since the ring is
	 * in this sub-buffer, and since when it is. */
	uint32_t nr_given_back;
	uint64_t idle_seq;
	uint64_t idle_since_ns;
	uint64_t cleared; /* events before that */
};

struct sonde_arena_source {
	struct sonde_source base; /* first */
	struct sonde_arena_source_config config;
	struct sonde_arena_view view;
	char name[SONDE_ARENA_NAME_CHARS];
	char rules[SONDE_RULES_MAX]; /* those of config.setup, */
	size_t own_size;             /* which begin with the user's */
	uint64_t desc_room[SONDE_DESC_MAX / 8];
	struct sonde_unwind_room *unwind;
	uint32_t nr_rings;
	struct arena_ring rings[];
};

static struct sonde_arena_source *of(struct sonde_source *base)
{
	return (struct sonde_arena_source *)base;
}

static const struct sonde_arena_source *
const_of(const struct sonde_source *base)
{
	return (const struct sonde_arena_source *)base;
}

/* ---- events ---- */

/* -EPROTO: the process contradicts itself; -EAGAIN: look again later; other
 * errors are the caller's. */
static int add_event(struct sonde_arena_source *source,
		     struct sonde_source_known *known, uint32_t index,
		     uint32_t id)
{
	const struct sonde_desc *desc;
	int rc = sonde_arena_copy_desc(&source->view, index, source->desc_room,
				       &desc);

	if (rc)
		return rc;
	if (id >= SONDE_LARGE_ESCAPE || known->ids[id])
		return -EPROTO;
	/* What only a tracer's own tables may hold. */
	if (sonde_desc_is_reference(desc))
		return -EPROTO;
	rc = known->add(known->ctx, id, desc);
	if (rc)
		return rc;
	known->ids[id] = 1;
	known->events[index] = 1;
	known->nr++;
	/* The process may have selected it by rules that are no more. */
	if (!source->config.is_left)
		(void)sonde_arena_select(&source->view, &source->config.setup,
					 index, desc);
	return 0;
}

/* An event may have two ids, if it was deselected and the process gave it one
 * at the same time. */
static int describe_one(struct sonde_arena_source *source,
			struct sonde_source_known *known, uint32_t index,
			uint32_t id)
{
	int rc;

	if (!id || (known->events[index] && known->ids[id]))
		return 0;
	rc = add_event(source, known, index, id);
	if (rc != -EAGAIN)
		return rc;
	known->pending = true;
	return 0;
}

static int describe_all(struct sonde_arena_source *source,
			struct sonde_source_known *known)
{
	uint32_t nr = sonde_arena_nr_entries(&source->view);
	uint32_t at = 0;
	uint32_t index;
	uint32_t id;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nr; i++)
		rc = describe_one(source, known, i,
				  sonde_arena_event_id(&source->view, i));
	while (!rc && sonde_arena_past(&source->view, &at, &index, &id))
		rc = describe_one(source, known, index, id);
	return rc;
}

static int describe(struct sonde_source *base, struct sonde_source_known *known)
{
	struct sonde_arena_source *source = of(base);
	uint32_t nr_ids = sonde_arena_nr_ids(&source->view);
	int rc;

	if (nr_ids == known->nr_ids && !known->pending)
		return 0;
	if (!known->begun)
		sonde_arena_restart_descs(&source->view);
	known->begun = true;
	known->pending = false;
	rc = describe_all(source, known);
	if (rc)
		return rc;
	/* Ids are handed out before they are entered: until all are there,
	 * look again. */
	if (known->nr < nr_ids)
		known->pending = true;
	known->nr_ids = nr_ids;
	return 0;
}

/* ---- reading rings ---- */

static uint32_t ring_index(const struct sonde_arena_source *source,
			   uint64_t seq)
{
	return (uint32_t)(seq & (source->view.geometry.nr_subbufs - 1));
}

static void reserve_ahead(struct sonde_arena_source *source, uint32_t i)
{
	struct arena_ring *ring = &source->rings[i];
	const struct sonde_geometry *geometry = &source->view.geometry;
	uint32_t most = RESERVE_AT_ONCE / geometry->subbuf_size;
	uint32_t first =
		ring_index(source, ring->reserved_from + ring->nr_reserved);
	uint32_t nr;

	if (ring->nr_reserved >= geometry->nr_subbufs ||
	    ring->reader.seq - ring->reserved_from + 2 < ring->nr_reserved)
		return;
	nr = ring->nr_reserved < 2 ? 2 : ring->nr_reserved;
	if (nr > most && most)
		nr = most;
	if (nr > geometry->nr_subbufs - ring->nr_reserved)
		nr = geometry->nr_subbufs - ring->nr_reserved;
	if (nr > geometry->nr_subbufs - first)
		nr = geometry->nr_subbufs - first;
	sonde_arena_reserve(&source->view, i, first, nr);
	ring->nr_reserved += nr;
}

/* ---- idle rings ---- */

static uint32_t nr_kept(const struct sonde_arena_source *source)
{
	uint32_t nr = KEPT_BYTES / source->view.geometry.subbuf_size;

	return nr < KEPT_SUBBUFS ? KEPT_SUBBUFS : nr;
}

/* Whether it has stayed in its sub-buffer, and has more than it needs. */
static bool is_too_large(const struct sonde_arena_source *source,
			 struct arena_ring *ring, uint64_t now_ns)
{
	uint64_t nr_used = ring->reader.seq - ring->reserved_from + 1;

	if (ring->idle_seq != ring->reader.seq || !ring->idle_since_ns) {
		ring->idle_seq = ring->reader.seq;
		ring->idle_since_ns = now_ns;
		ring->nr_given_back = 0;
	}
	return now_ns - ring->idle_since_ns >= IDLE_NS &&
	       (ring->nr_reserved > nr_kept(source) ||
		nr_used > nr_kept(source)) &&
	       source->view.geometry.nr_subbufs > nr_kept(source);
}

/* The last first: whoever takes over from us finds where what was read ends by
 * their being gone (sonde_ring_inherit). */
static void give_some_back(struct sonde_arena_source *source, uint32_t i)
{
	struct arena_ring *ring = &source->rings[i];
	const struct sonde_geometry *geometry = &source->view.geometry;
	uint32_t kept = nr_kept(source);
	uint32_t left = geometry->nr_subbufs - kept - ring->nr_given_back;
	uint32_t end =
		ring_index(source, ring->reader.seq - ring->nr_given_back - 1) +
		1;
	uint32_t nr = RESERVE_AT_ONCE / geometry->subbuf_size;

	if (nr > left)
		nr = left;
	if (nr > end)
		nr = end;
	if (!sonde_ring_narrow(&ring->reader, kept))
		return;
	sonde_arena_punch(&source->view, i, end - nr, nr);
	sonde_ring_release(&ring->reader);
	ring->nr_given_back += nr;
	if (nr < left)
		return;
	ring->reserved_from = ring->reader.seq;
	ring->nr_reserved = kept;
}

void sonde_arena_source_trim(struct sonde_arena_source *source)
{
	const struct sonde_arena_setup *setup = &source->config.setup;
	uint64_t now_ns = sonde_monotonic_ns();

	/* The memory of a file on a disk, and what is to be resident, stays. */
	if (setup->mode != SONDE_DISCARD || source->config.keeps ||
	    source->config.is_left || source->view.is_file || setup->resident)
		return;
	for (uint32_t i = 0; i < source->nr_rings; i++)
		if (is_too_large(source, &source->rings[i], now_ns))
			give_some_back(source, i);
}

/* ---- what there is to read ---- */

static uint32_t nr_streams(const struct sonde_source *base)
{
	return const_of(base)->nr_rings;
}

static void stream(const struct sonde_source *base, uint32_t i,
		   struct sonde_source_stream *ret_stream)
{
	const struct sonde_arena_source *source = const_of(base);
	uint32_t nr_cpus = source->view.geometry.nr_cpus;

	*ret_stream = (struct sonde_source_stream){
		.cpu = i,
		.first = source->rings[i].reader.first,
	};
	(void)snprintf(ret_stream->name, sizeof(ret_stream->name), "%s%u",
		       i < nr_cpus ? "cpu" : "lane",
		       i < nr_cpus ? i : i - nr_cpus);
}

static int peek(struct sonde_source *base, uint32_t i,
		struct sonde_ring_chunk *ret_chunk)
{
	return sonde_ring_peek(&of(base)->rings[i].reader, ret_chunk);
}

static void advance(struct sonde_source *base, uint32_t i,
		    const struct sonde_ring_chunk *chunk)
{
	struct sonde_arena_source *source = of(base);
	struct sonde_ring_reader *reader = &source->rings[i].reader;

	sonde_ring_advance(reader, chunk);
	if (source->config.setup.mode == SONDE_OVERWRITE ||
	    source->config.keeps)
		return;
	if (chunk->closed)
		sonde_ring_release(reader);
	reserve_ahead(source, i);
}

static int rewind_ring(struct sonde_source *base, uint32_t i)
{
	return sonde_ring_rewind(&of(base)->rings[i].reader);
}

static bool verify(const struct sonde_source *base, uint32_t i,
		   const struct sonde_ring_chunk *chunk)
{
	return sonde_ring_verify(&const_of(base)->rings[i].reader, chunk);
}

static int seal(struct sonde_arena_source *source, bool again)
{
	int rc = 0;

	for (uint32_t i = 0; rc >= 0 && i < source->nr_rings; i++) {
		struct arena_ring *ring = &source->rings[i];
		unsigned char *data = sonde_arena_ring_data(&source->view, i);

		if (!again || sonde_ring_is_unsealed(&ring->reader))
			rc = sonde_ring_seal(&ring->reader, data,
					     &ring->cleared);
	}
	return rc < 0 ? rc : 0;
}

/* Writers that were in the middle of a record have finished when each CPU has
 * been through the kernel; but one in a lane, which may sleep there. */
static int clear(struct sonde_source *base)
{
	int rc;

	if (of(base)->config.is_pin)
		return -EOPNOTSUPP;
	rc = seal(of(base), false);
	if (rc)
		return rc;
	/* Without it, what they undo is counted with what comes. */
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return seal(of(base), true);
}

static void part_ring(struct sonde_source *base, uint32_t i)
{
	sonde_ring_part(&of(base)->rings[i].reader);
}

static bool is_ring_parted(const struct sonde_source *base, uint32_t i)
{
	return sonde_ring_is_parted(&const_of(base)->rings[i].reader);
}

static uint64_t capacity(const struct sonde_source *base, uint32_t i)
{
	(void)i;
	return sonde_geometry_ring_bytes(&const_of(base)->view.geometry);
}

static void counts(struct sonde_source *base, uint32_t i,
		   struct sonde_source_counts *ret_counts)
{
	struct sonde_ring_totals totals = { 0 };

	(void)sonde_ring_count(&of(base)->rings[i].reader, &totals);
	*ret_counts = (struct sonde_source_counts){
		.lost_full = totals.discarded_full,
		.lost_size = totals.discarded_size,
		.committed = totals.committed,
		.cleared = of(base)->rings[i].cleared,
	};
}

/* Every ring was busy. */
static uint64_t missed(struct sonde_source *base)
{
	return sonde_arena_nr_contended(&of(base)->view);
}

/* ---- life ---- */

/* Names of stream files are made of what any file system takes. */
static void clean_name(const char *text, char *out, size_t out_size)
{
	size_t n = 0;

	for (; *text && n + 1 < out_size; text++) {
		char c = *text;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '_' || c == '-' ||
			     (c == '.' && n);

		out[n++] = (char)(plain ? c : '_');
	}
	if (!n)
		out[n++] = '_';
	out[n] = '\0';
}

/* What was cleared before its recorder was killed, and nothing came since; or
 * what that has given back, which isn't ours. */
static void inherit_ring(struct arena_ring *ring)
{
	struct sonde_ring_totals totals;
	struct sonde_ring_chunk chunk;
	int rc;

	sonde_ring_inherit(&ring->reader);
	rc = sonde_ring_rewind(&ring->reader);
	if (!rc && !sonde_ring_count(&ring->reader, &totals))
		ring->cleared = totals.committed;
	else if (rc > 0 && ring->reader.keeps &&
		 sonde_ring_peek(&ring->reader, &chunk) > 0)
		ring->cleared = chunk.events_before;
}

static void init_rings(struct sonde_arena_source *source)
{
	const struct sonde_geometry *geometry = &source->view.geometry;

	for (uint32_t i = 0; i < source->nr_rings; i++) {
		struct sonde_ring_reader *reader = &source->rings[i].reader;
		struct sonde_ring *ring = sonde_arena_ring(&source->view, i);
		unsigned char *data = sonde_arena_ring_data(&source->view, i);

		sonde_ring_reader_init(reader, ring, data,
				       geometry->subbuf_size,
				       geometry->nr_subbufs);
		reader->keeps = source->config.keeps;
		if (source->view.is_resumed)
			sonde_ring_restart(reader, ring, data);
		else if (source->view.is_inherited)
			inherit_ring(&source->rings[i]);
		source->rings[i].reserved_from = reader->first;
	}
}

static int start(struct sonde_source *base, pid_t root,
		 struct sonde_source_error *error)
{
	struct sonde_arena_source *source = of(base);

	(void)root;
	(void)error;
	if (!source->config.is_left)
		sonde_arena_begin(&source->view, &source->config.setup,
				  source->desc_room);
	return 0;
}

/* Behind them, what is another slot's. False: there is no room for all. */
static bool set_rules(struct sonde_arena_source *source, const char *rules,
		      size_t size, uint32_t loglevel)
{
	const char *pins = source->config.pins ? source->config.pins : "";

	source->own_size = size;
	if (size > sizeof(source->rules))
		return false;
	memcpy(source->rules, rules, size);
	for (; *pins; pins += strlen(pins) + 1)
		if (sonde_session_rules_add(source->rules, &size, '-', pins + 1,
					    (char[1]){ "" }, 1))
			return false;
	source->config.setup.rules = source->rules;
	source->config.setup.rules_size = size;
	source->config.setup.loglevel = loglevel;
	return true;
}

static int change_rules(struct sonde_source *base,
			const struct sonde_source_change *change,
			struct sonde_source_error *error)
{
	struct sonde_arena_source *source = of(base);
	const struct sonde_arena_setup before = source->config.setup;
	size_t own_size = source->own_size;
	char rules[SONDE_RULES_MAX];

	if (source->config.is_pin)
		return 0;
	memcpy(rules, before.rules, own_size);
	if (!set_rules(source, change->rules, change->rules_size,
		       change->loglevel)) {
		(void)set_rules(source, rules, own_size, before.loglevel);
		return sonde_source_fail(error, -E2BIG, "too many rules");
	}
	if (!sonde_arena_change(&source->view, &source->config.setup,
				source->desc_room))
		return 0;
	(void)set_rules(source, rules, own_size, before.loglevel);
	(void)sonde_arena_change(&source->view, &source->config.setup,
				 source->desc_room); /* they fitted before */
	return sonde_source_fail(error, -ENOSPC,
				 "%s (pid %d): more than %u events were "
				 "selected and deselected again",
				 source->name, (int)source->config.pid,
				 SONDE_PAST_MAX);
}

static void stop(struct sonde_source *base)
{
	if (!of(base)->config.is_left)
		sonde_arena_stop(&of(base)->view);
}

/* What the recorder had of the arena goes back: the slot is said to have been read,
 * a file that nobody else has is removed, and of a program that runs on the memory of
 * its rings is freed. */
static void release_arena(struct sonde_arena_source *source)
{
	if (source->config.is_left)
		return;
	sonde_arena_settle(&source->view);
	if (sonde_arena_is_alone(&source->view))
		sonde_arena_remove(&source->view);
	if (sonde_arena_is_alone(&source->view) || source->view.is_file)
		return;
	for (uint32_t i = 0;
	     i < sonde_geometry_nr_rings(&source->view.geometry); i++)
		sonde_arena_punch(&source->view, i, 0,
				  source->view.geometry.nr_subbufs);
}

static void close_source(struct sonde_source *base)
{
	if (!base)
		return;
	release_arena(of(base));
	sonde_arena_close(&of(base)->view);
	sonde_unwind_room_free(of(base)->unwind);
	free(of(base));
}

static const struct sonde_source_ops arena_ops = {
	.name = "program",
	.is_foreign = true,
	.describe = describe,
	.nr_streams = nr_streams,
	.stream = stream,
	.start = start,
	.stop = stop,
	.change = change_rules,
	.peek = peek,
	.advance = advance,
	.rewind = rewind_ring,
	.verify = verify,
	.clear = clear,
	.part = part_ring,
	.is_parted = is_ring_parted,
	.capacity = capacity,
	.counts = counts,
	.missed = missed,
	.close = close_source,
};

int sonde_arena_source_new(const struct sonde_arena_source_config *config,
			   struct sonde_arena_view *view,
			   struct sonde_arena_source **ret_source)
{
	uint32_t nr = config->setup.mode >= SONDE_COUNT ?
			      0 :
			      sonde_geometry_nr_rings(&config->setup.geometry);
	struct sonde_arena_source *source;
	int rc;

	source = calloc(1, sizeof(*source) + nr * sizeof(source->rings[0]));
	if (!source)
		return -ENOMEM;
	source->unwind = calloc(1, sizeof(*source->unwind));
	if (!source->unwind) {
		free(source);
		return -ENOMEM;
	}
	source->base.ops = &arena_ops;
	source->config = *config;
	if (config->filters)
		source->config.setup.filters = (uint64_t)config->id + 1;
	clean_name(config->name, source->name, sizeof(source->name));
	rc = set_rules(source, config->setup.rules, config->setup.rules_size,
		       config->setup.loglevel) ?
		     0 :
		     -E2BIG;
	if (!rc && !config->is_left)
		rc = sonde_arena_configure(view, &source->config.setup);
	if (rc) {
		free(source->unwind);
		free(source);
		return rc;
	}
	source->view = *view;
	source->nr_rings = nr;
	*view = (struct sonde_arena_view){ .fd = -1 };
	init_rings(source);
	*ret_source = source;
	return 0;
}

struct sonde_source *sonde_arena_source_base(struct sonde_arena_source *source)
{
	return &source->base;
}

bool sonde_arena_source_is_resumed(const struct sonde_arena_source *source)
{
	return source->view.is_resumed;
}

int sonde_arena_source_filter(struct sonde_arena_source *source,
			      const struct sonde_filters_ask *ask, int *ret_fd)
{
	if (!source->config.filters ||
	    ask->filters != source->config.setup.filters)
		return -ENOENT;
	return sonde_filters_answer(source->config.filters, &source->view, ask,
				    ret_fd);
}

struct sonde_arena_view *
sonde_arena_source_view(struct sonde_arena_source *source)
{
	return &source->view;
}

int sonde_arena_source_reopen(struct sonde_arena_source *source,
			      struct sonde_arena_view *ret_view)
{
	int fd = sonde_fd_reopen(source->view.fd, O_RDWR);

	return fd < 0 ? fd : sonde_arena_open_found(fd, ret_view);
}

bool sonde_arena_source_is_over(const struct sonde_arena_source *source)
{
	return sonde_arena_is_alone(&source->view);
}

uint32_t sonde_arena_source_id(const struct sonde_arena_source *source)
{
	return source->config.id;
}

pid_t sonde_arena_source_pid(const struct sonde_arena_source *source)
{
	return source->config.pid;
}

pid_t sonde_arena_source_own_pid(const struct sonde_arena_source *source)
{
	return (pid_t)sonde_arena_pid(&source->view);
}

bool sonde_arena_source_is_found(const struct sonde_arena_source *source)
{
	return source->view.is_found;
}

const char *sonde_arena_source_name(const struct sonde_arena_source *source)
{
	return source->name;
}

bool sonde_arena_source_is_arena(const struct sonde_arena_source *source,
				 dev_t dev, ino_t ino)
{
	return source->view.dev == dev && source->view.ino == ino;
}

const struct sonde_geometry *
sonde_arena_source_geometry(const struct sonde_arena_source *source)
{
	return &source->view.geometry;
}

struct sonde_unwind_room *
sonde_arena_source_unwind(const struct sonde_arena_source *source)
{
	return source->unwind;
}

uint32_t sonde_arena_source_contexts(const struct sonde_arena_source *source)
{
	return source->view.contexts;
}

struct sonde_stacks *
sonde_arena_source_stacks(const struct sonde_arena_source *source,
			  uint32_t *ret_depth)
{
	*ret_depth = source->view.stacks_depth;
	return sonde_arena_stacks(&source->view);
}

/* ---- what it says of itself ---- */

static void note_conflicts(struct sonde_arena_source *source,
			   struct sonde_summary *summary)
{
	uint32_t nr = sonde_arena_nr_entries(&source->view);

	for (uint32_t i = 0; i < nr; i++) {
		const struct sonde_desc *desc;

		if (!sonde_arena_entry_conflicts(&source->view, i) ||
		    sonde_arena_copy_desc(&source->view, i, source->desc_room,
					  &desc))
			continue;
		sonde_summary_note(
			summary,
			"%s (pid %d): %s:%s has two different descriptions; "
			"the second (line %u) was refused: rename one",
			source->name, (int)source->config.pid,
			sonde_desc_provider(desc), sonde_desc_name(desc),
			sonde_desc_line(desc));
	}
}

/* It was let in, and found that it can't be recorded. */
static void note_unmapped(struct sonde_arena_source *source,
			  struct sonde_summary *summary)
{
	if (summary->nr_processes)
		summary->nr_processes--;
	summary->nr_refused++;
	sonde_summary_note(summary,
			   "%s (pid %d) is not recorded: its trace memory "
			   "can't be mapped there (mremap was denied: by "
			   "seccomp, or ulimit -v)",
			   source->name, (int)source->config.pid);
}

/* What became of --realtime. */
static void note_resident(const struct sonde_arena_source *source,
			  struct sonde_summary *summary)
{
	const char *what = "could not be touched at its start (madvise)";

	if (!source->config.setup.resident)
		return;
	switch (sonde_arena_resident(&source->view)) {
	case SONDE_RESIDENT_LOCKED:
		return;
	case SONDE_RESIDENT_THERE:
		what = "are all there, and not locked: ulimit -l or "
		       "CAP_IPC_LOCK permits that";
		break;
	case SONDE_RESIDENT_ASKED:
		what = "were not touched at its start: it was there before "
		       "the recording, or has an older libsonde";
		break;
	default:
		break;
	}
	sonde_summary_note(summary, "%s (pid %d): --realtime: its rings %s",
			   source->name, (int)source->config.pid, what);
}

/* What the process says it could not take. */
static void note_refused(struct sonde_arena_source *source,
			 struct sonde_summary *summary)
{
	uint64_t refused = sonde_arena_nr_refused(&source->view);
	uint64_t late = sonde_arena_nr_late(&source->view);

	if (!source->view.is_file && !source->config.is_left &&
	    secure_getenv(SONDE_ARENA_ENV))
		sonde_summary_note(summary,
				   "%s (pid %d): its rings are memory, and not "
				   "in the directory of --arena, which has no "
				   "room or can't be reached from there",
				   source->name, (int)source->config.pid);
	if (sonde_arena_nr_unreached(&source->view))
		sonde_summary_note(summary,
				   "%s (pid %d): %u of the processes that "
				   "share its trace memory could not map it, "
				   "and lose their events (mremap was denied: "
				   "by seccomp, or ulimit -v)",
				   source->name, (int)source->config.pid,
				   sonde_arena_nr_unreached(&source->view));
	if (source->view.contexts && sonde_arena_nr_uncounted(&source->view))
		sonde_summary_note(
			summary,
			"%s (pid %d): %u of its threads have no "
			"counters of the CPU's, and -1 in their "
			"place: perf_event_open or mmap was refused "
			"(seccomp, ulimit -n, -l or -v), or programs "
			"may not read them",
			source->name, (int)source->config.pid,
			sonde_arena_nr_uncounted(&source->view));
	if (sonde_arena_is_unmapped(&source->view))
		note_unmapped(source, summary);
	else if (refused)
		sonde_summary_note(summary,
				   "%s (pid %d): %" PRIu64
				   " tracepoints were refused: malformed, more "
				   "than %u events, or their conditions could "
				   "not be had",
				   source->name, (int)source->config.pid,
				   refused, SONDE_EVENTS_MAX);
	if (late)
		sonde_summary_note(summary,
				   "%s (pid %d): %" PRIu64
				   " events got no identifier; select fewer "
				   "with -e",
				   source->name, (int)source->config.pid, late);
}

static const char *leave_reason(uint32_t why)
{
	switch (why) {
	case SONDE_LEAVE_CLOCK:
		return "it turned the time stamp counter off (PR_SET_TSC)";
	case SONDE_LEAVE_STRICT:
		return "it entered seccomp's strict mode, which turns the time "
		       "stamp counter off";
	case SONDE_LEAVE_MACHINE:
		return sonde_program_reason(SONDE_PROGRAM_MACHINE);
	case SONDE_LEAVE_LIBC:
		return sonde_program_reason(SONDE_PROGRAM_LIBC);
	case SONDE_LEAVE_SANITIZER:
		return sonde_program_reason(SONDE_PROGRAM_SANITIZER);
	case SONDE_LEAVE_ENVIRONMENT:
		return "it was started without LD_PRELOAD or SONDE_SESSION in "
		       "its environment";
	default:
		return NULL;
	}
}

static void note_leave(const struct sonde_arena_source *source,
		       struct sonde_summary *summary,
		       const struct sonde_leave *leave)
{
	const char *reason = leave_reason(leave->why);
	char name[sizeof(leave->name)];

	if (!reason)
		return;
	if (leave->why == SONDE_LEAVE_CLOCK ||
	    leave->why == SONDE_LEAVE_STRICT) {
		sonde_summary_note(summary,
				   "%s (pid %u) is not recorded any more, nor "
				   "is who shares its memory by fork: %s",
				   source->name, leave->pid, reason);
		return;
	}
	for (size_t i = 0; i < sizeof(name); i++) {
		char c = leave->name[i];

		if (c && (c < ' ' || c > '~'))
			c = '?';
		name[i] = c;
	}
	/* Linked with libsonde, it comes to the recorder all the same. */
	if (leave->why == SONDE_LEAVE_SANITIZER)
		sonde_summary_unhooked(summary, (int)leave->pid, name, reason);
	else
		sonde_summary_missed(summary, (int)leave->pid, name, reason);
}

static void note_leaves(struct sonde_arena_source *source,
			struct sonde_summary *summary)
{
	uint32_t nr = sonde_arena_nr_leaves(&source->view);

	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_leave leave = sonde_arena_leave(&source->view, i);

		note_leave(source, summary, &leave);
	}
}

void sonde_arena_source_tell(struct sonde_arena_source *source,
			     struct sonde_summary *summary)
{
	note_conflicts(source, summary);
	note_refused(source, summary);
	note_resident(source, summary);
	note_leaves(source, summary);
}
