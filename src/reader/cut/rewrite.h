/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - a packet made of another one's head and some of its events.
 *
 * Where an event is in a packet matters: after its header's alignment, inner
 * alignments put gaps between its fields, and a number that doesn't begin at a
 * byte has its bits elsewhere. If the new place is the same as the old one
 * modulo all alignments of its class (and of a byte), its bytes are copied;
 * otherwise it is copied value by value, each to its own aligned place.
 */
#ifndef READER_CUT_REWRITE_H
#define READER_CUT_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/reader.h"

struct sonde_rewrite {
	const struct sonde_source *source;
	uint8_t *data;
	uint64_t room;           /* bytes, without what loads may look at */
	uint64_t head_bits, end; /* bits */
	/* by event class: what its place is taken modulo; 0: not known yet */
	uint32_t *moduli;
};

/* 0 or -ENOMEM. */
int sonde_rewrite_init(struct sonde_rewrite *rewrite,
		       const struct sonde_trace *trace);
void sonde_rewrite_fini(struct sonde_rewrite *rewrite);

/* A packet with the head at `data`, and nothing else. -ENOMEM. */
int sonde_rewrite_begin(struct sonde_rewrite *rewrite,
			const struct sonde_source *source, const uint8_t *data,
			uint64_t head_bits);
/* Appends an event. stamp: with its own time set to `ticks`. -ENOMEM;
 * -ENOTSUP: the time can't be set. */
int sonde_rewrite_event(struct sonde_rewrite *rewrite,
			const struct sonde_event *event, bool stamp,
			uint64_t ticks);
/* Zeros up to the size of the packet; `end` stays. -ENOMEM. */
int sonde_rewrite_pad(struct sonde_rewrite *rewrite, uint64_t size);
/* Sets a number of the head. 0; -ENOENT: there is none with this role;
 * -ENOTSUP: it is of variable length; -ERANGE: the value doesn't fit. */
int sonde_rewrite_set(struct sonde_rewrite *rewrite, enum sonde_role role,
		      uint64_t value);

/* How many bits of its time an event's header tells; 64: all, or none. */
unsigned int sonde_rewrite_time_bits(const struct sonde_event *event);

#endif /* READER_CUT_REWRITE_H */
