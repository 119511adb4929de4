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
 * Where events have call stacks all records are copied, too: the numbers of the
 * stacks come in place of their frames (stacks.c), and take less.
 *
 * Accounts: what was left out was not wanted, and is in no count. Of what was
 * lost or overwritten unread, nobody can tell any more; all of it counts.
 *
 * Cost: about 100 ns for each record, for sources with such a condition, or with
 * call stacks, only.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/condition.h"
#include "source/packer.h"
#include "source/sample/mapped_code.h"

struct record {
	struct sonde_packer_record head;
	const struct sonde_condition *condition; /* its event's */
	const unsigned char *payload;
	size_t size;  /* of the payload */
	uint32_t pid; /* with call stacks, as what follows */
	struct bpf_frames frames;
};

/* ---- what a record holds ---- */

/* What is behind the payload, which is told by what is before it. */
static bool read_frames(const struct bpf_source *source, size_t room,
			struct record *record)
{
	const unsigned char *before = record->payload - SONDE_BPF_STACK_HEAD;
	uint32_t word;

	memcpy(&word, before, 4);
	memcpy(&record->pid, before + 4, 4);
	if (!bpf_stacks_parse(source, word, &record->frames))
		return false;
	record->frames.at = record->payload + record->size;
	return bpf_stacks_bytes(&record->frames) <= room - record->size;
}

/* Returns the record's bytes, or 0 if it isn't one. `last` is the time of the
 * one before. */
static size_t read_record(const struct bpf_source *source,
			  const unsigned char *at, size_t room, uint64_t last,
			  struct record *ret)
{
	size_t extra = source->config.stacks ? SONDE_BPF_STACK_HEAD : 0;
	size_t head = sonde_packer_read_head(at, room, last, &ret->head);

	ret->frames = (struct bpf_frames){ .at = NULL };
	if (!head || room < head + extra)
		return 0;
	head += extra;
	ret->payload = at + head;
	if (ret->head.id < SONDE_SOURCE_FIRST_ID ||
	    ret->head.id - SONDE_SOURCE_FIRST_ID >= source->nr_events)
		return 0;
	ret->condition =
		source->events[ret->head.id - SONDE_SOURCE_FIRST_ID].late;
	if (!sonde_condition_payload(ret->condition, ret->payload, room - head,
				     &ret->size))
		return 0;
	if (extra && !read_frames(source, room - head, ret))
		return 0;
	return head + ret->size + (extra ? bpf_stacks_bytes(&ret->frames) : 0);
}

/* ---- what becomes of it ---- */

/* What comes between the thread and the payload. */
static void late_put_stack(const struct bpf_source *source,
			   struct sonde_packer *packer,
			   const struct record *record)
{
	uint32_t number;

	if (!source->config.stacks)
		return;
	number = bpf_stacks_number(source, &record->frames, record->pid,
				   record->head.time);
	memcpy(packer->at, &number, 4);
	memcpy(packer->at + 4, &record->pid, 4);
	packer->at += SONDE_BPF_STACK_HEAD;
}

static void late_put_record(const struct bpf_source *source,
			    struct sonde_packer *packer,
			    const struct record *record)
{
	(void)sonde_packer_head(packer, record->head.id, record->head.time,
				record->head.tid);
	late_put_stack(source, packer, record);
	memcpy(packer->at, record->payload, record->size);
	packer->at += record->size;
}

/* ---- chunks ---- */

/* What a program may be writing to isn't looked at: copies are. Returns where the
 * chunk's bytes are, or NULL if it was faster. */
static const unsigned char *hold_still(const struct bpf_source *source,
				       const struct bpf_stream *stream,
				       const struct sonde_ring_chunk *chunk)
{
	unsigned char *held = stream->copy + bpf_late_room(source);

	if (!source->consts[SONDE_BPF_IS_OVERWRITE])
		return chunk->data;
	memcpy(held, chunk->data, chunk->size);
	return sonde_ring_verify(&stream->reader, chunk) ? held : NULL;
}

int bpf_late_peek(const struct bpf_source *source, struct bpf_stream *stream,
		  uint32_t cpu, struct sonde_ring_chunk *chunk)
{
	struct bpf_late late = stream->late;
	struct sonde_packer packer = {
		.at = stream->copy,
		.end = stream->copy + bpf_late_room(source),
	};
	const unsigned char *data = hold_still(source, stream, chunk);

	if (!data)
		return -ESTALE;
	/* What they were of by then, whatever came since it was read. */
	if (source->config.code)
		sonde_perf_code_catch_up(source->config.code);
	if (chunk->first)
		late.read = late.written = chunk->ts_begin;
	sonde_packer_open(&packer, late.written);
	stream->raw = *chunk;
	for (size_t at = 0; at < chunk->size;) {
		struct record record;
		size_t bytes = read_record(source, data + at, chunk->size - at,
					   late.read, &record);

		if (!bytes ||
		    !sonde_packer_fits(&packer,
				       record.size + SONDE_BPF_STACK_HEAD))
			return -EPROTO;
		at += bytes;
		late.read = record.head.time;
		if (!sonde_condition_test(record.condition, record.payload,
					  record.size, record.head.tid, cpu)) {
			late.dropped++;
			continue;
		}
		late.lean += record.frames.is_lean;
		late_put_record(source, &packer, &record);
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
	return source->geometry.subbuf_bytes + SONDE_PACKER_HEAD_MAX +
	       SONDE_BPF_STACK_HEAD;
}

static int leave_out_bind(struct bpf_event *event, const char *text)
{
	char why[200];

	return sonde_condition_new(event->desc, text, why, sizeof(why),
				   &event->late);
}

/* Copies for the streams; and events without a condition get one that holds,
 * for it says how long a payload is. */
int bpf_late_init(struct bpf_source *source)
{
	int rc = 0;

	if (!source->has_copies)
		return 0;
	for (uint32_t i = 0; i < source->nr_events && !rc; i++)
		if (!source->events[i].late)
			rc = leave_out_bind(&source->events[i], "1");
	for (uint32_t i = 0;
	     i < source->geometry.nr_cpus * SONDE_BPF_LEVELS && !rc; i++) {
		struct bpf_stream *stream = &source->streams[i];

		if (stream->is_empty)
			continue;
		stream->copy = malloc(2 * bpf_late_room(source));
		if (!stream->copy)
			rc = -ENOMEM;
	}
	return rc;
}

int bpf_late_add(struct bpf_source *source, struct bpf_event *event,
		 const char *text)
{
	if (!text)
		return 0;
	source->has_late = true;
	return leave_out_bind(event, text);
}
