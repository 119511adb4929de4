/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * leave_out.c - conditions that no program can test: real numbers, texts behind
 * others, patterns with a star inside. All events of their kind are recorded,
 * and what isn't wanted is left out of a copy of each chunk as it is read.
 *
 * A record's time extends that of the record before it. When that is left out,
 * the time may be too far from the one before that for the short form; so
 * headers are written anew (packer.h). A copy is never longer than what it is
 * made from: the 8 bytes that a longer header takes are fewer than those of a
 * record that was left out.
 *
 * Accounts: what was left out was not wanted, and is in no count. Of what was
 * lost or overwritten unread, nobody can tell any more; all of it counts.
 *
 * Cost: about 100 ns for each record, for sources with such a condition only.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/condition.h"
#include "source/packer.h"
#include "types/desc.h"

struct record {
	uint16_t id;
	uint32_t tid;
	uint64_t time;
	const unsigned char *payload;
	size_t size; /* of the payload */
};

/* ---- what a record holds ---- */

static size_t element_bytes(const struct sonde_field_view *field)
{
	struct sonde_fields children = sonde_field_children(field);
	struct sonde_field_view element;

	return sonde_fields_next(&children, &element) ?
		       element.stored_bits / 8u :
		       1;
}

/* Bytes of the field at `at`, if all of them are among `room`. */
static bool field_bytes(const struct sonde_field_view *field,
			const unsigned char *at, size_t room, size_t *ret_bytes)
{
	const unsigned char *nul;
	uint32_t nr;

	switch (field->kind) {
	case SONDE_TYPE_STRING:
		nul = room ? memchr(at, 0, room) : NULL;
		if (nul)
			*ret_bytes = (size_t)(nul - at) + 1;
		return nul != NULL;
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
		if (room < sizeof(nr))
			return false;
		memcpy(&nr, at, sizeof(nr));
		*ret_bytes = sizeof(nr) + nr * element_bytes(field);
		break;
	case SONDE_TYPE_TEXT:
		*ret_bytes = field->count;
		break;
	case SONDE_TYPE_ARRAY:
		*ret_bytes = field->count * element_bytes(field);
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_ENUM:
	case SONDE_TYPE_BITS:
		*ret_bytes = field->stored_bits / 8u;
		break;
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		return false; /* no event of ours has any */
	}
	return *ret_bytes <= room;
}

static bool payload_bytes(const struct sonde_desc *desc,
			  const unsigned char *at, size_t room,
			  size_t *ret_bytes)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;
	size_t sum = 0;

	while (sonde_fields_next(&fields, &field)) {
		size_t bytes = 0;

		if (!field_bytes(&field, at + sum, room - sum, &bytes))
			return false;
		sum += bytes;
	}
	*ret_bytes = sum;
	return true;
}

/* Returns the record's bytes, or 0 if it isn't one. `last` is the time of the
 * one before. */
static size_t read_record(const struct bpf_source *source,
			  const unsigned char *at, size_t room, uint64_t last,
			  struct record *ret)
{
	size_t head = SONDE_HEAD_LARGE;
	uint32_t low;

	if (room < head + 4)
		return 0;
	memcpy(&ret->id, at, 2);
	memcpy(&low, at + 2, 4);
	ret->time = last + (uint32_t)(low - (uint32_t)last);
	if (ret->id == SONDE_LARGE_ESCAPE) {
		head = SONDE_HEAD_LARGE_FULL;
		if (room < head + 4 || low >= SONDE_LARGE_ESCAPE)
			return 0;
		ret->id = (uint16_t)low;
		memcpy(&ret->time, at + 6, 8);
	}
	head += 4;
	memcpy(&ret->tid, at + head - 4, 4);
	ret->payload = at + head;
	if (ret->id < SONDE_SOURCE_FIRST_ID || ret->time < last ||
	    ret->id - SONDE_SOURCE_FIRST_ID >= source->nr_events ||
	    !payload_bytes(source->events[ret->id - SONDE_SOURCE_FIRST_ID].desc,
			   ret->payload, room - head, &ret->size))
		return 0;
	return head + ret->size;
}

/* ---- chunks ---- */

static bool is_wanted(const struct bpf_source *source,
		      const struct record *record, uint32_t cpu)
{
	const struct sonde_condition *late =
		source->events[record->id - SONDE_SOURCE_FIRST_ID].late;

	return !late || sonde_condition_test(late, record->payload,
					     record->size, record->tid, cpu);
}

int bpf_late_peek(const struct bpf_source *source, struct bpf_stream *stream,
		  uint32_t cpu, struct sonde_ring_chunk *chunk)
{
	struct bpf_late late = stream->late;
	struct sonde_packer packer = {
		.at = stream->copy,
		.end = stream->copy + bpf_late_room(source),
	};

	if (chunk->first)
		late.read = late.written = chunk->ts_begin;
	sonde_packer_open(&packer, late.written);
	stream->raw = *chunk;
	for (size_t at = 0; at < chunk->size;) {
		struct record record;
		size_t bytes =
			read_record(source, chunk->data + at, chunk->size - at,
				    late.read, &record);

		if (!bytes || !sonde_packer_fits(&packer, record.size))
			return -EPROTO;
		at += bytes;
		late.read = record.time;
		if (!is_wanted(source, &record, cpu)) {
			late.dropped++;
			continue;
		}
		memcpy(sonde_packer_head(&packer, record.id, record.time,
					 record.tid),
		       record.payload, record.size);
		packer.at += record.size;
	}
	late.written = packer.last;
	chunk->data = stream->copy;
	chunk->size = (uint32_t)(packer.at - stream->copy);
	chunk->events_before -= chunk->first ? stream->late.dropped : 0;
	chunk->events -= late.dropped;
	stream->ahead = late;
	return 1;
}

/* ---- life ---- */

size_t bpf_late_room(const struct bpf_source *source)
{
	return source->geometry.subbuf_bytes + SONDE_PACKER_HEAD_MAX;
}

int bpf_late_init(struct bpf_source *source)
{
	for (uint32_t i = 0; i < source->geometry.nr_cpus * SONDE_BPF_LEVELS;
	     i++) {
		struct bpf_stream *stream = &source->streams[i];

		if (!source->has_late || stream->is_empty)
			continue;
		stream->copy = malloc(bpf_late_room(source));
		if (!stream->copy)
			return -ENOMEM;
	}
	return 0;
}

int bpf_late_add(struct bpf_source *source, struct bpf_event *event,
		 const char *text)
{
	char why[200];

	if (!text)
		return 0;
	source->has_late = true;
	return sonde_condition_new(event->desc, text, why, sizeof(why),
				   &event->late);
}
