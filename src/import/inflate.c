/* SPDX-License-Identifier: MIT */
/* inflate.c - see inflate.h: zlib does it. */
#include "import/inflate.h"

#include <zlib.h>

bool sonde_import_can_inflate(void)
{
	return true;
}

bool sonde_import_inflate(void *to, size_t size, const void *from,
			  size_t packed)
{
	uLongf got = size;

	return uncompress(to, &got, from, packed) == Z_OK && got == size;
}
