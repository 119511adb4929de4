/* SPDX-License-Identifier: MIT */
/*
 * jit.c - fuzz expr/jit: native code does what the evaluator does, leaves the
 * registers alone, and faults only where it says so.
 *
 * First byte: bit 7, a program made an operation at a time, each of which the
 * verifier takes, and bent; else bit 0, a filter of fields, with bit 1 also of
 * texts, which as eBPF does the same; else a condition of GDB's, of which bit 1:
 * the rest is its bytes. Else the rest are decisions: an expression, then what
 * it sees.
 */
#include <errno.h>

#include "../tests/unit/agent_model.h"
#include "../tests/unit/ebpf_model.h"
#include "../tests/unit/expr_model.h"
#include "../tests/unit/jit_run.h"
#include "../tests/unit/program_make.h"
#include "base/port.h"
#include "expr/agent.h"

#include "fuzz.h"

#define WORLDS 2

/* Registers that lead into memory, but for some that are anything. Addresses
 * that are anything are taken for ones that can't be read: those of this very
 * program are not met by chance. */
static void check_condition(const struct sonde_program *program, bool is_made,
			    const struct model_random *random)
{
	static struct agent_world world;
	uint8_t *memory = jit_run_memory();
	enum jit_outcome expected;
	enum jit_outcome got;
	int rc;

	agent_world_fill(&world, random);
	world.byte = jit_run_byte;
	world.ctx = memory;
	for (int i = 0; i < AGENT_REGS; i++) {
		if (world.registers[i] % 4)
			world.registers[i] = (uint64_t)(uintptr_t)memory +
					     world.registers[i] % JIT_MEMORY;
	}
	rc = jit_run_probe(program, world.registers,
			   (unsigned int)random->next(random->ctx), &got);
	FUZZ_CHECK(rc == 0 || rc == -EOPNOTSUPP);
	if (rc)
		return;
	expected = jit_evaluate(program, &world);
	/* Native code tells of a fault when one happens, whatever END_FAULT and
	 * the place behind a read say: compilers have them agree. */
	FUZZ_CHECK(is_made ? (got == JIT_TRUE) == (expected == JIT_TRUE) :
			     got == expected);
}

static void fuzz_condition(struct fuzz_input *in, bool is_bytes,
			   const struct model_random *random)
{
	static uint8_t bytes[4096];
	struct sonde_expr_error error;
	struct sonde_program *program;
	const uint8_t *taken;
	size_t nr;

	if (is_bytes) {
		taken = fuzz_bytes(in, sizeof(bytes), &nr);
		if (nr)
			memcpy(bytes, taken, nr);
	} else {
		nr = agent_write(bytes, sizeof(bytes), false, false, random);
	}
	if (sonde_agent_decode(bytes, nr, false, &error, &program))
		return;
	for (size_t i = 0; i < WORLDS; i++)
		check_condition(program, false, random);
	sonde_program_free(program);
}

static void fuzz_filter(const struct model_random *random)
{
	static struct model_record record;
	struct sonde_expr_error error;
	struct sonde_program *program = NULL;
	struct sonde_expr *expr;
	struct sonde_expr_env env;
	char text[4096];
	bool got;
	int rc;

	model_write(text, sizeof(text), random);
	if (sonde_expr_parse(text, &error, &expr))
		return;
	if (sonde_expr_compile(expr, &model_scope, &error, &program) == 0) {
		model_record_fill(&record, random);
		model_env_init(&env, &record);
		rc = jit_run_function(program, NULL, record.bytes[0],
				      record.bytes[1], &got);
		FUZZ_CHECK(rc == 0 || rc == -EOPNOTSUPP);
		FUZZ_CHECK(rc || got == sonde_program_test(program, &env));
	}
	sonde_program_free(program);
	sonde_expr_free(expr);
}

/* The evaluator, native code and eBPF, of one record. */
static void check_three(const struct sonde_program *program,
			struct ebpf_record *record)
{
	static const struct sonde_jit_config texts = {
		.bytes = EBPF_BYTES,
		.text = ebpf_text_place,
	};
	static struct bpf_insn code[8192];
	const char *wrong = NULL;
	struct sonde_expr_env env;
	bool expected;
	bool got;
	size_t nr;
	int rc;

	ebpf_env_init(&env, record);
	expected = sonde_program_test(program, &env);
	rc = jit_run_function(program, &texts, record->bytes, record->whence,
			      &got);
	FUZZ_CHECK(rc == 0 || rc == -EOPNOTSUPP);
	FUZZ_CHECK(rc || got == expected);
	rc = sonde_ebpf_generate(program, &ebpf_in_registers, code,
				 SONDE_ARRAY_SIZE(code), &nr);
	FUZZ_CHECK(rc == 0 || rc == -EOPNOTSUPP || rc == -E2BIG);
	FUZZ_CHECK(rc || ebpf_test(code, nr, &ebpf_in_registers, record,
				   &wrong) == expected);
}

static void fuzz_three(const struct model_random *random)
{
	static char text[16384];
	struct ebpf_record record;
	struct sonde_expr_error error;
	struct sonde_program *program;
	struct sonde_expr *expr;

	ebpf_write(text, sizeof(text), random);
	if (sonde_expr_parse(text, &error, &expr))
		return;
	if (sonde_expr_compile(expr, &ebpf_scope, &error, &program) == 0) {
		for (size_t i = 0; i < WORLDS; i++) {
			ebpf_record_fill(&record, random);
			check_three(program, &record);
		}
		sonde_program_free(program);
	}
	sonde_expr_free(expr);
}

/* What may become native code. */
static bool is_native(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];
	const unsigned int others = SONDE_EXPR_OPERAND_TEXT |
				    SONDE_EXPR_OPERAND_CALL |
				    SONDE_EXPR_OPERAND_MEM;

	return !(info->operands & others) && !info->takes.texts;
}

static void fuzz_made(struct fuzz_input *in, const struct model_random *random)
{
	static const struct made_alphabet alphabet = {
		.numbers = 6,
		.texts = 1,
		.senses = 2,
		.keeps = 6,
		.type = SONDE_EXPR_INT,
		.has = is_native,
	};
	struct sonde_program_state states[MADE_OPS];
	uint32_t nr_ops = 1 + fuzz_below(in, 16);
	union made made;

	if (!made_any(&made, &alphabet, nr_ops, random->next, random->ctx))
		return;
	made_bend(&made, random->next, random->ctx);
	for (uint32_t i = 0; i < nr_ops; i++) {
		uint8_t code = made.program.ops[i].code;

		if (code >= SONDE_EXPR_OP_CODES || !is_native(code))
			return;
	}
	if (!sonde_program_verify(&made.program, states))
		return;
	for (size_t i = 0; i < WORLDS; i++)
		check_condition(&made.program, true, random);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct fuzz_input in = { input, size };
	const struct model_random random = { fuzz_decision, &in };
	uint8_t how = fuzz_u8(&in);

	if (!jit_run_memory())
		jit_run_init();
	if (how & 128)
		fuzz_made(&in, &random);
	else if (how & 1 && how & 2)
		fuzz_three(&random);
	else if (how & 1)
		fuzz_filter(&random);
	else
		fuzz_condition(&in, how & 2, &random);
	return 0;
}
