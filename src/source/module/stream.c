/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stream.c - one CPU's ring in the module, read piece by piece (stream.h).
 *
 * A piece that doesn't follow the one before, or lies outside the mapping, is
 * -EPROTO and ends the stream. A piece is got, used and put; counts only grow.
 */
#include "source/module/stream.h"

#include <errno.h>

#include "ring/layout.h"

/* Of the smallest record: a short header and the context `tid`. */
#define RECORD_MIN (SONDE_HEAD_LARGE + 4u)

int module_stream_open(struct module_stream *stream,
		       const struct module_system *system, int channel,
		       const struct module_geometry *geometry, uint32_t cpu,
		       bool is_overwriting)
{
	struct sonde_kmod_stream request = {
		.size = sizeof(request),
		.cpu = cpu,
	};
	int rc = system->ioctl(channel, SONDE_KMOD_STREAM, &request);

	*stream = (struct module_stream){
		.system = system,
		.fd = rc < 0 ? -1 : rc,
		.map_bytes = module_geometry_map_bytes(geometry),
		.subbuf_bytes = geometry->subbuf_bytes,
		.is_overwriting = is_overwriting,
	};
	if (rc < 0)
		return rc;
	rc = -EIO;
	stream->data =
		stream->system->map(stream->fd, (size_t)stream->map_bytes, &rc);
	return stream->data ? 0 : rc;
}

void module_stream_close(struct module_stream *stream)
{
	if (stream->data)
		stream->system->unmap(stream->data, (size_t)stream->map_bytes);
	if (stream->fd >= 0)
		stream->system->close(stream->fd);
	module_stacks_copy_fini(&stream->copy);
	stream->data = NULL;
	stream->fd = -1;
}

/* ---- what the device says, checked ---- */

static bool module_stream_is_within(const struct module_stream *stream,
				    const struct sonde_kmod_chunk *chunk)
{
	uint64_t at = chunk->offset % stream->subbuf_bytes;

	if (!chunk->bytes)
		return chunk->closed && !chunk->first &&
		       chunk->offset <= stream->map_bytes;
	return chunk->offset < stream->map_bytes &&
	       chunk->bytes <= stream->subbuf_bytes - at;
}

static bool is_in_order(const struct module_stream *stream,
			const struct sonde_kmod_chunk *chunk)
{
	if (!chunk->first)
		return stream->has_begun && chunk->seq == stream->seq &&
		       chunk->ts_begin == stream->ts_begin &&
		       (!chunk->bytes || chunk->offset == stream->next);
	if (stream->has_begun)
		return false;
	if (!stream->has_seq)
		return true;
	return chunk->seq > stream->seq;
}

static bool is_sound(const struct module_stream *stream,
		     const struct sonde_kmod_chunk *chunk)
{
	return chunk->first <= 1 && chunk->closed <= 1 &&
	       module_stream_is_within(stream, chunk) &&
	       is_in_order(stream, chunk) &&
	       chunk->events <= chunk->bytes / RECORD_MIN &&
	       (!chunk->closed || chunk->ts_end >= chunk->ts_begin);
}

/* ---- accounts ---- */

/* False if the device can't tell. */
static bool get_counts(const struct module_stream *stream,
		       struct sonde_kmod_counts *ret_counts)
{
	*ret_counts = (struct sonde_kmod_counts){
		.size = sizeof(*ret_counts),
	};
	return stream->system->ioctl(stream->fd, SONDE_KMOD_STREAM_COUNTS,
				     ret_counts) >= 0;
}

/* What was overwritten, so far; it never shrinks. */
static uint64_t get_overwritten(const struct module_stream *stream)
{
	struct sonde_kmod_counts counts;

	if (!get_counts(stream, &counts) ||
	    counts.overwritten < stream->overwritten)
		return stream->overwritten;
	return counts.overwritten;
}

void module_stream_counts(struct module_stream *stream,
			  struct sonde_source_counts *ret_counts)
{
	struct sonde_kmod_counts counts;

	if (!get_counts(stream, &counts))
		counts = (struct sonde_kmod_counts){ 0 };
	*ret_counts = (struct sonde_source_counts){
		.delivered = stream->delivered,
		/* A sub-buffer that a writer further down is still in is no
		 * room, either. */
		.lost_full = counts.lost_full + counts.lost_busy,
		.lost_size = counts.lost_size,
		.lost_damaged = counts.lost_damaged + counts.damaged,
		.overwritten =
			stream->is_overwriting ? get_overwritten(stream) : 0,
	};
}

/* ---- reading ---- */

/* 1, 0 or -errno. */
static int get_chunk(const struct module_stream *stream,
		     struct sonde_kmod_chunk *ret_chunk)
{
	int rc;

	*ret_chunk = (struct sonde_kmod_chunk){ .size = sizeof(*ret_chunk) };
	rc = stream->system->ioctl(stream->fd, SONDE_KMOD_GET, ret_chunk);
	ret_chunk->size = sizeof(*ret_chunk); /* for PUT */
	return rc == -EAGAIN ? 0 : rc;
}

int module_stream_peek(struct module_stream *stream,
		       struct sonde_ring_chunk *ret_chunk)
{
	struct sonde_kmod_chunk *chunk = &stream->chunk;
	int rc = get_chunk(stream, chunk);

	if (!rc)
		return 0;
	if (rc < 0 || !is_sound(stream, chunk))
		return -EPROTO;
	if (chunk->first) {
		if (stream->is_overwriting)
			stream->overwritten = get_overwritten(stream);
		stream->events_before = stream->delivered + stream->overwritten;
	}
	*ret_chunk = (struct sonde_ring_chunk){
		.data = stream->data + chunk->offset,
		.size = chunk->bytes,
		.first = chunk->first,
		.closed = chunk->closed,
		.seq = chunk->seq,
		.ts_begin = chunk->ts_begin,
		.ts_end = chunk->closed ? chunk->ts_end : 0,
		.events_before = stream->events_before,
		.events =
			stream->delivered + stream->overwritten + chunk->events,
		.discarded = chunk->discarded,
	};
	return stream->stacks ?
		       module_stacks_convert(stream->stacks, &stream->copy,
					     stream->subbuf_bytes, ret_chunk) :
		       1;
}

void module_stream_advance(struct module_stream *stream)
{
	const struct sonde_kmod_chunk *chunk = &stream->chunk;

	stream->delivered += chunk->events;
	stream->has_begun = !chunk->closed;
	stream->has_seq = true;
	stream->seq = chunk->seq;
	stream->ts_begin = chunk->ts_begin;
	stream->next = chunk->offset + chunk->bytes;
	stream->copy.last = stream->copy.ahead;
	/* It fails if the chunk is not the device's own: then the next GET
	 * gives the same again, which is out of order. */
	(void)stream->system->ioctl(stream->fd, SONDE_KMOD_PUT, &stream->chunk);
}

int module_stream_rewind(struct module_stream *stream)
{
	/* What is in the current sub-buffer is closed, so that it can be
	 * taken. */
	if (stream->system->ioctl(stream->fd, SONDE_KMOD_FLUSH, NULL) < 0)
		return -EPROTO;
	return 1;
}

/* If it fails, it is tried again. */
void module_stream_part(struct module_stream *stream)
{
	if (stream->has_begun)
		(void)stream->system->ioctl(stream->fd, SONDE_KMOD_FLUSH, NULL);
}
