/* SPDX-License-Identifier: MIT */
/*
 * test_jit.c - native code of conditions does what the evaluator does: on
 * random programs and on what GDB compiled (agent_corpus.h), with real memory;
 * it leaves the program's registers alone; and it is as short as it should be.
 *
 * PROBE code is run with all registers set (jit_run.h). Only the evaluator says
 * what is right.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent_corpus.h"
#include "agent_model.h"
#include "base/port.h"
#include "ebpf_model.h"
#include "expr/agent.h"
#include "expr/jit/graph.h"
#include "expr/program.h"
#include "expr_model.h"
#include "expr_unit.h"
#include "jit_run.h"
#include "program_make.h"
#include "random.h"

#define ROUNDS 30000
#define SIZE   2048

/* ---- instruction counts ---- */

static unsigned int count_instructions(const char *hex)
{
	uint8_t bytes[SIZE];
	struct sonde_expr_error error;
	struct sonde_program *program;
	const struct sonde_jit_config config = { .kind = SONDE_JIT_PROBE,
						 .address = 0x555555550000 };
	struct sonde_jit_needs needs;
	struct sonde_jit *jit;

	if (sonde_agent_decode(bytes, from_hex(hex, bytes), false, &error,
			       &program))
		fail_msg("%s: %s", hex, error.text);
	assert_int_equal(sonde_jit_new(program, &config, &jit, &needs), 0);
	sonde_jit_free(jit);
	sonde_program_free(program);
	return needs.instructions;
}

/* Conditions that GDB 13.1 compiled, -O0. */
static void conditions_become_few_instructions(void **state)
{
	static const struct {
		const char *bytes;
		unsigned int most;
	} conditions[] = {
		/* 2*counter1+3*counter2>0, of low and of high addresses */
		{ "220224004040401916200416202203240040404419162004162002"
		  "162022002b1427",
		  6 },
		{ "220225000055555555804019162004162022032500005555555580"
		  "4419162004162002162022002b1427",
		  6 },
		/* counter1 > 0 */
		{ "240040404019162022002b1427", 2 },
		{ "25000055555555804019162022002b1427", 2 },
		/* arg == 1000 */
		{ "26000622100222cc1608021916202303e81327", 2 },
		/* table[arg] == 3 */
		{ "240040414026000622100222cc160802191620220404022a40191"
		  "62022031327",
		  3 },
		/* p != 0 && p->next->in.b == 6 */
		{ "26000622100222b81608021a2200130e20001621003d260006221"
		  "00222b81608021a2210021a22080222040219162022061320003821"
		  "003d220121003f220027",
		  6 },
		/* p->key == 7 */
		{ "26000622100222b81608021a19162022071327", 3 },
		/* (arg % 16) == 0 */
		{ "26000622100222cc160802191620221007162022001327", 2 },
		/* ulcount >= 100, (unsigned char)arg < 3, flags & 0x10 */
		{ "24004040581a22642a40150e27", 2 },
		{ "26000622100222cc1608021916202a0822031427", 3 },
		{ "24004040621722100f27", 2 },
		/* local > 10 || larg < 5 */
		{ "26000622100222dc160802191620220a2b1420002e26000622100"
		  "222c01608021a164022051420002e2200210030220127",
		  4 },
		/* $rdi == 3 */
		{ "260005164022031327", 2 },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(conditions); i++) {
		unsigned int nr = count_instructions(conditions[i].bytes);
		if (nr > conditions[i].most)
			fail_msg("condition %zu has %u instructions", i, nr);
	}
}

/* ---- the same as the evaluator ---- */

struct counts {
	size_t native, outcomes[JIT_OUTCOMES];
};

static void check_same(const struct sonde_program *program,
		       struct agent_world *world,
		       const struct model_random *random, const char *text,
		       struct counts *counts)
{
	enum jit_outcome expected = jit_evaluate(program, world);
	enum jit_outcome got;
	int rc = jit_run_probe(program, world->registers,
			       (unsigned int)random->next(random->ctx), &got);

	if (rc == -EOPNOTSUPP)
		return;
	assert_int_equal(rc, 0);
	counts->native++;
	counts->outcomes[got]++;
	if (got == expected)
		return;
	char listing[16384];
	(void)model_disassemble(program, listing, sizeof(listing));
	fail_msg("%s:\n%sis %d, not %d (%s)", text, listing, got, expected,
		 jit_run_hex());
}

static void code_does_what_the_evaluator_does(void **state)
{
	uint64_t seed = 6;
	const struct model_random random = { next_random, &seed };
	static struct agent_world world;
	uint8_t *memory = jit_run_memory();
	uint8_t bytes[SIZE];
	struct counts counts = { 0 };

	(void)state;
	for (size_t i = 0; i < JIT_MEMORY; i++)
		memory[i] = (uint8_t)next_random(&seed);
	for (int i = 0; i < ROUNDS; i++) {
		struct sonde_expr_error error;
		struct sonde_program *program;
		char text[32];
		size_t nr = agent_write(bytes, sizeof(bytes), false, false,
					&random);

		if (sonde_agent_decode(bytes, nr, false, &error, &program))
			continue;
		(void)snprintf(text, sizeof(text), "round %d", i);
		for (int k = 0; k < 2; k++) {
			agent_world_fill(&world, &random);
			world.byte = jit_run_byte;
			world.ctx = memory;
			for (int r = 0; r < AGENT_REGS; r++) {
				if (next_random(&seed) % 4)
					world.registers[r] =
						(uint64_t)(uintptr_t)memory +
						next_random(&seed) % JIT_MEMORY;
			}
			check_same(program, &world, &random, text, &counts);
		}
		sonde_program_free(program);
	}
	assert_true(counts.native > ROUNDS / 2);
	for (int i = 0; i < JIT_OUTCOMES; i++)
		assert_true(counts.outcomes[i] > 100);
}

static bool is_native(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];
	const unsigned int others = SONDE_EXPR_OPERAND_TEXT |
				    SONDE_EXPR_OPERAND_CALL |
				    SONDE_EXPR_OPERAND_MEM;

	return !(info->operands & others) && !info->takes.texts;
}

/* Not only those that a compiler makes. Of those that aren't true, native code
 * doesn't know END_FAULT from others: it tells of a fault when one happens. */
static void check_truth(const struct sonde_program *program,
			struct agent_world *world, unsigned int choice,
			struct counts *counts)
{
	enum jit_outcome expected = jit_evaluate(program, world);
	enum jit_outcome got;
	char listing[4096];
	int rc = jit_run_probe(program, world->registers, choice, &got);

	if (rc == -EOPNOTSUPP)
		return;
	assert_int_equal(rc, 0);
	counts->native++;
	counts->outcomes[got]++;
	if ((got == JIT_TRUE) == (expected == JIT_TRUE))
		return;
	(void)model_disassemble(program, listing, sizeof(listing));
	fail_msg("%sis %d, not %d (%s)", listing, got, expected, jit_run_hex());
}

static void all_short_programs_do_what_the_evaluator_does(void **state)
{
	static const struct made_alphabet alphabet = {
		.numbers = 2,
		.texts = 1,
		.senses = 2,
		.keeps = 3,
		.type = SONDE_EXPR_INT,
		.has = is_native,
	};
	static struct agent_world world;
	static struct made_walk walk;
	static union made made;
	uint64_t seed = 12;
	const struct model_random random = { next_random, &seed };
	struct counts counts = { 0 };

	(void)state;
	agent_world_fill(&world, &random);
	world.byte = jit_run_byte;
	world.ctx = jit_run_memory();
	for (uint32_t length = 1; length <= 4; length++) {
		made_walk(&walk, &alphabet, length, &made);
		while (made_next(&walk))
			check_truth(&made.program, &world,
				    (unsigned int)next_random(&seed), &counts);
	}
	print_message("%zu in native code\n", counts.native);
	assert_true(counts.native > 1000);
	assert_true(counts.outcomes[JIT_TRUE] > 100);
}

/* ---- what GDB compiled ---- */

static bool byte_of_case(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	return corpus_byte(ctx, address, ret_byte);
}

struct corpus_run {
	struct counts counts;
	uint64_t seed;
	size_t conditions;
};

static void run_case(const struct corpus_case *one, void *ctx)
{
	struct corpus_run *run = ctx;
	const struct model_random random = { next_random, &run->seed };
	static struct agent_world world;
	struct sonde_expr_error error;
	struct sonde_program *program;
	static struct corpus_case copy;

	copy = *one;
	if (one->collects ||
	    sonde_agent_decode(one->bytes, one->nr, false, &error, &program))
		return;
	run->conditions++;
	memcpy(world.registers, one->registers, sizeof(one->registers));
	world.byte = byte_of_case;
	world.ctx = &copy;
	if (jit_run_map(one))
		check_same(program, &world, &random, one->text, &run->counts);
	jit_run_unmap(one);
	sonde_program_free(program);
}

static void code_of_the_corpus_does_what_the_evaluator_does(void **state)
{
	struct corpus_run run = { .seed = 3 };

	(void)state;
	assert_true(corpus_each(run_case, &run) > 100);
	print_message("%zu of %zu in native code; %zu true\n",
		      run.counts.native, run.conditions,
		      run.counts.outcomes[JIT_TRUE]);
	assert_true(run.counts.native > run.conditions * 8 / 10);
	assert_true(run.counts.outcomes[JIT_TRUE] > 100);
}

/* ---- filters ---- */

static void check_filter(const struct sonde_program *program,
			 const struct model_random *random, const char *text,
			 struct counts *counts)
{
	static struct model_record record;
	struct sonde_expr_env env;
	bool expected;
	bool got;
	int rc;

	model_record_fill(&record, random);
	model_env_init(&env, &record);
	expected = sonde_program_test(program, &env);
	rc = jit_run_function(program, NULL, record.bytes[0], record.bytes[1],
			      &got);
	if (rc == -EOPNOTSUPP)
		return;
	assert_int_equal(rc, 0);
	counts->native++;
	counts->outcomes[got]++;
	if (got != expected)
		fail_msg("%s is %d: %s", text, got, jit_run_hex());
}

static void functions_do_what_the_evaluator_does(void **state)
{
	uint64_t seed = 9;
	const struct model_random random = { next_random, &seed };
	struct counts counts = { 0 };
	char text[4096];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sonde_expr_error error;
		struct sonde_program *program;
		struct sonde_expr *expr;

		model_write(text, sizeof(text), &random);
		if (sonde_expr_parse(text, &error, &expr))
			continue;
		if (sonde_expr_compile(expr, &model_scope, &error, &program) ==
		    0) {
			for (int k = 0; k < 2; k++)
				check_filter(program, &random, text, &counts);
			sonde_program_free(program);
		}
		sonde_expr_free(expr);
	}
	print_message("%zu in native code, %zu true\n", counts.native,
		      counts.outcomes[JIT_TRUE]);
	assert_true(counts.outcomes[JIT_TRUE] > 100);
	assert_true(counts.outcomes[JIT_FALSE] > 100);
}

/* ---- texts ---- */

static const struct sonde_jit_config texts = {
	.bytes = EBPF_BYTES,
	.text = ebpf_text_place,
};

static void check_text(const struct sonde_program *program, const char *text,
		       struct ebpf_record *record, struct counts *counts)
{
	struct sonde_expr_env env;
	bool got;

	ebpf_env_init(&env, record);
	if (jit_run_function(program, &texts, record->bytes, record->whence,
			     &got))
		return;
	counts->native++;
	counts->outcomes[got]++;
	if (got != sonde_program_test(program, &env))
		fail_msg("%s is %d: %s", text, got, jit_run_hex());
}

/* Of the same conditions as eBPF is made of. */
static void functions_compare_texts_as_the_evaluator_does(void **state)
{
	uint64_t seed = 11;
	const struct model_random random = { next_random, &seed };
	struct counts counts = { 0 };
	char text[16384];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sonde_program *program;
		struct ebpf_record record;

		ebpf_write(text, sizeof(text), &random);
		program = compile_in(text, &ebpf_scope);
		for (int k = 0; k < 2; k++) {
			ebpf_record_fill(&record, &random);
			check_text(program, text, &record, &counts);
		}
		sonde_program_free(program);
	}
	print_message("%zu in native code, %zu true\n", counts.native,
		      counts.outcomes[JIT_TRUE]);
	assert_true(counts.native > 2 * ROUNDS * 9 / 10);
}

/* ---- graphs ---- */

static void expect_wrong(const struct sonde_graph *graph, const char *what)
{
	const char *wrong = sonde_graph_check(graph);

	assert_non_null(wrong);
	assert_memory_equal(wrong, what, 2);
}

/* Each thing is broken, and mended. */
/* NOLINTNEXTLINE(readability-function-size): BREAK is many statements */
static void what_is_broken_in_a_graph_is_found(void **state)
{
	static const struct sonde_graph_config config = {
		.narrowest = 8,
		.bases = { { .bytes = UINT32_MAX }, { .bytes = UINT32_MAX } },
		.text = ebpf_text_place,
	};
	struct sonde_program *program = compile_in(
		"u32 == 7 || i64 * 3 > u16 || (i8 < 5 && i16x + 1 != u32)",
		&ebpf_scope);
	struct sonde_graph graph;
	struct sonde_graph_block *first;
	struct sonde_graph_node twin;

	(void)state;
	assert_int_equal(sonde_graph_make(&graph, program, &config), 0);
	assert_null(sonde_graph_check(&graph));
	assert_true(graph.nr_ordered > 1);
	first = &graph.blocks[graph.order[0]];
	twin = graph.nodes[0];
	twin.next = 0;
/* NOLINTBEGIN(bugprone-macro-parentheses): it is assigned to */
#define BREAK(thing, value, what)                       \
	do {                                            \
		__typeof__(thing) whole = thing;        \
		thing = value;                          \
		expect_wrong(&graph, what);             \
		thing = whole;                          \
		assert_null(sonde_graph_check(&graph)); \
	} while (0)
	/* NOLINTEND(bugprone-macro-parentheses) */
	BREAK(graph.nodes[1].op, SONDE_GRAPH_NONE, "1:");
	BREAK(graph.nodes[1].a, 1, "1:");
	BREAK(graph.nr_nodes, graph.nr_nodes - 1, "1:");
	BREAK(graph.nodes[1], twin, "1:");
	BREAK(graph.nodes[1].sbits, 65, "2:");
	BREAK(graph.nodes[1].demand, 7, "2:");
	BREAK(first->nr_reads, (uint16_t)(graph.nr_reads + 1), "3:");
	BREAK(first->to[0], graph.order[0], "4:");
	BREAK(first->comparison.width, 9, "4:");
	BREAK(first->decides, false, "4:");
	BREAK(first->nr_from, 9, "5:");
	BREAK(graph.begin, graph.order[1], "5:");
	BREAK(graph.pool.used, graph.pool.used - 1, "2:");
#undef BREAK
	sonde_graph_fini(&graph);
	sonde_program_free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_become_few_instructions),
		cmocka_unit_test(code_does_what_the_evaluator_does),
		cmocka_unit_test(all_short_programs_do_what_the_evaluator_does),
		cmocka_unit_test(
			code_of_the_corpus_does_what_the_evaluator_does),
		cmocka_unit_test(functions_do_what_the_evaluator_does),
		cmocka_unit_test(functions_compare_texts_as_the_evaluator_does),
		cmocka_unit_test(what_is_broken_in_a_graph_is_found),
	};

	jit_run_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
