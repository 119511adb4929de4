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

/* As a memo has it. */
static inline uint64_t memo_pc(const struct sonde_stacks_from *from)
{
	return from->pc | (from->is_exact ? SONDE_FRAME_EXACT : 0);
}

static inline bool begins_there(const struct sonde_stacks_memo *memo,
				const struct sonde_stacks_from *from)
{
	int32_t fp_mask = (int32_t)sonde_load_relaxed(&memo->fp_mask);
	uint64_t fp = sonde_load_relaxed(&memo->fp) ^ from->fp;

	return !((sonde_load_relaxed(&memo->pc) ^ memo_pc(from)) |
		 (sonde_load_relaxed(&memo->sp) ^ from->sp) |
		 (fp & (uint64_t)fp_mask));
}

/*
 * Places are bounded four at a time. In the 16 bits of each, HIGH + the last place
 * there is - the place leaves the high bit set if the place isn't beyond; where the
 * place itself has that bit, it is.
 */
#define ONES UINT64_C(0x0001000100010001)
#define HIGH (ONES << 15)

static inline uint64_t memo_bound(uint64_t nr_on_stack)
{
	uint64_t last = nr_on_stack - 1;

	if (last > SONDE_STACKS_AT_MAX)
		last = SONDE_STACKS_AT_MAX;
	return HIGH + last * ONES;
}

__attribute__((no_sanitize("address", "undefined"))) static inline bool
has_these_words(const struct sonde_stacks_words *read, const uint64_t *stack,
		uint64_t bound)
{
	uint64_t at = sonde_load_relaxed(&read->at);

	if ((at | ~(bound - at)) & HIGH)
		return false;
	return !((stack[at & 0xffff] ^ sonde_load_relaxed(&read->words[0])) |
		 (stack[at >> 16 & 0xffff] ^
		  sonde_load_relaxed(&read->words[1])) |
		 (stack[at >> 32 & 0xffff] ^
		  sonde_load_relaxed(&read->words[2])) |
		 (stack[at >> 48] ^ sonde_load_relaxed(&read->words[3])));
}

/* On a stack of so many words, which isn't none. */
__attribute__((no_sanitize("address", "undefined"))) static inline bool
has_same_words(const struct sonde_stacks_memo *memo, uint64_t sp,
	       uint64_t nr_on_stack)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	const uint64_t *stack = (const uint64_t *)(uintptr_t)sp;
	const uint64_t bound = memo_bound(nr_on_stack);
	uint32_t nr = sonde_load_relaxed(&memo->nr);

	if (nr > SONDE_STACKS_WORDS)
		return false;
	for (uint32_t i = 0; i < nr / SONDE_STACKS_AT_ONCE; i++)
		if (!has_these_words(&memo->read[i], stack, bound))
			return false;
	return true;
}

/* The stack's number, if the memo is of it; `top`: of what may be read. */
static inline __attribute__((always_inline)) uint32_t
memo_number(const struct sonde_stacks_memo *memo,
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

	if (!top || top - from->sp < sizeof(uint64_t))
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

/* Those from the i-th on, and the first for what is missing. */
static void memorize_words(struct sonde_stacks_words *read,
			   const struct sonde_stacks_trail *trail, uint32_t i)
{
	uint64_t at = 0;

	for (uint32_t n = 0; n < SONDE_STACKS_AT_ONCE; n++) {
		uint32_t k = i + n < trail->nr ? i + n : 0;

		at |= (uint64_t)trail->at[k] << 16 * n;
		sonde_store_relaxed(&read->words[n], trail->words[k]);
	}
	sonde_store_relaxed(&read->at, at);
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
	uint32_t nr = (trail->nr + SONDE_STACKS_AT_ONCE - 1) /
		      SONDE_STACKS_AT_ONCE * SONDE_STACKS_AT_ONCE;

	if (!number || trail->nr > SONDE_STACKS_WORDS || version & 1)
		return;
	/* Pairs with sonde_load_acquire in memo_number: a reader that
	 * sees any of what follows sees that it is odd. */
	if (!sonde_cmpxchg_acquire(&memo->version, version, version + 1))
		return;
	sonde_fence_release();
	sonde_store_relaxed(&memo->number, number);
	sonde_store_relaxed(&memo->pc, memo_pc(from));
	sonde_store_relaxed(&memo->sp, from->sp);
	sonde_store_relaxed(&memo->fp, from->fp);
	sonde_store_relaxed(&memo->fp_mask, trail->needs_fp ? UINT32_MAX : 0);
	sonde_store_relaxed(&memo->nr, nr);
	for (uint32_t i = 0; i < nr; i += SONDE_STACKS_AT_ONCE)
		memorize_words(&memo->read[i / SONDE_STACKS_AT_ONCE], trail, i);
	/* Pairs with sonde_load_acquire in memo_number. */
	sonde_store_release(&memo->version, version + 2);
}
