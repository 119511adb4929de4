/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - where a library in the process has a symbol, by its own tables.
 *
 * Of a symbol with several versions, the default one.
 */
#ifndef PROBE_INJECT_SYMBOL_H
#define PROBE_INJECT_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/inject/process.h"

/* Where the tables of an image are, for several look-ups. */
struct sonde_process_symbols {
	uint64_t base; /* what is added to the file's addresses */
	uint64_t symbols, names, hash;
	uint64_t versions;                       /* 0: none */
	uint64_t relocations, relocations_bytes; /* of functions elsewhere */
};

/* `image`: where its head is. 0; -ENOENT (it has none), -ENOEXEC, -EIO. */
int sonde_process_symbols_read(const struct sonde_process *process,
			       uint64_t image,
			       struct sonde_process_symbols *ret);
/* One that it exports. 0; -ENOENT, -ENOEXEC, -EIO. */
int sonde_process_symbols_find(const struct sonde_process *process,
			       const struct sonde_process_symbols *tables,
			       const char *name, uint64_t *ret_address);
/* Whether the word at `slot` was made the address of one of the image's own
 * functions that are chosen by the CPU, and of this one. */
bool sonde_process_slot_is(const struct sonde_process *process,
			   const struct sonde_process_symbols *tables,
			   uint64_t slot, const char *name);

/* Both at once. */
int sonde_process_symbol(const struct sonde_process *process, uint64_t image,
			 const char *name, uint64_t *ret_address);

#endif /* PROBE_INJECT_SYMBOL_H */
