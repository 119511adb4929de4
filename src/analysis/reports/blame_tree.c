/* SPDX-License-Identifier: MIT */
/*
 * blame_tree.c - trees grow by tasks: a node, and the thread and stretch of
 * time whose pieces are to be its children. Each piece that a thread's waking
 * ended is another task.
 */
#include "analysis/reports/blame_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define TASKS_MAX ((size_t)1 << 20)

/* ---- nodes ---- */

static bool same_path(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* As they are shown, not as they are: see sonde_cause_place_key(). */
static bool same_cause(const struct sonde_cause *a, const struct sonde_cause *b)
{
	if (a->kind != b->kind || a->lock != b->lock ||
	    !same_path(a->path, b->path))
		return false;
	if (a->kind == SONDE_CAUSE_FAULT)
		return true;
	return a->call == b->call && a->address == b->address &&
	       (a->path || a->fd == b->fd);
}

static bool same_waker(const struct sonde_waker *a, const struct sonde_waker *b)
{
	if (a->kind != b->kind || a->number != b->number ||
	    a->is_by_key != b->is_by_key)
		return false;
	return (a->kind != SONDE_WAKER_THREAD && a->kind != SONDE_WAKER_MAYBE &&
		a->kind != SONDE_WAKER_SENDER &&
		a->kind != SONDE_WAKER_UNORDERED) ||
	       a->tid == b->tid;
}

static bool same_node(const struct sonde_blame_node *a,
		      const struct sonde_blame_node *b)
{
	return a->kind == b->kind && a->state == b->state && a->tid == b->tid &&
	       a->has_cause == b->has_cause &&
	       (!a->has_cause || same_cause(&a->cause, &b->cause)) &&
	       same_waker(&a->waker, &b->waker);
}

/* A new node; _NONE without memory. */
static uint32_t append(struct sonde_blame_tree *tree,
		       const struct sonde_blame_node *node)
{
	if (SONDE_GROW(tree->nodes, tree->nr_nodes, tree->capacity)) {
		tree->failed = true;
		return SONDE_BLAME_NONE;
	}
	tree->nodes[tree->nr_nodes] = *node;
	return (uint32_t)tree->nr_nodes++;
}

/* The child of `parent` that is like `like`, or the one for all others; _NONE:
 * there is none yet. */
static uint32_t find_child(const struct sonde_blame_tree *tree, uint32_t parent,
			   const struct sonde_blame_node *like)
{
	uint32_t i;

	for (i = tree->nodes[parent].child; i != SONDE_BLAME_NONE;
	     i = tree->nodes[i].next)
		if (tree->nodes[i].kind == SONDE_BLAME_OTHERS ||
		    same_node(&tree->nodes[i], like))
			break;
	return i;
}

/* A child that is like `like`, or if there are too many, one for all others:
 * that is the last to be looked at. */
static uint32_t add_child(struct sonde_blame_tree *tree, uint32_t parent,
			  const struct sonde_blame_node *like)
{
	struct sonde_blame_node new = *like;
	uint32_t *at;
	uint32_t i;

	if (tree->nodes[parent].nr_children == SONDE_BLAME_CHILDREN - 1)
		new = (struct sonde_blame_node){
			.kind = SONDE_BLAME_OTHERS,
			.tid = like->tid,
		};
	new.parent = parent;
	new.child = new.next = SONDE_BLAME_NONE;
	i = append(tree, &new);
	if (i == SONDE_BLAME_NONE)
		return i;
	tree->nodes[parent].nr_children++;
	at = &tree->nodes[parent].child;
	while (new.kind == SONDE_BLAME_OTHERS &&*at != SONDE_BLAME_NONE)
		at = &tree->nodes[*at].next;
	tree->nodes[i].next = *at;
	*at = i;
	return i;
}

/* The child that is like `like` gets so much longer. */
static uint32_t put(struct sonde_blame_tree *tree, uint32_t parent,
		    const struct sonde_blame_node *like, int64_t ns)
{
	uint32_t i = find_child(tree, parent, like);
	struct sonde_blame_node *node;

	if (i == SONDE_BLAME_NONE)
		i = add_child(tree, parent, like);
	if (i == SONDE_BLAME_NONE)
		return i;
	node = &tree->nodes[i];
	node->ns += ns;
	node->count++;
	/* Faults in several places have no place. */
	if (node->cause.address != like->cause.address)
		node->cause.address = 0;
	return i;
}

/* ---- growing ---- */

static void tree_add_task(struct sonde_blame_tree *tree,
			  const struct sonde_blame_task *task)
{
	if (task->depth > SONDE_BLAME_DEPTH ||
	    tree->nr_pieces > SONDE_BLAME_PIECES ||
	    tree->nr_tasks == TASKS_MAX) {
		tree->cut = true;
		return;
	}
	if (SONDE_GROW(tree->tasks, tree->nr_tasks, tree->tasks_capacity)) {
		tree->failed = true;
		return;
	}
	tree->tasks[tree->nr_tasks++] = *task;
}

struct growing {
	struct sonde_blame_tree *tree;
	struct sonde_blame_task task;
};

/* Below a wait for bytes: what was the network's. Returns when that began. */
static int64_t put_network(struct growing *growing,
			   const struct sonde_history_piece *piece,
			   uint32_t state)
{
	const struct sonde_blame_node like = {
		.kind = SONDE_BLAME_ACTIVITY,
		.state = SONDE_STATE_NETWORK,
		.tid = growing->task.tid,
	};
	int64_t sent_ns = piece->waker->sent_ns;

	if (sent_ns < piece->begin_ns)
		sent_ns = piece->begin_ns;
	if (sent_ns < piece->end_ns)
		(void)put(growing->tree, state, &like, piece->end_ns - sent_ns);
	return sent_ns < piece->end_ns ? sent_ns : piece->end_ns;
}

/* What a thread did until it ended this wait will be below the state. */
static void follow(struct growing *growing,
		   const struct sonde_history_piece *piece, uint32_t state)
{
	const struct sonde_blame_task *task = &growing->task;
	const struct sonde_waker *waker = piece->waker;
	int64_t end_ns = piece->end_ns;

	if (!waker || waker->tid <= 0 || waker->tid == task->tid)
		return;
	if (waker->kind == SONDE_WAKER_SENDER)
		end_ns = put_network(growing, piece, state);
	else if (waker->kind != SONDE_WAKER_THREAD)
		return;
	if (end_ns <= piece->begin_ns)
		return;
	tree_add_task(growing->tree, &(struct sonde_blame_task){
					     .node = state,
					     .depth = task->depth + 1,
					     .tid = waker->tid,
					     .begin_ns = piece->begin_ns,
					     .end_ns = end_ns,
				     });
}

static void note_longest(struct sonde_blame_node *node,
			 const struct sonde_history_piece *piece)
{
	int64_t ns = piece->end_ns - piece->begin_ns;

	if (piece->blocked && ns > node->longest_ns) {
		node->longest = piece->blocked;
		node->longest_ns = ns;
	}
}

static void tree_add_piece(void *ctx, const struct sonde_history_piece *piece)
{
	struct growing *growing = ctx;
	struct sonde_blame_tree *tree = growing->tree;
	const struct sonde_blame_task *task = &growing->task;
	int64_t ns = piece->end_ns - piece->begin_ns;
	struct sonde_blame_node like = {
		.kind = SONDE_BLAME_ACTIVITY,
		.state = piece->kind == SONDE_STATE_UNKNOWN ?
				 SONDE_STATE_UNKNOWN :
				 SONDE_STATE_RUN,
		.tid = task->tid,
	};
	uint32_t activity;
	uint32_t state;

	tree->nr_pieces++;
	if (piece->cause) {
		like.has_cause = true;
		like.cause = *piece->cause;
	}
	activity = put(tree, task->node, &like, ns);
	if (activity == SONDE_BLAME_NONE ||
	    tree->nodes[activity].kind == SONDE_BLAME_OTHERS)
		return;
	like = (struct sonde_blame_node){
		.kind = SONDE_BLAME_STATE,
		.state = (uint8_t)piece->kind,
		.tid = task->tid,
	};
	if (piece->waker)
		like.waker = *piece->waker;
	state = put(tree, activity, &like, ns);
	if (state == SONDE_BLAME_NONE ||
	    tree->nodes[state].kind == SONDE_BLAME_OTHERS)
		return;
	note_longest(&tree->nodes[state], piece);
	follow(growing, piece, state);
}

/* ---- order ---- */

/* What is longer comes first; else what was found first, which is in the order
 * of nodes. */
static bool comes_before(const struct sonde_blame_tree *tree, uint32_t a,
			 uint32_t b)
{
	if (tree->nodes[a].ns != tree->nodes[b].ns)
		return tree->nodes[a].ns > tree->nodes[b].ns;
	return a < b;
}

/* There are few children: inserted one by one. */
static void sort_children(struct sonde_blame_tree *tree, size_t parent)
{
	uint32_t left = tree->nodes[parent].child;
	uint32_t sorted = SONDE_BLAME_NONE;

	while (left != SONDE_BLAME_NONE) {
		uint32_t node = left;
		uint32_t *at = &sorted;

		left = tree->nodes[node].next;
		while (*at != SONDE_BLAME_NONE && comes_before(tree, *at, node))
			at = &tree->nodes[*at].next;
		tree->nodes[node].next = *at;
		*at = node;
	}
	tree->nodes[parent].child = sorted;
}

/* ---- trees ---- */

int sonde_blame_tree_init(struct sonde_blame_tree *tree,
			  const struct sonde_history *history, int32_t tid,
			  int64_t begin_ns, int64_t end_ns)
{
	struct growing growing = { .tree = tree };

	*tree = (struct sonde_blame_tree){ 0 };
	(void)append(tree, &(struct sonde_blame_node){
				   .kind = SONDE_BLAME_ROOT,
				   .parent = SONDE_BLAME_NONE,
				   .child = SONDE_BLAME_NONE,
				   .next = SONDE_BLAME_NONE,
				   .tid = tid,
				   .ns = end_ns - begin_ns,
				   .count = 1,
			   });
	if (!tree->failed)
		tree_add_task(tree, &(struct sonde_blame_task){
					    .tid = tid,
					    .begin_ns = begin_ns,
					    .end_ns = end_ns,
				    });
	while (tree->nr_tasks && !tree->failed) {
		growing.task = tree->tasks[--tree->nr_tasks];
		sonde_history_pieces(history, growing.task.tid,
				     growing.task.begin_ns, growing.task.end_ns,
				     tree_add_piece, &growing);
	}
	for (size_t i = 0; i < tree->nr_nodes; i++)
		sort_children(tree, i);
	return tree->failed ? -ENOMEM : 0;
}

void sonde_blame_tree_fini(struct sonde_blame_tree *tree)
{
	free(tree->nodes);
	free(tree->tasks);
}

const struct sonde_blame_node *
sonde_blame_child(const struct sonde_blame_tree *tree,
		  const struct sonde_blame_node *node)
{
	return node->child == SONDE_BLAME_NONE ? NULL :
						 &tree->nodes[node->child];
}
