/* SPDX-License-Identifier: MIT */
/*
 * test_awake.c - who keeps a CPU from sleeping gives way to everybody, is on that
 * CPU only, and is gone at the end.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/port.h"
#include "probe/inject/awake.h"

static void has_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void it_is_idle_and_on_one_cpu(void **state)
{
	const int cpu = sched_getcpu();
	cpu_set_t cpus;
	pid_t awake;

	(void)state;
	assert_true(cpu >= 0);
	awake = sonde_inject_awake_begin((unsigned int)cpu);
	assert_true(awake > 0);
	/* It may have ended by itself; it is ours until it was waited for. */
	assert_int_equal(sched_getscheduler(awake), SCHED_IDLE);
	assert_int_equal(sched_getaffinity(awake, sizeof(cpus), &cpus), 0);
	assert_int_equal(CPU_COUNT(&cpus), 1);
	assert_true(CPU_ISSET(cpu, &cpus));
	sonde_inject_awake_end(awake);
	has_no_child();
}

static void it_ends_by_itself(void **state)
{
	const pid_t awake =
		sonde_inject_awake_begin((unsigned int)sched_getcpu());
	int status;

	(void)state;
	assert_true(awake > 0);
	assert_int_equal(waitpid(awake, &status, 0), awake);
	assert_true(WIFEXITED(status));
	has_no_child();
}

static void a_cpu_that_is_not_there_has_none(void **state)
{
	(void)state;
	assert_int_equal(sonde_inject_awake_begin(CPU_SETSIZE - 1), 0);
	assert_int_equal(sonde_inject_awake_begin(UINT32_MAX), 0);
	sonde_inject_awake_end(0);
	has_no_child();
}

static void it_helps_only_while_a_cpu_sleeps(void **state)
{
	(void)state;
	assert_true(sonde_inject_awake_helps("0.00 0.01 0.05 1/123 4711", 2));
	assert_true(sonde_inject_awake_helps("9.00 9.01 9.05 2/123 4711", 2));
	assert_false(sonde_inject_awake_helps("0.00 0.01 0.05 3/123 4711", 2));
	assert_false(sonde_inject_awake_helps("0.00 0.01 0.05 17/199 16", 2));
	/* Nobody says. */
	assert_true(sonde_inject_awake_helps("", 2));
	assert_true(sonde_inject_awake_helps("1 2 3 x/4 5", 2));
	assert_true(sonde_inject_awake_helps("1 2 3", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_idle_and_on_one_cpu),
		cmocka_unit_test(it_ends_by_itself),
		cmocka_unit_test(a_cpu_that_is_not_there_has_none),
		cmocka_unit_test(it_helps_only_while_a_cpu_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
