/* SPDX-License-Identifier: MIT */
/*
 * bytecode.h - an agent expression in the making (expr/agent.h).
 *
 * What doesn't fit is not written: sonde_probe_bytecode_end() tells. With
 * `traces`, each read of memory is recorded as well, as GDB has it done in what
 * is collected.
 */
#ifndef PROBE_BYTECODE_H
#define PROBE_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expr/agent.h"

/* By GDB's numbers. */
extern const char *const sonde_probe_register_names[SONDE_AGENT_REGISTERS];

enum sonde_probe_op {
	SONDE_PROBE_OP_ADD = 0x02,
	SONDE_PROBE_OP_SUB = 0x03,
	SONDE_PROBE_OP_MUL = 0x04,
	SONDE_PROBE_OP_DIV_SIGNED = 0x05,
	SONDE_PROBE_OP_DIV_UNSIGNED = 0x06,
	SONDE_PROBE_OP_REM_SIGNED = 0x07,
	SONDE_PROBE_OP_REM_UNSIGNED = 0x08,
	SONDE_PROBE_OP_LSH = 0x09,
	SONDE_PROBE_OP_RSH_SIGNED = 0x0a,
	SONDE_PROBE_OP_RSH_UNSIGNED = 0x0b,
	SONDE_PROBE_OP_TRACE = 0x0c,
	SONDE_PROBE_OP_TRACE_QUICK = 0x0d,
	SONDE_PROBE_OP_LOG_NOT = 0x0e,
	SONDE_PROBE_OP_BIT_AND = 0x0f,
	SONDE_PROBE_OP_BIT_OR = 0x10,
	SONDE_PROBE_OP_BIT_XOR = 0x11,
	SONDE_PROBE_OP_BIT_NOT = 0x12,
	SONDE_PROBE_OP_EQUAL = 0x13,
	SONDE_PROBE_OP_LESS_SIGNED = 0x14,
	SONDE_PROBE_OP_LESS_UNSIGNED = 0x15,
	SONDE_PROBE_OP_EXT = 0x16,
	SONDE_PROBE_OP_REF8 = 0x17, /* and of 16, 32, 64 bits */
	SONDE_PROBE_OP_IF_GOTO = 0x20,
	SONDE_PROBE_OP_GOTO = 0x21,
	SONDE_PROBE_OP_CONST8 = 0x22, /* and of 16, 32, 64 bits */
	SONDE_PROBE_OP_REG = 0x26,
	SONDE_PROBE_OP_END = 0x27,
	SONDE_PROBE_OP_DUP = 0x28,
	SONDE_PROBE_OP_POP = 0x29,
	SONDE_PROBE_OP_ZERO_EXT = 0x2a,
	SONDE_PROBE_OP_SWAP = 0x2b,
	SONDE_PROBE_OP_GETV = 0x2c,
	SONDE_PROBE_OP_TRACEV = 0x2e,
	SONDE_PROBE_OP_TRACENZ = 0x2f,
	SONDE_PROBE_OP_PICK = 0x32,
};

struct sonde_probe_bytecode {
	uint8_t bytes[SONDE_AGENT_BYTES_MAX];
	size_t nr;          /* that there are or would be */
	uint64_t registers; /* bit n: register n is used */
	bool traces;
};

void sonde_probe_put(struct sonde_probe_bytecode *code, uint8_t byte);
void sonde_probe_put_const(struct sonde_probe_bytecode *code, int64_t number);
void sonde_probe_put_register(struct sonde_probe_bytecode *code, uint8_t reg);
/* TRACEV, GETV */
void sonde_probe_put_variable(struct sonde_probe_bytecode *code,
			      enum sonde_probe_op op, uint32_t number);
/* Reads 1, 2, 4 or 8 bytes where the top of the stack says. */
void sonde_probe_put_read(struct sonde_probe_bytecode *code, uint32_t bytes);
/* Makes the lower bits a number of 64. */
void sonde_probe_put_extend(struct sonde_probe_bytecode *code, uint32_t bits,
			    bool is_signed);
/* A jump (IF_GOTO, GOTO): where its target is to be written. */
size_t sonde_probe_put_jump(struct sonde_probe_bytecode *code,
			    enum sonde_probe_op op);
/* It leads to what is put next. */
void sonde_probe_land(struct sonde_probe_bytecode *code, size_t jump);
/* Whether all of it is there. */
bool sonde_probe_bytecode_end(struct sonde_probe_bytecode *code);

#endif /* PROBE_BYTECODE_H */
