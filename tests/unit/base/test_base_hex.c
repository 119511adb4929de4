/* SPDX-License-Identifier: MIT */
/* test_base_hex.c - base/hex: bytes as text, and back. */
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

static void bytes_are_put_as_digits(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x0f, 0xa0, 0xff };
	char text[2 * sizeof(bytes) + 1];

	(void)state;
	sonde_hex_put(bytes, sizeof(bytes), text);
	assert_string_equal(text, "000fa0ff");
	sonde_hex_put(bytes, 0, text);
	assert_string_equal(text, "");
}

static void what_was_put_is_taken(void **state)
{
	uint8_t bytes[256];
	char text[2 * sizeof(bytes) + 1];
	char *back;
	size_t nr;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	sonde_hex_put(bytes, sizeof(bytes), text);
	back = sonde_hex_bytes(text, &nr);
	assert_non_null(back);
	assert_int_equal(nr, sizeof(bytes));
	assert_memory_equal(back, bytes, sizeof(bytes));
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_put_as_digits),
		cmocka_unit_test(what_was_put_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
