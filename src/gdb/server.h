/* SPDX-License-Identifier: MIT */
/*
 * server.h - the remote serial protocol, GDB's side of it being the client.
 *
 * One connection at a time; one thread; one poll loop over the connection, the
 * target and the tracing run. See target.h for who answers what.
 */
#ifndef GDB_SERVER_H
#define GDB_SERVER_H

#include "gdb/frames.h"
#include "gdb/target/target.h"
#include "probe/run.h"

struct sonde_gdb_server_config {
	const struct sonde_gdb_target_ops *ops;
	void *target;                    /* the server frees it */
	const char *directory;           /* run.h; NULL: temporary */
	struct sonde_gdb_frames *frames; /* of a recorded trace, or NULL; the
					    server frees it */
	const char *symbols;   /* the kernel's (run.h), or NULL; and how far */
	uint64_t moved;        /* it is moved */
	uint64_t buffer_bytes; /* GDB's trace buffer unless GDB says how large:
				  0: no limit */
	/* When it can be read, the server ends as if told to by GDB; 0: none.
	 * It stays the caller's. */
	int stop_fd;
	bool verbose; /* packets on stderr */
};

int sonde_gdb_server_new(const struct sonde_gdb_server_config *config,
			 struct sonde_gdb_server **ret_server);
void sonde_gdb_server_free(struct sonde_gdb_server *server);

enum sonde_gdb_end {
	SONDE_GDB_END_DETACHED, /* D, or the connection ended */
	SONDE_GDB_END_KILLED,   /* k, monitor exit: the server shall end */
	SONDE_GDB_END_EXITED,   /* the process has */
};

/* Serves one connection until it ends. `in` and `out` may be the same. */
int sonde_gdb_server_serve(struct sonde_gdb_server *server, int in, int out,
			   enum sonde_gdb_end *ret_end);
/* Between two connections: a disconnected run goes on, until a descriptor can
 * be read (a connection comes), or the process ends. */
int sonde_gdb_server_idle(struct sonde_gdb_server *server, int listen_fd,
			  enum sonde_gdb_end *ret_end);
/* For targets: an answer that came later (stop replies). */
void sonde_gdb_server_send(struct sonde_gdb_server *server,
			   const struct sonde_gdb_reply *reply);
/* For targets: "%body#sum", which GDB doesn't acknowledge. */
void sonde_gdb_server_notify(struct sonde_gdb_server *server, const char *body,
			     size_t length);
/* For targets: the connection is over, for this reason, once the answer to the
 * packet in hand is sent. */
void sonde_gdb_server_end(struct sonde_gdb_server *server,
			  enum sonde_gdb_end end);
/* For targets: the process that they gave is going; its run is over. */
void sonde_gdb_server_forget(struct sonde_gdb_server *server);
/* For targets: the process has ended; its run is over, and can be looked at. */
void sonde_gdb_server_process_ended(struct sonde_gdb_server *server);
/* Whether a run is on. */
bool sonde_gdb_server_is_running(const struct sonde_gdb_server *server);
/* For targets: the probes, once there is a process; NULL. Conditional
 * breakpoints are put in through them. */
struct sonde_probes *sonde_gdb_server_probes(struct sonde_gdb_server *server);

#endif /* GDB_SERVER_H */
