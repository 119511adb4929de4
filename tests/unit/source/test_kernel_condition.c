/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_condition.c - conditions over payloads: what a condition says at
 * recording is what the same text says of the recorded event when the trace is
 * read; what is no whole payload is refused without being read beyond.
 *
 * The metadata of the traces are made from the descriptions by those who make
 * them for real traces, so that names and types are what readers see.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/port.h"
#include "ctf/fields.h"
#include "expr/program.h"
#include "random.h"
#include "reader/reader.h"
#include "reader_traces.h"
#include "source/condition.h"
#include "types/build.h"
#include "types/desc.h"
#include "unit.h"

#define RECORDS 40
#define ROUNDS  3000
#define CPU     3u

/* ---- descriptions ---- */

static const struct sonde_build_label labels[] = {
	{ 1, 1, "one" },
	{ 3, 90, "some" },
	{ 200, 220, "some" },
};

struct event {
	const struct sonde_desc *desc;
	/* what conditions may name */
	const char *const *numbers;
	const char *const *enums;
	const char *const *texts;
};

/* A number that was described last becomes a floating point number, which
 * build.h has no function for. */
static void make_float(struct sonde_build *build, const char *name,
		       uint8_t bits)
{
	size_t at = build->used;

	sonde_build_int(build, name, bits, 0);
	build->room[at + offsetof(struct sonde_desc_field, kind)] =
		SONDE_TYPE_FLOAT;
}

static const struct event *fixed_event(void)
{
	static const char *const numbers[] = {
		"u8",    "i16",         "net32",  "net_s16", "i64",      "u64",
		"flag",  "single",      "twice",  "list[0]", "list[2]",  "tid",
		"cpu",   "$tid",        "cpu_id", "$cpu",    "$ctx.tid", "kind",
		"skind", "$payload.u8", NULL
	};
	static const char *const enums[] = { "kind", "skind", NULL };
	static const char *const texts[] = { "comm",   "letters",       "event",
					     "$event", "$payload.comm", NULL };
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	static struct event event = {
		.numbers = numbers,
		.enums = enums,
		.texts = texts,
	};
	struct sonde_build build;

	sonde_build_begin(&build, room, "test", "fixed", SONDE_INFO);
	sonde_build_int(&build, "u8", 8, 0);
	sonde_build_int(&build, "i16", 16, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "net32", 32, SONDE_FIELD_NETWORK);
	sonde_build_int(&build, "net_s16", 16,
			SONDE_FIELD_NETWORK | SONDE_FIELD_SIGNED);
	sonde_build_text(&build, "comm", 16);
	sonde_build_int(&build, "i64", 64, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "u64", 64, SONDE_FIELD_HEX);
	sonde_build_int(&build, "flag", 8, SONDE_FIELD_BOOL);
	make_float(&build, "single", 32);
	make_float(&build, "twice", 64);
	sonde_build_array(&build, "list", 3, 16, SONDE_FIELD_SIGNED);
	sonde_build_array(&build, "letters", 5, 8, SONDE_FIELD_CHAR);
	sonde_build_enum(&build, "kind", 8, 0, labels,
			 SONDE_ARRAY_SIZE(labels));
	sonde_build_enum(&build, "skind", 16,
			 SONDE_FIELD_SIGNED | SONDE_FIELD_NETWORK, labels,
			 SONDE_ARRAY_SIZE(labels));
	assert_int_equal(sonde_build_end(&build), 0);
	event.desc = (const struct sonde_desc *)room;
	return &event;
}

static const char *const varying_numbers[] = { "u8",
					       "tid",
					       "$tid",
					       "$payload.tid",
					       "cpu",
					       "$cpu",
					       "mid",
					       "_numbers_length",
					       "numbers[0]",
					       "numbers[2]",
					       "numbers[70000]",
					       "after",
					       "_blob_length",
					       "blob[1]",
					       "hex[0]",
					       "last",
					       "kind",
					       "x",
					       "x_2",
					       "single",
					       "list[1]",
					       NULL };
static const char *const varying_enums[] = { "kind", NULL };
static const char *const varying_texts[] = {
	"name",  "path", "comm", "letters", "$payload.event",
	"event", "blob", "hex",  NULL
};

/* Fields behind others of varying length, lists, and names that `tid`, `cpu`
 * and `event` have to share. */
static const struct event *varying_event(void)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	static struct event event = {
		.numbers = varying_numbers,
		.enums = varying_enums,
		.texts = varying_texts,
	};
	struct sonde_build build;

	sonde_build_begin(&build, room, "test", "varying", SONDE_INFO);
	sonde_build_int(&build, "u8", 8, 0);
	sonde_build_string(&build, "name");
	sonde_build_int(&build, "mid", 32, SONDE_FIELD_SIGNED);
	sonde_build_sequence(&build, "numbers", 16, SONDE_FIELD_NETWORK);
	sonde_build_int(&build, "tid", 16, 0);
	sonde_build_string(&build, "path");
	sonde_build_text(&build, "comm", 6);
	sonde_build_blob(&build, "blob");
	sonde_build_array(&build, "list", 3, 8, 0);
	sonde_build_array(&build, "cpu", 2, 8, 0);
	sonde_build_enum(&build, "kind", 16, SONDE_FIELD_SIGNED, labels,
			 SONDE_ARRAY_SIZE(labels));
	sonde_build_sequence(&build, "letters", 8, SONDE_FIELD_CHAR);
	make_float(&build, "single", 32);
	sonde_build_string(&build, "event");
	sonde_build_sequence(&build, "hex", 8, SONDE_FIELD_HEX);
	sonde_build_int(&build, "x", 8, 0);
	sonde_build_int(&build, "x", 8, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "after", 64, SONDE_FIELD_SIGNED);
	sonde_build_int(&build, "last", 8, SONDE_FIELD_SIGNED);
	assert_int_equal(sonde_build_end(&build), 0);
	event.desc = (const struct sonde_desc *)room;
	return &event;
}

/* ---- payloads ---- */

struct payload {
	uint8_t bytes[1024];
	size_t size;
	uint32_t tid;
};

static void put_bytes(struct payload *payload, const void *bytes, size_t size)
{
	memcpy(payload->bytes + payload->size, bytes, size);
	payload->size += size;
}

/* Numbers that are often small, often alike in sign and in byte order. */
static void put_random(struct payload *payload, size_t size, uint64_t *seed)
{
	static const uint8_t likely[] = { 0, 0, 1, 3, 0x7f, 0x80, 0xff, 0xff };
	uint8_t byte = likely[random_below(seed, SONDE_ARRAY_SIZE(likely))];

	for (size_t i = 0; i < size; i++) {
		payload->bytes[payload->size++] =
			random_below(seed, 4) ? byte :
						(uint8_t)next_random(seed);
	}
}

/* Usable floating point numbers, and some that aren't. */
static void put_float(struct payload *payload, size_t size, uint64_t *seed)
{
	static const double likely[] = { 0, 1, -1, 2.5, 1e300, -0.0 };
	double twice = likely[random_below(seed, SONDE_ARRAY_SIZE(likely))];
	float single = (float)(twice > 1e30 ? 1e30 : twice);

	if (random_below(seed, 4) == 0)
		put_random(payload, size, seed);
	else if (size == 4)
		put_bytes(payload, &single, 4);
	else
		put_bytes(payload, &twice, 8);
}

static void put_letters(struct payload *payload, size_t size, uint64_t *seed)
{
	bool has_nul = random_below(seed, 2);

	for (size_t i = 0; i < size; i++) {
		uint64_t letter = random_below(seed, has_nul ? 4 : 3);

		payload->bytes[payload->size++] =
			letter < 3 ? (uint8_t)('a' + letter % 2) : 0;
	}
}

static void put_field(struct payload *payload,
		      const struct sonde_field_view *field, uint64_t *seed)
{
	struct sonde_fields children = sonde_field_children(field);
	struct sonde_field_view element = { .stored_bits = 8 };
	uint32_t length = (uint32_t)random_below(seed, 5);

	(void)sonde_fields_next(&children, &element);
	switch (field->kind) {
	case SONDE_TYPE_TEXT:
		put_letters(payload, field->count, seed);
		break;
	case SONDE_TYPE_STRING:
		for (uint32_t i = 0; i < length; i++)
			put_bytes(payload, random_below(seed, 2) ? "a" : "b",
				  1);
		put_bytes(payload, "", 1);
		break;
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
		put_bytes(payload, &length, 4);
		if (element.flags & SONDE_FIELD_CHAR ||
		    (element.stored_bits == 8 && random_below(seed, 2)))
			put_letters(payload, length, seed);
		else
			put_random(payload, length * element.stored_bits / 8,
				   seed);
		break;
	case SONDE_TYPE_ARRAY:
		if (element.flags & SONDE_FIELD_CHAR)
			put_letters(payload, field->count, seed);
		else
			put_random(payload,
				   field->count * element.stored_bits / 8,
				   seed);
		break;
	case SONDE_TYPE_FLOAT:
		put_float(payload, field->bits / 8, seed);
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_ENUM:
	case SONDE_TYPE_BITS:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		put_random(payload, field->stored_bits / 8, seed);
		break;
	}
}

static void fill(struct payload *payload, const struct sonde_desc *desc,
		 uint64_t *seed)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;

	payload->size = 0;
	payload->tid = (uint32_t)random_below(seed, 6);
	while (sonde_fields_next(&fields, &field))
		put_field(payload, &field, seed);
}

/* ---- a trace of them ---- */

static struct sonde_trace *record(const struct sonde_desc *desc,
				  const struct payload *payloads, size_t nr)
{
	struct made file = { 0 };
	struct sonde_ctf_text text = { 0 };
	struct sonde_class *payload;
	struct sonde_trace *trace;
	struct sonde_pool pool;

	sonde_ctf_text_puts(&text, made_metadata_before_clock);
	sonde_ctf_text_puts(&text, MADE_CLOCK);
	sonde_ctf_text_puts(
		&text, MADE_STREAM_CLASS(
			       "event.context := struct { integer { size = 32;"
			       " align = 8; signed = 1; } _tid; };\n"));
	sonde_ctf_text_printf(&text,
			      "event { name = \"%s\"; id = 1; stream_id = 0;\n"
			      "fields := ",
			      sonde_desc_name(desc));
	sonde_pool_init(&pool, 0);
	assert_int_equal(sonde_class_from_desc(&pool, desc, &payload), 0);
	sonde_tsdl_scope(&text, payload, "_", NULL);
	sonde_pool_fini(&pool);
	sonde_ctf_text_puts(&text, "; };\n");
	sonde_ctf_text_append(&text, "", 1);
	made_packet(&file, &(struct made_head){
				   .begin = 1, .end = nr + 1, .cpu = CPU });
	for (size_t i = 0; i < nr; i++) {
		made_u16(&file, 1);
		made_u64(&file, i + 1);
		made_u32(&file, payloads[i].tid);
		made_bytes(&file, payloads[i].bytes, payloads[i].size);
	}
	made_packet_end(&file, 0);
	trace = made_open(text.bytes, &file, 1);
	made_free(&file);
	sonde_ctf_text_fini(&text);
	return trace;
}

/* ---- random conditions ---- */

struct writer {
	char *at;
	size_t left;
	uint64_t *seed;
	const struct event *event;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
						      const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(writer->at, writer->left, format, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < writer->left);
	writer->at += length;
	writer->left -= (size_t)length;
}

static const char *any_of(struct writer *writer, const char *const *list)
{
	size_t nr = 0;

	while (list[nr])
		nr++;
	return list[random_below(writer->seed, nr)];
}

static const char *const orders[] = { "==", "!=", "<", "<=", ">", ">=", NULL };
static const char *const equalities[] = { "==", "!=", NULL };
static const char *const constants[] = {
	"0",   "1",     "3",   "-1",       "127",        "128",
	"255", "65535", "2.5", "(-32640)", "4294967295", "18446744073709551615",
	NULL
};
static const char *const sums[] = { "+", "-", "*", "/", NULL };

static void put_comparison(struct writer *writer)
{
	const struct event *event = writer->event;
	const char *number = any_of(writer, event->numbers);

	switch (random_below(writer->seed, 8)) {
	case 0:
		put(writer, "%s == \"%s%s\"", any_of(writer, event->texts),
		    random_below(writer->seed, 2) ? "a" : "b",
		    random_below(writer->seed, 2) ? "*" : "");
		break;
	case 1:
		put(writer, "%s %s \"%s\"", any_of(writer, event->texts),
		    any_of(writer, orders),
		    random_below(writer->seed, 2) ? "ab" : "varying");
		break;
	case 2:
		put(writer, "%s %s \"%s\"", any_of(writer, event->enums),
		    any_of(writer, equalities),
		    random_below(writer->seed, 3) ? "some" : "one");
		break;
	case 3:
		put(writer, "defined(%s)",
		    random_below(writer->seed, 2) ?
			    number :
			    any_of(writer, event->texts));
		break;
	case 4:
		put(writer, "(%s %s %s) %s ", number, any_of(writer, sums),
		    any_of(writer, event->numbers), any_of(writer, orders));
		put(writer, "%s", any_of(writer, constants));
		break;
	case 5:
		put(writer, "%s", number);
		break;
	default:
		put(writer, "%s %s %s", number, any_of(writer, orders),
		    any_of(writer, constants));
		break;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as `depth` says */
static void put_condition(struct writer *writer, unsigned int depth)
{
	uint64_t choice = depth ? random_below(writer->seed, 4) : 3;

	if (choice == 3) {
		put_comparison(writer);
		return;
	}
	put(writer, choice ? "(" : "!(");
	put_condition(writer, depth - 1);
	put(writer, random_below(writer->seed, 2) ? " && " : " || ");
	put_condition(writer, depth - 1);
	put(writer, ")");
}

static void write_condition(char *to, size_t size, const struct event *event,
			    uint64_t *seed)
{
	struct writer writer = { to, size, seed, event };

	put_condition(&writer, (unsigned int)random_below(seed, 4));
}

/* ---- tests ---- */

static struct sonde_condition *bind(const struct sonde_desc *desc,
				    const char *text)
{
	struct sonde_condition *condition = NULL;
	char error[256] = "";

	if (sonde_condition_new(desc, text, error, sizeof(error), &condition))
		fail_msg("%s: %s", text, error);
	return condition;
}

static bool test(const struct sonde_condition *condition,
		 const struct payload *payload)
{
	return sonde_condition_test(condition, payload->bytes, payload->size,
				    payload->tid, CPU);
}

/* How many hold. */
static size_t compare_with_reader(struct sonde_trace *trace,
				  const struct sonde_desc *desc,
				  const struct payload *payloads,
				  const char *text)
{
	struct sonde_condition *condition = bind(desc, text);
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_cursor *cursor = NULL;
	struct sonde_filter *filter = NULL;
	const struct sonde_event *event;
	size_t nr = 0;

	if (sonde_filter_new(trace, text, &error, &filter))
		fail_msg("%s: %s", text, error.text);
	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		bool holds = test(condition, &payloads[i]);

		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		if (holds != sonde_filter_match(filter, event))
			fail_msg("%s: record %zu: %d, but not when read", text,
				 i, holds);
		nr += holds;
	}
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	sonde_cursor_free(cursor);
	sonde_filter_free(filter);
	sonde_condition_free(condition);
	return nr;
}

static void check_random_conditions(const struct event *event, uint64_t seed)
{
	static struct payload payloads[RECORDS];
	struct sonde_trace *trace;
	size_t nr_mixed = 0;

	for (size_t i = 0; i < RECORDS; i++)
		fill(&payloads[i], event->desc, &seed);
	trace = record(event->desc, payloads, RECORDS);
	for (size_t round = 0; round < ROUNDS; round++) {
		char text[4096];
		size_t nr;

		write_condition(text, sizeof(text), event, &seed);
		nr = compare_with_reader(trace, event->desc, payloads, text);
		nr_mixed += nr > 0 && nr < RECORDS;
	}
	sonde_trace_close(trace);
	/* it does depend on the record */
	assert_true(nr_mixed > ROUNDS / 3);
}

static void fixed_fields_mean_what_they_mean_when_read(void **state)
{
	(void)state;
	check_random_conditions(fixed_event(), 1);
}

static void fields_behind_others_mean_what_they_mean_when_read(void **state)
{
	(void)state;
	check_random_conditions(varying_event(), 2);
}

/* Memory that ends where the payload does. */
static void payloads_are_not_read_beyond_their_end(void **state)
{
	const struct event *event = varying_event();
	uint64_t seed = 3;

	(void)state;
	for (size_t round = 0; round < 300; round++) {
		struct sonde_condition *condition;
		struct payload payload;
		char text[4096];

		write_condition(text, sizeof(text), event, &seed);
		condition = bind(event->desc, text);
		fill(&payload, event->desc, &seed);
		for (size_t size = 0; size <= payload.size; size++) {
			uint8_t *bytes = malloc(size ? size : 1);

			assert_non_null(bytes);
			memcpy(bytes, payload.bytes, size);
			for (size_t i = 0; i < 3 && size; i++) {
				(void)sonde_condition_test(condition, bytes,
							   size, 1, 1);
				bytes[random_below(&seed, size)] =
					random_below(&seed, 2) ? 0xff : 0;
			}
			free(bytes);
		}
		sonde_condition_free(condition);
	}
}

static void check_at_size(const char *text, const struct payload *payload,
			  size_t size, bool expected)
{
	struct sonde_condition *condition = bind(varying_event()->desc, text);

	if (sonde_condition_test(condition, payload->bytes, size, 1, 1) !=
	    expected)
		fail_msg("%s: %zu bytes", text, size);
	sonde_condition_free(condition);
}

static void what_a_short_payload_lacks_is_missing(void **state)
{
	/* u8, name, mid, numbers (two) */
	static const struct payload payload = {
		.bytes = { 7, 'a', 'b', 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 5, 0, 6 },
		.size = 16,
	};

	(void)state;
	check_at_size("u8 == 7", &payload, 1, true);
	check_at_size("u8 == 7 || u8 != 7 || 1", &payload, 0, false);
	check_at_size("name == \"ab\"", &payload, 4, true);
	check_at_size("defined(name)", &payload, 3, false);
	check_at_size("mid == 1", &payload, 8, true);
	check_at_size("defined(mid)", &payload, 7, false);
	check_at_size("_numbers_length == 2", &payload, 12, true);
	check_at_size("numbers[1] == 6 && numbers[0] == 5", &payload, 16, true);
	check_at_size("defined(numbers[0])", &payload, 15, false);
	check_at_size("defined(numbers[2])", &payload, 16, false);
	check_at_size("defined(path) || defined(last)", &payload, 16, false);
}

static void check_refused(const struct sonde_desc *desc, const char *text,
			  const char *expected)
{
	struct sonde_condition *condition;
	char error[256] = "";

	assert_int_equal(sonde_condition_new(desc, text, error, sizeof(error),
					     &condition),
			 -EINVAL);
	assert_string_equal(error, expected);
}

static void what_only_readers_know_is_refused(void **state)
{
	const struct sonde_desc *desc = fixed_event()->desc;

	(void)state;
	check_refused(desc, "time > 5",
		      "column 1: time is not known while events are recorded: "
		      "filter when the trace is read");
	check_refused(desc, "u8 && $pid == 5",
		      "column 7: $pid is not known while events are recorded: "
		      "filter when the trace is read");
	check_refused(desc, "i64 > begin + 5s",
		      "column 7: begin is not known while events are recorded: "
		      "filter when the trace is read");
	check_refused(desc,
		      "u8 =", "column 4: '=' is no operator; '==' compares");
	check_refused(desc, "comm == 3",
		      "column 6: a string can't be compared with a number");
}

static void fields_that_the_event_lacks_are_missing(void **state)
{
	struct sonde_condition *condition =
		bind(fixed_event()->desc, "nothing == 1 || nothing != 1");
	const struct payload payload = { .size = 64 };

	(void)state;
	assert_false(test(condition, &payload));
	sonde_condition_free(condition);
	condition = bind(fixed_event()->desc, "!(nothing == 1)");
	assert_true(sonde_condition_test(condition, NULL, 0, 1, 1));
	sonde_condition_free(condition);
}

static void calls_tell_where_their_texts_are(void **state)
{
	struct sonde_condition *condition =
		bind(varying_event()->desc, "name == \"a\" && path == \"b\" && "
					    "comm == \"c\" && mid == 3");
	struct sonde_condition_text text;

	(void)state;
	assert_true(sonde_condition_call(condition, 0, &text));
	assert_int_equal(text.offset, 1);
	assert_int_equal(text.size, 0);
	assert_int_equal(text.ordinal, 0);
	assert_true(sonde_condition_call(condition, 1, &text));
	assert_int_equal(text.offset, UINT32_MAX);
	assert_int_equal(text.ordinal, 2);
	assert_true(sonde_condition_call(condition, 2, &text));
	assert_int_equal(text.size, 6);
	assert_int_equal(text.ordinal, 3);
	assert_false(sonde_condition_call(condition, 3, &text));
	assert_true(sonde_program_uses_base(sonde_condition_program(condition),
					    0) == false);
	sonde_condition_free(condition);
	condition = bind(fixed_event()->desc, "comm == \"a\" && tid == 3");
	assert_true(sonde_condition_call(condition, 0, &text));
	assert_int_equal(text.offset, 9);
	assert_int_equal(text.size, 16);
	assert_true(
		sonde_program_uses_base(sonde_condition_program(condition), 1));
	sonde_condition_free(condition);
}

/* An event with a structure: kernels have none, and nobody could say where
 * what is behind it lies. */
static void structures_are_refused(void **state)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_build build;
	size_t at;

	(void)state;
	sonde_build_begin(&build, room, "test", "nested", SONDE_INFO);
	at = build.used;
	sonde_build_array(&build, "s", 1, 8, 0);
	assert_int_equal(sonde_build_end(&build), 0);
	room[at + offsetof(struct sonde_desc_field, kind)] = SONDE_TYPE_STRUCT;
	check_refused((const struct sonde_desc *)room, "u8 == 1",
		      "nested has structures or variants, which conditions "
		      "can't look into");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_fields_mean_what_they_mean_when_read),
		cmocka_unit_test(
			fields_behind_others_mean_what_they_mean_when_read),
		cmocka_unit_test(payloads_are_not_read_beyond_their_end),
		cmocka_unit_test(what_a_short_payload_lacks_is_missing),
		cmocka_unit_test(what_only_readers_know_is_refused),
		cmocka_unit_test(fields_that_the_event_lacks_are_missing),
		cmocka_unit_test(calls_tell_where_their_texts_are),
		cmocka_unit_test(structures_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
