/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * parse.h - a file's .eh_frame as rows of ring/stacks.h.
 *
 * Bytes in, rows out; nothing in them is believed. What a row can't say becomes
 * SONDE_UNWIND_NONE: expressions, a CFA from another register than the stack's
 * and the frame's pointer, a return address that is elsewhere. One expression
 * is known: the C library's, for the frame that the kernel makes for a signal
 * handler. Code between entries becomes SONDE_UNWIND_GAP.
 *
 * Cost: one pass and a sort; 8 bytes a row, some three rows a function. Of a file
 * where few addresses are asked for, an index is made instead: where each function's
 * entry is, 8 bytes, and no entry is run but the one that is asked for.
 */
#ifndef SOURCE_UNWIND_PARSE_H
#define SOURCE_UNWIND_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "ring/stacks.h"

struct sonde_source_unwind_rows {
	struct sonde_stacks_row *rows; /* ordered by pc; for free() */
	uint32_t nr;
};

/* Where the section is, and which code is wanted, as the file's addresses. */
struct sonde_source_unwind_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	uint64_t code_begin, code_end; /* less than 4 GiB apart */
};

/* Rows' addresses are from code_begin. What is damaged ends it: what came before
 * counts. -ENOMEM. */
int sonde_source_unwind_parse(const struct sonde_source_unwind_section *section,
			      struct sonde_source_unwind_rows *ret_rows);

/* Where the entry is of the code from pc on, up to the next one's at most. */
struct sonde_source_unwind_entry {
	uint32_t pc; /* from code_begin */
	uint32_t at; /* from the section's begin */
};

struct sonde_source_unwind_index {
	struct sonde_source_unwind_entry *entries; /* by pc; for free() */
	uint32_t nr;
};

/* 0 or -ENOMEM; as above. */
int sonde_source_unwind_make_index(
	const struct sonde_source_unwind_section *section,
	struct sonde_source_unwind_index *ret_index);

/* The rule of the code at an address of the file's; SONDE_UNWIND_GAP: no entry is
 * about it; SONDE_UNWIND_NONE, too, without memory. */
uint32_t
sonde_source_unwind_rule(const struct sonde_source_unwind_section *section,
			 const struct sonde_source_unwind_index *index,
			 uint64_t address);

#endif /* SOURCE_UNWIND_PARSE_H */
