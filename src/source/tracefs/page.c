/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * page.c - a walk through a sub-buffer of the kernel's ring buffer (page.h).
 *
 * No record reaches beyond the committed bytes: lengths are compared with what
 * is left before they are used. Times go on from record to record, so the walk
 * is forward only.
 */
#include "source/tracefs/page.h"

#include <errno.h>
#include <string.h>

#define COMMIT_MASK    ((UINT64_C(1) << 27) - 1)
#define COMMIT_MISSED  (UINT64_C(1) << 31)
#define COMMIT_COUNTED (UINT64_C(1) << 30)

#define TYPE_LONG      0u
#define TYPE_PADDING   29u
#define TYPE_EXTEND    30u
#define TYPE_STAMP     31u

#define DELTA_BITS     27
/* An absolute time has 59 bits; the upper ones are those of the time before. */
#define STAMP_BITS 59

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* A number of 4 or 8 bytes. */
static uint64_t number_at(const uint8_t *at, size_t size)
{
	uint64_t number;

	if (size == 4)
		return word_at(at);
	memcpy(&number, at, sizeof(number));
	return number;
}

static void split_word(uint32_t word, uint32_t *ret_type, uint32_t *ret_delta)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	*ret_type = word & 31;
	*ret_delta = word >> 5;
#else
	*ret_type = word >> DELTA_BITS;
	*ret_delta = word & ((1u << DELTA_BITS) - 1);
#endif
}

int sonde_page_open(const struct sonde_format_page *layout, const void *bytes,
		    size_t size, struct sonde_page *ret_page)
{
	const uint8_t *at = bytes;
	uint64_t commit;
	uint64_t used;

	if (size < layout->data_offset)
		return -EPROTO;
	commit = number_at(at + layout->commit_offset, layout->commit_size);
	used = commit & COMMIT_MASK;
	if (used > size - layout->data_offset)
		return -EPROTO;
	*ret_page = (struct sonde_page){
		.at = at + layout->data_offset,
		.end = at + layout->data_offset + used,
		.ts = number_at(at, 8),
		.has_missed = commit & COMMIT_MISSED,
	};
	if (commit & COMMIT_MISSED && commit & COMMIT_COUNTED &&
	    size - layout->data_offset - used >= layout->commit_size) {
		ret_page->missed =
			number_at(ret_page->end, layout->commit_size);
		ret_page->is_missed_known = true;
	}
	return 0;
}

/* The 59 bits of an absolute time, which is after `last`. */
static uint64_t whole_stamp(uint64_t stamp, uint64_t last)
{
	uint64_t high = last >> STAMP_BITS << STAMP_BITS;

	if (!high)
		return stamp;
	stamp |= high;
	return stamp < last ? stamp + (UINT64_C(1) << STAMP_BITS) : stamp;
}

/* A time record or padding, of which the first word is read. Moves on; 1, or 0
 * at the end of the page. */
static int page_pass_over(struct sonde_page *page, uint32_t type,
			  uint32_t delta)
{
	uint32_t word;

	if (type == TYPE_PADDING && !delta) {
		page->at = page->end;
		return 0;
	}
	if (page->end - page->at < 8)
		return -EPROTO;
	word = word_at(page->at + 4);
	if (type == TYPE_STAMP) {
		page->ts = whole_stamp((uint64_t)word << DELTA_BITS | delta,
				       page->ts);
	} else if (type == TYPE_EXTEND) {
		page->ts += ((uint64_t)word << DELTA_BITS) + delta;
	} else {
		if (word < 4 || word > (size_t)(page->end - page->at) - 4)
			return -EPROTO;
		page->ts += delta > 1 ? delta : 0;
		page->at += 4 + (size_t)word;
		return 1;
	}
	page->at += 8;
	return 1;
}

int sonde_page_next(struct sonde_page *page,
		    struct sonde_page_record *ret_record)
{
	while (page->end - page->at >= 4) {
		size_t left = (size_t)(page->end - page->at) - 4;
		uint32_t type;
		uint32_t delta;
		uint32_t size;
		uint32_t head = 4;
		int rc;

		split_word(word_at(page->at), &type, &delta);
		if (type >= TYPE_PADDING) {
			rc = page_pass_over(page, type, delta);
			if (rc <= 0)
				return rc;
			continue;
		}
		size = type * 4;
		if (type == TYPE_LONG) {
			if (left < 4)
				return -EPROTO;
			size = word_at(page->at + 4);
			if (size < 4 || size > left)
				return -EPROTO;
			size -= 4;
			head = 8;
		} else if (size > left) {
			return -EPROTO;
		}
		page->ts += delta;
		ret_record->data = page->at + head;
		ret_record->size = size;
		ret_record->ts = page->ts;
		page->at += head + size;
		return 1;
	}
	return page->at == page->end ? 0 : -EPROTO;
}
