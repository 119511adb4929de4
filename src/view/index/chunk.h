/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - up to SONDE_VIEW_CHUNK states of a row in few bytes, so that an index
 * is small and a disk's page holds many.
 *
 * A state is a *code*, one byte that says which *kind* it is of (a state and what
 * goes with it; a chunk has up to SONDE_VIEW_KINDS) and how long its duration is, and
 * that, in so many nibbles: two and a half bytes for most. Kinds of which a chunk has
 * few states are *plain*: one for all of a state, and what goes with each stands
 * behind its duration. So a CPU that runs other threads each time has two kinds, and
 * where there are no more a code is a nibble.
 *
 * Each *group* of SONDE_VIEW_GROUP states can be decoded alone, as far as one needs
 * it: first come the codes, so that where a duration is hangs on no load of the one
 * before. For each group there is how long the row had been in each state by then,
 * since the chunk's begin.
 *
 *	u16 nr, states	how many; which states there are, as bits
 *	u8 nr_kinds	of which
 *	u8 plain	so many are plain, the last ones; above 4 bits: how many bytes
 *			what goes with any takes
 *	u16 size	of all of it, in words of 8 bytes; above 12 bits: bytes of a
 *			sum, 1 to 8
 *	kinds		what goes with those that aren't plain; the states of all, 8
 *			bits each
 *	groups		but the first: where it is in the data, 16 bits; how long
 *			after the chunk's begin it begins; its sums, of the states
 *			that there are but the lowest, which has the rest
 *	data		groups: kind | length << 5 of each state (nibbles: kind | length
 *			<< 1), then the durations; of a byte the lower nibble is first
 *
 * All in this machine's byte order, but for what is of any length, which begins with its
 * lowest byte. Whoever decodes believes nothing: what is wrong is no chunk, or no
 * group.
 */
#ifndef VIEW_INDEX_CHUNK_H
#define VIEW_INDEX_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/index/body.h"
#include "view/index/nibbles.h"
#include "view/index/states.h"

#define SONDE_VIEW_CHUNK     512u
#define SONDE_VIEW_GROUP     32u
#define SONDE_VIEW_KIND_BITS 5
#define SONDE_VIEW_KINDS     (1u << SONDE_VIEW_KIND_BITS)
/* Up to so many, codes are nibbles. */
#define SONDE_VIEW_PACKED_KINDS 2u
#define SONDE_VIEW_TIME_MAX     (((int64_t)1 << 55) - 1)
/* The most that a chunk takes, whatever is in it. */
#define SONDE_VIEW_CHUNK_BYTES 8192u

/* One that states are added to. */
struct sonde_view_open {
	uint64_t sums[SONDE_VIEW_STATES]; /* at its begin */
	uint64_t *words;                  /* begin | state << 56 */
	uint32_t *abouts;                 /* what goes with it */
	uint32_t nr, words_room, abouts_room;
};

#define SONDE_VIEW_TIME_BITS 56
#define SONDE_VIEW_TIME_MASK (((uint64_t)1 << SONDE_VIEW_TIME_BITS) - 1)

static inline int64_t sonde_view_open_begin(const struct sonde_view_open *open,
					    size_t i)
{
	return (int64_t)(open->words[i] & SONDE_VIEW_TIME_MASK);
}

static inline uint8_t sonde_view_open_state(const struct sonde_view_open *open,
					    size_t i)
{
	return (uint8_t)(open->words[i] >> SONDE_VIEW_TIME_BITS);
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
	uint32_t first_plain; /* kind */
	uint32_t about_nibbles;
	bool is_packed;  /* codes are nibbles */
	uint32_t states; /* bits */
	const unsigned char *abouts, *kinds, *groups, *data;
	size_t data_bytes, group_bytes;
};

/* States of a group, one after the other: where one stands. */
struct sonde_view_group {
	int64_t begin, end; /* the state's */
	uint32_t kind;      /* its number, of the chunk's */
	uint32_t left;      /* states behind it, and where they are: */
	uint32_t i;         /* the next one's number */
	size_t at;          /* the nibble of the data */
	const unsigned char *codes;
};

static inline uint32_t sonde_view_codes_bytes(uint32_t nr_kinds, uint32_t nr)
{
	return nr_kinds <= SONDE_VIEW_PACKED_KINDS ? (nr + 1) / 2 : nr;
}

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
/* A sum of the group, which isn't the first: the i-th that it has, or, as number 0,
 * all that has passed. Eight bytes are there from any of them on. */
static inline uint64_t
sonde_view_chunk_sum(const struct sonde_view_chunk *chunk, uint32_t group,
		     uint32_t i)
{
	uint64_t sum;

	memcpy(&sum,
	       chunk->groups + (group - 1) * chunk->group_bytes + 2 +
		       (size_t)i * chunk->width,
	       sizeof(sum));
	return le64toh(sum) & UINT64_MAX >> (64 - 8 * chunk->width);
}
/* How long after the chunk's begin the group begins. */
static inline uint64_t
sonde_view_chunk_passed(const struct sonde_view_chunk *chunk, uint32_t group)
{
	return group ? sonde_view_chunk_sum(chunk, group, 0) : 0;
}
/* Adds that, by state. */
void sonde_view_chunk_sums(const struct sonde_view_chunk *chunk, uint32_t group,
			   uint64_t sums[SONDE_VIEW_STATES]);
/* A group that is about to be decoded. */
void sonde_view_chunk_fetch(const struct sonde_view_chunk *chunk,
			    uint32_t group);
/* The group's first state, which begins then. False: it isn't sound. */
bool sonde_view_chunk_group(const struct sonde_view_chunk *chunk,
			    uint32_t group, int64_t begin,
			    struct sonde_view_group *ret_group);
/* The next one, of a chunk whose codes are nibbles, or aren't: a constant, for a
 * picture spends most of its time here. */
static inline bool sonde_view_group_step(const struct sonde_view_chunk *chunk,
					 struct sonde_view_group *group,
					 bool is_packed)
{
	const unsigned int kind_bits = is_packed ? 1 : SONDE_VIEW_KIND_BITS;
	unsigned int code;
	unsigned int nibbles;
	uint64_t duration;
	uint64_t end;

	if (!group->left)
		return false;
	group->left--;
	code = is_packed ? group->codes[group->i / 2] >> group->i % 2 * 4 :
			   group->codes[group->i];
	group->i++;
	nibbles = sonde_view_nibbles(code >> kind_bits);
	duration = sonde_view_load_nibbles(chunk->data, group->at, nibbles);
	end = (uint64_t)group->end + duration;
	group->kind = code & ((1u << kind_bits) - 1);
	group->at += nibbles;
	if (group->kind >= chunk->first_plain)
		group->at += chunk->about_nibbles;
	group->begin = group->end;
	group->end = (int64_t)end;
	return group->kind < chunk->nr_kinds &&
	       group->at <= 2 * chunk->data_bytes &&
	       (end | duration) <= (uint64_t)SONDE_VIEW_TIME_MAX;
}
/* The next one. False: there is none, or it isn't sound. */
static inline bool sonde_view_group_next(const struct sonde_view_chunk *chunk,
					 struct sonde_view_group *group)
{
	return chunk->is_packed ? sonde_view_group_step(chunk, group, true) :
				  sonde_view_group_step(chunk, group, false);
}
/* What goes with the state that it stands on. */
uint32_t sonde_view_chunk_about(const struct sonde_view_chunk *chunk,
				const struct sonde_view_group *group);

#endif /* VIEW_INDEX_CHUNK_H */
