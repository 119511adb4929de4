/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Marks: what a line says, that its words and its bytes are the same whoever takes
 * it, and that no line is refused by the table of kinds.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/marks/table.h"
#include "types/desc.h"

static struct sonde_marks_line mark;

static const char *parse(const char *line)
{
	return sonde_marks_parse(&mark, line, strlen(line));
}

static void check_text(uint32_t i, const char *name, const char *text)
{
	assert_true(i < mark.nr);
	assert_int_equal(mark.fields[i].kind, SONDE_MARK_STRING);
	assert_string_equal(mark.fields[i].name, name);
	assert_string_equal(mark.fields[i].text, text);
}

static void check_integer(uint32_t i, uint64_t number, uint32_t flags)
{
	assert_true(i < mark.nr);
	assert_int_equal(mark.fields[i].kind, SONDE_MARK_INTEGER);
	assert_int_equal(mark.fields[i].number, number);
	assert_int_equal(mark.fields[i].flags, flags);
}

static void a_line_has_a_level_a_name_and_fields(void **state)
{
	(void)state;
	assert_null(parse("<3>job:done  code=-7\twho=Ada \n\n"));
	assert_string_equal(mark.provider, "job");
	assert_string_equal(mark.name, "done");
	assert_int_equal(mark.level, 3);
	assert_int_equal(mark.nr, 2);
	check_integer(0, (uint64_t)-7, SONDE_FIELD_SIGNED);
	check_text(1, "who", "Ada");
	assert_null(parse("plain"));
	assert_string_equal(mark.provider, "mark");
	assert_string_equal(mark.name, "plain");
	assert_int_equal(mark.level, SONDE_INFO);
	assert_int_equal(mark.nr, 0);
}

static void numbers_are_told_from_texts(void **state)
{
	(void)state;
	assert_null(parse("x a=18446744073709551615 b=-9223372036854775808 "
			  "c=0xff d=2.5 e=1e-3 f=1.2.3 g=18446744073709551616 "
			  "h= i=\"7\" j=a=b k=0x1p3"));
	check_integer(0, UINT64_MAX, 0);
	check_integer(1, UINT64_C(1) << 63, SONDE_FIELD_SIGNED);
	check_integer(2, 255, SONDE_FIELD_HEX);
	assert_int_equal(mark.fields[3].kind, SONDE_MARK_REAL);
	assert_true(mark.fields[3].real == 2.5);
	assert_int_equal(mark.fields[4].kind, SONDE_MARK_REAL);
	check_text(5, "f", "1.2.3");
	check_text(6, "g", "18446744073709551616");
	check_text(7, "h", "");
	check_text(8, "i", "7");
	check_text(9, "j", "a=b");
	check_text(10, "k", "0x1p3");
}

static void a_text_in_quotes_is_what_it_stands_for(void **state)
{
	(void)state;
	assert_null(parse("x a=\"b c=d\" e=\"\\\"\\\\\\n\\t\" f=\"\" g=h\"i"));
	check_text(0, "a", "b c=d");
	check_text(1, "e", "\"\\\n\t");
	check_text(2, "f", "");
	check_text(3, "g", "h\"i");
}

static void words_that_are_no_mark_are_told(void **state)
{
	static const char *const lines[] = { "",
					     "<3>",
					     "hello world",
					     "x =1",
					     "x 1=1",
					     "x a=1 a=2",
					     "a:",
					     ":a",
					     "a:b:c",
					     "sonde:thread",
					     "kgdb:x",
					     "x a=\"b",
					     "x a=\"b\"c=1",
					     "x a=\"\\q\"",
					     "<15>x",
					     "a-b",
					     "x a=\"b\\" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(parse(lines[i]));
}

static void a_line_ends_at_its_first_nul(void **state)
{
	(void)state;
	assert_null(sonde_marks_parse(&mark, "x a=1\0 b=2", 11));
	assert_int_equal(mark.nr, 1);
}

static void fields_are_as_many_as_a_description_holds(void **state)
{
	char line[16 * SONDE_FIELDS_MAX];
	size_t used = 1;

	(void)state;
	line[0] = 'x';
	for (unsigned int i = 0; i < SONDE_FIELDS_MAX; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used,
					 " f%u=%u", i, i);
	assert_null(parse(line));
	assert_int_equal(mark.nr, SONDE_FIELDS_MAX);
	(void)snprintf(line + used, sizeof(line) - used, " g=1");
	assert_non_null(parse(line));
}

static void a_written_line_says_the_same(void **state)
{
	static const char line[] = "<4>a:b t=\"x \\\"y\\\"\\n\\\\\" n=-7 "
				   "h=0xff r=2.5 e=\"\"";
	uint8_t first[SONDE_MARK_PAYLOAD_MAX];
	uint8_t second[SONDE_MARK_PAYLOAD_MAX];
	char words[256];
	size_t size;

	(void)state;
	assert_null(parse(line));
	size = sonde_marks_put_payload(&mark, first);
	assert_int_equal(sonde_marks_write(&mark, words, sizeof(words)),
			 strlen(line) + 1);
	assert_memory_equal(words, line, strlen(line));
	assert_null(parse(words));
	assert_int_equal(sonde_marks_put_payload(&mark, second), size);
	assert_memory_equal(first, second, size);
	assert_int_equal(sonde_marks_write(&mark, words, strlen(line) + 1), 0);
	assert_int_equal(sonde_marks_write(&mark, words, strlen(line) + 2),
			 strlen(line) + 1);
}

/* ---- kinds ---- */

static struct sonde_marks *marks;
static struct sonde_marks_taken taken;

static uint32_t take(const char *line)
{
	assert_int_equal(sonde_marks_take(marks, line, strlen(line), &taken),
			 0);
	assert_true(taken.kind < sonde_marks_nr(marks));
	return taken.kind;
}

static int open_marks(void **state)
{
	(void)state;
	marks = sonde_marks_new(true);
	return !marks;
}

static int close_marks(void **state)
{
	(void)state;
	sonde_marks_free(marks);
	return 0;
}

static void what_is_described_alike_is_of_one_kind(void **state)
{
	uint32_t kind = take("job:done code=1");

	(void)state;
	assert_int_equal(take("job:done code=2"), kind);
	assert_int_not_equal(take("job:done code=two"), kind);
	assert_int_not_equal(take("<3>job:done code=1"), kind);
	assert_int_not_equal(take("job:gone code=1"), kind);
	assert_int_equal(sonde_marks_nr(marks), 4);
	/* As the kernel's trace has names. */
	assert_string_equal(sonde_desc_name(sonde_marks_desc(marks, kind)),
			    "job:done");
}

static void what_is_no_mark_is_a_text(void **state)
{
	const struct sonde_desc *desc;

	(void)state;
	desc = sonde_marks_desc(marks, take("hello world\n"));
	assert_string_equal(sonde_desc_name(desc), "mark:line");
	assert_int_equal(taken.size, sizeof("hello world"));
	assert_string_equal((const char *)taken.payload, "hello world");
	desc = sonde_marks_desc(marks, take("<2>sonde:thread tid=1"));
	assert_string_equal(sonde_desc_name(desc), "mark:line");
	assert_string_equal((const char *)taken.payload, "sonde:thread tid=1");
	assert_int_equal(sonde_desc_loglevel(desc), 2);
}

static uint64_t loss_of(const char *line)
{
	(void)take(line);
	return taken.loss;
}

static void a_line_says_how_many_are_lost(void **state)
{
	(void)state;
	assert_int_equal(loss_of("<4>sonde_mark:lost events=3"), 3);
	assert_int_equal(loss_of("sonde_mark:lost why=full events=0x10"), 16);
	assert_int_equal(loss_of("sonde_mark:lost events=18446744073709551615"),
			 UINT32_MAX);
	assert_int_equal(loss_of("sonde_mark:lost events=-1"), 0);
	assert_int_equal(loss_of("sonde_mark:lost events=2.5"), 0);
	assert_int_equal(loss_of("sonde_mark:lost events=\"3\""), 0);
	assert_int_equal(loss_of("sonde_mark:lost"), 0);
	assert_int_equal(loss_of("sonde_mark:lost events=1 events=2"), 0);
	assert_int_equal(loss_of("mark:lost events=3"), 0);
	assert_int_equal(loss_of("sonde_mark:found events=3"), 0);
}

static void of_too_many_kinds_the_text_is_kept(void **state)
{
	const struct sonde_desc *desc;
	char line[32];

	(void)state;
	for (uint32_t i = 0; i < SONDE_MARKS_MAX; i++) {
		(void)snprintf(line, sizeof(line), "m%u", i);
		assert_int_equal(take(line), i);
	}
	for (uint32_t level = 0; level < SONDE_LEVELS; level++) {
		(void)snprintf(line, sizeof(line), "<%u>new n=1", level);
		desc = sonde_marks_desc(marks, take(line));
		assert_string_equal(sonde_desc_name(desc), "mark:line");
		assert_string_equal((const char *)taken.payload, "new n=1");
	}
	assert_int_equal(loss_of("sonde_mark:lost events=3"), 3);
	assert_int_equal(take("m7"), 7);
}

static void a_name_that_no_description_holds_is_a_text(void **state)
{
	char line[2 * SONDE_NAME_MAX];

	(void)state;
	memset(line, 'a', sizeof(line));
	line[200] = ':';
	line[450] = '\0';
	assert_string_equal(
		sonde_desc_name(sonde_marks_desc(marks, take(line))),
		"mark:line");
}

static void a_line_that_is_too_long_is_cut(void **state)
{
	static char line[2 * SONDE_MARK_MAX];

	(void)state;
	memset(line, '-', sizeof(line) - 1);
	(void)take(line);
	assert_int_equal(taken.size, SONDE_MARK_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_a_level_a_name_and_fields),
		cmocka_unit_test(numbers_are_told_from_texts),
		cmocka_unit_test(a_text_in_quotes_is_what_it_stands_for),
		cmocka_unit_test(words_that_are_no_mark_are_told),
		cmocka_unit_test(a_line_ends_at_its_first_nul),
		cmocka_unit_test(fields_are_as_many_as_a_description_holds),
		cmocka_unit_test(a_written_line_says_the_same),
		cmocka_unit_test_setup_teardown(
			what_is_described_alike_is_of_one_kind, open_marks,
			close_marks),
		cmocka_unit_test_setup_teardown(what_is_no_mark_is_a_text,
						open_marks, close_marks),
		cmocka_unit_test_setup_teardown(a_line_says_how_many_are_lost,
						open_marks, close_marks),
		cmocka_unit_test_setup_teardown(
			of_too_many_kinds_the_text_is_kept, open_marks,
			close_marks),
		cmocka_unit_test_setup_teardown(
			a_name_that_no_description_holds_is_a_text, open_marks,
			close_marks),
		cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_cut,
						open_marks, close_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
