/* SPDX-License-Identifier: MIT */
/* static_variables.h - names of a program's static variables, from its symbol table. */
#ifndef PROBE_STATIC_VARIABLES_H
#define PROBE_STATIC_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* found[i]: whether the file has an object of that name (a function's own is
 * "name.1"). A file that can't be read has none. Cost: one pass through its
 * symbols. */
void sonde_probe_static_variables_find(const char *file,
				       const char *const *names, size_t nr,
				       bool *found);

#endif /* PROBE_STATIC_VARIABLES_H */
