/* SPDX-License-Identifier: MIT */
/*
 * inflate.h - pieces that zlib has compressed (RFC 1950), in trace.dat files.
 *
 * Any thread. The bytes are checked by zlib; no more than asked for are written.
 */
#ifndef IMPORT_INFLATE_H
#define IMPORT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this build can. */
bool sonde_import_can_inflate(void);
/* True: they were `size` bytes, which `to` has. */
bool sonde_import_inflate(void *to, size_t size, const void *from,
			  size_t packed);

#endif /* IMPORT_INFLATE_H */
