/* SPDX-License-Identifier: MIT */
/* test_base_json.c - base/json.h: what is written is JSON, whatever is in it. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* What is written since, and the writer that does. */
struct written {
	struct sonde_json json;
	FILE *to;
	char *text;
	size_t size;
};

static struct sonde_json *begin(struct written *written)
{
	written->to = open_memstream(&written->text, &written->size);
	assert_non_null(written->to);
	written->json = sonde_json_to_file(written->to);
	return &written->json;
}

static void expect(struct written *written, const char *text)
{
	(void)fclose(written->to);
	assert_string_equal(written->text, text);
	free(written->text);
}

static void commas_stand_between_values_only(void **state)
{
	struct written written;
	struct sonde_json *json = begin(&written);

	(void)state;
	sonde_json_open(json, NULL, '{');
	sonde_json_open(json, "none", '[');
	sonde_json_close(json, ']');
	sonde_json_open(json, "some", '[');
	sonde_json_put_unsigned(json, NULL, 1);
	sonde_json_open(json, NULL, '{');
	sonde_json_put_bool(json, "b", true);
	sonde_json_close(json, '}');
	sonde_json_put_bool(json, NULL, false);
	sonde_json_close(json, ']');
	sonde_json_put_raw(json, "raw", "{}");
	sonde_json_put_text(json, "null", NULL);
	sonde_json_close(json, '}');
	expect(&written, "{\"none\": [], \"some\": [1, {\"b\": true}, false], "
			 "\"raw\": {}, \"null\": null}");
}

static void without_blanks_nothing_stands_between(void **state)
{
	struct written written;
	struct sonde_json *json = begin(&written);

	(void)state;
	json->blanks = false;
	sonde_json_open(json, NULL, '{');
	sonde_json_put_signed(json, "a", -1);
	sonde_json_name(json, "b");
	(void)fputs("0x", written.to);
	sonde_json_put_text(json, "c", "d e");
	sonde_json_close(json, '}');
	expect(&written, "{\"a\":-1,\"b\":0x,\"c\":\"d e\"}");
}

static void lines_begin_behind_the_comma_or_before_the_bracket(void **state)
{
	struct written written;
	struct sonde_json *json = begin(&written);

	(void)state;
	sonde_json_open(json, NULL, '[');
	for (uint64_t i = 0; i < 2; i++) {
		sonde_json_line(json, 2);
		sonde_json_put_unsigned(json, NULL, i);
	}
	sonde_json_put_unsigned(json, NULL, 2);
	sonde_json_line(json, 0);
	sonde_json_close(json, ']');
	expect(&written, "[\n  0,\n  1, 2\n]");
}

static void numbers_are_exact_to_their_ends(void **state)
{
	struct written written;
	struct sonde_json *json = begin(&written);

	(void)state;
	sonde_json_open(json, NULL, '[');
	sonde_json_put_unsigned(json, NULL, 0);
	sonde_json_put_unsigned(json, NULL, UINT64_MAX);
	sonde_json_put_signed(json, NULL, INT64_MAX);
	sonde_json_put_signed(json, NULL, INT64_MIN);
	sonde_json_put_double(json, NULL, 0.1);
	sonde_json_put_double(json, NULL, NAN);
	sonde_json_put_double(json, NULL, -INFINITY);
	sonde_json_close(json, ']');
	expect(&written, "[0, 18446744073709551615, 9223372036854775807, "
			 "-9223372036854775808, 0.10000000000000001, null, "
			 "null]");
}

static void text_is_valid_whatever_the_bytes(void **state)
{
	struct written written;
	struct sonde_json *json = begin(&written);

	(void)state;
	sonde_json_open(json, NULL, '{');
	sonde_json_put_bytes(json, "a\"b", "a\"\\\n\x01\xff\xc3\xa9\0z\x7f",
			     11);
	sonde_json_put_text(json, "", "");
	sonde_json_close(json, '}');
	expect(&written,
	       "{\"a\\\"b\": \"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9"
	       "\\u0000z\\u007f\", \"\": \"\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_only),
		cmocka_unit_test(without_blanks_nothing_stands_between),
		cmocka_unit_test(
			lines_begin_behind_the_comma_or_before_the_bracket),
		cmocka_unit_test(numbers_are_exact_to_their_ends),
		cmocka_unit_test(text_is_valid_whatever_the_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
