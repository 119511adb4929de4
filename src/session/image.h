/* SPDX-License-Identifier: MIT */
/*
 * image.h - the recording of one traced process image: one arena, one stream
 * class of the trace, one stream for each ring that was ever written.
 *
 * Forked children share their parent's arena and are part of its image; a
 * program started by exec is another.
 *
 * Order, per ring and pass (discard mode):
 *
 *	1. peek: load the commit word (acquire); what lies below it is fixed
 *	2. event table: every id handed out by now goes to the metadata, so
 *	   every record from step 1 has its description there
 *	3. append the bytes to the packet, straight from the shared mapping
 *	4. publish the packet, with a clock value read after step 1 as its end
 *	5. advance; a sub-buffer read to its end goes back to the writer
 *
 * In overwrite mode nothing is read before finish, which then reads whatever
 * the writers left, oldest first, and checks after each copy that no writer has
 * come near (sonde_ring_verify).
 *
 * Accounts, per ring: session/outflow.h.
 *
 * A process that contradicts itself (-EPROTO) is given up: nothing more is
 * taken from its arena, what is in the trace stays valid, and a note says so.
 *
 * Memory: the sub-buffers next to be written for the first time are allocated
 * ahead of the writer, twice as many each time. They are not given back while
 * the image is recorded: the writer may already be on its way into any of
 * them.
 */
#ifndef SESSION_IMAGE_H
#define SESSION_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/trace.h"
#include "session/arena.h"
#include "session/filters.h"
#include "session/summary.h"

#define SONDE_SEEN_BITS 65536u

/* What all images of a recording share. One thread. */
struct sonde_recording {
	struct sonde_ctf_trace *trace;
	uint64_t (*now)(void);          /* the clock of the records */
	struct sonde_arena_setup setup; /* but for geometry and header */
	struct sonde_filters *filters;  /* NULL: no conditions */
	struct sonde_summary *summary;
	int disk_error; /* -errno; once set, nothing is written any more */
	/* Events seen in any image, a bit per hash: for the summary. */
	uint8_t seen[SONDE_SEEN_BITS / 8];
};

struct sonde_image;

struct sonde_image_config {
	uint32_t class_id; /* of the trace; not used before */
	pid_t pid;         /* who made the arena */
	const char *name;  /* what it calls itself: any text */
	enum sonde_header_kind header;
	struct sonde_geometry geometry;
};

/*
 * Make the arena active and its class known. Takes over *view on success.
 * 0 or -errno.
 */
int sonde_image_new(struct sonde_recording *recording,
		    const struct sonde_image_config *config,
		    struct sonde_arena_view *view,
		    struct sonde_image **ret_image);

/*
 * Discard mode: one pass over all rings. Returns how full the fullest ring
 * was, in thousandths.
 */
uint32_t sonde_image_consume(struct sonde_image *image);

/* The answer to a process with this image's arena (session/filters.h); -ENOENT
 * if `ask` is about another. */
int sonde_image_filter(struct sonde_image *image,
		       const struct sonde_filters_ask *ask, int *ret_fd);

/* Whether no process can touch it any more. */
bool sonde_image_is_over(const struct sonde_image *image);

bool sonde_image_is_broken(const struct sonde_image *image);
pid_t sonde_image_pid(const struct sonde_image *image);
uint32_t sonde_image_class(const struct sonde_image *image);
bool sonde_image_is_arena(const struct sonde_image *image, dev_t dev,
			  ino_t ino);
const struct sonde_geometry *
sonde_image_geometry(const struct sonde_image *image);

/*
 * Stop the tracing of whoever still has the arena, write what is left, close
 * the streams, add to the summary, and free the image. NULL is fine.
 */
void sonde_image_finish(struct sonde_image *image);

#endif /* SESSION_IMAGE_H */
