/* SPDX-License-Identifier: MIT */
/*
 * walk.c - a thread walks its own stack (stacks.h): where that ends, and the rules
 * of its process's tables (walk.h has the steps).
 *
 * Cost: a step by a frame pointer two loads, by a rule that is cached one more,
 * else two binary searches.
 */
#include "ring/walk.h"

#include "ring/stacks_cache.h"

/* ---- how far the stack goes ---- */

#ifdef __x86_64__

/*
 * Each C library's thread has, in a structure at its thread pointer, where its
 * stack begins and how long it is, as two words one after the other: musl in
 * the first words, glibc further on. They are looked for once, and believed if
 * the stack pointer and the thread pointer are both in that piece of memory.
 */
#define BLOCK_FIRST 0x40u
#define BLOCK_MUSL  0x78u
#define BLOCK_GLIBC 0x8f0u
#define BLOCK_ABOVE (64u << 10)   /* what may be above the thread pointer */
#define BLOCK_MAX   (64ull << 30) /* less than an address */
#define BLOCK_LEAST (64ull << 10) /* no memory is below */

static uint64_t walk_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static bool is_block(uint64_t pointer, uint32_t offset, uint64_t sp)
{
	uint64_t begin = sonde_stacks_word(pointer + offset);
	uint64_t size = sonde_stacks_word(pointer + offset + 8);
	uint64_t end = begin + size;

	return begin >= BLOCK_LEAST && size <= BLOCK_MAX && begin <= sp &&
	       sp < pointer && end >= pointer && end - pointer <= BLOCK_ABOVE;
}

/* glibc has the thread pointer in the third word as well, and two small
 * numbers in the fourth, where musl has a pointer to a thread. */
static bool is_glibc(uint64_t pointer)
{
	return sonde_stacks_word(pointer + 16) == pointer &&
	       !(sonde_stacks_word(pointer + 24) & ~UINT64_C(0x100000001));
}

static uint64_t thread_top(struct sonde_stacks *stacks, uint64_t sp)
{
	uint64_t pointer = walk_thread_pointer();
	uint32_t known = sonde_load_relaxed(&stacks->block_offset);
	uint32_t last;

	if (sp >= pointer)
		return 0;
	if (known)
		return is_block(pointer, known, sp) ? pointer : 0;
	last = is_glibc(pointer) ? BLOCK_GLIBC : BLOCK_MUSL;
	for (uint32_t i = BLOCK_FIRST; i < last; i += 8)
		if (is_block(pointer, i, sp)) {
			sonde_store_relaxed(&stacks->block_offset, i);
			return pointer;
		}
	return 0;
}

#else

static uint64_t thread_top(struct sonde_stacks *stacks, uint64_t sp)
{
	(void)stacks;
	(void)sp;
	return 0;
}

#endif

uint64_t sonde_stacks_top(struct sonde_stacks *stacks, uint64_t sp)
{
	uint64_t main_top = stacks->main_top;

	if (sp < main_top && main_top - sp < SONDE_STACKS_MAIN_SPAN)
		return main_top;
	return thread_top(stacks, sp);
}

/* ---- rules ---- */

static const unsigned char *walk_bytes(const struct sonde_stacks *stacks)
{
	return (const unsigned char *)stacks;
}

static const struct sonde_stacks_range *
walk_range(const struct sonde_stacks *stacks, uint64_t pc)
{
	/* Pairs with sonde_store_release in sonde_unwind_publish: the ranges and
	 * their rows are there. */
	uint64_t word = sonde_load_acquire(&stacks->ranges);
	const struct sonde_stacks_range *ranges =
		(const void *)(walk_bytes(stacks) + (word >> 16));
	uint32_t from = 0;
	uint32_t to = word & 0xffff;

	while (from < to) {
		uint32_t i = (from + to) / 2;

		if (pc < ranges[i].begin)
			to = i;
		else if (pc >= ranges[i].end)
			from = i + 1;
		else
			return &ranges[i];
	}
	return NULL;
}

/* The last row that isn't beyond pc. */
static uint32_t find_rule(const struct sonde_stacks *stacks,
			  const struct sonde_stacks_range *range, uint64_t pc)
{
	const struct sonde_stacks_row *rows =
		(const void *)(walk_bytes(stacks) + 8ull * range->rows);
	uint32_t offset = (uint32_t)(pc - range->begin);
	uint32_t from = 0;
	uint32_t to = range->nr;

	while (from < to) {
		uint32_t i = (from + to) / 2;

		if (rows[i].pc <= offset)
			from = i + 1;
		else
			to = i;
	}
	return from ? rows[from - 1].rule : SONDE_UNWIND_GAP;
}

/* In 16 bits (stacks.h); 0: it can't be said so. */
#define SMALL_GAP 0x001u
#define SMALL_END 0x801u

static uint32_t squeeze(uint32_t rule)
{
	uint32_t fp = rule >> 3 & 0xff;
	uint32_t cfa = rule >> 11;

	if (rule == SONDE_UNWIND_GAP)
		return SMALL_GAP;
	if (rule == SONDE_UNWIND_END)
		return SMALL_END;
	if ((rule & 3) != SONDE_UNWIND_CALL || cfa > 1023 ||
	    (fp > 30 && fp != SONDE_UNWIND_LOST))
		return 0;
	return (rule >> 2 & 1) | cfa << 1 | (fp > 31 ? 31 : fp) << 11;
}

static uint32_t unsqueeze(uint32_t small)
{
	uint32_t fp = small >> 11;

	if (small == SMALL_GAP)
		return SONDE_UNWIND_GAP;
	if (small == SMALL_END)
		return SONDE_UNWIND_END;
	return SONDE_UNWIND_CALL_RULE(small & 1, fp == 31 ? 255 : fp,
				      small >> 1 & 1023);
}

/* False: the code has no table. */
static bool walk_look_up(const struct sonde_stacks *stacks, uint64_t pc,
			 bool is_exact, uint32_t *ret_rule)
{
	/* The call is before the address that it returns to. */
	uint64_t address = is_exact ? pc : pc - 1;
	const struct sonde_stacks_range *range = walk_range(stacks, address);

	if (!range)
		return false;
	*ret_rule = find_rule(stacks, range, address);
	return true;
}

static bool walk_rule(void *ctx, const struct sonde_stacks_position *at,
		      uint32_t *ret_rule)
{
	struct sonde_stacks *stacks = ctx;
	uint64_t *word = sonde_stacks_cached(stacks, at->pc);
	uint64_t known = sonde_load_relaxed(word);
	uint32_t small;

	if (at->is_exact)
		return walk_look_up(stacks, at->pc, true, ret_rule);
	if (known >> 16 == at->pc && (known & 0xffff)) {
		*ret_rule = unsqueeze(known & 0xffff);
		return true;
	}
	if (!walk_look_up(stacks, at->pc, false, ret_rule))
		return false;
	small = squeeze(*ret_rule);
	if (small)
		sonde_store_relaxed(word, at->pc << 16 | small);
	return true;
}

static bool walk_is_code(void *ctx, uint64_t address)
{
	struct sonde_stacks *stacks = ctx;
	uint64_t known =
		sonde_load_relaxed(sonde_stacks_cached(stacks, address));

	return known >> 16 == address || walk_range(stacks, address);
}

static const struct sonde_stacks_lookup walk_lookup = {
	.rule = walk_rule,
	.is_code = walk_is_code,
};

uint32_t sonde_stacks_walk(struct sonde_stacks *stacks,
			   const struct sonde_stacks_from *from,
			   uint64_t *frames, uint32_t depth,
			   enum sonde_stacks_end *ret_end,
			   struct sonde_stacks_trail *trail)
{
	struct sonde_stacks_position at = {
		.pc = from->pc,
		.sp = from->sp,
		.fp = from->fp,
		.top = sonde_stacks_top(stacks, from->sp),
		.is_exact = from->is_exact,
		.begin = from->sp,
		.trail = trail,
	};

	return sonde_stacks_walk_from(&walk_lookup, stacks, &at, frames, depth,
				      ret_end);
}
