/* SPDX-License-Identifier: MIT */
/*
 * Descriptions made at run time (types/build.h), seen through types/desc.h,
 * which was written for those that compilers make.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "types/build.h"
#include "types/desc.h"

static _Alignas(8) uint8_t room[SONDE_DESC_MAX];

static const struct sonde_desc *made(void)
{
	return (const struct sonde_desc *)(const void *)room;
}

static void fields_come_out_as_they_went_in(void **state)
{
	static const struct sonde_build_label labels[] = { { 0, 0, "IDLE" },
							   { 1, 5, "BUSY" },
							   { -1, -1, "LOST" } };
	struct sonde_field_view field;
	struct sonde_label_view label;
	struct sonde_labels seen;
	struct sonde_fields it;
	struct sonde_build build;

	(void)state;
	sonde_build_begin(&build, room, "sched", "sched_switch", SONDE_INFO);
	sonde_build_int(&build, "tid", 32, SONDE_FIELD_SIGNED);
	sonde_build_text(&build, "comm", 16);
	sonde_build_enum(&build, "state", 64, SONDE_FIELD_SIGNED, labels, 3);
	sonde_build_string(&build, "path");
	sonde_build_sequence(&build, "list", 16, SONDE_FIELD_HEX);
	sonde_build_array(&build, "mac", 6, 8, SONDE_FIELD_HEX);
	sonde_build_blob(&build, "data");
	assert_int_equal(sonde_build_end(&build), 0);
	assert_string_equal(sonde_desc_provider(made()), "sched");
	assert_string_equal(sonde_desc_name(made()), "sched_switch");
	assert_int_equal(sonde_desc_loglevel(made()), SONDE_INFO);

	it = sonde_desc_fields(made());
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "tid");
	assert_int_equal(field.kind, SONDE_TYPE_INT);
	assert_int_equal(field.flags, SONDE_FIELD_SIGNED);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_TEXT);
	assert_int_equal(field.count, 16);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_ENUM);
	seen = sonde_field_labels(&field);
	for (size_t i = 0; i < 3; i++) {
		assert_true(sonde_labels_next(&seen, &label));
		assert_string_equal(label.text, labels[i].text);
		assert_int_equal(label.first, labels[i].first);
		assert_int_equal(label.last, labels[i].last);
	}
	assert_false(sonde_labels_next(&seen, &label));
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_STRING);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_SEQUENCE);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_ARRAY);
	assert_int_equal(field.count, 6);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_BLOB);
	assert_false(sonde_fields_next(&it, &field));
}

static void labels_beyond_the_room_are_left_out(void **state)
{
	static char texts[400][64];
	static struct sonde_build_label labels[400];
	struct sonde_field_view field;
	struct sonde_fields it;
	struct sonde_build build;

	(void)state;
	for (int i = 0; i < 400; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]),
			       "a_label_that_takes_some_room_%d", i);
		labels[i] = (struct sonde_build_label){ i, i, texts[i] };
	}
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	sonde_build_enum(&build, "much", 32, 0, labels, 400);
	sonde_build_enum(&build, "none", 32, 0, labels, 400);
	sonde_build_int(&build, "after", 32, 0);
	assert_int_equal(sonde_build_end(&build), 0);
	it = sonde_desc_fields(made());
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_ENUM);
	assert_in_range(field.count, 100, 399);
	assert_true(sonde_fields_next(&it, &field));
	assert_int_equal(field.kind, SONDE_TYPE_INT);
	assert_string_equal(field.name, "none");
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "after");
}

static void too_much_and_bad_names_are_refused(void **state)
{
	static char name[SONDE_NAME_MAX + 1];
	struct sonde_build build;

	(void)state;
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	for (int i = 0; i < SONDE_FIELDS_MAX + 1; i++)
		sonde_build_int(&build, "n", 32, 0);
	assert_int_equal(sonde_build_end(&build), -E2BIG);

	sonde_build_begin(&build, room, "p", "1e", SONDE_INFO);
	assert_int_equal(sonde_build_end(&build), -EINVAL);

	memset(name, 'n', SONDE_NAME_MAX);
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	sonde_build_int(&build, name, 32, 0);
	assert_int_equal(sonde_build_end(&build), -EINVAL);

	memset(name, 'n', SONDE_NAME_MAX);
	name[SONDE_NAME_MAX - 1] = 0;
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	for (int i = 0; i < 2000; i++)
		sonde_build_string(&build, name);
	assert_int_equal(sonde_build_end(&build), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_come_out_as_they_went_in),
		cmocka_unit_test(labels_beyond_the_room_are_left_out),
		cmocka_unit_test(too_much_and_bad_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
