/* SPDX-License-Identifier: MIT */
/*
 * tree.h - what the parser makes of a text.
 *
 * Nodes are numbered in the order they were made, and a node is made after its
 * children: a loop over the numbers meets children first. A node has one
 * parent, but for the name before `in`, which is compared several times.
 *
 * kind                 children
 * VALUE .. DEFINED     none
 * PLUS .. NOT          child[0]
 * MULTIPLY .. UNEQUAL  child[0], child[1]
 * ALL, ANY             a list: child[0], then each one's next
 * CHOICE               child[0] ? child[1] : child[2]
 * DEREFERENCE          *child[0]; ADDRESS: &child[0]
 * CAST                 (name) child[0]: names[name] is the type as written
 * MEMBER, POINTED      child[0].name, child[0]->name
 * ELEMENT              child[0][child[1]]
 *
 * ALL is `&&`, ANY is `||`; `x in (1, 2)` is ANY of two EQUALs.
 */
#ifndef EXPR_TREE_H
#define EXPR_TREE_H

#include "base/pool.h"
#include "expr/date_time.h"
#include "expr/expr.h"

enum sonde_node_kind {
	SONDE_NODE_VALUE,
	SONDE_NODE_MOMENT,
	SONDE_NODE_NAME,
	SONDE_NODE_DEFINED,
	SONDE_NODE_PLUS,
	SONDE_NODE_NEGATE,
	SONDE_NODE_COMPLEMENT,
	SONDE_NODE_NOT,
	SONDE_NODE_MULTIPLY,
	SONDE_NODE_DIVIDE,
	SONDE_NODE_REMAINDER,
	SONDE_NODE_ADD,
	SONDE_NODE_SUBTRACT,
	SONDE_NODE_SHIFT_LEFT,
	SONDE_NODE_SHIFT_RIGHT,
	SONDE_NODE_AND,
	SONDE_NODE_XOR,
	SONDE_NODE_OR,
	SONDE_NODE_LESS,
	SONDE_NODE_LESS_EQUAL,
	SONDE_NODE_GREATER,
	SONDE_NODE_GREATER_EQUAL,
	SONDE_NODE_EQUAL,
	SONDE_NODE_UNEQUAL,
	SONDE_NODE_ALL,
	SONDE_NODE_ANY,
	SONDE_NODE_CHOICE,
	/* of C's expressions only (sonde_expr_parse_c) */
	SONDE_NODE_DEREFERENCE,
	SONDE_NODE_ADDRESS,
	SONDE_NODE_CAST,
	SONDE_NODE_MEMBER,
	SONDE_NODE_POINTED,
	SONDE_NODE_ELEMENT,
};

/* No node: child[] and next of those that have none. */
#define SONDE_NODE_NONE UINT32_MAX
/* What recursion over a tree may rely on: a leaf's height is 1. */
#define SONDE_NODE_HEIGHT 200

/* A string as a pattern for sonde_glob_match_text(); NULL if it has neither
 * '*' nor '?', and so is compared as it is. */
struct sonde_node_literal {
	struct sonde_expr_value value;
	const char *glob;
	uint32_t glob_length;
};

struct sonde_node {
	enum sonde_node_kind kind;
	uint32_t height;
	uint32_t offset; /* of its first character or operator in the text */
	uint32_t child[3];
	uint32_t next;
	union {
		struct sonde_node_literal literal; /* VALUE */
		struct sonde_date_time moment;     /* MOMENT */
		uint32_t name; /* NAME, DEFINED, CAST, ...: index in names */
	};
};

struct sonde_expr_name {
	const char *path;
	uint32_t length;
	uint32_t offset;
	/* `begin`: the trace's begin where no field has that name, so
	 * sonde_expr_name() passes over it */
	bool begin;
};

struct sonde_expr {
	struct sonde_pool pool; /* holds all but this structure */
	const char *text;
	struct sonde_node *nodes;
	size_t nr_nodes, nodes_capacity;
	struct sonde_expr_name *names;
	size_t nr_names, names_capacity;
	uint32_t root;
};

/* What a word in brackets before a value is: a type's name, for a cast. */
struct sonde_expr_types {
	bool (*is_type)(void *ctx, const char *name, size_t length);
	void *ctx;
};

/* C's: names are single words, and there are members, elements, `*`, `&` and
 * casts. Such a tree is for those who have types for it (probe/compile.h). */
int sonde_expr_parse_c(const char *text, const struct sonde_expr_types *types,
		       struct sonde_expr_error *error,
		       struct sonde_expr **ret_expr);

/* Says what is wrong at `offset` of `text`; returns -EINVAL. `error` may be
 * NULL. */
__attribute__((format(printf, 4, 5))) int
sonde_expr_fail(struct sonde_expr_error *error, const char *text, size_t offset,
		const char *format, ...);

/* The column of that byte, from 1, in characters of UTF-8. */
uint32_t sonde_expr_column(const char *text, size_t offset);

#endif /* EXPR_TREE_H */
