/* SPDX-License-Identifier: MIT */
/*
 * walk.c - a thread walks its own stack (stacks.h).
 *
 * A position is where a frame goes on: address, stack pointer, frame pointer. A
 * step finds the caller's, by the rule of a table or by the frame pointer, and
 * is made only if the stack pointer gets nearer to the stack's top. Invariant:
 * what is read lies in [stack pointer, top). Cost: a step by a frame pointer
 * two loads, by a rule that is cached one more, else two binary searches.
 */
#include "ring/stacks_cache.h"

/* No word is there, nor is it in a register. */
#define NO_PLACE     1u

#define NO_SANITIZER __attribute__((no_sanitize("address", "undefined")))

struct position {
	uint64_t pc, sp, fp;
	uint64_t top;
	bool is_exact;
	uint64_t fp_at; /* where fp was read; 0: in the register */
	uint64_t begin; /* the stack pointer's first */
	struct sonde_stacks_trail *trail; /* NULL: none is kept */
};

static uint64_t walk_stack_word(uint64_t address) NO_SANITIZER;
static uint64_t walk_stack_word(uint64_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	return *(const uint64_t *)(uintptr_t)address;
}

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
	uint64_t begin = walk_stack_word(pointer + offset);
	uint64_t size = walk_stack_word(pointer + offset + 8);
	uint64_t end = begin + size;

	return begin >= BLOCK_LEAST && size <= BLOCK_MAX && begin <= sp &&
	       sp < pointer && end >= pointer && end - pointer <= BLOCK_ABOVE;
}

/* glibc has the thread pointer in the third word as well, and two small
 * numbers in the fourth, where musl has a pointer to a thread. */
static bool is_glibc(uint64_t pointer)
{
	return walk_stack_word(pointer + 16) == pointer &&
	       !(walk_stack_word(pointer + 24) & ~UINT64_C(0x100000001));
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

static void leave_trail(const struct position *at, uint64_t address,
			uint64_t word)
{
	struct sonde_stacks_trail *trail = at->trail;
	uint64_t words = (address - at->begin) / 8;

	if (trail->nr < SONDE_STACKS_WORDS && words <= SONDE_STACKS_AT_MAX) {
		trail->at[trail->nr] = (uint16_t)words;
		trail->words[trail->nr++] = word;
	} else {
		trail->nr = SONDE_STACKS_WORDS + 1;
	}
}

/* False: it is not on the stack. */
static bool load_word(const struct position *at, uint64_t address,
		      uint64_t *ret_word)
{
	if (address < at->sp || address >= at->top || at->top - address < 8 ||
	    address & 7)
		return false;
	*ret_word = walk_stack_word(address);
	return true;
}

/* The same, of what the walk's result depends on. */
static bool load_needed(const struct position *at, uint64_t address,
			uint64_t *ret_word)
{
	if (!load_word(at, address, ret_word))
		return false;
	if (at->trail)
		leave_trail(at, address, *ret_word);
	return true;
}

/* Most frame pointers are any number, and nothing depends on them. */
static uint64_t needed_fp(const struct position *at)
{
	if (!at->trail)
		return at->fp;
	if (!at->fp_at)
		at->trail->needs_fp = true;
	else if (at->fp_at != NO_PLACE)
		leave_trail(at, at->fp_at, at->fp);
	return at->fp;
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

static bool walk_rule(struct sonde_stacks *stacks, const struct position *at,
		      uint32_t *ret_rule)
{
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

/* ---- steps ---- */

static enum sonde_stacks_end step_by_pointer(struct position *at)
{
	uint64_t fp = needed_fp(at);
	uint64_t next;
	uint64_t pc;

	if (!fp)
		return SONDE_STACK_WHOLE;
	if (!load_word(at, fp, &next) || !load_needed(at, fp + 8, &pc))
		return SONDE_STACK_BROKEN;
	at->pc = pc;
	at->fp = next;
	at->fp_at = fp;
	at->sp = fp + 16;
	at->is_exact = false;
	return SONDE_STACK_DEEP;
}

static enum sonde_stacks_end step_by_rule(struct position *at, uint32_t rule)
{
	uint64_t base = rule >> 2 & 1 ? needed_fp(at) : at->sp;
	uint64_t cfa = base + 8ull * (rule >> 11);
	uint32_t fp_words = rule >> 3 & 0xff;
	uint64_t fp = NO_PLACE;
	uint64_t pc;

	if (cfa <= at->sp || !load_needed(at, cfa - 8, &pc))
		return SONDE_STACK_BROKEN;
	if (fp_words && fp_words != SONDE_UNWIND_LOST &&
	    !load_word(at, cfa - 8ull * fp_words, &fp))
		return SONDE_STACK_BROKEN;
	if (fp_words) {
		at->fp = fp;
		at->fp_at = fp_words == SONDE_UNWIND_LOST ?
				    NO_PLACE :
				    cfa - 8ull * fp_words;
	}
	at->pc = pc;
	at->sp = cfa;
	at->is_exact = false;
	return SONDE_STACK_DEEP;
}

#ifdef __x86_64__

/* Of struct ucontext, to which the stack pointer points when a handler has
 * returned: the kernel's ABI. */
#define UCONTEXT_FP 120u
#define UCONTEXT_SP 160u
#define UCONTEXT_PC 168u

/* What was interrupted is on the same stack, or it isn't known what is mapped
 * there: handlers change the words too. */
static enum sonde_stacks_end step_by_signal(struct position *at)
{
	uint64_t sp;
	uint64_t fp;
	uint64_t pc;

	if (!load_word(at, at->sp + UCONTEXT_SP, &sp) ||
	    !load_word(at, at->sp + UCONTEXT_FP, &fp) ||
	    !load_word(at, at->sp + UCONTEXT_PC, &pc))
		return SONDE_STACK_BROKEN;
	if (sp <= at->sp || sp >= at->top)
		return SONDE_STACK_BROKEN;
	at->pc = pc;
	at->sp = sp;
	at->fp = fp;
	at->is_exact = true;
	/* These words are not in it. */
	if (at->trail)
		at->trail->nr = SONDE_STACKS_WORDS + 1;
	return SONDE_STACK_DEEP;
}

#else

static enum sonde_stacks_end step_by_signal(struct position *at)
{
	(void)at;
	return SONDE_STACK_BROKEN;
}

#endif

/* There the frame pointer may be anything: it is believed if it leads to code. */
static enum sonde_stacks_end step_over_gap(struct sonde_stacks *stacks,
					   struct position *at)
{
	struct position next = *at;
	enum sonde_stacks_end end = step_by_pointer(&next);

	if (end == SONDE_STACK_DEEP &&
	    sonde_load_relaxed(sonde_stacks_cached(stacks, next.pc)) >> 16 !=
		    next.pc &&
	    !walk_range(stacks, next.pc))
		return SONDE_STACK_BROKEN;
	*at = next;
	return end;
}

/* DEEP: it was made. */
static enum sonde_stacks_end walk_step(struct sonde_stacks *stacks,
				       struct position *at)
{
	uint32_t rule;

	if (!walk_rule(stacks, at, &rule))
		return step_by_pointer(at);
	switch (rule & 3) {
	case SONDE_UNWIND_CALL:
		return step_by_rule(at, rule);
	case SONDE_UNWIND_SIGNAL:
		return step_by_signal(at);
	case SONDE_UNWIND_END:
		return SONDE_STACK_WHOLE;
	default:
		return rule == SONDE_UNWIND_GAP ? step_over_gap(stacks, at) :
						  SONDE_STACK_BROKEN;
	}
}

uint32_t sonde_stacks_walk(struct sonde_stacks *stacks,
			   const struct sonde_stacks_from *from,
			   uint64_t *frames, uint32_t depth,
			   enum sonde_stacks_end *ret_end,
			   struct sonde_stacks_trail *trail)
{
	struct position at = {
		.pc = from->pc,
		.sp = from->sp,
		.fp = from->fp,
		.top = sonde_stacks_top(stacks, from->sp),
		.is_exact = from->is_exact,
		.begin = from->sp,
		.trail = trail,
	};
	enum sonde_stacks_end end =
		at.top ? SONDE_STACK_DEEP : SONDE_STACK_STRANGE;
	uint32_t nr = 0;

	while (nr < depth) {
		frames[nr++] = at.pc | (at.is_exact ? SONDE_FRAME_EXACT : 0);
		if (end == SONDE_STACK_DEEP)
			end = walk_step(stacks, &at);
		if (end == SONDE_STACK_DEEP && !at.pc)
			end = SONDE_STACK_WHOLE;
		if (end != SONDE_STACK_DEEP)
			break;
	}
	*ret_end = end;
	return nr;
}
