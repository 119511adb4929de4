/* SPDX-License-Identifier: MIT */
/*
 * hello.h - the two messages by which a process and a recorder meet.
 *
 * A recorder listens on a Unix socket (SOCK_SEQPACKET) at a path in a directory
 * of its user's, which the programs it starts find in SONDE_SESSION. A process
 * sends one sonde_hello with its arena's descriptor (SCM_RIGHTS); the recorder
 * answers with one sonde_welcome once the arena is set up; both close the
 * connection.
 *
 * The process gives up SONDE_PATIENCE_MS after it began, whatever it waits for.
 */
#ifndef RING_HELLO_H
#define RING_HELLO_H

#include <stdint.h>

#include "base/number.h"

#define SONDE_SESSION_ENV "SONDE_SESSION"
/* A file that marks can be written to (docs/marks.md), where there is one. */
#define SONDE_MARK_ENV "SONDE_MARK"
/* A directory for the arena's file, which is memory without it. */
#define SONDE_ARENA_ENV "SONDE_ARENA"
/* Milliseconds, in decimal: for where a recorder that lives may take longer
 * (valgrind, an emulator, an overloaded machine). */
#define SONDE_PATIENCE_ENV    "SONDE_WAIT_MS"
#define SONDE_PATIENCE_MS     100u
#define SONDE_PATIENCE_MAX_MS 60000u

#define SONDE_HELLO_MAGIC     0x6f6c6c6568444e53ull /* "SNDhello" */
#define SONDE_HELLO_VERSION   1u

/* How long a process waits. `given`: SONDE_PATIENCE_ENV's value, or NULL. */
static inline uint64_t sonde_patience_ns(const char *given)
{
	uint64_t ms;

	if (!given || !sonde_number_parse(given, UINT64_MAX, &ms) || !ms)
		ms = SONDE_PATIENCE_MS;
	return (ms < SONDE_PATIENCE_MAX_MS ? ms : SONDE_PATIENCE_MAX_MS) *
	       1000000;
}

struct sonde_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t pid; /* as the process sees it */
};

struct sonde_welcome {
	uint64_t magic;
	uint32_t version;
	int32_t error; /* 0, or -errno: why the arena was not taken */
};

#endif /* RING_HELLO_H */
