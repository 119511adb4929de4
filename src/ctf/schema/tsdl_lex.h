/* SPDX-License-Identifier: MIT */
/*
 * tsdl_lex.h - the words of TSDL, the language of CTF 1.8's metadata.
 *
 * TSDL's words are C's: names, numbers with bases and suffixes, characters,
 * strings, comments of both kinds. Keywords are names here; what a name means
 * depends on where it stands. No word is copied: a token points into the text.
 */
#ifndef CTF_SCHEMA_TSDL_LEX_H
#define CTF_SCHEMA_TSDL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/schema/schema.h"

/* A token of one character is that character. */
enum sonde_token_kind {
	SONDE_TOKEN_END = 256,
	SONDE_TOKEN_NAME,
	SONDE_TOKEN_NUMBER, /* also a character, 'a' */
	SONDE_TOKEN_STRING,
	SONDE_TOKEN_ASSIGN, /* := */
	SONDE_TOKEN_ARROW,  /* -> */
	SONDE_TOKEN_RANGE,  /* ... */
};

struct sonde_token {
	int kind;
	const char *text; /* of a string: between its quotes */
	size_t size;
	uint64_t number;
	uint32_t line, column; /* from 1; columns are bytes */
};

struct sonde_tsdl_lexer {
	const char *at, *end;
	const char *line_start;
	uint32_t line;
	struct sonde_schema_error *error;
};

void sonde_tsdl_lexer_init(struct sonde_tsdl_lexer *lexer, const char *text,
			   size_t size, struct sonde_schema_error *error);

/* 0; -EINVAL with *error at what is no word. */
int sonde_tsdl_lexer_next(struct sonde_tsdl_lexer *lexer,
			  struct sonde_token *ret_token);

bool sonde_token_is(const struct sonde_token *token, const char *name);

/* What other readers refuse in a string, in words; NULL: nothing. */
const char *sonde_token_flaw(const struct sonde_token *token);
/* A string's value, without escapes, in the pool; a zero byte ends it. NULL
 * without memory. */
char *sonde_token_string(const struct sonde_token *token,
			 struct sonde_pool *pool);

/* "line 12, column 3: " and the rest. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
sonde_token_complain(const struct sonde_token *token,
		     struct sonde_schema_error *error, const char *format, ...);

#endif /* CTF_SCHEMA_TSDL_LEX_H */
