/* SPDX-License-Identifier: MIT */
/*
 * arena_source.h - the arena of a process as a source of events
 * (source/source.h): one stream for each ring.
 *
 * Forked children share their parent's arena; a program started by exec has
 * another. The process may be hostile (session/arena.h). When it contradicts
 * itself, its arena is stopped and nothing more is taken from it.
 *
 * In discard mode a sub-buffer read to its end goes back to the writer. In
 * overwrite mode the rings can be read while the process writes to them: each
 * chunk is verified after it was copied.
 *
 * Memory: the sub-buffers next to be written for the first time are allocated
 * ahead of the writer, twice as many each time. Of a ring that has hardly been
 * written to for a second, all but a megabyte are given back (trim): what is in
 * them was read, and the writer is kept from them for that instant.
 *
 * A source whose slot counts has no streams. One of pinned events (--pin) has a slot
 * of its own beside that of all others.
 *
 * Life: new, then as any source. Stop ends the tracing of whoever still has the
 * arena. One thread.
 */
#ifndef SESSION_ARENA_SOURCE_H
#define SESSION_ARENA_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/arena.h"
#include "session/filters.h"
#include "session/summary.h"
#include "session/unwind.h"
#include "source/source.h"

#define SONDE_ARENA_NAME_CHARS 32

struct sonde_arena_source;

struct sonde_arena_source_config {
	struct sonde_arena_setup setup; /* rules are borrowed */
	uint32_t id;      /* that no other source of the session has */
	pid_t pid;        /* who made the arena */
	const char *name; /* what it calls itself: any text */
	struct sonde_filters *filters; /* borrowed; NULL: no conditions */
	/* Rules ('+' and a glob each) of events that are another slot's, whatever
	 * setup.rules say, or are changed to; borrowed. NULL: none. */
	const char *pins;
	/* It is that slot: its rules don't change, and aren't cleared. */
	bool is_pin;
	/* Its view has adopted the slot: it is read, and nothing else is done. */
	bool is_left;
	/* Discard mode, and nothing is given back to the writer: what was written
	 * stays, and can be read as in overwrite mode. */
	bool keeps;
};

/* Claims and configures a slot, unless one was adopted. Takes over *view on success. 0 or -errno. */
int sonde_arena_source_new(const struct sonde_arena_source_config *config,
			   struct sonde_arena_view *view,
			   struct sonde_arena_source **ret_source);

struct sonde_source *sonde_arena_source_base(struct sonde_arena_source *source);

/* The slot was another recording's, of which events may be on their way: they
 * are to be described before the start. */
bool sonde_arena_source_is_resumed(const struct sonde_arena_source *source);

/* The answer to a process with this arena (session/filters.h); -ENOENT if `ask`
 * is about another. */
int sonde_arena_source_filter(struct sonde_arena_source *source,
			      const struct sonde_filters_ask *ask, int *ret_fd);

/* Another open file of the arena, for a slot beside this one: locks of slots are of
 * open files. 0 or -errno. */
int sonde_arena_source_reopen(struct sonde_arena_source *source,
			      struct sonde_arena_view *ret_view);

/* Whether no process can touch it any more. */
bool sonde_arena_source_is_over(const struct sonde_arena_source *source);

uint32_t sonde_arena_source_id(const struct sonde_arena_source *source);
pid_t sonde_arena_source_pid(const struct sonde_arena_source *source);
/* Who made the arena, as the process says: by the number it has for itself. */
pid_t sonde_arena_source_own_pid(const struct sonde_arena_source *source);
/* Whether the arena was found in a process, which may be another than that. */
bool sonde_arena_source_is_found(const struct sonde_arena_source *source);
/* Its name, made of what any file system takes. */
const char *sonde_arena_source_name(const struct sonde_arena_source *source);
bool sonde_arena_source_is_arena(const struct sonde_arena_source *source,
				 dev_t dev, ino_t ino);
const struct sonde_geometry *
sonde_arena_source_geometry(const struct sonde_arena_source *source);

/* The contexts that its records have: bits of enum sonde_ring_context. */
uint32_t sonde_arena_source_contexts(const struct sonde_arena_source *source);
/* Its call stacks: NULL if it has none, or else how deep they are. */
struct sonde_stacks *
sonde_arena_source_stacks(const struct sonde_arena_source *source,
			  uint32_t *ret_depth);

/* Gives back some memory of rings that are hardly written to; in discard mode. To
 * be called now and then, some hundred microseconds each time. */
void sonde_arena_source_trim(struct sonde_arena_source *source);

/* How far its tables for them have come. */
struct sonde_unwind_room *
sonde_arena_source_unwind(const struct sonde_arena_source *source);

/* For what counts (session/counts.h); borrowed. */
struct sonde_arena_view *
sonde_arena_source_view(struct sonde_arena_source *source);

/* At the end: what the process says it could not take. */
void sonde_arena_source_tell(struct sonde_arena_source *source,
			     struct sonde_summary *summary);

#endif /* SESSION_ARENA_SOURCE_H */
