/* SPDX-License-Identifier: MIT */
/*
 * plan.c - see plan.h.
 *
 * Each action becomes items and fields of fixed size if it can. What can't
 * (expressions with branches, big ranges, whatever is beyond the fields an
 * event may have) is joined to one program, whose records are the field
 * "blocks".
 *
 * Names and types (types.h) are for those who read events; the items, and so
 * the payload's layout, don't depend on names, and on types only by the lines
 * that say which variables are in registers.
 */
#include "probe/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/actions.h"
#include "probe/bytecode.h"
#include "probe/collect.h"
#include "probe/names.h"
#include "probe/types.h"
#include "types/build.h"
#include "types/desc.h"

enum {
	/* Fields for what is collected by name; "regs", "blocks" and "at" come
	 * besides. */
	NAMED_FIELDS_MAX = SONDE_FIELDS_MAX - 4,
	/* Bytes that have a field; a bigger range goes to "blocks". */
	RANGE_BYTES_MAX = 1024,
	FIXED_BYTES_MAX = 2048,
	FIELD_NAME_SIZE = 128,
	/* Items left for the registers, "blocks" and "at". */
	ITEMS_SPARE = 3,
};

struct making {
	const struct sonde_probe_point *point;
	const struct sonde_probe_points *points;
	struct sonde_probe_plan *plan;
	struct sonde_probe_plan_part *part;
	bool steps;
	struct sonde_probe_looked *actions; /* all of the point's */
	struct sonde_build build;
	struct sonde_agent_item items[SONDE_AGENT_ITEMS_MAX];
	size_t nr_items;
	uint32_t nr_named; /* fields */
	uint32_t nr_unnamed;
	uint32_t bytes; /* of the payload */
	uint32_t nr_places;
	uint64_t mask;
	struct sonde_program **rest; /* what becomes "blocks" */
	size_t nr_rest;
	char *error;
	size_t error_size;
};

/* ---- items and fields ---- */

static struct sonde_agent_item *add_item(struct making *making,
					 enum sonde_agent_item_kind kind)
{
	struct sonde_agent_item *item = &making->items[making->nr_items++];

	*item = (struct sonde_agent_item){ .kind = (uint8_t)kind, .reg = 255 };
	return item;
}

static bool has_items(const struct making *making, size_t nr)
{
	return making->nr_items + nr + ITEMS_SPARE <= SONDE_AGENT_ITEMS_MAX;
}

/* The plan owns the program from now on; also if this fails. */
static int add_program(struct making *making, struct sonde_program *program,
		       uint64_t *ret_index)
{
	struct sonde_probe_plan *plan = making->plan;
	struct sonde_program **longer =
		reallocarray((void *)plan->programs, plan->nr_programs + 1,
			     sizeof(struct sonde_program *));

	if (!longer) {
		sonde_program_free(program);
		return -ENOMEM;
	}
	plan->programs = longer;
	longer[plan->nr_programs++] = program;
	*ret_index = plan->nr_programs;
	return 0;
}

/* An item that runs the part of a program. */
static int add_part(struct making *making,
		    const struct sonde_probe_looked *this,
		    enum sonde_probe_part part,
		    struct sonde_agent_item **ret_item)
{
	static const uint8_t kinds[] = {
		[SONDE_PROBE_PART_READS] = SONDE_AGENT_ITEM_PROGRAM,
		[SONDE_PROBE_PART_VALUE] = SONDE_AGENT_ITEM_VALUE,
		[SONDE_PROBE_PART_STRING] = SONDE_AGENT_ITEM_STRING,
	};
	struct sonde_program *program;
	uint64_t index;
	int rc = sonde_probe_take_part(this->program, part, 0, &program);

	if (!rc)
		rc = add_program(making, program, &index);
	if (rc)
		return rc;
	*ret_item = add_item(making, kinds[part]);
	(*ret_item)->program = index;
	return 0;
}

/* A name as a description may have it: printable, not too long. */
static const char *field_name(const char *name, char to[FIELD_NAME_SIZE])
{
	size_t n = 0;

	if (!name)
		return NULL;
	for (; name[n] && n + 1 < FIELD_NAME_SIZE; n++) {
		to[n] = name[n];
		if (name[n] < ' ' || name[n] > '~')
			to[n] = '_';
	}
	to[n] = '\0';
	return n ? to : NULL;
}

/* Of what nothing else is known. */
static void add_untyped(struct sonde_build *build, const char *name,
			uint32_t bytes, bool is_pointer)
{
	if (bytes == 8)
		sonde_build_int(build, name, 64,
				is_pointer ? SONDE_FIELD_HEX :
					     SONDE_FIELD_SIGNED);
	else if (bytes == 1 || bytes == 2 || bytes == 4)
		sonde_build_int(build, name, (uint8_t)(bytes * 8),
				SONDE_FIELD_SIGNED);
	else
		sonde_build_array(build, name, bytes, 8, SONDE_FIELD_HEX);
}

/* The field of bytes that were read k-th for an action. */
static void add_field(struct making *making,
		      const struct sonde_probe_looked *this, uint32_t k,
		      const char *name, uint32_t bytes, bool is_pointer)
{
	size_t action = (size_t)(this - making->actions);
	struct sonde_build *build = &making->build;
	char unnamed[16];
	char better[FIELD_NAME_SIZE];
	struct sonde_probe_type type;
	bool is_known =
		sonde_probe_types_of_read(making->point, action, k, &type);

	if (is_known && type.name[0])
		name = field_name(type.name, better);
	if (!name) {
		(void)snprintf(unnamed, sizeof(unnamed), "m%u",
			       making->nr_unnamed++);
		name = unnamed;
	}
	if (is_known && sonde_probe_type_bytes(&type) == bytes)
		sonde_probe_type_build(build, name, &type);
	else
		add_untyped(build, name, bytes, is_pointer);
	making->nr_named++;
	making->nr_places++;
	making->bytes += bytes;
}

/* The name of what was read k-th for an expression; NULL. */
static const char *read_name(const struct sonde_probe_looked *this, uint32_t k,
			     char to[FIELD_NAME_SIZE])
{
	bool is_target = !this->shape.is_value && !this->shape.string_max;
	uint32_t nr_inner = this->shape.nr_reads - (is_target ? 1 : 0);
	char inner[FIELD_NAME_SIZE];

	if (!this->name)
		return NULL;
	if (k == nr_inner)
		return field_name(this->name, to);
	if (sonde_probe_name_inner(this->name, k, nr_inner, inner,
				   sizeof(inner)))
		return field_name(inner, to);
	return NULL;
}

static int add_reads(struct making *making,
		     const struct sonde_probe_looked *this)
{
	const struct sonde_probe_shape *shape = &this->shape;
	struct sonde_agent_item *item;
	char name[FIELD_NAME_SIZE];
	uint32_t sum = 0;
	int rc;

	if (shape->nr_reads == 0)
		return 0;
	rc = add_part(making, this, SONDE_PROBE_PART_READS, &item);
	if (rc)
		return rc;
	for (uint32_t k = 0; k < shape->nr_reads; k++) {
		bool on_the_way = k + 1 < shape->nr_reads || shape->string_max;

		add_field(making, this, k, read_name(this, k, name),
			  shape->reads[k], on_the_way);
		sum += shape->reads[k];
	}
	item->length = (uint16_t)sum;
	item->nr_blocks = (uint16_t)shape->nr_reads;
	return 0;
}

/* What is known of what an expression ends with; NULL: the name isn't. */
static const char *plan_end_name(const struct making *making,
				 const struct sonde_probe_looked *this,
				 struct sonde_probe_type *ret_type,
				 char to[FIELD_NAME_SIZE])
{
	size_t action = (size_t)(this - making->actions);

	*ret_type = (struct sonde_probe_type){ .letter = 's', .nr = 1 };
	if (sonde_probe_types_of_read(making->point, action,
				      this->shape.nr_reads, ret_type) &&
	    ret_type->name[0])
		return field_name(ret_type->name, to);
	return field_name(this->name, to);
}

static int add_string(struct making *making,
		      const struct sonde_probe_looked *this)
{
	struct sonde_agent_item *item;
	char name[FIELD_NAME_SIZE];
	struct sonde_probe_type type;
	const char *known = plan_end_name(making, this, &type, name);
	int rc = add_part(making, this, SONDE_PROBE_PART_STRING, &item);

	if (rc)
		return rc;
	if (!known) {
		(void)snprintf(name, sizeof(name), "m%u", making->nr_unnamed++);
		known = name;
	}
	if (making->part->is_kernels)
		sonde_build_text(&making->build, known,
				 this->shape.string_max + 1);
	else
		sonde_build_string(&making->build, known);
	item->length = (uint16_t)this->shape.string_max;
	making->bytes += this->shape.string_max + 1;
	making->nr_places++;
	making->nr_named++;
	return 0;
}

static int add_value(struct making *making,
		     const struct sonde_probe_looked *this)
{
	struct sonde_agent_item *item;
	char name[FIELD_NAME_SIZE];
	struct sonde_probe_type type;
	const char *known = plan_end_name(making, this, &type, name);
	int rc = add_part(making, this, SONDE_PROBE_PART_VALUE, &item);

	if (rc)
		return rc;
	if (!known) {
		(void)snprintf(name, sizeof(name), "m%u", making->nr_unnamed++);
		known = name;
	}
	sonde_build_int(&making->build, known, 64,
			type.letter == 'u' ? 0 :
			type.letter == 'x' ? SONDE_FIELD_HEX :
					     SONDE_FIELD_SIGNED);
	making->bytes += sizeof(uint64_t);
	making->nr_named++;
	return 0;
}

/* Takes the program over. */
static void add_rest(struct making *making, struct sonde_probe_looked *this)
{
	making->rest[making->nr_rest++] = this->program;
	this->program = NULL;
}

static void add_variable(struct making *making,
			 const struct sonde_probe_looked *this)
{
	struct sonde_agent_item *item =
		add_item(making, SONDE_AGENT_ITEM_VARIABLE);
	char name[FIELD_NAME_SIZE];
	const char *known = field_name(this->name, name);

	item->offset = this->shape.variable;
	if (!known) {
		(void)snprintf(name, sizeof(name), "v%u", this->shape.variable);
		known = name;
	}
	sonde_build_int(&making->build, known, 64, SONDE_FIELD_SIGNED);
	making->bytes += sizeof(uint64_t);
	making->nr_named++;
}

static int add_run(struct making *making, struct sonde_probe_looked *this)
{
	uint64_t index;
	int rc = add_program(making, this->program, &index);

	this->program = NULL;
	if (!rc)
		add_item(making, SONDE_AGENT_ITEM_RUN)->program = index;
	return rc;
}

/* Whether there is room for what has fixed sizes. */
static bool has_room(const struct making *making, uint32_t fields,
		     uint32_t bytes)
{
	return has_items(making, 3) &&
	       making->nr_named + fields <= NAMED_FIELDS_MAX &&
	       bytes <= RANGE_BYTES_MAX &&
	       making->bytes + bytes <= FIXED_BYTES_MAX;
}

static int add_fixed(struct making *making, struct sonde_probe_looked *this)
{
	const struct sonde_probe_shape *shape = &this->shape;
	uint32_t bytes = shape->string_max;
	int rc;

	for (uint32_t k = 0; k < shape->nr_reads; k++)
		bytes += shape->reads[k];
	if (!has_room(making, shape->nr_reads + 1, bytes)) {
		add_rest(making, this);
		return 0;
	}
	rc = add_reads(making, this);
	if (!rc && shape->string_max)
		rc = add_string(making, this);
	if (!rc && shape->is_value && !shape->string_max)
		rc = add_value(making, this);
	return rc;
}

static int add_expression(struct making *making,
			  struct sonde_probe_looked *this)
{
	const struct sonde_probe_shape *shape = &this->shape;
	bool records = shape->nr_reads || shape->string_max || !shape->fixed ||
		       shape->nr_variables;

	if (shape->sets && !records && has_items(making, 1))
		return add_run(making, this);
	if (shape->fixed && shape->nr_variables == 1 && !shape->nr_reads &&
	    !shape->string_max && !shape->sets && has_room(making, 1, 8)) {
		add_variable(making, this);
		return 0;
	}
	if (shape->fixed && !shape->nr_variables && !shape->sets)
		return add_fixed(making, this);
	add_rest(making, this);
	return 0;
}

static int add_memory(struct making *making, struct sonde_probe_looked *this)
{
	const struct sonde_probe_action *action = this->action;
	struct sonde_agent_item *item;
	char name[FIELD_NAME_SIZE];
	int rc;

	if (action->length == 0)
		return 0;
	if (action->length > RANGE_BYTES_MAX ||
	    !has_room(making, 1, (uint32_t)action->length)) {
		rc = sonde_probe_range(action->reg, action->offset,
				       action->length, &this->program);
		if (!rc)
			add_rest(making, this);
		return rc;
	}
	item = add_item(making, SONDE_AGENT_ITEM_MEMORY);
	item->reg = action->reg < 0 ? 255 : (uint8_t)action->reg;
	item->offset = action->offset;
	item->length = (uint16_t)action->length;
	add_field(making, this, 0, field_name(this->name, name), item->length,
		  false);
	return 0;
}

static int add_action(struct making *making, struct sonde_probe_looked *this)
{
	/* A probe of the kernel's finds those of struct pt_regs. */
	const unsigned int nr = making->part->is_kernels ?
					SONDE_AGENT_SS + 1u :
					SONDE_AGENT_REGISTERS;
	const uint64_t known = ((uint64_t)1 << nr) - 1;

	if (this->action->steps != making->steps || this->repeated)
		return 0;
	switch (this->action->kind) {
	case SONDE_PROBE_REGISTERS:
		making->mask |= this->action->mask[0] & known;
		return 0;
	case SONDE_PROBE_MEMORY:
		return add_memory(making, this);
	case SONDE_PROBE_EXPRESSION:
		return add_expression(making, this);
	case SONDE_PROBE_MARKER_EVENT:
		making->part->has_static_data = true;
		return 0;
	}
	return -EINVAL;
}

/* A step's frame is where it was: its rip is always there. */
static void add_registers(struct making *making)
{
	struct sonde_build_struct begun;

	if (making->steps)
		making->mask |= 1u << SONDE_AGENT_RIP;
	if (!making->mask)
		return;
	add_item(making, SONDE_AGENT_ITEM_REGISTERS)->mask = making->mask;
	begun = sonde_build_struct(&making->build, "regs");
	for (unsigned int i = 0; i < SONDE_AGENT_REGISTERS; i++) {
		if (!(making->mask >> i & 1))
			continue;
		sonde_build_int(&making->build, sonde_probe_register_names[i],
				64, SONDE_FIELD_HEX);
		making->bytes += sizeof(uint64_t);
	}
	sonde_build_struct_end(&making->build, begun);
}

/* A variable that is in a register at the site: a value of its own, besides
 * the register (whose upper half may be anything). */
static int add_held(struct making *making, const struct sonde_probe_held *held)
{
	uint32_t bits = sonde_probe_type_bytes(&held->type) * 8;
	struct sonde_probe_type wide = held->type;
	struct sonde_program *program;
	char name[FIELD_NAME_SIZE];
	uint64_t index;
	int rc;

	if (!(making->mask >> held->reg & 1) ||
	    !field_name(held->type.name, name) || !has_room(making, 1, 8))
		return 0;
	rc = sonde_probe_register_value(held->reg, bits, held->type.is_signed,
					&program);
	if (!rc)
		rc = add_program(making, program, &index);
	if (rc)
		return rc;
	add_item(making, SONDE_AGENT_ITEM_VALUE)->program = index;
	wide.bits = 64;
	sonde_probe_type_build(&making->build, name, &wide);
	making->bytes += sizeof(uint64_t);
	making->nr_named++;
	return 0;
}

static int add_all_held(struct making *making)
{
	struct sonde_probe_held held;
	int rc = 0;

	for (size_t i = 0; !rc && i < making->point->nr_sources; i++)
		if (sonde_probe_types_held(&making->point->sources[i],
					   making->steps, &held))
			rc = add_held(making, &held);
	return rc;
}

static int add_blocks(struct making *making)
{
	struct sonde_program *joined;
	uint64_t index;
	int rc;

	if (!making->nr_rest)
		return 0;
	rc = sonde_probe_join(making->rest, making->nr_rest, &joined);
	if (!rc)
		rc = add_program(making, joined, &index);
	if (rc)
		return rc;
	add_item(making, SONDE_AGENT_ITEM_BLOCKS)->program = index;
	sonde_build_blob(&making->build, "blocks");
	making->bytes = SONDE_AGENT_STAGE; /* whatever fits */
	return 0;
}

static void add_places(struct making *making)
{
	if (!making->nr_places)
		return;
	add_item(making, SONDE_AGENT_ITEM_ADDRESSES);
	sonde_build_array(&making->build, "at", making->nr_places, 64,
			  SONDE_FIELD_HEX);
	making->bytes += making->nr_places * (uint32_t)sizeof(uint64_t);
}

/* ---- a part ---- */

static int begin_event(struct making *making)
{
	char name[SONDE_NAME_MAX];
	char full[SONDE_NAME_MAX];

	making->part->desc = aligned_alloc(8, SONDE_DESC_MAX);
	if (!making->part->desc)
		return -ENOMEM;
	sonde_probe_name_point(making->point, making->points, name,
			       sizeof(name));
	(void)snprintf(full, sizeof(full), "%.200s%s", name,
		       making->steps ? ".step" : "");
	sonde_build_begin(&making->build, making->part->desc,
			  making->part->is_kernels ? "kgdb" : "gdb", full,
			  SONDE_INFO);
	return 0;
}

static int end_part(struct making *making)
{
	size_t bytes = making->nr_items * sizeof(making->items[0]);
	int rc;

	if (making->part->is_kernels) {
		sonde_build_int(&making->build, "unread",
				8 * SONDE_PROBE_UNREAD_BYTES, SONDE_FIELD_HEX);
		making->bytes += SONDE_PROBE_UNREAD_BYTES;
	}
	rc = sonde_build_end(&making->build);

	if (rc) {
		(void)snprintf(making->error, making->error_size,
			       "tracepoint %u: its event can't be described",
			       making->point->number);
		return -EINVAL;
	}
	making->part->items = malloc(bytes + 1);
	if (!making->part->items)
		return -ENOMEM;
	memcpy(making->part->items, making->items, bytes);
	making->part->nr_items = making->nr_items;
	making->part->payload_max = making->bytes < SONDE_AGENT_STAGE ?
					    making->bytes :
					    SONDE_AGENT_STAGE;
	return 0;
}

static int look_at_actions(struct making *making)
{
	making->rest = calloc(making->point->nr_actions + 1,
			      sizeof(struct sonde_program *));
	if (!making->rest)
		return -ENOMEM;
	return sonde_probe_actions_look(making->point, making->points,
					making->steps, making->error,
					making->error_size, &making->actions);
}

static int probe_plan_make_part(struct making *making)
{
	int rc = look_at_actions(making);

	making->part->address = making->point->address;
	making->part->is_kernels = sonde_probe_point_is_kernels(making->point);
	if (!rc)
		rc = begin_event(making);
	for (size_t i = 0; !rc && i < making->point->nr_actions; i++)
		rc = add_action(making, &making->actions[i]);
	if (!rc)
		rc = add_all_held(making);
	if (!rc) {
		add_registers(making);
		rc = add_blocks(making);
	}
	if (!rc) {
		add_places(making);
		rc = end_part(making);
	}
	sonde_probe_actions_free(making->actions, making->point->nr_actions);
	for (size_t i = 0; i < making->nr_rest; i++)
		sonde_program_free(making->rest[i]);
	free((void *)making->rest);
	return rc;
}

static int make_condition(struct making *making)
{
	const struct sonde_probe_point *point = making->point;

	if (!point->condition)
		return 0;
	return sonde_probe_decode(
		point,
		&(struct sonde_probe_code){ point->condition,
					    point->nr_condition, false },
		making->error, making->error_size, &making->plan->condition);
}

int sonde_probe_plan_make(const struct sonde_probe_point *point,
			  const struct sonde_probe_points *points, char *error,
			  size_t error_size, struct sonde_probe_plan *ret_plan)
{
	struct sonde_probe_plan plan = { 0 };
	struct making common = {
		.point = point,
		.points = points,
		.plan = &plan,
		.error = error,
		.error_size = error_size,
	};
	struct making hit = common;
	struct making step = common;
	int rc;

	(void)snprintf(error, error_size, "tracepoint %u: no memory",
		       point->number);
	hit.part = &plan.hit;
	step.part = &plan.step;
	step.steps = true;
	rc = make_condition(&common);
	if (!rc)
		rc = probe_plan_make_part(&hit);
	if (!rc && point->steps)
		rc = probe_plan_make_part(&step);
	if (rc)
		sonde_probe_plan_free(&plan);
	else
		*ret_plan = plan;
	return rc;
}

void sonde_probe_plan_free(struct sonde_probe_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->nr_programs; i++)
		sonde_program_free(plan->programs[i]);
	free((void *)plan->programs);
	sonde_program_free(plan->condition);
	free(plan->hit.items);
	free(plan->hit.desc);
	free(plan->step.items);
	free(plan->step.desc);
	memset(plan, 0, sizeof(*plan));
}

/* ---- what becomes of it ---- */

static uint64_t item_bytes(const struct sonde_agent_item *item)
{
	enum {
		MEMORY_HEAD = 11, /* 'M' address length */
		VARIABLE = 13,    /* 'V' number value */
		REGISTERS = 301,  /* 'R', and a 'g' packet's bytes */
	};

	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		return REGISTERS;
	case SONDE_AGENT_ITEM_MEMORY:
	case SONDE_AGENT_ITEM_STRING:
		return MEMORY_HEAD + item->length;
	case SONDE_AGENT_ITEM_PROGRAM:
		return MEMORY_HEAD * (uint64_t)item->nr_blocks + item->length;
	case SONDE_AGENT_ITEM_VARIABLE:
		return VARIABLE;
	case SONDE_AGENT_ITEM_VALUE:
	case SONDE_AGENT_ITEM_RUN:
	case SONDE_AGENT_ITEM_BLOCKS:
	case SONDE_AGENT_ITEM_ADDRESSES:
		break;
	}
	return 0;
}

/* A trace frame: u16 number, u32 size, blocks. */
uint64_t sonde_probe_plan_frame_bytes(const struct sonde_probe_plan_part *part)
{
	uint64_t bytes = 6;

	for (size_t i = 0; i < part->nr_items; i++)
		bytes += item_bytes(&part->items[i]);
	return bytes;
}

const char *sonde_probe_plan_name(const struct sonde_probe_plan_part *part)
{
	return sonde_desc_name(part->desc);
}
