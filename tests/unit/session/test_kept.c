/* SPDX-License-Identifier: MIT */
/*
 * What a source that is read once has given: the numbers of call stacks in it are
 * found again, and nothing else is touched.
 */
#include "unit.h"

#include <string.h>

#include "session/kept.h"
#include "source/callstacks.h"

static uint32_t add_hundred(void *ctx, uint32_t number)
{
	(*(uint32_t *)ctx)++;
	return number + 100;
}

/* Records of five bytes: a number, and a 7. */
static void put_records(unsigned char *bytes, uint32_t first, uint32_t nr,
			struct sonde_callstacks_places *places)
{
	places->nr = 0;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t number = first + i;

		memcpy(bytes + 5 * i, &number, 4);
		bytes[5 * i + 4] = 7;
		assert_false(sonde_callstacks_places_add(places, 5 * i));
	}
}

static struct sonde_ring_chunk chunk_of(const unsigned char *bytes,
					uint32_t before, uint32_t from,
					uint32_t nr)
{
	return (struct sonde_ring_chunk){
		.data = bytes,
		.size = 5 * nr,
		.first = before == from,
		.events_before = before,
		.events = from + nr,
	};
}

static void check_packet(struct sonde_kept *kept, uint32_t first, uint32_t nr)
{
	struct sonde_ring_chunk chunk;

	assert_int_equal(sonde_kept_peek(kept, &chunk), 1);
	assert_int_equal(chunk.size, 5 * nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t number;

		memcpy(&number, chunk.data + 5 * i, 4);
		assert_int_equal(number, first + i);
		assert_int_equal(chunk.data[5 * i + 4], 7);
	}
	sonde_kept_advance(kept);
}

static void numbers_are_given_anew_in_all_that_is_kept(void **state)
{
	struct sonde_callstacks_places places = { .nr = 0 };
	struct sonde_kept *kept = sonde_kept_new(1000);
	unsigned char bytes[50];
	struct sonde_ring_chunk chunk;
	uint32_t nr = 0;

	(void)state;
	assert_non_null(kept);
	/* Two packets, the second in two pieces. */
	put_records(bytes, 1, 3, &places);
	chunk = chunk_of(bytes, 0, 0, 3);
	sonde_kept_add(kept, &chunk, &places);
	put_records(bytes, 4, 2, &places);
	chunk = chunk_of(bytes, 3, 3, 2);
	sonde_kept_add(kept, &chunk, &places);
	put_records(bytes, 6, 4, &places);
	chunk = chunk_of(bytes, 3, 5, 4);
	sonde_kept_add(kept, &chunk, &places);
	sonde_kept_renumber(kept, add_hundred, &nr);
	assert_int_equal(nr, 9);
	sonde_kept_rewind(kept);
	check_packet(kept, 101, 3);
	check_packet(kept, 104, 6);
	assert_int_equal(sonde_kept_peek(kept, &chunk), 0);
	sonde_kept_free(kept);
	sonde_callstacks_places_fini(&places);
}

static void what_has_no_numbers_stays_as_it_is(void **state)
{
	struct sonde_callstacks_places places = { .nr = 0 };
	struct sonde_kept *kept = sonde_kept_new(1000);
	unsigned char bytes[50];
	struct sonde_ring_chunk chunk = chunk_of(bytes, 0, 0, 3);
	uint32_t nr = 0;

	(void)state;
	assert_non_null(kept);
	put_records(bytes, 1, 3, &places);
	sonde_kept_add(kept, &chunk, NULL);
	sonde_kept_renumber(kept, add_hundred, &nr);
	assert_int_equal(nr, 0);
	sonde_kept_rewind(kept);
	check_packet(kept, 1, 3);
	sonde_kept_free(kept);
	sonde_callstacks_places_fini(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_given_anew_in_all_that_is_kept),
		cmocka_unit_test(what_has_no_numbers_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
