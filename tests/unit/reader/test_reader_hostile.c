/* SPDX-License-Identifier: MIT */
/*
 * test_reader_hostile.c - what must stay right when a trace is not, or when
 * there is no memory.
 *
 * The last test lets the n-th allocation fail, for each n, by replacing the
 * allocator. Sanitizers replace it too, and then it is left out.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/map.h"
#include "reader_traces.h"

/* ---- small traces ---- */

#define TYPES                                                 \
	"/* CTF 1.8 */\n"                                     \
	"typealias integer { size = 8; align = 8; } := u8;\n" \
	"typealias integer { size = 16; align = 8; } := u16;\n"
#define TRACE "trace { major = 1; minor = 8; byte_order = le; };\n"

/* A stream that is one packet without a head. */
static struct sonde_trace *open_bytes(const char *metadata, const void *bytes,
				      size_t size)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	made_bytes(&file, bytes, size);
	trace = made_open(metadata, &file, 1);
	made_free(&file);
	return trace;
}

static struct sonde_cursor *
cursor_of(struct sonde_trace *trace, const struct sonde_cursor_options *options)
{
	struct sonde_cursor *cursor;

	assert_int_equal(sonde_cursor_new(trace, options, &cursor), 0);
	return cursor;
}

static uint64_t number(const struct sonde_event *event, const char *path)
{
	struct sonde_field field;
	struct sonde_value value;

	assert_int_equal(sonde_event_class_field(event->cls, SONDE_NR_SCOPES,
						 path, &field),
			 0);
	assert_int_equal(sonde_event_value(event, &field, &value), 0);
	return value.u;
}

static void events_without_a_bit_are_damage(void **state)
{
	static const char metadata[] = TYPES TRACE
		"stream { };\nevent { name = e; fields := struct { }; };\n";
	struct sonde_trace *trace = open_bytes(metadata, "abcd", 4);
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;

	(void)state;
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	assert_int_equal(sonde_cursor_prev(cursor, &event), 0);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_DAMAGE, 0).count, 1);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

/* The number of elements is in an option that the second event doesn't have:
 * it isn't the first one's. */
static void a_length_that_is_not_there_is_none(void **state)
{
	static const char metadata[] = TYPES TRACE
		"stream { };\nevent { name = e; fields := struct {\n"
		" enum : u8 { a, b } tag; variant <tag> { u8 a; u16 b; } v;\n"
		" u8 list[v.a]; u8 end; }; };\n";
	static const uint8_t bytes[] = { 0, 2, 7, 8, 51, 1, 0, 0, 52 };
	struct sonde_trace *trace = open_bytes(metadata, bytes, sizeof(bytes));
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;

	(void)state;
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(number(event, "end"), 51);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(number(event, "end"), 52);
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	/* and out of the order in which they were decoded */
	assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
	assert_int_equal(number(event, "end"), 52);
	assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
	assert_int_equal(number(event, "list[1]"), 8);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(number(event, "end"), 52);
	assert_int_equal(made_nr_problems(trace), 0);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

static void damage_leaves_the_fields_before_it(void **state)
{
	static const char metadata[] = TYPES TRACE
		"stream { };\nevent { name = e; fields := struct {\n"
		" string s; u8 n; string t; u8 end; }; };\n";
	static const char bytes[] = "abc\0"
				    "5x\0"
				    "6a\0"
				    "7no end";
	struct sonde_trace *trace =
		open_bytes(metadata, bytes, sizeof(bytes) - 1);
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;

	(void)state;
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(number(event, "n"), '5');
	assert_int_equal(number(event, "end"), '6');
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_DAMAGE, 0).count, 1);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

/* Arrays of arrays of nothing: 2^48 elements in no bits. */
static void a_walk_through_nothing_ends(void **state)
{
	static const char metadata[] = TYPES TRACE
		"stream { };\nevent { name = e; fields := struct {\n"
		" u8 n; struct { } x[60000][60000][60000]; u8 end; }; };\n";
	struct sonde_trace *trace = open_bytes(metadata, "\1\2", 2);
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;
	struct sonde_value value;
	struct sonde_walk walk;
	const char *name;

	(void)state;
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	while (sonde_walk_next(&walk, &name, &value))
		;
	assert_true(walk.damaged);
	assert_int_equal(number(event, "end"), 2);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

/* ---- CTF 2 ---- */

#define PREAMBLE          "\036{\"type\":\"preamble\",\"version\":2}\n"
#define MEMBER(name, cls) "{\"name\":\"" name "\",\"field-class\":" cls "}"
#define STRUCT(members) \
	"{\"type\":\"structure\",\"member-classes\":[" members "]}"
#define EVENT "\036{\"type\":\"event-record-class\",\"payload-field-class\":"

/* A filter leaves just the first of two events. */
static void check_filter(struct sonde_trace *trace, const char *text)
{
	struct sonde_cursor_options options;
	struct sonde_trace_error error;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	struct sonde_filter *filter;

	assert_int_equal(sonde_filter_new(trace, text, &error, &filter), 0);
	sonde_cursor_options_init(&options);
	options.filter = filter;
	cursor = cursor_of(trace, &options);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(sonde_event_offset(event), 0);
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	sonde_cursor_free(cursor);
	sonde_filter_free(filter);
}

static void filters_compare_what_strings_say(void **state)
{
	static const char metadata[] = PREAMBLE
		"\036{\"type\":\"data-stream-class\"}\n" EVENT STRUCT(MEMBER(
			"s",
			"{\"type\":\"null-terminated-string\","
			"\"encoding\":\"utf-16le\"}") "," MEMBER("t",
								 "{\"type\":\"static-length-string\","
								 "\"length\":12,\"encoding\":\"utf-32be\"}")) "}\n";
	static const char bytes[] = "h\0\xe9\0\0\0"
				    "\0\0\0h"
				    "\0\0\0\xe9"
				    "\0\0\0\0"
				    "h\0e\0\0\0"
				    "\0\0\0h"
				    "\0\0\0h"
				    "\0\0\0";
	struct sonde_trace *trace = open_bytes(metadata, bytes, sizeof(bytes));

	(void)state;
	check_filter(trace, "s == \"h\xc3\xa9\"");
	check_filter(trace, "s == t");
	check_filter(trace, "t == \"h\xc3\xa9\"");
	sonde_trace_close(trace);
}

/* A filter's string has no class, and is UTF-8. */
static void a_filter_s_string_can_be_shown(void **state)
{
	static const char metadata[] = TYPES TRACE
		"stream { };\nevent { name = e; fields := struct { u8 n; }; "
		"};\n";
	struct sonde_trace *trace = open_bytes(metadata, "a", 1);
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;
	struct sonde_trace_error error;
	struct sonde_filter *filter;
	struct sonde_value value;
	char text[8];

	(void)state;
	assert_int_equal(sonde_filter_new(trace, "$event", &error, &filter), 0);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_int_equal(sonde_filter_value(filter, event, &value), 0);
	assert_int_equal(sonde_value_utf8(&value, text, sizeof(text)), 1);
	assert_int_equal(text[0], 'e');
	sonde_filter_free(filter);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

/* In LEB128 each byte gives seven bits of the clock. */
static void a_clock_of_variable_length_goes_on(void **state)
{
	static const char metadata[] = PREAMBLE
		"\036{\"type\":\"clock-class\",\"id\":\"c\","
		"\"frequency\":1000000000}\n"
		"\036{\"type\":\"data-stream-class\","
		"\"default-clock-class-id\":\"c\","
		"\"event-record-header-field-class\":" STRUCT(MEMBER(
			"time",
			"{\"type\":"
			"\"variable-length-unsigned-integer\","
			"\"roles\":[\"default-clock-timestamp\"]}")) "}\n\036{\"type\":\"event-record-class\"}\n";
	static const uint8_t bytes[] = { 5, 3, 0x81, 2, 4 };
	static const int64_t times[] = { 5, 131, 257, 260 };
	struct sonde_trace *trace = open_bytes(metadata, bytes, sizeof(bytes));
	struct sonde_cursor *cursor = cursor_of(trace, NULL);
	const struct sonde_event *event;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		assert_int_equal(event->ticks, times[i]);
	}
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
}

/* ---- without memory ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAS_FAILING_MEMORY 1

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,
 * readability-inconsistent-declaration-parameter-name): glibc's names */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);

/* 0: none; else the so many-th allocation from here fails. */
static _Atomic unsigned int fail_in;
static _Atomic bool has_failed;

static bool fails(void)
{
	if (!fail_in || --fail_in)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,
 * readability-inconsistent-declaration-parameter-name) */

static int count_begin(void *part, const void *config, bool first)
{
	(void)config;
	(void)first;
	*(size_t *)part = 0;
	return 0;
}

static int count_event(void *part, const struct sonde_event *event)
{
	(void)event;
	++*(size_t *)part;
	return 0;
}

static int count_merge(void *whole, void *part)
{
	*(size_t *)whole += *(size_t *)part;
	return 0;
}

static void count_fini(void *part)
{
	(void)part;
}

static const struct sonde_map_ops count_ops = {
	.part_bytes = sizeof(size_t),
	.begin = count_begin,
	.event = count_event,
	.merge = count_merge,
	.fini = count_fini,
};

/* All events forward and back: 0 if there are as many as there should be. */
static int count_both_ways(struct sonde_cursor *cursor, int nr)
{
	const struct sonde_event *event;
	int forward = 0;
	int back = 0;
	int more;

	while ((more = sonde_cursor_next(cursor, &event)) > 0)
		forward++;
	if (more)
		return more;
	while ((more = sonde_cursor_prev(cursor, &event)) > 0)
		back++;
	if (!more)
		assert_true(forward == nr && back == nr);
	return more;
}

/* Everything that needs memory after opening; 0 or -ENOMEM. */
static int use(struct sonde_trace *trace, int nr)
{
	struct sonde_cursor_options options;
	struct sonde_map_options map;
	struct sonde_trace_error error;
	struct sonde_filter *filter;
	struct sonde_cursor *cursor;
	size_t whole = 0;
	int err = sonde_filter_new(trace, "n >= 0 && n < 1000000 && cpu == 0",
				   &error, &filter);

	if (err)
		return err;
	sonde_cursor_options_init(&options);
	options.filter = filter;
	err = sonde_cursor_new(trace, &options, &cursor);
	if (!err) {
		err = count_both_ways(cursor, nr);
		sonde_cursor_free(cursor);
	}
	sonde_map_options_init(&map);
	map.threads = 1;
	map.slice_bytes = 1000;
	if (!err)
		err = sonde_map(trace, &map, &count_ops, NULL, &whole);
	if (!err)
		assert_int_equal(whole, nr);
	sonde_filter_free(filter);
	return err;
}

static void without_memory_it_says_so(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;
	const int nr = 20000;
	unsigned int n = 0;

	(void)state;
	for (int i = 0; i < nr; i++) {
		if (i % 10000 == 0)
			made_packet(&file,
				    &(struct made_head){
					    .begin = (uint64_t)i,
					    .sequence = (uint64_t)i / 10000,
					    .end = (uint64_t)i + 9999 });
		made_number(&file, (uint64_t)i, i);
		if (i % 10000 == 9999)
			made_packet_end(&file, 0);
	}
	trace = made_open(made_metadata, &file, 1);
	made_free(&file);
	do {
		int err;

		has_failed = false;
		fail_in = ++n;
		err = use(trace, nr);
		fail_in = 0;
		assert_true(err == 0 || err == -ENOMEM);
		/* what the C library and threads need is their own affair */
		assert_true(has_failed || !err);
	} while (has_failed);
	assert_true(n > 20);
	assert_int_equal(made_nr_problems(trace), 0);
	sonde_trace_close(trace);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_without_a_bit_are_damage),
		cmocka_unit_test(a_length_that_is_not_there_is_none),
		cmocka_unit_test(damage_leaves_the_fields_before_it),
		cmocka_unit_test(a_walk_through_nothing_ends),
		cmocka_unit_test(filters_compare_what_strings_say),
		cmocka_unit_test(a_filter_s_string_can_be_shown),
		cmocka_unit_test(a_clock_of_variable_length_goes_on),
#ifdef HAS_FAILING_MEMORY
		cmocka_unit_test(without_memory_it_says_so),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
