/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c - one packet from another one's head and some of its events
 * (rewrite.h).
 *
 * Bytes are copied where the new place is the old one modulo the class's
 * alignment; elsewhere value by value. The buffer is zero behind what was
 * written, so gaps are zero. Linear in the event's bytes, or in its values.
 */
#include "reader/cut/rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/core/load.h"
#include "reader/core/walk.h"

/* Loads may look so far behind what they load. */
#define SLACK_BYTES 64
#define FIRST_BYTES 65536

static const enum sonde_scope event_scopes[] = {
	SONDE_SCOPE_EVENT_HEADER,
	SONDE_SCOPE_COMMON_CONTEXT,
	SONDE_SCOPE_EVENT_CONTEXT,
	SONDE_SCOPE_PAYLOAD,
};
#define NR_EVENT_SCOPES (sizeof(event_scopes) / sizeof(event_scopes[0]))

int sonde_rewrite_init(struct sonde_rewrite *rewrite,
		       const struct sonde_trace *trace)
{
	*rewrite = (struct sonde_rewrite){ 0 };
	rewrite->moduli =
		calloc(trace->nr_classes + 1, sizeof(*rewrite->moduli));
	return rewrite->moduli ? 0 : -ENOMEM;
}

void sonde_rewrite_fini(struct sonde_rewrite *rewrite)
{
	free(rewrite->data);
	free(rewrite->moduli);
	*rewrite = (struct sonde_rewrite){ 0 };
}

/* Room up to a bit. What is new is zero. */
static int reserve(struct sonde_rewrite *rewrite, uint64_t bits)
{
	uint64_t bytes = (bits + 7) / 8;
	uint64_t room = rewrite->room ? rewrite->room : FIRST_BYTES;
	uint8_t *data;

	if (rewrite->data && bytes <= rewrite->room)
		return 0;
	while (room < bytes)
		room *= 2;
	data = realloc(rewrite->data, room + SLACK_BYTES);
	if (!data)
		return -ENOMEM;
	memset(data + rewrite->room, 0, room - rewrite->room + SLACK_BYTES);
	rewrite->data = data;
	rewrite->room = room;
	return 0;
}

int sonde_rewrite_begin(struct sonde_rewrite *rewrite,
			const struct sonde_source *source, const uint8_t *data,
			uint64_t head_bits)
{
	if (rewrite->data)
		memset(rewrite->data, 0, (rewrite->end + 7) / 8);
	rewrite->source = source;
	rewrite->head_bits = rewrite->end = head_bits;
	if (reserve(rewrite, head_bits) != 0)
		return -ENOMEM;
	memcpy(rewrite->data, data, (head_bits + 7) / 8);
	return 0;
}

/* ---- where an event's place matters ---- */

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static uint32_t max_align(const struct sonde_class *cls, int depth)
{
	uint32_t align = cls->align_bits;

	if (depth > SONDE_SCHEMA_DEPTH)
		return align;
	for (size_t i = 0; i < cls->nr_members; i++) {
		uint32_t inner = max_align(cls->members[i].cls, depth + 1);

		align = inner > align ? inner : align;
	}
	return align;
}

static uint32_t modulus_of(struct sonde_rewrite *rewrite,
			   const struct sonde_event_class *cls)
{
	uint32_t *modulus = &rewrite->moduli[cls->info.index];

	if (*modulus)
		return *modulus;
	*modulus = 8;
	for (size_t i = 0; i < NR_EVENT_SCOPES; i++) {
		const struct sonde_class *scope =
			sonde_event_class_scope(cls, event_scopes[i]);
		uint32_t align = scope ? max_align(scope, 0) : 1;

		*modulus = align > *modulus ? align : *modulus;
	}
	return *modulus;
}

/* ---- copying ---- */

/* A value from `from` to `to`, both aligned for it; returns the end. */
static uint64_t copy_leaf(struct sonde_rewrite *rewrite,
			  const struct sonde_event *event,
			  const struct sonde_class *cls, uint64_t from,
			  uint64_t bits, uint64_t to)
{
	if (cls->kind < SONDE_KIND_STRING && cls->bits > 0)
		sonde_store_number(rewrite->data, to, cls,
				   sonde_load(event->data, from,
					      sonde_load_of(cls)));
	else
		/* of whole bytes, at whole bytes */
		memcpy(rewrite->data + to / 8, event->data + from / 8,
		       bits / 8);
	return to + bits;
}

/* A scope of an event, to `to` or where it is aligned; returns the end. */
static int copy_scope(struct sonde_rewrite *rewrite,
		      const struct sonde_event *event, enum sonde_scope scope,
		      uint64_t *to)
{
	const struct sonde_class *cls =
		sonde_event_class_scope(event->cls, scope);
	enum sonde_walk_item item;
	struct sonde_walk walk;
	struct sonde_value value;
	const char *name;
	uint64_t from;

	if (!cls)
		return 0;
	*to = sonde_align(*to, cls->align_bits);
	sonde_walk_begin(&walk, event, scope);
	for (from = walk.pos;
	     (item = sonde_walk_next(&walk, &name, &value)) != SONDE_WALK_END;
	     from = walk.pos) {
		if (item == SONDE_WALK_GROUP_END)
			continue;
		*to = sonde_align(*to, value.cls->align_bits);
		if (item == SONDE_WALK_GROUP)
			continue;
		from = sonde_align(from, value.cls->align_bits);
		if (reserve(rewrite, *to + (walk.pos - from)) != 0)
			return -ENOMEM;
		*to = copy_leaf(rewrite, event, value.cls, from,
				walk.pos - from, *to);
	}
	return 0;
}

static int copy_values(struct sonde_rewrite *rewrite,
		       const struct sonde_event *event, uint64_t to)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < NR_EVENT_SCOPES; i++)
		err = copy_scope(rewrite, event, event_scopes[i], &to);
	rewrite->end = to;
	return err;
}

static int rewrite_copy_bytes(struct sonde_rewrite *rewrite,
			      const struct sonde_event *event, uint64_t from,
			      uint64_t to)
{
	uint64_t end = to + (event->end - from);

	if (reserve(rewrite, end) != 0)
		return -ENOMEM;
	memcpy(rewrite->data + to / 8, event->data + from / 8,
	       (end + 7) / 8 - to / 8);
	rewrite->end = end;
	return 0;
}

/* Goes through an event's header, which is at `pos` of `data`; false: it tells
 * no time. */
static bool find_time(const struct sonde_event *event, const uint8_t *data,
		      uint64_t pos, uint64_t *ret_bit,
		      const struct sonde_class **ret_cls)
{
	enum sonde_walk_item item;
	struct sonde_walk walk;
	struct sonde_value value;
	const char *name;
	bool found = false;

	/* What the header refers to in the packet's head. */
	sonde_walk_begin(&walk, event, SONDE_SCOPE_EVENT_HEADER);
	sonde_walk_enter(&walk, data, pos, UINT64_MAX / 2,
			 sonde_event_class_scope(event->cls,
						 SONDE_SCOPE_EVENT_HEADER));
	while ((item = sonde_walk_next(&walk, &name, &value)) !=
	       SONDE_WALK_END) {
		if (item != SONDE_WALK_VALUE ||
		    value.cls->role != SONDE_ROLE_TIME)
			continue;
		*ret_bit = walk.pos - value.cls->bits;
		*ret_cls = value.cls;
		found = true;
	}
	return found;
}

static int stamp_event(struct sonde_rewrite *rewrite,
		       const struct sonde_event *event, uint64_t start,
		       uint64_t ticks)
{
	const struct sonde_class *cls;
	uint64_t bit;

	if (!find_time(event, rewrite->data, start, &bit, &cls))
		return 0;
	if (cls->bits == 0)
		return -ENOTSUP;
	sonde_store_number(rewrite->data, bit, cls, ticks);
	return 0;
}

int sonde_rewrite_event(struct sonde_rewrite *rewrite,
			const struct sonde_event *event, bool stamp,
			uint64_t ticks)
{
	const struct sonde_class *header =
		sonde_event_class_scope(event->cls, SONDE_SCOPE_EVENT_HEADER);
	uint32_t modulus = modulus_of(rewrite, event->cls);
	uint64_t from = event->pos - event->head_bits;
	uint64_t to = header ? sonde_align(rewrite->end, header->align_bits) :
			       rewrite->end;
	int err;

	if (from % 8 == 0 && from % modulus == to % modulus)
		err = rewrite_copy_bytes(rewrite, event, from, to);
	else
		err = copy_values(rewrite, event, to);
	if (err == 0 && stamp)
		err = stamp_event(rewrite, event, to, ticks);
	return err;
}

int sonde_rewrite_pad(struct sonde_rewrite *rewrite, uint64_t size)
{
	/* What was never written is zero. */
	return reserve(rewrite, size);
}

int sonde_rewrite_set(struct sonde_rewrite *rewrite, enum sonde_role role,
		      uint64_t value)
{
	const struct sonde_class *cls;
	uint64_t bit;
	int err = sonde_head_field(rewrite->source, rewrite->data,
				   (rewrite->head_bits + 7) / 8, role, &bit,
				   &cls);

	if (err != 0)
		return err;
	if (cls->bits == 0)
		return -ENOTSUP;
	if (cls->bits < 64 && value >> cls->bits != 0)
		return -ERANGE;
	sonde_store_number(rewrite->data, bit, cls, value);
	return 0;
}

unsigned int sonde_rewrite_time_bits(const struct sonde_event *event)
{
	const struct sonde_class *cls;
	uint64_t bit;

	if (!find_time(event, event->data, event->pos - event->head_bits, &bit,
		       &cls) ||
	    cls->bits == 0)
		return 64;
	return cls->bits;
}
