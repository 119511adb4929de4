/* SPDX-License-Identifier: MIT */
/*
 * test_reader_layout.c - where fields are: bits, alignments, lengths, choices.
 *
 * Each test gives the fields of an event as text, the bytes of its payload, and
 * what a walk must say. The same values must come out when each field is asked
 * for by its path, and the event after it must be found.
 */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/core/load.h"
#include "reader/reader.h"
#include "reader_traces.h"

#define TEXT_MAX 4096

/* ---- metadata ---- */

struct layout {
	const char *fields; /* of event 0 */
	const char *types;  /* before everything */
	const char *header; /* of events; NULL: id and time */
	const char *byte_order;
};

static const char layout_format[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 16; align = 8; } := u16;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 64; align = 8; } := u64;\n"
	"typealias integer { size = 32; align = 32; } := w32;\n"
	"typealias integer { size = 8; align = 8; signed = true; } := s8;\n"
	"typealias integer { size = 5; align = 1; } := u5;\n"
	"typealias integer { size = 3; align = 1; signed = 1; } := s3;\n"
	"typealias integer { size = 61; align = 1; } := u61;\n"
	"typealias integer { size = 16; align = 8; byte_order = be; } := b16;\n"
	"typealias integer { size = 12; align = 1; byte_order = be; } := b12;\n"
	"typealias integer { size = 4; align = 1; byte_order = be; } := b4;\n"
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := c8;\n"
	"%s\n"
	"trace { major = 1; minor = 8; byte_order = %s;\n"
	" packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id;\n"
	"  u64 stream_instance_id; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"stream { id = 0;\n"
	" packet.context := struct {\n"
	"  integer { size = 64; align = 8; map = clock.c.value; } "
	"timestamp_begin;\n"
	"  integer { size = 64; align = 8; map = clock.c.value; } "
	"timestamp_end;\n"
	"  u64 content_size; u64 packet_size; u64 packet_seq_num;\n"
	"  u64 events_discarded; u32 cpu_id; };\n"
	" event.header := struct { %s };\n"
	"};\n"
	"event { id = 0; name = first; stream_id = 0; fields := struct { %s };\n"
	"};\n"
	"event { id = 1; name = last; stream_id = 0;\n"
	" fields := struct { u8 mark; }; };\n";

static const char plain_header[] =
	"u16 id; integer { size = 64; align = 8; map = clock.c.value; } "
	"timestamp;";

/* ---- showing an event ---- */

struct shown {
	char text[TEXT_MAX];
	size_t used;
	char path[256];
};

__attribute__((format(printf, 2, 3))) static void say(struct shown *shown,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	shown->used += (size_t)vsnprintf(shown->text + shown->used,
					 TEXT_MAX - shown->used, format, args);
	va_end(args);
	assert_true(shown->used < TEXT_MAX);
}

static void say_value(struct shown *shown, const struct sonde_value *value)
{
	if (value->kind == SONDE_KIND_INT)
		say(shown, "%" PRId64, value->i);
	else if (value->kind == SONDE_KIND_FLOAT)
		say(shown, "%g", value->d);
	else if (value->kind == SONDE_KIND_STRING)
		say(shown, "'%.*s'", (int)value->length, value->text);
	else
		say(shown, "%" PRIu64, value->u);
}

static void check_same(const struct sonde_event *event, const char *path,
		       const struct sonde_value *walked)
{
	struct sonde_field field;
	struct sonde_value value;

	assert_int_equal(sonde_event_class_field(
				 event->cls, SONDE_SCOPE_PAYLOAD, path, &field),
			 0);
	assert_int_equal(sonde_event_value(event, &field, &value), 0);
	assert_int_equal(value.kind, walked->kind);
	assert_int_equal(value.length, walked->length);
	assert_int_equal(value.u, walked->u);
}

/* The path of each group that the walk is in, and elements passed in it. */
struct place {
	char path[200];
	unsigned int nr;
	bool named;
};

static void show(const struct sonde_event *event, struct shown *shown)
{
	struct place places[SONDE_WALK_DEPTH] = { { .named = true } };
	struct sonde_walk walk;
	struct sonde_value value;
	enum sonde_walk_item item;
	const char *name;
	int depth = 0;

	memset(shown, 0, sizeof(*shown));
	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	while ((item = sonde_walk_next(&walk, &name, &value))) {
		struct place *in = &places[depth];
		char path[400];

		if (item == SONDE_WALK_GROUP_END) {
			say(shown, "}");
			depth--;
			continue;
		}
		if (name)
			(void)snprintf(path, sizeof(path), "%s%s%s", in->path,
				       *in->path ? "." : "", name);
		else
			(void)snprintf(path, sizeof(path), "%s[%u]", in->path,
				       in->nr);
		say(shown, "%s%s%s", in->nr++ ? " " : "", name ? name : "",
		    name ? "=" : "");
		if (item == SONDE_WALK_GROUP) {
			say(shown, "{");
			places[++depth] = (struct place){ .nr = 0 };
			(void)snprintf(places[depth].path,
				       sizeof(places[depth].path), "%.199s",
				       path);
			continue;
		}
		say_value(shown, &value);
		check_same(event, path, &value);
	}
	assert_false(walk.damaged);
}

/* ---- one event, then another one ---- */

static struct sonde_trace *open_layout(const struct layout *layout,
				       const struct made *file)
{
	char metadata[8192];

	(void)snprintf(metadata, sizeof(metadata), layout_format,
		       layout->types ? layout->types : "",
		       layout->byte_order ? layout->byte_order : "le",
		       layout->header ? layout->header : plain_header,
		       layout->fields);
	return made_open(metadata, file, 1);
}

/* Metadata that not all readers take is none. */
static size_t nr_damages(const struct sonde_trace *trace)
{
	struct sonde_problem problem;
	size_t nr = 0;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++)
		nr += problem.kind != SONDE_PROBLEM_METADATA;
	return nr;
}

static void check_layout(const struct layout *layout, const void *payload,
			 size_t size, const char *expected)
{
	struct made file = { 0 };
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	struct sonde_trace *trace;
	struct shown shown;

	made_packet(&file,
		    &(struct made_head){ .begin = 10, .end = 20, .cpu = 2 });
	for (int i = 0; i < 2; i++) {
		made_u16(&file, 0);
		made_u64(&file, 11);
		made_bytes(&file, payload, size);
	}
	made_u16(&file, 1);
	made_u64(&file, 12);
	made_u8(&file, 99);
	made_packet_end(&file, 0);
	trace = open_layout(layout, &file);
	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		show(event, &shown);
		assert_string_equal(shown.text, expected);
	}
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	show(event, &shown);
	assert_string_equal(shown.text, "mark=99");
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	/* and from behind, out of the batch's order */
	assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
	assert_int_equal(sonde_cursor_prev(cursor, &event), 1);
	show(event, &shown);
	assert_string_equal(shown.text, expected);
	assert_int_equal(nr_damages(trace), 0);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
	made_free(&file);
}

#define CHECK(fields_, expected, ...)                         \
	check_layout(&(struct layout){ .fields = (fields_) }, \
		     (const uint8_t[]){ __VA_ARGS__ },        \
		     sizeof((const uint8_t[]){ __VA_ARGS__ }), expected)

/* ---- the tests ---- */

static void whole_bytes_in_both_orders(void **state)
{
	(void)state;
	CHECK("u8 a; u16 b; b16 c; s8 d; u64 e;",
	      "a=1 b=513 c=513 d=-2 e=578437695752307201", 1, 1, 2, 2, 1, 0xfe,
	      1, 2, 3, 4, 5, 6, 7, 8);
}

static void little_endian_bits_count_from_the_lowest(void **state)
{
	(void)state;
	/* 61 bits from bit 3 on: 0b...: all ones but the last */
	CHECK("u5 a; s3 b; u5 c; u61 d; u8 e;",
	      "a=17 b=-1 c=3 d=1152921504606846975 e=7", 0xf1, 0xe3, 0xff, 0xff,
	      0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 7);
}

static void big_endian_bits_count_from_the_highest(void **state)
{
	(void)state;
	CHECK("b4 a; b12 b; u8 c;", "a=10 b=3054 c=1", 0xab, 0xee, 1);
}

static void alignment_depends_on_where_the_event_begins(void **state)
{
	(void)state;
	/* the head has 84 bytes, the header 10: two bytes of padding before
	 * the structure, three inside; the second one begins at 104 + 10 */
	CHECK("u8 a; w32 b;", "a=5 b=1", 0, 0, 5, 0, 0, 0, 1, 0, 0, 0);
	/* and one byte of padding behind the string */
	CHECK("string s; w32 b; u32 c;", "s='xy' b=1 c=2", 0, 0, 'x', 'y', 0, 0,
	      1, 0, 0, 0, 2, 0, 0, 0);
}

static void what_follows_a_string_moves_with_it(void **state)
{
	(void)state;
	CHECK("string s; u16 n; string t; u8 m;", "s='abc' n=513 t='' m=9", 'a',
	      'b', 'c', 0, 1, 2, 0, 9);
	CHECK("string s; u8 m;", "s='a string of more than eight' m=4", 'a',
	      ' ', 's', 't', 'r', 'i', 'n', 'g', ' ', 'o', 'f', ' ', 'm', 'o',
	      'r', 'e', ' ', 't', 'h', 'a', 'n', ' ', 'e', 'i', 'g', 'h', 't',
	      0, 4);
}

static void text_ends_at_its_first_zero(void **state)
{
	(void)state;
	CHECK("c8 t[4]; u8 n; c8 u[n]; u8 m;", "t='ab' n=3 u='xyz' m=1", 'a',
	      'b', 0, 'c', 3, 'x', 'y', 'z', 1);
}

static void arrays_and_sequences_have_their_elements(void **state)
{
	(void)state;
	CHECK("u16 a[2]; u8 n; b16 s[n]; u8 z; u32 none[z]; u8 m;",
	      "a={1 2} n=2 s={3 4} z=0 none={} m=5", 1, 0, 2, 0, 2, 0, 3, 0, 4,
	      0, 5);
}

static void elements_may_vary_in_size(void **state)
{
	(void)state;
	CHECK("struct { u8 k; string s; } a[2]; u8 n; string t[n]; u8 m;",
	      "a={{k=1 s='x'} {k=2 s=''}} n=2 t={'p' 'qq'} m=3", 1, 'x', 0, 2,
	      0, 2, 'p', 0, 'q', 'q', 0, 3);
}

static void each_element_has_a_length_of_its_own(void **state)
{
	(void)state;
	CHECK("u8 n; struct { u8 k; u8 s[k]; } a[n]; u8 m;",
	      "n=3 a={{k=1 s={7}} {k=0 s={}} {k=2 s={8 9}}} m=4", 3, 1, 7, 0, 2,
	      8, 9, 4);
}

static void a_length_may_be_further_out(void **state)
{
	(void)state;
	CHECK("u8 n; struct { u8 x; struct { u8 s[n]; } in; } out; u8 m;",
	      "n=2 out={x=1 in={s={5 6}}} m=3", 2, 1, 5, 6, 3);
}

static void a_variant_has_what_its_tag_says(void **state)
{
	static const char fields[] =
		"enum : u8 { one, two = 5 ... 6, three } tag;\n"
		"variant <tag> { u8 one; string two;\n"
		" struct { u16 x; u8 y; } three; } v; u8 m;";
	(void)state;
	CHECK(fields, "tag=0 v={one=4} m=1", 0, 4, 1);
	CHECK(fields, "tag=6 v={two='hi'} m=1", 6, 'h', 'i', 0, 1);
	CHECK(fields, "tag=7 v={three={x=2 y=3}} m=1", 7, 2, 0, 3, 1);
}

static void a_tag_may_be_in_each_element(void **state)
{
	(void)state;
	CHECK("struct { enum : u8 { a, b } tag; variant <tag> { u8 a; u16 b; } "
	      "v; } s[3]; u8 m;",
	      "s={{tag=0 v={a=1}} {tag=1 v={b=2}} {tag=0 v={a=3}}} m=4", 0, 1,
	      1, 2, 0, 0, 3, 4);
}

static void a_length_may_be_in_the_packet(void **state)
{
	(void)state;
	CHECK("u8 s[stream.packet.context.cpu_id]; u8 m;", "s={7 8} m=9", 7, 8,
	      9);
}

static void a_length_may_be_in_the_event_header(void **state)
{
	/* of the events only event 0 has one: its id, 0 */
	(void)state;
	CHECK("u8 s[stream.event.header.id]; u8 m;", "s={} m=9", 9);
}

static void floats_have_two_sizes_and_orders(void **state)
{
	(void)state;
	CHECK("floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;"
	      "floating_point { exp_dig = 11; mant_dig = 53; align = 8; "
	      "byte_order = be; } d;",
	      "f=1.5 d=-2.25", 0, 0, 0xc0, 0x3f, 0xc0, 0x02, 0, 0, 0, 0, 0, 0);
}

static void lttng_s_compact_header_is_read(void **state)
{
	static const struct layout layout = {
		.fields = "u8 a;",
		.header =
			"enum : integer { size = 5; } { compact = 0 ... 30, "
			"extended = 31 } id;\n"
			"variant <id> { struct { integer { size = 27; map = "
			"clock.c.value; } timestamp; } compact;\n"
			"struct { u32 id; integer { size = 64; align = 8; map "
			"= clock.c.value; } timestamp; } extended; } v;",
	};
	struct made file = { 0 };
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	struct sonde_trace *trace;
	static const int64_t times[] = {
		11,
		(1 << 27) + 3,
		((int64_t)1 << 40) + 1,
	};

	(void)state;
	made_packet(&file, &(struct made_head){ .begin = 10,
						.end = (uint64_t)1 << 41 });
	made_u32(&file, 11 << 5);
	made_u8(&file, 1);
	made_u32(&file, 3 << 5); /* less: it has wrapped */
	made_u8(&file, 2);
	made_u8(&file, 31);
	made_u32(&file, 0);
	made_u64(&file, (uint64_t)times[2]);
	made_u8(&file, 3);
	made_packet_end(&file, 0);
	trace = open_layout(&layout, &file);
	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sonde_cursor_next(cursor, &event), 1);
		assert_int_equal(event->time_ns, times[i]);
	}
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	assert_int_equal(nr_damages(trace), 0);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
	made_free(&file);
}

static size_t nr_matching(struct sonde_trace *trace, const char *expression)
{
	struct sonde_cursor_options options;
	struct sonde_trace_error error;
	struct sonde_filter *filter;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	size_t nr = 0;

	if (sonde_filter_new(trace, expression, &error, &filter))
		return SIZE_MAX;
	sonde_cursor_options_init(&options);
	options.filter = filter;
	assert_int_equal(sonde_cursor_new(trace, &options, &cursor), 0);
	while (sonde_cursor_next(cursor, &event) > 0)
		nr++;
	sonde_cursor_free(cursor);
	sonde_filter_free(filter);
	return nr;
}

static void names_mean_what_the_manual_says(void **state)
{
	static const struct layout layout = {
		.fields = "u8 event; struct { u8 x; } mark; u8 cpu;",
	};
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	made_packet(&file,
		    &(struct made_head){ .begin = 10, .end = 20, .cpu = 2 });
	made_u16(&file, 0);
	made_u64(&file, 11);
	made_bytes(&file, (const uint8_t[]){ 5, 6, 7 }, 3);
	made_u16(&file, 1);
	made_u64(&file, 12);
	made_u8(&file, 99);
	made_packet_end(&file, 0);
	trace = open_layout(&layout, &file);
	assert_int_equal(nr_matching(trace, "event == \"first\""), 1);
	assert_int_equal(nr_matching(trace, "$payload.event == 5"), 1);
	/* a group in one class, a number in the other */
	assert_int_equal(nr_matching(trace, "mark == 99"), 1);
	assert_int_equal(nr_matching(trace, "mark.x == 6"), 1);
	/* a field comes before what all events have */
	assert_int_equal(nr_matching(trace, "cpu == 7"), 1);
	assert_int_equal(nr_matching(trace, "cpu == 2"), 1);
	assert_int_equal(nr_matching(trace, "$cpu == 2"), 2);
	assert_int_equal(nr_matching(trace, "time == 12"), 1);
	assert_int_equal(nr_matching(trace, "time >= begin"), 2);
	assert_int_equal(nr_matching(trace, "nothing == 1"), SIZE_MAX);
	assert_int_equal(nr_matching(trace, "$payload.cpu_id == 2"), SIZE_MAX);
	assert_int_equal(nr_matching(trace, "$ctx.cpu_id == 2"), 2);
	sonde_trace_close(trace);
	made_free(&file);
}

/* Of 32 bits: lower ones from 4096 on, the others from 0x70000000 on. */
#define NEAR                                            \
	"enum : u32 { \"+0x1000\" = 0 ... 2147483647, " \
	"\"+0xfffffffff0000000\" = 2147483648 ... 4294967295 } a; u8 m;"

#define OURS "env { tracer_name = \"sonde\"; };\n"
/* As CHECK(), of a trace that we have made. */
#define CHECK_OURS(fields_, expected, ...)                                   \
	check_layout(&(struct layout){ .fields = (fields_), .types = OURS }, \
		     (const uint8_t[]){ __VA_ARGS__ },                       \
		     sizeof((const uint8_t[]){ __VA_ARGS__ }), expected)

static void a_number_with_origins_is_their_sum(void **state)
{
	(void)state;
	CHECK_OURS(NEAR, "a=4098 m=7", 2, 0, 0, 0, 7);
	CHECK_OURS(NEAR, "a=2147487743 m=7", 0xff, 0xff, 0xff, 0x7f, 7);
	CHECK_OURS(NEAR, "a=1879048193 m=7", 1, 0, 0, 0x80, 7);
	CHECK_OURS("string s; " NEAR, "s='x' a=4098 m=7", 'x', 0, 2, 0, 0, 0,
		   7);
}

static void other_tracers_labels_are_labels(void **state)
{
	(void)state;
	CHECK(NEAR, "a=2 m=7", 2, 0, 0, 0, 7);
}

static void what_is_no_origin_of_all_numbers_is_a_label(void **state)
{
	(void)state;
	CHECK_OURS("enum : u8 { \"+0x1000\" = 0 ... 254 } a; u8 m;", "a=2 m=7",
		   2, 7);
	CHECK_OURS(
		"enum : u8 { \"+0x1000\" = 0 ... 9, \"+0x2\" = 11 ... 255 } a;",
		"a=2", 2);
	CHECK_OURS(
		"enum : u8 { \"+0x1000\" = 0 ... 9, \"0x2\" = 10 ... 255 } a;",
		"a=2", 2);
	CHECK_OURS("enum : u8 { \"+0x1g\" = 0 ... 255 } a;", "a=2", 2);
	CHECK_OURS("enum : s8 { \"+0x1000\" = -128 ... 127 } a;", "a=2", 2);
	/* what a length is stays what it is */
	CHECK_OURS("enum : u8 { \"+0x1000\" = 0 ... 255 } n; u8 s[n]; u8 m;",
		   "n=2 s={5 6} m=7", 2, 5, 6, 7);
}

static void conditions_are_about_the_sum(void **state)
{
	static const struct layout layout = { .fields = NEAR, .types = OURS };
	struct made file = { 0 };
	struct sonde_trace *trace;
	const struct sonde_class *cls;
	const char *name;

	(void)state;
	made_packet(&file,
		    &(struct made_head){ .begin = 10, .end = 20, .cpu = 2 });
	for (uint32_t i = 0; i < 3; i++) {
		made_u16(&file, 0);
		made_u64(&file, 11);
		made_u32(&file, 5 + i);
		made_u8(&file, 0);
	}
	made_packet_end(&file, 0);
	trace = open_layout(&layout, &file);
	assert_int_equal(nr_matching(trace, "a == 0x1006"), 1);
	assert_int_equal(nr_matching(trace, "a > 0x1005"), 2);
	assert_int_equal(nr_matching(trace, "a == 6"), 0);
	cls = sonde_class_member(
		sonde_event_class_scope(sonde_trace_event_class(trace, 0),
					SONDE_SCOPE_PAYLOAD),
		0, &name);
	assert_int_equal(sonde_class_bits(cls), 64);
	assert_int_equal(sonde_class_base(cls), 16);
	assert_false(sonde_class_has_labels(cls));
	sonde_trace_close(trace);
	made_free(&file);
}

/* A packet whose one event claims more than there is. */
static void check_damage(const char *fields, const void *payload, size_t size)
{
	struct layout layout = { .fields = fields };
	struct made file = { 0 };
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	struct sonde_trace *trace;

	made_packet(&file, &(struct made_head){ .begin = 10, .end = 20 });
	made_u16(&file, 1);
	made_u64(&file, 11);
	made_u8(&file, 5);
	made_u16(&file, 0);
	made_u64(&file, 12);
	made_bytes(&file, payload, size);
	made_packet_end(&file, 0);
	trace = open_layout(&layout, &file);
	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	assert_int_equal(sonde_cursor_next(cursor, &event), 1);
	assert_string_equal(sonde_event_name(event), "last");
	assert_int_equal(sonde_cursor_next(cursor, &event), 0);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_DAMAGE, 0).byte,
			 MADE_HEAD_BYTES + 11);
	sonde_cursor_free(cursor);
	sonde_trace_close(trace);
	made_free(&file);
}

#define DAMAGE(fields, ...)                                    \
	check_damage(fields, (const uint8_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void what_is_cut_off_is_damage(void **state)
{
	(void)state;
	DAMAGE("u32 a;", 1, 2, 3);
	DAMAGE("string s;", 'a', 'b');
	DAMAGE("u8 n; u16 s[n];", 2, 1, 1, 1);
	DAMAGE("u64 n; u64 s[n];", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	       0xff);
	DAMAGE("u64 n; string s[n];", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	       0x7f, 0, 0, 0);
	DAMAGE("u64 n; struct { } s[n];", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	       0xff, 0xff);
	DAMAGE("enum : u8 { a, b } t; variant <t> { u8 a; u8 b; } v;", 2, 0);
}

/* A number at each place and of each size, bit by bit. */
static void loads_agree_with_single_bits(void **state)
{
	uint8_t data[32];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 151 + 89);
	for (unsigned int pos = 0; pos < 16; pos++)
		for (unsigned int bits = 1; bits <= 64; bits++) {
			uint64_t le = 0;
			uint64_t be = 0;

			for (unsigned int i = 0; i < bits; i++) {
				unsigned int at = pos + i;

				le |= (uint64_t)(data[at / 8] >> at % 8 & 1)
				      << i;
				be = be << 1 |
				     (data[at / 8] >> (7 - at % 8) & 1);
			}
			assert_int_equal(sonde_load_le(data, pos, bits), le);
			assert_int_equal(sonde_load_be(data, pos, bits), be);
		}
}

static void stored_numbers_are_loaded_again(void **state)
{
	struct sonde_class cls = { .kind = SONDE_KIND_UINT };
	uint8_t data[32];

	(void)state;
	for (int order = 0; order < 4; order++)
		for (unsigned int pos = 0; pos < 8; pos++)
			for (unsigned int bits = 1; bits <= 64; bits++) {
				uint64_t value = UINT64_C(0x9e3779b97f4a7c15) >>
						 (64 - bits);

				memset(data, 0xa5, sizeof(data));
				cls.bits = (uint8_t)bits;
				cls.big_endian = order & 1;
				cls.last_bit_first = order & 2;
				sonde_store_number(data, pos, &cls, value);
				assert_int_equal(
					sonde_load(data, pos,
						   sonde_load_of(&cls)),
					value);
				assert_int_equal(data[20], 0xa5);
			}
}

static void leb128_numbers_are_bounded(void **state)
{
	static const uint8_t most[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0x01, 0,    0 };
	static const uint8_t too_much[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0x02, 0,    0 };
	static const uint8_t minus[] = { 0x80, 0x7f, 0 };
	uint64_t value;

	(void)state;
	assert_int_equal(sonde_load_leb128(most, 0, 96, false, &value), 10);
	assert_int_equal(value, UINT64_MAX);
	assert_int_equal(sonde_load_leb128(most, 0, 72, false, &value), 0);
	assert_int_equal(sonde_load_leb128(too_much, 0, 96, false, &value), 0);
	assert_int_equal(sonde_load_leb128(minus, 0, 24, true, &value), 2);
	assert_int_equal((int64_t)value, -128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_bytes_in_both_orders),
		cmocka_unit_test(little_endian_bits_count_from_the_lowest),
		cmocka_unit_test(big_endian_bits_count_from_the_highest),
		cmocka_unit_test(alignment_depends_on_where_the_event_begins),
		cmocka_unit_test(what_follows_a_string_moves_with_it),
		cmocka_unit_test(text_ends_at_its_first_zero),
		cmocka_unit_test(arrays_and_sequences_have_their_elements),
		cmocka_unit_test(elements_may_vary_in_size),
		cmocka_unit_test(each_element_has_a_length_of_its_own),
		cmocka_unit_test(a_length_may_be_further_out),
		cmocka_unit_test(a_variant_has_what_its_tag_says),
		cmocka_unit_test(a_tag_may_be_in_each_element),
		cmocka_unit_test(a_length_may_be_in_the_packet),
		cmocka_unit_test(a_length_may_be_in_the_event_header),
		cmocka_unit_test(floats_have_two_sizes_and_orders),
		cmocka_unit_test(lttng_s_compact_header_is_read),
		cmocka_unit_test(names_mean_what_the_manual_says),
		cmocka_unit_test(a_number_with_origins_is_their_sum),
		cmocka_unit_test(other_tracers_labels_are_labels),
		cmocka_unit_test(what_is_no_origin_of_all_numbers_is_a_label),
		cmocka_unit_test(conditions_are_about_the_sum),
		cmocka_unit_test(what_is_cut_off_is_damage),
		cmocka_unit_test(loads_agree_with_single_bits),
		cmocka_unit_test(stored_numbers_are_loaded_again),
		cmocka_unit_test(leb128_numbers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
