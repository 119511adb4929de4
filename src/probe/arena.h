/* SPDX-License-Identifier: MIT */
/*
 * arena.h - the arena that we make for a process (ring/layout.h), so that the
 * agent's records go into a recording like any other program's.
 *
 *	open	a memory file; mapped here; presented to the recording child on
 *		behalf of the process; mapped whole here and there
 *	add	an event's description becomes an entry, and is selected
 *	close	unmapped here, and there if nobody there can still be using it
 *
 * The process can write to all of it: what we have to know is copied and
 * checked when the recorder has set it up, and all else is only counted.
 */
#ifndef PROBE_ARENA_H
#define PROBE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "probe/inject/process.h"
#include "session/child.h"

/* How long the recorder may take to answer: it is the tool that waits, not the
 * program; and the servant waits for the tool, SONDE_SERVANT_PATIENCE_MS. */
#define SONDE_PROBE_RECORDER_NS 4000000000ull

struct sonde_probe_arena {
	int fd; /* -1: there is none */
	unsigned char *here;
	uint64_t there; /* in the process; 0: not mapped */
	size_t size;
	/* copies of what the recorder set up */
	uint32_t nr_rings, subbuf_size, nr_subbufs; /* no rings: it counts */
	uint64_t ctl_off, data_off;
};

/* 0 or -errno with *ret_what failed. The child must be ready. */
int sonde_probe_arena_open(struct sonde_probe_arena *arena,
			   struct sonde_process *process,
			   const struct sonde_child *child,
			   const char **ret_what);
/* 0 and the entry's index; -EEXIST (another event has that name), -ENOSPC. */
int sonde_probe_arena_add(struct sonde_probe_arena *arena,
			  const struct sonde_desc *desc, uint32_t *ret_index);
/* The same of one of several events of that name. */
int sonde_probe_arena_add_one(struct sonde_probe_arena *arena,
			      const struct sonde_desc *desc,
			      uint32_t *ret_index);
/* Records in its rings since it was made, and those that were discarded. Only
 * what the process says. */
void sonde_probe_arena_count(const struct sonde_probe_arena *arena,
			     uint64_t *ret_records, uint64_t *ret_discarded);
/* `unmap`: there, too. */
void sonde_probe_arena_close(struct sonde_probe_arena *arena,
			     struct sonde_process *process, bool unmap);

#endif /* PROBE_ARENA_H */
