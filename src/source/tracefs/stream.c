/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stream.c - one CPU's sub-buffers in, packets of records out (stream.h).
 *
 * A round reads to the end once: a sub-buffer that isn't half full was the last
 * one. What was overwritten or dropped is the kernel's count, taken at the
 * round's beginning, and goes before the packet that follows it.
 */
#include "source/tracefs/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "source/sample/mapped_code.h"
#include "sys/proc.h"

/* Reads of nothing, one after the other or not, before what the kernel still
 * counts is given up. */
#define REFUSED_MAX 100u

/* ---- losses ---- */

/* "KEY: NUMBER", all of a line. */
static bool parse_count(const char *text, const char *key, uint64_t *ret_count)
{
	const char *at = sonde_proc_find(text, key);

	return at && sonde_number_take(&at, 10, UINT64_MAX, ret_count) &&
	       *at == '\n';
}

int sonde_tracefs_stream_parse_losses(
	const char *text, struct sonde_tracefs_stream_losses *ret_losses)
{
	struct sonde_tracefs_stream_losses losses;

	if (!parse_count(text, "entries", &losses.entries) ||
	    !parse_count(text, "read events", &losses.read) ||
	    !parse_count(text, "overrun", &losses.overrun) ||
	    !parse_count(text, "commit overrun", &losses.commit_overrun) ||
	    !parse_count(text, "dropped events", &losses.dropped))
		return -EINVAL;
	*ret_losses = losses;
	return 0;
}

/* Once a round; what was read before stays if it can't be read. */
static void read_losses(struct sonde_tracefs_stream *stream)
{
	char text[512];
	ssize_t n;

	if (stream->is_counted)
		return;
	n = pread(stream->stats, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return;
	text[n] = '\0';
	/* Kernels differ in lines we don't ask for; these have been there since
	 * 3.9, so what fails is a kernel without them: nothing to count. */
	(void)sonde_tracefs_stream_parse_losses(text, &stream->losses);
	stream->is_counted = true;
}

/* ---- life ---- */

int sonde_tracefs_stream_open(struct sonde_tracefs_stream *stream, int instance,
			      uint32_t cpu,
			      const struct sonde_format_page *layout,
			      size_t packet_bytes)
{
	char path[64];

	*stream = (struct sonde_tracefs_stream){ .cpu = cpu,
						 .pipe = -1,
						 .stats = -1,
						 .layout = *layout,
						 .size = packet_bytes };
	(void)snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	stream->pipe =
		openat(instance, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (stream->pipe < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
	stream->stats = openat(instance, path, O_RDONLY | O_CLOEXEC);
	if (stream->stats < 0) {
		int rc = -errno;

		sonde_tracefs_stream_fini(stream);
		return rc;
	}
	return 0;
}

void sonde_tracefs_stream_fini(struct sonde_tracefs_stream *stream)
{
	if (stream->pipe >= 0)
		close(stream->pipe);
	if (stream->stats >= 0)
		close(stream->stats);
	stream->pipe = -1;
	stream->stats = -1;
	free(stream->raw);
	free(stream->bytes);
	sonde_callstacks_places_fini(&stream->out.waitings.places);
	stream->raw = NULL;
	stream->bytes = NULL;
}

/* Memory comes with the first need: a machine has more CPUs than it uses. */
static int get_memory(struct sonde_tracefs_stream *stream)
{
	size_t raw =
		(size_t)stream->layout.data_offset + stream->layout.data_size;

	if (stream->bytes)
		return 0;
	if (!stream->raw)
		stream->raw = calloc(1, raw + SONDE_CONVERT_SLACK);
	if (!stream->raw)
		return -ENOMEM;
	stream->bytes = malloc(stream->size);
	if (!stream->bytes)
		return -ENOMEM;
	sonde_convert_out_init(&stream->out, stream->cpu, stream->bytes,
			       stream->size);
	stream->out.waitings.has_places = stream->is_overwriting;
	return 0;
}

/* ---- reading ---- */

static uint64_t count_dropped(const struct sonde_tracefs_stream *stream)
{
	return stream->losses.dropped + stream->losses.commit_overrun;
}

/* Whether it is known that none were dropped from that time on. */
static bool is_without_drops(const struct sonde_tracefs_stream *stream,
			     uint64_t since)
{
	uint64_t nr = count_dropped(stream);

	for (uint32_t i = 0; i < SONDE_TRACEFS_ROUNDS; i++)
		if (stream->dropped[i].at < since &&
		    stream->dropped[i].nr == nr)
			return true;
	return false;
}

/* What waits for its stack, before a page that was read: whether that may go on. */
static void check_waiting(struct sonde_tracefs_stream *stream,
			  const struct sonde_convert *convert)
{
	const struct sonde_tracefs_waiting *first =
		sonde_tracefs_stacks_first(&stream->out.waitings);

	if (!first)
		return;
	stream->is_counted = false;
	read_losses(stream);
	if (stream->page.has_missed || !stream->is_counted ||
	    !is_without_drops(stream, first->time))
		sonde_convert_out_settle(convert, &stream->out);
}

/* What was overwritten before the page goes before the next packet. */
static void note_gap(struct sonde_tracefs_stream *stream)
{
	uint64_t missed = stream->page.missed;

	if (!stream->page.has_missed)
		return;
	if (!stream->page.is_missed_known) {
		stream->is_counted = false;
		read_losses(stream);
		missed = stream->losses.overrun - stream->next_gap;
	}
	stream->next_gap += missed;
	stream->out.next = 0;
	if (sonde_convert_out_used(&stream->out))
		stream->is_closed = true;
	else
		stream->gap = stream->next_gap;
}

/* What read() says to nothing is not believed after the stop, for a while. */
static bool tracefs_stream_is_refused(struct sonde_tracefs_stream *stream)
{
	if (!stream->is_ended)
		return false;
	stream->is_counted = false;
	read_losses(stream);
	return stream->is_counted && stream->losses.entries &&
	       stream->nr_refused++ < REFUSED_MAX;
}

/* Bytes, 0, or -errno. */
static ssize_t tracefs_stream_read_bytes(struct sonde_tracefs_stream *stream)
{
	size_t size =
		(size_t)stream->layout.data_offset + stream->layout.data_size;
	ssize_t n;

	do {
		do {
			n = read(stream->pipe, stream->raw, size);
		} while (n < 0 && errno == EINTR);
		if (n < 0 && errno != EAGAIN)
			return -errno;
	} while (n <= 0 && tracefs_stream_is_refused(stream));
	return n > 0 ? n : 0;
}

/* 1 if there is a page now, 0 if not, -errno. */
static int read_page(struct sonde_tracefs_stream *stream,
		     const struct sonde_convert *convert)
{
	ssize_t n;
	int rc;

	if (stream->is_drained)
		return 0;
	n = tracefs_stream_read_bytes(stream);
	if (n < 0)
		return (int)n;
	if (!n) {
		stream->is_drained = true;
		if (stream->is_ended)
			sonde_convert_out_settle(convert, &stream->out);
		return 0;
	}
	rc = sonde_page_open(&stream->layout, stream->raw, (size_t)n,
			     &stream->page);
	if (rc)
		return rc;
	stream->in_page = true;
	/* Full ones end where the next record didn't fit. */
	stream->is_drained = !stream->is_ended &&
			     (stream->has_read || !stream->is_overwriting) &&
			     (size_t)(stream->page.end - stream->page.at) * 2 <
				     stream->layout.data_size;
	stream->has_read = true;
	check_waiting(stream, convert);
	note_gap(stream);
	if (convert->stacks)
		sonde_perf_code_catch_up(convert->stacks->code);
	return 1;
}

static void stream_end_packet(struct sonde_tracefs_stream *stream,
			      const struct sonde_convert *convert)
{
	sonde_convert_out_settle(convert, &stream->out);
	stream->is_closed = true;
}

/* Reads and converts until there is nothing more or the packet is full. */
static int fill(struct sonde_tracefs_stream *stream,
		const struct sonde_convert *convert)
{
	int rc = get_memory(stream);

	while (!rc && !stream->is_closed) {
		if (!stream->in_page) {
			rc = read_page(stream, convert);
			if (rc <= 0)
				return rc;
			rc = 0;
			continue;
		}
		rc = sonde_convert(convert, &stream->page, &stream->out);
		stream->in_page = rc > 0;
		if (rc > 0) {
			stream_end_packet(stream, convert);
			rc = 0;
		}
	}
	return rc;
}

void sonde_tracefs_stream_refresh(struct sonde_tracefs_stream *stream,
				  uint64_t now)
{
	/* What was read of it is of before. */
	stream->dropped[stream->next_round++ % SONDE_TRACEFS_ROUNDS] =
		(struct sonde_tracefs_dropped){ now, count_dropped(stream) };
	stream->is_counted = false;
	stream->is_drained = false;
	stream->has_read = false;
}

int sonde_tracefs_stream_peek(struct sonde_tracefs_stream *stream,
			      const struct sonde_convert *convert,
			      struct sonde_ring_chunk *ret_chunk)
{
	const struct sonde_convert_out *out = &stream->out;
	int rc = fill(stream, convert);
	size_t used;

	/* A CPU that was never there, or went away. */
	if (rc == -ENODEV || rc == -ENOMEM)
		rc = 0;
	if (rc < 0)
		return -EPROTO;
	used = stream->bytes ? sonde_convert_out_used(out) : 0;
	if (used == stream->given && !stream->is_closed)
		return 0;
	read_losses(stream);
	*ret_chunk = (struct sonde_ring_chunk){
		.data = stream->bytes + stream->given,
		.size = (uint32_t)(used - stream->given),
		.first = !stream->is_open,
		.closed = stream->is_closed,
		.seq = stream->seq,
		.ts_begin = out->ts_begin,
		.ts_end = stream->is_closed ? out->ts_last : 0,
		.events_before = stream->first_event + stream->gap,
		.events = sonde_convert_out_nr(out) + stream->gap,
		.discarded = count_dropped(stream) + out->too_large +
			     out->lost_marks,
	};
	return 1;
}

void sonde_tracefs_stream_advance(struct sonde_tracefs_stream *stream,
				  const struct sonde_ring_chunk *chunk)
{
	stream->delivered = chunk->events - stream->gap;
	stream->given += chunk->size;
	stream->out.waitings.places.nr = 0;
	stream->out.waitings.since += chunk->size;
	stream->is_open = true;
	if (!chunk->closed)
		return;
	sonde_convert_out_reset(&stream->out);
	stream->out.waitings.since = stream->bytes;
	stream->given = 0;
	stream->is_open = false;
	stream->is_closed = false;
	stream->seq++;
	stream->gap = stream->next_gap;
	stream->first_event = stream->out.packer.nr;
}

void sonde_tracefs_stream_part(struct sonde_tracefs_stream *stream,
			       const struct sonde_convert *convert)
{
	if (stream->is_open)
		stream_end_packet(stream, convert);
}

/* Of what the kernel recorded, after the last read. What isn't wanted was seen,
 * too. */
static uint64_t count_unread(const struct sonde_tracefs_stream *stream)
{
	uint64_t recorded = stream->losses.entries + stream->losses.read;

	if (!stream->is_ended || !stream->is_drained || stream->in_page ||
	    recorded <= stream->out.seen)
		return 0;
	return recorded - stream->out.seen;
}

void sonde_tracefs_stream_count(struct sonde_tracefs_stream *stream,
				struct sonde_source_counts *ret_counts)
{
	read_losses(stream);
	*ret_counts = (struct sonde_source_counts){
		.delivered = stream->delivered,
		.lost_full = count_dropped(stream),
		.lost_size = stream->out.too_large,
		.lost_unread = count_unread(stream),
		.lost_marks = stream->out.lost_marks,
		.overwritten = stream->losses.overrun,
		.committed = stream->losses.entries + stream->losses.read +
			     stream->losses.overrun - stream->out.too_large,
	};
}
