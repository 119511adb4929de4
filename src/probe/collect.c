/* SPDX-License-Identifier: MIT */
/*
 * collect.c - see collect.h. A program is taken apart by writing it anew,
 * operation by operation, with some of them replaced (expr/builder.h).
 */
#include "probe/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "expr/builder.h"

static bool branches(const struct sonde_expr_op *op)
{
	return op->code == SONDE_EXPR_OP_GO ||
	       sonde_expr_op_infos[op->code].operands &
		       SONDE_EXPR_OPERAND_SENSE;
}

static void collect_add_read(struct sonde_probe_shape *shape, uint64_t bytes)
{
	/* nothing follows the string */
	if (shape->string_max || bytes == 0 || bytes > UINT16_MAX ||
	    shape->nr_reads == SONDE_PROBE_READS_MAX)
		shape->fixed = false;
	else
		shape->reads[shape->nr_reads++] = (uint32_t)bytes;
}

/* What operation i of a program does. */
static void look(const struct sonde_program *program, uint32_t i,
		 struct sonde_probe_shape *shape)
{
	const struct sonde_expr_op *op = &program->ops[i];
	bool constant =
		i > 0 && program->ops[i - 1].code == SONDE_EXPR_OP_NUMBER;

	switch (op->code) {
	case SONDE_EXPR_OP_TRACE:
		if (!constant)
			shape->fixed = false;
		else
			collect_add_read(shape, program->ops[i - 1].number);
		break;
	case SONDE_EXPR_OP_TRACE_QUICK:
		collect_add_read(shape, op->number);
		break;
	case SONDE_EXPR_OP_TRACE_STRING:
		if (!constant || shape->string_max ||
		    program->ops[i - 1].number == 0 ||
		    program->ops[i - 1].number > UINT16_MAX)
			shape->fixed = false;
		else
			shape->string_max =
				(uint32_t)program->ops[i - 1].number;
		break;
	case SONDE_EXPR_OP_TRACE_VARIABLE:
		shape->nr_variables++;
		shape->variable = (uint32_t)op->number;
		break;
	case SONDE_EXPR_OP_SET_VARIABLE:
		shape->sets = true;
		break;
	case SONDE_EXPR_OP_END_MISSING:
		shape->is_value =
			i > 0 && program->ops[i - 1].code == SONDE_EXPR_OP_POP;
		break;
	default:
		if (branches(op))
			shape->straight = false;
	}
}

void sonde_probe_shape(const struct sonde_program *program,
		       struct sonde_probe_shape *ret_shape)
{
	memset(ret_shape, 0, sizeof(*ret_shape));
	ret_shape->straight = true;
	ret_shape->fixed = true;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		look(program, i, ret_shape);
	ret_shape->fixed = ret_shape->fixed && ret_shape->straight;
	ret_shape->is_value = ret_shape->is_value && ret_shape->straight;
}

static void add(struct sonde_builder *code, uint8_t op, uint64_t number)
{
	sonde_builder_add(code, (struct sonde_expr_op){ .code = op,
							.number = number });
}

/* ---- parts ---- */

struct taking {
	struct sonde_builder code;
	struct sonde_builder_label fault, divided;
	uint32_t before; /* the READ that is wanted */
	bool done;       /* the part is complete: what follows is left out */
};

/* An operation as it is. */
static void keep(struct taking *taking, const struct sonde_program *program,
		 const struct sonde_expr_op *op)
{
	bool divides;

	if (!(sonde_expr_op_infos[op->code].operands &
	      SONDE_EXPR_OPERAND_JUMP)) {
		sonde_builder_add(&taking->code, *op);
		return;
	}
	divides = program->ops[op->target].code == SONDE_EXPR_OP_END_DIVIDED;
	sonde_builder_jump(&taking->code, *op,
			   divides ? &taking->divided : &taking->fault);
}

/* With the value on top; nothing may be below. */
static void end_with_value(struct taking *taking)
{
	while (taking->code.depth > 1) {
		add(&taking->code, SONDE_EXPR_OP_SWAP, 0);
		add(&taking->code, SONDE_EXPR_OP_POP, 0);
	}
	add(&taking->code, SONDE_EXPR_OP_END_NUMBER, 0);
	taking->done = true;
}

static void end_or_pop(struct taking *taking, bool ends)
{
	if (ends)
		end_with_value(taking);
	else
		add(&taking->code, SONDE_EXPR_OP_POP, 0);
}

static void end_or_keep(struct taking *taking,
			const struct sonde_program *program,
			const struct sonde_expr_op *op, bool ends)
{
	if (ends)
		end_with_value(taking);
	else
		keep(taking, program, op);
}

static void take_op(struct taking *taking, const struct sonde_program *program,
		    uint32_t i, enum sonde_probe_part part)
{
	const struct sonde_expr_op *op = &program->ops[i];
	struct sonde_builder *code = &taking->code;
	bool last = i + 1 < program->nr_ops &&
		    op[1].code == SONDE_EXPR_OP_END_MISSING;

	switch (op->code) {
	case SONDE_EXPR_OP_TRACE_STRING:
		add(code, SONDE_EXPR_OP_POP, 0);
		end_or_pop(taking, part == SONDE_PROBE_PART_STRING);
		break;
	case SONDE_EXPR_OP_TRACE:
		if (part == SONDE_PROBE_PART_READS) {
			keep(taking, program, op);
			break;
		}
		add(code, SONDE_EXPR_OP_POP, 0);
		end_or_pop(taking,
			   part == SONDE_PROBE_PART_READ && !taking->before--);
		break;
	case SONDE_EXPR_OP_TRACE_QUICK:
		if (part == SONDE_PROBE_PART_READS)
			keep(taking, program, op);
		else if (part == SONDE_PROBE_PART_READ && !taking->before--)
			end_with_value(taking);
		break;
	case SONDE_EXPR_OP_SET_VARIABLE:
		end_or_keep(taking, program, op,
			    part == SONDE_PROBE_PART_ASSIGN);
		break;
	case SONDE_EXPR_OP_POP:
		end_or_keep(taking, program, op,
			    part == SONDE_PROBE_PART_VALUE && last);
		break;
	default:
		keep(taking, program, op);
	}
}

static bool collect_is_end(uint8_t code)
{
	return sonde_expr_op_infos[code].operands & SONDE_EXPR_OPERAND_END;
}

int sonde_probe_take_part(const struct sonde_program *program,
			  enum sonde_probe_part part, uint32_t k,
			  struct sonde_program **ret_program)
{
	struct taking taking = {
		.before = k,
		.fault = { SONDE_BUILDER_NONE, 0 },
		.divided = { SONDE_BUILDER_NONE, 0 },
	};
	struct sonde_pool pool;
	int rc = -EINVAL;

	sonde_pool_init(&pool, 0);
	taking.code.pool = &pool;
	for (uint32_t i = 0; i < program->nr_ops && !taking.done; i++) {
		take_op(&taking, program, i, part);
		if (collect_is_end(program->ops[i].code) &&
		    part == SONDE_PROBE_PART_READS)
			taking.done = true;
	}
	sonde_builder_bind(&taking.code, &taking.fault);
	add(&taking.code, SONDE_EXPR_OP_END_FAULT, 0);
	sonde_builder_bind(&taking.code, &taking.divided);
	add(&taking.code, SONDE_EXPR_OP_END_DIVIDED, 0);
	if (taking.done)
		rc = sonde_builder_finish(&taking.code, SONDE_EXPR_INT,
					  ret_program);
	sonde_pool_fini(&pool);
	return rc;
}

/* ---- several as one ---- */

/* Where the operations of a program are in the joined one. */
struct joining {
	struct sonde_builder *code;
	struct sonde_builder_label *labels; /* by operation */
	bool *reached;
	struct sonde_builder_label next; /* the program behind it */
};

static void join_jump(struct joining *joining, const struct sonde_expr_op *op)
{
	struct sonde_builder_label *label = &joining->labels[op->target];

	if (!joining->reached[op->target]) {
		label->last_jump = SONDE_BUILDER_NONE;
		label->depth = op->keep;
		joining->reached[op->target] = true;
	}
	sonde_builder_jump(joining->code, *op, label);
}

static void join_op(struct joining *joining, const struct sonde_program *from,
		    uint32_t i)
{
	static const struct sonde_expr_op go = { .code = SONDE_EXPR_OP_GO };
	const struct sonde_expr_op *op = &from->ops[i];

	if (joining->reached[i])
		sonde_builder_bind(joining->code, &joining->labels[i]);
	if (collect_is_end(op->code)) {
		if (op->code == SONDE_EXPR_OP_END_NUMBER)
			add(joining->code, SONDE_EXPR_OP_POP, 0);
		sonde_builder_jump(joining->code, go, &joining->next);
	} else if (sonde_expr_op_infos[op->code].operands &
		   SONDE_EXPR_OPERAND_JUMP) {
		join_jump(joining, op);
	} else {
		sonde_builder_add(joining->code, *op);
	}
}

static int join_one(struct sonde_builder *code,
		    const struct sonde_program *from)
{
	struct joining joining = {
		.code = code,
		.labels = calloc(from->nr_ops, sizeof(*joining.labels)),
		.reached = calloc(from->nr_ops, sizeof(*joining.reached)),
		.next = { SONDE_BUILDER_NONE, 0 },
	};
	int rc = -ENOMEM;

	if (joining.labels && joining.reached) {
		for (uint32_t i = 0; i < from->nr_ops; i++)
			join_op(&joining, from, i);
		sonde_builder_bind(code, &joining.next);
		rc = 0;
	}
	free(joining.labels);
	free(joining.reached);
	return rc;
}

int sonde_probe_join(struct sonde_program *const *programs, size_t nr,
		     struct sonde_program **ret_program)
{
	struct sonde_pool pool;
	struct sonde_builder code = { .pool = &pool };
	int rc = 0;

	sonde_pool_init(&pool, 0);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = join_one(&code, programs[i]);
	add(&code, SONDE_EXPR_OP_END_MISSING, 0);
	if (!rc)
		rc = sonde_builder_finish(&code, SONDE_EXPR_INT, ret_program);
	sonde_pool_fini(&pool);
	return rc;
}

int sonde_probe_range(int32_t reg, int64_t offset, uint64_t length,
		      struct sonde_program **ret_program)
{
	struct sonde_pool pool;
	struct sonde_builder code = { .pool = &pool };
	int rc;

	sonde_pool_init(&pool, 0);
	add(&code, SONDE_EXPR_OP_NUMBER, (uint64_t)offset);
	if (reg >= 0) {
		add(&code, SONDE_EXPR_OP_REGISTER, (uint64_t)reg);
		add(&code, SONDE_EXPR_OP_ADD, 0);
	}
	add(&code, SONDE_EXPR_OP_NUMBER, length);
	add(&code, SONDE_EXPR_OP_TRACE, 0);
	add(&code, SONDE_EXPR_OP_END_MISSING, 0);
	rc = sonde_builder_finish(&code, SONDE_EXPR_INT, ret_program);
	sonde_pool_fini(&pool);
	return rc;
}

/* What one operation gives. */
static int give_one(enum sonde_expr_op_code op, uint64_t number,
		    struct sonde_program **ret_program)
{
	struct sonde_pool pool;
	struct sonde_builder code = { .pool = &pool };
	int rc;

	sonde_pool_init(&pool, 0);
	add(&code, (uint8_t)op, number);
	add(&code, SONDE_EXPR_OP_END_NUMBER, 0);
	rc = sonde_builder_finish(&code, SONDE_EXPR_INT, ret_program);
	sonde_pool_fini(&pool);
	return rc;
}

int sonde_probe_constant(uint64_t number, struct sonde_program **ret_program)
{
	return give_one(SONDE_EXPR_OP_NUMBER, number, ret_program);
}

int sonde_probe_variable_value(uint32_t number,
			       struct sonde_program **ret_program)
{
	return give_one(SONDE_EXPR_OP_GET_VARIABLE, number, ret_program);
}

int sonde_probe_register_value(uint8_t reg, uint32_t bits, bool is_signed,
			       struct sonde_program **ret_program)
{
	struct sonde_pool pool;
	struct sonde_builder code = { .pool = &pool };
	int rc;

	sonde_pool_init(&pool, 0);
	add(&code, SONDE_EXPR_OP_REGISTER, reg);
	if (bits < 64)
		add(&code,
		    is_signed ? SONDE_EXPR_OP_EXTEND_S : SONDE_EXPR_OP_EXTEND_Z,
		    bits);
	add(&code, SONDE_EXPR_OP_END_NUMBER, 0);
	rc = sonde_builder_finish(&code, SONDE_EXPR_INT, ret_program);
	sonde_pool_fini(&pool);
	return rc;
}

/* ---- addresses ---- */

#define SUM_STACK 4u

/* A register (-1: none) plus a number. */
struct sum {
	int32_t reg;
	uint64_t number;
};

struct sums {
	struct sum list[SUM_STACK];
	size_t nr;
};

static bool push(struct sums *sums, int32_t reg, uint64_t number)
{
	if (sums->nr == SUM_STACK)
		return false;
	sums->list[sums->nr++] = (struct sum){ reg, number };
	return true;
}

static bool extend(struct sums *sums, uint64_t bits)
{
	struct sum *top = sums->nr ? &sums->list[sums->nr - 1] : NULL;
	uint64_t unused = 64 - bits;

	if (!top || top->reg >= 0 || bits == 0 || bits > 64)
		return false;
	top->number = (uint64_t)((int64_t)(top->number << unused) >> unused);
	return true;
}

static bool join_sums(struct sums *sums)
{
	struct sum *top = sums->list + sums->nr - 1;

	if (sums->nr < 2 || (top->reg >= 0 && top[-1].reg >= 0))
		return false;
	top[-1].number += top->number;
	if (top->reg >= 0)
		top[-1].reg = top->reg;
	sums->nr--;
	return true;
}

static bool go_on(struct sums *sums, const struct sonde_expr_op *op)
{
	switch (op->code) {
	case SONDE_EXPR_OP_NUMBER:
		return push(sums, -1, op->number);
	case SONDE_EXPR_OP_REGISTER:
		return push(sums, (int32_t)op->number, 0);
	case SONDE_EXPR_OP_EXTEND_S:
		return extend(sums, op->number);
	case SONDE_EXPR_OP_ADD:
		return join_sums(sums);
	default:
		return false;
	}
}

bool sonde_probe_reads_at(const struct sonde_program *program, int32_t *ret_reg,
			  int64_t *ret_offset)
{
	struct sums sums = { .nr = 0 };
	uint32_t i = 0;
	size_t at; /* of the address, from the top */

	while (i < program->nr_ops && go_on(&sums, &program->ops[i]))
		i++;
	if (i == program->nr_ops)
		return false;
	if (program->ops[i].code == SONDE_EXPR_OP_TRACE)
		at = 2;
	else if (program->ops[i].code == SONDE_EXPR_OP_TRACE_QUICK)
		at = 1;
	else
		return false;
	if (sums.nr < at)
		return false;
	*ret_reg = sums.list[sums.nr - at].reg;
	*ret_offset = (int64_t)sums.list[sums.nr - at].number;
	return true;
}
