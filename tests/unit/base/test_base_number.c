/* SPDX-License-Identifier: MIT */
/* test_base_number.c - base/number.h: numbers in text. */
#include "unit.h"

#include <errno.h>

#include "base/number.h"

static void numbers_end_where_digits_end(void **state)
{
	const char *at = "12ab,";
	uint64_t number = 0;

	(void)state;
	assert_true(sonde_number_take(&at, 10, UINT64_MAX, &number));
	assert_int_equal(number, 12);
	assert_string_equal(at, "ab,");
	assert_true(sonde_number_take(&at, 16, UINT64_MAX, &number));
	assert_int_equal(number, 0xab);
	assert_string_equal(at, ",");
	at = "178";
	assert_true(sonde_number_take(&at, 8, UINT64_MAX, &number));
	assert_int_equal(number, 017);
	assert_string_equal(at, "8");
}

static void greatest_numbers_are_read(void **state)
{
	uint64_t number = 0;

	(void)state;
	assert_true(sonde_number_parse("18446744073709551615", UINT64_MAX,
				       &number));
	assert_true(number == UINT64_MAX);
	assert_true(sonde_number_parse("255", 255, &number));
	assert_int_equal(number, 255);
	assert_true(sonde_number_parse("0", 0, &number));
	assert_int_equal(number, 0);
	assert_true(
		sonde_number_parse("00000000000000000000000007", 7, &number));
	assert_int_equal(number, 7);
}

static void what_is_no_number_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		" 1",
		"+1",
		"-1",
		"x",
		"1 ",
		"1x",
		"0x1",
		"256",
		"\xff",
		"18446744073709551616",
		"184467440737095516150",
	};

	(void)state;
	errno = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t number = 42;

		assert_false(sonde_number_parse(texts[i], 255, &number));
		assert_int_equal(number, 42);
	}
	assert_int_equal(errno, 0);
}

static void a_refused_number_is_not_passed_over(void **state)
{
	const char *const text = "300";
	const char *at = text;
	uint64_t number = 42;

	(void)state;
	assert_false(sonde_number_take(&at, 10, 255, &number));
	assert_ptr_equal(at, text);
	assert_int_equal(number, 42);
	/* A digit alone may be too great. */
	assert_false(sonde_number_parse("3", 2, &number));
	assert_int_equal(number, 42);
}

static void signed_numbers_reach_from_end_to_end(void **state)
{
	const char *at = "-9223372036854775808;9223372036854775807;"
			 "9223372036854775808;--1";
	int64_t number = 0;

	(void)state;
	assert_true(sonde_number_take_signed(&at, &number));
	assert_true(number == INT64_MIN);
	at++;
	assert_true(sonde_number_take_signed(&at, &number));
	assert_true(number == INT64_MAX);
	at++;
	assert_false(sonde_number_take_signed(&at, &number));
	assert_true(number == INT64_MAX);
	at = "--1";
	assert_false(sonde_number_take_signed(&at, &number));
	assert_string_equal(at, "--1");
}

static void hexadecimal_numbers_say_so(void **state)
{
	const char *at = "0x1f,31,0x";
	uint64_t number = 0;

	(void)state;
	assert_true(sonde_number_take_prefixed(&at, UINT64_MAX, &number));
	assert_int_equal(number, 31);
	at++;
	assert_true(sonde_number_take_prefixed(&at, UINT64_MAX, &number));
	assert_int_equal(number, 31);
	at++;
	assert_false(sonde_number_take_prefixed(&at, UINT64_MAX, &number));
	assert_string_equal(at, "0x");
}

static void sizes_and_times_have_units(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_int_equal(sonde_number_parse_size("4096", &value), 0);
	assert_int_equal(value, 4096);
	assert_int_equal(sonde_number_parse_size("3kiB", &value), 0);
	assert_int_equal(value, 3072);
	assert_int_equal(sonde_number_parse_size("64K", &value), 0);
	assert_int_equal(value, 65536);
	assert_int_equal(sonde_number_parse_size("2G", &value), 0);
	assert_int_equal(value, 2ull << 30);
	assert_int_equal(sonde_number_parse_size("", &value), -EINVAL);
	assert_int_equal(sonde_number_parse_size("-1", &value), -EINVAL);
	assert_int_equal(sonde_number_parse_size("1kk", &value), -EINVAL);
	assert_int_equal(sonde_number_parse_size("99999999999999999999",
						 &value),
			 -ERANGE);
	assert_int_equal(sonde_number_parse_size("16777216T", &value), -ERANGE);
	assert_int_equal(sonde_number_parse_time_us("20ms", &value), 0);
	assert_int_equal(value, 20000);
	assert_int_equal(sonde_number_parse_time_us("20", &value), 0);
	assert_int_equal(value, 20);
	assert_int_equal(sonde_number_parse_time_us("2h", &value), 0);
	assert_int_equal(value, 7200000000);
	assert_int_equal(sonde_number_parse_time_us("1d", &value), -EINVAL);
	assert_int_equal(sonde_number_parse_time_us("18446744073710s", &value),
			 -EINVAL);
}

static void sizes_are_written_as_they_are_read(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(sonde_number_put_size(64 << 20, text, sizeof(text)),
			    "64M");
	assert_string_equal(sonde_number_put_size(1025, text, sizeof(text)),
			    "1025");
	assert_string_equal(sonde_number_put_size(0, text, sizeof(text)), "0");
	assert_string_equal(
		sonde_number_put_size(5ull << 40, text, sizeof(text)), "5T");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_end_where_digits_end),
		cmocka_unit_test(greatest_numbers_are_read),
		cmocka_unit_test(what_is_no_number_changes_nothing),
		cmocka_unit_test(a_refused_number_is_not_passed_over),
		cmocka_unit_test(signed_numbers_reach_from_end_to_end),
		cmocka_unit_test(hexadecimal_numbers_say_so),
		cmocka_unit_test(sizes_and_times_have_units),
		cmocka_unit_test(sizes_are_written_as_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
