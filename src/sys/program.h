/* SPDX-License-Identifier: MIT */
/*
 * program.h - can a program take a library of ours that is preloaded?
 *
 * Looked up in its file before it is executed, for afterwards it is too late:
 * the loader speaks on stderr, or the program ends. A script is what its
 * interpreter is. What can't be read or isn't understood is unknown, which is
 * treated as fine.
 *
 * The file is hostile: every offset is bounded, nothing is mapped, and a few
 * kilobytes are read at most. Async-signal-safe: open, fstat, pread, close.
 */
#ifndef SYS_PROGRAM_H
#define SYS_PROGRAM_H

#include <stdbool.h>

#include "base/port.h"

enum sonde_program_kind {
	SONDE_PROGRAM_UNKNOWN = 0,
	SONDE_PROGRAM_FINE,
	SONDE_PROGRAM_MACHINE,   /* another class or machine: 32 bits, say */
	SONDE_PROGRAM_LIBC,      /* the loader of another C library */
	SONDE_PROGRAM_SANITIZER, /* its runtime insists on coming first */
	SONDE_PROGRAM_STATIC,    /* no loader: nothing is preloaded */
};

/* `path` as openat() takes it. */
SONDE_HIDDEN enum sonde_program_kind sonde_program_look(int dir,
							const char *path);

/* The same of an open file, borrowed; no script. */
SONDE_HIDDEN enum sonde_program_kind sonde_program_look_fd(int fd);

/* Whether its loader may look for a symbol of that name, of at most
 * SONDE_PROGRAM_SYMBOL_MAX bytes: one that it takes from elsewhere, or has. False
 * also of what isn't understood, and of scripts. */
#define SONDE_PROGRAM_SYMBOL_MAX 62u
SONDE_HIDDEN bool sonde_program_names(const char *path, const char *symbol);

/* Why a program of this kind can't take it; NULL if it can, or needs none. */
SONDE_HIDDEN const char *sonde_program_reason(enum sonde_program_kind kind);

#endif /* SYS_PROGRAM_H */
