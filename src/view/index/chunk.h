/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - up to SONDE_VIEW_CHUNK states of a row in few bytes, so that an index
 * is small and a disk's page holds many.
 *
 * A state is one byte that says which *kind* it is of (a state and what goes with
 * it; a chunk has up to SONDE_VIEW_KINDS) and how many bytes its duration takes,
 * and these: four bytes for most. Each *group* of SONDE_VIEW_GROUP states can be
 * decoded alone, as far as one needs it: first come the bytes that say which kinds
 * and how many bytes, so that where a duration is hangs on no load of the one
 * before. For each group there is how long the row had been in each state by then,
 * since the chunk's begin.
 *
 *	u16 nr, states	how many; which states there are, as bits
 *	u8 nr_kinds, width	the latter: bytes of a sum, 4 or 8
 *	u16 size	of all of it, a multiple of 8
 *	kinds		what goes with them, 32 bits each; their states, 8 bits each
 *	groups		but the first: where it is in the data, 16 bits; its sums, of
 *			the states that there are
 *	data		groups: kind | (bytes - 1) << 5 of each state, then the durations
 *
 * All in this machine's byte order. Whoever decodes believes nothing: what is
 * wrong is no chunk, or no group.
 */
#ifndef VIEW_INDEX_CHUNK_H
#define VIEW_INDEX_CHUNK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "view/index/states.h"

#define SONDE_VIEW_CHUNK     256u
#define SONDE_VIEW_GROUP     32u
#define SONDE_VIEW_KIND_BITS 5
#define SONDE_VIEW_KINDS     (1u << SONDE_VIEW_KIND_BITS)
#define SONDE_VIEW_TIME_MAX  (((int64_t)1 << 55) - 1)
/* The most that a chunk takes, whatever is in it. */
#define SONDE_VIEW_CHUNK_BYTES 4096u
/* So many bytes behind a chunk must be there to be read, whatever they are: a
 * state is decoded, and then one sees whether it was sound. */
#define SONDE_VIEW_CHUNK_BEHIND (SONDE_VIEW_GROUP * 9 + 8)

struct sonde_view_kind {
	uint32_t about;
	uint8_t state;
};

/* One that states are added to. */
struct sonde_view_open {
	uint64_t sums[SONDE_VIEW_STATES]; /* at its begin */
	uint64_t *words;                  /* begin | kind << 56 */
	uint32_t nr, room, nr_kinds;
	struct sonde_view_kind kinds[SONDE_VIEW_KINDS];
};

#define SONDE_VIEW_TIME_BITS 56
#define SONDE_VIEW_TIME_MASK (((uint64_t)1 << SONDE_VIEW_TIME_BITS) - 1)

static inline int64_t sonde_view_open_begin(const struct sonde_view_open *open,
					    size_t i)
{
	return (int64_t)(open->words[i] & SONDE_VIEW_TIME_MASK);
}

static inline const struct sonde_view_kind *
sonde_view_open_kind(const struct sonde_view_open *open, size_t i)
{
	return &open->kinds[open->words[i] >> SONDE_VIEW_TIME_BITS];
}

/* The next state, from `begin` on. 0; -ENOSPC: it is full; -ENOMEM. */
int sonde_view_open_add(struct sonde_view_open *open, int64_t begin,
			uint8_t state, uint32_t about);
/* All of it, the last state ending at `end`; how many bytes that took. */
size_t sonde_view_open_encode(const struct sonde_view_open *open, int64_t end,
			      unsigned char to[SONDE_VIEW_CHUNK_BYTES]);

/* Bytes that may be a chunk. */
struct sonde_view_chunk {
	uint32_t nr, nr_kinds, width;
	uint32_t states; /* bits */
	const unsigned char *abouts, *kinds, *groups, *data, *end;
	size_t group_bytes;
};

/* States of a group, one after the other: where one stands. */
struct sonde_view_group {
	int64_t begin, end; /* the state's */
	uint32_t kind;      /* its number, of the chunk's */
	uint32_t left;      /* states behind it, and where they are: */
	const unsigned char *code, *duration;
};

/* `size`: how many bytes there are, not counting those behind. What its kinds are
 * isn't looked at: sums need none. */
bool sonde_view_chunk_parse(struct sonde_view_chunk *chunk,
			    const unsigned char *bytes, size_t size);
/* Whether all kinds are of states that there are: before a group is decoded. */
bool sonde_view_chunk_has_states(const struct sonde_view_chunk *chunk);
static inline uint32_t
sonde_view_chunk_groups(const struct sonde_view_chunk *chunk)
{
	return (chunk->nr + SONDE_VIEW_GROUP - 1) / SONDE_VIEW_GROUP;
}
/* How long after the chunk's begin the group begins. */
uint64_t sonde_view_chunk_passed(const struct sonde_view_chunk *chunk,
				 uint32_t group);
/* Adds that, by state. */
void sonde_view_chunk_sums(const struct sonde_view_chunk *chunk, uint32_t group,
			   uint64_t sums[SONDE_VIEW_STATES]);
/* The group's first state, which begins then. False: it isn't sound. */
bool sonde_view_chunk_group(const struct sonde_view_chunk *chunk,
			    uint32_t group, int64_t begin,
			    struct sonde_view_group *ret_group);
/* The next one. False: there is none, or it isn't sound. A picture spends most
 * of its time here. */
static inline bool sonde_view_group_next(const struct sonde_view_chunk *chunk,
					 struct sonde_view_group *group)
{
	unsigned int code;
	uint64_t duration;
	uint64_t end;

	if (!group->left)
		return false;
	group->left--;
	code = *group->code++;
	memcpy(&duration, group->duration, sizeof(duration));
	group->duration += 1 + (code >> SONDE_VIEW_KIND_BITS);
	/* its lower bytes, one to eight */
	duration = le64toh(duration) &
		   UINT64_MAX >> (56 - 8 * (code >> SONDE_VIEW_KIND_BITS));
	end = (uint64_t)group->end + duration;
	group->kind = code & (SONDE_VIEW_KINDS - 1);
	group->begin = group->end;
	group->end = (int64_t)end;
	return group->kind < chunk->nr_kinds && group->duration <= chunk->end &&
	       (end | duration) <= (uint64_t)SONDE_VIEW_TIME_MAX;
}
/* What goes with a kind. */
uint32_t sonde_view_chunk_about(const struct sonde_view_chunk *chunk,
				uint32_t kind);

#endif /* VIEW_INDEX_CHUNK_H */
