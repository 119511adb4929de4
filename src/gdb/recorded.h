/* SPDX-License-Identifier: MIT */
/*
 * recorded.h - a recorded trace as GDB's target: no process, no registers and
 * no memory but those of its frames (tfind); symbols by what was kept beside
 * the trace (image.h).
 */
#ifndef GDB_RECORDED_H
#define GDB_RECORDED_H

#include "gdb/server.h"

struct sonde_gdb_recorded;

extern const struct sonde_gdb_target_ops sonde_gdb_recorded_ops;

/* 0, -ENOMEM. `directory` NULL: nothing is known of any program. */
int sonde_gdb_recorded_new(const char *directory,
			   struct sonde_gdb_recorded **ret_recorded);
/* To be called once the server is there. */
void sonde_gdb_recorded_serve(struct sonde_gdb_recorded *recorded,
			      struct sonde_gdb_server *server);

#endif /* GDB_RECORDED_H */
