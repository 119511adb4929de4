/* SPDX-License-Identifier: MIT */
/*
 * hello.h - the two messages by which a process and a recorder meet.
 *
 * A recorder listens on a Unix socket (SOCK_SEQPACKET) in the abstract
 * namespace, whose name the programs it starts find in SONDE_SESSION. A
 * process sends one sonde_hello with its arena's descriptor (SCM_RIGHTS); the
 * recorder answers with one sonde_welcome once the arena is set up; both close
 * the connection.
 */
#ifndef RING_HELLO_H
#define RING_HELLO_H

#include <stdint.h>

#define SONDE_SESSION_ENV   "SONDE_SESSION"
#define SONDE_HELLO_MAGIC   0x6f6c6c6568444e53ull /* "SNDhello" */
#define SONDE_HELLO_VERSION 1u

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
