/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * operand.c - a field of a payload whose place depends on what is before it
 * (operand.h).
 *
 * A place is a part and an offset in it, and only moves on; nothing beyond the
 * parts is read, whatever lengths they hold. Linear in the varying fields
 * before the one that is wanted. No C library.
 */
#include "expr/operand.h"

#include <errno.h>
#include <string.h>

/* A place in a payload. */
struct cursor {
	const struct sonde_part *part;
	uint32_t left; /* parts, with this one */
	uint64_t at;   /* in this one */
};

/* Whether there is something at the place; then it is in c->part. */
static bool settle(struct cursor *c)
{
	while (c->left) {
		uint64_t size = (uint64_t)c->part->size +
				(c->part->flags & SONDE_PART_STRING);

		if (c->at < size)
			return true;
		c->at -= size;
		c->part++;
		c->left--;
	}
	return false;
}

/* Moves on by `size` bytes, all in one part; NULL: they aren't there. */
static const char *take(struct cursor *c, uint64_t size)
{
	const char *from;

	if (!size)
		return "";
	if (!settle(c) || c->at > c->part->size || c->part->size - c->at < size)
		return NULL;
	from = (const char *)c->part->data + c->at;
	c->at += size;
	return from;
}

/* Moves on behind the string there; NULL if it has no end. */
static const char *take_string(struct cursor *c, size_t *ret_length)
{
	const char *from;
	const char *nul;
	size_t room;

	if (!settle(c))
		return NULL;
	from = (const char *)c->part->data + c->at;
	room = (size_t)(c->part->size - c->at);
	nul = room ? memchr(from, 0, room) : NULL;
	*ret_length = nul ? (size_t)(nul - from) : room;
	if (c->part->flags & SONDE_PART_STRING) {
		/* It ends with its part, even if it is shorter by now. */
		c->at = (uint64_t)c->part->size + 1;
		return from;
	}
	c->at += *ret_length + 1;
	return nul ? from : NULL;
}

/* Moves on behind a u32 and as many elements, of which it gives the first. */
static const char *take_list(struct cursor *c, uint32_t unit, uint32_t *ret_nr)
{
	const char *from = take(c, sizeof(*ret_nr));

	if (!from)
		return NULL;
	memcpy(ret_nr, from, sizeof(*ret_nr));
	return take(c, (uint64_t)*ret_nr * unit);
}

static bool pass_over(struct cursor *c,
		      const struct sonde_operand_varying *varying)
{
	size_t length;
	uint32_t nr;

	c->at += varying->gap;
	if (!varying->unit)
		return take_string(c, &length) != NULL;
	return take_list(c, varying->unit, &nr) != NULL;
}

/* Some low bytes of a slot as a number of 64 bits. */
static uint64_t widen(const struct sonde_operand_field *field, uint64_t slot)
{
	unsigned int unused = 64 - 8u * field->bytes;

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		slot >>= unused;
	if (field->swap)
		slot = __builtin_bswap64(slot) >> unused;
	slot <<= unused;
	return field->type == SONDE_EXPR_INT ?
		       (uint64_t)((int64_t)slot >> unused) :
		       slot >> unused;
}

/* Where there are no doubles, programs don't compute with them. */
static int fetch_float(uint32_t bits, struct sonde_expr_value *ret)
{
#ifdef SONDE_NO_DOUBLES
	(void)bits;
	(void)ret;
	return -ENOENT;
#else
	float single;

	memcpy(&single, &bits, sizeof(single));
	ret->d = single;
	return 0;
#endif
}

static int fetch_number(struct cursor *c,
			const struct sonde_operand_field *field,
			struct sonde_expr_value *ret)
{
	uint64_t at = (uint64_t)field->index * field->bytes;
	uint64_t slot = 0;
	uint32_t length;
	const char *from;

	if (!field->bytes || field->bytes > sizeof(slot))
		return -ENOENT;
	if (field->shape == SONDE_OPERAND_SEQUENCE) {
		from = take_list(c, field->bytes, &length);
		if (!from || field->index >= length)
			return -ENOENT;
		from += at;
	} else {
		c->at += at;
		from = take(c, field->bytes);
	}
	if (!from)
		return -ENOENT;
	memcpy(&slot, from, field->bytes);
	ret->type = (enum sonde_expr_type)field->type;
	ret->u = widen(field, slot);
	if (ret->type == SONDE_EXPR_DOUBLE && field->bytes == sizeof(float))
		return fetch_float((uint32_t)ret->u, ret);
	return 0;
}

static int fetch_text(struct cursor *c, const struct sonde_operand_field *field,
		      struct sonde_expr_value *ret)
{
	size_t length = field->count;
	uint32_t letters;
	const char *from;

	if (field->shape == SONDE_OPERAND_STRING) {
		from = take_string(c, &length);
	} else {
		if (field->shape == SONDE_OPERAND_TEXT) {
			from = take(c, length);
		} else {
			letters = 0;
			from = take_list(c, 1, &letters);
			length = letters;
		}
		if (from && field->shape != SONDE_OPERAND_BYTES)
			length = strnlen(from, length);
	}
	if (!from || length > UINT32_MAX)
		return -ENOENT;
	ret->type = SONDE_EXPR_STRING;
	ret->text = from;
	ret->length = (uint32_t)length;
	return 0;
}

/* Behind that many varying fields; false: they aren't there. */
static bool pass_all(struct cursor *c,
		     const struct sonde_operand_record *record,
		     uint32_t nr_varying)
{
	for (uint32_t i = 0; i < nr_varying; i++) {
		if (!pass_over(c, &record->varying[i]))
			return false;
	}
	return true;
}

bool sonde_operand_whole(const struct sonde_operand_record *record,
			 uint32_t nr_varying, uint32_t tail, size_t *ret_bytes)
{
	struct cursor c = { record->parts, record->nr_parts, 0 };

	if (!pass_all(&c, record, nr_varying) || c.at > c.part->size ||
	    c.part->size - c.at < tail)
		return false;
	*ret_bytes = (size_t)c.at + tail;
	return true;
}

int sonde_operand_read(const struct sonde_operand_record *record,
		       const struct sonde_operand_field *field,
		       struct sonde_expr_value *ret_value)
{
	struct cursor c = { record->parts, record->nr_parts, 0 };

	if (!pass_all(&c, record, field->ordinal))
		return -ENOENT;
	c.at += field->offset;
	switch (field->shape) {
	case SONDE_OPERAND_NUMBER:
	case SONDE_OPERAND_ARRAY:
	case SONDE_OPERAND_SEQUENCE:
		return fetch_number(&c, field, ret_value);
	default:
		return fetch_text(&c, field, ret_value);
	}
}
