/* SPDX-License-Identifier: MIT */
/*
 * handshake.h - present the arena to the session that started the program.
 *
 * `sonde record` names the path of a Unix socket in SONDE_SESSION. The program
 * sends one message with the arena's descriptor, which is the recorder's from
 * then on whatever becomes of the program, and waits for the answer, so that the
 * rules are in place before its first event. The socket is closed then.
 *
 * All of that takes the program SONDE_PATIENCE_MS (ring/hello.h) at most, whatever
 * the recorder does: then the program runs on, unrecorded, and the recorder counts
 * it when it finds the connection given up.
 */
#ifndef TRACER_HANDSHAKE_H
#define TRACER_HANDSHAKE_H

#include <stdint.h>

#include "base/port.h"
#include "ring/filters.h"

/*
 * `fd`, the arena of process `pid`, is borrowed. 0, or -errno: what the
 * recorder answered, or -ENOTCONN if it can't be asked, or doesn't answer in
 * time: a program has sonde_patience_ns(), a tool as long as it likes.
 */
SONDE_HIDDEN int sonde_handshake(const char *session, int fd, uint32_t pid,
				 uint64_t patience_ns);

/* Ask the session for conditions (ring/filters.h): 0 and the descriptor of the
 * file, or -errno. */
SONDE_HIDDEN int sonde_handshake_ask(const char *session,
				     const struct sonde_filters_ask *ask,
				     uint64_t patience_ns, int *ret_fd);

#endif /* TRACER_HANDSHAKE_H */
