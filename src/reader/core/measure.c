/* SPDX-License-Identifier: MIT */
/*
 * measure.c - when packets begin and end that don't say so themselves.
 *
 * Everything that goes by time (seeking, slices, spans) goes by the packets'
 * times. Where a stream has a clock but a packet has no begin, or the last one
 * no end, its events are read once, when the trace is opened; the packet then
 * has the times of its first and last event, and the counter of the packet
 * before goes on in it. Such streams come from small machines and from crashes,
 * so that is little.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader/core/packets.h"

/* The first packet that has to be measured; nr_packets: none. */
static size_t first_unknown(const struct sonde_stream *stream)
{
	size_t nr = stream->nr_packets;

	for (size_t i = 0; i < nr; i++)
		if (!stream->packets[i].has_begin)
			return i;
	if (nr &&
	    (!stream->packets[nr - 1].has_end || stream->source->ends_early))
		return nr - 1;
	return nr;
}

static void measure_take_event(struct sonde_stream *stream, size_t i,
			       const struct sonde_event *event, bool is_first)
{
	struct sonde_packet *packet = &stream->packets[i];

	if (is_first && !packet->has_begin)
		packet->begin_ns = event->time_ns;
	if (is_first && !packet->has_end)
		packet->end_ns = event->time_ns;
	if (packet->end_ns < event->time_ns)
		packet->end_ns = event->time_ns;
	if (packet->end_ns < packet->begin_ns)
		packet->end_ns = packet->begin_ns;
	/* the lane comes to the next packet after all of this one's events */
	if (i + 1 < stream->nr_packets && !packet[1].has_begin)
		packet[1].ticks = event->ticks;
}

/* Packets without events are where the one before them ends. */
static void place_empty_packets(struct sonde_stream *stream, size_t from,
				const bool *has_events)
{
	int64_t end_ns =
		from ? stream->packets[from - 1].end_ns : SONDE_TIME_MIN;

	for (size_t i = from; i < stream->nr_packets; i++) {
		struct sonde_packet *packet = &stream->packets[i];

		if (!has_events[i] && !packet->has_begin)
			packet->begin_ns = end_ns;
		if (!has_events[i] && !packet->has_end)
			packet->end_ns = packet->begin_ns;
		end_ns = packet->end_ns;
	}
}

static int read_events(struct sonde_stream *stream, size_t from, bool *streams,
		       bool *has_events)
{
	struct sonde_cursor_options options;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int err;

	sonde_cursor_options_init(&options);
	options.streams = streams;
	options.unmerged = true;
	options.internal = true;
	options.from_ns = stream->packets[from].begin_ns;
	err = sonde_cursor_new(stream->trace, &options, &cursor);
	if (err)
		return err;
	while ((err = sonde_cursor_next(cursor, &event)) > 0) {
		size_t i = sonde_event_packet(event);

		if (i < from)
			continue;
		measure_take_event(stream, i, event, !has_events[i]);
		has_events[i] = true;
	}
	sonde_cursor_free(cursor);
	return err;
}

int sonde_packets_measure(struct sonde_stream *stream)
{
	size_t from = first_unknown(stream);
	bool *has_events;
	bool *streams;
	int err = -ENOMEM;

	if (!stream->scale || from == stream->nr_packets)
		return 0;
	streams = calloc(stream->trace->nr_streams, sizeof(*streams));
	has_events = calloc(stream->nr_packets, sizeof(*has_events));
	if (streams && has_events) {
		streams[stream->index] = true;
		err = read_events(stream, from, streams, has_events);
		place_empty_packets(stream, from, has_events);
		sonde_packets_order(stream);
	}
	free(streams);
	free(has_events);
	return err;
}
