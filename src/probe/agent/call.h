/* SPDX-License-Identifier: MIT */
/*
 * call.h - a function's calls as events: a hit at its entry, and one where it
 * returns (enum sonde_agent_role).
 *
 * No stack and no return address is changed. What the entry has seen is kept by
 * thread, and found again at the return by where the return address is: so
 * recursion, signal handlers, and other stacks of the same thread can't mix up
 * two calls. A call that never returns (longjmp, cancellation) leaves a place
 * taken, which is used again: SONDE_AGENT_PENDING_MAX are kept of a thread, and
 * what is given up for another is counted in calls_lost.
 *
 * A signal handler may come in anywhere: a place is taken by one store, and by
 * the time the handler has returned, those it took are free again.
 *
 * Of a function whose entries and exits are events (BEGIN, END) nothing is kept:
 * the probe knows which one it is.
 *
 * Which calls count: those that a library in front of the function's would
 * see. A call from inside its own library that goes there directly is none.
 *
 * A lock that may wait is tried first, by the library's own function: if it is
 * free, the function is not entered at all, and its caller gets the result.
 */
#ifndef PROBE_AGENT_CALL_H
#define PROBE_AGENT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"

/* As call_thunk_x86_64.S saves them. */
struct sonde_agent_call_registers {
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rsp, rbp;
};

/* The pads' entry, as sonde_agent_thunk() (thunk.h). Not a C function. */
SONDE_HIDDEN void sonde_agent_call_thunk(void);

/* True: the function is to return at once, with the rax that is in
 * registers. Only of an ENTRY. */
SONDE_HIDDEN bool
sonde_agent_call(uint64_t index, struct sonde_agent_call_registers *registers);

/* Calls a function of the program's, with one argument, on a stack that is
 * aligned as its ABI wants. */
SONDE_HIDDEN uint64_t sonde_agent_call_there(uint64_t function,
					     uint64_t argument);

/* Where the image's code is. */
extern SONDE_HIDDEN const unsigned char sonde_image_start[];
extern SONDE_HIDDEN const unsigned char sonde_image_data[];

#endif /* PROBE_AGENT_CALL_H */
