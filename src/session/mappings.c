/* SPDX-License-Identifier: MIT */
/*
 * mappings.c - see mappings.h: the source, what is known of images, looks. A
 * look collects all of a process, and what is new of it is written at once.
 */
#include "session/mappings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/time.h"
#include "ring/hello.h"
#include "session/unwind.h"
#include "source/callstacks.h"
#include "source/perf_map.h"
#include "source/source.h"
#include "source/statedump/events.h"
#include "source/statedump/mapped_files.h"
#include "source/statedump/proc.h"
#include "sys/proc.h"
#include "types/build.h"

/* Behind those of a dump, whose number the other event has. */
#define LOOK_EVENT   SONDE_STATEDUMP_NR_EVENTS
#define STACK_EVENT  (LOOK_EVENT + 1u)
#define LOST_EVENT   (LOOK_EVENT + 2u)
#define CODE_EVENT   (LOOK_EVENT + 3u)
#define UNTOLD_EVENT (LOOK_EVENT + 4u) /* code that was left out */
#define LOOK_BYTES   24u
/* What a process may wait for its tables, and others that come meanwhile. */
#define AWAITED_NS UINT64_C(30000000) /* of CPU time, and half its patience */
#define TABLES_NS  UINT64_C(40000000)

/* What is known of an image. */
struct known {
	uint32_t image;
	uint64_t code_kb; /* of executable memory, at the last look */
	uint64_t seen;    /* when that was */
	size_t nr, capacity;
	uint64_t *hashes; /* of the mappings that are recorded, sorted */
	struct sonde_callstacks stacks;
	struct sonde_source_code_place code; /* what it makes at run time */
};

/* What a process has mapped, and when it was looked. */
struct look {
	const struct sonde_arena_source *image; /* NULL: there is none */
	struct sonde_mapped mapped;
	bool has_arena; /* else the process executes another program now */
	uint64_t code_kb, seen;
	uint64_t omitted;
};

/* Telling what is new of it. */
struct telling {
	struct sonde_mappings *mappings;
	const struct look *look;
	struct known *known;
	uint64_t omitted;
	bool is_told; /* that something follows */
	size_t nr, capacity;
	uint64_t *hashes; /* of all there is now */
};

struct sonde_mappings {
	struct sonde_source base; /* first */
	struct sonde_session *session;
	struct sonde_output *output;
	struct sonde_consumer *consumer; /* NULL: there was nothing to record */
	bool was_opened;
	struct sonde_proc *proc;
	struct sonde_out out;
	struct look glance;
	bool has_stacks, stacks_are_described;
	bool has_code, code_is_described;
	struct sonde_unwind *unwind; /* NULL: no tables are made */
	size_t nr, capacity;
	struct known *known; /* by image */
};

/* ---- the source ---- */

static struct sonde_mappings *session_mappings_of(struct sonde_source *base)
{
	return (struct sonde_mappings *)base;
}

static void describe_look(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "age", 64, 0);
	sonde_build_int(build, "omitted", 64, 0);
}

static void describe_code(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_source_code_describe(build);
}

static void describe_code_lost(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_source_code_describe_lost(build);
}

static int add_event(struct sonde_source_known *known, uint32_t event,
		     const char *name,
		     void (*describe)(struct sonde_build *build))
{
	uint64_t room[SONDE_DESC_MAX / 8];
	int rc = sonde_build_whole(room, "sonde", name, SONDE_DEBUG, describe);

	if (rc)
		return rc;
	return known->add(known->ctx, SONDE_SOURCE_FIRST_ID + event,
			  (const struct sonde_desc *)room);
}

/* What not every trace has. */
static int describe_more(struct sonde_mappings *mappings,
			 struct sonde_source_known *known)
{
	int rc = 0;

	if (mappings->has_stacks && !mappings->stacks_are_described) {
		rc = add_event(known, STACK_EVENT, "stack",
			       sonde_callstacks_describe);
		if (!rc)
			rc = add_event(known, LOST_EVENT, "stacks_lost",
				       sonde_callstacks_describe_lost);
		mappings->stacks_are_described = !rc;
	}
	if (!rc && mappings->has_code && !mappings->code_is_described) {
		rc = add_event(known, CODE_EVENT, "code", describe_code);
		if (!rc)
			rc = add_event(known, UNTOLD_EVENT, "code_lost",
				       describe_code_lost);
		mappings->code_is_described = !rc;
	}
	return rc;
}

static int describe(struct sonde_source *base, struct sonde_source_known *known)
{
	int rc;

	if (known->begun)
		return describe_more(session_mappings_of(base), known);
	rc = add_event(known, LOOK_EVENT, "mappings", describe_look);
	if (!rc)
		rc = add_event(known, SONDE_STATEDUMP_MAPPING, "mapping",
			       sonde_statedump_describe_mapping);
	known->begun = !rc;
	return rc ? rc : describe_more(session_mappings_of(base), known);
}

static uint32_t one(const struct sonde_source *base)
{
	(void)base;
	return 1;
}

static void mappings_stream(const struct sonde_source *base, uint32_t i,
			    struct sonde_source_stream *ret_stream)
{
	(void)base;
	(void)i;
	*ret_stream = (struct sonde_source_stream){ .name = "mappings" };
}

static int start(struct sonde_source *base, pid_t root,
		 struct sonde_source_error *error)
{
	(void)base;
	(void)root;
	(void)error;
	return 0;
}

/* Nothing happens by itself. */
static void mappings_stop(struct sonde_source *base)
{
	(void)base;
}

static int peek(struct sonde_source *base, uint32_t i,
		struct sonde_ring_chunk *ret_chunk)
{
	(void)i;
	return sonde_out_peek(&session_mappings_of(base)->out, ret_chunk);
}

static void mappings_advance(struct sonde_source *base, uint32_t i,
			     const struct sonde_ring_chunk *chunk)
{
	(void)i;
	(void)chunk; /* it was all of the packet */
	sonde_out_advance(&session_mappings_of(base)->out);
}

static uint64_t capacity(const struct sonde_source *base, uint32_t i)
{
	(void)base;
	(void)i;
	return SONDE_STATEDUMP_BYTES_MAX;
}

static void mappings_counts(struct sonde_source *base, uint32_t i,
			    struct sonde_source_counts *ret_counts)
{
	(void)i;
	*ret_counts = (struct sonde_source_counts){
		.lost_full = session_mappings_of(base)->out.lost,
	};
}

static uint64_t mappings_missed(struct sonde_source *base)
{
	(void)base;
	return 0;
}

static const struct sonde_source_ops mappings_ops = {
	.name = "mappings",
	.is_state = true,
	.describe = describe,
	.nr_streams = one,
	.stream = mappings_stream,
	.start = start,
	.stop = mappings_stop,
	.peek = peek,
	.advance = mappings_advance,
	.capacity = capacity,
	.counts = mappings_counts,
	.missed = mappings_missed,
};

static int mappings_open_stream(struct sonde_mappings *mappings)
{
	const struct sonde_consumer_config config = {
		.class_id = sonde_session_take_class(mappings->session,
						     SONDE_CTF_PROGRAMS),
		.header = SONDE_LARGE,
		.is_apart = true,
		.comment = "mapped files",
		.name = "mappings",
		.files = "",
	};
	struct sonde_source_error none;
	int rc = -ESTALE;

	/* Its trace ends, and nothing was told there. */
	if (mappings->output !=
	    sonde_session_output(mappings->session, SONDE_CTF_PROGRAMS))
		return rc;
	rc = sonde_session_add(mappings->session, SONDE_CTF_PROGRAMS,
			       &mappings->base, &config, &mappings->consumer);

	return rc ? rc : sonde_consumer_start(mappings->consumer, 0, &none);
}

struct sonde_mappings *sonde_mappings_new(struct sonde_session *session)
{
	struct sonde_mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return NULL;
	mappings->base.ops = &mappings_ops;
	mappings->session = session;
	mappings->output = sonde_session_output(session, SONDE_CTF_PROGRAMS);
	mappings->proc = sonde_proc_new();
	sonde_out_init(&mappings->out, mappings->output->now, 0,
		       SONDE_STATEDUMP_BYTES_MAX);
	mappings->out.has_no_context = true;
	if (mappings->proc)
		return mappings;
	free(mappings);
	return NULL;
}

/* To the trace; what it doesn't take is as if it had not been seen. */
static bool write_out(struct sonde_mappings *mappings)
{
	struct sonde_consumer_counts before;
	struct sonde_consumer_counts after;
	struct sonde_ring_chunk chunk;

	if (!mappings->was_opened && mappings_open_stream(mappings))
		mappings->consumer = NULL; /* it can't be had */
	mappings->was_opened = true;
	sonde_out_flush(&mappings->out);
	if (!mappings->consumer) {
		while (sonde_out_peek(&mappings->out, &chunk) > 0)
			sonde_out_advance(&mappings->out);
		return false;
	}
	sonde_consumer_count(mappings->consumer, &before);
	(void)sonde_consumer_pass(mappings->consumer); /* never full */
	sonde_consumer_count(mappings->consumer, &after);
	return before.lost_disk == after.lost_disk;
}

/* ---- images ---- */

static void end_look(struct look *look)
{
	if (look->image)
		sonde_mapped_fini(&look->mapped);
	*look = (struct look){ 0 };
}

static size_t place_of(const struct sonde_mappings *mappings, uint32_t image)
{
	size_t i = mappings->nr;

	/* The newest is asked for most, and classes are numbered upwards. */
	while (i && mappings->known[i - 1].image > image)
		i--;
	return i;
}

/* NULL: it is new. */
static struct known *find(const struct sonde_mappings *mappings, uint32_t image)
{
	size_t i = place_of(mappings, image);

	return i && mappings->known[i - 1].image == image ?
		       &mappings->known[i - 1] :
		       NULL;
}

static struct known *add(struct sonde_mappings *mappings, uint32_t image)
{
	size_t i = place_of(mappings, image);

	if (SONDE_GROW(mappings->known, mappings->nr, mappings->capacity))
		return NULL;
	memmove(&mappings->known[i + 1], &mappings->known[i],
		(mappings->nr - i) * sizeof(*mappings->known));
	mappings->nr++;
	mappings->known[i] = (struct known){ .image = image };
	return &mappings->known[i];
}

static void mappings_forget(struct sonde_mappings *mappings,
			    struct known *known)
{
	free(known->hashes);
	sonde_callstacks_fini(&known->stacks);
	sonde_source_code_fini(&known->code);
	mappings->nr--;
	memmove(known, known + 1,
		(size_t)(mappings->known + mappings->nr - known) *
			sizeof(*known));
}

void sonde_mappings_forget(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image)
{
	struct known *known =
		mappings ? find(mappings, sonde_arena_source_id(image)) : NULL;

	if (mappings && mappings->glance.image == image)
		end_look(&mappings->glance);
	if (known)
		mappings_forget(mappings, known);
}

/* ---- looks ---- */

/* How much executable memory a process has, in KiB; 0: it is gone. */
static uint64_t code_kb_of(pid_t pid)
{
	uint64_t program = 0;
	uint64_t libraries = 0;

	(void)sonde_proc_status(pid, "VmExe", 10, &program);
	(void)sonde_proc_status(pid, "VmLib", 10, &libraries);
	return program + libraries;
}

static uint64_t mappings_hash_of(const struct sonde_statedump_mapping *mapping)
{
	const uint64_t words[] = { mapping->begin,  mapping->end,
				   mapping->offset, mapping->dev,
				   mapping->ino,    mapping->flags };
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++) {
		hash = (hash ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	return hash;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return (*left > *right) - (*left < *right);
}

static void tell(struct telling *telling)
{
	uint8_t *at =
		sonde_out_event(&telling->mappings->out,
				SONDE_SOURCE_FIRST_ID + LOOK_EVENT, LOOK_BYTES);
	const struct known *known = telling->known;
	int32_t pid = sonde_arena_source_pid(telling->look->image);

	uint64_t age = 0;

	telling->is_told = true;
	if (!at)
		return;
	/* Readers take it from the event's time. */
	if (known->seen)
		age = telling->mappings->out.packer.last - known->seen;
	memcpy(at, &known->image, 4);
	memcpy(at + 4, &pid, 4);
	memcpy(at + 8, &age, 8);
	memcpy(at + 16, &telling->omitted, 8);
}

/* Whether the mapping is recorded already; if not, it is about to be. */
static bool is_known(void *ctx, const struct sonde_statedump_mapping *mapping)
{
	struct telling *telling = ctx;
	const struct known *known = telling->known;
	uint64_t hash = mappings_hash_of(mapping);

	if (SONDE_GROW(telling->hashes, telling->nr, telling->capacity)) {
		telling->omitted++;
		return true;
	}
	telling->hashes[telling->nr++] = hash;
	if (known->nr &&
	    bsearch(&hash, known->hashes, known->nr, sizeof(hash), compare))
		return true;
	if (!telling->is_told)
		tell(telling);
	return false;
}

static int take_mapping(void *ctx,
			const struct sonde_statedump_mapping *mapping)
{
	struct look *look = ctx;
	dev_t dev = makedev((unsigned int)(mapping->dev >> 20),
			    (unsigned int)(mapping->dev & 0xfffff));

	if (sonde_arena_source_is_arena(look->image, dev, (ino_t)mapping->ino))
		look->has_arena = true;
	/* All are of one process, so nothing is written yet. */
	return sonde_mapped_add(&look->mapped, NULL, mapping);
}

static void omit(void *ctx, uint64_t nr)
{
	struct look *look = ctx;

	look->omitted += nr;
}

/* What the process needs to walk its stacks. */
static void give_tables(struct sonde_mappings *mappings,
			const struct look *look, bool is_awaited)
{
	struct sonde_unwind_room *room = sonde_arena_source_unwind(look->image);
	struct sonde_stacks *stacks =
		sonde_arena_source_stacks(look->image, &room->depth);
	struct sonde_unwind_budget budget = { TABLES_NS, TABLES_NS };
	struct sonde_proc_stat stat;

	room->stacks = stacks;
	room->is_awaited = is_awaited;
	if (!stacks)
		return;
	if (!sonde_proc_stat(sonde_arena_source_pid(look->image), &stat) &&
	    stat.stack > 1)
		sonde_store_relaxed(&stacks->main_top, stat.stack & ~7ull);
	if (is_awaited) {
		/* As the program: `sonde record` gave it what we have. */
		const char *given = secure_getenv(SONDE_PATIENCE_ENV);

		budget.cpu_ns = AWAITED_NS;
		budget.wall_ns = sonde_patience_ns(given) / 2;
	}
	if (!mappings->unwind)
		mappings->unwind = sonde_unwind_new();
	if (mappings->unwind)
		sonde_unwind_publish(mappings->unwind, room, look->mapped.code,
				     look->mapped.nr_code, &budget);
}

/* False if there is nothing to be seen; then there is no look. */
static bool look_at(struct sonde_mappings *mappings,
		    const struct sonde_arena_source *image, uint64_t code_kb,
		    struct look *look)
{
	const int32_t pid = sonde_arena_source_pid(image);
	const struct sonde_statedump_wanted wanted = { .pids = &pid, .nr = 1 };
	const struct sonde_statedump_target target = {
		.ctx = look,
		.mapping = take_mapping,
		.omit = omit,
	};
	uint64_t now = sonde_monotonic_ns();

	*look = (struct look){
		.image = image,
		.code_kb = code_kb,
		.seen = mappings->output->now(), /* later there may be more */
	};
	if (!sonde_mapped_init(&look->mapped,
			       now + SONDE_STATEDUMP_BUILD_IDS_NS) &&
	    !sonde_proc_mappings(mappings->proc, &wanted,
				 now + SONDE_STATEDUMP_NS, &target) &&
	    look->has_arena)
		return true;
	end_look(look);
	return false;
}

/* What was seen now is what is known. */
static void learn(struct known *known, struct telling *telling)
{
	known->seen = telling->look->seen;
	known->code_kb = telling->look->code_kb;
	free(known->hashes);
	qsort(telling->hashes, telling->nr, sizeof(*telling->hashes), compare);
	known->hashes = telling->hashes;
	known->nr = telling->nr;
}

static void write_look(struct sonde_mappings *mappings, struct look *look,
		       struct known *known)
{
	struct telling telling = {
		.mappings = mappings,
		.look = look,
		.known = known,
		.omitted = look->omitted,
	};

	look->mapped.is_known = is_known;
	look->mapped.ctx = &telling;
	sonde_mapped_flush(&look->mapped, &mappings->out);
	if (write_out(mappings) && telling.nr)
		learn(known, &telling);
	else
		free(telling.hashes);
}

static struct known *get_known(struct sonde_mappings *mappings, uint32_t image)
{
	struct known *known = find(mappings, image);

	return known ? known : add(mappings, image);
}

/* While the process lives: what it is called by itself, and where its /tmp is. */
static void find_code(struct sonde_mappings *mappings,
		      const struct sonde_arena_source *image)
{
	struct known *known = get_known(mappings, sonde_arena_source_id(image));

	if (known)
		sonde_source_code_find(&known->code,
				       sonde_arena_source_pid(image));
}

void sonde_mappings_glance(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image)
{
	if (!mappings)
		return;
	end_look(&mappings->glance);
	find_code(mappings, image);
	/* How much it is, the look after the next finds out. */
	if (look_at(mappings, image, 0, &mappings->glance))
		give_tables(mappings, &mappings->glance, true);
}

void sonde_mappings_stacks(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image)
{
	uint32_t depth;
	struct sonde_stacks *stacks = sonde_arena_source_stacks(image, &depth);
	struct sonde_callstacks_target target;
	struct known *known;
	bool has_more;

	if (!mappings || !stacks || mappings->output->disk_error)
		return;
	known = get_known(mappings, sonde_arena_source_id(image));
	if (!known)
		return;
	mappings->has_stacks = true;
	target = (struct sonde_callstacks_target){
		.out = &mappings->out,
		.stack_id = SONDE_SOURCE_FIRST_ID + STACK_EVENT,
		.lost_id = SONDE_SOURCE_FIRST_ID + LOST_EVENT,
		.image = known->image,
	};
	do
		has_more = sonde_callstacks_tell(&known->stacks, stacks, depth,
						 &target);
	while (write_out(mappings) && has_more);
}

bool sonde_mappings_lacks_tables(const struct sonde_arena_source *image)
{
	return sonde_arena_source_unwind(image)->is_late;
}

void sonde_mappings_look(struct sonde_mappings *mappings,
			 const struct sonde_arena_source *image, bool thorough)
{
	struct known *known;
	const struct sonde_unwind_room *room;
	struct look look = { 0 };
	uint64_t code_kb;

	if (!mappings || mappings->output->disk_error)
		return;
	known = get_known(mappings, sonde_arena_source_id(image));
	if (!known)
		return;
	if (mappings->glance.image == image) {
		give_tables(mappings, &mappings->glance, false);
		write_look(mappings, &mappings->glance, known);
		end_look(&mappings->glance);
		return;
	}
	code_kb = code_kb_of(sonde_arena_source_pid(image));
	room = sonde_arena_source_unwind(image);
	/* Without a hash, not all tables have been made. */
	if (!code_kb || (code_kb == known->code_kb && !thorough &&
			 !(room->stacks && !room->hash)))
		return;
	sonde_source_code_find(&known->code, sonde_arena_source_pid(image));
	if (look_at(mappings, image, code_kb, &look)) {
		give_tables(mappings, &look, false);
		write_look(mappings, &look, known);
	}
	end_look(&look);
}

void sonde_mappings_code(struct sonde_mappings *mappings,
			 const struct sonde_arena_source *image)
{
	struct sonde_source_code_target target;
	struct known *known;

	if (!mappings || mappings->output->disk_error)
		return;
	known = find(mappings, sonde_arena_source_id(image));
	if (!known)
		return;
	target = (struct sonde_source_code_target){
		.out = &mappings->out,
		.code_id = SONDE_SOURCE_FIRST_ID + CODE_EVENT,
		.lost_id = SONDE_SOURCE_FIRST_ID + UNTOLD_EVENT,
		.owner = known->image,
	};
	if (sonde_source_code_tell(&known->code, &target))
		return; /* it has none */
	mappings->has_code = true;
	(void)write_out(mappings); /* what is lost is counted */
}

void sonde_mappings_close(struct sonde_mappings *mappings)
{
	if (!mappings)
		return;
	if (mappings->consumer)
		sonde_session_remove(mappings->session, mappings->consumer);
	end_look(&mappings->glance);
	while (mappings->nr)
		mappings_forget(mappings, &mappings->known[0]);
	free(mappings->known);
	sonde_unwind_free(mappings->unwind);
	sonde_out_fini(&mappings->out);
	sonde_proc_free(mappings->proc);
	free(mappings);
}
