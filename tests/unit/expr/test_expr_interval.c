/* SPDX-License-Identifier: MIT */
/*
 * test_expr_interval.c - an interval says what the evaluator says, of each number
 * of 8 and 16 bits, and of those near the ends of wider ones; and whatever
 * compares with constants is an interval exactly if it is true of one run of
 * numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "expr/interval.h"
#include "expr_unit.h"

#define OFFSET 3u

/* "i8" ... "u64": at OFFSET. "x16": in the other byte order. "w32": in base 1. */
static int find(void *ctx, const char *path, size_t length,
		struct sonde_expr_source *ret_source)
{
	const char *at = path + 1;
	const char letter = path[0];
	uint64_t bits;

	(void)ctx;
	if (!sonde_number_take(&at, 10, 64, &bits) || at != path + length)
		return -ENOENT;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_MEMORY,
		.type = letter == 'i' ? SONDE_EXPR_INT : SONDE_EXPR_UINT,
		.bytes = (uint8_t)(bits / 8),
		.swap = letter == 'x',
		.base = letter == 'w',
		.offset = OFFSET,
	};
	return 0;
}

static const struct sonde_expr_scope scope = { .find = find };

static uint64_t mask_of(uint32_t bytes)
{
	return bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
}

static bool is_inside(const struct sonde_expr_interval *interval,
		      uint64_t number)
{
	return ((number - interval->first) & mask_of(interval->bytes)) <=
	       ((interval->last - interval->first) & mask_of(interval->bytes));
}

static bool evaluates(const struct sonde_program *program, uint64_t number)
{
	uint8_t record[OFFSET + sizeof(number)] = { 0 };
	const struct sonde_expr_env env = { .bases = { record } };

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the low bytes of a number are its first ones"
#endif
	memcpy(record + OFFSET, &number, sizeof(number));
	return sonde_program_test(program, &env);
}

static void same_for(const char *text, const struct sonde_program *program,
		     const struct sonde_expr_interval *interval,
		     uint64_t number)
{
	if (is_inside(interval, number) != evaluates(program, number))
		fail_msg("%s of %#lx: [%#lx, %#lx]", text,
			 (unsigned long)number, (unsigned long)interval->first,
			 (unsigned long)interval->last);
}

/* Of all numbers of up to 16 bits, and of wider ones those near a power of two,
 * or near one of the interval's ends. */
static void same_for_all(const char *text, const struct sonde_program *program,
			 const struct sonde_expr_interval *interval)
{
	uint64_t mask = mask_of(interval->bytes);

	for (uint64_t i = 0; i <= (mask & 0xffff); i++)
		same_for(text, program, interval, i);
	for (uint64_t near = 0; near < 9; near++) {
		same_for(text, program, interval,
			 (interval->first + near - 4) & mask);
		same_for(text, program, interval,
			 (interval->last + near - 4) & mask);
		for (uint32_t bit = 0; bit < 8 * interval->bytes; bit++)
			same_for(text, program, interval,
				 ((UINT64_C(1) << bit) + near - 4) & mask);
	}
}

static void an_interval_says_what_the_evaluator_says(void **state)
{
	static const char *const texts[] = {
		"i8 < 0",
		"i32 < 0",
		"i64 < 0",
		"i32 >= 990",
		"u8 == 255",
		"i16 != 5",
		"i64 == -1",
		"u64 > 18446744073709551614",
		"u32",
		"!i64",
		"u16 > 7 && u16 <= 500",
		"i32 < 3 || i32 > 7",
		"!(i8 >= -5 && i8 < 100)",
		"3 < i64",
		"i32 in (4, 5, 6)",
		"u64 >= 9223372036854775808",
		"i16 < 40000 && i16 > -2",
		"u32 < -1 || u32 > 77",
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++) {
		struct sonde_program *program = compile_in(texts[i], &scope);
		struct sonde_expr_interval interval;

		if (!sonde_expr_interval(program, &interval))
			fail_msg("%s is no interval", texts[i]);
		assert_int_equal(interval.offset, OFFSET);
		same_for_all(texts[i], program, &interval);
		sonde_program_free(program);
	}
}

static void what_is_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"i32 == 1 || i32 == 3", /* two runs */
		"i32 & 1",              /* true of every other number */
		"i32 + 1 < 5",          /* of another number */
		"i32 < 3 && i16 < 3",   /* two fields at one place */
		"x32 == 1 && x32 < 5",  /* another byte order */
		"w32 < 5",              /* not in the payload */
		"u8 < 300 && u8 >= 0",  /* of all numbers */
		"u8 > 300",             /* of none */
		"u8 in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", /* many */
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++) {
		struct sonde_program *program = compile_in(texts[i], &scope);
		struct sonde_expr_interval interval;

		if (sonde_expr_interval(program, &interval))
			fail_msg("%s: [%#lx, %#lx]", texts[i],
				 (unsigned long)interval.first,
				 (unsigned long)interval.last);
		sonde_program_free(program);
	}
}

/* ---- random ones ---- */

static uint32_t random_below(uint64_t *random, uint32_t n)
{
	*random = *random * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(*random >> 33) % n;
}

/* Up to four comparisons of that field with constants. */
static void write_random(uint64_t *random, const char *field, char *to,
			 size_t size)
{
	static const char *const relations[] = { "<",  "<=", ">",
						 ">=", "==", "!=" };
	uint32_t nr = 1 + random_below(random, 4);
	size_t used = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const char *join = random_below(random, 2) ? " && " : " || ";
		bool negates = random_below(random, 4) == 0;

		used += (size_t)snprintf(to + used, size - used,
					 "%s%s%s %s %d%s", i ? join : "",
					 negates ? "!(" : "", field,
					 relations[random_below(random, 6)],
					 (int)random_below(random, 600) - 300,
					 negates ? ")" : "");
	}
}

/* How often it becomes true, once round. */
static uint32_t count_runs(const struct sonde_program *program)
{
	uint32_t nr = 0;

	for (uint64_t i = 0; i < 256; i++)
		nr += evaluates(program, i) &&
		      !evaluates(program, (i - 1) & 0xff);
	return nr;
}

static void it_is_an_interval_exactly_if_it_is_one_run(void **state)
{
	uint64_t random = 1;
	uint32_t nr_intervals = 0;
	char text[200];

	(void)state;
	for (int i = 0; i < 4000; i++) {
		const char *field = random_below(&random, 2) ? "i8" : "u8";
		struct sonde_expr_interval interval;
		struct sonde_program *program;
		bool is_one;

		write_random(&random, field, text, sizeof(text));
		program = compile_in(text, &scope);
		is_one = sonde_expr_interval(program, &interval);
		/* What is folded to a constant has no field. */
		if (is_one != (count_runs(program) == 1))
			fail_msg("%s: %d", text, is_one);
		if (is_one)
			same_for_all(text, program, &interval);
		nr_intervals += is_one;
		sonde_program_free(program);
	}
	assert_in_range(nr_intervals, 1000, 3900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_says_what_the_evaluator_says),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(it_is_an_interval_exactly_if_it_is_one_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
