/* SPDX-License-Identifier: MIT */
/*
 * packets.c - a stream's table of packets.
 *
 * Packets follow one another without gaps, so each head says where the next one
 * is. Heads are read from the file: to have a page mapped for each takes several
 * times as long. An index file (index.c) saves both.
 * Either way the packets come here in the order of the file, as *raw* numbers,
 * and become a table in three steps:
 *
 *  1. add: counters narrower than 64 bits go on from the packet before;
 *     counters become times. A packet without a begin begins where the one
 *     before it ends.
 *  2. sort by begin; equal ones stay in the order of the file.
 *  3. repair ends: one that is missing, before its begin, or of a tracer that
 *     gets them wrong, becomes the begin of the next packet. The last packet's
 *     is unknown (SONDE_TIME_MAX) until it is measured (measure.c). What
 *     overlaps is found.
 *
 * Sizes: without packet_size the packet is its content, without both it is the
 * rest of the file. What goes beyond the file is cut to it. A content that
 * doesn't fit its packet is cut, or counts as none: the next head is known. A
 * packet_size that can't be ends the stream: nobody knows where the next head
 * is.
 */
#include "reader/core/packets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"

/* So that a file of one-byte packets can't take all memory. */
#define PACKETS_MAX ((size_t)1 << 25)

/* What is read of a packet: few heads have more, and these are looked at where they
 * are mapped. Parsing may load what is SPARE bytes behind. */
#define HEAD_BYTES 512u
#define SPARE      16u

/* ---- one packet ---- */

/* The file's first packet says what all others have to be. */
static const char *packets_index_check_stream(struct sonde_packet_table *table,
					      const struct sonde_head *head)
{
	struct sonde_stream *stream = table->stream;
	bool has_instance = SONDE_HEAD_HAS(head, SONDE_ROLE_STREAM_ID);

	if (!stream->cls) {
		stream->cls = head->cls;
		stream->has_instance = has_instance;
		stream->instance = head->instance;
		if (head->cls->clock >= 0)
			stream->scale =
				&stream->source->scales[head->cls->clock];
		return NULL;
	}
	if (stream->cls != head->cls)
		return "the packet is of another stream class";
	if (has_instance && stream->instance != head->instance)
		return "the packet is of another stream's instance";
	return NULL;
}

/* The sizes a head gives, of `rest` bytes that the file still has; words if
 * they can't be. */
static const char *take_sizes(const struct sonde_head *head, uint64_t rest,
			      uint64_t *ret_packet_bits,
			      uint64_t *ret_content_bits)
{
	bool has_packet = SONDE_HEAD_HAS(head, SONDE_ROLE_PACKET_BITS);
	bool has_content = SONDE_HEAD_HAS(head, SONDE_ROLE_CONTENT_BITS);
	uint64_t bits = rest * 8;

	if (has_packet)
		bits = head->packet_bits;
	else if (has_content)
		bits = head->content_bits + (-head->content_bits & 7);
	*ret_packet_bits = bits;
	*ret_content_bits = has_content ? head->content_bits : bits;
	if (bits == 0)
		return "the packet's size is 0";
	if (bits & 7)
		return "the packet's size is not a number of whole bytes";
	if (bits < head->head_bits)
		return "the packet is smaller than its head";
	return NULL;
}

static void say(const struct sonde_packet_table *table,
		enum sonde_problem_kind kind, uint64_t byte, const char *text)
{
	const struct sonde_stream *stream = table->stream;
	struct sonde_problem problem = {
		.kind = kind,
		.stream = stream,
		.packet = stream->nr_packets,
		.byte = byte,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.text = text,
	};

	if (!table->quiet)
		sonde_problem_add(stream->trace, &problem);
}

/* Makes sizes that contradict each other or the file fit, and says so. */
static void fit_sizes(const struct sonde_packet_table *table,
		      const struct sonde_head *head, uint64_t offset,
		      uint64_t *packet_bits, uint64_t *content_bits)
{
	uint64_t rest = (table->stream->bytes - offset) * 8;

	if (*content_bits > *packet_bits) {
		say(table, SONDE_PROBLEM_DAMAGE, offset,
		    "the packet's content is larger than the packet");
		*content_bits = *packet_bits;
	}
	if (*content_bits < head->head_bits) {
		say(table, SONDE_PROBLEM_DAMAGE, offset,
		    "the packet's content is smaller than its head");
		*content_bits = head->head_bits;
	}
	if (*packet_bits <= rest)
		return;
	say(table, SONDE_PROBLEM_TRUNCATED, table->stream->bytes,
	    "the file ends inside the packet");
	*packet_bits = rest;
	if (*content_bits > rest)
		*content_bits = rest;
}

static struct sonde_packet_raw raw_of_head(const struct sonde_head *head)
{
	return (struct sonde_packet_raw){
		.ticks_begin = head->ticks_begin,
		.ticks_end = head->ticks_end,
		.discarded = head->discarded,
		.sequence = head->sequence,
		.cpu = head->cpu,
		.has_begin = SONDE_HEAD_HAS(head, SONDE_ROLE_TIME),
		.has_end = SONDE_HEAD_HAS(head, SONDE_ROLE_TIME_END),
		.has_discarded = SONDE_HEAD_HAS(head, SONDE_ROLE_DISCARDED),
		.has_sequence = SONDE_HEAD_HAS(head, SONDE_ROLE_SEQUENCE),
	};
}

/* As sonde_head_parse(). What is wrong is found by looking at all there is. */
static int parse_head_at(const struct sonde_packet_table *table,
			 uint64_t offset, struct sonde_head *ret_head,
			 const char **ret_why, uint64_t *ret_bit)
{
	const struct sonde_stream *stream = table->stream;
	uint64_t rest = stream->bytes - offset;
	ssize_t got = -1;

	if (table->head)
		got = pread(table->fd, table->head,
			    rest < HEAD_BYTES ? rest : HEAD_BYTES,
			    (off_t)offset);
	if (got > 0 &&
	    !sonde_head_parse(stream->source, table->head, (uint64_t)got,
			      ret_head, ret_why, ret_bit))
		return 0;
	return sonde_head_parse(stream->source, stream->data + offset, rest,
				ret_head, ret_why, ret_bit);
}

int sonde_packet_read(struct sonde_packet_table *table, uint64_t offset,
		      struct sonde_packet_raw *ret_raw)
{
	struct sonde_stream *stream = table->stream;
	uint64_t rest = stream->bytes - offset;
	enum sonde_problem_kind kind = SONDE_PROBLEM_DAMAGE;
	struct sonde_head head;
	uint64_t packet_bits = 0;
	uint64_t content_bits = 0;
	uint64_t bit = 0;
	const char *why = sonde_stream_need(stream, offset, SONDE_NEED_HEAD);
	int err = 0;

	if (!why)
		err = parse_head_at(table, offset, &head, &why, &bit);
	if (err == -ENODATA) {
		kind = SONDE_PROBLEM_TRUNCATED;
		bit = rest * 8;
	} else if (!err && !why) {
		bit = 0;
		why = packets_index_check_stream(table, &head);
		if (!why)
			why = take_sizes(&head, rest, &packet_bits,
					 &content_bits);
	}
	if (offset >= table->dropped + SONDE_KEEP_BYTES) {
		sonde_stream_drop(stream, table->dropped, offset);
		table->dropped = offset;
	}
	if (why) {
		say(table, kind, offset + bit / 8, why);
		return 0;
	}
	if (head.other_uuid && !table->has_other_uuid) {
		table->has_other_uuid = true;
		table->other_uuid_byte = offset;
	}
	fit_sizes(table, &head, offset, &packet_bits, &content_bits);
	*ret_raw = raw_of_head(&head);
	ret_raw->offset = offset;
	ret_raw->bytes = packet_bits / 8;
	ret_raw->content_bits = content_bits;
	return 1;
}

/* ---- step 1: add ---- */

/* Bits of the number with this role in the packet at `offset`, for narrow
 * counters; 64 if it isn't of fixed size or isn't there. */
static unsigned int role_bits(const struct sonde_stream *stream,
			      uint64_t offset, enum sonde_role role)
{
	const struct sonde_class *cls;
	uint64_t bit;

	if (sonde_head_field(stream->source, stream->data + offset,
			     stream->bytes - offset, role, &bit, &cls) ||
	    !cls->bits)
		return 64;
	return cls->bits;
}

/* The first counter at or after `before` whose low bits are `ticks`. */
static uint64_t extend(uint64_t before, uint64_t ticks, unsigned int bits)
{
	uint64_t mask;
	uint64_t extended;

	if (bits >= 64)
		return ticks;
	mask = (UINT64_C(1) << bits) - 1;
	extended = (before & ~mask) | (ticks & mask);
	return extended < before ? extended + mask + 1 : extended;
}

static void set_times(struct sonde_packet_table *table,
		      const struct sonde_packet_raw *raw,
		      struct sonde_packet *packet)
{
	const struct sonde_stream *stream = table->stream;
	const struct sonde_packet *before =
		stream->nr_packets ? packet - 1 : NULL;
	uint64_t end;

	packet->begin_ns = SONDE_TIME_MIN;
	packet->end_ns = SONDE_TIME_MIN;
	if (!stream->scale)
		return;
	if (!table->begin_bits) {
		table->begin_bits =
			role_bits(stream, raw->offset, SONDE_ROLE_TIME);
		table->end_bits =
			role_bits(stream, raw->offset, SONDE_ROLE_TIME_END);
	}
	packet->ticks = before ? before->ticks : 0;
	if (raw->has_begin) {
		packet->ticks = extend(packet->ticks, raw->ticks_begin,
				       table->begin_bits);
		packet->begin_ns = sonde_scale_ns(stream->scale, packet->ticks);
		packet->has_begin = 1;
	} else if (before) {
		packet->begin_ns =
			before->has_end ? before->end_ns : before->begin_ns;
	}
	if (raw->has_end) {
		end = extend(packet->ticks, raw->ticks_end, table->end_bits);
		packet->end_ns = sonde_scale_ns(stream->scale, end);
		packet->has_end = 1;
	}
}

int sonde_packet_table_add(struct sonde_packet_table *table,
			   const struct sonde_packet_raw *raw)
{
	struct sonde_stream *stream = table->stream;
	struct sonde_packet *packet;

	if (SONDE_GROW(stream->packets, stream->nr_packets, table->capacity))
		return -ENOMEM;
	packet = &stream->packets[stream->nr_packets];
	*packet = (struct sonde_packet){
		.offset = raw->offset,
		.bytes = raw->bytes,
		.content_bits = raw->content_bits,
		.discarded = raw->discarded,
		.sequence = raw->sequence,
		.cpu = raw->cpu,
		.has_discarded = raw->has_discarded,
		.has_sequence = raw->has_sequence,
	};
	set_times(table, raw, packet);
	stream->nr_packets++;
	return 0;
}

static int scan(struct sonde_packet_table *table, int fd)
{
	struct sonde_stream *stream = table->stream;
	uint8_t head[HEAD_BYTES + SPARE] = { 0 };
	struct sonde_packet_raw raw;
	uint64_t offset = stream->from_packet;
	int err;

	table->head = fd >= 0 && !stream->packed ? head : NULL;
	table->fd = fd;
	while (offset < stream->bytes) {
		if (!sonde_packet_read(table, offset, &raw))
			return 0;
		if (stream->nr_packets == PACKETS_MAX) {
			say(table, SONDE_PROBLEM_DAMAGE, offset,
			    "the file has more packets than can be");
			return 0;
		}
		err = sonde_packet_table_add(table, &raw);
		if (err)
			return err;
		offset += raw.bytes;
	}
	return 0;
}

/* ---- steps 2 and 3: sort and repair ---- */

static int compare(const void *a, const void *b)
{
	const struct sonde_packet *x = a;
	const struct sonde_packet *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool is_overlapping(const struct sonde_stream *stream)
{
	int64_t end_ns = SONDE_TIME_MIN;

	for (size_t i = 0; i < stream->nr_packets; i++) {
		const struct sonde_packet *packet = &stream->packets[i];

		if (packet->begin_ns < end_ns)
			return true;
		end_ns = packet->end_ns;
	}
	return false;
}

static void sort(struct sonde_stream *stream)
{
	struct sonde_packet_table table = { .stream = stream };

	for (size_t i = 1; i < stream->nr_packets; i++) {
		struct sonde_packet *packet = &stream->packets[i];

		if (packet->begin_ns >= packet[-1].begin_ns)
			continue;
		say(&table, SONDE_PROBLEM_FORMAT, packet->offset,
		    "the packets are not in the order of time");
		qsort(stream->packets, stream->nr_packets, sizeof(*packet),
		      compare);
		return;
	}
}

void sonde_packets_order(struct sonde_stream *stream)
{
	sort(stream);
	stream->overlapping = is_overlapping(stream);
}

static void say_end(const struct sonde_stream *stream, size_t i)
{
	const struct sonde_packet *packet = &stream->packets[i];
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_FORMAT,
		.stream = stream,
		.packet = i,
		.byte = packet->offset,
		.begin = packet->begin_ns,
		.end = SONDE_TIME_MAX,
		.text = "the packet's end is before its begin, or missing",
	};

	sonde_problem_add(stream->trace, &problem);
}

static void repair_ends(struct sonde_stream *stream)
{
	bool early = stream->source->ends_early;
	int64_t next_ns = SONDE_TIME_MAX;

	for (size_t i = stream->nr_packets; i-- > 0;) {
		struct sonde_packet *packet = &stream->packets[i];

		if (packet->has_end && packet->end_ns < packet->begin_ns) {
			say_end(stream, i);
			packet->has_end = 0;
		}
		if (!packet->has_end || (early && packet->end_ns < next_ns &&
					 next_ns < SONDE_TIME_MAX))
			packet->end_ns = next_ns;
		next_ns = packet->begin_ns;
	}
}

int sonde_packets_find(struct sonde_stream *stream, int fd,
		       const uint8_t *index, size_t index_bytes)
{
	struct sonde_packet_table table = { .stream = stream };
	int found = 0;

	if (index)
		found = sonde_index_read(&table, index, index_bytes);
	if (!found)
		found = scan(&table, fd);
	if (found < 0)
		return found;
	/* some tools write traces so, and the magic number says enough */
	if (table.has_other_uuid)
		say(&table, SONDE_PROBLEM_UUID, table.other_uuid_byte,
		    "packets have another trace's UUID; they are read all the "
		    "same");
	if (!stream->scale)
		return 0;
	sort(stream);
	repair_ends(stream);
	stream->overlapping = is_overlapping(stream);
	return 0;
}
