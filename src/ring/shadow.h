/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - the calls of functions that a thread is in, so that those which
 * are short (--min-duration) or deep (--depth) leave nothing in the trace.
 *
 * An entry isn't recorded when it happens, but as soon as it is known that its
 * call lasts: at the thread's next entry or exit, its own exit at the latest. It
 * says when that was, by the clock of records. Entries are recorded from the outermost on, so the
 * order of a thread's records is that of its calls; and an exit is recorded if
 * its entry was. A record also says how many calls were left out since the
 * thread's last one.
 *
 * Invariants: 1. told <= depth: the outermost `told` calls have their entries.
 * 2. begin is 0 in all of calls[] from depth on, so a signal handler's calls,
 * which come in anywhere, never take one that is half there for old.
 *
 * An exit is that of the innermost call of its function; calls inside it have
 * been left without (longjmp), and are dropped. What finds no room at the depth of
 * SONDE_SHADOW_CALLS is left out; if its stack says that those inside are over,
 * they make room.
 *
 * Threads: only the thread itself. Cost: one search, from the innermost on.
 */
#ifndef RING_SHADOW_H
#define RING_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"

#define SONDE_SHADOW_CALLS 128u

/* What is recorded, in the counter's ticks (clock/clock.h). */
struct sonde_shadow_rule {
	uint64_t min_ticks; /* 0: calls of any length */
	uint32_t depth;     /* in so many calls at the most; 0: any */
	uint32_t is_on;
};

struct sonde_shadow_call {
	uint64_t function;
	uint64_t begin;
	uint64_t stack; /* less in calls that it makes */
};

struct sonde_shadow {
	uint64_t key; /* of the thread; 0: free; the owner's to set */
	uint32_t tid;
	uint32_t depth;
	uint32_t told;
	uint32_t beyond; /* entered without room, and not left yet */
	uint32_t left_out;
	uint32_t reserved;
	struct sonde_shadow_call calls[SONDE_SHADOW_CALLS];
};

enum sonde_shadow_found {
	SONDE_SHADOW_UNKNOWN, /* the exit of a call that began before: as it is */
	SONDE_SHADOW_BEYOND, /* of one that is left out */
	SONDE_SHADOW_INNERMOST,
};

/* Another thread has it now. */
static inline void sonde_shadow_reset(struct sonde_shadow *shadow, uint32_t tid)
{
	while (shadow->depth)
		shadow->calls[--shadow->depth].begin = 0;
	shadow->told = shadow->beyond = 0;
	shadow->tid = tid;
}

/* An entry or an exit, and who records what it leads to. */
struct sonde_shadow_hit {
	uint64_t function, stack;
	void *ctx;
	/* `begin`: the counter then. */
	void (*begin)(void *ctx, uint64_t function, uint64_t begin,
		      uint32_t left_out);
	void (*end)(void *ctx, uint64_t function, uint32_t left_out);
};

/* Since the last record. A handler's may come in between. */
static inline uint32_t sonde_shadow_left_out(struct sonde_shadow *shadow)
{
	uint32_t nr = sonde_load_relaxed(&shadow->left_out);

	if (sonde_unlikely(nr))
		(void)sonde_add_relaxed(&shadow->left_out, 0u - nr);
	return nr;
}

/* Takes the innermost call off. Whether its entry is recorded. */
static inline bool sonde_shadow_pop(struct sonde_shadow *shadow)
{
	uint32_t depth = shadow->depth - 1;
	bool is_told = shadow->told > depth;

	shadow->calls[depth].begin = 0;
	if (is_told)
		shadow->told = depth;
	else
		(void)sonde_add_relaxed(&shadow->left_out, 1);
	sonde_barrier();
	sonde_store_relaxed(&shadow->depth, depth);
	return is_told;
}

/* Whether there is room now. */
static inline bool sonde_shadow_make_room(struct sonde_shadow *shadow,
					  uint64_t stack)
{
	while (shadow->depth && shadow->calls[shadow->depth - 1].stack <= stack)
		(void)sonde_shadow_pop(shadow);
	if (shadow->depth < SONDE_SHADOW_CALLS)
		return true;
	shadow->beyond++;
	(void)sonde_add_relaxed(&shadow->left_out, 1);
	return false;
}

static inline void sonde_shadow_push(struct sonde_shadow *shadow,
				     const struct sonde_shadow_hit *hit,
				     uint64_t now)
{
	struct sonde_shadow_call *call;

	if (sonde_unlikely(shadow->depth == SONDE_SHADOW_CALLS) &&
	    !sonde_shadow_make_room(shadow, hit->stack))
		return;
	call = &shadow->calls[shadow->depth];
	/* First of all: a signal handler that comes in takes the next. */
	sonde_store_relaxed(&shadow->depth, shadow->depth + 1);
	sonde_barrier();
	call->function = hit->function;
	call->stack = hit->stack;
	sonde_barrier();
	sonde_store_relaxed(&call->begin, now);
}

/* The outermost call that has no entry yet, if it has lasted long enough. */
static inline bool sonde_shadow_is_due(const struct sonde_shadow *shadow,
				       const struct sonde_shadow_rule *rule,
				       uint64_t now)
{
	uint64_t begin;

	if (shadow->told == shadow->depth ||
	    (rule->depth && shadow->told >= rule->depth))
		return false;
	begin = sonde_load_relaxed(&shadow->calls[shadow->told].begin);
	/* Another CPU's counter may be a little behind. */
	return begin && (now > begin ? now - begin : 0) >= rule->min_ticks;
}

static inline void sonde_shadow_tell_due(struct sonde_shadow *shadow,
					 const struct sonde_shadow_rule *rule,
					 const struct sonde_shadow_hit *hit,
					 uint64_t now)
{
	while (sonde_shadow_is_due(shadow, rule, now)) {
		const struct sonde_shadow_call *call =
			&shadow->calls[shadow->told++];

		hit->begin(hit->ctx, call->function, call->begin,
			   sonde_shadow_left_out(shadow));
	}
}

/* Looks for the call that ends, and drops what was inside. */
static inline enum sonde_shadow_found
sonde_shadow_find(struct sonde_shadow *shadow,
		  const struct sonde_shadow_hit *hit)
{
	uint32_t depth = shadow->depth;

	if (sonde_unlikely(shadow->beyond) && depth &&
	    hit->stack < shadow->calls[depth - 1].stack) {
		shadow->beyond--;
		return SONDE_SHADOW_BEYOND;
	}
	shadow->beyond = 0;
	while (depth && shadow->calls[depth - 1].function != hit->function)
		depth--;
	if (!depth)
		return SONDE_SHADOW_UNKNOWN;
	while (shadow->depth > depth)
		(void)sonde_shadow_pop(shadow);
	return SONDE_SHADOW_INNERMOST;
}

/*
 * For functions of whose calls only some are wanted: those are pushed, and an
 * exit belongs to one if its return address is where that one's was. What is
 * left of a call there that never returned must be taken at the next entry.
 * Whether there was one; what it called goes with it.
 */
static inline bool sonde_shadow_take(struct sonde_shadow *shadow,
				     const struct sonde_shadow_hit *hit)
{
	uint32_t depth = shadow->depth;

	while (depth && (shadow->calls[depth - 1].stack != hit->stack ||
			 shadow->calls[depth - 1].function != hit->function))
		depth--;
	if (!depth)
		return false;
	while (shadow->depth >= depth)
		(void)sonde_shadow_pop(shadow);
	return true;
}

/* False: there is no room. */
static inline bool sonde_shadow_give(struct sonde_shadow *shadow,
				     const struct sonde_shadow_hit *hit)
{
	if (shadow->depth == SONDE_SHADOW_CALLS &&
	    !sonde_shadow_make_room(shadow, hit->stack))
		return false;
	sonde_shadow_push(shadow, hit, 1);
	shadow->told = shadow->depth;
	return true;
}

/* A function begins; `now` is not 0. `shadow` NULL: there is none. */
static inline void sonde_shadow_enter(struct sonde_shadow *shadow,
				      const struct sonde_shadow_rule *rule,
				      const struct sonde_shadow_hit *hit,
				      uint64_t now)
{
	if (sonde_unlikely(!shadow)) {
		hit->begin(hit->ctx, hit->function, now, 0);
		return;
	}
	sonde_shadow_push(shadow, hit, now);
	sonde_shadow_tell_due(shadow, rule, hit, now);
}

/* It returns. */
static inline void sonde_shadow_leave(struct sonde_shadow *shadow,
				      const struct sonde_shadow_rule *rule,
				      const struct sonde_shadow_hit *hit,
				      uint64_t now)
{
	enum sonde_shadow_found found =
		shadow ? sonde_shadow_find(shadow, hit) : SONDE_SHADOW_UNKNOWN;

	if (found == SONDE_SHADOW_UNKNOWN)
		hit->end(hit->ctx, hit->function, 0);
	if (found != SONDE_SHADOW_INNERMOST)
		return;
	sonde_shadow_tell_due(shadow, rule, hit, now);
	if (sonde_shadow_pop(shadow))
		hit->end(hit->ctx, hit->function,
			 sonde_shadow_left_out(shadow));
}

#endif /* RING_SHADOW_H */
