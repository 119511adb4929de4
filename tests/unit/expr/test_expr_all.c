/* SPDX-License-Identifier: MIT */
/*
 * test_expr_all.c - the verifier is held against the evaluator: all programs
 * of some length over a small alphabet of operands, of which each that is
 * taken is run, whichever way its jumps go.
 *
 *	test_expr_all [LENGTH]
 *
 * LENGTH: how long they are: 6 by itself, some seconds; 7 takes minutes, 8 hours.
 *
 * What is run is the evaluator itself, in here, whose reads of texts are
 * watched: where a text is read, both its address and its length must be those
 * of one text. So a program that takes a length for an address fails, though
 * what it reads might be there.
 *
 * Operations that take and give the same are the same to the verifier, but for
 * their operands: all of them come in short programs, and in longer ones the
 * first of each kind.
 *
 * Cost: the walk tries each operation behind each sound beginning, so about
 * 20 times as many for each operation more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr_unit.h"
#include "program_make.h"
#include "types/select.h"

static int watched_memcmp(const void *a, const void *b, size_t size);
static bool watched_glob(const char *glob, const char *text, size_t length);

#define memcmp                watched_memcmp
#define sonde_glob_match_text watched_glob
/* So that its reads can be watched. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "expr/eval.c"
#undef memcmp
#undef sonde_glob_match_text

#define GUARD  16
#define CANARY UINT64_C(0x5afe5afe5afe5afe)

static const char called_text[] = "xyz";
static uint32_t length_max = 6;
static const struct sonde_program *running;

/* ---- watching ---- */

static void must(bool holds, const char *claim)
{
	const struct sonde_program *program = running;

	if (holds)
		return;
	for (uint32_t i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];

		print_message("%u: %s number %#lx offset %u length %u sense %u"
			      " to %u keep %u\n",
			      i, sonde_expr_op_infos[op->code].name,
			      (unsigned long)op->number, op->offset, op->length,
			      op->sense, op->target, op->keep);
	}
	fail_msg("%s", claim);
}

/* The length of the text at `at`; false: none is there. */
static bool find_text(const void *at, size_t *ret_length)
{
	const char *own = sonde_program_texts(running);

	*ret_length = 0;
	if (at == own)
		*ret_length = sizeof(MADE_TEXT) - 1;
	else if (at == called_text)
		*ret_length = sizeof(called_text) - 1;
	else
		return at == own + sizeof(MADE_TEXT) - 1;
	return true;
}

static bool is_text(const void *at, uint64_t length)
{
	size_t is;

	return find_text(at, &is) && is == length;
}

/* No number that a short program reckons comes near one. */
static bool is_address(uint64_t number)
{
	uint64_t own = (uint64_t)(uintptr_t)sonde_program_texts(running);
	uint64_t called = (uint64_t)(uintptr_t)called_text;

	return number - own < MADE_TEXTS ||
	       number - called < sizeof(called_text);
}

static int watched_memcmp(const void *a, const void *b, size_t size)
{
	size_t a_size = 0;
	size_t b_size = 0;

	must(find_text(a, &a_size) && find_text(b, &b_size),
	     "it compares what is no text");
	must(size <= a_size && size <= b_size, "it reads beyond a text");
	return memcmp(a, b, size);
}

static bool watched_glob(const char *glob, const char *text, size_t length)
{
	must(is_text(glob, strlen(glob)), "a glob is no text");
	must(length == 0 || is_text(text, length),
	     "it matches what is no text");
	return sonde_glob_match_text(glob, text, length);
}

/* ---- running ---- */

/* What decides where jumps go. */
struct way {
	enum sonde_expr_type called; /* MISSING: nothing */
	uint8_t byte;                /* all there are, in fields */
	bool can_read;
};

static int call_of(void *ctx, uint32_t ref, struct sonde_expr_value *ret_value)
{
	const struct way *way = ctx;

	(void)ref;
	ret_value->type = way->called;
	ret_value->u = way->byte;
	if (way->called == SONDE_EXPR_STRING) {
		ret_value->text = called_text;
		ret_value->length = sizeof(called_text) - 1;
	}
	return way->called == SONDE_EXPR_MISSING ? -ENOENT : 0;
}

static bool read_machine(void *ctx, uint64_t address, void *to, uint32_t bytes)
{
	const struct way *way = ctx;

	must(!is_address(address), "a text's address is a number");
	memset(to, way->byte, bytes);
	return way->can_read;
}

static uint64_t get_variable(void *ctx, uint32_t variable)
{
	const struct way *way = ctx;

	return way->byte + variable;
}

static void set_variable(void *ctx, uint32_t variable, uint64_t value)
{
	(void)ctx;
	(void)variable;
	must(!is_address(value), "a text's address is a number");
}

static void trace_memory(void *ctx, uint64_t address, uint64_t bytes)
{
	(void)ctx;
	must(!is_address(address) && !is_address(bytes),
	     "a text's address is a number");
}

static void trace_variable(void *ctx, uint32_t variable)
{
	(void)ctx;
	(void)variable;
}

static const struct sonde_expr_machine machine = {
	.read = read_machine,
	.get = get_variable,
	.set = set_variable,
	.trace = trace_memory,
	.trace_string = trace_memory,
	.trace_variable = trace_variable,
};

static void check_result(enum result result, const uint64_t *stack)
{
	const void *text = text_in(stack);

	if (result == RESULT_NUMBER)
		must(!is_address(stack[0]), "its number is an address");
	if (result == RESULT_TEXT)
		must(is_text(text, stack[1]), "its text is none");
}

static void run_way(const struct sonde_program *program, struct way way)
{
	uint64_t slots[GUARD + SONDE_PROGRAM_STACK + GUARD];
	uint64_t registers[SONDE_EXPR_REGISTERS] = { 0 };
	uint8_t field[MADE_BASE_SIZE];
	const struct sonde_expr_env env = {
		.bases = { field, field },
		.call = call_of,
		.ctx = &way,
		.registers = registers,
		.machine = &machine,
		.machine_ctx = &way,
	};

	memset(field, way.byte, sizeof(field));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(slots); i++)
		slots[i] = CANARY;
	check_result(run(program, &env, program->ops, slots + GUARD),
		     slots + GUARD);
	for (size_t i = 0; i < GUARD; i++)
		must(slots[i] == CANARY &&
			     slots[GUARD + SONDE_PROGRAM_STACK + i] == CANARY,
		     "it leaves the stack");
}

/* What is not read there is not of the program's. */
static void run_all_ways(const struct sonde_program *program)
{
	static const struct way ways[] = {
		{ SONDE_EXPR_MISSING, 0, false },
		{ SONDE_EXPR_UINT, 0, true },
		{ SONDE_EXPR_UINT, 1, false },
		{ SONDE_EXPR_STRING, 0, true },
		{ SONDE_EXPR_STRING, 1, true },
	};

	running = program;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(ways); i++)
		run_way(program, ways[i]);
}

/* Programs of 1 to `most` operations; how many were taken. */
static uint64_t walk_all(struct made_alphabet alphabet, uint32_t most)
{
	static const uint8_t types[] = { SONDE_EXPR_INT, SONDE_EXPR_STRING };
	static struct made_walk walk;
	static union made made;
	uint64_t nr = 0;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(types); i++) {
		alphabet.type = types[i];
		for (uint32_t length = 1; length <= most; length++) {
			made_walk(&walk, &alphabet, length, &made);
			for (; made_next(&walk); nr++)
				run_all_ways(&made.program);
		}
	}
	print_message("  %lu programs\n", (unsigned long)nr);
	return nr;
}

/* ---- which operations ---- */

/* Those before it that take, give and jump alike stand for it. */
static bool is_first_of_kind(uint8_t code)
{
	const unsigned int flow =
		SONDE_EXPR_OPERAND_JUMP | SONDE_EXPR_OPERAND_END;
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	if (code == SONDE_EXPR_OP_GO || code == SONDE_EXPR_OP_PICK ||
	    code == SONDE_EXPR_OP_IF_GLOB || code == SONDE_EXPR_OP_IF_DEFINED)
		return true; /* unlike all others */
	for (uint8_t i = 0; i < code; i++) {
		const struct sonde_expr_op_info *other =
			&sonde_expr_op_infos[i];

		if (memcmp(&other->takes, &info->takes, sizeof(info->takes)) !=
			    0 ||
		    memcmp(&other->gives, &info->gives, sizeof(info->gives)) !=
			    0)
			continue;
		if ((other->operands & flow) == (info->operands & flow) &&
		    i != SONDE_EXPR_OP_GO)
			return false;
	}
	return true;
}

/* What texts can be cut with, and what then takes them. */
static bool is_of_texts(uint8_t code)
{
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[code];

	return is_first_of_kind(code) &&
	       (info->takes.texts || info->gives.texts ||
		code == SONDE_EXPR_OP_NUMBER || code == SONDE_EXPR_OP_GO ||
		code == SONDE_EXPR_OP_ADD || code == SONDE_EXPR_OP_PICK ||
		code == SONDE_EXPR_OP_END_NUMBER ||
		code == SONDE_EXPR_OP_END_TRUE);
}

static void short_programs_of_all_operations_are_safe(void **state)
{
	(void)state;
	assert_true(walk_all((struct made_alphabet){ .numbers = 6,
						     .texts = 2,
						     .senses = 2,
						     .keeps = 4 },
			     length_max - 3) > 7);
}

static void programs_of_each_kind_of_operation_are_safe(void **state)
{
	(void)state;
	assert_true(walk_all((struct made_alphabet){ .numbers = 2,
						     .texts = 1,
						     .senses = 1,
						     .keeps = 5,
						     .has = is_first_of_kind },
			     length_max - 1) > 300);
}

static void programs_of_texts_are_safe(void **state)
{
	(void)state;
	assert_true(walk_all((struct made_alphabet){ .numbers = 1,
						     .texts = 1,
						     .senses = 1,
						     .keeps = 7,
						     .has = is_of_texts },
			     length_max + 1) > 30);
}

/* Where the stack is nearly full. */
static void programs_do_not_leave_the_stack(void **state)
{
	(void)state;
	for (uint8_t first = SONDE_PROGRAM_STACK - 3;
	     first <= SONDE_PROGRAM_STACK; first++)
		assert_true(walk_all(
				    (struct made_alphabet){
					    .numbers = 1,
					    .texts = 1,
					    .senses = 1,
					    .keeps = 4,
					    .keep_first = first,
					    .has = is_first_of_kind },
				    length_max - 2) > 0);
}

static void constant_programs_see_nothing(void **state)
{
	static const struct sonde_expr_env nothing;
	static struct made_walk walk;
	static union made made;
	const struct made_alphabet alphabet = {
		.numbers = 1,
		.texts = 1,
		.senses = 1,
		.keeps = 3,
		.type = SONDE_EXPR_INT,
		.is_constant = true,
	};
	struct sonde_expr_value value;

	(void)state;
	for (uint32_t length = 1; length <= 3; length++) {
		made_walk(&walk, &alphabet, length, &made);
		while (made_next(&walk)) {
			running = &made.program;
			sonde_program_eval(running, &nothing, &value);
			(void)sonde_program_test(running, &nothing);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_programs_of_all_operations_are_safe),
		cmocka_unit_test(programs_of_each_kind_of_operation_are_safe),
		cmocka_unit_test(programs_of_texts_are_safe),
		cmocka_unit_test(programs_do_not_leave_the_stack),
		cmocka_unit_test(constant_programs_see_nothing),
	};

	if (argc > 1)
		length_max = (uint32_t)strtoul(argv[1], NULL, 10);
	if (length_max < 4 || length_max > 12)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
