/* SPDX-License-Identifier: MIT */
/*
 * frame_event.c - $_sdata: the event at a static tracepoint, as text.
 *
 * A sonde_event's site is probed before it records, and made to record; so its
 * event is the first one of the thread behind the frame that is not a frame
 * itself. So are the kernel's events, at their sites and on themselves.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "gdb/frames_parts.h"

/* How far it is looked for: other threads' events may be between. */
#define EVENTS_MAX 100000u

static void frame_event_add_value(struct sonde_text *text,
				  const struct sonde_value *value)
{
	switch ((int)value->kind) {
	case SONDE_KIND_INT:
		sonde_text_add(text, "%" PRId64, value->i);
		break;
	case SONDE_KIND_FLOAT:
		sonde_text_add(text, "%g", value->d);
		break;
	case SONDE_KIND_STRING:
		sonde_text_add(text, "\"%.*s\"",
			       value->length > INT16_MAX ? INT16_MAX :
							   (int)value->length,
			       value->text);
		break;
	case SONDE_KIND_BLOB:
		sonde_text_add(text, "(%" PRIu64 " bytes)", value->length);
		break;
	default:
		if (sonde_class_base(value->cls) == 16)
			sonde_text_add(text, "0x%" PRIx64, value->u);
		else
			sonde_text_add(text, "%" PRIu64, value->u);
	}
}

static void add_event(struct sonde_text *text, const struct sonde_event *event)
{
	struct sonde_walk walk;
	struct sonde_value value;
	enum sonde_walk_item item;
	const char *between = " ";
	const char *name;

	sonde_text_add(text, "%s", sonde_event_name(event));
	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	while ((item = sonde_walk_next(&walk, &name, &value))) {
		if (item == SONDE_WALK_GROUP_END) {
			sonde_text_add(text, " }");
			continue;
		}
		sonde_text_add(text, "%s", between);
		if (name)
			sonde_text_add(text, "%s=", name);
		if (item == SONDE_WALK_GROUP)
			sonde_text_add(text, "{");
		else
			frame_event_add_value(text, &value);
	}
}

/* From the frame on; the frame's own event is one of those of its time. Of a process,
 * the first is the one; what the kernel does meanwhile is recorded beside its event,
 * whose name is known. */
static int find_event(const struct sonde_gdb_frames *frames,
		      const struct sonde_gdb_frame *frame,
		      struct sonde_cursor *cursor,
		      const struct sonde_event **ret_event)
{
	const char *name = sonde_probe_point_source(
		frames->parts[frames->places[frames->first + frame->number]
				      .part]
			.point,
		SONDE_PROBE_EVENT_KIND);
	bool seen = false; /* the frame itself */
	int rc = sonde_cursor_seek(cursor, (int64_t)frame->time_ns);

	for (unsigned int i = 0; !rc && i < EVENTS_MAX; i++) {
		rc = sonde_cursor_next(cursor, ret_event);
		if (rc <= 0)
			return rc < 0 ? rc : -ENODATA;
		rc = 0;
		if (sonde_event_tid(*ret_event) != (int32_t)frame->tid)
			continue;
		if (frames->part_of[sonde_event_class_index(
			    (*ret_event)->cls)] == UINT32_MAX) {
			if (seen &&
			    (!name ||
			     !strcmp(sonde_event_name(*ret_event), name)))
				return 0;
		} else if (seen &&
			   (*ret_event)->time_ns != (int64_t)frame->time_ns) {
			return -ENODATA; /* another hit: there was no event */
		} else {
			seen = true;
		}
	}
	return rc ? rc : -ENODATA;
}

int sonde_gdb_frame_static_data(struct sonde_gdb_frames *frames,
				const struct sonde_gdb_frame *frame, char *to,
				size_t size, size_t *ret_length)
{
	struct sonde_text text = { .to = to, .size = size };
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int rc;

	if (frame->number >= sonde_gdb_frames_nr(frames) ||
	    !frames->parts[frames->places[frames->first + frame->number].part]
		     .part->has_static_data)
		return -ENODATA;
	rc = sonde_cursor_new(frames->trace, NULL, &cursor);
	if (rc)
		return rc;
	rc = find_event(frames, frame, cursor, &event);
	if (!rc) {
		add_event(&text, event);
		*ret_length = strnlen(to, size);
	}
	sonde_cursor_free(cursor);
	return rc;
}
