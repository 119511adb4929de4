/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_join.c - begins and ends in one part and in many, against a
 * model that keeps an array.
 */
#include "analysis/reports/join.h"

#include "random.h"
#include "unit.h"

#include <string.h>

#define SEED    20261120u
#define NR_KEYS 5
#define LENGTH  60

struct step {
	bool begins, ends;
	uint64_t key;
	int64_t time_ns;
};

struct outcome {
	uint64_t unended, unbegun, count;
	int64_t sum;
};

static uint64_t state = SEED;

static struct outcome model_of(const struct step *steps)
{
	struct outcome outcome = { 0 };
	int64_t begun[NR_KEYS];

	memset(begun, -1, sizeof(begun));
	for (size_t i = 0; i < LENGTH; i++) {
		int64_t *open = &begun[steps[i].key];

		if (steps[i].ends && *open < 0)
			outcome.unbegun++;
		if (steps[i].ends && *open >= 0) {
			outcome.count++;
			outcome.sum += steps[i].time_ns - *open;
			*open = -1;
		}
		if (steps[i].begins) {
			outcome.unended += *open >= 0;
			*open = steps[i].time_ns;
		}
	}
	for (size_t i = 0; i < NR_KEYS; i++)
		outcome.unended += begun[i] >= 0;
	return outcome;
}

static void replay(struct sonde_join *join, const struct step *step)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_UINT, step->key, 0);

	if (step->ends)
		assert_int_equal(sonde_join_end(join, &key, step->time_ns, -1),
				 0);
	if (step->begins)
		assert_int_equal(sonde_join_begin(join, &key, step->time_ns,
						  (int32_t)step->key),
				 0);
}

static void make_steps(struct step *steps)
{
	for (size_t i = 0; i < LENGTH; i++)
		steps[i] = (struct step){
			.begins = next_random(&state) % 2,
			.ends = next_random(&state) % 2,
			.key = next_random(&state) % NR_KEYS,
			.time_ns = (int64_t)(i * 10 + next_random(&state) % 10),
		};
}

/* Cuts at random places and merges from the left. */
static void join_in_parts(const struct step *steps, struct sonde_join *whole)
{
	size_t i = 0;

	sonde_join_init(whole, true);
	while (i < LENGTH) {
		size_t end = i + 1 + next_random(&state) % (LENGTH - i);
		struct sonde_join part;

		sonde_join_init(&part, i == 0);
		for (; i < end; i++)
			replay(&part, &steps[i]);
		assert_int_equal(sonde_join_merge(whole, &part), 0);
		sonde_join_fini(&part);
	}
	sonde_join_close(whole);
}

static void check_equal(const struct sonde_join *join,
			const struct outcome *outcome)
{
	assert_int_equal(join->unended, outcome->unended);
	assert_int_equal(join->unbegun, outcome->unbegun);
	assert_int_equal(join->durations.count, outcome->count);
	assert_int_equal(sonde_histogram_sum(&join->durations), outcome->sum);
}

static void many_parts_give_what_one_gives(void **unused)
{
	(void)unused;
	for (int round = 0; round < 3000; round++) {
		struct step steps[LENGTH];
		struct outcome outcome;
		struct sonde_join one;
		struct sonde_join many;

		make_steps(steps);
		outcome = model_of(steps);
		sonde_join_init(&one, true);
		for (size_t i = 0; i < LENGTH; i++)
			replay(&one, &steps[i]);
		sonde_join_close(&one);
		join_in_parts(steps, &many);
		check_equal(&one, &outcome);
		check_equal(&many, &outcome);
		assert_memory_equal(&one.worst, &many.worst, sizeof(one.worst));
		sonde_join_fini(&one);
		sonde_join_fini(&many);
	}
}

/* Neither part knows what came before: the merged one must not, either. */
static void merging_is_associative(void **unused)
{
	(void)unused;
	for (int round = 0; round < 3000; round++) {
		struct step steps[LENGTH];
		struct outcome outcome;
		struct sonde_join parts[3];

		make_steps(steps);
		outcome = model_of(steps);
		for (size_t i = 0; i < 3; i++)
			sonde_join_init(&parts[i], i == 0);
		for (size_t i = 0; i < LENGTH; i++)
			replay(&parts[i * 3 / LENGTH], &steps[i]);
		assert_int_equal(sonde_join_merge(&parts[1], &parts[2]), 0);
		assert_int_equal(sonde_join_merge(&parts[0], &parts[1]), 0);
		sonde_join_close(&parts[0]);
		check_equal(&parts[0], &outcome);
		for (size_t i = 0; i < 3; i++)
			sonde_join_fini(&parts[i]);
	}
}

static void pairs_across_a_loss_are_no_spans(void **unused)
{
	static const struct step steps[] = {
		{ true, false, 1, 100 }, { false, true, 1, 200 },
		{ true, false, 1, 201 }, { true, false, 2, 290 },
		{ true, false, 3, 310 }, { false, true, 3, 320 },
		{ false, true, 1, 330 }, { false, true, 2, 340 },
	};
	struct sonde_lost_span losses[] = { { 201, 210 }, { 300, 309 } };
	const struct sonde_lost lost = { .spans = losses, .nr = 2 };
	struct sonde_join parts[2];

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		sonde_join_init(&parts[i], i == 0);
		parts[i].lost = &lost;
		for (size_t k = 4 * i; k < 4 * i + 4; k++)
			replay(&parts[i], &steps[k]);
	}
	assert_int_equal(sonde_join_merge(&parts[0], &parts[1]), 0);
	sonde_join_close(&parts[0]);
	assert_int_equal(parts[0].durations.count, 2);
	assert_int_equal(sonde_histogram_sum(&parts[0].durations), 110);
	assert_int_equal(parts[0].across, 2);
	assert_int_equal(parts[0].unended + parts[0].unbegun, 0);
	sonde_join_fini(&parts[0]);
	sonde_join_fini(&parts[1]);
}

static void worst_ten_come_longest_first(void **unused)
{
	struct sonde_longest worst = { 0 };
	const struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, 1, 0);

	(void)unused;
	for (int64_t i = 0; i < 100; i++) {
		struct sonde_longest_span span = {
			.begin_ns = i,
			.end_ns = i + i * 37 % 100,
		};

		sonde_longest_add(&worst, &span, &key);
	}
	assert_int_equal(worst.nr, SONDE_LONGEST_MAX);
	for (int64_t i = 0; i < SONDE_LONGEST_MAX; i++)
		assert_int_equal(sonde_elapsed_ns(worst.spans[i].begin_ns,
						  worst.spans[i].end_ns),
				 99 - i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_parts_give_what_one_gives),
		cmocka_unit_test(merging_is_associative),
		cmocka_unit_test(pairs_across_a_loss_are_no_spans),
		cmocka_unit_test(worst_ten_come_longest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
