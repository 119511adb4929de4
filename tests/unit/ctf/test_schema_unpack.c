/* SPDX-License-Identifier: MIT */
/* Metadata in packets (ctf/schema/unpack.c). */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/schema.h"

#define HEAD_BYTES 37
#define MAGIC      0x75d11d57u

struct packets {
	uint8_t bytes[1024];
	size_t size;
	bool big_endian;
};

static void put_u32(const struct packets *packets, uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >>
				  8 * (packets->big_endian ? 3 - i : i));
}

static uint8_t *put_packet(struct packets *packets, const char *text,
			   size_t padding)
{
	uint8_t *head = packets->bytes + packets->size;
	uint32_t bytes = (uint32_t)(HEAD_BYTES + strlen(text));

	assert_true(packets->size + bytes + padding <= sizeof(packets->bytes));
	memset(head, 0, bytes + padding);
	put_u32(packets, head, MAGIC);
	put_u32(packets, head + 24, bytes * 8);
	put_u32(packets, head + 28, (bytes + (uint32_t)padding) * 8);
	head[35] = 1;
	head[36] = 8;
	for (size_t i = 0; text[i]; i++)
		head[HEAD_BYTES + i] = (uint8_t)text[i];
	packets->size += bytes + padding;
	return head;
}

static void check_text(const void *bytes, size_t size, const char *expected)
{
	struct sonde_schema_error error = { "" };
	char *text;
	size_t text_size;

	assert_int_equal(
		sonde_schema_unpack(bytes, size, &error, &text, &text_size), 0);
	assert_int_equal(text_size, strlen(expected));
	assert_memory_equal(text, expected, text_size);
	free(text);
}

static void packets_are_read_in_both_byte_orders(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct packets packets = { .big_endian = i };

		(void)put_packet(&packets, "env { a", 0);
		(void)put_packet(&packets, "", 3);
		(void)put_packet(&packets, "b = 5; };", 11);
		check_text(packets.bytes, packets.size, "env { ab = 5; };");
	}
}

static void a_cut_packet_gives_the_text_that_is_there(void **state)
{
	struct packets packets = { 0 };
	size_t first;

	(void)state;
	(void)put_packet(&packets, "one", 2);
	first = packets.size;
	(void)put_packet(&packets, "two", 20);
	for (size_t size = 0; size <= packets.size; size++) {
		size_t there = size < HEAD_BYTES ? 0 : size - HEAD_BYTES;
		char expected[] = "onetwo";

		if (size > first + HEAD_BYTES)
			there = 3 + size - first - HEAD_BYTES;
		else if (there > 3)
			there = 3;
		if (there < 6)
			expected[there] = 0;
		check_text(packets.bytes, size, expected);
	}
}

static void packets_that_cant_be_are_refused(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value; /* of one byte, or of a word */
		bool is_word;
		const char *words;
	} cases[] = {
		{ 0, MAGIC + 1, true, "byte 48: it does not begin with" },
		{ 32, 1, false, "it is compressed" },
		{ 33, 1, false, "it is encrypted" },
		{ 34, 1, false, "checksum of an unknown kind" },
		{ 24, 36 * 8, true, "its sizes make no sense" },
		{ 24, 44 * 8 + 1, true, "its sizes make no sense" },
		{ 28, 43 * 8, true, "its sizes make no sense" },
		{ 28, 0, true, "its sizes make no sense" },
		{ 28, 48 * 8 + 4, true, "its sizes make no sense" },
		{ 24, UINT32_MAX, true, "its sizes make no sense" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sonde_schema_error error = { "" };
		struct packets packets = { 0 };
		size_t size;
		char *text;
		uint8_t *head;

		(void)put_packet(&packets, "env { }; ", 2);
		head = put_packet(&packets, "//3456y", 4);
		if (cases[i].is_word)
			put_u32(&packets, head + cases[i].offset,
				cases[i].value);
		else
			head[cases[i].offset] = (uint8_t)cases[i].value;
		assert_int_equal(sonde_schema_unpack(packets.bytes,
						     packets.size, &error,
						     &text, &size),
				 -EINVAL);
		assert_non_null(strstr(error.text, cases[i].words));
	}
}

/* A trace that does not say its byte order has that of its packets. */
static void packets_are_a_hint_to_the_native_byte_order(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct packets packets = { .big_endian = i & 1 };
		struct sonde_schema_error error;
		struct sonde_schema *schema;

		(void)put_packet(&packets, "trace { ", 0);
		(void)put_packet(&packets, i & 2 ? "byte_order = le; };" : "};",
				 5);
		assert_int_equal(sonde_schema_parse(packets.bytes, packets.size,
						    &error, &schema),
				 0);
		assert_int_equal(schema->big_endian, i == 1);
		sonde_schema_free(schema);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_read_in_both_byte_orders),
		cmocka_unit_test(a_cut_packet_gives_the_text_that_is_there),
		cmocka_unit_test(packets_that_cant_be_are_refused),
		cmocka_unit_test(packets_are_a_hint_to_the_native_byte_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
