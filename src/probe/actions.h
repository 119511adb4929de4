/* SPDX-License-Identifier: MIT */
/* actions.h - what a tracepoint's actions are: their programs, decoded and
 * looked at, and their names. */
#ifndef PROBE_ACTIONS_H
#define PROBE_ACTIONS_H

#include "probe/collect.h"
#include "probe/points.h"

struct sonde_probe_looked {
	const struct sonde_probe_action *action;
	struct sonde_program *program; /* of an expression */
	struct sonde_probe_shape shape;
	bool repeated; /* an earlier one does the same */
	char *name;
};

/* One for each of the point's actions; of those of the other part (steps or
 * not), only `action` is set. 0; -EINVAL with *error, -ENOMEM. */
int sonde_probe_actions_look(const struct sonde_probe_point *point,
			     const struct sonde_probe_points *points,
			     bool steps, char *error, size_t error_size,
			     struct sonde_probe_looked **ret_list);
void sonde_probe_actions_free(struct sonde_probe_looked *list, size_t nr);

/* GDB's bytecode. */
struct sonde_probe_code {
	const uint8_t *bytes;
	size_t nr;
	bool collects; /* or a condition's */
};
int sonde_probe_decode(const struct sonde_probe_point *point,
		       const struct sonde_probe_code *code, char *error,
		       size_t error_size, struct sonde_program **ret_program);

#endif /* PROBE_ACTIONS_H */
