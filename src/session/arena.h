/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the recorder's view of a traced process's arena (ring/layout.h).
 *
 * The process may be hostile: it may hand over any descriptor, and it goes on
 * writing to the arena while we read it. So
 *
 *  1. the file must be a memory file on tmpfs that can't shrink; then nothing
 *     that is mapped here can fault for lack of file;
 *  2. the header is copied once, the copy is checked, and the arena's own
 *     header is never looked at again, nr_reserved and refused excepted;
 *  3. what we configure (geometry, offsets, mode) is kept in the view, and
 *     never read back;
 *  4. a description is copied out, checked, and only then used; the sum of the
 *     descriptions taken from one arena is bounded by SONDE_META_SPAN;
 *  5. counters that can't be checked (lost_*, refused) are only ever shown.
 *
 * Who else has the arena? The process and all its forked children share one
 * open file (struct file in the kernel: descriptors and mappings hold it). We
 * put a lock of the open file (F_OFD_SETLK) on it before we let go of the
 * descriptor we were sent; our own mapping belongs to another open file, made
 * through /proc. The kernel drops the lock with the last reference, so when
 * nothing conflicts with it any more, nobody is left who could write. A process
 * that drops the lock by itself only cuts its own recording short. Where
 * /proc is missing the question is never answered with yes.
 *
 * Life: open (checks and maps), configure (claims a slot, maps its rings, sets
 * it active), then events and rings are read, stop, close. One thread.
 */
#ifndef SESSION_ARENA_H
#define SESSION_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/abi.h>

#include "ring/layout.h"
#include "session/budget.h"

struct sonde_arena_view {
	int fd;
	bool is_watched; /* the lock is there */
	dev_t dev;
	ino_t ino;
	bool lanes_only;      /* the process has no use for per-CPU rings */
	unsigned char *meta;  /* SONDE_META_SPAN bytes */
	unsigned char *rings; /* of our slot; NULL until configured */
	uint64_t rings_bytes;
	uint64_t rings_file_off; /* the slot's part of the file */
	struct sonde_slot *slot;
	uint32_t slot_index;
	struct sonde_geometry geometry;
	uint32_t first_id;  /* of those that are handed out */
	uint64_t ctl_bytes; /* the data of ring 0 starts there in `rings` */
	uint64_t desc_bytes_left;
	uint64_t ask_bytes_left; /* likewise, for conditions (filters.h) */
};

struct sonde_arena_setup {
	struct sonde_geometry geometry;
	enum sonde_ring_mode mode;
	enum sonde_header_kind header;
	enum sonde_clock_kind clock;
	uint64_t session;
	uint64_t filters; /* as the slot has it */
	uint32_t loglevel;
	const char *rules;
	size_t rules_size;
};

/* Pure: whether the copy `header` is an arena's. 0 or -EPROTO;
 * -EPROTONOSUPPORT for another version. */
int sonde_arena_check(const struct sonde_arena *header);

/*
 * Takes over `fd`, whatever happens. 0 or -errno: -EBADF (no memory file that
 * can't shrink), -EPROTO (too short, or not an arena), -EPROTONOSUPPORT.
 */
int sonde_arena_open(int fd, struct sonde_arena_view *ret_view);

/*
 * Claim a slot and make it active. -EBUSY if none is free, -EPERM if the file
 * may not grow. On error the view is as it was.
 */
int sonde_arena_configure(struct sonde_arena_view *view,
			  const struct sonde_arena_setup *setup);

/* Whether no other process can touch the arena any more. */
bool sonde_arena_is_alone(const struct sonde_arena_view *view);

/* Make the slot stopped and the events' states 0, so that a process that runs
 * on is not traced any more; running tracepoints may still append. */
void sonde_arena_stop(struct sonde_arena_view *view);

/* Number of entries to look at, and the id of one in our slot (0: none). */
uint32_t sonde_arena_nr_entries(const struct sonde_arena_view *view);
uint32_t sonde_arena_event_id(const struct sonde_arena_view *view,
			      uint32_t index);
/* How many ids were handed out, as far as the arena says; any number. */
uint32_t sonde_arena_nr_ids(const struct sonde_arena_view *view);
/* What the process counted: events lost because every ring was busy, events
 * that got no id, sites it refused. */
uint64_t sonde_arena_nr_contended(const struct sonde_arena_view *view);
uint64_t sonde_arena_nr_late(const struct sonde_arena_view *view);
uint64_t sonde_arena_nr_refused(const struct sonde_arena_view *view);
/* Whether an entry is one of those refused for their name's sake. */
bool sonde_arena_entry_conflicts(const struct sonde_arena_view *view,
				 uint32_t index);

/*
 * Copy the description of an entry to `room` (SONDE_DESC_MAX bytes, aligned to
 * 8) and check it. 0; -EAGAIN if it isn't published yet; -EPROTO if it is not
 * a valid description or more descriptions were asked for than fit an arena.
 */
int sonde_arena_copy_desc(struct sonde_arena_view *view, uint32_t index,
			  void *room, const struct sonde_desc **ret_desc);

/* Ring i of our slot. */
struct sonde_ring *sonde_arena_ring(const struct sonde_arena_view *view,
				    uint32_t i);
unsigned char *sonde_arena_ring_data(const struct sonde_arena_view *view,
				     uint32_t i);

/* Have memory for `nr` sub-buffers of ring i from `first` on, before the
 * process needs it. Best effort. */
void sonde_arena_reserve(const struct sonde_arena_view *view, uint32_t i,
			 uint32_t first, uint32_t nr);

/* Give back the memory of `nr` sub-buffers of ring i from `first` on; what
 * they hold is lost. */
void sonde_arena_punch(const struct sonde_arena_view *view, uint32_t i,
		       uint32_t first, uint32_t nr);

/* Unmaps and closes; copes with a view that is all zero but fd = -1. */
void sonde_arena_close(struct sonde_arena_view *view);

#endif /* SESSION_ARENA_H */
