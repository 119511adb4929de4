/* SPDX-License-Identifier: MIT */
/*
 * filters.h - the conditions of events, as a recorder hands them to a process.
 *
 * A slot whose `filters` isn't 0 has conditions. The process then asks, for
 * events that it has registered: over a new connection to the recorder, one
 * sonde_filters_ask. It is answered by one sonde_welcome (hello.h), with the
 * descriptor of a memory file:
 *
 *	struct sonde_filters_file
 *	struct sonde_filters_rule[nr], for those events that have a condition
 *	code, programs (expr/program.h), fields and what is to be passed over
 *	for them (expr/operand.h), at multiples of 16
 *
 * Nobody can write to the file any more: it is sealed. So the process may map
 * it executable, and nobody has it writable. Nothing in it depends on where it
 * is mapped.
 *
 * The process trusts the file, as its recorder runs as the same user, or as
 * root. The recorder trusts nothing of the question: an event's number is held
 * against its own bounds, and a wrong `filters` finds no arena, or another's,
 * of which the answer tells nothing but what the user's conditions are.
 */
#ifndef RING_FILTERS_H
#define RING_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_FILTERS_MAGIC 0x72746c6966444e53ull /* "SNDfiltr" */

/* Events that can be asked for at a time. */
#define SONDE_FILTERS_ASK 256u

/* Bytes at the payload's beginning that a program may read as memory. */
#define SONDE_FILTER_HEAD 512u

struct sonde_filters_ask {
	uint64_t magic;
	uint32_t version; /* SONDE_HELLO_VERSION */
	uint32_t nr;
	uint64_t filters;                  /* as the slot has it */
	uint32_t index[SONDE_FILTERS_ASK]; /* of entries; `nr` are sent */
};

struct sonde_filters_file {
	uint64_t magic;
	uint32_t slot;
	uint32_t nr;
};

enum sonde_filter_kind {
	SONDE_FILTER_NONE = 0,
	SONDE_FILTER_NEVER = 1, /* false, whatever the payload is */
	SONDE_FILTER_TEST = 2,
	SONDE_FILTER_ALWAYS = 3, /* there are values to be had of it */
};

/* What a slot that tallies wants of an event (layout.h): the value, if any, then
 * the keys. */
enum sonde_filter_value_kind {
	SONDE_FILTER_VALUE_NONE = 0,
	SONDE_FILTER_VALUE_FIELD = 1,  /* of the payload, at `offset` */
	SONDE_FILTER_VALUE_WHENCE = 2, /* likewise of base 1 */
	SONDE_FILTER_VALUE_PROGRAM = 3,
};

struct sonde_filter_value {
	uint8_t kind;  /* enum sonde_filter_value_kind */
	uint8_t bytes; /* 1, 2, 4 or 8 */
	uint8_t is_signed;
	uint8_t swap;
	uint32_t offset;
	uint32_t program; /* as in struct sonde_filters_rule */
	uint32_t fields;
	uint32_t nr_fields;
};

#define SONDE_FILTER_VALUES 3u

/* A value, or a key. */
struct sonde_filter_number {
	uint64_t number;
	bool is_there;
	bool is_signed;
};

/* The number that lies there. */
static inline uint64_t sonde_filter_load(const struct sonde_filter_value *value,
					 const unsigned char *from)
{
	uint64_t number;
	uint32_t half;
	uint16_t quarter;

	switch (value->bytes) {
	case 1:
		return value->is_signed ? (uint64_t)(int8_t)*from : *from;
	case 2:
		__builtin_memcpy(&quarter, from, sizeof(quarter));
		if (value->swap)
			quarter = __builtin_bswap16(quarter);
		return value->is_signed ? (uint64_t)(int16_t)quarter : quarter;
	case 4:
		__builtin_memcpy(&half, from, sizeof(half));
		if (value->swap)
			half = __builtin_bswap32(half);
		return value->is_signed ? (uint64_t)(int32_t)half : half;
	default:
		__builtin_memcpy(&number, from, sizeof(number));
		return value->swap ? __builtin_bswap64(number) : number;
	}
}

/* Base 1 of programs (source/condition.h). */
struct sonde_filter_whence {
	uint32_t tid;
	uint32_t cpu;
};

/* Places are offsets in the file; 0: there is none. */
struct sonde_filters_rule {
	uint32_t index; /* of the event's entry */
	uint32_t kind;
	uint32_t code; /* bool f(const uint8_t *payload,
			  const struct sonde_filter_whence *) */
	uint32_t program;
	uint32_t fields; /* struct sonde_operand_field, by a call's ref */
	uint32_t nr_fields;
	uint32_t varying; /* struct sonde_operand_varying */
	uint32_t needed;  /* of the payload: <= SONDE_FILTER_HEAD */
	uint32_t whence;  /* whether it, or a value, reads base 1 */
	uint32_t values;  /* struct sonde_filter_value[SONDE_FILTER_VALUES] */
};

#endif /* RING_FILTERS_H */
