/* SPDX-License-Identifier: MIT */
/*
 * gdb_fakes.c - what a server of GDB's needs below it, without a process: a run
 * "collects" ten frames of each tracepoint, in each of them registers rax to
 * rcx, and memory from 0x1000 to 0x10ff whose bytes are their addresses' low
 * ones. See test_gdb_server.c and fuzz/gdb_server.c.
 */
#include "gdb_fakes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/agent.h"
#include "gdb/frames.h"
#include "probe/markers.h"
#include "probe/run.h"

enum {
	FRAMES_PER_POINT = 10,
	FRAME_BYTES = 100,
	MEMORY_START = 0x1000,
	MEMORY_END = 0x1100,
};

struct sonde_process {
	int unused;
};

struct sonde_probes {
	int unused;
};

struct sonde_probe_run {
	const struct sonde_probe_points *points;
	struct sonde_probe_run_status status;
};

struct sonde_gdb_frames {
	const struct sonde_probe_points *points;
};

static struct sonde_process the_process;
static struct sonde_probe_run *the_run;
struct fake_log fake_log;

struct sonde_process *fake_process(void)
{
	return &the_process;
}

/* ---- probes ---- */

int sonde_probes_new(struct sonde_process *process,
		     struct sonde_probes **ret_probes)
{
	(void)process;
	*ret_probes = calloc(1, sizeof(**ret_probes));
	return *ret_probes ? 0 : -ENOMEM;
}

void sonde_probes_free(struct sonde_probes *probes)
{
	free(probes);
}

/* ---- run ---- */

int sonde_probe_run_new(struct sonde_process *process,
			struct sonde_probes *probes,
			struct sonde_probe_run **ret_run)
{
	(void)process;
	(void)probes;
	the_run = calloc(1, sizeof(*the_run));
	*ret_run = the_run;
	return the_run ? 0 : -ENOMEM;
}

int sonde_probe_run_new_kernel(const char *symbols, uint64_t moved,
			       struct sonde_probe_run **ret_run)
{
	(void)symbols;
	(void)moved;
	return sonde_probe_run_new(NULL, NULL, ret_run);
}

void sonde_probe_run_free(struct sonde_probe_run *run)
{
	free(run);
	the_run = NULL;
}

int sonde_probe_run_start(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  const struct sonde_probe_run_config *config,
			  char *error, size_t error_size)
{
	(void)config;
	if (fake_log.refuse) {
		(void)snprintf(error, error_size, "no *room* for $pads#");
		return -ENOSPC;
	}
	run->points = points;
	run->status.running = true;
	run->status.stop = SONDE_PROBE_STOP_NOT_RUN;
	run->status.start_us = 1000000;
	for (size_t i = 0; i < points->nr; i++)
		points->list[i].probe = (uint32_t)i;
	return 0;
}

int sonde_probe_run_add(struct sonde_probe_run *run,
			struct sonde_probe_points *points,
			struct sonde_probe_point *point, char *error,
			size_t error_size)
{
	(void)run;
	(void)points;
	(void)error;
	(void)error_size;
	point->probe = 7;
	fake_log.added++;
	fake_log.added_sources = point->nr_sources;
	return 0;
}

int sonde_probe_run_note(struct sonde_probe_run *run,
			 const struct sonde_probe_points *points)
{
	(void)run;
	(void)points;
	fake_log.noted++;
	return 0;
}

void sonde_probe_run_remove(struct sonde_probe_run *run, uint32_t probe)
{
	(void)run;
	(void)probe;
	fake_log.removed++;
}

int sonde_probe_run_enable(struct sonde_probe_run *run,
			   struct sonde_probe_point *point, bool on)
{
	(void)run;
	(void)point;
	fake_log.enabled += on ? 1 : -1;
	return 0;
}

int sonde_probe_run_stop(struct sonde_probe_run *run,
			 enum sonde_probe_reason why, const char *text)
{
	run->status.running = false;
	run->status.stop = why;
	run->status.stop_us = 2000000;
	(void)snprintf(run->status.stop_text, sizeof(run->status.stop_text),
		       "%s", text ? text : "");
	return 0;
}

void sonde_probe_run_poll(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  struct sonde_probe_run_status *ret_status)
{
	for (size_t i = 0; i < points->nr; i++) {
		points->list[i].hits = FRAMES_PER_POINT;
		points->list[i].bytes = FRAMES_PER_POINT * FRAME_BYTES;
	}
	run->status.frames = points->nr * FRAMES_PER_POINT;
	run->status.bytes = run->status.frames * FRAME_BYTES;
	*ret_status = run->status;
}

int64_t sonde_probe_run_variable(const struct sonde_probe_run *run,
				 uint32_t number)
{
	(void)run;
	return number;
}

const char *sonde_probe_run_directory(const struct sonde_probe_run *run)
{
	return run->points ? "fake" : NULL;
}

/* ---- frames ---- */

int sonde_gdb_frames_open(const char *directory,
			  const struct sonde_gdb_frames_config *config,
			  char *error, size_t error_size,
			  struct sonde_gdb_frames **ret_frames)
{
	(void)directory;
	(void)config;
	(void)error;
	(void)error_size;
	*ret_frames = calloc(1, sizeof(**ret_frames));
	if (!*ret_frames)
		return -ENOMEM;
	(*ret_frames)->points = the_run->points;
	return 0;
}

void sonde_gdb_frames_free(struct sonde_gdb_frames *frames)
{
	free(frames);
}

const struct sonde_probe_points *
sonde_gdb_frames_points(const struct sonde_gdb_frames *frames)
{
	return frames->points;
}

uint64_t sonde_gdb_frames_nr(const struct sonde_gdb_frames *frames)
{
	return frames->points->nr * FRAMES_PER_POINT;
}

void sonde_gdb_frames_count(const struct sonde_gdb_frames *frames,
			    uint32_t number, uint64_t address,
			    uint64_t *ret_hits, uint64_t *ret_bytes)
{
	(void)frames;
	(void)number;
	(void)address;
	*ret_hits = FRAMES_PER_POINT;
	*ret_bytes = FRAMES_PER_POINT * FRAME_BYTES;
}

int sonde_gdb_frames_get(struct sonde_gdb_frames *frames, uint64_t number,
			 struct sonde_gdb_frame *ret_frame)
{
	const struct sonde_probe_point *point;

	if (number >= sonde_gdb_frames_nr(frames))
		return -ENOENT;
	point = &frames->points->list[number / FRAMES_PER_POINT];
	memset(ret_frame, 0, sizeof(*ret_frame));
	ret_frame->number = number;
	ret_frame->point = point->number;
	ret_frame->address = point->address;
	return 0;
}

int sonde_gdb_frames_find(struct sonde_gdb_frames *frames,
			  enum sonde_gdb_find how, uint64_t a, uint64_t b,
			  uint64_t after, struct sonde_gdb_frame *ret_frame)
{
	for (uint64_t i = after + 1;
	     !sonde_gdb_frames_get(frames, i, ret_frame); i++) {
		uint64_t at = ret_frame->address;

		if ((how == SONDE_GDB_FIND_PC && at == a) ||
		    (how == SONDE_GDB_FIND_POINT && ret_frame->point == a) ||
		    (how == SONDE_GDB_FIND_INSIDE && at >= a && at <= b) ||
		    (how == SONDE_GDB_FIND_OUTSIDE && (at < a || at > b)))
			return 0;
	}
	return -ENOENT;
}

int sonde_gdb_frame_register(const struct sonde_gdb_frame *frame,
			     unsigned int number, uint64_t *ret_value)
{
	if (number > SONDE_AGENT_RCX)
		return -ENODATA;
	*ret_value = frame->number;
	return 0;
}

size_t sonde_gdb_frame_memory(const struct sonde_gdb_frame *frame,
			      uint64_t address, uint8_t *to, size_t size)
{
	size_t nr = 0;

	(void)frame;
	while (nr < size && address + nr >= MEMORY_START &&
	       address + nr < MEMORY_END) {
		to[nr] = (uint8_t)(address + nr);
		nr++;
	}
	return nr;
}

int sonde_gdb_frame_variable(const struct sonde_gdb_frame *frame,
			     uint32_t number, int64_t *ret_value)
{
	if (number != SONDE_AGENT_VARIABLE_TID)
		return -ENODATA;
	*ret_value = (int64_t)frame->number;
	return 0;
}

int sonde_gdb_frame_static_data(struct sonde_gdb_frames *frames,
				const struct sonde_gdb_frame *frame, char *to,
				size_t size, size_t *ret_length)
{
	(void)frames;
	(void)frame;
	*ret_length = (size_t)snprintf(to, size, "a = 1}");
	return 0;
}

size_t sonde_gdb_frame_info(const struct sonde_gdb_frame *frame, char *to,
			    size_t size)
{
	(void)frame;
	return (size_t)snprintf(to, size,
				"<traceframe-info>"
				"<memory start=\"0x1000\" length=\"0x100\"/>"
				"</traceframe-info>");
}

size_t sonde_gdb_frames_raw(struct sonde_gdb_frames *frames, uint64_t offset,
			    uint8_t *to, size_t size)
{
	uint64_t all = sonde_gdb_frames_nr(frames) * FRAME_BYTES;

	if (offset >= all)
		return 0;
	if (size > all - offset)
		size = all - offset;
	memset(to, 0x5a, size);
	return size;
}

/* ---- markers ---- */

int sonde_probe_markers_find(pid_t pid, struct sonde_probe_markers *ret_markers)
{
	static char ids[][17] = { "sonde/test:one..", "sdt/test:two...." };
	static char extras[][6] = { "int a", "" };
	static struct sonde_probe_marker list[] = {
		{ .address = 0x4000, .id = ids[0], .extra = extras[0] },
		{ .address = 0x5000, .id = ids[1], .extra = extras[1] },
	};

	(void)pid;
	ret_markers->list = list;
	ret_markers->nr = 2;
	return 0;
}

void sonde_probe_markers_free(struct sonde_probe_markers *markers)
{
	memset(markers, 0, sizeof(*markers));
}

int sonde_probe_markers_of_kernel(struct sonde_probe_markers *ret_markers,
				  char *error, size_t error_size)
{
	(void)error;
	(void)error_size;
	return sonde_probe_markers_find(0, ret_markers);
}

const struct sonde_probe_marker *
sonde_probe_marker_at(const struct sonde_probe_markers *markers,
		      uint64_t address)
{
	for (size_t i = 0; i < markers->nr; i++)
		if (markers->list[i].address == address)
			return &markers->list[i];
	return NULL;
}
