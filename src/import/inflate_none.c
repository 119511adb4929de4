/* SPDX-License-Identifier: MIT */
/* inflate_none.c - a build without zlib reads no pieces of it (inflate.h). */
#include "import/inflate.h"

bool sonde_import_can_inflate(void)
{
	return false;
}

bool sonde_import_inflate(void *to, size_t size, const void *from,
			  size_t packed)
{
	(void)to;
	(void)size;
	(void)from;
	(void)packed;
	return false;
}
