/* SPDX-License-Identifier: MIT */
/*
 * connection.h - a stock gdbserver of ours, and the connection to it.
 *
 * It is started on a pseudo-terminal, which it takes for a serial line: its
 * standard streams stay the program's, and nobody else can connect. In no-ack
 * mode, without target descriptions: a 'g' packet is then always the same
 * length (see gdbserver_registers.c).
 *
 * It answers packets in turn; what comes unasked (notifications) while an
 * answer is waited for is kept.
 */
#ifndef GDB_TARGET_CONNECTION_H
#define GDB_TARGET_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "gdb/reply.h"

struct sonde_gdb_connection;

struct sonde_gdb_connection_config {
	pid_t attach;         /* 0: none */
	bool multi;           /* no process yet */
	char *const *program; /* to be launched: words and NULL; or NULL */
	bool is_quiet;        /* standard input and output are GDB's: the
				 program gets neither */
};

/* 0, or -errno with an error text of one line. */
int sonde_gdb_connection_start(const struct sonde_gdb_connection_config *config,
			       char *error, size_t error_size,
			       struct sonde_gdb_connection **ret_connection);
/* Waits for it; what it launched ends with it. */
void sonde_gdb_connection_free(struct sonde_gdb_connection *connection);

/* What it said to qSupported. */
const char *
sonde_gdb_connection_features(const struct sonde_gdb_connection *connection);
int sonde_gdb_connection_fd(const struct sonde_gdb_connection *connection);
/* 0; -EPIPE: it is gone. */
int sonde_gdb_connection_send(struct sonde_gdb_connection *connection,
			      const char *body, size_t length);
int sonde_gdb_connection_interrupt(struct sonde_gdb_connection *connection);
/* Sends, and waits for the answer. */
int sonde_gdb_connection_ask(struct sonde_gdb_connection *connection,
			     const char *body, size_t length,
			     struct sonde_gdb_reply *reply);
/* Takes what has come. 1: a message; 0: none that is whole; -EPIPE. `wait`:
 * until there is one. */
int sonde_gdb_connection_hear(struct sonde_gdb_connection *connection,
			      bool wait, struct sonde_gdb_reply *reply,
			      bool *ret_notification);

#endif /* GDB_TARGET_CONNECTION_H */
