/* SPDX-License-Identifier: MIT */
/*
 * plan.h - how a tracepoint's hits become events.
 *
 * A pure function of the tracepoint: from what GDB defined (points.h) come the
 * event's description, the items the agent collects, and the way back from a
 * recorded payload to the blocks of a GDB trace frame. Whoever reads the trace
 * later makes the same plan from the lines kept beside it.
 *
 * The event is "gdb:NAME": NAME is the tracepoint's given name or tpN; of its
 * steps, NAME_step. Fields, in order:
 *
 *	one for each collected expression, named as the user wrote it; what is
 *	read on the way to it (p of p->key) before it, with names of its own
 *	regs	what registers are collected, a structure
 *	blocks	what has no fixed shape, in GDB's form
 *	at	the addresses of all that was read
 */
#ifndef GDB_PLAN_H
#define GDB_PLAN_H

#include <sonde/abi.h>

#include "gdb/points.h"
#include "tracer/probes/agent.h"

struct sonde_program;

/* A type for a collected expression, if somebody knows (DWARF): else integers
 * by their size. */
struct sonde_gdb_type {
	uint8_t kind;   /* enum sonde_type: INT, FLOAT, STRING, TEXT... */
	uint32_t flags; /* SONDE_FIELD_* */
};

struct sonde_gdb_plan_part {
	struct sonde_agent_item *items;
	size_t nr_items;
	uint32_t payload_max;
	struct sonde_desc *desc; /* aligned to 8 */
	bool has_static_data;
};

struct sonde_gdb_plan {
	struct sonde_gdb_plan_part hit, step;
	struct sonde_program **programs; /* items refer to index + 1 */
	size_t nr_programs;
	struct sonde_program *condition; /* NULL: none */
};

/* 0; -EINVAL with *error (one line), -ENOMEM. */
int sonde_gdb_plan_make(const struct sonde_gdb_point *point,
			const struct sonde_gdb_points *points, char *error,
			size_t error_size, struct sonde_gdb_plan *ret_plan);
void sonde_gdb_plan_free(struct sonde_gdb_plan *plan);

/*
 * The blocks of GDB's trace frame ('R', 'M', 'V', ...; gdb manual, "Trace File
 * Format") from a recorded payload. The length they have or would have;
 * 0: the payload is not such a one. Registers that were not collected are left
 * out (no 'R' at all if none was).
 */
size_t sonde_gdb_plan_frame(const struct sonde_gdb_plan_part *part,
			    const struct sonde_gdb_plan *plan,
			    const uint8_t *payload, size_t size, uint8_t *to,
			    size_t room);

#endif /* GDB_PLAN_H */
