/* SPDX-License-Identifier: MIT */
/*
 * modules.h - a process's program and libraries, in the order in which its
 * dynamic loader looks symbols up.
 *
 * That is what the loader's own list says, as debuggers read it. Everything is
 * read from the process, and bounded.
 */
#ifndef PROBE_HOOKS_MODULES_H
#define PROBE_HOOKS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/inject/process.h"
#include "probe/inject/symbol.h"

#define SONDE_HOOKS_MODULES_MAX 256
#define SONDE_HOOKS_NAME        64

struct sonde_hooks_module {
	uint64_t start, end; /* of all its mappings */
	uint64_t code, code_end;
	struct sonde_process_symbols symbols;
	char name[SONDE_HOOKS_NAME]; /* the file's, without its directory */
	bool is_glibc;
};

struct sonde_hooks_modules {
	size_t nr;
	uint64_t loader, loader_end;
	struct sonde_hooks_module list[SONDE_HOOKS_MODULES_MAX];
};

/* 0; or -errno with *error: -ENOENT (it is statically linked), -EIO. */
int sonde_hooks_modules_read(const struct sonde_process *process,
			     struct sonde_hooks_modules *ret,
			     struct sonde_process_error *error);

/* The first that defines it, and `besides`, if that isn't NULL; NULL. */
const struct sonde_hooks_module *
sonde_hooks_modules_find(const struct sonde_process *process,
			 const struct sonde_hooks_modules *modules,
			 const char *symbol, const char *besides,
			 uint64_t *ret_address);

/* The one whose name begins so; NULL. */
const struct sonde_hooks_module *
sonde_hooks_modules_named(const struct sonde_hooks_modules *modules,
			  const char *begin);

#endif /* PROBE_HOOKS_MODULES_H */
