/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * available.h - which events the running kernel has, for a user to choose from.
 *
 * As tracefs lists them; a system call's two events are one, "syscalls" and the
 * call's name. Behind them the described events of modules (described.h).
 */
#ifndef SOURCE_AVAILABLE_H
#define SOURCE_AVAILABLE_H

#include "source/source.h"

/* Calls `add` for each: the kernel's group and name, and the trace's name. Ends
 * at the first that isn't 0, and returns that. Else 0, or -errno with *error. */
int sonde_source_available(int (*add)(void *ctx, const char *group,
				      const char *name, const char *shown),
			   void *ctx, struct sonde_source_error *error);

struct sonde_nearest;

/* "; did you mean 'EVENT'?" for a pattern that matches none, or "". */
const char *sonde_source_hint(const char *pattern,
			      struct sonde_nearest *nearest);

#endif /* SOURCE_AVAILABLE_H */
