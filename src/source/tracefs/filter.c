/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * filter.c - see filter.h.
 *
 * The condition's tree is walked with a sense: what is written for a node holds
 * wherever the node's truth is `sense`. So `!` writes nothing, it turns the
 * sense round; and whatever is weaker than it should be is weaker in the sense
 * that counts. What a node was found to say is one of
 *
 *	EXACT	what was written holds exactly then
 *	WEAKER	what was written holds then, and maybe elsewhere
 *	NOTHING	nothing was written
 *
 * "All of a list" is without what says NOTHING, and then WEAKER; "any of a
 * list" of which one says NOTHING says NOTHING.
 *
 * What is said are comparisons of a field with a constant of its type, of texts
 * with a whole text or its beginning. All else is left to whoever reads:
 * tracefs is for kernels and users without BPF. Where the languages differ:
 *
 *  - The kernel compares in the field's own type, to which it cuts constants:
 *    those that are beyond it are not written.
 *  - A field that the event lacks is missing: false here, refused there. All
 *    that there are have values, so that !(x < 3) is x >= 3.
 *  - Strings have no escapes, and may not hold the quote. What ~ takes begins
 *    with no digit and no '!', and its star is sure to work at the end only.
 *  - Located strings are compared by their length, which may be without a NUL
 *    and, being 0, is taken for unknown: what is said of those is taken to be
 *    weaker, and never the contrary.
 */
#include "source/tracefs/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/compile.h"
#include "source/condition.h"
#include "types/desc.h"

/* Bytes of a string, as the kernel takes it, without quotes. */
#define STRING_MAX 255u

/* Offsets in base 1 of a condition. */
#define WHENCE_TID 0u
#define WHENCE_CPU 4u

__extension__ typedef __int128 wide;

enum says {
	EXACT,
	WEAKER,
	NOTHING,
};

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

/* Whether the name stands for the listed field, and that is one. */
static bool filter_is_named(const struct writer *to,
			    const struct sonde_name *name,
			    const struct sonde_tracefs_field *field)
{
	static const char payload[] = "$payload.";
	size_t skip = sizeof(payload) - 1;
	const char *path = name->path;
	size_t length = name->length;
	struct sonde_field_view view;

	if (length > skip && memcmp(path, payload, skip) == 0) {
		path += skip;
		length -= skip;
	}
	return strlen(field->name) == length &&
	       memcmp(path, field->name, length) == 0 &&
	       count_named(to, field->name, &view) == 1;
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

static const struct sonde_tracefs_field *
find_whence(const struct sonde_expr_source *source)
{
	return source->offset == WHENCE_TID ? &tid_field :
	       source->offset == WHENCE_CPU ? &cpu_field :
					      NULL;
}

/* The kernel's field that a name stands for; NULL. */
static const struct sonde_tracefs_field *find_field(const struct writer *to,
						    uint32_t node)
{
	const struct sonde_node *of = node_at(to, node);
	const struct sonde_expr_source *source;

	if (of->kind != SONDE_NODE_NAME && of->kind != SONDE_NODE_DEFINED)
		return NULL;
	source = &to->compiler.sources[of->name];
	if (source->how == SONDE_EXPR_CONSTANT)
		return NULL;
	if (source->how == SONDE_EXPR_MEMORY && source->base == 1)
		return find_whence(source);
	for (size_t i = 0; i < to->nr_fields; i++) {
		if (filter_is_named(to, &to->compiler.expr->names[of->name],
				    &to->fields[i]))
			return &to->fields[i];
	}
	return NULL;
}

static wide lowest(unsigned int bits, bool is_signed)
{
	return is_signed ? -((wide)1 << (bits - 1)) : 0;
}

static bool is_within(wide value, unsigned int bits, bool is_signed)
{
	return value >= lowest(bits, is_signed) &&
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

	if (!field || field->is_string ||
	    !sonde_expr_type_is_integer(filter_meaning_at(to, node)->type) ||
	    (field->size != 1 && field->size != 2 && field->size != 4 &&
	     field->size != 8) ||
	    (field->name && count_named(to, field->name, &view) != 1))
		return NULL;
	bits = 8 * field->size;
	is_signed = view.flags & SONDE_FIELD_SIGNED;
	*ret_view = view;
	if (is_signed == field->is_signed)
		return view.stored_bits >= bits ? field : NULL;
	return is_signed && view.stored_bits > bits ? field : NULL;
}

static const struct sonde_tracefs_field *
filter_find_text(const struct writer *to, uint32_t node)
{
	const struct sonde_tracefs_field *field = find_field(to, node);

	return field && field->is_string &&
			       filter_meaning_at(to, node)->type ==
				       SONDE_EXPR_STRING ?
		       field :
		       NULL;
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

/* The other of a pair: of opposites, or of a OP b and b OP a. */
static const char *other_op(const char *const pairs[][2], size_t nr,
			    const char *op)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < 2; k++)
			if (!strcmp(pairs[i][k], op))
				return pairs[i][1 - k];
	return op;
}

static const char *opposite(const char *op)
{
	static const char *const pairs[][2] = { { "<", ">=" },
						{ "<=", ">" },
						{ "==", "!=" } };

	return other_op(pairs, 3, op);
}

static const char *filter_exchange(const char *op)
{
	static const char *const pairs[][2] = { { "<", ">" }, { "<=", ">=" } };

	return other_op(pairs, 2, op);
}

static enum says filter_say_number(struct writer *to, uint32_t node,
				   const char *op,
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
		return NOTHING;
	number -= field->add;
	if (field->is_signed)
		put(to, "%s %s %" PRId64, field->kernel_name, op,
		    (int64_t)number);
	else
		put(to, "%s %s %" PRIu64, field->kernel_name, op,
		    (uint64_t)number);
	return EXACT;
}

/* Bytes of a pattern before the star that ends it; 0: it is no such pattern, or
 * ~ would take it for another. */
static size_t beginning_of(const char *glob, size_t length)
{
	if (length < 2 || glob[length - 1] != '*' ||
	    strchr("!0123456789", glob[0]))
		return 0;
	for (size_t i = 0; i + 1 < length; i++)
		if (!glob[i] || strchr("*?[\\\"'", glob[i]))
			return 0;
	return length - 1;
}

/* Whether field `node` is the string, or (sense) is not. */
static enum says say_text(struct writer *to, uint32_t node, uint32_t string,
			  bool sense)
{
	const struct sonde_tracefs_field *field = filter_find_text(to, node);
	const struct sonde_node *of = node_at(to, string);
	const struct sonde_expr_value *value =
		&filter_meaning_at(to, string)->value;
	bool is_glob = of->kind == SONDE_NODE_VALUE && of->literal.glob;
	const char *text = is_glob ? of->literal.glob : value->text;
	size_t length = is_glob ? of->literal.glob_length : value->length;

	if (!field || length > STRING_MAX ||
	    (is_glob && !beginning_of(text, length)) ||
	    memchr(text, 0, length) || memchr(text, '"', length) ||
	    (field->size ? length - is_glob > field->size : !sense || !length))
		return NOTHING;
	put(to, "%s%s %s \"%.*s\"%s", is_glob && !sense ? "!(" : "",
	    field->kernel_name,
	    is_glob ? "~" :
	    sense   ? "==" :
		      "!=",
	    (int)length, text, is_glob && !sense ? ")" : "");
	return field->size ? EXACT : WEAKER;
}

static enum says say_comparison(struct writer *to, uint32_t node, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	const char *op = filter_op_of(of->kind);
	uint32_t constant = of->child[1];
	uint32_t x = of->child[0];
	uint32_t label;

	/* a label is a range of numbers, or several */
	if (sonde_expr_compares_label(&to->compiler, of, &x, &label))
		return NOTHING;
	if (filter_meaning_at(to, x)->constant) {
		constant = x;
		x = of->child[1];
		op = filter_exchange(op);
	}
	if (!filter_meaning_at(to, constant)->constant)
		return NOTHING;
	if (!sense)
		op = opposite(op);
	if (filter_meaning_at(to, x)->type != SONDE_EXPR_STRING)
		return filter_say_number(
			to, x, op, &filter_meaning_at(to, constant)->value);
	return op[1] == '=' && (op[0] == '=' || op[0] == '!') ?
		       say_text(to, x, constant, op[0] == '=') :
		       NOTHING;
}

/* ---- the tree ---- */

/* NOLINTBEGIN(misc-no-recursion): depth <= SONDE_NODE_HEIGHT */

static enum says say(struct writer *to, uint32_t node, bool sense);

static enum says say_list(struct writer *to, uint32_t node, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	bool any = (of->kind == SONDE_NODE_ANY) == sense;
	size_t start = to->used;
	enum says list = NOTHING;
	bool is_weaker = false;

	put(to, "(");
	for (uint32_t child = of->child[0]; child != SONDE_NODE_NONE;
	     child = node_at(to, child)->next) {
		size_t item = to->used;
		enum says says;

		if (list != NOTHING)
			put(to, any ? " || " : " && ");
		says = say(to, child, sense);
		is_weaker |= says != EXACT;
		if (says != NOTHING) {
			list = EXACT;
			continue;
		}
		to->used = item;
		if (any) {
			list = NOTHING;
			break;
		}
	}
	if (list == NOTHING) {
		to->used = start;
		return NOTHING;
	}
	put(to, ")");
	return is_weaker ? WEAKER : EXACT;
}

/* What holds wherever the node's truth is `sense`. */
static enum says say(struct writer *to, uint32_t node, bool sense)
{
	static const struct sonde_expr_value zero = { .type = SONDE_EXPR_INT };
	const struct sonde_node *of = node_at(to, node);

	if (filter_meaning_at(to, node)->constant)
		return NOTHING;
	if (of->kind == SONDE_NODE_NOT)
		return say(to, of->child[0], !sense);
	if (of->kind == SONDE_NODE_ALL || of->kind == SONDE_NODE_ANY)
		return say_list(to, node, sense);
	if (filter_op_of(of->kind))
		return say_comparison(to, node, sense);
	/* A number by itself: not 0. */
	return of->kind == SONDE_NODE_NAME ?
		       filter_say_number(to, node, sense ? "!=" : "==", &zero) :
		       NOTHING;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the whole ---- */

/* `condition` is known to make sense. */
static int write_filter(struct writer *to, const char *condition)
{
	static const int results[] = {
		[EXACT] = 0, [WEAKER] = 1, [NOTHING] = -EOPNOTSUPP
	};
	struct sonde_compiler *compiler = &to->compiler;
	struct sonde_expr *expr;
	int rc = sonde_expr_parse(condition, NULL, &expr);

	if (rc)
		return rc;
	compiler->expr = expr;
	sonde_pool_init(&compiler->pool, 0);
	rc = sonde_expr_analyse(compiler);
	if (!rc)
		rc = results[say(to, expr->root, true)];
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
