/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * capture.h - how probes write events: scratch memory, reservations in the rings,
 * captures and what filters need.
 *
 * ## Invariants
 *
 *  1. Levels nest like parentheses, as interrupts do: who interrupts leaves the
 *     depth as it was. So plain loads and stores are enough. Whoever holds the
 *     first level does so in one stay of a task on the CPU (sonde_epoch()): in
 *     another one it is dead, and with it whoever interrupted it.
 *  2. What reads memory that may be bad takes a level, even if it needs no
 *     scratch memory: a fault is an event, too, and its captures may fault.
 *
 * Preemption is off in all that is here (probe.h).
 */
#ifndef KMOD_CAPTURE_H
#define KMOD_CAPTURE_H

#include <linux/string.h>

#include "kmod/native.h"
#include "kmod/sonde.h"

/* Arguments that a probe can have; the kernel's own limit for BPF, too. */
#define SONDE_ARGS_MAX 12u
/* Behind those of a kretprobe: its result. */
#define SONDE_WORD_RESULT SONDE_ARGS_MAX
#define SONDE_WORDS_MAX   (SONDE_ARGS_MAX + 1u)

/* Where registers have the first arguments of a function, as words. */
#define SONDE_WORD(member) (offsetof(struct pt_regs, member) / sizeof(u64))

#if defined(CONFIG_X86_64)
static const u8 sonde_arg_words[] = { SONDE_WORD(di), SONDE_WORD(si),
				      SONDE_WORD(dx), SONDE_WORD(cx),
				      SONDE_WORD(r8), SONDE_WORD(r9) };
#elif defined(CONFIG_ARM64)
static const u8 sonde_arg_words[] = {
	SONDE_WORD(regs[0]), SONDE_WORD(regs[1]), SONDE_WORD(regs[2]),
	SONDE_WORD(regs[3]), SONDE_WORD(regs[4]), SONDE_WORD(regs[5]),
	SONDE_WORD(regs[6]), SONDE_WORD(regs[7])
};
#endif

/* A probe: not to be traced; and nothing that others could make too long is on
 * its stack, so it needs no guard there, which is a tenth of its cost. */
#define SONDE_PROBE notrace __attribute__((__no_stack_protector__))

/* ---- levels: scratch memory of who runs on this CPU ---- */

struct sonde_levels {
	u32 depth;
	u64 epoch;              /* of who holds the first level */
	unsigned char *scratch; /* SONDE_LEVELS * SONDE_KMOD_RECORD_MAX */
};
DECLARE_PER_CPU(struct sonde_levels, sonde_levels);

/* Scratch memory for all CPUs, once; kept until the module goes. 0 or -ENOMEM.
 * Under sonde_control, before an event that needs it is in a list. */
int sonde_levels_need(void);
void sonde_levels_free(void);

/* SONDE_KMOD_RECORD_MAX bytes until sonde_leave(); NULL: too deep, counted. */
static __always_inline unsigned char *
sonde_enter(const struct sonde_session *session)
{
	struct sonde_levels *levels = raw_cpu_ptr(&sonde_levels);
	u64 epoch = sonde_epoch();
	u32 depth = levels->depth;

	if (unlikely(depth && levels->epoch != epoch)) {
		depth = 0;
		WRITE_ONCE(levels->depth, depth);
	}
	if (!depth) {
		barrier(); /* no level has an epoch that is not its own */
		WRITE_ONCE(levels->epoch, epoch);
	}
	if (unlikely(depth >= SONDE_LEVELS)) {
		this_cpu_inc(session->cpus->deep);
		return NULL;
	}
	barrier(); /* likewise */
	WRITE_ONCE(levels->depth, depth + 1);
	barrier(); /* the level is ours before its memory is written */
	return levels->scratch + depth * SONDE_KMOD_RECORD_MAX;
}

static __always_inline void sonde_leave(void)
{
	struct sonde_levels *levels = raw_cpu_ptr(&sonde_levels);

	SONDE_LOCAL_TESTPOINT(before_leave);
	barrier(); /* nothing is read from its memory any more */
	WRITE_ONCE(levels->depth, levels->depth - 1);
}

/* ---- writing ---- */

struct sonde_writing {
	struct sonde_local_ring *ring;
	struct sonde_local_place place;
};

/* Where `bytes` of payload go, until sonde_event_commit(); NULL: lost, and
 * counted; or the event has call stacks (stack.c), and is yet to be recorded. */
static __always_inline unsigned char *
sonde_event_reserve(const struct sonde_event *event, u32 bytes,
		    struct sonde_writing *ret_writing)
{
	ret_writing->ring = raw_cpu_ptr(event->rings);
	return sonde_local_reserve(ret_writing->ring, event->id,
				   (u32)current->pid, bytes,
				   &ret_writing->place);
}

static __always_inline void
sonde_event_commit(const struct sonde_event *event,
		   const struct sonde_writing *writing)
{
	sonde_local_commit(writing->ring, &writing->place);
	if (unlikely(event->count))
		this_cpu_inc(event->count->recorded);
}

static __always_inline void
sonde_event_filtered(const struct sonde_event *event)
{
	if (unlikely(event->count))
		this_cpu_inc(event->count->filtered);
}

/* ---- captures ---- */

/* struct sonde_event.is_fixed */
enum sonde_fixed {
	SONDE_FIXED_NOT,   /* texts, buffers */
	SONDE_FIXED_PLAIN, /* nothing but arguments, cut to their bytes */
	SONDE_FIXED_LOADS, /* what is fixed, but takes more than that */
};

/* At most `max` bytes from the address of the kernel's, with its NUL; zeros are what is
 * left. False: they can't be read up to it. With a level. */
bool sonde_copy_text(unsigned char *to, u64 address, u32 max);

/* Of a VALUE; without a path, of any context, else with a level. */
u64 sonde_caps_number(const struct sonde_kmod_cap *cap,
		      const struct sonde_site *site);

static __always_inline void sonde_put(unsigned char *to, u64 value, u32 bytes)
{
	u32 low = (u32)value;
	u16 lower = (u16)value;

	if (bytes == 8)
		memcpy(to, &value, sizeof(value));
	else if (bytes == 4)
		memcpy(to, &low, sizeof(low));
	else if (bytes == 2)
		memcpy(to, &lower, sizeof(lower));
	else
		*to = (u8)value;
}

static __always_inline u64 sonde_word(const u64 *row, u32 index)
{
	return row[index];
}

/* The payload of a plain list: what `word` takes out of `from`, a row of arguments
 * or registers. */
static __always_inline void
sonde_capture_plain(const struct sonde_event *event,
		    u64 (*word)(const u64 *from, u32 index), const u64 *from,
		    unsigned char *to)
{
	const struct sonde_kmod_cap *cap = event->caps;
	const struct sonde_kmod_cap *end = cap + event->nr_caps;

	for (; cap < end; cap++) {
		u32 bytes = cap->bytes;

		sonde_put(to, word(from, cap->index), bytes);
		to += bytes;
	}
}

/* ---- filters ---- */

/* How a filter is judged. All but the first two are, before anything is captured, by
 * words: of a kprobe, the registers (struct pt_regs); of all else, site.args. */
enum sonde_filter_how {
	SONDE_FILTER_STAGED, /* by a payload */
	SONDE_FILTER_ROW,    /* by some words of it, captured before the rest */
	SONDE_FILTER_RANGE,  /* one word, by a comparison */
	SONDE_FILTER_NATIVE, /* by machine code (native.h) */
	SONDE_FILTER_WORDS,  /* by the evaluator */
};

/* Words that a filter may see of a payload before there is one. */
#define SONDE_ROW_MAX 8u

/* Where such a word comes from: `bytes` bytes at the address in argument `arg` and
 * `offset`; or, if `bytes` is 0, by the capture. */
struct sonde_row_word {
	s16 offset;
	u8 arg;
	u8 bytes;
	u8 cap;
};

/* Of one that is a ROW: words, in the order of captures. */
struct sonde_row {
	u32 caps; /* which captures, a bit for each */
	u32 nr;
	struct sonde_row_word words[SONDE_ROW_MAX];
};

/* RANGE: a program that compares a word's low bytes with a constant. It passes if
 * these, shifted to the left end of the word, are in a range, modulo 2^64. ROW: `run` is
 * NULL if the evaluator must judge. */
struct sonde_filter_early {
	u8 how; /* enum sonde_filter_how */
	u8 index;
	u8 shift; /* 64 - the field's bits */
	union {
		u64 low;
		sonde_native_run run;
	};
	union {
		u64 span; /* low + span is the last in the range */
		const struct bpf_insn *code;
	};
	struct sonde_row row;
};

/* The first member of struct sonde_filter. */
static __always_inline const struct sonde_filter_early *
sonde_filter_early(const struct sonde_filter *filter)
{
	return (const struct sonde_filter_early *)filter;
}

static __always_inline bool
sonde_range_passes(const struct sonde_filter_early *range, u64 word)
{
	return (word << range->shift) - range->low <= range->span;
}

/* Of one that is STAGED, which captures it sees: those of `caps`, a bit for each; and
 * if it calls for texts, they are the first `prefix`, else `prefix` is 0, and they end
 * after `bytes` of the payload. */
struct sonde_filter_sees {
	u32 caps;
	u32 prefix;
	u32 bytes;
};
struct sonde_filter_sees sonde_filter_sees(const struct sonde_filter *filter);

/* What it may take, at most; 0 if there is none. */
u64 sonde_filter_steps(const struct sonde_filter *filter);
/* Whether it holds for a payload of `bytes`, in which is what it sees. Preemption
 * off. */
bool sonde_filter_passes(const struct sonde_filter *filter,
			 const unsigned char *payload, u32 bytes);
/* Of one that is NATIVE, WORDS or a ROW: 1 if it holds for these, else 0; or of one
 * that sees memory, 2 if it could not be read (enum sonde_seeing_result). */
u32 sonde_filter_verdict(const struct sonde_filter *filter, const u64 *words);
/* Of one that sees none. */
static __always_inline bool
sonde_filter_holds(const struct sonde_filter *filter, const u64 *words)
{
	return sonde_filter_verdict(filter, words);
}

/* Whether a filter that can be judged by the words alone rejects. */
static __always_inline bool
sonde_filter_rejects(const struct sonde_filter *filter, const u64 *words)
{
	const struct sonde_filter_early *early = sonde_filter_early(filter);

	if (early->how == SONDE_FILTER_RANGE)
		return !sonde_range_passes(early, words[early->index]);
	return early->how > SONDE_FILTER_ROW &&
	       !sonde_filter_holds(filter, words);
}

static __always_inline bool sonde_event_rejects(const struct sonde_event *event,
						const u64 *words)
{
	if (likely(!event->filter) ||
	    !sonde_filter_rejects(event->filter, words))
		return false;
	sonde_event_filtered(event);
	return true;
}

/* Whether a payload, or some of it, must be seen before it is known if it is
 * wanted. */
static __always_inline bool
sonde_event_must_judge(const struct sonde_event *event)
{
	return event->filter &&
	       sonde_filter_early(event->filter)->how <= SONDE_FILTER_ROW;
}

static __always_inline bool sonde_event_has_row(const struct sonde_event *event)
{
	return event->filter &&
	       sonde_filter_early(event->filter)->how == SONDE_FILTER_ROW;
}

/* A payload of `bytes` that was staged: judged, copied. */
void sonde_event_finish(const struct sonde_event *event,
			const unsigned char *staged, u32 bytes);
/* By its captures, but for what is in the words of its filter's row, which holds. */
void sonde_event_capture_rest(const struct sonde_event *event,
			      const struct sonde_site *site, const u64 *words);
/* By its captures: those that are not plain, or must be judged. */
void sonde_event_capture_slow(const struct sonde_event *event,
			      const struct sonde_site *site);

#endif /* KMOD_CAPTURE_H */
