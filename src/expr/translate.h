/* SPDX-License-Identifier: MIT */
/*
 * translate.h - a verified program (expr/program.h) as eBPF instructions, one
 * operation after the other, without memory of its own and without a look at the
 * whole: for the kernel's module, whose programs come from others and must not be
 * taken for what they say they are (kmod/native.c). What has time and memory makes
 * better code, from a graph (expr/ebpf.h).
 *
 * The code is a run of instructions that jumps forward only. It ends by setting R0
 * to 1 if the program's value is true, else to 0, or to 2 if memory could not be read
 * and that is to be told, and going to the instruction after its last. It reads what `bases` says, and nothing
 * else; it writes R0 and the registers of slots. It divides by nothing that is 0, and
 * shifts by less than 64 only: what runs it needs no check of that.
 *
 * Integers, comparisons, && || !; and of agent expressions what computes, if there are
 * calls for the memory and the registers that they see (frame->calls). What has texts,
 * doubles, trace state variables, or more slots than there are registers, isn't
 * translated.
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
#define SONDE_TRANSLATE_READS 4
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
	/* What the code calls, as numbers of BPF_CALL; 0: nothing. Calls leave R6 to
	 * R9, so slots and bases are there. */
	struct {
		/* 1, 2, 4, 8 bytes from the address in R1, widened by zeros, to the
		 * 8 bytes that R2 points to; R0 is 0 if they can't be read */
		int32_t read[SONDE_TRANSLATE_READS];
		int32_t ask; /* R0 is the register whose number is in R1 */
		int16_t at;  /* from R10: 8 bytes that `read` writes to */
	} calls;
	bool tells_faults;
	/* The value itself is wanted: it is stored at R10 + value_at, 8 bytes, and R0
	 * is 1. */
	bool keeps_value;
	int16_t value_at;
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
