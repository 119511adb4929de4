/* SPDX-License-Identifier: MIT */
/*
 * test_sys_counter.c - what a thread reads of its counters is what the kernel has said
 * at one moment, or unknown: on a page and a CPU's counter that are made up.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "sys/counter.h"

#define WIDTH 48u

/* The kernel, as a reader of the CPU's counter meets it. */
static struct {
	struct perf_event_mmap_page page;
	uint64_t bits;   /* of the CPU's counter */
	uint32_t number; /* that was read last */
	uint32_t nr_reads;
	uint32_t nr_changes; /* of the page, that are to come between */
	bool is_changing;    /* and it stays half changed */
	bool is_strange;     /* no such counter */
} kernel;

static void begin(int64_t offset, uint64_t bits)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.page.cap_user_rdpmc = 1;
	kernel.page.lock = 2;
	kernel.page.index = 4;
	kernel.page.pmc_width = WIDTH;
	kernel.page.offset = offset;
	kernel.page.time_enabled = 1000;
	kernel.page.time_running = 1000;
	kernel.bits = bits;
}

/* The thread lost the CPU, and has another. */
static void change(void)
{
	kernel.page.lock += 2;
	kernel.page.index = 2;
	kernel.page.offset = 500;
	kernel.bits = 7;
}

static bool made_counter(uint32_t number, uint64_t *ret_bits)
{
	kernel.number = number;
	kernel.nr_reads++;
	*ret_bits = kernel.bits;
	if (kernel.nr_changes) {
		kernel.nr_changes--;
		change();
	}
	if (kernel.is_changing)
		kernel.page.lock += 1;
	return !kernel.is_strange;
}

static uint64_t value(void)
{
	return sonde_counter_value(&kernel.page, made_counter);
}

static void a_value_is_what_the_page_and_the_cpu_have(void **state)
{
	(void)state;
	begin(1000, 23);
	assert_int_equal(value(), 1023);
	assert_int_equal(kernel.number, 3); /* the index, less 1 */
	assert_int_equal(kernel.nr_reads, 1);
}

/* The kernel lets a counter begin far below 0, so that it overflows late. */
static void the_cpus_bits_have_a_sign(void **state)
{
	(void)state;
	begin(1000, (UINT64_C(1) << WIDTH) - 10);
	assert_int_equal(value(), 990);
	begin(INT64_C(1) << (WIDTH - 1), UINT64_C(1) << (WIDTH - 1));
	assert_int_equal(value(), 0);
	/* What is above the width isn't the counter's. */
	begin(1000, UINT64_C(0xabcd) << WIDTH | 5);
	assert_int_equal(value(), 1005);
	begin(INT64_MAX, UINT64_C(1) << 63 | 5);
	kernel.page.pmc_width = 64;
	assert_int_equal(value(), 4);
}

static void a_page_that_changes_is_read_again(void **state)
{
	(void)state;
	begin(1000, 23);
	kernel.nr_changes = 1;
	assert_int_equal(value(), 507);
	assert_int_equal(kernel.nr_reads, 2);
	assert_int_equal(kernel.number, 1);
}

static void a_page_that_never_stands_still_is_unknown(void **state)
{
	(void)state;
	begin(1000, 23);
	kernel.is_changing = true;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
	begin(1000, 23);
	kernel.page.lock = 3; /* half changed */
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
}

static void a_counter_that_isnt_on_the_cpu_is_unknown(void **state)
{
	(void)state;
	begin(1000, 23);
	kernel.page.index = 0;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
	begin(1000, 23);
	kernel.page.cap_user_rdpmc = 0;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
	assert_int_equal(kernel.nr_reads, 0); /* which may be a fault */
}

/* Arm's kernel has the one without the other where programs mayn't read it. */
static void a_page_tells_whether_it_can_be_read(void **state)
{
	(void)state;
	begin(1000, 23);
	assert_true(sonde_counter_is_readable(&kernel.page));
	kernel.page.index = 0;
	assert_false(sonde_counter_is_readable(&kernel.page));
	begin(1000, 23);
	kernel.page.cap_user_rdpmc = 0;
	assert_false(sonde_counter_is_readable(&kernel.page));
}

static void one_that_wasnt_on_the_cpu_at_any_time_is_unknown(void **state)
{
	(void)state;
	begin(1000, 23);
	kernel.page.time_running--;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
}

static void a_width_or_a_number_that_cant_be_is_unknown(void **state)
{
	(void)state;
	begin(1000, 23);
	kernel.page.pmc_width = 0;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
	begin(1000, 23);
	kernel.page.pmc_width = 65;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
	begin(1000, 23);
	kernel.is_strange = true;
	assert_true(value() == SONDE_COUNTER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_what_the_page_and_the_cpu_have),
		cmocka_unit_test(the_cpus_bits_have_a_sign),
		cmocka_unit_test(a_page_that_changes_is_read_again),
		cmocka_unit_test(a_page_that_never_stands_still_is_unknown),
		cmocka_unit_test(a_counter_that_isnt_on_the_cpu_is_unknown),
		cmocka_unit_test(a_page_tells_whether_it_can_be_read),
		cmocka_unit_test(
			one_that_wasnt_on_the_cpu_at_any_time_is_unknown),
		cmocka_unit_test(a_width_or_a_number_that_cant_be_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
