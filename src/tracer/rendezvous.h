/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h - present the arena to the session that started the program.
 *
 * `sonde record` names a socket in the abstract Unix namespace (so it works in
 * a chroot and leaves no file) in SONDE_SESSION. The program sends one message
 * with the arena's descriptor, which is the recorder's from then on whatever
 * becomes of the program, and waits for the answer, so that the rules are in
 * place before its first event. The socket is closed then.
 */
#ifndef TRACER_RENDEZVOUS_H
#define TRACER_RENDEZVOUS_H

#include "base/port.h"

/*
 * `fd`, the arena, is borrowed. Whatever fails: the program just isn't
 * recorded. Takes ten seconds at most if the recorder does not answer.
 */
SONDE_HIDDEN void sonde_rendezvous(const char *session, int fd);

#endif /* TRACER_RENDEZVOUS_H */
