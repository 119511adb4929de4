/* SPDX-License-Identifier: MIT */
/* disassemble.c - programs as text, for tests and curious people. */
#include "expr/program.h"

#include <inttypes.h>

#include "base/text.h"

static void write_op(struct sonde_text *text,
		     const struct sonde_program *program, uint32_t at)
{
	const struct sonde_expr_op *op = &program->ops[at];
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];
	unsigned int operands = info->operands;

	sonde_text_add(text, "%3" PRIu32 " %s", at, info->name);
	if (operands & SONDE_EXPR_OPERAND_MEM)
		sonde_text_add(text, " [%u + %" PRIu32 "]", op->base,
			       op->offset);
	if (operands & SONDE_EXPR_OPERAND_CALL)
		sonde_text_add(text, " call %" PRIu32, op->ref);
	if (operands & SONDE_EXPR_OPERAND_NUMBER)
		sonde_text_add(text, " 0x%" PRIx64, op->number);
	if (operands & SONDE_EXPR_OPERAND_TEXT)
		sonde_text_add(text, " \"%s\"",
			       sonde_program_texts(program) + op->offset);
	if (operands & SONDE_EXPR_OPERAND_SENSE)
		sonde_text_add(text, " %s", op->sense ? "true" : "false");
	if (operands & SONDE_EXPR_OPERAND_JUMP)
		sonde_text_add(text, " -> %" PRIu32 " keep %u", op->target,
			       op->keep);
	sonde_text_add(text, "\n");
}

size_t sonde_program_disassemble(const struct sonde_program *program, char *to,
				 size_t size)
{
	struct sonde_text text = { .to = to, .size = size };

	if (size)
		to[0] = 0;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		write_op(&text, program, i);
	return text.length;
}
