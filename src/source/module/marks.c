/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * marks.c - see marks.h.
 *
 * A piece never grows beyond twice its bytes: a field that takes 8 is said by 4 at
 * least (" a=1"), a text takes its NUL instead of the '=', a line that is none its NUL
 * instead of its size; and a head that becomes a long one stands for others that were
 * left out.
 */
#include "source/module/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SHARE         16u
#define EACH_CPU_MOST (1u << 20)
#define GROWS         2u

int module_marks_plan(struct module_marks *marks,
		      const struct sonde_source_config *config,
		      uint32_t nr_cpus)
{
	uint64_t bytes = config->memory_bytes / SHARE;

	if (bytes > (uint64_t)EACH_CPU_MOST * nr_cpus)
		bytes = (uint64_t)EACH_CPU_MOST * nr_cpus;
	return module_geometry_init(&marks->geometry, bytes, 0, nr_cpus);
}

/* ---- open, close ---- */

static int marks_open_streams(struct module_marks *marks,
			      const struct module_device *device,
			      bool is_overwriting)
{
	uint32_t nr = marks->geometry.nr_cpus;
	int rc = 0;

	marks->streams = calloc(nr, sizeof(*marks->streams));
	if (!marks->streams)
		return -ENOMEM;
	while (!rc && marks->nr_streams < nr) {
		uint32_t cpu = marks->nr_streams++;

		rc = module_stream_open(&marks->streams[cpu].raw,
					device->system, device->lines,
					&marks->geometry, cpu, is_overwriting);
	}
	return rc;
}

int module_marks_open(struct module_marks *marks, struct module_device *device,
		      const struct sonde_source_config *config, uint32_t first)
{
	uint32_t number = 0;
	int rc = first + SONDE_MARKS_MAX + SONDE_LEVELS < SONDE_LARGE_ESCAPE ?
			 module_device_lines(device, config, &marks->geometry,
					     MODULE_LINE_ID, &number) :
			 -ENOSPC;

	if (rc)
		return rc;
	(void)snprintf(marks->door, sizeof(marks->door), SONDE_KMOD_DOOR_DEVICE,
		       number);
	if (!device->system->may_write(marks->door))
		return -EACCES;
	marks->wanted = config->marks;
	marks->first = (uint16_t)first;
	marks->table = sonde_marks_new(true);
	return marks->table ?
		       marks_open_streams(marks, device,
					  config->mode == SONDE_OVERWRITE) :
		       -ENOMEM;
}

void module_marks_close(struct module_marks *marks)
{
	for (uint32_t i = 0; i < marks->nr_streams; i++) {
		module_stream_close(&marks->streams[i].raw);
		free(marks->streams[i].bytes);
	}
	free(marks->streams);
	sonde_marks_free(marks->table);
	*marks = (struct module_marks){ .table = NULL };
}

int module_marks_describe(const struct module_marks *marks,
			  struct sonde_source_known *known)
{
	int rc = 0;

	for (; marks->table && !rc && known->nr < sonde_marks_nr(marks->table);
	     known->nr += !rc)
		rc = known->add(known->ctx, marks->first + known->nr,
				sonde_marks_desc(marks->table, known->nr));
	return rc;
}

/* ---- converting ---- */

struct marks_line {
	struct sonde_packer_record head;
	const uint8_t *text;
	uint32_t bytes;
};

/* What it takes of `room`, or 0: it is no line. */
static size_t marks_read_line(const uint8_t *at, size_t room, uint64_t last,
			      struct marks_line *ret)
{
	size_t head = sonde_packer_read_head(at, room, last, &ret->head);

	if (!head || ret->head.id != MODULE_LINE_ID ||
	    room - head < sizeof(ret->bytes))
		return 0;
	memcpy(&ret->bytes, at + head, sizeof(ret->bytes));
	head += sizeof(ret->bytes);
	if (ret->bytes > SONDE_KMOD_LINE_MAX || ret->bytes > room - head)
		return 0;
	ret->text = at + head;
	return head + ret->bytes;
}

/* There is room for what it takes. 0 or -EPROTO. */
static int marks_put_line(struct module_marks *marks, uint32_t cpu,
			  const struct marks_line *line,
			  struct sonde_packer *packer)
{
	const struct sonde_source_marks *wanted = marks->wanted;
	struct sonde_marks_taken taken;
	uint8_t *payload;

	if (sonde_marks_take(marks->table, (const char *)line->text,
			     line->bytes, &taken)) {
		marks->streams[cpu].nr_refused++;
		return 0;
	}
	marks->streams[cpu].nr_lost += taken.loss;
	if (wanted->wants &&
	    !wanted->wants(wanted->ctx, &taken, line->head.tid, cpu)) {
		marks->has_unwanted = true;
		return 0;
	}
	if (!sonde_packer_fits(packer, taken.size))
		return -EPROTO;
	payload =
		sonde_packer_head(packer, (uint16_t)(marks->first + taken.kind),
				  line->head.time, line->head.tid);
	memcpy(payload, taken.payload, taken.size);
	packer->at = payload + taken.size;
	return 0;
}

/* The piece, into the stream's memory: how many bytes, or -EPROTO, -ENOMEM. */
static ssize_t marks_convert(struct module_marks *marks, uint32_t cpu,
			     const struct sonde_ring_chunk *raw)
{
	struct module_marks_stream *stream = &marks->streams[cpu];
	size_t size = (size_t)GROWS * marks->geometry.subbuf_bytes +
		      SONDE_PACKER_HEAD_MAX;
	struct sonde_packer packer = { .nr = 0 };
	uint64_t last = raw->first ? raw->ts_begin : stream->time;
	int rc = 0;

	if (!stream->bytes)
		stream->bytes = malloc(size);
	if (!stream->bytes)
		return -ENOMEM;
	packer.at = stream->bytes;
	packer.end = stream->bytes + size;
	sonde_packer_open(&packer,
			  raw->first ? raw->ts_begin : stream->time_put);
	stream->nr_refused = 0;
	stream->nr_lost = 0;
	for (size_t at = 0; !rc && at < raw->size;) {
		struct marks_line line;
		size_t bytes = marks_read_line(raw->data + at, raw->size - at,
					       last, &line);

		if (!bytes)
			return -EPROTO;
		rc = marks_put_line(marks, cpu, &line, &packer);
		last = line.head.time;
		at += bytes;
	}
	stream->next = last;
	stream->next_put = packer.last;
	stream->nr = packer.nr;
	return rc ? rc : packer.at - stream->bytes;
}

/* Its piece has been dealt with. */
static void marks_pass(struct module_marks_stream *stream)
{
	stream->time = stream->next;
	stream->time_put = stream->next_put;
	stream->given += stream->nr;
	stream->refused += stream->nr_refused;
	stream->lost += stream->nr_lost;
	module_stream_advance(&stream->raw);
}

int module_marks_peek(struct module_marks *marks, uint32_t cpu,
		      struct sonde_ring_chunk *ret_chunk)
{
	struct module_marks_stream *stream = &marks->streams[cpu];
	struct sonde_ring_chunk raw;
	ssize_t size;
	int rc;

	for (;;) {
		rc = module_stream_peek(&stream->raw, &raw);
		if (rc <= 0)
			return rc;
		size = marks_convert(marks, cpu, &raw);
		if (size == -ENOMEM) /* there may be some later */
			return 0;
		if (size < 0)
			return -EPROTO;
		if (size || (raw.closed && !raw.first))
			break;
		if (!raw.closed) /* it is given again, with what follows */
			return 0;
		marks_pass(stream);
	}
	if (raw.first)
		stream->before = stream->given;
	*ret_chunk = raw;
	ret_chunk->data = stream->bytes;
	ret_chunk->size = (uint32_t)size;
	ret_chunk->seq = stream->seq;
	ret_chunk->events_before = stream->before + stream->raw.overwritten;
	ret_chunk->events =
		stream->given + stream->nr + stream->raw.overwritten;
	ret_chunk->discarded = raw.discarded + stream->refused +
			       stream->nr_refused + stream->lost +
			       stream->nr_lost;
	return 1;
}

void module_marks_advance(struct module_marks *marks, uint32_t cpu,
			  const struct sonde_ring_chunk *chunk)
{
	struct module_marks_stream *stream = &marks->streams[cpu];

	stream->seq += chunk->closed;
	marks_pass(stream);
}

void module_marks_counts(struct module_marks *marks, uint32_t cpu,
			 struct sonde_source_counts *ret_counts)
{
	const struct module_marks_stream *stream = &marks->streams[cpu];

	module_stream_counts(&marks->streams[cpu].raw, ret_counts);
	ret_counts->delivered = stream->given;
	ret_counts->lost_size += stream->refused;
	ret_counts->lost_marks = stream->lost;
}
