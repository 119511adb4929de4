/* SPDX-License-Identifier: MIT */
/*
 * print_tree.h - `sonde print --tree`: what called what, a line for each call.
 */
#ifndef CMD_PRINT_TREE_H
#define CMD_PRINT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/pairs.h"
#include "cmd/read.h"

/* Its options, as given. */
struct sonde_command_tree {
	bool wanted;
	const char *min_duration, *depth;
	struct sonde_pairs_words pairs;
	/* of them, by sonde_command_tree_check() */
	int64_t min_ns;
	uint32_t levels; /* 0: all */
};

/* Whether they go together; `lines`: options were given that are of events, a
 * line each. 0, or an exit status after saying why not. */
int sonde_command_tree_check(struct sonde_command_tree *tree, bool lines);

/* After sonde_read_open(); the exit status. */
int sonde_command_tree(struct sonde_read *read,
		       const struct sonde_command_tree *tree);

#endif /* CMD_PRINT_TREE_H */
