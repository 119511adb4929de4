/* SPDX-License-Identifier: MIT */
/* What proto.h writes, read back byte by byte. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "view/export/proto.h"

static uint64_t read_varint(const struct sonde_proto *proto, size_t *at)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	for (;; shift += 7) {
		uint8_t byte = proto->bytes[(*at)++];

		assert_true(*at <= proto->used);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

static void numbers_take_seven_bits_a_byte(void **state)
{
	static const uint8_t expected[] = {
		0x08, 0x00, 0x10, 0xac, 0x02, 0x19, 0,    0,    0,    0,
		0,    0,    0xe0, 0xbf, 0x20, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0x01, 0xa2, 0x06, 0x02, 'h',  'i',
	};
	struct sonde_proto proto = { 0 };

	(void)state;
	sonde_proto_uint(&proto, 1, 0);
	sonde_proto_uint(&proto, 2, 300);
	sonde_proto_double(&proto, 3, -0.5);
	sonde_proto_int(&proto, 4, -1);
	sonde_proto_text(&proto, 100, "hi");
	assert_false(proto.failed);
	assert_int_equal(proto.used, sizeof(expected));
	assert_memory_equal(proto.bytes, expected, sizeof(expected));
	sonde_proto_fini(&proto);
}

/* Messages in messages, of which the inner one has `size` bytes of text. */
static void check_nested(size_t size)
{
	struct sonde_proto proto = { 0 };
	char *text = calloc(1, size + 1);
	size_t outer;
	size_t at = 0;

	memset(text, 'x', size);
	sonde_proto_open(&proto, 1);
	sonde_proto_open(&proto, 2);
	sonde_proto_text(&proto, 3, text);
	sonde_proto_close(&proto);
	sonde_proto_uint(&proto, 4, 5);
	sonde_proto_close(&proto);
	assert_false(proto.failed);

	assert_int_equal(read_varint(&proto, &at), 1 << 3 | 2);
	outer = read_varint(&proto, &at);
	assert_int_equal(at + outer, proto.used);
	assert_int_equal(read_varint(&proto, &at), 2 << 3 | 2);
	size_t inner = read_varint(&proto, &at);
	assert_int_equal(at + inner + 2, proto.used);
	assert_int_equal(read_varint(&proto, &at), 3 << 3 | 2);
	assert_int_equal(read_varint(&proto, &at), size);
	assert_memory_equal(proto.bytes + at, text, size);
	at += size;
	assert_int_equal(read_varint(&proto, &at), 4 << 3 | 0);
	assert_int_equal(read_varint(&proto, &at), 5);
	assert_int_equal(at, proto.used);
	free(text);
	sonde_proto_fini(&proto);
}

static void messages_of_any_length_are_closed(void **state)
{
	(void)state;
	for (size_t size = 0; size < 260; size++)
		check_nested(size);
	for (size_t size = 16370; size < 16390; size++)
		check_nested(size);
	check_nested(2100000);
}

static void too_many_open_messages_are_refused(void **state)
{
	struct sonde_proto proto = { 0 };

	(void)state;
	for (int i = 0; i < SONDE_PROTO_DEPTH; i++)
		sonde_proto_open(&proto, 1);
	assert_false(proto.failed);
	sonde_proto_open(&proto, 1);
	assert_true(proto.failed);
	for (int i = 0; i <= SONDE_PROTO_DEPTH; i++)
		sonde_proto_close(&proto);
	sonde_proto_reset(&proto);
	assert_false(proto.failed);
	sonde_proto_fini(&proto);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_take_seven_bits_a_byte),
		cmocka_unit_test(messages_of_any_length_are_closed),
		cmocka_unit_test(too_many_open_messages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
