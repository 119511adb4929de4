/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once (base/pool.h). */
#include "unit.h"

#include <stdalign.h>
#include <string.h>

#include "base/pool.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
	static const size_t sizes[] = { 1, 0, 7, 16, 100, 1 << 14, 3, 1 << 20 };
	struct sonde_pool pool;
	const unsigned char *before = NULL;

	(void)state;
	sonde_pool_init(&pool, 0);
	for (size_t round = 0; round < 1000; round++) {
		size_t size = sizes[round % (sizeof(sizes) / sizeof(sizes[0]))];
		unsigned char *memory = sonde_pool_get(&pool, 1, size);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xa5, size);
		assert_true(!before || *before == 0xa5);
		before = size ? memory : NULL;
		assert_null(sonde_pool_check(&pool));
	}
	sonde_pool_fini(&pool);
}

static void what_is_above_the_limit_is_refused(void **state)
{
	struct sonde_pool pool;

	(void)state;
	sonde_pool_init(&pool, 1000);
	assert_non_null(sonde_pool_get(&pool, 10, 90));
	assert_false(pool.full);
	assert_null(sonde_pool_get(&pool, 1, 101));
	assert_true(pool.full);
	assert_non_null(sonde_pool_get(&pool, 1, 80));
	assert_null(sonde_pool_check(&pool));
	sonde_pool_fini(&pool);
	assert_null(sonde_pool_check(&pool));
}

static void what_is_broken_in_a_pool_is_found(void **state)
{
	struct sonde_pool pool;
	struct sonde_pool whole;
	unsigned char *memory;

	(void)state;
	sonde_pool_init(&pool, 0);
	pool.used = 16;
	assert_memory_equal(sonde_pool_check(&pool), "1:", 2);
	pool.used = 0;
	memory = sonde_pool_get(&pool, 1, 100);
	assert_non_null(memory);
	whole = pool;
	pool.used = pool.size + alignof(max_align_t);
	assert_memory_equal(sonde_pool_check(&pool), "2:", 2);
	pool = whole;
	pool.used++;
	assert_memory_equal(sonde_pool_check(&pool), "2:", 2);
	pool = whole;
	pool.total = 0;
	assert_memory_equal(sonde_pool_check(&pool), "3:", 2);
	pool = whole;
	pool.limit = 1;
	assert_memory_equal(sonde_pool_check(&pool), "3:", 2);
	pool = whole;
	memory[pool.used] = 1; /* one byte behind what was given out */
	assert_memory_equal(sonde_pool_check(&pool), "4:", 2);
	sonde_pool_fini(&pool);
}

static void sizes_that_overflow_are_refused(void **state)
{
	struct sonde_pool pool;

	(void)state;
	sonde_pool_init(&pool, 0);
	assert_null(sonde_pool_get(&pool, SIZE_MAX / 2, 3));
	assert_null(sonde_pool_get(&pool, 1, SIZE_MAX));
	assert_null(sonde_pool_get(&pool, 1, SIZE_MAX / 2 + 1));
	sonde_pool_fini(&pool);
}

static void a_text_ends_with_a_zero(void **state)
{
	struct sonde_pool pool;
	const char *text;

	(void)state;
	sonde_pool_init(&pool, 0);
	text = sonde_pool_text(&pool, "abcdef", 3);
	assert_non_null(text);
	assert_string_equal(text, "abc");
	assert_string_equal(sonde_pool_text(&pool, NULL, 0), "");
	sonde_pool_fini(&pool);
}

static void an_array_keeps_its_elements_as_it_grows(void **state)
{
	struct sonde_pool pool;
	uint32_t *array = NULL;
	size_t capacity = 0;

	(void)state;
	sonde_pool_init(&pool, 0);
	for (uint32_t nr = 0; nr < 10000; nr++) {
		array = sonde_pool_grow(&pool, array, nr, &capacity,
					sizeof(*array));
		assert_non_null(array);
		assert_true(capacity > nr);
		array[nr] = nr;
		assert_null(sonde_pool_check(&pool));
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(array[i], i);
	sonde_pool_fini(&pool);
}

static void an_emptied_pool_can_be_used_again(void **state)
{
	struct sonde_pool pool;

	(void)state;
	sonde_pool_init(&pool, 1000);
	assert_non_null(sonde_pool_get(&pool, 1, 900));
	sonde_pool_fini(&pool);
	assert_non_null(sonde_pool_get(&pool, 1, 900));
	sonde_pool_fini(&pool);
	sonde_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(what_is_above_the_limit_is_refused),
		cmocka_unit_test(what_is_broken_in_a_pool_is_found),
		cmocka_unit_test(sizes_that_overflow_are_refused),
		cmocka_unit_test(a_text_ends_with_a_zero),
		cmocka_unit_test(an_array_keeps_its_elements_as_it_grows),
		cmocka_unit_test(an_emptied_pool_can_be_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
