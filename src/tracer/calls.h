/* SPDX-License-Identifier: MIT */
/*
 * calls.h - whether libsonde may make its system calls.
 *
 * A seccomp filter that the program inherited may kill for any of them. Without
 * a filter all are fine. With filters none is made, unless
 *
 *  - the recorder has tried them all under as many filters: it is an ancestor,
 *    filters are inherited and never removed, so they are the same ones; or
 *  - the user says so (SONDE_SECCOMP=allow).
 *
 * Not known (no /proc) counts as forbidden: the program comes first.
 */
#ifndef TRACER_CALLS_H
#define TRACER_CALLS_H

#include <stdbool.h>

#include "base/port.h"

/* Three system calls: openat, read, close. To be asked before each group of
 * them, for the program may have taken another filter since. */
SONDE_HIDDEN bool sonde_calls_allowed(void);

/* Whether the CPU's counter may be read: a program may have turned it off
 * (PR_SET_TSC), and then reading it is a SIGSEGV. One system call, on x86. */
SONDE_HIDDEN bool sonde_calls_clock_readable(void);

#endif /* TRACER_CALLS_H */
