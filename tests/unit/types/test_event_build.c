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
#include "types/origins.h"

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

static void build_described(struct sonde_build *build)
{
	sonde_build_begin(build, room, "shop", "paid", SONDE_INFO);
	sonde_build_int(build, "number", 32, 0);
	assert_int_equal(sonde_build_end_described(build, 0x0123456789abcdef),
			 0);
}

static void a_checksum_is_no_field_and_tells_versions_apart(void **state)
{
	_Alignas(8) uint8_t other[256];
	struct sonde_build build;
	struct sonde_field_view field;
	struct sonde_fields it;

	(void)state;
	build_described(&build);
	assert_true(sonde_desc_checksum(made()) == 0x0123456789abcdef);
	assert_int_equal(sonde_desc_nr_fields(made()), 1);
	it = sonde_desc_fields(made());
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "number");
	assert_false(sonde_fields_next(&it, &field));

	assert_true(build.used <= sizeof(other));
	memcpy(other, room, build.used);
	other[build.used - 8] ^= 1;
	assert_false(sonde_desc_equal(made(), (const void *)other));

	sonde_build_begin(&build, room, "shop", "paid", SONDE_INFO);
	assert_int_equal(sonde_build_end(&build), 0);
	assert_true(sonde_desc_checksum(made()) == 0);
}

static void a_checksum_that_is_not_there_is_refused(void **state)
{
	const struct sonde_desc *desc;
	struct sonde_desc head;
	struct sonde_build build;

	(void)state;
	build_described(&build);
	memcpy(&head, room, sizeof(head));
	/* names to the end, so that the last 8 bytes are theirs */
	head.size = (uint32_t)(sizeof(head) + 16);
	head.nr_fields = SONDE_NR_FIELDS_DESCRIBED;
	memcpy(room, &head, sizeof(head));
	memcpy(room + sizeof(head), "shop\0a_long_one", 16);
	head.name_size = 11;
	memcpy(room, &head, sizeof(head));
	assert_int_equal(sonde_desc_check(room, head.size, &desc), -EINVAL);
}

/* What a reader makes of the number: by the label that it has. */
static uint64_t sum(const struct sonde_desc *desc, uint32_t number)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field;
	struct sonde_label_view label;
	struct sonde_labels labels;
	uint64_t addend;

	assert_true(sonde_fields_next(&it, &field));
	labels = sonde_field_labels(&field);
	while (sonde_labels_next(&labels, &label))
		if (label.first <= (int64_t)number &&
		    (int64_t)number <= label.last) {
			assert_true(sonde_origins_read(label.text, &addend));
			return number + addend;
		}
	fail_msg("%u has no label", number);
	return 0;
}

static void addresses_near_an_origin_have_a_number(void **state)
{
	static const struct sonde_origins cases[] = {
		{ 0x555555554000, 0x7fff70000000 },
		{ 0x400000, 0 },
		{ 0, 0 },
		{ UINT64_MAX - 0xfff, 0x1000 },
	};
	static const uint64_t distances[] = { 0, 1, 0x7fffffff };
	struct sonde_build build;
	uint32_t number;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const uint64_t from[] = { cases[i].low, cases[i].high };

		sonde_build_begin(&build, room, "function", "entry",
				  SONDE_INFO);
		sonde_origins_build(&cases[i], &build, "addr");
		assert_int_equal(sonde_build_end(&build), 0);
		assert_true(sonde_origins_has(made()));
		for (size_t k = 0; k < 6; k++) {
			uint64_t address = from[k % 2] + distances[k / 2];

			assert_true(sonde_origins_number(&cases[i], address,
							 &number));
			assert_true(sum(made(), number) == address);
		}
	}
	assert_false(sonde_origins_number(&cases[0], 0x555555553fff, &number));
	assert_false(sonde_origins_number(&cases[0], 0x5555d5554000, &number));
	assert_false(sonde_origins_number(&cases[0], 0x7ffff0000000, &number));
	assert_false(sonde_origins_number(&cases[0], 0, &number));
}

static void only_such_labels_are_origins(void **state)
{
	static const struct sonde_build_label idle = { 0, 5, "IDLE" };
	static const char *const others[] = {
		"",       "+",   "+0x",  "0x10", "-0x10",
		"+0x10 ", "+10", "+0X1", "+0xg", "+0x10000000000000000",
	};
	struct sonde_build build;
	uint64_t addend = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(sonde_origins_read(others[i], &addend));
	assert_int_equal(addend, 1);
	assert_true(sonde_origins_read("+0xffffffffffffffff", &addend));
	assert_true(addend == UINT64_MAX);
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	assert_int_equal(sonde_build_end(&build), 0);
	assert_false(sonde_origins_has(made()));
	sonde_build_begin(&build, room, "p", "e", SONDE_INFO);
	sonde_build_enum(&build, "state", 32, 0, &idle, 1);
	assert_int_equal(sonde_build_end(&build), 0);
	assert_false(sonde_origins_has(made()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_come_out_as_they_went_in),
		cmocka_unit_test(labels_beyond_the_room_are_left_out),
		cmocka_unit_test(too_much_and_bad_names_are_refused),
		cmocka_unit_test(
			a_checksum_is_no_field_and_tells_versions_apart),
		cmocka_unit_test(a_checksum_that_is_not_there_is_refused),
		cmocka_unit_test(addresses_near_an_origin_have_a_number),
		cmocka_unit_test(only_such_labels_are_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
