/* SPDX-License-Identifier: MIT */
/*
 * pad_memory.h - memory for pads, where jumps reach and puns lead.
 *
 * One memory file of ours is mapped piece by piece where pads are wanted:
 * chunks near each mapping for those that may be anywhere within reach, single
 * pages where a punned displacement leads. Nothing is given back while the
 * process lives: a thread may be there.
 *
 * A chunk is some pages of address space; it takes memory by the page, as it
 * is used. A pun's place that has no room for a pad gets a jump to one.
 *
 * Not taken: what is below vm.mmap_min_addr, right below the stack, right
 * above the heap, and next to what others have mapped.
 */
#ifndef PROBE_INJECT_PAD_MEMORY_H
#define PROBE_INJECT_PAD_MEMORY_H

#include "probe/inject/process.h"
#include "probe/inject/window.h"

struct sonde_pad_memory;

int sonde_pad_memory_new(struct sonde_process *process,
			 struct sonde_pad_memory **ret_memory);
void sonde_pad_memory_free(struct sonde_pad_memory *memory);

struct sonde_pad_room {
	uint64_t entry; /* what the window's jump leads to: this or a jump to */
	uint64_t there; /* the room's address in the process, and */
	uint8_t *here;  /* where to write it */
};

/*
 * Room for `size` bytes that the window's jump can lead to (mask and value are
 * kept to, whatever the kind is; a FREE one should have none). 0; -ENOSPC
 * (there is none: a pun's places are taken), -ENOMEM, or what the process says
 * (-EPIPE ...).
 */
int sonde_pad_memory_take(struct sonde_pad_memory *memory,
			  const struct sonde_window *window, size_t size,
			  struct sonde_pad_room *ret_place);

/* ---- for tests ---- */

/* The lowest displacement of at least `from` that has `value` under `mask`;
 * false if there is none. */
bool sonde_pad_memory_candidate(uint32_t mask, uint32_t value, int32_t from,
				int32_t *ret_displacement);

#endif /* PROBE_INJECT_PAD_MEMORY_H */
