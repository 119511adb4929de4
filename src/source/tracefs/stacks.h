/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.h - call stacks of tracefs' events. With the options `stacktrace` and
 * `userstacktrace` the kernel writes, behind each event of an instance, two more
 * records to the same CPU's buffer:
 *
 *	event, kernel_stack, user_stack
 *
 * which are made into the number of a stack. The event's record waits for them, with
 * room for the number, and so do those behind it: `sonde_tracefs_stacks_first()` is
 * where what is delivered ends.
 *
 * Which records belong together. Interrupts come between, with events of their own:
 * what is written at a level of interrupts, between an event and its stacks, is of
 * higher levels, for the CPU is not given to another thread in between. So the three
 * are next to one another among their level's records; and they have the same flags,
 * counts and thread, for the kernel looks at these once. A record of the same level
 * or a lower one says that nothing more comes for what waits. What is lost,
 * is lost between sub-buffers (stream.c): then it is told to us, and all that waits
 * there stays without what hasn't come.
 *
 * What an event gets then: without its kernel's half it has no stack (number 0, and
 * counted); without the program's half alone, as in an interrupt that came while a
 * program's stack was looked at, its stack ends where it isn't known who called.
 *
 * Of the program there are the eight frames that the kernel finds by frame pointers;
 * those that are sure to be right are kept (sample/mapped_code.h). A system call's kernel
 * half is the same each time and is left out.
 *
 * Cost: a record of about 200 bytes for each event, and a walk in the kernel of some
 * microseconds; here, what callstacks.h says.
 */
#ifndef SOURCE_TRACEFS_STACKS_H
#define SOURCE_TRACEFS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/kernel_frames.h"
#include "source/tracefs/page.h"

/* In a record of ours, between the thread and the payload: number and process. */
#define SONDE_TRACEFS_STACK_HEAD 8u
/* Events in interrupts that end while another one below waits; and that one. */
#define SONDE_TRACEFS_WAITING_MAX 16u

struct sonde_perf_code;
struct sonde_source_config;

struct sonde_tracefs_stacks {
	struct sonde_callstacks_store *store;
	struct sonde_perf_code *code;
	struct sonde_callstacks_own own;
	uint32_t depth; /* of the program's half */
	/* The two kinds of records, and where things are in them. */
	uint16_t kernel_id, nr_at, kernel_at;
	uint16_t user_id, tgid_at, user_at, nr_user;
};

/* A record of ours that has no number yet. */
struct sonde_tracefs_waiting {
	/* Flags, counts and thread, as the kernel's record has them. */
	uint8_t key[6];
	uint8_t level;
	bool is_call, is_probe;
	bool has_kernel, has_user, is_done;
	uint8_t *record;    /* in the packet */
	uint8_t *head;      /* where the number goes */
	uint64_t nr_before; /* records, ever */
	uint64_t time;      /* in the session's clock */
	struct sonde_callstacks_chain chain;
	bool has_ended; /* the chain */
};

/* Of one CPU, in the order of the packet. Zeros are none. */
struct sonde_tracefs_waitings {
	uint32_t nr;
	struct sonde_tracefs_waiting waiting[SONDE_TRACEFS_WAITING_MAX];
	/* Where the numbers are that were given since what was delivered last,
	 * which ends there; if that is kept, and may get others. */
	bool has_places;
	const uint8_t *since;
	struct sonde_callstacks_places places;
};

/* `root`: tracefs. 0; -EOPNOTSUPP: this kernel's records aren't understood; or
 * -ENOMEM. To be finished in any case. */
int sonde_tracefs_stacks_init(struct sonde_tracefs_stacks *stacks, int root,
			      const struct sonde_source_config *config);
/* NULL is fine. */
void sonde_tracefs_stacks_fini(struct sonde_tracefs_stacks *stacks);

/* A record of the kernel's is seen. True: it is a stack, and nothing more is to be
 * done about it. */
bool sonde_tracefs_stacks_see(const struct sonde_tracefs_stacks *stacks,
			      struct sonde_tracefs_waitings *waitings,
			      const struct sonde_page_record *record);

/* A record of ours was made of it: `waiting` says of what kind it is, where, and
 * when. */
void sonde_tracefs_stacks_wait(const struct sonde_tracefs_stacks *stacks,
			       struct sonde_tracefs_waitings *waitings,
			       const struct sonde_page_record *record,
			       const struct sonde_tracefs_waiting *waiting);

/* Nothing more comes for those that wait. */
void sonde_tracefs_stacks_settle(const struct sonde_tracefs_stacks *stacks,
				 struct sonde_tracefs_waitings *waitings);

static inline const struct sonde_tracefs_waiting *
sonde_tracefs_stacks_first(const struct sonde_tracefs_waitings *waitings)
{
	return waitings->nr ? &waitings->waiting[0] : NULL;
}

#endif /* SOURCE_TRACEFS_STACKS_H */
