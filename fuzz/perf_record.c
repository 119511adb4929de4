/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * perf_record.c - fuzz source/sample/perf.h: any bytes as a record of a perf
 * event's ring.
 *
 * Input: the record, in memory of its own size; without its event's id, and with it.
 * What is taken of it has bounds, lies in it, and is a program's or the kernel's
 * address.
 */
#include "source/sample/perf.h"

#include "fuzz.h"

static void check_frames(const struct sonde_perf_record *record)
{
	FUZZ_CHECK(record->chain.nr <= SONDE_STACKS_DEPTH_MAX);
	FUZZ_CHECK(record->chain.end <= SONDE_STACK_STRANGE);
	for (uint32_t i = 0; i < record->chain.nr; i++) {
		uint64_t upper = record->chain.frames[i] >> 48;

		FUZZ_CHECK(!upper || upper == 0x8000 || upper == 0xffff ||
			   upper == 0xbfff);
	}
}

static void check_mapping(const struct sonde_perf_record *record,
			  const uint8_t *bytes, size_t size)
{
	const char *end =
		record->mapping.path + strlen(record->mapping.path) + 1;

	FUZZ_CHECK(record->mapping.path > (const char *)bytes &&
		   end <= (const char *)bytes + size);
	FUZZ_CHECK(record->mapping.end >= record->mapping.begin);
	FUZZ_CHECK(record->build_id_bytes <= SONDE_PERF_BUILD_ID_MAX);
}

static void check_record(const uint8_t *bytes, size_t size)
{
	struct sonde_perf_record record;

	if (!sonde_perf_parse(bytes, size, &record))
		return;
	if (record.kind == SONDE_PERF_SAMPLE)
		check_frames(&record);
	if (record.kind == SONDE_PERF_MAPPED)
		check_mapping(&record, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t left = size;
	uint8_t *copy = malloc(size ? size : 1);
	uint64_t id;

	FUZZ_CHECK(copy);
	if (size)
		memcpy(copy, bytes, size);
	check_record(copy, size);
	if (sonde_perf_take_id(copy, &left, &id)) {
		FUZZ_CHECK(left + sizeof(id) == size);
		check_record(copy, left);
	}
	free(copy);
	return 0;
}
