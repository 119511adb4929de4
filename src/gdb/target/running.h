/* SPDX-License-Identifier: MIT */
/*
 * running.h - a process that runs on while GDB takes it for stopped.
 *
 * GDB can look at symbols, memory and threads, and trace; it can't resume or
 * step what was never stopped. Registers are those of a thread that sleeps in
 * a system call, as far as the kernel tells them; all else is unavailable.
 * Memory can be written, but code can't.
 */
#ifndef GDB_TARGET_RUNNING_H
#define GDB_TARGET_RUNNING_H

#include "gdb/server.h"

struct sonde_gdb_running;

extern const struct sonde_gdb_target_ops sonde_gdb_running_ops;

/* 0; -errno with *error. */
int sonde_gdb_running_new(pid_t pid, char *error, size_t error_size,
			  struct sonde_gdb_running **ret_running);
/* To be called once the server is there. */
void sonde_gdb_running_serve(struct sonde_gdb_running *running,
			     struct sonde_gdb_server *server);

#endif /* GDB_TARGET_RUNNING_H */
