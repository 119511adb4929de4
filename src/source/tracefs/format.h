/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * format.h - what the kernel says about the layout of its trace records: the
 * files events/GROUP/NAME/format, events/header_page and events/header_event.
 *
 * Our own parser, not libtraceevent's: that one is a dependency of 20,000 lines
 * whose larger part is for print formats, which we never look at; it keeps a
 * dozen allocations for each event, and a recording may have 700 of them. What
 * we need is in lines of one shape,
 *
 *	field:TYPE NAME[N];	offset:O;	size:S;	signed:B;
 *
 * and is taken into one flat structure, without an allocation, in about 2 us.
 *
 * Invariants of what parses:
 *  1. names are identifiers, at most SONDE_FORMAT_NAME - 1 bytes;
 *  2. offset + size is at most SONDE_FORMAT_SPAN, size is not 0 (fields of no
 *     size, which are names for the record's end, are left out);
 *  3. integers have 1, 2, 4 or 8 bytes; arrays have whole elements of 1, 2, 4
 *     or 8; strings and sequences are located by 4 bytes.
 *
 * Types with names that we don't know are taken by their size. Text may be cut
 * off anywhere or be anything: events of user programs (user_events) have
 * formats that these programs wrote. Pure functions.
 */
#ifndef SOURCE_TRACEFS_FORMAT_H
#define SOURCE_TRACEFS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_FORMAT_NAME   64u
#define SONDE_FORMAT_FIELDS 64u
#define SONDE_FORMAT_SPAN   65535u

enum sonde_format_kind {
	SONDE_FORMAT_INT,
	SONDE_FORMAT_TEXT,     /* char NAME[N] */
	SONDE_FORMAT_ARRAY,    /* of `element` bytes each */
	SONDE_FORMAT_STRING,   /* __data_loc char[] NAME */
	SONDE_FORMAT_SEQUENCE, /* __data_loc TYPE[] NAME */
};

struct sonde_format_field {
	char name[SONDE_FORMAT_NAME];
	enum sonde_format_kind kind;
	uint32_t offset;
	uint32_t size;
	uint8_t element;  /* bytes of one: ARRAY, SEQUENCE */
	bool is_signed;   /* numbers, or elements */
	bool is_pointer;  /* an address, by its type or name */
	bool is_bool;     /* 0 or 1 */
	bool is_relative; /* located from the field's end, not the record's
			     start */
	bool is_common;   /* every event has it */
};

struct sonde_format {
	char name[SONDE_FORMAT_NAME];
	uint32_t id;
	uint32_t nr;
	bool is_cut; /* it has more fields than fit */
	struct sonde_format_field fields[SONDE_FORMAT_FIELDS];
};

/* 0, or -EINVAL. */
int sonde_format_parse(const char *text, size_t size,
		       struct sonde_format *ret_format);

/* A field by its name, or NULL. */
const struct sonde_format_field *
sonde_format_find(const struct sonde_format *format, const char *name);

/* Where things are in a sub-buffer (a page of the ring buffer, if the kernel
 * was not told otherwise). */
struct sonde_format_page {
	uint32_t commit_offset;
	uint32_t commit_size; /* 4 or 8 */
	uint32_t data_offset; /* at least 8 + commit_size */
	uint32_t data_size;
};

/* 0, or -EINVAL. */
int sonde_format_parse_page(const char *text, size_t size,
			    struct sonde_format_page *ret_page);

/* Whether events/header_event tells of the records page.h knows. */
bool sonde_format_event_header_is_known(const char *text, size_t size);

#endif /* SOURCE_TRACEFS_FORMAT_H */
