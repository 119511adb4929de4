/* SPDX-License-Identifier: MIT */
/* test_expr_parse.c - what is refused and where, names, times, durations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/port.h"
#include "expr_model.h"
#include "expr_unit.h"

struct refusal {
	const char *text;
	uint32_t column;
	const char *message; /* part of it */
};

static int parse_and_compile(const char *text, struct sonde_expr_error *error)
{
	struct sonde_program *program = NULL;
	struct sonde_expr *expr = NULL;
	int err = sonde_expr_parse(text, error, &expr);

	if (!err)
		err = sonde_expr_compile(expr, &model_scope, error, &program);
	sonde_program_free(program);
	sonde_expr_free(expr);
	return err;
}

static void check_refusals(const struct refusal *refusals, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct sonde_expr_error error = { "", 0 };
		int err = parse_and_compile(refusals[i].text, &error);

		if (err != -EINVAL || error.column != refusals[i].column ||
		    !strstr(error.text, refusals[i].message))
			fail_msg("%s: %d, column %u: %s", refusals[i].text, err,
				 error.column, error.text);
		assert_null(strchr(error.text, '\n'));
	}
}

static void grammar_errors_name_what_was_expected_and_where(void **state)
{
	static const struct refusal refusals[] = {
		{ "", 1, "empty" },
		{ "  ", 3, "empty" },
		{ "u8 ==", 6, "expected a value at the end" },
		{ "u8 == )", 7, "expected a value instead of )" },
		{ "(u8 == 1", 9, "expected ')' at the end" },
		{ "u8 == 1)", 8, "there is no '('" },
		{ "u8 i8", 4, "expected an operator instead of i8" },
		{ "u8 and i8", 4, "expected '&&' instead of and" },
		{ "u8 or i8", 4, "expected '||' instead of or" },
		{ "u8 is 3", 4, "expected '=='" },
		{ "u8 = 3", 4, "'==' compares" },
		{ "u8 ? 1", 7, "expected ':'" },
		{ "u8 in 3", 7, "expected '(' after 'in' instead of 3" },
		{ "u8 in (3", 9, "expected ',' or ')'" },
		{ "u8 in ()", 8, "expected a value" },
		{ "u8 + 1 in (3)", 8, "a field's name before 'in'" },
		{ "max(3)", 1, "defined(NAME)" },
		{ "defined(3)", 9, "expected a field's name instead of 3" },
		{ "defined(u8", 11, "expected ')'" },
		{ "u8 \"\n\033\"", 4, "instead of \"??\"" },
		{ "1 +\n* 2", 5, "expected a value instead of *" },
		{ "\"\xc3\xa9\xc3\xa9\" + (", 9, "expected a value" },
	};

	(void)state;
	check_refusals(refusals, SONDE_ARRAY_SIZE(refusals));
}

static void token_errors_point_at_the_character(void **state)
{
	static const struct refusal refusals[] = {
		{ "u8 @ 3", 4, "unexpected '@'" },
		{ "u8 == \x01", 7, "0x01" },
		{ "a. b", 3, "expected a field's name after '.'" },
		{ "a.$b", 3, "expected a field's name" },
		{ "a[x]", 3, "expected a number and ']'" },
		{ "a[3", 4, "expected a number and ']'" },
		{ "10xs", 3, "unknown unit 'xs'" },
		{ "1.5q", 4, "unknown unit" },
		{ "09", 2, "base 8" },
		{ "0x", 3, "base 16" },
		{ "0b12", 4, "base 2" },
		{ "3 + 18446744073709551616", 5, "64 bits" },
		{ "9999999999s", 1, "2^63" },
		{ "u8 == \"abc", 7, "expected a closing \"" },
		{ "'a", 1, "expected a closing '" },
		{ "'ab'", 1, "one character" },
		{ "''", 1, "one character" },
		{ "\"a\\qb\"", 3, "unknown escape" },
		{ "\"a\\", 3, "unknown escape" },
		{ "s == \"a\\0*\"", 6, "zero byte" },
		{ "24:00:00", 1, "no time 24:00:00" },
		{ "12:60:00", 1, "no time" },
		{ "12:00:60", 1, "no time" },
		{ "2026-02-29T12:00:00", 1, "no time" },
		{ "1969-12-31T12:00:00", 1, "no time" },
	};

	(void)state;
	check_refusals(refusals, SONDE_ARRAY_SIZE(refusals));
}

static void types_that_do_not_fit_are_refused(void **state)
{
	static const struct refusal refusals[] = {
		{ "u8 + s", 6, "expected a number" },
		{ "-s", 2, "expected a number" },
		{ "u8 << event", 7, "expected a number" },
		{ "d % 2", 1, "expected an integer" },
		{ "2 & kd", 5, "expected an integer" },
		{ "~1.5", 2, "expected an integer" },
		{ "s == 1", 3, "a string can't be compared with a number" },
		{ "1.5 < s", 5, "a number can't be compared with a string" },
		{ "u8 ? s : 1", 4, "two strings or two numbers" },
		{ "e8 == s", 7, "expected a label in quotes" },
		{ "e8 < \"red\"", 4, "by == and != only" },
		{ "e8 == \"re*\"", 7, "can't be a pattern" },
		{ "u8 == bad", 7, "bad does not fit" },
	};

	(void)state;
	check_refusals(refusals, SONDE_ARRAY_SIZE(refusals));
}

/* `unit` so many times between `begin` and `end`; to be freed. */
static char *repeat(const char *begin, const char *unit, size_t times,
		    const char *end)
{
	size_t size = strlen(begin) + times * strlen(unit) + strlen(end) + 1;
	char *text = malloc(size);

	assert_non_null(text);
	(void)snprintf(text, size, "%s", begin);
	for (size_t i = 0; i < times; i++)
		(void)snprintf(text + strlen(begin) + i * strlen(unit),
			       strlen(unit) + 1, "%s", unit);
	(void)snprintf(text + strlen(begin) + times * strlen(unit),
		       strlen(end) + 1, "%s", end);
	return text;
}

static void check_large(const char *begin, const char *unit, size_t times,
			const char *end, const char *message)
{
	struct sonde_expr_error error = { "", 0 };
	char *text = repeat(begin, unit, times, end);
	int err = parse_and_compile(text, &error);

	if (message) {
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(error.text, message));
	} else {
		assert_int_equal(err, 0);
	}
	free(text);
}

static void nothing_is_too_large_to_be_refused(void **state)
{
	(void)state;
	check_large("", "(", 60, "1", "expected ')' at the end");
	check_large("", "(", 20000, "1", "too deeply nested");
	check_large("", "!", 60, "1", NULL);
	check_large("", "!", 20000, "1", "too deeply nested");
	check_large("1", "?1", 20000, "", "too deeply nested");
	check_large("u8", "+u8", 150, "", NULL);
	check_large("u8", "+u8", 20000, "", "hang together");
	check_large("u8 == 0", " || u8 == 1", 5000, "", NULL);
	check_large("u8 in (0", ", 1", 5000, ")", NULL);
	check_large("u8 in (0", ",1", 20000, ")", "too large");
	check_large("\"", "a", 60000, "\" == s", NULL);
	check_large("", " ", 70000, "1", "longer than 65536");
}

static void many_intermediate_values_are_refused(void **state)
{
	/* Six values wait on the stack for what is in the brackets. */
	static const char unit[] = "u8 | u8 ^ u8 & u8 << u8 + u8 * (";

	(void)state;
	check_large("", unit, 10, "u8))))))))))", NULL);
	check_large("", unit, 11, "u8)))))))))))", "too large");
}

static void names_come_in_order_and_once(void **state)
{
	static const struct {
		const char *name;
		uint32_t column;
	} expected[] = {
		{ "a.b[3].c", 2 },
		{ "$ctx.procname", 18 },
		{ "$event", 43 },
		{ "x", 71 },
	};
	struct sonde_expr *expr = NULL;
	uint32_t column = 0;

	(void)state;
	assert_int_equal(sonde_expr_parse("(a.b[3].c > 3) + $ctx.procname < "
					  "begin || $event == a.b[3].c || "
					  "\"\xc3\xa9\" < x",
					  NULL, &expr),
			 0);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++) {
		const char *name = sonde_expr_name(expr, i, &column);

		assert_non_null(name);
		assert_string_equal(name, expected[i].name);
		assert_int_equal(column, expected[i].column);
	}
	assert_null(sonde_expr_name(expr, SONDE_ARRAY_SIZE(expected), &column));
	sonde_expr_free(expr);
}

/* ---- times ---- */

static int64_t time_of(const char *text)
{
	int64_t ns = 0;

	if (sonde_expr_parse_time(text, INT64_C(1795176000000000000),
				  INT64_C(1795176060000000000), &ns))
		fail_msg("%s is refused", text);
	return ns;
}

static void set_zone(const char *zone)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void times_are_local_unless_they_say_utc(void **state)
{
	int64_t ns = 0;

	(void)state;
	set_zone("XYZ-2"); /* two hours ahead of UTC */
	/* begin: 2026-11-20T12:00:00Z */
	assert_int_equal(time_of("2026-11-20T12:00:00Z"),
			 INT64_C(1795176000000000000));
	assert_int_equal(time_of("2026-11-20T14:00:00"),
			 INT64_C(1795176000000000000));
	assert_int_equal(time_of("14:00:01.25"), INT64_C(1795176001250000000));
	assert_int_equal(time_of("12:00:01.25Z"), INT64_C(1795176001250000000));
	assert_int_equal(time_of("14:01"), INT64_C(1795176060000000000));
	assert_int_equal(time_of("00:00:00"),
			 INT64_C(1795176000000000000) -
				 14 * INT64_C(3600000000000));
	set_zone("UTC");
	assert_int_equal(sonde_expr_parse_time("23:59:59.5", -1, 0, &ns), 0);
	assert_int_equal(ns, -500000000);
	assert_int_equal(time_of("12:00:00"), INT64_C(1795176000000000000));
}

static void other_times_are_relative_or_since_1970(void **state)
{
	(void)state;
	assert_int_equal(time_of("+250ms"), INT64_C(1795176000250000000));
	assert_int_equal(time_of("-1s"), INT64_C(1795176059000000000));
	assert_int_equal(time_of("+0"), INT64_C(1795176000000000000));
	assert_int_equal(time_of("1795176000.000000001"),
			 INT64_C(1795176000000000001));
	assert_int_equal(time_of("1795176000s"), INT64_C(1795176000000000000));
	assert_int_equal(time_of("1795176000000000007"),
			 INT64_C(1795176000000000007));
	assert_int_equal(time_of("2261-12-31T23:59:59Z"),
			 INT64_C(9214646399000000000));
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const texts[] = {
		"",           "now",          "+",
		"-x",         "12:00:00x",    "25:00:00",
		"2026-11-20", "1.",           ".",
		"5 s",        "99999999999s", "+9999999999s",
		"12:0:0",     "--1s",         "1e9",
		"0x10",       "12:00:00.5ZZ",
	};
	int64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(texts); i++) {
		if (sonde_expr_parse_time(texts[i], INT64_MAX / 2,
					  INT64_MAX / 2, &ns) != -EINVAL)
			fail_msg("%s is %lld", texts[i], (long long)ns);
	}
	assert_int_equal(ns, 42);
}

static void durations_are_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "100", 100 },
		{ "250us", 250000 },
		{ "1.5s", 1500000000 },
		{ "2m", INT64_C(120000000000) },
		{ "0.1h", INT64_C(360000000000) },
		{ ".5ms", 500000 },
		{ "0.0000000019s", 1 },
		{ "1.9ns", 1 },
		{ "9223372036.854775807s", INT64_MAX },
		{ "0.10000000000000000000000000000000000001s", 100000000 },
	};
	static const char *const bad[] = {
		"",    "s",   "-1s",
		"1d",  "1.s", "9223372036.854775808s",
		"1 s", "1ss", "99999999999999999999"
	};
	int64_t ns = 0;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(good); i++) {
		assert_int_equal(sonde_expr_parse_duration(good[i].text, &ns),
				 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(bad); i++)
		assert_int_equal(sonde_expr_parse_duration(bad[i], &ns),
				 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			grammar_errors_name_what_was_expected_and_where),
		cmocka_unit_test(token_errors_point_at_the_character),
		cmocka_unit_test(types_that_do_not_fit_are_refused),
		cmocka_unit_test(nothing_is_too_large_to_be_refused),
		cmocka_unit_test(many_intermediate_values_are_refused),
		cmocka_unit_test(names_come_in_order_and_once),
		cmocka_unit_test(times_are_local_unless_they_say_utc),
		cmocka_unit_test(other_times_are_relative_or_since_1970),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(durations_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
