/* SPDX-License-Identifier: MIT */
/*
 * fold.c - nodes of the graph, simplified as they are made (graph.h).
 *
 * A rule returns another node that has the same value, or NO_NODE. It may make
 * nodes, which are simpler than what it was asked about: so it comes to an end.
 * Numbers stand on the right.
 */
#include <errno.h>
#include <string.h>

#include "expr/jit/graph.h"

#define NO_NODE SONDE_GRAPH_NO_NODE
#define ALL     64u

/* What is asked for: a node that isn't there yet. */
struct wish {
	enum sonde_graph_op op;
	uint16_t a, b;
	uint8_t bits;
	uint64_t number;
};

static const struct sonde_graph_node *node_at(const struct sonde_graph *graph,
					      uint16_t node)
{
	return &graph->nodes[node];
}

bool sonde_graph_is_number(const struct sonde_graph *graph, uint16_t node,
			   uint64_t *ret_number)
{
	if (node == NO_NODE || graph->nodes[node].op != SONDE_GRAPH_NUMBER)
		return false;
	*ret_number = graph->nodes[node].number;
	return true;
}

/* ---- what is known of a node ---- */

static unsigned int at_most(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static unsigned int at_least(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static unsigned int zero_bits(uint64_t number)
{
	return number ? ALL - (unsigned int)__builtin_clzll(number) : 1;
}

static unsigned int sign_bits(uint64_t number)
{
	return at_most(ALL,
		       zero_bits((int64_t)number < 0 ? ~number : number) +
			       ((int64_t)number != 0 && (int64_t)number != -1));
}

static void know_shift(struct sonde_graph *graph, struct sonde_graph_node *node)
{
	const struct sonde_graph_node *a = &graph->nodes[node->a];
	uint64_t count = 0; /* the least there may be */
	bool known = sonde_graph_is_number(graph, node->b, &count);

	switch ((int)node->op) {
	case SONDE_GRAPH_SHIFT_LEFT:
		if (!known)
			break;
		node->zbits =
			(uint8_t)at_most(ALL, a->zbits + (unsigned int)count);
		node->sbits =
			(uint8_t)at_most(ALL, a->sbits + (unsigned int)count);
		break;
	case SONDE_GRAPH_SHIFT_RIGHT_U:
		node->zbits =
			(uint8_t)(a->zbits > count ? a->zbits - count : 1);
		break;
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		node->sbits =
			(uint8_t)(a->sbits > count ? a->sbits - count : 1);
		break;
	default:
		break;
	}
}

static void know_binary(struct sonde_graph *graph,
			struct sonde_graph_node *node)
{
	const struct sonde_graph_node *a = &graph->nodes[node->a];
	const struct sonde_graph_node *b = &graph->nodes[node->b];

	switch ((int)node->op) {
	case SONDE_GRAPH_AND:
		node->zbits = (uint8_t)at_most(a->zbits, b->zbits);
		node->sbits = (uint8_t)at_least(a->sbits, b->sbits);
		break;
	case SONDE_GRAPH_OR:
	case SONDE_GRAPH_XOR:
		node->zbits = (uint8_t)at_least(a->zbits, b->zbits);
		node->sbits = (uint8_t)at_least(a->sbits, b->sbits);
		break;
	case SONDE_GRAPH_ADD:
		node->zbits =
			(uint8_t)at_most(ALL, at_least(a->zbits, b->zbits) + 1);
		node->sbits =
			(uint8_t)at_most(ALL, at_least(a->sbits, b->sbits) + 1);
		break;
	case SONDE_GRAPH_SUBTRACT:
		node->sbits =
			(uint8_t)at_most(ALL, at_least(a->sbits, b->sbits) + 1);
		break;
	case SONDE_GRAPH_MULTIPLY:
		node->zbits = (uint8_t)at_most(ALL, (unsigned int)a->zbits +
							    b->zbits);
		node->sbits = (uint8_t)at_most(ALL, (unsigned int)a->sbits +
							    b->sbits);
		break;
	case SONDE_GRAPH_DIVIDE_U:
		node->zbits = a->zbits;
		break;
	case SONDE_GRAPH_REMAINDER_U:
		node->zbits = (uint8_t)at_most(a->zbits, b->zbits);
		break;
	default:
		know_shift(graph, node);
		break;
	}
}

static void know(struct sonde_graph *graph, struct sonde_graph_node *node)
{
	static const struct sonde_graph_node none;
	const struct sonde_graph_node *a =
		node->a == NO_NODE ? &none : &graph->nodes[node->a];

	node->zbits = ALL;
	node->sbits = ALL;
	switch ((int)node->op) {
	case SONDE_GRAPH_NUMBER:
		node->zbits = (uint8_t)zero_bits(node->number);
		node->sbits = (uint8_t)sign_bits(node->number);
		break;
	case SONDE_GRAPH_READ:
	case SONDE_GRAPH_FIELD:
	case SONDE_GRAPH_SWAP:
		node->zbits = node->bits;
		break;
	case SONDE_GRAPH_EXTEND_Z:
		node->zbits = (uint8_t)at_most(node->bits, a->zbits);
		break;
	case SONDE_GRAPH_EXTEND_S:
		node->sbits = (uint8_t)at_most(node->bits, a->sbits);
		break;
	case SONDE_GRAPH_EQUAL:
	case SONDE_GRAPH_LESS_S:
	case SONDE_GRAPH_LESS_U:
		node->zbits = 1;
		break;
	default:
		if (node->b != NO_NODE)
			know_binary(graph, node);
		break;
	}
	if (node->zbits < ALL)
		node->sbits = (uint8_t)at_most(node->sbits, node->zbits + 1u);
}

/* ---- numbers ---- */

static uint64_t extend(uint64_t a, unsigned int bits, bool is_signed)
{
	unsigned int shift = ALL - bits;

	return is_signed ? (uint64_t)((int64_t)(a << shift) >> shift) :
			   a << shift >> shift;
}

static uint64_t swap(uint64_t a, unsigned int bits)
{
	return __builtin_bswap64(a) >> (ALL - bits);
}

static uint64_t divide_s(uint64_t a, uint64_t b)
{
	return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t remainder_s(uint64_t a, uint64_t b)
{
	return b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

/* False: not with numbers. */
/* NOLINTNEXTLINE(readability-function-size): a dispatch over a table */
static bool compute(const struct wish *wish, uint64_t a, uint64_t b,
		    uint64_t *ret)
{
	switch ((int)wish->op) {
#define AS_IS(name, value)       \
	case SONDE_GRAPH_##name: \
		*ret = (value);  \
		return true;
		AS_IS(ADD, a + b)
		AS_IS(SUBTRACT, a - b)
		AS_IS(MULTIPLY, a * b)
		AS_IS(AND, a & b)
		AS_IS(OR, a | b)
		AS_IS(XOR, a ^ b)
		AS_IS(SHIFT_LEFT, b < ALL ? a << b : 0)
		AS_IS(SHIFT_RIGHT_U, b < ALL ? a >> b : 0)
		AS_IS(SHIFT_RIGHT_S,
		      (uint64_t)((int64_t)a >> (b < ALL ? b : 63)))
		AS_IS(DIVIDE_U, b ? a / b : 0)
		AS_IS(REMAINDER_U, b ? a % b : 0)
		AS_IS(DIVIDE_S, b ? divide_s(a, b) : 0)
		AS_IS(REMAINDER_S, b ? remainder_s(a, b) : 0)
		AS_IS(NEGATE, 0 - a)
		AS_IS(COMPLEMENT, ~a)
		AS_IS(EXTEND_S, extend(a, wish->bits, true))
		AS_IS(EXTEND_Z, extend(a, wish->bits, false))
		AS_IS(SWAP, swap(a, wish->bits))
		AS_IS(EQUAL, a == b)
		AS_IS(LESS_S, (int64_t)a < (int64_t)b)
		AS_IS(LESS_U, a < b)
#undef AS_IS
	default:
		return false;
	}
}

static uint16_t fold_numbers(struct sonde_graph *graph, const struct wish *wish)
{
	uint64_t a;
	uint64_t b = 0;
	uint64_t value;

	if (!sonde_graph_is_number(graph, wish->a, &a) ||
	    (wish->b != NO_NODE &&
	     !sonde_graph_is_number(graph, wish->b, &b)) ||
	    !compute(wish, a, b, &value))
		return NO_NODE;
	return sonde_graph_number(graph, value);
}

/* ---- rules ---- */

/* NODE(ADD, a, b): shorter to write where rules make nodes. */
#define NODE(op, a, b) sonde_graph_node(graph, SONDE_GRAPH_##op, (a), (b), 0)
#define NUMBER(number) sonde_graph_number(graph, (number))

static bool commutes(enum sonde_graph_op op)
{
	return op == SONDE_GRAPH_ADD || op == SONDE_GRAPH_MULTIPLY ||
	       op == SONDE_GRAPH_AND || op == SONDE_GRAPH_OR ||
	       op == SONDE_GRAPH_XOR || op == SONDE_GRAPH_EQUAL;
}

static bool fold_is_number(const struct sonde_graph *graph, uint16_t node)
{
	return node_at(graph, node)->op == SONDE_GRAPH_NUMBER;
}

/* NOLINTBEGIN(misc-no-recursion): what rules ask for is simpler */

/* Sums: numbers go outwards, so that addresses have theirs as displacement. */
static uint16_t fold_add(struct sonde_graph *graph, const struct wish *wish)
{
	const struct sonde_graph_node *a = node_at(graph, wish->a);
	const struct sonde_graph_node *b = node_at(graph, wish->b);
	uint16_t a_inner = a->a;
	uint16_t a_number = a->b;
	uint16_t b_inner = b->a;
	uint16_t b_number = b->b;

	if (a->op == SONDE_GRAPH_ADD && fold_is_number(graph, a_number)) {
		if (b->op == SONDE_GRAPH_NUMBER)
			return NODE(ADD, a_inner, NODE(ADD, a_number, wish->b));
		return NODE(ADD, NODE(ADD, a_inner, wish->b), a_number);
	}
	if (b->op == SONDE_GRAPH_ADD && fold_is_number(graph, b_number))
		return NODE(ADD, NODE(ADD, wish->a, b_inner), b_number);
	return NO_NODE;
}

static uint16_t fold_multiply(struct sonde_graph *graph, uint16_t a, uint64_t b)
{
	unsigned int shift = b ? (unsigned int)__builtin_ctzll(b) : 0;

	if (b == 0)
		return NUMBER(0);
	if (b == 1)
		return a;
	if (b == UINT64_MAX)
		return NODE(NEGATE, a, NO_NODE);
	if (shift)
		return NODE(SHIFT_LEFT, NODE(MULTIPLY, a, NUMBER(b >> shift)),
			    NUMBER(shift));
	return NO_NODE;
}

static uint16_t fold_and(struct sonde_graph *graph, uint16_t a, uint64_t b)
{
	unsigned int zbits = node_at(graph, a)->zbits;
	uint64_t can = zbits < ALL ? ((uint64_t)1 << zbits) - 1 : UINT64_MAX;

	if (b == 0)
		return NUMBER(0);
	if ((b & can) == can)
		return a;
	if (b == UINT8_MAX || b == UINT16_MAX || b == UINT32_MAX)
		return sonde_graph_node(graph, SONDE_GRAPH_EXTEND_Z, a, NO_NODE,
					(uint8_t)zero_bits(b));
	return NO_NODE;
}

static uint16_t fold_shift(struct sonde_graph *graph, const struct wish *wish,
			   uint64_t count)
{
	const struct sonde_graph_node *a = node_at(graph, wish->a);
	uint16_t inner = a->a;
	uint64_t number;

	if (count == 0)
		return wish->a;
	if (count >= ALL && wish->op != SONDE_GRAPH_SHIFT_RIGHT_S)
		return NUMBER(0);
	if (count >= ALL)
		return NODE(SHIFT_RIGHT_S, wish->a, NUMBER(ALL - 1));
	if (wish->op == SONDE_GRAPH_SHIFT_LEFT &&
	    a->op == SONDE_GRAPH_SHIFT_LEFT &&
	    sonde_graph_is_number(graph, a->b, &number))
		return NODE(SHIFT_LEFT, inner, NUMBER(number + count));
	if (wish->op == SONDE_GRAPH_SHIFT_LEFT && a->op == SONDE_GRAPH_ADD &&
	    sonde_graph_is_number(graph, a->b, &number))
		return NODE(ADD, NODE(SHIFT_LEFT, inner, wish->b),
			    NUMBER(number << count));
	return NO_NODE;
}

/* By a power of two: a shift, for signed numbers of what is rounded to 0. */
static uint16_t fold_divide(struct sonde_graph *graph, const struct wish *wish,
			    uint64_t b)
{
	uint64_t size = (int64_t)b < 0 && wish->op != SONDE_GRAPH_DIVIDE_U &&
					wish->op != SONDE_GRAPH_REMAINDER_U ?
				0 - b :
				b;
	unsigned int shift = zero_bits(size) - 1;
	uint16_t rest;
	uint16_t sum;

	if (size == 0 || (size & (size - 1)) != 0)
		return NO_NODE;
	if (wish->op == SONDE_GRAPH_DIVIDE_U)
		return NODE(SHIFT_RIGHT_U, wish->a, NUMBER(shift));
	if (wish->op == SONDE_GRAPH_REMAINDER_U)
		return NODE(AND, wish->a, NUMBER(size - 1));
	if (shift == 0)
		return wish->op == SONDE_GRAPH_REMAINDER_S ? NUMBER(0) :
		       b == 1                              ? wish->a :
				NODE(NEGATE, wish->a, NO_NODE);
	rest = NODE(SHIFT_RIGHT_S, wish->a, NUMBER(ALL - 1));
	rest = NODE(SHIFT_RIGHT_U, rest, NUMBER(ALL - shift));
	sum = NODE(ADD, wish->a, rest);
	if (wish->op == SONDE_GRAPH_REMAINDER_S)
		return NODE(SUBTRACT, NODE(AND, sum, NUMBER(size - 1)), rest);
	sum = NODE(SHIFT_RIGHT_S, sum, NUMBER(shift));
	return b == size ? sum : NODE(NEGATE, sum, NO_NODE);
}

/* A remainder is 0 if the lowest bits are, whatever the sign. */
static uint16_t fold_equal_zero(struct sonde_graph *graph, uint16_t a)
{
	const struct sonde_graph_node *node = node_at(graph, a);
	const struct sonde_graph_node *sum;

	if (node->op == SONDE_GRAPH_EQUAL) {
		const struct sonde_graph_node *inner = node_at(graph, node->a);
		if (inner->zbits == 1 && fold_is_number(graph, node->b) &&
		    node_at(graph, node->b)->number == 0)
			return node->a;
	}
	if (node->op != SONDE_GRAPH_SUBTRACT)
		return NO_NODE;
	sum = node_at(graph, node->a);
	if (sum->op != SONDE_GRAPH_AND || !fold_is_number(graph, sum->b) ||
	    node_at(graph, sum->a)->op != SONDE_GRAPH_ADD ||
	    node_at(graph, sum->a)->b != node->b)
		return NO_NODE;
	uint64_t mask = node_at(graph, sum->b)->number;
	const struct sonde_graph_node *rest = node_at(graph, node->b);
	uint64_t shift;
	if (rest->op != SONDE_GRAPH_SHIFT_RIGHT_U ||
	    !sonde_graph_is_number(graph, rest->b, &shift) || shift == 0 ||
	    mask != ((uint64_t)1 << (ALL - shift)) - 1)
		return NO_NODE;
	return NODE(EQUAL, NODE(AND, node_at(graph, sum->a)->a, NUMBER(mask)),
		    NUMBER(0));
}

static uint16_t fold_equal(struct sonde_graph *graph, uint16_t a, uint64_t b)
{
	const struct sonde_graph_node *node = node_at(graph, a);

	if (b == 0)
		return fold_equal_zero(graph, a);
	if (b == 1 && node->zbits == 1)
		return a;
	if (node->zbits < ALL && b >> node->zbits)
		return NUMBER(0);
	if (node->op == SONDE_GRAPH_SWAP)
		return NODE(EQUAL,
			    sonde_graph_node(graph, SONDE_GRAPH_EXTEND_Z,
					     node->a, NO_NODE, node->bits),
			    NUMBER(swap(b, node->bits)));
	return NO_NODE;
}

static uint16_t fold_with_number(struct sonde_graph *graph,
				 const struct wish *wish, uint64_t b)
{
	switch ((int)wish->op) {
	case SONDE_GRAPH_ADD:
	case SONDE_GRAPH_OR:
	case SONDE_GRAPH_XOR:
		return b == 0 ? wish->a : NO_NODE;
	case SONDE_GRAPH_SUBTRACT:
		return NODE(ADD, wish->a, NUMBER(0 - b));
	case SONDE_GRAPH_MULTIPLY:
		return fold_multiply(graph, wish->a, b);
	case SONDE_GRAPH_AND:
		return fold_and(graph, wish->a, b);
	case SONDE_GRAPH_SHIFT_LEFT:
	case SONDE_GRAPH_SHIFT_RIGHT_U:
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		return fold_shift(graph, wish, b);
	case SONDE_GRAPH_DIVIDE_U:
	case SONDE_GRAPH_DIVIDE_S:
	case SONDE_GRAPH_REMAINDER_U:
	case SONDE_GRAPH_REMAINDER_S:
		return fold_divide(graph, wish, b);
	case SONDE_GRAPH_EQUAL:
		return fold_equal(graph, wish->a, b);
	default:
		return NO_NODE;
	}
}

/* Extensions of what is already so, and of extensions. */
static uint16_t fold_extension(struct sonde_graph *graph,
			       const struct wish *wish)
{
	const struct sonde_graph_node *a = node_at(graph, wish->a);
	bool is_signed = wish->op == SONDE_GRAPH_EXTEND_S;
	unsigned int bits = wish->bits;

	if (bits >= ALL || (is_signed ? a->sbits : a->zbits) <= bits)
		return wish->a;
	if ((a->op == SONDE_GRAPH_EXTEND_S || a->op == SONDE_GRAPH_EXTEND_Z) &&
	    a->bits >= bits)
		return sonde_graph_node(graph, wish->op, a->a, NO_NODE,
					wish->bits);
	if (bits == 8 || bits == 16 || bits == 32)
		return NO_NODE;
	if (!is_signed)
		return NODE(AND, wish->a, NUMBER(((uint64_t)1 << bits) - 1));
	return NODE(SHIFT_RIGHT_S,
		    NODE(SHIFT_LEFT, wish->a, NUMBER(ALL - bits)),
		    NUMBER(ALL - bits));
}

static uint16_t jit_fold(struct sonde_graph *graph, struct wish *wish)
{
	uint64_t number;
	uint16_t other = fold_numbers(graph, wish);

	if (other != NO_NODE)
		return other;
	if (wish->op == SONDE_GRAPH_EXTEND_S ||
	    wish->op == SONDE_GRAPH_EXTEND_Z)
		return fold_extension(graph, wish);
	if (wish->b == NO_NODE)
		return NO_NODE;
	if (commutes(wish->op) && fold_is_number(graph, wish->a)) {
		other = wish->a;
		wish->a = wish->b;
		wish->b = other;
		other = NO_NODE;
	}
	if (sonde_graph_is_number(graph, wish->b, &number))
		other = fold_with_number(graph, wish, number);
	else if (wish->op == SONDE_GRAPH_EQUAL && wish->a == wish->b)
		return NUMBER(1);
	else if ((wish->op == SONDE_GRAPH_LESS_S ||
		  wish->op == SONDE_GRAPH_LESS_U) &&
		 wish->a == wish->b)
		return NUMBER(0);
	if (other == NO_NODE && wish->op == SONDE_GRAPH_ADD)
		other = fold_add(graph, wish);
	return other;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- nodes ---- */

static uint16_t fail(struct sonde_graph *graph, int err)
{
	if (!graph->err)
		graph->err = err;
	return 0; /* there is always one: sonde_graph_make() */
}

static uint16_t *chain(struct sonde_graph *graph, const struct wish *wish)
{
	uint64_t hash = wish->number + wish->op * 0x9e3779b97f4a7c15u;

	hash += wish->a * 0xc2b2ae3d27d4eb4fu + wish->b * 0x165667b19e3779f9u;
	hash ^= hash >> 29;
	return &graph->hashes[(hash + wish->bits) % SONDE_GRAPH_HASHES];
}

/* The node that is so, a new one if there is none. */
static uint16_t find(struct sonde_graph *graph, const struct wish *wish)
{
	uint16_t *first = chain(graph, wish);
	struct sonde_graph_node *node;

	for (uint16_t i = *first; i != NO_NODE; i = node->next) {
		node = &graph->nodes[i];
		if (node->op == wish->op && node->a == wish->a &&
		    node->b == wish->b && node->bits == wish->bits &&
		    node->number == wish->number)
			return i;
	}
	if (graph->nr_nodes == SONDE_GRAPH_NODES_MAX)
		return fail(graph, -EOPNOTSUPP);
	node = sonde_pool_grow(&graph->pool, graph->nodes, graph->nr_nodes,
			       &graph->nodes_room, sizeof(*node));
	if (!node)
		return fail(graph, -ENOMEM);
	graph->nodes = node;
	node += graph->nr_nodes;
	*node = (struct sonde_graph_node){
		.op = (uint8_t)wish->op,
		.bits = wish->bits,
		.a = wish->a,
		.b = wish->b,
		.number = wish->number,
		.next = *first,
	};
	know(graph, node);
	*first = (uint16_t)graph->nr_nodes++;
	return *first;
}

uint16_t sonde_graph_leaf(struct sonde_graph *graph, enum sonde_graph_op op,
			  uint64_t number)
{
	const struct wish wish = { op, NO_NODE, NO_NODE, 0, number };

	return find(graph, &wish);
}

uint16_t sonde_graph_number(struct sonde_graph *graph, uint64_t number)
{
	return sonde_graph_leaf(graph, SONDE_GRAPH_NUMBER, number);
}

/* NOLINTNEXTLINE(misc-no-recursion): rules make simpler nodes */
uint16_t sonde_graph_node(struct sonde_graph *graph, enum sonde_graph_op op,
			  uint16_t a, uint16_t b, uint8_t bits)
{
	struct wish wish = { op, a, b, bits, 0 };
	uint16_t other;

	if (graph->err)
		return 0;
	other = jit_fold(graph, &wish);
	return other != NO_NODE ? other : find(graph, &wish);
}

/* ---- comparisons ---- */

unsigned int sonde_graph_width(const struct sonde_graph *graph,
			       unsigned int bits)
{
	unsigned int width = graph->config->narrowest;

	while (width < bits)
		width *= 2;
	return width;
}

/* Both extended with their sign from so few bits, or both with zeros; then
 * their order is that of those bits (with zeros, as unsigned ones). */
static void narrow(const struct sonde_graph *graph,
		   struct sonde_graph_comparison *comparison)
{
	static const uint8_t as_unsigned[] = {
		[SONDE_GRAPH_IS_EQUAL] = SONDE_GRAPH_IS_EQUAL,
		[SONDE_GRAPH_IS_UNEQUAL] = SONDE_GRAPH_IS_UNEQUAL,
		[SONDE_GRAPH_IS_LESS_S] = SONDE_GRAPH_IS_LESS_U,
		[SONDE_GRAPH_IS_AT_LEAST_S] = SONDE_GRAPH_IS_AT_LEAST_U,
		[SONDE_GRAPH_IS_MORE_S] = SONDE_GRAPH_IS_MORE_U,
		[SONDE_GRAPH_IS_AT_MOST_S] = SONDE_GRAPH_IS_AT_MOST_U,
		[SONDE_GRAPH_IS_LESS_U] = SONDE_GRAPH_IS_LESS_U,
		[SONDE_GRAPH_IS_AT_LEAST_U] = SONDE_GRAPH_IS_AT_LEAST_U,
		[SONDE_GRAPH_IS_MORE_U] = SONDE_GRAPH_IS_MORE_U,
		[SONDE_GRAPH_IS_AT_MOST_U] = SONDE_GRAPH_IS_AT_MOST_U,
	};
	const struct sonde_graph_node *a = node_at(graph, comparison->a);
	const struct sonde_graph_node *b = node_at(graph, comparison->b);
	unsigned int zeros =
		sonde_graph_width(graph, at_least(a->zbits, b->zbits));
	unsigned int signs =
		sonde_graph_width(graph, at_least(a->sbits, b->sbits));

	comparison->width = (uint8_t)at_most(zeros, signs);
	if (signs > zeros)
		comparison->relation = as_unsigned[comparison->relation];
}

struct sonde_graph_comparison sonde_graph_compare(struct sonde_graph *graph,
						  uint16_t node, bool *negates)
{
	struct sonde_graph_comparison comparison = { SONDE_GRAPH_IS_UNEQUAL,
						     ALL, node, NUMBER(0) };
	const struct sonde_graph_node *is = node_at(graph, node);
	uint64_t number;

	while (is->op == SONDE_GRAPH_EQUAL &&
	       sonde_graph_is_number(graph, is->b, &number) && number == 0 &&
	       node_at(graph, is->a)->zbits == 1) {
		*negates = !*negates;
		is = node_at(graph, is->a);
	}
	if (is->op == SONDE_GRAPH_EQUAL || is->op == SONDE_GRAPH_LESS_S ||
	    is->op == SONDE_GRAPH_LESS_U) {
		comparison.relation =
			is->op == SONDE_GRAPH_EQUAL  ? SONDE_GRAPH_IS_EQUAL :
			is->op == SONDE_GRAPH_LESS_S ? SONDE_GRAPH_IS_LESS_S :
						       SONDE_GRAPH_IS_LESS_U;
		comparison.a = is->a;
		comparison.b = is->b;
		if (fold_is_number(graph, is->a) &&
		    !fold_is_number(graph, is->b)) {
			comparison.relation = is->op == SONDE_GRAPH_LESS_S ?
						      SONDE_GRAPH_IS_MORE_S :
						      SONDE_GRAPH_IS_MORE_U;
			comparison.a = is->b;
			comparison.b = is->a;
		}
	} else {
		comparison.a = (uint16_t)(is - graph->nodes);
	}
	narrow(graph, &comparison);
	return comparison;
}
