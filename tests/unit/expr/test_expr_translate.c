/* SPDX-License-Identifier: MIT */
/*
 * test_expr_translate.c - programs as eBPF, an operation at a time: what they
 * become gives what the evaluator gives, in the model of ebpf_model.h, which
 * refuses what the kernel's verifier would; and what can't be translated isn't.
 */
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "ebpf_model.h"
#include "expr/program.h"
#include "expr/translate.h"
#include "expr_unit.h"
#include "program_make.h"
#include "random.h"

#define ROUNDS   20000
#define RECORDS  8
#define CODE_MAX 4096

/* As ebpf_in_registers has them: so ebpf_test() finds the record. */
static const struct sonde_ebpf_frame frame = {
	.bases = { { BPF_REG_6, 5, EBPF_BYTES }, { BPF_REG_7, -8, 8 } },
	.first = BPF_REG_1,
	.last = BPF_REG_5,
};

struct code {
	struct bpf_insn insns[CODE_MAX];
	uint32_t nr;
};

static bool translate_in(const struct sonde_program *program,
			 const struct sonde_ebpf_frame *where, uint32_t max,
			 struct code *code)
{
	static struct sonde_program_state states[SONDE_PROGRAM_OPS];
	static uint16_t starts[SONDE_PROGRAM_OPS];

	assert_true(sonde_program_verify(program, states));
	return sonde_ebpf_translate(program, states, where, starts, code->insns,
				    max, &code->nr);
}

static bool translate_text(const char *text, struct code *code)
{
	struct sonde_program *program = compile_in(text, &ebpf_scope);
	bool done = translate_in(program, &frame, CODE_MAX, code);

	sonde_program_free(program);
	return done;
}

/* What it gives for a record is what the evaluator says. */
static void check_record(const struct sonde_program *program,
			 const struct code *code, struct ebpf_record *record,
			 const char *text)
{
	struct sonde_expr_env env;
	const char *wrong = NULL;
	int result = ebpf_test(code->insns, code->nr, &ebpf_in_registers,
			       record, &wrong);

	ebpf_env_init(&env, record);
	if (result != sonde_program_test(program, &env))
		fail_msg("%s: gives %d, %s", text, result, wrong ? wrong : "");
}

static void conditions_give_what_the_evaluator_gives(void **state)
{
	static struct code code;
	uint64_t seed = 20261129;
	const struct model_random random = { next_random, &seed };
	size_t nr = 0;

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		struct sonde_program *program;
		struct ebpf_record record;
		char text[16384];

		ebpf_write(text, sizeof(text), &random);
		program = compile_in(text, &ebpf_scope);
		if (translate_in(program, &frame, CODE_MAX, &code)) {
			for (size_t i = 0; i < RECORDS; i++) {
				ebpf_record_fill(&record, &random);
				check_record(program, &code, &record, text);
			}
			nr++;
		}
		sonde_program_free(program);
	}
	/* All but those that have texts, or are nested deeply. */
	assert_in_range(nr, ROUNDS / 4, ROUNDS);
}

/* ---- what no compiler made ---- */

static bool is_known(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	return !(info->operands &
		 (SONDE_EXPR_OPERAND_MACHINE | SONDE_EXPR_OPERAND_DOUBLE |
		  SONDE_EXPR_OPERAND_CALL | SONDE_EXPR_OPERAND_TEXT)) &&
	       !info->takes.texts;
}

/* Every operation that isn't refused is among them, in every place. */
static void made_programs_give_what_the_evaluator_gives(void **state)
{
	static const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 1,
		.senses = 2,
		.keeps = 4,
		.type = SONDE_EXPR_INT,
		.has = is_known,
	};
	static struct code code;
	bool seen[SONDE_EXPR_OP_CODES] = { false };
	uint64_t seed = 1;
	const struct model_random random = { next_random, &seed };
	union made made;

	(void)state;
	for (size_t round = 0; round < ROUNDS; round++) {
		struct ebpf_record record;

		if (!made_any(&made, &alphabet,
			      1 + (uint32_t)random_below(&seed, 12),
			      next_random, &seed) ||
		    !translate_in(&made.program, &frame, CODE_MAX, &code))
			continue;
		for (uint32_t i = 0; i < made.program.nr_ops; i++)
			seen[made.program.ops[i].code] = true;
		for (size_t i = 0; i < RECORDS; i++) {
			ebpf_record_fill(&record, &random);
			check_record(&made.program, &code, &record, "made");
		}
	}
	for (size_t i = 0; i < SONDE_EXPR_OP_CODES; i++) {
		if (is_known((uint8_t)i) && !seen[i])
			fail_msg("no %s", sonde_expr_op_infos[i].name);
	}
}

/* ---- what isn't translated ---- */

static void what_it_cannot_say_is_refused(void **state)
{
	static const char *const texts[] = {
		"comm == \"bash\"", /* a text, by a call */
		"defined(comm)",
		"u32 * 1.5 > 2", /* a double */
		"u8 == 1 && s == \"a*\"",
		/* six slots, where there are five */
		"u8+(u16+(u32+(i8+(i16+i32)))) == 1",
	};
	static struct code code;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++) {
		if (translate_text(texts[i], &code))
			fail_msg("%s is translated", texts[i]);
	}
	assert_true(translate_text("u8+(u16+(u32+(i8+i16))) == 1", &code));
}

static void no_code_reads_beyond_a_base(void **state)
{
	struct sonde_program *program = compile_in("cpu == 3", &ebpf_scope);
	struct sonde_ebpf_frame less = frame;
	static struct code code;

	(void)state;
	assert_true(translate_in(program, &less, CODE_MAX, &code));
	less.bases[1].bytes = 7; /* cpu is at 4 to 7 */
	assert_false(translate_in(program, &less, CODE_MAX, &code));
	less = frame;
	less.bases[1].offset = INT16_MAX;
	assert_false(translate_in(program, &less, CODE_MAX, &code));
	for (uint32_t i = 0; i < program->nr_ops; i++)
		program->ops[i].base = SONDE_TRANSLATE_BASES;
	program->bases = 1u << SONDE_TRANSLATE_BASES;
	assert_false(translate_in(program, &frame, CODE_MAX, &code));
	sonde_program_free(program);
}

static void no_code_is_longer_than_its_place(void **state)
{
	struct sonde_program *program =
		compile_in("i64 / i64x == 7 || u64 > 1 << 40", &ebpf_scope);
	static struct code code;
	uint32_t nr;

	(void)state;
	assert_true(translate_in(program, &frame, CODE_MAX, &code));
	nr = code.nr;
	assert_in_range(nr, 1, program->nr_ops * SONDE_TRANSLATE_INSNS);
	assert_true(translate_in(program, &frame, nr, &code));
	memset(&code.insns[nr - 1], 0x5a, sizeof(code.insns[0]));
	assert_false(translate_in(program, &frame, nr - 1, &code));
	assert_int_equal(code.insns[nr - 1].code, 0x5a);
	sonde_program_free(program);
}

/* Two loads, three operations, a comparison, and two for each way to end, but
 * for the jump over what is last. */
static void the_papers_condition_is_nine_instructions(void **state)
{
	static struct code code;

	(void)state;
	assert_true(translate_text("i64*2 + even*3 < 0", &code));
	assert_int_equal(code.nr, 9);
	assert_true(translate_text("u32x == 7", &code));
	assert_int_equal(code.nr, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_give_what_the_evaluator_gives),
		cmocka_unit_test(made_programs_give_what_the_evaluator_gives),
		cmocka_unit_test(what_it_cannot_say_is_refused),
		cmocka_unit_test(no_code_reads_beyond_a_base),
		cmocka_unit_test(no_code_is_longer_than_its_place),
		cmocka_unit_test(the_papers_condition_is_nine_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
