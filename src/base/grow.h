/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * grow.h - arrays that grow: a pointer from malloc(), how many entries there
 * are, and for how many there is room.
 *
 *	if (SONDE_GROW(list->at, list->nr, list->room))
 *		return -ENOMEM;
 *	list->at[list->nr++] = entry;
 *
 * Zeros are an empty array. The room is doubled, so that n entries cost n
 * copies of an entry at most. Entries may move.
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SONDE_GROW_FIRST 16u

/* Makes sure that there is room for entry `nr`: 0, or -ENOMEM, and the array is
 * as it was. `array` is any pointer, `room` a size_t or uint32_t. */
/* The entries may be pointers. */
/* clang-format off */
#define SONDE_GROW(array, nr, room)                                     \
	((nr) < (room) ?                                                \
		 0 :                                                    \
		 _Generic((room),                                       \
			  size_t: sonde_grow,                           \
			  uint32_t: sonde_grow_u32)(                    \
			 &(array),                                      \
			 /* NOLINTNEXTLINE(bugprone-sizeof-expression) */ \
			 sizeof(*(array)), &(room)))
/* clang-format on */

/* `array` points to the pointer to the entries, of `size` bytes each. */
static inline int sonde_grow(void *array, size_t size, size_t *room)
{
	size_t more = *room ? 2 * *room : SONDE_GROW_FIRST;
	void *entries;

	/* A pointer of another type: not to be read as a void *. */
	memcpy(&entries, array, sizeof(entries));
	entries = reallocarray(entries, more, size);
	if (!entries)
		return -ENOMEM;
	memcpy(array, &entries, sizeof(entries));
	*room = more;
	return 0;
}

static inline int sonde_grow_u32(void *array, size_t size, uint32_t *room)
{
	size_t more = *room;
	int rc = more > UINT32_MAX / 2 ? -ENOMEM :
					 sonde_grow(array, size, &more);

	if (!rc)
		*room = (uint32_t)more;
	return rc;
}

#endif /* BASE_GROW_H */
