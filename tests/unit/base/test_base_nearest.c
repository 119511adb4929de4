/* SPDX-License-Identifier: MIT */
/* Which name a mistyped word was meant to be (base/nearest.h). */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/port.h"

static const char *const names[] = {
	"record",   "print",  "stat",   "report",
	"--filter", "--from", "--json", "ls",
};

static const char *hint_for(const char *word)
{
	static struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, word);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		sonde_nearest_try(&nearest, names[i]);
	return sonde_nearest_hint(&nearest);
}

static void a_word_mistyped_has_its_name(void **state)
{
	static const char *const pairs[][2] = {
		{ "prnt", "print" },        { "pritn", "print" },
		{ "prinnt", "print" },      { "prant", "print" },
		{ "PRINT", "print" },       { "stats", "stat" },
		{ "reprot", "report" },     { "recrod", "record" },
		{ "--fliter", "--filter" }, { "--jsno", "--json" },
		{ "rec", "record" },        { "repo", "report" },
	};

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(pairs); i++) {
		char wanted[64];

		(void)snprintf(wanted, sizeof(wanted), "; did you mean '%s'?",
			       pairs[i][1]);
		assert_string_equal(hint_for(pairs[i][0]), wanted);
	}
}

static void what_is_like_none_has_no_name(void **state)
{
	static const char *const words[] = {
		"",   "x", "l",    "xy", "banana", "statistically",
		"--", "p", "lxs1",
	};
	char long_word[200];

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++)
		assert_string_equal(hint_for(words[i]), "");
	memset(long_word, 'a', sizeof(long_word));
	for (size_t i = sizeof(long_word); i-- > 0;) {
		long_word[i] = '\0';
		assert_string_equal(hint_for(long_word), "");
	}
}

static void the_first_of_equals_wins_and_the_nearest_of_all(void **state)
{
	struct sonde_nearest nearest;

	(void)state;
	sonde_nearest_begin(&nearest, "sched_wake");
	sonde_nearest_try(&nearest, "sched_waking");
	sonde_nearest_try(&nearest, "sched_woke");
	sonde_nearest_try(&nearest, "sched_wade");
	assert_string_equal(nearest.name, "sched_woke");
}

static void an_event_may_be_named_without_its_provider(void **state)
{
	struct sonde_nearest nearest;

	(void)state;
	sonde_nearest_begin(&nearest, "requst");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(nearest.name, "http:request");
	sonde_nearest_begin(&nearest, "request");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(sonde_nearest_hint(&nearest),
			    "; did you mean 'http:request'?");
	sonde_nearest_begin(&nearest, "htp:requst");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(nearest.name, "http:request");
}

static void a_pattern_has_the_nearest_provider(void **state)
{
	struct sonde_nearest nearest;

	(void)state;
	sonde_nearest_begin(&nearest, "htp:re*");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(nearest.name, "http:re*");
	sonde_nearest_begin(&nearest, "htp*:request");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(nearest.name, "");
}

static void the_word_itself_is_no_hint(void **state)
{
	struct sonde_nearest nearest;

	(void)state;
	sonde_nearest_begin(&nearest, "http:request");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(sonde_nearest_hint(&nearest), "");
	sonde_nearest_begin(&nearest, "http:Request");
	sonde_nearest_try_event(&nearest, "http:request");
	assert_string_equal(sonde_nearest_hint(&nearest),
			    "; did you mean 'http:request'?");
}

static void an_events_name_among_fields_wants_quotes(void **state)
{
	static const char *const words[] = { "request", "http:request" };
	struct sonde_nearest nearest;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(words); i++) {
		sonde_nearest_begin(&nearest, words[i]);
		sonde_nearest_try(&nearest, "requests");
		sonde_nearest_try_quoted(&nearest, "http:request");
		assert_string_equal(sonde_nearest_hint(&nearest),
				    "; the event's name is in quotes: "
				    "\"http:request\"");
	}
	sonde_nearest_begin(&nearest, "quest");
	sonde_nearest_try_quoted(&nearest, "http:request");
	assert_string_equal(sonde_nearest_hint(&nearest), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_mistyped_has_its_name),
		cmocka_unit_test(what_is_like_none_has_no_name),
		cmocka_unit_test(
			the_first_of_equals_wins_and_the_nearest_of_all),
		cmocka_unit_test(an_event_may_be_named_without_its_provider),
		cmocka_unit_test(a_pattern_has_the_nearest_provider),
		cmocka_unit_test(the_word_itself_is_no_hint),
		cmocka_unit_test(an_events_name_among_fields_wants_quotes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
