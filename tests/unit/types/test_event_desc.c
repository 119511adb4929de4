/* SPDX-License-Identifier: MIT */
/*
 * test_event_desc.c - types/desc.h: sound descriptions are walked through,
 * hostile ones refused. The sound one comes from <sonde/tracepoint.h> itself.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sonde/tracepoint.h>

#include "no_libsonde.h"
#include "types/desc.h"

#include "types/build.h"

/* ---- a libsonde that only remembers where the descriptions are ---- */

static const struct sonde_desc *sound;
static const struct sonde_desc *same;
static const struct sonde_desc *reference;

void sonde_register(struct sonde_site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_desc *desc = sites[i].desc;

		if (sonde_desc_is_reference(desc))
			reference = desc;
		else if (!sound)
			sound = desc;
		else
			same = desc;
	}
}

static int a = 1;
static int b[3];
static const char *text = "text";

#define THE_EVENT                                                         \
	sonde_event(prov, event, a, b, text,                              \
		    sonde_enum(e, a, sonde_label("one", 1),               \
			       sonde_range("more", 2, 9)),                \
		    sonde_sequence(seq, b, a), sonde_blob(bl, b, a),      \
		    sonde_struct(s, a, sonde_struct(t, sonde_hex(h, a))), \
		    sonde_variant(v, a, sonde_field(i, a),                \
				  sonde_struct(p, a, a)),                 \
		    sonde_bits(bits, a, 5), sonde_text(tx, text, 4))

/* NOLINTNEXTLINE(readability-function-size): branches of the macro's */
static void sites(void)
{
	THE_EVENT;
	THE_EVENT;
	a += sonde_event_enabled(prov, event);
}

/* A copy of the sound description, in memory of just its size. */
static uint8_t *copy_sound(size_t *ret_size)
{
	size_t size = sonde_desc_size(sound);
	uint8_t *copy = malloc(size);

	assert_non_null(copy);
	memcpy(copy, sound, size);
	*ret_size = size;
	return copy;
}

static int check(const void *bytes, size_t size)
{
	const struct sonde_desc *desc = NULL;
	int error = sonde_desc_check(bytes, size, &desc);

	assert_true((error == 0) == (desc != NULL));
	return error;
}

/* Reads all there is of a description; returns the number of records. */
static uint32_t walk(const struct sonde_desc *desc)
{
	struct sonde_fields stack[SONDE_NEST_MAX + 1];
	struct sonde_field_view field;
	struct sonde_label_view label;
	uint32_t depth = 0;
	uint32_t nr = 0;

	assert_true(strlen(sonde_desc_provider(desc)) > 0);
	assert_true(strlen(sonde_desc_name(desc)) > 0);
	stack[0] = sonde_desc_fields(desc);
	for (;;) {
		struct sonde_labels labels;

		if (!sonde_fields_next(&stack[depth], &field)) {
			if (depth-- == 0)
				return nr;
			continue;
		}
		nr += 1 + (strlen(field.name) > SONDE_DESC_MAX);
		labels = sonde_field_labels(&field);
		while (sonde_labels_next(&labels, &label))
			nr += strlen(label.text) > SONDE_DESC_MAX;
		assert_true(depth < SONDE_NEST_MAX ||
			    sonde_field_children(&field).left == 0);
		if (sonde_field_children(&field).left > 0)
			stack[++depth] = sonde_field_children(&field);
	}
}

static void sound_descriptions_are_accepted_and_walked(void **state)
{
	struct sonde_fields it = sonde_desc_fields(sound);
	struct sonde_field_view field;

	(void)state;
	assert_int_equal(check(sound, SONDE_DESC_MAX), 0);
	assert_int_equal(check(sound, sonde_desc_size(sound)), 0);
	assert_string_equal(sonde_desc_provider(sound), "prov");
	assert_string_equal(sonde_desc_name(sound), "event");
	assert_int_equal(sonde_desc_nr_fields(sound), 11);
	assert_int_equal(sonde_desc_loglevel(sound), SONDE_INFO);
	assert_int_equal(walk(sound), 11 + 1 + 1 + 2 + 1 + 3 + 2);
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "a");
	assert_int_equal(field.kind, SONDE_TYPE_INT);
	assert_int_equal(field.bits, 32);
	assert_int_equal(field.flags, SONDE_FIELD_SIGNED);
}

static int named(const char *provider, const char *name)
{
	static uint64_t room[SONDE_DESC_MAX / 8];
	struct sonde_build build;

	sonde_build_begin(&build, room, provider, name, SONDE_INFO);
	return sonde_build_end(&build);
}

static void colons_are_in_names_of_events_only(void **state)
{
	(void)state;
	assert_int_equal(named("sdt", "python:gc__start"), 0);
	assert_int_equal(named("sdt", ":gc__start"), -EINVAL);
	assert_int_equal(named("sdt:python", "gc__start"), -EINVAL);
	assert_int_equal(named("sdt", "gc start"), -EINVAL);
}

static void unaligned_descriptions_are_no_trouble(void **state)
{
	size_t size = sonde_desc_size(sound);
	uint8_t *copy = malloc(size + 1);

	(void)state;
	assert_non_null(copy);
	memcpy(copy + 1, sound, size);
	assert_int_equal(check(copy + 1, size), 0);
	assert_int_equal(walk((const struct sonde_desc *)(void *)(copy + 1)),
			 walk(sound));
	free(copy);
}

static void every_truncation_is_refused(void **state)
{
	size_t size = sonde_desc_size(sound);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		uint8_t *copy = malloc(i + 1);

		assert_non_null(copy);
		memcpy(copy, sound, i);
		assert_int_not_equal(check(copy, i), 0);
		free(copy);
	}
}

/* Whatever a byte is changed to: refused, or safe to walk through. */
static void every_changed_byte_is_refused_or_harmless(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);
	uint32_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < size; i++) {
		uint8_t old = copy[i];

		for (unsigned value = 0; value < 256; value++) {
			copy[i] = (uint8_t)value;
			if (check(copy, size) == 0)
				accepted += walk((void *)copy) > 0;
		}
		copy[i] = old;
	}
	assert_true(accepted > 0);
	free(copy);
}

static void random_damage_is_refused_or_harmless(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);
	uint32_t seed = 99;

	(void)state;
	print_message("seed %u\n", seed);
	for (int i = 0; i < 100000; i++) {
		memcpy(copy, sound, size);
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525u + 1013904223u;
			copy[24 + (seed >> 8) % (size - 24)] =
				(uint8_t)(seed >> 3);
		}
		if (check(copy, size) == 0)
			(void)walk((void *)copy);
	}
	free(copy);
}

static void limits_are_told_from_damage(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);
	struct sonde_desc *head = (void *)copy;

	(void)state;
	head->nr_fields = SONDE_FIELDS_MAX + 1;
	assert_int_equal(check(copy, size), -E2BIG);
	head->nr_fields = 12;
	assert_int_equal(check(copy, size), -EINVAL);
	head->nr_fields = 10;
	assert_int_equal(check(copy, size), -EINVAL);
	head->nr_fields = 11;
	assert_int_equal(check(copy, size), 0);
	head->size = SONDE_DESC_MAX + 8;
	assert_int_equal(check(copy, size), -E2BIG);
	free(copy);
}

/* Where the record of the field `name` is in the description. */
static struct sonde_desc_field *record_of(uint8_t *copy, const char *name)
{
	struct sonde_fields it = sonde_desc_fields((void *)copy);
	struct sonde_field_view field;
	const uint8_t *at = it.next;

	while (sonde_fields_next(&it, &field)) {
		if (strcmp(field.name, name) == 0)
			return (void *)(copy + (at - copy));
		at = it.next;
	}
	fail();
	return NULL;
}

static void set_bytes(void *to, uint32_t value, size_t size)
{
	memcpy(to, &value, size);
}

static void variants_need_the_tag_that_fits(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);
	uint8_t *tag = (uint8_t *)record_of(copy, "v_tag");
	uint8_t *first =
		tag + sizeof(struct sonde_desc_field) + sizeof("v_tag");

	(void)state;
	first[0] = 1; /* the first label: 1 .. 0 */
	assert_int_equal(check(copy, size), -EINVAL);
	first[8] = 1; /* 1 .. 1: in order, but not the option's position */
	assert_int_equal(check(copy, size), -EINVAL);
	first[0] = 0;
	first[8] = 0;
	assert_int_equal(check(copy, size), 0);
	/* The tag is an integer all of a sudden. */
	tag[offsetof(struct sonde_desc_field, kind)] = SONDE_TYPE_INT;
	assert_int_equal(check(copy, size), -EINVAL);
	free(copy);
}

static void odd_widths_flags_and_elements_are_refused(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);
	uint8_t *a_field = (uint8_t *)record_of(copy, "a");
	uint8_t *b_field = (uint8_t *)record_of(copy, "b");
	uint8_t *element =
		b_field + sizeof(struct sonde_desc_field) + sizeof("b");

	(void)state;
	a_field[offsetof(struct sonde_desc_field, bits)] = 24;
	assert_int_equal(check(copy, size), -EINVAL);
	a_field[offsetof(struct sonde_desc_field, bits)] = 32;
	a_field[offsetof(struct sonde_desc_field, flags) + 1] = 1;
	assert_int_equal(check(copy, size), -EINVAL);
	a_field[offsetof(struct sonde_desc_field, flags) + 1] = 0;
	set_bytes(b_field + offsetof(struct sonde_desc_field, count), 0, 4);
	assert_int_equal(check(copy, size), -EINVAL);
	set_bytes(b_field + offsetof(struct sonde_desc_field, count), 1u << 20,
		  4);
	assert_int_equal(check(copy, size), -E2BIG);
	set_bytes(b_field + offsetof(struct sonde_desc_field, count), 3, 4);
	assert_int_equal(check(copy, size), 0);
	element[offsetof(struct sonde_desc_field, kind)] = SONDE_TYPE_STRING;
	element[offsetof(struct sonde_desc_field, bits)] = 0;
	set_bytes(element + offsetof(struct sonde_desc_field, flags), 0, 4);
	assert_int_equal(check(copy, size), -EINVAL);
	free(copy);
}

static void equality_is_of_all_but_the_line(void **state)
{
	size_t size;
	uint8_t *copy = copy_sound(&size);

	(void)state;
	assert_int_not_equal(sonde_desc_line(sound), sonde_desc_line(same));
	assert_true(sonde_desc_equal(sound, same));
	assert_int_equal(sonde_desc_hash(sound), sonde_desc_hash(same));
	((struct sonde_desc *)(void *)copy)->loglevel = SONDE_ERR;
	assert_int_equal(check(copy, size), 0);
	assert_false(sonde_desc_equal(sound, (void *)copy));
	assert_int_not_equal(sonde_desc_hash(sound),
			     sonde_desc_hash((void *)copy));
	free(copy);
}

static void references_have_no_fields(void **state)
{
	(void)state;
	assert_non_null(reference);
	assert_int_equal(check(reference, SONDE_DESC_MAX), 0);
	assert_true(sonde_desc_is_reference(reference));
	assert_false(sonde_desc_is_reference(sound));
	assert_int_equal(sonde_desc_nr_fields(reference), 0);
	assert_string_equal(sonde_desc_name(reference), "event");
}

static void scanning_finds_what_is_whole_and_aligned(void **state)
{
	size_t size = sonde_desc_size(sound);
	size_t room = 3 * size + 64;
	uint8_t *bytes = calloc(1, room);
	const struct sonde_desc *desc;
	uint64_t malformed = 0;
	size_t offset = 0;

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes + 8, sound, 8); /* the magic alone */
	memcpy(bytes + 24, sound, size);
	memcpy(bytes + 24 + size + 4, sound, size);       /* unaligned */
	memcpy(bytes + room - size + 8, sound, size - 8); /* cut off */
	assert_true(sonde_desc_scan(bytes, room, &offset, &desc, &malformed));
	assert_ptr_equal(desc, bytes + 24);
	assert_int_equal(offset, 24 + size);
	assert_false(sonde_desc_scan(bytes, room, &offset, &desc, &malformed));
	assert_int_equal(malformed, 1 + ((room - size) % 8 == 0));
	free(bytes);
}

static void ident_is(const char *expr, const char *expected)
{
	char out[SONDE_IDENT_MAX];

	assert_int_equal(sonde_field_ident(expr, out, sizeof(out)),
			 strlen(expected));
	assert_string_equal(out, expected);
}

static void identifiers_come_from_expressions(void **state)
{
	(void)state;
	ident_is("n", "n");
	ident_is("p->len", "len");
	ident_is("a[3].b", "b");
	ident_is("a.b[i + 1]", "b_i_1");
	ident_is("this->balance", "balance");
	ident_is("x + 1", "x_1");
	ident_is("p->x + q->y", "p_x_q_y");
	ident_is("f(p->x)", "f_p_x");
	ident_is("*p", "p");
	ident_is("&p->x", "x");
	ident_is("42", "v42");
	ident_is("1.5", "v1_5");
	ident_is("\"text\"", "text");
	ident_is("", "field");
	ident_is("->", "field");
	ident_is("(*__errno_location ())", "__errno_location");
	ident_is("sizeof(int)", "sizeof_int");
}

static void long_identifiers_are_cut(void **state)
{
	char expr[300];
	char out[8];

	(void)state;
	memset(expr, '7', sizeof(expr) - 1);
	expr[sizeof(expr) - 1] = 0;
	assert_int_equal(sonde_field_ident(expr, out, sizeof(out)), 7);
	assert_string_equal(out, "v777777");
	assert_int_equal(sonde_field_ident("a b", out, 2), 1);
	assert_string_equal(out, "a");
}

static void names_are_unique_in_their_scope(void **state)
{
	static struct sonde_desc_names names;
	char lengthy[200];

	(void)state;
	assert_string_equal(sonde_desc_names_add(&names, "x"), "x");
	assert_string_equal(sonde_desc_names_add(&names, "p->x"), "x_2");
	assert_string_equal(sonde_desc_names_add(&names, "x_3"), "x_3");
	assert_string_equal(sonde_desc_names_add(&names, "q->x"), "x_4");
	memset(lengthy, 'l', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = 0;
	assert_int_equal(strlen(sonde_desc_names_add(&names, lengthy)), 63);
	assert_int_equal(strlen(sonde_desc_names_add(&names, lengthy)), 60);
	for (int i = 0; i < 100; i++)
		assert_non_null(sonde_desc_names_add(&names, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_descriptions_are_accepted_and_walked),
		cmocka_unit_test(colons_are_in_names_of_events_only),
		cmocka_unit_test(unaligned_descriptions_are_no_trouble),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_changed_byte_is_refused_or_harmless),
		cmocka_unit_test(random_damage_is_refused_or_harmless),
		cmocka_unit_test(limits_are_told_from_damage),
		cmocka_unit_test(variants_need_the_tag_that_fits),
		cmocka_unit_test(odd_widths_flags_and_elements_are_refused),
		cmocka_unit_test(equality_is_of_all_but_the_line),
		cmocka_unit_test(references_have_no_fields),
		cmocka_unit_test(scanning_finds_what_is_whole_and_aligned),
		cmocka_unit_test(identifiers_come_from_expressions),
		cmocka_unit_test(long_identifiers_are_cut),
		cmocka_unit_test(names_are_unique_in_their_scope),
	};

	sites();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
