/* SPDX-License-Identifier: MIT */
/*
 * output.h - the trace that a conversion writes: a thin layer over ctf/trace.h
 * for records that come one at a time and in the order of time.
 *
 *	new				a trace without anything
 *	  class, event			as often as it takes
 *	  stream			of a class: a CPU's
 *	    stream->out.at, .tid	of what comes next
 *	    sonde_out_event() ...	one record (source/statedump/packets.h)
 *	    sonde_import_output_look()	behind each, or some
 *	    sonde_import_output_lose()	so many were lost here
 *	close				all that is left is written
 *
 * A stream's records wait in memory until 256 KiB of them are a packet. Losses
 * end a packet, so that readers show them where they were.
 *
 * Errors stick: what could not be written is an error of close() at the latest.
 * One thread.
 */
#ifndef IMPORT_OUTPUT_H
#define IMPORT_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "ctf/trace.h"
#include "import/report.h"
#include "source/statedump/packets.h"

struct sonde_import_output;

struct sonde_import_stream {
	struct sonde_out out;
	/* ---- private ---- */
	struct sonde_import_output *output;
	struct sonde_ctf_stream *stream;
	uint64_t ts_last; /* of what was written */
};

/* `domain`, `clock`, `hostname`, `system` and `env` of the trace's configuration
 * (ctf/trace.h) are the caller's. 0 or -errno. */
int sonde_import_output_new(const struct sonde_import_config *config,
			    const struct sonde_ctf_config *trace,
			    struct sonde_import_output **ret_output);

/* Classes have the numbers 0, 1 ... in the order in which they are made; their
 * record headers are large. 0 or -errno. */
int sonde_import_output_class(struct sonde_import_output *output,
			      const char *comment, uint32_t *ret_class);
/* The class's events, those that are added from now on, have a call stack and a
 * process (ctf/trace.h) before their payloads. */
void sonde_import_output_give_stacks(struct sonde_import_output *output,
				     uint32_t class_id);
/* Ids are 1, 2 ... in each class; the caller counts. 0 or -errno. */
int sonde_import_output_event(struct sonde_import_output *output,
			      uint32_t class_id, uint16_t id,
			      const struct sonde_desc *desc);

/* A stream of the class, and its file's name. NULL: no memory, or the trace
 * can't have it; then that is the output's error. Lives as long as the output. */
struct sonde_import_stream *
sonde_import_output_stream(struct sonde_import_output *output,
			   uint32_t class_id, uint32_t cpu, const char *name);

/* Writes the packets that are full. 0, or the output's first error. */
int sonde_import_output_look(struct sonde_import_stream *stream);
/* So many were lost behind what was recorded last. 0, or the first error. */
int sonde_import_output_lose(struct sonde_import_stream *stream, uint64_t nr);

/* Records in all streams so far. */
uint64_t sonde_import_output_events(const struct sonde_import_output *output);

/* Writes what is left, up to `ts_end`, and frees it. 0, or the first error there
 * was. NULL is fine. */
int sonde_import_output_close(struct sonde_import_output *output,
			      uint64_t ts_end);

#endif /* IMPORT_OUTPUT_H */
