/* SPDX-License-Identifier: MIT */
/* actions.h - what a tracepoint's actions are: their programs, decoded and
 * looked at, and their names. */
#ifndef GDB_ACTIONS_H
#define GDB_ACTIONS_H

#include "gdb/collect.h"
#include "gdb/points.h"

struct sonde_gdb_looked {
	const struct sonde_gdb_action *action;
	struct sonde_program *program; /* of an expression */
	struct sonde_gdb_shape shape;
	bool repeated; /* an earlier one does the same */
	char *name;
};

/* One for each of the point's actions; of those of the other part (steps or
 * not), only `action` is set. 0; -EINVAL with *error, -ENOMEM. */
int sonde_gdb_actions_look(const struct sonde_gdb_point *point,
			   const struct sonde_gdb_points *points, bool steps,
			   char *error, size_t error_size,
			   struct sonde_gdb_looked **ret_list);
void sonde_gdb_actions_free(struct sonde_gdb_looked *list, size_t nr);

/* GDB's bytecode. */
struct sonde_gdb_code {
	const uint8_t *bytes;
	size_t nr;
	bool collects; /* or a condition's */
};
int sonde_gdb_decode(const struct sonde_gdb_point *point,
		     const struct sonde_gdb_code *code, char *error,
		     size_t error_size, struct sonde_program **ret_program);

#endif /* GDB_ACTIONS_H */
