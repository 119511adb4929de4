/* SPDX-License-Identifier: MIT */
/* frames_parts.h - between the files that frames.h is made of. */
#ifndef GDB_FRAMES_PARTS_H
#define GDB_FRAMES_PARTS_H

#include <sonde/trace.h>

#include "gdb/blocks.h"
#include "gdb/frames.h"

/* A frame's place in the trace. */
struct sonde_gdb_frame_place {
	const uint8_t *payload; /* in the mapped file */
	int64_t time_ns;
	uint32_t tid;
	uint16_t bytes; /* of the payload */
	uint16_t part;  /* of frames->parts */
};
_Static_assert(sizeof(struct sonde_gdb_frame_place) == 24, "one per frame");

/* A tracepoint's hits, or its steps. */
struct sonde_gdb_frames_part {
	const struct sonde_probe_point *point;
	const struct sonde_probe_plan *plan;
	const struct sonde_probe_plan_part *part;
	uint64_t frames, bytes; /* GDB's */
};

struct sonde_gdb_frames {
	struct sonde_gdb_frames_config config;
	struct sonde_trace *trace;
	struct sonde_probe_points points;
	struct sonde_probe_plan *plans; /* by point */
	struct sonde_gdb_frames_part *parts;
	size_t nr_parts;
	uint32_t *part_of; /* by event class; UINT32_MAX: none */
	struct sonde_gdb_frame_place *places;
	size_t nr_places, capacity;
	size_t first; /* those before it didn't fit the buffer */
	uint64_t bytes;
	bool full;
	uint8_t *buffer; /* of the frame that was asked for last */
	size_t buffer_size;
	/* where the last sonde_gdb_frames_raw() ended: in frame `raw_frame`,
	 * which begins at byte `raw_begin` of all */
	uint64_t raw_frame, raw_begin;
};

/* Reads TRACE/gdb/points: 0, -errno, with a line of text. */
int sonde_gdb_points_load(const char *directory,
			  struct sonde_probe_points *points, char *error,
			  size_t error_size);

#endif /* GDB_FRAMES_PARTS_H */
