/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - from a recorded payload to the blocks of a GDB trace frame.
 *
 * The payload is gone through twice: where its parts are, up to the addresses
 * at its end; then each part with its address. It comes from a file: whatever
 * doesn't fit the plan is refused.
 */
#include "gdb/blocks.h"

#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "gdb/registers.h"
#include "probe/collect.h"

/* A payload, and how far it has been read. */
struct payload {
	const uint8_t *bytes;
	size_t size;
	size_t at;
	bool has_fixed_texts;
};

void sonde_gdb_blocks_put(struct sonde_gdb_blocks *blocks, const void *bytes,
			  size_t nr)
{
	if (nr && blocks->length <= blocks->room &&
	    nr <= blocks->room - blocks->length)
		memcpy(blocks->to + blocks->length, bytes, nr);
	blocks->length += nr;
}

static void blocks_put_memory(struct sonde_gdb_blocks *blocks, uint64_t address,
			      const uint8_t *bytes, uint16_t nr)
{
	if (!nr)
		return;
	sonde_gdb_blocks_put(blocks, "M", 1);
	sonde_gdb_blocks_put(blocks, &address, sizeof(address));
	sonde_gdb_blocks_put(blocks, &nr, sizeof(nr));
	sonde_gdb_blocks_put(blocks, bytes, nr);
}

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static bool blocks_has(const struct payload *payload, size_t nr)
{
	return nr <= payload->size - payload->at;
}

/* Bytes that an item has in the payload, at its place; false: it doesn't
 * fit. */
static bool blocks_item_bytes(const struct sonde_agent_item *item,
			      const struct payload *payload, uint32_t nr_places,
			      size_t *ret_bytes)
{
	const uint8_t *at = payload->bytes + payload->at;
	const uint8_t *nul;
	uint32_t length;

	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		*ret_bytes = 8 * (size_t)__builtin_popcountll(item->mask);
		break;
	case SONDE_AGENT_ITEM_MEMORY:
	case SONDE_AGENT_ITEM_PROGRAM:
		*ret_bytes = item->length;
		break;
	case SONDE_AGENT_ITEM_VALUE:
	case SONDE_AGENT_ITEM_VARIABLE:
		*ret_bytes = sizeof(uint64_t);
		break;
	case SONDE_AGENT_ITEM_RUN:
		*ret_bytes = 0;
		break;
	case SONDE_AGENT_ITEM_STRING:
		nul = memchr(at, 0, payload->size - payload->at);
		if (!nul)
			return false;
		*ret_bytes = payload->has_fixed_texts ? item->length + 1u :
							(size_t)(nul - at) + 1;
		break;
	case SONDE_AGENT_ITEM_BLOCKS:
		if (!blocks_has(payload, sizeof(length)))
			return false;
		memcpy(&length, at, sizeof(length));
		*ret_bytes = sizeof(length) + length;
		break;
	case SONDE_AGENT_ITEM_ADDRESSES:
		*ret_bytes = sizeof(uint64_t) * nr_places;
		break;
	default:
		return false;
	}
	return blocks_has(payload, *ret_bytes);
}

static uint32_t places_of(const struct sonde_agent_item *item)
{
	switch (item->kind) {
	case SONDE_AGENT_ITEM_MEMORY:
	case SONDE_AGENT_ITEM_STRING:
		return 1;
	case SONDE_AGENT_ITEM_PROGRAM:
		return item->nr_blocks;
	default:
		return 0;
	}
}

/* Where the addresses are; NULL in *ret_places: there are none. */
static bool find_places(const struct sonde_probe_plan_part *part,
			const uint8_t *bytes, size_t size,
			const uint8_t **ret_places)
{
	struct payload payload = { bytes, size, 0, part->is_kernels };
	uint32_t nr_places = 0;
	size_t length;

	*ret_places = NULL;
	for (size_t i = 0; i < part->nr_items; i++) {
		if (!blocks_item_bytes(&part->items[i], &payload, nr_places,
				       &length))
			return false;
		if (part->items[i].kind == SONDE_AGENT_ITEM_ADDRESSES)
			*ret_places = bytes + payload.at;
		payload.at += length;
		nr_places += places_of(&part->items[i]);
	}
	return nr_places == 0 || *ret_places;
}

static void put_registers(struct sonde_gdb_blocks *blocks, uint64_t mask,
			  uint64_t rip, const uint8_t *values)
{
	uint8_t block[1 + SONDE_GDB_G_BYTES] = { 'R' };
	unsigned int offset;
	unsigned int size;

	if (sonde_gdb_register_place(SONDE_AGENT_RIP, &offset, &size))
		memcpy(block + 1 + offset, &rip, sizeof(rip));
	for (unsigned int i = 0; i < SONDE_AGENT_REGISTERS; i++) {
		if (!(mask >> i & 1))
			continue;
		if (sonde_gdb_register_place(i, &offset, &size) && size <= 8)
			memcpy(block + 1 + offset, values, size);
		values += sizeof(uint64_t);
	}
	blocks->registers |= (uint32_t)mask | 1u << SONDE_AGENT_RIP;
	sonde_gdb_blocks_put(blocks, block, sizeof(block));
}

static bool put_reads(struct sonde_gdb_blocks *blocks,
		      const struct sonde_agent_item *item,
		      const struct sonde_program *program, const uint8_t *bytes,
		      const uint8_t *places)
{
	struct sonde_probe_shape shape;
	size_t at = 0;

	sonde_probe_shape(program, &shape);
	if (shape.nr_reads != item->nr_blocks)
		return false;
	for (uint32_t i = 0; i < shape.nr_reads; i++) {
		uint64_t address = get64(places + 8 * (size_t)i);

		if (at + shape.reads[i] > item->length)
			return false;
		if (address)
			blocks_put_memory(blocks, address, bytes + at,
					  (uint16_t)shape.reads[i]);
		at += shape.reads[i];
	}
	return true;
}

/* As many bytes as the block at the start of `size` has; 0: none that is
 * whole and known. */
static size_t blocks_block_bytes(const uint8_t *at, size_t size)
{
	uint16_t nr;
	size_t bytes = 0;

	if (size >= 11 && at[0] == 'M') {
		memcpy(&nr, at + 9, sizeof(nr));
		bytes = 11 + (size_t)nr;
	} else if (size >= 13 && at[0] == 'V') {
		bytes = 13;
	}
	return bytes <= size ? bytes : 0;
}

static bool put_blocks(struct sonde_gdb_blocks *blocks, const uint8_t *bytes,
		       size_t size)
{
	size_t length;

	for (; size > 0; size -= length, bytes += length) {
		length = blocks_block_bytes(bytes, size);
		if (!length)
			return false;
		sonde_gdb_blocks_put(blocks, bytes, length);
	}
	return true;
}

/* The block's text; a NUL that was collected counts. */
static void blocks_put_string(struct sonde_gdb_blocks *blocks,
			      const struct sonde_agent_item *item,
			      uint64_t address, const uint8_t *bytes, size_t nr)
{
	nr = strnlen((const char *)bytes, nr) + 1;
	if (nr > item->length)
		nr = item->length; /* the NUL behind it is ours */
	if (address)
		blocks_put_memory(blocks, address, bytes, (uint16_t)nr);
}

/* An item whose bytes are there. */
static bool blocks_put_item(struct sonde_gdb_blocks *blocks,
			    const struct sonde_probe_plan *plan,
			    const struct sonde_agent_item *item,
			    const struct payload *payload, size_t length,
			    const uint8_t *places)
{
	const uint8_t *at = payload->bytes + payload->at;
	int32_t number = (int32_t)item->offset;

	switch (item->kind) {
	case SONDE_AGENT_ITEM_MEMORY:
		if (get64(places))
			blocks_put_memory(blocks, get64(places), at,
					  item->length);
		return true;
	case SONDE_AGENT_ITEM_PROGRAM:
		return item->program - 1 < plan->nr_programs &&
		       put_reads(blocks, item,
				 plan->programs[item->program - 1], at, places);
	case SONDE_AGENT_ITEM_VARIABLE:
		sonde_gdb_blocks_put(blocks, "V", 1);
		sonde_gdb_blocks_put(blocks, &number, sizeof(number));
		sonde_gdb_blocks_put(blocks, at, sizeof(uint64_t));
		return true;
	case SONDE_AGENT_ITEM_STRING:
		blocks_put_string(blocks, item, get64(places), at, length);
		return true;
	case SONDE_AGENT_ITEM_BLOCKS:
		return put_blocks(blocks, at + sizeof(uint32_t),
				  length - sizeof(uint32_t));
	default:
		return true; /* registers came first; values are no memory */
	}
}

/* GDB wants them first. */
static void put_all_registers(struct sonde_gdb_blocks *blocks,
			      const struct sonde_probe_plan_part *part,
			      const uint8_t *bytes, size_t size)
{
	struct payload payload = { bytes, size, 0, part->is_kernels };
	size_t length;

	for (size_t i = 0; i < part->nr_items; i++) {
		const struct sonde_agent_item *item = &part->items[i];

		if (item->kind == SONDE_AGENT_ITEM_REGISTERS)
			put_registers(blocks, item->mask, part->address,
				      bytes + payload.at);
		if (!blocks_item_bytes(item, &payload, 0, &length))
			return;
		payload.at += length;
	}
}

int sonde_gdb_blocks_make(const struct sonde_probe_plan *plan,
			  const struct sonde_probe_plan_part *part,
			  const uint8_t *payload, size_t size,
			  struct sonde_gdb_blocks *blocks)
{
	struct payload at = { payload, size, 0, part->is_kernels };
	size_t unread = part->is_kernels ? SONDE_PROBE_UNREAD_BYTES : 0;
	const uint8_t *places;
	uint32_t nr_places = 0;
	size_t length;

	if (!find_places(part, payload, size, &places))
		return -EINVAL;
	put_all_registers(blocks, part, payload, size);
	for (size_t i = 0; i < part->nr_items; i++) {
		const struct sonde_agent_item *item = &part->items[i];

		if (!blocks_item_bytes(item, &at, nr_places, &length) ||
		    !blocks_put_item(blocks, plan, item, &at, length, places))
			return -EINVAL;
		at.at += length;
		if (places)
			places += sizeof(uint64_t) * places_of(item);
		nr_places += places_of(item);
	}
	return size - at.at == unread ? 0 : -EINVAL;
}
