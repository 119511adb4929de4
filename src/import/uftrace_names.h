/* SPDX-License-Identifier: MIT */
/*
 * uftrace_names.h - which function an address is in, by the maps and symbols of
 * uftrace's data directory.
 *
 * A program's map is read when it is first asked for, a file's symbols when an
 * address in it is; all is kept until close. What can't be read has no names.
 */
#ifndef IMPORT_UFTRACE_NAMES_H
#define IMPORT_UFTRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct sonde_import_uftrace_names;

/* `directory` is borrowed. NULL: no memory. */
struct sonde_import_uftrace_names *
sonde_import_uftrace_names_new(const char *directory);
/* NULL is fine. */
void sonde_import_uftrace_names_free(struct sonde_import_uftrace_names *names);

struct sonde_import_uftrace_code {
	uint64_t begin, end;
	/* The function's, and the file's; they live as long as the names. */
	const char *name, *module;
};

/* Of the program with this map: 0; -ENOENT: it has no name; or -ENOMEM. */
int sonde_import_uftrace_names_find(struct sonde_import_uftrace_names *names,
				    const char *sid, uint64_t address,
				    struct sonde_import_uftrace_code *ret_code);

#endif /* IMPORT_UFTRACE_NAMES_H */
