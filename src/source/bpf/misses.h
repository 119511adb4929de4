/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * misses.h - what misses.c and its program agree on.
 */
#ifndef SOURCE_BPF_MISSES_H
#define SOURCE_BPF_MISSES_H

/* What the program returns instead of how many there were. */
#define SONDE_BPF_MISSES_UNKNOWN 0xffffffffu

#endif /* SOURCE_BPF_MISSES_H */
