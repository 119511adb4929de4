/* SPDX-License-Identifier: MIT */
/*
 * flame_sides.c - a flame tree, or two of them side by side, as JSON for who draws
 * it anew when it is zoomed.
 *
 *	{"unit":"ns","hidden":0,"sides":[{"total":9,"notes":[]}],
 *	 "nodes":[[0,"all",9,0,0],[1,"main",9,9,1]]}
 *
 * A node is its depth, its name, and for each side its total, its own weight and how
 * often it began; parents come before their children, children by name. Of two sides
 * all nodes of either are there, with zeros where one has none of that path.
 *
 * Both trees are walked at once, each in its order, parents first. At each step the
 * deeper of the two nodes is next: it is below what was told last, which the other
 * side's walk has left or never had. Of the same depth they have the same parent, and
 * the names decide; equal ones are one node.
 *
 * What neither side has a share of that is worth drawing is left out and counted, so
 * that no more than MOST nodes are told: the least share is doubled until that is so.
 */
#include "view/export/flame.h"

#include <string.h>

#define MOST  20000
#define LEAST 1e-6 /* of all, of a node that is told */
#define NONE  UINT32_MAX

/* Where the walk of each side is; NONE: at its end, or there is no such side. */
struct both {
	const struct sonde_flame *const *flames;
	uint32_t at[2];
};

static struct both both_begin(const struct sonde_flame *const *flames,
			      size_t nr)
{
	return (struct both){ flames, { 0, nr > 1 ? 0 : NONE } };
}

/* Below 0: A's node is next; above 0: B's; 0: they are one. */
static int both_order(const struct both *both)
{
	const struct sonde_flame *const *flames = both->flames;
	uint32_t a = both->at[0];
	uint32_t b = both->at[1];
	uint32_t depth_a;
	uint32_t depth_b;

	if (a == NONE || b == NONE)
		return a == NONE ? 1 : -1;
	depth_a = flames[0]->nodes[a].depth;
	depth_b = flames[1]->nodes[b].depth;
	if (depth_a != depth_b)
		return depth_a > depth_b ? -1 : 1;
	return strcmp(sonde_flame_name(flames[0], a),
		      sonde_flame_name(flames[1], b));
}

/* The next node's number in each side, or NONE; false at the end. */
static bool both_next(struct both *both, uint32_t ret_nodes[2])
{
	int order;

	ret_nodes[0] = ret_nodes[1] = NONE;
	if (both->at[0] == NONE && both->at[1] == NONE)
		return false;
	order = both_order(both);
	for (size_t i = 0; i < 2; i++) {
		uint32_t next;

		if (i ? order < 0 : order > 0)
			continue;
		ret_nodes[i] = both->at[i];
		next = sonde_flame_next(both->flames[i], both->at[i]);
		both->at[i] = next ? next : NONE;
	}
	return true;
}

/* The greater of a node's shares of all. A child's is never above its parent's. */
static double share_of(const struct both *both, const uint32_t nodes[2])
{
	double most = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct sonde_flame_node *all;
		double share;

		if (nodes[i] == NONE)
			continue;
		all = both->flames[i]->nodes;
		share = !nodes[i] ? 1 :
				    (double)all[nodes[i]].total /
					    (double)all[0].total;
		most = share > most ? share : most;
	}
	return most;
}

/* How many nodes have at least that share. */
static uint64_t count_from(const struct sonde_flame *const *flames, size_t nr,
			   double least, uint64_t *ret_hidden)
{
	struct both both = both_begin(flames, nr);
	uint32_t nodes[2];
	uint64_t told = 0;
	uint64_t hidden = 0;

	while (both_next(&both, nodes)) {
		if (share_of(&both, nodes) >= least)
			told++;
		else
			hidden++;
	}
	*ret_hidden = hidden;
	return told;
}

static void sides_put_node(struct sonde_json *json, const struct both *both,
			   size_t nr, const uint32_t nodes[2])
{
	static const struct sonde_flame_node none;
	size_t has = nodes[0] != NONE ? 0 : 1;

	sonde_json_open(json, NULL, '[');
	sonde_json_put_unsigned(json, NULL,
				both->flames[has]->nodes[nodes[has]].depth);
	sonde_json_put_text(json, NULL,
			    sonde_flame_name(both->flames[has], nodes[has]));
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_flame_node *node =
			nodes[i] == NONE ? &none :
					   &both->flames[i]->nodes[nodes[i]];

		sonde_json_put_unsigned(json, NULL, node->total);
		sonde_json_put_unsigned(json, NULL, node->self);
		sonde_json_put_unsigned(json, NULL, node->count);
	}
	sonde_json_close(json, ']');
}

static void put_side(struct sonde_json *json, const struct sonde_flame *flame)
{
	char note[256];

	sonde_json_open(json, NULL, '{');
	sonde_json_put_unsigned(json, "total", flame->nodes[0].total);
	sonde_json_open(json, "notes", '[');
	for (size_t i = 0; sonde_flame_note(flame, i, note, sizeof(note)); i++)
		sonde_json_put_text(json, NULL, note);
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

void sonde_flame_write_sides(const struct sonde_flame *const *flames, size_t nr,
			     struct sonde_json *json)
{
	struct both both = both_begin(flames, nr);
	double least = LEAST;
	uint64_t hidden;
	uint32_t nodes[2];

	while (count_from(flames, nr, least, &hidden) > MOST)
		least *= 2;
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "unit",
			    flames[0]->unit == SONDE_CELL_DURATION ? "ns" :
			    flames[0]->unit == SONDE_CELL_BYTES    ? "bytes" :
								     "count");
	sonde_json_put_unsigned(json, "hidden", hidden);
	sonde_json_open(json, "sides", '[');
	for (size_t i = 0; i < nr; i++)
		put_side(json, flames[i]);
	sonde_json_close(json, ']');
	sonde_json_open(json, "nodes", '[');
	while (both_next(&both, nodes))
		if (share_of(&both, nodes) >= least)
			sides_put_node(json, &both, nr, nodes);
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}
