/* SPDX-License-Identifier: MIT */
/*
 * facade.h - a process that runs on while GDB takes it for stopped.
 *
 * GDB can look at symbols, memory and threads, and trace; it can't resume or
 * step what was never stopped. Registers are those of a thread that sleeps in
 * a system call, as far as the kernel tells them; all else is unavailable.
 * Memory can be written, but code can't.
 */
#ifndef GDB_FACADE_H
#define GDB_FACADE_H

#include "gdb/server.h"

struct sonde_gdb_facade;

extern const struct sonde_gdb_target_ops sonde_gdb_facade_ops;

/* 0; -errno with *error. */
int sonde_gdb_facade_new(pid_t pid, char *error, size_t error_size,
			 struct sonde_gdb_facade **ret_facade);
/* To be called once the server is there. */
void sonde_gdb_facade_serve(struct sonde_gdb_facade *facade,
			    struct sonde_gdb_server *server);

#endif /* GDB_FACADE_H */
