/* SPDX-License-Identifier: MIT */
/*
 * yaml.c - event descriptions in YAML (node.h), read by libyaml's events.
 *
 * An element is a mapping. Its first key is what it is, with the value of the
 * attribute that each of its kind has; then come other attributes, and last the
 * sequence of what is in it:
 *
 *	- enum: state
 *	  type: u8
 *	  labels:
 *	  - label: open
 *	    value: 0
 *
 * The bytes are foreign: libyaml bounds nothing but what it is given; depth is
 * bounded yaml_here, and aliases are refused, so nothing grows.
 */
#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "generate/node.h"
#include "sys/library.h"
#include "sys/needed.h"

/* clang-format off */
#define YAML_FUNCTIONS(of) \
	of(yaml_event_delete) of(yaml_parser_delete) of(yaml_parser_initialize) \
	of(yaml_parser_parse) of(yaml_parser_set_input_string)

static struct { YAML_FUNCTIONS(SONDE_LIBRARY_POINTER) } yaml;
/* clang-format on */

struct yaml_reader {
	struct sonde_pool *pool;
	struct sonde_generate_error *error;
	const char *file;
	yaml_parser_t parser;
	yaml_event_t event;
	bool has_event;
};

static struct sonde_generate_place
place_of_mark(const struct yaml_reader *reader, const yaml_mark_t *mark)
{
	return (struct sonde_generate_place){ reader->file,
					      (unsigned int)mark->line + 1,
					      (unsigned int)mark->column + 1 };
}

static struct sonde_generate_place yaml_here(const struct yaml_reader *reader)
{
	return place_of_mark(reader, &reader->event.start_mark);
}

/* The next event; -EINVAL: said. */
static int yaml_advance(struct yaml_reader *reader)
{
	const char *problem;

	if (reader->has_event)
		yaml.yaml_event_delete(&reader->event);
	reader->has_event =
		yaml.yaml_parser_parse(&reader->parser, &reader->event);
	if (reader->has_event)
		return 0;
	problem = reader->parser.problem;
	return sonde_generate_fail(reader->error,
				   place_of_mark(reader,
						 &reader->parser.problem_mark),
				   "%s", problem ? problem : "this is no YAML");
}

static int yaml_expect(struct yaml_reader *reader, yaml_event_type_t type,
		       const char *what)
{
	int err = yaml_advance(reader);

	if (err || reader->event.type == type)
		return err;
	return sonde_generate_fail(reader->error, yaml_here(reader),
				   "%s is expected here%s", what,
				   reader->event.type == YAML_ALIAS_EVENT ?
					   "; aliases aren't taken" :
					   "");
}

static int yaml_read_element(struct yaml_reader *reader,
			     struct sonde_generate_node *parent, size_t depth,
			     struct sonde_generate_node **ret_node);

/* The event is the beginning of a sequence. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_DEPTH */
static int read_inner(struct yaml_reader *reader,
		      struct sonde_generate_node *node, size_t depth)
{
	struct sonde_generate_node *inner;
	int err = yaml_expect(reader, YAML_SEQUENCE_START_EVENT, "a sequence");

	if (!err)
		err = yaml_advance(reader);
	while (!err && reader->event.type != YAML_SEQUENCE_END_EVENT) {
		err = yaml_read_element(reader, node, depth + 1, &inner);
		if (!err)
			err = yaml_advance(reader);
	}
	return err;
}

static int set_scalar(struct yaml_reader *reader,
		      struct sonde_generate_node *node, const char *name,
		      struct sonde_generate_place place)
{
	int err = yaml_expect(reader, YAML_SCALAR_EVENT, "a word or number");

	if (err)
		return err;
	return sonde_generate_node_set(
		reader->pool, node, name,
		(const char *)reader->event.data.scalar.value,
		reader->event.data.scalar.length, place, reader->error);
}

/* The event is a key. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_DEPTH */
static int yaml_read_pair(struct yaml_reader *reader,
			  struct sonde_generate_node *node, size_t depth)
{
	const struct sonde_generate_grammar *grammar =
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it was made */
		&sonde_generate_grammars[node->kind];
	struct sonde_generate_place place = yaml_here(reader);
	char key[64];

	if (reader->event.type != YAML_SCALAR_EVENT ||
	    reader->event.data.scalar.length >= sizeof(key))
		return sonde_generate_fail(reader->error, place,
					   "a key is expected here");
	memcpy(key, reader->event.data.scalar.value,
	       reader->event.data.scalar.length + 1);
	if (grammar->inner && !strcmp(key, grammar->inner)) {
		if (node->first)
			return sonde_generate_fail(reader->error, place,
						   "'%s' is there twice", key);
		return read_inner(reader, node, depth);
	}
	return set_scalar(reader, node, key, place);
}

/* The first key says what it is. */
static int read_kind(struct yaml_reader *reader,
		     struct sonde_generate_node *parent,
		     struct sonde_generate_node **ret_node)
{
	struct sonde_generate_place place = yaml_here(reader);
	char name[64];

	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return sonde_generate_fail(reader->error, place,
					   "a mapping is expected here");
	if (yaml_expect(reader, YAML_SCALAR_EVENT, "a key"))
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "%.63s",
		       (const char *)reader->event.data.scalar.value);
	*ret_node = sonde_generate_node_new(reader->pool, parent, name, place,
					    reader->error);
	if (!*ret_node)
		return -EINVAL;
	return set_scalar(reader, *ret_node,
			  sonde_generate_grammars[(*ret_node)->kind].main,
			  place);
}

/* The event is the beginning of a mapping. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_GENERATE_DEPTH */
static int yaml_read_element(struct yaml_reader *reader,
			     struct sonde_generate_node *parent, size_t depth,
			     struct sonde_generate_node **ret_node)
{
	int err;

	if (depth >= SONDE_GENERATE_DEPTH)
		return sonde_generate_fail(reader->error, yaml_here(reader),
					   "nested too deeply");
	err = read_kind(reader, parent, ret_node);
	if (!err)
		err = yaml_advance(reader);
	while (!err && reader->event.type != YAML_MAPPING_END_EVENT) {
		err = yaml_read_pair(reader, *ret_node, depth);
		if (!err)
			err = yaml_advance(reader);
	}
	return err;
}

static int yaml_read_document(struct yaml_reader *reader,
			      struct sonde_generate_node **ret_node)
{
	int err = yaml_expect(reader, YAML_STREAM_START_EVENT, "a file");

	if (!err)
		err = yaml_expect(reader, YAML_DOCUMENT_START_EVENT,
				  "a document");
	if (!err)
		err = yaml_advance(reader);
	if (!err)
		err = yaml_read_element(reader, NULL, 0, ret_node);
	if (!err)
		err = yaml_expect(reader, YAML_DOCUMENT_END_EVENT,
				  "the document's end");
	if (!err)
		err = yaml_expect(reader, YAML_STREAM_END_EVENT,
				  "the file's end");
	return err;
}

struct sonde_generate_node *
sonde_generate_read_yaml(struct sonde_pool *pool, const char *name,
			 const char *bytes, size_t size,
			 struct sonde_generate_error *error)
{
	struct yaml_reader reader = { .pool = pool,
				      .error = error,
				      .file = name };
	const struct sonde_generate_place whole = { name, 0, 0 };
	static const char *const names[] = { YAML_FUNCTIONS(SONDE_LIBRARY_NAME)
						     NULL };
	struct sonde_generate_node *root = NULL;
	const char *why;
	int err;

	if (sonde_library_open(SONDE_LIBYAML, names, &yaml, &why)) {
		(void)sonde_generate_fail(error, whole, "YAML needs %s", why);
		return NULL;
	}
	if (size > SONDE_GENERATE_FILE_MAX ||
	    !yaml.yaml_parser_initialize(&reader.parser)) {
		(void)sonde_generate_fail(error, whole,
					  "more than 16 MiB, or no memory");
		return NULL;
	}
	yaml.yaml_parser_set_input_string(&reader.parser,
					  (const unsigned char *)bytes, size);
	err = yaml_read_document(&reader, &root);
	if (reader.has_event)
		yaml.yaml_event_delete(&reader.event);
	yaml.yaml_parser_delete(&reader.parser);
	return err ? NULL : root;
}
