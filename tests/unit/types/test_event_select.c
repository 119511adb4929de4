/* SPDX-License-Identifier: MIT */
/* test_event_select.c - globs and rules of types/select.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "types/select.h"

static void stars_and_questions_match_what_they_stand_for(void **state)
{
	(void)state;
	assert_true(sonde_glob_match("", ""));
	assert_true(sonde_glob_match("*", ""));
	assert_true(sonde_glob_match("*", "abc"));
	assert_true(sonde_glob_match("a*c", "abbbc"));
	assert_true(sonde_glob_match("a*b*c", "aXbYbZc"));
	assert_true(sonde_glob_match("?b?", "abc"));
	assert_true(sonde_glob_match("**a**", "a"));
	assert_false(sonde_glob_match("", "a"));
	assert_false(sonde_glob_match("a", ""));
	assert_false(sonde_glob_match("?", ""));
	assert_false(sonde_glob_match("a*c", "abcd"));
	assert_false(sonde_glob_match("abc", "ab"));
	assert_false(sonde_glob_match("ab", "abc"));
}

static void sets_match_their_members(void **state)
{
	(void)state;
	assert_true(sonde_glob_match("[abc]", "b"));
	assert_true(sonde_glob_match("[a-c]x", "bx"));
	assert_true(sonde_glob_match("[!a-c]", "d"));
	assert_true(sonde_glob_match("[^a-c]", "d"));
	assert_true(sonde_glob_match("[]]", "]"));
	assert_true(sonde_glob_match("[a-]", "-"));
	assert_true(sonde_glob_match("[\\]]", "]"));
	assert_true(sonde_glob_match("*[0-9]", "ab7"));
	assert_false(sonde_glob_match("[a-c]", "d"));
	assert_false(sonde_glob_match("[!a-c]", "b"));
	assert_false(sonde_glob_match("[abc]", ""));
}

static void broken_globs_stand_for_themselves(void **state)
{
	(void)state;
	assert_true(sonde_glob_match("[ab", "[ab"));
	assert_true(sonde_glob_match("a\\", "a\\"));
	assert_true(sonde_glob_match("[", "["));
	assert_true(sonde_glob_match("[a\\", "[a\\"));
	assert_false(sonde_glob_match("[ab", "a"));
}

static void backslashes_take_the_magic_away(void **state)
{
	(void)state;
	assert_true(sonde_glob_match("\\*", "*"));
	assert_true(sonde_glob_match("\\?\\[", "?["));
	assert_false(sonde_glob_match("\\*", "a"));
}

/* Would take ages if earlier stars were tried again. */
static void many_stars_take_no_ages(void **state)
{
	char glob[201];
	char text[2001];

	(void)state;
	for (size_t i = 0; i < 200; i += 2)
		memcpy(glob + i, "*a", 2);
	glob[199] = 'b';
	glob[200] = 0;
	memset(text, 'a', 2000);
	text[2000] = 0;
	assert_false(sonde_glob_match(glob, text));
}

/* Rules as a string literal, whose own NUL is the terminator. */
#define RULES(text) text, sizeof(text)

static void rules_select_and_exclude(void **state)
{
	(void)state;
	assert_true(sonde_select(RULES("+*\0"), 6, "p", "e", 6));
	assert_true(sonde_select(RULES("+p:e\0"), 6, "p", "e", 6));
	assert_true(sonde_select(RULES("+x\0+p:*\0"), 6, "p", "e", 6));
	assert_false(sonde_select(RULES("+p:*\0-*:e\0"), 6, "p", "e", 6));
	assert_false(sonde_select(RULES("-*:e\0+p:*\0"), 6, "p", "e", 6));
	assert_false(sonde_select(RULES(""), 6, "p", "e", 6));
	assert_false(sonde_select(RULES("-x\0"), 6, "p", "e", 6));
}

static void globs_without_colon_match_either_name(void **state)
{
	(void)state;
	assert_true(sonde_select(RULES("+prov\0"), 6, "prov", "event", 6));
	assert_true(sonde_select(RULES("+event\0"), 6, "prov", "event", 6));
	assert_true(sonde_select(RULES("+p*t\0"), 6, "prov", "event", 6));
	assert_false(sonde_select(RULES("+pro\0"), 6, "prov", "event", 6));
	assert_false(sonde_select(RULES("+prov:\0"), 6, "prov", "event", 6));
}

static void events_above_the_level_are_left_out(void **state)
{
	(void)state;
	assert_true(sonde_select(RULES("+*\0"), 6, "p", "e", 0));
	assert_false(sonde_select(RULES("+*\0"), 6, "p", "e", 7));
}

static void rules_without_sign_or_end_match_nothing(void **state)
{
	char rules[4] = { '+', '*', 'x', 'x' };
	char *exact = malloc(sizeof(rules));

	(void)state;
	assert_non_null(exact);
	memcpy(exact, rules, sizeof(rules));
	assert_false(sonde_select(exact, sizeof(rules), 6, "p", "e", 6));
	memcpy(exact, "+*\0+", 4);
	assert_true(sonde_select(exact, 4, 6, "p", "e", 6));
	assert_false(sonde_select(exact, 0, 6, "p", "e", 6));
	memcpy(exact, "*\0x", 4);
	assert_false(sonde_select(exact, 4, 6, "p", "e", 6));
	free(exact);
}

static void longest_globs_match_and_longer_ones_do_not(void **state)
{
	static char rules[SONDE_GLOB_MAX + 3];

	(void)state;
	memset(rules, '*', sizeof(rules));
	rules[0] = '+';
	rules[SONDE_GLOB_MAX] = 0;
	rules[SONDE_GLOB_MAX + 1] = 0;
	assert_true(sonde_select(rules, sizeof(rules), 6, "p", "e", 6));
	rules[SONDE_GLOB_MAX] = '*';
	assert_false(sonde_select(rules, sizeof(rules), 6, "p", "e", 6));
}

static void random_rules_stay_in_bounds(void **state)
{
	static const char alphabet[] = "+-*?[]\\!^:pe\0\0a";
	uint32_t seed = 12345;

	(void)state;
	print_message("seed %u\n", seed);
	for (int i = 0; i < 20000; i++) {
		size_t size = 1 + (seed >> 16) % 40;
		char *rules = malloc(size);

		assert_non_null(rules);
		for (size_t k = 0; k < size; k++) {
			seed = seed * 1664525u + 1013904223u;
			rules[k] = alphabet[(seed >> 16) % sizeof(alphabet)];
		}
		(void)sonde_select(rules, size, 14, "prov", "event", 6);
		free(rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stars_and_questions_match_what_they_stand_for),
		cmocka_unit_test(sets_match_their_members),
		cmocka_unit_test(broken_globs_stand_for_themselves),
		cmocka_unit_test(backslashes_take_the_magic_away),
		cmocka_unit_test(many_stars_take_no_ages),
		cmocka_unit_test(rules_select_and_exclude),
		cmocka_unit_test(globs_without_colon_match_either_name),
		cmocka_unit_test(events_above_the_level_are_left_out),
		cmocka_unit_test(rules_without_sign_or_end_match_nothing),
		cmocka_unit_test(longest_globs_match_and_longer_ones_do_not),
		cmocka_unit_test(random_rules_stay_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
