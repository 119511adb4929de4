/* SPDX-License-Identifier: MIT */
/*
 * location.h - where a variable is, by its DWARF: in a register, at an address
 * that registers and memory tell, or nowhere.
 *
 * The expressions are a file's: what isn't understood, or too long, is refused
 * with words. Nothing is evaluated here; code is made that does it in the
 * program.
 */
#ifndef PROBE_LOCATION_H
#define PROBE_LOCATION_H

#include "probe/bytecode.h"
#include "probe/debuginfo_parts.h"

enum sonde_probe_where_kind {
	SONDE_PROBE_WHERE_REGISTER,
	SONDE_PROBE_WHERE_MEMORY, /* at what the code computes */
	SONDE_PROBE_WHERE_VALUE,  /* it is what the code computes */
};

struct sonde_probe_where {
	enum sonde_probe_where_kind kind;
	/* the register plus the offset, or the offset alone: no code has been
	 * made of it yet */
	bool is_simple, has_reg;
	uint8_t reg; /* GDB's number */
	int64_t offset;
};

/* At dwarf's address. False: `error` says why. */
bool sonde_probe_locate(const struct sonde_probe_dwarf *dwarf, Dwarf_Die *die,
			struct sonde_probe_bytecode *code,
			struct sonde_probe_where *ret_where,
			const char **ret_error);

/* What is simple, as code. */
void sonde_probe_where_put(struct sonde_probe_where *where,
			   struct sonde_probe_bytecode *code);

#endif /* PROBE_LOCATION_H */
