/* SPDX-License-Identifier: MIT */
/*
 * debuginfo.h - variables and their types at an address of a process, from the
 * debugging information of its files (also separate ones, by build id).
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

enum sonde_probe_place_kind {
	SONDE_PROBE_PLACE_NONE,
	SONDE_PROBE_PLACE_REGISTER, /* in reg */
	SONDE_PROBE_PLACE_BASED,    /* in memory, at reg + offset */
	SONDE_PROBE_PLACE_FIXED,    /* in memory, at offset */
};

struct sonde_probe_place {
	enum sonde_probe_place_kind kind;
	uint8_t reg; /* GDB's number */
	int64_t offset;
};

struct sonde_probe_seen {
	const char *name;
	bool is_parameter;
	bool is_local;
	struct sonde_probe_place place;
	uint64_t bytes; /* 0: unknown */
	char type[SONDE_PROBE_TYPE_TEXT_MAX +
		  1]; /* "": unknown, or no number */
};

/* At that address. NULL: there is no debugging information. */
struct sonde_probe_dwarf *sonde_probe_dwarf_open(pid_t pid, uint64_t address);
void sonde_probe_dwarf_close(struct sonde_probe_dwarf *dwarf);

/* The type of "a", "*p", "a->b.c", "a[1]", "*p@4"; false: unknown. */
bool sonde_probe_dwarf_type(struct sonde_probe_dwarf *dwarf, const char *text,
			    char type[SONDE_PROBE_TYPE_TEXT_MAX + 1]);

/* Each variable that is visible there: inner ones first, then those of the
 * file. Until visit says false. */
typedef bool sonde_probe_dwarf_visit(const struct sonde_probe_seen *seen,
				     void *ctx);
void sonde_probe_dwarf_each(struct sonde_probe_dwarf *dwarf,
			    sonde_probe_dwarf_visit *visit, void *ctx);

#endif /* PROBE_DEBUGINFO_H */
