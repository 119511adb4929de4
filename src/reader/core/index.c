/* SPDX-License-Identifier: MIT */
/*
 * index.c - a stream's packets from its index file, without touching them.
 *
 * An index file is big endian: a head of 16 bytes {u32 magic, u32 major,
 * u32 minor, u32 bytes in an entry}, then an entry for each packet, of numbers
 * of 8 bytes:
 *
 *   0 offset (bytes)  1 packet_size (bits)  2 content_size (bits)
 *   3 timestamp_begin  4 timestamp_end  5 events_discarded
 *   6 stream class id; from minor 1 on: 7 instance  8 packet_seq_num
 *
 * It is somebody else's word about the stream, so it is believed only if it
 * agrees with the stream:
 *
 *  1. packets follow one another from the file's first byte to its last;
 *  2. sizes are possible; class and instance are those of the first head;
 *  3. the first, the last and some packets between them have heads that say
 *     the same. So many are looked at that an index of another file is found
 *     out; one that was made to deceive may get through, and then the packets'
 *     heads are read when the packets are.
 *
 * An index has no cpu_id and doesn't say which of its numbers the heads have:
 * these come from the samples, which must all have the same.
 */
#include "reader/core/packets.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC         0xc1f1dcc1u
#define HEAD_BYTES    16
#define ENTRY_0_BYTES 56
#define ENTRY_1_BYTES 72
#define ENTRY_MAX     4096
#define SAMPLES       16

struct index {
	const uint8_t *entries;
	size_t nr, entry_bytes;
	bool has_instance; /* and the sequence number */
};

static uint32_t index_load32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

static uint64_t index_load64(const struct index *index, size_t i, size_t field)
{
	uint64_t value;

	memcpy(&value, index->entries + i * index->entry_bytes + field * 8,
	       sizeof(value));
	return be64toh(value);
}

static const char *index_read_head(const uint8_t *bytes, size_t size,
				   struct index *ret_index)
{
	size_t entry_bytes;
	uint32_t minor;

	if (size < HEAD_BYTES || index_load32(bytes) != MAGIC)
		return "it doesn't begin as an index does";
	minor = index_load32(bytes + 8);
	if (index_load32(bytes + 4) != 1)
		return "it is of an unknown version";
	entry_bytes = index_load32(bytes + 12);
	if (entry_bytes < (minor ? ENTRY_1_BYTES : ENTRY_0_BYTES) ||
	    entry_bytes > ENTRY_MAX)
		return "its entries have an impossible size";
	if ((size - HEAD_BYTES) % entry_bytes)
		return "it ends inside an entry";
	*ret_index = (struct index){
		.entries = bytes + HEAD_BYTES,
		.nr = (size - HEAD_BYTES) / entry_bytes,
		.entry_bytes = entry_bytes,
		.has_instance = minor > 0,
	};
	return NULL;
}

/* `sample`: a head of the same stream, for what entries don't have. */
static struct sonde_packet_raw read_entry(const struct index *index, size_t i,
					  const struct sonde_packet_raw *sample)
{
	struct sonde_packet_raw raw = *sample;

	raw.offset = index_load64(index, i, 0);
	raw.bytes = index_load64(index, i, 1) / 8;
	raw.content_bits = index_load64(index, i, 2);
	raw.ticks_begin = index_load64(index, i, 3);
	raw.ticks_end = index_load64(index, i, 4);
	if (sample->has_discarded)
		raw.discarded = index_load64(index, i, 5);
	raw.has_sequence = sample->has_sequence && index->has_instance;
	raw.sequence = raw.has_sequence ? index_load64(index, i, 8) : 0;
	return raw;
}

/* Rules 1 and 2. */
static const char *check_entries(const struct index *index,
				 const struct sonde_stream *stream)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < index->nr; i++) {
		uint64_t bits = index_load64(index, i, 1);

		if (index_load64(index, i, 0) != offset)
			return "its packets don't follow one another";
		if (bits == 0 || bits & 7 || bits / 8 > stream->bytes - offset)
			return "a packet in it has an impossible size";
		if (index_load64(index, i, 2) > bits)
			return "a packet in it is smaller than its content";
		if (index_load64(index, i, 6) != stream->cls->id)
			return "it is of another stream class";
		if (index->has_instance && stream->has_instance &&
		    index_load64(index, i, 7) != stream->instance)
			return "it is of another stream";
		offset += bits / 8;
	}
	if (offset != stream->bytes)
		return "it ends before the file does";
	return NULL;
}

/* Whether a packet's head says what its entry says. */
static bool index_agree(const struct sonde_packet_raw *entry,
			const struct sonde_packet_raw *head)
{
	return entry->offset == head->offset && entry->bytes == head->bytes &&
	       entry->content_bits == head->content_bits &&
	       (!head->has_begin || entry->ticks_begin == head->ticks_begin) &&
	       (!head->has_end || entry->ticks_end == head->ticks_end) &&
	       entry->discarded == head->discarded &&
	       (!entry->has_sequence || entry->sequence == head->sequence) &&
	       entry->cpu == head->cpu && entry->has_begin == head->has_begin &&
	       entry->has_end == head->has_end &&
	       entry->has_discarded == head->has_discarded;
}

/* Rule 3 for so many packets, with `first` as the first packet's head. */
static const char *check_samples(struct sonde_packet_table *table,
				 const struct index *index, size_t nr,
				 const struct sonde_packet_raw *first)
{
	for (size_t k = 0; k < nr; k++) {
		size_t i = nr < 2 ? 0 : k * (index->nr - 1) / (nr - 1);
		struct sonde_packet_raw entry = read_entry(index, i, first);
		struct sonde_packet_raw head;

		if (!sonde_packet_read(table, entry.offset, &head) ||
		    !index_agree(&entry, &head))
			return "it and the packets don't agree";
	}
	return NULL;
}

static int add_entries(struct sonde_packet_table *table,
		       const struct index *index,
		       const struct sonde_packet_raw *first)
{
	for (size_t i = 0; i < index->nr; i++) {
		struct sonde_packet_raw raw = read_entry(index, i, first);
		int err = sonde_packet_table_add(table, &raw);

		if (err)
			return err;
	}
	return 1;
}

/* All rules, with so many samples at most; words if the index breaks one. */
static const char *check(struct sonde_packet_table *table, const uint8_t *bytes,
			 size_t size, size_t samples, struct index *ret_index,
			 const struct sonde_packet_raw *first)
{
	const char *why = index_read_head(bytes, size, ret_index);

	if (!why)
		why = check_entries(ret_index, table->stream);
	if (samples > ret_index->nr)
		samples = ret_index->nr;
	if (!why)
		why = check_samples(table, ret_index, samples, first);
	return why;
}

static void note(const struct sonde_stream *stream, const char *why)
{
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_INDEX,
		.stream = stream,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
	};

	sonde_problem_say(stream->trace, &problem,
			  "the index file is not used: %s", why);
}

int sonde_index_read(struct sonde_packet_table *table, const uint8_t *index,
		     size_t index_bytes)
{
	struct sonde_packet_raw first;
	struct index read = { 0 };
	const char *why;
	bool begins;

	/* A stream that doesn't begin as it should is the scan's to tell. */
	table->quiet = true;
	begins = table->stream->bytes && sonde_packet_read(table, 0, &first);
	why = begins ?
		      check(table, index, index_bytes, SAMPLES, &read, &first) :
		      NULL;
	table->quiet = false;
	if (why)
		note(table->stream, why);
	/* Without sequence numbers nobody would see that packets are missing */
	if (!begins || why || (first.has_sequence && !read.has_instance))
		return 0;
	return add_entries(table, &read, &first);
}

const char *sonde_index_check(const struct sonde_stream *stream,
			      const uint8_t *index, size_t index_bytes)
{
	struct sonde_stream copy = *stream;
	struct sonde_packet_table table = { .stream = &copy, .quiet = true };
	struct sonde_packet_raw first;
	struct index read = { 0 };

	if (!stream->bytes || !sonde_packet_read(&table, 0, &first))
		return NULL;
	return check(&table, index, index_bytes, SIZE_MAX, &read, &first);
}
