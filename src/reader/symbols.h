/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the name of what lies at an address in a program's memory: its
 * variables, by the symbols of the file that is mapped there.
 *
 * The files are those of the machine where the trace is read. A file whose
 * build-id is not the one in the trace is another one, and names nothing; where
 * the trace has no build-id the path must do. A file without a table of symbols
 * is helped by the one in /usr/lib/debug that has its build-id.
 *
 * A trace may name any file and a file may say anything: only regular files are
 * opened, and numbers in them are checked. Names are as in the file, not
 * demangled.
 *
 * Memory: 24 bytes and the name for each variable of the files asked for; at
 * most 64 files and 2^20 variables of each.
 */
#ifndef READER_SYMBOLS_H
#define READER_SYMBOLS_H

#include <stdint.h>

struct sonde_symbols;

/* NULL without memory. */
struct sonde_symbols *sonde_symbols_new(void);
void sonde_symbols_free(struct sonde_symbols *symbols);

/* A mapping: the file's bytes from `offset` on are at `begin`. */
struct sonde_symbols_place {
	const char *path;
	const char *build_id; /* in hexadecimal; NULL unknown */
	uint64_t begin, offset;
};

struct sonde_symbol {
	const char *name;  /* lives as long as the symbols */
	uint64_t distance; /* of the address, from the variable's begin */
};

/*
 * The variable that covers the address, which may be outside the mapping but
 * must be in the same load of the file (.bss is behind what is mapped of it).
 * 0 or -ENOENT: none, or the file is not there, or not the same. -ENOTSUP:
 * built without libelf.
 */
int sonde_symbols_find(struct sonde_symbols *symbols,
		       const struct sonde_symbols_place *place,
		       uint64_t address, struct sonde_symbol *ret_symbol);

#endif /* READER_SYMBOLS_H */
