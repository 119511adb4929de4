/* SPDX-License-Identifier: MIT */
/*
 * test_stacks.c - stacks are walked by frame pointers and by tables, within
 * bounds, and kept once.
 *
 * The stack that is walked is an array: its end is said to be the first
 * thread's stack's.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ring/stacks_cache.h"
#include "unit.h"

#define DEPTH 4u
#define WORDS 64u
#define CODE  UINT64_C(0x400000)

static struct sonde_stacks *stacks;
static uint64_t stack[WORDS];
static uint64_t frames[DEPTH];
static enum sonde_stacks_end end;

static uint64_t address_of(uint32_t word)
{
	return (uint64_t)(uintptr_t)&stack[word];
}

static int set_up(void **state)
{
	(void)state;
	stacks = calloc(1, sonde_stacks_bytes(DEPTH));
	assert_non_null(stacks);
	stacks->depth = DEPTH;
	stacks->main_top = address_of(WORDS);
	memset(stack, 0x55, sizeof(stack));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(stacks);
	return 0;
}

static uint32_t walk(uint64_t pc, uint32_t sp, uint64_t fp, uint32_t depth)
{
	const struct sonde_stacks_from from = {
		.pc = pc,
		.sp = address_of(sp),
		.fp = fp,
	};

	return sonde_stacks_walk(stacks, &from, frames, depth, &end, NULL);
}

/* A frame: the caller's frame pointer, and where it goes on. */
static void put_frame(uint32_t at, uint64_t fp, uint64_t pc)
{
	stack[at] = fp;
	stack[at + 1] = pc;
}

/* Code from CODE on has these rows. */
static void put_rows(const struct sonde_stacks_row *rows, uint32_t nr)
{
	uint64_t at = sonde_stacks_tables_off(DEPTH);
	unsigned char *bytes = (unsigned char *)stacks;
	const struct sonde_stacks_range range = {
		.begin = CODE,
		.end = CODE + 0x1000,
		.rows = (uint32_t)((at + 64) / 8),
		.nr = nr,
	};

	memcpy(bytes + at, &range, sizeof(range));
	memcpy(bytes + at + 64, rows, nr * sizeof(*rows));
	stacks->ranges = at << 16 | 1;
}

/* ---- by frame pointers ---- */

static void frame_pointers_lead_to_the_callers(void **state)
{
	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(walk(0x1000, 0, address_of(4), DEPTH), 3);
	assert_int_equal(frames[0], 0x1000);
	assert_int_equal(frames[1], 0x2000);
	assert_int_equal(frames[2], 0x3000);
	assert_int_equal(end, SONDE_STACK_WHOLE);
}

static void a_broken_chain_ends_the_stack(void **state)
{
	static const uint64_t wild[] = { 8, 0x5555555555555555, UINT64_MAX - 7,
					 UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		put_frame(4, wild[i], 0x2000);
		assert_int_equal(walk(0x1000, 0, address_of(4), DEPTH), 2);
		assert_int_equal(end, SONDE_STACK_BROKEN);
	}
	/* Back to where it came from, not aligned, half beyond the end. */
	put_frame(4, address_of(2), 0x2000);
	assert_int_equal(walk(0x1000, 0, address_of(4), DEPTH), 2);
	assert_int_equal(walk(0x1000, 0, address_of(4) + 1, DEPTH), 1);
	assert_int_equal(walk(0x1000, 0, address_of(WORDS - 1), DEPTH), 1);
	assert_int_equal(end, SONDE_STACK_BROKEN);
}

static void a_deep_stack_is_cut(void **state)
{
	(void)state;
	for (uint32_t i = 4; i < 40; i += 4)
		put_frame(i, address_of(i + 4), 0x1000 + i);
	assert_int_equal(walk(0x1000, 0, address_of(4), DEPTH), DEPTH);
	assert_int_equal(end, SONDE_STACK_DEEP);
	assert_int_equal(walk(0x1000, 0, address_of(4), 1), 1);
	assert_int_equal(end, SONDE_STACK_DEEP);
}

static void another_stack_has_its_first_frame(void **state)
{
	(void)state;
	stacks->main_top = 0;
	assert_int_equal(walk(0x1000, 0, address_of(4), DEPTH), 1);
	assert_int_equal(frames[0], 0x1000);
	assert_int_equal(end, SONDE_STACK_STRANGE);
}

/* ---- by tables ---- */

static void tables_lead_to_the_callers(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_CALL_RULE(0, 0, 1) },
		{ 0x100, SONDE_UNWIND_CALL_RULE(0, 2, 5) },
		{ 0x200, SONDE_UNWIND_CALL_RULE(1, 2, 2) },
		{ 0x300, SONDE_UNWIND_END },
	};

	(void)state;
	put_rows(rows, 4);
	/* The first frame is 5 words, with the caller's frame pointer below its
	 * return address. */
	put_frame(3, address_of(9), CODE + 0x210);
	put_frame(9, address_of(20), CODE + 0x310);
	/* Twice: the second time rules come from the cache. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk(CODE + 0x110, 0, 1, DEPTH), 3);
		assert_int_equal(frames[1], CODE + 0x210);
		assert_int_equal(frames[2], CODE + 0x310);
		assert_int_equal(end, SONDE_STACK_WHOLE);
	}
}

static void a_return_address_is_its_calls(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_END },
		{ 0x100, SONDE_UNWIND_NONE },
	};

	(void)state;
	put_rows(rows, 2);
	/* The call is the last instruction of its function. */
	assert_int_equal(walk(CODE + 0x100, 0, 0, DEPTH), 1);
	assert_int_equal(end, SONDE_STACK_WHOLE);
	assert_int_equal(walk(CODE + 0x101, 0, 0, DEPTH), 1);
	assert_int_equal(end, SONDE_STACK_BROKEN);
}

static void code_without_a_rule_is_walked_by_frame_pointers(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_END },
		{ 0x100, SONDE_UNWIND_GAP },
	};

	(void)state;
	put_rows(rows, 2);
	put_frame(4, 0, CODE + 0x10);
	assert_int_equal(walk(CODE + 0x110, 0, address_of(4), DEPTH), 2);
	assert_int_equal(end, SONDE_STACK_WHOLE);
	/* It does not lead to code. */
	put_frame(4, 0, CODE + 0x2000);
	assert_int_equal(walk(CODE + 0x110, 0, address_of(4), DEPTH), 1);
	assert_int_equal(end, SONDE_STACK_BROKEN);
}

static void a_rule_that_leads_off_the_stack_ends_it(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_CALL_RULE(0, 0, 1000) },
		{ 0x100, SONDE_UNWIND_CALL_RULE(1, 0, 1) },
		{ 0x200, SONDE_UNWIND_CALL_RULE(0, 40, 2) },
		{ 0x300, SONDE_UNWIND_SIGNAL },
	};

	(void)state;
	put_rows(rows, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(walk(CODE + 0x10 + i * 0x100, 50, 12, DEPTH),
				 1);
		assert_int_equal(end, SONDE_STACK_BROKEN);
	}
}

/* A handler's frame says which stack was interrupted, and what it says isn't
 * believed of another one. */
static void what_was_interrupted_is_on_the_same_stack(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_SIGNAL },
	};

	(void)state;
	put_rows(rows, 1);
	stacks->main_top = address_of(WORDS / 2);
	/* Of struct ucontext: fp, sp, pc. */
	stack[15] = 0;
	stack[20] = address_of(28);
	stack[21] = 0x2000;
	assert_int_equal(walk(CODE + 0x10, 0, 0, DEPTH), 2);
	assert_int_equal(frames[1], 0x2000 | SONDE_FRAME_EXACT);
	assert_int_equal(end, SONDE_STACK_WHOLE);
	stack[20] = address_of(WORDS / 2);
	assert_int_equal(walk(CODE + 0x10, 0, 0, DEPTH), 1);
	assert_int_equal(end, SONDE_STACK_BROKEN);
}

/* ---- kept ---- */

static void a_stack_is_kept_once(void **state)
{
	static const uint64_t one[] = { 1, 2, 3 };
	static const uint64_t other[] = { 1, 2, 4 };
	uint32_t number = sonde_stacks_keep(stacks, one, 3, SONDE_STACK_WHOLE);

	(void)state;
	assert_int_equal(number, 1);
	assert_int_equal(sonde_stacks_keep(stacks, one, 3, SONDE_STACK_WHOLE),
			 1);
	assert_int_equal(sonde_stacks_keep(stacks, other, 3, SONDE_STACK_WHOLE),
			 2);
	assert_int_equal(sonde_stacks_keep(stacks, one, 2, SONDE_STACK_WHOLE),
			 3);
	assert_int_equal(sonde_stacks_keep(stacks, one, 3, SONDE_STACK_DEEP),
			 4);
	assert_int_equal(stacks->nr_used, 4);
	assert_int_equal(sonde_stacks_place(stacks, DEPTH, 1)->frames[2], 4);
}

static void what_finds_no_room_is_counted(void **state)
{
	uint32_t number = 0;

	(void)state;
	for (uint64_t i = 1; i <= SONDE_STACKS_MAX; i++) {
		number = sonde_stacks_keep(stacks, &i, 1, SONDE_STACK_WHOLE);
		assert_int_equal(number, i);
	}
	for (uint64_t i = 1; i <= 10; i++) {
		uint64_t frame = SONDE_STACKS_MAX + i;

		assert_int_equal(sonde_stacks_keep(stacks, &frame, 1,
						   SONDE_STACK_WHOLE),
				 0);
		assert_int_equal(stacks->nr_lost, i);
	}
	/* What is there is found all the same. */
	for (uint64_t i = 1; i <= SONDE_STACKS_MAX; i++)
		assert_int_equal(
			sonde_stacks_keep(stacks, &i, 1, SONDE_STACK_WHOLE), i);
}

/* ---- memos ---- */

static uint32_t number_from(uint64_t pc, uint32_t sp, uint64_t fp)
{
	const struct sonde_stacks_from from = {
		.pc = pc,
		.sp = address_of(sp),
		.fp = fp,
	};

	return sonde_stacks_number(stacks, &from);
}

static bool is_recalled(uint64_t pc, uint32_t sp, uint64_t fp)
{
	const struct sonde_stacks_from from = {
		.pc = pc,
		.sp = address_of(sp),
		.fp = fp,
	};

	return sonde_stacks_recall(stacks, &from);
}

static void a_walk_that_would_read_the_same_is_not_made(void **state)
{
	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_false(is_recalled(0x1000, 0, address_of(4)));
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
	assert_true(is_recalled(0x1000, 0, address_of(4)));
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
	/* What no walk reads doesn't matter. */
	stack[3] = 1;
	stack[20] = 1;
	assert_true(is_recalled(0x1000, 0, address_of(4)));
}

static void a_walk_that_would_read_something_else_is_made(void **state)
{
	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
	put_frame(20, 0, 0x4000);
	assert_false(is_recalled(0x1000, 0, address_of(20)));
	assert_false(is_recalled(0x1001, 0, address_of(4)));
	assert_false(is_recalled(0x1000, 2, address_of(4)));
	put_frame(10, 0, 0x3001);
	assert_false(is_recalled(0x1000, 0, address_of(4)));
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 2);
	put_frame(10, address_of(20), 0x3001);
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 3);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
}

/* Which most are, where there are no frame pointers. */
static void a_frame_pointer_that_leads_nowhere_may_change(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_CALL_RULE(0, 2, 5) },
		{ 0x100, SONDE_UNWIND_END },
		{ 0x200, SONDE_UNWIND_CALL_RULE(1, 2, 2) },
	};

	(void)state;
	put_rows(rows, 3);
	put_frame(3, 17, CODE + 0x110);
	assert_int_equal(number_from(CODE + 0x10, 0, 5), 1);
	stack[3] = 18;
	assert_true(is_recalled(CODE + 0x10, 0, 6));
	/* Here it leads to the next frame. */
	put_frame(3, address_of(10), CODE + 0x210);
	put_frame(10, 17, CODE + 0x110);
	assert_int_equal(number_from(CODE + 0x10, 0, 5), 2);
	stack[10] = 18;
	assert_true(is_recalled(CODE + 0x10, 0, 5));
	stack[3] = address_of(12);
	assert_false(is_recalled(CODE + 0x10, 0, 5));
}

/* More than have room beside each other. */
static void walks_with_other_callers_do_not_displace_one_another(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_CALL_RULE(0, 0, 2) },
		{ 0x800, SONDE_UNWIND_END },
	};

	(void)state;
	put_rows(rows, 2);
	stack[1] = CODE + 0x100; /* one function calls them all */
	for (uint32_t i = 0; i < 24; i++) {
		stack[3] = CODE + 0x200 + 8 * i; /* its callers */
		stack[5] = CODE + 0x900;
		assert_int_equal(number_from(CODE + 0x10, 0, 0), i + 1);
	}
	for (uint32_t i = 0; i < 24; i++) {
		stack[3] = CODE + 0x200 + 8 * i;
		assert_true(is_recalled(CODE + 0x10, 0, 0));
	}
	stack[5] = CODE + 0x910;
	assert_false(is_recalled(CODE + 0x10, 0, 0));
}

/* Of the cache, which any thread may write at any time. */
static void a_rule_in_the_cache_leads_nowhere_off_the_stack(void **state)
{
	static const uint16_t rules[] = {
		1023u << 1, 1u | 1023u << 1, 1u << 1 | 30u << 11,  1u | 1u << 1,
		0u,         0xffffu,         63u << 1 | 30u << 11,
	};
	const uint64_t fps[] = { 0,
				 1,
				 address_of(WORDS) - 8,
				 address_of(WORDS),
				 UINT64_MAX,
				 UINT64_MAX - 15 };

	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	for (uint32_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		for (uint32_t k = 0; k < sizeof(fps) / sizeof(*fps); k++) {
			*sonde_stacks_cached(stacks, 0x1000) =
				UINT64_C(0x1000) << 16 | rules[i];
			assert_false(is_recalled(0x1000, 62, fps[k]));
			assert_false(is_recalled(0x1000, 63, fps[k]));
		}
}

/* Another thread's stack is where a longer one was. */
static void a_memo_reads_nothing_beyond_the_stack(void **state)
{
	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
	stacks->main_top = address_of(11);
	assert_false(is_recalled(0x1000, 0, address_of(4)));
	stacks->main_top = address_of(12);
	assert_true(is_recalled(0x1000, 0, address_of(4)));
}

/* The one that is there. */
static struct sonde_stacks_memo *only_memo(void)
{
	unsigned char *bytes = (unsigned char *)stacks;
	struct sonde_stacks_memo *memos =
		(void *)(bytes + SONDE_STACKS_MEMOS_OFF);
	uint32_t i = 0;

	while (!memos[i].version)
		assert_true(++i < SONDE_STACKS_MEMOS);
	return &memos[i];
}

/* Whatever a memo says: beyond these is nothing that may be read. */
static void a_place_is_read_only_on_the_stack(void **state)
{
	static const uint32_t last[] = { 11, 0 };
	struct sonde_stacks_words *read;

	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, address_of(4)), 1);
	read = &only_memo()->read[0];
	for (uint32_t n = 0; n < SONDE_STACKS_AT_ONCE; n++)
		read->words[n] = stack[n] = 77;
	for (uint32_t k = 0; k < 2; k++) {
		const uint64_t beyond[] = { last[k] + 1, 0x7fff, 0x8000,
					    0x8000 + last[k], 0xffff };

		stacks->main_top = address_of(last[k] + 1);
		read->at = 0;
		assert_true(is_recalled(0x1000, 0, address_of(4)));
		stack[last[k]] = 77;
		for (uint32_t n = 0; n < 64; n += 16) {
			read->at = (uint64_t)last[k] << n;
			assert_true(is_recalled(0x1000, 0, address_of(4)));
			for (uint32_t i = 0; i < 5; i++) {
				read->at = beyond[i] << n;
				assert_false(
					is_recalled(0x1000, 0, address_of(4)));
			}
		}
	}
}

static void a_walk_from_an_instruction_is_not_one_from_a_return(void **state)
{
	struct sonde_stacks_from from = {
		.pc = 0x1000,
		.sp = address_of(0),
		.fp = address_of(4),
		.is_exact = true,
	};

	(void)state;
	put_frame(4, 0, 0x2000);
	assert_int_equal(sonde_stacks_number(stacks, &from), 1);
	assert_int_equal(sonde_stacks_recall(stacks, &from), 1);
	assert_false(is_recalled(from.pc, 0, from.fp));
	assert_int_equal(number_from(from.pc, 0, from.fp), 2);
	assert_int_equal(sonde_stacks_recall(stacks, &from), 1);
}

/* In memos of all lengths, which are compared by fours. */
static void each_word_that_was_read_matters(void **state)
{
	static const struct sonde_stacks_row rows[] = {
		{ 0x000, SONDE_UNWIND_CALL_RULE(0, 0, 2) },
		{ 0x800, SONDE_UNWIND_END },
	};

	(void)state;
	put_rows(rows, 2);
	for (uint32_t nr = 1; nr <= DEPTH; nr++) {
		for (uint32_t i = 0; i < nr; i++)
			stack[2 * i + 1] = CODE + 0x100 + 0x10 * nr;
		stack[2 * nr - 1] = CODE + 0x900;
		assert_true(number_from(CODE + 0x10, 0, 0));
		for (uint32_t i = 0; i < nr; i++) {
			stack[2 * i + 1]++;
			assert_false(is_recalled(CODE + 0x10, 0, 0));
			stack[2 * i + 1]--;
			assert_true(is_recalled(CODE + 0x10, 0, 0));
		}
	}
	/* Seven: four of where they go on, three frame pointers. */
	for (uint32_t i = 0; i < 20; i += 5)
		put_frame(i, address_of(i + 5), 0x1000 + i);
	assert_true(number_from(0x2000, 0, address_of(0)));
	for (uint32_t i = 0; i < 20; i += i % 5 ? 4 : 1) {
		stack[i] += 8;
		assert_int_equal(is_recalled(0x2000, 0, address_of(0)),
				 i == 15);
		stack[i] -= 8;
		assert_true(is_recalled(0x2000, 0, address_of(0)));
	}
}

static uint32_t number_guessed(uint64_t fp, uint16_t *guess)
{
	const struct sonde_stacks_from from = {
		.pc = 0x1000,
		.sp = address_of(0),
		.fp = fp,
		.guess = guess,
	};

	return sonde_stacks_recall(stacks, &from);
}

static void a_guess_finds_no_other_stack(void **state)
{
	static const uint16_t guesses[] = { 0, 1, 1023, 1024, 65535 };
	uint64_t fp = address_of(4);
	uint16_t first = 0;
	uint16_t second = 0;
	uint16_t guess;

	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, fp), 1);
	assert_int_equal(number_guessed(fp, &first), 1);
	put_frame(10, 0, 0x3001);
	guess = first;
	assert_int_equal(number_guessed(fp, &guess), 0);
	assert_int_equal(number_from(0x1000, 0, fp), 2);
	assert_int_equal(number_guessed(fp, &second), 2);
	assert_int_not_equal(first, second);
	guess = first;
	assert_int_equal(number_guessed(fp, &guess), 2);
	assert_int_equal(guess, second);
	for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
		guess = guesses[i];
		assert_int_equal(number_guessed(fp, &guess), 2);
	}
}

static void a_good_guess_asks_no_rule(void **state)
{
	uint64_t fp = address_of(4);
	uint16_t guess = 0;
	uint32_t words = 2;

	(void)state;
	put_frame(4, address_of(10), 0x2000);
	put_frame(10, 0, 0x3000);
	assert_int_equal(number_from(0x1000, 0, fp), 1);
	assert_int_equal(number_guessed(fp, &guess), 1);
	/* By this one it would be elsewhere; one of 256 leads to the same place. */
	do
		*sonde_stacks_cached(stacks, 0x1000) =
			UINT64_C(0x1000) << 16 | words << 1;
	while (number_guessed(fp, NULL) && ++words < 32);
	assert_true(words < 32);
	assert_int_equal(number_guessed(fp, &guess), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frame_pointers_lead_to_the_callers),
		TEST(a_broken_chain_ends_the_stack),
		TEST(a_deep_stack_is_cut),
		TEST(another_stack_has_its_first_frame),
		TEST(tables_lead_to_the_callers),
		TEST(a_return_address_is_its_calls),
		TEST(code_without_a_rule_is_walked_by_frame_pointers),
		TEST(a_rule_that_leads_off_the_stack_ends_it),
		TEST(what_was_interrupted_is_on_the_same_stack),
		TEST(a_walk_that_would_read_the_same_is_not_made),
		TEST(a_walk_that_would_read_something_else_is_made),
		TEST(a_frame_pointer_that_leads_nowhere_may_change),
		TEST(walks_with_other_callers_do_not_displace_one_another),
		TEST(a_rule_in_the_cache_leads_nowhere_off_the_stack),
		TEST(a_memo_reads_nothing_beyond_the_stack),
		TEST(a_place_is_read_only_on_the_stack),
		TEST(a_walk_from_an_instruction_is_not_one_from_a_return),
		TEST(each_word_that_was_read_matters),
		TEST(a_guess_finds_no_other_stack),
		TEST(a_good_guess_asks_no_rule),
		TEST(a_stack_is_kept_once),
		TEST(what_finds_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
