/* SPDX-License-Identifier: MIT */
/* debuginfo_parts.h - what its two files have of each other. */
#ifndef GDB_DEBUGINFO_PARTS_H
#define GDB_DEBUGINFO_PARTS_H

#include <elfutils/libdw.h>

#include "gdb/debuginfo.h"

/* The visible variable of that name. */
bool sonde_gdb_dwarf_find(struct sonde_gdb_dwarf *dwarf, const char *name,
			  size_t length, Dwarf_Die *ret_die);

/* What a variable, member, pointer or array is of, without typedefs and
 * qualifiers; false: nothing, or it goes on for ever. */
bool sonde_gdb_dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/* 0: unknown. */
uint64_t sonde_gdb_dwarf_bytes(Dwarf_Die *type);
/* As a text (types.h), of `nr` of them; false, and "": it has none. */
bool sonde_gdb_dwarf_say(Dwarf_Die *type, uint64_t nr,
			 char text[SONDE_GDB_TYPE_TEXT_MAX + 1]);

#endif /* GDB_DEBUGINFO_PARTS_H */
