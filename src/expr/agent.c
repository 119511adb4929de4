/* SPDX-License-Identifier: MIT */
/*
 * agent.c - see agent.h.
 *
 * One pass over the bytes. As jumps go forward, whatever leads to a byte has
 * been seen when it is met: so what is known of each byte is a label, whose
 * depth of the stack the first way to it has told, and all others must agree
 * with. Bytes that nothing leads to may be anything, and are left out. A label
 * in the middle of an operation that is reached is an error.
 *
 * Two labels are at no byte: END_FAULT and END_DIVIDED, behind all the others.
 */
#include "expr/agent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/port.h"
#include "expr/builder.h"

/* What becomes of an operation of the expression. */
enum how {
	INVALID, /* which is 0 */
	FLOATING,
	PRINTS,
	PLAIN,     /* `op` */
	DIVIDES,   /* `op`, which may jump to END_DIVIDED */
	READS,     /* `op`, which may jump to END_FAULT */
	NUMBERED,  /* `op` with its operand as number */
	EXTENDS,   /* the same, of bits; none if all of them */
	REGISTERS, /* the same, of a register */
	JUMPS,     /* `op`, which may jump to its operand */
	ENDS,
};

struct opcode {
	uint8_t how;     /* enum how */
	uint8_t op;      /* enum sonde_expr_op_code */
	uint8_t operand; /* bytes of it */
	bool records;
};

#define PLAIN(name)                                   \
	{                                             \
		PLAIN, SONDE_EXPR_OP_##name, 0, false \
	}
#define DIVIDES(name)                                   \
	{                                               \
		DIVIDES, SONDE_EXPR_OP_##name, 0, false \
	}
#define READS(name)                                   \
	{                                             \
		READS, SONDE_EXPR_OP_##name, 0, false \
	}
#define NUMBERED(name, operand)                                \
	{                                                      \
		NUMBERED, SONDE_EXPR_OP_##name, operand, false \
	}
#define EXTENDS(name)                                   \
	{                                               \
		EXTENDS, SONDE_EXPR_OP_##name, 1, false \
	}
#define JUMPS(name)                                   \
	{                                             \
		JUMPS, SONDE_EXPR_OP_##name, 2, false \
	}
#define RECORDS(how, name, operand)                      \
	{                                                \
		how, SONDE_EXPR_OP_##name, operand, true \
	}

/* clang-format off */
/* By code. */
static const struct opcode opcodes[] = {
	[0x01] = { FLOATING, 0, 0, false },
	[0x02] = PLAIN(ADD),
	[0x03] = PLAIN(SUBTRACT),
	[0x04] = PLAIN(MULTIPLY),
	[0x05] = DIVIDES(DIVIDE_S),
	[0x06] = DIVIDES(DIVIDE_U),
	[0x07] = DIVIDES(REMAINDER_S),
	[0x08] = DIVIDES(REMAINDER_U),
	[0x09] = PLAIN(SHIFT_LEFT),
	[0x0a] = PLAIN(SHIFT_RIGHT_S),
	[0x0b] = PLAIN(SHIFT_RIGHT_U),
	[0x0c] = RECORDS(PLAIN, TRACE, 0),
	[0x0d] = RECORDS(NUMBERED, TRACE_QUICK, 1),
	[0x0e] = PLAIN(NOT),
	[0x0f] = PLAIN(AND),
	[0x10] = PLAIN(OR),
	[0x11] = PLAIN(XOR),
	[0x12] = PLAIN(COMPLEMENT),
	[0x13] = PLAIN(IS_EQUAL),
	[0x14] = PLAIN(IS_LESS_S),
	[0x15] = PLAIN(IS_LESS_U),
	[0x16] = EXTENDS(EXTEND_S),
	[0x17] = READS(READ_8),
	[0x18] = READS(READ_16),
	[0x19] = READS(READ_32),
	[0x1a] = READS(READ_64),
	[0x1b] = { FLOATING, 0, 0, false },
	[0x1c] = { FLOATING, 0, 0, false },
	[0x1d] = { FLOATING, 0, 0, false },
	[0x1e] = { FLOATING, 0, 0, false },
	[0x1f] = { FLOATING, 0, 0, false },
	[0x20] = JUMPS(IF),
	[0x21] = JUMPS(GO),
	[0x22] = NUMBERED(NUMBER, 1),
	[0x23] = NUMBERED(NUMBER, 2),
	[0x24] = NUMBERED(NUMBER, 4),
	[0x25] = NUMBERED(NUMBER, 8),
	[0x26] = { REGISTERS, SONDE_EXPR_OP_REGISTER, 2, false },
	[0x27] = { ENDS, 0, 0, false },
	[0x28] = PLAIN(DUPLICATE),
	[0x29] = PLAIN(POP),
	[0x2a] = EXTENDS(EXTEND_Z),
	[0x2b] = PLAIN(SWAP),
	[0x2c] = NUMBERED(GET_VARIABLE, 2),
	[0x2d] = NUMBERED(SET_VARIABLE, 2),
	[0x2e] = RECORDS(NUMBERED, TRACE_VARIABLE, 2),
	[0x2f] = RECORDS(PLAIN, TRACE_STRING, 0),
	[0x30] = RECORDS(NUMBERED, TRACE_QUICK, 2),
	[0x32] = NUMBERED(PICK, 1),
	[0x33] = PLAIN(ROTATE),
	[0x34] = { PRINTS, 0, 0, false },
};
/* clang-format on */

struct decoder {
	const uint8_t *bytes;
	size_t nr;
	bool collects;
	struct sonde_builder code;
	struct sonde_builder_label *labels; /* by byte */
	bool *reached; /* by byte: its label's depth counts */
	struct sonde_builder_label fault, divided;
	size_t at; /* the operation */
	struct sonde_expr_error *error;
};

__attribute__((format(printf, 2, 3))) static int
agent_refuse(struct decoder *decoder, const char *format, ...)
{
	struct sonde_expr_error *error = decoder->error;
	va_list args;
	int length =
		snprintf(error->text, sizeof(error->text),
			 "byte %zu of the agent expression: ", decoder->at);

	va_start(args, format);
	(void)vsnprintf(error->text + length,
			sizeof(error->text) - (size_t)length, format, args);
	va_end(args);
	error->column = (uint32_t)decoder->at + 1;
	return -EINVAL;
}

static uint64_t get_operand(const struct decoder *decoder, size_t bytes)
{
	uint64_t number = 0;

	for (size_t i = 1; i <= bytes; i++)
		number = number << 8 | decoder->bytes[decoder->at + i];
	return number;
}

static void add(struct decoder *decoder, uint8_t code, uint64_t number)
{
	sonde_builder_add(&decoder->code, (struct sonde_expr_op){
						  .code = code,
						  .number = number,
					  });
}

static void add_jump(struct decoder *decoder, uint8_t code,
		     struct sonde_builder_label *label)
{
	sonde_builder_jump(&decoder->code,
			   (struct sonde_expr_op){ .code = code, .sense = 1 },
			   label);
}

static int agent_jump(struct decoder *decoder, uint8_t code)
{
	size_t target = get_operand(decoder, 2);
	unsigned int taken = sonde_expr_op_infos[code].takes.numbers;
	unsigned int depth = decoder->code.depth - taken;
	struct sonde_builder_label *label;

	if (target >= decoder->nr)
		return agent_refuse(decoder, "it jumps to byte %zu of %zu",
				    target, decoder->nr);
	if (target <= decoder->at)
		return agent_refuse(decoder, "it jumps back to byte %zu",
				    target);
	if (target < decoder->at + 3)
		return agent_refuse(decoder, "it jumps into itself");
	label = &decoder->labels[target];
	if (!decoder->reached[target])
		*label = (struct sonde_builder_label){ SONDE_BUILDER_NONE,
						       depth };
	else if (label->depth != depth)
		return agent_refuse(
			decoder,
			"it jumps to byte %zu with %u values on the "
			"stack, where others come with %u",
			target, depth, label->depth);
	decoder->reached[target] = true;
	add_jump(decoder, code, label);
	return 0;
}

/* The topmost value is the result, whatever is below it. */
static int end(struct decoder *decoder)
{
	unsigned int depth = decoder->code.depth;

	if (depth == 0 && !decoder->collects)
		return agent_refuse(decoder, "it ends without a value");
	for (; depth > 1; depth--) {
		add(decoder, SONDE_EXPR_OP_SWAP, 0);
		add(decoder, SONDE_EXPR_OP_POP, 0);
	}
	add(decoder,
	    depth ? SONDE_EXPR_OP_END_NUMBER : SONDE_EXPR_OP_END_MISSING, 0);
	return 0;
}

static int extend(struct decoder *decoder, uint8_t code)
{
	uint64_t bits = get_operand(decoder, 1);

	if (bits == 0)
		return agent_refuse(decoder, "it extends no bits");
	if (bits < 64)
		add(decoder, code, bits);
	return 0;
}

/* An operation of which the stack has what it takes. */
static int agent_translate(struct decoder *decoder, const struct opcode *opcode)
{
	uint64_t number = get_operand(decoder, opcode->operand);

	switch ((enum how)opcode->how) {
	case DIVIDES:
		add_jump(decoder, opcode->op, &decoder->divided);
		return 0;
	case READS:
		add_jump(decoder, opcode->op, &decoder->fault);
		return 0;
	case EXTENDS:
		return extend(decoder, opcode->op);
	case JUMPS:
		return agent_jump(decoder, opcode->op);
	case REGISTERS:
		if (number >= SONDE_AGENT_REGISTERS)
			return agent_refuse(decoder, "there is no register %u",
					    (unsigned int)number);
		break;
	case NUMBERED:
		if (opcode->op == SONDE_EXPR_OP_PICK &&
		    number >= decoder->code.depth)
			return agent_refuse(decoder, "the stack is too short");
		break;
	case INVALID:
	case FLOATING:
	case PRINTS:
	case PLAIN:
	case ENDS:
		break;
	}
	add(decoder, opcode->op, number);
	return 0;
}

/* What is wrong with an operation by itself; NULL if nothing is. */
static const char *what_is_wrong(const struct decoder *decoder,
				 const struct opcode *opcode)
{
	if (opcode->how == INVALID)
		return "no such operation";
	if (opcode->how == FLOATING)
		return "floating point isn't supported";
	if (opcode->how == PRINTS)
		return "printing isn't supported";
	if (opcode->records && !decoder->collects)
		return "a condition can't record";
	if (opcode->operand >= decoder->nr - decoder->at)
		return "its operand is cut off";
	for (size_t i = 1; i <= opcode->operand; i++) {
		if (decoder->reached[decoder->at + i])
			return "something jumps into its operand";
	}
	return NULL;
}

/* The operation at decoder->at, which is reached. */
static int decode_op(struct decoder *decoder, size_t *ret_bytes)
{
	uint8_t byte = decoder->bytes[decoder->at];
	static const struct opcode none;
	const struct opcode *opcode =
		byte < SONDE_ARRAY_SIZE(opcodes) ? &opcodes[byte] : &none;
	const struct sonde_expr_op_info *info =
		&sonde_expr_op_infos[opcode->op];
	const char *wrong = what_is_wrong(decoder, opcode);
	unsigned int depth = decoder->code.depth;

	if (wrong)
		return agent_refuse(decoder, "%s (0x%02x)", wrong, byte);
	*ret_bytes = 1u + opcode->operand;
	if (opcode->how == ENDS)
		return end(decoder);
	if (depth < info->takes.numbers)
		return agent_refuse(decoder, "the stack is too short (0x%02x)",
				    byte);
	if (depth - info->takes.numbers + info->gives.numbers >
	    SONDE_PROGRAM_STACK)
		return agent_refuse(decoder, "the stack gets too deep");
	return agent_translate(decoder, opcode);
}

/* Whatever leads to decoder->at comes together. */
static int join(struct decoder *decoder)
{
	struct sonde_builder_label *label = &decoder->labels[decoder->at];

	if (!decoder->reached[decoder->at])
		return 0;
	if (!decoder->code.dead && decoder->code.depth != label->depth)
		return agent_refuse(
			decoder,
			"a jump comes here with %u values on the stack, "
			"and others with %u",
			label->depth, decoder->code.depth);
	sonde_builder_bind(&decoder->code, label);
	return 0;
}

static int agent_decode(struct decoder *decoder)
{
	struct sonde_builder *code = &decoder->code;

	for (decoder->at = 0; decoder->at < decoder->nr && !code->err;) {
		size_t bytes = 1; /* of those that nothing leads to */
		int err = join(decoder);

		if (!err && !code->dead)
			err = decode_op(decoder, &bytes);
		if (err)
			return err;
		decoder->at += bytes;
	}
	if (code->err)
		return code->err;
	if (!code->dead)
		return agent_refuse(decoder, "it goes on behind its last byte");
	sonde_builder_bind(code, &decoder->fault);
	add(decoder, SONDE_EXPR_OP_END_FAULT, 0);
	sonde_builder_bind(code, &decoder->divided);
	add(decoder, SONDE_EXPR_OP_END_DIVIDED, 0);
	return code->err;
}

int sonde_agent_decode(const uint8_t *bytes, size_t nr, bool collects,
		       struct sonde_expr_error *error,
		       struct sonde_program **ret_program)
{
	struct sonde_pool pool;
	struct decoder decoder = {
		.bytes = bytes,
		.nr = nr,
		.collects = collects,
		.code = { .pool = &pool },
		.fault = { SONDE_BUILDER_NONE, 0 },
		.divided = { SONDE_BUILDER_NONE, 0 },
		.error = error,
	};
	int err = -ENOMEM;

	sonde_pool_init(&pool, 0);
	decoder.labels = calloc(nr + 1, sizeof(*decoder.labels));
	decoder.reached = calloc(nr + 1, sizeof(*decoder.reached));
	if (decoder.labels && decoder.reached)
		err = nr > SONDE_AGENT_BYTES_MAX ? -E2BIG :
						   agent_decode(&decoder);
	if (err == -E2BIG)
		(void)agent_refuse(&decoder, "it is too long");
	if (!err)
		err = sonde_builder_finish(&decoder.code, SONDE_EXPR_INT,
					   ret_program);
	free(decoder.labels);
	free(decoder.reached);
	sonde_pool_fini(&pool);
	return err;
}
