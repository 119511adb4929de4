/* SPDX-License-Identifier: MIT */
/*
 * test_agent.c - GDB's agent expressions: what the decoder takes and refuses,
 * and that its programs do what the bytes say (agent_model.h) and what GDB
 * itself computes (agent_corpus.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent_corpus.h"
#include "agent_model.h"
#include "base/hex.h"
#include "base/port.h"
#include "expr/agent.h"
#include "expr/program.h"
#include "expr_unit.h"
#include "random.h"

#define ROUNDS 200000
#define SIZE   2048

static const char *in_hex(const uint8_t *bytes, size_t nr)
{
	static char hex[2 * SIZE + 1];

	sonde_hex_put(bytes, nr < SIZE ? nr : SIZE, hex);
	return hex;
}

/* The program and the bytes do the same in that world. */
static enum agent_result check_same(const struct sonde_program *program,
				    const uint8_t *bytes, size_t nr,
				    const struct agent_world *world,
				    uint64_t *ret_value)
{
	static struct agent_world plain;
	static struct agent_world ours;
	uint64_t expected = 0;
	enum agent_result result;
	size_t records;

	plain = *world;
	ours = *world;
	result = agent_model_run(bytes, nr, &plain, &expected);
	if (agent_evaluate(program, &ours, ret_value) != result ||
	    (result == AGENT_VALUE && *ret_value != expected))
		fail_msg("%s: gives 0x%" PRIx64 ", not 0x%" PRIx64 " (%d)",
			 in_hex(bytes, nr), *ret_value, expected, (int)result);
	records = ours.nr_records < AGENT_RECORDS ? ours.nr_records :
						    AGENT_RECORDS;
	if (ours.nr_records != plain.nr_records ||
	    memcmp(ours.records, plain.records,
		   records * sizeof(ours.records[0])) != 0)
		fail_msg("%s: records something else", in_hex(bytes, nr));
	assert_memory_equal(ours.variables, plain.variables,
			    sizeof(ours.variables));
	return result;
}

struct tally {
	size_t sound, refused;
	size_t by_result[AGENT_BROKEN];
};

static void try_random(const struct model_random *random, bool collects,
		       bool broken, struct tally *tally)
{
	static struct agent_world world;
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	uint8_t bytes[SIZE];
	size_t nr = agent_write(bytes, sizeof(bytes), collects, broken, random);
	bool sound = agent_model_is_sound(bytes, nr, collects);
	int err = sonde_agent_decode(bytes, nr, collects, &error, &program);
	uint64_t value;

	if (sound != (err == 0) || (err && err != -EINVAL))
		fail_msg("%s: %s, but the decoder says %d %s",
			 in_hex(bytes, nr), sound ? "sound" : "unsound", err,
			 error.text);
	assert_true(sound || broken);
	if (err) {
		assert_true(error.text[0] && error.column);
		tally->refused++;
		return;
	}
	tally->sound++;
	for (size_t i = 0; i < 3; i++) {
		agent_world_fill(&world, random);
		tally->by_result[check_same(program, bytes, nr, &world,
					    &value)]++;
	}
	sonde_program_free(program);
}

static void programs_do_what_the_bytes_say(void **state)
{
	uint64_t seed = 20261122;
	const struct model_random random = { next_random, &seed };
	struct tally tally = { .sound = 0 };

	(void)state;
	for (size_t i = 0; i < ROUNDS; i++)
		try_random(&random, i & 1, i & 2, &tally);
	/* all that can happen has happened often */
	assert_true(tally.sound > ROUNDS / 2);
	assert_true(tally.refused > ROUNDS / 10);
	for (size_t i = 0; i < AGENT_BROKEN; i++)
		assert_true(tally.by_result[i] > ROUNDS / 100);
}

/* ---- what GDB made ---- */

struct corpus_tally {
	size_t conditions, values, faults, divisions, collections;
};

static bool corpus_world_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	return corpus_byte(ctx, address, ret_byte);
}

/*
 * GDB 13.1 does not narrow the value of an unsigned variable which isn't stored
 * but computed (DW_OP_stack_value, at -O2): print does, the bytes don't.
 */
static bool is_narrowed(const struct corpus_case *one)
{
	return strcmp(one->build, "O2") != 0 ||
	       !(strstr(one->text, "luc") || strstr(one->text, "lus") ||
		 strstr(one->text, "lui"));
}

static void check_witness(const struct corpus_case *one,
			  enum agent_result result, uint64_t value)
{
	static const enum agent_result expected[] = {
		[CORPUS_VALUE] = AGENT_VALUE,
		[CORPUS_FAULT] = AGENT_FAULT,
		[CORPUS_DIVIDED] = AGENT_DIVIDED,
	};

	if (result != expected[one->expected] ||
	    (result == AGENT_VALUE && value != one->value))
		fail_msg("%s: %s: gives 0x%" PRIx64 " (%d), but GDB says "
			 "0x%" PRIx64 " (%d)",
			 one->build, one->text, value, (int)result, one->value,
			 (int)one->expected);
}

static void check_case(const struct corpus_case *one, void *ctx)
{
	static struct agent_world world;
	struct corpus_case now = *one;
	struct corpus_tally *tally = ctx;
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	enum agent_result result;
	uint64_t value;

	assert_true(agent_model_is_sound(one->bytes, one->nr, one->collects));
	if (sonde_agent_decode(one->bytes, one->nr, one->collects, &error,
			       &program))
		fail_msg("%s: %s: %s", one->build, one->text, error.text);
	world = (struct agent_world){ .byte = corpus_world_byte, .ctx = &now };
	memcpy(world.registers, one->registers, sizeof(world.registers));
	result = check_same(program, one->bytes, one->nr, &world, &value);
	if (one->expected != CORPUS_UNKNOWN && is_narrowed(one))
		check_witness(one, result, value);
	tally->conditions += !one->collects;
	tally->collections += one->collects;
	tally->values += one->expected == CORPUS_VALUE;
	tally->faults += one->expected == CORPUS_FAULT;
	tally->divisions += one->expected == CORPUS_DIVIDED;
	sonde_program_free(program);
}

static void programs_give_what_gdb_prints(void **state)
{
	struct corpus_tally tally = { .values = 0 };

	(void)state;
	assert_true(corpus_each(check_case, &tally) > 0);
	assert_true(tally.values > 1000);
	assert_true(tally.faults > 10);
	assert_true(tally.divisions > 10);
	assert_true(tally.collections > 500);
}

/* ---- single points ---- */

static uint64_t value_of(const char *hex, struct agent_world *world)
{
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	uint8_t bytes[SIZE];
	size_t nr = from_hex(hex, bytes);
	uint64_t value;

	if (sonde_agent_decode(bytes, nr, false, &error, &program))
		fail_msg("%s: %s", hex, error.text);
	assert_int_equal(agent_evaluate(program, world, &value), AGENT_VALUE);
	sonde_program_free(program);
	return value;
}

static bool one_byte(void *ctx, uint64_t address, uint8_t *ret_byte)
{
	static const uint8_t bytes[] = { 0x12, 0xff, 0xff, 0xff,
					 0xff, 0xff, 0xff, 0xff };

	(void)ctx;
	*ret_byte = bytes[address & 7];
	return true;
}

/* gdb/18955: the address's upper bytes stayed in the register. */
static void narrow_unsigned_values_have_zeros_above(void **state)
{
	static struct agent_world world = {
		.registers = { [6] = 0x7fffffffe000 },
		.byte = one_byte,
	};

	(void)state;
	assert_int_equal(value_of("2600061722121327", &world), 1);
	assert_int_equal(value_of("2600061827", &world), 0xff12);
	assert_int_equal(value_of("260006182300ff121327", &world), 0);
	assert_int_equal(value_of("2600061823ff121327", &world), 1);
	assert_int_equal(value_of("2600061723ff121527", &world), 1);
}

static void assert_refused(const char *hex, bool collects, uint32_t column,
			   const char *part)
{
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;
	uint8_t bytes[SIZE];
	size_t nr = from_hex(hex, bytes);

	if (!sonde_agent_decode(bytes, nr, collects, &error, &program))
		fail_msg("%s was taken", hex);
	if (!strstr(error.text, part) || error.column != column)
		fail_msg("%s: column %u: %s", hex, error.column, error.text);
}

static void refusals_say_what_and_where(void **state)
{
	(void)state;
	assert_refused("", false, 1, "goes on behind its last byte");
	assert_refused("27", false, 1, "without a value");
	assert_refused("2201", false, 3, "goes on behind its last byte");
	assert_refused("22010127", false, 3, "floating point");
	assert_refused("22011b27", false, 3, "floating point");
	assert_refused("2201340000000027", true, 3, "printing");
	assert_refused("2201220a0c220127", false, 5, "can't record");
	assert_refused("0027", false, 1, "no such operation");
	assert_refused("31", false, 1, "no such operation");
	assert_refused("ff", false, 1, "no such operation");
	assert_refused("0227", false, 1, "too short");
	assert_refused("22013201", false, 3, "too short");
	assert_refused("2401", false, 1, "cut off");
	assert_refused("26001a27", false, 1, "no register 26");
	assert_refused("2201160027", false, 3, "no bits");
	assert_refused("2201210000", false, 3, "jumps back");
	assert_refused("2201210002", false, 3, "jumps back");
	assert_refused("2201210004", false, 3, "into itself");
	assert_refused("2201210099", false, 3, "byte 153 of 5");
	assert_refused("22012000062202220327", false, 6, "into its operand");
	/* 0: 1 if_goto 8; 5: 2; 7: end, 8: 3 4 end: fine; 8 with 1 or 0 */
	assert_refused("220120000722022727", false, 8, "values on the stack");
}

static void bytes_that_nothing_leads_to_are_left_out(void **state)
{
	static struct agent_world world;

	(void)state;
	assert_int_equal(value_of("2201"
				  "210009"
				  "ffff31ff"
				  "27",
				  &world),
			 1);
	assert_int_equal(value_of("220527"
				  "ff00",
				  &world),
			 5);
}

static void the_topmost_value_is_the_result(void **state)
{
	static struct agent_world world;

	(void)state;
	assert_int_equal(value_of("22012202220327", &world), 3);
}

static void expressions_that_are_too_long_are_refused(void **state)
{
	static uint8_t bytes[SONDE_AGENT_BYTES_MAX + 1];
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;

	(void)state;
	memset(bytes, 0x12, sizeof(bytes));
	bytes[0] = 0x22;
	bytes[sizeof(bytes) - 2] = 0x27;
	assert_int_equal(sonde_agent_decode(bytes, sizeof(bytes) - 1, false,
					    &error, &program),
			 0);
	sonde_program_free(program);
	assert_int_equal(sonde_agent_decode(bytes, sizeof(bytes), false, &error,
					    &program),
			 -E2BIG);
	assert_non_null(strstr(error.text, "too long"));
}

static void the_stack_has_64_values(void **state)
{
	uint8_t bytes[2 * 65 + 1];
	struct sonde_expr_error error = { "", 0 };
	struct sonde_program *program = NULL;

	(void)state;
	memset(bytes, 0x22, sizeof(bytes));
	bytes[2 * 64] = 0x27;
	assert_int_equal(sonde_agent_decode(bytes, 2 * 64 + 1, false, &error,
					    &program),
			 0);
	sonde_program_free(program);
	bytes[2 * 64] = 0x22;
	bytes[2 * 65] = 0x27;
	assert_int_equal(sonde_agent_decode(bytes, 2 * 65 + 1, false, &error,
					    &program),
			 -EINVAL);
	assert_non_null(strstr(error.text, "too deep"));
}

/* An operation on a stack of one, with a wrong number and a right one. */
static void check_number(uint8_t code, uint64_t wrong)
{
	struct sonde_program_state states[3];
	struct sonde_program *program =
		calloc(1, sizeof(*program) + 3 * sizeof(program->ops[0]));
	bool sees =
		sonde_expr_op_infos[code].operands & SONDE_EXPR_OPERAND_MACHINE;

	assert_non_null(program);
	program->nr_ops = 3;
	program->type = SONDE_EXPR_INT;
	program->ops[0].code = SONDE_EXPR_OP_NUMBER;
	program->ops[1].code = code;
	program->ops[1].number = wrong;
	program->ops[2].code = SONDE_EXPR_OP_END_TRUE;
	assert_false(sonde_program_verify(program, states));
	program->ops[1].number = code == SONDE_EXPR_OP_PICK ? 0 : 25;
	assert_true(sonde_program_verify(program, states));
	program->constant = 1;
	assert_int_equal(sonde_program_verify(program, states), !sees);
	free(program);
}

/* The verifier stands between a broken decoder and the evaluator. */
static void programs_with_wrong_numbers_are_not_verified(void **state)
{
	static const struct {
		uint8_t code;
		uint64_t number;
	} wrong[] = {
		{ SONDE_EXPR_OP_REGISTER, SONDE_EXPR_REGISTERS },
		{ SONDE_EXPR_OP_EXTEND_S, 0 },
		{ SONDE_EXPR_OP_EXTEND_Z, 65 },
		{ SONDE_EXPR_OP_PICK, 1 },
		{ SONDE_EXPR_OP_GET_VARIABLE, UINT64_C(1) << 32 },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++)
		check_number(wrong[i].code, wrong[i].number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_do_what_the_bytes_say),
		cmocka_unit_test(programs_give_what_gdb_prints),
		cmocka_unit_test(narrow_unsigned_values_have_zeros_above),
		cmocka_unit_test(refusals_say_what_and_where),
		cmocka_unit_test(bytes_that_nothing_leads_to_are_left_out),
		cmocka_unit_test(the_topmost_value_is_the_result),
		cmocka_unit_test(expressions_that_are_too_long_are_refused),
		cmocka_unit_test(the_stack_has_64_values),
		cmocka_unit_test(programs_with_wrong_numbers_are_not_verified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
