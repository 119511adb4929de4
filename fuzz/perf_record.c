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

#include "ring/walk.h"
#include "source/sample/mapped_code.h"

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

/* Any code is unwound by any rule; positions stay on the stack, and get nearer to its
 * top. */
static bool any_rule(void *ctx, const struct sonde_stacks_position *at,
		     uint32_t *ret_rule)
{
	uint64_t *last_sp = ctx;

	FUZZ_CHECK(at->sp >= *last_sp && at->sp <= at->top);
	*last_sp = at->sp;
	*ret_rule = (uint32_t)(at->pc * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	return at->pc & 1;
}

static bool is_any_code(void *ctx, uint64_t address)
{
	(void)ctx;
	return address & 2;
}

static void check_user(const uint8_t *bytes, size_t size)
{
	static const struct sonde_stacks_lookup lookup = { any_rule,
							   is_any_code };
	struct sonde_perf_user user;
	struct sonde_stacks_position at;
	uint64_t frames[SONDE_STACKS_DEPTH_MAX];
	enum sonde_stacks_end end;
	uint64_t last_sp;

	if (!sonde_perf_parse_user(bytes, size, &user))
		return;
	FUZZ_CHECK(user.stack >= bytes &&
		   user.stack + user.bytes <= bytes + size);
	sonde_perf_code_begin(&user, &at);
	if (at.top < at.sp)
		return;
	last_sp = at.sp;
	FUZZ_CHECK(sonde_stacks_walk_from(&lookup, &last_sp, &at, frames,
					  SONDE_STACKS_DEPTH_MAX, &end) > 0);
}

static void check_record(const uint8_t *bytes, size_t size)
{
	struct sonde_perf_record record;

	check_user(bytes, size);
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
