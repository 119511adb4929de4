/* SPDX-License-Identifier: MIT */
/*
 * debuginfo.h - variables and their types at an address of a process, from the
 * debugging information of its files (also separate ones, by build id), or of
 * the kernel.
 *
 * That information is not to be trusted: walks are bounded here, but libdw
 * itself may run long or fall. typing.c has it all done in a process apart.
 */
#ifndef PROBE_DEBUGINFO_H
#define PROBE_DEBUGINFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/types.h"

struct sonde_probe_dwarf;

/* Whose debugging information: a process's, or the kernel's: with a path, that
 * file's, which runs so many bytes from where it was linked for, and those of the
 * loaded modules, where they are. */
struct sonde_probe_debuggee {
	pid_t pid;
	const char *path;
	uint64_t moved;
};

/* At that address. NULL: there is no debugging information. */
struct sonde_probe_dwarf *
sonde_probe_dwarf_open(const struct sonde_probe_debuggee *whose,
		       uint64_t address);
void sonde_probe_dwarf_close(struct sonde_probe_dwarf *dwarf);

/* The type of "a", "*p", "a->b.c", "a[1]", "*p@4"; false: unknown. */
bool sonde_probe_dwarf_type(struct sonde_probe_dwarf *dwarf, const char *text,
			    char type[SONDE_PROBE_TYPE_TEXT_MAX + 1]);

#endif /* PROBE_DEBUGINFO_H */
