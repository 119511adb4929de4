/* SPDX-License-Identifier: MIT */
/*
 * kernel_tracepoint.c - see kernel_tracepoint.h.
 *
 * An item of the plan becomes one of the probe, but for expressions that read:
 * each of their reads is one, by a program that computes where (collect.h). So
 * the payload has the plan's layout, and whoever reads the trace needs to know
 * nothing of the kernel.
 */
#include "probe/kernel_tracepoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unconst.h"
#include "probe/collect.h"
#include "probe/plan.h"

/* Of GDB's numbers: RSI, RDX, RCX, R8, R9, and RIP. */
#define ARGUMENT_REGISTERS                               \
	(1u << SONDE_AGENT_RSI | 1u << SONDE_AGENT_RDX | \
	 1u << SONDE_AGENT_RCX | 1u << SONDE_AGENT_R8 |  \
	 1u << (SONDE_AGENT_R8 + 1) | 1u << SONDE_AGENT_RIP)

struct kernel_making {
	const struct sonde_probe_point *point;
	const struct sonde_probe_marker *marker; /* of a static one */
	struct sonde_probe_kernel_known *known;
	struct sonde_probe_plan plan;
	struct sonde_source_probe *probe;
	uint32_t bytes;
	char *error;
	size_t error_size;
};

static int kernel_point_refuse(const struct kernel_making *making,
			       const char *what)
{
	(void)snprintf(making->error, making->error_size, "tracepoint %u: %s",
		       making->point->number, what);
	return -EINVAL;
}

/* ---- trace state variables ---- */

static bool is_builtin(const struct sonde_probe_points *points, uint32_t number)
{
	for (size_t i = 0; i < points->nr_variables; i++)
		if (points->variables[i].number == number)
			return points->variables[i].builtin;
	return false;
}

/* The source's number of GDB's variable. */
static int index_of_variable(struct kernel_making *making, uint32_t number,
			     uint32_t *ret_index)
{
	struct sonde_probe_kernel_known *known = making->known;
	uint32_t i = 0;

	if (is_builtin(known->points, number))
		return kernel_point_refuse(making,
					   "$timestamp, $tid and $cpu are not "
					   "for probes in the kernel: each "
					   "event has its time, thread and "
					   "CPU");
	while (i < known->nr_variables && known->variables[i] != number)
		i++;
	if (i == SONDE_SOURCE_VARIABLES)
		return kernel_point_refuse(making,
					   "the kernel's tracepoints use more "
					   "than 16 trace state variables");
	known->variables[i] = number;
	if (i == known->nr_variables)
		known->nr_variables++;
	*ret_index = i;
	return 0;
}

/* Those that a program reads get the source's numbers. */
static int renumber_variables(struct kernel_making *making,
			      struct sonde_program *program)
{
	uint32_t index = 0;
	int rc = 0;

	for (uint32_t i = 0; program && !rc && i < program->nr_ops; i++) {
		struct sonde_expr_op *op = &program->ops[i];

		if (op->code != SONDE_EXPR_OP_GET_VARIABLE)
			continue;
		rc = index_of_variable(making, (uint32_t)op->number, &index);
		op->number = index;
	}
	return rc;
}

/* Takes the program over. */
static int add_source_item(struct kernel_making *making,
			   enum sonde_source_probe_kind kind, uint32_t bytes,
			   struct sonde_program *program)
{
	struct sonde_source_probe *probe = making->probe;

	if (probe->nr_items == SONDE_SOURCE_PROBE_ITEMS) {
		sonde_program_free(program);
		return kernel_point_refuse(making,
					   "more is collected than a probe in "
					   "the kernel has room for (32 "
					   "things)");
	}
	probe->items[probe->nr_items++] = (struct sonde_source_probe_item){
		.kind = kind,
		.bytes = bytes,
		.program = program,
	};
	making->bytes += bytes;
	return renumber_variables(making, program);
}

/* Its value is the variable's. */
static int add_variable_item(struct kernel_making *making,
			     const struct sonde_agent_item *item)
{
	struct sonde_program *program;
	int rc = sonde_probe_variable_value((uint32_t)item->offset, &program);

	return rc ? rc :
		    add_source_item(making, SONDE_SOURCE_PROBE_NUMBER, 8,
				    program);
}

/* Where a program does `$x = EXPRESSION`, if that is all that it does; NULL. */
static const struct sonde_expr_op *
only_assignment(const struct sonde_program *program)
{
	const struct sonde_expr_op *end = program->ops + program->nr_ops;
	const struct sonde_expr_op *op = program->ops;
	const struct sonde_expr_op *next;
	struct sonde_probe_shape shape;

	sonde_probe_shape(program, &shape);
	while (op < end && op->code != SONDE_EXPR_OP_SET_VARIABLE)
		op++;
	next = op < end ? op + 1 : end;
	next += next < end && next->code == SONDE_EXPR_OP_POP;
	return shape.straight && next < end &&
			       sonde_expr_op_infos[next->code].operands &
				       SONDE_EXPR_OPERAND_END ?
		       op :
		       NULL;
}

static int add_assignment(struct kernel_making *making,
			  const struct sonde_agent_item *item)
{
	const struct sonde_program *from =
		making->plan.programs[item->program - 1];
	const struct sonde_expr_op *op = only_assignment(from);
	struct sonde_program *program = NULL;
	uint32_t variable = 0;
	int rc;

	if (!op)
		return kernel_point_refuse(making, "a teval is one assignment");
	rc = index_of_variable(making, (uint32_t)op->number, &variable);
	if (!rc)
		rc = sonde_probe_take_part(from, SONDE_PROBE_PART_ASSIGN, 0,
					   &program);
	if (!rc)
		rc = add_source_item(making, SONDE_SOURCE_PROBE_ASSIGN, 0,
				     program);
	if (!rc)
		making->probe->items[making->probe->nr_items - 1].variable =
			variable;
	return rc;
}

/* ---- items ---- */

/* The plan's program, which has no other use here. */
static struct sonde_program *take_program(struct kernel_making *making,
					  const struct sonde_agent_item *item)
{
	struct sonde_program *program =
		making->plan.programs[item->program - 1];

	making->plan.programs[item->program - 1] = NULL;
	return program;
}

static int add_each_read(struct kernel_making *making,
			 const struct sonde_agent_item *item)
{
	const struct sonde_program *from =
		making->plan.programs[item->program - 1];
	struct sonde_probe_shape shape;
	int rc = 0;

	sonde_probe_shape(from, &shape);
	for (uint32_t k = 0; !rc && k < shape.nr_reads; k++) {
		struct sonde_program *program = NULL;

		rc = sonde_probe_take_part(from, SONDE_PROBE_PART_READ, k,
					   &program);
		if (!rc)
			rc = add_source_item(making, SONDE_SOURCE_PROBE_MEMORY,
					     shape.reads[k], program);
		making->bytes += sizeof(uint64_t);
	}
	return rc;
}

/* Bytes at a register, or at a fixed place. */
static int add_place_item(struct kernel_making *making,
			  const struct sonde_agent_item *item)
{
	struct sonde_program *range;
	struct sonde_program *program;
	int rc = sonde_probe_range(item->reg == 255 ? -1 : item->reg,
				   item->offset, item->length, &range);

	if (rc)
		return rc;
	rc = sonde_probe_take_part(range, SONDE_PROBE_PART_READ, 0, &program);
	sonde_program_free(range);
	if (rc)
		return rc;
	making->bytes += sizeof(uint64_t);
	return add_source_item(making, SONDE_SOURCE_PROBE_MEMORY, item->length,
			       program);
}

static int add_all_registers(struct kernel_making *making,
			     const struct sonde_agent_item *item)
{
	uint32_t nr = (uint32_t)__builtin_popcountll(item->mask);
	int rc;

	/* Of an event's arguments, there are no other registers. */
	if (making->marker && !making->marker->target &&
	    item->mask & ~(uint64_t)ARGUMENT_REGISTERS)
		return kernel_point_refuse(making,
					   "there are the event's arguments "
					   "and no registers: they are at its "
					   "sites");
	rc = add_source_item(making, SONDE_SOURCE_PROBE_REGISTERS, 8 * nr,
			     NULL);
	if (!rc)
		making->probe->items[making->probe->nr_items - 1].mask =
			item->mask;
	return rc;
}

static int add_plan_item(struct kernel_making *making,
			 const struct sonde_agent_item *item)
{
	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		return add_all_registers(making, item);
	case SONDE_AGENT_ITEM_MEMORY:
		return add_place_item(making, item);
	case SONDE_AGENT_ITEM_PROGRAM:
		return add_each_read(making, item);
	case SONDE_AGENT_ITEM_STRING:
		making->bytes += sizeof(uint64_t);
		return add_source_item(making, SONDE_SOURCE_PROBE_TEXT,
				       item->length + 1u,
				       take_program(making, item));
	case SONDE_AGENT_ITEM_VALUE:
		return add_source_item(making, SONDE_SOURCE_PROBE_NUMBER, 8,
				       take_program(making, item));
	case SONDE_AGENT_ITEM_ADDRESSES:
		making->probe->tells_addresses = true;
		return 0;
	case SONDE_AGENT_ITEM_VARIABLE:
		return add_variable_item(making, item);
	case SONDE_AGENT_ITEM_RUN:
		return add_assignment(making, item);
	case SONDE_AGENT_ITEM_BLOCKS:
		break;
	}
	return kernel_point_refuse(making,
				   "what it collects has no fixed size, or is "
				   "too large for a probe in the kernel "
				   "(collect parts of it), or a teval isn't "
				   "one assignment without && || ?:");
}

static int check_point(const struct kernel_making *making)
{
	if (making->point->steps)
		return kernel_point_refuse(
			making, "the kernel can't be stepped through "
				"(while-stepping)");
	if (making->point->type == SONDE_PROBE_STATIC && !making->marker)
		return kernel_point_refuse(making,
					   "the kernel has no static "
					   "tracepoint there (info "
					   "static-tracepoint-markers)");
	if (!making->marker && making->plan.hit.has_static_data)
		return kernel_point_refuse(making,
					   "$_sdata is of static tracepoints "
					   "only (strace)");
	return 0;
}

static int fill_probe(struct kernel_making *making)
{
	struct sonde_source_probe *probe = making->probe;
	const char *place = sonde_probe_point_source(making->point, "at");
	int rc = check_point(making);

	for (size_t i = 0; !rc && i < making->plan.hit.nr_items; i++)
		rc = add_plan_item(making, &making->plan.hit.items[i]);
	if (rc)
		return rc;
	if (making->bytes + SONDE_PROBE_UNREAD_BYTES > SONDE_SOURCE_PROBE_BYTES)
		return kernel_point_refuse(making,
					   "more is collected than a probe in "
					   "the kernel has room for (1020 "
					   "bytes)");
	probe->address = making->point->address;
	probe->passes = making->point->passes;
	probe->tells_unread = true;
	if (making->marker) {
		probe->tracepoint = strdup(making->marker->name);
		probe->target = making->marker->target;
		place = making->marker->id;
	}
	probe->function = strdup(place ? place : "the tracepoint");
	probe->name = strdup(sonde_probe_plan_name(&making->plan.hit));
	probe->condition = making->plan.condition;
	probe->desc = making->plan.hit.desc;
	making->plan.condition = NULL;
	making->plan.hit.desc = NULL;
	if (renumber_variables(making, probe->condition))
		return -EINVAL;
	return probe->function && probe->name &&
			       (!making->marker || probe->tracepoint) ?
		       0 :
		       -ENOMEM;
}

int sonde_probe_kernel_tracepoint(const struct sonde_probe_point *point,
				  struct sonde_probe_kernel_known *known,
				  char *error, size_t error_size,
				  struct sonde_source_probe *ret_probe,
				  uint64_t *ret_frame_bytes)
{
	struct kernel_making making = {
		.point = point,
		.known = known,
		.probe = ret_probe,
		.error = error,
		.error_size = error_size,
	};
	int rc;

	*ret_probe = (struct sonde_source_probe){ 0 };
	if (point->type == SONDE_PROBE_STATIC)
		making.marker =
			sonde_probe_marker_at(&known->markers, point->address);
	if (!sonde_probe_point_is_kernels(point))
		return kernel_point_refuse(&making,
					   "its address is no address of the "
					   "kernel: give GDB the kernel's "
					   "symbols, moved to where it is "
					   "(sonde gdb --kernel does)");
	rc = sonde_probe_plan_make(point, known->points, error, error_size,
				   &making.plan);
	if (rc)
		return rc;
	*ret_frame_bytes = sonde_probe_plan_frame_bytes(&making.plan.hit);
	rc = fill_probe(&making);
	sonde_probe_plan_free(&making.plan);
	return rc;
}

void sonde_probe_kernel_tracepoint_fini(struct sonde_source_probe *probe)
{
	for (uint32_t i = 0; i < probe->nr_items; i++)
		sonde_program_free(probe->items[i].program);
	sonde_program_free(probe->condition);
	free(sonde_unconst(probe->function));
	free(sonde_unconst(probe->name));
	free(sonde_unconst(probe->tracepoint));
	free(sonde_unconst(probe->desc));
	*probe = (struct sonde_source_probe){ 0 };
}
