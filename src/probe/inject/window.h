/* SPDX-License-Identifier: MIT */
/*
 * window.h - which bytes a jump to a pad may replace.
 *
 * A *window* is the run of whole instructions, from the probed one on, that
 * the five bytes of a jump cover. By kind, best first:
 *
 *	SINGLE	one instruction of five bytes or more (a nop for tracepoints
 *		among them)
 *	PUNNED	several, and the jump's displacement is chosen so that an int3
 *		stands at the start of each further one. A thread that was
 *		inside, or jumps there, traps, and is sent to the copy of that
 *		instruction in the pad: nothing need be known of who is where.
 *	FREE	several, any displacement: the function's branches are known
 *		and none leads inside, and no thread is inside (patch.h makes
 *		sure). Or no-ops that a function begins with
 *	TRAP	an int3 alone: the rest
 *
 * PUNNED needs address space at some places (pad_memory.h); where that lacks, FREE,
 * else TRAP.
 *
 * What is never replaced but by an int3, and why:
 *
 *	endbr64		indirect branches must find one: a probe at one is put
 *			behind it, and none is inside a window
 *	loop heads	a known backward branch leads inside: each round would
 *			trap. (Forward ones may: not more often than the site.)
 *	what follows	an instruction that does not go on, unless it is
 *			padding or a known branch leads there: it may be data
 *
 * A call inside, but not at the end, returns to an int3: right, and slow.
 *
 * Only flags are said to be dead, not registers: a debugger's user may want
 * to see a variable in a register that no instruction reads any more.
 */
#ifndef PROBE_INJECT_WINDOW_H
#define PROBE_INJECT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_WINDOW_BYTES 20 /* 4 + 15, rounded up */
#define SONDE_WINDOW_INSNS 5

enum sonde_window_kind {
	SONDE_WINDOW_SINGLE = 1,
	SONDE_WINDOW_PUNNED,
	SONDE_WINDOW_FREE,
	SONDE_WINDOW_TRAP,
};

struct sonde_insn_list;

/* A function's code, or as much of it as is known. */
struct sonde_code_view {
	const uint8_t *bytes;
	uint64_t address; /* of bytes[0], in the process */
	size_t size;
	size_t behind;     /* bytes[] has so many more, behind the function */
	bool is_function;  /* all of one: what is known of its branches holds */
	bool has_handlers; /* the unwinder may enter it where it likes (C++) */
	/* insn_list.h: of these bytes; NULL: instructions are decoded as needed */
	const struct sonde_insn_list *insns;
	/* Where code of the function that lies elsewhere leads to; borrowed. */
	const uint64_t *entries;
	size_t nr_entries;
};

struct sonde_window {
	enum sonde_window_kind kind;
	bool can_be_free; /* PUNNED: FREE would do, too */
	bool is_entered;  /* a known branch leads inside, or may */
	/* A jump by a table may lead to any of its instructions: to one that
	 * is not among nr_trapped it goes by unseen. */
	bool may_be_entered;
	bool flags_are_dead; /* before the first instruction */
	bool is_idle;        /* its first instruction does nothing, as who
				asks for a pad knows: the pad leaves it out */
	uint64_t address;    /* may be behind an endbr64 that was asked for */
	uint8_t nr_bytes;    /* whole instructions; TRAP: of one */
	uint8_t nr_insns;
	uint8_t nr_trapped; /* of them, that begin within the jump's bytes */
	uint8_t starts[SONDE_WINDOW_INSNS]; /* offsets; starts[0] is 0 */
	uint8_t bytes[SONDE_WINDOW_BYTES];  /* as they were */
	/* PUNNED: the displacement's bits under the mask are these */
	uint32_t mask, value;
	/* TRAP that another kind was tried for: why, a constant; or NULL */
	const char *why_trap;
};

/* 0; -EINVAL (no instruction begins there), -EOPNOTSUPP (an instruction that
 * can't run elsewhere), with *ret_reason a constant text. */
int sonde_window_choose(const struct sonde_code_view *view, uint64_t address,
			struct sonde_window *ret_window,
			const char **ret_reason);
/* The same of one that has the instruction at `through`, too. What lies behind
 * the jump's bytes stays as it is in the text. */
int sonde_window_choose_through(const struct sonde_code_view *view,
				uint64_t address, uint64_t through,
				struct sonde_window *ret_window,
				const char **ret_reason);

#endif /* PROBE_INJECT_WINDOW_H */
