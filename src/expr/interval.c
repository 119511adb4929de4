/* SPDX-License-Identifier: MIT */
/*
 * interval.c - see interval.h.
 *
 * What a program that compares a field with constants says can change at a
 * constant, behind one, and where the field's numbers go round (0, and the least
 * one with a sign), but nowhere else. So the evaluator is asked at these points
 * alone, and each answer holds up to the next point. Operations that are not
 * listed in compared_bytes() and is_harmless() could change it elsewhere.
 */
#include "expr/interval.h"

#include <string.h>

struct point {
	uint64_t number;
	bool holds;
};

struct search {
	const struct sonde_program *program;
	struct sonde_expr_interval found;
	uint32_t nr_points;
	/* Of constants, and 0, 1 and the least with a sign. */
	struct point points[2 * SONDE_INTERVAL_CONSTANTS + 3];
};

/* Bytes of the field that it reads, as they are in memory; 0: another operation. */
static uint32_t compared_bytes(const struct sonde_expr_op *op)
{
	switch (op->code) {
	case SONDE_EXPR_OP_LOAD_Z8:
	case SONDE_EXPR_OP_LOAD_S8:
	case SONDE_EXPR_OP_IF_MEM8_IS:
		return 1;
	case SONDE_EXPR_OP_LOAD_Z16:
	case SONDE_EXPR_OP_LOAD_S16:
	case SONDE_EXPR_OP_IF_MEM16_IS:
		return 2;
	case SONDE_EXPR_OP_LOAD_Z32:
	case SONDE_EXPR_OP_LOAD_S32:
	case SONDE_EXPR_OP_IF_MEM32_IS:
		return 4;
	case SONDE_EXPR_OP_LOAD_64:
	case SONDE_EXPR_OP_IF_MEM64_IS:
		return 8;
	default:
		return 0;
	}
}

/* It compares numbers, or goes on, or ends. */
static bool is_harmless(const struct sonde_program *program,
			const struct sonde_expr_op *op)
{
	switch (op->code) {
	case SONDE_EXPR_OP_NUMBER:
	case SONDE_EXPR_OP_GO:
	case SONDE_EXPR_OP_IF:
	case SONDE_EXPR_OP_IF_EQUAL:
	case SONDE_EXPR_OP_IF_EQUAL_SU:
	case SONDE_EXPR_OP_IF_LESS_U:
	case SONDE_EXPR_OP_IF_LESS_S:
	case SONDE_EXPR_OP_IF_LESS_SU:
	case SONDE_EXPR_OP_IF_LESS_US:
	case SONDE_EXPR_OP_IF_IS:
	case SONDE_EXPR_OP_IF_BELOW_U:
	case SONDE_EXPR_OP_IF_BELOW_S:
	case SONDE_EXPR_OP_END_FALSE:
	case SONDE_EXPR_OP_END_TRUE:
		return true;
	case SONDE_EXPR_OP_END_NUMBER:
		return program->type == SONDE_EXPR_INT ||
		       program->type == SONDE_EXPR_UINT;
	default:
		return false;
	}
}

static bool compares_constant(const struct sonde_expr_op *op)
{
	switch (op->code) {
	case SONDE_EXPR_OP_NUMBER:
	case SONDE_EXPR_OP_IF_IS:
	case SONDE_EXPR_OP_IF_BELOW_U:
	case SONDE_EXPR_OP_IF_BELOW_S:
	case SONDE_EXPR_OP_IF_MEM8_IS:
	case SONDE_EXPR_OP_IF_MEM16_IS:
	case SONDE_EXPR_OP_IF_MEM32_IS:
	case SONDE_EXPR_OP_IF_MEM64_IS:
		return true;
	default:
		return false;
	}
}

/* Whether it is of the program's only field, which the first one tells. */
static bool meet_field(struct search *s, const struct sonde_expr_op *op,
		       uint32_t bytes)
{
	struct sonde_expr_interval *found = &s->found;

	if (!found->bytes && op->offset <= SONDE_INTERVAL_HEAD - bytes) {
		found->offset = op->offset;
		found->bytes = bytes;
	}
	return op->base == 0 && found->offset == op->offset &&
	       found->bytes == bytes;
}

static bool meet_all_fields(struct search *s)
{
	const struct sonde_program *program = s->program;

	for (uint32_t i = 0; i < program->nr_ops; i++) {
		const struct sonde_expr_op *op = &program->ops[i];
		uint32_t bytes = compared_bytes(op);

		if (bytes ? !meet_field(s, op, bytes) :
			    !is_harmless(program, op))
			return false;
	}
	return s->found.bytes;
}

static uint64_t bits_of_bytes(uint32_t bytes)
{
	return UINT64_MAX >> (64 - 8 * bytes);
}

/* In order; there is room. */
static void insert_point(struct search *s, uint64_t number)
{
	uint32_t i = s->nr_points++;

	number &= bits_of_bytes(s->found.bytes);
	for (; i && s->points[i - 1].number > number; i--)
		s->points[i] = s->points[i - 1];
	s->points[i].number = number;
}

static bool collect_points(struct search *s)
{
	uint32_t nr_constants = 0;

	insert_point(s, 0);
	insert_point(s, 1);
	insert_point(s, UINT64_C(1) << (8 * s->found.bytes - 1));
	for (uint32_t i = 0; i < s->program->nr_ops; i++) {
		const struct sonde_expr_op *op = &s->program->ops[i];

		if (!compares_constant(op))
			continue;
		if (nr_constants++ == SONDE_INTERVAL_CONSTANTS)
			return false;
		insert_point(s, op->number);
		insert_point(s, op->number + 1);
	}
	return true;
}

static void ask_at_points(struct search *s)
{
	uint8_t head[SONDE_INTERVAL_HEAD] = { 0 };
	const struct sonde_expr_env env = { .bases = { head } };

	for (uint32_t i = 0; i < s->nr_points; i++) {
		memcpy(head + s->found.offset, &s->points[i].number,
		       s->found.bytes);
		s->points[i].holds = sonde_program_test(s->program, &env);
	}
}

/* Whether it holds from one point up to another, once round. */
static bool find_only_run(struct search *s)
{
	uint32_t nr_begins = 0;

	for (uint32_t i = 0; i < s->nr_points; i++) {
		const struct point *before =
			&s->points[(i ? i : s->nr_points) - 1];
		const struct point *here = &s->points[i];

		if (here->holds && !before->holds) {
			s->found.first = here->number;
			nr_begins++;
		} else if (!here->holds && before->holds) {
			s->found.last = (here->number - 1) &
					bits_of_bytes(s->found.bytes);
		}
	}
	return nr_begins == 1;
}

bool sonde_expr_interval(const struct sonde_program *program,
			 struct sonde_expr_interval *ret_interval)
{
	struct search s = { .program = program };

	/* A number's low bytes are its first ones. */
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !meet_all_fields(&s) ||
	    !collect_points(&s))
		return false;
	ask_at_points(&s);
	if (!find_only_run(&s))
		return false;
	*ret_interval = s.found;
	return true;
}
