/* SPDX-License-Identifier: MIT */
/*
 * tsdl_parse.c - what all parts of the parser of TSDL need: the token at hand,
 * names, values (tsdl_parse.h).
 *
 * The first error sticks: from then on the token is the end of the text, so
 * loops end by themselves. Memory is the schema's pool.
 */
#include "ctf/schema/tsdl_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_ALIGN_BITS (1u << 20)

/* ---- tokens ---- */

void sonde_parse_fail(struct sonde_parser *p, int status)
{
	if (p->status == 0)
		p->status = status;
	p->token.kind = SONDE_TOKEN_END;
}

void sonde_parse_next(struct sonde_parser *p)
{
	const char *flaw = NULL;
	int status;

	if (p->status)
		return;
	status = sonde_tsdl_lexer_next(&p->lexer, &p->token);
	if (status)
		sonde_parse_fail(p, status);
	else if (p->token.kind == SONDE_TOKEN_STRING)
		flaw = sonde_token_flaw(&p->token);
	if (flaw)
		sonde_parse_warn(p, &p->token, "this string has %s", flaw);
}

void sonde_parse_warn(struct sonde_parser *p, const struct sonde_token *token,
		      const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (p->status == 0)
		sonde_schema_warn(p->schema, "line %u, column %u: %s",
				  token->line, token->column, text);
}

void sonde_parse_expected(struct sonde_parser *p, const char *what)
{
	const struct sonde_token *token = &p->token;
	int size = token->size < 40 ? (int)token->size : 40;
	int status;

	if (p->status)
		return;
	switch (token->kind) {
	case SONDE_TOKEN_END:
		status = sonde_token_complain(
			token, p->error, "expected %s, not the end of the text",
			what);
		break;
	case SONDE_TOKEN_NAME:
		status = sonde_token_complain(token, p->error,
					      "expected %s, not '%.*s'", what,
					      size, token->text);
		break;
	case SONDE_TOKEN_NUMBER:
		status = sonde_token_complain(
			token, p->error, "expected %s, not a number", what);
		break;
	case SONDE_TOKEN_STRING:
		status = sonde_token_complain(
			token, p->error, "expected %s, not a string", what);
		break;
	default:
		status = sonde_token_complain(token, p->error,
					      "expected %s, not '%.1s'", what,
					      token->text);
		break;
	}
	sonde_parse_fail(p, status);
}

bool sonde_parse_at(const struct sonde_parser *p, int kind)
{
	return p->token.kind == kind;
}

bool sonde_parse_at_name(const struct sonde_parser *p, const char *name)
{
	return sonde_token_is(&p->token, name);
}

bool sonde_parse_accept(struct sonde_parser *p, int kind)
{
	if (p->token.kind != kind)
		return false;
	sonde_parse_next(p);
	return true;
}

bool sonde_parse_accept_name(struct sonde_parser *p, const char *name)
{
	if (!sonde_token_is(&p->token, name))
		return false;
	sonde_parse_next(p);
	return true;
}

void sonde_parse_expect(struct sonde_parser *p, int kind, const char *what)
{
	if (!sonde_parse_accept(p, kind))
		sonde_parse_expected(p, what);
}

/* ---- memory ---- */

void *sonde_parse_get(struct sonde_parser *p, size_t nr, size_t size)
{
	void *memory = sonde_pool_get(&p->schema->pool, nr, size);

	if (!memory)
		sonde_parse_fail(p, -ENOMEM);
	return memory;
}

const char *sonde_parse_text(struct sonde_parser *p, const char *text,
			     size_t size)
{
	const char *copy = sonde_pool_text(&p->schema->pool, text, size);

	if (!copy)
		sonde_parse_fail(p, -ENOMEM);
	return copy;
}

struct sonde_class *sonde_parse_class(struct sonde_parser *p,
				      enum sonde_kind kind)
{
	struct sonde_class *cls = sonde_schema_class(p->schema, kind);

	if (!cls)
		sonde_parse_fail(p, -ENOMEM);
	return cls;
}

struct sonde_class *sonde_parse_copy(struct sonde_parser *p,
				     const struct sonde_class *cls,
				     const struct sonde_token *token)
{
	struct sonde_class *copy = sonde_schema_copy(p->schema, cls);

	if (copy)
		return copy;
	sonde_parse_fail(
		p, p->schema->pool.full ?
			   -ENOMEM :
			   sonde_token_complain(token, p->error,
						"types are nested more than %d "
						"deep",
						SONDE_SCHEMA_DEPTH));
	return NULL;
}

/* ---- attributes and values ---- */

static void add_to_path(struct sonde_parser *p, char *path, size_t *used,
			const char *text, size_t size)
{
	if (size >= SONDE_PARSE_NAME - *used) {
		sonde_parse_fail(p, sonde_token_complain(
					    &p->token, p->error,
					    "this name is longer than %d bytes",
					    SONDE_PARSE_NAME - 1));
		return;
	}
	memcpy(path + *used, text, size);
	*used += size;
	path[*used] = 0;
}

void sonde_parse_path(struct sonde_parser *p, char path[SONDE_PARSE_NAME])
{
	size_t used = 0;

	path[0] = 0;
	for (;;) {
		if (!sonde_parse_at(p, SONDE_TOKEN_NAME)) {
			sonde_parse_expected(p, "a name");
			return;
		}
		add_to_path(p, path, &used, p->token.text, p->token.size);
		sonde_parse_next(p);
		if (!sonde_parse_accept(p, '.') &&
		    !sonde_parse_accept(p, SONDE_TOKEN_ARROW))
			return;
		add_to_path(p, path, &used, ".", 1);
	}
}

void sonde_parse_number(struct sonde_parser *p, struct sonde_parse_value *value)
{
	uint32_t nr_brackets = 0;

	value->token = p->token;
	value->is_number = true;
	value->word[0] = 0;
	while (sonde_parse_accept(p, '('))
		nr_brackets++;
	value->negative = sonde_parse_accept(p, '-');
	if (!value->negative)
		(void)sonde_parse_accept(p, '+');
	value->number = p->token.number;
	sonde_parse_expect(p, SONDE_TOKEN_NUMBER, "a number");
	if (value->number == 0)
		value->negative = false;
	if (value->negative && value->number > 1ull << 63)
		sonde_parse_fail(p,
				 sonde_token_complain(&value->token, p->error,
						      "this number is below "
						      "-2^63"));
	if (value->negative)
		value->number = 0 - value->number;
	for (; nr_brackets > 0; nr_brackets--)
		sonde_parse_expect(p, ')', "')'");
}

void sonde_parse_value(struct sonde_parser *p, struct sonde_parse_value *value)
{
	const struct sonde_token *token = &p->token;
	size_t used = 0;

	if (token->kind != SONDE_TOKEN_NAME &&
	    token->kind != SONDE_TOKEN_STRING) {
		sonde_parse_number(p, value);
		return;
	}
	value->token = *token;
	value->is_number = false;
	value->negative = false;
	value->number = 0;
	value->word[0] = 0;
	if (token->kind == SONDE_TOKEN_NAME) {
		sonde_parse_path(p, value->word);
		return;
	}
	if (token->size < SONDE_PARSE_NAME)
		add_to_path(p, value->word, &used, token->text, token->size);
	sonde_parse_next(p);
}

void sonde_parse_once(struct sonde_parser *p, const struct sonde_token *token,
		      const char *name, size_t i, uint32_t *seen)
{
	if (*seen >> i & 1)
		sonde_parse_warn(p, token,
				 "'%.64s' is given twice; the last one counts",
				 name);
	*seen |= 1u << i;
}

void sonde_parse_skip(struct sonde_parser *p)
{
	uint32_t depth = 0;

	while (depth > 0 || !sonde_parse_at(p, ';')) {
		int kind = p->token.kind;

		if (kind == SONDE_TOKEN_END) {
			sonde_parse_expected(p, "';'");
			return;
		}
		if (kind == '{' || kind == '(' || kind == '[')
			depth++;
		if ((kind == '}' || kind == ')' || kind == ']') &&
		    depth-- == 0) {
			sonde_parse_expected(p, "';'");
			return;
		}
		sonde_parse_next(p);
	}
}

static void wrong_value(struct sonde_parser *p,
			const struct sonde_parse_value *value, const char *what)
{
	sonde_parse_fail(p, sonde_token_complain(&value->token, p->error,
						 "expected %s", what));
}

uint64_t sonde_parse_unsigned(struct sonde_parser *p,
			      const struct sonde_parse_value *value,
			      uint64_t max)
{
	if (value->is_number && !value->negative && value->number <= max)
		return value->number;
	sonde_parse_fail(
		p, sonde_token_complain(&value->token, p->error,
					"expected a number from 0 to %llu",
					(unsigned long long)max));
	return 0;
}

const char *sonde_parse_string(struct sonde_parser *p,
			       const struct sonde_parse_value *value)
{
	const char *string;

	if (value->is_number) {
		wrong_value(p, value, "a string");
		return NULL;
	}
	if (value->token.kind == SONDE_TOKEN_NAME)
		return sonde_parse_text(p, value->word, strlen(value->word));
	string = sonde_token_string(&value->token, &p->schema->pool);
	if (!string)
		sonde_parse_fail(p, -ENOMEM);
	return string;
}

bool sonde_parse_is(const struct sonde_parse_value *value, const char *word)
{
	return !value->is_number && strcmp(value->word, word) == 0;
}

bool sonde_parse_bool(struct sonde_parser *p,
		      const struct sonde_parse_value *value)
{
	if (value->is_number)
		return value->number != 0;
	if (strcasecmp(value->word, "true") == 0)
		return true;
	if (strcasecmp(value->word, "false") != 0)
		wrong_value(p, value, "true or false");
	return false;
}

uint32_t sonde_parse_align(struct sonde_parser *p,
			   const struct sonde_parse_value *value)
{
	uint64_t align = value->number;

	if (value->is_number && !value->negative && align > 0 &&
	    align <= MAX_ALIGN_BITS && (align & (align - 1)) == 0)
		return (uint32_t)align;
	wrong_value(p, value, "a power of two, at most 1048576");
	return 1;
}

bool sonde_parse_order(struct sonde_parser *p,
		       const struct sonde_parse_value *value)
{
	if (sonde_parse_is(value, "native"))
		return p->schema->big_endian;
	if (sonde_parse_is(value, "be") || sonde_parse_is(value, "network"))
		return true;
	if (!sonde_parse_is(value, "le"))
		wrong_value(p, value, "le, be, network or native");
	return false;
}

/* ---- clocks ---- */

struct sonde_parse_clock *sonde_parse_clock(struct sonde_parser *p,
					    const struct sonde_token *token,
					    const char *name)
{
	struct sonde_lookup_key key = { NULL, name, strlen(name) };
	struct sonde_schema *schema = p->schema;
	struct sonde_parse_clock *clock =
		sonde_lookup_find(&p->clock_names, &key);
	struct sonde_schema_clock *clocks;

	if (clock)
		return clock;
	if (schema->nr_clocks == INT16_MAX) {
		sonde_parse_fail(p, sonde_token_complain(token, p->error,
							 "too many clocks"));
		return NULL;
	}
	clocks = sonde_pool_grow(&schema->pool, schema->clocks,
				 schema->nr_clocks, &schema->clocks_capacity,
				 sizeof(*clocks));
	clock = sonde_parse_get(p, 1, sizeof(*clock));
	key.bytes = sonde_parse_text(p, name, key.size);
	if (!clocks || p->status ||
	    sonde_lookup_add(&p->clock_names, &key, clock)) {
		sonde_parse_fail(p, -ENOMEM);
		return NULL;
	}
	*clock = (struct sonde_parse_clock){
		.index = (int16_t)schema->nr_clocks,
		.token = *token,
		.next = p->clocks,
	};
	p->clocks = clock;
	schema->clocks = clocks;
	clocks[schema->nr_clocks++].info.name = key.bytes;
	return clock;
}
