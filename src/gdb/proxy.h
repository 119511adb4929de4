/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - a target under a stock gdbserver, which does the run control.
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
#ifndef GDB_PROXY_H
#define GDB_PROXY_H

#include "gdb/target.h"
#include "gdb/upstream.h"

struct sonde_gdb_proxy;

extern const struct sonde_gdb_target_ops sonde_gdb_proxy_ops;

/* 0, or -errno with an error text of one line. The proxy is the `target` of
 * sonde_gdb_proxy_ops. */
int sonde_gdb_proxy_new(const struct sonde_gdb_upstream_config *config,
			char *error, size_t error_size,
			struct sonde_gdb_proxy **ret_proxy);
/* The server whose target the proxy is; borrowed. */
void sonde_gdb_proxy_serve(struct sonde_gdb_proxy *proxy,
			   struct sonde_gdb_server *server);

#endif /* GDB_PROXY_H */
