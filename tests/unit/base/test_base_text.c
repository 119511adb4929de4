/* SPDX-License-Identifier: MIT */
/* test_base_text.c - base/text.h: text is cut, and counted all the same; where
 * an item of a list ends. */
#include "unit.h"

#include <string.h>

#include "base/text.h"

static void what_is_added_stands_behind_the_rest(void **state)
{
	char to[16];
	struct sonde_text text = { .to = to, .size = sizeof(to) };

	(void)state;
	sonde_text_add(&text, "%d of ", 1);
	sonde_text_add(&text, "%s", "23");
	assert_string_equal(to, "1 of 23");
	assert_int_equal(text.length, 7);
}

static void text_is_cut_and_counted(void **state)
{
	char to[8] = "xxxxxxx";
	struct sonde_text text = { .to = to, .size = 4 };

	(void)state;
	sonde_text_add(&text, "ab");
	sonde_text_add(&text, "cdef");
	assert_string_equal(to, "abc");
	assert_int_equal(text.length, 6);
	sonde_text_add(&text, "gh");
	assert_string_equal(to, "abc");
	assert_int_equal(text.length, 8);
	assert_int_equal(to[4], 'x');
}

static void text_that_fits_but_for_its_end_is_cut(void **state)
{
	char to[5] = "xxxx";
	struct sonde_text text = { .to = to, .size = 4 };

	(void)state;
	sonde_text_add(&text, "abcd");
	assert_string_equal(to, "abc");
	sonde_text_add(&text, "e");
	assert_string_equal(to, "abc");
	assert_int_equal(text.length, 5);
}

static void without_room_text_is_counted_only(void **state)
{
	struct sonde_text text = { 0 };

	(void)state;
	sonde_text_add(&text, "%s", "abc");
	sonde_text_add(&text, "d");
	assert_int_equal(text.length, 4);
}

static void an_item_ends_at_a_comma_outside_of_brackets_and_quotes(void **state)
{
	static const struct {
		const char *list;
		size_t length;
	} lists[] = {
		{ "", 0 },         { ",b", 0 },       { "a,b", 1 },
		{ "f(a,b),c", 6 }, { "a[1,2],c", 6 }, { "{1,2},c", 5 },
		{ "\",\",c", 3 },  { "','c,", 4 },    { "\"\\\",\",c", 5 },
		{ "\"a,b", 4 },    { "f(a,b", 5 },    { "a),b", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		assert_int_equal(sonde_text_item(lists[i].list, ','),
				 lists[i].length);
	assert_int_equal(sonde_text_item("f if c == ';'; g", ';'), 13);
}

static void names_are_those_of_c(void **state)
{
	(void)state;
	assert_true(sonde_text_is_name("a_9", 3));
	assert_true(sonde_text_is_name("_", 1));
	assert_true(sonde_text_is_name("ab:c", 2));
	assert_false(sonde_text_is_name("ab:c", 3));
	assert_false(sonde_text_is_name("9a", 2));
	assert_false(sonde_text_is_name("", 0));
	assert_false(sonde_text_is_name("\xc3\xa4", 2));
}

static bool has(const char *list, const char *word)
{
	return sonde_text_has(list, strlen(list), ", ", word);
}

static void only_whole_words_are_in_a_list(void **state)
{
	(void)state;
	assert_true(has("malloc", "malloc"));
	assert_true(has("a,malloc", "malloc"));
	assert_true(has("malloc b", "malloc"));
	assert_true(has("", ""));
	assert_true(has("a,,b", ""));
	assert_false(has("mallocs,a", "malloc"));
	assert_false(has("my-malloc", "malloc"));
	assert_false(has("a,b", ""));
	assert_false(sonde_text_has("a,bc", 3, ",", "bc"));
}

static void a_paths_base_is_behind_its_last_slash(void **state)
{
	(void)state;
	assert_string_equal(sonde_text_base("/usr/bin/true"), "true");
	assert_string_equal(sonde_text_base("true"), "true");
	assert_string_equal(sonde_text_base("a/b/"), "");
	assert_string_equal(sonde_text_base(""), "");
}

static void blanks_are_left_out_at_both_ends(void **state)
{
	(void)state;
	assert_string_equal(sonde_text_skip_blanks(" \t\na b "), "a b ");
	assert_string_equal(sonde_text_skip_blanks("a"), "a");
	assert_string_equal(sonde_text_skip_blanks("  "), "");
	assert_int_equal(sonde_text_trim(" a b \t\n", 7), 4);
	assert_int_equal(sonde_text_trim("ab ", 2), 2);
	assert_int_equal(sonde_text_trim("   ", 3), 0);
	assert_int_equal(sonde_text_trim("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paths_base_is_behind_its_last_slash),
		cmocka_unit_test(blanks_are_left_out_at_both_ends),
		cmocka_unit_test(what_is_added_stands_behind_the_rest),
		cmocka_unit_test(text_is_cut_and_counted),
		cmocka_unit_test(text_that_fits_but_for_its_end_is_cut),
		cmocka_unit_test(without_room_text_is_counted_only),
		cmocka_unit_test(names_are_those_of_c),
		cmocka_unit_test(
			an_item_ends_at_a_comma_outside_of_brackets_and_quotes),
		cmocka_unit_test(only_whole_words_are_in_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
