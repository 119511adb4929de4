/* SPDX-License-Identifier: MIT */
/* test_view_text.c - numbers, times and differences as `sonde print` writes
 * them, against what the C library writes. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "view/text/buffer.h"
#include "view/text/fields.h"
#include "view/text/print_delta.h"
#include "view/text/stamp.h"

#include "unit.h"

static struct sonde_buffer buffer;

static void assert_text(const char *expected)
{
	assert_int_equal(buffer.used, strlen(expected));
	assert_memory_equal(buffer.text, expected, buffer.used);
	buffer.used = 0;
}

static uint64_t random64(void)
{
	static uint64_t state = 1;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void assert_integer(uint64_t value)
{
	char expected[32];

	(void)snprintf(expected, sizeof(expected), "%" PRIu64, value);
	sonde_put_uint(&buffer, value);
	assert_text(expected);
	(void)snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)value);
	sonde_put_int(&buffer, (int64_t)value);
	assert_text(expected);
	(void)snprintf(expected, sizeof(expected), "%" PRIx64, value);
	sonde_put_hex(&buffer, value, SONDE_HEX_LOWER);
	assert_text(expected);
	(void)snprintf(expected, sizeof(expected), "%" PRIX64, value);
	sonde_put_hex(&buffer, value, SONDE_HEX_UPPER);
	assert_text(expected);
}

static void integers_are_as_printf_writes_them(void **state)
{
	uint64_t ten = 1;

	(void)state;
	for (int i = 0; i < 20; i++, ten *= 10)
		for (uint64_t near = ten - 2; near != ten + 3; near++)
			assert_integer(near);
	for (int bit = 0; bit < 64; bit++)
		for (uint64_t off = 0; off < 3; off++)
			assert_integer(((uint64_t)1 << bit) - off);
	for (int i = 0; i < 100000; i++)
		assert_integer(random64() >> (random64() % 64));
}

static void nanoseconds_have_nine_digits(void **state)
{
	char expected[16];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint32_t value = (uint32_t)(random64() % 1000000000);

		(void)snprintf(expected, sizeof(expected), "%09" PRIu32, value);
		sonde_put_nanos(&buffer, value);
		assert_text(expected);
	}
	sonde_put_nanos(&buffer, 999999999);
	assert_text("999999999");
	sonde_put_nanos(&buffer, 0);
	assert_text("000000000");
}

static void doubles_read_back_and_are_short(void **state)
{
	(void)state;
	sonde_put_double(&buffer, 0.1, 64);
	assert_text("0.1");
	sonde_put_double(&buffer, (double)0.1f, 32);
	assert_text("0.1");
	sonde_put_double(&buffer, -DBL_MAX, 64);
	assert_text("-1.7976931348623157e+308");
	sonde_put_double(&buffer, (double)INFINITY, 64);
	assert_text("inf");
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = random64();
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		sonde_put_double(&buffer, value, 64);
		buffer.text[buffer.used] = 0;
		assert_true(strtod(buffer.text, NULL) == value);
		buffer.used = 0;
	}
}

static void text_of_any_length_is_appended_whole(void **state)
{
	static char text[70000];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	for (int i = 0; i < 5; i++)
		sonde_buffer_text(&buffer, text, sizeof(text));
	assert_int_equal(buffer.used, 5 * sizeof(text));
	for (size_t i = 0; i < 5; i++)
		assert_memory_equal(buffer.text + i * sizeof(text), text,
				    sizeof(text));
	assert_false(buffer.failed);
	buffer.used = 0;
}

static void assert_stamp(enum sonde_stamp_form form, int64_t time_ns,
			 const char *expected)
{
	struct sonde_stamp stamp;

	sonde_stamp_init(&stamp, form, 1500000000000000000);
	/* as the first of its second, and again */
	for (int i = 0; i < 2; i++) {
		sonde_stamp_put(&stamp, time_ns, &buffer);
		assert_text(expected);
	}
}

static void times_are_written_in_each_form(void **state)
{
	const int64_t some_ns = 1500000003000000042;

	(void)state;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	assert_int_equal(setenv("TZ", "XXX-01:30", 1), 0);
	tzset();
	assert_stamp(SONDE_STAMP_LOCAL, some_ns, "04:10:03.000000042");
	assert_stamp(SONDE_STAMP_UTC, some_ns, "02:40:03.000000042");
	assert_stamp(SONDE_STAMP_NS, some_ns, "1500000003000000042");
	assert_stamp(SONDE_STAMP_SECONDS, some_ns, "1500000003.000000042");
	assert_stamp(SONDE_STAMP_RELATIVE, some_ns, "+3.000000042");
	assert_stamp(SONDE_STAMP_NS, 42, "42");
	assert_stamp(SONDE_STAMP_NS, -42, "-42");
	assert_stamp(SONDE_STAMP_UTC, -1, "23:59:59.999999999");
	assert_stamp(SONDE_STAMP_SECONDS, -1, "-0.000000001");
	assert_stamp(SONDE_STAMP_RELATIVE, some_ns - 4000000000,
		     "-0.999999958");
	assert_stamp(SONDE_STAMP_SECONDS, INT64_MAX - 1,
		     "9223372036.854775806");
}

static void times_that_jump_are_right_too(void **state)
{
	struct sonde_stamp stamp;
	char expected[48];

	(void)state;
	sonde_stamp_init(&stamp, SONDE_STAMP_SECONDS, 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t time = (random64() >> 1) >> (random64() % 63);

		(void)snprintf(expected, sizeof(expected),
			       "%" PRIu64 ".%09" PRIu64, time / 1000000000,
			       time % 1000000000);
		sonde_stamp_put(&stamp, (int64_t)time, &buffer);
		assert_text(expected);
	}
}

static void differences_have_a_sign(void **state)
{
	(void)state;
	sonde_put_difference(&buffer, 0);
	assert_text("+0.000000000");
	sonde_put_difference(&buffer, -1234);
	assert_text("-0.000001234");
	sonde_put_difference(&buffer, 61000000001);
	assert_text("+61.000000001");
	sonde_put_difference(&buffer, INT64_MIN);
	assert_text("-9223372036.854775808");
}

#define KEYS 1000

static int64_t last_get(const struct sonde_last *last, uint64_t key)
{
	return sonde_last_get(last, key).time_ns;
}

static int last_set(struct sonde_last *last, uint64_t key, int64_t time_ns)
{
	return sonde_last_set(
		last, key, &(struct sonde_last_moment){ .time_ns = time_ns });
}

static void the_last_time_of_each_key_is_kept(void **state)
{
	static int64_t model[KEYS];
	struct sonde_last last = { .times.entries = NULL };
	struct sonde_last other = { .times.entries = NULL };

	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		model[i] = SONDE_TIME_MIN;
	for (int i = 0; i < 20000; i++) {
		/* few keys at first, so that the table grows in between */
		uint64_t key = random64() % (uint64_t)(1 + i % KEYS);

		assert_true(last_get(&last, key << 40) == model[key]);
		model[key] = (int64_t)(random64() >> 1);
		assert_int_equal(last_set(&last, key << 40, model[key]), 0);
	}
	assert_int_equal(last_set(&other, 5, 55), 0);
	assert_int_equal(last_set(&other, (uint64_t)1 << 40, 1), 0);
	assert_int_equal(sonde_last_update(&other, &last), 0);
	model[1] = last_get(&last, (uint64_t)1 << 40);
	for (uint64_t key = 0; key < KEYS; key++)
		assert_true(last_get(&other, key << 40) == model[key]);
	assert_int_equal(last_get(&other, 5), 55);
	sonde_last_fini(&last);
	sonde_last_fini(&other);
}

static void each_style_has_its_own_quotes(void **state)
{
	static const char text[] = "a'\"\\?\n\x1b\x7f\xc3\xa9\xff%";
	static const char *const expected[] = {
		[SONDE_STYLE_PLAIN] =
			"\"a'\\\"\\\\?\\n\\x1b\\x7f\xc3\xa9\\xff%\"",
		[SONDE_STYLE_BABELTRACE] =
			"\"a\\'\\\"\\\\\\?\\n\\e\\x7f\xc3\xa9\xff%\"",
		[SONDE_STYLE_JSON] =
			"\"a'\\\"\\\\?\\n\\u001b\\u007f\xc3\xa9\xef\xbf\xbd%\"",
	};

	(void)state;
	for (int style = 0; style < 3; style++) {
		struct sonde_writer writer;

		sonde_writer_init(&writer, (enum sonde_style)style, false);
		sonde_put_quoted(&writer, text, sizeof(text) - 1, &buffer);
		assert_text(expected[style]);
	}
}

static int start(void **state)
{
	(void)state;
	return sonde_buffer_init(&buffer);
}

static int stop(void **state)
{
	(void)state;
	sonde_buffer_fini(&buffer);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_as_printf_writes_them),
		cmocka_unit_test(nanoseconds_have_nine_digits),
		cmocka_unit_test(doubles_read_back_and_are_short),
		cmocka_unit_test(text_of_any_length_is_appended_whole),
		cmocka_unit_test(times_are_written_in_each_form),
		cmocka_unit_test(times_that_jump_are_right_too),
		cmocka_unit_test(differences_have_a_sign),
		cmocka_unit_test(the_last_time_of_each_key_is_kept),
		cmocka_unit_test(each_style_has_its_own_quotes),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
