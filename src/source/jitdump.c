/* SPDX-License-Identifier: MIT */
/*
 * jitdump.c - the records of a jitdump file (jitdump.h).
 *
 * A record says how long it is, which is believed as far as the file goes. Nothing is
 * copied.
 */
#include "source/jitdump.h"

#include <string.h>

#define DUMP_MAGIC     0x4a695444u
#define DUMP_VERSION   1u
#define DUMP_HEADER    40u
#define DUMP_HEAD      16u /* of a record: what, how long, when */
#define DUMP_LOAD      0u
#define DUMP_LOAD_HEAD 56u /* up to the name */

static uint32_t dump_u32(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static uint64_t dump_u64(const uint8_t *bytes)
{
	uint64_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

bool sonde_source_jitdump_is(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	name = name ? name + 1 : path;
	if (strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && !strcmp(name + 4 + digits, ".dump");
}

/* Of code that was loaded: behind the head are numbers of the process, the thread and
 * the virtual address, then where the code is, how long, which, and its name. */
static bool take_load(const uint8_t *record, size_t size,
		      struct sonde_source_made_code *ret_entry)
{
	const char *name = (const char *)record + DUMP_LOAD_HEAD;

	if (size <= DUMP_LOAD_HEAD)
		return false;
	return sonde_source_made_code(dump_u64(record + 32),
				      dump_u64(record + 40), name,
				      strnlen(name, size - DUMP_LOAD_HEAD),
				      ret_entry);
}

bool sonde_source_jitdump_parse(
	const uint8_t *bytes, size_t size,
	bool (*add)(void *ctx, const struct sonde_source_made_code *entry),
	void *ctx)
{
	struct sonde_source_made_code entry;
	size_t at;
	uint32_t length;

	if (size < DUMP_HEADER || dump_u32(bytes) != DUMP_MAGIC ||
	    dump_u32(bytes + 4) != DUMP_VERSION ||
	    dump_u32(bytes + 8) < DUMP_HEADER)
		return false;
	for (at = dump_u32(bytes + 8); at < size && size - at >= DUMP_HEAD;
	     at += length) {
		length = dump_u32(bytes + at + 4);
		if (length < DUMP_HEAD || length > size - at)
			break; /* it is being written, or nonsense */
		if (dump_u32(bytes + at) == DUMP_LOAD &&
		    take_load(bytes + at, length, &entry) && !add(ctx, &entry))
			break;
	}
	return true;
}
