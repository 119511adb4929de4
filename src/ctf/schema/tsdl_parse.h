/* SPDX-License-Identifier: MIT */
/*
 * tsdl_parse.h - the parser of TSDL, in parts:
 *
 *   tsdl_lex.c          text -> tokens
 *   tsdl_parse.c        what all parts need: the current token, names, values
 *   tsdl_parse_type.c   types: their declarations, aliases and uses
 *   tsdl_parse_class.c  what stands in an integer's, a float's, a string's {}
 *   tsdl_parse_block.c  trace, env, clock, stream, event, callsite; and the
 *                       parser's entry
 *   tsdl_roles.c        which fields mean something to the format
 *
 * It looks one token ahead and never back. An error sticks: the current token
 * is the end of the text from then on, so every loop ends, and callers look
 * at `status` only where they would go on forever or use what isn't there.
 *
 * A type that has a name is kept once and copied where it is used. Names of
 * types are looked up in the scopes around, innermost first; a scope is a
 * block or the body of a structure or variant. Types with the same name in
 * one scope are refused.
 */
#ifndef CTF_SCHEMA_TSDL_PARSE_H
#define CTF_SCHEMA_TSDL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/schema/lookup.h"
#include "ctf/schema/schema.h"
#include "ctf/schema/tsdl_lex.h"

/* Names with dots or blanks in them: attributes, types of several words. */
#define SONDE_PARSE_NAME 256

struct sonde_parse_scope {
	struct sonde_parse_scope *parent;
};

/* A clock that a block defines or an integer maps to, whichever is first. */
struct sonde_parse_clock {
	int16_t index;
	bool defined;
	struct sonde_token token; /* where it was first named */
	struct sonde_parse_clock *next;
};

/* An event whose stream is perhaps not known yet. */
struct sonde_parse_event {
	struct sonde_token token;
	const char *name;
	uint64_t id, stream_id;
	bool has_id, has_stream_id;
	int loglevel;
	const char *model_uri; /* NULL */
	struct sonde_class *context, *fields;
	struct sonde_parse_event *next;
};

struct sonde_parser {
	struct sonde_schema *schema;
	struct sonde_schema_error *error;
	int status;
	struct sonde_tsdl_lexer lexer;
	struct sonde_token token; /* the current one */
	int depth;                /* of types around */
	struct sonde_parse_scope *scope;
	struct sonde_lookup types;       /* scope, name -> class */
	struct sonde_lookup clock_names; /* NULL, name -> clock */
	struct sonde_parse_clock *clocks;
	struct sonde_parse_event *events, **last_event;
	bool has_trace;
};

/* ---- tokens ---- */

/* Makes the error stick. Usually of what sonde_token_complain() returns. */
void sonde_parse_fail(struct sonde_parser *p, int status);
void sonde_parse_next(struct sonde_parser *p);
/* "expected <what>", and what there is instead. */
void sonde_parse_expected(struct sonde_parser *p, const char *what);
bool sonde_parse_at(const struct sonde_parser *p, int kind);
bool sonde_parse_at_name(const struct sonde_parser *p, const char *name);
/* Goes past the token if it is this one. */
bool sonde_parse_accept(struct sonde_parser *p, int kind);
bool sonde_parse_accept_name(struct sonde_parser *p, const char *name);
void sonde_parse_expect(struct sonde_parser *p, int kind, const char *what);
/* What is read, but not by all readers (schema.h). */
__attribute__((format(printf, 3, 4))) void
sonde_parse_warn(struct sonde_parser *p, const struct sonde_token *token,
		 const char *format, ...);

/* ---- memory: NULL sticks as an error ---- */

void *sonde_parse_get(struct sonde_parser *p, size_t nr, size_t size);
const char *sonde_parse_text(struct sonde_parser *p, const char *text,
			     size_t size);
struct sonde_class *sonde_parse_class(struct sonde_parser *p,
				      enum sonde_kind kind);
struct sonde_class *sonde_parse_copy(struct sonde_parser *p,
				     const struct sonde_class *cls,
				     const struct sonde_token *token);

/* ---- attributes and values ---- */

struct sonde_parse_value {
	struct sonde_token token; /* its first */
	bool is_number;
	bool negative;
	uint64_t number; /* of a negative one, its two's complement */
	char word[SONDE_PARSE_NAME]; /* a path with dots, or a short string */
};

/* "a.b.c" to the name of an attribute. */
void sonde_parse_path(struct sonde_parser *p, char path[SONDE_PARSE_NAME]);
void sonde_parse_value(struct sonde_parser *p, struct sonde_parse_value *value);
/* A number, with a sign and brackets around as you like. */
void sonde_parse_number(struct sonde_parser *p,
			struct sonde_parse_value *value);
/* Warns if the i-th attribute of what `seen` is of has come before. */
void sonde_parse_once(struct sonde_parser *p, const struct sonde_token *token,
		      const char *name, size_t i, uint32_t *seen);
/* Up to the ';' that ends an attribute nobody knows. */
void sonde_parse_skip(struct sonde_parser *p);
/* What the value must be, else an error. */
uint64_t sonde_parse_unsigned(struct sonde_parser *p,
			      const struct sonde_parse_value *value,
			      uint64_t max);
const char *sonde_parse_string(struct sonde_parser *p,
			       const struct sonde_parse_value *value);
bool sonde_parse_is(const struct sonde_parse_value *value, const char *word);
bool sonde_parse_bool(struct sonde_parser *p,
		      const struct sonde_parse_value *value);
/* An alignment in bits: 1 if it is an error. */
uint32_t sonde_parse_align(struct sonde_parser *p,
			   const struct sonde_parse_value *value);
/* Whether it is big endian. */
bool sonde_parse_order(struct sonde_parser *p,
		       const struct sonde_parse_value *value);

/* ---- types ---- */

void sonde_parse_enter(struct sonde_parser *p);
void sonde_parse_leave(struct sonde_parser *p);
/* Whether a declaration of a type begins here. */
bool sonde_parse_at_declaration(const struct sonde_parser *p);
void sonde_parse_declaration(struct sonde_parser *p);
/* The structure behind a ':='. NULL on error. */
struct sonde_class *sonde_parse_scope_type(struct sonde_parser *p);

/* integer {...}, floating_point {...}, string or string {...}: from behind
 * that word. NULL on error. */
struct sonde_class *sonde_parse_integer(struct sonde_parser *p);
struct sonde_class *sonde_parse_float(struct sonde_parser *p);
struct sonde_class *sonde_parse_string_type(struct sonde_parser *p);

/* The clock of this name; NULL on error. */
struct sonde_parse_clock *sonde_parse_clock(struct sonde_parser *p,
					    const struct sonde_token *token,
					    const char *name);

/* ---- roles ---- */

/* Gives roles and clocks to fields by their names, in all scopes, and their
 * clocks to streams. 0, -EINVAL with *error. */
int sonde_tsdl_roles(struct sonde_schema *schema,
		     struct sonde_schema_error *error);

#endif /* CTF_SCHEMA_TSDL_PARSE_H */
