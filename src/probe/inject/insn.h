/* SPDX-License-Identifier: MIT */
/*
 * insn.h - what one x86-64 instruction is, as far as moving it and replacing
 * it are concerned.
 *
 * The only place that knows the decoder's library (Zydis). Pure: bytes in,
 * facts out; nothing is read behind `size`.
 */
#ifndef PROBE_INJECT_INSN_H
#define PROBE_INJECT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum sonde_insn_flow {
	SONDE_INSN_NEXT,   /* goes on behind itself */
	SONDE_INSN_JUMP,   /* jmp rel: to `target` */
	SONDE_INSN_BRANCH, /* jcc rel: to `target`, or on */
	SONDE_INSN_LOOP,   /* loop, loopz, loopnz, jrcxz: likewise, rel8 only */
	SONDE_INSN_CALL,   /* call rel */
	SONDE_INSN_CALL_INDIRECT,
	SONDE_INSN_JUMP_INDIRECT,
	SONDE_INSN_RETURN,
	SONDE_INSN_STOP, /* ud2, hlt, int3: does not go on */
};

struct sonde_insn {
	enum sonde_insn_flow flow;
	uint8_t length;
	uint8_t rip_at;     /* offset of a 32-bit displacement relative to the
			       instruction's end; 0: it has none */
	uint8_t modrm_at;   /* of calls and jumps that are indirect */
	uint8_t condition;  /* BRANCH: 0..15, as encoded */
	uint8_t loop_bytes; /* LOOP: how many before its rel8 */
	bool is_nop;
	bool is_padding; /* nop or int3 */
	bool is_endbr;
	bool stays;       /* can't be made to run elsewhere */
	bool reads_flags; /* or might */
	bool kills_flags; /* writes all of the six arithmetic flags */
	bool is_got_jump; /* JUMP_INDIRECT through one fixed place */
	uint64_t target;
};

/* 0, or -EINVAL: no instruction. `address` is where it runs. */
int sonde_insn_decode(const uint8_t *bytes, size_t size, uint64_t address,
		      struct sonde_insn *ret_insn);

/* Which memory an operand relative to rip is; rip_at isn't 0. */
static inline uint64_t sonde_insn_slot(const struct sonde_insn *insn,
				       const uint8_t *bytes, uint64_t address)
{
	int32_t displacement;

	memcpy(&displacement, bytes + insn->rip_at, sizeof(displacement));
	return address + insn->length + (uint64_t)(int64_t)displacement;
}

/* Whether the instruction behind it is reached from it. */
static inline bool sonde_insn_goes_on(const struct sonde_insn *insn)
{
	return insn->flow != SONDE_INSN_JUMP &&
	       insn->flow != SONDE_INSN_JUMP_INDIRECT &&
	       insn->flow != SONDE_INSN_RETURN && insn->flow != SONDE_INSN_STOP;
}

/* Whether `target` says where it leads, unless it goes on. */
static inline bool sonde_insn_has_target(const struct sonde_insn *insn)
{
	return insn->flow == SONDE_INSN_JUMP ||
	       insn->flow == SONDE_INSN_BRANCH ||
	       insn->flow == SONDE_INSN_LOOP || insn->flow == SONDE_INSN_CALL;
}

#endif /* PROBE_INJECT_INSN_H */
