/* SPDX-License-Identifier: MIT */
/*
 * mappings.h - which files are where in the memory of recorded processes: what
 * a reader needs to name code addresses, later and elsewhere.
 *
 * The program makes no call for it: we read /proc/PID/maps and the files'
 * build-ids from outside. The first time when a process says hello: its program
 * and libraries are there by then; its maps are read while it waits (some
 * 100 us), as it may end at once, the files when it runs on. Again when the
 * amount of its executable memory has changed, which /proc/PID/status tells
 * without a lock of the process's; and at the end. A stream of ours,
 * "mappings", has two events:
 *
 *	sonde:mappings	{image, pid, age, omitted}
 *		what follows, up to the next such event, is new in the memory of
 *		the image (the stream class of the process's events) since `age`
 *		ticks; 0: it is the first look. `omitted`: mappings that were left
 *		out so far, for a bound (dump/model.h) or want of memory.
 *	sonde:mapping	the fields of sonde_statedump_mapping (statedump/source.h)
 *
 * A look also gives the process what it needs to walk its stacks, if it has
 * call stacks (unwind.h): the first time before it goes on.
 *
 * A file that is mapped where another was takes its place. What is unmapped is
 * not told: no code runs there.
 *
 * What is not known, and can't be without a call in the program:
 *   - files that are mapped between two looks only
 *   - when exactly a file was mapped: in the last `age` ticks
 *   - what a child by fork maps that goes on without exec
 *   - a file that took another's place with exactly as much code, until the
 *     next look that is made for another reason
 * Files in overlay file systems may have another inode number in
 * /proc/PID/maps than stat() says: then they have no build-id.
 *
 * One thread at a time.
 */
#ifndef SESSION_MAPPINGS_H
#define SESSION_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "session/arena_source.h"
#include "session/session.h"

struct sonde_mappings;

/* Adds a source to the session when there is something to record. NULL without
 * memory: then no mappings are recorded. */
struct sonde_mappings *sonde_mappings_new(struct sonde_session *session);

/* Reads what the image's process has mapped, and writes nothing: the next look
 * at the image does. NULL is fine. */
void sonde_mappings_glance(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image);

/* Looks at the image's process, unless that executes another program by now.
 * `thorough`: also if nothing seems to have changed. NULL is fine. */
void sonde_mappings_look(struct sonde_mappings *mappings,
			 const struct sonde_arena_source *image, bool thorough);

/* There was no time for all tables by which its process walks its stacks: the
 * next look makes some more. */
bool sonde_mappings_lacks_tables(const struct sonde_arena_source *image);

/* Tells what its process has kept of call stacks since the last time
 * (callstacks.h). NULL is fine. */
void sonde_mappings_stacks(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image);

/* Tells the names of code that its process has made at run time, if it has a file
 * that says so (perf_map.h); once, when the process has ended or all is copied.
 * NULL is fine. */
void sonde_mappings_code(struct sonde_mappings *mappings,
			 const struct sonde_arena_source *image);

/* The image is not looked at any more. NULL is fine. */
void sonde_mappings_forget(struct sonde_mappings *mappings,
			   const struct sonde_arena_source *image);

/* Ends the source and frees it. NULL is fine. */
void sonde_mappings_close(struct sonde_mappings *mappings);

#endif /* SESSION_MAPPINGS_H */
