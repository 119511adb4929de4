/* SPDX-License-Identifier: MIT */
/* What CTF 1.8 metadata says, claim by claim (ctf/schema/). */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/schema.h"

#define U8    "typealias integer { size = 8; } := u8;\n"
#define CLOCK "clock { name = c; freq = 1000; };\n"

static struct sonde_schema *schema;
static struct sonde_schema_error error;

static int forget(void **state)
{
	(void)state;
	sonde_schema_free(schema);
	schema = NULL;
	return 0;
}

static void parse_bytes(const void *bytes, size_t size)
{
	sonde_schema_free(schema);
	schema = NULL;
	if (sonde_schema_parse(bytes, size, &error, &schema))
		fail_msg("%s", error.text);
}

static void parse(const char *text)
{
	parse_bytes(text, strlen(text));
}

/* `text` with an event that has these fields. */
static void parse_fields(const char *text, const char *fields)
{
	char all[4096];

	assert_in_range(snprintf(all, sizeof(all),
				 "%s event { name = \"e\"; fields := struct { "
				 "%s }; };",
				 text, fields),
			0, sizeof(all) - 1);
	parse(all);
}

static void refuse_bytes(const void *bytes, size_t size, const char *words)
{
	struct sonde_schema *none = NULL;

	assert_int_equal(sonde_schema_parse(bytes, size, &error, &none),
			 -EINVAL);
	assert_null(none);
	if (!strstr(error.text, words))
		fail_msg("'%s' is not in '%s'", words, error.text);
}

static void refuse(const char *text, const char *words)
{
	refuse_bytes(text, strlen(text), words);
}

static void refuse_fields(const char *text, const char *fields,
			  const char *words)
{
	char all[4096];

	assert_in_range(snprintf(all, sizeof(all),
				 "%s event { name = \"e\"; fields := struct { "
				 "%s }; };",
				 text, fields),
			0, sizeof(all) - 1);
	refuse(all, words);
}

/* "a.b", and "[]" for the element of an array. */
static struct sonde_class *member_of(struct sonde_class *cls, const char *path)
{
	char copy[128];
	char *rest = copy;
	const char *name;

	assert_true(strlen(path) < sizeof(copy));
	memcpy(copy, path, strlen(path) + 1);
	while ((name = strsep(&rest, "."))) {
		struct sonde_class *found = NULL;

		for (size_t i = 0; cls && i < cls->nr_members; i++) {
			const char *there = cls->members[i].name;

			if (strcmp(there ? there : "[]", name) == 0)
				found = cls->members[i].cls;
		}
		if (!found)
			fail_msg("there is no %s of %s", name, path);
		cls = found;
	}
	return cls;
}

static struct sonde_event_class *event(size_t i)
{
	assert_true(schema->nr_streams > 0 &&
		    i < schema->streams[0]->nr_events);
	return schema->streams[0]->events[i];
}

static struct sonde_class *field(const char *path)
{
	return member_of(event(0)->scopes[SONDE_SCOPE_PAYLOAD], path);
}

static struct sonde_class *outer(enum sonde_scope scope, const char *path)
{
	return member_of(scope == SONDE_SCOPE_PACKET_HEADER ?
				 schema->packet_header :
				 schema->streams[0]->scopes[scope],
			 path);
}

/* ---- words ---- */

static void numbers_have_bases_suffixes_signs_and_quotes(void **state)
{
	static const int64_t values[] = { 10, 16, 8,   7, -3, INT64_MIN,
					  97, 10, 255, 0, 5,  39 };

	(void)state;
	parse("env { a = 10; b = 0x10UL; c = 010; d = 7ull; e = -3; "
	      "f = -0x8000000000000000; g = 'a'; h = '\\n'; i = '\\xff'; "
	      "j = 0; k = ( +5L ); l = L'\\''; };");
	assert_int_equal(schema->nr_env, sizeof(values) / sizeof(values[0]));
	for (size_t i = 0; i < schema->nr_env; i++) {
		assert_null(schema->env[i].text);
		assert_int_equal(schema->env[i].number, values[i]);
	}
}

static void malformed_words_are_refused_where_they_are(void **state)
{
	(void)state;
	refuse("env { a = 08; };", "line 1, column 11: this is no number");
	refuse("env { a = 12x; };", "column 11: this is no number");
	refuse("env { a = 0x; };", "expected digits after 0x");
	refuse("env { a = 18446744073709551616; };", "above 2^64 - 1");
	refuse("env { a = -9223372036854775809; };", "below -2^63");
	refuse("env {\n\ta = \"x; };", "line 2, column 6: this string does "
				       "not end");
	refuse("env { a = 'ab'; };", "one character");
	refuse("env { a = ''; };", "one character");
	refuse("/* x", "line 1, column 1: this comment does not end");
	refuse("env { a = $; };", "column 11: '$' has no meaning here");
	refuse("env { a = \x01; };", "byte 0x01 has no meaning");
	refuse("env { a = \xff; };", "byte 0xff has no meaning");
}

static void strings_have_escapes(void **state)
{
	(void)state;
	parse("env { a = \"\\\"\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\?\\x41\\1011\"; "
	      "b = \"\"; c = L\"wide\"; d = \"caf\xc3\xa9\"; "
	      "e = \"\\x023\\x0231\"; f = \"seen\\0not seen\"; };");
	assert_string_equal(schema->env[0].text, "\"\a\b\f\n\r\t\v\\'?AA1");
	assert_string_equal(schema->env[1].text, "");
	assert_string_equal(schema->env[2].text, "wide");
	assert_string_equal(schema->env[3].text, "caf\xc3\xa9");
	assert_string_equal(schema->env[4].text, "##1");
	assert_string_equal(schema->env[5].text, "seen");
}

static void comments_and_line_ends_are_blanks(void **state)
{
	(void)state;
	parse("/* CTF 1.8 */ // one\nenv/**/{/* ; } */a\r\n=\f1\v; // };\n"
	      "b = \\\n 2; };//");
	assert_int_equal(schema->nr_env, 2);
	assert_int_equal(schema->env[1].number, 2);
}

static void errors_name_what_was_expected(void **state)
{
	(void)state;
	refuse("x", "line 1, column 1: expected trace, env, clock, stream, "
		    "event, callsite or a type, not 'x'");
	refuse("env { a = 1 }", "column 13: expected ';', not '}'");
	refuse("env { a 1; };", "expected '=', not a number");
	refuse("env { \"a\" = 1; };", "expected a name, not a string");
	refuse("env { a = 1; }", "expected ';', not the end of the text");
	refuse("event { fields := struct { u8 x; }; };",
	       "line 1, column 28: type 'u8' is not defined");
	refuse("event { fields := struct { unsigned  int *x; }; };",
	       "type 'unsigned int *' is not defined");
	refuse("event { fields := string; };", "expected a structure");
	refuse("event { fields := struct { string; }; };",
	       "expected a field's name, not ';'");
}

static void an_empty_text_is_a_schema_without_events(void **state)
{
	(void)state;
	parse("");
	assert_int_equal(schema->major, 1);
	assert_int_equal(schema->minor, 8);
	assert_int_equal(schema->nr_streams, 1);
	assert_int_equal(schema->streams[0]->nr_events, 0);
}

/* ---- integers, floats, strings ---- */

static void integers_have_what_they_say(void **state)
{
	const struct sonde_class *cls;

	(void)state;
	parse_fields("trace { byte_order = le; };",
		     "integer { size = 17; align = 4; signed = true; "
		     "byte_order = be; base = hex; encoding = ASCII; } a;");
	cls = field("a");
	assert_int_equal(cls->kind, SONDE_KIND_INT);
	assert_int_equal(cls->bits, 17);
	assert_int_equal(cls->align_bits, 4);
	assert_int_equal(cls->base, 16);
	assert_true(cls->big_endian);
	assert_true(cls->is_char);
	assert_false(cls->is_enum);
	assert_int_equal(cls->clock, -1);
	assert_int_equal(cls->reg, -1);
}

static void integers_have_defaults(void **state)
{
	const struct sonde_class *cls;

	(void)state;
	parse_fields("trace { byte_order = be; };",
		     "integer { size = 16; } a; integer { size = 15; } b;");
	cls = field("a");
	assert_int_equal(cls->kind, SONDE_KIND_UINT);
	assert_int_equal(cls->align_bits, 8);
	assert_int_equal(cls->base, 10);
	assert_true(cls->big_endian);
	assert_false(cls->is_char);
	assert_int_equal(field("b")->align_bits, 1);
}

static void attributes_have_many_spellings(void **state)
{
	static const struct {
		const char *attribute;
		int base;
		enum sonde_kind kind;
		bool big_endian;
	} cases[] = {
		{ "signed = 1", 10, SONDE_KIND_INT, false },
		{ "signed = FALSE", 10, SONDE_KIND_UINT, false },
		{ "signed = True", 10, SONDE_KIND_INT, false },
		{ "base = decimal", 10, SONDE_KIND_UINT, false },
		{ "base = u", 10, SONDE_KIND_UINT, false },
		{ "base = 16", 16, SONDE_KIND_UINT, false },
		{ "base = 0x10", 16, SONDE_KIND_UINT, false },
		{ "base = \"hexadecimal\"", 16, SONDE_KIND_UINT, false },
		{ "base = X", 16, SONDE_KIND_UINT, false },
		{ "base = octal", 8, SONDE_KIND_UINT, false },
		{ "base = o", 8, SONDE_KIND_UINT, false },
		{ "base = b", 2, SONDE_KIND_UINT, false },
		{ "base = binary", 2, SONDE_KIND_UINT, false },
		{ "byte_order = network", 10, SONDE_KIND_UINT, true },
		{ "byte_order = native", 10, SONDE_KIND_UINT, false },
		{ "byte_order = le", 10, SONDE_KIND_UINT, false },
		{ "encoding = none", 10, SONDE_KIND_UINT, false },
		{ "encoding = \"UTF-8\"", 10, SONDE_KIND_UINT, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char fields[128];

		(void)snprintf(fields, sizeof(fields),
			       "integer { size = 8; %s; } a;",
			       cases[i].attribute);
		parse_fields("", fields);
		assert_int_equal(field("a")->base, cases[i].base);
		assert_int_equal(field("a")->kind, cases[i].kind);
		assert_int_equal(field("a")->big_endian, cases[i].big_endian);
	}
}

static void impossible_integers_are_refused(void **state)
{
	(void)state;
	refuse_fields("", "integer { size = 65; } a;", "from 0 to 64");
	refuse_fields("", "integer { size = 0; } a;", "a size from 1 to 64");
	refuse_fields("", "integer { align = 8; } a;", "a size from 1 to 64");
	refuse_fields("", "integer { size = -8; } a;", "from 0 to 64");
	refuse_fields("", "integer { size = 8; align = 3; } a;",
		      "a power of two");
	refuse_fields("", "integer { size = 8; align = 0; } a;",
		      "a power of two");
	refuse_fields("", "integer { size = 8; align = 2097152; } a;",
		      "at most 1048576");
	refuse_fields("", "integer { size = 8; base = 7; } a;", "octal");
	refuse_fields("", "integer { size = 8; base = dec d; } a;", "';'");
	refuse_fields("", "integer { size = 8; base = \"dec d\"; } a;",
		      "octal");
	refuse_fields("", "integer { size = 8; signed = maybe; } a;",
		      "true or false");
	refuse_fields("", "integer { size = 8; byte_order = pdp; } a;",
		      "le, be, network or native");
	refuse_fields("", "integer { size = 8; encoding = EBCDIC; } a;",
		      "none, UTF8 or ASCII");
	refuse_fields("", "integer { size = 8; map = clock.x; } a;",
		      "clock.NAME.value");
}

static void unknown_attributes_are_skipped_whatever_they_say(void **state)
{
	(void)state;
	parse("trace { foo = 1; bar.baz = \"x\"; qux := struct nothing; "
	      "a = { b = c; [ ( ; ) ]; }; };"
	      "clock { name = c; wobble = -1; };"
	      "stream { colour = red; };"
	      "event { model.emf.uri = \"u\"; more := { ; }; fields := struct "
	      "{ integer { size = 8; user.flags = 3 + 4; } a; }; };");
	assert_int_equal(field("a")->bits, 8);
	refuse("trace { a = }; };", "expected ';', not '}'");
	refuse("trace { a = { ; ", "expected ';', not the end");
}

static void floats_are_ieee_numbers(void **state)
{
	(void)state;
	parse_fields("", "floating_point { exp_dig = 8; mant_dig = 24; "
			 "byte_order = be; align = 32; } a;"
			 "floating_point { exp_dig = 11; mant_dig = 53; } b;"
			 "floating_point { exp_dig = 5; mant_dig = 11; } c;");
	assert_int_equal(field("a")->kind, SONDE_KIND_FLOAT);
	assert_int_equal(field("a")->bits, 32);
	assert_int_equal(field("a")->align_bits, 32);
	assert_true(field("a")->big_endian);
	assert_int_equal(field("b")->bits, 64);
	assert_int_equal(field("b")->align_bits, 8);
	assert_int_equal(field("c")->bits, 16);
	refuse_fields("", "floating_point { exp_dig = 8; } a;", "8 and 24");
	refuse_fields("", "floating_point { exp_dig = 15; mant_dig = 64; } a;",
		      "11 and 53");
}

static void strings_end_with_a_zero(void **state)
{
	(void)state;
	parse_fields("", "string a; string { encoding = ASCII; } b; string "
			 "string;");
	assert_int_equal(field("a")->kind, SONDE_KIND_STRING);
	assert_int_equal(field("a")->length, SONDE_LENGTH_ZERO);
	assert_int_equal(field("a")->align_bits, 8);
	assert_int_equal(field("b")->kind, SONDE_KIND_STRING);
	assert_int_equal(field("string")->kind, SONDE_KIND_STRING);
}

static void native_order_is_known_before_the_trace_block(void **state)
{
	(void)state;
	parse_fields(U8, "u8 a; integer { size = 8; byte_order = le; } b;");
	assert_false(field("a")->big_endian);
	parse(U8 "event { fields := struct { u8 a; "
		 "integer { size = 8; byte_order = le; } b; }; };"
		 "env { byte_order = le; trace = 1; };"
		 "trace { x = { byte_order = le; }; byte_order = be; };");
	assert_true(schema->big_endian);
	assert_true(field("a")->big_endian);
	assert_false(field("b")->big_endian);
	refuse("trace { byte_order = native; };", "expected le or be");
}

/* ---- enumerations ---- */

static void check_label(const struct sonde_class *cls, size_t i,
			const char *name, int64_t low, int64_t high)
{
	assert_true(i < cls->nr_labels);
	assert_string_equal(cls->labels[i].name, name);
	assert_int_equal(cls->labels[i].low, low);
	assert_int_equal(cls->labels[i].high, high);
}

static void labels_count_up_and_have_ranges(void **state)
{
	const struct sonde_class *cls;

	(void)state;
	parse_fields("",
		     "enum : integer { size = 32; signed = 1; } { A, B = -5, "
		     "C, \"d e\" = 10 ... 20, struct, F = ( 0x30 ) ... 0x31, "
		     "G = 'a', A = 7, } a;");
	cls = field("a");
	assert_true(cls->is_enum);
	assert_int_equal(cls->kind, SONDE_KIND_INT);
	assert_int_equal(cls->nr_labels, 8);
	check_label(cls, 0, "A", 0, 0);
	check_label(cls, 1, "B", -5, -5);
	check_label(cls, 2, "C", -4, -4);
	check_label(cls, 3, "d e", 10, 20);
	check_label(cls, 4, "struct", 21, 21);
	check_label(cls, 5, "F", 0x30, 0x31);
	check_label(cls, 6, "G", 'a', 'a');
	check_label(cls, 7, "A", 7, 7);
}

static void enumerations_are_of_int_unless_they_say(void **state)
{
	(void)state;
	parse_fields(U8 "typealias integer { size = 16; } := int;\n"
			"typealias integer { size = 64; } := unsigned long;\n",
		     "enum { A } a; enum : u8 { A } b; enum n : const u8 { A } "
		     "c; enum n d; enum : unsigned long { } e;");
	assert_int_equal(field("a")->bits, 16);
	assert_int_equal(field("b")->bits, 8);
	assert_int_equal(field("c")->bits, 8);
	assert_int_equal(field("d")->bits, 8);
	assert_int_equal(field("d")->nr_labels, 1);
	assert_int_equal(field("e")->bits, 64);
	assert_true(field("e")->is_enum);
	refuse_fields("", "enum { A } a;", "type 'int' is not defined");
	refuse_fields("typedef string s;", "enum : s { A } a;",
		      "made of an integer");
	refuse_fields(U8, "enum : u8 { A = 5 ... 4 } a;", "no values");
	refuse_fields(U8, "enum : u8 { A = -1 } a;", "no values");
	refuse_fields(U8, "enum : u8 { A B } a;", "',' or '}'");
	refuse_fields(U8, "enum : u8 { 7 } a;", "expected a label");
}

/* ---- aliases and declarators ---- */

static void pointers_and_words_are_parts_of_a_types_name(void **state)
{
	(void)state;
	parse_fields("typealias integer { size = 8; } := unsigned  char;"
		     "typealias integer { size = 64; base = x; } := void *;"
		     "typealias integer { size = 48; } := const char **;"
		     "typedef unsigned char byte, four[4], pairs[2][3];"
		     "typealias byte [5] := five;"
		     "typealias struct { byte in; } := box;",
		     "const unsigned char a; void *b; void const * const c; "
		     "char * *d, **dd; byte e; four f; pairs g; five h; "
		     "box i; unsigned char const j; byte (k), (l)[2], (m[2]);");
	assert_int_equal(field("a")->bits, 8);
	assert_int_equal(field("b")->bits, 64);
	assert_int_equal(field("c")->base, 16);
	assert_int_equal(field("d")->bits, 48);
	assert_int_equal(field("dd")->bits, 48);
	assert_int_equal(field("e")->bits, 8);
	assert_int_equal(field("f")->count, 4);
	assert_int_equal(field("g")->count, 2);
	assert_int_equal(field("g.[]")->count, 3);
	assert_int_equal(field("h")->count, 5);
	assert_int_equal(field("i.in")->bits, 8);
	assert_int_equal(field("j")->bits, 8);
	assert_int_equal(field("k")->kind, SONDE_KIND_UINT);
	assert_int_equal(field("l")->count, 2);
	assert_int_equal(field("m")->count, 2);
}

static void declarators_that_are_no_fields_are_refused(void **state)
{
	(void)state;
	refuse_fields(U8, "u8 (*a)[3];", "pointers to arrays");
	refuse_fields(U8, "u8 (a;", "expected ')'");
	refuse_fields("", "integer { size = 8; } *a;", "without a name");
	refuse_fields(U8, "u8 *********a;", "too many pointers");
	refuse_fields(U8, "u8 a : 3;", "expected ';', not ':'");
	refuse("typedef integer { size = 8; };", "the new type's name");
	refuse("typealias integer { size = 8; } x := y;", "expected ':='");
	refuse("typealias integer { size = 8; } := integer { size = 8; };",
	       "the new type's name");
	refuse("typealias integer { size = 8; } := a b;",
	       "the new type's name");
	refuse(U8 U8, "line 2, column 36: type 'u8' is defined twice here");
}

static void an_alias_is_seen_in_its_block_only(void **state)
{
	(void)state;
	parse(U8 "trace { typealias integer { size = 16; } := u8; "
		 "packet.header := struct { u8 a; }; };"
		 "stream { typealias integer { size = 24; } := u8; "
		 "packet.context := struct { u8 a; "
		 "typealias integer { size = 40; } := u8; u8 b; "
		 "struct { u8 c; } d; }; };"
		 "event { fields := struct { u8 a; }; };");
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "a")->bits, 16);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_CONTEXT, "a")->bits, 24);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_CONTEXT, "b")->bits, 40);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_CONTEXT, "d.c")->bits, 40);
	assert_int_equal(field("a")->bits, 8);
	refuse("trace { typealias integer { size = 8; } := t; };"
	       "event { fields := struct { t a; }; };",
	       "type 't' is not defined");
	refuse("event { fields := struct { struct s { } a; }; };"
	       "event { id = 1; fields := struct { struct s a; }; };",
	       "type 'struct s' is not defined");
}

static void uses_of_a_type_are_copies(void **state)
{
	(void)state;
	parse_fields("struct s { integer { size = 8; } n; "
		     "integer { size = 8; } d[n]; };",
		     "struct s a, b; struct s c[2][2]; struct s d;");
	assert_ptr_not_equal(field("a"), field("b"));
	assert_ptr_equal(field("a.d")->ref, field("a.n"));
	assert_ptr_equal(field("b.d")->ref, field("b.n"));
	assert_ptr_equal(field("d.d")->ref, field("d.n"));
	assert_int_equal(field("a.n")->reg, 0);
	assert_int_equal(field("b.n")->reg, 1);
	assert_int_equal(field("c.[].[].n")->reg, 2);
	assert_int_equal(event(0)->nr_regs, 4);
}

/* ---- structures and arrays ---- */

static void structures_align_as_their_members_and_as_they_say(void **state)
{
	(void)state;
	parse_fields("", "struct { integer { size = 5; } a; "
			 "integer { size = 8; align = 32; } b[2]; } s;"
			 "struct { integer { size = 5; } a; } align(16) t;"
			 "struct { } e; struct { string s; } u;");
	assert_int_equal(field("s")->align_bits, 32);
	assert_int_equal(field("s.a")->align_bits, 1);
	assert_int_equal(field("s.b")->align_bits, 32);
	assert_int_equal(field("t")->align_bits, 16);
	assert_int_equal(field("e")->align_bits, 1);
	assert_int_equal(field("u")->align_bits, 8);
	assert_int_equal(event(0)->scopes[SONDE_SCOPE_PAYLOAD]->align_bits, 32);
	refuse_fields("", "struct { } align(12) a;", "a power of two");
}

static void structures_have_names_as_in_c(void **state)
{
	(void)state;
	parse_fields(U8
		     "struct p { u8 x; }; struct q { struct p a; } align(32);"
		     "typedef struct p point;",
		     "struct r { u8 y; }; struct r a; struct q b; point c; "
		     "struct t { u8 z; } d; struct t e;");
	assert_int_equal(field("a.y")->bits, 8);
	assert_int_equal(field("b")->align_bits, 32);
	assert_int_equal(field("b.a.x")->bits, 8);
	assert_int_equal(field("c.x")->bits, 8);
	assert_int_equal(field("e.z")->bits, 8);
	refuse_fields("", "struct p a;", "type 'struct p' is not defined");
	refuse("struct p { }; struct p { };", "'struct p' is defined twice");
	refuse_fields(U8, "u8 a; u8 a;",
		      "event 0 \"e\", payload: there are two members 'a'");
}

static void characters_in_a_row_are_strings(void **state)
{
	(void)state;
	parse_fields(U8 "typealias integer { size = 8; signed = 1; "
			"encoding = UTF8; } := char;",
		     "u8 n; char a[16]; char b[n]; char c[2][4]; char d; "
		     "integer { size = 8; align = 4; encoding = UTF8; } e[3]; "
		     "integer { size = 7; align = 8; encoding = UTF8; } f[3]; "
		     "u8 g[3];");
	assert_int_equal(field("a")->kind, SONDE_KIND_STRING);
	assert_int_equal(field("a")->length, SONDE_LENGTH_FIXED);
	assert_int_equal(field("a")->count, 16);
	assert_int_equal(field("b")->kind, SONDE_KIND_STRING);
	assert_int_equal(field("b")->length, SONDE_LENGTH_FIELD);
	assert_ptr_equal(field("b")->ref, field("n"));
	assert_int_equal(field("c")->kind, SONDE_KIND_ARRAY);
	assert_int_equal(field("c.[]")->kind, SONDE_KIND_STRING);
	assert_int_equal(field("c.[]")->count, 4);
	assert_int_equal(field("d")->kind, SONDE_KIND_INT);
	assert_int_equal(field("e")->kind, SONDE_KIND_ARRAY);
	assert_int_equal(field("f")->kind, SONDE_KIND_ARRAY);
	assert_int_equal(field("g")->kind, SONDE_KIND_ARRAY);
}

static void arrays_nest_from_the_first_brackets_inwards(void **state)
{
	(void)state;
	parse_fields(U8, "u8 n; u8 a[2][n][0x3]; u8 z[0];");
	assert_int_equal(field("a")->kind, SONDE_KIND_ARRAY);
	assert_int_equal(field("a")->count, 2);
	assert_int_equal(field("a.[]")->kind, SONDE_KIND_SEQUENCE);
	assert_ptr_equal(field("a.[]")->ref, field("n"));
	assert_int_equal(field("a.[].[]")->count, 3);
	assert_int_equal(field("a.[].[].[]")->bits, 8);
	assert_int_equal(field("z")->count, 0);
	refuse_fields(U8, "u8 a[];", "expected a number, not ']'");
	refuse_fields(U8, "u8 a[-1];", "from 0 to 4294967296");
	refuse_fields(U8, "u8 a[4294967297];", "from 0 to 4294967296");
}

/* ---- lengths and tags ---- */

static void a_length_is_the_nearest_field_of_that_name(void **state)
{
	(void)state;
	parse("typealias integer { size = 8; } := u8;"
	      "stream { event.context := struct { u8 n; u8 m; }; };"
	      "event { context := struct { u8 m; u8 k; }; fields := struct { "
	      "u8 a[n]; u8 b[m]; u8 k; struct { u8 c[k]; u8 k; u8 d[k]; } s; "
	      "struct { u8 l; } t; u8 e[t.l]; u8 f[s.k]; u8 n; u8 g[n]; }; };");
	assert_ptr_equal(field("a")->ref,
			 outer(SONDE_SCOPE_COMMON_CONTEXT, "n"));
	assert_ptr_equal(field("b")->ref,
			 member_of(event(0)->scopes[SONDE_SCOPE_EVENT_CONTEXT],
				   "m"));
	assert_ptr_equal(field("s.c")->ref, field("k"));
	assert_ptr_equal(field("s.d")->ref, field("s.k"));
	assert_ptr_equal(field("e")->ref, field("t.l"));
	assert_ptr_equal(field("f")->ref, field("s.k"));
	assert_ptr_equal(field("g")->ref, field("n"));
}

static void absolute_paths_name_their_scope(void **state)
{
	(void)state;
	parse(U8
	      "trace { packet.header := struct { u8 n; }; };"
	      "stream { packet.context := struct { struct { u8 n; } s; }; "
	      "event.header := struct { u8 n; }; "
	      "event.context := struct { u8 n; u8 h[stream.event.context.n]; }; "
	      "}; event { context := struct { u8 n; }; fields := struct { "
	      "u8 n; u8 a[trace.packet.header.n]; "
	      "u8 b[stream.packet.context.s.n]; u8 c[stream.event.header.n]; "
	      "u8 d[stream.event.context.n]; u8 e[event.context.n]; "
	      "struct { u8 n; u8 f[event.fields.n]; u8 g[event.fields.s.n]; } "
	      "s; }; };");
	assert_ptr_equal(field("a")->ref,
			 outer(SONDE_SCOPE_PACKET_HEADER, "n"));
	assert_ptr_equal(field("b")->ref,
			 outer(SONDE_SCOPE_PACKET_CONTEXT, "s.n"));
	assert_ptr_equal(field("c")->ref, outer(SONDE_SCOPE_EVENT_HEADER, "n"));
	assert_ptr_equal(field("d")->ref,
			 outer(SONDE_SCOPE_COMMON_CONTEXT, "n"));
	assert_ptr_equal(outer(SONDE_SCOPE_COMMON_CONTEXT, "h")->ref,
			 outer(SONDE_SCOPE_COMMON_CONTEXT, "n"));
	assert_ptr_equal(field("e")->ref,
			 member_of(event(0)->scopes[SONDE_SCOPE_EVENT_CONTEXT],
				   "n"));
	assert_ptr_equal(field("s.f")->ref, field("n"));
	assert_ptr_equal(field("s.g")->ref, field("s.n"));
}

static void registers_are_numbered_from_the_packet_header_on(void **state)
{
	(void)state;
	parse(U8
	      "trace { packet.header := struct { u8 stream_id; u8 n; }; };"
	      "stream { id = 0; event.header := struct { u8 id; u8 m; }; };"
	      "stream { id = 1; event.header := struct { u8 id; u8 m; }; };"
	      "event { id = 0; stream_id = 0; fields := struct { u8 k; "
	      "u8 a[k]; }; };"
	      "event { id = 1; stream_id = 0; fields := struct { "
	      "u8 k; u8 b[k]; u8 c[m]; u8 d[k]; }; };"
	      "event { id = 0; stream_id = 1; fields := struct { u8 a[n]; }; "
	      "};");
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "n")->reg, 0);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "stream_id")->reg,
			 -1);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "m")->reg, 1);
	assert_int_equal(schema->streams[0]->nr_regs, 2);
	assert_int_equal(field("k")->reg, 2);
	assert_int_equal(event(0)->nr_regs, 3);
	assert_int_equal(event(1)->nr_regs, 3);
	assert_int_equal(schema->streams[1]->nr_regs, 1);
	assert_int_equal(schema->streams[1]->events[0]->nr_regs, 1);
	assert_null(outer(SONDE_SCOPE_EVENT_HEADER, "m")->ref);
}

static void lengths_that_make_no_sense_are_refused(void **state)
{
	char many[4096];
	size_t used = 0;

	(void)state;
	refuse_fields(U8, "u8 a[n];",
		      "event 0 \"e\", payload, a: its length, n, is no field "
		      "that comes before it");
	refuse_fields(U8, "u8 a[n]; u8 n;", "that comes before it");
	refuse_fields(U8, "u8 a[a];", "that comes before it");
	refuse_fields(U8, "struct { u8 n; } s; u8 a[s];",
		      "is no unsigned integer");
	refuse_fields(U8, "string n; u8 a[n];", "is no unsigned integer");
	refuse_fields(U8, "integer { size = 8; signed = 1; } n; u8 a[n];",
		      "payload, a: its length, n, is no unsigned integer");
	refuse_fields(U8, "u8 n[2]; u8 a[n];", "is no unsigned integer");
	refuse_fields(U8, "struct { u8 n; } s[2]; u8 a[s.n];",
		      "that comes before it");
	refuse_fields(U8, "u8 a[event.fields.a];", "that comes before it");
	refuse_fields(U8, "u8 a[stream.packet.context.n];",
		      "that comes before it");
	refuse(U8 "stream { packet.context := struct { u8 a[event.fields.n]; };"
		  "}; event { fields := struct { u8 n; }; };",
	       "stream 0, packet context, a: its length");
	for (int i = 0; i < 65; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used,
					 "u8 n%d; u8 a%d[n%d];", i, i, i);
	refuse_fields(U8, many, "too many lengths and tags");
}

static void labels_choose_the_options_of_a_variant(void **state)
{
	const struct sonde_class *v;

	(void)state;
	parse_fields(U8 "typealias integer { size = 32; align = 32; } := u32;",
		     "enum : u8 { A = 1 ... 3, B, \"C\" = 9, A = 7, X } t; "
		     "variant <t> { u32 A; string B; struct { u8 n; u8 d[n]; "
		     "} C; u8 never; } v;");
	v = field("v");
	assert_int_equal(v->kind, SONDE_KIND_VARIANT);
	assert_int_equal(v->align_bits, 1);
	assert_ptr_equal(v->ref, field("t"));
	assert_true(field("t")->reg >= 0);
	assert_int_equal(v->members[0].nr_ranges, 2);
	assert_int_equal(v->members[0].ranges[0].low, 1);
	assert_int_equal(v->members[0].ranges[0].high, 3);
	assert_int_equal(v->members[0].ranges[1].low, 7);
	assert_int_equal(v->members[1].nr_ranges, 1);
	assert_int_equal(v->members[1].ranges[0].low, 4);
	assert_int_equal(v->members[2].ranges[0].high, 9);
	assert_int_equal(v->members[3].nr_ranges, 0);
	assert_int_equal(event(0)->scopes[SONDE_SCOPE_PAYLOAD]->align_bits, 8);
}

static void variants_are_defined_here_and_tagged_there(void **state)
{
	(void)state;
	parse_fields(U8 "variant v { u8 A; string B; };"
			"variant w <t> { u8 A; };"
			"typealias variant <s.t> { u8 B; } := y;",
		     "enum e : u8 { A, B } t; struct { enum e t; } s; "
		     "variant v <s.t> a; variant v <t> b, c[2]; "
		     "variant w d; y f; variant x <t> { u8 B; } g; "
		     "struct { variant v <t> h; } i;");
	assert_ptr_equal(field("a")->ref, field("s.t"));
	assert_ptr_equal(field("b")->ref, field("t"));
	assert_ptr_equal(field("c.[]")->ref, field("t"));
	assert_ptr_equal(field("d")->ref, field("t"));
	assert_ptr_equal(field("f")->ref, field("s.t"));
	assert_ptr_equal(field("i.h")->ref, field("t"));
	refuse_fields("variant v { string B; };", "variant v a;",
		      "column 75: this field's variant has no <tag>");
	refuse_fields("variant v { string B; };", "variant v a[2];",
		      "has no <tag>");
	refuse_fields("", "variant { string B; } a;", "has no <tag>");
	refuse_fields(U8, "u8 t; variant <t> { string B; } a;",
		      "its tag is no enumeration");
	refuse_fields(U8, "string t; variant <t> { string B; } a;",
		      "its tag, t, is no integer");
	refuse_fields(U8, "variant <t { string B; } a;", "expected '>'");
}

static void tags_and_lengths_are_found_inside_options(void **state)
{
	(void)state;
	parse_fields(U8,
		     "enum : u8 { A, B } t; u8 n; variant <t> { "
		     "struct { u8 a[n]; u8 n; u8 b[n]; "
		     "u8 c[event.fields.v.A.n]; } A; struct { u8 n; } B; } v; "
		     "u8 d[v.B.n];");
	assert_ptr_equal(field("v.A.a")->ref, field("n"));
	assert_ptr_equal(field("v.A.b")->ref, field("v.A.n"));
	assert_ptr_equal(field("v.A.c")->ref, field("v.A.n"));
	assert_ptr_equal(field("d")->ref, field("v.B.n"));
	refuse_fields(U8,
		      "enum : u8 { A, B } t; variant <t> { struct { u8 n; } A; "
		      "struct { u8 a[event.fields.v.A.n]; } B; } v;",
		      "that comes before it");
}

static void one_leading_underscore_is_no_part_of_a_name(void **state)
{
	(void)state;
	parse_fields(U8, "u8 __n; u8 _d[ __n ]; u8 _; u8 a; u8 _a; u8 _b[_a]; "
			 "enum : u8 { x, _y } _t; variant <_t> { u8 _x; u8 _y; "
			 "} _v;");
	assert_ptr_equal(field("d")->ref, field("_n"));
	assert_string_equal(field("d")->location.names[0], "_n");
	assert_int_equal(field("_")->bits, 8);
	/* Both stay, where there would be two of one name. */
	assert_ptr_equal(field("b")->ref, field("_a"));
	assert_int_equal(field("a")->reg, -1);
	assert_ptr_equal(field("v")->ref, field("t"));
	assert_int_equal(field("v")->members[0].nr_ranges, 1);
	assert_string_equal(field("v")->members[1].name, "y");
	assert_int_equal(field("v")->members[1].ranges[0].low, 1);
}

/* ---- blocks ---- */

static void trace_block_has_version_uuid_and_packet_header(void **state)
{
	static const uint8_t uuid[16] = { 0x2a, 0x64, 0x22, 0xd0, 0x6c, 0xee,
					  0x11, 0xe0, 0x8c, 0x08, 0xcb, 0x07,
					  0xd7, 0xb3, 0xa5, 0x64 };

	(void)state;
	parse(U8 "trace { major = 1; minor = 9; "
		 "uuid = \"2A6422d0-6cee-11e0-8c08-cb07d7b3a564\"; "
		 "byte_order = le; packet.header := struct { "
		 "integer { size = 32; } magic; u8 uuid[16]; "
		 "integer { size = 16; } stream_id; "
		 "integer { size = 64; } stream_instance_id; u8 other; }; };");
	assert_int_equal(schema->minor, 9);
	assert_true(schema->has_uuid);
	assert_memory_equal(schema->uuid, uuid, 16);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "magic")->role,
			 SONDE_ROLE_MAGIC);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "uuid")->role,
			 SONDE_ROLE_UUID);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "stream_id")->role,
			 SONDE_ROLE_STREAM_CLASS_ID);
	assert_int_equal(
		outer(SONDE_SCOPE_PACKET_HEADER, "stream_instance_id")->role,
		SONDE_ROLE_STREAM_ID);
	assert_int_equal(outer(SONDE_SCOPE_PACKET_HEADER, "other")->role,
			 SONDE_ROLE_NONE);
	refuse("trace { major = 2; };", "expected 1");
	refuse("trace { uuid = \"2A6422d0\"; };", "expected a UUID");
	refuse("trace { uuid = 7; };", "expected a UUID");
	refuse("trace { }; trace { };", "there is a trace block already");
}

static void env_has_numbers_and_texts(void **state)
{
	(void)state;
	parse("env { domain = \"kernel\"; tracer_major = 2; neg = -7; "
	      "a.b = word; };");
	assert_int_equal(schema->nr_env, 4);
	assert_string_equal(schema->env[0].name, "domain");
	assert_string_equal(schema->env[0].text, "kernel");
	assert_int_equal(schema->env[1].number, 2);
	assert_int_equal(schema->env[2].number, -7);
	assert_string_equal(schema->env[3].name, "a.b");
	assert_string_equal(schema->env[3].text, "word");
}

static void clocks_have_what_they_say(void **state)
{
	const struct sonde_clock_info *info;

	(void)state;
	parse("clock { name = \"mono\"; "
	      "uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; "
	      "description = \"a \\\"clock\\\"\"; freq = 5000000000; precision = 3; "
	      "offset_s = -5; offset = 9223372036854775808; "
	      "absolute = TRUE; };"
	      "clock { name = plain; };");
	assert_int_equal(schema->nr_clocks, 2);
	info = &schema->clocks[0].info;
	assert_string_equal(info->name, "mono");
	assert_string_equal(info->description, "a \"clock\"");
	assert_int_equal(info->frequency, 5000000000);
	assert_int_equal(info->precision, 3);
	assert_true(schema->clocks[0].has_precision);
	assert_int_equal(info->offset_s, -5);
	assert_int_equal(info->offset_cycles, UINT64_C(1) << 63);
	assert_true(info->absolute);
	assert_true(info->has_uuid);
	assert_int_equal(info->uuid[0], 0x2a);
	info = &schema->clocks[1].info;
	assert_string_equal(info->name, "plain");
	assert_string_equal(info->description, "");
	assert_int_equal(info->frequency, 1000000000);
	assert_false(info->absolute);
	assert_false(info->has_uuid);
	refuse("clock { name = a; }; clock { name = a; };",
	       "clock 'a' is defined twice");
	refuse("clock { freq = 0; };", "has a frequency of 0");
	refuse("clock { name = 3; };", "expected a string");
}

static void offsets_are_from_1970_and_may_be_negative(void **state)
{
	(void)state;
	parse("clock { name = a; offset = 1; };"
	      "clock { name = b; freq = 1000; offset_s = 10; offset = -1; };"
	      "clock { name = c; freq = 1000; offset = -2000; };"
	      "clock { name = d; offset_s = 0; absolute = false; };");
	assert_true(schema->clocks[0].info.absolute);
	assert_int_equal(schema->clocks[1].info.offset_s, 9);
	assert_int_equal(schema->clocks[1].info.offset_cycles, 999);
	assert_int_equal(schema->clocks[2].info.offset_s, -2);
	assert_int_equal(schema->clocks[2].info.offset_cycles, 0);
	assert_false(schema->clocks[3].info.absolute);
}

static void integers_map_to_clocks_that_may_come_later(void **state)
{
	(void)state;
	parse("typealias integer { size = 64; map = clock.b.value; } := t;"
	      "clock { name = a; }; clock { name = b; };"
	      "stream { event.header := struct { t when; }; };"
	      "event { fields := struct { t x; integer { size = 8; "
	      "map = clock.a.value; } y; }; };");
	assert_string_equal(schema->clocks[field("x")->clock].info.name, "b");
	assert_string_equal(schema->clocks[field("y")->clock].info.name, "a");
	assert_int_equal(schema->streams[0]->clock, field("x")->clock);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "when")->role,
			 SONDE_ROLE_TIME);
	assert_int_equal(field("x")->role, SONDE_ROLE_NONE);
	refuse("env { a = 1; };\n"
	       "typealias integer { size = 64; map = clock.x.value; } := t;"
	       "typealias integer { size = 64; map = clock.y.value; } := u;",
	       "line 2, column 38: there is no clock 'x'");
}

static void packet_context_fields_have_roles(void **state)
{
	static const struct {
		const char *name;
		enum sonde_role role;
	} roles[] = {
		{ "timestamp_begin", SONDE_ROLE_TIME },
		{ "timestamp_end", SONDE_ROLE_TIME_END },
		{ "content_size", SONDE_ROLE_CONTENT_BITS },
		{ "packet_size", SONDE_ROLE_PACKET_BITS },
		{ "packet_seq_num", SONDE_ROLE_SEQUENCE },
		{ "events_discarded", SONDE_ROLE_DISCARDED },
		{ "cpu_id", SONDE_ROLE_NONE },
		{ "timestamp", SONDE_ROLE_NONE },
		{ "id", SONDE_ROLE_NONE },
	};

	(void)state;
	parse(CLOCK "typealias integer { size = 64; } := u64;"
		    "stream { packet.context := struct { u64 timestamp_begin, "
		    "timestamp_end, content_size, packet_size, packet_seq_num, "
		    "events_discarded, cpu_id, timestamp, id; }; };");
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_int_equal(
			outer(SONDE_SCOPE_PACKET_CONTEXT, roles[i].name)->role,
			roles[i].role);
	assert_int_equal(schema->streams[0]->clock, 0);
	assert_int_equal(
		outer(SONDE_SCOPE_PACKET_CONTEXT, "timestamp_end")->clock, 0);
}

static void the_extended_id_and_time_are_some_too(void **state)
{
	(void)state;
	parse(CLOCK
	      "typealias integer { size = 27; map = clock.c.value; } := t27;"
	      "typealias integer { size = 64; map = clock.c.value; } := t64;"
	      "struct h { enum : integer { size = 5; } { compact = 0 ... 30, "
	      "extended = 31 } id; variant <id> { struct { t27 timestamp; } "
	      "compact; struct { integer { size = 32; } id; t64 timestamp; } "
	      "extended; } v; } align(8);"
	      "stream { event.header := struct h; };");
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "id")->role,
			 SONDE_ROLE_EVENT_ID);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "v.extended.id")->role,
			 SONDE_ROLE_EVENT_ID);
	assert_int_equal(
		outer(SONDE_SCOPE_EVENT_HEADER, "v.compact.timestamp")->role,
		SONDE_ROLE_TIME);
	assert_int_equal(
		outer(SONDE_SCOPE_EVENT_HEADER, "v.extended.timestamp")->role,
		SONDE_ROLE_TIME);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "id")->reg, 0);
	assert_int_equal(schema->streams[0]->nr_regs, 1);
}

static void unmapped_times_are_of_the_only_clock(void **state)
{
	static const char stream[] =
		"typealias integer { size = 64; } := u64;"
		"stream { packet.context := struct { u64 timestamp_begin; }; "
		"event.header := struct { u64 timestamp; }; };";
	char text[512];

	(void)state;
	(void)snprintf(text, sizeof(text), CLOCK "%s", stream);
	parse(text);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "timestamp")->clock,
			 0);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "timestamp")->role,
			 SONDE_ROLE_TIME);
	/* With two clocks, they are numbers. */
	(void)snprintf(text, sizeof(text), CLOCK "clock { name = d; };%s",
		       stream);
	parse(text);
	assert_int_equal(schema->streams[0]->clock, -1);
	assert_int_equal(outer(SONDE_SCOPE_EVENT_HEADER, "timestamp")->role,
			 SONDE_ROLE_NONE);
}

static void times_of_a_trace_without_a_clock_are_nanoseconds(void **state)
{
	(void)state;
	parse("typealias integer { size = 64; } := u64;"
	      "trace { packet.header := struct { u64 stream_id; }; };"
	      "stream { id = 0; packet.context := struct { "
	      "u64 timestamp_end; }; };"
	      "stream { id = 1; packet.context := struct { u64 n; }; };");
	assert_int_equal(schema->nr_clocks, 1);
	assert_int_equal(schema->clocks[0].info.frequency, 1000000000);
	assert_false(schema->clocks[0].info.absolute);
	assert_int_equal(schema->streams[0]->clock, 0);
	assert_int_equal(
		outer(SONDE_SCOPE_PACKET_CONTEXT, "timestamp_end")->role,
		SONDE_ROLE_TIME_END);
	assert_int_equal(schema->streams[1]->clock, -1);
}

static void a_stream_without_times_has_no_clock(void **state)
{
	(void)state;
	parse(CLOCK U8 "stream { packet.context := struct { u8 packet_size; }; "
		       "event.header := struct { u8 id; }; };");
	assert_int_equal(schema->nr_clocks, 1);
	assert_int_equal(schema->streams[0]->clock, -1);
}

static void a_stream_has_one_clock(void **state)
{
	static const char clocks[] =
		"clock { name = a; }; clock { name = b; };"
		"typealias integer { size = 64; map = clock.a.value; } := ta;"
		"typealias integer { size = 64; map = clock.b.value; } := tb;";
	char text[1024];

	(void)state;
	(void)snprintf(text, sizeof(text),
		       "%s trace { packet.header := struct { "
		       "integer { size = 8; } stream_id; }; };"
		       "stream { id = 0; event.header := struct { ta t; }; };"
		       "stream { id = 1; packet.context := struct { integer { "
		       "size = 64; } timestamp_begin; }; "
		       "event.header := struct { tb t; }; };",
		       clocks);
	parse(text);
	assert_int_equal(schema->streams[0]->clock, 0);
	assert_int_equal(schema->streams[1]->clock, 1);
	assert_int_equal(
		member_of(
			schema->streams[1]->scopes[SONDE_SCOPE_PACKET_CONTEXT],
			"timestamp_begin")
			->clock,
		1);
	(void)snprintf(text, sizeof(text),
		       "%s stream { packet.context := struct { ta "
		       "timestamp_begin; }; event.header := struct { tb t; }; "
		       "};",
		       clocks);
	refuse(text, "several clocks");
}

static void events_have_what_they_say(void **state)
{
	(void)state;
	parse(U8 "trace { packet.header := struct { u8 stream_id; }; };"
		 "event { name = \"late\"; id = 7; stream_id = 2; loglevel = "
		 "13; context := struct { u8 c; }; fields := struct { u8 f; }; "
		 "};"
		 "stream { id = 1; };"
		 "stream { id = 2; event.context := struct { u8 e; }; };");
	assert_int_equal(schema->nr_streams, 2);
	assert_int_equal(schema->streams[0]->nr_events, 0);
	assert_int_equal(schema->streams[1]->nr_events, 1);
	assert_string_equal(schema->streams[1]->events[0]->info.name, "late");
	assert_int_equal(schema->streams[1]->events[0]->info.id, 7);
	assert_int_equal(schema->streams[1]->events[0]->info.stream_class_id,
			 2);
	assert_int_equal(schema->streams[1]->events[0]->info.loglevel, 13);
	assert_ptr_equal(schema->streams[1]->events[0]->stream_class,
			 schema->streams[1]);
	parse("event { name = bare; };");
	assert_string_equal(event(0)->info.name, "bare");
	assert_int_equal(event(0)->info.loglevel, -1);
	assert_null(event(0)->scopes[SONDE_SCOPE_PAYLOAD]);
	assert_false(schema->streams[0]->has_id);
}

static void ids_are_one_of_a_kind(void **state)
{
	(void)state;
	refuse("stream { id = 1; };\nevent { stream_id = 2; };",
	       "line 2, column 7: there is no stream of id 2");
	refuse(U8 "trace { packet.header := struct { u8 stream_id; }; };"
		  "stream { id = 1; }; stream { id = 2; }; event { };",
	       "does not say which stream_id");
	refuse(U8 "trace { packet.header := struct { u8 stream_id; }; };"
		  "stream { id = 1; }; stream { id = 1; };",
	       "two streams of id 1");
	refuse("stream { id = 1; }; stream { id = 2; };",
	       "no id of the stream in the packet header");
	refuse("event { name = a; }; event { name = b; id = 1; };",
	       "no id of the event in its event header");
	refuse(U8 "stream { event.header := struct { u8 id; }; };"
		  "event { name = a; id = 3; }; event { name = b; id = 3; };",
	       "event \"b\" has the id 3 that another one has");
}

static void callsites_are_skipped(void **state)
{
	(void)state;
	parse("callsite { name = \"a\"; func = f; x = { y; }; };"
	      "env { a = 1; };");
	assert_int_equal(schema->nr_env, 1);
	refuse("callsite { a;", "expected '}', not the end of the text");
}

/* ---- hostile texts ---- */

static void types_that_unfold_without_end_are_refused(void **state)
{
	char text[4096] = "typedef string t0;";
	size_t used = strlen(text);

	(void)state;
	for (int i = 0; i < 28; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "typedef struct { t%d a, b, c, d; } "
					 "t%d;",
					 i, i + 1);
	refuse(text, "unfold to more than can be kept");
	assert_int_equal(strncmp(error.text, "line 1, column ", 15), 0);
}

static void nesting_is_bounded(void **state)
{
	char text[8192] = "event { fields := ";
	size_t used = strlen(text);

	(void)state;
	for (int i = 0; i < 500; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "struct { ");
	refuse(text, "types are nested too deep");
	used = (size_t)snprintf(text, sizeof(text), "typedef string t0;");
	for (int i = 0; i < 40; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "typedef struct { t%d a; } t%d;", i,
					 i + 1);
	refuse(text, "nested more than 32 deep");
	used = (size_t)snprintf(text, sizeof(text),
				"event { fields := struct { string a");
	for (int i = 0; i < 40; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "[1]");
	refuse(text, "arrays are nested too deep");
	used = (size_t)snprintf(text, sizeof(text),
				"event { fields := struct { ");
	for (int i = 0; i < 500; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "enum : ");
	refuse(text, "types are nested too deep");
}

/* 31 structures around a number are the most there may be. */
static void nesting_up_to_the_bound_is_taken(void **state)
{
	char text[2048] = U8 "event { fields := struct { ";
	size_t used = strlen(text);

	(void)state;
	for (int i = 0; i < SONDE_SCHEMA_DEPTH - 2; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "struct { ");
	used += (size_t)snprintf(text + used, sizeof(text) - used, "u8 a; ");
	for (int i = 0; i < SONDE_SCHEMA_DEPTH - 2; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "} a; ");
	(void)snprintf(text + used, sizeof(text) - used, "}; };");
	parse(text);
}

/* Each reference to a wide enumeration costs its width. */
static void work_for_wide_enumerations_is_bounded(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size);
	size_t used;

	(void)state;
	assert_non_null(text);
	used = (size_t)snprintf(text, size, U8 "enum e : u8 { L = 1, L = 2");
	for (int i = 0; i < 10000; i++)
		used += (size_t)snprintf(text + used, size - used, ", L%d", i);
	used += (size_t)snprintf(text + used, size - used,
				 "}; event { fields := struct { enum e t; ");
	for (int i = 0; i < 2000; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "variant <t> { u8 L; } v%d; ", i);
	(void)snprintf(text + used, size - used, "}; };");
	refuse(text, "too many references");
	free(text);
}

/* At every point where memory can end. */
static void a_lack_of_memory_is_an_error(void **state)
{
	static const char text[] = U8 CLOCK
		"trace { byte_order = le; packet.header := struct { u8 "
		"uuid[16]; }; };"
		"env { a = 1; b = \"x\"; };"
		"struct s { u8 n; u8 d[n]; };"
		"stream { event.header := struct { enum : u8 { A, B } "
		"id; variant <id> { struct s A; u8 B; } v; }; };"
		"typealias integer { size = 8; map = clock.c.value; } "
		":= u8 *;"
		"event { id = 1; name = \"e\"; fields := struct { "
		"struct s a, b[2]; u8 *p; }; };";
	int status = -ENOMEM;
	size_t limit;

	(void)state;
	for (limit = 16; status == -ENOMEM; limit += 16) {
		struct sonde_schema own = { 0 };

		error.text[0] = 0;
		sonde_pool_init(&own.pool, limit);
		status = sonde_schema_parse_tsdl(&own, text, strlen(text),
						 &error);
		if (status == 0)
			status = sonde_schema_finish(&own, &error);
		/* In the text, it is said where. */
		if (status == -EINVAL && own.pool.full)
			status = -ENOMEM;
		sonde_pool_fini(&own.pool);
	}
	assert_int_equal(status, 0);
	assert_in_range(limit, 1000, 100000);
}

#define CLAIM(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLAIM(numbers_have_bases_suffixes_signs_and_quotes),
		CLAIM(malformed_words_are_refused_where_they_are),
		CLAIM(strings_have_escapes),
		CLAIM(comments_and_line_ends_are_blanks),
		CLAIM(errors_name_what_was_expected),
		CLAIM(an_empty_text_is_a_schema_without_events),
		CLAIM(integers_have_what_they_say),
		CLAIM(integers_have_defaults),
		CLAIM(attributes_have_many_spellings),
		CLAIM(impossible_integers_are_refused),
		CLAIM(unknown_attributes_are_skipped_whatever_they_say),
		CLAIM(floats_are_ieee_numbers),
		CLAIM(strings_end_with_a_zero),
		CLAIM(native_order_is_known_before_the_trace_block),
		CLAIM(labels_count_up_and_have_ranges),
		CLAIM(enumerations_are_of_int_unless_they_say),
		CLAIM(pointers_and_words_are_parts_of_a_types_name),
		CLAIM(declarators_that_are_no_fields_are_refused),
		CLAIM(an_alias_is_seen_in_its_block_only),
		CLAIM(uses_of_a_type_are_copies),
		CLAIM(structures_align_as_their_members_and_as_they_say),
		CLAIM(structures_have_names_as_in_c),
		CLAIM(characters_in_a_row_are_strings),
		CLAIM(arrays_nest_from_the_first_brackets_inwards),
		CLAIM(a_length_is_the_nearest_field_of_that_name),
		CLAIM(absolute_paths_name_their_scope),
		CLAIM(registers_are_numbered_from_the_packet_header_on),
		CLAIM(lengths_that_make_no_sense_are_refused),
		CLAIM(labels_choose_the_options_of_a_variant),
		CLAIM(variants_are_defined_here_and_tagged_there),
		CLAIM(tags_and_lengths_are_found_inside_options),
		CLAIM(one_leading_underscore_is_no_part_of_a_name),
		CLAIM(trace_block_has_version_uuid_and_packet_header),
		CLAIM(env_has_numbers_and_texts),
		CLAIM(clocks_have_what_they_say),
		CLAIM(offsets_are_from_1970_and_may_be_negative),
		CLAIM(integers_map_to_clocks_that_may_come_later),
		CLAIM(packet_context_fields_have_roles),
		CLAIM(the_extended_id_and_time_are_some_too),
		CLAIM(unmapped_times_are_of_the_only_clock),
		CLAIM(times_of_a_trace_without_a_clock_are_nanoseconds),
		CLAIM(a_stream_without_times_has_no_clock),
		CLAIM(a_stream_has_one_clock),
		CLAIM(events_have_what_they_say),
		CLAIM(ids_are_one_of_a_kind),
		CLAIM(callsites_are_skipped),
		CLAIM(types_that_unfold_without_end_are_refused),
		CLAIM(nesting_is_bounded),
		CLAIM(nesting_up_to_the_bound_is_taken),
		CLAIM(work_for_wide_enumerations_is_bounded),
		CLAIM(a_lack_of_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
