/* SPDX-License-Identifier: MIT */
/*
 * frames.c - see frames.h: the index, and going through it.
 *
 * Invariants of the index:
 *  1. places[first..nr_places) are the frames; frame n is places[first + n].
 *  2. Each one's payload fits its part's plan (it was tried when it was
 *     indexed; files may be cut meanwhile, so it is tried again).
 *  3. bytes is what they all take in GDB's format; unless it is one frame that
 *     is larger, no more than config.buffer_bytes.
 */
#include "gdb/frames_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Before each frame's blocks: i16 tracepoint, u32 bytes. */
#define HEAD_BYTES  6u
#define BUFFER_SIZE ((size_t)16 << 10)
#define BUFFER_MAX  ((size_t)1 << 24)
#define NO_PART     UINT32_MAX

/* ---- which events are frames ---- */

static void frames_add_part(struct sonde_gdb_frames *frames,
			    const struct sonde_probe_point *point,
			    const struct sonde_probe_plan *plan,
			    const struct sonde_probe_plan_part *part)
{
	frames->parts[frames->nr_parts++] = (struct sonde_gdb_frames_part){
		.point = point,
		.plan = plan,
		.part = part,
	};
}

static int make_plans(struct sonde_gdb_frames *frames, char *error,
		      size_t error_size)
{
	size_t nr = frames->points.nr;
	int rc = 0;

	frames->plans = calloc(nr + 1, sizeof(*frames->plans));
	frames->parts = calloc(2 * nr + 1, sizeof(*frames->parts));
	if (!frames->plans || !frames->parts)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !rc; i++) {
		const struct sonde_probe_point *point = &frames->points.list[i];
		struct sonde_probe_plan *plan = &frames->plans[i];

		rc = sonde_probe_plan_make(point, &frames->points, error,
					   error_size, plan);
		if (rc)
			break;
		frames_add_part(frames, point, plan, &plan->hit);
		if (plan->step.desc)
			frames_add_part(frames, point, plan, &plan->step);
	}
	return rc;
}

static uint32_t find_part(const struct sonde_gdb_frames *frames,
			  const char *name)
{
	for (size_t i = 0; i < frames->nr_parts; i++) {
		const struct sonde_probe_plan_part *part =
			frames->parts[i].part;
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): added */
		size_t length = part->is_kernels ? 5 : 4;

		/* "gdb:NAME", "kgdb:NAME" */
		if (strncmp(name,
			    part->is_kernels ? "kgdb:" : "gdb:", length) == 0 &&
		    strcmp(name + length, sonde_probe_plan_name(part)) == 0)
			return (uint32_t)i;
	}
	return NO_PART;
}

static int map_classes(struct sonde_gdb_frames *frames)
{
	size_t nr = sonde_trace_nr_event_classes(frames->trace);

	frames->part_of = calloc(nr + 1, sizeof(*frames->part_of));
	if (!frames->part_of)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(
			sonde_trace_event_class(frames->trace, i), &info);
		frames->part_of[i] = find_part(frames, info.name);
	}
	return 0;
}

/* ---- the index ---- */

/* Its blocks, in `buffer` as far as there is room. */
static int make_blocks(const struct sonde_gdb_frames *frames,
		       const struct sonde_gdb_frame_place *place,
		       struct sonde_gdb_blocks *blocks)
{
	const struct sonde_gdb_frames_part *part = &frames->parts[place->part];

	*blocks = (struct sonde_gdb_blocks){ .to = frames->buffer,
					     .room = frames->buffer_size };
	return sonde_gdb_blocks_make(part->plan, part->part, place->payload,
				     place->bytes, blocks);
}

/* The oldest frame goes. */
static void drop_first(struct sonde_gdb_frames *frames)
{
	const struct sonde_gdb_frame_place *place =
		&frames->places[frames->first++];
	struct sonde_gdb_blocks blocks;
	uint64_t bytes = HEAD_BYTES;

	if (!make_blocks(frames, place, &blocks))
		bytes += blocks.length;
	frames->bytes -= bytes;
	frames->parts[place->part].frames--;
	frames->parts[place->part].bytes -= bytes;
}

static int append(struct sonde_gdb_frames *frames,
		  const struct sonde_gdb_frame_place *place)
{
	if (SONDE_GROW(frames->places, frames->nr_places, frames->capacity))
		return -ENOMEM;
	frames->places[frames->nr_places++] = *place;
	return 0;
}

/* Adds a frame as GDB's buffer would: a circular one drops the oldest frames for
 * it, another is full. */
static int add_frame(struct sonde_gdb_frames *frames,
		     const struct sonde_gdb_frame_place *place)
{
	uint64_t limit = frames->config.buffer_bytes;
	struct sonde_gdb_blocks blocks;
	uint64_t bytes;

	if (frames->full || make_blocks(frames, place, &blocks))
		return 0; /* nothing of ours, whatever it is called */
	bytes = HEAD_BYTES + blocks.length;
	if (!frames->config.circular && bytes > limit - frames->bytes) {
		frames->full = true;
		return 0;
	}
	while (frames->first < frames->nr_places &&
	       (bytes > limit || frames->bytes > limit - bytes))
		drop_first(frames);
	frames->bytes += bytes;
	frames->parts[place->part].frames++;
	frames->parts[place->part].bytes += bytes;
	return append(frames, place);
}

static int add_event(struct sonde_gdb_frames *frames,
		     const struct sonde_event *event)
{
	uint32_t part = frames->part_of[sonde_event_class_index(event->cls)];
	struct sonde_gdb_frame_place place;
	struct sonde_walk walk;

	if (part == NO_PART)
		return 0;
	/* where the payload begins */
	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	if (walk.pos % 8 || event->end < walk.pos ||
	    (event->end - walk.pos) / 8 > UINT16_MAX)
		return 0;
	place = (struct sonde_gdb_frame_place){
		.payload = walk.data + walk.pos / 8,
		.bytes = (uint16_t)((event->end - walk.pos) / 8),
		.time_ns = event->time_ns,
		.tid = (uint32_t)sonde_event_tid(event),
		.part = (uint16_t)part,
	};
	return add_frame(frames, &place);
}

static int make_index(struct sonde_gdb_frames *frames)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int rc = sonde_cursor_new(frames->trace, NULL, &cursor);
	int more;

	if (rc)
		return rc;
	while (!rc && (more = sonde_cursor_next(cursor, &event)) != 0)
		rc = more < 0 ? more : add_event(frames, event);
	sonde_cursor_free(cursor);
	return rc;
}

static int frames_open_trace(struct sonde_gdb_frames *frames,
			     const char *directory, char *error,
			     size_t error_size)
{
	struct sonde_trace_error wrong;
	int rc = sonde_trace_open(&directory, 1, &wrong, &frames->trace);

	if (rc)
		(void)snprintf(error, error_size, "%s", wrong.text);
	return rc;
}

int sonde_gdb_frames_open(const char *directory,
			  const struct sonde_gdb_frames_config *config,
			  char *error, size_t error_size,
			  struct sonde_gdb_frames **ret_frames)
{
	struct sonde_gdb_frames *frames = calloc(1, sizeof(*frames));
	int rc = -ENOMEM;

	(void)snprintf(error, error_size, "%s: no memory", directory);
	if (!frames)
		return rc;
	frames->config = *config;
	frames->buffer = malloc(BUFFER_SIZE);
	if (frames->buffer) {
		frames->buffer_size = BUFFER_SIZE;
		rc = sonde_gdb_points_load(directory, &frames->points, error,
					   error_size);
	}
	if (!rc)
		rc = frames_open_trace(frames, directory, error, error_size);
	if (!rc)
		rc = make_plans(frames, error, error_size);
	if (!rc)
		rc = map_classes(frames);
	if (!rc)
		rc = make_index(frames);
	if (rc)
		sonde_gdb_frames_free(frames);
	else
		*ret_frames = frames;
	return rc;
}

void sonde_gdb_frames_free(struct sonde_gdb_frames *frames)
{
	if (!frames)
		return;
	for (size_t i = 0; frames->plans && i < frames->points.nr; i++)
		sonde_probe_plan_free(&frames->plans[i]);
	sonde_probe_points_clear(&frames->points);
	sonde_trace_close(frames->trace);
	free(frames->plans);
	free(frames->parts);
	free(frames->part_of);
	free(frames->places);
	free(frames->buffer);
	free(frames);
}

/* ---- what there is ---- */

const struct sonde_probe_points *
sonde_gdb_frames_points(const struct sonde_gdb_frames *frames)
{
	return &frames->points;
}

uint64_t sonde_gdb_frames_nr(const struct sonde_gdb_frames *frames)
{
	return frames->nr_places - frames->first;
}

void sonde_gdb_frames_count(const struct sonde_gdb_frames *frames,
			    uint32_t number, uint64_t address,
			    uint64_t *ret_hits, uint64_t *ret_bytes)
{
	*ret_hits = 0;
	*ret_bytes = 0;
	for (size_t i = 0; i < frames->nr_parts; i++) {
		const struct sonde_gdb_frames_part *part = &frames->parts[i];

		if (part->point->number != number ||
		    part->point->address != address)
			continue;
		if (part->part == &part->plan->hit)
			*ret_hits += part->frames;
		*ret_bytes += part->bytes;
	}
}

/* ---- one frame ---- */

static int grow_buffer(struct sonde_gdb_frames *frames, size_t bytes)
{
	uint8_t *larger;

	if (bytes > BUFFER_MAX)
		return -EIO;
	larger = realloc(frames->buffer, bytes);
	if (!larger)
		return -ENOMEM;
	frames->buffer = larger;
	frames->buffer_size = bytes;
	return 0;
}

static void fill(const struct sonde_gdb_frames *frames, uint64_t number,
		 struct sonde_gdb_frame *frame)
{
	const struct sonde_gdb_frame_place *place =
		&frames->places[frames->first + number];

	*frame = (struct sonde_gdb_frame){
		.number = number,
		.point = frames->parts[place->part].point->number,
		.address = frames->parts[place->part].point->address,
		.time_ns = (uint64_t)place->time_ns,
		.tid = place->tid,
	};
}

int sonde_gdb_frames_get(struct sonde_gdb_frames *frames, uint64_t number,
			 struct sonde_gdb_frame *ret_frame)
{
	const struct sonde_gdb_frame_place *place;
	struct sonde_gdb_blocks blocks;
	struct sonde_gdb_frame frame;
	int rc;

	if (number >= sonde_gdb_frames_nr(frames))
		return -ENOENT;
	place = &frames->places[frames->first + number];
	fill(frames, number, &frame);
	for (;;) {
		if (make_blocks(frames, place, &blocks))
			return -EIO;
		if (blocks.length <= frames->buffer_size)
			break;
		rc = grow_buffer(frames, blocks.length);
		if (rc)
			return rc;
	}
	frame.blocks = frames->buffer;
	frame.nr_bytes = blocks.length;
	frame.registers = blocks.registers;
	/* of a step */
	(void)sonde_gdb_frame_register(&frame, SONDE_AGENT_RIP, &frame.address);
	*ret_frame = frame;
	return 0;
}

/* ---- searching ---- */

static bool is_step(const struct sonde_gdb_frames *frames, uint64_t number)
{
	const struct sonde_gdb_frame_place *place =
		&frames->places[frames->first + number];

	return frames->parts[place->part].part !=
	       &frames->parts[place->part].plan->hit;
}

static bool frames_matches(struct sonde_gdb_frames *frames,
			   enum sonde_gdb_find how, uint64_t a, uint64_t b,
			   uint64_t number)
{
	struct sonde_gdb_frame frame;

	fill(frames, number, &frame);
	if (how == SONDE_GDB_FIND_POINT)
		return frame.point == a;
	if (is_step(frames, number) &&
	    sonde_gdb_frames_get(frames, number, &frame))
		return false;
	switch (how) {
	case SONDE_GDB_FIND_PC:
		return frame.address == a;
	case SONDE_GDB_FIND_INSIDE:
		return frame.address >= a && frame.address <= b;
	case SONDE_GDB_FIND_OUTSIDE:
		return frame.address < a || frame.address > b;
	case SONDE_GDB_FIND_NUMBER:
	case SONDE_GDB_FIND_POINT:
		break;
	}
	return false;
}

int sonde_gdb_frames_find(struct sonde_gdb_frames *frames,
			  enum sonde_gdb_find how, uint64_t a, uint64_t b,
			  uint64_t after, struct sonde_gdb_frame *ret_frame)
{
	uint64_t nr = sonde_gdb_frames_nr(frames);

	if (how == SONDE_GDB_FIND_NUMBER)
		return sonde_gdb_frames_get(frames, a, ret_frame);
	for (uint64_t i = after == UINT64_MAX ? 0 : after + 1; i < nr; i++)
		if (frames_matches(frames, how, a, b, i))
			return sonde_gdb_frames_get(frames, i, ret_frame);
	return -ENOENT;
}

/* ---- all bytes ---- */

/* As much of [begin, begin + nr) as the window asks for. */
struct window {
	uint64_t offset;
	uint8_t *to;
	size_t size;
	size_t used;
};

static void take(struct window *window, uint64_t begin, const void *bytes,
		 size_t nr)
{
	uint64_t wanted = window->offset + window->used;
	size_t skip;

	if (window->used == window->size || wanted < begin ||
	    wanted >= begin + nr)
		return;
	skip = (size_t)(wanted - begin);
	nr -= skip;
	if (nr > window->size - window->used)
		nr = window->size - window->used;
	memcpy(window->to + window->used, (const uint8_t *)bytes + skip, nr);
	window->used += nr;
}

size_t sonde_gdb_frames_raw(struct sonde_gdb_frames *frames, uint64_t offset,
			    uint8_t *to, size_t size)
{
	struct window window = { .offset = offset, .to = to, .size = size };
	struct sonde_gdb_frame frame = { 0 };
	uint8_t head[HEAD_BYTES];
	uint32_t bytes;

	if (offset < frames->raw_begin) {
		frames->raw_frame = 0;
		frames->raw_begin = 0;
	}
	while (!sonde_gdb_frames_get(frames, frames->raw_frame, &frame)) {
		bytes = (uint32_t)frame.nr_bytes;
		memcpy(head, &frame.point, 2);
		memcpy(head + 2, &bytes, sizeof(bytes));
		take(&window, frames->raw_begin, head, sizeof(head));
		take(&window, frames->raw_begin + HEAD_BYTES, frame.blocks,
		     bytes);
		if (window.used == size)
			break;
		frames->raw_begin += HEAD_BYTES + bytes;
		frames->raw_frame++;
	}
	return window.used;
}
