/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * filter.c - a condition in the language of the kernel's event filters (filter.h).
 *
 * What is said are comparisons of a field with a constant of its type, and all of
 * several such; a field by itself is one with 0. Whatever else stands beside them
 * is left out, and the filter then passes more than the condition: who reads the
 * records tests all of it. Where the languages differ:
 *
 *  - The kernel compares in the field's own type, to which it cuts constants:
 *    those that are beyond it are not written.
 *  - A field that the event lacks is missing: false here, refused there.
 */
#include "source/tracefs/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/compile.h"
#include "source/condition.h"
#include "types/desc.h"

/* Offsets in base 1 of a condition. */
#define WHENCE_TID 0u
#define WHENCE_CPU 4u

__extension__ typedef __int128 wide;

struct writer {
	struct sonde_compiler compiler;
	const struct sonde_desc *desc;
	const struct sonde_tracefs_field *fields;
	size_t nr_fields;
	char *out;
	size_t used;
	size_t size;
	bool full;
};

/* ---- text ---- */

__attribute__((format(printf, 2, 3))) static void put(struct writer *to,
						      const char *format, ...)
{
	size_t room = to->size - to->used;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(to->out + to->used, room, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= room)
		to->full = true;
	else
		to->used += (size_t)length;
}

/* ---- fields ---- */

static const struct sonde_node *node_at(const struct writer *to, uint32_t node)
{
	return &to->compiler.expr->nodes[node];
}

static const struct sonde_meaning *filter_meaning_at(const struct writer *to,
						     uint32_t node)
{
	return &to->compiler.meanings[node];
}

/* How many fields of the description are called so; and one of them. */
static unsigned int count_named(const struct writer *to, const char *name,
				struct sonde_field_view *ret_field)
{
	struct sonde_fields fields = sonde_desc_fields(to->desc);
	struct sonde_field_view field;
	unsigned int nr = 0;

	while (sonde_fields_next(&fields, &field)) {
		if (strcmp(field.name, name) != 0)
			continue;
		*ret_field = field;
		nr++;
	}
	return nr;
}

/* What the record's context says is in the kernel's records, too. */
static const struct sonde_tracefs_field tid_field = {
	.kernel_name = "common_pid",
	.size = 4,
	.is_signed = true,
};
static const struct sonde_tracefs_field cpu_field = {
	.kernel_name = "CPU",
	.size = 4,
	.is_signed = true,
};

/* The kernel's field that a name stands for; NULL. */
static const struct sonde_tracefs_field *find_field(const struct writer *to,
						    uint32_t node)
{
	const struct sonde_node *of = node_at(to, node);
	const struct sonde_expr_source *source;
	const struct sonde_expr_name *name;

	if (of->kind != SONDE_NODE_NAME)
		return NULL;
	source = &to->compiler.sources[of->name];
	if (source->how == SONDE_EXPR_CONSTANT)
		return NULL;
	if (source->how == SONDE_EXPR_MEMORY && source->base == 1)
		return source->offset == WHENCE_TID ? &tid_field :
		       source->offset == WHENCE_CPU ? &cpu_field :
						      NULL;
	name = &to->compiler.expr->names[of->name];
	for (size_t i = 0; i < to->nr_fields; i++)
		if (strlen(to->fields[i].name) == name->length &&
		    !memcmp(to->fields[i].name, name->path, name->length))
			return &to->fields[i];
	return NULL;
}

static bool is_within(wide value, unsigned int bits, bool is_signed)
{
	return value >= (is_signed ? -((wide)1 << (bits - 1)) : 0) &&
	       value <= ((wide)1 << (bits - is_signed)) - 1;
}

/*
 * The kernel's field that has the trace's number as it is, but for what is
 * added; NULL. One that has the number's low bits among others (a system
 * call's argument is a register there), or another sign, is not it.
 */
static const struct sonde_tracefs_field *
find_number(const struct writer *to, uint32_t node,
	    struct sonde_field_view *ret_view)
{
	const struct sonde_tracefs_field *field = find_field(to, node);
	struct sonde_field_view view = { .stored_bits = 32,
					 .flags = SONDE_FIELD_SIGNED };
	unsigned int bits;
	bool is_signed;

	if (!field ||
	    !sonde_expr_type_is_integer(filter_meaning_at(to, node)->type) ||
	    (field->name && count_named(to, field->name, &view) != 1))
		return NULL;
	bits = 8 * field->size;
	is_signed = view.flags & SONDE_FIELD_SIGNED;
	*ret_view = view;
	if (is_signed == field->is_signed)
		return view.stored_bits >= bits ? field : NULL;
	return is_signed && view.stored_bits > bits ? field : NULL;
}

/* ---- comparisons ---- */

/* How the kernel writes it; NULL: it is no comparison. */
static const char *filter_op_of(enum sonde_node_kind kind)
{
	switch ((int)kind) {
	case SONDE_NODE_LESS:
		return "<";
	case SONDE_NODE_LESS_EQUAL:
		return "<=";
	case SONDE_NODE_GREATER:
		return ">";
	case SONDE_NODE_GREATER_EQUAL:
		return ">=";
	case SONDE_NODE_EQUAL:
		return "==";
	case SONDE_NODE_UNEQUAL:
		return "!=";
	default:
		return NULL;
	}
}

/* Of a OP b, the operator of b OP a. */
static const char *filter_exchange(const char *op)
{
	static const char *const pairs[][2] = {
		{ "<", ">" }, { "<=", ">=" }, { ">", "<" }, { ">=", "<=" }
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(pairs); i++)
		if (!strcmp(pairs[i][0], op))
			return pairs[i][1];
	return op;
}

/* Whether it can be said. */
static bool filter_say_number(struct writer *to, uint32_t node, const char *op,
			      const struct sonde_expr_value *value)
{
	struct sonde_field_view view;
	const struct sonde_tracefs_field *field = find_number(to, node, &view);
	wide number =
		value->type == SONDE_EXPR_INT ? (wide)value->i : (wide)value->u;

	if (!field || !sonde_expr_type_is_integer(value->type) ||
	    !is_within(number, view.stored_bits,
		       view.flags & SONDE_FIELD_SIGNED) ||
	    !is_within(number - field->add, 8 * field->size, field->is_signed))
		return false;
	number -= field->add;
	if (field->is_signed)
		put(to, "%s %s %" PRId64, field->kernel_name, op,
		    (int64_t)number);
	else
		put(to, "%s %s %" PRIu64, field->kernel_name, op,
		    (uint64_t)number);
	return true;
}

static bool say_comparison(struct writer *to, const struct sonde_node *of)
{
	const char *op = filter_op_of(of->kind);
	uint32_t constant = of->child[1];
	uint32_t x = of->child[0];
	uint32_t label;

	/* a label is a range of numbers, or several */
	if (sonde_expr_compares_label(&to->compiler, of, &x, &label))
		return false;
	if (filter_meaning_at(to, x)->constant) {
		constant = x;
		x = of->child[1];
		op = filter_exchange(op);
	}
	return filter_meaning_at(to, constant)->constant &&
	       filter_say_number(to, x, op,
				 &filter_meaning_at(to, constant)->value);
}

static bool say_one(struct writer *to, uint32_t node)
{
	static const struct sonde_expr_value zero = { .type = SONDE_EXPR_INT };
	const struct sonde_node *of = node_at(to, node);

	if (filter_meaning_at(to, node)->constant)
		return false;
	return filter_op_of(of->kind) ?
		       say_comparison(to, of) :
		       filter_say_number(to, node, "!=", &zero);
}

/* 0: all was said; 1: a part; -EOPNOTSUPP: nothing. */
static int say_all(struct writer *to)
{
	uint32_t node = to->compiler.expr->root;
	bool is_list = node_at(to, node)->kind == SONDE_NODE_ALL;
	int rc = 0;

	if (is_list)
		node = node_at(to, node)->child[0];
	while (node != SONDE_NODE_NONE) {
		size_t before = to->used;

		if (before)
			put(to, " && ");
		if (!say_one(to, node)) {
			to->used = before;
			rc = 1;
		}
		node = is_list ? node_at(to, node)->next : SONDE_NODE_NONE;
	}
	return to->used ? rc : -EOPNOTSUPP;
}

/* ---- the whole ---- */

/* `condition` is known to make sense. */
static int write_filter(struct writer *to, const char *condition)
{
	struct sonde_compiler *compiler = &to->compiler;
	struct sonde_expr *expr;
	int rc = sonde_expr_parse(condition, NULL, &expr);

	if (rc)
		return rc;
	compiler->expr = expr;
	sonde_pool_init(&compiler->pool, 0);
	rc = sonde_expr_analyse(compiler);
	if (!rc)
		rc = say_all(to);
	if (rc >= 0 && to->full)
		rc = -EOPNOTSUPP;
	if (rc >= 0)
		to->out[to->used] = '\0';
	sonde_pool_fini(&compiler->pool);
	sonde_expr_free(expr);
	return rc;
}

/* NOLINTNEXTLINE(readability-function-size): parameters as filter.h has them */
int sonde_tracefs_filter(const struct sonde_desc *desc, const char *condition,
			 const struct sonde_tracefs_field *fields, size_t nr,
			 char *out, size_t size)
{
	struct sonde_condition *bound;
	struct writer writer = {
		.desc = desc,
		.fields = fields,
		.nr_fields = nr,
		.out = out,
		.size = size,
	};
	char error[256];
	int err = sonde_condition_new(desc, condition, error, sizeof(error),
				      &bound);

	if (err)
		return err;
	writer.compiler.scope = sonde_condition_scope(bound);
	err = size > 1 ? write_filter(&writer, condition) : -EOPNOTSUPP;
	sonde_condition_free(bound);
	return err;
}
