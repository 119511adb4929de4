/* SPDX-License-Identifier: MIT */
/*
 * places.h - which instructions of a process a text means: FUNCTION, FILE:LINE,
 * FILE:FUNCTION, *ADDRESS, *FUNCTION+OFFSET. Inlined code has several.
 *
 * They are where GDB would put a breakpoint: of a function, behind what makes
 * its frame, unless its variables are known before that; of a line, the first
 * instruction in each block that has one, or of the next line that has any.
 */
#ifndef PROBE_PLACES_H
#define PROBE_PLACES_H

#include "probe/debuginfo_parts.h"

#define SONDE_PROBE_PLACES_MAX 256u

struct sonde_probe_places {
	uint64_t list[SONDE_PROBE_PLACES_MAX]; /* by address */
	size_t nr;
	bool were_more;
};

/* 0; -ENOENT, with the reason in *error. */
int sonde_probe_places_find(struct sonde_probe_dwarf *dwarf, const char *text,
			    struct sonde_probe_places *ret_places, char *error,
			    size_t error_size);

/* "shop.c:14", as far as it is known. */
void sonde_probe_places_say(struct sonde_probe_dwarf *dwarf, uint64_t address,
			    char *to, size_t size);

#endif /* PROBE_PLACES_H */
