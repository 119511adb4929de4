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
 * Cost: one pass and a sort; 8 bytes a row, some three rows a function.
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

#endif /* SOURCE_UNWIND_PARSE_H */
