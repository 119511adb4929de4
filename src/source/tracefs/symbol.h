/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * symbol.h - where in an ELF file a function's code is: what a probe on it
 * needs.
 *
 * Looks in the symbols, then in those for dynamic linking, and goes through the
 * program headers from the symbol's address to its place in the file. Nothing
 * in the file is believed (see types/elf.h). Files of the machine's class and
 * byte order only. Pure.
 */
#ifndef SOURCE_TRACEFS_SYMBOL_H
#define SOURCE_TRACEFS_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/* `bytes` are the whole file. 0; -ENOENT if it defines no such function;
 * -ENOEXEC, -ENOTSUP, -EINVAL as sonde_elf_check_head(). */
int sonde_symbol_offset(const void *bytes, size_t size, const char *symbol,
			uint64_t *ret_offset);

#endif /* SOURCE_TRACEFS_SYMBOL_H */
