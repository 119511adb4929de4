/* SPDX-License-Identifier: MIT */
/*
 * infer.c - types of nodes, and values of those that are the same for all
 * records of a kind.
 *
 * That folds more than constants: a name that this kind of record doesn't have
 * is missing, and takes the expression around it along; a field of 8 bits is
 * never 300. So a filter for one kind of event is found false for the others
 * before a record is looked at.
 */
#include "expr/compile.h"

#include <errno.h>

static const struct sonde_node *node_at(const struct sonde_compiler *compiler,
					uint32_t node)
{
	return &compiler->expr->nodes[node];
}

static const struct sonde_meaning *
infer_meaning_at(const struct sonde_compiler *compiler, uint32_t node)
{
	return &compiler->meanings[node];
}

static int fail(const struct sonde_compiler *compiler, uint32_t node,
		const char *message)
{
	return sonde_expr_fail(compiler->error, compiler->expr->text,
			       node_at(compiler, node)->offset, "%s", message);
}

static bool is_negative(const struct sonde_expr_value *value)
{
	return value->type == SONDE_EXPR_INT && value->i < 0;
}

/* a < b: negative; a == b: 0; as numbers, whether signed or not. */
static int compare_integers(const struct sonde_expr_value *a,
			    const struct sonde_expr_value *b)
{
	if (is_negative(a) != is_negative(b))
		return is_negative(a) ? -1 : 1;
	/* Of two negative ones, the greater has the greater bits. */
	return (a->u > b->u) - (a->u < b->u);
}

/* ---- constants ---- */

static void set_constant(struct sonde_meaning *meaning,
			 struct sonde_expr_value value)
{
	*meaning = (struct sonde_meaning){
		.type = value.type,
		.constant = true,
		.value = value,
	};
}

static void set_truth(struct sonde_meaning *meaning, bool truth)
{
	set_constant(meaning, (struct sonde_expr_value){ .type = SONDE_EXPR_INT,
							 .i = truth });
}

/* `type` is what it would be of. */
static void set_missing(struct sonde_meaning *meaning,
			enum sonde_expr_type type)
{
	set_constant(meaning, (struct sonde_expr_value){ 0 });
	meaning->type = type;
}

static bool is_missing(const struct sonde_meaning *meaning)
{
	return meaning->constant && meaning->value.type == SONDE_EXPR_MISSING;
}

/* All that it depends on is constant: compiles and runs it. */
static int fold(struct sonde_compiler *compiler, uint32_t node)
{
	struct sonde_program *program;
	struct sonde_expr_value value;
	int err = sonde_expr_generate(compiler, node, &program);

	if (err)
		return err;
	if (sonde_program_constant(program, &value)) {
		if (value.type == SONDE_EXPR_STRING)
			value.text = sonde_pool_text(&compiler->pool,
						     value.text, value.length);
		if (value.type == SONDE_EXPR_STRING && !value.text)
			err = -ENOMEM;
		compiler->meanings[node].constant = true;
		compiler->meanings[node].value = value;
	}
	sonde_program_free(program);
	return err;
}

/* ---- leaves ---- */

static int infer_moment(struct sonde_compiler *compiler, uint32_t node)
{
	struct sonde_expr_value value = { .type = SONDE_EXPR_INT };

	if (sonde_date_time_resolve(&node_at(compiler, node)->moment,
				    compiler->scope->begin_ns, &value.i))
		return fail(compiler, node, "there is no such time");
	set_constant(&compiler->meanings[node], value);
	return 0;
}

static int infer_name(struct sonde_compiler *compiler, uint32_t node)
{
	struct sonde_meaning *meaning = &compiler->meanings[node];
	const struct sonde_expr_source *source =
		&compiler->sources[node_at(compiler, node)->name];

	meaning->type = source->type;
	meaning->source = source;
	if (source->how == SONDE_EXPR_CONSTANT)
		set_constant(meaning, source->value);
	return 0;
}

static int infer_defined(struct sonde_compiler *compiler, uint32_t node)
{
	struct sonde_meaning *meaning = &compiler->meanings[node];
	const struct sonde_expr_source *source =
		&compiler->sources[node_at(compiler, node)->name];

	meaning->type = SONDE_EXPR_INT;
	meaning->source = source;
	if (source->how != SONDE_EXPR_CALL)
		set_truth(meaning, source->type != SONDE_EXPR_MISSING);
	return 0;
}

/* ---- arithmetic ---- */

static bool wants_integers(enum sonde_node_kind kind)
{
	return kind == SONDE_NODE_REMAINDER || kind == SONDE_NODE_AND ||
	       kind == SONDE_NODE_XOR || kind == SONDE_NODE_OR ||
	       kind == SONDE_NODE_SHIFT_LEFT ||
	       kind == SONDE_NODE_SHIFT_RIGHT || kind == SONDE_NODE_COMPLEMENT;
}

/* Whether `child` can be an operand of `node`. */
static int check_operand(const struct sonde_compiler *compiler, uint32_t node,
			 uint32_t child)
{
	enum sonde_expr_type type = infer_meaning_at(compiler, child)->type;

	if (type == SONDE_EXPR_STRING)
		return fail(compiler, child,
			    "expected a number: this is a string, and there "
			    "is no arithmetic with strings");
	if (type == SONDE_EXPR_DOUBLE &&
	    wants_integers(node_at(compiler, node)->kind))
		return fail(compiler, child,
			    "expected an integer: %, &, |, ^, ~, << and >> "
			    "don't take floating point numbers");
	return 0;
}

static int infer_unary(struct sonde_compiler *compiler, uint32_t node)
{
	uint32_t child = node_at(compiler, node)->child[0];
	struct sonde_meaning *meaning = &compiler->meanings[node];
	int err = check_operand(compiler, node, child);

	if (err)
		return err;
	meaning->type = infer_meaning_at(compiler, child)->type;
	if (is_missing(infer_meaning_at(compiler, child)))
		set_missing(meaning, meaning->type);
	else if (infer_meaning_at(compiler, child)->constant)
		return fold(compiler, node);
	return 0;
}

static enum sonde_expr_type arithmetic_type(enum sonde_node_kind kind,
					    enum sonde_expr_type a,
					    enum sonde_expr_type b)
{
	if (a == SONDE_EXPR_MISSING || b == SONDE_EXPR_MISSING)
		return SONDE_EXPR_MISSING;
	if (kind == SONDE_NODE_SHIFT_LEFT || kind == SONDE_NODE_SHIFT_RIGHT)
		return a;
	return sonde_expr_type_common(a, b);
}

static int infer_arithmetic(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	const struct sonde_meaning *a =
		infer_meaning_at(compiler, of->child[0]);
	const struct sonde_meaning *b =
		infer_meaning_at(compiler, of->child[1]);
	struct sonde_meaning *meaning = &compiler->meanings[node];
	int err = check_operand(compiler, node, of->child[0]);

	if (!err)
		err = check_operand(compiler, node, of->child[1]);
	if (err)
		return err;
	meaning->type = arithmetic_type(of->kind, a->type, b->type);
	if (is_missing(a) || is_missing(b))
		set_missing(meaning, meaning->type);
	else if (a->constant && b->constant)
		return fold(compiler, node);
	return 0;
}

/* ---- comparisons ---- */

static int check_label(const struct sonde_compiler *compiler, uint32_t node,
		       uint32_t label)
{
	enum sonde_node_kind kind = node_at(compiler, node)->kind;
	const struct sonde_node *text = node_at(compiler, label);

	if (kind != SONDE_NODE_EQUAL && kind != SONDE_NODE_UNEQUAL)
		return fail(compiler, node,
			    "labels are compared by == and != only");
	if (!infer_meaning_at(compiler, label)->constant)
		return fail(compiler, label,
			    "expected a label in quotes: the other side is an "
			    "enumeration");
	if (text->kind == SONDE_NODE_VALUE && text->literal.glob)
		return fail(compiler, label,
			    "a label can't be a pattern: write out * and ? "
			    "with a backslash");
	return 0;
}

/* What an integer that isn't constant may be. */
static void find_bounds(const struct sonde_meaning *meaning,
			struct sonde_expr_value *ret_low,
			struct sonde_expr_value *ret_high)
{
	unsigned int bits = 64;
	uint64_t mask;

	if (meaning->source && meaning->source->how == SONDE_EXPR_MEMORY)
		bits = 8u * meaning->source->bytes;
	mask = UINT64_MAX >> (64 - bits);
	*ret_low = (struct sonde_expr_value){ .type = meaning->type };
	*ret_high = *ret_low;
	ret_high->u = mask;
	if (meaning->type == SONDE_EXPR_INT) {
		ret_high->u = mask >> 1;
		ret_low->u = ~ret_high->u;
	}
}

/* Whether `kind` holds of two numbers whose order is that. */
static bool order_holds(enum sonde_node_kind kind, int order)
{
	switch ((int)kind) {
	case SONDE_NODE_LESS:
		return order < 0;
	case SONDE_NODE_LESS_EQUAL:
		return order <= 0;
	case SONDE_NODE_GREATER:
		return order > 0;
	case SONDE_NODE_GREATER_EQUAL:
		return order >= 0;
	case SONDE_NODE_EQUAL:
		return order == 0;
	default:
		return order != 0;
	}
}

/*
 * An integer (child i) compared with a constant that it can't be: it is known
 * which is greater. But if it may be missing, only "false" is known.
 */
static void fold_beyond(struct sonde_compiler *compiler, uint32_t node,
			unsigned int i)
{
	const struct sonde_node *of = node_at(compiler, node);
	const struct sonde_meaning *x =
		infer_meaning_at(compiler, of->child[i]);
	const struct sonde_meaning *k =
		infer_meaning_at(compiler, of->child[1 - i]);
	bool sure = x->source && x->source->how == SONDE_EXPR_MEMORY;
	struct sonde_expr_value high;
	struct sonde_expr_value low;
	int order = 0; /* of x and k */
	bool holds;

	find_bounds(x, &low, &high);
	if (compare_integers(&k->value, &high) > 0)
		order = -1;
	else if (compare_integers(&k->value, &low) < 0)
		order = 1;
	else
		return;
	holds = order_holds(of->kind, i == 0 ? order : -order);
	if (sure || !holds)
		set_truth(&compiler->meanings[node], holds);
}

/* The children are numbers, or strings, or a label and its field. */
static int fold_comparison(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	const struct sonde_meaning *a =
		infer_meaning_at(compiler, of->child[0]);
	const struct sonde_meaning *b =
		infer_meaning_at(compiler, of->child[1]);

	if (a->constant && b->constant)
		return fold(compiler, node);
	if (!sonde_expr_type_is_integer(a->type) ||
	    !sonde_expr_type_is_integer(b->type))
		return 0;
	if (b->constant)
		fold_beyond(compiler, node, 0);
	else if (a->constant)
		fold_beyond(compiler, node, 1);
	return 0;
}

static int check_comparison(const struct sonde_compiler *compiler,
			    uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	enum sonde_expr_type a = infer_meaning_at(compiler, of->child[0])->type;
	enum sonde_expr_type b = infer_meaning_at(compiler, of->child[1])->type;
	uint32_t field;
	uint32_t label;

	if (a == SONDE_EXPR_MISSING || b == SONDE_EXPR_MISSING)
		return 0;
	if (sonde_expr_compares_label(compiler, of, &field, &label))
		return check_label(compiler, node, label);
	if ((a == SONDE_EXPR_STRING) != (b == SONDE_EXPR_STRING))
		return fail(compiler, node,
			    a == SONDE_EXPR_STRING ?
				    "a string can't be compared with a number" :
				    "a number can't be compared with a string");
	return 0;
}

static int infer_comparison(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	int err = check_comparison(compiler, node);

	compiler->meanings[node].type = SONDE_EXPR_INT;
	if (err)
		return err;
	if (is_missing(infer_meaning_at(compiler, of->child[0])) ||
	    is_missing(infer_meaning_at(compiler, of->child[1]))) {
		set_truth(&compiler->meanings[node], false);
		return 0;
	}
	return fold_comparison(compiler, node);
}

/* ---- logic ---- */

static int infer_not(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_meaning *child =
		infer_meaning_at(compiler, node_at(compiler, node)->child[0]);

	compiler->meanings[node].type = SONDE_EXPR_INT;
	if (child->constant)
		set_truth(&compiler->meanings[node],
			  !sonde_expr_true(&child->value));
	return 0;
}

/* One constant may decide a list; if all are constant and none does, it is the
 * other way round. */
static int infer_list(struct sonde_compiler *compiler, uint32_t node)
{
	struct sonde_meaning *meaning = &compiler->meanings[node];
	bool decisive = node_at(compiler, node)->kind == SONDE_NODE_ANY;
	uint32_t child = node_at(compiler, node)->child[0];
	bool open = false;

	meaning->type = SONDE_EXPR_INT;
	for (; child != SONDE_NODE_NONE;
	     child = node_at(compiler, child)->next) {
		const struct sonde_meaning *item =
			infer_meaning_at(compiler, child);

		if (!item->constant) {
			open = true;
		} else if (sonde_expr_true(&item->value) == decisive) {
			set_truth(meaning, decisive);
			return 0;
		}
	}
	if (!open)
		set_truth(meaning, !decisive);
	return 0;
}

/* The type of `c ? a : b`; MISSING if both are. */
static int infer_choice_type(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	enum sonde_expr_type a = infer_meaning_at(compiler, of->child[1])->type;
	enum sonde_expr_type b = infer_meaning_at(compiler, of->child[2])->type;
	enum sonde_expr_type *type = &compiler->meanings[node].type;

	if (a == SONDE_EXPR_MISSING || b == SONDE_EXPR_MISSING) {
		*type = a == SONDE_EXPR_MISSING ? b : a;
		return 0;
	}
	if ((a == SONDE_EXPR_STRING) != (b == SONDE_EXPR_STRING))
		return fail(compiler, node,
			    "expected two strings or two numbers to choose "
			    "from");
	*type = a == SONDE_EXPR_STRING ? a : sonde_expr_type_common(a, b);
	return 0;
}

static int infer_choice(struct sonde_compiler *compiler, uint32_t node)
{
	const struct sonde_node *of = node_at(compiler, node);
	const struct sonde_meaning *condition =
		infer_meaning_at(compiler, of->child[0]);
	int err = infer_choice_type(compiler, node);
	uint32_t chosen;

	if (err)
		return err;
	if (compiler->meanings[node].type == SONDE_EXPR_MISSING) {
		set_missing(&compiler->meanings[node], SONDE_EXPR_MISSING);
		return 0;
	}
	if (!condition->constant)
		return 0;
	chosen = sonde_expr_true(&condition->value) ? of->child[1] :
						      of->child[2];
	return infer_meaning_at(compiler, chosen)->constant ?
		       fold(compiler, node) :
		       0;
}

int sonde_expr_infer(struct sonde_compiler *compiler, uint32_t node)
{
	enum sonde_node_kind kind = node_at(compiler, node)->kind;

	if (kind == SONDE_NODE_VALUE) {
		set_constant(&compiler->meanings[node],
			     node_at(compiler, node)->literal.value);
		return 0;
	}
	if (kind == SONDE_NODE_MOMENT)
		return infer_moment(compiler, node);
	if (kind == SONDE_NODE_NAME)
		return infer_name(compiler, node);
	if (kind == SONDE_NODE_DEFINED)
		return infer_defined(compiler, node);
	if (kind == SONDE_NODE_NOT)
		return infer_not(compiler, node);
	if (kind < SONDE_NODE_MULTIPLY)
		return infer_unary(compiler, node);
	if (kind < SONDE_NODE_LESS)
		return infer_arithmetic(compiler, node);
	if (kind < SONDE_NODE_ALL)
		return infer_comparison(compiler, node);
	if (kind < SONDE_NODE_CHOICE)
		return infer_list(compiler, node);
	return infer_choice(compiler, node);
}
