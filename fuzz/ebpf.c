/* SPDX-License-Identifier: MIT */
/*
 * ebpf.c - fuzz expr/ebpf.h: whatever the program, the code it becomes does
 * nothing that the verifier would refuse, as far as the model knows
 * (tests/unit/ebpf_model.h), and gives what the evaluator gives; and so does what
 * the kernel's module makes of it (expr/translate.h). So they do for
 * programs that no compiler made, if expr/program.h's verifier takes them.
 *
 * First byte: bit 7, decisions make a program an operation at a time, each of
 * which the verifier takes, and bend it; else bit 0, what follows up to a NUL is the expression; else decisions
 * write one. Bit 1: the bases are on the stack. The rest are decisions that
 * make records, and damage.
 */
#include <errno.h>

#include "../tests/unit/ebpf_model.h"
#include "../tests/unit/program_make.h"
#include "expr/program.h"
#include "expr/translate.h"

#include "fuzz.h"

#define TEXT_SIZE 16384
#define CODE_MAX  8192
#define RECORDS   3

static void check_runs(const struct sonde_program *program,
		       const struct sonde_ebpf_config *config,
		       const struct bpf_insn *code, size_t nr,
		       const struct model_random *random)
{
	for (int i = 0; i < RECORDS; i++) {
		const char *wrong = NULL;
		struct ebpf_record record;
		struct sonde_expr_env env;
		int result;

		ebpf_record_fill(&record, random);
		ebpf_env_init(&env, &record);
		result = ebpf_test(code, nr, config, &record, &wrong);
		FUZZ_CHECK(result >= 0);
		FUZZ_CHECK(result == sonde_program_test(program, &env));
	}
}

static void check_translated(const struct sonde_program *program,
			     const struct model_random *random)
{
	/* where ebpf_in_registers has them */
	static const struct sonde_ebpf_frame frame = {
		.bases = { { BPF_REG_6, 5, EBPF_BYTES }, { BPF_REG_7, -8, 8 } },
		.first = BPF_REG_1,
		.last = BPF_REG_5,
	};
	static struct sonde_program_state states[SONDE_PROGRAM_OPS];
	static uint16_t starts[SONDE_PROGRAM_OPS];
	static struct bpf_insn code[CODE_MAX];
	uint32_t nr;

	FUZZ_CHECK(sonde_program_verify(program, states));
	if (sonde_ebpf_translate(program, states, &frame, starts, code,
				 CODE_MAX, &nr))
		check_runs(program, &ebpf_in_registers, code, nr, random);
}

static void check_code(const struct sonde_program *program,
		       const struct sonde_ebpf_config *config,
		       const struct model_random *random)
{
	static struct bpf_insn code[CODE_MAX];
	size_t nr = 0;
	int err = sonde_ebpf_generate(program, config, code, CODE_MAX, &nr);

	FUZZ_CHECK(!err || err == -EOPNOTSUPP || err == -E2BIG);
	if (!err)
		check_runs(program, config, code, nr, random);
	check_translated(program, random);
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

/* A program in which some bytes are others, but not its size. */
static void check_damaged(const struct sonde_program *program,
			  const struct sonde_ebpf_config *config,
			  const struct model_random *random)
{
	size_t size = sonde_program_bytes(program);
	struct sonde_program *damaged = fuzz_copy(program, size);

	for (uint64_t i = random->next(random->ctx) % 4 + 1; i > 0; i--) {
		size_t at = random->next(random->ctx) % size;
		uint8_t byte = (uint8_t)random->next(random->ctx);

		((uint8_t *)damaged)[at] = byte;
	}
	damaged->nr_ops = program->nr_ops;
	damaged->texts_bytes = program->texts_bytes;
	if (is_sound(damaged))
		check_code(damaged, config, random);
	free(damaged);
}

static void check_made(struct fuzz_input *in,
		       const struct sonde_ebpf_config *config,
		       const struct model_random *random)
{
	static const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 2,
		.senses = 2,
		.keeps = 6,
		.type = SONDE_EXPR_INT,
	};
	uint32_t nr_ops = 1 + fuzz_below(in, 16);
	union made made;

	if (!made_any(&made, &alphabet, nr_ops, random->next, random->ctx))
		return;
	made_bend(&made, random->next, random->ctx);
	if (is_sound(&made.program))
		check_code(&made.program, config, random);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	const struct model_random random = { fuzz_decision, &in };
	const struct sonde_ebpf_config *config = &ebpf_in_registers;
	struct sonde_program *program;
	struct sonde_expr *expr;
	uint8_t how = fuzz_u8(&in);
	char text[TEXT_SIZE];

	if (how & 2)
		config = &ebpf_on_stack;
	if (how & 128) {
		check_made(&in, config, &random);
		return 0;
	}
	if (how & 1)
		fuzz_text(&in, text, sizeof(text));
	else
		ebpf_write(text, sizeof(text), &random);
	if (sonde_expr_parse(text, NULL, &expr))
		return 0;
	if (!sonde_expr_compile(expr, &ebpf_scope, NULL, &program)) {
		check_code(program, config, &random);
		check_damaged(program, config, &random);
		sonde_program_free(program);
	}
	sonde_expr_free(expr);
	return 0;
}
