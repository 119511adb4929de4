/* SPDX-License-Identifier: MIT */
/*
 * test_ctf_tsdl.c - what the metadata says of each kind of field.
 *
 * Each test makes a description and a payload, lets babeltrace2 read them, and
 * compares the fields it prints.
 */
#include "unit.h"

#include "test_ctf_witness.h"

#define SIGNED  SONDE_FIELD_SIGNED
#define HEX     SONDE_FIELD_HEX
#define NETWORK SONDE_FIELD_NETWORK

static struct sonde_ctf_config config = {
	.hostname = "a \"host\"\\\n\x01!",
	.clock = { .name = "tsc",
		   .description = "says \"tick\", \\ and\na line",
		   .freq = 2600000000,
		   .offset_s = 1700000000 },
};

struct payload {
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct payload *payload, const void *bytes, size_t size)
{
	memcpy(payload->bytes + payload->size, bytes, size);
	payload->size += size;
}

static void put_number(struct payload *payload, uint64_t value, size_t size)
{
	put(payload, &value, size);
}

/* A record's header with all its bits: id and time. */
static void put_head(struct payload *payload, enum sonde_header_kind kind,
		     uint32_t id, uint64_t time)
{
	if (kind == SONDE_LARGE)
		put_number(payload, SONDE_LARGE_ESCAPE, 2);
	else
		put_number(payload, SONDE_COMPACT_ESCAPE, 1);
	put_number(payload, id, 4);
	put_number(payload, time, 8);
}

static struct sonde_ctf_trace *trace_with(const struct scratch *scratch,
					  enum sonde_header_kind kind,
					  const struct sonde_desc *desc)
{
	struct sonde_ctf_trace *trace = NULL;

	assert_int_equal(
		sonde_ctf_trace_create(scratch->trace, &config, &trace), 0);
	assert_int_equal(sonde_ctf_trace_add_class(trace, 3, kind, "c /* */"),
			 0);
	if (desc)
		assert_int_equal(sonde_ctf_trace_add_event(trace, 3, 1, desc),
				 0);
	return trace;
}

static void record_bytes(struct sonde_ctf_trace *trace,
			 const struct payload *records)
{
	struct sonde_ctf_stream_config stream_config = {
		.class_id = 3, .cpu_id = 1, .vpid = 2, .name = "s"
	};
	struct sonde_ctf_stream *stream = NULL;

	assert_int_equal(sonde_ctf_stream_open(trace, &stream_config, &stream),
			 0);
	assert_int_equal(sonde_ctf_packet_begin(stream, 1000, 0), 0);
	assert_int_equal(sonde_ctf_packet_append(stream, records->bytes,
						 records->size),
			 0);
	assert_int_equal(sonde_ctf_packet_publish(stream, 1ull << 40, 0), 0);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
}

/* The payload as babeltrace2 prints it is `expected`. */
static void check_fields(const struct sonde_desc *desc,
			 const struct payload *payload, const char *expected)
{
	struct payload records = { .size = 0 };
	struct scratch scratch;
	struct witness witness;
	char *fields;

	scratch_make(&scratch);
	put_head(&records, SONDE_COMPACT, 1, 5000);
	put(&records, payload->bytes, payload->size);
	record_bytes(trace_with(&scratch, SONDE_COMPACT, desc), &records);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	fields = strstr(witness.out, " }, {");
	assert_non_null(fields);
	fields[strlen(fields) - 1] = 0; /* the line's end */
	assert_string_equal(fields + 4, expected);
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void integers_have_width_sign_base_and_order(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "ints", SONDE_INFO);
	maker_field(&maker, "a", SONDE_TYPE_INT, 8, 1, SIGNED);
	maker_field(&maker, "b", SONDE_TYPE_INT, 16, 1, NETWORK);
	maker_field(&maker, "c", SONDE_TYPE_INT, 32, 1, HEX);
	maker_field(&maker, "d", SONDE_TYPE_INT, 64, 1, SIGNED);
	maker_field(&maker, "e", SONDE_TYPE_INT, 64, 1, 0);
	maker_field(&maker, "f", SONDE_TYPE_INT, 8, 1, SONDE_FIELD_BOOL);
	maker_field(&maker, "g", SONDE_TYPE_INT, 8, 1,
		    SONDE_FIELD_CHAR | SIGNED);
	put_number(&payload, (uint8_t)-5, 1);
	put(&payload, "\1\2", 2);
	put_number(&payload, 0xbeef, 4);
	put_number(&payload, 1ull << 63, 8);
	put_number(&payload, UINT64_MAX, 8);
	put_number(&payload, 1, 1);
	put_number(&payload, 'A', 1);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = -5, b = 258, c = 0xBEEF, d = -9223372036854775808,"
		     " e = 18446744073709551615, f = 1, g = 65 }");
}

static void bit_fields_keep_their_width(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "bits", SONDE_INFO);
	maker_field(&maker, "a", SONDE_TYPE_BITS, 5, 1, SIGNED);
	maker_field(&maker, "b", SONDE_TYPE_BITS, 12, 1, 0);
	maker_field(&maker, "c", SONDE_TYPE_BITS, 17, 1, 0);
	maker_field(&maker, "d", SONDE_TYPE_BITS, 64, 1, 0);
	maker_field(&maker, "end", SONDE_TYPE_INT, 8, 1, 0);
	put_number(&payload, (uint8_t)-2, 1);
	put_number(&payload, 0xabc, 2);
	put_number(&payload, 0x1ffff, 4);
	put_number(&payload, 1, 8);
	put_number(&payload, 9, 1);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = -2, b = 2748, c = 131071, d = 1, end = 9 }");
}

static void floats_strings_and_text(void **state)
{
	struct payload payload = { .size = 0 };
	float single = 1.5F;
	double wide = -2.25;
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "floats", SONDE_INFO);
	maker_field(&maker, "a", SONDE_TYPE_FLOAT, 32, 1, 0);
	maker_field(&maker, "b", SONDE_TYPE_FLOAT, 64, 1, 0);
	maker_field(&maker, "s", SONDE_TYPE_STRING, 0, 0, 0);
	maker_field(&maker, "t", SONDE_TYPE_TEXT, 0, 6, 0);
	maker_field(&maker, "u", SONDE_TYPE_STRING, 0, 10, 0);
	put(&payload, &single, sizeof(single));
	put(&payload, &wide, sizeof(wide));
	put(&payload, "hello", 6);
	put(&payload, "abc\0de", 6);
	put(&payload, "x", 2);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = 1.5, b = -2.25, s = \"hello\", t = \"abc\","
		     " u = \"x\" }");
}

static void arrays_sequences_and_blobs(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "arrays", SONDE_INFO);
	maker_open(&maker, "a", SONDE_TYPE_ARRAY, 0, 2, 0);
	maker_field(&maker, "", SONDE_TYPE_INT, 16, 1, NETWORK);
	maker_close(&maker);
	maker_open(&maker, "s", SONDE_TYPE_SEQUENCE, 0, 0, 0);
	maker_field(&maker, "", SONDE_TYPE_INT, 32, 1, SIGNED);
	maker_close(&maker);
	maker_field(&maker, "b", SONDE_TYPE_BLOB, 0, 0, 0);
	maker_open(&maker, "e", SONDE_TYPE_SEQUENCE, 0, 0, 0);
	maker_field(&maker, "", SONDE_TYPE_FLOAT, 32, 1, 0);
	maker_close(&maker);
	put(&payload, "\0\1\0\2", 4);
	put_number(&payload, 2, 4);
	put_number(&payload, (uint32_t)-7, 4);
	put_number(&payload, 8, 4);
	put_number(&payload, 2, 4);
	put(&payload, "\x10\xff", 2);
	put_number(&payload, 0, 4);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = [ [0] = 1, [1] = 2 ], _s_length = 2,"
		     " s = [ [0] = -7, [1] = 8 ], _b_length = 2,"
		     " b = [ [0] = 0x10, [1] = 0xFF ], _e_length = 0,"
		     " e = [ ] }");
}

static void enumerations_have_ranges_and_any_label(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "enums", SONDE_INFO);
	maker_open(&maker, "a", SONDE_TYPE_ENUM, 32, 3, SIGNED);
	maker_label(&maker, "say \"no\" \\", INT64_MIN, -2);
	maker_label(&maker, "zero", 0, 0);
	maker_label(&maker, "int", 1, 5);
	maker_close(&maker);
	maker_open(&maker, "b", SONDE_TYPE_ENUM, 64, 1, 0);
	maker_label(&maker, "top", -1, -1);
	maker_close(&maker);
	put_number(&payload, (uint32_t)-3, 4);
	put_number(&payload, UINT64_MAX, 8);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = ( \"say \\\"no\\\" \\\\\" : container = -3 ),"
		     " b = ( \"top\" : container = 18446744073709551615 ) }");
}

/* struct { int x; struct { u8 y; } in; } */
static void make_struct(struct maker *maker, const char *name)
{
	maker_open(maker, name, SONDE_TYPE_STRUCT, 0, 2, 0);
	maker_field(maker, "x", SONDE_TYPE_INT, 32, 1, SIGNED);
	maker_open(maker, "in", SONDE_TYPE_STRUCT, 0, 1, 0);
	maker_field(maker, "y", SONDE_TYPE_INT, 8, 1, 0);
	maker_close(maker);
	maker_close(maker);
}

static const struct sonde_desc *make_variant(struct maker *maker)
{
	maker_start(maker, "t", "variant", SONDE_INFO);
	maker_open(maker, "kind", SONDE_TYPE_ENUM, 8, 3, 0);
	maker_label(maker, "a number", 0, 0);
	maker_label(maker, "a number", 1, 1);
	maker_label(maker, "int", 2, 2);
	maker_close(maker);
	maker_open(maker, "u", SONDE_TYPE_VARIANT, 0, 3, 0);
	maker_field(maker, "n", SONDE_TYPE_INT, 32, 1, 0);
	make_struct(maker, "st");
	maker_field(maker, "bytes", SONDE_TYPE_BLOB, 0, 0, 0);
	maker_close(maker);
	maker_field(maker, "end", SONDE_TYPE_INT, 8, 1, 0);
	return maker_finish(maker);
}

static void structures_nest(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "structs", SONDE_INFO);
	make_struct(&maker, "p->a");
	make_struct(&maker, "b");
	put_number(&payload, 1, 4);
	put_number(&payload, 2, 1);
	put_number(&payload, 3, 4);
	put_number(&payload, 4, 1);
	check_fields(maker_finish(&maker), &payload,
		     "{ a = { x = 1, in = { y = 2 } },"
		     " b = { x = 3, in = { y = 4 } } }");
}

static void variants_follow_their_tag(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;
	const struct sonde_desc *desc = make_variant(&maker);

	(void)state;
	NEED_WITNESS();
	put_number(&payload, 0, 1);
	put_number(&payload, 77, 4);
	put_number(&payload, 9, 1);
	check_fields(desc, &payload,
		     "{ kind = ( \"_a_number\" : container = 0 ), u = { 77 },"
		     " end = 9 }");
	payload.size = 0;
	put_number(&payload, 1, 1);
	put_number(&payload, 5, 4);
	put_number(&payload, 6, 1);
	put_number(&payload, 9, 1);
	check_fields(desc, &payload,
		     "{ kind = ( \"_a_number_2\" : container = 1 ),"
		     " u = { { x = 5, in = { y = 6 } } }, end = 9 }");
	payload.size = 0;
	put_number(&payload, 2, 1);
	put_number(&payload, 1, 4);
	put_number(&payload, 255, 1);
	put_number(&payload, 9, 1);
	check_fields(desc, &payload,
		     "{ kind = ( \"_int\" : container = 2 ),"
		     " u = { { length = 1, data = [ [0] = 0xFF ] } },"
		     " end = 9 }");
}

static void names_are_escaped_and_unique(void **state)
{
	static const char *const names[] = { "int",    "Bool",   "_Bool",
					     "p->len", "q.len",  "variant",
					     "a + b",  "Complex" };
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "names", SONDE_INFO);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		maker_field(&maker, names[i], SONDE_TYPE_INT, 8, 1, 0);
		put_number(&payload, i, 1);
	}
	maker_field(&maker, "s", SONDE_TYPE_BLOB, 0, 0, 0);
	maker_field(&maker, "_s_length", SONDE_TYPE_INT, 8, 1, 0);
	put_number(&payload, 0, 4);
	put_number(&payload, 9, 1);
	check_fields(maker_finish(&maker), &payload,
		     "{ int = 0, _Bool = 1, _Bool_2 = 2, len = 3, len_2 = 4,"
		     " variant = 5, a_b = 6, _Complex = 7, _s_length = 0,"
		     " s = [ ], _s_length_2 = 9 }");
}

static void an_event_may_have_no_fields(void **state)
{
	struct payload payload = { .size = 0 };
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	maker_start(&maker, "t", "none", SONDE_INFO);
	check_fields(maker_finish(&maker), &payload, "{ }");
}

/* Compact time goes on from the packet's begin, and wraps. */
static void compact_headers_are_read(void **state)
{
	struct payload records = { .size = 0 };
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	put_head(&records, SONDE_COMPACT, SONDE_CONTEXT_ID, 0x7fffff0);
	put_number(&records, 11, 4);
	put_number(&records, 12, 4);
	put_number(&records, 0x7ffffffu << 5, 4);
	put_number(&records, 13, 4);
	put_number(&records, 14, 4);
	put_number(&records, 1u << 5, 4); /* wrapped: 0x8000001 */
	put_number(&records, 15, 4);
	put_number(&records, 16, 4);
	record_bytes(trace_with(&scratch, SONDE_COMPACT, NULL), &records);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_non_null(strstr(witness.out, "[00000000000134217712]"));
	assert_non_null(strstr(witness.out, "[00000000000134217727]"));
	assert_non_null(strstr(witness.out, "[00000000000134217729]"));
	assert_non_null(strstr(witness.out, "sonde:thread"));
	assert_non_null(strstr(witness.out, "{ tid = 15, pid = 16 }"));
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void large_headers_are_read(void **state)
{
	struct payload records = { .size = 0 };
	struct scratch scratch;
	struct witness witness;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	put_head(&records, SONDE_LARGE, SONDE_CONTEXT_ID, 0xfffffff0);
	put_number(&records, 11, 4);
	put_number(&records, 12, 4);
	put_number(&records, 0, 2);
	put_number(&records, 2, 4); /* wrapped: 0x100000002 */
	put_number(&records, 13, 4);
	put_number(&records, 14, 4);
	record_bytes(trace_with(&scratch, SONDE_LARGE, NULL), &records);
	witness = witness_call(&scratch, NULL);
	witness_content(&witness);
	assert_non_null(strstr(witness.out, "[00000000004294967280]"));
	assert_non_null(strstr(witness.out, "[00000000004294967298]"));
	assert_non_null(strstr(witness.out, "{ tid = 13, pid = 14 }"));
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

/* What the witness makes of the parts that no event shows. */
static void the_environment_names_sonde_and_lets_others_choose(void **state)
{
	struct payload records = { .size = 0 };
	struct scratch scratch;
	struct witness witness;
	char path[160];
	char *text;
	struct maker maker;

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	put_head(&records, SONDE_COMPACT, 1, 5000);
	maker_start(&maker, "http.v1", "request-done", SONDE_DEBUG_UNIT);
	record_bytes(trace_with(&scratch, SONDE_COMPACT, maker_finish(&maker)),
		     &records);
	witness = witness_call(&scratch, "--component=sink.text.details");
	witness_content(&witness);
	assert_non_null(strstr(witness.out, "http.v1:request-done"));
	assert_non_null(strstr(witness.out, "Log level: Debug (unit)"));
	assert_non_null(strstr(witness.out, "a \"host\"\\\n\x01!"));
	assert_non_null(strstr(witness.out, "says \"tick\", \\ and\na line"));
	assert_non_null(strstr(witness.out, "Frequency (Hz): 2,600,000,000"));
	witness_dismiss(&witness);
	(void)snprintf(path, sizeof(path), "%s/metadata", scratch.trace);
	text = read_file(path);
	assert_non_null(strstr(text, "\tdomain = \"ust\";\n"));
	assert_non_null(strstr(text, "\ttracer_name = \"lttng-ust\";\n"));
	assert_non_null(strstr(text, "\ttracer_major = 2;\n"));
	assert_non_null(strstr(text, "\ttracer_minor = 13;\n"));
	assert_non_null(strstr(text, "\ttracer2_name = \"sonde\";\n"));
	free(text);
	scratch_remove(&scratch);
}

/* Blocks are appended page by page, or make a new file. */
static void metadata_may_grow_in_any_steps(void **state)
{
	struct sonde_ctf_trace *trace;
	struct scratch scratch;
	struct witness witness;
	struct maker maker;
	char name[32];

	(void)state;
	NEED_WITNESS();
	scratch_make(&scratch);
	trace = trace_with(&scratch, SONDE_LARGE, NULL);
	for (uint32_t id = 1; id < 200; id++) {
		uint32_t nr_fields = id % 50 == 3 ? 32 : id % 7;

		(void)snprintf(name, sizeof(name), "event%u", id);
		maker_start(&maker, "t", name, SONDE_INFO);
		for (uint32_t i = 0; i < nr_fields; i++) {
			maker_open(&maker, "f", SONDE_TYPE_ENUM, 32, 3, 0);
			maker_label(&maker, "a rather long label", 0, 5);
			maker_label(&maker, "a second label, longer", 6, 8);
			maker_label(&maker, "and a third one, longer", 9, 9);
			maker_close(&maker);
		}
		assert_int_equal(sonde_ctf_trace_add_event(
					 trace, 3, id, maker_finish(&maker)),
				 0);
		if (id % 3 == 0)
			assert_int_equal(sonde_ctf_trace_sync(trace), 0);
		if (id % 20 == 0) {
			witness = witness_call(&scratch, NULL);
			witness_content(&witness);
			witness_dismiss(&witness);
		}
	}
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	witness = witness_call(&scratch, "--output-format=ctf-metadata");
	witness_content(&witness);
	for (uint32_t id = 1; id < 200; id++) {
		(void)snprintf(name, sizeof(name), "\"t:event%u\";", id);
		assert_non_null(strstr(witness.out, name));
	}
	witness_dismiss(&witness);
	scratch_remove(&scratch);
}

static void a_variant_as_an_option_is_refused(void **state)
{
	struct sonde_ctf_trace *trace;
	struct scratch scratch;
	struct maker maker;

	(void)state;
	scratch_make(&scratch);
	trace = trace_with(&scratch, SONDE_COMPACT, NULL);
	maker_start(&maker, "t", "odd", SONDE_INFO);
	maker_open(&maker, "k", SONDE_TYPE_ENUM, 8, 2, 0);
	maker_label(&maker, "a", 0, 0);
	maker_label(&maker, "b", 1, 1);
	maker_close(&maker);
	maker_open(&maker, "v", SONDE_TYPE_VARIANT, 0, 2, 0);
	maker_open(&maker, "e", SONDE_TYPE_ENUM, 8, 1, 0);
	maker_label(&maker, "c", 0, 0);
	maker_close(&maker);
	maker_open(&maker, "w", SONDE_TYPE_VARIANT, 0, 1, 0);
	maker_field(&maker, "x", SONDE_TYPE_INT, 8, 1, 0);
	maker_close(&maker);
	maker_close(&maker);
	assert_int_equal(sonde_ctf_trace_add_event(trace, 3, 1,
						   maker_finish(&maker)),
			 -EINVAL);
	assert_int_equal(sonde_ctf_trace_close(trace), 0);
	scratch_remove(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_have_width_sign_base_and_order),
		cmocka_unit_test(bit_fields_keep_their_width),
		cmocka_unit_test(floats_strings_and_text),
		cmocka_unit_test(arrays_sequences_and_blobs),
		cmocka_unit_test(enumerations_have_ranges_and_any_label),
		cmocka_unit_test(structures_nest),
		cmocka_unit_test(variants_follow_their_tag),
		cmocka_unit_test(names_are_escaped_and_unique),
		cmocka_unit_test(an_event_may_have_no_fields),
		cmocka_unit_test(compact_headers_are_read),
		cmocka_unit_test(large_headers_are_read),
		cmocka_unit_test(
			the_environment_names_sonde_and_lets_others_choose),
		cmocka_unit_test(metadata_may_grow_in_any_steps),
		cmocka_unit_test(a_variant_as_an_option_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
