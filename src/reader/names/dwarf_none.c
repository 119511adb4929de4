/* SPDX-License-Identifier: MIT */
/*
 * dwarf_none.c - built without libdw: names come from tables of symbols alone.
 */
#include "reader/names/dwarf.h"

#include <stddef.h>

struct sonde_dwarf *sonde_dwarf_open(const char *path, int fd)
{
	(void)path;
	(void)fd;
	return NULL;
}

void sonde_dwarf_free(struct sonde_dwarf *lines)
{
	(void)lines;
}

Elf *sonde_dwarf_elf(struct sonde_dwarf *lines)
{
	(void)lines;
	return NULL;
}

void sonde_dwarf_find(struct sonde_dwarf *lines, uint64_t address,
		      struct sonde_naming *naming)
{
	(void)lines;
	(void)address;
	(void)naming;
}
