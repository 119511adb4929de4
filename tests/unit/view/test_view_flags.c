/* SPDX-License-Identifier: MIT */
/* test_view_flags.c - enumerations whose labels are of bits, in each style. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "reader/reader.h"
#include "reader_traces.h"
#include "view/text/fields.h"

/* clang-format off */
#define U32  "integer { size = 32; }"
#define S32  "integer { size = 32; signed = true; }"
#define U64  "integer { size = 64; }"
#define HEX  "integer { size = 32; base = 16; }"
#define OPEN "O_RDONLY = 0, O_WRONLY = 1, O_RDWR = 2, O_CREAT = 64, " \
	     "O_TRUNC = 512, O_CLOEXEC = 524288"
/* clang-format on */

static struct sonde_trace *open_trace(const char *type, const char *labels,
				      uint64_t value)
{
	struct made file = { 0 };
	struct sonde_trace *trace;
	char metadata[4096];

	(void)snprintf(metadata, sizeof(metadata),
		       "%s" MADE_CLOCK MADE_STREAM_CLASS("")
			       MADE_EVENT("e", 0, "enum : %s { %s } f;"),
		       made_metadata_before_clock, type, labels);
	made_packet(&file, &(struct made_head){ .begin = 10, .end = 20 });
	made_u16(&file, 0);
	made_u64(&file, 11);
	made_u64(&file, value);
	made_packet_end(&file, 0);
	trace = made_open(metadata, &file, 1);
	made_free(&file);
	return trace;
}

/* A value of an enumeration of that type and those labels is written so. */
static void assert_shown(enum sonde_style style, const char *type,
			 const char *labels, uint64_t value,
			 const char *expected)
{
	struct sonde_trace *trace = open_trace(type, labels, value);
	struct sonde_cursor_options options;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;
	const struct sonde_shape *shape;
	struct sonde_writer writer;
	struct sonde_buffer buffer;
	struct sonde_pool pool;
	int err;

	sonde_pool_init(&pool, 0);
	sonde_cursor_options_init(&options);
	assert_int_equal(sonde_cursor_new(trace, &options, &cursor), 0);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(sonde_buffer_init(&buffer), 0);
	sonde_writer_init(&writer, style, false);
	shape = sonde_shape_new(&writer, event->cls, SONDE_SCOPE_PAYLOAD, NULL,
				&pool, &err);
	assert_non_null(shape);
	sonde_shape_put(&writer, shape, event, SONDE_SCOPE_PAYLOAD, true,
			&buffer);
	sonde_buffer_room(&buffer, 1);
	sonde_put_char(&buffer, 0);
	assert_string_equal(buffer.text, expected);
	sonde_buffer_fini(&buffer);
	sonde_pool_fini(&pool);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

static void bits_are_joined_in_text(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_PLAIN, U32, OPEN, 64 | 524288,
		     "f = O_CREAT | O_CLOEXEC");
	assert_shown(SONDE_STYLE_PLAIN, U32, OPEN, 512, "f = O_TRUNC");
}

static void zero_has_its_own_label_or_is_a_number(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_PLAIN, U32, OPEN, 0, "f = O_RDONLY");
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 4, B = 8", 0, "f = 0");
	assert_shown(SONDE_STYLE_JSON, U32, OPEN, 0,
		     "\"f\": {\"value\": 0, \"labels\": [\"O_RDONLY\"]}");
	assert_shown(SONDE_STYLE_JSON, U32, "A = 4, B = 8", 0,
		     "\"f\": {\"value\": 0, \"labels\": []}");
}

static void bits_without_a_label_are_left_in_hexadecimal(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_PLAIN, U32, OPEN, 1 | 0x80 | 0x2000,
		     "f = O_WRONLY | 0x2080");
	assert_shown(SONDE_STYLE_PLAIN, U32, OPEN, 0x2080, "f = 8320");
	assert_shown(SONDE_STYLE_PLAIN, HEX, OPEN, 0x2080, "f = 0x2080");
}

static void json_has_a_list_of_labels(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_JSON, U32, OPEN, 1 | 64 | 0x80,
		     "\"f\": {\"value\": 193, \"labels\": "
		     "[\"O_WRONLY\", \"O_CREAT\"]}");
}

static void the_highest_bit_may_be_a_sign(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_PLAIN, S32, "A = 4, TOP = -2147483648",
		     0x80000004, "f = A | TOP");
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 4, TOP = 0x80000000",
		     0x80000004, "f = A | TOP");
	assert_shown(SONDE_STYLE_PLAIN, U64, "A = 4, TOP = 0x8000000000000000",
		     0x8000000000000004, "f = A | TOP");
	assert_shown(SONDE_STYLE_PLAIN, S32, OPEN, 0xffffffff,
		     "f = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | "
		     "0xfff7fdbc");
}

static void labels_that_count_are_not_combined(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 0, B = 1, C = 2", 3, "f = 3");
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 4", 5, "f = 5");
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 1, B = 2, C = 3, D = 4", 5,
		     "f = 5");
	assert_shown(SONDE_STYLE_PLAIN, U32, "A = 4 ... 4, B = 8 ... 9", 12,
		     "f = 12");
	assert_shown(SONDE_STYLE_JSON, U32, "A = 0, B = 1, C = 2", 3,
		     "\"f\": {\"value\": 3, \"label\": null}");
}

static void babeltrace_output_stays_what_it_is(void **state)
{
	(void)state;
	assert_shown(SONDE_STYLE_BABELTRACE, U32, OPEN, 64 | 524288,
		     " f = ( <unknown> : container = 524352 )");
	assert_shown(SONDE_STYLE_BABELTRACE, U32, OPEN, 64,
		     " f = ( \"O_CREAT\" : container = 64 )");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits_are_joined_in_text),
		cmocka_unit_test(zero_has_its_own_label_or_is_a_number),
		cmocka_unit_test(bits_without_a_label_are_left_in_hexadecimal),
		cmocka_unit_test(json_has_a_list_of_labels),
		cmocka_unit_test(the_highest_bit_may_be_a_sign),
		cmocka_unit_test(labels_that_count_are_not_combined),
		cmocka_unit_test(babeltrace_output_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
