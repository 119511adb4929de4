/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * page.h - walk through a sub-buffer of the kernel's ring buffer, as read() of
 * trace_pipe_raw delivers it.
 *
 *	u64	time of the first record, less its delta
 *	commit	bytes of records; bit 31: events were overwritten before this
 *		sub-buffer; bit 30: how many follows the records (a long)
 *	records
 *
 * A record starts with a 32-bit word: 5 bits of type and 27 bits of time since
 * the record before (in the machine's order of bit fields):
 *
 *	0	data: a word with its length + 4, then the data
 *	1..28	data: that many words
 *	29	padding: up to the end if the delta is 0; else a record that was
 *		taken back: a word with its length
 *	30	time goes on: a word with the upper bits of a delta
 *	31	time is: a word with bits 27..58 of the time itself
 *
 * Interrupts nest: a record reserved inside another's writing comes after it,
 * in time too, with a delta of 0 or a time of its own if the kernel could not
 * tell the delta. Here they are records like any other. A record that was taken
 * back keeps its delta, since the next one's counts from it; 1 stands for 0
 * there.
 *
 * The commit word may be read while the kernel still writes to the sub-buffer:
 * read() gives a copy that doesn't change, with the records that are complete,
 * and the others later, as another sub-buffer.
 *
 * Nothing is believed: what doesn't fit into its surroundings is -EPROTO.
 */
#ifndef SOURCE_TRACEFS_PAGE_H
#define SOURCE_TRACEFS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/tracefs/format.h"

struct sonde_page {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t ts;     /* of the record before */
	uint64_t missed; /* events lost before this, if it is known */
	bool has_missed;
	bool is_missed_known;
};

struct sonde_page_record {
	const uint8_t *data;
	uint32_t size;
	uint64_t ts;
};

/* `bytes` are borrowed as long as the walk goes on. 0 or -EPROTO. */
int sonde_page_open(const struct sonde_format_page *layout, const void *bytes,
		    size_t size, struct sonde_page *ret_page);

/* 1 and a record of the page's bytes; 0 at its end; -EPROTO. After 0 or an
 * error the same is returned again. */
int sonde_page_next(struct sonde_page *page,
		    struct sonde_page_record *ret_record);

#endif /* SOURCE_TRACEFS_PAGE_H */
