/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * marks.h - lines that programs write to the door that the module gives a session
 * (kmod/abi.h: DOOR), each an event of the trace (marks/table.h).
 *
 * They are in a channel of their own, a ring for each CPU, for what is in the
 * module's other ring is delivered as it is: a line is taken apart first. So each
 * piece of a ring is converted as a whole, into memory of its stream, and given
 * back with it. A piece is converted again if it is peeked at again.
 *
 * What isn't wanted is left out; a sub-buffer of which nothing is left is passed.
 * What was lost was never seen, so it is counted, wanted or not.
 *
 * Memory: a 16th of the source's on top, at most 1 MiB for each CPU (taken from it,
 * it would halve the other rings, which are powers of two); and two sub-buffers more
 * for each CPU that somebody wrote on. One thread.
 */
#ifndef SOURCE_MODULE_MARKS_H
#define SOURCE_MODULE_MARKS_H

#include "source/marks/table.h"
#include "source/module/stream.h"
#include "source/packer.h"

#define MODULE_LINE_ID 1u

struct module_marks_stream {
	struct module_stream raw;
	uint8_t *bytes; /* the piece, converted; NULL until there is one */
	/* Of the last record before the piece, in the ring and as converted; and
	 * of the last one in it. */
	uint64_t time, time_put;
	uint64_t next, next_put;
	uint64_t seq;    /* of the packet */
	uint64_t before; /* events that were given before it */
	uint64_t given;
	uint64_t nr;                  /* in the piece */
	uint64_t nr_refused, refused; /* no memory: in the piece, before it */
	uint64_t nr_lost, lost;       /* as lines say; likewise */
};

struct module_marks {
	const struct sonde_source_marks *wanted; /* borrowed */
	struct sonde_marks *table;               /* NULL: there is no door */
	struct module_geometry geometry;
	struct module_marks_stream *streams;
	uint32_t nr_streams;
	uint16_t first; /* id of the first kind, in the trace */
	bool has_unwanted;
	char door[40];
};

/* Memory for the rings, of what config says. 0, or -EINVAL: that makes none. */
int module_marks_plan(struct module_marks *marks,
		      const struct sonde_source_config *config,
		      uint32_t nr_cpus);
/* A door for the device's session; config->marks is not NULL. 0, or -errno: there is
 * none, and nothing is open. */
int module_marks_open(struct module_marks *marks, struct module_device *device,
		      const struct sonde_source_config *config, uint32_t first);
/* What is zeroed, too. */
void module_marks_close(struct module_marks *marks);

/* As sonde_source_ops has them. */
int module_marks_describe(const struct module_marks *marks,
			  struct sonde_source_known *known);
int module_marks_peek(struct module_marks *marks, uint32_t cpu,
		      struct sonde_ring_chunk *ret_chunk);
void module_marks_advance(struct module_marks *marks, uint32_t cpu,
			  const struct sonde_ring_chunk *chunk);
void module_marks_counts(struct module_marks *marks, uint32_t cpu,
			 struct sonde_source_counts *ret_counts);

#endif /* SOURCE_MODULE_MARKS_H */
