/* SPDX-License-Identifier: MIT */
/*
 * asm.h - single x86-64 instructions.
 *
 * They are written one behind the other; what has no room is left out, and
 * `full` says so. Registers have the CPU's numbers.
 */
#ifndef EXPR_JIT_ASM_H
#define EXPR_JIT_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	SONDE_ASM_RAX,
	SONDE_ASM_RCX,
	SONDE_ASM_RDX,
	SONDE_ASM_RBX,
	SONDE_ASM_RSP,
	SONDE_ASM_RBP,
	SONDE_ASM_RSI,
	SONDE_ASM_RDI,
	SONDE_ASM_REGISTERS = 16,
	SONDE_ASM_NONE = 0xff, /* no register */
};

struct sonde_asm {
	uint8_t *bytes;
	uint32_t nr, max;
	uint32_t instructions;
	uint64_t address; /* where the first byte will run */
	bool full;
};

/* A register, or memory: base + index << scale + disp; without base and index
 * at an absolute address, which is reached from rip if it can be. */
struct sonde_asm_operand {
	bool is_memory;
	uint8_t reg;
	uint8_t base, index, scale;
	int64_t disp;
};

/* What all instructions have in common. */
struct sonde_asm_form {
	uint8_t width; /* bits of the operation: 8, 16, 32, 64 */
	uint8_t map;   /* 0: one byte of opcode; 0x0f: that one before */
	uint8_t opcode;
	uint8_t reg;       /* the other register, or what extends the opcode */
	bool reg_is_byte;  /* of 8 bits, */
	bool byte_operand; /* so is the operand, if it is a register */
	uint8_t immediate; /* bytes of a number that follows */
};

static inline void sonde_asm_bytes(struct sonde_asm *to, const void *bytes,
				   uint32_t nr)
{
	if (to->full || nr > to->max - to->nr) {
		to->full = true;
		return;
	}
	memcpy(to->bytes + to->nr, bytes, nr);
	to->nr += nr;
}

static inline void sonde_asm_byte(struct sonde_asm *to, uint8_t byte)
{
	sonde_asm_bytes(to, &byte, 1);
}

/* The lowest bytes of a number. */
static inline void sonde_asm_number(struct sonde_asm *to, uint64_t number,
				    uint32_t bytes)
{
	sonde_asm_bytes(to, &number, bytes);
}

static inline bool sonde_asm_is_s8(int64_t number)
{
	return number == (int8_t)number;
}

static inline bool sonde_asm_is_s32(int64_t number)
{
	return number == (int32_t)number;
}

static inline void sonde_asm_modrm(struct sonde_asm *to, unsigned int mod,
				   unsigned int reg, unsigned int rm)
{
	sonde_asm_byte(to, (uint8_t)(mod << 6 | (reg & 7) << 3 | (rm & 7)));
}

/* An address without registers. */
static inline void sonde_asm_absolute(struct sonde_asm *to,
				      const struct sonde_asm_form *form,
				      int64_t address)
{
	int64_t from =
		(int64_t)(to->address + to->nr + 1 + 4 + form->immediate);
	int64_t distance = (int64_t)((uint64_t)address - (uint64_t)from);

	if (sonde_asm_is_s32(distance)) {
		sonde_asm_modrm(to, 0, form->reg, 5);
		sonde_asm_number(to, (uint64_t)distance, 4);
		return;
	}
	if (!sonde_asm_is_s32(address))
		to->full = true;
	sonde_asm_modrm(to, 0, form->reg, 4);
	sonde_asm_byte(to, 0x25);
	sonde_asm_number(to, (uint64_t)address, 4);
}

static inline void sonde_asm_memory(struct sonde_asm *to,
				    const struct sonde_asm_form *form,
				    const struct sonde_asm_operand *at)
{
	bool has_base = at->base != SONDE_ASM_NONE;
	bool has_index = at->index != SONDE_ASM_NONE;
	bool sib = has_index || (at->base & 7) == SONDE_ASM_RSP;
	unsigned int mod = !has_base ? 0 :
			   at->disp == 0 && (at->base & 7) != SONDE_ASM_RBP ?
				       0 :
			   sonde_asm_is_s8(at->disp) ? 1 :
						       2;

	if (!has_base && !has_index) {
		sonde_asm_absolute(to, form, at->disp);
		return;
	}
	if (!sonde_asm_is_s32(at->disp))
		to->full = true;
	sonde_asm_modrm(to, mod, form->reg, sib ? 4 : at->base);
	if (sib)
		sonde_asm_modrm(to, at->scale, has_index ? at->index : 4,
				has_base ? at->base : 5);
	if (mod == 1)
		sonde_asm_number(to, (uint64_t)at->disp, 1);
	else if (mod == 2 || !has_base)
		sonde_asm_number(to, (uint64_t)at->disp, 4);
}

/* The prefix that tells of 64 bits and of r8 to r15; 0 if there need be none. */
static inline unsigned int
sonde_asm_rex(const struct sonde_asm_form *form,
	      const struct sonde_asm_operand *operand)
{
	unsigned int rex = form->width == 64 ? 0x48 : 0;

	if (form->reg & 8)
		rex |= 0x44;
	if (form->reg_is_byte && form->reg >= 4)
		rex |= 0x40;
	if (!operand->is_memory) {
		if (operand->reg & 8)
			rex |= 0x41;
		if (form->byte_operand && operand->reg >= 4)
			rex |= 0x40;
		return rex;
	}
	if (operand->base != SONDE_ASM_NONE && operand->base & 8)
		rex |= 0x41;
	if (operand->index != SONDE_ASM_NONE && operand->index & 8)
		rex |= 0x42;
	return rex;
}

static inline void sonde_asm_insn(struct sonde_asm *to,
				  const struct sonde_asm_form *form,
				  const struct sonde_asm_operand *operand)
{
	unsigned int rex = sonde_asm_rex(form, operand);

	to->instructions++;
	if (form->width == 16)
		sonde_asm_byte(to, 0x66);
	if (rex)
		sonde_asm_byte(to, (uint8_t)rex);
	if (form->map)
		sonde_asm_byte(to, form->map);
	sonde_asm_byte(to, form->opcode);
	if (operand->is_memory)
		sonde_asm_memory(to, form, operand);
	else
		sonde_asm_modrm(to, 3, form->reg, operand->reg);
}

#endif /* EXPR_JIT_ASM_H */
