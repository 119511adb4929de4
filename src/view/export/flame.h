/* SPDX-License-Identifier: MIT */
/*
 * flame.h - where time went, as a tree of what called what.
 *
 *   flame.c       events -> tree (over spans.h)
 *   flame_stacks.c  recorded call stacks -> tree
 *   flame_text.c  tree -> folded stacks, JSON
 *   flame_sides.c  tree, or two to be compared -> JSON for a page
 *   flame_svg.c   tree -> a picture that needs nothing but itself
 *
 * A node is a name below another node. Time between two changes of a track's
 * stack belongs to what was innermost: its *self* weight. A node's total is its
 * self weight and its children's totals. By count, each begin weighs 1.
 *
 * Nodes are bounded by SONDE_FLAME_NODES; weight that finds no place counts for
 * the caller, and a note says so.
 *
 * Events are read in one pass, in order: a stack that is not known from its
 * beginning can't tell an end whose begin is missing from one of a caller that
 * is only not in sight, so slices of a trace could not be merged truly.
 */
#ifndef VIEW_EXPORT_FLAME_H
#define VIEW_EXPORT_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/report.h"
#include "base/json.h"
#include "reader/map.h"
#include "view/export/spans.h"

#define SONDE_FLAME_NODES (1u << 20)
/* What users are told of -ENODATA, and of a trace without names. */
#define SONDE_FLAME_PAIRLESS "nothing in this trace is known to begin and end"
#define SONDE_FLAME_STACKLESS \
	"the trace has no call stacks; they are recorded with --stack"

struct sonde_flame_node {
	uint32_t parent; /* of the root: itself, 0 */
	uint32_t name;
	uint32_t first_child,
		next_sibling; /* by name, once finished; 0: none */
	uint32_t depth;       /* the root's is 0 */
	uint64_t count;       /* begins */
	uint64_t self, total; /* nanoseconds, or begins */
};

struct sonde_flame_config {
	struct sonde_pairs_config pairs;
	bool count;     /* weigh begins instead of time */
	bool per_track; /* a node for each thread below the root */
};

struct sonde_flame {
	struct sonde_spans spans;
	bool count, per_track;
	enum sonde_cell unit; /* of weights: durations, bytes, counts */
	struct sonde_flame_node *nodes; /* [0] is the root; parents first */
	uint32_t nr, room;
	struct sonde_hash places; /* of nodes, by parent and name */
	uint64_t homeless;        /* begins that found no place for a node */
	uint64_t stackless, valueless; /* events that weigh nothing */
};

/*
 * The tree of a trace's events, as far as the options want them. 0, -ENODATA if
 * nothing in the trace is known to begin anything, -ENOMEM, -EINTR. For
 * sonde_flame_fini(), whatever is returned; the trace may be closed before.
 */
int sonde_flame_make(struct sonde_flame *flame,
		     const struct sonde_flame_config *config,
		     const struct sonde_map_options *options);
void sonde_flame_fini(struct sonde_flame *flame);

/* What makers of trees share: an empty one; the child of that name, made if there
 * is none, or the parent if there is no place for more; totals and order, once all
 * is there. 0 or -ENOMEM. */
int sonde_flame_init(struct sonde_flame *flame,
		     const struct sonde_flame_config *config);
int sonde_flame_child(struct sonde_flame *flame, uint32_t parent, uint32_t name,
		      uint32_t *ret_node);
int sonde_flame_finish(struct sonde_flame *flame);

const char *sonde_flame_name(const struct sonde_flame *flame, uint32_t node);
/* The node after this one, parents before children; 0 after the last. */
uint32_t sonde_flame_next(const struct sonde_flame *flame, uint32_t node);
/* As sonde_spans_note(). */
bool sonde_flame_note(const struct sonde_flame *flame, size_t i, char *to,
		      size_t size);

/* One line for each node with weight of its own: "main;run;read 1250". */
void sonde_flame_write_folded(const struct sonde_flame *flame, FILE *to);
void sonde_flame_write_json(const struct sonde_flame *flame, FILE *to);
void sonde_flame_write_svg(const struct sonde_flame *flame, const char *title,
			   FILE *to);
/* One tree, or two of the same unit (flame_sides.c says how). */
void sonde_flame_write_sides(const struct sonde_flame *const *flames, size_t nr,
			     struct sonde_json *json);

#endif /* VIEW_EXPORT_FLAME_H */
