/* SPDX-License-Identifier: MIT */
/*
 * test_latency_rate.c - latency/rate.h against machines whose highest rate is
 * known: it is found to the precision that was asked for, in a bounded number of
 * runs, and a rate that fails now and then isn't called one that holds.
 */
#include "latency/rate.h"

#include "unit.h"

#include <errno.h>
#include <math.h>

struct machine {
	double fastest;     /* it can't go faster */
	double loses_at;    /* from here on each run does */
	uint32_t fails_at;  /* this run loses whatever it is; 0: none */
	uint32_t breaks_at; /* this one can't be made; 0: none */
	uint32_t stops_at;  /* from so many runs on there is no time; 0: ever */
	uint32_t runs, trials;
};

static int machine_run(void *ctx, double asked, double *ret_reached,
		       uint64_t *ret_lost)
{
	struct machine *machine = ctx;

	machine->runs++;
	if (machine->runs == machine->breaks_at)
		return -EIO;
	*ret_reached = asked > 0 && asked < machine->fastest ? asked :
							       machine->fastest;
	*ret_lost = *ret_reached >= machine->loses_at ||
		    machine->runs == machine->fails_at;
	return 0;
}

static void machine_told(void *ctx, const struct sonde_latency_rate *rate)
{
	struct machine *machine = ctx;

	machine->trials++;
	assert_true(rate->runs);
}

static bool machine_stop(void *ctx)
{
	const struct machine *machine = ctx;

	return machine->stops_at && machine->runs >= machine->stops_at;
}

static int search(struct machine *machine, struct sonde_latency_rate *ret_best)
{
	const struct sonde_latency_search search = {
		.floor = 1000,
		.precision = 0.05,
		.repeats = 4,
		.run = machine_run,
		.stop = machine_stop,
		.tell = machine_told,
		.ctx = machine,
	};

	return sonde_latency_max_rate(&search, ret_best);
}

static void the_highest_rate_is_found_to_the_precision(void **state)
{
	double limit = 1100;

	(void)state;
	while (limit < 4e7) {
		struct machine machine = { .fastest = 5e7, .loses_at = limit };
		struct sonde_latency_rate best;

		assert_int_equal(search(&machine, &best), 0);
		assert_true(best.reached < limit);
		assert_true(best.reached * 1.0501 >= limit);
		assert_int_equal(best.runs, 4);
		assert_true(machine.trials <= 10);
		assert_true(machine.runs <= 1 + 4 * 9);
		limit *= 1.7;
	}
}

static void what_holds_at_full_speed_needs_no_search(void **state)
{
	struct machine machine = { .fastest = 5e7, .loses_at = INFINITY };
	struct sonde_latency_rate best;

	(void)state;
	assert_int_equal(search(&machine, &best), 0);
	assert_int_equal(machine.runs, 4);
	assert_true(best.reached == 5e7 && best.asked == 0);
}

static void a_rate_that_fails_once_does_not_hold(void **state)
{
	struct machine machine = { .fastest = 5e7,
				   .loses_at = INFINITY,
				   .fails_at = 4 };
	struct sonde_latency_rate best;

	(void)state;
	assert_int_equal(search(&machine, &best), 0);
	assert_true(best.runs == 4 && best.asked > 4e7 && best.asked < 5e7);
}

static void where_nothing_holds_nothing_is_claimed(void **state)
{
	struct machine machine = { .fastest = 5e7, .loses_at = 10 };
	struct sonde_latency_rate best;

	(void)state;
	assert_int_equal(search(&machine, &best), 0);
	assert_int_equal(best.runs, 0);
	machine = (struct machine){ .fastest = 500,
				    .loses_at = INFINITY,
				    .fails_at = 1 };
	assert_int_equal(search(&machine, &best), 0);
	assert_true(best.runs == 4 && best.reached == 500);
}

static void who_has_no_time_gets_what_has_held_so_far(void **state)
{
	(void)state;
	for (uint32_t at = 1; at < 40; at++) {
		struct machine machine = { .fastest = 5e7,
					   .loses_at = 2e6,
					   .stops_at = at };
		struct sonde_latency_rate best;

		assert_int_equal(search(&machine, &best), 0);
		/* a trial that has begun is ended */
		assert_true(machine.runs < at + 4);
		assert_true(best.runs == 0 || best.reached < 2e6);
		assert_true(at < 6 || best.runs == 4);
	}
}

static void an_error_ends_it(void **state)
{
	(void)state;
	for (uint32_t at = 1; at < 8; at++) {
		struct machine machine = { .fastest = 5e7,
					   .loses_at = 1e6,
					   .breaks_at = at };
		struct sonde_latency_rate best;

		assert_int_equal(search(&machine, &best), -EIO);
		assert_int_equal(machine.runs, at);
	}
}

static void more_runs_leave_less_risk(void **state)
{
	(void)state;
	assert_true(sonde_latency_risk(0) == 1);
	assert_true(fabs(sonde_latency_risk(1) - 0.95) < 1e-9);
	/* the rule of three */
	assert_true(fabs(sonde_latency_risk(300) - 3.0 / 300) < 1e-3);
	assert_true(sonde_latency_risk(5) < sonde_latency_risk(4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_rate_is_found_to_the_precision),
		cmocka_unit_test(what_holds_at_full_speed_needs_no_search),
		cmocka_unit_test(a_rate_that_fails_once_does_not_hold),
		cmocka_unit_test(where_nothing_holds_nothing_is_claimed),
		cmocka_unit_test(who_has_no_time_gets_what_has_held_so_far),
		cmocka_unit_test(an_error_ends_it),
		cmocka_unit_test(more_runs_leave_less_risk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
