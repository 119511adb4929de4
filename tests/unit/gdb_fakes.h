/* SPDX-License-Identifier: MIT */
#ifndef UNIT_GDB_FAKES_H
#define UNIT_GDB_FAKES_H

#include <stdbool.h>
#include <stddef.h>

/* What was asked of the fakes, and how they are to answer. */
struct fake_log {
	int added, removed, enabled, noted;
	size_t added_sources; /* of the one added last */
	bool refuse;          /* to start a run */
};
extern struct fake_log fake_log;

struct sonde_process *fake_process(void);

#endif /* UNIT_GDB_FAKES_H */
