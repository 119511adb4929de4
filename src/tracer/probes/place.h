/* SPDX-License-Identifier: MIT */
/*
 * place.h - memory for pads, where jumps reach and puns lead.
 *
 * One memory file of ours is mapped piece by piece where pads are wanted:
 * chunks near each mapping for those that may be anywhere within reach, single
 * pages where a punned displacement leads. Nothing is given back while the
 * process lives: a thread may be there.
 */
#ifndef TRACER_PROBES_PLACE_H
#define TRACER_PROBES_PLACE_H

#include "tracer/probes/process.h"
#include "tracer/probes/window.h"

struct sonde_places;

int sonde_places_new(struct sonde_process *process,
		     struct sonde_places **ret_places);
void sonde_places_free(struct sonde_places *places);

/*
 * Room for `size` bytes whose start the window's jump can lead to (by kind,
 * mask and value; any other kind: within reach). *ret_here is where to write
 * them. 0; -ENOSPC (there is none: a pun's place is taken), -ENOMEM.
 */
int sonde_places_take(struct sonde_places *places,
		      const struct sonde_window *window, size_t size,
		      uint64_t *ret_there, uint8_t **ret_here);

#endif /* TRACER_PROBES_PLACE_H */
