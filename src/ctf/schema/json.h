/* SPDX-License-Identifier: MIT */
/*
 * json.h - what the reader and the writer of CTF 2 metadata share.
 *
 *   json.c        the sequence of fragments, and each kind of fragment
 *   json_class.c  field classes
 *   json_names.c  words
 *   json_ranges.c ranges of integers
 *   json_read.c   a JSON value of the type it must have, or an error that
 *                 says where
 *   write2.c, write2_class.c   the way back
 *
 * ## How strict
 *
 * A property that the format doesn't have is an error: it is a misspelt one, or
 * comes from a format that is not this one. So are extensions, for they may
 * change what the data means; attributes may not, and are kept as text. A role
 * where it has no meaning is dropped, since aliases bring them along.
 *
 * ## Limits
 *
 * A fragment takes at most SONDE_JSON_FRAGMENT_MAX bytes, for its objects take
 * up to forty times as much memory while it is read; one at a time is in
 * memory. JSON nests at most SONDE_JSON_DEPTH deep, which is more than field
 * classes may. Duplicate names in an object can't be seen: the last one counts.
 */
#ifndef CTF_SCHEMA_JSON_H
#define CTF_SCHEMA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/schema/lookup.h"
#include "ctf/schema/schema.h"

struct json_object;
struct lh_entry;

#define SONDE_JSON_FRAGMENT_MAX (8u << 20)
#define SONDE_JSON_DEPTH        256
#define SONDE_JSON_SEPARATOR    '\x1e' /* before each fragment */

/* ---- names, for both ways ---- */

struct sonde_json_role {
	const char *name;
	uint32_t scopes; /* where it means something: bits 1 << enum */
};
extern const struct sonde_json_role
	sonde_json_roles[SONDE_ROLE_EVENT_ID + 1]; /* by enum sonde_role */
/* By enum sonde_scope and sonde_encoding; a NULL at the end. */
extern const char *const sonde_json_origins[SONDE_NR_SCOPES + 1];
extern const char *const sonde_json_encodings[SONDE_ENCODING_UTF32LE + 2];

/* Log levels as babeltrace2 calls them, under its namespace of attributes;
 * LTTng has numbers, under its own. */
#define SONDE_JSON_BT_NAMESPACE    "babeltrace.org,2020"
#define SONDE_JSON_EMF_URI         "emf-uri"
#define SONDE_JSON_LTTNG_NAMESPACE "lttng.org,2009"
#define SONDE_JSON_LOG_LEVEL       "log-level"
#define SONDE_JSON_LEVELS          15
extern const char *const sonde_json_levels[SONDE_JSON_LEVELS];

/* ---- reading ---- */

struct sonde_json_parser {
	struct sonde_schema *schema;
	struct sonde_schema_error *error;
	struct sonde_lookup aliases; /* name -> struct sonde_class */
	struct sonde_lookup clocks;  /* internal id -> struct known_clock */
	struct sonde_lookup streams; /* id -> struct sonde_stream_class */
	size_t fragment;             /* the current one, from 1 */
	bool has_trace_class;
	/* The names on the way to what is being read. */
	int depth;
	const char *trail[SONDE_SCHEMA_DEPTH];
};

/* "fragment 4: payload-field-class.list: ..."; -EINVAL. */
__attribute__((format(printf, 2, 3))) int
sonde_json_fail(const struct sonde_json_parser *parser, const char *format,
		...);

/*
 * Whether `object` is one that has the properties of `names`, words separated
 * by blanks, and no others. Those that end with '!' must be there. "type",
 * "attributes" and "extensions" may always be. Refuses extensions.
 */
int sonde_json_check(const struct sonde_json_parser *parser,
		     struct json_object *object, const char *names);

/* Goes through an object's properties, in their order. */
struct sonde_json_each {
	const char *name; /* set by next() */
	struct json_object *value;
	/* ---- private ---- */
	struct lh_entry *entry;
};
struct sonde_json_each sonde_json_each(struct json_object *object);
bool sonde_json_next(struct sonde_json_each *each);

/* For all that follow: if the property is not there, *ret stays as it is. */

int sonde_json_text(const struct sonde_json_parser *parser,
		    struct json_object *object, const char *name,
		    const char **ret_text);
/* An integer of 0 .. 2^64 - 1. */
int sonde_json_number(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *name,
		      uint64_t *ret_number);
int sonde_json_signed(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *name,
		      int64_t *ret_number);
/* One of several words; its index. */
int sonde_json_word(const struct sonde_json_parser *parser,
		    struct json_object *object, const char *name,
		    const char *const *words, size_t *ret_index);
int sonde_json_array(const struct sonde_json_parser *parser,
		     struct json_object *object, const char *name,
		     struct json_object **ret_array);
/* Its attributes, as text. */
int sonde_json_attributes(const struct sonde_json_parser *parser,
			  struct json_object *object, const char **ret_text);

/* A string that is not a property: a copy in the pool. */
int sonde_json_copy(const struct sonde_json_parser *parser,
		    struct json_object *string, const char **ret_text);
bool sonde_json_is_negative(struct json_object *integer);

/* An object of names and their ranges: a number's mappings, a bit map's
 * flags. */
int sonde_json_labels(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *property,
		      struct sonde_class *cls);
/* The object's "selector-field-ranges". */
int sonde_json_ranges(const struct sonde_json_parser *parser,
		      struct json_object *object, struct sonde_member *member);

/* The field class that is, or that is called, the value; `name` is for the
 * trail. */
int sonde_json_class(struct sonde_json_parser *parser, const char *name,
		     struct json_object *value, struct sonde_class **ret_class);

/* ---- both ---- */

/* Whether a value can choose two of a variant's options. -ENOMEM. */
int sonde_json_options_overlap(const struct sonde_class *variant);

#endif /* CTF_SCHEMA_JSON_H */
