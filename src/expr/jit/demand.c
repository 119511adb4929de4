/* SPDX-License-Identifier: MIT */
/*
 * demand.c - how many of a node's lowest bits anybody needs (graph.h).
 *
 * One pass from the last node to the first: by then, all that use it are known.
 * Sums, products and the like of 32 bits need only 32 of each operand, so an
 * extension between them disappears.
 */
#include "expr/jit/graph.h"

#define ALL 64u

static void want(struct sonde_graph *graph, uint16_t node, unsigned int bits)
{
	struct sonde_graph_node *is;

	if (node == SONDE_GRAPH_NO_NODE)
		return;
	is = &graph->nodes[node];
	bits = sonde_graph_width(graph, bits);
	if (is->demand < bits)
		is->demand = (uint8_t)bits;
	if (is->uses < UINT16_MAX)
		is->uses++;
}

/* Of its operands, by a node of which `demand` bits are wanted. */
static unsigned int operand_demand(struct sonde_graph *graph,
				   const struct sonde_graph_node *node)
{
	const struct sonde_graph_node *a = &graph->nodes[node->a];
	uint64_t count;

	switch ((int)node->op) {
	case SONDE_GRAPH_ADD:
	case SONDE_GRAPH_SUBTRACT:
	case SONDE_GRAPH_MULTIPLY:
	case SONDE_GRAPH_AND:
	case SONDE_GRAPH_OR:
	case SONDE_GRAPH_XOR:
	case SONDE_GRAPH_NEGATE:
	case SONDE_GRAPH_COMPLEMENT:
		return node->demand;
	case SONDE_GRAPH_SHIFT_LEFT:
		return sonde_graph_is_number(graph, node->b, &count) ?
			       node->demand :
			       ALL;
	case SONDE_GRAPH_SHIFT_RIGHT_U:
		return sonde_graph_is_number(graph, node->b, &count) &&
				       count < 32 && a->zbits <= 32 ?
			       32 :
			       ALL;
	case SONDE_GRAPH_SHIFT_RIGHT_S:
		return sonde_graph_is_number(graph, node->b, &count) &&
				       count < 32 && a->sbits <= 32 &&
				       node->demand <= 32 ?
			       32 :
			       ALL;
	case SONDE_GRAPH_EXTEND_S:
	case SONDE_GRAPH_EXTEND_Z:
		return node->demand < node->bits ? node->demand : node->bits;
	case SONDE_GRAPH_SWAP:
		return node->bits;
	default:
		return ALL;
	}
}

static void want_operands(struct sonde_graph *graph, uint16_t i)
{
	struct sonde_graph_node *node = &graph->nodes[i];
	unsigned int bits;

	if (node->op == SONDE_GRAPH_EQUAL || node->op == SONDE_GRAPH_LESS_S ||
	    node->op == SONDE_GRAPH_LESS_U) {
		bool negates = false;
		struct sonde_graph_comparison comparison =
			sonde_graph_compare(graph, i, &negates);
		want(graph, comparison.a, comparison.width);
		want(graph, comparison.b, comparison.width);
		return;
	}
	if (node->a == SONDE_GRAPH_NO_NODE)
		return;
	bits = operand_demand(graph, node);
	want(graph, node->a, bits);
	want(graph, node->b, bits);
}

void sonde_graph_demand(struct sonde_graph *graph)
{
	size_t nr;

	/* sonde_graph_compare() may need one */
	(void)sonde_graph_number(graph, 0);
	nr = graph->nr_nodes;
	for (size_t i = 0; i < graph->nr_ordered; i++) {
		const struct sonde_graph_block *block =
			&graph->blocks[graph->order[i]];
		if (block->decides) {
			want(graph, block->comparison.a,
			     block->comparison.width);
			want(graph, block->comparison.b,
			     block->comparison.width);
		}
		for (uint16_t k = 0; k < block->nr_reads; k++) {
			struct sonde_graph_node *node =
				&graph->nodes[graph->reads[block->reads + k]];
			if (node->demand == 0)
				node->demand = 8;
		}
	}
	for (size_t i = nr; i-- > 0;) {
		if (graph->nodes[i].demand)
			want_operands(graph, (uint16_t)i);
	}
}
