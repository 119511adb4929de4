/* SPDX-License-Identifier: MIT */
/*
 * walk.h - how a stack is walked, frame by frame: of the thread that walks it
 * (walk.c), or of a copy of a stack's memory (the recorder's, of samples).
 *
 * A position is where a frame goes on: address, stack pointer, frame pointer. A
 * step finds the caller's, by the rule of a table or by the frame pointer, and
 * is made only if the stack pointer gets nearer to the stack's top. Invariant:
 * what is read lies in [stack pointer, top). Who walks says where rules come
 * from; the functions are inlined, so that costs no call.
 *
 * Cost: a step by a frame pointer two loads, by a rule one more. No call, no lock;
 * async-signal-safe.
 */
#ifndef RING_WALK_H
#define RING_WALK_H

#include "ring/stacks.h"

#define SONDE_STACKS_NO_SANITIZER \
	__attribute__((no_sanitize("address", "undefined")))

/* No word is there, nor is it in a register. */
#define SONDE_STACKS_NOWHERE 1u

struct sonde_stacks_position {
	uint64_t pc, sp, fp;
	uint64_t top;
	bool is_exact;
	uint64_t fp_at; /* where fp was read; 0: in the register */
	/* Where a copy of the stack is: from an address to that of its word. */
	uint64_t bias;
	bool is_beyond; /* a word above the top was looked for */
	uint64_t begin; /* the stack pointer's first */
	struct sonde_stacks_trail *trail; /* NULL: none is kept */
};

SONDE_STACKS_NO_SANITIZER static inline uint64_t
sonde_stacks_word(uint64_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
	return *(const uint64_t *)(uintptr_t)address;
}

static inline void
sonde_stacks_leave_trail(const struct sonde_stacks_position *at,
			 uint64_t address, uint64_t word)
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
static inline bool sonde_stacks_load(struct sonde_stacks_position *at,
				     uint64_t address, uint64_t *ret_word)
{
	if (address < at->sp || address >= at->top || at->top - address < 8 ||
	    address & 7) {
		at->is_beyond = address >= at->top;
		return false;
	}
	*ret_word = sonde_stacks_word(address + at->bias);
	return true;
}

/* The same, of what the walk's result depends on. */
static inline bool sonde_stacks_load_needed(struct sonde_stacks_position *at,
					    uint64_t address,
					    uint64_t *ret_word)
{
	if (!sonde_stacks_load(at, address, ret_word))
		return false;
	if (at->trail)
		sonde_stacks_leave_trail(at, address, *ret_word);
	return true;
}

/* Most frame pointers are any number, and nothing depends on them. */
static inline uint64_t
sonde_stacks_needed_fp(const struct sonde_stacks_position *at)
{
	if (!at->trail)
		return at->fp;
	if (!at->fp_at)
		at->trail->needs_fp = true;
	else if (at->fp_at != SONDE_STACKS_NOWHERE)
		sonde_stacks_leave_trail(at, at->fp_at, at->fp);
	return at->fp;
}

/* ---- steps ---- */

static inline enum sonde_stacks_end
sonde_stacks_by_pointer(struct sonde_stacks_position *at)
{
	uint64_t fp = sonde_stacks_needed_fp(at);
	uint64_t next;
	uint64_t pc;

	if (!fp)
		return SONDE_STACK_WHOLE;
	if (!sonde_stacks_load(at, fp, &next) ||
	    !sonde_stacks_load_needed(at, fp + 8, &pc))
		return SONDE_STACK_BROKEN;
	at->pc = pc;
	at->fp = next;
	at->fp_at = fp;
	at->sp = fp + 16;
	at->is_exact = false;
	return SONDE_STACK_DEEP;
}

static inline enum sonde_stacks_end
sonde_stacks_by_rule(struct sonde_stacks_position *at, uint32_t rule)
{
	uint64_t base = rule >> 2 & 1 ? sonde_stacks_needed_fp(at) : at->sp;
	uint64_t cfa = base + 8ull * (rule >> 11);
	uint32_t fp_words = rule >> 3 & 0xff;
	uint64_t fp = SONDE_STACKS_NOWHERE;
	uint64_t pc;

	if (cfa <= at->sp || !sonde_stacks_load_needed(at, cfa - 8, &pc))
		return SONDE_STACK_BROKEN;
	/* Popped by now: where a function ends, rules go on to name the place
	 * that the register was taken back from. */
	if (fp_words && fp_words != SONDE_UNWIND_LOST && at->is_exact &&
	    cfa - 8ull * fp_words < at->sp)
		fp_words = 0;
	if (fp_words && fp_words != SONDE_UNWIND_LOST &&
	    !sonde_stacks_load(at, cfa - 8ull * fp_words, &fp))
		return SONDE_STACK_BROKEN;
	if (fp_words) {
		at->fp = fp;
		at->fp_at = fp_words == SONDE_UNWIND_LOST ?
				    SONDE_STACKS_NOWHERE :
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
static inline enum sonde_stacks_end
sonde_stacks_by_signal(struct sonde_stacks_position *at)
{
	uint64_t sp;
	uint64_t fp;
	uint64_t pc;

	if (!sonde_stacks_load(at, at->sp + UCONTEXT_SP, &sp) ||
	    !sonde_stacks_load(at, at->sp + UCONTEXT_FP, &fp) ||
	    !sonde_stacks_load(at, at->sp + UCONTEXT_PC, &pc))
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

static inline enum sonde_stacks_end
sonde_stacks_by_signal(struct sonde_stacks_position *at)
{
	(void)at;
	return SONDE_STACK_BROKEN;
}

#endif

/* Where a walk gets its rules. */
struct sonde_stacks_lookup {
	/* Of the code that the position is in; false: it has no table. */
	bool (*rule)(void *ctx, const struct sonde_stacks_position *at,
		     uint32_t *ret_rule);
	/* Whether there is code, as far as is known. */
	bool (*is_code)(void *ctx, uint64_t address);
};

/* There the frame pointer may be anything: it is believed if it leads to code. */
static inline __attribute__((always_inline)) enum sonde_stacks_end
sonde_stacks_over_gap(const struct sonde_stacks_lookup *lookup, void *ctx,
		      struct sonde_stacks_position *at)
{
	struct sonde_stacks_position next = *at;
	enum sonde_stacks_end end = sonde_stacks_by_pointer(&next);

	if (end == SONDE_STACK_DEEP && !lookup->is_code(ctx, next.pc))
		return SONDE_STACK_BROKEN;
	*at = next;
	return end;
}

/* DEEP: it was made. */
static inline __attribute__((always_inline)) enum sonde_stacks_end
sonde_stacks_step(const struct sonde_stacks_lookup *lookup, void *ctx,
		  struct sonde_stacks_position *at)
{
	uint32_t rule;

	if (!lookup->rule(ctx, at, &rule))
		return sonde_stacks_by_pointer(at);
	switch (rule & 3) {
	case SONDE_UNWIND_CALL:
		return sonde_stacks_by_rule(at, rule);
	case SONDE_UNWIND_SIGNAL:
		return sonde_stacks_by_signal(at);
	case SONDE_UNWIND_END:
		return SONDE_STACK_WHOLE;
	default:
		return rule == SONDE_UNWIND_GAP ?
			       sonde_stacks_over_gap(lookup, ctx, at) :
			       SONDE_STACK_BROKEN;
	}
}

/* Up to `depth` frames from there, the innermost first; their number. Inlined with
 * the lookup, which is a constant. */
static inline __attribute__((always_inline)) uint32_t
sonde_stacks_walk_from(const struct sonde_stacks_lookup *lookup, void *ctx,
		       struct sonde_stacks_position *at, uint64_t *frames,
		       uint32_t depth, enum sonde_stacks_end *ret_end)
{
	enum sonde_stacks_end end =
		at->top ? SONDE_STACK_DEEP : SONDE_STACK_STRANGE;
	uint32_t nr = 0;

	while (nr < depth) {
		frames[nr++] = at->pc | (at->is_exact ? SONDE_FRAME_EXACT : 0);
		if (end == SONDE_STACK_DEEP)
			end = sonde_stacks_step(lookup, ctx, at);
		if (end == SONDE_STACK_DEEP && !at->pc)
			end = SONDE_STACK_WHOLE;
		if (end != SONDE_STACK_DEEP)
			break;
	}
	*ret_end = end;
	return nr;
}

#endif /* RING_WALK_H */
