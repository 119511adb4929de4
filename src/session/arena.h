/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the recorder's view of a traced process's arena (ring/layout.h).
 *
 * The process may be hostile: it may hand over any descriptor, and it goes on
 * writing to the arena while we read it. So
 *
 *  1. the file must be a memory file on tmpfs that can't shrink; then nothing
 *     that is mapped here can fault for lack of file. Or else a file in a
 *     directory (SONDE_ARENA) that is our own user's, and nobody else may write:
 *     who cuts it ends us, as he could by a signal;
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
 * A process takes that lock itself when it makes the arena, for those who open
 * the file through /proc/PID/fd: they can't lock the process's open file.
 *
 * Slots. One that no recorder ever had is taken as it is. One that a recorder
 * has left (it ended, or was killed: its lock on the slot is gone) is gone on
 * with. A thread of the process may still be in the middle of an event for it,
 * stopped there for as long as one likes, so all it may know must stay true:
 *
 *  a. headers, clock, and the sizes of the rings are what they were, and the
 *     slot had no conditions, and counts if it has counted; otherwise it isn't
 *     taken;
 *  b. ids are never handed out twice, and those that were in use when it was
 *     taken are told to the new trace (session/arena_source.c), wanted or not;
 *  c. no position comes back: each ring starts at a sub-buffer later than any
 *     before it (sonde_ring_restart).
 *
 * One of a session by name that goes on (SONDE_SLOT_KEEP) isn't stopped by that:
 * it waits for the session's next recorder, which takes it as it is and reads
 * what its rings hold. Another recorder takes it if there is no other left.
 *
 * So the worst that thread can do is to record one event more.
 *
 * Life: open (checks and maps), configure (claims a slot, maps its rings),
 * begin (sets it active, selects), then events and rings are read, stop, close.
 * Or, of a slot that its recorder has left: open_left, adopt, read, close; nothing
 * that is done to such a view reaches the file. One thread.
 */
#ifndef SESSION_ARENA_H
#define SESSION_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sonde/abi.h>

#include "ring/contexts.h"
#include "ring/layout.h"
#include "session/budget.h"

struct sonde_arena_view {
	int fd;
	bool is_own;          /* an open file that no process shares with us */
	bool is_found;        /* of a process that ran already */
	bool is_file;         /* in a directory: it stays when nobody has it */
	bool is_copied;       /* what we write goes nowhere */
	bool is_watched;      /* the lock is there */
	bool is_once;         /* a tool's, of another recording */
	bool can_stack;       /* its events may have call stacks */
	uint32_t can_context; /* and these contexts behind: bits */
	bool can_reach;       /* the process maps rings that come late */
	bool can_count;       /* it knows slots that count */
	bool is_resumed;      /* the slot was another recording's */
	bool is_inherited; /* it is this session's, whose recorder was killed */
	uint64_t nr_refused_before;
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
	uint32_t first_id;     /* of those that are handed out */
	uint32_t stacks_depth; /* 0: no call stacks */
	uint32_t contexts;     /* bits of enum sonde_ring_context */
	uint64_t stacks_at;    /* in `rings` */
	uint64_t ctl_bytes;    /* the data of ring 0 starts there in `rings` */
	uint64_t desc_bytes_left;
	uint64_t ask_bytes_left; /* likewise, for conditions (filters.h) */
};

struct sonde_arena_setup {
	struct sonde_geometry geometry;
	enum sonde_ring_mode mode;
	enum sonde_header_kind header;
	enum sonde_clock_kind clock;
	uint64_t session;
	bool keeps;            /* another may go on with the session */
	bool listens;          /* its events are recorded by another slot */
	bool inherits;         /* somebody has begun it */
	uint64_t filters;      /* as the slot has it */
	uint32_t stacks_depth; /* of call stacks; 0: none */
	uint32_t
		contexts; /* with call stacks: bits of enum sonde_ring_context */
	uint32_t resident; /* rings that are to be; less if there are less */
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

/* The same for an arena of a process that runs already (session/attach.h):
 * `fd` is an open file of our own. */
int sonde_arena_open_found(int fd, struct sonde_arena_view *ret_view);

/* For who only reads what recorders have left; so may `fd`. */
int sonde_arena_open_left(int fd, struct sonde_arena_view *ret_view);

/* The slot `i` (< SONDE_SLOTS) of such a view, as it is, and what it was
 * configured with; rules aren't told. 0; -ENOENT: there is nothing to be read in
 * it; -EBUSY: its recorder lives; -EPROTO: it makes no sense; or -errno. */
int sonde_arena_adopt(struct sonde_arena_view *view, uint32_t i,
		      struct sonde_arena_setup *ret_setup);

/* Its times are of a clock that was there before the last boot: of a file alone. */
bool sonde_arena_is_of_another_boot(const struct sonde_arena_view *view);

/* Our slot was read to its end: nobody has to recover it. */
void sonde_arena_settle(struct sonde_arena_view *view);

/* Removes the arena's file from its directory. Nothing if it is memory. */
void sonde_arena_remove(const struct sonde_arena_view *view);

/*
 * Claim a slot and configure it. -EDQUOT if the disk of its file has no room, -EBUSY if none is free, -EPERM if the file
 * may not grow, -ENXIO if events are to be counted and the process can't. On error the view is as it was. view->geometry is then what the
 * rings have, which may be less than asked for; if view->is_resumed, they are
 * still to be restarted (sonde_ring_restart).
 */
int sonde_arena_configure(struct sonde_arena_view *view,
			  const struct sonde_arena_setup *setup);

/* A slot of the session, of that mode, that its recorder has left: with which
 * headers. False if there is none. */
bool sonde_arena_find_left(const struct sonde_arena_view *view,
			   uint64_t session, enum sonde_ring_mode mode,
			   enum sonde_header_kind *ret_header);

/* Make the slot active, for events that are there already, too. `room` has
 * SONDE_DESC_MAX bytes, aligned for a description. */
void sonde_arena_begin(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup, void *room);

/* Other rules and another level, from now on. 0; -ENOSPC: more events were
 * deselected than past[] takes, and some of them go on. */
int sonde_arena_change(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup, void *room);

/* One event, of which `desc` is a copy. False: see above. */
bool sonde_arena_select(struct sonde_arena_view *view,
			const struct sonde_arena_setup *setup, uint32_t index,
			const struct sonde_desc *desc);

/* The next id of our slot whose event is, or was, selected no more; *at begins
 * with 0. As the arena says: any number of SONDE_EVENTS_MAX and 65536. */
bool sonde_arena_past(const struct sonde_arena_view *view, uint32_t *at,
		      uint32_t *ret_index, uint32_t *ret_id);

/* Whether a process has it, of those that record themselves. */
bool sonde_arena_is_held(const struct sonde_arena_view *view);

/* Whether no other process can touch the arena any more. */
bool sonde_arena_is_alone(const struct sonde_arena_view *view);

/* Make the slot stopped and the events' states 0, so that a process that runs
 * on is not traced any more; running tracepoints may still append. */
void sonde_arena_stop(struct sonde_arena_view *view);

/* Number of entries to look at, and the id of one in our slot (0: none). */
uint32_t sonde_arena_nr_entries(const struct sonde_arena_view *view);
bool sonde_arena_is_event(const struct sonde_arena_view *view, uint32_t index);
uint32_t sonde_arena_event_id(const struct sonde_arena_view *view,
			      uint32_t index);
/* How many ids were handed out, as far as the arena says; any number. */
uint32_t sonde_arena_nr_ids(const struct sonde_arena_view *view);
/* What the process counted: events lost because every ring was busy, events
 * that got no id, sites it refused. */
uint64_t sonde_arena_nr_contended(const struct sonde_arena_view *view);
uint64_t sonde_arena_nr_late(const struct sonde_arena_view *view);
uint64_t sonde_arena_nr_refused(const struct sonde_arena_view *view);
/* Who said that it leaves the recording: at most SONDE_LEAVES; a copy of one,
 * of which only the NUL at the end of the name is sure. */
uint32_t sonde_arena_nr_leaves(const struct sonde_arena_view *view);
struct sonde_leave sonde_arena_leave(const struct sonde_arena_view *view,
				     uint32_t i);
/* Whether the process says that it could not map its rings. */
enum sonde_slot_use {
	SONDE_SLOT_UNUSED = 0,
	SONDE_SLOT_USED, /* by a recorder that lives */
	SONDE_SLOT_LEFT, /* active; its recorder was killed */
};

/* Slot `i` (< SONDE_SLOTS), as a bystander sees it. */
enum sonde_slot_use sonde_arena_slot_use(const struct sonde_arena_view *view,
					 uint32_t i);

/* Which session has or had it; any number. */
uint64_t sonde_arena_slot_session(const struct sonde_arena_view *view,
				  uint32_t i);

/* Who made it, as the arena says: any number, and any name of characters that file
 * systems take. */
uint32_t sonde_arena_pid(const struct sonde_arena_view *view);
void sonde_arena_name(const struct sonde_arena_view *view, char name[33]);

/* Events that were registered. */
uint32_t sonde_arena_nr_events(const struct sonde_arena_view *view);

/* Bytes of the file that the process has mapped from its start. */
uint64_t sonde_arena_mapped(const struct sonde_arena_view *view);

/* Threads that have no counter which was asked for (--context). */
uint32_t sonde_arena_nr_uncounted(const struct sonde_arena_view *view);

/* Processes that share it, and could not map the rings when they had to. */
uint32_t sonde_arena_nr_unreached(const struct sonde_arena_view *view);

/* What it says of rings that were to be resident; any number. */
uint32_t sonde_arena_resident(const struct sonde_arena_view *view);

bool sonde_arena_is_unmapped(const struct sonde_arena_view *view);
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

/* All may be asked for again, for another trace. */
void sonde_arena_restart_descs(struct sonde_arena_view *view);

/* Ring i of our slot. */
struct sonde_ring *sonde_arena_ring(const struct sonde_arena_view *view,
				    uint32_t i);
unsigned char *sonde_arena_ring_data(const struct sonde_arena_view *view,
				     uint32_t i);

/* The call stacks of our slot; NULL: it has none. */
struct sonde_stacks *sonde_arena_stacks(const struct sonde_arena_view *view);

/* Adds up the cells of the first `nr` entries (< SONDE_EVENTS_MAX) in the rows of
 * our slot, which counts. Cells without memory get none by that. */
void sonde_arena_count(const struct sonde_arena_view *view, uint32_t nr,
		       uint64_t *ret_sums);

/* Copies a part of row `row` of a slot that counts. Whether it could. */
bool sonde_arena_read_row(const struct sonde_arena_view *view, uint32_t row,
			  uint64_t offset, void *to, size_t size);

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
