/* SPDX-License-Identifier: MIT */
/*
 * search.h - a place in a sorted array, by halving.
 *
 *	SONDE_SEARCH(i, list->nr, list->at[i].key < key);
 *
 * makes `i`, a size_t, the number of entries for which that holds: all of them
 * come before the others.
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

#define SONDE_SEARCH(i, nr, is_before)                   \
	do {                                             \
		size_t low_ = 0;                         \
		size_t high_ = (nr);                     \
                                                         \
		while (low_ < high_) {                   \
			(i) = low_ + (high_ - low_) / 2; \
			if (is_before)                   \
				low_ = (i) + 1;          \
			else                             \
				high_ = (i);             \
		}                                        \
		(i) = low_;                              \
	} while (0)

#endif /* BASE_SEARCH_H */
