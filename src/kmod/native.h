/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * native.h - conditions as machine code, which the kernel's own compiler for BPF
 * makes (native.c, docs/decisions/0036).
 */
#ifndef KMOD_NATIVE_H
#define KMOD_NATIVE_H

#include <linux/types.h>

struct bpf_insn;
struct bpf_prog;
struct sonde_ebpf_frame;
struct sonde_program;
struct sonde_program_state;

/* 1 if it holds for what is at `from`, else 0; `code` is what sonde_native_code()
 * said. Any context; it reads nothing else, calls nothing and can't fail. */
typedef unsigned int (*sonde_native_run)(const void *from,
					 const struct bpf_insn *code);

/*
 * A verified program that reads `bytes` bytes of base `base`, and no other base.
 * NULL: this kernel makes no code, or none of this; then it is for the evaluator.
 * `states` is what sonde_program_verify() left. May sleep.
 */
struct bpf_prog *sonde_native_make(const struct sonde_program *program,
				   const struct sonde_program_state *states,
				   u32 base, u32 bytes);

#define SONDE_NATIVE_AROUND \
	8u /* instructions of `begin` and of `end`, at most */

/* How else a program may be made: by a frame of the caller's, with what comes before
 * it and behind it, which give how many instructions they wrote. The stack is the
 * code's own. */
struct sonde_native_form {
	const struct sonde_ebpf_frame *frame;
	u32 (*begin)(struct bpf_insn *to, bool keeps_value);
	u32 (*end)(struct bpf_insn *to); /* NULL: it ends with what R0 is */
	u32 stack_bytes;
};
struct bpf_prog *sonde_native_make_by(const struct sonde_program *program,
				      const struct sonde_program_state *states,
				      const struct sonde_native_form *form);
sonde_native_run sonde_native_function(const struct bpf_prog *native);
const struct bpf_insn *sonde_native_code(const struct bpf_prog *native);
/* Any context; a grace period after the last one has run it. NULL is fine. */
void sonde_native_free(struct bpf_prog *native);

/* Whether this kernel makes code now: it is tried. May sleep. */
bool sonde_native_works(void);

#endif /* KMOD_NATIVE_H */
