/* SPDX-License-Identifier: MIT */
/* statics.h - names of a program's static variables, from its symbol table. */
#ifndef GDB_STATICS_H
#define GDB_STATICS_H

#include <stdbool.h>
#include <stddef.h>

/* found[i]: whether the file has an object of that name (a function's own is
 * "name.1"). A file that can't be read has none. Cost: one pass through its
 * symbols. */
void sonde_gdb_statics_find(const char *file, const char *const *names,
			    size_t nr, bool *found);

#endif /* GDB_STATICS_H */
