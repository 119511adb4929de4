/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* btf_extract.h - the part of a kernel's types (sys/btf.h) that some names need. */
#ifndef SYS_BTF_EXTRACT_H
#define SYS_BTF_EXTRACT_H

#include "sys/btf.h"

/*
 * A BTF with the structures, unions, enumerations and typedefs of these names
 * and what they have inside; a pointer in them points to void. A name that the
 * kernel doesn't have is left out. *ret_bytes is for free(). 0, -ENOMEM,
 * or -EPROTO.
 */
int sonde_btf_extract(const struct sonde_btf *btf, const char *const *names,
		      size_t nr, uint8_t **ret_bytes, size_t *ret_size);

/*
 * A BTF with the functions and typedefs of these names, their arguments and what
 * those point to; structures, unions and enumerations have a name and a size,
 * but nothing inside. The rest as above.
 */
int sonde_btf_extract_calls(const struct sonde_btf *btf,
			    const char *const *names, size_t nr,
			    uint8_t **ret_bytes, size_t *ret_size);

#endif /* SYS_BTF_EXTRACT_H */
