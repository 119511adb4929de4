/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doctor_btf.c - fuzz source/doctor_btf.c: whatever bytes are said to be the types of
 * a kernel, looking for one ends, reads nothing beyond them, and finds it where
 * it says.
 *
 * The first byte is the kind that is looked for; the rest is taken as it is, or,
 * if its bit 7 is set, comes after a header that makes sense.
 */
#include <errno.h>
#include <linux/btf.h>

#include "fuzz.h"
#include "source/doctor_parts.h"

static const char name[] = "t";

/* The header, and strings that hold the name. */
static uint8_t *wrap(const uint8_t *types, size_t size, size_t *ret_size)
{
	static const char strings[] = { 0, 't', 0 };
	struct btf_header header = { .magic = BTF_MAGIC,
				     .version = 1,
				     .hdr_len = sizeof(header),
				     .type_len = (uint32_t)size,
				     .str_off = (uint32_t)size,
				     .str_len = sizeof(strings) };
	uint8_t *bytes;

	*ret_size = sizeof(header) + size + sizeof(strings);
	bytes = malloc(*ret_size);
	FUZZ_CHECK(bytes);
	memcpy(bytes, &header, sizeof(header));
	if (size > 0)
		memcpy(bytes + sizeof(header), types, size);
	memcpy(bytes + sizeof(header) + size, strings, sizeof(strings));
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t first = fuzz_u8(&in);
	uint8_t *all;
	struct sonde_btf_wanted wanted = { first & 0x1f, name, -1, 0, 0 };
	int rc;

	if (first & 0x80) {
		all = wrap(in.at, in.left, &size);
	} else {
		size = in.left;
		all = fuzz_copy(in.at, size);
	}
	rc = sonde_doctor_btf_find_in(all, size, &wanted, 1);
	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	FUZZ_CHECK(rc || (wanted.id >= 0 &&
			  (size_t)wanted.id <= size / sizeof(struct btf_type)));
	free(all);
	return 0;
}
