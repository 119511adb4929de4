/* SPDX-License-Identifier: MIT */
/*
 * test_expr_verify.c - the verifier takes what the compiler makes, and refuses
 * it once a hand has been laid on it.
 */
#include <string.h>

#include "base/port.h"
#include "expr/program.h"
#include "expr_model.h"
#include "expr_unit.h"

#define OPS   40
#define TEXTS 64

/* A copy of a program that can be changed. */
union copy {
	struct sonde_program program;
	uint8_t bytes[sizeof(struct sonde_program) +
		      OPS * sizeof(struct sonde_expr_op) + TEXTS];
};

static void make(const char *text, union copy *to)
{
	struct sonde_program *program = compile_in(text, &model_scope);

	assert_true(sonde_program_bytes(program) <= sizeof(*to));
	memset(to, 0, sizeof(*to));
	memcpy(to->bytes, program, sonde_program_bytes(program));
	sonde_program_free(program);
}

static bool is_sound(const union copy *copy)
{
	struct sonde_program_state states[OPS];

	return sonde_program_verify(&copy->program, states);
}

/* The first operation of that code. */
static struct sonde_expr_op *find_op(union copy *copy,
				     enum sonde_expr_op_code code)
{
	for (uint32_t i = 0; i < copy->program.nr_ops; i++) {
		if (copy->program.ops[i].code == code)
			return &copy->program.ops[i];
	}
	fail_msg("no %s", sonde_expr_op_infos[code].name);
	return NULL;
}

static void jumps_go_forward_and_stay_inside(void **state)
{
	union copy copy;

	(void)state;
	make("u8 == 3 && i8 < 4", &copy);
	assert_true(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_BELOW_S)->target = 0;
	assert_false(is_sound(&copy));
	make("u8 == 3 && i8 < 4", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_MEM8_IS)->target = 0;
	assert_false(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_MEM8_IS)->target = copy.program.nr_ops;
	assert_false(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_MEM8_IS)->target = UINT32_MAX;
	assert_false(is_sound(&copy));
}

static void the_end_is_not_run_over(void **state)
{
	union copy copy;

	(void)state;
	make("u8 == 3", &copy);
	copy.program.nr_ops--;
	assert_false(is_sound(&copy));
	copy.program.nr_ops = 0;
	assert_false(is_sound(&copy));
	copy.program.nr_ops = UINT32_MAX;
	assert_false(is_sound(&copy));
}

static void unknown_operations_are_refused(void **state)
{
	union copy copy;

	(void)state;
	make("u8 + i8", &copy);
	find_op(&copy, SONDE_EXPR_OP_ADD)->code = SONDE_EXPR_OP_CODES;
	assert_false(is_sound(&copy));
}

/* So many operations: empty texts, and an end. */
static void fill_with_texts(union copy *copy, uint32_t nr)
{
	memset(copy, 0, sizeof(*copy));
	copy->program.nr_ops = nr;
	copy->program.texts_bytes = 1;
	copy->program.type = SONDE_EXPR_INT;
	for (uint32_t i = 0; i < nr; i++)
		copy->program.ops[i].code = i + 1 < nr ? SONDE_EXPR_OP_TEXT :
							 SONDE_EXPR_OP_END_TRUE;
}

static void the_stack_neither_runs_dry_nor_over(void **state)
{
	union copy copy;

	(void)state;
	make("u8 + i8", &copy);
	copy.program.ops[1] = copy.program.ops[2]; /* ADD of one number */
	assert_false(is_sound(&copy));
	make("u8", &copy);
	copy.program.ops[0].code = SONDE_EXPR_OP_ADD;
	assert_false(is_sound(&copy));
	make("u8", &copy);
	copy.program.ops[0].code = SONDE_EXPR_OP_END_NUMBER;
	assert_false(is_sound(&copy));
	for (uint32_t nr = 3; nr < OPS; nr++) {
		fill_with_texts(&copy, nr);
		assert_int_equal(is_sound(&copy),
				 nr - 1 <= SONDE_PROGRAM_STACK / 2);
	}
}

/* A program of these operations, whose operands are all 0. */
static void make_of(union copy *copy, const uint8_t *codes, uint32_t nr)
{
	memset(copy, 0, sizeof(*copy));
	copy->program.nr_ops = nr;
	copy->program.texts_bytes = 1;
	copy->program.type = SONDE_EXPR_INT;
	for (uint32_t i = 0; i < nr; i++)
		copy->program.ops[i].code = codes[i];
}

static void as_many_slots_are_not_enough(void **state)
{
	static const uint8_t two_numbers[] = { SONDE_EXPR_OP_NUMBER,
					       SONDE_EXPR_OP_NUMBER,
					       SONDE_EXPR_OP_END_TEXT };
	static const uint8_t a_text[] = { SONDE_EXPR_OP_TEXT, SONDE_EXPR_OP_ADD,
					  SONDE_EXPR_OP_END_NUMBER };
	static const uint8_t either[] = {
		SONDE_EXPR_OP_IF_DEFINED, SONDE_EXPR_OP_TEXT,
		SONDE_EXPR_OP_GO,         SONDE_EXPR_OP_NUMBER,
		SONDE_EXPR_OP_NUMBER,     SONDE_EXPR_OP_GO,
		SONDE_EXPR_OP_END_TRUE,
	};
	union copy copy;

	(void)state;
	make_of(&copy, two_numbers, SONDE_ARRAY_SIZE(two_numbers));
	copy.program.type = SONDE_EXPR_STRING;
	assert_false(is_sound(&copy));
	make_of(&copy, a_text, SONDE_ARRAY_SIZE(a_text));
	assert_false(is_sound(&copy));
	make_of(&copy, either, SONDE_ARRAY_SIZE(either));
	copy.program.ops[0].target = 3;
	copy.program.ops[2].target = 6;
	copy.program.ops[5].target = 6;
	assert_true(is_sound(&copy));
	copy.program.ops[2].keep = 2;
	copy.program.ops[5].keep = 2;
	assert_false(is_sound(&copy));
}

/* TEXT..., a jump that keeps so many slots, and an operation that takes them.
 */
static bool keeps(uint32_t nr_texts, uint8_t kept, uint8_t then)
{
	union copy copy;
	uint8_t codes[] = { SONDE_EXPR_OP_TEXT, SONDE_EXPR_OP_TEXT,
			    SONDE_EXPR_OP_GO, then, SONDE_EXPR_OP_END_TRUE };
	uint32_t skipped = 2 - nr_texts;

	make_of(&copy, codes + skipped, SONDE_ARRAY_SIZE(codes) - skipped);
	copy.program.ops[nr_texts].keep = kept;
	copy.program.ops[nr_texts].target = nr_texts + 1;
	copy.program.ops[nr_texts + 1].target = nr_texts + 2;
	copy.program.ops[nr_texts + 1].keep = kept < 2 ? 0 : kept - 2;
	return is_sound(&copy);
}

static void jumps_keep_texts_whole(void **state)
{
	(void)state;
	assert_true(keeps(2, 4, SONDE_EXPR_OP_IF_GLOB));
	assert_true(keeps(2, 2, SONDE_EXPR_OP_IF_GLOB));
	assert_false(keeps(2, 3, SONDE_EXPR_OP_IF_GLOB));
	assert_false(keeps(2, 1, SONDE_EXPR_OP_NUMBER));
	assert_false(keeps(2, 3, SONDE_EXPR_OP_POP));
	assert_true(keeps(1, 0, SONDE_EXPR_OP_NUMBER));
	assert_false(keeps(1, 1, SONDE_EXPR_OP_POP));
}

/* Two halves of two texts aren't one: the second's length is no address. */
static void halves_of_texts_are_no_text(void **state)
{
	static const uint8_t codes[] = {
		SONDE_EXPR_OP_TEXT,    SONDE_EXPR_OP_GO, SONDE_EXPR_OP_TEXT,
		SONDE_EXPR_OP_TEXT,    SONDE_EXPR_OP_GO, SONDE_EXPR_OP_IF_GLOB,
		SONDE_EXPR_OP_END_TRUE
	};
	union copy copy;

	(void)state;
	make_of(&copy, codes, SONDE_ARRAY_SIZE(codes));
	copy.program.ops[1].target = 2;
	copy.program.ops[4].target = 5;
	copy.program.ops[5].target = 6;
	copy.program.ops[1].keep = 2;
	copy.program.ops[4].keep = 4;
	copy.program.ops[5].keep = 2;
	assert_true(is_sound(&copy));
	copy.program.ops[1].keep = 1;
	assert_false(is_sound(&copy));
}

static void ends_find_their_value_alone(void **state)
{
	static const uint8_t text_below[] = { SONDE_EXPR_OP_TEXT,
					      SONDE_EXPR_OP_NUMBER,
					      SONDE_EXPR_OP_END_NUMBER };
	static const uint8_t number_below[] = { SONDE_EXPR_OP_NUMBER,
						SONDE_EXPR_OP_TEXT,
						SONDE_EXPR_OP_END_TEXT };
	union copy copy;

	(void)state;
	make_of(&copy, text_below, SONDE_ARRAY_SIZE(text_below));
	assert_false(is_sound(&copy));
	copy.program.ops[2].code = SONDE_EXPR_OP_END_TRUE;
	assert_true(is_sound(&copy));
	make_of(&copy, number_below, SONDE_ARRAY_SIZE(number_below));
	copy.program.type = SONDE_EXPR_STRING;
	assert_false(is_sound(&copy));
}

static void senses_and_types_are_in_range(void **state)
{
	union copy copy;

	(void)state;
	make("u8 == 3", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_MEM8_IS)->sense = 2;
	assert_false(is_sound(&copy));
	make_of(&copy, (uint8_t[]){ SONDE_EXPR_OP_END_MISSING }, 1);
	assert_true(is_sound(&copy));
	copy.program.type = SONDE_EXPR_STRING + 1;
	assert_false(is_sound(&copy));
}

static void ways_meet_with_equal_stacks(void **state)
{
	union copy copy;

	(void)state;
	make("i8 + (u8 == 3 ? i16 : i32)", &copy);
	assert_true(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_GO)->keep--;
	assert_false(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_GO)->keep += 2;
	assert_false(is_sound(&copy));
	make("i8 + (u8 == 3 ? i16 : i32)", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_MEM8_IS)->keep = 0;
	assert_false(is_sound(&copy));
	/* where only the jump leads */
	make("d", &copy);
	find_op(&copy, SONDE_EXPR_OP_CALL_NUMBER)->keep = 1;
	assert_false(is_sound(&copy));
	/* a number here, half a text there */
	make("(u8 ? event : s) == t", &copy);
	assert_true(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_CALL_TEXT)->code =
		SONDE_EXPR_OP_CALL_NUMBER;
	assert_false(is_sound(&copy));
}

static void numbers_are_no_addresses(void **state)
{
	union copy copy;

	(void)state;
	make("u8 + i8 == u16", &copy);
	assert_true(is_sound(&copy));
	copy.program.ops[2].code = SONDE_EXPR_OP_IF_TEXT;
	assert_false(is_sound(&copy));
	make("s == \"a\"", &copy);
	find_op(&copy, SONDE_EXPR_OP_CALL_TEXT)->number = SONDE_EXPR_UINT;
	assert_false(is_sound(&copy));
	make("$ctx.u < 3", &copy);
	find_op(&copy, SONDE_EXPR_OP_CALL_NUMBER)->number = SONDE_EXPR_STRING;
	assert_false(is_sound(&copy));
	make("u8", &copy);
	copy.program.type = SONDE_EXPR_STRING;
	assert_false(is_sound(&copy));
	make("s", &copy);
	copy.program.type = SONDE_EXPR_UINT;
	assert_false(is_sound(&copy));
	make("u8 < 3", &copy);
	copy.program.type = SONDE_EXPR_DOUBLE;
	assert_false(is_sound(&copy));
}

static void bases_and_texts_are_those_of_the_program(void **state)
{
	union copy copy;

	(void)state;
	make("u16x == 3", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_MEM16_IS)->base = 3;
	assert_false(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_MEM16_IS)->base = SONDE_EXPR_BASES;
	assert_false(is_sound(&copy));
	make("s == \"abc\"", &copy);
	assert_true(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_TEXT_IS)->length++;
	assert_false(is_sound(&copy));
	find_op(&copy, SONDE_EXPR_OP_IF_TEXT_IS)->length = UINT32_MAX;
	assert_false(is_sound(&copy));
	make("s == \"abc\"", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_TEXT_IS)->offset = UINT32_MAX;
	assert_false(is_sound(&copy));
	/* their sum is that of the zero byte, in 32 bits */
	find_op(&copy, SONDE_EXPR_OP_IF_TEXT_IS)->length = 4;
	assert_false(is_sound(&copy));
	make("s == \"a*\"", &copy);
	assert_true(is_sound(&copy));
	copy.bytes[sonde_program_bytes(&copy.program) - 1] = '*';
	assert_false(is_sound(&copy));
}

static void all_operations_can_be_reached(void **state)
{
	union copy copy;

	(void)state;
	make("u8 + i8 == 3", &copy);
	find_op(&copy, SONDE_EXPR_OP_IF_IS)->code = SONDE_EXPR_OP_END_NUMBER;
	assert_false(is_sound(&copy));
}

static void constants_read_nothing(void **state)
{
	union copy copy;

	(void)state;
	make("u8 == 3", &copy);
	copy.program.constant = true;
	assert_false(is_sound(&copy));
	make("defined(s)", &copy);
	copy.program.constant = true;
	assert_false(is_sound(&copy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_go_forward_and_stay_inside),
		cmocka_unit_test(the_end_is_not_run_over),
		cmocka_unit_test(unknown_operations_are_refused),
		cmocka_unit_test(the_stack_neither_runs_dry_nor_over),
		cmocka_unit_test(as_many_slots_are_not_enough),
		cmocka_unit_test(jumps_keep_texts_whole),
		cmocka_unit_test(halves_of_texts_are_no_text),
		cmocka_unit_test(ends_find_their_value_alone),
		cmocka_unit_test(senses_and_types_are_in_range),
		cmocka_unit_test(ways_meet_with_equal_stacks),
		cmocka_unit_test(numbers_are_no_addresses),
		cmocka_unit_test(bases_and_texts_are_those_of_the_program),
		cmocka_unit_test(all_operations_can_be_reached),
		cmocka_unit_test(constants_read_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
