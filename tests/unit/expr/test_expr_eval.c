/* SPDX-License-Identifier: MIT */
/*
 * test_expr_eval.c - what isn't C's: missing values, strings and globs, labels,
 * signed with unsigned, what is folded; and random expressions against the
 * model.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "expr/bind.h"
#include "expr/program.h"
#include "expr_model.h"
#include "expr_unit.h"
#include "random.h"

#define ROUNDS  20000
#define RECORDS 4

static void set_value(struct model_record *record, const char *name,
		      struct sonde_expr_value value)
{
	struct sonde_expr_source source;

	assert_int_equal(model_scope.find(NULL, name, strlen(name), &source),
			 0);
	record->values[source.ref] = value;
}

/* Fields in memory are 0, those that are called for are missing. */
static struct sonde_expr_value value_of(const char *text,
					struct model_record *record)
{
	static struct model_record empty;
	struct sonde_expr_env env;

	model_env_init(&env, record ? record : &empty);
	return value_in(text, &model_scope, &env);
}

static void check_true(const char *text)
{
	struct sonde_expr_value value = value_of(text, NULL);

	if (value.type != SONDE_EXPR_INT || value.i != 1)
		fail_msg("%s is not true", text);
}

static void check_false(const char *text)
{
	struct sonde_expr_value value = value_of(text, NULL);

	if (value.type != SONDE_EXPR_INT || value.i != 0)
		fail_msg("%s is not false", text);
}

static void check_missing(const char *text)
{
	if (value_of(text, NULL).type != SONDE_EXPR_MISSING)
		fail_msg("%s is not missing", text);
}

/* "nothing" is missing from all records of the kind, "$ctx.i" from this one. */
static void comparisons_with_missing_values_are_false(void **state)
{
	static const char *const operators[] = { "==", "!=", "<",
						 "<=", ">",  ">=" };
	static const char *const names[] = { "nothing", "$ctx.i", "1 / u8",
					     "1 / 0", "km" };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(operators); i++) {
		for (size_t n = 0; n < SONDE_ARRAY_SIZE(names); n++) {
			char text[64];

			(void)snprintf(text, sizeof(text), "%s %s 3", names[n],
				       operators[i]);
			check_false(text);
			(void)snprintf(text, sizeof(text), "!(3 %s %s)",
				       operators[i], names[n]);
			check_true(text);
			(void)snprintf(text, sizeof(text), "%s %s i8", names[n],
				       operators[i]);
			check_false(text);
		}
	}
	check_false("s == \"\"");
	check_false("s != \"a*\"");
	check_false("e != \"red\"");
	check_false("e == \"high\"");
	check_false("nothing in (0, 1)");
}

static void missing_values_make_arithmetic_missing(void **state)
{
	(void)state;
	check_missing("nothing");
	check_missing("$ctx.i");
	check_missing("1 + nothing");
	check_missing("-$ctx.i");
	check_missing("i8 * (2 - $ctx.i)");
	check_missing("u8 / i8");
	check_missing("u8 % 0");
	check_missing("1.5 / 0");
	check_missing("i8 ? 1 : $ctx.i");
	check_missing("1 ? nothing : 2");
}

static void missing_values_are_not_true(void **state)
{
	(void)state;
	check_true("!nothing");
	check_true("!$ctx.i");
	check_true("!s");
	check_true("!d");
	check_false("nothing || $ctx.i");
	check_false("$ctx.i && 1");
	check_true("$ctx.i || 1");
	check_true("($ctx.i ? 1 : 2) == 2");
	check_true("(nothing ? 1 : 2) == 2");
	check_true("!!(1 + (nothing == 0))");
}

static void defined_tells_whether_a_value_is_there(void **state)
{
	struct model_record record = { 0 };

	(void)state;
	check_false("defined(nothing)");
	check_false("defined(km)");
	check_true("defined(u8)");
	check_true("defined(ku)");
	check_false("defined(s)");
	check_true("defined ( u8 ) && !defined(s)");
	set_value(&record, "$ctx.i",
		  (struct sonde_expr_value){ .type = SONDE_EXPR_INT });
	assert_int_equal(value_of("defined($ctx.i)", &record).i, 1);
	assert_int_equal(value_of("$ctx.i != 3", &record).i, 1);
	/* of another type than was said: as if it were missing */
	set_value(&record, "$ctx.i",
		  (struct sonde_expr_value){ .type = SONDE_EXPR_UINT });
	assert_int_equal(value_of("defined($ctx.i)", &record).i, 0);
	assert_int_equal(value_of("$ctx.i != 3", &record).i, 0);
}

static void signed_and_unsigned_compare_by_value(void **state)
{
	(void)state;
	check_true("-1 < 1u");
	check_true("i8 - 1 < u8");
	check_false("i8 - 1 == ku + 2");
	check_true("ku > ki && ki < ku && ku != ki");
	check_true("18446744073709551615 > -1");
	check_true("u64 - 1 == 0xffffffffffffffff");
	check_true("u64 - 1 > i64 - 1");
	check_true("ki < 0 && -7 == ki");
	check_true("ki / 2 == -3 && ki % 2 == -1 && ki >> 1 == -4");
	check_true("1 << 64 == 0 && 1 << -1 == 0 && ki >> 100 == -1");
	check_true("ku >> 64 == 0");
	check_true("-9223372036854775807 - 1 == "
		   "(-9223372036854775807 - 1) / -1");
	check_true("(-9223372036854775807 - 1) % (i8 - 1) == 0");
}

static void strings_compare_by_their_bytes(void **state)
{
	(void)state;
	check_true("event == \"abc\" && \"abc\" == event");
	check_true("event != \"ab\" && event > \"ab\" && event < \"abd\"");
	check_true("event >= \"abc\" && event <= \"abc\"");
	check_true("\"\" < \"a\" && \"a\" < \"\\xff\"");
	check_true("\"a\\0b\" != \"a\" && \"a\\0b\" > \"a\"");
	check_true("\"a\\x42\\103\\n\" == \"aBC\\12\"");
	check_true("!\"\" && \"a\"");
	check_true("event in (\"x\", \"abc\")");
}

static void check_string(const char *text, struct model_record *record,
			 const char *expected)
{
	struct sonde_program *program = compile_in(text, &model_scope);
	struct sonde_expr_value value;
	struct sonde_expr_env env;

	model_env_init(&env, record);
	sonde_program_eval(program, &env, &value);
	assert_int_equal(value.type, SONDE_EXPR_STRING);
	assert_int_equal(value.length, strlen(expected));
	assert_memory_equal(value.text, expected, value.length);
	assert_int_equal(sonde_program_test(program, &env), value.length > 0);
	sonde_program_free(program);
}

static void expressions_can_be_strings(void **state)
{
	struct model_record record = { 0 };

	(void)state;
	set_value(&record, "s",
		  (struct sonde_expr_value){ .type = SONDE_EXPR_STRING,
					     .length = 2,
					     .text = "xy" });
	check_string("s", &record, "xy");
	check_string("event", &record, "abc");
	check_string("1 ? \"a*\" : \"b\"", &record, "a*");
	check_string("u8 ? event : s", &record, "xy");
	check_string("u8 ? event : \"\"", &record, "");
	/* missing like t */
	assert_int_equal(value_of("t", &record).type, SONDE_EXPR_MISSING);
}

static void globs_match_where_stars_are_not_escaped(void **state)
{
	(void)state;
	check_true("event == \"a*\" && event == \"?b?\" && event != \"b*\"");
	check_true("\"*c\" == event");
	check_true("event in (\"x*\", \"a*\")");
	check_true("\"a*c\" == \"a\\*c\" && \"abc\" != \"a\\*c\"");
	check_true("\"a?\" == \"a\\?\" && \"ab\" != \"a\\?\"");
	check_true("\"a\\\\b\" == \"a\\\\*\" && \"ab\" != \"a\\\\*\"");
	check_true("\"abx\" == \"a[bc]*\" && \"a[bc]x\" == \"a\\[bc\\]*\"");
	check_true("\"[a]\" == \"[a]\" && \"a\" != \"[a]\"");
	check_true("\"a*\" < \"ab\"");
}

static void labels_stand_for_their_ranges(void **state)
{
	struct model_record record = { 0 };

	(void)state;
	check_true("e8 == \"mixed\" && \"mixed\" == e8 && e64 == \"mixed\"");
	check_true("e8 != \"red\" && ei64 != \"low\" && ei32 != \"high\"");
	check_true("e8 != \"nix\"");
	check_false("e8 == \"nix\"");
	check_true("ke == \"blue\" && ke == 4 && ke != \"odd \\*\"");
	check_true("e8 in (\"red\", \"mixed\") && e8 == 0");
	record.bytes[0][40] = 3;
	record.values[18].u = 3;
	assert_int_equal(value_of("e8 == \"odd \\*\"", &record).i, 1);
	assert_int_equal(value_of("e8 == \"blue\" && e8 != \"red\"", &record).i,
			 1);
}

/* Of a kind of record where everything is a string. */
static int find_string(void *ctx, const char *path, size_t length,
		       struct sonde_expr_source *ret_source)
{
	(void)ctx;
	(void)path;
	(void)length;
	*ret_source = (struct sonde_expr_source){ .how = SONDE_EXPR_CALL,
						  .type = SONDE_EXPR_STRING };
	return 0;
}

/* The first slip, as events of two kinds have it; both may be the same. */
static struct sonde_bind_slip slip_of(const char *text, bool is_label,
				      const struct sonde_expr_scope *scope,
				      const struct sonde_expr_scope *other)
{
	static char name[64];
	struct sonde_bind_check *check;
	struct sonde_bind_slip slip;
	struct sonde_expr_error error;
	struct sonde_expr *expr;
	size_t at = 0;

	assert_int_equal(sonde_expr_parse(text, &error, &expr), 0);
	assert_int_equal(sonde_bind_check_new(expr, &check), 0);
	assert_int_equal(sonde_bind_check_try(check, scope), 0);
	assert_int_equal(sonde_bind_check_try(check, other), 0);
	while (sonde_bind_check_next(check, &at, &slip))
		if (is_label == (*slip.words != '\0'))
			break;
	if (slip.name) {
		assert_false(sonde_bind_check_settled(check));
		(void)snprintf(name, sizeof(name), "%s", slip.name);
		slip.name = name;
	}
	sonde_bind_check_free(check);
	sonde_expr_free(expr);
	return slip;
}

static void labels_that_nothing_has_are_found(void **state)
{
	static const struct {
		const char *text, *words;
		uint32_t column;
	} cases[] = {
		{ "u8 == 1 || e8 == \"rad\"",
		  "'e8' has no label 'rad'; did you mean 'red'?", 18 },
		{ "\"seven\" != e8", "'e8' has no label 'seven'", 1 },
		{ "e8 in (\"red\", \"bleu\")",
		  "'e8' has no label 'bleu'; did you mean 'blue'?", 15 },
		{ "e8 == \"red\" && ke == \"odd \\*\"", "", 0 },
		{ "s == \"rad\" && nothing == \"rad\" && u8 == \"rad\"", "",
		  0 },
		{ "e8 == \"r*\"", "", 0 }, /* another error */
		{ "e8 == 17", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(cases); i++) {
		const struct sonde_bind_slip slip = slip_of(
			cases[i].text, true, &model_scope, &model_scope);

		assert_string_equal(slip.words, cases[i].words);
		assert_int_equal(slip.column, cases[i].column);
	}
}

static void a_label_that_one_kind_has_is_none_that_nothing_has(void **state)
{
	static const char text[] = "e8 == \"rad\"";
	struct sonde_expr_scope strings = model_scope;

	(void)state;
	strings.find = find_string;
	assert_string_equal(
		slip_of(text, true, &model_scope, &model_scope).name, "e8");
	assert_null(slip_of(text, true, &model_scope, &strings).name);
	/* whatever comes later */
	assert_null(slip_of(text, true, &strings, &model_scope).name);
}

static void a_name_that_no_kind_has_is_found(void **state)
{
	static const char text[] = "u8 == 1 && nothing > defined(never)";
	struct sonde_expr_scope strings = model_scope;
	struct sonde_bind_slip slip =
		slip_of(text, false, &model_scope, &model_scope);

	(void)state;
	assert_string_equal(slip.name, "nothing");
	assert_int_equal(slip.column, 12);
	strings.find = find_string;
	assert_null(slip_of(text, false, &model_scope, &strings).name);
}

static void times_are_nanoseconds(void **state)
{
	(void)state;
	check_true("begin == 1795176000123456789");
	/* whatever field is called so */
	check_true("$begin == begin && $begin + 2s > 12:00:02Z");
	check_true("begin + 2s > 12:00:02Z && begin + 1.5s < 12:00:02Z");
	check_true("2026-11-20T12:00:00Z == 1795176000000000000");
	check_true("250us == 250000 && 1m == 60s && 2h == 7200000ms");
	/* without seconds it is no time of day */
	check_true("(1 ? 12:30) == 12");
}

static int find_odd(void *ctx, const char *path, size_t length,
		    struct sonde_expr_source *ret_source)
{
	const struct sonde_expr_source *sources = ctx;

	(void)length;
	if (path[0] == 'z')
		return -ENOMEM;
	*ret_source = sources[path[0] - 'a'];
	return 0;
}

static void sources_that_make_no_sense_are_refused(void **state)
{
	struct sonde_expr_source sources[] = {
		{ .how = SONDE_EXPR_MEMORY, .type = SONDE_EXPR_UINT },
		{ .how = SONDE_EXPR_MEMORY,
		  .type = SONDE_EXPR_DOUBLE,
		  .bytes = 2 },
		{ .how = SONDE_EXPR_MEMORY,
		  .type = SONDE_EXPR_STRING,
		  .bytes = 8 },
		{ .how = SONDE_EXPR_MEMORY,
		  .type = SONDE_EXPR_INT,
		  .bytes = 8,
		  .base = SONDE_EXPR_BASES },
		{ .how = SONDE_EXPR_CALL, .type = SONDE_EXPR_MISSING },
		{ .how = (enum sonde_expr_how)7, .type = SONDE_EXPR_INT },
	};
	const struct sonde_expr_scope scope = { .ctx = sources,
						.find = find_odd };

	(void)state;
	for (const char *name = "abcdefz"; *name; name++) {
		const char text[] = { '1', '+', *name, 0 };
		struct sonde_expr_error error = { "", 0 };
		struct sonde_program *program;
		struct sonde_expr *expr;

		assert_int_equal(sonde_expr_parse(text, NULL, &expr), 0);
		assert_int_equal(sonde_expr_compile(expr, &scope, &error,
						    &program),
				 *name == 'z' ? -ENOMEM : -EINVAL);
		assert_int_equal(error.column, *name == 'z' ? 0 : 3);
		sonde_expr_free(expr);
	}
}

static bool is_constant(const char *text, int64_t expected)
{
	struct sonde_program *program = compile_in(text, &model_scope);
	struct sonde_expr_value value = { 0 };
	bool constant = sonde_program_constant(program, &value);

	sonde_program_free(program);
	return constant && value.i == expected;
}

static void what_no_record_can_change_is_constant(void **state)
{
	(void)state;
	assert_true(is_constant("event == \"x*\" && u8 == 3", 0));
	assert_true(is_constant("u8 == 3 || event == \"a*\"", 1));
	assert_true(is_constant("nothing == 3 && s == \"a\"", 0));
	assert_true(is_constant("u8 == 256", 0));
	assert_true(is_constant("u8 < 256 && -1 < u8 && i8 > -129", 1));
	assert_true(is_constant("u8 != -1", 1));
	assert_true(is_constant("$ctx.u == -1", 0));
	assert_true(is_constant("1 ? 2 : u8", 2));
	assert_false(is_constant("u8 == 255", 0));
	/* since it may be missing */
	assert_false(is_constant("$ctx.u != -1", 1));
	assert_false(is_constant("$ctx.u > -1", 1));
}

static void only_bases_in_use_are_asked_for(void **state)
{
	struct sonde_program *program = compile_in(
		"u16x == 3 && (event == \"x\" || f.a < 1)", &model_scope);

	(void)state;
	for (unsigned int base = 0; base < 20; base++)
		assert_int_equal(sonde_program_uses_base(program, base),
				 base == 2 || base == 3);
	sonde_program_free(program);
}

static void field_equals_constant_is_one_operation(void **state)
{
	struct sonde_program *program = compile_in("u32x == 3", &model_scope);
	char text[256];
	size_t length = model_disassemble(program, text, sizeof(text));

	(void)state;
	assert_int_equal(length, strlen(text));
	assert_string_equal(text,
			    "  0 IF_MEM32_IS [2 + 2] 0x3000000 false -> 2 "
			    "keep 0\n"
			    "  1 END_TRUE\n"
			    "  2 END_FALSE\n");
	assert_int_equal(model_disassemble(program, text, 10), length);
	assert_int_equal(strlen(text), 9);
	assert_int_equal(model_disassemble(program, NULL, 0), length);
	sonde_program_free(program);
}

static void check_against_model(const char *text,
				const struct model_random *random)
{
	struct sonde_program *program = compile_in(text, &model_scope);
	struct sonde_expr *expr = NULL;

	assert_int_equal(sonde_expr_parse(text, NULL, &expr), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		struct sonde_expr_value expected;
		struct sonde_expr_value value;
		struct model_record record;
		struct sonde_expr_env env;

		model_record_fill(&record, random);
		model_env_init(&env, &record);
		expected = model_eval(expr, &record);
		sonde_program_eval(program, &env, &value);
		if (!model_same(&value, &expected) ||
		    sonde_program_test(program, &env) !=
			    sonde_expr_true(&expected))
			fail_msg("%s", text);
	}
	sonde_expr_free(expr);
	sonde_program_free(program);
}

static void random_expressions_give_what_the_model_gives(void **state)
{
	uint64_t seed = 20261120;
	const struct model_random random = { next_random, &seed };

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (size_t i = 0; i < ROUNDS; i++) {
		char text[8192];

		model_write(text, sizeof(text), &random);
		check_against_model(text, &random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_with_missing_values_are_false),
		cmocka_unit_test(missing_values_make_arithmetic_missing),
		cmocka_unit_test(missing_values_are_not_true),
		cmocka_unit_test(defined_tells_whether_a_value_is_there),
		cmocka_unit_test(signed_and_unsigned_compare_by_value),
		cmocka_unit_test(strings_compare_by_their_bytes),
		cmocka_unit_test(expressions_can_be_strings),
		cmocka_unit_test(globs_match_where_stars_are_not_escaped),
		cmocka_unit_test(labels_stand_for_their_ranges),
		cmocka_unit_test(labels_that_nothing_has_are_found),
		cmocka_unit_test(
			a_label_that_one_kind_has_is_none_that_nothing_has),
		cmocka_unit_test(a_name_that_no_kind_has_is_found),
		cmocka_unit_test(times_are_nanoseconds),
		cmocka_unit_test(sources_that_make_no_sense_are_refused),
		cmocka_unit_test(what_no_record_can_change_is_constant),
		cmocka_unit_test(only_bases_in_use_are_asked_for),
		cmocka_unit_test(field_equals_constant_is_one_operation),
		cmocka_unit_test(random_expressions_give_what_the_model_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
