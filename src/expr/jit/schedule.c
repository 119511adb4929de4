/* SPDX-License-Identifier: MIT */
/*
 * schedule.c - which nodes each block computes (insn.h).
 *
 * What a block needs is found from its end: from what it decides by, and what
 * it must read, back to what that is computed from, as far as no block before
 * has computed it on all ways. Then the instructions are written in the order of
 * the nodes. What instruction a node becomes, the target says.
 *
 * Cost: blocks times nodes; a bit of memory for each such pair.
 */
#include <errno.h>
#include <string.h>

#include "expr/jit/insn.h"

#define NO_NODE SONDE_GRAPH_NO_NODE

const struct sonde_graph_node *
sonde_jit_node(const struct sonde_jit_selector *s, uint16_t node)
{
	return &s->graph->nodes[node];
}

uint16_t sonde_jit_strip(const struct sonde_jit_selector *s, uint16_t node,
			 unsigned int bits, bool *ret_single)
{
	const struct sonde_graph_node *is = sonde_jit_node(s, node);

	*ret_single = true;
	while ((is->op == SONDE_GRAPH_EXTEND_S ||
		is->op == SONDE_GRAPH_EXTEND_Z) &&
	       (is->bits >= bits || is->bits >= is->demand) &&
	       !s->there[node]) {
		*ret_single = *ret_single && is->uses == 1;
		node = is->a;
		is = sonde_jit_node(s, node);
	}
	return node;
}

uint16_t sonde_jit_operand(const struct sonde_jit_selector *s, uint16_t node,
			   unsigned int bits)
{
	bool single;

	return sonde_jit_strip(s, node, bits, &single);
}

/* ---- what a block computes ---- */

static const struct sonde_jit_insn nothing = {
	.dst = NO_NODE,
	.a = NO_NODE,
	.b = NO_NODE,
	.temp = NO_NODE,
	.base = NO_NODE,
	.index = NO_NODE,
};

static void schedule_want(struct sonde_jit_selector *s, uint16_t node)
{
	if (node != NO_NODE && !s->there[node] &&
	    !s->target->is_fixed(s->jit, node))
		s->wanted[node] = true;
}

static void schedule_want_operands(struct sonde_jit_selector *s,
				   const struct sonde_jit_insn *insn)
{
	if (!insn->a_home)
		schedule_want(s, insn->a);
	schedule_want(s, insn->b);
	if (!insn->base_home)
		schedule_want(s, insn->base);
	schedule_want(s, insn->index);
}

static bool is_predicate(const struct sonde_graph_node *node)
{
	return node->op == SONDE_GRAPH_EQUAL ||
	       node->op == SONDE_GRAPH_LESS_S || node->op == SONDE_GRAPH_LESS_U;
}

/* The comparison of a node that is one. */
static void match_truth(struct sonde_jit_selector *s, uint16_t i,
			struct sonde_jit_insn *insn, uint8_t *ret_relation)
{
	bool negates = false;
	struct sonde_graph_comparison comparison =
		sonde_graph_compare(s->graph, i, &negates);

	s->target->compare(s, insn, &comparison);
	*ret_relation = negates ? SONDE_GRAPH_OPPOSITE(comparison.relation) :
				  comparison.relation;
}

static void find_wanted(struct sonde_jit_selector *s, uint16_t i)
{
	const struct sonde_graph_node *node = sonde_jit_node(s, i);
	struct sonde_jit_insn insn = nothing;
	uint8_t relation;

	if (s->read[i] && !s->folded[i] && node->uses)
		schedule_want(s, i);
	if (s->read[i] && !node->uses) {
		s->target->touch(s, i, &insn);
		schedule_want_operands(s, &insn);
	}
	if (!s->wanted[i])
		return;
	if (is_predicate(node))
		match_truth(s, i, &insn, &relation);
	else
		s->target->match(s, i, &insn);
	schedule_want_operands(s, &insn);
}

static void add(struct sonde_jit *jit, const struct sonde_jit_insn *insn)
{
	struct sonde_jit_insn *insns =
		sonde_pool_grow(&jit->graph.pool, jit->insns, jit->nr_insns,
				&jit->insns_room, sizeof(*insns));

	if (!insns) {
		jit->graph.err = -ENOMEM;
		return;
	}
	jit->insns = insns;
	insns[jit->nr_insns++] = *insn;
}

/* Where a block begins or ends. */
static void add_mark(struct sonde_jit *jit, uint8_t code, uint16_t block)
{
	struct sonde_jit_insn insn = nothing;

	insn.code = code;
	insn.target = block;
	add(jit, &insn);
}

static void add_node(struct sonde_jit_selector *s, uint16_t i)
{
	struct sonde_jit_insn insn = nothing;
	uint8_t relation;

	if (s->read[i] && !sonde_jit_node(s, i)->uses) {
		s->target->touch(s, i, &insn);
		add(s->jit, &insn);
		insn = nothing;
	}
	if (!s->wanted[i])
		return;
	if (!is_predicate(sonde_jit_node(s, i))) {
		s->target->match(s, i, &insn);
		add(s->jit, &insn);
		return;
	}
	match_truth(s, i, &insn, &relation);
	add(s->jit, &insn);
	insn = nothing;
	insn.code = SONDE_JIT_TRUTH;
	insn.op = relation;
	insn.dst = i;
	add(s->jit, &insn);
}

/* What is there when the block begins, a bit by node. */
static uint64_t *coming_of(const struct sonde_jit_selector *s, uint16_t block)
{
	return s->coming + block * s->words;
}

static void schedule_block(struct sonde_jit_selector *s, uint16_t at)
{
	const struct sonde_graph_block *block = &s->graph->blocks[at];
	const uint64_t *coming = coming_of(s, at);
	struct sonde_jit_insn decision = nothing;

	for (size_t i = 0; i < s->nr_nodes; i++)
		s->there[i] = coming[i / 64] >> i % 64 & 1;
	memset(s->wanted, 0, s->nr_nodes);
	memset(s->read, 0, s->nr_nodes);
	memset(s->folded, 0, s->nr_nodes);
	for (uint16_t i = 0; i < block->nr_reads; i++) {
		uint16_t node = s->graph->reads[block->reads + i];
		s->read[node] = !s->there[node];
	}
	add_mark(s->jit, SONDE_JIT_BLOCK, at);
	if (block->decides) {
		s->target->compare(s, &decision, &block->comparison);
		schedule_want_operands(s, &decision);
	}
	for (size_t i = s->nr_nodes; i-- > 0;)
		find_wanted(s, (uint16_t)i);
	for (size_t i = 0; i < s->nr_nodes; i++)
		add_node(s, (uint16_t)i);
	if (block->decides)
		add(s->jit, &decision);
	add_mark(s->jit, SONDE_JIT_DECIDE, at);
}

/* What is behind a block is there in `to`, if it is behind all that lead to
 * that. */
static void give_there(struct sonde_jit_selector *s, uint16_t to)
{
	uint64_t *bits = coming_of(s, to);

	for (size_t i = 0; i < s->nr_nodes; i++) {
		if (!s->there[i] && !s->wanted[i])
			bits[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
}

int sonde_jit_schedule(struct sonde_jit *jit,
		       const struct sonde_jit_target *target)
{
	struct sonde_graph *graph = &jit->graph;
	size_t nr = graph->nr_nodes;
	struct sonde_jit_selector s = {
		.jit = jit,
		.graph = graph,
		.target = target,
		.nr_nodes = nr,
		.words = (nr + 63) / 64,
	};
	bool *room = sonde_pool_get(&graph->pool, 4, nr);

	s.coming = sonde_pool_get(&graph->pool, graph->nr_blocks * s.words,
				  sizeof(*s.coming));
	if (!room || !s.coming)
		return -ENOMEM;
	s.there = room;
	s.wanted = s.there + nr;
	s.read = s.wanted + nr;
	s.folded = s.read + nr;
	memset(s.coming, 0xff, graph->nr_blocks * s.words * sizeof(*s.coming));
	if (graph->nr_ordered)
		memset(coming_of(&s, graph->begin), 0,
		       s.words * sizeof(*s.coming));
	jit->nr_values = 2 * nr;
	for (size_t i = 0; i < graph->nr_ordered && !graph->err; i++) {
		uint16_t at = graph->order[i];

		schedule_block(&s, at);
		give_there(&s, graph->blocks[at].to[0]);
		give_there(&s, graph->blocks[at].to[1]);
	}
	return graph->err;
}
