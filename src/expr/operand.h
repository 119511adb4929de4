/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * operand.h - the operands of a condition: fields of a payload, also those that
 * aren't at fixed places.
 *
 * A payload is fixed parts with fields of varying length (strings, sequences,
 * blobs) between them. So a field's place is how many varying ones are before
 * it, and its offset behind the last of those; it is found by passing over what
 * is before it. What says so has no pointers, so it can be handed to another
 * process as it is (session/filters.h).
 *
 * The payload is a list of parts, as sonde_emit_parts() has it; a field lies
 * within one of them. A payload in one piece is one part. Nothing beyond the
 * parts is read, whatever they hold.
 *
 * Freestanding; any context. Cost: passes over the fields before it.
 */
#ifndef EXPR_OPERAND_H
#define EXPR_OPERAND_H

#include <stdint.h>

#include <sonde/abi.h>

#include "expr/expr.h"

enum sonde_operand_shape {
	SONDE_OPERAND_NUMBER,
	SONDE_OPERAND_TEXT,     /* a fixed array of characters */
	SONDE_OPERAND_STRING,   /* up to a NUL */
	SONDE_OPERAND_ARRAY,    /* of numbers */
	SONDE_OPERAND_SEQUENCE, /* the same, behind a u32 */
	SONDE_OPERAND_LETTERS,  /* a sequence of characters: up to a NUL */
	SONDE_OPERAND_BYTES,    /* a sequence of bytes, all of it as a text */
};

/* A field of varying length. */
struct sonde_operand_varying {
	uint32_t gap;  /* bytes between it and the one before it */
	uint32_t unit; /* bytes of an element behind a u32; 0: a string */
};

struct sonde_operand_field {
	uint8_t shape;    /* enum sonde_operand_shape */
	uint8_t type;     /* of numbers: enum sonde_expr_type */
	uint8_t bytes;    /* of a number: 1, 2, 4 or 8 */
	uint8_t swap;     /* not in the machine's byte order */
	uint32_t count;   /* of a text */
	uint32_t ordinal; /* varying fields before it */
	uint32_t offset;  /* behind the last of those */
	uint32_t index;   /* in an array or sequence */
};

struct sonde_operand_record {
	const struct sonde_part *parts;
	uint32_t nr_parts;
	const struct sonde_operand_varying *varying;
};

/* 0, or -ENOENT: the payload doesn't have it. A text is borrowed from the
 * payload. */
int sonde_operand_read(const struct sonde_operand_record *record,
		       const struct sonde_operand_field *field,
		       struct sonde_expr_value *ret_value);

/* Bytes of a payload in one part: up to behind its last varying field, which
 * has the number nr_varying - 1, and `tail` more. False: they aren't all there.
 */
bool sonde_operand_whole(const struct sonde_operand_record *record,
			 uint32_t nr_varying, uint32_t tail, size_t *ret_bytes);

#endif /* EXPR_OPERAND_H */
