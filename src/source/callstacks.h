/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * callstacks.h - what a process has kept of call stacks (ring/stacks.h), as
 * events of the trace:
 *
 *	sonde:stack	{image, number, end, frames}
 *		the stack that events of the image (the stream class) have as
 *		`number`; `end` is enum sonde_stacks_end; frames are addresses,
 *		the innermost first, each that a call returns to, or with the
 *		highest bit set that of an instruction
 *	sonde:stacks_lost	{image, nr}
 *		so many events had stacks for which there was no room
 *
 * A stack is told once to a trace. A process may be hostile: a stack is copied
 * once, and bounded.
 *
 * What the recorder itself keeps, of events as it reads them, is in a store: two
 * tables of stacks, one of which is filled. A turn empties the other, which is
 * filled from then on; its numbers follow those of the first. So what is read for
 * a chunk or a snapshot that begins with a turn is in tables that have nothing of
 * those before it, however long the session lasts; and as long as there is no
 * second turn, what is read for the chunk that ends is in one of the two. Events that
 * have their numbers already get others after a turn (renew).
 */
#ifndef SOURCE_CALLSTACKS_H
#define SOURCE_CALLSTACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/stacks.h"
#include "source/statedump/packets.h"
#include "types/build.h"

/* Room for stacks as deep as there are; NULL: no memory. As much of it is used
 * as there are stacks. */
struct sonde_stacks *sonde_callstacks_new(void);
/* NULL is fine. */
void sonde_callstacks_free(struct sonde_stacks *stacks);

/* A stack in the making, of what the kernel gives: its own frames, then a
 * program's. Zeros are none; `frames` needn't be. */
struct sonde_callstacks_chain {
	uint32_t nr;
	enum sonde_stacks_end end;
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
};

/* `is_exact`: an instruction is there, or else a call returns there. False: the
 * chain ends before it, and why is in `end`: it is 0, the caller of what has none;
 * no code can be there; or there is no room. */
bool sonde_callstacks_add(struct sonde_callstacks_chain *chain,
			  uint64_t address, bool is_kernel, bool is_exact);
/* Its number (ring/stacks.h); 0: it has no frames, or no room. */
uint32_t sonde_callstacks_keep(struct sonde_stacks *stacks,
			       const struct sonde_callstacks_chain *chain);

/* The recorder's own, of events that it reads. */
struct sonde_callstacks_store {
	struct sonde_stacks *tables[2];
	uint32_t nr_turns; /* modulo 2: the table that is filled */
	uint32_t
		nr_turned; /* stacks in it, when those that have numbers had others */
	uint32_t *renewed; /* since the turn, by number in the other; or NULL */
};

/* NULL: no memory. */
struct sonde_callstacks_store *sonde_callstacks_store_new(void);
/* NULL is fine. */
void sonde_callstacks_store_free(struct sonde_callstacks_store *store);
/* Numbers that were given before mean nothing any more, but to renew. */
void sonde_callstacks_store_turn(struct sonde_callstacks_store *store);
/* Whether there is little room, and a turn would make some, if all that have numbers
 * but few are no more. */
bool sonde_callstacks_store_wants_turn(
	const struct sonde_callstacks_store *store);
/* Of the stack that had `number` before the last turn, the number now; 0: it had
 * none, or there is no room. */
uint32_t sonde_callstacks_store_renew(struct sonde_callstacks_store *store,
				      uint32_t number);
/* All that have numbers have been given others, but for `nr_without` that had 0: so
 * many at most were lost before the turn, and are yet to be told. */
void sonde_callstacks_store_renewed(struct sonde_callstacks_store *store,
				    uint64_t nr_without);
/* As sonde_callstacks_keep(). */
uint32_t
sonde_callstacks_store_keep(struct sonde_callstacks_store *store,
			    const struct sonde_callstacks_chain *chain);
/* An event's stack is not known. */
void sonde_callstacks_store_lose(struct sonde_callstacks_store *store);

/* Where in a piece of a stream the numbers of its events' stacks are. Zeros are
 * nowhere. */
struct sonde_callstacks_places {
	uint32_t *at; /* bytes from its begin, each later than the one before */
	size_t nr, room;
};

/* 0 or -ENOMEM. */
int sonde_callstacks_places_add(struct sonde_callstacks_places *places,
				uint32_t at);
void sonde_callstacks_places_fini(struct sonde_callstacks_places *places);

/* What was told of one image's. Zeros are nothing. */
struct sonde_callstacks {
	uint32_t first; /* all below were told */
	uint64_t nr_lost;
	uint8_t *told; /* a bit each; NULL: none */
};

void sonde_callstacks_fini(struct sonde_callstacks *told);

void sonde_callstacks_describe(struct sonde_build *build);
void sonde_callstacks_describe_lost(struct sonde_build *build);

/* Where they go, as which events, of which image. */
struct sonde_callstacks_target {
	struct sonde_out *out;
	uint16_t stack_id, lost_id;
	uint32_t image;
	uint32_t before; /* numbers of another table */
};

/* Tells what is new, some thousands at most: true if there may be more. `depth`
 * is what the recorder made the stacks with. */
bool sonde_callstacks_tell(struct sonde_callstacks *told,
			   struct sonde_stacks *stacks, uint32_t depth,
			   const struct sonde_callstacks_target *target);

/* What one trace was told of a store since a turn. Zeros, but for the turn. */
struct sonde_callstacks_telling {
	uint32_t nr_turns; /* the store's, when the trace began */
	struct sonde_callstacks told[2];
};

void sonde_callstacks_telling_fini(struct sonde_callstacks_telling *telling);
/* As sonde_callstacks_tell(), of the table that was filled then, and of the one
 * after it; target->before is set. */
bool sonde_callstacks_store_tell(struct sonde_callstacks_telling *telling,
				 const struct sonde_callstacks_store *store,
				 struct sonde_callstacks_target *target);

#endif /* SOURCE_CALLSTACKS_H */
