/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - tables by which a process walks its own stack (ring/stacks.h),
 * made of the .eh_frame sections of the files that it has mapped.
 *
 * The recorder makes a file's table when a process is first seen with it, before
 * that process goes on, and copies it to each process's arena: some 10 ms for a
 * file of the C library's size the first time, and a copy of its rows (some
 * 300 KiB) each time. The process makes no call for it.
 *
 * What the arena has no room for, and files that can't be read or have no
 * .eh_frame, have no table: frame pointers serve there.
 *
 * One thread.
 */
#ifndef SESSION_UNWIND_H
#define SESSION_UNWIND_H

#include "ring/stacks.h"
#include "source/statedump/model.h"

struct sonde_unwind;

/* NULL without memory. */
struct sonde_unwind *sonde_unwind_new(void);
void sonde_unwind_free(struct sonde_unwind *unwind);

/* How far the tables of one arena have come. Zeros are a new one's. */
struct sonde_unwind_room {
	uint64_t used; /* bytes behind the stacks' places */
	uint64_t hash; /* of the mappings that were published */
};

/*
 * Publishes the tables of the code mappings `code`, ordered by address, unless
 * they are those that were published last. `depth` is what the recorder made
 * the stacks with: their memory may be changed by others.
 */
void sonde_unwind_publish(struct sonde_unwind *unwind,
			  struct sonde_stacks *stacks, uint32_t depth,
			  struct sonde_unwind_room *room,
			  const struct sonde_statedump_mapping *code,
			  size_t nr);

#endif /* SESSION_UNWIND_H */
