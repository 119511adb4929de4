/* SPDX-License-Identifier: MIT */
/*
 * test_expr_c.c - expressions mean what they mean in C: each is written once,
 * and the C compiler and ours both work out its value.
 *
 * Numbers are int64_t on both sides, where C has int64_t variables; so those
 * are all there is, besides small constants.
 */
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "expr_unit.h"

#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wconversion"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wshift-op-parentheses"
#pragma GCC diagnostic ignored "-Wbitwise-op-parentheses"
#else
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wbool-compare"
#endif

/* Chosen so that no shift and no division below is undefined in C. */
static int64_t a = 23;
static int64_t b = 7;
static int64_t c = 3;
static double x = 2.5;
static double y = -0.75;

static int find(void *ctx, const char *path, size_t length,
		struct sonde_expr_source *ret_source)
{
	static const char names[] = "abcxy";
	const char *found = strchr(names, path[0]);

	(void)ctx;
	if (length != 1 || !found)
		return -ENOENT;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_MEMORY,
		.type = found < names + 3 ? SONDE_EXPR_INT : SONDE_EXPR_DOUBLE,
		.bytes = 8,
		.base = (uint8_t)(found - names),
	};
	return 0;
}

static const struct sonde_expr_scope scope = { .find = find };

static struct sonde_expr_value value_of(const char *text)
{
	struct sonde_expr_env env = { 0 };
	const void *places[] = { &a, &b, &c, &x, &y };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(places); i++)
		env.bases[i] = places[i];
	return value_in(text, &scope, &env);
}

static void check_integer(const char *text, int64_t expected)
{
	struct sonde_expr_value value = value_of(text);

	if (value.type != SONDE_EXPR_INT || value.i != expected)
		fail_msg("%s is %lld in C, not %lld", text, (long long)expected,
			 (long long)value.i);
}

static void check_double(const char *text, double expected)
{
	struct sonde_expr_value value = value_of(text);

	if (value.type != SONDE_EXPR_DOUBLE || value.d != expected)
		fail_msg("%s is %g in C, not %g", text, expected, value.d);
}

#define INTEGER(expression) check_integer(#expression, (expression))
#define DOUBLE(expression)  check_double(#expression, (expression))

/* One operator before each of them, without and with brackets. */
#define PAIR(first, second)             \
	INTEGER(a first b second c);    \
	INTEGER((a first b)second c);   \
	INTEGER(a first(b second c));   \
	INTEGER(-a first !b second ~c); \
	INTEGER(a first b second c first b);

#define EACH_LOOSE(row, first)                                            \
	row(first, |) row(first, ^) row(first, &) row(first, ==)          \
		row(first, !=) row(first, <) row(first, <=) row(first, >) \
			row(first, >=) row(first, +) row(first, -)        \
				row(first, *) row(first, &&) row(first, ||)

#define LOOSE_ROW(first) EACH_LOOSE(PAIR, first)

/* NOLINTBEGIN(readability-function-size): the macros write the cases */

static void logical_before_each_operator_is_as_in_c(void **state)
{
	(void)state;
	LOOSE_ROW(||)
	LOOSE_ROW(&&)
}

static void bitwise_before_each_operator_is_as_in_c(void **state)
{
	(void)state;
	LOOSE_ROW(|)
	LOOSE_ROW(^)
	LOOSE_ROW(&)
}

static void comparison_before_each_operator_is_as_in_c(void **state)
{
	(void)state;
	LOOSE_ROW(==)
	LOOSE_ROW(!=)
	LOOSE_ROW(<)
	LOOSE_ROW(<=)
	LOOSE_ROW(>)
	LOOSE_ROW(>=)
}

static void sum_and_product_before_each_operator_are_as_in_c(void **state)
{
	(void)state;
	LOOSE_ROW(+)
	LOOSE_ROW(-)
	LOOSE_ROW(*)
}

/* NOLINTEND(readability-function-size) */

static void division_and_shift_among_others_are_as_in_c(void **state)
{
	(void)state;
	INTEGER(a / b / c);
	INTEGER(a % b % c);
	INTEGER(a / b % c);
	INTEGER(a % b / c);
	INTEGER(a / b * c);
	INTEGER(a * b / c);
	INTEGER(a * b % c);
	INTEGER(a - b / c);
	INTEGER(a - b % c);
	INTEGER(-a / b);
	INTEGER(-a % b);
	INTEGER(a / -b);
	INTEGER(a % -b);
	INTEGER(a << b << c);
	INTEGER(a << b >> c);
	INTEGER(a >> c >> c);
	INTEGER(-a >> c);
	INTEGER(a << b - c);
	INTEGER(a << b + c);
	INTEGER(a - b << c);
	INTEGER(a << b % c);
	INTEGER(a << b & c);
	INTEGER(a | b << c);
	INTEGER(a << b < c);
	INTEGER(a < b << c);
	INTEGER(a >> c == b >> c);
	INTEGER(1 << b | 1 << c);
}

static void choices_are_as_in_c(void **state)
{
	(void)state;
	INTEGER(a ? b : c);
	INTEGER(a < b ? b : c);
	INTEGER(a ? b ? 1 : 2 : 3);
	INTEGER(!a ? 1 : b ? 2 : 3);
	INTEGER(a > b ? b > c ? a : b : c);
	INTEGER(a || b ? c : a);
}

static void doubles_are_as_in_c(void **state)
{
	(void)state;
	DOUBLE(x + y * x);
	DOUBLE((x + y) * x);
	DOUBLE(x / y - a);
	DOUBLE(-x * -y);
	/* NOLINTNEXTLINE(bugprone-integer-division): that's what is meant */
	DOUBLE(a / b * x);
	DOUBLE(a * x / b);
	DOUBLE(a ? x : b);
	DOUBLE(x > y ? 1 : y);
	DOUBLE(.5 + 1e3 + 1.25e-2 + 2.);
	INTEGER(x < y);
	INTEGER(x <= a);
	INTEGER(x == 2.5);
	INTEGER(x != y && !(x > y) || y >= b);
	INTEGER(!x);
	INTEGER(x ? 1 : 2);
	INTEGER(x * 2 == 5);
}

static void literals_are_as_in_c(void **state)
{
	(void)state;
	INTEGER(0x1F + 017 + 10 + 0);
	INTEGER(0xffffffffffL);
	INTEGER(9223372036854775807);
	INTEGER('a' + '\n' + '\\' + '\'' + '"' + '\0' + '\101' + '\x41');
	INTEGER(1 - -1);
	INTEGER(1 - - -1);
	INTEGER(!!5);
	INTEGER(~~5);
	INTEGER(-(-5));
	INTEGER(+5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logical_before_each_operator_is_as_in_c),
		cmocka_unit_test(bitwise_before_each_operator_is_as_in_c),
		cmocka_unit_test(comparison_before_each_operator_is_as_in_c),
		cmocka_unit_test(
			sum_and_product_before_each_operator_are_as_in_c),
		cmocka_unit_test(division_and_shift_among_others_are_as_in_c),
		cmocka_unit_test(choices_are_as_in_c),
		cmocka_unit_test(doubles_are_as_in_c),
		cmocka_unit_test(literals_are_as_in_c),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
