/* SPDX-License-Identifier: MIT */
/* test_base_option.c - base/option.h: an option goes where its row says, and words
 * are found by their rows. */
#include "unit.h"

#include "base/option.h"

struct asked {
	int before; /* nothing begins at 0 */
	bool json;
	const char *name;
	struct sonde_option_values hosts;
	const char *taken;
};

static int take(void *words, const char *value)
{
	((struct asked *)words)->taken = value;
	return *value ? 0 : 2;
}

#define TO(member) SONDE_OPTION_TO(struct asked, member)

static const struct sonde_option table[] = {
	{ .help = "A heading" },
	{ "json", 0, NULL, NULL, TO(json), "" },
	{ "name", 'n', "NAME", NULL, TO(name), "" },
	{ "host", 0, "HOST", NULL, TO(hosts), "" },
	{ "take", 't', "IT", NULL, SONDE_OPTION_BY(take), "" },
	{ "old", 0, NULL, NULL, SONDE_OPTION_IGNORED, NULL },
	{ "depth", 0, "[=N]", SONDE_VALUE_NUMBER, SONDE_OPTION_IGNORED, "" },
	{ "what", 0, "[=WHAT]", "1 2", SONDE_OPTION_IGNORED, "" },
	{ 0 }
};

enum {
	JSON = 1,
	NAME,
	HOST,
	TAKE,
	OLD,
	DEPTH,
	WHAT
};

static void an_option_goes_where_its_row_says(void **state)
{
	struct asked asked = { 0 };

	(void)state;
	for (int i = JSON; i <= OLD; i++)
		assert_false(sonde_option_is_given(&table[i], &asked));
	assert_int_equal(sonde_option_give(&table[JSON], &asked, NULL), 0);
	assert_true(asked.json);
	assert_int_equal(sonde_option_give(&table[NAME], &asked, "a"), 0);
	assert_int_equal(sonde_option_give(&table[NAME], &asked, "b"), 0);
	assert_string_equal(asked.name, "b");
	assert_int_equal(sonde_option_give(&table[NAME], &asked, NULL), 0);
	assert_string_equal(asked.name, "");
	assert_int_equal(sonde_option_give(&table[TAKE], &asked, "x"), 0);
	assert_string_equal(asked.taken, "x");
	assert_int_equal(sonde_option_give(&table[TAKE], &asked, ""), 2);
	assert_int_equal(sonde_option_give(&table[OLD], &asked, NULL), 0);
	assert_true(sonde_option_is_given(&table[JSON], &asked));
	assert_true(sonde_option_is_given(&table[NAME], &asked));
	assert_false(sonde_option_is_given(&table[HOST], &asked));
	assert_int_equal(asked.before, 0);
}

static void a_list_says_that_there_were_more_than_it_has(void **state)
{
	struct asked asked = { 0 };

	(void)state;
	for (size_t i = 0; i < SONDE_OPTION_VALUES; i++)
		assert_int_equal(sonde_option_give(&table[HOST], &asked, "a"),
				 0);
	assert_int_equal(asked.hosts.nr, SONDE_OPTION_VALUES);
	assert_false(asked.hosts.full);
	assert_true(sonde_option_is_given(&table[HOST], &asked));
	assert_int_equal(sonde_option_give(&table[HOST], &asked, "b"), 0);
	assert_int_equal(asked.hosts.nr, SONDE_OPTION_VALUES);
	assert_true(asked.hosts.full);
	assert_null(asked.taken);
}

static void assert_found(const char *word, int row, const char *value)
{
	const char *found = NULL;

	assert_ptr_equal(sonde_option_find(table, word, &found), &table[row]);
	if (value)
		assert_string_equal(found, value);
	else
		assert_null(found);
}

static void words_are_found_by_name_and_by_letter(void **state)
{
	const char *const none[] = { "",     "-",  "--",    "json",
				     "name", "-j", "--jso", "--A",
				     "---",  "n",  "--n=1", "--=json" };
	const char *value;

	(void)state;
	assert_found("--json", JSON, NULL);
	assert_found("--json=1", JSON, "1");
	assert_found("--name=", NAME, "");
	assert_found("-n", NAME, NULL);
	assert_found("-n=a", NAME, "=a");
	assert_found("-ta", TAKE, "a");
	assert_found("--old", OLD, NULL);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(sonde_option_find(table, none[i], &value));
	assert_null(sonde_option_find(NULL, "--json", &value));
}

static void
a_value_is_the_next_word_where_it_must_be_or_is_a_number(void **state)
{
	(void)state;
	assert_true(sonde_option_takes_next(&table[NAME], NULL, "a"));
	assert_true(sonde_option_takes_next(&table[NAME], NULL, NULL));
	assert_false(sonde_option_takes_next(&table[NAME], "", "a"));
	assert_false(sonde_option_takes_next(&table[JSON], NULL, "1"));
	assert_true(sonde_option_takes_next(&table[DEPTH], NULL, "16"));
	assert_false(sonde_option_takes_next(&table[DEPTH], "", "16"));
	assert_false(sonde_option_takes_next(&table[DEPTH], NULL, "16x"));
	assert_false(sonde_option_takes_next(&table[DEPTH], NULL, "-1"));
	assert_false(sonde_option_takes_next(&table[DEPTH], NULL, ""));
	assert_false(sonde_option_takes_next(&table[DEPTH], NULL, NULL));
	assert_false(sonde_option_takes_next(&table[WHAT], NULL, "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_goes_where_its_row_says),
		cmocka_unit_test(a_list_says_that_there_were_more_than_it_has),
		cmocka_unit_test(words_are_found_by_name_and_by_letter),
		cmocka_unit_test(
			a_value_is_the_next_word_where_it_must_be_or_is_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
