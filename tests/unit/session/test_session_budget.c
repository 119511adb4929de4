/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>

#include "session/budget.h"
#include "session/read_timer.h"
#include "sys/cpus.h"

static struct sonde_budget budget_of(uint64_t bytes, uint32_t nr_cpus)
{
	return (struct sonde_budget){
		.total_bytes = bytes,
		.nr_possible = nr_cpus,
		.nr_online = nr_cpus,
		.mode = SONDE_DISCARD,
	};
}

static void check_geometry(const struct sonde_budget *budget,
			   const struct sonde_geometry *g)
{
	uint64_t span = sonde_geometry_ring_bytes(g);
	uint64_t stacks = budget->stacks_depth ?
				  sonde_stacks_bytes(budget->stacks_depth) :
				  0;
	uint32_t least = budget->mode == SONDE_OVERWRITE ? 4 : 2;

	assert_int_equal(g->subbuf_size & (g->subbuf_size - 1), 0);
	assert_int_equal(g->nr_subbufs & (g->nr_subbufs - 1), 0);
	assert_in_range(g->subbuf_size, SONDE_SUBBUF_MIN, SONDE_SUBBUF_MAX);
	assert_in_range(g->nr_subbufs, least, SONDE_SUBBUFS_MAX);
	assert_true(span * sonde_geometry_nr_rings(g) + (2ull << 20) + stacks <=
		    SONDE_SLOT_SPAN);
	assert_true(budget->used_bytes <= budget->total_bytes);
}

static void every_share_keeps_within_the_layout_and_the_budget(void **state)
{
	(void)state;
	for (uint64_t bytes = 64 << 10; bytes <= 64ull << 30; bytes *= 2) {
		for (uint32_t cpus = 1; cpus <= SONDE_CPUS_MAX;
		     cpus += cpus / 3 + 1) {
			struct sonde_budget budget = budget_of(bytes, cpus);
			struct sonde_geometry g;

			budget.mode = bytes & 1 << 20 ? SONDE_OVERWRITE :
							SONDE_DISCARD;
			budget.stacks_depth =
				cpus % 2 ? SONDE_STACKS_DEPTH_MAX : 0;
			while (!sonde_budget_take(&budget, false, &g) &&
			       budget.used_bytes < budget.total_bytes)
				check_geometry(&budget, &g);
		}
	}
}

static void the_default_budget_takes_records_of_64_kib(void **state)
{
	struct sonde_budget budget = budget_of(64 << 20, 8);
	struct sonde_geometry g;

	(void)state;
	assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
	assert_true(sonde_geometry_record_limit(&g) >= 64 << 10);
	assert_int_equal(budget.used_bytes, 32 << 20);
}

static void a_session_for_real_time_has_fewer_subbufs(void **state)
{
	struct sonde_budget budget = budget_of(64 << 20, 2);
	struct sonde_budget many_cpus = budget_of(64 << 20, 16);
	struct sonde_geometry g;

	(void)state;
	budget.is_realtime = many_cpus.is_realtime = true;
	assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
	assert_int_equal(g.subbuf_size, 1 << 20);
	assert_int_equal(g.nr_subbufs, 16);
	assert_int_equal(sonde_budget_take(&many_cpus, false, &g), 0);
	assert_int_equal(g.subbuf_size, 256 << 10);
	assert_int_equal(g.nr_subbufs, 8);
}

static void small_budgets_get_small_subbufs(void **state)
{
	struct sonde_budget budget = budget_of(256 << 10, 2);
	struct sonde_geometry g;

	(void)state;
	assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
	assert_int_equal(g.subbuf_size, 16 << 10);
	assert_int_equal(g.nr_subbufs, 4);
}

static void twenty_processes_share_the_default_budget(void **state)
{
	struct sonde_budget budget = budget_of(64 << 20, 2);
	struct sonde_geometry g;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
}

static void what_is_given_back_can_be_taken_again(void **state)
{
	struct sonde_budget budget = budget_of(1 << 20, 2);
	struct sonde_geometry g;
	struct sonde_geometry again;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
		assert_int_equal(sonde_budget_take(&budget, false, &again), 0);
		sonde_budget_give(&budget, &g);
		sonde_budget_give(&budget, &again);
	}
	assert_int_equal(budget.used_bytes, 0);
}

static void too_little_memory_is_refused(void **state)
{
	struct sonde_budget budget = budget_of(64 << 10, 64);
	struct sonde_geometry g;

	(void)state;
	assert_int_equal(sonde_budget_take(&budget, false, &g), -ENOSPC);
	assert_int_equal(budget.used_bytes, 0);
}

static void no_share_has_larger_subbufs_than_foretold(void **state)
{
	(void)state;
	for (uint64_t total = 1ull << 16; total <= 1ull << 34; total *= 2) {
		struct sonde_budget budget = budget_of(total, 2);
		uint32_t largest = sonde_budget_largest_subbuf(&budget);
		struct sonde_geometry g;

		for (int i = 0; !sonde_budget_take(&budget, i & 1, &g); i++)
			assert_true(g.subbuf_size <= largest);
	}
}

static void a_given_subbuf_size_is_kept(void **state)
{
	struct sonde_budget budget = budget_of(64 << 20, 2);
	struct sonde_geometry g;

	(void)state;
	budget.subbuf_bytes = 4096;
	assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
	assert_int_equal(g.subbuf_size, 4096);
	budget.subbuf_bytes = 4 << 20;
	budget.used_bytes = 0;
	assert_int_equal(sonde_budget_take(&budget, false, &g), 0);
	assert_int_equal(g.subbuf_size, 4 << 20);
}

static void lanes_are_charged_where_they_are_all_there_is(void **state)
{
	struct sonde_budget budget = budget_of(64 << 20, 64);
	struct sonde_geometry g;

	(void)state;
	assert_int_equal(sonde_budget_take(&budget, true, &g), 0);
	assert_int_equal(g.charged_bytes,
			 SONDE_LANES * sonde_geometry_ring_bytes(&g));
}

static void a_full_ring_shortens_the_sleep_at_once(void **state)
{
	struct sonde_read_timer timer;

	(void)state;
	sonde_read_timer_init(&timer, 0);
	sonde_read_timer_limit(&timer, 64 << 20);
	for (int i = 0; i < 100; i++)
		sonde_read_timer_adapt(&timer, 0);
	assert_int_equal(timer.interval_ns, 32 << 20);
	for (int i = 0; i < 4; i++)
		sonde_read_timer_adapt(&timer, 500);
	assert_int_equal(timer.interval_ns, SONDE_READ_TIMER_LEAST_NS);
}

static void a_fixed_sleep_stays(void **state)
{
	struct sonde_read_timer timer;

	(void)state;
	sonde_read_timer_init(&timer, 7000000);
	sonde_read_timer_limit(&timer, 4096);
	sonde_read_timer_adapt(&timer, 1000);
	sonde_read_timer_adapt(&timer, 0);
	assert_int_equal(timer.interval_ns, 7000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_share_keeps_within_the_layout_and_the_budget),
		cmocka_unit_test(the_default_budget_takes_records_of_64_kib),
		cmocka_unit_test(a_session_for_real_time_has_fewer_subbufs),
		cmocka_unit_test(small_budgets_get_small_subbufs),
		cmocka_unit_test(twenty_processes_share_the_default_budget),
		cmocka_unit_test(what_is_given_back_can_be_taken_again),
		cmocka_unit_test(too_little_memory_is_refused),
		cmocka_unit_test(no_share_has_larger_subbufs_than_foretold),
		cmocka_unit_test(a_given_subbuf_size_is_kept),
		cmocka_unit_test(lanes_are_charged_where_they_are_all_there_is),
		cmocka_unit_test(a_full_ring_shortens_the_sleep_at_once),
		cmocka_unit_test(a_fixed_sleep_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
