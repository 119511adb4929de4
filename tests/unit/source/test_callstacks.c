/* SPDX-License-Identifier: MIT */
/*
 * test_callstacks.c - source/callstacks.h: what a store of stacks, which turns,
 * tells to the traces that begin and end meanwhile; and events in memory of which
 * the newest are kept (statedump/packets.h).
 */
#include "unit.h"

#include <string.h>

#include "source/callstacks.h"

#define STACK_ID     2u
#define LOST_ID      3u
#define NUMBER_AT    14u /* of a short record: header, tid, image */
#define FRAME_AT     (NUMBER_AT + 4 + 1 + 4)
#define ROOM_BYTES   (8ull << 20)
#define STACKS_OF_ME 8u

static uint64_t time_now;

static uint64_t now(void)
{
	return ++time_now;
}

static uint32_t keep(struct sonde_callstacks_store *store, uint64_t frame)
{
	struct sonde_callstacks_chain chain = { .nr = 0 };

	assert_true(sonde_callstacks_add(&chain, frame, false, false));
	return sonde_callstacks_store_keep(store, &chain);
}

/* What the trace is told now: stacks of one frame each. */
struct told {
	uint32_t nr;
	uint32_t numbers[STACKS_OF_ME];
	uint64_t frames[STACKS_OF_ME];
};

static void take(struct sonde_out *out, struct told *told)
{
	struct sonde_ring_chunk chunk;

	sonde_out_flush(out);
	while (sonde_out_peek(out, &chunk) == 1) {
		const uint8_t *at = chunk.data;

		for (uint64_t i = chunk.events_before; i < chunk.events; i++) {
			assert_true(told->nr < STACKS_OF_ME);
			memcpy(&told->numbers[told->nr], at + NUMBER_AT, 4);
			memcpy(&told->frames[told->nr++], at + FRAME_AT, 8);
			at += FRAME_AT + 8;
		}
		assert_ptr_equal(at, chunk.data + chunk.size);
		sonde_out_advance(out);
	}
}

static struct told tell(struct sonde_callstacks_telling *telling,
			const struct sonde_callstacks_store *store)
{
	struct sonde_out out;
	struct sonde_callstacks_target target = {
		.out = &out,
		.stack_id = STACK_ID,
		.lost_id = LOST_ID,
	};
	struct told told = { .nr = 0 };

	sonde_out_init(&out, now, 0, ROOM_BYTES);
	assert_false(sonde_callstacks_store_tell(telling, store, &target));
	take(&out, &told);
	sonde_out_fini(&out);
	return told;
}

static void a_trace_is_told_what_was_kept_since_it_began(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	struct sonde_callstacks_telling first = { .nr_turns = 0 };
	struct sonde_callstacks_telling second = { .nr_turns = 1 };
	struct told told;

	(void)state;
	assert_non_null(store);
	assert_int_equal(keep(store, 0x1000), 1);
	assert_int_equal(keep(store, 0x1000), 1);
	sonde_callstacks_store_turn(store);
	told = tell(&second, store);
	assert_int_equal(told.nr, 0);
	told = tell(&first, store);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.numbers[0], 1);
	assert_int_equal(told.frames[0], 0x1000);
	sonde_callstacks_telling_fini(&first);
	sonde_callstacks_telling_fini(&second);
	sonde_callstacks_store_free(store);
}

/* Streams that haven't turned yet have events of the trace that ends. */
static void a_trace_that_ends_is_told_what_was_kept_since_the_turn(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	struct sonde_callstacks_telling first = { .nr_turns = 0 };
	struct sonde_callstacks_telling second = { .nr_turns = 1 };
	struct told told;
	uint32_t number;

	(void)state;
	assert_non_null(store);
	(void)keep(store, 0x1000);
	told = tell(&first, store);
	assert_int_equal(told.nr, 1);
	sonde_callstacks_store_turn(store);
	number = keep(store, 0x2000);
	assert_int_not_equal(number, 1);
	told = tell(&first, store);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.numbers[0], number);
	assert_int_equal(told.frames[0], 0x2000);
	told = tell(&second, store);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.numbers[0], number);
	told = tell(&first, store);
	assert_int_equal(told.nr, 0);
	sonde_callstacks_telling_fini(&first);
	sonde_callstacks_telling_fini(&second);
	sonde_callstacks_store_free(store);
}

static void a_turn_forgets_what_is_older_than_the_last(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	struct sonde_callstacks_telling third = { .nr_turns = 2 };
	struct told told;

	(void)state;
	assert_non_null(store);
	(void)keep(store, 0x1000);
	sonde_callstacks_store_lose(store);
	sonde_callstacks_store_turn(store);
	(void)keep(store, 0x2000);
	sonde_callstacks_store_turn(store);
	assert_int_equal(keep(store, 0x3000), 1);
	told = tell(&third, store);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.frames[0], 0x3000);
	sonde_callstacks_telling_fini(&third);
	sonde_callstacks_store_free(store);
}

/* Each event is its own block. */
static void the_newest_events_are_kept_and_the_others_counted(void **state)
{
	struct sonde_out out;
	struct sonde_ring_chunk chunk;
	const uint64_t nr = 10;
	uint64_t kept = 0;

	(void)state;
	sonde_out_init(&out, now, 0, ROOM_BYTES / 8);
	out.keeps_newest = true;
	for (uint64_t i = 0; i < nr; i++) {
		uint8_t *at = sonde_out_event(&out, STACK_ID,
					      SONDE_OUT_BLOCK_BYTES -
						      SONDE_PACKER_HEAD_MAX);

		assert_non_null(at);
		memcpy(at, &i, sizeof(i));
	}
	sonde_out_rewind(&out);
	for (; sonde_out_peek(&out, &chunk) == 1; sonde_out_advance(&out)) {
		assert_int_equal(chunk.events_before, out.overwritten + kept);
		kept += chunk.events - chunk.events_before;
	}
	assert_int_equal(out.delivered, kept);
	assert_in_range(kept, 1, nr - 1);
	assert_int_equal(out.overwritten + kept, nr);
	assert_int_equal(out.lost, 0);
	sonde_out_fini(&out);
}

static void put_number(struct sonde_out *out, uint32_t number)
{
	uint8_t *at = sonde_out_event(out, STACK_ID, sizeof(number));

	assert_non_null(at);
	memcpy(at, &number, sizeof(number));
}

/* How many events there are to be read, all of them. */
static uint64_t read_again(struct sonde_out *out)
{
	struct sonde_ring_chunk chunk;
	uint64_t nr = 0;

	sonde_out_rewind(out);
	for (; sonde_out_peek(out, &chunk) == 1; sonde_out_advance(out))
		nr += chunk.events - chunk.events_before;
	return nr;
}

static void what_was_read_is_read_again_with_what_came_since(void **state)
{
	struct sonde_out out;

	(void)state;
	sonde_out_init(&out, now, 0, ROOM_BYTES / 8);
	out.keeps_newest = true;
	assert_int_equal(read_again(&out), 0);
	for (uint32_t nr = 1; nr < 100; nr++) {
		put_number(&out, nr);
		assert_int_equal(read_again(&out), nr);
		assert_int_equal(out.delivered, nr);
	}
	/* A look takes no memory: it is the one block still. */
	assert_int_equal(out.seq, 1);
	sonde_out_fini(&out);
}

/* What was delivered before it was overwritten is in one count. */
static void an_event_is_delivered_or_overwritten(void **state)
{
	struct sonde_out out;
	uint64_t nr = 0;

	(void)state;
	sonde_out_init(&out, now, 0, ROOM_BYTES / 8);
	out.keeps_newest = true;
	for (; nr < 10; nr++)
		put_number(&out, 1);
	assert_int_equal(read_again(&out), 10);
	while (out.seq < 20) {
		put_number(&out, 1);
		nr++;
	}
	(void)read_again(&out);
	assert_true(out.overwritten > 0);
	assert_int_equal(out.delivered + out.overwritten, nr);
	sonde_out_fini(&out);
}

struct renewing {
	struct sonde_callstacks_store *store;
	uint32_t nr;
};

static void renew_one(void *ctx, uint8_t *payload)
{
	struct renewing *renewing = ctx;
	uint32_t number;

	memcpy(&number, payload, sizeof(number));
	number = sonde_callstacks_store_renew(renewing->store, number);
	memcpy(payload, &number, sizeof(number));
	renewing->nr++;
}

/* In blocks that are full, and the one that isn't; behind long headers, too. */
static void events_have_their_stacks_after_a_turn(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	struct renewing renewing = { .store = store };
	struct sonde_callstacks_telling telling = { .nr_turns = 1 };
	struct sonde_ring_chunk chunk;
	struct sonde_out out;
	struct told told;
	uint32_t number;
	uint32_t nr = 0;

	(void)state;
	assert_non_null(store);
	(void)keep(store, 0x1000); /* which no event has any more */
	number = keep(store, 0x2000);
	sonde_out_init(&out, now, 0, ROOM_BYTES / 8);
	out.keeps_newest = true;
	for (; out.seq < 3; nr++) {
		put_number(&out, number);
		time_now += nr % 100 ? 0 : UINT64_C(1) << 33;
	}
	sonde_callstacks_store_turn(store);
	sonde_out_each(&out, sizeof(number), renew_one, &renewing);
	assert_int_equal(renewing.nr, nr);
	told = tell(&telling, store);
	assert_int_equal(told.nr, 1);
	assert_int_equal(told.frames[0], 0x2000);
	sonde_out_rewind(&out);
	for (; sonde_out_peek(&out, &chunk) == 1; sonde_out_advance(&out)) {
		memcpy(&number, chunk.data + chunk.size - 4, 4);
		assert_int_equal(number, told.numbers[0]);
	}
	sonde_callstacks_telling_fini(&telling);
	sonde_out_fini(&out);
	sonde_callstacks_store_free(store);
}

static void a_full_table_has_room_again_for_what_is_new(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	uint32_t nr = 0;
	uint32_t last = 0;

	(void)state;
	assert_non_null(store);
	for (; !sonde_callstacks_store_wants_turn(store); nr++)
		last = keep(store, 0x1000 + nr);
	assert_in_range(nr, SONDE_STACKS_MAX / 2, SONDE_STACKS_MAX);
	sonde_callstacks_store_turn(store);
	assert_false(sonde_callstacks_store_wants_turn(store));
	last = sonde_callstacks_store_renew(store, last);
	assert_int_equal(last, keep(store, 0x1000 + nr - 1));
	assert_int_equal(sonde_callstacks_store_renew(store, 0), 0);
	sonde_callstacks_store_free(store);
}

/* If all stacks are needed, another turn would make no room. */
static void a_table_that_stays_full_turns_no_more(void **state)
{
	struct sonde_callstacks_store *store = sonde_callstacks_store_new();
	uint32_t nr = 0;

	(void)state;
	assert_non_null(store);
	for (; !sonde_callstacks_store_wants_turn(store); nr++)
		(void)keep(store, 0x1000 + nr);
	sonde_callstacks_store_lose(store);
	sonde_callstacks_store_turn(store);
	for (uint32_t i = 1; i <= nr; i++)
		assert_int_not_equal(sonde_callstacks_store_renew(store, i), 0);
	sonde_callstacks_store_renewed(store, 3);
	assert_false(sonde_callstacks_store_wants_turn(store));
	/* One of the three that have none was lost, and is told again. */
	assert_int_equal(store->tables[1]->nr_lost, 1);
	sonde_callstacks_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_is_told_what_was_kept_since_it_began),
		cmocka_unit_test(
			a_trace_that_ends_is_told_what_was_kept_since_the_turn),
		cmocka_unit_test(a_turn_forgets_what_is_older_than_the_last),
		cmocka_unit_test(
			the_newest_events_are_kept_and_the_others_counted),
		cmocka_unit_test(
			what_was_read_is_read_again_with_what_came_since),
		cmocka_unit_test(an_event_is_delivered_or_overwritten),
		cmocka_unit_test(events_have_their_stacks_after_a_turn),
		cmocka_unit_test(a_full_table_has_room_again_for_what_is_new),
		cmocka_unit_test(a_table_that_stays_full_turns_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
