/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the arena that we make for a process, so that the agent's records
 * are recorded (arena.h).
 *
 * The process can write to all of it: what matters here is copied and checked
 * once, after the recorder has set it up. Order: open, add for each event,
 * close.
 */
#include "probe/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/layout.h"
#include "tracer/arena_file.h"
#include "tracer/entries.h"
#include "tracer/handshake.h"

#define SHOWN_BYTES 4096u

static struct sonde_arena *header(const struct sonde_probe_arena *arena)
{
	return (struct sonde_arena *)(void *)arena->here;
}

static int probe_arena_make_file(struct sonde_probe_arena *arena,
				 struct sonde_process *process)
{
	const struct sonde_agent *agent = sonde_process_agent(process);
	enum sonde_writer_kind writer =
		agent->rseq_offset ? SONDE_WRITER_RSEQ : SONDE_WRITER_LANES;
	void *here;

	arena->fd = sonde_arena_file_new(NULL);
	if (arena->fd < 0)
		return -ENOMEM;
	here = mmap(NULL, SONDE_META_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED,
		    arena->fd, 0);
	if (here == MAP_FAILED)
		return -errno;
	arena->here = here;
	arena->size = SONDE_META_SPAN;
	header(arena)->abilities = SONDE_ARENA_IS_ONCE | SONDE_ARENA_CAN_STACK |
				   SONDE_ARENA_CAN_COUNT;
	sonde_arena_file_begin(here, writer,
			       (uint32_t)sonde_process_pid(process),
			       SONDE_META_SPAN);
	return 0;
}

/* The recorder has made the file longer. */
static int map_all(struct sonde_probe_arena *arena,
		   struct sonde_process *process)
{
	struct stat st;
	void *here;
	int rc;

	if (fstat(arena->fd, &st))
		return -errno;
	here = mremap(arena->here, arena->size, (size_t)st.st_size,
		      MREMAP_MAYMOVE);
	if (here == MAP_FAILED)
		return -errno;
	arena->here = here;
	arena->size = (size_t)st.st_size;
	rc = sonde_process_map(process, arena->fd, 0, arena->size,
			       PROT_READ | PROT_WRITE, 0, &arena->there);
	if (rc)
		return rc;
	header(arena)->mapped = arena->size;
	return 0;
}

/* Of one that has rings. */
static bool has_good_rings(const struct sonde_slot *slot)
{
	return slot->subbuf_size >= SONDE_SUBBUF_MIN &&
	       slot->subbuf_size <= SONDE_SUBBUF_MAX &&
	       slot->nr_subbufs >= SONDE_SUBBUFS_MIN &&
	       slot->nr_subbufs <= SONDE_SUBBUFS_MAX &&
	       (slot->nr_cpus + slot->nr_lanes) * sizeof(struct sonde_ring) <=
		       slot->data_off - slot->ctl_off;
}

/* The first active slot, which is our recorder's: nobody else has the file. */
static int copy_slot(struct sonde_probe_arena *arena)
{
	const struct sonde_slot *slots =
		(const void *)(arena->here + SONDE_SLOTS_OFF);
	struct sonde_slot slot;
	uint64_t end;

	/* Pairs with sonde_store_release in sonde_arena_begin. */
	if (sonde_load_acquire(&slots[0].state) != SONDE_SLOT_ACTIVE)
		return -EPROTO;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it is mapped */
	memcpy(&slot, &slots[0], offsetof(struct sonde_slot, rules));
	slot.stacks_off = slots[0].stacks_off;
	slot.stacks_depth = slots[0].stacks_depth;
	sonde_barrier();
	end = sonde_slot_end(&slot);
	if (slot.nr_cpus > SONDE_AGENT_CPUS_MAX || slot.nr_lanes > 4096 ||
	    slot.data_off > arena->size || end > arena->size ||
	    slot.ctl_off > slot.data_off ||
	    (slot.mode < SONDE_COUNT && !has_good_rings(&slot)))
		return -EPROTO;
	arena->nr_rings =
		slot.mode < SONDE_COUNT ? slot.nr_cpus + slot.nr_lanes : 0;
	arena->subbuf_size = slot.subbuf_size;
	arena->nr_subbufs = slot.nr_subbufs;
	arena->ctl_off = slot.ctl_off;
	arena->data_off = slot.data_off;
	return 0;
}

/*
 * A page of the file in the process, while the recorder lets it in: by that it
 * knows that the process still executes what the arena is of, and reads where
 * the program's files are (session/mappings.h). It may end soon.
 */
static int show_arena(const struct sonde_probe_arena *arena,
		      struct sonde_process *process,
		      struct sonde_remote_call *ret_hide)
{
	uint64_t there = 0;
	int rc = sonde_process_map(process, arena->fd, 0, SHOWN_BYTES,
				   PROT_READ, 0, &there);

	*ret_hide = (struct sonde_remote_call){
		.number = SYS_munmap,
		.args = { there, SHOWN_BYTES },
	};
	return rc;
}

int sonde_probe_arena_open(struct sonde_probe_arena *arena,
			   struct sonde_process *process,
			   const struct sonde_child *child,
			   const char **ret_what)
{
	struct sonde_probe_arena made = { .fd = -1 };
	struct sonde_remote_call hide;
	int rc;

	*ret_what = "making memory for records";
	rc = probe_arena_make_file(&made, process);
	if (!rc)
		rc = show_arena(&made, process, &hide);
	if (!rc) {
		rc = sonde_handshake(child->name, made.fd,
				     (uint32_t)sonde_process_pid(process),
				     SONDE_PROBE_RECORDER_NS);
		*ret_what = rc == -ENOTCONN ?
				    "no answer from the recorder, which may be "
				    "stopped, or killed" :
				    "being let in by the recorder";
		/* If that fails, it goes with the process. */
		(void)sonde_process_call(process, &hide, 1);
	}
	if (!rc) {
		*ret_what = "mapping memory for records";
		rc = map_all(&made, process);
	}
	if (!rc)
		rc = copy_slot(&made);
	if (rc)
		sonde_probe_arena_close(&made, process, true);
	else
		*arena = made;
	return rc;
}

int sonde_probe_arena_add(struct sonde_probe_arena *arena,
			  const struct sonde_desc *desc, uint32_t *ret_index)
{
	uint64_t refused = header(arena)->refused;

	if (sonde_entries_add(arena->here, desc, ret_index))
		return 0;
	return header(arena)->refused == refused ? -EEXIST : -ENOSPC;
}

int sonde_probe_arena_add_one(struct sonde_probe_arena *arena,
			      const struct sonde_desc *desc,
			      uint32_t *ret_index)
{
	return sonde_entries_add_one(arena->here, desc, ret_index) ? 0 :
								     -ENOSPC;
}

static uint64_t ring_records(const struct sonde_probe_arena *arena, uint32_t i)
{
	const struct sonde_ring *rings =
		(const void *)(arena->here + arena->ctl_off);
	uint64_t w = sonde_load_relaxed(&rings[i].w);
	uint64_t index = (uint64_t)i * arena->nr_subbufs +
			 (sonde_w_seq(w) & (arena->nr_subbufs - 1));
	const struct sonde_subbuf *head =
		(const void *)(arena->here + arena->data_off +
			       index * arena->subbuf_size);

	return w ? sonde_load_relaxed(&head->events) + sonde_w_count(w) : 0;
}

void sonde_probe_arena_count(const struct sonde_probe_arena *arena,
			     uint64_t *ret_records, uint64_t *ret_discarded)
{
	const struct sonde_slot *slots =
		(const void *)(arena->here + SONDE_SLOTS_OFF);
	const struct sonde_ring *rings =
		(const void *)(arena->here + arena->ctl_off);
	uint64_t discarded = sonde_load_relaxed(&slots[0].lost_contended);
	uint64_t records = 0;

	for (uint32_t i = 0; i < arena->nr_rings; i++) {
		records += ring_records(arena, i);
		discarded += sonde_load_relaxed(&rings[i].discarded_full);
		discarded += sonde_load_relaxed(&rings[i].discarded_size);
	}
	*ret_records = records;
	*ret_discarded = discarded;
}

void sonde_probe_arena_close(struct sonde_probe_arena *arena,
			     struct sonde_process *process, bool unmap)
{
	struct sonde_remote_call call = {
		.number = SYS_munmap,
		.args = { arena->there, arena->size },
	};

	/* If that fails, it goes with the process. */
	if (unmap && arena->there)
		(void)sonde_process_call(process, &call, 1);
	if (arena->here)
		(void)munmap(arena->here, arena->size);
	if (arena->fd >= 0)
		(void)close(arena->fd); /* all is mapped */
	*arena = (struct sonde_probe_arena){ .fd = -1 };
}
