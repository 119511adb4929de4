/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the running kernel as GDB's target: memory by /proc/kcore, one
 * thread without registers, tracepoints by the recorder's probes
 * (probe/run_kernel.c). Nothing is ever stopped, or written to.
 */
#ifndef GDB_TARGET_KERNEL_H
#define GDB_TARGET_KERNEL_H

#include "gdb/server.h"

struct sonde_gdb_kernel;

extern const struct sonde_gdb_target_ops sonde_gdb_kernel_ops;

/* Where the kernel's first byte is: its symbol _text. 0, -errno with *error of
 * one line: this user isn't told. */
int sonde_gdb_kernel_text(uint64_t *ret_address, char *error,
			  size_t error_size);

/* 0; -errno with *error. Where memory can't be read, *error says why, too, or is
 * empty. */
int sonde_gdb_kernel_new(char *error, size_t error_size,
			 struct sonde_gdb_kernel **ret_kernel);
/* To be called once the server is there. */
void sonde_gdb_kernel_serve(struct sonde_gdb_kernel *kernel,
			    struct sonde_gdb_server *server);

#endif /* GDB_TARGET_KERNEL_H */
