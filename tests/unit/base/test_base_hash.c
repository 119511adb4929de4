/* SPDX-License-Identifier: MIT */
/*
 * test_base_hash.c - the hash table against a plain array.
 */
#include "base/hash.h"

#include "random.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEED  20261120u
#define RANGE 300 /* small, so that the same keys come back */

struct entry {
	struct sonde_key key;
	uint64_t value;
};

static uint64_t state = SEED;

/* The i-th key: numbers in two spaces, and texts. */
static struct sonde_key key_of(size_t i, char *text)
{
	if (i % 3 < 2)
		return sonde_key_make(SONDE_KEY_HEX, (uint64_t)(i / 3) << 20,
				      (uint32_t)(i % 3));
	memset(text, 'a' + (int)(i % 26), i);
	return sonde_key_of_text(text, i);
}

static void one_step(struct sonde_hash *hash, uint64_t *model)
{
	size_t i = (size_t)(next_random(&state) % RANGE);
	char text[RANGE];
	struct sonde_key key = key_of(i, text);
	struct entry *entry = sonde_hash_get(hash, &key);

	assert_int_equal(entry ? entry->value : 0, model[i]);
	if (next_random(&state) % 5 < 2) {
		if (entry)
			sonde_hash_remove(hash, entry);
		model[i] = 0;
		return;
	}
	entry = sonde_hash_put(hash, &key);
	assert_non_null(entry);
	assert_int_equal(entry->value, model[i]);
	model[i] = entry->value = next_random(&state) | 1;
}

static void holds_what_was_put_and_not_removed(void **unused)
{
	uint64_t model[RANGE] = { 0 };
	struct sonde_hash hash;
	struct entry *entry = NULL;
	size_t there = 0;

	(void)unused;
	sonde_hash_init(&hash, sizeof(struct entry), SIZE_MAX);
	for (int step = 0; step < 100000; step++)
		one_step(&hash, model);
	for (size_t i = 0; i < RANGE; i++)
		there += model[i] != 0;
	assert_int_equal(hash.nr_entries, there);
	while ((entry = sonde_hash_next(&hash, entry)))
		there--;
	assert_int_equal(there, 0);
	sonde_hash_fini(&hash);
}

/* Wherever entries have moved to meanwhile: what is at a place is the number's
 * entry or not said to be. */
static void a_place_has_the_numbers_entry_or_none(void **unused)
{
	uint64_t model[RANGE] = { 0 };
	struct sonde_hash hash;
	size_t found = 0;

	(void)unused;
	sonde_hash_init(&hash, sizeof(struct entry), SIZE_MAX);
	assert_null(sonde_hash_at(&hash, 0, 0));
	for (int step = 0; step < 5000; step++) {
		uint64_t number = next_random(&state) % (RANGE / 3) << 20;
		struct sonde_key key = sonde_key_make(SONDE_KEY_INT, number, 0);
		void *entry;

		one_step(&hash, model);
		entry = sonde_hash_get(&hash, &key);
		for (uint32_t place = 0; place < RANGE * 2; place++) {
			void *at = sonde_hash_at(&hash, place, number);

			assert_true(!at || at == entry);
			found += at != NULL;
		}
		assert_true(!entry ||
			    sonde_hash_at(&hash, sonde_hash_place(&hash, entry),
					  number) == entry);
	}
	assert_true(found > 0);
	sonde_hash_fini(&hash);
}

static void numbers_of_any_kind_are_equal_texts_are_not(void **unused)
{
	struct sonde_key number = sonde_key_make(SONDE_KEY_UINT, UINT64_MAX, 0);
	struct sonde_key text = sonde_key_make(SONDE_KEY_TEXT, UINT64_MAX, 0);
	struct sonde_hash hash;

	(void)unused;
	text.text = "";
	sonde_hash_init(&hash, sizeof(struct entry), SIZE_MAX);
	assert_non_null(sonde_hash_put(&hash, &number));
	number.kind = SONDE_KEY_INT;
	assert_non_null(sonde_hash_get(&hash, &number));
	assert_null(sonde_hash_get(&hash, &text));
	number.space = 1;
	assert_null(sonde_hash_get(&hash, &number));
	sonde_hash_fini(&hash);
}

/* Also of no bytes at all; and what is borrowed is neither copied nor freed. */
static void the_same_bytes_of_two_owners_are_two_keys(void **unused)
{
	static const char bytes[] = "a name of some length";
	struct sonde_hash hash;

	(void)unused;
	sonde_hash_init(&hash, sizeof(struct entry), RANGE);
	hash.borrows = true;
	for (size_t i = 0; i < RANGE; i++) {
		struct sonde_key key =
			sonde_key_of_bytes(&bytes[i / 2 % sizeof(bytes)], bytes,
					   i % 2 ? sizeof(bytes) : 0);
		struct entry *entry = sonde_hash_put(&hash, &key);

		assert_non_null(entry);
		assert_ptr_equal(entry->key.text, bytes);
		assert_int_equal(hash.nr_entries, i < 2 * sizeof(bytes) ?
							  i + 1 :
							  2 * sizeof(bytes));
	}
	sonde_hash_fini(&hash);
}

static void refuses_more_than_its_limit(void **unused)
{
	struct sonde_hash hash;
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, 1, 0);

	(void)unused;
	sonde_hash_init(&hash, sizeof(struct entry), 1);
	assert_non_null(sonde_hash_put(&hash, &key));
	assert_non_null(sonde_hash_put(&hash, &key));
	key.number = 2;
	assert_null(sonde_hash_put(&hash, &key));
	assert_int_equal(sonde_hash_error(&hash), -E2BIG);
	sonde_hash_fini(&hash);
}

static int compare_halves(const void *a, const void *b, void *ctx)
{
	uint64_t x = ((const struct entry *)a)->value;
	uint64_t y = ((const struct entry *)b)->value;

	(void)ctx;
	return (x > y) - (x < y);
}

static void sorts_equal_entries_by_key(void **unused)
{
	struct sonde_hash hash;
	const void **sorted;

	(void)unused;
	sonde_hash_init(&hash, sizeof(struct entry), SIZE_MAX);
	for (uint64_t i = 0; i < 1000; i++) {
		struct sonde_key key =
			sonde_key_make(SONDE_KEY_UINT, i * 7919 % 1000, 0);
		struct entry *entry = sonde_hash_put(&hash, &key);

		assert_non_null(entry);
		entry->value = key.number / 500;
	}
	sorted = sonde_hash_sorted(&hash, compare_halves, NULL);
	assert_non_null(sorted);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(((const struct entry *)sorted[i])->key.number,
				 i);
	free(sorted);
	sonde_hash_fini(&hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_what_was_put_and_not_removed),
		cmocka_unit_test(a_place_has_the_numbers_entry_or_none),
		cmocka_unit_test(numbers_of_any_kind_are_equal_texts_are_not),
		cmocka_unit_test(the_same_bytes_of_two_owners_are_two_keys),
		cmocka_unit_test(refuses_more_than_its_limit),
		cmocka_unit_test(sorts_equal_entries_by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
