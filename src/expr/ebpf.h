/* SPDX-License-Identifier: MIT */
/*
 * ebpf.h - a verified program (expr/program.h) as eBPF instructions, for the
 * kernel's verifier to accept. They are made from the graph that native code is
 * made from (jit/graph.h).
 *
 * The code is a run of instructions, to be put in the place of a block of no-ops:
 * it calls nothing but the helper that reads memory, for agent expressions. On
 * entry the base registers hold the addresses of the bases' memory; it ends by
 * setting R0 to 1 if the program's value is true, else to 0, and going to the
 * instruction after its last. Where it may tell so (`tells_faults`), it sets R0 to 2
 * if memory could not be read; where the value itself is wanted (`keeps_value`), R0
 * is 1 if there is one, whatever it is, and 0 if a division was by zero. It uses R0 to R5 and `room` bytes of the stack
 * above `stack`, and leaves R6 to R9 alone but for reading the bases.
 *
 * Agent expressions (agent.h) see the registers that `registers` finds, and
 * memory, and trace state variables' values; what assigns or records is
 * -EOPNOTSUPP.
 *
 * Integers, text comparisons against constants, && || ! and all of integer
 * arithmetic; what needs doubles, or texts behind others of varying length, is
 * -EOPNOTSUPP: whoever reads the records evaluates it then. So are patterns with
 * a star anywhere but at their end, or with sets, and what has more ways than
 * the graph has blocks for. Jumps go forward, and all instructions can be
 * reached.
 *
 * Pure; allocates while it runs.
 */
#ifndef EXPR_EBPF_H
#define EXPR_EBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

struct sonde_program;

#define SONDE_EBPF_VARIABLE_0 (UINT32_C(1) << 31)

struct sonde_ebpf_config {
	/* By base: the register that holds its address (R6 to R10), the offset
	 * of the base from it, and how many bytes may be read; 0 bytes: it may
	 * not be used. What the register holds is a multiple of 8. `unaligned`:
	 * it isn't on the stack, where the verifier wants loads to be aligned,
	 * and the CPU needs none. */
	struct {
		uint8_t reg;
		bool unaligned;
		int16_t offset;
		uint16_t bytes;
	} bases[2];
	/* The stack for temporaries: R10 + stack, a multiple of 8, and `room`
	 * bytes up. What needs none of it may have 0; reading memory takes 8. */
	int16_t stack;
	uint16_t room;
	/* A call's text: where it is in base 0 and its fixed size, or 0 if it
	 * is a string that surely ends with NUL within the base; false if it
	 * isn't at a fixed place. */
	bool (*text)(void *ctx, uint32_t ref, uint32_t *ret_offset,
		     uint32_t *ret_size);
	/* Where an agent expression's register is: 8 bytes, aligned, at an
	 * offset from what R6 to R10 hold (as of a struct pt_regs); or where a
	 * trace state variable is, of number SONDE_EBPF_VARIABLE_0 and up;
	 * false: it can't be had. NULL: none can. */
	bool (*registers)(void *ctx, uint32_t number, uint8_t *ret_reg,
			  int16_t *ret_offset);
	/* BPF_FUNC_probe_read_kernel or _user; 0: memory can't be read */
	int32_t read_helper;
	bool tells_faults;
	/* Its value goes to 8 bytes at R10 + value_at. */
	bool keeps_value;
	int16_t value_at;
	void *ctx;
};

/* 0 and the number of instructions; -EOPNOTSUPP (as above; or bases or room
 * don't suffice), -E2BIG (more than `max`, or than jumps reach), -ENOMEM. */
int sonde_ebpf_generate(const struct sonde_program *program,
			const struct sonde_ebpf_config *config,
			struct bpf_insn *to, size_t max, size_t *ret_nr);

#endif /* EXPR_EBPF_H */
