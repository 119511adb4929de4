/* SPDX-License-Identifier: MIT */
/*
 * jitdump.c - fuzz source/jitdump.h: any bytes as a jitdump file.
 *
 * Input: the file behind its header, which is right, or, if the first byte is odd, all
 * of it.
 */
#include "source/jitdump.h"

#include "fuzz.h"

struct bounds {
	const uint8_t *bytes;
	size_t size;
	size_t nr;
};

static bool check_entry(void *ctx, const struct sonde_source_made_code *entry)
{
	struct bounds *bounds = ctx;
	const uint8_t *name = (const uint8_t *)entry->name;

	FUZZ_CHECK(entry->length && entry->length <= SONDE_PERF_MAP_NAME);
	FUZZ_CHECK(name > bounds->bytes);
	FUZZ_CHECK(name + entry->length <= bounds->bytes + bounds->size);
	FUZZ_CHECK(!memchr(entry->name, 0, entry->length));
	FUZZ_CHECK(entry->size && entry->begin + entry->size > entry->begin);
	return ++bounds->nr < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static const uint32_t header[10] = { 0x4a695444, 1, sizeof(header) };
	const bool is_whole = size && input[0] & 1;
	const size_t ahead = is_whole ? 0 : sizeof(header);
	struct bounds bounds = { .size = size + ahead };
	uint8_t *bytes = malloc(bounds.size + 1);
	bool is_one;

	FUZZ_CHECK(bytes);
	memcpy(bytes, header, ahead);
	if (size)
		memcpy(bytes + ahead, input, size);
	bounds.bytes = bytes;
	is_one = sonde_source_jitdump_parse(bytes, bounds.size, check_entry,
					    &bounds);
	FUZZ_CHECK(is_one || (is_whole && !bounds.nr));
	free(bytes);
	return 0;
}
