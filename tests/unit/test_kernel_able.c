/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * test_kernel_able.c - the table of abilities is whole, and what is found does
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
#include "source/doctor.h"
#include "source/doctor_parts.h"

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

static void a_lack_has_a_cost_and_an_ability_has_none(void **state)
{
	struct sonde_doctor_ability found[SONDE_ABILITIES_MAX];
	size_t nr = sonde_doctor_abilities(found, SONDE_ABILITIES_MAX);

	(void)state;
	for (size_t i = 0; i < nr; i++) {
		if (found[i].able == SONDE_DOCTOR_ABLE) {
			assert_string_equal(found[i].cost, "");
			assert_string_equal(found[i].remedy, "");
		} else {
			assert_string_not_equal(found[i].cost, "");
		}
	}
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

static void types_are_found_by_kind_and_name(void **state)
{
	struct sonde_btf_wanted wanted[] = {
		{ BTF_KIND_STRUCT, "task_struct", -1, 0, 0 },
		{ BTF_KIND_UNION, "task_struct", -1, 0, 0 },
		{ BTF_KIND_STRUCT, "no_such_struct", -1, 0, 0 },
		{ BTF_KIND_STRUCT, "task_struct", -1, 0, 0 },
	};

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(sonde_doctor_btf_find(wanted, 4), 0);
	assert_true(wanted[0].id > 0);
	assert_int_equal(wanted[1].id, 0);
	assert_int_equal(wanted[2].id, 0);
	assert_int_equal(wanted[3].id, wanted[0].id);
}

/* A typedef "t", a structure "s" with one member, an enumeration "t". */
struct handmade {
	struct btf_header header;
	struct btf_type type;
	struct btf_type structure;
	struct btf_member member;
	struct btf_type last;
	char strings[5];
} __attribute__((packed));

static const struct handmade handmade = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = 3 * sizeof(struct btf_type) +
				sizeof(struct btf_member),
		    .str_off = 3 * sizeof(struct btf_type) +
			       sizeof(struct btf_member),
		    .str_len = 5 },
	.type = { .name_off = 1, .info = BTF_KIND_TYPEDEF << 24 },
	.structure = { .name_off = 3, .info = BTF_KIND_STRUCT << 24 | 1 },
	.last = { .name_off = 1, .info = BTF_KIND_FWD << 24 },
	.strings = { 0, 't', 0, 's', 0 },
};

static int find_in(const struct handmade *in, size_t size, uint32_t kind,
		   const char *name)
{
	/* Ends where its memory ends. */
	struct sonde_btf_wanted wanted = { kind, name, -1, 0, 0 };
	uint8_t *bytes = malloc(size ? size : 1);
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = sonde_doctor_btf_find_in(bytes, size, &wanted, 1);
	free(bytes);
	return rc ? rc : wanted.id;
}

static void types_are_counted_whatever_their_kinds_add(void **state)
{
	size_t size = sizeof(handmade);

	(void)state;
	assert_int_equal(find_in(&handmade, size, BTF_KIND_TYPEDEF, "t"), 1);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_STRUCT, "s"), 2);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "t"), 3);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "s"), 0);
}

/* Variables "a" and "b", and a section that has both, and another one before
 * them that has none. */
struct variables {
	struct btf_header header;
	struct btf_type empty;
	struct btf_type a;
	struct btf_var of_a;
	struct btf_type b;
	struct btf_var of_b;
	struct btf_type section;
	struct btf_var_secinfo in[2];
	char strings[5];
} __attribute__((packed));

#define VARIABLES_BYTES                                         \
	(sizeof(struct variables) - sizeof(struct btf_header) - \
	 sizeof(((struct variables *)NULL)->strings))

static const struct variables variables = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = VARIABLES_BYTES,
		    .str_off = VARIABLES_BYTES,
		    .str_len = 5 },
	.empty = { .name_off = 0, .info = BTF_KIND_DATASEC << 24 },
	.a = { .name_off = 1, .info = BTF_KIND_VAR << 24 },
	.b = { .name_off = 3, .info = BTF_KIND_VAR << 24 },
	.section = { .name_off = 0, .info = BTF_KIND_DATASEC << 24 | 2 },
	.in = { { .type = 3, .offset = 64 }, { .type = 2, .offset = 4096 } },
	.strings = { 0, 'a', 0, 'b', 0 },
};

static int distance_in(const struct variables *in, size_t size,
		       const char *from, const char *to, int32_t *ret_distance)
{
	struct sonde_btf_wanted wanted[] = {
		{ .kind = BTF_KIND_VAR, .name = from },
		{ .kind = BTF_KIND_VAR, .name = to },
	};
	uint8_t *bytes = malloc(size ? size : 1);
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = sonde_doctor_btf_find_in(bytes, size, wanted, 2);
	free(bytes);
	if (rc)
		return rc;
	return sonde_doctor_btf_distance(&wanted[0], &wanted[1], ret_distance) ?
		       0 :
		       -ENOENT;
}

static void variables_lie_as_far_apart_as_their_section_says(void **state)
{
	struct variables many = variables;
	size_t size = sizeof(variables);
	int32_t distance = 0;

	(void)state;
	assert_int_equal(distance_in(&variables, size, "a", "b", &distance), 0);
	assert_int_equal(distance, 64 - 4096);
	assert_int_equal(distance_in(&variables, size, "b", "a", &distance), 0);
	assert_int_equal(distance, 4096 - 64);
	assert_int_equal(distance_in(&variables, size, "a", "c", &distance),
			 -ENOENT);
	many.section.info = BTF_KIND_DATASEC << 24 | 3;
	assert_int_equal(distance_in(&many, size, "a", "b", &distance),
			 -EPROTO);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(distance_in(&variables, cut, "a", "b",
					     &distance),
				 -EPROTO);
}

static void types_that_are_cut_short_are_refused(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(handmade); size++)
		assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "t"),
				 -EPROTO);
}

static void types_that_contradict_themselves_are_refused(void **state)
{
	struct handmade many = handmade;
	struct handmade unknown = handmade;
	struct handmade far = handmade;
	struct handmade open = handmade;
	struct handmade past = handmade;
	size_t size = sizeof(handmade);

	(void)state;
	many.structure.info |= 0xffff;
	assert_int_equal(find_in(&many, size, BTF_KIND_FWD, "t"), -EPROTO);
	past.last.info = BTF_KIND_STRUCT << 24 | 1;
	assert_int_equal(find_in(&past, size, BTF_KIND_FWD, "t"), -EPROTO);
	unknown.structure.info = 30u << 24;
	assert_int_equal(find_in(&unknown, size, BTF_KIND_FWD, "t"), -EPROTO);
	far.header.type_off = UINT32_MAX;
	assert_int_equal(find_in(&far, size, BTF_KIND_FWD, "t"), -EPROTO);
	open.strings[4] = 'x';
	assert_int_equal(find_in(&open, size, BTF_KIND_FWD, "t"), -EPROTO);
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
		cmocka_unit_test(a_lack_has_a_cost_and_an_ability_has_none),
		cmocka_unit_test(no_text_fills_its_field),
		cmocka_unit_test(no_more_is_written_than_there_is_room_for),
		cmocka_unit_test(one_part_is_what_the_table_says),
		cmocka_unit_test(an_unknown_part_is_not_there),
		cmocka_unit_test(types_are_found_by_kind_and_name),
		cmocka_unit_test(types_are_counted_whatever_their_kinds_add),
		cmocka_unit_test(
			variables_lie_as_far_apart_as_their_section_says),
		cmocka_unit_test(types_that_are_cut_short_are_refused),
		cmocka_unit_test(types_that_contradict_themselves_are_refused),
		cmocka_unit_test(
			a_program_for_an_unknown_tracepoint_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
