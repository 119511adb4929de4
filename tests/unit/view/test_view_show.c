/* SPDX-License-Identifier: MIT */
/* test_view_show.c - reports as text and as JSON. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/report.h"
#include "base/escape.h"
#include "view/text/show.h"

#include "unit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct sonde_show plain = { .ascii = true };
static const struct sonde_show as_json = { .json = true };

/* What a report looks like; to be freed. */
static char *shown(const struct sonde_show *show,
		   const struct sonde_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(sonde_show_report(show, report, to), 0);
	(void)fclose(to);
	return text;
}

static void assert_shown(const struct sonde_show *show,
			 struct sonde_report *report, const char *expected)
{
	char *text = shown(show, report);

	assert_int_equal(sonde_report_error(report), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_cell(enum sonde_cell cell, struct sonde_cell_value value,
			const char *expected)
{
	char text[64];

	value.set = true;
	assert_int_equal(sonde_show_cell(cell, &value, text, sizeof(text)),
			 strlen(expected));
	assert_string_equal(text, expected);
}

static void numbers_have_units_and_three_digits_that_count(void **state)
{
	static const struct {
		enum sonde_cell cell;
		int64_t value;
		const char *text;
	} cases[] = {
		{ SONDE_CELL_DURATION, 0, "0 ns" },
		{ SONDE_CELL_DURATION, 999, "999 ns" },
		{ SONDE_CELL_DURATION, -7, "-7 ns" },
		{ SONDE_CELL_DURATION, 1250, "1.25 us" },
		{ SONDE_CELL_DURATION, 12500, "12.5 us" },
		{ SONDE_CELL_DURATION, 999499, "999 us" },
		{ SONDE_CELL_DURATION, 999600, "1.00 ms" },
		{ SONDE_CELL_DURATION, 99960000, "100 ms" },
		{ SONDE_CELL_DURATION, -1250000, "-1.25 ms" },
		{ SONDE_CELL_DURATION, 86400000000000, "86,400 s" },
		{ SONDE_CELL_DURATION, INT64_MIN, "-9,223,372,037 s" },
		{ SONDE_CELL_BYTES, 1023, "1,023 B" },
		{ SONDE_CELL_BYTES, 1024, "1.00 KiB" },
		{ SONDE_CELL_BYTES, 3565158, "3.40 MiB" },
		{ SONDE_CELL_BYTES, INT64_MAX, "8.00 EiB" },
		{ SONDE_CELL_COUNT, 0, "0" },
		{ SONDE_CELL_COUNT, 999, "999" },
		{ SONDE_CELL_COUNT, 1234, "1,234" },
		{ SONDE_CELL_COUNT, -1, "18,446,744,073,709,551,615" },
		{ SONDE_CELL_INT, -12345, "-12345" },
		{ SONDE_CELL_HEX, 0x7f00, "0x7f00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sonde_cell_value value = { .i = cases[i].value };

		assert_cell(cases[i].cell, value, cases[i].text);
	}
}

static void doubles_have_units_too(void **state)
{
	static const struct {
		enum sonde_cell cell;
		double value;
		const char *text;
	} cases[] = {
		{ SONDE_CELL_RATE, 0.5, "0.50 /s" },
		{ SONDE_CELL_RATE, 12345, "12.3 k/s" },
		{ SONDE_CELL_RATE, 2.5e6, "2.50 M/s" },
		{ SONDE_CELL_PERCENT, 0.123, "12.3 %" },
		{ SONDE_CELL_NUMBER, 0.25, "0.25" },
		{ SONDE_CELL_RATE, INFINITY, "-" },
		{ SONDE_CELL_RATE, NAN, "-" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sonde_cell_value value = { .d = cases[i].value };

		assert_cell(cases[i].cell, value, cases[i].text);
	}
}

static void times_are_local_times_of_day(void **state)
{
	(void)state;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	assert_int_equal(setenv("TZ", "XXX-01:30", 1), 0);
	tzset();
	assert_cell(SONDE_CELL_TIME,
		    (struct sonde_cell_value){ .i = 1500000000000000042 },
		    "04:10:00.000000042");
	assert_cell(SONDE_CELL_TIME, (struct sonde_cell_value){ .i = -1 },
		    "01:29:59.999999999");
}

static void what_is_not_known_is_a_dash(void **state)
{
	struct sonde_cell_value value = { .set = false };
	char text[8];

	(void)state;
	(void)sonde_show_cell(SONDE_CELL_COUNT, &value, text, sizeof(text));
	assert_string_equal(text, "-");
}

static struct sonde_table *example_table(struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "lock", "LOCK", SONDE_CELL_TEXT },
		{ "wait", "WAIT", SONDE_CELL_DURATION },
		{ "calls", "CALLS", SONDE_CELL_COUNT },
	};
	struct sonde_table *table;

	table = sonde_report_table(report, "locks", "Locks", columns,
				   ARRAY_SIZE(columns));
	sonde_table_row(table);
	sonde_table_text(table, 0, "a");
	sonde_table_int(table, 1, 1500);
	sonde_table_uint(table, 2, 1234);
	sonde_table_row(table);
	sonde_table_text(table, 0, "longer");
	sonde_table_int(table, 1, 20);
	sonde_table_row(table);
	sonde_table_text(table, 0, "same");
	sonde_table_int(table, 1, 20);
	sonde_table_uint(table, 2, 1);
	return table;
}

static void tables_are_aligned_text_left_and_numbers_right(void **state)
{
	struct sonde_report *report = sonde_report_new("locks");

	(void)state;
	(void)example_table(report);
	assert_shown(&plain, report,
		     "Locks\n"
		     "  LOCK       WAIT  CALLS\n"
		     "  a       1.50 us  1,234\n"
		     "  longer    20 ns      -\n"
		     "  same      20 ns      1\n");
	sonde_report_free(report);
}

static void sorting_is_stable_and_puts_empty_cells_last(void **state)
{
	struct sonde_report *report = sonde_report_new("locks");
	struct sonde_table *table = example_table(report);

	(void)state;
	sonde_table_sort(table, 1, false);
	assert_shown(&plain, report,
		     "Locks\n"
		     "  LOCK       WAIT  CALLS\n"
		     "  longer    20 ns      -\n"
		     "  same      20 ns      1\n"
		     "  a       1.50 us  1,234\n");
	sonde_table_sort(table, 2, true);
	sonde_table_limit(table, 2);
	assert_shown(&plain, report,
		     "Locks\n"
		     "  LOCK     WAIT  CALLS\n"
		     "  a     1.50 us  1,234\n"
		     "  same    20 ns      1\n"
		     "  and 1 more\n");
	sonde_report_free(report);
}

static void a_narrow_terminal_costs_the_widest_text(void **state)
{
	static const struct sonde_column columns[] = {
		{ "name", "NAME", SONDE_CELL_TEXT },
		{ "n", "N", SONDE_CELL_COUNT },
	};
	static const struct sonde_show narrow = { .width = 20 };
	struct sonde_report *report = sonde_report_new("names");
	struct sonde_table *table =
		sonde_report_table(report, "names", NULL, columns, 2);

	(void)state;
	sonde_table_row(table);
	sonde_table_text(table, 0,
			 "m\xc3\xbc"
			 "hsam erdachter Name");
	sonde_table_uint(table, 1, 5);
	assert_shown(&narrow, report,
		     "  NAME             N\n"
		     "  m\xc3\xbchsam erdacht\xe2\x80\xa6  5\n");
	sonde_report_free(report);
}

static void a_narrow_terminal_costs_minor_columns_before_others(void **state)
{
	static const struct sonde_column columns[] = {
		{ "name", "NAME", SONDE_CELL_TEXT },
		{ "a", "AAAA", SONDE_CELL_COUNT },
		{ "b", "BBBB", SONDE_CELL_COUNT },
		{ "c", "CCCC", SONDE_CELL_COUNT },
	};
	static const struct {
		unsigned int width;
		const char *text;
	} cases[] = {
		{ 24, "  NAME  AAAA  BBBB  CCCC\n  n        1     -     3\n" },
		{ 23, "  NAME  AAAA  CCCC\n  n        1     3\n"
		      "  left out, as the terminal is narrow: BBBB\n" },
		{ 17, "  NAME  CCCC\n  n        3\n"
		      "  left out, as the terminal is narrow: AAAA, BBBB\n" },
		{ 1, "  NAME\n  n\n  left out, as the terminal is narrow: "
		     "AAAA, BBBB, CCCC\n" },
	};
	struct sonde_report *report = sonde_report_new("names");
	struct sonde_table *table =
		sonde_report_table(report, "names", NULL, columns, 4);

	(void)state;
	sonde_table_minor(table, 1u << 1 | 1u << 2);
	sonde_table_row(table);
	sonde_table_text(table, 0, "n");
	sonde_table_uint(table, 1, 1);
	sonde_table_uint(table, 3, 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sonde_show show = { .width = cases[i].width };

		assert_shown(&show, report, cases[i].text);
	}
	sonde_report_free(report);
}

static void notes_are_broken_between_words_on_a_terminal_only(void **state)
{
	static const struct sonde_show narrow = { .width = 10 };
	struct sonde_report *report = sonde_report_new("notes");

	(void)state;
	sonde_report_note(report, "It took 12 \033 ms, %s.", "unbelievable");
	assert_shown(&narrow, report, "It took 12\n\\x1b ms,\nunbelievable.\n");
	assert_shown(&plain, report, "It took 12 \\x1b ms, unbelievable.\n");
	sonde_report_free(report);
}

static void columns_line_up_after_wide_and_combining_characters(void **state)
{
	static const struct sonde_column columns[] = {
		{ "name", "NAME", SONDE_CELL_TEXT },
		{ "n", "N", SONDE_CELL_COUNT },
	};
	struct sonde_report *report = sonde_report_new("names");
	struct sonde_table *table =
		sonde_report_table(report, "names", NULL, columns, 2);

	(void)state;
	sonde_table_row(table);
	sonde_table_text(table, 0, "\xe6\x97\xa5\xe6\x9c\xac"); /* 4 columns */
	sonde_table_uint(table, 1, 1);
	sonde_table_row(table);
	sonde_table_text(table, 0, "e\xcc\x81"); /* 1 column */
	sonde_table_uint(table, 1, 2);
	assert_shown(&plain, report,
		     "  NAME  N\n"
		     "  \xe6\x97\xa5\xe6\x9c\xac  1\n"
		     "  e\xcc\x81     2\n");
	sonde_report_free(report);
}

static void a_text_of_any_length_fits_its_cell(void **state)
{
	static const struct sonde_column column = { "name", "NAME",
						    SONDE_CELL_TEXT };
	struct sonde_report *report = sonde_report_new("names");
	struct sonde_table *table =
		sonde_report_table(report, "names", NULL, &column, 1);
	static char text[3000];
	struct sonde_show show = { .ascii = false };

	(void)state;
	for (size_t length = 500; length < 530; length++) {
		memset(text, 'x', length);
		sonde_table_row(table);
		sonde_table_textn(table, 0, text, length);
		memset(text, '\x1b', length);
		sonde_table_row(table);
		sonde_table_textn(table, 0, text, length);
	}
	for (int i = 0; i < 2; i++, show.ascii = true) {
		char *all = shown(&show, report);
		char *rest;

		for (char *line = strtok_r(all, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			assert_in_range(strlen(line), 1, 2 + 512 + 2);
		free(all);
	}
	sonde_report_free(report);
}

static void bars_are_on_a_log_scale_and_never_vanish(void **state)
{
	static const int64_t bounds[] = { 0, 1000, 2000, 4000, 8000, 16000 };
	static const uint64_t counts[] = { 0, 1, 0, 65535, 0 };
	struct sonde_report *report = sonde_report_new("waits");

	(void)state;
	sonde_report_histogram(report, "wait", "Waits", SONDE_CELL_DURATION,
			       bounds, counts, ARRAY_SIZE(counts));
	assert_shown(&plain, report,
		     "Waits (bars: log scale)\n"
		     "  1.00 us .. 2.00 us       1  ###\n"
		     "  2.00 us .. 4.00 us       0\n"
		     "  4.00 us .. 8.00 us  65,535  "
		     "########################################\n");
	assert_shown(&(struct sonde_show){ .width = 38 }, report,
		     "Waits (bars: log scale)\n"
		     "  1.00 us .. 2.00 us       1  \xe2\x96\x8c\n"
		     "  2.00 us .. 4.00 us       0\n"
		     "  4.00 us .. 8.00 us  65,535  "
		     "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
		     "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\n");
	sonde_report_free(report);
}

static void values_line_up_and_sections_are_apart(void **state)
{
	struct sonde_report *report = sonde_report_new("stat");

	(void)state;
	sonde_report_value(report, "events", "Events", SONDE_CELL_COUNT, 12345,
			   0, NULL);
	sonde_report_value(report, "host", "Host name", SONDE_CELL_TEXT, 0, 0,
			   "h\033[1m");
	sonde_report_note(report, "%d lines", 2);
	sonde_report_note(report, "of \"words\"");
	assert_shown(&plain, report,
		     "Events     12,345\n"
		     "Host name  h\\x1b[1m\n"
		     "\n"
		     "2 lines\n"
		     "of \"words\"\n");
	assert_shown(&as_json, report,
		     "{\"report\": \"stat\",\n"
		     " \"events\": 12345,\n"
		     " \"host\": \"h\\u001b[1m\",\n"
		     " \"notes\": [\n"
		     "  \"2 lines\",\n"
		     "  \"of \\\"words\\\"\"\n"
		     " ]}\n");
	sonde_report_free(report);
}

static void json_keys_end_in_units_and_unknowns_are_null(void **state)
{
	static const int64_t bounds[] = { 1, 2, 4 };
	static const uint64_t counts[] = { 3, 1 };
	struct sonde_report *report = sonde_report_new("locks");
	struct sonde_table *table = example_table(report);

	(void)state;
	sonde_table_limit(table, 2);
	sonde_report_histogram(report, "wait", "Waits", SONDE_CELL_DURATION,
			       bounds, counts, 2);
	sonde_report_value(report, "cpu", "CPU", SONDE_CELL_PERCENT, 0, 0.5,
			   NULL);
	sonde_report_value(report, "mean", "Mean", SONDE_CELL_NUMBER, 0,
			   (double)NAN, NULL);
	sonde_report_value(report, "at", "At", SONDE_CELL_HEX, 255, 0, NULL);
	assert_shown(&as_json, report,
		     "{\"report\": \"locks\",\n"
		     " \"locks\": [\n"
		     "  {\"lock\": \"a\", \"wait_ns\": 1500, \"calls\": "
		     "1234},\n"
		     "  {\"lock\": \"longer\", \"wait_ns\": 20, \"calls\": "
		     "null}\n"
		     " ],\n"
		     " \"locks_more\": 1,\n"
		     " \"wait\": {\"bounds_ns\": [1, 2, 4], \"counts\": [3, "
		     "1]},\n"
		     " \"cpu_percent\": 50,\n"
		     " \"mean\": null,\n"
		     " \"at\": \"0xff\"}\n");
	sonde_report_free(report);
}

static void empty_sections_say_so(void **state)
{
	static const int64_t bounds[] = { 1, 2, 4 };
	static const uint64_t counts[] = { 0, 0 };
	static const struct sonde_column column = { "a", "A",
						    SONDE_CELL_COUNT };
	struct sonde_report *report = sonde_report_new("nothing");

	(void)state;
	(void)sonde_report_table(report, "rows", "Rows", &column, 1);
	sonde_report_histogram(report, "h", "Waits", SONDE_CELL_DURATION,
			       bounds, counts, 2);
	assert_shown(&plain, report, "Rows\n  none\n\nWaits\n  none\n");
	sonde_report_free(report);
}

static void colour_is_reset_on_each_line(void **state)
{
	static const struct sonde_show coloured = { .colour = true };
	struct sonde_report *report = sonde_report_new("locks");
	char *rest;
	char *text;

	(void)state;
	(void)example_table(report);
	text = shown(&coloured, report);
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (strchr(line, '\033'))
			assert_string_equal(line + strlen(line) - 4, "\033[0m");
	free(text);
	sonde_report_free(report);
}

static void nothing_made_of_no_report_is_harmless(void **state)
{
	static const struct sonde_column column = { "a", "A",
						    SONDE_CELL_COUNT };

	(void)state;
	assert_null(sonde_report_table(NULL, "t", NULL, &column, 1));
	sonde_table_row(NULL);
	sonde_table_uint(NULL, 0, 1);
	sonde_table_sort(NULL, 0, false);
	sonde_report_note(NULL, "words");
	assert_int_equal(sonde_report_error(NULL), -ENOMEM);
	sonde_report_free(NULL);
}

static void a_full_disk_is_an_error(void **state)
{
	struct sonde_report *report = sonde_report_new("locks");
	FILE *to = fopen("/dev/full", "we");

	(void)state;
	if (!to)
		skip();
	(void)example_table(report);
	assert_int_equal(sonde_show_report(&plain, report, to), -ENOSPC);
	(void)fclose(to);
	sonde_report_free(report);
}

static void text_from_a_trace_cannot_command_the_terminal(void **state)
{
	static const struct {
		const char *text, *safe;
	} cases[] = {
		{ "plain \xc3\xa9", "plain \xc3\xa9" },
		{ "\033]0;title\a", "\\x1b]0;title\\x07" },
		{ "a\nb\tc\x7f", "a\\nb\\tc\\x7f" },
		{ "\xc2\x9b"
		  "1m",
		  "\\xc2\\x9b1m" }, /* CSI in one character */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" }, /* right to left */
		{ "\xc3", "\\xc3" },
		{ "\xc0\x80", "\\xc0\\x80" },          /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char safe[64];
		size_t length =
			sonde_show_safe(safe, sizeof(safe), cases[i].text,
					strlen(cases[i].text));

		assert_string_equal(safe, cases[i].safe);
		assert_int_equal(length, strlen(cases[i].safe));
	}
}

static void safe_text_is_cut_between_characters(void **state)
{
	char safe[8];

	(void)state;
	assert_int_equal(sonde_show_safe(safe, sizeof(safe),
					 "12345\xe2\x82\xac"
					 "6",
					 9),
			 9);
	assert_string_equal(safe, "12345");
	assert_int_equal(sonde_show_safe(NULL, 0, "abc", 3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			numbers_have_units_and_three_digits_that_count),
		cmocka_unit_test(doubles_have_units_too),
		cmocka_unit_test(times_are_local_times_of_day),
		cmocka_unit_test(what_is_not_known_is_a_dash),
		cmocka_unit_test(
			tables_are_aligned_text_left_and_numbers_right),
		cmocka_unit_test(sorting_is_stable_and_puts_empty_cells_last),
		cmocka_unit_test(a_narrow_terminal_costs_the_widest_text),
		cmocka_unit_test(
			a_narrow_terminal_costs_minor_columns_before_others),
		cmocka_unit_test(
			notes_are_broken_between_words_on_a_terminal_only),
		cmocka_unit_test(
			columns_line_up_after_wide_and_combining_characters),
		cmocka_unit_test(a_text_of_any_length_fits_its_cell),
		cmocka_unit_test(bars_are_on_a_log_scale_and_never_vanish),
		cmocka_unit_test(values_line_up_and_sections_are_apart),
		cmocka_unit_test(json_keys_end_in_units_and_unknowns_are_null),
		cmocka_unit_test(empty_sections_say_so),
		cmocka_unit_test(colour_is_reset_on_each_line),
		cmocka_unit_test(nothing_made_of_no_report_is_harmless),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(text_from_a_trace_cannot_command_the_terminal),
		cmocka_unit_test(safe_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
