/* SPDX-License-Identifier: MIT */
/*
 * node.c - elements in the making (node.h). What is in no grammar is refused
 * here, for both languages with the same words; schema/sonde-events.rng says
 * the same to other programs.
 */
#include "generate/node.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/nearest.h"
#include "base/utf8.h"

#define HOLDS(kind) (1u << SONDE_GENERATE_##kind)

const struct sonde_generate_grammar
	sonde_generate_grammars[SONDE_GENERATE_NR_KINDS] = {
		[SONDE_GENERATE_EVENTS] = { "events",
					    "provider",
					    { "about" },
					    "contents",
					    HOLDS(INCLUDE) | HOLDS(ENUM) |
						    HOLDS(STRUCT) |
						    HOLDS(VARIANT) |
						    HOLDS(EVENT) },
		[SONDE_GENERATE_INCLUDE] = { .name = "include",
					     .main = "file" },
		[SONDE_GENERATE_ENUM] = { "enum",
					  "name",
					  { "type", "about" },
					  "labels",
					  HOLDS(LABEL) },
		[SONDE_GENERATE_LABEL] = { "label",
					   "name",
					   { "value", "first", "last" },
					   NULL,
					   0 },
		[SONDE_GENERATE_STRUCT] = { "struct",
					    "name",
					    { "about" },
					    "fields",
					    HOLDS(FIELD) },
		[SONDE_GENERATE_VARIANT] = { "variant",
					     "name",
					     { "about" },
					     "fields",
					     HOLDS(FIELD) },
		[SONDE_GENERATE_EVENT] = { "event",
					   "name",
					   { "level", "about" },
					   "fields",
					   HOLDS(FIELD) },
		[SONDE_GENERATE_FIELD] = { "field",
					   "name",
					   { "type", "base", "order", "bits",
					     "array", "sequence", "max",
					     "about" },
					   NULL,
					   0 },
	};

int sonde_generate_fail(struct sonde_generate_error *error,
			struct sonde_generate_place place, const char *format,
			...)
{
	size_t room = sizeof(error->text);
	va_list args;
	int at;

	if (error->text[0])
		return -EINVAL;
	if (place.line)
		at = snprintf(error->text, room, "%.200s:%u:%u: ", place.file,
			      place.line, place.column);
	else
		at = snprintf(error->text, room, "%.200s: ", place.file);
	va_start(args, format);
	(void)vsnprintf(error->text + at, room - (size_t)at, format, args);
	va_end(args);
	return -EINVAL;
}

static int unknown_element(const struct sonde_generate_node *parent,
			   const char *name, struct sonde_generate_place place,
			   struct sonde_generate_error *error)
{
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; i < SONDE_GENERATE_NR_KINDS; i++) {
		const struct sonde_generate_grammar *other =
			&sonde_generate_grammars[i];

		if (parent ? sonde_generate_grammars[parent->kind].holds >> i &
				     1 :
			     i == SONDE_GENERATE_EVENTS)
			sonde_nearest_try(&nearest, other->name);
	}
	if (parent)
		return sonde_generate_fail(
			error, place, "no '%.60s' can be in '%s'%s", name,
			sonde_generate_grammars[parent->kind].name,
			sonde_nearest_hint(&nearest));
	return sonde_generate_fail(
		error, place,
		"the outermost element is '%.60s', not 'events'%s", name,
		sonde_nearest_hint(&nearest));
}

static enum sonde_generate_kind
node_kind_of(const struct sonde_generate_node *parent, const char *name)
{
	for (unsigned int i = 0; i < SONDE_GENERATE_NR_KINDS; i++) {
		bool fits =
			parent ? sonde_generate_grammars[parent->kind].holds >>
						 i &
					 1 :
				 i == SONDE_GENERATE_EVENTS;

		if (fits && !strcmp(sonde_generate_grammars[i].name, name))
			return (enum sonde_generate_kind)i;
	}
	return SONDE_GENERATE_NR_KINDS;
}

struct sonde_generate_node *
sonde_generate_node_new(struct sonde_pool *pool,
			struct sonde_generate_node *parent, const char *name,
			struct sonde_generate_place place,
			struct sonde_generate_error *error)
{
	enum sonde_generate_kind kind = node_kind_of(parent, name);
	struct sonde_generate_node *node;

	if (kind == SONDE_GENERATE_NR_KINDS) {
		(void)unknown_element(parent, name, place, error);
		return NULL;
	}
	node = sonde_pool_get(pool, 1, sizeof(*node));
	if (!node) {
		(void)sonde_generate_fail(error, place, "no memory");
		return NULL;
	}
	node->kind = kind;
	node->place = place;
	if (parent && parent->last)
		parent->last->next = node;
	else if (parent)
		parent->first = node;
	if (parent)
		parent->last = node;
	return node;
}

/* As the grammar has it; NULL: it hasn't. */
static const char *attribute(const struct sonde_generate_grammar *grammar,
			     const char *name, struct sonde_nearest *nearest)
{
	sonde_nearest_begin(nearest, name);
	sonde_nearest_try(nearest, grammar->main);
	if (!strcmp(grammar->main, name))
		return grammar->main;
	for (size_t i = 0; grammar->attributes[i]; i++) {
		sonde_nearest_try(nearest, grammar->attributes[i]);
		if (!strcmp(grammar->attributes[i], name))
			return grammar->attributes[i];
	}
	return NULL;
}

/* Whether it is made of what XML 1.0 calls characters: YAML has a way to write
 * others, and then there would be no XML of the same tree. */
static bool node_is_text(const char *value, size_t length)
{
	uint32_t code;
	size_t bytes;

	for (size_t i = 0; i < length; i += bytes) {
		bytes = sonde_utf8_decode(value + i, length - i, &code);
		if (!bytes || code == 0xfffe || code == 0xffff ||
		    (code < ' ' && code != '\t' && code != '\n' &&
		     code != '\r'))
			return false;
	}
	return true;
}

/* NOLINTNEXTLINE(readability-function-size): parameters as node.h has them */
int sonde_generate_node_set(struct sonde_pool *pool,
			    struct sonde_generate_node *node, const char *name,
			    const char *value, size_t length,
			    struct sonde_generate_place place,
			    struct sonde_generate_error *error)
{
	const struct sonde_generate_grammar *grammar =
		&sonde_generate_grammars[node->kind];
	struct sonde_nearest nearest;
	const char *known = attribute(grammar, name, &nearest);
	const char *copy = sonde_pool_text(pool, value, length);

	if (!known)
		return sonde_generate_fail(error, place,
					   "'%s' has no '%.60s'%s",
					   grammar->name, name,
					   sonde_nearest_hint(&nearest));
	if (sonde_generate_node_get(node, known))
		return sonde_generate_fail(error, place, "'%s' is there twice",
					   known);
	if (!node_is_text(value, length))
		return sonde_generate_fail(
			error, place,
			"'%s' has a character that XML can't have", known);
	if (!copy)
		return sonde_generate_fail(error, place, "no memory");
	node->attributes[node->nr_attributes++] =
		(struct sonde_generate_attribute){ known, copy };
	return 0;
}

const char *sonde_generate_node_get(const struct sonde_generate_node *node,
				    const char *name)
{
	for (size_t i = 0; i < node->nr_attributes; i++)
		if (!strcmp(node->attributes[i].name, name))
			return node->attributes[i].value;
	return NULL;
}

const char *sonde_generate_node_nth(const struct sonde_generate_node *node,
				    size_t i, const char **ret_name)
{
	const struct sonde_generate_grammar *grammar =
		&sonde_generate_grammars[node->kind];

	*ret_name = i ? grammar->attributes[i - 1] : grammar->main;
	return *ret_name ? sonde_generate_node_get(node, *ret_name) : NULL;
}

int sonde_generate_node_end(const struct sonde_generate_node *node,
			    struct sonde_generate_error *error)
{
	const struct sonde_generate_grammar *grammar =
		&sonde_generate_grammars[node->kind];

	if (sonde_generate_node_get(node, grammar->main))
		return 0;
	return sonde_generate_fail(error, node->place, "'%s' lacks its '%s'",
				   grammar->name, grammar->main);
}
