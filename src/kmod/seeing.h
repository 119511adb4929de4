/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * seeing.h - programs that see a kprobe's registers and the kernel's memory: agent
 * expressions, as GDB makes them (seeing.c). What they are for is in abi.h.
 */
#ifndef KMOD_SEEING_H
#define KMOD_SEEING_H

#include <linux/types.h>

struct bpf_prog;
struct sonde_program;
struct sonde_program_state;

/* The base that is a probe's words: of a kprobe, struct pt_regs. No user's program has
 * it. */
#define SONDE_SEEING_WORDS 2u

/* What a program comes to. */
enum sonde_seeing_result {
	SONDE_SEEN_NOTHING, /* false; or there is no value */
	SONDE_SEEN_VALUE,   /* true; or there is one */
	SONDE_SEEN_FAULT,   /* memory that can't be read */
};

/*
 * Whether there is what a verified program sees, which then is changed to read the
 * words: 0; -EINVAL: it reads a field, or a register that isn't there; -EOPNOTSUPP: it
 * does what can't be done here (texts, doubles, variables, what records). In either
 * case it must not be run.
 */
int sonde_seeing_prepare(struct sonde_program *program, u64 place);

/* Its machine code, for sonde_native_see(); NULL: it is to be evaluated. May sleep. */
struct bpf_prog *sonde_seeing_native(const struct sonde_program *program,
				     const struct sonde_program_state *states,
				     bool keeps_value);

/* What the evaluator says of one that was prepared, and its value, if there is one. Any
 * context. */
enum sonde_seeing_result sonde_seeing_value(const struct sonde_program *program,
					    const u64 *words, u64 *ret_value);
enum sonde_seeing_result
sonde_seeing_verdict(const struct sonde_program *program, const u64 *words);

#endif /* KMOD_SEEING_H */
