/* SPDX-License-Identifier: MIT */
/*
 * frame_blocks.c - what is in a trace frame's blocks (frames.h). They were
 * made by blocks.c, so they are whole; they are checked all the same, since
 * that costs nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "gdb/frames.h"
#include "gdb/registers.h"

struct block {
	char kind;
	uint64_t address; /* of 'M' */
	int32_t number;   /* of 'V' */
	const uint8_t *bytes;
	size_t nr;
};

/* The next one. `*at` is the first of `frame` before the first call. */
static bool next_block(const struct sonde_gdb_frame *frame, size_t *at,
		       struct block *block)
{
	const uint8_t *from = frame->blocks + *at;
	size_t left = frame->nr_bytes - *at;
	size_t head = 1;
	uint16_t nr = 0;

	if (left == 0)
		return false;
	block->kind = (char)from[0];
	if (block->kind == 'R') {
		nr = SONDE_GDB_G_BYTES;
	} else if (block->kind == 'M' && left >= 11) {
		head = 11;
		memcpy(&block->address, from + 1, sizeof(block->address));
		memcpy(&nr, from + 9, sizeof(nr));
	} else if (block->kind == 'V' && left >= 13) {
		head = 5;
		memcpy(&block->number, from + 1, sizeof(block->number));
		nr = sizeof(int64_t);
	} else {
		return false;
	}
	if (left < head + nr)
		return false;
	block->bytes = from + head;
	block->nr = nr;
	*at += head + nr;
	return true;
}

int sonde_gdb_frame_register(const struct sonde_gdb_frame *frame,
			     unsigned int number, uint64_t *ret_value)
{
	struct block block;
	unsigned int offset;
	unsigned int size;
	uint64_t value = 0;
	size_t at = 0;

	if (number >= 32 || !(frame->registers >> number & 1) ||
	    !sonde_gdb_register_place(number, &offset, &size) ||
	    size > sizeof(value))
		return -ENODATA;
	while (next_block(frame, &at, &block)) {
		if (block.kind != 'R')
			continue;
		memcpy(&value, block.bytes + offset, size);
		*ret_value = value;
		return 0;
	}
	return -ENODATA;
}

/* As many bytes as one block has from there on. */
static size_t read_block(const struct sonde_gdb_frame *frame, uint64_t address,
			 uint8_t *to, size_t size)
{
	struct block block;
	size_t at = 0;

	while (next_block(frame, &at, &block)) {
		uint64_t skip = address - block.address;

		if (block.kind != 'M' || skip >= block.nr)
			continue;
		if (size > block.nr - skip)
			size = block.nr - (size_t)skip;
		memcpy(to, block.bytes + skip, size);
		return size;
	}
	return 0;
}

size_t sonde_gdb_frame_memory(const struct sonde_gdb_frame *frame,
			      uint64_t address, uint8_t *to, size_t size)
{
	size_t done = 0;
	size_t nr;

	while (done < size) {
		nr = read_block(frame, address + done, to + done, size - done);
		if (nr == 0)
			break;
		done += nr;
	}
	return done;
}

int sonde_gdb_frame_variable(const struct sonde_gdb_frame *frame,
			     uint32_t number, int64_t *ret_value)
{
	struct block block;
	size_t at = 0;
	int rc = -ENODATA;

	while (next_block(frame, &at, &block)) {
		if (block.kind != 'V' || (uint32_t)block.number != number)
			continue;
		memcpy(ret_value, block.bytes, sizeof(*ret_value));
		rc = 0;
	}
	return rc;
}

size_t sonde_gdb_frame_info(const struct sonde_gdb_frame *frame, char *to,
			    size_t size)
{
	struct sonde_text text = { .to = to, .size = size };
	struct block block;
	size_t at = 0;

	sonde_text_add(&text, "<!DOCTYPE traceframe-info SYSTEM "
			      "\"traceframe-info.dtd\">\n<traceframe-info>\n");
	while (next_block(frame, &at, &block)) {
		if (block.kind == 'M')
			sonde_text_add(&text,
				       "<memory start=\"0x%" PRIx64
				       "\" length=\"0x%zx\"/>\n",
				       block.address, block.nr);
		else if (block.kind == 'V')
			sonde_text_add(&text, "<tvar id=\"0x%x\"/>\n",
				       (uint32_t)block.number);
	}
	sonde_text_add(&text, "</traceframe-info>\n");
	return text.length;
}
