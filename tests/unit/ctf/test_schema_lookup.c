/* SPDX-License-Identifier: MIT */
/* The names of ctf/schema/lookup.h. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/schema/lookup.h"

static void an_empty_table_has_nothing(void **state)
{
	struct sonde_lookup table = { 0 };
	struct sonde_lookup_key key = { NULL, "a", 1 };

	(void)state;
	assert_null(sonde_lookup_find(&table, &key));
	sonde_lookup_fini(&table);
}

static void a_key_is_its_owner_and_all_its_bytes(void **state)
{
	static const char owner[2];
	struct sonde_lookup_key keys[] = {
		{ &owner[0], "", 0 },         { &owner[1], "", 0 },
		{ &owner[0], "a", 1 },        { &owner[0], "b", 1 },
		{ &owner[0], "12345678", 8 }, { &owner[0], "123456789", 9 },
		{ &owner[0], "a\0", 2 },      { NULL, "a", 1 },
	};
	struct sonde_lookup table = { 0 };
	size_t nr = sizeof(keys) / sizeof(keys[0]);

	(void)state;
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sonde_lookup_add(&table, &keys[i], &keys[i]),
				 0);
	for (size_t i = 0; i < nr; i++) {
		assert_ptr_equal(sonde_lookup_find(&table, &keys[i]), &keys[i]);
		assert_int_equal(sonde_lookup_add(&table, &keys[i], &keys[0]),
				 -EEXIST);
		assert_ptr_equal(sonde_lookup_find(&table, &keys[i]), &keys[i]);
	}
	sonde_lookup_fini(&table);
}

static void many_keys_are_all_found(void **state)
{
	enum {
		NR = 100000
	};
	uint32_t *numbers = calloc(NR + 1, sizeof(*numbers));
	struct sonde_lookup table = { 0 };

	(void)state;
	assert_non_null(numbers);
	for (uint32_t i = 0; i <= NR; i++) {
		struct sonde_lookup_key key = { NULL, &numbers[i], 4 };

		numbers[i] = i;
		if (i < NR)
			assert_int_equal(
				sonde_lookup_add(&table, &key, &numbers[i]), 0);
	}
	for (uint32_t i = 0; i <= NR; i++) {
		uint32_t number = i;
		struct sonde_lookup_key key = { NULL, &number, 4 };

		assert_ptr_equal(sonde_lookup_find(&table, &key),
				 i < NR ? &numbers[i] : NULL);
	}
	sonde_lookup_fini(&table);
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_has_nothing),
		cmocka_unit_test(a_key_is_its_owner_and_all_its_bytes),
		cmocka_unit_test(many_keys_are_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
