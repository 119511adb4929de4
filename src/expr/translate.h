/* SPDX-License-Identifier: MIT */
/*
 * translate.h - a verified program (expr/program.h) as eBPF instructions, one
 * operation after the other, without memory of its own and without a look at the
 * whole: for the kernel's module, whose programs come from others and must not be
 * taken for what they say they are (kmod/native.c). What has time and memory makes
 * better code, from a graph (expr/ebpf.h).
 *
 * The code is a run of instructions that jumps forward only and calls nothing. It
 * ends by setting R0 to 1 if the program's value is true, else to 0, and going to
 * the instruction after its last. It reads what `bases` says, and nothing else; it
 * writes R0 and the registers of slots. It divides by nothing that is 0, and shifts
 * by less than 64 only: what runs it needs no check of that.
 *
 * Integers, comparisons, && || !. What has texts, calls, doubles, the machine of
 * agent expressions, or more slots than there are registers, isn't translated.
 *
 * Freestanding. Two passes over the program, at most 10 instructions for an
 * operation, mostly one.
 */
#ifndef EXPR_TRANSLATE_H
#define EXPR_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

struct sonde_program;
struct sonde_program_state;

#define SONDE_TRANSLATE_BASES 3
#define SONDE_TRANSLATE_OPS   1024u /* of a program, at most */
#define SONDE_TRANSLATE_INSNS 10u   /* of an operation, at most */

/* Where the code finds things. */
struct sonde_ebpf_frame {
	/* By base: the register that holds an address, the offset of the base
	 * from it, and how many bytes may be read, at any alignment; 0: none. */
	struct {
		uint8_t reg;
		int16_t offset;
		uint16_t bytes;
	} bases[SONDE_TRANSLATE_BASES];
	uint8_t first, last; /* registers of slots, not R0, in a row */
};

/*
 * `states` is what sonde_program_verify() left; `starts` is room for nr_ops
 * numbers. False: it can't be translated, or not in `max` instructions; what is
 * at `to` then means nothing.
 */
bool sonde_ebpf_translate(const struct sonde_program *program,
			  const struct sonde_program_state *states,
			  const struct sonde_ebpf_frame *frame,
			  uint16_t *starts, struct bpf_insn *to, uint32_t max,
			  uint32_t *ret_nr);

#endif /* EXPR_TRANSLATE_H */
