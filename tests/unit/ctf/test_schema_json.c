/* SPDX-License-Identifier: MIT */
/*
 * test_schema_json.c - CTF 2 metadata: read, written, and read again.
 *
 * Fragments are written here with ' for ". What a schema becomes as CTF 2 has
 * to be the same schema, but for what differences() says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/schema.h"
#include "unit.h"

#define TEXT_MAX 65536

#define PREAMBLE "{'type':'preamble','version':2}"
#define LE16     "'length':16,'byte-order':'little-endian'"
#define U8                                                    \
	"{'type':'fixed-length-unsigned-integer','length':8," \
	"'byte-order':'little-endian','alignment':8}"
#define STREAM "{'type':'data-stream-class'}"
#define EVENT(fields)                                                    \
	"{'type':'event-record-class','name':'e','payload-field-class':" \
	"{'type':'structure','member-classes':[" fields "]}}"
#define FIELD(name, cls) "{'name':'" name "','field-class':" cls "}"

/* ---- from fragments to a schema ---- */

/* Fragments, ended by NULL, as a metadata file. */
static size_t metadata(char text[TEXT_MAX], const char *const *fragments)
{
	size_t used = 0;

	for (; *fragments; fragments++)
		used += (size_t)snprintf(text + used, TEXT_MAX - used,
					 "\x1e%s\n", *fragments);
	assert_true(used < TEXT_MAX);
	for (size_t i = 0; i < used; i++)
		if (text[i] == '\'')
			text[i] = '"';
	return used;
}

static struct sonde_schema *parsed(const char *text, size_t size)
{
	struct sonde_schema_error error;
	struct sonde_schema *schema = NULL;

	if (sonde_schema_parse(text, size, &error, &schema))
		fail_msg("%s", error.text);
	return schema;
}

static struct sonde_schema *schema_of(const char *const *fragments)
{
	static char text[TEXT_MAX];
	size_t size = metadata(text, fragments);

	return parsed(text, size);
}

/* The schema with one event that has these fields. */
static struct sonde_schema *schema_of_event(const char *event)
{
	const char *const fragments[] = { PREAMBLE, STREAM, event, NULL };

	return schema_of(fragments);
}

static const struct sonde_class *field(const struct sonde_schema *schema,
				       size_t i)
{
	const struct sonde_class *payload =
		schema->streams[0]->events[0]->scopes[SONDE_SCOPE_PAYLOAD];

	assert_true(i < payload->nr_members);
	return payload->members[i].cls;
}

/* What is wrong with these fragments, which must not be read. */
static void assert_wrong(const char *const *fragments, const char *words)
{
	static char text[TEXT_MAX];
	size_t size = metadata(text, fragments);
	struct sonde_schema_error error;
	struct sonde_schema *schema;

	assert_int_equal(sonde_schema_parse(text, size, &error, &schema),
			 -EINVAL);
	if (!strstr(error.text, words))
		fail_msg("'%s' is not in: %s", words, error.text);
}

/* ---- equal schemas ---- */

/* How many labels of this name come before label i. */
static size_t nth_of_name(const struct sonde_class *cls, size_t i)
{
	size_t nth = 0;

	for (size_t k = 0; k < i; k++)
		nth += strcmp(cls->labels[k].name, cls->labels[i].name) == 0;
	return nth;
}

/* Labels of one name are together in CTF 2, in their order. */
static void assert_same_labels(const struct sonde_class *a,
			       const struct sonde_class *b)
{
	assert_int_equal(a->nr_labels, b->nr_labels);
	for (size_t i = 0; i < a->nr_labels; i++) {
		size_t nth = nth_of_name(a, i);
		size_t k = 0;

		while (strcmp(a->labels[i].name, b->labels[k].name) != 0 ||
		       nth_of_name(b, k) != nth)
			assert_true(++k < b->nr_labels);
		assert_true(a->labels[i].low == b->labels[k].low);
		assert_true(a->labels[i].high == b->labels[k].high);
	}
}

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void assert_same_class(const struct sonde_class *a,
			      const struct sonde_class *b);

static void assert_same_number(const struct sonde_class *a,
			       const struct sonde_class *b)
{
	assert_int_equal(a->bits, b->bits);
	assert_int_equal(a->big_endian, b->big_endian);
	assert_int_equal(a->last_bit_first, b->last_bit_first);
	if (a->kind == SONDE_KIND_UINT || a->kind == SONDE_KIND_INT)
		assert_int_equal(a->base, b->base);
	assert_int_equal(a->is_enum, b->is_enum);
	assert_same_labels(a, b);
}

/* Options that nothing chooses are gone. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void assert_same_members(const struct sonde_class *a,
				const struct sonde_class *b)
{
	size_t k = 0;

	for (size_t i = 0; i < a->nr_members; i++) {
		const struct sonde_member *x = &a->members[i];
		const struct sonde_member *y = &b->members[k];

		if (a->kind == SONDE_KIND_VARIANT && x->nr_ranges == 0)
			continue;
		assert_true(k++ < b->nr_members);
		assert_same_text(x->name, y->name);
		assert_int_equal(x->nr_ranges, y->nr_ranges);
		for (size_t n = 0; n < x->nr_ranges; n++) {
			assert_true(x->ranges[n].low == y->ranges[n].low);
			assert_true(x->ranges[n].high == y->ranges[n].high);
		}
		assert_same_class(x->cls, y->cls);
	}
	assert_int_equal(k, b->nr_members);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void assert_same_class(const struct sonde_class *a,
			      const struct sonde_class *b)
{
	assert_int_equal(!a, !b);
	if (!a || !b)
		return;
	assert_int_equal(a->align_bits, b->align_bits);
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->reg, b->reg);
	assert_int_equal(!a->ref, !b->ref);
	if (a->ref && b->ref)
		assert_int_equal(a->ref->reg, b->ref->reg);
	else
		assert_true(a->count == b->count);
	assert_same_text(a->attributes, b->attributes);
	if (a->role == SONDE_ROLE_UUID && b->kind == SONDE_KIND_BLOB)
		return;
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->encoding, b->encoding);
	assert_int_equal(a->length, b->length);
	assert_same_text(a->media_type, b->media_type);
	if (a->bits > 0 || a->nr_labels > 0)
		assert_same_number(a, b);
	assert_same_members(a, b);
}

static void assert_same_clock(const struct sonde_schema_clock *a,
			      const struct sonde_schema_clock *b)
{
	assert_string_equal(a->info.name, b->info.name);
	assert_string_equal(a->info.description, b->info.description);
	assert_true(a->info.frequency == b->info.frequency);
	/* The offset is the same, and its second part less than a second. */
	assert_true((uint64_t)a->info.offset_s * a->info.frequency +
			    a->info.offset_cycles ==
		    (uint64_t)b->info.offset_s * b->info.frequency +
			    b->info.offset_cycles);
	assert_true(b->info.offset_cycles < b->info.frequency);
	assert_true(a->info.precision == b->info.precision);
	assert_true(a->accuracy == b->accuracy);
	assert_int_equal(a->has_precision, b->has_precision);
	assert_int_equal(a->has_accuracy, b->has_accuracy);
	assert_int_equal(a->info.has_uuid, b->info.has_uuid);
	assert_memory_equal(a->info.uuid, b->info.uuid, 16);
	assert_same_text(a->origin_name, b->origin_name);
	assert_same_text(a->origin_namespace, b->origin_namespace);
	assert_same_text(a->origin_uid, b->origin_uid);
	assert_same_text(a->namespace_name, b->namespace_name);
	assert_same_text(a->attributes, b->attributes);
}

static void assert_same_event(const struct sonde_event_class *a,
			      const struct sonde_event_class *b)
{
	assert_true(a->info.id == b->info.id);
	assert_string_equal(a->info.name, b->info.name);
	assert_int_equal(a->info.loglevel, b->info.loglevel);
	assert_same_text(a->uid, b->uid);
	assert_same_text(a->namespace_name, b->namespace_name);
	assert_int_equal(a->nr_regs, b->nr_regs);
	for (size_t i = 0; i < SONDE_NR_SCOPES; i++)
		assert_same_class(a->scopes[i], b->scopes[i]);
}

static void assert_same_stream(const struct sonde_stream_class *a,
			       const struct sonde_stream_class *b)
{
	assert_true(a->id == b->id);
	assert_int_equal(a->has_id, b->has_id);
	assert_int_equal(a->clock, b->clock);
	assert_same_text(a->name, b->name);
	assert_same_text(a->attributes, b->attributes);
	for (size_t i = 0; i < SONDE_NR_SCOPES; i++)
		assert_same_class(a->scopes[i], b->scopes[i]);
	assert_int_equal(a->nr_events, b->nr_events);
	for (size_t i = 0; i < a->nr_events; i++)
		assert_same_event(a->events[i], b->events[i]);
}

static void assert_same_schema(const struct sonde_schema *a,
			       const struct sonde_schema *b)
{
	assert_int_equal(a->has_uuid, b->has_uuid);
	assert_memory_equal(a->uuid, b->uuid, 16);
	assert_same_text(a->name, b->name);
	assert_same_class(a->packet_header, b->packet_header);
	assert_int_equal(a->nr_env, b->nr_env);
	for (size_t i = 0; i < a->nr_env; i++) {
		assert_string_equal(a->env[i].name, b->env[i].name);
		assert_same_text(a->env[i].text, b->env[i].text);
		assert_true(a->env[i].number == b->env[i].number);
	}
	assert_int_equal(a->nr_clocks, b->nr_clocks);
	for (size_t i = 0; i < a->nr_clocks; i++)
		assert_same_clock(&a->clocks[i], &b->clocks[i]);
	assert_int_equal(a->nr_streams, b->nr_streams);
	for (size_t i = 0; i < a->nr_streams; i++)
		assert_same_stream(a->streams[i], b->streams[i]);
}

static char *written(const struct sonde_schema *schema, size_t *ret_size)
{
	struct sonde_schema_error error;
	char *text = NULL;

	if (sonde_schema_write_json(schema, &error, &text, ret_size))
		fail_msg("%s", error.text);
	return text;
}

/* Written and read, it is the same; written again, it is the same text. */
static void assert_survives(const struct sonde_schema *schema)
{
	size_t size;
	size_t again_size;
	char *text = written(schema, &size);
	struct sonde_schema *read = parsed(text, size);
	char *again = written(read, &again_size);

	assert_same_schema(schema, read);
	assert_int_equal(size, again_size);
	assert_memory_equal(text, again, size);
	sonde_schema_free(read);
	free(text);
	free(again);
}

/* Fields' schema, which survives being written. To be freed. */
static struct sonde_schema *surviving(const char *event)
{
	struct sonde_schema *schema = schema_of_event(event);

	assert_survives(schema);
	return schema;
}

/* ---- field classes ---- */

static void json_reads_numbers_of_fixed_length(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(
		FIELD("u", "{'type':'fixed-length-unsigned-integer'," LE16 ",'alignment':32,'preferred-display-base':16}") "," FIELD(
			"i",
			"{'type':'fixed-length-signed-integer','length':7,"
			"'byte-order':'big-endian'}") "," FIELD("f",
								"{'type':'fixed-length-floating-point-number',"
								"'length':64,'byte-order':'big-endian'}") "," FIELD("b",
														    "{'type':'fixed-length-boolean'," LE16
														    ",'alignment':8}") "," FIELD("a",
																		 "{'type':'fixed-length-bit-array'," LE16
																		 "}")));
	const struct sonde_class *u = field(schema, 0);
	const struct sonde_class *i = field(schema, 1);

	(void)state;
	assert_int_equal(u->kind, SONDE_KIND_UINT);
	assert_int_equal(u->bits, 16);
	assert_int_equal(u->align_bits, 32);
	assert_int_equal(u->base, 16);
	assert_false(u->big_endian);
	assert_int_equal(i->kind, SONDE_KIND_INT);
	assert_int_equal(i->bits, 7);
	assert_int_equal(i->base, 10);
	assert_int_equal(i->align_bits, 1);
	assert_true(i->big_endian);
	assert_int_equal(field(schema, 2)->kind, SONDE_KIND_FLOAT);
	assert_int_equal(field(schema, 2)->bits, 64);
	assert_int_equal(field(schema, 3)->kind, SONDE_KIND_BOOL);
	assert_int_equal(field(schema, 4)->kind, SONDE_KIND_BITS);
	sonde_schema_free(schema);
}

static void json_knows_which_bit_order_is_unusual(void **state)
{
#define ORDER(bytes, bits)                                               \
	FIELD(bytes bits, "{'type':'fixed-length-bit-array','length':3," \
			  "'byte-order':'" bytes "-endian',"             \
			  "'bit-order':'" bits "'}")
	struct sonde_schema *schema = surviving(EVENT(
		ORDER("little", "first-to-last") "," ORDER("little", "last-to-first") "," ORDER(
			"big", "first-to-last") "," ORDER("big",
							  "last-to-first")));

	(void)state;
	assert_false(field(schema, 0)->last_bit_first);
	assert_true(field(schema, 1)->last_bit_first);
	assert_true(field(schema, 2)->last_bit_first);
	assert_false(field(schema, 3)->last_bit_first);
	sonde_schema_free(schema);
}

static void json_reads_labels_with_all_64_bits(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(FIELD(
		"u",
		"{'type':'variable-length-unsigned-integer',"
		"'mappings':{'top':[[9223372036854775808,"
		"18446744073709551615]],'two':[[1,2],[5,5]]}}") "," FIELD("i",
									  "{'type':'variable-length-signed-integer',"
									  "'mappings':{'low':[[-9223372036854775808,-1]]}}") "," FIELD("m",
																       "{'type':'fixed-length-bit-map'," LE16
																       ",'flags':{'x':[[0,0],[2,3]],'y':[[2,2]]}}")));
	const struct sonde_class *u = field(schema, 0);
	const struct sonde_class *i = field(schema, 1);
	const struct sonde_class *m = field(schema, 2);

	(void)state;
	assert_int_equal(u->bits, 0);
	assert_int_equal(u->align_bits, 8);
	assert_true(u->is_enum);
	assert_int_equal(u->nr_labels, 3);
	assert_true(u->labels[0].low == UINT64_C(1) << 63);
	assert_true(u->labels[0].high == UINT64_MAX);
	assert_string_equal(u->labels[2].name, "two");
	assert_true((int64_t)i->labels[0].low == INT64_MIN);
	assert_true((int64_t)i->labels[0].high == -1);
	assert_int_equal(m->nr_labels, 3);
	assert_int_equal(m->labels[1].high, 3);
	sonde_schema_free(schema);
}

static void json_cuts_from_a_range_what_its_number_cannot_be(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(FIELD(
		"u",
		"{'type':'variable-length-unsigned-integer',"
		"'mappings':{'a':[[-5,7],[-9,-8]]}}") "," FIELD("i",
								"{'type':'variable-length-signed-integer',"
								"'mappings':{'a':[[3,18446744073709551615]],"
								"'b':[[9223372036854775808,"
								"9223372036854775809]]}}")));

	(void)state;
	assert_int_equal(field(schema, 0)->nr_labels, 1);
	assert_true(field(schema, 0)->labels[0].low == 0);
	assert_true(field(schema, 0)->labels[0].high == 7);
	assert_int_equal(field(schema, 1)->nr_labels, 1);
	assert_true(field(schema, 1)->labels[0].high == INT64_MAX);
	sonde_schema_free(schema);
}

static void json_reads_strings_and_blobs(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(FIELD("n", U8) "," FIELD(
		"z",
		"{'type':'null-terminated-string',"
		"'encoding':'utf-16le'}") "," FIELD("s",
						    "{'type':'static-length-string','length':12}") "," FIELD("d",
													     "{'type':'dynamic-length-string',"
													     "'length-field-location':{'path':['n']},"
													     "'encoding':'utf-32be'}") "," FIELD("b",
																		 "{'type':'static-length-blob','length':0,"
																		 "'media-type':'image/png'}") "," FIELD("c",
																							"{'type':'dynamic-length-blob',"
																							"'length-field-location':{'origin':"
																							"'event-record-payload','path':['n']}}")));

	(void)state;
	assert_int_equal(field(schema, 1)->encoding, SONDE_ENCODING_UTF16LE);
	assert_int_equal(field(schema, 1)->length, SONDE_LENGTH_ZERO);
	assert_int_equal(field(schema, 2)->count, 12);
	assert_int_equal(field(schema, 2)->align_bits, 8);
	assert_int_equal(field(schema, 3)->encoding, SONDE_ENCODING_UTF32BE);
	assert_ptr_equal(field(schema, 3)->ref, field(schema, 0));
	assert_string_equal(field(schema, 4)->media_type, "image/png");
	assert_ptr_equal(field(schema, 5)->ref, field(schema, 0));
	sonde_schema_free(schema);
}

static void json_reads_structures_and_arrays(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(FIELD("n", U8) "," FIELD(
		"s",
		"{'type':'structure','minimum-alignment':64,"
		"'member-classes':[" FIELD(
			"x",
			U8) "]}") "," FIELD("a",
					    "{'type':'static-length-array','length':3,"
					    "'minimum-alignment':16,'element-field-class':" U8
					    "}") "," FIELD("d",
							   "{'type':'dynamic-length-array',"
							   "'length-field-location':{'path':['n']},"
							   "'element-field-class':{'type':'structure',"
							   "'member-classes':[" FIELD("k", U8) "," FIELD(
								   "l",
								   "{'type':'dynamic-length-array',"
								   "'length-field-location':{'path':"
								   "[null,'n']},'element-field-class':" U8
								   "}") "]}}") "," FIELD("e",
											 "{'type':'structure'}")));
	const struct sonde_class *d = field(schema, 3);

	(void)state;
	assert_int_equal(field(schema, 1)->align_bits, 64);
	assert_int_equal(field(schema, 2)->kind, SONDE_KIND_ARRAY);
	assert_int_equal(field(schema, 2)->align_bits, 16);
	assert_int_equal(d->kind, SONDE_KIND_SEQUENCE);
	assert_ptr_equal(d->members[0].cls->members[1].cls->ref,
			 field(schema, 0));
	assert_int_equal(field(schema, 4)->nr_members, 0);
	sonde_schema_free(schema);
}

static void json_reads_optionals_and_variants(void **state)
{
	struct sonde_schema *schema = surviving(EVENT(
		FIELD("f", "{'type':'fixed-length-boolean'," LE16 "}") "," FIELD(
			"t",
			"{'type':'fixed-length-signed-integer'," LE16
			"}") "," FIELD("o",
				       "{'type':'optional','selector-field-location':"
				       "{'path':['f']},'field-class':" U8
				       "}") "," FIELD("p",
						      "{'type':'optional','selector-field-location':"
						      "{'path':['t']},'selector-field-ranges':[[-2,-1],"
						      "[4,9]],'field-class':" U8
						      "}") "," FIELD("v",
								     "{'type':'variant','selector-field-location':"
								     "{'path':['t']},'options':[{'name':'one',"
								     "'selector-field-ranges':[[-3,3]],"
								     "'field-class':" U8
								     "},{'selector-field-ranges':"
								     "[[4,4]],'field-class':"
								     "{'type':'null-terminated-string'}},"
								     "{'selector-field-ranges':[[5,5]],"
								     "'field-class':" U8
								     "}]}")));
	const struct sonde_class *v = field(schema, 4);

	(void)state;
	assert_int_equal(field(schema, 2)->members[0].nr_ranges, 0);
	assert_ptr_equal(field(schema, 2)->ref, field(schema, 0));
	assert_int_equal(field(schema, 3)->members[0].nr_ranges, 2);
	assert_ptr_equal(field(schema, 3)->ref, field(schema, 1));
	assert_int_equal(v->nr_members, 3);
	assert_string_equal(v->members[0].name, "one");
	assert_null(v->members[1].name);
	/* -3..3 as -3..-1 and 0..3: the tag's sign wasn't known. */
	assert_int_equal(v->members[0].nr_ranges, 2);
	assert_true(v->members[0].ranges[0].low == (uint64_t)-3);
	assert_true(v->members[0].ranges[0].high == UINT64_MAX);
	assert_true(v->members[0].ranges[1].high == 3);
	sonde_schema_free(schema);
}

static void json_finds_a_length_in_another_scope(void **state)
{
	const char *const fragments[] = {
		PREAMBLE,
		"{'type':'data-stream-class','packet-context-field-class':"
		"{'type':'structure','member-classes':[" FIELD(
			"s", "{'type':'structure','member-classes':[" FIELD(
				     "n", U8) "]}") "]}}",
		EVENT(FIELD("d", "{'type':'dynamic-length-string',"
				 "'length-field-location':{'origin':"
				 "'packet-context','path':['s','n']}}")),
		NULL
	};
	struct sonde_schema *schema = schema_of(fragments);
	const struct sonde_class *context =
		schema->streams[0]->scopes[SONDE_SCOPE_PACKET_CONTEXT];

	(void)state;
	assert_survives(schema);
	assert_ptr_equal(field(schema, 0)->ref,
			 context->members[0].cls->members[0].cls);
	sonde_schema_free(schema);
}

static void json_gives_each_use_of_an_alias_its_own_class(void **state)
{
	const char *const fragments[] = {
		PREAMBLE,
		"{'type':'field-class-alias','name':'u8','field-class':" U8 "}",
		"{'type':'field-class-alias','name':'byte','field-class':'u8'}",
		STREAM,
		EVENT(FIELD("a", "'u8'") "," FIELD("b", "'byte'") "," FIELD(
			"c", "{'type':'static-length-array','length':2,"
			     "'element-field-class':'byte'}")),
		NULL
	};
	struct sonde_schema *schema = schema_of(fragments);

	(void)state;
	assert_survives(schema);
	assert_int_equal(field(schema, 0)->bits, 8);
	assert_ptr_not_equal(field(schema, 0), field(schema, 1));
	assert_int_equal(field(schema, 2)->members[0].cls->bits, 8);
	sonde_schema_free(schema);
}

static void json_keeps_attributes(void **state)
{
	struct sonde_schema *schema =
		surviving("{'type':'event-record-class','attributes':{'a.b':"
			  "[1.50,null,18446744073709551615]}}");

	(void)state;
	assert_string_equal(schema->streams[0]->events[0]->attributes,
			    "{\"a.b\":[1.50,null,18446744073709551615]}");
	sonde_schema_free(schema);
}

static void json_reads_log_levels_of_two_kinds(void **state)
{
	static const struct {
		const char *event;
		int level;
	} cases[] = {
		{ "{'type':'event-record-class','attributes':"
		  "{'babeltrace.org,2020':{'log-level':'debug:line'}}}",
		  13 },
		{ "{'type':'event-record-class','attributes':"
		  "{'lttng.org,2009':{'log-level':3}}}",
		  3 },
		{ "{'type':'event-record-class','attributes':"
		  "{'babeltrace.org,2020':{'log-level':null}}}",
		  -1 },
		{ "{'type':'event-record-class','attributes':"
		  "{'lttng.org,2009':{'log-level':-3},"
		  "'babeltrace.org,2020':7}}",
		  -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sonde_schema *schema = surviving(cases[i].event);

		assert_int_equal(schema->streams[0]->events[0]->info.loglevel,
				 cases[i].level);
		sonde_schema_free(schema);
	}
}

/* ---- whole traces ---- */

#define FULL_PREAMBLE                                                       \
	"{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11," \
	"12,13,14,255],'attributes':{'a':1}}"
#define ROLE(name, bits, role)                                               \
	FIELD(name, "{'type':'fixed-length-unsigned-integer','length':" bits \
		    ",'byte-order':'big-endian','alignment':8,"              \
		    "'roles':[" role "]}")
#define CLOCK                                                            \
	"{'type':'clock-class','id':'k','name':'mono','namespace':'ns'," \
	"'uid':'00010203-0405-0607-0809-0a0b0c0d0e0f',"                  \
	"'frequency':1000,'origin':'unix-epoch','offset-from-origin':"   \
	"{'seconds':-7,'cycles':999},'precision':4,'accuracy':5,"        \
	"'description':'d'}"

static const char
	*const full_trace[] = {
		FULL_PREAMBLE,
		"{'type':'trace-class','name':'t','namespace':'n','uid':'u',"
		"'environment':{'tracer':'x','major':-3},"
		"'packet-header-field-class':{'type':'structure','member-classes':[" ROLE("magic", "32", "'packet-magic-number'") "," FIELD(
			"uuid",
			"{'type':'static-length-blob','length':16,"
			"'roles':['metadata-stream-uuid']}") "," ROLE("sid",
								      "32",
								      "'data-stream-class-id'") "," ROLE("iid",
													 "64",
													 "'data-stream-id'") "]}}",
		CLOCK,
		"{'type':'clock-class','id':'other','frequency':1,'origin':"
		"{'name':'o','namespace':'on','uid':'ou'}}",
		"{'type':'data-stream-class','id':7,'default-clock-class-id':'k',"
		"'name':'s','packet-context-field-class':{'type':'structure',"
		"'member-classes':[" ROLE("t0", "64",
					  "'default-clock-timestamp'") "," ROLE("t1", "64", "'packet-end-default-clock-timestamp'") "," ROLE("total", "64", "'packet-total-length'") "," ROLE("content", "64", "'packet-content-length'") "," ROLE("lost", "64", "'discarded-event-record-counter-snapshot'") "," ROLE("seq",
																																						       "64",
																																						       "'packet-sequence-number'") "," ROLE("cpu_id",
																																											    "32",
																																											    "") "]},"
																																												"'event-record-header-field-class':{'type':'structure',"
																																												"'member-classes':[" ROLE("id",
																																															  "16",
																																															  "'event-record-class-id'") "," ROLE("t",
																																																			      "64",
																																																			      "'default-clock-timestamp'") "]},"
																																																							   "'event-record-common-context-field-class':{'type':'structure',"
																																																							   "'member-classes':[" FIELD(
																																																								   "vtid",
																																																								   U8) "]}}",
		"{'type':'event-record-class','id':1,'data-stream-class-id':7,"
		"'name':'one','specific-context-field-class':{'type':'structure',"
		"'member-classes':[" FIELD("c", U8) "]}}",
		"{'type':'event-record-class','id':18446744073709551615,"
		"'data-stream-class-id':7,'namespace':'q','uid':'w'}",
		NULL
	};

static void json_reads_a_whole_trace(void **state)
{
	static const enum sonde_role roles[] = {
		SONDE_ROLE_TIME,        SONDE_ROLE_TIME_END,
		SONDE_ROLE_PACKET_BITS, SONDE_ROLE_CONTENT_BITS,
		SONDE_ROLE_DISCARDED,   SONDE_ROLE_SEQUENCE,
		SONDE_ROLE_NONE,
	};
	struct sonde_schema *schema = schema_of(full_trace);
	const struct sonde_stream_class *stream = schema->streams[0];
	const struct sonde_class *context =
		stream->scopes[SONDE_SCOPE_PACKET_CONTEXT];

	(void)state;
	assert_survives(schema);
	assert_int_equal(schema->major, 2);
	assert_true(schema->big_endian);
	assert_int_equal(schema->uuid[15], 255);
	assert_int_equal(schema->env[1].number, -3);
	assert_int_equal(schema->packet_header->members[1].cls->role,
			 SONDE_ROLE_UUID);
	assert_int_equal(schema->nr_clocks, 2);
	assert_true(schema->clocks[0].info.absolute);
	assert_true(schema->clocks[0].info.has_uuid);
	assert_int_equal(schema->clocks[0].info.uuid[15], 15);
	assert_int_equal(schema->clocks[0].info.offset_s, -7);
	assert_string_equal(schema->clocks[1].origin_namespace, "on");
	assert_int_equal(stream->id, 7);
	assert_int_equal(stream->clock, 0);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_int_equal(context->members[i].cls->role, roles[i]);
	assert_int_equal(stream->nr_events, 2);
	assert_true(stream->events[1]->info.id == UINT64_MAX);
	sonde_schema_free(schema);
}

static void json_drops_a_role_where_it_means_nothing(void **state)
{
	struct sonde_schema *schema =
		surviving(EVENT(ROLE("x", "64", "'packet-total-length'")));

	(void)state;
	assert_int_equal(field(schema, 0)->role, SONDE_ROLE_NONE);
	sonde_schema_free(schema);
}

static void json_takes_two_roles_if_one_follows_from_the_other(void **state)
{
#define CONTEXT(roles)                                              \
	"{'type':'data-stream-class','packet-context-field-class':" \
	"{'type':'structure','member-classes':[" ROLE("n", "64", roles) "]}}"
	const char *const good[] = {
		PREAMBLE,
		CONTEXT("'packet-content-length','packet-total-length'"), NULL
	};
	const char *const bad[] = {
		PREAMBLE,
		CONTEXT("'packet-content-length','packet-sequence-number'"),
		NULL
	};
	struct sonde_schema *schema = schema_of(good);

	(void)state;
	assert_int_equal(schema->streams[0]
				 ->scopes[SONDE_SCOPE_PACKET_CONTEXT]
				 ->members[0]
				 .cls->role,
			 SONDE_ROLE_PACKET_BITS);
	sonde_schema_free(schema);
	assert_wrong(bad, "packet-context-field-class.n: it can't be both");
}

/* ---- what is wrong ---- */

static const struct {
	const char *cls;
	const char *words;
} wrong_classes[] = {
	{ "{'type':'integer'}", "no field class 'integer'" },
	{ "'u9'", "no alias 'u9'" },
	{ "7", "neither an object nor a name" },
	{ "{'type':'fixed-length-boolean','length':8}",
	  "'byte-order' is missing" },
	{ "{'type':'fixed-length-boolean'," LE16 ",'roles':[]}",
	  "no property 'roles'" },
	{ "{'type':'fixed-length-boolean','length':65,"
	  "'byte-order':'little-endian'}",
	  "65 bits" },
	{ "{'type':'fixed-length-boolean','length':0,"
	  "'byte-order':'little-endian'}",
	  "0 bits" },
	{ "{'type':'fixed-length-boolean','length':2.0,"
	  "'byte-order':'little-endian'}",
	  "'length' is no integer" },
	{ "{'type':'fixed-length-boolean','length':8,"
	  "'byte-order':'le'}",
	  "'byte-order' can't be \"le\"" },
	{ "{'type':'fixed-length-boolean'," LE16 ",'alignment':3}",
	  "'alignment' is no power of two" },
	{ "{'type':'fixed-length-floating-point-number','length':128,"
	  "'byte-order':'little-endian'}",
	  "floating point number of 128 bits" },
	{ "{'type':'variable-length-signed-integer',"
	  "'preferred-display-base':7}",
	  "'preferred-display-base'" },
	{ "{'type':'variable-length-signed-integer',"
	  "'mappings':{'a':[]}}",
	  "no ranges" },
	{ "{'type':'variable-length-signed-integer',"
	  "'mappings':{'a':[[1]]}}",
	  "not two integers" },
	{ "{'type':'variable-length-signed-integer',"
	  "'mappings':{'a':[[3,-3]]}}",
	  "ends before it begins" },
	{ "{'type':'variable-length-unsigned-integer',"
	  "'roles':['packet-header']}",
	  "can't have the role \"packet-header\"" },
	{ "{'type':'variable-length-unsigned-integer',"
	  "'roles':['metadata-stream-uuid']}",
	  "can't have the role" },
	{ "{'type':'static-length-blob','length':15,"
	  "'roles':['metadata-stream-uuid']}",
	  "other than 16 bytes" },
	{ "{'type':'null-terminated-string','encoding':'latin1'}",
	  "'encoding' can't be \"latin1\"" },
	{ "{'type':'dynamic-length-string',"
	  "'length-field-location':{'path':[]}}",
	  "doesn't end with a name" },
	{ "{'type':'dynamic-length-string',"
	  "'length-field-location':{'path':['a',3]}}",
	  "something else in its path" },
	{ "{'type':'dynamic-length-string',"
	  "'length-field-location':{'path':['nowhere']}}",
	  "nowhere" },
	{ "{'type':'static-length-array','length':-1,"
	  "'element-field-class':" U8 "}",
	  "'length' is no integer" },
	{ "{'type':'static-length-array','length':4294967297,"
	  "'element-field-class':" U8 "}",
	  "more than 2^32" },
	{ "{'type':'variant','options':[],"
	  "'selector-field-location':{'path':['n']}}",
	  "without options" },
	{ "{'type':'variant','options':[{'selector-field-ranges':"
	  "[[1,5]],'field-class':" U8 "},{'selector-field-ranges':"
	  "[[0,0],[5,6]],'field-class':" U8 "}],"
	  "'selector-field-location':{'path':['n']}}",
	  "chooses two options" },
	{ "{'type':'structure','extensions':{'x':{'y':1}}}",
	  "the extension 'y' of 'x'" },
	{ "{'type':'structure','attributes':3}", "'attributes' is no object" },
};

static void json_says_what_is_wrong_with_a_field_class(void **state)
{
	char event[4096];
	const char *fragments[] = { PREAMBLE, STREAM, event, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong_classes) / sizeof(wrong_classes[0]);
	     i++) {
		(void)snprintf(event, sizeof(event),
			       EVENT(FIELD("n", U8) "," FIELD("wrong", "%s")),
			       wrong_classes[i].cls);
		assert_wrong(fragments, wrong_classes[i].words);
	}
}

static void json_says_where_it_is_wrong(void **state)
{
	const char *const fragments[] = {
		PREAMBLE, STREAM,
		EVENT(FIELD("s",
			    "{'type':'structure','member-classes':[" FIELD(
				    "inner", "{'type':'static-length-array',"
					     "'length':1,"
					     "'element-field-class':3}") "]}")),
		NULL
	};

	(void)state;
	assert_wrong(fragments, "fragment 3: payload-field-class.s.inner."
				"element-field-class: a field class");
}

static void json_says_what_is_wrong_with_a_fragment(void **state)
{
	static const struct {
		const char *fragment;
		const char *words;
	} cases[] = {
		{ "", "it is not complete" },
		{ "{'type':'trace-class'", "it is not complete" },
		{ "{'type':'trace-class',}", "not JSON at byte" },
		{ "{'type':'trace-class'} x", "not JSON at byte" },
		{ "[]", "no fragment of type ''" },
		{ "{'type':'packet'}", "no fragment of type 'packet'" },
		{ PREAMBLE, "a second preamble" },
		{ "{'type':'trace-class','nom':'x'}", "no property 'nom'" },
		{ "{'type':'trace-class','name':3}", "'name' is no text" },
		{ "{'type':'trace-class','name':'a\\u0000b'}", "NUL" },
		{ "{'type':'trace-class','environment':{'a':1.5}}",
		  "'a' is no integer" },
		{ "{'type':'trace-class','environment':"
		  "{'a':9223372036854775808}}",
		  "'a' is no integer" },
		{ "{'type':'trace-class','packet-header-field-class':" U8 "}",
		  "is no structure" },
		{ "{'type':'trace-class','packet-header-field-class':"
		  "{'type':'structure','member-classes':[" FIELD(
			  "u", "{'type':'static-length-blob','length':16,"
			       "'roles':['metadata-stream-uuid']}") "]}}",
		  "the metadata's UUID" },
		{ "{'type':'clock-class','id':'a'}", "'frequency' is missing" },
		{ "{'type':'clock-class','id':'a','frequency':0}",
		  "a 'frequency' of 0" },
		{ "{'type':'clock-class','id':'a','frequency':10,"
		  "'offset-from-origin':{'cycles':10}}",
		  "a second or more" },
		{ "{'type':'clock-class','id':'a','frequency':1,"
		  "'origin':'birth'}",
		  "'origin' can't be" },
		{ "{'type':'data-stream-class','default-clock-class-id':'z'}",
		  "no clock class 'z'" },
		{ "{'type':'data-stream-class',"
		  "'event-record-header-field-class':{'type':'structure',"
		  "'member-classes':[" ROLE("t", "64",
					    "'default-clock-timestamp'") "]}}",
		  "has no clock" },
		{ "{'type':'event-record-class'}", "no data stream class 0" },
		{ "{'type':'field-class-alias','name':'x'}",
		  "'field-class' is missing" },
	};
	const char *fragments[] = { PREAMBLE, NULL, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fragments[1] = cases[i].fragment;
		assert_wrong(fragments, cases[i].words);
		assert_wrong(fragments, "fragment 2: ");
	}
}

static void json_says_what_is_wrong_with_a_preamble(void **state)
{
	static const struct {
		const char *fragment;
		const char *words;
	} cases[] = {
		{ STREAM, "it is no preamble" },
		{ "{'type':'preamble','version':3}", "version 3" },
		{ "{'type':'preamble','version':2,'uuid':[1]}",
		  "not 16 numbers" },
		{ "{'type':'preamble','version':2,'uuid':"
		  "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,256]}",
		  "what is no byte" },
		{ "{'type':'preamble','version':2,'extensions':"
		  "{'my.tracer':{'piano':null}}}",
		  "the extension 'piano' of 'my.tracer'" },
	};
	const char *fragments[] = { NULL, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fragments[0] = cases[i].fragment;
		assert_wrong(fragments, cases[i].words);
	}
}

static void json_refuses_what_comes_twice(void **state)
{
	static const char *const twice[] = {
		"{'type':'trace-class'}",
		"{'type':'field-class-alias','name':'x','field-class':" U8 "}",
		"{'type':'clock-class','id':'x','frequency':1}",
		"{'type':'data-stream-class','id':3}",
	};
	const char *fragments[] = { PREAMBLE, NULL, NULL, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(twice) / sizeof(twice[0]); i++) {
		fragments[1] = twice[i];
		fragments[2] = twice[i];
		assert_wrong(fragments, "fragment 3: a second ");
	}
}

/* An event whose only field is a number inside so many arrays. */
static void nest(char *event, size_t size, size_t depth)
{
	size_t used = (size_t)snprintf(
		event, size,
		"{'type':'event-record-class','payload-field-class':"
		"{'type':'structure','member-classes':[{'name':'a',"
		"'field-class':");

	for (size_t i = 0; i < depth; i++)
		used += (size_t)snprintf(event + used, size - used,
					 "{'type':'static-length-array',"
					 "'length':1,'element-field-class':");
	used += (size_t)snprintf(event + used, size - used, "%s", U8);
	assert_true(used + depth + 5 < size);
	memset(event + used, '}', depth + 1);
	memcpy(event + used + depth + 1, "]}}", 4);
}

static void json_bounds_nesting(void **state)
{
	static char event[TEXT_MAX / 2];
	const char *fragments[] = { PREAMBLE, STREAM, event, NULL };

	(void)state;
	/* The payload is one level, the number another. */
	nest(event, sizeof(event), SONDE_SCHEMA_DEPTH - 2);
	sonde_schema_free(schema_of(fragments));
	nest(event, sizeof(event), SONDE_SCHEMA_DEPTH - 1);
	assert_wrong(fragments, "nested more than 32 deep");
	nest(event, sizeof(event), 300);
	assert_wrong(fragments, "fragment 3: not JSON");
}

static void json_bounds_what_aliases_unfold_to(void **state)
{
	static char text[TEXT_MAX];
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "\x1e{\"type\":\"preamble\","
				       "\"version\":2}\n\x1e{\"type\":"
				       "\"field-class-alias\",\"name\":\"a0\","
				       "\"field-class\":{\"type\":"
				       "\"structure\"}}\n");
	struct sonde_schema_error error;
	struct sonde_schema *schema;

	(void)state;
	for (int i = 1; i < 31; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"\x1e{\"type\":\"field-class-alias\",\"name\":\"a%d\","
			"\"field-class\":{\"type\":\"structure\","
			"\"member-classes\":[{\"name\":\"x\",\"field-class\":"
			"\"a%d\"},{\"name\":\"y\",\"field-class\":\"a%d\"}]}}"
			"\n",
			i, i - 1, i - 1);
	assert_int_equal(sonde_schema_parse(text, used, &error, &schema),
			 -EINVAL);
	assert_non_null(strstr(error.text, "unfold"));
}

/* However little memory there is: all of it, or none and no words. */
static void json_survives_a_lack_of_memory(void **state)
{
	static char text[TEXT_MAX];
	size_t size = metadata(text, full_trace);
	struct sonde_schema_error error = { "" };
	size_t nr_failed = 0;
	int status = -ENOMEM;

	(void)state;
	for (size_t limit = 16; status; limit += 16) {
		struct sonde_schema *schema = calloc(1, sizeof(*schema));

		assert_non_null(schema);
		sonde_pool_init(&schema->pool, limit);
		status = sonde_schema_parse_json(schema, text, size, &error);
		if (status)
			assert_int_equal(status, -ENOMEM);
		nr_failed += status != 0;
		assert_string_equal(error.text, "");
		sonde_schema_free(schema);
	}
	assert_true(nr_failed > 100);
}

/* ---- from the other language ---- */

static const char tsdl[] =
	"/* CTF 1.8 */\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\";\n"
	"packet.header := struct {\n"
	"  integer { size = 32; align = 8; } magic;\n"
	"  integer { size = 8; align = 8; } uuid[16];\n"
	"  integer { size = 32; align = 8; } stream_id;\n"
	"  integer { size = 64; align = 8; } stream_instance_id; }; };\n"
	"env { domain = \"caf\xe9 \\\"x\\\"\"; n = -4; };\n"
	"clock { name = mono; freq = 1000; offset_s = 5; offset = 2500;\n"
	"  precision = 3;\n"
	"  uuid = \"00010203-0405-0607-0809-0a0b0c0d0eff\"; };\n"
	"stream { id = 3;\n"
	"event.header := struct {\n"
	"  enum : integer { size = 5; align = 1; }\n"
	"    { compact = 0 ... 30, extended = 31 } id;\n"
	"  variant <id> {\n"
	"    struct { integer { size = 27; align = 1;\n"
	"      map = clock.mono.value; } timestamp; } compact;\n"
	"    struct { integer { size = 32; align = 8; } id;\n"
	"      integer { size = 64; align = 8; map = clock.mono.value; }\n"
	"      timestamp; } extended;\n"
	"  } v; } align(8);\n"
	"packet.context := struct {\n"
	"  integer { size = 64; align = 8; map = clock.mono.value; }\n"
	"    timestamp_begin;\n"
	"  integer { size = 64; align = 8; map = clock.mono.value; }\n"
	"    timestamp_end;\n"
	"  integer { size = 64; align = 8; } content_size;\n"
	"  integer { size = 64; align = 8; } packet_size;\n"
	"  integer { size = 64; align = 8; } events_discarded;\n"
	"  integer { size = 32; align = 8; } cpu_id; }; };\n"
	"event { name = \"a:b\"; id = 9; stream_id = 3; loglevel = 13;\n"
	"fields := struct {\n"
	"  integer { size = 32; align = 8; signed = true; base = 16; } _i;\n"
	"  integer { size = 8; align = 8; encoding = UTF8; } _text[10];\n"
	"  integer { size = 8; align = 8; encoding = ASCII; } _odd;\n"
	"  integer { size = 16; align = 8; } __s_length;\n"
	"  integer { size = 8; align = 8; encoding = UTF8; }\n"
	"    _s[__s_length];\n"
	"  string _z;\n"
	"  floating_point { exp_dig = 8; mant_dig = 24; align = 32;\n"
	"    byte_order = be; } _f;\n"
	"  struct { integer { size = 3; align = 1; } _x; } align(64) _t;\n"
	"  enum : integer { size = 8; align = 8; signed = true; }\n"
	"    { a = -1, b = 2 ... 5, a = 9, c = 10 } _tag;\n"
	"  variant <_tag> { string a; struct {\n"
	"    integer { size = 8; align = 8; } _l[2]; } b; string unused; } _v;\n"
	"}; };\n";

static void json_says_all_of_a_trace_of_ctf_1_8(void **state)
{
	struct sonde_schema *schema = parsed(tsdl, sizeof(tsdl) - 1);
	struct sonde_schema *read;
	char *text;
	size_t size;

	(void)state;
	/* One byte of the environment is no UTF-8. */
	assert_string_equal(schema->env[0].text, "caf\xe9 \"x\"");
	text = written(schema, &size);
	read = parsed(text, size);
	assert_string_equal(read->env[0].text, "caf\xef\xbf\xbd \"x\"");
	schema->env[0].text = read->env[0].text;
	assert_same_schema(schema, read);
	assert_int_equal(read->clocks[0].info.offset_s, 7);
	assert_true(read->clocks[0].info.absolute);
	sonde_schema_free(read);
	sonde_schema_free(schema);
	free(text);
}

static void json_of_what_came_last_is_last(void **state)
{
	size_t sizes[2];
	char *texts[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *fragments[16] = { 0 };
		struct sonde_schema *schema;

		for (size_t k = 0; full_trace[k + i]; k++)
			fragments[k] = full_trace[k];
		schema = schema_of(fragments);
		texts[i] = written(schema, &sizes[i]);
		sonde_schema_free(schema);
	}
	assert_true(sizes[1] < sizes[0]);
	assert_memory_equal(texts[0], texts[1], sizes[1]);
	assert_int_equal(texts[0][sizes[1]], '\x1e');
	free(texts[0]);
	free(texts[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_reads_numbers_of_fixed_length),
		cmocka_unit_test(json_knows_which_bit_order_is_unusual),
		cmocka_unit_test(json_reads_labels_with_all_64_bits),
		cmocka_unit_test(
			json_cuts_from_a_range_what_its_number_cannot_be),
		cmocka_unit_test(json_reads_strings_and_blobs),
		cmocka_unit_test(json_reads_structures_and_arrays),
		cmocka_unit_test(json_reads_optionals_and_variants),
		cmocka_unit_test(json_finds_a_length_in_another_scope),
		cmocka_unit_test(json_gives_each_use_of_an_alias_its_own_class),
		cmocka_unit_test(json_keeps_attributes),
		cmocka_unit_test(json_reads_log_levels_of_two_kinds),
		cmocka_unit_test(json_reads_a_whole_trace),
		cmocka_unit_test(json_drops_a_role_where_it_means_nothing),
		cmocka_unit_test(
			json_takes_two_roles_if_one_follows_from_the_other),
		cmocka_unit_test(json_says_what_is_wrong_with_a_field_class),
		cmocka_unit_test(json_says_where_it_is_wrong),
		cmocka_unit_test(json_says_what_is_wrong_with_a_fragment),
		cmocka_unit_test(json_says_what_is_wrong_with_a_preamble),
		cmocka_unit_test(json_refuses_what_comes_twice),
		cmocka_unit_test(json_bounds_nesting),
		cmocka_unit_test(json_bounds_what_aliases_unfold_to),
		cmocka_unit_test(json_survives_a_lack_of_memory),
		cmocka_unit_test(json_says_all_of_a_trace_of_ctf_1_8),
		cmocka_unit_test(json_of_what_came_last_is_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
