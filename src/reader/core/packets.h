/* SPDX-License-Identifier: MIT */
/*
 * packets.h - from a stream's bytes to its table of packets, and from the
 * tables of a trace to what was lost.
 */
#ifndef READER_CORE_PACKETS_H
#define READER_CORE_PACKETS_H

#include "reader/reader.h"

/* What a head or an index entry says about a packet, and a table that is
 * filled with it in the order of the file. */
struct sonde_packet_raw {
	uint64_t offset, bytes, content_bits;
	uint64_t ticks_begin, ticks_end, discarded, sequence;
	int32_t cpu;
	bool has_begin, has_end, has_discarded, has_sequence;
};

struct sonde_packet_table {
	struct sonde_stream *stream; /* gets the packets */
	size_t capacity;
	/* bits of timestamp_begin and _end, which are extended if fewer than
	 * 64; 0 as long as nobody knows */
	unsigned int begin_bits, end_bits;
	bool has_other_uuid; /* of a packet, which is at: */
	uint64_t other_uuid_byte;
	bool quiet;       /* problems are not noted */
	uint64_t dropped; /* bytes of the file that were dropped behind it */
	uint8_t *head;    /* where heads are read to, from: */
	int fd;           /* NULL: they are looked at where they are mapped */
};

/* Appends a packet. -ENOMEM. */
int sonde_packet_table_add(struct sonde_packet_table *table,
			   const struct sonde_packet_raw *raw);

/*
 * Reads the head at `offset` and checks its sizes. 1: *ret_raw; 0: nothing
 * after this can be read, which is noted as a problem. The first head of a
 * stream also says which class and instance the stream has.
 */
int sonde_packet_read(struct sonde_packet_table *table, uint64_t offset,
		      struct sonde_packet_raw *ret_raw);

/*
 * Finds all packets of a stream and leaves the table as reader/reader.h
 * describes it. `fd`: the file that it is mapped from; -1: it isn't, or that is
 * closed. `index`: the bytes of its index file, or NULL. -ENOMEM.
 */
int sonde_packets_find(struct sonde_stream *stream, int fd,
		       const uint8_t *index, size_t index_bytes);

/* Sorts them by begin, and finds out whether they overlap. */
void sonde_packets_order(struct sonde_stream *stream);

/* Finds the times of packets that don't tell theirs, by reading their events.
 * Other streams of the trace are not touched. -ENOMEM. */
int sonde_packets_measure(struct sonde_stream *stream);

/* Fills the table from an index file's bytes, if they are this stream's: 1; 0
 * if they are not (why is noted as a problem; the table is empty); -ENOMEM. */
int sonde_index_read(struct sonde_packet_table *table, const uint8_t *index,
		     size_t index_bytes);

/* Compares an index with every packet of its stream; words if they don't
 * agree. Doesn't touch the stream's table. */
const char *sonde_index_check(const struct sonde_stream *stream,
			      const uint8_t *index, size_t index_bytes);

/* Notes events and packets that were lost, of all streams. -ENOMEM. */
int sonde_losses_find(struct sonde_trace *trace);

#endif /* READER_CORE_PACKETS_H */
