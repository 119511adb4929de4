/* SPDX-License-Identifier: MIT */
/*
 * cut.c - which events go into which packets of the new trace (cut.h).
 *
 * Files of one stream are read as a chain, in the order of their times; each
 * file once, packet by packet, so memory is one packet. A packet is begun with
 * its first wanted event and written when the old packet ends or the next
 * event's time can't be told in it.
 */
#include "reader/cut/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/cut/files.h"
#include "reader/cut/rewrite.h"

#define PROGRESS_EVENTS 4096u

struct cut {
	struct sonde_trace *trace;
	const struct sonde_map_options *options;
	struct sonde_cut_files files;
	struct sonde_cut_result result;
	struct sonde_rewrite packet; /* the one in the making */
	size_t common;      /* bytes that all sources' paths begin with */
	uint64_t done, all; /* bytes of files */

	/* of a stream's files together, the *chain* */
	uint64_t sequence; /* of the next packet */
	bool has_base;     /* a packet has been passed, with */
	uint64_t base;     /* this count of discarded events, */
	bool has_last;     /* and this sequence number */
	uint64_t last;
	uint64_t written;      /* packets */
	uint64_t written_base; /* the count that the last of them has */

	/* of a file */
	const struct sonde_stream *stream;
	bool open;                  /* the packet is begun, with */
	uint64_t begin, end;        /* these ticks, and */
	uint64_t events;            /* so many wanted ones */
	struct sonde_event context; /* the record in force; cls NULL: none */
	bool context_there;         /* it is in the packet */
};

/* Where we are in a file: an old packet. */
struct old {
	size_t i;
	const struct sonde_packet *packet;
	struct sonde_head head;
	const uint8_t *data;
	bool clipped; /* it begins before the span */
};

/* ---- packets ---- */

static int cut_set_number(struct cut *cut, enum sonde_role role, uint64_t value)
{
	int err = sonde_rewrite_set(&cut->packet, role, value);

	if (err == -ENOTSUP)
		return sonde_cut_fail(
			&cut->files, err,
			"%.200s: its packets' heads have numbers of "
			"variable length, so they can't be rewritten",
			cut->stream->path);
	if (err == -ERANGE)
		return sonde_cut_fail(
			&cut->files, -ENOTSUP,
			"%.200s: a number in its packets' heads has "
			"no room for its new value",
			cut->stream->path);
	return err == -ENOENT ? 0 : err;
}

/* Gives the packet its numbers, and writes it. */
static int write_packet(struct cut *cut, uint64_t end, uint64_t discarded)
{
	uint64_t content = cut->packet.end;
	/* The next packet shall begin at a word. */
	uint64_t size = (content + 63) / 64 * 64;
	const struct {
		enum sonde_role role;
		uint64_t value;
	} numbers[] = {
		{ SONDE_ROLE_CONTENT_BITS, content },
		{ SONDE_ROLE_PACKET_BITS, size },
		{ SONDE_ROLE_TIME, cut->begin },
		{ SONDE_ROLE_TIME_END, end },
		{ SONDE_ROLE_DISCARDED, discarded },
		{ SONDE_ROLE_SEQUENCE, cut->sequence },
	};
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(numbers) / sizeof(numbers[0]);
	     i++)
		err = cut_set_number(cut, numbers[i].role, numbers[i].value);
	if (err == 0)
		err = sonde_rewrite_pad(&cut->packet, size);
	if (err == 0)
		err = sonde_cut_files_append(&cut->files, cut->stream,
					     cut->packet.data, size / 8);
	cut->open = false;
	cut->sequence++;
	cut->written++;
	cut->written_base = discarded;
	cut->result.packets++;
	cut->result.events += cut->events;
	return err;
}

static int begin_packet(struct cut *cut, const struct old *old, uint64_t ticks)
{
	cut->open = true;
	cut->begin = cut->end = ticks;
	cut->events = 0;
	cut->context_there = false;
	return sonde_rewrite_begin(&cut->packet, cut->stream->source, old->data,
				   old->head.head_bits);
}

/* Whether readers would not see that events were lost in this packet, for
 * nothing goes ahead of it (cut.h, 4). */
static bool hides_loss(const struct cut *cut, const struct old *old)
{
	return cut->written == 0 && cut->has_base &&
	       old->packet->has_discarded &&
	       old->packet->discarded != cut->base;
}

/* The packet that wanted events of the old one are to be in; the first of them
 * comes at `ticks`. */
static int begin_for_event(struct cut *cut, const struct old *old,
			   uint64_t ticks, bool split)
{
	uint64_t begin = split || old->clipped ? ticks : old->packet->ticks;
	int err = 0;

	if (hides_loss(cut, old) && begin > 0) {
		err = begin_packet(cut, old, begin - 1);
		if (err == 0)
			err = write_packet(cut, begin - 1, cut->base);
	}
	return err != 0 ? err : begin_packet(cut, old, begin);
}

/* ---- events ---- */

/* Whether the header of the event can tell its time after `ticks`. */
static bool can_follow(const struct sonde_event *event, uint64_t ticks)
{
	unsigned int bits = sonde_rewrite_time_bits(event);

	/* A whole time needs no time before; it may even go back. */
	return bits == 64 || (event->ticks - ticks) >> bits == 0;
}

static int cut_put_event(struct cut *cut, const struct sonde_event *event,
			 bool stamp, uint64_t ticks)
{
	int err = sonde_rewrite_event(&cut->packet, event, stamp, ticks);

	return err == -ENOTSUP ?
		       sonde_cut_fail(
			       &cut->files, err,
			       "%.200s: its events' times are of variable "
			       "length, so they can't be rewritten",
			       cut->stream->path) :
		       err;
}

static int keep(struct cut *cut, const struct old *old,
		const struct sonde_event *event)
{
	uint64_t discarded = cut->has_base ? cut->base : old->packet->discarded;
	bool begun = cut->open;
	int err = 0;

	bool far = !can_follow(event, begun ? cut->end : old->packet->ticks);
	bool full = begun && cut->packet.end / 8 >= SONDE_CUT_PACKET_BYTES &&
		    event->ticks > cut->end;

	if (far && !SONDE_HEAD_HAS(&old->head, SONDE_ROLE_TIME))
		return sonde_cut_fail(
			&cut->files, -ENOTSUP,
			"%.200s: its packets don't tell their times, so "
			"events can't be left out of them",
			cut->stream->path);
	if (begun && (far || full))
		err = write_packet(cut, cut->end, discarded);
	if (err == 0 && !cut->open)
		err = begin_for_event(cut, old, event->ticks, begun || far);
	if (err == 0 && cut->context.cls && !cut->context_there)
		err = cut_put_event(cut, &cut->context, true, event->ticks);
	cut->context_there = true;
	if (err == 0)
		err = cut_put_event(cut, event, false, 0);
	if (event->ticks > cut->end)
		cut->end = event->ticks;
	cut->events++;
	return err;
}

static bool is_wanted(const struct cut *cut, const struct sonde_event *event)
{
	const struct sonde_map_options *options = cut->options;

	return event->time_ns >= options->from_ns &&
	       event->time_ns <= options->to_ns &&
	       (!options->filter || sonde_filter_match(options->filter, event));
}

static int cut_handle(struct cut *cut, const struct old *old,
		      const struct sonde_event *event)
{
	if (!event->cls->info.internal)
		return is_wanted(cut, event) ? keep(cut, old, event) : 0;
	cut->context = *event;
	cut->context_there = false;
	return 0;
}

/* ---- old packets ---- */

static int cut_enter(struct cut *cut, size_t i, struct old *ret_old)
{
	const struct sonde_stream *stream = cut->stream;
	const struct sonde_packet *packet = &stream->packets[i];
	const char *why =
		sonde_stream_need(stream, packet->offset, SONDE_NEED_HEAD);
	uint64_t bit;
	int err = why ? -EIO : 0;

	*ret_old = (struct old){
		.i = i,
		.packet = packet,
		.data = stream->data + packet->offset,
		.clipped = packet->begin_ns < cut->options->from_ns,
	};
	if (err == 0)
		err = sonde_head_parse(stream->source, ret_old->data,
				       packet->bytes, &ret_old->head, &why,
				       &bit);
	if (err != 0)
		return sonde_cut_fail(&cut->files, -ENOTSUP, "%.200s: %s",
				      stream->path, why);
	if (!SONDE_HEAD_HAS(&ret_old->head, SONDE_ROLE_CONTENT_BITS) ||
	    !SONDE_HEAD_HAS(&ret_old->head, SONDE_ROLE_PACKET_BITS))
		return sonde_cut_fail(
			&cut->files, -ENOTSUP,
			"%.200s: its packets don't tell their size and "
			"that of their content, so they can't be "
			"rewritten",
			stream->path);
	/* Packets that are missing here will be missing there. */
	if (packet->has_sequence && cut->has_last && cut->written > 0 &&
	    packet->sequence > cut->last + 1)
		cut->sequence += packet->sequence - cut->last - 1;
	cut->context.cls = NULL;
	cut->context_there = false;
	return 0;
}

static int cut_leave(struct cut *cut, const struct old *old)
{
	const struct sonde_packet *packet = old->packet;
	uint64_t end = cut->end;
	bool lost = packet->has_discarded && cut->written > 0 &&
		    packet->discarded != cut->written_base;
	int err = 0;

	if (!cut->open && old->packet->end_ns >= cut->options->from_ns &&
	    old->packet->begin_ns <= cut->options->to_ns &&
	    (lost || hides_loss(cut, old)))
		err = begin_for_event(cut, old, packet->ticks, false);
	if (err == 0 && cut->open) {
		if (packet->end_ns <= cut->options->to_ns &&
		    old->head.ticks_end > end)
			end = old->head.ticks_end;
		err = write_packet(cut, end, packet->discarded);
	}
	cut->has_base = packet->has_discarded;
	cut->base = packet->discarded;
	cut->has_last = packet->has_sequence;
	cut->last = packet->sequence;
	return err;
}

/* From the old packet *i to `to`: passes over those between. */
static int go_on(struct cut *cut, struct old *old, size_t to)
{
	int err = 0;

	while (err == 0 && old->i < to) {
		err = cut_leave(cut, old);
		if (err == 0)
			err = cut_enter(cut, old->i + 1, old);
	}
	return err;
}

/* ---- files and chains ---- */

static int tell_progress(const struct cut *cut, const struct old *old)
{
	const struct sonde_map_options *options = cut->options;
	uint64_t done = cut->done + old->packet->offset;

	return options->progress && options->progress(options->progress_ctx,
						      done, cut->all) ?
		       -EINTR :
		       0;
}

static int cut_read_events(struct cut *cut, struct sonde_cursor *cursor,
			   struct old *old)
{
	const struct sonde_event *event;
	uint64_t n = 0;
	int err = 0;

	while (err == 0) {
		int got = sonde_cursor_next(cursor, &event);

		if (got <= 0)
			return got;
		err = go_on(cut, old, sonde_event_packet(event));
		if (err == 0)
			err = cut_handle(cut, old, event);
		if (err == 0 && ++n % PROGRESS_EVENTS == 0)
			err = tell_progress(cut, old);
	}
	return err;
}

/* The first packet that can have something wanted, so that the records that
 * say whose its events are don't go unread. */
static size_t cut_first_packet(const struct cut *cut)
{
	const struct sonde_stream *stream = cut->stream;
	size_t i = 0;

	while (i + 1 < stream->nr_packets &&
	       stream->packets[i].end_ns < cut->options->from_ns)
		i++;
	return i;
}

/* The last one that begins in the span. */
static size_t last_packet(const struct cut *cut, size_t first)
{
	const struct sonde_stream *stream = cut->stream;
	size_t i = stream->nr_packets - 1;

	while (i > first && stream->packets[i].begin_ns > cut->options->to_ns)
		i--;
	return i;
}

static int cut_events(struct cut *cut, const bool *only, size_t first)
{
	const struct sonde_stream *stream = cut->stream;
	struct sonde_cursor_options options;
	struct sonde_cursor *cursor;
	struct old old;
	int err;

	if (first > 0) {
		/* What is before is passed over without a look. */
		const struct sonde_packet *before = &stream->packets[first - 1];

		cut->has_base = before->has_discarded;
		cut->base = before->discarded;
		cut->has_last = before->has_sequence;
		cut->last = before->sequence;
	}
	err = cut_enter(cut, first, &old);
	if (err != 0)
		return err;
	sonde_cursor_options_init(&options);
	options.from_ns = stream->packets[first].begin_ns;
	options.to_ns = cut->options->to_ns;
	options.streams = only;
	options.unmerged = true;
	options.internal = true;
	err = sonde_cursor_new(cut->trace, &options, &cursor);
	if (err != 0)
		return err;
	err = cut_read_events(cut, cursor, &old);
	if (err == 0)
		err = go_on(cut, &old, last_packet(cut, first));
	if (err == 0)
		err = cut_leave(cut, &old);
	sonde_cursor_free(cursor);
	return err;
}

static int cut_cut_file(struct cut *cut, const struct sonde_stream *stream,
			bool *only)
{
	int ended;
	int err = 0;

	cut->stream = stream;
	cut->open = false;
	if (stream->nr_packets > 0) {
		only[stream->index] = true;
		err = cut_events(cut, only, cut_first_packet(cut));
		only[stream->index] = false;
	}
	cut->done += stream->bytes;
	ended = sonde_cut_files_end(&cut->files);
	return err != 0 ? err : ended;
}

/* Files of one stream, in the order of time. */
static int cut_compare_streams(const void *a, const void *b)
{
	const struct sonde_stream *x = *(const struct sonde_stream *const *)a;
	const struct sonde_stream *y = *(const struct sonde_stream *const *)b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->cls != y->cls)
		return x->cls < y->cls ? -1 : 1;
	if (x->has_instance != y->has_instance)
		return x->has_instance ? -1 : 1;
	if (x->instance != y->instance)
		return x->instance < y->instance ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool is_same_chain(const struct sonde_stream *a,
			  const struct sonde_stream *b)
{
	return a->source == b->source && a->cls == b->cls && a->has_instance &&
	       b->has_instance && a->instance == b->instance;
}

static int cut_streams(struct cut *cut)
{
	size_t nr = cut->trace->nr_streams;
	struct sonde_stream **streams =
		calloc(nr + 1, sizeof(struct sonde_stream *));
	bool *only = calloc(nr + 1, sizeof(*only));
	int err = streams && only ? 0 : -ENOMEM;

	if (err == 0 && nr > 0) {
		memcpy(streams, cut->trace->streams,
		       nr * sizeof(struct sonde_stream *));
		qsort(streams, nr, sizeof(struct sonde_stream *),
		      cut_compare_streams);
	}
	for (size_t i = 0; err == 0 && i < nr; i++) {
		if (i == 0 || !is_same_chain(streams[i - 1], streams[i])) {
			cut->sequence = cut->written = 0;
			cut->has_base = cut->has_last = false;
		}
		err = cut_cut_file(cut, streams[i], only);
	}
	free(streams);
	free(only);
	return err;
}

int sonde_cut(struct sonde_trace *trace,
	      const struct sonde_map_options *options,
	      const struct sonde_cut_to *to, struct sonde_trace_error *error,
	      struct sonde_cut_result *ret_result)
{
	struct cut cut = {
		.trace = trace,
		.options = options,
		.files = { .trace = trace,
			   .to = to,
			   .error = error,
			   .place = SONDE_DIRECTORY_NONE,
			   .fd = -1 },
	};
	int err = sonde_rewrite_init(&cut.packet, trace);

	*error = (struct sonde_trace_error){ .column = 0 };
	for (size_t i = 0; i < trace->nr_streams; i++)
		cut.all += trace->streams[i]->bytes;
	if (err == 0)
		err = sonde_cut_files_begin(&cut.files);
	if (err == 0)
		err = cut_streams(&cut);
	sonde_rewrite_fini(&cut.packet);
	sonde_cut_files_fini(&cut.files);
	if (err != 0)
		return err;
	cut.result.files = cut.files.nr;
	cut.result.bytes = cut.files.bytes;
	*ret_result = cut.result;
	return 0;
}
