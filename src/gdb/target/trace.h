/* SPDX-License-Identifier: MIT */
/*
 * trace.h - a recorded trace as GDB's target: no process, no registers and
 * no memory but those of its frames (tfind); symbols by what was kept beside
 * the trace (program_files.h).
 */
#ifndef GDB_TARGET_TRACE_H
#define GDB_TARGET_TRACE_H

#include "gdb/server.h"

struct sonde_gdb_trace;

extern const struct sonde_gdb_target_ops sonde_gdb_trace_ops;

/* 0, -ENOMEM. `directory` NULL: nothing is known of any program. */
int sonde_gdb_trace_new(const char *directory,
			struct sonde_gdb_trace **ret_trace);
/* To be called once the server is there. */
void sonde_gdb_trace_serve(struct sonde_gdb_trace *trace,
			   struct sonde_gdb_server *server);

#endif /* GDB_TARGET_TRACE_H */
