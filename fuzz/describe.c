/* SPDX-License-Identifier: MIT */
/*
 * describe.c - see describe.h. Records are appended to a buffer; a record's
 * size is set when all that is nested in it is there.
 */
#include "describe.h"

#include <sonde/abi.h>

/* Leaves room for one more record at any time. */
#define FULL (FUZZ_DESC_ROOM - 2048)

struct maker {
	struct fuzz_input *in;
	uint8_t *out;
	size_t used;
	uint32_t depth;
	uint32_t tag_labels; /* of the enumeration just made, else 0 */
};

static void put(struct maker *maker, const void *bytes, size_t size)
{
	memcpy(maker->out + maker->used, bytes, size);
	maker->used += size;
}

/* A name of a few characters; returns its size with the NUL. */
static uint16_t put_name(struct maker *maker, const char *letters)
{
	uint8_t shape = fuzz_u8(maker->in);
	size_t nr = strlen(letters);
	size_t length = shape < 240 ? shape % 8 : shape;

	for (size_t i = 0; i < length; i++) {
		size_t pick =
			i < 8 ? fuzz_below(maker->in, (uint32_t)nr) : i % nr;

		put(maker, &letters[pick], 1);
	}
	put(maker, "", 1);
	return (uint16_t)(length + 1);
}

static uint16_t put_event_name(struct maker *maker)
{
	put(maker, "e", 1);
	return (uint16_t)(put_name(maker, "abzAZ_019.-") + 1);
}

static const char expression[] = "ab_19 ->.[]()*&+\"\\{};:,/x=<>";

static void put_label(struct maker *maker, int64_t first, int64_t last)
{
	struct sonde_desc_label label = { .first = first, .last = last };
	size_t at = maker->used;

	put(maker, &label, sizeof(label));
	label.name_size = put_name(maker, expression);
	memcpy(maker->out + at, &label, sizeof(label));
}

/* As a tag's, label i for the value i, or with any values. */
static uint32_t put_labels(struct maker *maker)
{
	bool tag = fuzz_u8(maker->in) & 1;
	uint32_t count = 1 + fuzz_below(maker->in, 40);

	for (uint32_t i = 0; i < count && maker->used < FULL; i++) {
		if (tag) {
			put_label(maker, i, i);
		} else {
			int64_t first = (int64_t)fuzz_number(maker->in);

			put_label(maker, first,
				  first | fuzz_below(maker->in, 16));
		}
	}
	maker->tag_labels = tag ? count : 0;
	return count;
}

static const uint8_t widths[] = { 8, 16, 32, 64 };

static void choose_scalar(struct maker *maker, struct sonde_desc_field *field)
{
	field->flags = fuzz_u8(maker->in);
	field->bits = widths[fuzz_below(maker->in, 4)];
	switch (field->kind) {
	case SONDE_TYPE_INT:
		field->flags &= 63;
		break;
	case SONDE_TYPE_ENUM:
		field->flags &= SONDE_FIELD_SIGNED | SONDE_FIELD_NETWORK;
		break;
	case SONDE_TYPE_FLOAT:
		field->bits |= 32;
		field->bits &= 96;
		field->bits = field->bits == 96 ? 64 : field->bits;
		field->flags &= SONDE_FIELD_NETWORK;
		break;
	case SONDE_TYPE_BITS:
		field->bits = (uint8_t)(1 + fuzz_below(maker->in, 64));
		field->flags &= SONDE_FIELD_SIGNED | SONDE_FIELD_HEX;
		break;
	default:
		field->bits = 0;
		field->flags = 0;
		break;
	}
}

static const uint8_t element_kinds[] = { SONDE_TYPE_INT, SONDE_TYPE_FLOAT,
					 SONDE_TYPE_ENUM, SONDE_TYPE_BITS };

static void put_field(struct maker *maker, uint8_t kind);

/* What a structure or variant consists of; returns how many there are. */
static uint32_t put_children(struct maker *maker, uint32_t count)
{
	uint32_t nr = 0;

	maker->depth++;
	maker->tag_labels = 0;
	for (; nr < count && maker->used < FULL; nr++)
		put_field(maker, 0);
	maker->depth--;
	maker->tag_labels = 0;
	return nr;
}

static void put_extra(struct maker *maker, struct sonde_desc_field *field,
		      uint32_t tag_labels)
{
	switch (field->kind) {
	case SONDE_TYPE_ENUM:
		field->count = put_labels(maker);
		break;
	case SONDE_TYPE_STRUCT:
		field->count = put_children(maker, fuzz_below(maker->in, 6));
		break;
	case SONDE_TYPE_VARIANT:
		field->count = put_children(maker, tag_labels);
		break;
	case SONDE_TYPE_ARRAY:
	case SONDE_TYPE_SEQUENCE:
		field->count = 1 + (uint16_t)fuzz_number(maker->in);
		put_field(maker, element_kinds[fuzz_below(maker->in, 4)]);
		maker->tag_labels = 0;
		break;
	case SONDE_TYPE_TEXT:
	case SONDE_TYPE_STRING:
		field->count = 1 + (uint16_t)fuzz_number(maker->in);
		break;
	default:
		break;
	}
}

/* `kind` 0: any. Calls itself by way of put_extra(), until `depth` ends it. */
static void put_field(struct maker *maker, uint8_t kind)
{
	uint32_t tag_labels = maker->tag_labels;
	struct sonde_desc_field field = { .kind = kind };
	size_t at = maker->used;

	if (!kind)
		field.kind =
			(uint8_t)(1 + fuzz_below(maker->in, SONDE_TYPE_BITS));
	if (field.kind == SONDE_TYPE_VARIANT && !tag_labels)
		field.kind = SONDE_TYPE_ENUM;
	if (maker->depth > 4)
		field.kind = SONDE_TYPE_INT;
	maker->tag_labels = 0;
	choose_scalar(maker, &field);
	put(maker, &field, sizeof(field));
	field.name_size = put_name(maker, expression);
	put_extra(maker, &field, tag_labels);
	field.size = (uint32_t)(maker->used - at);
	memcpy(maker->out + at, &field, sizeof(field));
}

/* What is left of the input changes single bytes. */
static void spoil(struct maker *maker)
{
	while (maker->in->left >= 3) {
		size_t at = fuzz_u16(maker->in) % maker->used;

		maker->out[at] ^= fuzz_u8(maker->in);
	}
}

size_t fuzz_describe(struct fuzz_input *in, uint8_t *out)
{
	struct maker maker = { .in = in, .out = out };
	struct sonde_desc desc = {
		.version = SONDE_ABI_VERSION,
	};
	uint32_t nr;

	desc.line = fuzz_u8(in);
	desc.loglevel = (uint8_t)fuzz_below(in, 16);
	nr = fuzz_below(in, 36);
	memcpy(desc.magic, SONDE_DESC_MAGIC, 8);
	put(&maker, &desc, sizeof(desc));
	desc.provider_size = put_event_name(&maker);
	desc.name_size = put_event_name(&maker);
	for (; desc.nr_fields < nr && maker.used < FULL; desc.nr_fields++)
		put_field(&maker, 0);
	while (maker.used % 8)
		put(&maker, "", 1);
	desc.size = (uint32_t)maker.used;
	if (nr == 35)
		desc.nr_fields = UINT16_MAX;
	memcpy(out, &desc, sizeof(desc));
	spoil(&maker);
	return maker.used;
}
