/* SPDX-License-Identifier: MIT */
/*
 * blame_tree.h - where a stretch of a thread's time went, and where the time of
 * those went that it waited for.
 *
 *	the stretch
 *	  worker: futex(): lock `cache_lock`		an activity
 *	    running					a state
 *	    blocked, woken by flusher			a state
 *	      flusher: read() of /var/tmp/data		an activity, meanwhile
 *	        blocked, woken by interrupt 24
 *
 * An *activity* is a thread in a system call (on an object), in a page fault,
 * or in none of these; its *states* say whether it ran then, waited for a CPU,
 * or was blocked. A state of being blocked that a thread ended has as its
 * children the activities of that thread in just that time, and so on. So the
 * children of any node take together as long as the node, exactly. Of a wait for
 * bytes (senders.h) they are those of the thread that sent them, up to then, and the
 * network, from then on.
 *
 * Nodes of the same kind, thread and cause below one parent are one. Wakers
 * are followed down to SONDE_BLAME_DEPTH, and until SONDE_BLAME_PIECES pieces
 * have been looked at: a trace may be made so that there is no end to it. A
 * node has at most SONDE_BLAME_CHILDREN children, the last of which stands for
 * all others.
 */
#ifndef ANALYSIS_REPORTS_BLAME_TREE_H
#define ANALYSIS_REPORTS_BLAME_TREE_H

#include "analysis/reports/blame_history.h"

#define SONDE_BLAME_DEPTH    8
#define SONDE_BLAME_CHILDREN 64
#define SONDE_BLAME_PIECES   ((uint64_t)1 << 23)

enum sonde_blame_kind {
	SONDE_BLAME_ROOT,
	SONDE_BLAME_ACTIVITY,
	SONDE_BLAME_STATE,
	SONDE_BLAME_OTHERS, /* of either, no children */
};

#define SONDE_BLAME_NONE UINT32_MAX

struct sonde_blame_node {
	uint8_t kind;  /* enum sonde_blame_kind */
	uint8_t state; /* enum sonde_state_kind, of a STATE; of an ACTIVITY
			* UNKNOWN, RUN or NETWORK */
	uint16_t nr_children;
	uint32_t parent, child, next; /* nodes; _NONE. Longest first */
	int32_t tid;
	int64_t ns;
	uint64_t count; /* pieces */
	bool has_cause; /* of an ACTIVITY */
	struct sonde_cause cause;
	struct sonde_waker waker; /* of a BLOCKED */
	/* Of a BLOCKED: of its pieces the longest, a part of that wait, which is
	 * borrowed from the history. */
	const struct sonde_history_state *longest;
	int64_t longest_ns;
};

struct sonde_blame_tree {
	struct sonde_blame_node *nodes; /* the first is the root */
	size_t nr_nodes;
	bool cut; /* wakers were not followed to the end */
	/* ---- private ---- */
	size_t capacity;
	struct sonde_blame_task {
		uint32_t node, depth;
		int32_t tid;
		int64_t begin_ns, end_ns;
	} * tasks;
	size_t nr_tasks, tasks_capacity;
	uint64_t nr_pieces;
	bool failed;
};

/* 0 or -ENOMEM; the tree is for _fini(), in any case. */
int sonde_blame_tree_init(struct sonde_blame_tree *tree,
			  const struct sonde_history *history, int32_t tid,
			  int64_t begin_ns, int64_t end_ns);
void sonde_blame_tree_fini(struct sonde_blame_tree *tree);

/* The node's longest child; NULL: none. */
const struct sonde_blame_node *
sonde_blame_child(const struct sonde_blame_tree *tree,
		  const struct sonde_blame_node *node);

#endif /* ANALYSIS_REPORTS_BLAME_TREE_H */
