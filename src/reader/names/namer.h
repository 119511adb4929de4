/* SPDX-License-Identifier: MIT */
/*
 * namer.h - asks for names (reader/symbols.h) in a process of their own.
 *
 * A trace can name any file, and libelf and libdw read what is in it: they have
 * been made to crash and to loop before. So that is done in a child by fork,
 * whose memory and time are limited, and what it answers is checked. If it dies
 * or is silent for too long, the file that was asked about names nothing from
 * then on, and another child is made for the others.
 *
 * The child lives until the namer is freed, or its maker has ended, and keeps
 * what it has read of files. One thread at a time; some 20 us a question.
 */
#ifndef READER_NAMES_NAMER_H
#define READER_NAMES_NAMER_H

#include <stdbool.h>
#include <stddef.h>

#include "reader/symbols.h"

enum sonde_namer_kind {
	SONDE_NAMER_CODE,
	SONDE_NAMER_VARIABLE,
};

struct sonde_namer;

/* No process is made before the first question. NULL without memory. */
struct sonde_namer *sonde_namer_new(void);
/* For a maker with one thread that waits for children of its own: no signal tells
 * of the child's end, and waiting for any child doesn't see it. Before the first
 * question. */
void sonde_namer_hide(struct sonde_namer *namer);
void sonde_namer_free(struct sonde_namer *namer);

/* What is at the address; what it lacks if it has no name. */
void sonde_namer_ask(struct sonde_namer *namer, enum sonde_namer_kind kind,
		     const struct sonde_symbols_place *place, uint64_t address,
		     struct sonde_naming *ret_naming);

/* The variable with the address in it, as "NAME" or "NAME+0x8", the name cut to
 * what fits `size`, 64 or more; false if there is none. */
bool sonde_namer_variable(struct sonde_namer *namer,
			  const struct sonde_symbols_place *place,
			  uint64_t address, char *to, size_t size);

#endif /* READER_NAMES_NAMER_H */
