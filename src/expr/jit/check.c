/* SPDX-License-Identifier: MIT */
/*
 * check.c - whether a finished graph is as graph.h says, for tests:
 *
 *  1. A node's operands come before it, and it is there once: it is found by
 *     its hash, and no other one of that hash is the same.
 *  2. What is known and wanted of a node are widths: at most 64 bits known; 0,
 *     8, 16, 32 or 64 wanted.
 *  3. A block does reads that there are, of memory or of the program's value.
 *  4. Control goes forward only: to an end, or to a block that is later in
 *     `order`. A block that doesn't decide has one way, and one that does compares two nodes in
 *     a width that can be had.
 *  5. nr_from says from how many ways each is come to; in `order` are the blocks
 *     that are come to, the ends excepted.
 */
#include <stdlib.h>
#include <string.h>

#include "expr/jit/graph.h"

static bool is_jit_width(unsigned int bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool is_before(uint16_t operand, size_t node)
{
	return operand == SONDE_GRAPH_NO_NODE || operand < node;
}

static const char *check_node(const struct sonde_graph_node *node, size_t i)
{
	if (node->op <= SONDE_GRAPH_NONE || node->op > SONDE_GRAPH_LESS_U)
		return "1: there is no such operation";
	if (!is_before(node->a, i) || !is_before(node->b, i) ||
	    !is_before(node->next, i))
		return "1: a node comes before its operands";
	if (node->sbits > 64 || node->zbits > 64)
		return "2: more is known of a node than it has";
	if (node->demand && !is_jit_width(node->demand))
		return "2: something is wanted that is no width";
	return NULL;
}

static const char *check_chain(const struct sonde_graph *graph, uint16_t i,
			       size_t *nr_found)
{
	const struct sonde_graph_node *nodes = graph->nodes;

	for (; i != SONDE_GRAPH_NO_NODE; i = nodes[i].next) {
		if (i >= graph->nr_nodes)
			return "1: a hash leads to no node";
		++*nr_found;
		for (uint16_t k = nodes[i].next; k != SONDE_GRAPH_NO_NODE;
		     k = nodes[k].next)
			if (nodes[k].op == nodes[i].op &&
			    nodes[k].a == nodes[i].a &&
			    nodes[k].b == nodes[i].b &&
			    nodes[k].bits == nodes[i].bits &&
			    nodes[k].number == nodes[i].number)
				return "1: a node is there twice";
	}
	return NULL;
}

static const char *check_nodes(const struct sonde_graph *graph)
{
	const char *wrong = NULL;
	size_t nr_found = 0;

	for (size_t i = 0; !wrong && i < graph->nr_nodes; i++)
		wrong = check_node(&graph->nodes[i], i);
	for (size_t i = 0; !wrong && i < SONDE_GRAPH_HASHES; i++)
		wrong = check_chain(graph, graph->hashes[i], &nr_found);
	if (!wrong && nr_found != graph->nr_nodes)
		wrong = "1: a node isn't found by its hash";
	return wrong;
}

static const char *check_reads(const struct sonde_graph *graph,
			       const struct sonde_graph_block *block)
{
	if (block->nr_reads &&
	    block->reads + (size_t)block->nr_reads > graph->nr_reads)
		return "3: a block does what there isn't";
	for (size_t i = 0; i < block->nr_reads; i++) {
		uint16_t read = graph->reads[block->reads + i];

		if (read >= graph->nr_nodes ||
		    (graph->nodes[read].op != SONDE_GRAPH_READ &&
		     graph->nodes[read].op != SONDE_GRAPH_KEEP))
			return "3: a block does what a node alone can";
	}
	return NULL;
}

/* The i-th in order, of which `places` has the places from 1 on. */
static const char *check_ways(const struct sonde_graph *graph, size_t i,
			      const uint16_t *places)
{
	const struct sonde_graph_block *block = &graph->blocks[graph->order[i]];
	const struct sonde_graph_comparison *is = &block->comparison;

	for (unsigned int k = 0; k < 2; k++)
		if (block->to[k] >= graph->nr_blocks ||
		    (block->to[k] >= SONDE_GRAPH_ENDS &&
		     places[block->to[k]] <= i + 1))
			return "4: control goes back";
	if (!block->decides)
		return block->to[0] == block->to[1] ?
			       NULL :
			       "4: two ways, and nothing is decided";
	if (is->relation > SONDE_GRAPH_IS_AT_MOST_U ||
	    is->a >= graph->nr_nodes || is->b >= graph->nr_nodes ||
	    !is_jit_width(is->width) || is->width < graph->config->narrowest)
		return "4: a decision that can't be made";
	return NULL;
}

static const char *check_counts(const struct sonde_graph *graph,
				uint16_t *nr_from)
{
	nr_from[graph->begin]++;
	for (size_t i = 0; i < graph->nr_ordered; i++) {
		const struct sonde_graph_block *block =
			&graph->blocks[graph->order[i]];

		nr_from[block->to[0]]++;
		nr_from[block->to[1]] += block->decides;
		if (!nr_from[graph->order[i]])
			return "5: nothing leads to a block";
	}
	for (size_t i = 0; graph->nr_ordered && i < graph->nr_blocks; i++)
		if (nr_from[i] != graph->blocks[i].nr_from)
			return "5: ways are counted wrong";
	return NULL;
}

static const char *check_blocks(const struct sonde_graph *graph,
				uint16_t *counts)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < graph->nr_ordered; i++) {
		if (graph->order[i] >= graph->nr_blocks)
			return "5: there is no such block";
		counts[graph->order[i]] = (uint16_t)(i + 1);
	}
	for (size_t i = 0; !wrong && i < graph->nr_ordered; i++) {
		wrong = check_reads(graph, &graph->blocks[graph->order[i]]);
		if (!wrong)
			wrong = check_ways(graph, i, counts);
	}
	if (wrong)
		return wrong;
	memset(counts, 0, graph->nr_blocks * sizeof(*counts));
	return check_counts(graph, counts);
}

const char *sonde_graph_check(const struct sonde_graph *graph)
{
	uint16_t *counts = calloc(graph->nr_blocks, sizeof(*counts));
	const char *wrong = sonde_pool_check(&graph->pool);

	if (!wrong)
		wrong = check_nodes(graph);
	if (!wrong && counts)
		wrong = check_blocks(graph, counts);
	free(counts);
	return wrong;
}
