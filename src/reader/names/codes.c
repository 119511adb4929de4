/* SPDX-License-Identifier: MIT */
/*
 * codes.c - see codes.h. Entries may overlap; the one before knows how far those up
 * to it reach, so that a look goes back only as far as it has to.
 */
#include "reader/names/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

#define CODES_MAX ((size_t)1 << 22)

void sonde_names_codes_fini(struct sonde_names_codes *codes)
{
	free(codes->entries);
}

int sonde_names_codes_add(struct sonde_names_codes *codes,
			  const struct sonde_names_code_entry *entry)
{
	if (entry->end <= entry->begin || !entry->name ||
	    codes->nr == CODES_MAX)
		return 0;
	if (SONDE_GROW(codes->entries, codes->nr, codes->capacity))
		return -ENOMEM;
	codes->entries[codes->nr++] = *entry;
	return 0;
}

static int code_compare(const void *a, const void *b)
{
	const struct sonde_names_code_entry *left = a;
	const struct sonde_names_code_entry *right = b;

	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return (left->end > right->end) - (left->end < right->end);
}

void sonde_names_codes_sort(struct sonde_names_codes *codes)
{
	struct sonde_names_code_entry *entries = codes->entries;

	if (codes->nr)
		qsort(entries, codes->nr, sizeof(*entries), code_compare);
	for (size_t i = 0; i < codes->nr; i++) {
		entries[i].reach = entries[i].end;
		if (i && entries[i - 1].image == entries[i].image &&
		    entries[i - 1].reach > entries[i].reach)
			entries[i].reach = entries[i - 1].reach;
	}
}

const struct sonde_names_code_entry *
sonde_names_codes_find(const struct sonde_names_codes *codes, uint64_t image,
		       uint64_t address, bool *ret_differ)
{
	const struct sonde_names_code_entry *entries = codes->entries;
	const struct sonde_names_code_entry *found = NULL;
	size_t i;

	*ret_differ = false;
	SONDE_SEARCH(i, codes->nr,
		     entries[i].image < image || (entries[i].image == image &&
						  entries[i].begin <= address));
	while (i-- > 0 && entries[i].image == image &&
	       entries[i].reach > address) {
		if (entries[i].end <= address)
			continue;
		if (found && strcmp(found->name, entries[i].name) != 0)
			*ret_differ = true;
		found = &entries[i];
	}
	return found;
}
