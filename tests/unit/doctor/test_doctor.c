/* SPDX-License-Identifier: MIT */
/*
 * test_doctor.c - the table of abilities is whole, and what is found does
 * not depend on who asks how.
 */
#include "unit.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "doctor/doctor.h"
#include "doctor/parts.h"

static void each_part_has_a_name_of_its_own_and_a_reason(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	size_t nr = sonde_doctor_abilities(found, SONDE_ABILITIES_MAX);

	(void)state;
	assert_in_range(nr, 1, SONDE_ABILITIES_MAX);
	for (size_t i = 0; i < nr; i++) {
		assert_string_not_equal(found[i].gives, "");
		assert_string_not_equal(found[i].why, "");
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(found[i].part, found[k].part);
	}
}

static void each_part_of_real_time_has_a_reason_and_a_remedy(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	size_t nr = sonde_doctor_realtime(found, SONDE_ABILITIES_MAX);

	(void)state;
	assert_in_range(nr, 10, SONDE_ABILITIES_MAX);
	for (size_t i = 0; i < nr; i++) {
		assert_string_not_equal(found[i].why, "");
		if (found[i].able != SONDE_DOCTOR_ABLE)
			assert_string_not_equal(found[i].remedy, "");
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(found[i].part, found[k].part);
	}
}

static void check_lacks(const struct sonde_doctor_ability *found, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (found[i].able == SONDE_DOCTOR_ABLE) {
			assert_string_equal(found[i].cost, "");
			assert_string_equal(found[i].remedy, "");
		} else {
			assert_string_not_equal(found[i].cost, "");
		}
	}
}

static void a_lack_has_a_cost_and_an_ability_has_none(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	size_t nr = sonde_doctor_abilities(found, SONDE_ABILITIES_MAX);

	(void)state;
	check_lacks(found, nr);
	nr = sonde_doctor_realtime(found, SONDE_ABILITIES_MAX);
	check_lacks(found, nr);
}

/* What is too long for its field would be cut off in the middle. */
static void no_text_fills_its_field(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	size_t nr = sonde_doctor_abilities(found, SONDE_ABILITIES_MAX);

	(void)state;
	for (size_t i = 0; i < nr; i++) {
		assert_true(strlen(found[i].why) < sizeof(found[i].why) - 1);
		assert_true(strlen(found[i].remedy) <
			    sizeof(found[i].remedy) - 1);
		assert_true(strlen(found[i].cost) < sizeof(found[i].cost) - 1);
	}
}

static void no_more_is_written_than_there_is_room_for(void **state)
{
	struct sonde_doctor_ability found[2] = { { .part = NULL } };
	size_t nr = sonde_doctor_abilities(found, 1);

	(void)state;
	assert_true(nr > 1);
	assert_non_null(found[0].part);
	assert_null(found[1].part);
}

static void one_part_is_what_the_table_says(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	struct sonde_doctor_ability one;
	size_t nr = sonde_doctor_abilities(found, SONDE_ABILITIES_MAX);

	(void)state;
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(sonde_doctor_ability(found[i].part, &one), 0);
		assert_string_equal(one.part, found[i].part);
		assert_int_equal(one.able, found[i].able);
		assert_string_equal(one.remedy, found[i].remedy);
	}
}

static void an_unknown_part_is_not_there(void **state)
{
	struct sonde_doctor_ability one;

	(void)state;
	assert_int_equal(sonde_doctor_ability("teleport", &one), -ENOENT);
}

static void a_program_for_an_unknown_tracepoint_is_not_loaded(void **state)
{
	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(sonde_doctor_bpf_load(BPF_TRACE_RAW_TP,
					       "btf_trace_no_such"),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_has_a_name_of_its_own_and_a_reason),
		cmocka_unit_test(
			each_part_of_real_time_has_a_reason_and_a_remedy),
		cmocka_unit_test(a_lack_has_a_cost_and_an_ability_has_none),
		cmocka_unit_test(no_text_fills_its_field),
		cmocka_unit_test(no_more_is_written_than_there_is_room_for),
		cmocka_unit_test(one_part_is_what_the_table_says),
		cmocka_unit_test(an_unknown_part_is_not_there),
		cmocka_unit_test(
			a_program_for_an_unknown_tracepoint_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
