/* SPDX-License-Identifier: MIT */
/* bytecode.c - see bytecode.h. Operands are big endian. */
#include "probe/bytecode.h"

enum {
	BITS = 8
};

void sonde_probe_put(struct sonde_probe_bytecode *code, uint8_t byte)
{
	if (code->nr < sizeof(code->bytes))
		code->bytes[code->nr] = byte;
	code->nr++;
}

const char *const sonde_probe_register_names[SONDE_AGENT_REGISTERS] = {
	"rax", "rbx", "rcx", "rdx",     "rsi",     "rdi", "rbp",
	"rsp", "r8",  "r9",  "r10",     "r11",     "r12", "r13",
	"r14", "r15", "rip", "eflags",  "cs",      "ss",  "ds",
	"es",  "fs",  "gs",  "fs_base", "gs_base",
};

static void bytecode_put_number(struct sonde_probe_bytecode *code,
				uint64_t number, uint32_t bytes)
{
	while (bytes-- > 0)
		sonde_probe_put(code, (uint8_t)(number >> (bytes * BITS)));
}

/* 0 .. 3: of 1, 2, 4, 8 bytes. */
static uint8_t size_index(uint64_t bytes)
{
	uint8_t index = 0;

	while (bytes > 1u << index && index < 3)
		index++;
	return index;
}

void sonde_probe_put_const(struct sonde_probe_bytecode *code, int64_t number)
{
	uint64_t size = number < 0 ? ~(uint64_t)number : (uint64_t)number;
	uint32_t bits = 64 - (uint32_t)__builtin_clzll(size | 1);
	uint8_t index;

	if (number < 0)
		bits++; /* the sign's */
	index = size_index((bits + BITS - 1) / BITS);
	sonde_probe_put(code, (uint8_t)(SONDE_PROBE_OP_CONST8 + index));
	bytecode_put_number(code, (uint64_t)number, 1u << index);
	if (number < 0)
		sonde_probe_put_extend(code, BITS << index, true);
}

void sonde_probe_put_register(struct sonde_probe_bytecode *code, uint8_t reg)
{
	sonde_probe_put(code, SONDE_PROBE_OP_REG);
	bytecode_put_number(code, reg, 2);
	code->registers |= (uint64_t)1 << reg;
}

void sonde_probe_put_variable(struct sonde_probe_bytecode *code,
			      enum sonde_probe_op op, uint32_t number)
{
	sonde_probe_put(code, (uint8_t)op);
	bytecode_put_number(code, number, 2);
}

void sonde_probe_put_read(struct sonde_probe_bytecode *code, uint32_t bytes)
{
	if (code->traces) {
		sonde_probe_put(code, SONDE_PROBE_OP_TRACE_QUICK);
		sonde_probe_put(code, (uint8_t)bytes);
	}
	sonde_probe_put(code,
			(uint8_t)(SONDE_PROBE_OP_REF8 + size_index(bytes)));
}

void sonde_probe_put_extend(struct sonde_probe_bytecode *code, uint32_t bits,
			    bool is_signed)
{
	if (bits >= 64)
		return;
	sonde_probe_put(code, is_signed ? SONDE_PROBE_OP_EXT :
					  SONDE_PROBE_OP_ZERO_EXT);
	sonde_probe_put(code, (uint8_t)bits);
}

size_t sonde_probe_put_jump(struct sonde_probe_bytecode *code,
			    enum sonde_probe_op op)
{
	sonde_probe_put(code, (uint8_t)op);
	bytecode_put_number(code, 0, 2);
	return code->nr - 2;
}

void sonde_probe_land(struct sonde_probe_bytecode *code, size_t jump)
{
	if (code->nr > sizeof(code->bytes))
		return; /* it will be refused */
	code->bytes[jump] = (uint8_t)(code->nr >> BITS);
	code->bytes[jump + 1] = (uint8_t)code->nr;
}

bool sonde_probe_bytecode_end(struct sonde_probe_bytecode *code)
{
	sonde_probe_put(code, SONDE_PROBE_OP_END);
	return code->nr <= sizeof(code->bytes);
}
