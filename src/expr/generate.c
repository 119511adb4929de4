/* SPDX-License-Identifier: MIT */
/*
 * generate.c - operations for a tree whose meanings are known.
 *
 * Two functions take turns: value() leaves a node's value on the stack, and
 * jumps to `missing` if it has none; generate_test() jumps to a label if the node's
 * truth is `sense`, and goes on if not. So && and || and ! are jumps and cost
 * nothing by themselves, and a missing value goes where "false" goes.
 *
 * Recursion is bounded by the tree's height, SONDE_NODE_HEIGHT.
 */
#include "expr/compile.h"

#include <errno.h>

#include "types/type.h"

struct generator {
	const struct sonde_compiler *compiler;
	struct sonde_builder *code;
};

/* What a comparison does with its operands before an operation is found. */
struct comparison {
	enum sonde_node_kind kind;
	uint32_t a, b;
};

static void value(const struct generator *to, uint32_t node,
		  struct sonde_builder_label *missing);
static void generate_test(const struct generator *to, uint32_t node,
			  struct sonde_builder_label *label, bool sense);

static const struct sonde_node *node_at(const struct generator *to,
					uint32_t node)
{
	return &to->compiler->expr->nodes[node];
}

static const struct sonde_meaning *meaning_at(const struct generator *to,
					      uint32_t node)
{
	return &to->compiler->meanings[node];
}

/* ---- single operations ---- */

static void add(const struct generator *to, enum sonde_expr_op_code code)
{
	sonde_builder_add(to->code,
			  (struct sonde_expr_op){ .code = (uint8_t)code });
}

static void add_number(const struct generator *to, uint64_t number)
{
	sonde_builder_add(to->code,
			  (struct sonde_expr_op){ .code = SONDE_EXPR_OP_NUMBER,
						  .number = number });
}

static void jump(const struct generator *to, enum sonde_expr_op_code code,
		 struct sonde_builder_label *label, bool sense)
{
	sonde_builder_jump(to->code,
			   (struct sonde_expr_op){ .code = (uint8_t)code,
						   .sense = sense },
			   label);
}

static void jump_number(const struct generator *to,
			enum sonde_expr_op_code code, uint64_t number,
			struct sonde_builder_label *label, bool sense)
{
	sonde_builder_jump(to->code,
			   (struct sonde_expr_op){ .code = (uint8_t)code,
						   .sense = sense,
						   .number = number },
			   label);
}

static void jump_text(const struct generator *to, enum sonde_expr_op_code code,
		      const struct sonde_expr_value *text,
		      struct sonde_builder_label *label, bool sense)
{
	struct sonde_expr_op op = { .code = (uint8_t)code, .sense = sense };

	op.offset = sonde_builder_text(to->code, text->text, text->length);
	op.length = text->length;
	sonde_builder_jump(to->code, op, label);
}

/* Whether a field that is called for has a value. */
static void jump_defined(const struct generator *to,
			 const struct sonde_expr_source *source,
			 struct sonde_builder_label *label, bool sense)
{
	sonde_builder_jump(
		to->code,
		(struct sonde_expr_op){ .code = SONDE_EXPR_OP_IF_DEFINED,
					.sense = sense,
					.ref = source->ref,
					.number = source->type },
		label);
}

/* ---- leaves ---- */

static void generate_constant(const struct generator *to,
			      const struct sonde_expr_value *known,
			      struct sonde_builder_label *missing)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_TEXT };

	if (known->type == SONDE_EXPR_MISSING) {
		jump(to, SONDE_EXPR_OP_GO, missing, false);
		return;
	}
	if (known->type != SONDE_EXPR_STRING) {
		add_number(to, known->u);
		return;
	}
	op.offset = sonde_builder_text(to->code, known->text, known->length);
	op.length = known->length;
	sonde_builder_add(to->code, op);
}

/* That which reads a field so: of one byte, or widened by nothing, the first
 * that does. */
static uint8_t load_op(const struct sonde_expr_source *source)
{
	bool is_float = source->type == SONDE_EXPR_DOUBLE && source->bytes == 4;
	bool is_signed = source->type == SONDE_EXPR_INT && source->bytes < 8;
	unsigned int operands = SONDE_EXPR_OPERAND_MEM;
	uint8_t code = SONDE_EXPR_OP_LOAD_Z8;

	if (source->swap && source->bytes > 1)
		operands |= SONDE_EXPR_OPERAND_SWAP;
	if (is_signed)
		operands |= SONDE_EXPR_OPERAND_SIGNED;
	if (is_float)
		operands |= SONDE_EXPR_OPERAND_DOUBLE;
	while (sonde_expr_op_infos[code].bytes != source->bytes ||
	       sonde_expr_op_infos[code].operands != operands)
		code++;
	return code;
}

static void generate_field(const struct generator *to,
			   const struct sonde_expr_source *source,
			   struct sonde_builder_label *missing)
{
	struct sonde_expr_op op = { .code = SONDE_EXPR_OP_CALL_NUMBER };

	if (source->how == SONDE_EXPR_MEMORY) {
		op.code = load_op(source);
		op.base = source->base;
		op.offset = source->offset;
		sonde_builder_add(to->code, op);
		return;
	}
	if (source->type == SONDE_EXPR_STRING)
		op.code = SONDE_EXPR_OP_CALL_TEXT;
	op.ref = source->ref;
	op.number = source->type;
	sonde_builder_jump(to->code, op, missing);
}

/* NOLINTBEGIN(misc-no-recursion): depth <= 2 * SONDE_NODE_HEIGHT */

/* ---- arithmetic ---- */

/* A number converted to `type`, which is its own or DOUBLE; or a string. */
static void value_as(const struct generator *to, uint32_t node,
		     enum sonde_expr_type type,
		     struct sonde_builder_label *missing)
{
	bool is_signed = meaning_at(to, node)->type == SONDE_EXPR_INT;

	value(to, node, missing);
	if (type == SONDE_EXPR_DOUBLE &&
	    sonde_expr_type_is_integer(meaning_at(to, node)->type))
		add(to, is_signed ? SONDE_EXPR_OP_DOUBLE_OF_S :
				    SONDE_EXPR_OP_DOUBLE_OF_U);
}

/* By type: UINT, INT, DOUBLE. */
typedef uint8_t ops_by_type[3];

static void arithmetic(const struct generator *to, uint32_t node,
		       struct sonde_builder_label *missing)
{
#define SAME(op)                                                           \
	{                                                                  \
		SONDE_EXPR_OP_##op, SONDE_EXPR_OP_##op, SONDE_EXPR_OP_##op \
	}
#define WITH_D(op)                                                             \
	{                                                                      \
		SONDE_EXPR_OP_##op, SONDE_EXPR_OP_##op, SONDE_EXPR_OP_##op##_D \
	}
#define WITH_S(op)                                                \
	{                                                         \
		SONDE_EXPR_OP_##op##_U, SONDE_EXPR_OP_##op##_S, 0 \
	}
	static const ops_by_type ops[] = {
		[SONDE_NODE_MULTIPLY] = WITH_D(MULTIPLY),
		[SONDE_NODE_DIVIDE] = { SONDE_EXPR_OP_DIVIDE_U,
					SONDE_EXPR_OP_DIVIDE_S,
					SONDE_EXPR_OP_DIVIDE_D },
		[SONDE_NODE_REMAINDER] = WITH_S(REMAINDER),
		[SONDE_NODE_ADD] = WITH_D(ADD),
		[SONDE_NODE_SUBTRACT] = WITH_D(SUBTRACT),
		[SONDE_NODE_SHIFT_LEFT] = SAME(SHIFT_LEFT),
		[SONDE_NODE_SHIFT_RIGHT] = WITH_S(SHIFT_RIGHT),
		[SONDE_NODE_AND] = SAME(AND),
		[SONDE_NODE_XOR] = SAME(XOR),
		[SONDE_NODE_OR] = SAME(OR),
	};
#undef SAME
#undef WITH_D
#undef WITH_S
	const struct sonde_node *of = node_at(to, node);
	enum sonde_expr_type type = meaning_at(to, node)->type;
	enum sonde_expr_op_code op = ops[of->kind][type - SONDE_EXPR_UINT];

	value_as(to, of->child[0], type, missing);
	value_as(to, of->child[1], type, missing);
	if (sonde_expr_op_infos[op].operands & SONDE_EXPR_OPERAND_JUMP)
		jump(to, op, missing, false);
	else
		add(to, op);
}

static void unary(const struct generator *to, uint32_t node,
		  struct sonde_builder_label *missing)
{
	const struct sonde_node *of = node_at(to, node);
	bool is_double = meaning_at(to, node)->type == SONDE_EXPR_DOUBLE;

	value(to, of->child[0], missing);
	if (of->kind == SONDE_NODE_NEGATE)
		add(to,
		    is_double ? SONDE_EXPR_OP_NEGATE_D : SONDE_EXPR_OP_NEGATE);
	else if (of->kind == SONDE_NODE_COMPLEMENT)
		add(to, SONDE_EXPR_OP_COMPLEMENT);
}

static void choice(const struct generator *to, uint32_t node,
		   struct sonde_builder_label *missing)
{
	const struct sonde_node *of = node_at(to, node);
	enum sonde_expr_type type = meaning_at(to, node)->type;
	struct sonde_builder_label otherwise = sonde_builder_label(to->code, 0);
	struct sonde_builder_label end = sonde_builder_label(
		to->code, type == SONDE_EXPR_STRING ? 2 : 1);

	generate_test(to, of->child[0], &otherwise, false);
	value_as(to, of->child[1], type, missing);
	jump(to, SONDE_EXPR_OP_GO, &end, false);
	sonde_builder_bind(to->code, &otherwise);
	value_as(to, of->child[2], type, missing);
	sonde_builder_bind(to->code, &end);
}

/* What is true or false, as 1 or 0. */
static void truth(const struct generator *to, uint32_t node)
{
	struct sonde_builder_label otherwise = sonde_builder_label(to->code, 0);
	struct sonde_builder_label end = sonde_builder_label(to->code, 1);

	generate_test(to, node, &otherwise, false);
	add_number(to, 1);
	jump(to, SONDE_EXPR_OP_GO, &end, false);
	sonde_builder_bind(to->code, &otherwise);
	add_number(to, 0);
	sonde_builder_bind(to->code, &end);
}

static bool is_truth(enum sonde_node_kind kind)
{
	return kind == SONDE_NODE_DEFINED || kind == SONDE_NODE_NOT ||
	       (kind >= SONDE_NODE_LESS && kind <= SONDE_NODE_ANY);
}

static void value(const struct generator *to, uint32_t node,
		  struct sonde_builder_label *missing)
{
	const struct sonde_meaning *meaning = meaning_at(to, node);
	enum sonde_node_kind kind = node_at(to, node)->kind;

	if (meaning->constant)
		generate_constant(to, &meaning->value, missing);
	else if (kind == SONDE_NODE_NAME)
		generate_field(to, meaning->source, missing);
	else if (is_truth(kind))
		truth(to, node);
	else if (kind == SONDE_NODE_CHOICE)
		choice(to, node, missing);
	else if (kind < SONDE_NODE_MULTIPLY)
		unary(to, node, missing);
	else
		arithmetic(to, node, missing);
}

/* ---- comparisons ---- */

/*
 * `a < b` is what there are operations for: the others are that with the
 * operands exchanged, or its opposite. But the opposite of < isn't >= for
 * doubles, of which one may be no number.
 */
static bool is_exchanged(enum sonde_node_kind kind, bool doubles)
{
	return kind == SONDE_NODE_GREATER ||
	       kind == (doubles ? SONDE_NODE_GREATER_EQUAL :
				  SONDE_NODE_LESS_EQUAL);
}

static bool is_opposite(enum sonde_node_kind kind, bool doubles)
{
	return kind == SONDE_NODE_UNEQUAL ||
	       (!doubles && (kind == SONDE_NODE_LESS_EQUAL ||
			     kind == SONDE_NODE_GREATER_EQUAL));
}

static bool is_equality(enum sonde_node_kind kind)
{
	return kind == SONDE_NODE_EQUAL || kind == SONDE_NODE_UNEQUAL;
}

/* A place that a missing value goes to: where "false" goes. */
struct place {
	struct sonde_builder_label local;
	struct sonde_builder_label *missing;
};

static void place_init(struct place *place, const struct generator *to,
		       struct sonde_builder_label *label, bool sense)
{
	place->local = sonde_builder_label(to->code, 0);
	place->missing = sense ? &place->local : label;
}

static uint64_t swapped(const struct sonde_expr_source *source, uint64_t number)
{
	if (!source->swap)
		return number;
	return __builtin_bswap64(number) >> (64 - 8 * source->bytes);
}

/*
 * Whether the integer x equals the number, which is one that it can be;
 * `opposite`: whether it doesn't. That is not the opposite sense: a missing
 * value is neither.
 */
static void test_is(const struct generator *to, uint32_t x, uint64_t number,
		    bool opposite, struct sonde_builder_label *label,
		    bool sense)
{
	static const uint8_t codes[] = {
		[1] = SONDE_EXPR_OP_IF_MEM8_IS,
		[2] = SONDE_EXPR_OP_IF_MEM16_IS,
		[4] = SONDE_EXPR_OP_IF_MEM32_IS,
		[8] = SONDE_EXPR_OP_IF_MEM64_IS,
	};
	const struct sonde_expr_source *source = meaning_at(to, x)->source;
	struct place place;

	if (node_at(to, x)->kind == SONDE_NODE_NAME &&
	    !meaning_at(to, x)->constant && source->how == SONDE_EXPR_MEMORY) {
		sonde_builder_jump(to->code,
				   (struct sonde_expr_op){
					   .code = codes[source->bytes],
					   .sense = sense != opposite,
					   .base = source->base,
					   .offset = source->offset,
					   .number = swapped(source, number),
				   },
				   label);
		return;
	}
	place_init(&place, to, label, sense);
	value(to, x, place.missing);
	jump_number(to, SONDE_EXPR_OP_IF_IS, number, label, sense != opposite);
	sonde_builder_bind(to->code, &place.local);
}

/* Whether the integer x is below the number, as one of x's type; `opposite`:
 * whether it is not. */
static void test_below(const struct generator *to, uint32_t x, uint64_t number,
		       bool opposite, struct sonde_builder_label *label,
		       bool sense)
{
	bool is_signed = meaning_at(to, x)->type == SONDE_EXPR_INT;
	struct place place;

	place_init(&place, to, label, sense);
	value(to, x, place.missing);
	jump_number(to,
		    is_signed ? SONDE_EXPR_OP_IF_BELOW_S :
				SONDE_EXPR_OP_IF_BELOW_U,
		    number, label, sense != opposite);
	sonde_builder_bind(to->code, &place.local);
}

/* Whether an integer of `type` can be the constant; *ret_most: and nothing
 * greater. */
static bool type_has(enum sonde_expr_type type,
		     const struct sonde_expr_value *known, bool *ret_most)
{
	bool small = known->u <= INT64_MAX;

	*ret_most = type == SONDE_EXPR_INT ? known->u == INT64_MAX :
					     known->u == UINT64_MAX;
	return known->type == type || small;
}

/*
 * An integer compared with a constant, in one operation less. False if this is
 * no such comparison.
 */
static bool test_constant(const struct generator *to,
			  const struct comparison *of,
			  struct sonde_builder_label *label, bool sense)
{
	bool left = meaning_at(to, of->a)->constant;
	uint32_t x = left ? of->b : of->a;
	const struct sonde_expr_value *known =
		&meaning_at(to, left ? of->a : of->b)->value;
	bool opposite = is_opposite(of->kind, false);
	bool exchanged = is_exchanged(of->kind, false) != left;
	bool most;

	if (!meaning_at(to, left ? of->a : of->b)->constant ||
	    !sonde_expr_type_is_integer(meaning_at(to, x)->type) ||
	    !sonde_expr_type_is_integer(known->type) ||
	    !type_has(meaning_at(to, x)->type, known, &most))
		return false;
	if (is_equality(of->kind)) {
		test_is(to, x, known->u, opposite, label, sense);
		return true;
	}
	/* known < x is !(x < known + 1) */
	if (exchanged && most)
		return false;
	test_below(to, x, known->u + exchanged, opposite != exchanged, label,
		   sense);
	return true;
}

static enum sonde_expr_op_code
integers_op(enum sonde_expr_type a, enum sonde_expr_type b, bool equality)
{
	if (a == b && equality)
		return SONDE_EXPR_OP_IF_EQUAL;
	if (a == b)
		return a == SONDE_EXPR_INT ? SONDE_EXPR_OP_IF_LESS_S :
					     SONDE_EXPR_OP_IF_LESS_U;
	if (equality)
		return SONDE_EXPR_OP_IF_EQUAL_SU;
	return a == SONDE_EXPR_INT ? SONDE_EXPR_OP_IF_LESS_SU :
				     SONDE_EXPR_OP_IF_LESS_US;
}

static enum sonde_expr_op_code doubles_op(enum sonde_node_kind kind)
{
	if (is_equality(kind))
		return SONDE_EXPR_OP_IF_EQUAL_D;
	return kind == SONDE_NODE_LESS || kind == SONDE_NODE_GREATER ?
		       SONDE_EXPR_OP_IF_LESS_D :
		       SONDE_EXPR_OP_IF_LESS_EQUAL_D;
}

/* Numbers. */
static void test_numbers(const struct generator *to, struct comparison of,
			 struct sonde_builder_label *label, bool sense)
{
	enum sonde_expr_type a = meaning_at(to, of.a)->type;
	enum sonde_expr_type b = meaning_at(to, of.b)->type;
	bool doubles = sonde_expr_type_common(a, b) == SONDE_EXPR_DOUBLE;
	/* an equality's signed operand is the first, too */
	bool exchanged = is_equality(of.kind) ? b == SONDE_EXPR_INT :
						is_exchanged(of.kind, doubles);
	enum sonde_expr_op_code op;
	struct place place;

	if (exchanged) {
		of = (struct comparison){ of.kind, of.b, of.a };
		a = meaning_at(to, of.a)->type;
		b = meaning_at(to, of.b)->type;
	}
	op = doubles ? doubles_op(of.kind) :
		       integers_op(a, b, is_equality(of.kind));
	place_init(&place, to, label, sense);
	value_as(to, of.a, doubles ? SONDE_EXPR_DOUBLE : a, place.missing);
	value_as(to, of.b, doubles ? SONDE_EXPR_DOUBLE : b, place.missing);
	jump(to, op, label, sense != is_opposite(of.kind, doubles));
	sonde_builder_bind(to->code, &place.local);
}

/* The pattern that it is, if it is one. */
static bool find_glob(const struct generator *to, uint32_t node,
		      struct sonde_expr_value *ret_glob)
{
	const struct sonde_node *of = node_at(to, node);

	if (of->kind != SONDE_NODE_VALUE || !of->literal.glob)
		return false;
	*ret_glob = (struct sonde_expr_value){
		.type = SONDE_EXPR_STRING,
		.text = of->literal.glob,
		.length = of->literal.glob_length,
	};
	return true;
}

/* == and != with a constant or a pattern on the right. */
static void test_text(const struct generator *to, struct comparison of,
		      struct sonde_builder_label *label, bool sense)
{
	struct sonde_expr_value text = meaning_at(to, of.b)->value;
	bool glob = find_glob(to, of.b, &text);
	struct place place;

	place_init(&place, to, label, sense);
	value(to, of.a, place.missing);
	jump_text(to, glob ? SONDE_EXPR_OP_IF_GLOB : SONDE_EXPR_OP_IF_TEXT_IS,
		  &text, label, sense != is_opposite(of.kind, false));
	sonde_builder_bind(to->code, &place.local);
}

static void test_strings(const struct generator *to, struct comparison of,
			 struct sonde_builder_label *label, bool sense)
{
	bool equality = is_equality(of.kind);
	struct sonde_expr_value glob;
	bool exchanged = equality ? meaning_at(to, of.a)->constant &&
					    !find_glob(to, of.b, &glob) :
				    is_exchanged(of.kind, false);
	struct place place;

	if (exchanged)
		of = (struct comparison){ of.kind, of.b, of.a };
	if (equality && meaning_at(to, of.b)->constant) {
		test_text(to, of, label, sense);
		return;
	}
	place_init(&place, to, label, sense);
	value(to, of.a, place.missing);
	value(to, of.b, place.missing);
	jump(to,
	     equality ? SONDE_EXPR_OP_IF_EQUAL_TEXT :
			SONDE_EXPR_OP_IF_LESS_TEXT,
	     label, sense != is_opposite(of.kind, false));
	sonde_builder_bind(to->code, &place.local);
}

/* Whether the integer x is in low .. high. */
static void test_range(const struct generator *to, uint32_t x,
		       const int64_t range[2],
		       struct sonde_builder_label *label, bool sense)
{
	struct sonde_builder_label end = sonde_builder_label(to->code, 0);
	uint64_t low = (uint64_t)range[0];
	uint64_t high = (uint64_t)range[1];
	bool is_signed = meaning_at(to, x)->type == SONDE_EXPR_INT;

	if (low == high) {
		test_is(to, x, low, false, label, sense);
	} else if (high == (is_signed ? INT64_MAX : UINT64_MAX)) {
		test_below(to, x, low, true, label, sense);
	} else {
		test_below(to, x, low, false, sense ? &end : label, true);
		test_below(to, x, high + 1, false, label, sense);
		sonde_builder_bind(to->code, &end);
	}
}

/* The i-th range of the label `text`; false if there is none. *ret_last: it is
 * the last one. */
static bool find_range(const struct sonde_expr_source *source,
		       const struct sonde_expr_value *text, size_t i,
		       int64_t ret_range[2], bool *ret_last)
{
	const struct sonde_label *label = NULL;
	size_t nr = sonde_label_find(source->labels, source->nr_labels,
				     text->text, text->length, i, &label);

	*ret_last = i + 1 == nr;
	if (i >= nr)
		return false;
	ret_range[0] = (int64_t)label->low;
	ret_range[1] = (int64_t)label->high;
	return true;
}

/*
 * Whether a field's value has a label, which stands for any number of ranges.
 * A missing value is in none of them, and != would hold: so that is asked
 * first.
 */
static void test_label(const struct generator *to, uint32_t node,
		       struct sonde_builder_label *label, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	bool unequal = of->kind == SONDE_NODE_UNEQUAL;
	struct sonde_builder_label end = sonde_builder_label(to->code, 0);
	struct sonde_builder_label found = sonde_builder_label(to->code, 0);
	const struct sonde_expr_source *source;
	uint32_t x = 0;
	uint32_t text = 0;
	int64_t range[2] = { 0, 0 };
	bool last = false;

	(void)sonde_expr_compares_label(to->compiler, of, &x, &text);
	source = &to->compiler->sources[node_at(to, x)->name];
	if (unequal && source->how == SONDE_EXPR_CALL)
		jump_defined(to, source, sense ? &end : label, false);
	for (size_t i = 0; !to->code->err && !last; i++) {
		if (!find_range(source, &meaning_at(to, text)->value, i, range,
				&last))
			break;
		if (sense != unequal)
			test_range(to, x, range, label, true);
		else if (last)
			test_range(to, x, range, label, false);
		else
			test_range(to, x, range, &found, true);
	}
	if (sense == unequal && !last)
		jump(to, SONDE_EXPR_OP_GO, label, false);
	sonde_builder_bind(to->code, &found);
	sonde_builder_bind(to->code, &end);
}

static void compare(const struct generator *to, uint32_t node,
		    struct sonde_builder_label *label, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	struct comparison comparison = { of->kind, of->child[0], of->child[1] };
	enum sonde_expr_type type = meaning_at(to, of->child[0])->type;
	uint32_t field_node;
	uint32_t label_node;

	if (sonde_expr_compares_label(to->compiler, of, &field_node,
				      &label_node))
		test_label(to, node, label, sense);
	else if (type == SONDE_EXPR_STRING)
		test_strings(to, comparison, label, sense);
	else if (!test_constant(to, &comparison, label, sense))
		test_numbers(to, comparison, label, sense);
}

/* ---- logic ---- */

/* In && only true goes on, in || only false; the last one decides. */
static void test_list(const struct generator *to, uint32_t node,
		      struct sonde_builder_label *label, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	bool decisive = of->kind == SONDE_NODE_ANY;
	struct sonde_builder_label end = sonde_builder_label(to->code, 0);
	uint32_t child = of->child[0];

	for (; child != SONDE_NODE_NONE; child = node_at(to, child)->next) {
		bool last = node_at(to, child)->next == SONDE_NODE_NONE;

		if (sense == decisive || last)
			generate_test(to, child, label, sense);
		else
			generate_test(to, child, &end, decisive);
	}
	sonde_builder_bind(to->code, &end);
}

static void test_choice(const struct generator *to, uint32_t node,
			struct sonde_builder_label *label, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	struct sonde_builder_label otherwise = sonde_builder_label(to->code, 0);
	struct sonde_builder_label end = sonde_builder_label(to->code, 0);

	generate_test(to, of->child[0], &otherwise, false);
	generate_test(to, of->child[1], label, sense);
	jump(to, SONDE_EXPR_OP_GO, &end, false);
	sonde_builder_bind(to->code, &otherwise);
	generate_test(to, of->child[2], label, sense);
	sonde_builder_bind(to->code, &end);
}

static void test_value(const struct generator *to, uint32_t node,
		       struct sonde_builder_label *label, bool sense)
{
	enum sonde_expr_type type = meaning_at(to, node)->type;
	struct place place;

	place_init(&place, to, label, sense);
	value(to, node, place.missing);
	if (type == SONDE_EXPR_STRING)
		jump(to, SONDE_EXPR_OP_IF_TEXT, label, sense);
	else if (type == SONDE_EXPR_DOUBLE)
		jump(to, SONDE_EXPR_OP_IF_D, label, sense);
	else
		jump(to, SONDE_EXPR_OP_IF, label, sense);
	sonde_builder_bind(to->code, &place.local);
}

static void generate_test(const struct generator *to, uint32_t node,
			  struct sonde_builder_label *label, bool sense)
{
	const struct sonde_meaning *meaning = meaning_at(to, node);
	enum sonde_node_kind kind = node_at(to, node)->kind;

	if (meaning->constant) {
		if (sonde_expr_true(&meaning->value) == sense)
			jump(to, SONDE_EXPR_OP_GO, label, false);
	} else if (kind == SONDE_NODE_NOT) {
		generate_test(to, node_at(to, node)->child[0], label, !sense);
	} else if (kind == SONDE_NODE_DEFINED) {
		jump_defined(to, meaning->source, label, sense);
	} else if (kind == SONDE_NODE_ALL || kind == SONDE_NODE_ANY) {
		test_list(to, node, label, sense);
	} else if (kind == SONDE_NODE_CHOICE) {
		test_choice(to, node, label, sense);
	} else if (is_truth(kind)) {
		compare(to, node, label, sense);
	} else {
		test_value(to, node, label, sense);
	}
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the whole ---- */

static void generate_program(const struct generator *to, uint32_t node)
{
	struct sonde_builder_label otherwise = sonde_builder_label(to->code, 0);
	bool text = meaning_at(to, node)->type == SONDE_EXPR_STRING;

	if (is_truth(node_at(to, node)->kind) &&
	    !meaning_at(to, node)->constant) {
		generate_test(to, node, &otherwise, false);
		add(to, SONDE_EXPR_OP_END_TRUE);
		sonde_builder_bind(to->code, &otherwise);
		add(to, SONDE_EXPR_OP_END_FALSE);
		return;
	}
	value(to, node, &otherwise);
	add(to, text ? SONDE_EXPR_OP_END_TEXT : SONDE_EXPR_OP_END_NUMBER);
	sonde_builder_bind(to->code, &otherwise);
	add(to, SONDE_EXPR_OP_END_MISSING);
}

int sonde_expr_generate(struct sonde_compiler *compiler, uint32_t node,
			struct sonde_program **ret_program)
{
	struct sonde_builder code = { .pool = &compiler->pool };
	const struct generator to = { compiler, &code };
	int err;

	generate_program(&to, node);
	err = sonde_builder_finish(&code, compiler->meanings[node].type,
				   ret_program);
	if (err == -E2BIG)
		return sonde_expr_fail(compiler->error, compiler->expr->text,
				       compiler->expr->nodes[node].offset,
				       "too large: more than %d operations or "
				       "%d intermediate values",
				       SONDE_PROGRAM_OPS, SONDE_PROGRAM_STACK);
	return err;
}
