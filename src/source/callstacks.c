/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * callstacks.c - see callstacks.h. A place that was taken and not published is
 * looked at again the next time: its thread may still be about it, or dead.
 */
#include "source/callstacks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"
#include "base/port.h"
#include "types/desc.h"

#define AT_ONCE    4096u
#define HEAD_BYTES 13u /* image, number, end, and the frames' number */
#define LOST_BYTES 12u
/* Of a store's places, when a turn is wanted; and how many more than it began with. */
#define TURN_AT   (SONDE_STACKS_MAX / 4 * 3)
#define TURN_STEP (SONDE_STACKS_MAX / 8)

/* A copy. */
struct callstack {
	uint32_t nr, end;
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
};

struct sonde_stacks *sonde_callstacks_new(void)
{
	struct sonde_stacks *stacks =
		mmap(NULL, sonde_stacks_bytes(SONDE_STACKS_DEPTH_MAX),
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stacks == MAP_FAILED)
		return NULL;
	stacks->depth = SONDE_STACKS_DEPTH_MAX;
	return stacks;
}

void sonde_callstacks_free(struct sonde_stacks *stacks)
{
	if (stacks)
		(void)munmap(stacks,
			     sonde_stacks_bytes(SONDE_STACKS_DEPTH_MAX));
}

static uint64_t callstacks_frame(uint64_t address, bool is_kernel,
				 bool is_exact)
{
	if (!is_exact)
		return address;
	return is_kernel ? address & ~SONDE_FRAME_KERNEL_EXACT :
			   address | SONDE_FRAME_EXACT;
}

bool sonde_callstacks_add(struct sonde_callstacks_chain *chain,
			  uint64_t address, bool is_kernel, bool is_exact)
{
	/* Nobody called the first function of a thread. */
	if (!address)
		return false;
	if (address >> 48 != (is_kernel ? 0xffff : 0)) {
		chain->end = SONDE_STACK_BROKEN;
		return false;
	}
	if (chain->nr == SONDE_STACKS_DEPTH_MAX) {
		chain->end = SONDE_STACK_DEEP;
		return false;
	}
	chain->frames[chain->nr++] =
		callstacks_frame(address, is_kernel, is_exact);
	return true;
}

uint32_t sonde_callstacks_keep(struct sonde_stacks *stacks,
			       const struct sonde_callstacks_chain *chain)
{
	return chain->nr ? sonde_stacks_keep(stacks, chain->frames, chain->nr,
					     chain->end) :
			   0;
}

/* ---- the recorder's own ---- */

/* False: it isn't published, or makes no sense. */
static bool copy_stack(struct sonde_stacks *stacks, uint32_t depth, uint32_t i,
		       struct callstack *ret_stack)
{
	const struct sonde_stacks_entry *entry =
		sonde_stacks_place(stacks, depth, i);

	/* Pairs with sonde_store_release in publish_stack: the frames are there. */
	if (!sonde_load_acquire(&entry->state))
		return false;
	ret_stack->nr = sonde_load_relaxed(&entry->nr);
	ret_stack->end = sonde_load_relaxed(&entry->end);
	if (ret_stack->nr > depth || ret_stack->end > SONDE_STACK_STRANGE)
		return false;
	for (uint32_t k = 0; k < ret_stack->nr; k++)
		ret_stack->frames[k] = sonde_load_relaxed(&entry->frames[k]);
	return true;
}

struct sonde_callstacks_store *sonde_callstacks_store_new(void)
{
	struct sonde_callstacks_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(store->tables); i++) {
		store->tables[i] = sonde_callstacks_new();
		if (!store->tables[i]) {
			sonde_callstacks_store_free(store);
			return NULL;
		}
	}
	return store;
}

void sonde_callstacks_store_free(struct sonde_callstacks_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(store->tables); i++)
		sonde_callstacks_free(store->tables[i]);
	free(store->renewed);
	free(store);
}

static struct sonde_stacks *
callstacks_filled(const struct sonde_callstacks_store *store)
{
	return store->tables[store->nr_turns % 2];
}

/* Numbers of the other table that come before those of the i-th turn's. */
static uint32_t callstacks_before(uint32_t nr_turns)
{
	return nr_turns % 2 * SONDE_STACKS_MAX;
}

void sonde_callstacks_store_turn(struct sonde_callstacks_store *store)
{
	struct sonde_stacks *stacks;

	store->nr_turns++;
	stacks = callstacks_filled(store);
	/* Its pages are zeros again; of memory that is ours it can't fail. */
	(void)madvise(stacks, sonde_stacks_bytes(SONDE_STACKS_DEPTH_MAX),
		      MADV_DONTNEED);
	stacks->depth = SONDE_STACKS_DEPTH_MAX;
	free(store->renewed);
	store->renewed = NULL;
	store->nr_turned = 0;
}

bool sonde_callstacks_store_wants_turn(
	const struct sonde_callstacks_store *store)
{
	uint32_t nr = sonde_load_relaxed(&callstacks_filled(store)->nr_used);

	return nr >= TURN_AT && nr - store->nr_turned >= TURN_STEP;
}

uint32_t sonde_callstacks_store_keep(struct sonde_callstacks_store *store,
				     const struct sonde_callstacks_chain *chain)
{
	uint32_t number =
		sonde_callstacks_keep(callstacks_filled(store), chain);

	return number ? callstacks_before(store->nr_turns) + number : 0;
}

/* The same stack in the table that is filled now. */
static uint32_t renew_stack(const struct sonde_callstacks_store *store,
			    uint32_t i)
{
	struct callstack stack;
	uint32_t number;

	if (!copy_stack(store->tables[(store->nr_turns - 1) % 2],
			SONDE_STACKS_DEPTH_MAX, i, &stack))
		return 0;
	number = sonde_stacks_keep(callstacks_filled(store), stack.frames,
				   stack.nr, (enum sonde_stacks_end)stack.end);
	return number ? callstacks_before(store->nr_turns) + number : 0;
}

/* Most numbers are had by many events. Without memory each is looked up. */
uint32_t sonde_callstacks_store_renew(struct sonde_callstacks_store *store,
				      uint32_t number)
{
	uint32_t i = number - callstacks_before(store->nr_turns - 1) - 1;

	if (!number || i >= SONDE_STACKS_MAX)
		return 0;
	if (!store->renewed)
		store->renewed =
			calloc(SONDE_STACKS_MAX, sizeof(*store->renewed));
	if (!store->renewed)
		return renew_stack(store, i);
	if (!store->renewed[i])
		store->renewed[i] = renew_stack(store, i);
	return store->renewed[i];
}

void sonde_callstacks_store_renewed(struct sonde_callstacks_store *store,
				    uint64_t nr_without)
{
	struct sonde_stacks *filled = callstacks_filled(store);
	uint64_t lost = sonde_load_relaxed(
		&store->tables[(store->nr_turns - 1) % 2]->nr_lost);

	store->nr_turned = sonde_load_relaxed(&filled->nr_used);
	sonde_add_relaxed(&filled->nr_lost,
			  lost < nr_without ? lost : nr_without);
}

void sonde_callstacks_store_lose(struct sonde_callstacks_store *store)
{
	sonde_add_relaxed(&callstacks_filled(store)->nr_lost, 1);
}

int sonde_callstacks_places_add(struct sonde_callstacks_places *places,
				uint32_t at)
{
	int rc = SONDE_GROW(places->at, places->nr, places->room);

	if (!rc)
		places->at[places->nr++] = at;
	return rc;
}

void sonde_callstacks_places_fini(struct sonde_callstacks_places *places)
{
	free(places->at);
	*places = (struct sonde_callstacks_places){ 0 };
}

/* ---- telling ---- */

void sonde_callstacks_fini(struct sonde_callstacks *told)
{
	free(told->told);
	*told = (struct sonde_callstacks){ 0 };
}

void sonde_callstacks_describe(struct sonde_build *build)
{
	static const struct sonde_build_label ends[] = {
		{ SONDE_STACK_WHOLE, SONDE_STACK_WHOLE, "whole" },
		{ SONDE_STACK_DEEP, SONDE_STACK_DEEP, "deeper" },
		{ SONDE_STACK_BROKEN, SONDE_STACK_BROKEN, "unknown_caller" },
		{ SONDE_STACK_STRANGE, SONDE_STACK_STRANGE, "other_stack" },
	};

	sonde_build_int(build, "image", 32, 0);
	sonde_build_int(build, "number", 32, 0);
	sonde_build_enum(build, "end", 8, 0, ends, SONDE_ARRAY_SIZE(ends));
	sonde_build_sequence(build, "frames", 64, SONDE_FIELD_HEX);
}

void sonde_callstacks_describe_lost(struct sonde_build *build)
{
	sonde_build_int(build, "image", 32, 0);
	sonde_build_int(build, "nr", 64, 0);
}

/* False: it has to be told the next time. */
static bool tell_stack(const struct sonde_callstacks_target *target, uint32_t i,
		       const struct callstack *stack)
{
	uint32_t number = target->before + i + 1;
	uint8_t end = (uint8_t)stack->end;
	uint8_t *at = sonde_out_event(target->out, target->stack_id,
				      HEAD_BYTES + 8ull * stack->nr);

	if (!at)
		return false;
	memcpy(at, &target->image, 4);
	memcpy(at + 4, &number, 4);
	memcpy(at + 8, &end, 1);
	memcpy(at + 9, &stack->nr, 4);
	memcpy(at + HEAD_BYTES, stack->frames, 8ull * stack->nr);
	return true;
}

static void tell_lost(struct sonde_callstacks *told,
		      const struct sonde_stacks *stacks,
		      const struct sonde_callstacks_target *target)
{
	uint64_t nr = sonde_load_relaxed(&stacks->nr_lost);
	uint8_t *at;

	if (nr == told->nr_lost)
		return;
	at = sonde_out_event(target->out, target->lost_id, LOST_BYTES);
	if (!at)
		return;
	memcpy(at, &target->image, 4);
	memcpy(at + 4, &nr, 8);
	told->nr_lost = nr;
}

static bool is_told(const struct sonde_callstacks *told, uint32_t i)
{
	return told->told[i / 8] >> i % 8 & 1;
}

bool sonde_callstacks_tell(struct sonde_callstacks *told,
			   struct sonde_stacks *stacks, uint32_t depth,
			   const struct sonde_callstacks_target *target)
{
	uint32_t nr_used = sonde_load_relaxed(&stacks->nr_used);
	uint32_t nr = 0;

	if (!told->told)
		told->told = calloc(SONDE_STACKS_MAX / 8, 1);
	if (!told->told)
		return false;
	if (nr_used > SONDE_STACKS_MAX)
		nr_used = SONDE_STACKS_MAX;
	for (uint32_t i = told->first; i < nr_used && nr < AT_ONCE; i++) {
		struct callstack stack;

		if (is_told(told, i) || !copy_stack(stacks, depth, i, &stack) ||
		    !tell_stack(target, i, &stack))
			continue;
		told->told[i / 8] |= (uint8_t)(1u << i % 8);
		nr++;
	}
	while (told->first < nr_used && is_told(told, told->first))
		told->first++;
	tell_lost(told, stacks, target);
	return nr == AT_ONCE;
}

void sonde_callstacks_telling_fini(struct sonde_callstacks_telling *telling)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(telling->told); i++)
		sonde_callstacks_fini(&telling->told[i]);
}

bool sonde_callstacks_store_tell(struct sonde_callstacks_telling *telling,
				 const struct sonde_callstacks_store *store,
				 struct sonde_callstacks_target *target)
{
	uint32_t nr = store->nr_turns - telling->nr_turns + 1;
	bool has_more = false;

	for (uint32_t i = 0; i < nr && i < SONDE_ARRAY_SIZE(telling->told);
	     i++) {
		uint32_t turn = telling->nr_turns + i;

		target->before = callstacks_before(turn);
		has_more |=
			sonde_callstacks_tell(&telling->told[i],
					      store->tables[turn % 2],
					      SONDE_STACKS_DEPTH_MAX, target);
	}
	return has_more;
}
