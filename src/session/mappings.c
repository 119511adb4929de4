/* SPDX-License-Identifier: MIT */
#include "session/mappings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/time.h"
#include "event/build.h"
#include "kernel/dump/events.h"
#include "kernel/dump/mapped.h"
#include "kernel/dump/proc.h"
#include "kernel/source.h"
#include "session/outflow.h"
#include "sys/proc.h"

/* Behind those of a dump, whose number the other event has. */
#define LOOK_EVENT SONDE_DUMP_NR_EVENTS
#define LOOK_BYTES 24u

/* What is known of an image. */
struct known {
	uint32_t image;
	uint64_t code_kb; /* of executable memory, at the last look */
	uint64_t seen;    /* when that was */
	size_t nr, capacity;
	uint64_t *hashes; /* of the mappings that are recorded, sorted */
};

/* What a process has mapped, and when it was looked. */
struct look {
	const struct sonde_image *image; /* NULL: there is none */
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
	struct sonde_recording *recording;
	struct sonde_outflow flow;
	uint32_t *next_class;
	bool was_opened;
	struct sonde_proc *proc;
	struct sonde_out out;
	struct look glance;
	size_t nr, capacity;
	struct known *known; /* by image */
};

/* ---- the stream ---- */

static int add_event(struct sonde_recording *recording, uint32_t class_id,
		     uint32_t event, const char *name,
		     void (*describe)(struct sonde_build *build))
{
	uint64_t room[SONDE_DESC_MAX / 8];
	struct sonde_build build;
	int rc;

	sonde_build_begin(&build, room, "sonde", name, SONDE_DEBUG);
	describe(&build);
	rc = sonde_build_end(&build);
	if (rc)
		return rc;
	return sonde_ctf_trace_add_event(recording->trace, class_id,
					 SONDE_KERNEL_FIRST_ID + event,
					 (const struct sonde_desc *)room);
}

static void describe_look(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "age", 64, 0);
	sonde_build_int(build, "omitted", 64, 0);
}

static int open_stream(struct sonde_mappings *mappings)
{
	struct sonde_recording *recording = mappings->recording;
	const struct sonde_ctf_stream_config config = {
		.class_id = (*mappings->next_class)++,
		.name = "mappings",
	};
	int rc = sonde_ctf_trace_add_class(recording->trace, config.class_id,
					   SONDE_LARGE, "mapped files");

	mappings->flow.start = recording->now();
	if (!rc)
		rc = add_event(recording, config.class_id, LOOK_EVENT,
			       "mappings", describe_look);
	if (!rc)
		rc = add_event(recording, config.class_id, SONDE_DUMP_MAPPING,
			       "mapping", sonde_dump_describe_mapping);
	if (!rc)
		rc = sonde_ctf_stream_open(recording->trace, &config,
					   &mappings->flow.stream);
	return rc;
}

struct sonde_mappings *sonde_mappings_new(struct sonde_recording *recording,
					  uint32_t *next_class)
{
	struct sonde_mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return NULL;
	mappings->recording = recording;
	mappings->next_class = next_class;
	mappings->flow.recording = recording;
	mappings->proc = sonde_proc_new();
	sonde_out_init(&mappings->out, recording->now, 0, SONDE_DUMP_BYTES_MAX);
	mappings->out.has_no_context = true;
	if (mappings->proc)
		return mappings;
	free(mappings);
	return NULL;
}

/* To the trace; what it doesn't take is as if it had not been seen. */
static int write_out(struct sonde_mappings *mappings)
{
	struct sonde_outflow *flow = &mappings->flow;
	struct sonde_ring_chunk chunk;
	int rc = mappings->recording->disk_error;

	if (!rc && !flow->stream && !mappings->was_opened) {
		mappings->was_opened = true;
		rc = open_stream(mappings);
	}
	sonde_out_flush(&mappings->out);
	while (sonde_out_peek(&mappings->out, &chunk) > 0) {
		int error = rc;

		if (!error && !flow->stream)
			error = -EIO; /* it can't be had */
		if (!error)
			error = sonde_outflow_append(flow, &chunk);
		if (!error)
			error = sonde_outflow_publish(flow, &chunk);
		if (error)
			sonde_outflow_forget(flow);
		sonde_outflow_count(flow, &chunk, !error);
		sonde_out_advance(&mappings->out);
		rc = error;
	}
	return rc;
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

static void forget(struct sonde_mappings *mappings, struct known *known)
{
	free(known->hashes);
	mappings->nr--;
	memmove(known, known + 1,
		(size_t)(mappings->known + mappings->nr - known) *
			sizeof(*known));
}

void sonde_mappings_forget(struct sonde_mappings *mappings,
			   const struct sonde_image *image)
{
	struct known *known =
		mappings ? find(mappings, sonde_image_class(image)) : NULL;

	if (mappings && mappings->glance.image == image)
		end_look(&mappings->glance);
	if (known)
		forget(mappings, known);
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

static uint64_t hash_of(const struct sonde_dump_mapping *mapping)
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
				SONDE_KERNEL_FIRST_ID + LOOK_EVENT, LOOK_BYTES);
	const struct known *known = telling->known;
	int32_t pid = sonde_image_pid(telling->look->image);

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
static bool is_known(void *ctx, const struct sonde_dump_mapping *mapping)
{
	struct telling *telling = ctx;
	const struct known *known = telling->known;
	uint64_t hash = hash_of(mapping);

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

static int take_mapping(void *ctx, const struct sonde_dump_mapping *mapping)
{
	struct look *look = ctx;
	dev_t dev = makedev((unsigned int)(mapping->dev >> 20),
			    (unsigned int)(mapping->dev & 0xfffff));

	if (sonde_image_is_arena(look->image, dev, (ino_t)mapping->ino))
		look->has_arena = true;
	/* All are of one process, so nothing is written yet. */
	return sonde_mapped_add(&look->mapped, NULL, mapping);
}

static void omit(void *ctx, uint64_t nr)
{
	struct look *look = ctx;

	look->omitted += nr;
}

/* False if there is nothing to be seen; then there is no look. */
static bool look_at(struct sonde_mappings *mappings,
		    const struct sonde_image *image, uint64_t code_kb,
		    struct look *look)
{
	const int32_t pid = sonde_image_pid(image);
	const struct sonde_dump_wanted wanted = { .pids = &pid, .nr = 1 };
	const struct sonde_dump_target target = {
		.ctx = look,
		.mapping = take_mapping,
		.omit = omit,
	};
	uint64_t now = sonde_monotonic_ns();

	*look = (struct look){
		.image = image,
		.code_kb = code_kb,
		.seen = mappings->recording
				->now(), /* later there may be more */
	};
	if (!sonde_mapped_init(&look->mapped, now + SONDE_DUMP_BUILD_IDS_NS) &&
	    !sonde_proc_mappings(mappings->proc, &wanted, now + SONDE_DUMP_NS,
				 &target) &&
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
	if (!write_out(mappings) && telling.nr)
		learn(known, &telling);
	else
		free(telling.hashes);
}

void sonde_mappings_glance(struct sonde_mappings *mappings,
			   const struct sonde_image *image)
{
	if (!mappings)
		return;
	end_look(&mappings->glance);
	/* How much it is, the look after the next finds out. */
	(void)look_at(mappings, image, 0, &mappings->glance);
}

void sonde_mappings_look(struct sonde_mappings *mappings,
			 const struct sonde_image *image, bool thorough)
{
	struct known *known;
	struct look look = { 0 };
	uint64_t code_kb;

	if (!mappings || mappings->recording->disk_error)
		return;
	known = find(mappings, sonde_image_class(image));
	if (!known)
		known = add(mappings, sonde_image_class(image));
	if (!known)
		return;
	if (mappings->glance.image == image) {
		write_look(mappings, &mappings->glance, known);
		end_look(&mappings->glance);
		return;
	}
	code_kb = code_kb_of(sonde_image_pid(image));
	if (!code_kb || (code_kb == known->code_kb && !thorough))
		return;
	if (look_at(mappings, image, code_kb, &look))
		write_look(mappings, &look, known);
	end_look(&look);
}

void sonde_mappings_close(struct sonde_mappings *mappings)
{
	if (!mappings)
		return;
	/* What can't be closed has lost its index, and no mapping. */
	if (mappings->flow.stream)
		(void)sonde_outflow_close(
			&mappings->flow,
			sonde_outflow_missing(&mappings->flow,
					      mappings->out.lost));
	end_look(&mappings->glance);
	while (mappings->nr)
		forget(mappings, &mappings->known[0]);
	free(mappings->known);
	sonde_out_fini(&mappings->out);
	sonde_proc_free(mappings->proc);
	free(mappings);
}
