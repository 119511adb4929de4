/* SPDX-License-Identifier: MIT */
/*
 * frames.h - a recorded trace as GDB's trace frames.
 *
 * Frames are the events "gdb:*" or "kgdb:*" in order of time. Beside the trace, in
 * TRACE/gdb/points, lie the lines of points.h they were made by. The frames
 * are indexed once; what a frame holds is decoded when it is asked for, from
 * the trace.
 *
 * The index has 24 bytes for a frame: its payload's place, its time, its
 * thread. Opening costs one pass through the trace's events.
 *
 * GDB's trace buffer has a size and may be circular: of all the frames, only
 * those that would have fitted into it are there (the first ones, or with
 * circular the last ones), by the bytes they take in GDB's format.
 */
#ifndef GDB_FRAMES_H
#define GDB_FRAMES_H

#include "probe/points.h"

struct sonde_gdb_frames;

struct sonde_gdb_frames_config {
	uint64_t buffer_bytes; /* UINT64_MAX: no limit */
	bool circular;
};

/* 0, or -errno with an error text of one line. */
int sonde_gdb_frames_open(const char *directory,
			  const struct sonde_gdb_frames_config *config,
			  char *error, size_t error_size,
			  struct sonde_gdb_frames **ret_frames);
void sonde_gdb_frames_free(struct sonde_gdb_frames *frames);

/* The tracepoints of the trace. */
const struct sonde_probe_points *
sonde_gdb_frames_points(const struct sonde_gdb_frames *frames);
uint64_t sonde_gdb_frames_nr(const struct sonde_gdb_frames *frames);
/* Of a tracepoint: how many frames, and their bytes. */
void sonde_gdb_frames_count(const struct sonde_gdb_frames *frames,
			    uint32_t number, uint64_t address,
			    uint64_t *ret_hits, uint64_t *ret_bytes);

struct sonde_gdb_frame {
	uint64_t number;
	uint32_t point;
	uint64_t address; /* the site's; of a step, where it was */
	uint64_t time_ns;
	uint32_t tid;
	const uint8_t *blocks; /* GDB's; until the next call */
	size_t nr_bytes;
	uint32_t registers; /* bit n: register n is there */
};

/* 0, -ENOENT (there is no such frame), -EIO. */
int sonde_gdb_frames_get(struct sonde_gdb_frames *frames, uint64_t number,
			 struct sonde_gdb_frame *ret_frame);

enum sonde_gdb_find {
	SONDE_GDB_FIND_NUMBER,
	SONDE_GDB_FIND_PC,
	SONDE_GDB_FIND_POINT,
	SONDE_GDB_FIND_INSIDE,
	SONDE_GDB_FIND_OUTSIDE,
};
/* The first such frame after `after` (UINT64_MAX: from the first). */
int sonde_gdb_frames_find(struct sonde_gdb_frames *frames,
			  enum sonde_gdb_find how, uint64_t a, uint64_t b,
			  uint64_t after, struct sonde_gdb_frame *ret_frame);

/* What a frame has; -ENODATA if it was not collected. */
int sonde_gdb_frame_register(const struct sonde_gdb_frame *frame,
			     unsigned int number, uint64_t *ret_value);
/* As many bytes as are there from `address` on: the number. */
size_t sonde_gdb_frame_memory(const struct sonde_gdb_frame *frame,
			      uint64_t address, uint8_t *to, size_t size);
int sonde_gdb_frame_variable(const struct sonde_gdb_frame *frame,
			     uint32_t number, int64_t *ret_value);
/* $_sdata: text, its length; -ENODATA. (It is no block: GDB 13.1 doesn't know
 * those of kind 'S' when it saves a trace.) */
int sonde_gdb_frame_static_data(struct sonde_gdb_frames *frames,
				const struct sonde_gdb_frame *frame, char *to,
				size_t size, size_t *ret_length);
/* "<traceframe-info>...", GDB's XML. Its length. */
size_t sonde_gdb_frame_info(const struct sonde_gdb_frame *frame, char *to,
			    size_t size);
/* qTBuffer: bytes of all frames in GDB's format, from `offset` on. */
size_t sonde_gdb_frames_raw(struct sonde_gdb_frames *frames, uint64_t offset,
			    uint8_t *to, size_t size);

#endif /* GDB_FRAMES_H */
