/* SPDX-License-Identifier: MIT */
/* btf.h - BTF of types that are the input's, for fuzz targets. */
#ifndef FUZZ_BTF_H
#define FUZZ_BTF_H

#include <linux/btf.h>

#include "fuzz.h"

/* The header, the types and the strings; to be freed. */
static inline uint8_t *fuzz_wrap_btf(const uint8_t *types, size_t size,
				     const char *strings, size_t nr_chars,
				     size_t *ret_size)
{
	struct btf_header header = { .magic = BTF_MAGIC,
				     .version = 1,
				     .hdr_len = sizeof(header),
				     .type_len = (uint32_t)size,
				     .str_off = (uint32_t)size,
				     .str_len = (uint32_t)nr_chars };
	uint8_t *bytes;

	*ret_size = sizeof(header) + size + nr_chars;
	bytes = malloc(*ret_size);
	FUZZ_CHECK(bytes);
	memcpy(bytes, &header, sizeof(header));
	if (size > 0)
		memcpy(bytes + sizeof(header), types, size);
	memcpy(bytes + sizeof(header) + size, strings, nr_chars);
	return bytes;
}

#endif /* FUZZ_BTF_H */
