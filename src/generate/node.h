/* SPDX-License-Identifier: MIT */
/*
 * node.h - an event description file as it is written: elements with attributes
 * in them, and where each of them stands. Both languages are read into this and
 * written from it; what it means is model.h's.
 *
 * All of an attribute's and an element's texts are UTF-8 without a NUL, in the
 * tree's pool. Names are those that node.c lists: a reader refuses others.
 * Hosted.
 */
#ifndef GENERATE_NODE_H
#define GENERATE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/pool.h"

/* A file is no longer than this, and nests no deeper. */
#define SONDE_GENERATE_FILE_MAX (16u << 20)
#define SONDE_GENERATE_DEPTH    16

struct sonde_generate_place {
	const char *file;
	unsigned int line, column; /* from 1; 0: of the whole file */
};

enum sonde_generate_kind {
	SONDE_GENERATE_EVENTS,
	SONDE_GENERATE_INCLUDE,
	SONDE_GENERATE_ENUM,
	SONDE_GENERATE_LABEL,
	SONDE_GENERATE_STRUCT,
	SONDE_GENERATE_VARIANT,
	SONDE_GENERATE_EVENT,
	SONDE_GENERATE_FIELD,
	SONDE_GENERATE_NR_KINDS,
};

#define SONDE_GENERATE_ATTRIBUTES 12

/* What an element is called, may have, and may hold. */
struct sonde_generate_grammar {
	const char *name;
	const char *main; /* the attribute that each of them has */
	const char *attributes[SONDE_GENERATE_ATTRIBUTES]; /* the others */
	const char *inner; /* what YAML calls the elements inside; NULL: none */
	unsigned int holds; /* a bit for each kind */
};

extern const struct sonde_generate_grammar
	sonde_generate_grammars[SONDE_GENERATE_NR_KINDS];

struct sonde_generate_attribute {
	const char *name, *value;
};

struct sonde_generate_node {
	enum sonde_generate_kind kind;
	struct sonde_generate_place place;
	size_t nr_attributes;
	struct sonde_generate_attribute attributes[SONDE_GENERATE_ATTRIBUTES];
	struct sonde_generate_node *first, *last, *next;
};

/* What is wrong, and where. The first one stays. */
struct sonde_generate_error {
	char text[640]; /* "FILE:LINE:COLUMN: what, and the remedy" */
};

/* -EINVAL. */
__attribute__((format(printf, 3, 4))) int
sonde_generate_fail(struct sonde_generate_error *error,
		    struct sonde_generate_place place, const char *format, ...);

/* An element called `name` in `parent` (NULL: the outermost), with no
 * attributes yet; NULL: said. */
struct sonde_generate_node *
sonde_generate_node_new(struct sonde_pool *pool,
			struct sonde_generate_node *parent, const char *name,
			struct sonde_generate_place place,
			struct sonde_generate_error *error);

/* 0, or -EINVAL: said. `name` and `value` are copied. */
int sonde_generate_node_set(struct sonde_pool *pool,
			    struct sonde_generate_node *node, const char *name,
			    const char *value, size_t length,
			    struct sonde_generate_place place,
			    struct sonde_generate_error *error);

/* Its value; NULL: it has none. */
const char *sonde_generate_node_get(const struct sonde_generate_node *node,
				    const char *name);

/* The element is whole: has it what it must have? 0, or -EINVAL: said. */
int sonde_generate_node_end(const struct sonde_generate_node *node,
			    struct sonde_generate_error *error);

/* Reads `size` bytes of the file `name`, which is borrowed. NULL: said. */
struct sonde_generate_node *
sonde_generate_read_xml(struct sonde_pool *pool, const char *name,
			const char *bytes, size_t size,
			struct sonde_generate_error *error);
struct sonde_generate_node *
sonde_generate_read_yaml(struct sonde_pool *pool, const char *name,
			 const char *bytes, size_t size,
			 struct sonde_generate_error *error);

/* The value of attribute `i` in the grammar's order, main first; NULL: it
 * hasn't that. *ret_name is NULL behind the last. */
const char *sonde_generate_node_nth(const struct sonde_generate_node *node,
				    size_t i, const char **ret_name);

/* What either of them reads as the same tree; attributes in the grammar's
 * order. */
void sonde_generate_write_xml(const struct sonde_generate_node *node, FILE *to);
void sonde_generate_write_yaml(const struct sonde_generate_node *node,
			       FILE *to);

#endif /* GENERATE_NODE_H */
