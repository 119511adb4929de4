/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * module_stacks.c - fuzz source/module/stacks.h: a chunk of records with call stacks
 * as no module writes it.
 *
 * Input: a byte that says whether the chunk is its packet's first and whether places are
 * noted; the rest is the chunk, in memory of its own size.
 *
 * The copy is no longer than the chunk, its last time is no earlier than the one before,
 * and there is a place for each record, in order, with its number in it.
 */
#include "fuzz.h"
#include "kmod/abi.h"
#include "source/module/stacks.h"
#include "source/packer.h"
#include "source/sample/mapped_code.h"
#include "source/source.h"

#define BEGIN 1000u

static struct sonde_source_config config;
static struct module_stacks stacks;

static void set_up(void)
{
	config.stacks = sonde_callstacks_store_new();
	config.code = sonde_perf_code_new();
	config.stack_frames = 16;
	FUZZ_CHECK(config.stacks && config.code);
	FUZZ_CHECK(!module_stacks_init(&stacks, &config));
}

static void check_copy(const struct module_stacks_copy *copy,
		       const struct sonde_ring_chunk *chunk, uint32_t size)
{
	uint32_t last = 0;

	FUZZ_CHECK(chunk->size <= size && chunk->data == copy->bytes);
	FUZZ_CHECK(copy->ahead >= BEGIN);
	FUZZ_CHECK(!copy->places.nr == !(copy->has_places && size));
	for (size_t i = 0; i < copy->places.nr; i++) {
		uint32_t at = copy->places.at[i];
		uint32_t number;

		FUZZ_CHECK(at >= last + SONDE_HEAD_LARGE + 4u);
		FUZZ_CHECK(at + 8 <= chunk->size);
		memcpy(&number, chunk->data + at, 4);
		FUZZ_CHECK(number <= SONDE_STACKS_MAX);
		last = at + 8;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t how = fuzz_u8(&in);
	struct module_stacks_copy copy = {
		.last = BEGIN,
		.has_places = how & 2,
	};
	struct sonde_ring_chunk chunk = {
		.size = (uint32_t)in.left,
		.first = how & 1,
		.ts_begin = BEGIN,
	};
	uint8_t *data = malloc(in.left + !in.left);

	FUZZ_CHECK(data);
	if (in.left)
		memcpy(data, in.at, in.left);
	chunk.data = data;
	if (!stacks.store)
		set_up();
	if (module_stacks_convert(&stacks, &copy, (uint32_t)in.left + 1,
				  &chunk) == 1)
		check_copy(&copy, &chunk, (uint32_t)in.left);
	module_stacks_copy_fini(&copy);
	free(data);
	return 0;
}
