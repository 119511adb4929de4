/* SPDX-License-Identifier: MIT */
/*
 * stub.h - a libsonde that keeps the last event and shows it as text, by the
 * site's description alone. So a test that expects some text checks both that
 * the description is well-formed and that the payload is what it says.
 */
#ifndef TESTS_TRACEPOINT_STUB_H
#define TESTS_TRACEPOINT_STUB_H

#include <stddef.h>

#include <sonde/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether sites see a state other than 0. Off at the start. */
SONDE_EXPORT void stub_enable(int on);

/* The last event, as in `p:n{a=1, s="x"}`, then forget it; "" if none. */
SONDE_EXPORT const char *stub_take(void);

/* How the last event came: 'w'ord, 'b'lock, 'p'arts. */
SONDE_EXPORT char stub_way(void);

/* Payload bytes of the last event. */
SONDE_EXPORT size_t stub_size(void);

/* Sites registered whose description is refused, and all the others. */
SONDE_EXPORT size_t stub_nr_bad(void);
SONDE_EXPORT size_t stub_nr_events(void);
SONDE_EXPORT size_t stub_nr_references(void);

/* Level of the event `name`, or -1. */
SONDE_EXPORT int stub_level(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_TRACEPOINT_STUB_H */
