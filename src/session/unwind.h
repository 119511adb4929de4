/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - tables by which a process walks its own stack (ring/stacks.h),
 * made of the .eh_frame sections of the files that it has mapped.
 *
 * The recorder makes a file's table when a process is first seen with it, and
 * copies it to each process's arena: some 2 ms for a file of the C library's
 * size the first time, 25 for an executable of 30 MB, and a copy of its rows (some
 * 300 KiB, 4 MB) for each arena. A process that waits for the recorder waits for
 * those that a budget is enough for, its program's first; what isn't there then is
 * made at the next looks, and its first stacks may end early.
 * The process makes no call for it.
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

/* Rows of a file, and where an arena has them. */
struct sonde_unwind_place {
	const struct sonde_stacks_row *rows;
	uint64_t at; /* from the stacks' head */
};

/* How far the tables of one arena have come. Zeros are a new one; who publishes
 * first owns it, so a snapshot leaves it to the recording. */
struct sonde_unwind_room {
	struct sonde_stacks *stacks;
	uint32_t depth;
	bool is_awaited; /* the process waits: a large file's table may be too late */
	bool is_late; /* the budget was not enough for all tables */
	const struct sonde_unwind *owner; /* it alone publishes */
	uint64_t used;                    /* bytes behind the stacks' places */
	uint64_t hash; /* of the mappings that were published, all of them */
	size_t nr, capacity;
	struct sonde_unwind_place *places;
};

/* It was got by calloc(); NULL is fine. */
void sonde_unwind_room_free(struct sonde_unwind_room *room);

/* What making tables may take, in nanoseconds. The thread's own time bounds the
 * work; on a busy machine that may take long, and whoever waits has to be spared. */
struct sonde_unwind_budget {
	uint64_t cpu_ns, wall_ns;
};

/*
 * Publishes the tables of the code mappings `code`, ordered by address, unless
 * they are those that were published last. No table is begun when the budget is
 * spent: the caller tries again later. `depth` is what the recorder made the
 * room's stacks with: their memory may be changed by others.
 */
void sonde_unwind_publish(struct sonde_unwind *unwind,
			  struct sonde_unwind_room *room,
			  const struct sonde_statedump_mapping *code, size_t nr,
			  const struct sonde_unwind_budget *budget);

#endif /* SESSION_UNWIND_H */
