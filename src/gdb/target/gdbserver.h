/* SPDX-License-Identifier: MIT */
/*
 * gdbserver.h - a target under a stock gdbserver, which does the run control.
 *
 * Packets are passed both ways, but for these:
 *
 *	g G	between gdbserver's layout and ours (registers.h)
 *	m M X	memory is shown as it would be without probes in it
 *	Z0 z0	a breakpoint with a condition becomes a probe that breaks if
 *		the condition is true: a false one costs nanoseconds and no
 *		stop. Others are gdbserver's; one on an instruction that a
 *		probe's jump has displaced is put at its copy in the pad
 *	stops	a thread in a pad stands at what the pad is for; one at a
 *		probe's int3 goes on in the pad; a bad pointer of a condition
 *		is the agent's. GDB hears of none of them
 *	vCont	a step that leads into a pad goes on to the next instruction
 *		of the program
 *
 * The process has its agent put in while it is stopped, by gdbserver's hands
 * (struct sonde_borrow_ops).
 */
#ifndef GDB_TARGET_GDBSERVER_H
#define GDB_TARGET_GDBSERVER_H

#include "gdb/target/connection.h"
#include "gdb/target/target.h"

struct sonde_gdb_gdbserver;

extern const struct sonde_gdb_target_ops sonde_gdb_gdbserver_ops;

/* 0, or -errno with an error text of one line. The gdbserver is the `target` of
 * sonde_gdb_gdbserver_ops. */
int sonde_gdb_gdbserver_new(const struct sonde_gdb_connection_config *config,
			    char *error, size_t error_size,
			    struct sonde_gdb_gdbserver **ret_gdbserver);
/* The server whose target the gdbserver is; borrowed. */
void sonde_gdb_gdbserver_serve(struct sonde_gdb_gdbserver *gdbserver,
			       struct sonde_gdb_server *server);

#endif /* GDB_TARGET_GDBSERVER_H */
