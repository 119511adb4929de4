/* SPDX-License-Identifier: MIT */
/*
 * stack_tree.c - sums by call stack, as a tree (stack_tree.h).
 *
 * A node is found by its frame and its parent in a hash table: a frame costs one
 * look. Frames of Sonde's own hooks, before the call, are left out (site.h). A
 * table's order is made when it is shown: nodes by parent, the greatest first, so
 * that a node's children lie side by side.
 */
#include "analysis/reports/stack_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "reader/names/names.h"

#define NODES_MAX  ((size_t)1 << 21)
#define INDENT_MAX 24u

/* Of which the roots are children. */
#define NO_NODE UINT32_MAX

struct sonde_analysis_tree_node {
	uint32_t parent, depth;
	struct sonde_names_place place;
	uint64_t sums[SONDE_ANALYSIS_TREE_SUMS];
	enum sonde_names_end end; /* of a stack's last frame */
};

/* The place of a frame below its parent in `nodes`. */
struct place {
	struct sonde_key key;
	uint32_t node;
};

bool sonde_analysis_by_stack(const struct sonde_analysis_args *args)
{
	return args->by && !strcmp(args->by, "stack");
}

int sonde_analysis_by_stack_check(struct sonde_analysis_args *args,
				  const char *how)
{
	if (!sonde_analysis_by_stack(args) ||
	    sonde_names_has_stacks(args->names))
		return 0;
	if (!args->names)
		return sonde_analysis_fail(args, -EINVAL,
					   "--by stack: that takes names, and "
					   "--no-names wants none");
	return sonde_analysis_fail(args, -EINVAL,
				   "--by stack: the trace has no call stacks; "
				   "they are recorded with %s",
				   how);
}

/* ---- its making ---- */

void sonde_analysis_tree_init(struct sonde_analysis_tree *tree,
			      const struct sonde_analysis_args *args,
			      uint32_t maxima)
{
	*tree = (struct sonde_analysis_tree){ .args = args, .maxima = maxima };
	sonde_hash_init(&tree->places, sizeof(struct place), NODES_MAX);
}

void sonde_analysis_tree_fini(struct sonde_analysis_tree *tree)
{
	sonde_hash_fini(&tree->places);
	free(tree->nodes);
}

static int tree_find(struct sonde_analysis_tree *tree, uint32_t parent,
		     const struct sonde_names_place *at, uint32_t *ret_node)
{
	/* Images have stacks of their own, but may share addresses. */
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_HEX,
			       at->address * 2 + at->is_return +
				       at->image * UINT64_C(0x9e3779b97f4a7c15),
			       parent);
	struct place *place = sonde_hash_get(&tree->places, &key);

	if (!place) {
		place = sonde_hash_put(&tree->places, &key);
		if (!place)
			return sonde_hash_error(&tree->places);
		if (SONDE_GROW(tree->nodes, tree->nr, tree->capacity))
			return -ENOMEM;
		place->node = (uint32_t)tree->nr;
		tree->nodes[tree->nr++] = (struct sonde_analysis_tree_node){
			.parent = parent,
			.depth = parent == NO_NODE ?
					 0 :
					 tree->nodes[parent].depth + 1,
			.place = *at,
		};
	}
	*ret_node = place->node;
	return 0;
}

static void tree_add_sums(const struct sonde_analysis_tree *tree,
			  struct sonde_analysis_tree_node *node,
			  const uint64_t *sums,
			  const struct sonde_names_place *at)
{
	for (size_t i = 0; i < SONDE_ANALYSIS_TREE_SUMS; i++)
		if (!(tree->maxima >> i & 1))
			node->sums[i] += sums[i];
		else if (node->sums[i] < sums[i])
			node->sums[i] = sums[i];
	if (at->from_ns < node->place.from_ns)
		node->place.from_ns = at->from_ns;
	if (at->to_ns > node->place.to_ns)
		node->place.to_ns = at->to_ns;
}

int sonde_analysis_tree_add(struct sonde_analysis_tree *tree,
			    const struct sonde_analysis_site *site,
			    const uint64_t sums[SONDE_ANALYSIS_TREE_SUMS])
{
	const struct sonde_names_stack stack =
		sonde_analysis_site_stack(tree->args, site);
	uint32_t parent = NO_NODE;

	for (uint32_t i = 0; i < stack.nr; i++) {
		const struct sonde_names_place at =
			sonde_analysis_site_place(site, stack.frames[i]);
		int err = tree_find(tree, parent, &at, &parent);

		if (err)
			return err;
		tree_add_sums(tree, &tree->nodes[parent], sums, &at);
		if (i + 1 == stack.nr)
			tree->nodes[parent].end = stack.end;
	}
	return 0;
}

/* ---- its order ---- */

/* A table in the making. */
struct showing {
	const struct sonde_analysis_tree *tree;
	const struct sonde_analysis_tree_table *form;
	uint32_t *order; /* by parent, and the greatest first */
	size_t nr_shown;
	struct sonde_table *table;
};

static int tree_compare(const void *a, const void *b, void *ctx)
{
	const struct showing *showing = ctx;
	uint32_t i = *(const uint32_t *)a;
	uint32_t k = *(const uint32_t *)b;
	const struct sonde_analysis_tree_node *x = &showing->tree->nodes[i];
	const struct sonde_analysis_tree_node *y = &showing->tree->nodes[k];
	const uint32_t by = showing->form->by;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->sums[by] != y->sums[by])
		return x->sums[by] < y->sums[by] ? 1 : -1;
	if (x->sums[1] != y->sums[1])
		return x->sums[1] < y->sums[1] ? 1 : -1;
	return (i > k) - (i < k);
}

static int tree_sort(struct showing *showing)
{
	const size_t nr = showing->tree->nr;

	showing->order = calloc(nr + 1, sizeof(*showing->order));
	if (!showing->order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		showing->order[i] = (uint32_t)i;
	qsort_r(showing->order, nr, sizeof(*showing->order), tree_compare,
		showing);
	return 0;
}

static const struct sonde_analysis_tree_node *
tree_node_at(const struct showing *showing, size_t i)
{
	return &showing->tree->nodes[showing->order[i]];
}

/* Where in the order the children of a node begin. */
static size_t children_of(const struct showing *showing, uint32_t node)
{
	size_t from = 0;
	size_t to = showing->tree->nr;

	while (from < to) {
		size_t i = (from + to) / 2;

		if (tree_node_at(showing, i)->parent < node)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

static bool is_child(const struct showing *showing, size_t i, uint32_t parent)
{
	return i < showing->tree->nr &&
	       tree_node_at(showing, i)->parent == parent;
}

static bool tree_is_wanted(const struct showing *showing,
			   const struct sonde_analysis_tree_node *node)
{
	return node->sums[showing->form->needs] != 0;
}

/* ---- rows ---- */

static void tree_put_code(const struct showing *showing,
			  const struct sonde_analysis_tree_node *node,
			  uint32_t indent)
{
	const struct sonde_name *name =
		sonde_names_code(showing->tree->args->names, &node->place);
	char text[2048];

	if (indent > INDENT_MAX)
		indent = INDENT_MAX;
	(void)snprintf(text, sizeof(text), "%*s%s%s", (int)(2 * indent), "",
		       name ? name->text : "unknown (no memory left)",
		       node->end == SONDE_NAMES_DEEPER ? " ..." : "");
	sonde_table_text(showing->table, showing->form->nr_columns - 1, text);
}

static void tree_put_node(struct showing *showing,
			  const struct sonde_analysis_tree_node *node,
			  uint32_t indent)
{
	const struct sonde_analysis_tree_table *form = showing->form;

	sonde_table_row(showing->table);
	form->put(showing->table, node->sums, form->ctx);
	sonde_table_uint(showing->table, form->nr_columns - 2, node->depth);
	tree_put_code(showing, node, indent);
	showing->nr_shown++;
}

static size_t nr_wanted(const struct showing *showing)
{
	size_t nr = 0;

	for (size_t i = 0; i < showing->tree->nr; i++)
		nr += tree_is_wanted(showing, &showing->tree->nodes[i]);
	return nr;
}

static bool has_several(const struct showing *showing, size_t first,
			uint32_t parent)
{
	size_t nr = 0;

	for (size_t i = first; nr < 2 && is_child(showing, i, parent); i++)
		nr += tree_is_wanted(showing, tree_node_at(showing, i));
	return nr > 1;
}

/* The callers of a node, those of the first one before the second; further to
 * the right where there are several.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as a stack */
static void put_children(struct showing *showing, uint32_t parent,
			 uint32_t indent)
{
	size_t first = children_of(showing, parent);

	if (parent != NO_NODE && has_several(showing, first, parent))
		indent++;
	for (size_t i = first; is_child(showing, i, parent); i++) {
		if (showing->nr_shown == showing->form->rows)
			return;
		if (!tree_is_wanted(showing, tree_node_at(showing, i)))
			continue;
		tree_put_node(showing, tree_node_at(showing, i), indent);
		put_children(showing, showing->order[i], indent);
	}
}

void sonde_analysis_tree_put_times(struct sonde_table *table,
				   const uint64_t *sums, void *all_ns)
{
	sonde_table_share(table, 0, sums[0], *(const uint64_t *)all_ns);
	sonde_table_int(table, 1, (int64_t)sums[0]);
	sonde_table_uint(table, 2, sums[1]);
}

int sonde_analysis_tree_put(const struct sonde_analysis_tree *tree,
			    const struct sonde_analysis_tree_table *table,
			    struct sonde_report *report)
{
	struct showing showing = { .tree = tree, .form = table };
	size_t wanted = nr_wanted(&showing);
	int err;

	if (!wanted)
		return 0;
	err = tree_sort(&showing);
	if (err)
		return err;
	showing.table = sonde_report_table(report, table->key, table->title,
					   table->columns, table->nr_columns);
	put_children(&showing, NO_NODE, 0);
	sonde_table_more(showing.table, wanted - showing.nr_shown);
	free(showing.order);
	return 0;
}
