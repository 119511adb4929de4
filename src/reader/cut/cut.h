/* SPDX-License-Identifier: MIT */
/*
 * cut.h - a part of a trace, as a trace.
 *
 *   rewrite.c  one packet: events' bytes into a copy of a packet's head
 *   files.c    the new directory
 *   cut.c      which events go into which packets
 *
 * The metadata is copied as it is, so every event must be again what its class
 * there says; nothing is decoded and encoded but what has to change.
 *
 * ## What holds of the new trace
 *
 *  1. It has those events that were wanted, and those records of Sonde's that
 *     say whose they are, in the streams they were in, under the same file
 *     names. A trace of several sources is a directory for each. Their times
 *     are on the clock that the old one's were on.
 *  2. Packets are those of the old trace, with what was wanted of them; those
 *     with nothing are left out, unless 4 needs them. One is split where a time
 *     could not be told otherwise: a header with N bits of it moves the clock
 *     by less than 2^N from the event before, or the packet's begin. Then, and
 *     where the span begins, a packet begins with its first event.
 *  3. Sequence numbers count from 0 for each stream, over its files. Packets
 *     that the old trace lacks are lacking in the new one.
 *  4. Counts of discarded events are the old ones, for they are snapshots of a
 *     running total: so the events lost between two packets of the new trace are
 *     those that were lost between them in the old. A packet of which the count
 *     is another than the last one's is never left out, and if events were lost
 *     in the first one, an empty one with the count before goes ahead of it:
 *     readers only look at differences.
 *  5. A record that says whose the next events are goes ahead of the first of
 *     them in each packet, with that one's time.
 *
 * Memory: one packet of at most SONDE_CUT_PACKET_BYTES and an event.
 */
#ifndef READER_CUT_CUT_H
#define READER_CUT_CUT_H

#include <stdint.h>

#include <sonde/trace.h>

#include "reader/cut/to.h"
#include "reader/map.h"

#define SONDE_CUT_PACKET_BYTES (16u << 20)

struct sonde_cut_result {
	uint64_t events, packets, files, bytes;
};

/*
 * Writes what `options` want (span, filter, progress) of a trace. 0; with
 * *error: -ENOTSUP if the trace's packets can't be rewritten, -EEXIST, what
 * writing or taking said; -ENOMEM, -EINTR. After an error, `to` may have a part
 * of the trace.
 */
int sonde_cut(struct sonde_trace *trace,
	      const struct sonde_map_options *options,
	      const struct sonde_cut_to *to, struct sonde_trace_error *error,
	      struct sonde_cut_result *ret_result);

#endif /* READER_CUT_CUT_H */
