/* SPDX-License-Identifier: MIT */
/*
 * filter.c - fuzz expr/expr.h: what is refused says why; what compiles gives,
 * for any record, what the model gives (tests/unit/expr_model.h); and a program
 * that is not what the compiler made is refused by the verifier, or harmless.
 *
 * First byte: bit 7, decisions make a program an operation at a time, each of
 * which the verifier takes, and bend it; else bit 0, what follows up to a NUL is
 * the expression; else decisions write one. The rest are decisions that make a
 * record, and damage.
 */
#include <errno.h>

#include "../tests/unit/expr_model.h"
#include "../tests/unit/program_make.h"
#include "expr/program.h"

#include "fuzz.h"

#define TEXT_SIZE 4096
#define RECORDS   3

static void check_refusal(int err, const char *text,
			  const struct sonde_expr_error *error)
{
	FUZZ_CHECK(err == -EINVAL);
	FUZZ_CHECK(error->column >= 1 && error->column <= strlen(text) + 1);
	FUZZ_CHECK(error->text[0] && !strchr(error->text, '\n'));
}

static void check_names(const struct sonde_expr *expr, const char *text)
{
	uint32_t column;
	const char *name;

	for (size_t i = 0; (name = sonde_expr_name(expr, i, &column)); i++) {
		FUZZ_CHECK(strstr(text, name));
		FUZZ_CHECK(column >= 1 && column <= strlen(text));
		for (size_t n = 0; n < i; n++)
			FUZZ_CHECK(strcmp(name,
					  sonde_expr_name(expr, n, &column)));
	}
}

static void check_values(const struct sonde_expr *expr,
			 const struct sonde_program *program,
			 const struct model_random *random)
{
	for (int i = 0; i < RECORDS; i++) {
		struct sonde_expr_value expected;
		struct sonde_expr_value value;
		struct sonde_expr_value constant;
		struct model_record record;
		struct sonde_expr_env env;

		model_record_fill(&record, random);
		model_env_init(&env, &record);
		expected = model_eval(expr, &record);
		sonde_program_eval(program, &env, &value);
		FUZZ_CHECK(model_same(&value, &expected));
		FUZZ_CHECK(sonde_program_test(program, &env) ==
			   sonde_expr_true(&expected));
		if (sonde_program_constant(program, &constant))
			FUZZ_CHECK(model_same(&constant, &expected));
	}
}

/* The evaluator need not check these: it trusts who gave the places. */
static bool places_exist(const struct sonde_program *program)
{
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];
		unsigned int operands = sonde_expr_op_infos[op->code].operands;

		if (operands & SONDE_EXPR_OPERAND_MEM &&
		    (op->base >= MODEL_BASES || op->offset > MODEL_BYTES - 8))
			return false;
		if (operands & SONDE_EXPR_OPERAND_CALL &&
		    op->ref >= MODEL_FIELDS)
			return false;
		if (operands & SONDE_EXPR_OPERAND_MACHINE)
			return false; /* nobody is traced here */
	}
	return true;
}

static bool is_sound(const struct sonde_program *program)
{
	struct sonde_program_state *states =
		calloc(program->nr_ops, sizeof(*states));
	bool sound;

	FUZZ_CHECK(states);
	sound = sonde_program_verify(program, states);
	free(states);
	return sound;
}

/* A program in which some bytes are others. Its size isn't damaged: who loads a
 * program checks that first. */
static void check_damaged(const struct sonde_program *program,
			  const struct model_random *random)
{
	size_t size = sonde_program_bytes(program);
	struct sonde_program *damaged = fuzz_copy(program, size);
	struct sonde_expr_value value;
	struct model_record record;
	struct sonde_expr_env env;

	for (uint64_t i = random->next(random->ctx) % 4 + 1; i > 0; i--) {
		size_t at = random->next(random->ctx) % size;
		uint8_t byte = (uint8_t)random->next(random->ctx);

		((uint8_t *)damaged)[at] = byte;
	}
	damaged->nr_ops = program->nr_ops;
	damaged->texts_bytes = program->texts_bytes;
	model_record_fill(&record, random);
	model_env_init(&env, &record);
	if (is_sound(damaged) && places_exist(damaged)) {
		sonde_program_eval(damaged, &env, &value);
		(void)sonde_program_test(damaged, &env);
	}
	free(damaged);
}

static void read_text(const struct sonde_expr_value *value)
{
	for (uint32_t i = 0;
	     value->type == SONDE_EXPR_STRING && i < value->length; i++)
		(void)*(const volatile char *)(value->text + i);
}

/* A program that no compiler made. */
static void check_made(struct fuzz_input *in, const struct model_random *random)
{
	const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 2,
		.senses = 2,
		.keeps = 6,
		.type = fuzz_below(in, 2) ? SONDE_EXPR_STRING : SONDE_EXPR_INT,
	};
	uint32_t nr_ops = 1 + fuzz_below(in, 16);
	struct sonde_program *program;
	struct sonde_expr_value value;
	struct model_record record;
	struct sonde_expr_env env;
	union made made;

	if (!made_any(&made, &alphabet, nr_ops, random->next, random->ctx))
		return;
	made_bend(&made, random->next, random->ctx);
	program = fuzz_copy(&made, made_size(&made));
	model_record_fill(&record, random);
	model_env_init(&env, &record);
	if (is_sound(program) && places_exist(program)) {
		sonde_program_eval(program, &env, &value);
		read_text(&value);
		FUZZ_CHECK(sonde_program_test(program, &env) ==
			   sonde_expr_true(&value));
	}
	free(program);
}

static void check_program(const struct sonde_expr *expr,
			  struct sonde_program *program,
			  const struct model_random *random)
{
	char text[512];
	size_t length = model_disassemble(program, text, sizeof(text));

	FUZZ_CHECK(is_sound(program));
	FUZZ_CHECK(strlen(text) ==
		   (length < sizeof(text) ? length : sizeof(text) - 1));
	check_values(expr, program, random);
	check_damaged(program, random);
	sonde_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	const struct model_random random = { fuzz_decision, &in };
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program;
	struct sonde_expr *expr;
	uint8_t how = fuzz_u8(&in);
	char text[TEXT_SIZE];
	int err;

	if (how & 128) {
		check_made(&in, &random);
		return 0;
	}
	if (how & 1)
		fuzz_text(&in, text, sizeof(text));
	else
		model_write(text, sizeof(text), &random);
	err = sonde_expr_parse(text, &error, &expr);
	if (err) {
		check_refusal(err, text, &error);
		return 0;
	}
	check_names(expr, text);
	err = sonde_expr_compile(expr, &model_scope, &error, &program);
	if (err)
		check_refusal(err, text, &error);
	else
		check_program(expr, program, &random);
	sonde_expr_free(expr);
	return 0;
}
