/* SPDX-License-Identifier: MIT */
/*
 * memo.c - stacks that were walked before are not walked again (stacks.h).
 *
 * A walk depends on where it began and on the words that it read, and on nothing
 * else but the tables. So if it begins there again, and those words are what
 * they were, it has the same result. A memo has all of that, and the stack's
 * number; comparing it is some loads for each word that don't wait for one another,
 * where a walk's do.
 *
 * Where a memo is depends on where the walk began and on its first callers: else
 * all walks that begin in malloc() with one stack pointer, called by operator new,
 * are to be told apart by comparing them. These steps wait for one another, so
 * they are few; they are made by the rules in the cache alone. What they find is
 * a hint: it chooses which memos are compared.
 *
 * Before that, the caller may have a guess which memo it is (stacks.h): if it is
 * right, none of those steps is made.
 *
 * Words are compared by fours, with one branch: memos of several lengths end a
 * loop where no branch predictor expects it. So a memo's words are filled up to a
 * multiple of four by its first one.
 *
 * version: odd while a thread writes the memo. Who finds it odd walks; a thread
 * that is killed meanwhile takes the memo out of service. A reader compares
 * before and after; what it reads of the stack lies within its bounds whatever
 * the memo says.
 */
#include "ring/stacks_cache.h"

#define WAYS    4u
#define CALLERS 2u
#define AT_ONCE 4u

/* Where the walk goes on, as far as that is needed here. */
struct memo_step {
	uint64_t pc, sp, fp;
};

/*
 * The caller's, by the rule in the cache: what a walk would find, or false where
 * it is not as simple as that. What is read is on the stack, whatever the rule
 * says.
 */
__attribute__((no_sanitize("address", "undefined"))) static bool
step_by_cache(struct sonde_stacks *stacks, struct memo_step *at, uint64_t top)
{
	uint64_t known =
		sonde_load_relaxed(sonde_stacks_cached(stacks, at->pc));
	uint64_t base = known & 1 ? at->fp : at->sp;
	uint64_t cfa = base + 8 * (known >> 1 & 1023);
	uint64_t fp_at = cfa - 8 * (known >> 11 & 31);

	if (known >> 16 != at->pc || cfa <= at->sp || cfa > top || cfa & 7)
		return false;
	/* NOLINTBEGIN(performance-no-int-to-ptr): they are some */
	if (fp_at != cfa && fp_at >= at->sp)
		at->fp = *(const uint64_t *)(uintptr_t)fp_at;
	at->pc = *(const uint64_t *)(uintptr_t)(cfa - 8);
	/* NOLINTEND(performance-no-int-to-ptr) */
	at->sp = cfa;
	return true;
}

static struct sonde_stacks_memo *memo_first(struct sonde_stacks *stacks)
{
	unsigned char *bytes = (unsigned char *)stacks;

	return (void *)(bytes + SONDE_STACKS_MEMOS_OFF);
}

/* Those of walks that begin there and have the same first callers: malloc() is
 * called from many places, most of them through one. */
static struct sonde_stacks_memo *memos_of(struct sonde_stacks *stacks,
					  const struct sonde_stacks_from *from,
					  uint64_t top)
{
	struct memo_step at = { from->pc, from->sp, from->fp };
	uint64_t hash = from->pc ^ from->sp << 16;

	for (uint32_t i = 0; i < CALLERS; i++) {
		if (!step_by_cache(stacks, &at, top))
			break;
		hash = hash * UINT64_C(0x9e3779b97f4a7c15) ^ at.pc;
	}
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return &memo_first(stacks)[WAYS * (hash >> 56)];
}

_Static_assert(SONDE_STACKS_MEMOS == WAYS << 8, "a hash's upper 8 bits");
_Static_assert(SONDE_STACKS_WORDS % AT_ONCE == 0, "all of them are compared");

static bool begins_there(const struct sonde_stacks_memo *memo,
			 const struct sonde_stacks_from *from)
{
	return sonde_load_relaxed(&memo->pc) == from->pc &&
	       sonde_load_relaxed(&memo->sp) == from->sp &&
	       (!sonde_load_relaxed(&memo->needs_fp) ||
		sonde_load_relaxed(&memo->fp) == from->fp) &&
	       sonde_load_relaxed(&memo->is_exact) == from->is_exact;
}

/* AT_ONCE of them. No place is beyond `last` (an index below 2^60, or -1). */
__attribute__((no_sanitize("address", "undefined"))) static inline bool
has_these_words(const uint16_t *places, const uint64_t *words,
		const uint64_t *stack, uint64_t last)
{
	uint64_t a = sonde_load_relaxed(&places[0]);
	uint64_t b = sonde_load_relaxed(&places[1]);
	uint64_t c = sonde_load_relaxed(&places[2]);
	uint64_t d = sonde_load_relaxed(&places[3]);
	uint64_t beyond = (last - a) | (last - b) | (last - c) | (last - d);

	if ((int64_t)beyond < 0)
		return false;
	return !((stack[a] ^ sonde_load_relaxed(&words[0])) |
		 (stack[b] ^ sonde_load_relaxed(&words[1])) |
		 (stack[c] ^ sonde_load_relaxed(&words[2])) |
		 (stack[d] ^ sonde_load_relaxed(&words[3])));
}

__attribute__((no_sanitize("address", "undefined"))) static bool
has_same_words(const struct sonde_stacks_memo *memo, uint64_t sp,
	       uint64_t nr_on_stack)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	const uint64_t *stack = (const uint64_t *)(uintptr_t)sp;
	uint32_t nr = sonde_load_relaxed(&memo->nr);

	if (nr > SONDE_STACKS_WORDS)
		return false;
	for (uint32_t i = 0; i < nr; i += AT_ONCE)
		if (!has_these_words(&memo->at[i], &memo->words[i], stack,
				     nr_on_stack - 1))
			return false;
	return true;
}

/* The stack's number, if the memo is of it; `top`: of what may be read. */
static uint32_t memo_number(const struct sonde_stacks_memo *memo,
			    const struct sonde_stacks_from *from, uint64_t top)
{
	/* Pairs with sonde_store_release in sonde_stacks_memorize: the memo is
	 * whole. */
	uint32_t version = sonde_load_acquire(&memo->version);
	uint32_t number;

	if (version & 1 || !begins_there(memo, from) ||
	    !has_same_words(memo, from->sp, (top - from->sp) / 8))
		return 0;
	number = sonde_load_relaxed(&memo->number);
	/* Pairs with sonde_cmpxchg_acquire in sonde_stacks_memorize: nothing
	 * that was read is of another memo. */
	sonde_fence_acquire();
	return sonde_load_relaxed(&memo->version) == version ? number : 0;
}

/* Among those where it would be. */
__attribute__((noinline)) static uint32_t
memo_search(struct sonde_stacks *stacks, const struct sonde_stacks_from *from,
	    uint64_t top)
{
	const struct sonde_stacks_memo *memos = memos_of(stacks, from, top);
	uint32_t number = 0;
	uint32_t i;

	for (i = 0; !number && i < WAYS; i++)
		number = memo_number(&memos[i], from, top);
	if (number && from->guess)
		sonde_store_relaxed(
			from->guess,
			(uint16_t)(memos + i - 1 - memo_first(stacks)));
	return number;
}

uint32_t sonde_stacks_recall(struct sonde_stacks *stacks,
			     const struct sonde_stacks_from *from)
{
	const uint64_t top = sonde_stacks_top(stacks, from->sp);
	const struct sonde_stacks_memo *memos = memo_first(stacks);
	uint32_t number = 0;

	if (!top)
		return 0;
	if (from->guess)
		number = memo_number(&memos[sonde_load_relaxed(from->guess) %
					    SONDE_STACKS_MEMOS],
				     from, top);
	return number ? number : memo_search(stacks, from, top);
}

/* The first that is free, as the first is looked at first; or any. */
static struct sonde_stacks_memo *memo_room(struct sonde_stacks_memo *memos,
					   uint32_t number)
{
	for (uint32_t i = 0; i < WAYS; i++)
		if (!sonde_load_relaxed(&memos[i].version))
			return &memos[i];
	return &memos[number % WAYS];
}

void sonde_stacks_memorize(struct sonde_stacks *stacks,
			   const struct sonde_stacks_from *from,
			   const struct sonde_stacks_trail *trail,
			   uint32_t number)
{
	const uint64_t top = sonde_stacks_top(stacks, from->sp);
	struct sonde_stacks_memo *memo =
		memo_room(memos_of(stacks, from, top), number);
	uint32_t version = sonde_load_relaxed(&memo->version);
	uint32_t nr = (trail->nr + AT_ONCE - 1) / AT_ONCE * AT_ONCE;

	if (!number || trail->nr > SONDE_STACKS_WORDS || version & 1)
		return;
	/* Pairs with sonde_load_acquire in memo_number: a reader that
	 * sees any of what follows sees that it is odd. */
	if (!sonde_cmpxchg_acquire(&memo->version, version, version + 1))
		return;
	sonde_fence_release();
	sonde_store_relaxed(&memo->number, number);
	sonde_store_relaxed(&memo->pc, from->pc);
	sonde_store_relaxed(&memo->sp, from->sp);
	sonde_store_relaxed(&memo->fp, from->fp);
	sonde_store_relaxed(&memo->needs_fp, trail->needs_fp);
	sonde_store_relaxed(&memo->is_exact, from->is_exact);
	sonde_store_relaxed(&memo->nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t k = i < trail->nr ? i : 0;

		sonde_store_relaxed(&memo->at[i], trail->at[k]);
		sonde_store_relaxed(&memo->words[i], trail->words[k]);
	}
	/* Pairs with sonde_load_acquire in memo_number. */
	sonde_store_release(&memo->version, version + 2);
}
