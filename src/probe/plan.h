/* SPDX-License-Identifier: MIT */
/*
 * plan.h - how a tracepoint's hits become events.
 *
 * A pure function of the tracepoint: from what GDB defined (points.h) come the
 * event's description, the items the agent collects, and the way back from a
 * recorded payload to the blocks of a GDB trace frame. Whoever reads the trace
 * later makes the same plan from the lines kept beside it.
 *
 * The event is "gdb:NAME" (names.h): NAME is the tracepoint's given name (a
 * source line of kind "name"), or its place as the user wrote it (function,
 * file_line), or tpN; if an earlier one has it, NAME.2. Of its steps,
 * NAME.step. Fields, in order:
 *
 *	one for each collected expression, named as the user wrote it; what is
 *	read on the way to it (p of p->key) before it, with names of its own
 *	regs	what registers are collected, a structure
 *	blocks	what has no fixed shape, in GDB's form
 *	at	the addresses of all that was read
 *
 * In the kernel (kernel_tracepoint.h) the event is "kgdb:NAME", and all sizes are
 * fixed: texts have the bytes they may have, and there is a last field,
 *
 *	unread	bits of what could not be read or computed, and is 0
 */
#ifndef PROBE_PLAN_H
#define PROBE_PLAN_H

#include <sonde/abi.h>

#include "probe/inject/agent.h"
#include "probe/points.h"

struct sonde_program;

struct sonde_probe_plan_part {
	struct sonde_agent_item *items;
	size_t nr_items;
	uint32_t payload_max;
	struct sonde_desc *desc; /* aligned to 8 */
	bool has_static_data;
	bool is_kernels;
	uint64_t address; /* the tracepoint's */
};

/* Bytes of the field "unread". */
#define SONDE_PROBE_UNREAD_BYTES 4u

struct sonde_probe_plan {
	struct sonde_probe_plan_part hit, step;
	struct sonde_program **programs; /* items refer to index + 1 */
	size_t nr_programs;
	struct sonde_program *condition; /* NULL: none */
};

/* 0; -EINVAL with *error (one line), -ENOMEM. */
int sonde_probe_plan_make(const struct sonde_probe_point *point,
			  const struct sonde_probe_points *points, char *error,
			  size_t error_size, struct sonde_probe_plan *ret_plan);
void sonde_probe_plan_free(struct sonde_probe_plan *plan);

/* The event's name, without the provider. */
const char *sonde_probe_plan_name(const struct sonde_probe_plan_part *part);
/* What it takes in GDB's format, without `blocks`. */
uint64_t sonde_probe_plan_frame_bytes(const struct sonde_probe_plan_part *part);

#endif /* PROBE_PLAN_H */
