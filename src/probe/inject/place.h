/* SPDX-License-Identifier: MIT */
/*
 * place.h - memory for pads, where jumps reach and puns lead.
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
#ifndef PROBE_INJECT_PLACE_H
#define PROBE_INJECT_PLACE_H

#include "probe/inject/process.h"
#include "probe/inject/window.h"

struct sonde_places;

int sonde_places_new(struct sonde_process *process,
		     struct sonde_places **ret_places);
void sonde_places_free(struct sonde_places *places);

struct sonde_inject_place {
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
int sonde_places_take(struct sonde_places *places,
		      const struct sonde_window *window, size_t size,
		      struct sonde_inject_place *ret_place);

/* ---- for tests ---- */

/* The lowest displacement of at least `from` that has `value` under `mask`;
 * false if there is none. */
bool sonde_place_candidate(uint32_t mask, uint32_t value, int32_t from,
			   int32_t *ret_displacement);

#endif /* PROBE_INJECT_PLACE_H */
