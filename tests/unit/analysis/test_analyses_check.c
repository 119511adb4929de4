/* SPDX-License-Identifier: MIT */
/* sonde check's rules, and what sonde stat counts. */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "analysis/reports/reports.h"
#include "reader_traces.h"

static struct sonde_analysis_args args_of(struct sonde_trace *trace)
{
	struct sonde_analysis_args args = { .trace = trace };

	sonde_map_options_init(&args.map);
	args.map.threads = 2;
	return args;
}

/* The row of a table whose first cell is this, or NULL. */
static const struct sonde_cell_value *row(const struct sonde_report *report,
					  const char *table, const char *first)
{
	struct sonde_section section;

	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		if (strcmp(section.key, table) != 0)
			continue;
		for (size_t k = 0; k < section.nr_rows; k++) {
			const struct sonde_cell_value *cells =
				section.cells + k * section.nr_columns;

			if (!strcmp(cells[0].text, first))
				return cells;
		}
	}
	return NULL;
}

/* All of a report as text, for free(). */
static char *flatten(const struct sonde_report *report)
{
	struct sonde_section section;
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		size_t nr = section.nr_rows * section.nr_columns;

		(void)fprintf(to, "%s %" PRIu64 "\n",
			      section.key ? section.key : "-",
			      section.kind == SONDE_SECTION_VALUE &&
					      section.cell != SONDE_CELL_TEXT ?
				      section.value.u :
				      0);
		for (size_t k = 0; k < nr; k++) {
			const struct sonde_cell_value *cell = &section.cells[k];
			enum sonde_cell kind =
				section.columns[k % section.nr_columns].cell;

			if (cell->set && kind == SONDE_CELL_TEXT)
				(void)fprintf(to, " %s", cell->text);
			else if (cell->set)
				(void)fprintf(to, " %" PRIu64, cell->u);
		}
		(void)fprintf(to, "\n");
	}
	assert_int_equal(fclose(to), 0);
	return text;
}

/* ---- check ---- */

static void add_packet(struct made *file, uint64_t begin, uint64_t sequence)
{
	made_packet(file, &(struct made_head){ .begin = begin,
					       .end = begin + 50,
					       .sequence = sequence });
	made_number(file, begin + 1, 1);
	made_text(file, begin + 2, "text");
	made_packet_end(file, 3);
}

/* What is found in a file's trace: `count` times this rule, and no other. */
static void check_rule(struct made *file, const char *rule, uint64_t count)
{
	struct sonde_trace *trace = made_open(made_metadata, file, 1);
	struct sonde_analysis_args args = args_of(trace);
	struct sonde_report *report;
	const struct sonde_cell_value *cells;

	assert_int_equal(sonde_analysis_check.run(&args, &report), 0);
	cells = row(report, "rules", rule);
	assert_non_null(cells);
	assert_int_equal(cells[2].u, count);
	assert_int_equal(args.nr_errors + args.nr_warnings + args.nr_notes,
			 count);
	cells = row(report, "streams", "0");
	assert_non_null(cells);
	assert_int_equal(cells[3].u, args.nr_errors);
	assert_int_equal(cells[4].u, args.nr_warnings);
	assert_int_equal(cells[5].u, args.nr_notes);
	assert_string_equal(cells[6].text,
			    args.nr_errors   ? "unsound" :
			    args.nr_warnings ? "readable, with warnings" :
					       "sound");
	sonde_report_free(report);
	sonde_trace_close(trace);
	made_free(file);
}

static void a_sound_trace_breaks_no_rule(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 1);
	check_rule(&file, "head", 0);
}

static void damaged_heads_are_errors(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 1);
	made_spoil_u32(&file, MADE_MAGIC, 7);
	check_rule(&file, "head", 1);
	add_packet(&file, 100, 0);
	made_spoil_u64(&file, MADE_CONTENT, UINT64_MAX);
	/* nothing but a head: its content is cut to the packet */
	file.used = file.packet + MADE_HEAD_BYTES;
	made_spoil_u64(&file, MADE_SIZE, 8 * MADE_HEAD_BYTES);
	check_rule(&file, "head", 1);
}

static void damaged_events_are_errors(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	file.bytes[MADE_HEAD_BYTES] = 9; /* no such id */
	add_packet(&file, 200, 1);
	check_rule(&file, "events", 1);
	made_packet(&file, &(struct made_head){ .begin = 1, .end = 9 });
	made_text(&file, 5, "cut");
	file.used -= 1;
	made_packet_end(&file, 0);
	check_rule(&file, "events", 1);
}

static void a_cut_file_is_an_error(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 1);
	file.used -= 2;
	check_rule(&file, "whole", 1);
}

static void overlapping_packets_are_a_warning(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 149, 1);
	check_rule(&file, "overlap", 1);
}

static void an_end_before_the_begin_is_a_warning(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	made_spoil_u64(&file, MADE_END, 99);
	add_packet(&file, 200, 1);
	check_rule(&file, "growth", 1);
}

static void events_out_of_order_are_a_warning(void **state)
{
	struct made file = { 0 };

	(void)state;
	made_packet(&file, &(struct made_head){ .begin = 100, .end = 200 });
	made_number(&file, 120, 1);
	made_number(&file, 110, 2);
	made_number(&file, 130, 3);
	made_packet_end(&file, 0);
	check_rule(&file, "time-order", 1);
}

static void events_outside_of_their_packet_are_a_warning(void **state)
{
	struct made file = { 0 };

	(void)state;
	made_packet(&file, &(struct made_head){ .begin = 100, .end = 200 });
	made_number(&file, 99, 1);
	made_number(&file, 100, 1);
	made_number(&file, 200, 2);
	made_number(&file, 201, 3);
	made_packet_end(&file, 0);
	check_rule(&file, "time-span", 2);
}

static void strings_that_are_no_utf8_are_a_warning(void **state)
{
	static const char *const bad[] = {
		"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xff"
	};
	struct made file = { 0 };

	(void)state;
	made_packet(&file, &(struct made_head){ .begin = 100, .end = 200 });
	made_text(&file, 100, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		made_text(&file, 101 + i, bad[i]);
	made_packet_end(&file, 0);
	check_rule(&file, "text", 6);
}

static void losses_are_notes(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 4);
	check_rule(&file, "lost-packets", 3);
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 1);
	made_spoil_u64(&file, MADE_DISCARDED, 5);
	check_rule(&file, "lost-events", 5);
}

/* ---- stat ---- */

static void events_are_counted_by_name_and_stream(void **state)
{
	struct made files[2] = { { 0 }, { 0 } };
	struct sonde_trace *trace;
	struct sonde_analysis_args args;
	struct sonde_report *report;
	const struct sonde_cell_value *cells;

	(void)state;
	add_packet(&files[0], 100, 0);
	add_packet(&files[0], 200, 1);
	add_packet(&files[1], 100, 0);
	trace = made_open(made_metadata, files, 2);
	args = args_of(trace);
	assert_int_equal(sonde_analysis_stat.run(&args, &report), 0);
	cells = row(report, "events", "number");
	assert_non_null(cells);
	assert_int_equal(cells[1].u, 3);
	assert_int_equal(cells[4].i, 3 * 14);
	cells = row(report, "events", "text");
	assert_non_null(cells);
	assert_int_equal(cells[1].u, 3);
	assert_int_equal(cells[4].i, 3 * 15);
	cells = row(report, "streams", "0");
	assert_non_null(cells);
	assert_int_equal(cells[2].u, 2);
	assert_int_equal(cells[4].u, 4);
	sonde_report_free(report);
	sonde_trace_close(trace);
	made_free(&files[0]);
	made_free(&files[1]);
}

static void losses_are_shown_as_spans_of_time(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;
	struct sonde_analysis_args args;
	struct sonde_report *report;
	struct sonde_section section;
	size_t i = 0;

	(void)state;
	add_packet(&file, 100, 0);
	add_packet(&file, 200, 1);
	made_spoil_u64(&file, MADE_DISCARDED, 5);
	trace = made_open(made_metadata, &file, 1);
	args = args_of(trace);
	assert_int_equal(sonde_analysis_stat.run(&args, &report), 0);
	do
		assert_true(sonde_report_section(report, i++, &section));
	while (strcmp(section.key, "losses") != 0);
	assert_int_equal(section.nr_rows, 1);
	assert_int_equal(section.cells[0].i, 150);
	assert_int_equal(section.cells[1].i, 250);
	assert_int_equal(section.cells[2].u, 5);
	assert_false(section.cells[3].set);
	sonde_report_free(report);
	/* before the loss */
	args.map.to_ns = 120;
	assert_int_equal(sonde_analysis_stat.run(&args, &report), 0);
	assert_true(sonde_report_section(report, i - 1, &section));
	assert_int_equal(section.nr_rows, 0);
	sonde_report_free(report);
	sonde_trace_close(trace);
	made_free(&file);
}

/* ---- slices ---- */

static char *flat_check(struct sonde_analysis_args *args)
{
	struct sonde_report *report;
	char *text;

	assert_int_equal(sonde_analysis_check.run(args, &report), 0);
	text = flatten(report);
	sonde_report_free(report);
	return text;
}

static char *flat_stat(struct sonde_analysis_args *args)
{
	struct sonde_report *report;
	char *text;

	args->verbose = true;
	assert_int_equal(sonde_analysis_stat.run(args, &report), 0);
	text = flatten(report);
	sonde_report_free(report);
	return text;
}

static void one_slice_and_many_give_the_same(void **state)
{
	char *(*const reports[])(struct sonde_analysis_args *) = { flat_check,
								   flat_stat };
	struct made files[2] = { { 0 }, { 0 } };
	struct sonde_trace *trace;

	(void)state;
	for (uint32_t i = 0; i < 50; i++)
		for (size_t k = 0; k < 2; k++) {
			add_packet(&files[k], 100 * i + 30 * k, i);
			if (i % 7 == k) /* an event out of order, and span */
				files[k].bytes[files[k].packet +
					       MADE_HEAD_BYTES + 3] ^= 0x80;
		}
	trace = made_open(made_metadata, files, 2);
	for (size_t i = 0; i < 2; i++) {
		struct sonde_analysis_args args = args_of(trace);
		char *whole;
		char *sliced;

		args.limit = 1000;
		args.map.slice_bytes = UINT64_MAX;
		whole = reports[i](&args);
		args.map.slice_bytes = 1;
		sliced = reports[i](&args);
		assert_string_equal(whole, sliced);
		free(whole);
		free(sliced);
	}
	sonde_trace_close(trace);
	made_free(&files[0]);
	made_free(&files[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_trace_breaks_no_rule),
		cmocka_unit_test(damaged_heads_are_errors),
		cmocka_unit_test(damaged_events_are_errors),
		cmocka_unit_test(a_cut_file_is_an_error),
		cmocka_unit_test(overlapping_packets_are_a_warning),
		cmocka_unit_test(an_end_before_the_begin_is_a_warning),
		cmocka_unit_test(events_out_of_order_are_a_warning),
		cmocka_unit_test(events_outside_of_their_packet_are_a_warning),
		cmocka_unit_test(strings_that_are_no_utf8_are_a_warning),
		cmocka_unit_test(losses_are_notes),
		cmocka_unit_test(events_are_counted_by_name_and_stream),
		cmocka_unit_test(losses_are_shown_as_spans_of_time),
		cmocka_unit_test(one_slice_and_many_give_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
