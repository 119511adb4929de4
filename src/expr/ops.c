/* SPDX-License-Identifier: MIT */
/* ops.c - ops.def as data. */
#include "expr/program.h"

enum {
	NUMBER = SONDE_EXPR_OPERAND_NUMBER,
	MEM = SONDE_EXPR_OPERAND_MEM,
	TEXT = SONDE_EXPR_OPERAND_TEXT,
	CALL = SONDE_EXPR_OPERAND_CALL,
	JUMP = SONDE_EXPR_OPERAND_JUMP,
	SENSE = SONDE_EXPR_OPERAND_SENSE,
	END = SONDE_EXPR_OPERAND_END,
	MACHINE = SONDE_EXPR_OPERAND_MACHINE,
	SIGNED = SONDE_EXPR_OPERAND_SIGNED,
	SWAP = SONDE_EXPR_OPERAND_SWAP,
	DOUBLE = SONDE_EXPR_OPERAND_DOUBLE,
};

/* Numbers and texts. */
#define SHAPE_0      \
	{            \
		0, 0 \
	}
#define SHAPE_N      \
	{            \
		1, 0 \
	}
#define SHAPE_NN     \
	{            \
		2, 0 \
	}
#define SHAPE_NNN    \
	{            \
		3, 0 \
	}
#define SHAPE_T      \
	{            \
		0, 1 \
	}
#define SHAPE_TT     \
	{            \
		0, 2 \
	}

const struct sonde_expr_op_info sonde_expr_op_infos[SONDE_EXPR_OP_CODES] = {
#define SONDE_EXPR_OP(name, takes, gives, operands) \
	{ #name, SHAPE_##takes, SHAPE_##gives, operands, 0 },
#define SONDE_EXPR_OP_LOAD(name, bytes, how, load) \
	{ #name, SHAPE_0, SHAPE_N, MEM | (how), bytes },
#define SONDE_EXPR_OP_FIELD(name, bytes, condition) \
	{ #name, SHAPE_0, SHAPE_0, MEM | NUMBER | SENSE | JUMP, bytes },
#define SONDE_EXPR_OP_READ(name, bytes) \
	{ #name, SHAPE_N, SHAPE_N, MACHINE | JUMP, bytes },
#include "expr/ops.def"
};
