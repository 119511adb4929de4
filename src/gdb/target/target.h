/* SPDX-License-Identifier: MIT */
/*
 * target.h - what a server's tracepoint half wants of its other half.
 *
 * server.c owns the connection to GDB and all that is about tracing (Q..., qT
 * packets, trace frames, markers). Everything else goes to a target, in target/:
 *
 *	running		a process that runs on while GDB takes it for stopped
 *	gdbserver	a process under a stock gdbserver: run control is gdbserver's,
 *			packets are passed on by a connection
 *	trace		no process: a recorded trace (sonde gdb TRACE)
 *	kernel		the running kernel
 *
 * While a trace frame is selected, server.c answers g, p and m from the frame
 * and never asks the target.
 */
#ifndef GDB_TARGET_TARGET_H
#define GDB_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gdb/reply.h"
#include "probe/inject/process.h"

struct sonde_gdb_server;

struct sonde_gdb_target_ops {
	/* Answers a packet that isn't server.c's own. True: *reply is the
	 * answer. False: none now (it comes by sonde_gdb_server_send()). */
	bool (*packet)(void *target, const char *packet, size_t length,
		       struct sonde_gdb_reply *reply);
	/* ^C from GDB. */
	void (*interrupt)(void *target);
	/* A descriptor to be watched, and what to do when it can be read;
	 * -1: none. */
	int (*fd)(void *target);
	void (*ready)(void *target);
	/* What qSupported is to say besides server.c's own, ";" first. */
	void (*features)(void *target, struct sonde_gdb_reply *reply);
	/* Memory as it is, without our probes in it. */
	int (*read)(void *target, uint64_t address, uint8_t *to, size_t size);
	/* The process to put probes into, with its agent; NULL and an error
	 * text: there is none, or it can't be had. Called at the first need.
	 * NULL itself: it is the kernel that is traced. */
	struct sonde_process *(*process)(void *target, char *error,
					 size_t error_size);
	pid_t (*pid)(void *target);
	/* Probes are about to be put in or taken out (true), or have been
	 * (false). May be NULL. */
	void (*patching)(void *target, bool begins);
	/* GDB goes away. */
	void (*disconnected)(void *target);
	void (*free)(void *target);
};

#endif /* GDB_TARGET_TARGET_H */
