/* SPDX-License-Identifier: MIT */
/*
 * dwarf.h - which line of which file a machine instruction was made of, and
 * which functions were inlined there: by DWARF, through elfutils' libdw.
 *
 * The debugging information is the file's own, or a separate file's that
 * libdwfl finds: by build-id in /usr/lib/debug, by the name in .gnu_debuglink,
 * and from the servers in DEBUGINFOD_URLS if that is set.
 *
 * A file's units are sorted by address when it is opened, a unit's functions
 * when the first address in it is asked for: libdw by itself searches all of
 * them each time. Addresses are as the file has them.
 *
 * Memory: what libdw has read of the file, 32 bytes for each range of a unit or
 * function.
 */
#ifndef READER_NAMES_DWARF_H
#define READER_NAMES_DWARF_H

#include <stdint.h>

#include <libelf.h>

#include "reader/symbols.h"

struct sonde_dwarf;

/* NULL: there is no debugging information. `fd` stays the caller's. */
struct sonde_dwarf *sonde_dwarf_open(const char *path, int fd);
/* NULL is fine, here and below. */
void sonde_dwarf_free(struct sonde_dwarf *lines);

/* The file that has the debugging information; it may have symbols. NULL. */
Elf *sonde_dwarf_elf(struct sonde_dwarf *lines);

/* Adds the functions at the address, innermost first; none if it isn't known. */
void sonde_dwarf_find(struct sonde_dwarf *lines, uint64_t address,
		      struct sonde_naming *naming);

#endif /* READER_NAMES_DWARF_H */
