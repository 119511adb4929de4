/* SPDX-License-Identifier: MIT */
/*
 * codes.h - names of code that programs made at run time, in traces that tell
 * them: events sonde:code (docs/trace-format.md).
 *
 * Such code comes and goes, and no event says when. An address has a name if all
 * entries that have it in them, of an image, are called the same. All are read
 * before the first question. Memory: 40 bytes for each entry, and its name.
 */
#ifndef READER_NAMES_CODES_H
#define READER_NAMES_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct sonde_names_code_entry {
	uint64_t image, begin, end;
	uint64_t reach; /* the greatest end up to here, of the image */
	/* Of who owns the entries. */
	const char *name;
	const char *module; /* NULL: it was made at run time */
};

struct sonde_names_codes {
	size_t nr, capacity;
	struct sonde_names_code_entry
		*entries; /* by image and begin, at last */
};

void sonde_names_codes_fini(struct sonde_names_codes *codes);

/* 0 or -ENOMEM; nothing is added of what makes no sense. */
int sonde_names_codes_add(struct sonde_names_codes *codes,
			  const struct sonde_names_code_entry *entry);
/* To be called once all entries are there, before the first question. */
void sonde_names_codes_sort(struct sonde_names_codes *codes);

/* NULL: no code is known to have been there. */
const struct sonde_names_code_entry *
sonde_names_codes_find(const struct sonde_names_codes *codes, uint64_t image,
		       uint64_t address, bool *ret_differ);

#endif /* READER_NAMES_CODES_H */
