/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - a symbol's name as its author wrote it: C++, and Rust as it was
 * mangled up to 2025 by default ("_ZN...17h0123456789abcdefE"; Rust's newer form
 * "_R..." stays as it is).
 *
 * C++ is taken apart by the machine's own libstdc++, which is loaded when the
 * first such name comes; without it names stay as they are. Not for several
 * threads at a time.
 */
#ifndef READER_NAMES_DEMANGLE_H
#define READER_NAMES_DEMANGLE_H

#include <stddef.h>

#define SONDE_DEMANGLED_MAX 1024u

/* `to`, or `name` if there is nothing to be done. What is longer is cut. */
const char *sonde_demangle(const char *name, char *to, size_t size);

#endif /* READER_NAMES_DEMANGLE_H */
