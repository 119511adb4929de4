/* SPDX-License-Identifier: MIT */
/*
 * malloc_stacks.c - allocations by call stack, as a tree (malloc_stacks.h).
 *
 * The tree's roots are the innermost frames, where memory was asked for; a node's
 * children are its callers. A node has the sums of all stacks that go through
 * it, so those of its children add up to its own. A node is found by its frame
 * and its parent in a hash table: a frame costs one look. Frames of Sonde's own
 * hooks, before the call, are left out.
 */
#include "analysis/reports/malloc_stacks.h"

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

struct sums {
	uint64_t peak, live_bytes, live_blocks, calls, bytes;
};

struct node {
	uint32_t parent, depth;
	struct sonde_names_place place;
	struct sums sums;
	enum sonde_names_end end; /* of a stack's last frame */
};

/* The place of a frame below its parent in `nodes`. */
struct place {
	struct sonde_key key;
	uint32_t node;
};

struct tree {
	const struct sonde_analysis_args *args;
	const struct sonde_heap *heap;
	struct sonde_hash places;
	size_t nr, capacity;
	struct node *nodes;
	uint32_t *order; /* by parent, and the greatest first */
	size_t rows, nr_shown;
	struct sonde_table *table;
};

/* ---- its making ---- */

static int tree_find(struct tree *tree, uint32_t parent,
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
		if (!place || SONDE_GROW(tree->nodes, tree->nr, tree->capacity))
			return -ENOMEM;
		place->node = (uint32_t)tree->nr;
		tree->nodes[tree->nr++] = (struct node){
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

static void tree_add_sums(struct node *node, const struct sums *sums,
			  const struct sonde_names_place *at)
{
	node->sums.peak += sums->peak;
	node->sums.live_bytes += sums->live_bytes;
	node->sums.live_blocks += sums->live_blocks;
	node->sums.calls += sums->calls;
	node->sums.bytes += sums->bytes;
	if (at->from_ns < node->place.from_ns)
		node->place.from_ns = at->from_ns;
	if (at->to_ns > node->place.to_ns)
		node->place.to_ns = at->to_ns;
}

/* Where the stack has the call itself; `nr` if it ends before, as it may in a
 * process's first milliseconds. */
static uint32_t first_frame(const struct sonde_names_stack *stack,
			    uint64_t caller)
{
	for (uint32_t i = 0; i < stack->nr; i++)
		if ((stack->frames[i] & ~SONDE_NAMES_EXACT) == caller)
			return i;
	return stack->end == SONDE_NAMES_UNKNOWN ||
			       stack->end == SONDE_NAMES_OTHER ?
		       stack->nr :
		       0;
}

static int tree_add_frames(struct tree *tree,
			   const struct sonde_heap_site *site,
			   const struct sonde_names_stack *stack,
			   uint32_t first)
{
	const struct sums sums = {
		.peak = sonde_heap_site_peak(tree->heap, site),
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.calls = site->calls.calls,
		.bytes = site->calls.bytes,
	};
	uint32_t parent = NO_NODE;
	int err = 0;

	for (uint32_t i = first; !err && i < stack->nr; i++) {
		const struct sonde_names_place at = {
			.image = site->at.image,
			.address = stack->frames[i] & ~SONDE_NAMES_EXACT,
			.from_ns = site->at.first_ns,
			.to_ns = site->at.last_ns,
			.is_return = !(stack->frames[i] & SONDE_NAMES_EXACT),
		};

		err = tree_find(tree, parent, &at, &parent);
		if (err)
			break;
		tree_add_sums(&tree->nodes[parent], &sums, &at);
		if (i + 1 == stack->nr)
			tree->nodes[parent].end = stack->end;
	}
	return err;
}

/* One without a stack, or with one that ends before, has its caller, at least. */
static int tree_add_site(struct tree *tree, const struct sonde_heap_site *site)
{
	const struct sonde_names_stack *known = sonde_names_stack_number(
		tree->args->names, site->at.image, site->stack);
	const struct sonde_names_stack alone = {
		.nr = 1,
		.end = SONDE_NAMES_UNKNOWN,
		.frames = &site->at.caller,
	};

	uint32_t first = known ? first_frame(known, site->at.caller) : 0;

	if (!known || first == known->nr)
		return tree_add_frames(tree, site, &alone, 0);
	return tree_add_frames(tree, site, known, first);
}

/* ---- its order ---- */

static int tree_compare(const void *a, const void *b, void *ctx)
{
	const struct tree *tree = ctx;
	uint32_t i = *(const uint32_t *)a;
	uint32_t k = *(const uint32_t *)b;
	const struct node *x = &tree->nodes[i];
	const struct node *y = &tree->nodes[k];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->sums.peak != y->sums.peak)
		return x->sums.peak < y->sums.peak ? 1 : -1;
	if (x->sums.bytes != y->sums.bytes)
		return x->sums.bytes < y->sums.bytes ? 1 : -1;
	return (i > k) - (i < k);
}

static int tree_sort(struct tree *tree)
{
	tree->order = calloc(tree->nr + 1, sizeof(*tree->order));
	if (!tree->order)
		return -ENOMEM;
	for (size_t i = 0; i < tree->nr; i++)
		tree->order[i] = (uint32_t)i;
	qsort_r(tree->order, tree->nr, sizeof(*tree->order), tree_compare,
		tree);
	return 0;
}

/* Where in the order the children of a node begin. */
static size_t children_of(const struct tree *tree, uint32_t node)
{
	size_t from = 0;
	size_t to = tree->nr;

	while (from < to) {
		size_t i = (from + to) / 2;

		if (tree->nodes[tree->order[i]].parent < node)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

static bool is_child(const struct tree *tree, size_t i, uint32_t parent)
{
	return i < tree->nr && tree->nodes[tree->order[i]].parent == parent;
}

/* ---- rows ---- */

static void tree_put_code(struct tree *tree, const struct node *node,
			  uint32_t indent)
{
	const struct sonde_name *name =
		sonde_names_code(tree->args->names, &node->place);
	char text[2048];

	if (indent > INDENT_MAX)
		indent = INDENT_MAX;
	(void)snprintf(text, sizeof(text), "%*s%s%s", (int)(2 * indent), "",
		       name ? name->text : "unknown (no memory left)",
		       node->end == SONDE_NAMES_DEEPER ? " ..." : "");
	sonde_table_text(tree->table, 7, text);
}

static void put_node(struct tree *tree, const struct node *node,
		     uint32_t indent)
{
	struct sonde_table *table = tree->table;
	double all = (double)tree->heap->peak_bytes;

	sonde_table_row(table);
	sonde_table_int(table, 0, (int64_t)node->sums.peak);
	sonde_table_double(table, 1,
			   all > 0 ? (double)node->sums.peak / all : 0.0);
	sonde_table_int(table, 2, (int64_t)node->sums.live_bytes);
	sonde_table_uint(table, 3, node->sums.live_blocks);
	sonde_table_uint(table, 4, node->sums.calls);
	sonde_table_int(table, 5, (int64_t)node->sums.bytes);
	tree_put_code(tree, node, indent);
	sonde_table_uint(table, 6, node->depth);
	tree->nr_shown++;
}

/* The callers of a node, those of the first one before the second; further to
 * the right where there are several. NOLINTNEXTLINE(misc-no-recursion): as deep
 * as a stack */
static void put_children(struct tree *tree, uint32_t parent, uint32_t indent)
{
	size_t first = children_of(tree, parent);

	if (parent != NO_NODE && is_child(tree, first + 1, parent))
		indent++;
	for (size_t i = first; is_child(tree, i, parent); i++) {
		uint32_t child = tree->order[i];

		if (tree->nr_shown == tree->rows)
			return;
		put_node(tree, &tree->nodes[child], indent);
		put_children(tree, child, indent);
	}
}

static int put_tree(struct tree *tree, struct sonde_report *report)
{
	static const struct sonde_column columns[] = {
		{ "peak", "AT THE PEAK", SONDE_CELL_BYTES },
		{ "peak_share", "SHARE", SONDE_CELL_PERCENT },
		{ "left", "NOT FREED", SONDE_CELL_BYTES },
		{ "left_blocks", "BLOCKS", SONDE_CELL_COUNT },
		{ "allocations", "ALLOCATIONS", SONDE_CELL_COUNT },
		{ "allocated", "BYTES IN ALL", SONDE_CELL_BYTES },
		{ "depth", "DEPTH", SONDE_CELL_COUNT },
		{ "code", "CODE, CALLED BY", SONDE_CELL_TEXT },
	};
	int err = tree_sort(tree);

	if (err)
		return err;
	tree->table = sonde_report_table(report, "stacks",
					 "Who held it, by call stack", columns,
					 SONDE_ARRAY_SIZE(columns));
	put_children(tree, NO_NODE, 0);
	sonde_table_more(tree->table, tree->nr - tree->nr_shown);
	return 0;
}

bool sonde_malloc_by_stack(const struct sonde_analysis_args *args)
{
	return args->by && !strcmp(args->by, "stack");
}

int sonde_malloc_stacks_check(struct sonde_analysis_args *args)
{
	if (!sonde_malloc_by_stack(args) || sonde_names_has_stacks(args->names))
		return 0;
	return sonde_analysis_fail(
		args, -EINVAL, "--by stack: %s",
		args->names ? "the trace has no call stacks; they are "
			      "recorded with --malloc --stack" :
			      "that takes names, and --no-names wants none");
}

int sonde_malloc_stacks(const struct sonde_analysis_args *args,
			const struct sonde_heap *heap, size_t rows,
			struct sonde_report *report)
{
	struct tree tree = { .args = args, .heap = heap, .rows = rows };
	int err = 0;

	sonde_hash_init(&tree.places, sizeof(struct place), NODES_MAX);
	for (size_t i = 0; !err && i < heap->nr_sites; i++)
		err = tree_add_site(&tree, &heap->sites[i]);
	if (!err)
		err = put_tree(&tree, report);
	sonde_hash_fini(&tree.places);
	free(tree.nodes);
	free(tree.order);
	return err;
}
