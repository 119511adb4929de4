/* SPDX-License-Identifier: MIT */
/*
 * program.h - programs: operations on a stack of 64-bit slots.
 *
 * A program is one piece of memory without addresses in it: this header, the
 * operations, the texts. It can be copied, written and read as it is.
 *
 * ## What holds, and sonde_program_verify() checks
 *
 * 1. Jumps go forward; the last operation doesn't fall off the end. So a
 *    program of n operations is done after at most n.
 * 2. Where control meets, the stack is as deep and has numbers and texts in the
 *    same slots, whichever way was taken; so the depth at each operation is
 *    known beforehand (native code uses registers for slots). It is at most
 *    SONDE_PROGRAM_STACK.
 * 3. Each operation finds what it takes: no number is taken for an address. A
 *    text's two slots come and go together: no jump keeps one without the other.
 * 4. Bases are among `bases`; texts lie inside the program, with a zero byte
 *    behind each.
 * 5. All operations can be reached.
 * 6. What END_... gives is of the program's type and alone on the stack, and
 *    what env->call gives is taken only if it is of the type that is expected.
 * 7. A program that is called constant reads no field, no register, no memory.
 * 8. Numbers of registers are below SONDE_EXPR_REGISTERS; those of variables
 *    fit in 32 bits, and mean something to env->machine only.
 *
 * ## Missing values
 *
 * The stack has none. What finds that a value is missing jumps to where its
 * expression is dealt with; a jump keeps the lowest `keep` slots, and drops
 * those above, which belonged to the expression that has no value.
 *
 * ## Agent expressions
 *
 * GDB's agent expressions are a stack machine of 64-bit values as well: what
 * they need besides (extending, duplicating, reading any memory) are the last
 * operations of ops.def. Those with the operand MACHINE see a program that is
 * being traced; a program without them is the same wherever it is evaluated.
 */
#ifndef EXPR_PROGRAM_H
#define EXPR_PROGRAM_H

#include <stddef.h>

#include "expr/expr.h"

#define SONDE_PROGRAM_STACK 64
#define SONDE_PROGRAM_OPS   16384
#define SONDE_PROGRAM_TEXTS ((uint32_t)1 << 20)

enum sonde_expr_op_code {
#define SONDE_EXPR_OP(name, takes, gives, operands) SONDE_EXPR_OP_##name,
#include "expr/ops.def"
	SONDE_EXPR_OP_CODES,
};

struct sonde_expr_op {
	uint8_t code; /* enum sonde_expr_op_code */
	uint8_t keep; /* slots that a jump leaves */
	uint8_t base;
	uint8_t sense;   /* 0 or 1 */
	uint32_t target; /* index of an operation */
	uint32_t offset; /* in the base, or in the texts */
	union {
		uint32_t length; /* of a text */
		uint32_t ref;
	};
	uint64_t number;
};

struct sonde_program {
	uint32_t nr_ops;
	uint32_t texts_bytes;
	uint16_t bases; /* bit b: base b is used */
	uint8_t type; /* enum sonde_expr_type of its values; MISSING: of none */
	uint8_t constant; /* 0 or 1 */
	/* and the texts behind them; a recorder of 64 bits has programs of 32 */
	_Alignas(8) struct sonde_expr_op ops[];
};
_Static_assert(offsetof(struct sonde_program, ops) == 16 &&
		       sizeof(struct sonde_expr_op) == 24,
	       "the same in any process");

static inline const char *
sonde_program_texts(const struct sonde_program *program)
{
	return (const char *)&program->ops[program->nr_ops];
}

/* All of it, in whatever holds it: who reads one from elsewhere checks first that its
 * nr_ops and texts_bytes are no more than what there is. */
static inline size_t sonde_program_bytes(const struct sonde_program *program)
{
	return sizeof(*program) + program->nr_ops * sizeof(program->ops[0]) +
	       program->texts_bytes;
}

/* What the verifier remembers of each operation. */
struct sonde_program_state {
	uint64_t texts; /* bit i: slots i and i + 1 are a text */
	uint8_t depth;  /* slots in use */
	bool reached;
};

/* Whether what is written above holds. `states` is room for nr_ops of them.
 * Nothing beyond nr_ops and texts_bytes is looked at. */
bool sonde_program_verify(const struct sonde_program *program,
			  struct sonde_program_state *states);

/* How many operations from the first on are sound, whatever the next one is: so
 * tests make sound programs, one operation after the other. */
uint32_t sonde_program_sound_ops(const struct sonde_program *program,
				 struct sonde_program_state *states);

/* ---- what ops.def says of an operation, for those who go by data ---- */

enum sonde_expr_op_operand {
	SONDE_EXPR_OPERAND_NUMBER = 1,
	SONDE_EXPR_OPERAND_MEM = 2,
	SONDE_EXPR_OPERAND_TEXT = 4,
	SONDE_EXPR_OPERAND_CALL = 8,
	SONDE_EXPR_OPERAND_JUMP = 16,
	SONDE_EXPR_OPERAND_SENSE = 32,
	SONDE_EXPR_OPERAND_END = 64,
	SONDE_EXPR_OPERAND_MACHINE = 128,
	SONDE_EXPR_OPERAND_SIGNED = 256,
	SONDE_EXPR_OPERAND_SWAP = 512,
	SONDE_EXPR_OPERAND_DOUBLE = 1024,
};

struct sonde_expr_op_shape {
	uint8_t numbers, texts; /* never both */
};

struct sonde_expr_op_info {
	const char *name;
	struct sonde_expr_op_shape takes, gives;
	uint16_t operands; /* of enum sonde_expr_op_operand */
	uint8_t bytes;     /* of a field, or of memory, that it reads; or 0 */
};

extern const struct sonde_expr_op_info sonde_expr_op_infos[SONDE_EXPR_OP_CODES];

#endif /* EXPR_PROGRAM_H */
