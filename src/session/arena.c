/* SPDX-License-Identifier: MIT */
#include "session/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/port.h"
#include "event/desc.h"
#include "ring/control.h"

#define PAGE_BYTES 65536ull /* a multiple of every machine's page */

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

int sonde_arena_check(const struct sonde_arena *header)
{
	if (header->magic != SONDE_ARENA_MAGIC)
		return -EPROTO;
	if (header->version != SONDE_ARENA_VERSION)
		return -EPROTONOSUPPORT;
	if (header->writer != SONDE_WRITER_RSEQ &&
	    header->writer != SONDE_WRITER_LANES)
		return -EPROTO;
	return 0;
}

/* Nothing but a tmpfs file that is sealed against shrinking will do: any other
 * can be cut while we look at it, or makes us wait. */
static int check_file(int fd, struct stat *ret_stat)
{
	struct statfs fs;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EBADF;
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return -EBADF;
	if (fstat(fd, ret_stat) || !S_ISREG(ret_stat->st_mode))
		return -EBADF;
	if (ret_stat->st_size < (off_t)SONDE_META_SPAN)
		return -EPROTO;
	return 0;
}

/* Locks the open file the process shares with us, and replaces it by one of
 * our own. */
static int reopen(int fd, bool *ret_is_watched)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[48];
	int own;

	*ret_is_watched = false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return fd;
	*ret_is_watched = !fcntl(fd, F_OFD_SETLK, &lock);
	(void)close(fd); /* the process has it */
	return own;
}

static int map_meta(struct sonde_arena_view *view)
{
	struct sonde_arena header;
	void *meta = mmap(NULL, SONDE_META_SPAN, PROT_READ | PROT_WRITE,
			  MAP_SHARED, view->fd, 0);

	if (meta == MAP_FAILED)
		return -errno;
	view->meta = meta;
	memcpy(&header, meta, sizeof(header));
	sonde_barrier();
	view->lanes_only = header.writer == SONDE_WRITER_LANES;
	return sonde_arena_check(&header);
}

int sonde_arena_open(int fd, struct sonde_arena_view *ret_view)
{
	struct sonde_arena_view view = {
		.fd = fd,
		.desc_bytes_left = SONDE_META_SPAN,
		.ask_bytes_left = 2 * SONDE_META_SPAN,
	};
	struct stat st;
	int rc = check_file(fd, &st);

	if (rc)
		goto fail;
	view.dev = st.st_dev;
	view.ino = st.st_ino;
	view.fd = reopen(fd, &view.is_watched);
	rc = map_meta(&view);
	if (rc)
		goto fail;
	*ret_view = view;
	return 0;
fail:
	sonde_arena_close(&view);
	return rc;
}

static struct sonde_slot *claim(struct sonde_arena_view *view,
				uint32_t *ret_index)
{
	struct sonde_slot *slots = (void *)(view->meta + SONDE_SLOTS_OFF);

	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		/* Pairs with claim of another recorder: one of us has it. */
		if (sonde_cmpxchg_acquire(&slots[i].state, SONDE_SLOT_FREE,
					  SONDE_SLOT_CLAIMED)) {
			*ret_index = i;
			return &slots[i];
		}
	}
	return NULL;
}

/* Makes the file long enough for the rings, and maps them. */
static int map_rings(struct sonde_arena_view *view)
{
	const struct sonde_geometry *geometry = &view->geometry;
	uint32_t nr_rings = sonde_geometry_nr_rings(geometry);
	uint64_t end;
	struct stat st;
	void *rings;

	view->ctl_bytes =
		round_up(nr_rings * sizeof(struct sonde_ring), PAGE_BYTES);
	view->rings_file_off =
		SONDE_META_SPAN + view->slot_index * SONDE_SLOT_SPAN;
	view->rings_bytes = view->ctl_bytes +
			    nr_rings * sonde_geometry_ring_bytes(geometry);
	end = view->rings_file_off + view->rings_bytes;
	if (fstat(view->fd, &st))
		return -errno;
	if (st.st_size < (off_t)end && ftruncate(view->fd, (off_t)end))
		return -errno;
	rings = mmap(NULL, view->rings_bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED, view->fd, (off_t)view->rings_file_off);
	if (rings == MAP_FAILED)
		return -errno;
	view->rings = rings;
	return 0;
}

static void activate(const struct sonde_arena_view *view,
		     const struct sonde_arena_setup *setup)
{
	struct sonde_slot *slot = view->slot;
	uint32_t nr_rings = sonde_geometry_nr_rings(&view->geometry);

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
	slot->loglevel = setup->loglevel;
	memcpy(slot->rules, setup->rules, setup->rules_size);
	slot->next_id = view->first_id;
	for (uint32_t i = 0; i < nr_rings; i++)
		sonde_arena_ring(view, i)->limit = view->geometry.nr_subbufs;
	/* Pairs with the load of slot.state in select_event: a process that
	 * sees the slot active sees all of the above. */
	sonde_store_release(&slot->state, SONDE_SLOT_ACTIVE);
}

int sonde_arena_configure(struct sonde_arena_view *view,
			  const struct sonde_arena_setup *setup)
{
	int rc;

	if (setup->rules_size > SONDE_RULES_MAX)
		return -E2BIG;
	view->slot = claim(view, &view->slot_index);
	if (!view->slot)
		return -EBUSY;
	view->geometry = setup->geometry;
	view->first_id =
		setup->header == SONDE_LARGE ? SONDE_LARGE_FIRST_ID : 1;
	rc = map_rings(view);
	if (rc) {
		/* Pairs with claim of another recorder: the slot is as we
		 * found it. */
		sonde_store_release(&view->slot->state, SONDE_SLOT_FREE);
		view->slot = NULL;
		return rc;
	}
	activate(view, setup);
	return 0;
}

bool sonde_arena_is_alone(const struct sonde_arena_view *view)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return view->is_watched && !fcntl(view->fd, F_OFD_GETLK, &lock) &&
	       lock.l_type == F_UNLCK;
}

void sonde_arena_stop(struct sonde_arena_view *view)
{
	struct sonde_control control;
	uint32_t nr;

	if (!view->slot)
		return;
	control = sonde_control_view(view->meta);
	/* Pairs with the load of slot.state in derive: no event is enabled for
	 * this slot from now on. */
	sonde_store_release(&view->slot->state, SONDE_SLOT_STOPPED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	nr = sonde_arena_nr_entries(view);
	for (uint32_t i = 0; i < nr; i++)
		sonde_control_refresh(&control, i);
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

	return sonde_load_relaxed(&arena->refused);
}

static struct sonde_entry *entry(const struct sonde_arena_view *view,
				 uint32_t index)
{
	struct sonde_entry *entries = (void *)(view->meta + SONDE_ENTRIES_OFF);

	return &entries[index];
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

static uint64_t ring_offset(const struct sonde_arena_view *view, uint32_t i)
{
	return view->ctl_bytes + i * sonde_geometry_ring_bytes(&view->geometry);
}

unsigned char *sonde_arena_ring_data(const struct sonde_arena_view *view,
				     uint32_t i)
{
	return view->rings + ring_offset(view, i);
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
