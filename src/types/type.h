/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * type.h - what all faces of a type share, whatever it was read from (a
 * description, metadata) or is written to.
 *
 * Freestanding.
 */
#ifndef TYPES_TYPE_H
#define TYPES_TYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A label for the values low..high, both included. Of a signed number they
 * are int64_t, sign and all. In the order of what they were read from; may
 * overlap, and several may have one name. Of a bit map, low and high are bit
 * numbers. */
struct sonde_label {
	uint64_t low, high;
	const char *name;
};

/* How many of `nr` labels have the name `text`; *ret_label is the i-th of
 * those, if there are so many. */
static inline size_t sonde_label_find(const struct sonde_label *labels,
				      size_t nr, const char *text,
				      size_t length, size_t i,
				      const struct sonde_label **ret_label)
{
	size_t found = 0;

	for (size_t k = 0; k < nr; k++) {
		if (strlen(labels[k].name) == length &&
		    memcmp(labels[k].name, text, length) == 0 && found++ == i)
			*ret_label = &labels[k];
	}
	return found;
}

#endif /* TYPES_TYPE_H */
