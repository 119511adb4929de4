/* SPDX-License-Identifier: MIT */
/* disassemble.c - programs as text, for tests and curious people. */
#include "expr/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct writer {
	char *to;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void
write_text(struct writer *writer, const char *format, ...)
{
	bool room = writer->length < writer->size;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(room ? writer->to + writer->length : NULL,
			   room ? writer->size - writer->length : 0, format,
			   args);
	va_end(args);
	if (length > 0)
		writer->length += (size_t)length;
}

static void write_op(struct writer *writer, const struct sonde_program *program,
		     uint32_t at)
{
	const struct sonde_expr_op *op = &program->ops[at];
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];
	unsigned int operands = info->operands;

	write_text(writer, "%3" PRIu32 " %s", at, info->name);
	if (operands & SONDE_EXPR_OPERAND_MEM)
		write_text(writer, " [%u + %" PRIu32 "]", op->base, op->offset);
	if (operands & SONDE_EXPR_OPERAND_CALL)
		write_text(writer, " call %" PRIu32, op->ref);
	if (operands & SONDE_EXPR_OPERAND_NUMBER)
		write_text(writer, " 0x%" PRIx64, op->number);
	if (operands & SONDE_EXPR_OPERAND_TEXT)
		write_text(writer, " \"%s\"",
			   sonde_program_texts(program) + op->offset);
	if (operands & SONDE_EXPR_OPERAND_SENSE)
		write_text(writer, " %s", op->sense ? "true" : "false");
	if (operands & SONDE_EXPR_OPERAND_JUMP)
		write_text(writer, " -> %" PRIu32 " keep %u", op->target,
			   op->keep);
	write_text(writer, "\n");
}

size_t sonde_program_disassemble(const struct sonde_program *program, char *to,
				 size_t size)
{
	struct writer writer = { to, size, 0 };

	if (size)
		to[0] = 0;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		write_op(&writer, program, i);
	return writer.length;
}
