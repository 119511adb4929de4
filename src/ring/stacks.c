/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - call stacks kept once for each different one (stacks.h).
 *
 * A stack is looked for from its hash's bucket on; an empty bucket means that it
 * is new. A number is in a bucket only after its stack was published. Cost: a
 * multiplication for each frame, a bucket, and a comparison of the frames.
 */
#include "ring/stacks.h"

static uint32_t stacks_hash(const uint64_t *frames, uint32_t nr, uint32_t end)
{
	uint64_t hash = nr << 2 | end;

	for (uint32_t i = 0; i < nr; i++) {
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash >> 32) | 1;
}

static uint32_t *stacks_bucket(struct sonde_stacks *stacks, uint32_t hash,
			       uint32_t probe)
{
	unsigned char *bytes = (unsigned char *)stacks;
	uint32_t *buckets = (void *)(bytes + SONDE_STACKS_BUCKETS_OFF);

	return &buckets[((hash >> 1) + probe) & (SONDE_STACKS_BUCKETS - 1)];
}

static bool has_stack(struct sonde_stacks *stacks, uint32_t number,
		      uint32_t hash, const uint64_t *frames, uint32_t nr,
		      uint32_t end)
{
	const struct sonde_stacks_entry *stack =
		sonde_stacks_place(stacks, stacks->depth, number - 1);

	/* Pairs with sonde_store_release in publish_stack: the frames are there. */
	if (sonde_load_acquire(&stack->state) != hash || stack->nr != nr ||
	    stack->end != end)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (stack->frames[i] != frames[i])
			return false;
	return true;
}

/* Its number; 0: there is no place. */
static uint32_t publish_stack(struct sonde_stacks *stacks, uint32_t hash,
			      const uint64_t *frames, uint32_t nr, uint32_t end)
{
	struct sonde_stacks_entry *stack;
	uint32_t i;

	if (sonde_load_relaxed(&stacks->nr_used) >= SONDE_STACKS_MAX)
		return 0;
	i = sonde_add_relaxed(&stacks->nr_used, 1);
	if (i >= SONDE_STACKS_MAX)
		return 0;
	stack = sonde_stacks_place(stacks, stacks->depth, i);
	stack->nr = (uint16_t)nr;
	stack->end = (uint16_t)end;
	for (uint32_t k = 0; k < nr; k++)
		stack->frames[k] = frames[k];
	/* Pairs with sonde_load_acquire in has_stack, and in copy_stack of the
	 * recorder. */
	sonde_store_release(&stack->state, hash);
	return i + 1;
}

uint32_t sonde_stacks_keep(struct sonde_stacks *stacks, const uint64_t *frames,
			   uint32_t nr, enum sonde_stacks_end end)
{
	uint32_t hash = stacks_hash(frames, nr, end);
	uint32_t own = 0;

	for (uint32_t probe = 0; probe < SONDE_STACKS_PROBES; probe++) {
		uint32_t *bucket = stacks_bucket(stacks, hash, probe);
		/* Pairs with sonde_cmpxchg_acquire below, of another thread;
		 * has_stack waits for the stack itself. */
		uint32_t number = sonde_load_relaxed(bucket);

		if (!number) {
			own = own ? own :
				    publish_stack(stacks, hash, frames, nr,
						  end);
			if (!own)
				break;
			/* Pairs with the same of another thread: one of us has
			 * the bucket. */
			if (sonde_cmpxchg_acquire(bucket, 0u, own))
				return own;
			number = sonde_load_relaxed(bucket);
		}
		if (has_stack(stacks, number, hash, frames, nr, end))
			return number;
	}
	if (!own)
		sonde_add_relaxed(&stacks->nr_lost, 1);
	return own;
}

/* Its frame has room for the deepest stack. */
uint32_t sonde_stacks_walk_and_keep(struct sonde_stacks *stacks,
				    const struct sonde_stacks_from *from)
{
	struct sonde_stacks_trail trail;
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
	enum sonde_stacks_end end;
	uint32_t depth = stacks->depth;
	uint32_t number;
	uint32_t nr;

	if (depth > SONDE_STACKS_DEPTH_MAX)
		return 0;
	trail.nr = 0;
	trail.needs_fp = false;
	nr = sonde_stacks_walk(stacks, from, frames, depth, &end, &trail);
	number = sonde_stacks_keep(stacks, frames, nr, end);
	/* Else it isn't known whose stack it is. */
	if (end != SONDE_STACK_STRANGE)
		sonde_stacks_memorize(stacks, from, &trail, number);
	return number;
}
