/* SPDX-License-Identifier: MIT */
/*
 * upstream.h - a stock gdbserver of ours, and the connection to it.
 *
 * It is started on a pseudo-terminal, which it takes for a serial line: its
 * standard streams stay the program's, and nobody else can connect. In no-ack
 * mode, without target descriptions: a 'g' packet is then always the same
 * length (see proxy_registers.c).
 *
 * It answers packets in turn; what comes unasked (notifications) while an
 * answer is waited for is kept.
 */
#ifndef GDB_UPSTREAM_H
#define GDB_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "gdb/reply.h"

struct sonde_gdb_upstream;

struct sonde_gdb_upstream_config {
	pid_t attach;         /* 0: none */
	bool multi;           /* no process yet */
	char *const *program; /* to be launched: words and NULL; or NULL */
	bool is_quiet;        /* standard input and output are GDB's: the
				 program gets neither */
};

/* 0, or -errno with an error text of one line. */
int sonde_gdb_upstream_start(const struct sonde_gdb_upstream_config *config,
			     char *error, size_t error_size,
			     struct sonde_gdb_upstream **ret_upstream);
/* Waits for it; what it launched ends with it. */
void sonde_gdb_upstream_free(struct sonde_gdb_upstream *upstream);

/* What it said to qSupported. */
const char *
sonde_gdb_upstream_features(const struct sonde_gdb_upstream *upstream);
int sonde_gdb_upstream_fd(const struct sonde_gdb_upstream *upstream);
/* 0; -EPIPE: it is gone. */
int sonde_gdb_upstream_send(struct sonde_gdb_upstream *upstream,
			    const char *body, size_t length);
int sonde_gdb_upstream_interrupt(struct sonde_gdb_upstream *upstream);
/* Sends, and waits for the answer. */
int sonde_gdb_upstream_ask(struct sonde_gdb_upstream *upstream,
			   const char *body, size_t length,
			   struct sonde_gdb_reply *reply);
/* Takes what has come. 1: a message; 0: none that is whole; -EPIPE. `wait`:
 * until there is one. */
int sonde_gdb_upstream_hear(struct sonde_gdb_upstream *upstream, bool wait,
			    struct sonde_gdb_reply *reply,
			    bool *ret_notification);

#endif /* GDB_UPSTREAM_H */
