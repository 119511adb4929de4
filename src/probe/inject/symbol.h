/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - where a library in the process has a symbol, by its own tables.
 */
#ifndef PROBE_INJECT_SYMBOL_H
#define PROBE_INJECT_SYMBOL_H

#include <stdint.h>

#include "probe/inject/process.h"

/* A symbol that the ELF image whose head is at `image` exports. 0; -ENOENT,
 * -ENOEXEC, -EIO. */
int sonde_process_symbol(const struct sonde_process *process, uint64_t image,
			 const char *name, uint64_t *ret_address);

#endif /* PROBE_INJECT_SYMBOL_H */
