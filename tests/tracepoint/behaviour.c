/* SPDX-License-Identifier: MIT */
/*
 * behaviour.c - what <sonde/tracepoint.h> records, for every type and form.
 * Built as C and as C++.
 */
/* The branches and statements are the macro's:
 * NOLINTBEGIN(readability-function-size) */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <sonde/tracepoint.h>

#include "check.h"

enum color {
	RED,
	GREEN,
	BLUE
};

struct packet {
	int len;
	char name[8];
	unsigned char mac[6];
	const char *text;
	unsigned flag : 3;
};

static struct packet packet = { 42,
				"abc",
				{ 1, 2, 3, 0xa, 0xb, 0xff },
				"hi",
				5 };

static void integers_have_their_width_and_sign(void)
{
	int8_t i8 = -1;
	uint8_t u8 = 255;
	short i16 = -300;
	unsigned short u16 = 65535;
	int i32 = -5;
	unsigned u32 = 4000000000u;
	long i64 = -1;
	unsigned long long u64 = 18446744073709551615ull;

	sonde_event(t, int8, i8);
	CHECK_EVENT("t:int8{i8=-1}");
	CHECK(stub_way() == 'w' && stub_size() == 1);
	sonde_event(t, small, i8, u8, i16, i32);
	CHECK_EVENT("t:small{i8=-1, u8=255, i16=-300, i32=-5}");
	CHECK(stub_way() == 'w' && stub_size() == 8);
	sonde_event(t, wide, i8, u8, i16, u16, i32, u32, i64, u64);
	CHECK_EVENT("t:wide{i8=-1, u8=255, i16=-300, u16=65535, i32=-5, "
		    "u32=4000000000, i64=-1, u64=18446744073709551615}");
	CHECK(stub_way() == 'b' && stub_size() == 30);
}

static void constants_and_expressions_are_what_c_says(void)
{
	int x = 3;
	const int c = 4;
	volatile int v = 5;

	sonde_event(t, expressions, 1, x + 1, c, v, -2L, sizeof(int), x == 3);
#ifdef __cplusplus
	CHECK_EVENT("t:expressions{1=1, x + 1=4, c=4, v=5, -2L=-2, "
		    "sizeof(int)=4, x == 3=true}");
#else
	CHECK_EVENT("t:expressions{1=1, x + 1=4, c=4, v=5, -2L=-2, "
		    "sizeof(int)=4, x == 3=1}");
#endif
}

static void names_are_what_was_written(void)
{
	errno = 7;
	sonde_event(t, names, errno, packet.len, EOF);
	CHECK_EVENT("t:names{errno=7, packet.len=42, EOF=-1}");
}

static void chars_bools_floats_and_enums(void)
{
	char c = 'x';
	signed char s = -1;
	bool b = true;
	float f = 1.5f;
	double d = -2.25;
	enum color color = BLUE;

	sonde_event(t, scalars, c, s, b, f, d, color);
	CHECK_EVENT("t:scalars{c=120'x', s=-1, b=true, f=1.5, d=-2.25, "
		    "color=2}");
	sonde_event(t, one_float, f);
	CHECK_EVENT("t:one_float{f=1.5}");
	CHECK(stub_way() == 'w');
}

static void pointers_are_addresses(void)
{
	void *p = (void *)(uintptr_t)0x1234;
	const int *q = (const int *)(uintptr_t)0xffff;
	unsigned char *u = NULL;

	sonde_event(t, pointers, p, q, u);
	CHECK_EVENT("t:pointers{p=0x1234, q=0xffff, u=0x0}");
}

static void strings_end_at_their_nul(void)
{
	const char *s = "hello";
	char writable[] = "w";
	char *w = writable;
	const char *null = NULL;
	void *p = NULL;
	int n = 3;

	sonde_event(t, strings, n, s, w, null, n ? "yes" : "no", n);
	CHECK_EVENT("t:strings{n=3, s=\"hello\", w=\"w\", null=\"(null)\", "
		    "n ? \"yes\" : \"no\"=\"yes\", n=3}");
	CHECK(stub_way() == 'b');
	sonde_event(t, tail, n, s);
	CHECK_EVENT("t:tail{n=3, s=\"hello\"}");
	CHECK(stub_way() == 's');
	sonde_event(t, tail_null, null);
	CHECK_EVENT("t:tail_null{null=\"(null)\"}");
	CHECK(stub_way() == 's');
	sonde_event(t, tails, n, s, w);
	CHECK_EVENT("t:tails{n=3, s=\"hello\", w=\"w\"}");
	CHECK(stub_way() == 'b');
	sonde_event(t, late_tail, p, n, s);
	CHECK_EVENT("t:late_tail{p=0x0, n=3, s=\"hello\"}");
	CHECK(stub_way() == 'b');
	sonde_event(t, literal, "text");
	CHECK_EVENT("t:literal{\"text\"=\"text\"}");
	sonde_event(t, literal_empty, "");
	CHECK_EVENT("t:literal_empty{\"\"=\"\"}");
}

static void long_strings_go_by_parts(void)
{
	static char text[6000];
	char expected[7000];
	int a = 1;
	short b = 2;

	memset(text, 'x', sizeof(text) - 1);
	sonde_event(t, parts, a, sonde_string(s, text), b);
	(void)snprintf(expected, sizeof(expected),
		       "t:parts{a=1, s=\"%s\", b=2}", text);
	CHECK_EVENT(expected);
	CHECK(stub_way() == 'p');
	for (size_t size = 240; size < 270; size++) {
		text[size] = 0;
		sonde_event(t, parts2, a, sonde_string(s, text), b);
		(void)snprintf(expected, sizeof(expected),
			       "t:parts2{a=1, s=\"%s\", b=2}", text);
		CHECK_EVENT(expected);
		CHECK(stub_way() == (size + 1 <= 256 ? 'b' : 'p'));
		text[size] = 'x';
	}
}

static void arrays_have_their_elements(void)
{
	int ints[3] = { 1, -2, 3 };
	const double doubles[2] = { 0.5, 2 };
	char chars[4] = { 'a', 'b', 'c', 'd' };
	uint16_t many[1000];
	bool bits[2] = { true, false };

	for (uint16_t i = 0; i < 1000; i++)
		many[i] = i;
	sonde_event(t, arrays, ints, doubles, chars, packet.name, packet.mac,
		    bits);
	CHECK_EVENT("t:arrays{ints=[1,-2,3], doubles=[0.5,2], chars='abcd', "
		    "packet.name='abc', packet.mac=[1,2,3,10,11,255], "
		    "bits=[true,false]}");
	CHECK(stub_size() == 12 + 16 + 4 + 8 + 6 + 2);
	sonde_event(t, three, sonde_array(mac, packet.mac, 3));
	CHECK_EVENT("t:three{mac=[1,2,3]}");
	CHECK(stub_way() == 'w' && stub_size() == 3);
	sonde_event(t, big_array, many);
	CHECK(stub_way() == 'p' && stub_size() == 2000);
	CHECK(strstr(stub_take(), ",998,999]}") != NULL);
}

static void typed_forms(void)
{
	unsigned x = 255;
	int n = -3;
	uint16_t port = 0x5000;
	enum color color = GREEN;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	sonde_event(t, network, sonde_network(port, port));
	CHECK_EVENT("t:network{port=80}");
#endif
	sonde_event(t, forms, sonde_field(renamed, x), sonde_hex(hex, x),
		    sonde_hex(mac, packet.mac), sonde_hex(text, (char *)NULL));
	CHECK_EVENT("t:forms{renamed=255, hex=0xff, "
		    "mac=[0x1,0x2,0x3,0xa,0xb,0xff], text=0x0}");
	sonde_event(t, bits, sonde_bits(low, x, 3), sonde_bits(all, x, 64),
		    sonde_signed_bits(sign, n, 12), sonde_bits(one, n, 1),
		    sonde_bits(flag, packet.flag, 3));
	CHECK_EVENT("t:bits{low=7, all=255, sign=-3, one=1, flag=5}");
	CHECK(stub_size() == 1 + 8 + 2 + 1 + 1);
	sonde_event(t, enums,
		    sonde_enum(e, color, sonde_label("red", RED),
			       sonde_label("green", GREEN)),
		    sonde_enum(range, n, sonde_range("negative", -100, -1),
			       sonde_label("zero", 0),
			       sonde_range("more", 1, 100)));
	CHECK_EVENT("t:enums{e=1(green), range=-3(negative)}");
}

static void sequences_and_blobs_have_a_length(void)
{
	const short shorts[] = { 5, 6, 7, 8 };
	double *none = NULL;
	size_t n = 3;
	int len = 2;
	static unsigned char big[5000];

	sonde_event(t, sequences, sonde_sequence(s, shorts, n),
		    sonde_sequence(z, none, 5), sonde_sequence(e, shorts, 0),
		    sonde_blob(b, packet.mac, len), sonde_blob(nb, NULL, 9), n);
	CHECK_EVENT("t:sequences{s=[5,6,7], z=[], e=[], b=<0102>, nb=<>, "
		    "n=3}");
	CHECK(stub_way() == 'b');
	sonde_event(t, big_blob, len, sonde_blob(b, big, sizeof(big)), len);
	CHECK(stub_way() == 'p' && stub_size() == 4 + 4 + 5000 + 4);
	CHECK(strncmp(stub_take(), "t:big_blob{len=2, b=<0000", 25) == 0);
}

static void bounded_strings_end_at_the_bound(void)
{
	const char raw[4] = { 'a', 'b', 'c', 'd' };
	const char *s = "xy";
	static char text[1000];

	memset(text, 'q', sizeof(text));
	sonde_event(t, bounded, sonde_string_max(r, raw, 4),
		    sonde_string_max(s, s, 10), sonde_string_max(cut, s, 1),
		    sonde_string_max(null, (char *)NULL, 100),
		    sonde_text(t, packet.mac + 0, 1));
	CHECK_EVENT("t:bounded{r=\"abcd\", s=\"xy\", cut=\"x\", "
		    "null=\"(null)\", t='\1'}");
	sonde_event(t, bounded_long, sonde_string_max(s, text, sizeof(text)));
	CHECK(stub_way() == 'p' && stub_size() == 1001);
	(void)stub_take();
}

static void structures_nest(void)
{
	int a = 1;
	short b = 2;
	const char *s = "str";

	sonde_event(t, nested, a,
		    sonde_struct(p, a, sonde_struct(q, b, sonde_hex(h, a)), b),
		    b);
	CHECK_EVENT("t:nested{a=1, p={a=1, q={b=2, h=0x1}, b=2}, b=2}");
	sonde_event(t, deep,
		    sonde_struct(
			    d1,
			    sonde_struct(
				    d2, a,
				    sonde_struct(
					    d3, sonde_struct(
							d4, b,
							sonde_string(s, s))))));
	CHECK_EVENT("t:deep{d1={d2={a=1, d3={d4={b=2, s=\"str\"}}}}}");
}

static int evaluated;

static int count(int value)
{
	evaluated++;
	return value;
}

static void one_variant(int which)
{
	sonde_event(t, variant,
		    sonde_variant(v, which, sonde_field(i, count(5)),
				  sonde_string(s, "text"),
				  sonde_struct(p, sonde_field(x, count(6)),
					       sonde_field(y, (short)7))),
		    sonde_field(after, 9));
}

static void variants_record_one_option(void)
{
	one_variant(0);
	CHECK_EVENT("t:variant{v_tag=0(i), v={i=5}, after=9}");
	CHECK(evaluated == 1);
	one_variant(1);
	CHECK_EVENT("t:variant{v_tag=1(s), v={s=\"text\"}, after=9}");
	CHECK(evaluated == 1);
	one_variant(2);
	CHECK_EVENT("t:variant{v_tag=2(p), v={p={x=6, y=7}}, after=9}");
	CHECK(evaluated == 2);
	one_variant(3);
	CHECK_EVENT("t:variant{v_tag=3(none), v={none={}}, after=9}");
	one_variant(-1);
	CHECK_EVENT("t:variant{v_tag=3(none), v={none={}}, after=9}");
	CHECK(evaluated == 2);
}

static void expressions_are_evaluated_once_and_only_if_enabled(void)
{
	int order = 0;

	evaluated = 0;
	sonde_event(t, once, count(1), sonde_hex(h, count(2)),
		    sonde_bits(b, count(3), 4),
		    sonde_enum(e, count(4), sonde_label("l", 4)),
		    sonde_struct(s, count(5)), sonde_field(o, order++),
		    sonde_field(p, order++));
	CHECK_EVENT("t:once{count(1)=1, h=0x2, b=3, e=4(l), s={count(5)=5}, "
		    "o=0, p=1}");
	CHECK(evaluated == 5 && order == 2);
	stub_enable(0);
	sonde_event(t, off, count(1), sonde_string(s, (count(2), "x")));
	CHECK_EVENT("");
	CHECK(evaluated == 5);
	stub_enable(1);
}

static void events_may_have_0_to_32_fields(void)
{
	int a = 7;

	sonde_event(t, no_fields);
	CHECK_EVENT("t:no_fields{}");
	CHECK(stub_way() == 'w' && stub_size() == 0);
	sonde_event(t, most, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
		    a, a, a, a, a, a, a, a, a, a, a, a, a, a, a + 1);
	CHECK(stub_size() == 32 * 4);
	CHECK(strstr(stub_take(), "a=7, a + 1=8}") != NULL);
}

static void levels(void)
{
	sonde_event_level(t, debug_event, SONDE_DEBUG_LINE, 1);
	sonde_event_level(t, debug_empty, SONDE_ERR);
	CHECK_EVENT("t:debug_empty{}");
	CHECK(stub_level("debug_event") == SONDE_DEBUG_LINE);
	CHECK(stub_level("debug_empty") == SONDE_ERR);
	CHECK(stub_level("no_fields") == SONDE_INFO);
}

static void enabled_tells_whether_somebody_records(void)
{
	CHECK(sonde_event_enabled(t, no_fields));
	stub_enable(0);
	CHECK(!sonde_event_enabled(t, no_fields));
	stub_enable(1);
	CHECK(stub_nr_references() == 2);
}

/* The reason is the event's name. */
static void a_snapshot_is_asked_for_by_an_event(int x)
{
	if (x)
		sonde_snapshot("slow-request.2");
	else
		sonde_snapshot("never");
	CHECK_EVENT("sonde_snapshot:slow-request.2{}");
	CHECK(stub_way() == 'w' && stub_size() == 0);
}

/* A statement like any other. */
static void stands_where_a_statement_stands(int x)
{
	if (x)
		sonde_event(t, then, x);
	else
		sonde_event(t, otherwise, x);
	CHECK_EVENT("t:then{x=1}");
	for (int i = 0; i < 2; i++)
		sonde_event(t, loop, i);
	CHECK_EVENT("t:loop{i=1}");
}

int main(void)
{
	stub_enable(1);
	integers_have_their_width_and_sign();
	constants_and_expressions_are_what_c_says();
	names_are_what_was_written();
	chars_bools_floats_and_enums();
	pointers_are_addresses();
	strings_end_at_their_nul();
	long_strings_go_by_parts();
	arrays_have_their_elements();
	typed_forms();
	sequences_and_blobs_have_a_length();
	bounded_strings_end_at_the_bound();
	structures_nest();
	variants_record_one_option();
	expressions_are_evaluated_once_and_only_if_enabled();
	events_may_have_0_to_32_fields();
	levels();
	enabled_tells_whether_somebody_records();
	stands_where_a_statement_stands(1);
	a_snapshot_is_asked_for_by_an_event(1);
	CHECK(stub_nr_bad() == 0);
	return check_summary("behaviour");
}
/* NOLINTEND(readability-function-size) */
