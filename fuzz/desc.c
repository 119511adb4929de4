/* SPDX-License-Identifier: MIT */
/*
 * desc.c - fuzz types/desc.h: the check, every accessor on what it accepts,
 * identifiers and names, comparison, and the scan through many bytes.
 *
 * First byte: bit 0, the rest is taken as bytes, else as decisions that make a
 * description (describe.h).
 */
#include "types/desc.h"

#include "describe.h"

/* The description being walked, for bounds. */
static const uint8_t *begin;
static const uint8_t *end;

static bool is_inside(const void *p)
{
	const uint8_t *at = p;

	return at >= begin && at < end;
}

static bool text_ends_inside(const char *text)
{
	return is_inside(text) && is_inside(text + strlen(text));
}

static void check_ident(const char *ident)
{
	size_t n = strlen(ident);

	FUZZ_CHECK(n > 0 && n < SONDE_IDENT_MAX);
	FUZZ_CHECK(!(ident[0] >= '0' && ident[0] <= '9'));
	FUZZ_CHECK(strspn(ident, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
				 "STUVWXYZ_0123456789") == n);
}

/* The next name of a scope is an identifier that no earlier one is. */
static void check_name(struct sonde_desc_names *names, const char *expr)
{
	uint32_t nr = names->nr;
	const char *name = sonde_desc_names_add(names, expr);

	check_ident(name);
	FUZZ_CHECK(names->nr == nr + 1);
	for (uint32_t i = 0; i < nr; i++)
		FUZZ_CHECK(strcmp(names->name[i], name) != 0);
}

static void check_labels(const struct sonde_field_view *field)
{
	struct sonde_labels labels = sonde_field_labels(field);
	struct sonde_label_view label;
	uint32_t nr = 0;

	for (; sonde_labels_next(&labels, &label); nr++) {
		FUZZ_CHECK(text_ends_inside(label.text));
		if (field->flags & SONDE_FIELD_SIGNED)
			FUZZ_CHECK(label.first <= label.last);
		else
			FUZZ_CHECK((uint64_t)label.first <=
				   (uint64_t)label.last);
	}
	FUZZ_CHECK(nr == (field->kind == SONDE_TYPE_ENUM ? field->count : 0));
	if (nr > 0)
		FUZZ_CHECK(labels.next == field->extra + field->extra_size);
}

static void check_field(const struct sonde_field_view *field)
{
	FUZZ_CHECK(text_ends_inside(field->name));
	FUZZ_CHECK(field->extra >= begin && field->extra <= end);
	FUZZ_CHECK(field->extra_size <= (size_t)(end - field->extra));
	FUZZ_CHECK(field->kind >= SONDE_TYPE_INT &&
		   field->kind <= SONDE_TYPE_BITS);
	FUZZ_CHECK(field->bits <= field->stored_bits);
	FUZZ_CHECK((field->stored_bits & (field->stored_bits - 1)) == 0);
	check_labels(field);
}

/* Goes as deep as the description does, which is what invariant 4 bounds. */
static void check_fields(struct sonde_fields fields, uint32_t depth)
{
	struct sonde_desc_names names = { 0 };
	struct sonde_field_view field;
	uint32_t nr = 0;

	FUZZ_CHECK(depth <= SONDE_NEST_MAX);
	for (; sonde_fields_next(&fields, &field); nr++) {
		struct sonde_fields children = sonde_field_children(&field);

		check_field(&field);
		check_name(&names, field.name);
		if (children.left > 0)
			check_fields(children, depth + 1);
	}
	FUZZ_CHECK(nr <= SONDE_FIELDS_MAX);
}

/* An event is itself, wherever its source line is. */
static void check_equality(const struct sonde_desc *desc)
{
	uint32_t size = sonde_desc_size(desc);
	uint8_t *bytes = fuzz_copy(desc, size);
	const struct sonde_desc *other;

	memset(bytes + offsetof(struct sonde_desc, line), 0xff, 4);
	FUZZ_CHECK(sonde_desc_check(bytes, size, &other) == 0);
	FUZZ_CHECK(sonde_desc_line(other) == UINT32_MAX);
	FUZZ_CHECK(sonde_desc_equal(desc, other));
	FUZZ_CHECK(sonde_desc_equal(other, desc));
	FUZZ_CHECK(sonde_desc_hash(desc) == sonde_desc_hash(other));
	bytes[offsetof(struct sonde_desc, loglevel)] ^= 1;
	FUZZ_CHECK(!sonde_desc_equal(desc, other));
	free(bytes);
}

static void check_accepted(const struct sonde_desc *desc)
{
	begin = (const uint8_t *)desc;
	end = begin + sonde_desc_size(desc);
	FUZZ_CHECK(text_ends_inside(sonde_desc_provider(desc)));
	FUZZ_CHECK(text_ends_inside(sonde_desc_name(desc)));
	FUZZ_CHECK(sonde_desc_loglevel(desc) <= SONDE_DEBUG);
	FUZZ_CHECK(sonde_desc_nr_fields(desc) <= SONDE_FIELDS_MAX);
	if (sonde_desc_is_reference(desc))
		FUZZ_CHECK(sonde_desc_nr_fields(desc) == 0);
	check_fields(sonde_desc_fields(desc), 0);
	check_equality(desc);
}

static void check_scan(const uint8_t *bytes, size_t size)
{
	const struct sonde_desc *desc;
	uint64_t malformed = 0;
	size_t offset = 0;
	size_t before = 0;

	while (sonde_desc_scan(bytes, size, &offset, &desc, &malformed)) {
		FUZZ_CHECK(offset > before && offset <= size);
		FUZZ_CHECK((const uint8_t *)desc >= bytes + before);
		FUZZ_CHECK((const uint8_t *)desc + sonde_desc_size(desc) ==
			   bytes + offset);
		check_accepted(desc);
		before = offset;
	}
	FUZZ_CHECK(offset == size && malformed <= size / 8);
}

static void check_identifiers(const uint8_t *bytes, size_t size)
{
	char *expr = malloc(size + 1);
	char *out;
	size_t room;
	size_t n;

	FUZZ_CHECK(expr);
	memcpy(expr, bytes, size);
	expr[size] = 0;
	room = 2 + strlen(expr) % (SONDE_IDENT_MAX - 1);
	out = malloc(room);
	FUZZ_CHECK(out);
	n = sonde_field_ident(expr, out, room);
	FUZZ_CHECK(n == strlen(out) && n < room);
	check_ident(out);
	free(out);
	free(expr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t made[FUZZ_DESC_ROOM];
	struct fuzz_input in = { bytes, size };
	const struct sonde_desc *desc;
	uint8_t *copy;

	if (size == 0)
		return 0;
	if (fuzz_u8(&in) & 1) {
		size = in.left;
		copy = fuzz_copy(in.at, size);
		check_identifiers(copy, size);
	} else {
		size = fuzz_describe(&in, made);
		copy = fuzz_copy(made, size);
	}
	if (sonde_desc_check(copy, size, &desc) == 0)
		check_accepted(desc);
	check_scan(copy, size);
	free(copy);
	return 0;
}
