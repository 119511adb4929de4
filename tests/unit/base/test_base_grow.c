/* SPDX-License-Identifier: MIT */
/* test_base_grow.c - base/grow.h: arrays keep what is in them as they grow. */
#include "unit.h"

#include "base/grow.h"

#define NR 1000

static void what_is_in_an_array_stays(void **state)
{
	uint64_t *list = NULL;
	size_t nr = 0;
	size_t room = 0;
	uint32_t nr_moves = 0;

	(void)state;
	while (nr < NR) {
		size_t before = room;

		assert_int_equal(SONDE_GROW(list, nr, room), 0);
		assert_true(room > nr);
		nr_moves += room != before;
		list[nr] = nr;
		nr++;
	}
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(list[i], i);
	assert_int_equal(room, 1024);
	assert_int_equal(nr_moves, 7);
	free(list);
}

static void rooms_of_either_size_are_known(void **state)
{
	struct {
		char bytes[3];
	} *list = NULL;
	uint32_t room = 0;
	uint32_t guard = 42;

	(void)state;
	assert_int_equal(SONDE_GROW(list, 0, room), 0);
	assert_int_equal(room, SONDE_GROW_FIRST);
	assert_int_equal(guard, 42);
	free(list);
}

static void a_room_that_cannot_be_told_stays(void **state)
{
	char *list = malloc(1);
	char *before = list;
	uint32_t most = UINT32_MAX / 2 + 1;

	(void)state;
	assert_non_null(list);
	assert_int_equal(SONDE_GROW(list, most, most), -ENOMEM);
	assert_ptr_equal(list, before);
	assert_true(most == UINT32_MAX / 2 + 1);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_an_array_stays),
		cmocka_unit_test(rooms_of_either_size_are_known),
		cmocka_unit_test(a_room_that_cannot_be_told_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
