/* SPDX-License-Identifier: MIT */
/* debuginfo_parts.h - what its two files have of each other. */
#ifndef PROBE_DEBUGINFO_PARTS_H
#define PROBE_DEBUGINFO_PARTS_H

#include <elfutils/libdw.h>

#include "probe/debuginfo.h"

/* The visible variable of that name. */
bool sonde_probe_dwarf_find(struct sonde_probe_dwarf *dwarf, const char *name,
			    size_t length, Dwarf_Die *ret_die);

/* What a variable, member, pointer or array is of, without typedefs and
 * qualifiers; false: nothing, or it goes on for ever. */
bool sonde_probe_dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/* 0: unknown. */
uint64_t sonde_probe_dwarf_bytes(Dwarf_Die *type);
/* As a text (types.h), of `nr` of them; false, and "": it has none. */
bool sonde_probe_dwarf_say(Dwarf_Die *type, uint64_t nr,
			   char text[SONDE_PROBE_TYPE_TEXT_MAX + 1]);

#endif /* PROBE_DEBUGINFO_PARTS_H */
