/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the recorder's view of a traced process's arena (arena.h).
 *
 * What is checked is checked on a copy; what we configured is kept in the view
 * and not read back. Order: open or open_found, configure, begin, then counts
 * and rings, stop, close; a slot is written while we hold its lock only.
 */
#include "session/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/port.h"
#include "clock/calibrate.h"
#include "ring/control.h"
#include "sys/cpus.h"
#include "sys/fd.h"
#include "types/desc.h"

#define PAGE_BYTES 65536ull /* a multiple of every machine's page */

int sonde_arena_check(const struct sonde_arena *header)
{
	if (header->magic != SONDE_ARENA_MAGIC)
		return -EPROTO;
	if (header->version != SONDE_ARENA_VERSION)
		return -EPROTONOSUPPORT;
	if (header->writer == SONDE_WRITER_NONE)
		return -ENODEV;
	if (header->writer != SONDE_WRITER_RSEQ &&
	    header->writer != SONDE_WRITER_LANES)
		return -EPROTO;
	return 0;
}

static bool is_sealed(int fd)
{
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK && !fstatfs(fd, &fs) &&
	       fs.f_type == TMPFS_MAGIC;
}

/* Nothing but a tmpfs file that is sealed against shrinking will do, or our own:
 * any other can be cut while we look at it, or makes us wait. */
static int check_file(int fd, bool *ret_is_file, struct stat *ret_stat)
{
	if (fstat(fd, ret_stat) || !S_ISREG(ret_stat->st_mode))
		return -EBADF;
	*ret_is_file = !is_sealed(fd);
	if (*ret_is_file && ret_stat->st_nlink != 1)
		return -EBADF;
	if (*ret_is_file && (ret_stat->st_uid != geteuid() ||
			     ret_stat->st_mode & (S_IWGRP | S_IWOTH)))
		return -EACCES;
	if (ret_stat->st_size < (off_t)SONDE_META_SPAN)
		return -EPROTO;
	return 0;
}

static struct flock lock_of(int what)
{
	return (struct flock){ .l_type = F_WRLCK,
			       .l_whence = SEEK_SET,
			       .l_start = what,
			       .l_len = 1 };
}

/* Locks the open file the process shares with us, and replaces it by one of
 * our own. */
static void reopen(struct sonde_arena_view *view)
{
	struct flock lock = lock_of(SONDE_LOCK_PROCESS);
	int own = sonde_fd_reopen(view->fd, O_RDWR);

	if (own < 0)
		return;
	view->is_own = true;
	view->is_watched = !fcntl(view->fd, F_OFD_SETLK, &lock);
	(void)close(view->fd); /* the process has it */
	view->fd = own;
}

/* Whether somebody else's open file has the lock. */
static bool is_locked(int fd, int what)
{
	struct flock lock = lock_of(what);

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

/* Pages of a copied view are the file's until we write to them. */
static void *map_part(const struct sonde_arena_view *view, uint64_t from,
		      uint64_t bytes)
{
	int flags = view->is_copied ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;

	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, view->fd,
		    (off_t)from);
}

static int map_meta(struct sonde_arena_view *view)
{
	struct sonde_arena header;
	void *meta = map_part(view, 0, SONDE_META_SPAN);

	if (meta == MAP_FAILED)
		return -errno;
	view->meta = meta;
	memcpy(&header, meta, sizeof(header));
	sonde_barrier();
	view->lanes_only = header.writer == SONDE_WRITER_LANES;
	view->can_stack = header.abilities & SONDE_ARENA_CAN_STACK;
	if (header.abilities & SONDE_ARENA_CAN_CONTEXT)
		view->can_context = header.abilities & SONDE_ARENA_CAN_COUNTER ?
					    SONDE_CONTEXTS_KNOWN :
					    SONDE_CONTEXTS_FIRST;
	view->can_reach = header.abilities & SONDE_ARENA_CAN_REACH;
	view->can_count = header.abilities & SONDE_ARENA_CAN_COUNT;
	view->is_once = header.abilities & SONDE_ARENA_IS_ONCE;
	view->nr_refused_before = header.refused;
	return sonde_arena_check(&header);
}

void sonde_arena_restart_descs(struct sonde_arena_view *view)
{
	/* each description is taken to be selected, and to be told */
	view->desc_bytes_left = 2 * SONDE_META_SPAN;
}

static int open_view(int fd, bool is_found, bool is_copied,
		     struct sonde_arena_view *ret_view)
{
	struct sonde_arena_view view = {
		.fd = fd,
		.is_copied = is_copied,
		.ask_bytes_left = 2 * SONDE_META_SPAN,
	};
	struct stat st;
	int rc = check_file(fd, &view.is_file, &st);

	sonde_arena_restart_descs(&view);
	if (rc)
		goto fail;
	view.dev = st.st_dev;
	view.ino = st.st_ino;
	view.is_found = is_found;
	if (is_found) {
		view.is_own = true;
		view.is_watched = is_locked(fd, SONDE_LOCK_PROCESS);
	} else {
		reopen(&view);
	}
	rc = map_meta(&view);
	if (rc)
		goto fail;
	*ret_view = view;
	return 0;
fail:
	sonde_arena_close(&view);
	return rc;
}

int sonde_arena_open(int fd, struct sonde_arena_view *ret_view)
{
	return open_view(fd, false, false, ret_view);
}

int sonde_arena_open_found(int fd, struct sonde_arena_view *ret_view)
{
	return open_view(fd, true, false, ret_view);
}

int sonde_arena_open_left(int fd, struct sonde_arena_view *ret_view)
{
	return open_view(fd, true, true, ret_view);
}

/* ---- slots ---- */

static struct sonde_slot *slot_at(const struct sonde_arena_view *view,
				  uint32_t i)
{
	return (struct sonde_slot *)(void *)(view->meta + SONDE_SLOTS_OFF) + i;
}

/* Whether no recorder that lives has the slot. It is ours then, until we let go
 * of the file or unlock. */
static bool lock_slot(const struct sonde_arena_view *view, uint32_t i)
{
	struct flock lock = lock_of(SONDE_LOCK_SLOT + (int)i);

	return view->is_own && !fcntl(view->fd, F_OFD_SETLK, &lock);
}

static void unlock_slot(const struct sonde_arena_view *view, uint32_t i)
{
	struct flock lock = lock_of(SONDE_LOCK_SLOT + (int)i);

	lock.l_type = F_UNLCK;
	(void)fcntl(view->fd, F_OFD_SETLK, &lock); /* can't fail */
}

enum sonde_slot_use sonde_arena_slot_use(const struct sonde_arena_view *view,
					 uint32_t i)
{
	if (sonde_load_relaxed(&slot_at(view, i)->state) != SONDE_SLOT_ACTIVE)
		return SONDE_SLOT_UNUSED;
	return is_locked(view->fd, SONDE_LOCK_SLOT + (int)i) ? SONDE_SLOT_USED :
							       SONDE_SLOT_LEFT;
}

uint64_t sonde_arena_slot_session(const struct sonde_arena_view *view,
				  uint32_t i)
{
	return sonde_load_relaxed(&slot_at(view, i)->session);
}

/* Where the rings of slot `i` are, if they are of view->geometry. */
static void place_rings(struct sonde_arena_view *view, uint32_t i)
{
	uint32_t nr_rings = sonde_geometry_nr_rings(&view->geometry);

	view->slot_index = i;
	/* whole pages */
	view->ctl_bytes =
		(nr_rings * sizeof(struct sonde_ring) + PAGE_BYTES - 1) &
		~(PAGE_BYTES - 1);
	view->rings_file_off = SONDE_META_SPAN + i * SONDE_SLOT_SPAN;
	view->rings_bytes =
		view->ctl_bytes +
		nr_rings * sonde_geometry_ring_bytes(&view->geometry);
	view->stacks_at = view->rings_bytes;
	if (view->stacks_depth)
		view->rings_bytes += sonde_stacks_bytes(view->stacks_depth);
}

/* Where the stacks are in the file, as the slot has it; 0: there are none. */
static uint64_t stacks_off(const struct sonde_arena_view *view)
{
	return view->stacks_depth ? view->rings_file_off + view->stacks_at : 0;
}

/* What matters of a slot that some recorder has left; copied once. */
struct left {
	uint32_t state, mode, header, clock, nr_cpus, nr_lanes;
	uint32_t subbuf_size, nr_subbufs;
	uint64_t ctl_off, data_off, filters;
	uint64_t stacks_off;
	uint32_t stacks_depth, contexts;
};

static bool is_size(uint32_t n, uint32_t least, uint32_t most)
{
	return n >= least && n <= most && !(n & (n - 1));
}

/*
 * Whether the slot, which some recorder has left, can be gone on with: what a
 * process that was stopped in the middle of an event still has in its hands must
 * be true of the slot as it will be.
 */
static bool is_reusable(struct sonde_arena_view *view, uint32_t i,
			const struct left *copy,
			const struct sonde_arena_setup *setup, bool is_exact)
{
	uint64_t most = sonde_geometry_ring_bytes(&setup->geometry);
	uint32_t least = sonde_budget_min_subbufs(setup->mode);
	struct sonde_geometry geometry = setup->geometry;

	geometry.subbuf_size = copy->subbuf_size;
	geometry.nr_subbufs = copy->nr_subbufs;
	if (copy->state != SONDE_SLOT_STOPPED ||
	    copy->header != setup->header || copy->clock != setup->clock ||
	    copy->filters || setup->filters ||
	    !copy->stacks_off != !view->stacks_depth ||
	    (copy->stacks_off && (copy->stacks_depth != view->stacks_depth ||
				  copy->contexts != view->contexts)) ||
	    (copy->mode >= SONDE_COUNT && copy->mode != setup->mode) ||
	    (copy->mode != setup->mode && setup->mode >= SONDE_COUNT) ||
	    copy->nr_cpus != geometry.nr_cpus ||
	    copy->nr_lanes != geometry.nr_lanes)
		return false;
	if (!is_size(geometry.subbuf_size, SONDE_SUBBUF_MIN,
		     SONDE_SUBBUF_MAX) ||
	    !is_size(geometry.nr_subbufs, least, SONDE_SUBBUFS_MAX) ||
	    sonde_geometry_ring_bytes(&geometry) > most)
		return false;
	if (is_exact && (geometry.subbuf_size != setup->geometry.subbuf_size ||
			 geometry.nr_subbufs != setup->geometry.nr_subbufs))
		return false;
	view->geometry = geometry;
	place_rings(view, i);
	return copy->ctl_off == view->rings_file_off &&
	       copy->data_off == view->rings_file_off + view->ctl_bytes &&
	       copy->stacks_off == stacks_off(view);
}

static void stop_slot(const struct sonde_arena_view *view,
		      struct sonde_slot *slot)
{
	struct sonde_arena_control control =
		sonde_arena_control_view(view->meta);
	uint32_t nr = sonde_arena_nr_entries(view);

	/* Pairs with the load of slot.state in derive: no event is enabled for
	 * this slot from now on. */
	sonde_store_release(&slot->state, SONDE_SLOT_STOPPED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < nr; i++)
		sonde_arena_control_refresh(&control, i);
}

static struct left look_at(const struct sonde_arena_view *view, uint32_t i)
{
	struct sonde_slot *slot = slot_at(view, i);

	return (struct left){
		.state = sonde_load_relaxed(&slot->state),
		.mode = sonde_load_relaxed(&slot->mode),
		.header = sonde_load_relaxed(&slot->header),
		.clock = sonde_load_relaxed(&slot->clock),
		.nr_cpus = sonde_load_relaxed(&slot->nr_cpus),
		.nr_lanes = sonde_load_relaxed(&slot->nr_lanes),
		.subbuf_size = sonde_load_relaxed(&slot->subbuf_size),
		.nr_subbufs = sonde_load_relaxed(&slot->nr_subbufs),
		.ctl_off = sonde_load_relaxed(&slot->ctl_off),
		.data_off = sonde_load_relaxed(&slot->data_off),
		.filters = sonde_load_relaxed(&slot->filters),
		.stacks_off = sonde_load_relaxed(&slot->stacks_off),
		.stacks_depth = sonde_load_relaxed(&slot->stacks_depth),
		.contexts = sonde_load_relaxed(&slot->contexts),
	};
}

/* Active, and nobody reads it. */
static bool is_waiting(const struct sonde_arena_view *view, uint32_t i)
{
	return sonde_load_relaxed(&slot_at(view, i)->state) ==
		       SONDE_SLOT_ACTIVE &&
	       sonde_load_relaxed(&slot_at(view, i)->keep) == SONDE_SLOT_KEEP;
}

static bool is_of_session(const struct sonde_arena_view *view, uint32_t i,
			  uint64_t session)
{
	return is_waiting(view, i) &&
	       sonde_load_relaxed(&slot_at(view, i)->session) == session &&
	       !is_locked(view->fd, SONDE_LOCK_SLOT + (int)i);
}

bool sonde_arena_find_left(const struct sonde_arena_view *view,
			   uint64_t session, enum sonde_ring_mode mode,
			   enum sonde_header_kind *ret_header)
{
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		uint32_t header = sonde_load_relaxed(&slot_at(view, i)->header);

		if (!is_of_session(view, i, session) || header > SONDE_LARGE ||
		    sonde_load_relaxed(&slot_at(view, i)->mode) != mode)
			continue;
		*ret_header = (enum sonde_header_kind)header;
		return true;
	}
	return false;
}

/* The session's own slot, as it is. */
static bool claim_inherited(struct sonde_arena_view *view,
			    const struct sonde_arena_setup *setup)
{
	for (uint32_t i = 0; setup->inherits && i < SONDE_SLOTS; i++) {
		struct left left;

		if (!is_of_session(view, i, setup->session) ||
		    !lock_slot(view, i))
			continue;
		left = look_at(view, i);
		left.state = SONDE_SLOT_STOPPED; /* it is as good */
		if (left.mode == setup->mode &&
		    is_reusable(view, i, &left, setup, false)) {
			view->is_inherited = true;
			return true;
		}
		unlock_slot(view, i);
	}
	return false;
}

/* `what_waits`: another session may be lost by it. */
static bool claim_left(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup, bool is_exact,
		       bool what_waits)
{
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		struct left left;

		if (!what_waits && is_waiting(view, i))
			continue;
		if (!lock_slot(view, i))
			continue;
		/* A recorder that was killed has left it active. */
		if (sonde_load_relaxed(&slot_at(view, i)->state) ==
		    SONDE_SLOT_ACTIVE)
			stop_slot(view, slot_at(view, i));
		left = look_at(view, i);
		if (is_reusable(view, i, &left, setup, is_exact)) {
			view->is_resumed = true;
			return true;
		}
		unlock_slot(view, i);
	}
	return false;
}

static bool claim_free(struct sonde_arena_view *view,
		       const struct sonde_arena_setup *setup)
{
	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		uint32_t *state = &slot_at(view, i)->state;
		bool is_ours = lock_slot(view, i);

		if (view->is_own && !is_ours)
			continue;
		/* Who claimed it was killed before it was active. */
		if (is_ours && sonde_load_relaxed(state) == SONDE_SLOT_CLAIMED)
			sonde_store_relaxed(state, SONDE_SLOT_FREE);
		/* Pairs with claim_free of another recorder: one of us has
		 * it, where there are no locks. */
		if (!sonde_cmpxchg_acquire(state, SONDE_SLOT_FREE,
					   SONDE_SLOT_CLAIMED)) {
			if (is_ours)
				unlock_slot(view, i);
			continue;
		}
		view->geometry = setup->geometry;
		place_rings(view, i);
		return true;
	}
	return false;
}

/* One that fits is best: slot 0 alone has the fast path. */
static bool claim(struct sonde_arena_view *view,
		  const struct sonde_arena_setup *setup)
{
	return claim_inherited(view, setup) ||
	       claim_left(view, setup, true, false) ||
	       claim_free(view, setup) ||
	       claim_left(view, setup, false, false) ||
	       claim_left(view, setup, true, true) ||
	       claim_left(view, setup, false, true);
}

/* Makes the file long enough for the rings, and maps them. */
static int map_rings(struct sonde_arena_view *view)
{
	uint64_t end = view->rings_file_off + view->rings_bytes;
	struct stat st;
	void *rings;

	if (fstat(view->fd, &st))
		return -errno;
	if (st.st_size < (off_t)end && view->is_copied)
		return -EPROTO;
	/* A store to what the disk has no room for would be a signal. */
	if (view->is_file && !view->is_copied &&
	    fallocate(view->fd, 0, (off_t)view->rings_file_off,
		      (off_t)view->rings_bytes))
		return -EDQUOT;
	if (st.st_size < (off_t)end && ftruncate(view->fd, (off_t)end))
		return -errno;
	rings = map_part(view, view->rings_file_off, view->rings_bytes);
	if (rings == MAP_FAILED)
		return -errno;
	view->rings = rings;
	return 0;
}

/* Ids that were handed out stay what they are. */
static void count_ids(struct sonde_arena_view *view)
{
	uint32_t nr = sonde_arena_nr_entries(view);
	uint32_t nr_ids = 0;

	for (uint32_t i = 0; i < nr; i++)
		nr_ids += sonde_arena_event_id(view, i) != 0;
	view->first_id = sonde_load_relaxed(&view->slot->next_id) - nr_ids;
}

/* What its recorder told the slot, if there can be rings of that. */
static bool is_legible(const struct left *left)
{
	return left->mode <= SONDE_OVERWRITE && left->header <= SONDE_LARGE &&
	       left->clock <= SONDE_CLOCK_MONOTONIC &&
	       left->nr_cpus <= SONDE_CPUS_MAX &&
	       left->nr_lanes <= SONDE_LANES &&
	       left->nr_cpus + left->nr_lanes &&
	       left->subbuf_size <= SONDE_SUBBUF_MAX &&
	       left->nr_subbufs <= SONDE_SUBBUFS_MAX &&
	       left->stacks_depth <= SONDE_STACKS_DEPTH_MAX &&
	       left->contexts <= SONDE_CONTEXTS_KNOWN;
}

/* Its recorder was killed before it had read all of it. */
static bool is_unread(const struct sonde_arena_view *view, uint32_t i,
		      const struct left *left)
{
	uint64_t keep = sonde_load_relaxed(&slot_at(view, i)->keep);

	return left->mode < SONDE_COUNT && keep != SONDE_SLOT_LISTENS &&
	       (left->state == SONDE_SLOT_ACTIVE ||
		(left->state == SONDE_SLOT_STOPPED && keep != SONDE_SLOT_READ));
}

int sonde_arena_adopt(struct sonde_arena_view *view, uint32_t i,
		      struct sonde_arena_setup *ret_setup)
{
	struct left left = look_at(view, i);
	struct sonde_arena_setup setup = {
		.mode = left.mode,
		.header = left.header,
		.clock = left.clock,
		.geometry = { .nr_cpus = left.nr_cpus,
			      .nr_lanes = left.nr_lanes,
			      .subbuf_size = left.subbuf_size,
			      .nr_subbufs = left.nr_subbufs },
		.session = sonde_arena_slot_session(view, i),
		.stacks_depth = left.stacks_off ? left.stacks_depth : 0,
		.contexts = left.stacks_off ? left.contexts : 0,
	};
	int rc;

	if (is_locked(view->fd, SONDE_LOCK_SLOT + (int)i))
		return -EBUSY;
	if (!is_unread(view, i, &left))
		return -ENOENT;
	left.state = SONDE_SLOT_STOPPED; /* it is as good */
	left.filters = 0; /* who was asked to test them is gone */
	view->stacks_depth = setup.stacks_depth;
	view->contexts = setup.contexts;
	if (!is_legible(&left) || !is_reusable(view, i, &left, &setup, true) ||
	    view->rings_bytes > SONDE_SLOT_SPAN)
		return -EPROTO;
	rc = map_rings(view);
	if (rc)
		return rc;
	view->slot = slot_at(view, i);
	view->is_inherited = true;
	view->first_id = left.header == SONDE_LARGE ? SONDE_LARGE_FIRST_ID : 1;
	count_ids(view);
	*ret_setup = setup;
	return 0;
}

bool sonde_arena_is_of_another_boot(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;
	uint8_t boot[16];

	return view->is_file && (sonde_clock_boot_id(boot) ||
				 memcmp(boot, arena->boot, sizeof(boot)) != 0);
}

void sonde_arena_settle(struct sonde_arena_view *view)
{
	if (view->slot)
		sonde_store_relaxed(&view->slot->keep, SONDE_SLOT_READ);
}

void sonde_arena_remove(const struct sonde_arena_view *view)
{
	char path[PATH_MAX];
	struct stat st;

	/* It may have been moved, and another be there. */
	if (view->is_file && !sonde_fd_path(view->fd, path) &&
	    !lstat(path, &st) && st.st_dev == view->dev &&
	    st.st_ino == view->ino)
		(void)unlink(path);
}

static void fill_slot(struct sonde_arena_view *view,
		      const struct sonde_arena_setup *setup)
{
	struct sonde_arena *arena = (void *)view->meta;
	struct sonde_slot *slot = view->slot;
	uint32_t nr_rings = sonde_geometry_nr_rings(&view->geometry);

	if (view->is_file)
		(void)sonde_clock_boot_id(arena->boot); /* or it is none */
	slot->keep = setup->keeps   ? SONDE_SLOT_KEEP :
		     setup->listens ? SONDE_SLOT_LISTENS :
				      0;
	slot->mode = setup->mode;
	slot->header = setup->header;
	slot->clock = setup->clock;
	slot->nr_cpus = view->geometry.nr_cpus;
	slot->nr_lanes = view->geometry.nr_lanes;
	slot->subbuf_size = view->geometry.subbuf_size;
	slot->nr_subbufs = view->geometry.nr_subbufs;
	slot->ctl_off = view->rings_file_off;
	slot->data_off = view->rings_file_off + view->ctl_bytes;
	slot->session = setup->session;
	slot->filters = setup->filters;
	slot->stacks_off = stacks_off(view);
	slot->stacks_depth = (uint16_t)view->stacks_depth;
	slot->contexts = (uint16_t)view->contexts;
	if (view->stacks_depth)
		sonde_arena_stacks(view)->depth = view->stacks_depth;
	slot->resident = setup->resident < slot->nr_cpus ? setup->resident :
							   slot->nr_cpus;
	slot->lost_contended = 0;
	slot->lost_late = 0;
	if (view->is_resumed) {
		count_ids(view);
		return; /* the rings are for their reader to restart */
	}
	slot->next_id = view->first_id;
	for (uint32_t i = 0; i < nr_rings; i++)
		sonde_arena_ring(view, i)->limit = view->geometry.nr_subbufs;
}

int sonde_arena_configure(struct sonde_arena_view *view,
			  const struct sonde_arena_setup *setup)
{
	int rc;

	if (setup->rules_size > SONDE_RULES_MAX)
		return -E2BIG;
	if (setup->mode >= SONDE_COUNT && !view->can_count)
		return -ENXIO;
	view->is_resumed = false;
	view->is_inherited = false;
	view->stacks_depth = view->can_stack ? setup->stacks_depth : 0;
	view->contexts =
		view->stacks_depth ? setup->contexts & view->can_context : 0;
	if (!claim(view, setup))
		return -EBUSY;
	view->slot = slot_at(view, view->slot_index);
	view->first_id =
		setup->header == SONDE_LARGE ? SONDE_LARGE_FIRST_ID : 1;
	rc = map_rings(view);
	if (rc) {
		/* Pairs with claim_free of another recorder: the slot is as we
		 * found it. */
		if (!view->is_resumed && !view->is_inherited)
			sonde_store_release(&view->slot->state,
					    SONDE_SLOT_FREE);
		unlock_slot(view, view->slot_index);
		view->slot = NULL;
		return rc;
	}
	if (view->is_inherited)
		count_ids(view); /* all else is what it was */
	else
		fill_slot(view, setup);
	return 0;
}

/* ---- events ---- */

static struct sonde_entry *entry(const struct sonde_arena_view *view,
				 uint32_t index)
{
	struct sonde_entry *entries = (void *)(view->meta + SONDE_ENTRIES_OFF);

	return &entries[index];
}

bool sonde_arena_is_event(const struct sonde_arena_view *view, uint32_t index)
{
	/* Pairs with the store of entry.flags in publish: the entry is
	 * complete. */
	return sonde_load_acquire(&entry(view, index)->flags) &
	       SONDE_ENTRY_READY;
}

uint32_t sonde_arena_nr_events(const struct sonde_arena_view *view)
{
	uint32_t nr = sonde_arena_nr_entries(view);
	uint32_t nr_events = 0;

	for (uint32_t i = 0; i < nr; i++)
		nr_events += sonde_arena_is_event(view, i);
	return nr_events;
}

bool sonde_arena_is_alone(const struct sonde_arena_view *view)
{
	return view->is_watched && !is_locked(view->fd, SONDE_LOCK_PROCESS);
}

bool sonde_arena_is_held(const struct sonde_arena_view *view)
{
	return is_locked(view->fd, SONDE_LOCK_PROCESS);
}

void sonde_arena_stop(struct sonde_arena_view *view)
{
	if (view->slot)
		stop_slot(view, view->slot);
}

uint32_t sonde_arena_nr_entries(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;
	uint32_t nr = sonde_load_relaxed(&arena->nr_reserved);

	return nr < SONDE_EVENTS_MAX ? nr : SONDE_EVENTS_MAX;
}

uint32_t sonde_arena_event_id(const struct sonde_arena_view *view,
			      uint32_t index)
{
	/* Pairs with the store of ids[] in select_event: the entry is
	 * published. */
	return sonde_load_acquire(&view->slot->ids[index]);
}

uint32_t sonde_arena_pid(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return sonde_load_relaxed(&arena->pid);
}

void sonde_arena_name(const struct sonde_arena_view *view, char name[33])
{
	const struct sonde_arena *arena = (const void *)view->meta;
	size_t n = 0;

	for (; n < sizeof(arena->name); n++) {
		char c = sonde_load_relaxed(&arena->name[n]);

		if (!c)
			break;
		name[n] = (char)((c >= 'a' && c <= 'z') ||
						 (c >= 'A' && c <= 'Z') ||
						 (c >= '0' && c <= '9') ||
						 c == '-' || (c == '.' && n) ?
					 c :
					 '_');
	}
	name[n] = '\0';
}

uint32_t sonde_arena_nr_ids(const struct sonde_arena_view *view)
{
	return sonde_load_relaxed(&view->slot->next_id) - view->first_id;
}

uint64_t sonde_arena_nr_contended(const struct sonde_arena_view *view)
{
	return sonde_load_relaxed(&view->slot->lost_contended);
}

uint64_t sonde_arena_nr_late(const struct sonde_arena_view *view)
{
	return sonde_load_relaxed(&view->slot->lost_late);
}

uint64_t sonde_arena_nr_refused(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return sonde_load_relaxed(&arena->refused) - view->nr_refused_before;
}

uint64_t sonde_arena_mapped(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return sonde_load_relaxed(&arena->mapped);
}

uint32_t sonde_arena_nr_uncounted(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return sonde_load_relaxed(&arena->nr_uncounted);
}

uint32_t sonde_arena_nr_unreached(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return sonde_load_relaxed(&arena->nr_unreached);
}

uint32_t sonde_arena_resident(const struct sonde_arena_view *view)
{
	return sonde_load_relaxed(&view->slot->resident) >>
	       SONDE_RESIDENT_SHIFT;
}

uint32_t sonde_arena_nr_leaves(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;
	uint32_t nr = sonde_load_relaxed(&arena->nr_leaves);

	return nr < SONDE_LEAVES ? nr : SONDE_LEAVES;
}

struct sonde_leave sonde_arena_leave(const struct sonde_arena_view *view,
				     uint32_t i)
{
	const struct sonde_arena *arena = (const void *)view->meta;
	const struct sonde_leave *shared = &arena->leaves[i];
	/* Pairs with sonde_store_release in sonde_leave_note. */
	uint32_t why = sonde_load_acquire(&shared->why);
	struct sonde_leave copy = *shared;

	sonde_barrier();
	copy.why = why;
	copy.name[sizeof(copy.name) - 1] = '\0';
	return copy;
}

bool sonde_arena_is_unmapped(const struct sonde_arena_view *view)
{
	const struct sonde_arena *arena = (const void *)view->meta;

	return !view->is_found && sonde_arena_nr_refused(view) &&
	       sonde_load_relaxed(&arena->mapped) <= SONDE_META_SPAN;
}

bool sonde_arena_entry_conflicts(const struct sonde_arena_view *view,
				 uint32_t index)
{
	return sonde_load_relaxed(&entry(view, index)->flags) &
	       SONDE_ENTRY_CONFLICT;
}

int sonde_arena_copy_desc(struct sonde_arena_view *view, uint32_t index,
			  void *room, const struct sonde_desc **ret_desc)
{
	const struct sonde_entry *shared = entry(view, index);
	uint64_t offset;
	uint32_t size;

	/* Pairs with the store of entry.flags in publish: the entry and the
	 * description are complete. */
	if (!(sonde_load_acquire(&shared->flags) &
	      (SONDE_ENTRY_READY | SONDE_ENTRY_CONFLICT)))
		return -EAGAIN;
	offset = sonde_load_relaxed(&shared->desc_off);
	size = sonde_load_relaxed(&shared->desc_size);
	if (size > SONDE_DESC_MAX || offset < SONDE_DESCS_OFF ||
	    offset > SONDE_META_SPAN - size)
		return -EPROTO;
	if (size > view->desc_bytes_left)
		return -EPROTO;
	view->desc_bytes_left -= size;
	memcpy(room, view->meta + offset, size);
	sonde_barrier();
	return sonde_desc_check(room, size, ret_desc) ? -EPROTO : 0;
}

struct sonde_ring *sonde_arena_ring(const struct sonde_arena_view *view,
				    uint32_t i)
{
	return (struct sonde_ring *)(void *)view->rings + i;
}

struct sonde_stacks *sonde_arena_stacks(const struct sonde_arena_view *view)
{
	return view->stacks_depth ? (void *)(view->rings + view->stacks_at) :
				    NULL;
}

static uint64_t ring_offset(const struct sonde_arena_view *view, uint32_t i)
{
	return view->ctl_bytes + i * sonde_geometry_ring_bytes(&view->geometry);
}

unsigned char *sonde_arena_ring_data(const struct sonde_arena_view *view,
				     uint32_t i)
{
	return view->rings + ring_offset(view, i);
}

bool sonde_arena_read_row(const struct sonde_arena_view *view, uint32_t row,
			  uint64_t offset, void *to, size_t size)
{
	return pread(view->fd, to, size,
		     (off_t)(view->rings_file_off + ring_offset(view, row) +
			     offset)) == (ssize_t)size;
}

/* A page of cells at a time. By reads, for a look through the mapping would give
 * each hole memory. */
static void add_cells(const struct sonde_arena_view *view, uint32_t row,
		      uint32_t nr, uint64_t *sums)
{
	uint64_t cells[SONDE_SUBBUF_MIN / sizeof(uint64_t)];

	for (uint32_t first = 0; first < nr; first += SONDE_ARRAY_SIZE(cells)) {
		bool is_read = sonde_arena_read_row(view, row,
						    first * sizeof(cells[0]),
						    cells, sizeof(cells));

		for (uint32_t i = 0;
		     is_read && i < SONDE_ARRAY_SIZE(cells) && first + i < nr;
		     i++)
			sums[first + i] += cells[i];
	}
}

void sonde_arena_count(const struct sonde_arena_view *view, uint32_t nr,
		       uint64_t *ret_sums)
{
	memset(ret_sums, 0, nr * sizeof(*ret_sums));
	for (uint32_t i = 0; i < sonde_geometry_nr_rings(&view->geometry); i++)
		add_cells(view, i, nr, ret_sums);
}

static void subbufs_fallocate(const struct sonde_arena_view *view, int mode,
			      uint32_t i, uint32_t first, uint32_t nr)
{
	uint64_t size = view->geometry.subbuf_size;
	uint64_t offset =
		view->rings_file_off + ring_offset(view, i) + first * size;

	/* Best effort: without it, memory comes and goes later. */
	(void)fallocate(view->fd, mode, (off_t)offset, (off_t)(nr * size));
}

void sonde_arena_reserve(const struct sonde_arena_view *view, uint32_t i,
			 uint32_t first, uint32_t nr)
{
	subbufs_fallocate(view, FALLOC_FL_KEEP_SIZE, i, first, nr);
}

void sonde_arena_punch(const struct sonde_arena_view *view, uint32_t i,
		       uint32_t first, uint32_t nr)
{
	subbufs_fallocate(view, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, i,
			  first, nr);
}

void sonde_arena_close(struct sonde_arena_view *view)
{
	if (view->rings)
		(void)munmap(view->rings, view->rings_bytes);
	if (view->meta)
		(void)munmap(view->meta, SONDE_META_SPAN);
	if (view->fd >= 0)
		(void)close(view->fd); /* nothing is buffered */
	*view = (struct sonde_arena_view){ .fd = -1 };
}
