/* SPDX-License-Identifier: MIT */
/*
 * test_reader_native.c - the native code of filters: what it says of any bytes
 * is what the evaluator says, and nobody can write to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/port.h"
#include "expr_unit.h"
#include "random.h"
#include "reader/core/native.h"
#include "sys/proc.h"

/* Fields: a letter for the size, signed if it is a capital, and a place; with a
 * tail of 'k' they are in the second block. */
static int find(void *ctx, const char *path, size_t length,
		struct sonde_expr_source *ret_source)
{
	static const char sizes[] = "bBwWdDqQ";
	const char *found = strchr(sizes, path[0]);

	(void)ctx;
	if (length < 2 || !found || path[1] < '0' || path[1] > '9')
		return -ENOENT;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_MEMORY,
		.type = (found - sizes) % 2 ? SONDE_EXPR_INT : SONDE_EXPR_UINT,
		.bytes = (uint8_t)(1u << (found - sizes) / 2),
		.base = length == 3 && path[2] == 'k',
		.offset = (uint32_t)(path[1] - '0'),
	};
	return 0;
}

static const struct sonde_expr_scope scope = { .find = find };

/* Each is true of some of the bytes below, and false of others. */
static const char *const expressions[] = {
	"d0 == 7",
	"b1 in (3, 5, 7)",
	"W2 < 0 && b0 > 10",
	"q0 == 7 || d4 != 7",
	"D0 + D4 > 12",
	"!(b3 == 3) && b3 & 1",
	"(d0 >> 3 ^ d4) % 16 == 7",
	"b0k == 3",
	"b0 < b0k || W1k < w1",
	"Q0k > q0 && D4 != D4k",
	"d0 / b4 == 0 || q0 % b1k > 4",
};
#define NR SONDE_ARRAY_SIZE(expressions)

struct made {
	struct sonde_native native;
	struct sonde_program *programs[NR];
	uint32_t places[NR];
};

static void make(struct made *made)
{
	for (size_t i = 0; i < NR; i++) {
		made->programs[i] = compile_in(expressions[i], &scope);
		made->places[i] =
			sonde_native_add(&made->native, made->programs[i]);
	}
}

static void unmake(struct made *made)
{
	for (size_t i = 0; i < NR; i++)
		sonde_program_free(made->programs[i]);
	sonde_native_fini(&made->native);
}

/* Few values, so that equal ones occur. */
static void choose_bytes(uint64_t *seed, uint8_t *bytes, size_t nr)
{
	static const uint8_t values[] = { 0, 0, 0, 3, 5, 7, 255, 128 };

	for (size_t i = 0; i < nr; i++)
		bytes[i] = values[random_below(seed, sizeof(values))];
}

static void native_code_says_what_the_evaluator_says(void **state)
{
	struct made made = { 0 };
	uint64_t seed = 1;

	(void)state;
	make(&made);
	sonde_native_seal(&made.native);
	for (size_t i = 0; i < NR; i++) {
		sonde_native_test *test =
			sonde_native_at(&made.native, made.places[i]);
		unsigned int nr_true = 0;

#ifdef __x86_64__
		assert_non_null(test);
#endif
		for (unsigned int n = 0; test && n < 5000; n++) {
			uint8_t bytes[2][24];
			struct sonde_expr_env env = { .bases = { bytes[0],
								 bytes[1] } };
			bool expected;

			choose_bytes(&seed, bytes[0], sizeof(bytes));
			expected = sonde_program_test(made.programs[i], &env);
			nr_true += expected;
			if (test(bytes[0], bytes[1]) != expected)
				fail_msg("%s is %d", expressions[i], !expected);
		}
		assert_true(!test || (nr_true > 0 && nr_true < 5000));
	}
	unmake(&made);
}

/* How the memory at an address is mapped. */
static uint32_t mode_of(const void *at)
{
	struct sonde_proc_mapping mapping;
	struct sonde_lines lines;
	uint32_t mode = 0;

	assert_int_equal(sonde_proc_maps_open(&lines, getpid()), 0);
	while (sonde_proc_maps_next(&lines, &mapping))
		if ((uintptr_t)at >= mapping.begin &&
		    (uintptr_t)at < mapping.end)
			mode = mapping.mode;
	sonde_lines_close(&lines);
	return mode;
}

static void code_is_never_writable_and_executable(void **state)
{
	struct made made = { 0 };

	(void)state;
	make(&made);
	if (made.native.nr_bytes) {
		assert_int_equal(mode_of(made.native.bytes),
				 SONDE_MAPPED_READ | SONDE_MAPPED_WRITE);
		sonde_native_seal(&made.native);
		assert_int_equal(mode_of(made.native.bytes),
				 SONDE_MAPPED_READ | SONDE_MAPPED_EXEC);
	}
	unmake(&made);
}

static void what_is_not_sealed_has_no_code(void **state)
{
	struct made made = { 0 };

	(void)state;
	make(&made);
	for (size_t i = 0; i < NR; i++)
		assert_null(sonde_native_at(&made.native, made.places[i]));
	sonde_native_seal(&made.native);
	assert_null(sonde_native_at(&made.native, 0));
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_code_says_what_the_evaluator_says),
		cmocka_unit_test(code_is_never_writable_and_executable),
		cmocka_unit_test(what_is_not_sealed_has_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
