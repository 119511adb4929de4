/* SPDX-License-Identifier: MIT */
/*
 * fields.h - an event's fields as text, in one of three styles.
 *
 *	plain		a = 1, list = [1, 2], s = { x = 0x1f }, c = red, v = i: 5
 *	babeltrace	{ a = 1, list = [ [0] = 1, [1] = 2 ], s = { x = 0x1F },
 *			c = ( "red" : container = 0 ), v = { 5 } }
 *	JSON		{"a": 1, "list": [1, 2], "s": {"x": 31},
 *			"c": {"value": 0, "label": "red"}, "v": {"i": 5}}
 *
 * An enumeration whose labels are of single bits is shown as those that are set
 * (but not in babeltrace's style): f = O_CREAT | O_CLOEXEC | 0x40, and in JSON
 * "f": {"value": 524352, "labels": ["O_CREAT", "O_CLOEXEC"]}.
 *
 * What can be known from the class alone is made ready once: a *shape* is a
 * tree as the class is, with each member's name written out (", a = ") and the
 * way its value is written chosen. Where all members that are shown are numbers
 * and texts at places that are known, they are read from there; other events are
 * walked with the shape in step. Shapes and writers are not changed after they were made: any number of
 * threads may use them.
 */
#ifndef VIEW_TEXT_FIELDS_H
#define VIEW_TEXT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "base/pool.h"
#include "reader/names/names.h"
#include "view/text/buffer.h"

enum sonde_style {
	SONDE_STYLE_PLAIN,
	SONDE_STYLE_BABELTRACE,
	SONDE_STYLE_JSON,
};

struct sonde_writer {
	enum sonde_style style;
	bool colour; /* plain style only */
	/*
	 * Of code, for addresses: of the kernel's functions in its events, in
	 * the plain style in place of the number, call_site = kfree+0x12; in
	 * JSON beside it, as of a program's field `caller`:
	 * "caller": 94217, "caller_name": "parse at json.c:120". NULL: they are
	 * numbers.
	 */
	struct sonde_names *names;
	/* ---- private ---- */
	bool verbatim[256]; /* bytes of a string that need no escape */
};

struct sonde_shape;

void sonde_writer_init(struct sonde_writer *writer, enum sonde_style style,
		       bool colour);

/*
 * The shape of a scope, in the pool's memory; NULL: there is none, or nothing
 * of it is shown (*ret_error 0), or no memory (-ENOMEM). `inner`: the scope that
 * goes into the same object of JSON, and whose names come first, as in filters;
 * NULL: none.
 */
const struct sonde_shape *sonde_shape_new(const struct sonde_writer *writer,
					  const struct sonde_event_class *cls,
					  enum sonde_scope scope,
					  const struct sonde_class *inner,
					  struct sonde_pool *pool,
					  int *ret_error);

/* The same of the i-th member alone, without its name; it is walked to. */
const struct sonde_shape *
sonde_shape_of_member(const struct sonde_writer *writer,
		      const struct sonde_class *cls, size_t i,
		      struct sonde_pool *pool, int *ret_error);

/* The same of those from the i-th on, with their names. */
const struct sonde_shape *
sonde_shape_from_member(const struct sonde_writer *writer,
			const struct sonde_class *cls, size_t i,
			struct sonde_pool *pool, int *ret_error);

/*
 * The members of a scope of an event, of the class that the shape was made of,
 * without the braces around them. `first`: no separator goes before them.
 */
void sonde_shape_put(const struct sonde_writer *writer,
		     const struct sonde_shape *shape,
		     const struct sonde_event *event, enum sonde_scope scope,
		     bool first, struct sonde_buffer *buffer);

/* Text in the style's quotes, with the style's escapes. */
void sonde_put_quoted(const struct sonde_writer *writer, const char *text,
		      size_t length, struct sonde_buffer *buffer);

/* A number of a field's (sonde_event_value()), as the field shows it. */
void sonde_put_field(const struct sonde_writer *writer,
		     const struct sonde_event *event,
		     const struct sonde_value *value,
		     struct sonde_buffer *buffer);

/* An event's stack as a JSON array of names; null: it has none. */
void sonde_put_stack(const struct sonde_writer *writer,
		     struct sonde_names *names, const struct sonde_event *event,
		     struct sonde_buffer *buffer);

/* vfs_read+0x1c, ext4_sync+0x1c [ext4]; false: the address has no name in the
 * kernel that the events are of. */
bool sonde_put_kernel(const struct sonde_writer *writer,
		      const struct sonde_source *source, uint64_t address,
		      struct sonde_buffer *buffer);

/* A number of 32 or 64 bits; there is room for it. */
void sonde_put_float(const struct sonde_writer *writer, double value,
		     unsigned int bits, struct sonde_buffer *buffer);

/* A copy that sonde_put_padded() may read; NULL: no memory. */
const char *sonde_padded(struct sonde_pool *pool, const char *text,
			 size_t length);

#endif /* VIEW_TEXT_FIELDS_H */
