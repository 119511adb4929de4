/* SPDX-License-Identifier: MIT */
/* test_report_wire.c - analysis/report_wire.h: a report that went as bytes is shown as
 * the one that was sent; bytes that were changed are refused, or are another
 * report's only form. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report_wire.h"
#include "base/sum.h"
#include "view/text/show.h"

/* One of each cell, and cells that aren't known. */
static void put_all_cells(struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "text", "TEXT", SONDE_CELL_TEXT },
		{ "count", "COUNT", SONDE_CELL_COUNT },
		{ "int", "INT", SONDE_CELL_INT },
		{ "hex", "HEX", SONDE_CELL_HEX },
		{ "bytes", "BYTES", SONDE_CELL_BYTES },
		{ "duration", "DURATION", SONDE_CELL_DURATION },
		{ "time", "TIME", SONDE_CELL_TIME },
		{ "rate", "RATE", SONDE_CELL_RATE },
		{ "percent", "PERCENT", SONDE_CELL_PERCENT },
		{ "number", "NUMBER", SONDE_CELL_NUMBER },
	};
	struct sonde_table *table =
		sonde_report_table(report, "all", "Title", columns, 10);

	sonde_table_minor(table, 1u << 3 | 1u << 9);
	sonde_table_row(table);
	sonde_table_text(table, 0, "caf\xc3\xa9 \x1b[31m");
	sonde_table_uint(table, 1, UINT64_MAX);
	sonde_table_int(table, 2, INT64_MIN);
	sonde_table_uint(table, 3, 0x7f00);
	sonde_table_int(table, 4, 4096);
	sonde_table_int(table, 5, -1);
	sonde_table_int(table, 6, 1700000000000000000);
	sonde_table_double(table, 7, 0.1);
	sonde_table_share(table, 8, 1, 3);
	sonde_table_double(table, 9, -0.0);
	sonde_table_row(table);
	sonde_table_text(table, 0, "");
	sonde_table_more(table, 7);
}

static struct sonde_report *all_kinds(void)
{
	static const int64_t bounds[] = { 0, 10, 100, 1000 };
	static const uint64_t counts[] = { 1, 0, 1000000 };
	static const struct sonde_column one[] = { { "a", "A",
						     SONDE_CELL_INT } };
	struct sonde_report *report = sonde_report_new("kinds");

	sonde_report_note(report, "A sentence of %d words.", 5);
	put_all_cells(report);
	(void)sonde_report_table(report, "empty", NULL, one, 1);
	sonde_report_value(report, "n", "Number", SONDE_CELL_COUNT, 5, 0, NULL);
	sonde_report_value(report, "r", "Real", SONDE_CELL_RATE, 0, 2.5, NULL);
	sonde_report_value(report, "t", "Text", SONDE_CELL_TEXT, 0, 0, "x");
	sonde_report_value(report, "u", "No text", SONDE_CELL_TEXT, 0, 0, NULL);
	sonde_report_histogram(report, "h", "Histogram", SONDE_CELL_DURATION,
			       bounds, counts, 3);
	sonde_report_histogram(report, "e", NULL, SONDE_CELL_BYTES, bounds,
			       counts, 0);
	assert_int_equal(sonde_report_error(report), 0);
	return report;
}

struct packed {
	void *bytes;
	size_t size;
};

static struct packed pack(const struct sonde_report_item *items, size_t nr)
{
	struct packed packed;

	assert_int_equal(
		sonde_report_pack(items, nr, &packed.bytes, &packed.size), 0);
	return packed;
}

/* A machine with all that there can be, and one without a report. */
static struct packed two_machines(void)
{
	struct sonde_report_item items[] = { { "web-1", all_kinds() },
					     { "", NULL } };
	struct packed packed = pack(items, 2);

	sonde_report_free(items[0].report);
	return packed;
}

static char *shown(const struct sonde_report *report, bool json)
{
	struct sonde_show show = { .json = json };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(sonde_show_report(&show, report, to), 0);
	(void)fclose(to);
	return text;
}

static void assert_shown_alike(const struct sonde_report *a,
			       const struct sonde_report *b, bool json)
{
	char *text_a = shown(a, json);
	char *text_b = shown(b, json);

	assert_string_equal(text_a, text_b);
	free(text_a);
	free(text_b);
}

static void a_report_arrives_as_it_was_sent(void **state)
{
	struct sonde_report *report = all_kinds();
	struct packed packed = two_machines();
	struct sonde_report_item *items;
	size_t nr;

	(void)state;
	assert_int_equal(
		sonde_report_unpack(packed.bytes, packed.size, &items, &nr), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(items[0].name, "web-1");
	assert_string_equal(items[1].name, "");
	assert_null(items[1].report);
	assert_shown_alike(items[0].report, report, false);
	assert_shown_alike(items[0].report, report, true);
	sonde_report_unpacked_free(items, nr);
	sonde_report_free(report);
	free(packed.bytes);
}

/* Whether they are taken; then they are written again to the same bytes. */
static bool is_taken(const void *bytes, size_t size)
{
	struct sonde_report_item *items;
	struct packed again;
	size_t nr;
	int err = sonde_report_unpack(bytes, size, &items, &nr);

	if (err) {
		assert_int_equal(err, -EINVAL);
		return false;
	}
	again = pack(items, nr);
	assert_int_equal(again.size, size);
	assert_memory_equal(again.bytes, bytes, size);
	free(again.bytes);
	sonde_report_unpacked_free(items, nr);
	return true;
}

/* A copy whose sum is right; it ends where its memory does. */
static unsigned char *with_sum(const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size);
	uint64_t sum = sonde_sum(bytes, size - 8);

	assert_non_null(copy);
	memcpy(copy, bytes, size - 8);
	for (unsigned int i = 0; i < 8; i++)
		copy[size - 8 + i] = (unsigned char)(sum >> 8 * i);
	return copy;
}

static void what_is_cut_is_refused(void **state)
{
	struct packed packed = two_machines();

	(void)state;
	assert_true(is_taken(packed.bytes, packed.size));
	for (size_t size = 0; size < packed.size; size++)
		assert_false(is_taken(packed.bytes, size));
	for (size_t size = 24; size < packed.size; size++) {
		unsigned char *cut = with_sum(packed.bytes, size);

		assert_false(is_taken(cut, size));
		free(cut);
	}
	free(packed.bytes);
}

static void a_byte_that_was_changed_is_noticed(void **state)
{
	struct packed packed = two_machines();
	unsigned char *bytes = packed.bytes;

	(void)state;
	for (size_t i = 0; i < packed.size; i++) {
		bytes[i] ^= 1;
		assert_false(is_taken(bytes, packed.size));
		bytes[i] ^= 1;
	}
	free(bytes);
}

/* Whoever means harm makes the sum right. */
static void a_lie_is_refused_or_a_report(void **state)
{
	static const unsigned char lies[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
	struct packed packed = two_machines();
	unsigned char *bytes = packed.bytes;
	size_t nr_refused = 0;

	(void)state;
	for (size_t i = 0; i < packed.size - 8; i++) {
		unsigned char was = bytes[i];

		for (size_t k = 0; k < sizeof(lies); k++) {
			unsigned char *lie;

			bytes[i] = lies[k];
			lie = with_sum(bytes, packed.size);
			nr_refused += !is_taken(lie, packed.size);
			free(lie);
		}
		bytes[i] = was;
	}
	/* each count's seven high bytes, at least */
	assert_true(nr_refused > packed.size);
	free(bytes);
}

static void what_is_too_large_is_not_sent(void **state)
{
	static const struct sonde_column columns[] = {
		{ "a", "A", SONDE_CELL_INT },
		{ "b", "B", SONDE_CELL_INT },
	};
	struct sonde_report *report = sonde_report_new("large");
	struct sonde_table *table =
		sonde_report_table(report, "t", NULL, columns, 2);
	const struct sonde_report_item item = { "a", report };
	struct packed packed;

	(void)state;
	for (uint64_t i = 0; i < SONDE_REPORT_WIRE_CELLS / 2; i++)
		sonde_table_row(table);
	packed = pack(&item, 1);
	assert_true(is_taken(packed.bytes, packed.size));
	free(packed.bytes);
	sonde_table_row(table);
	assert_int_equal(sonde_report_pack(&item, 1, &packed.bytes,
					   &packed.size),
			 -E2BIG);
	sonde_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_arrives_as_it_was_sent),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(a_byte_that_was_changed_is_noticed),
		cmocka_unit_test(a_lie_is_refused_or_a_report),
		cmocka_unit_test(what_is_too_large_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
