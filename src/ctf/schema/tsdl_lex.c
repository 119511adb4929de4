/* SPDX-License-Identifier: MIT */
/*
 * tsdl_lex.c - the words of TSDL, one at a time (tsdl_lex.h).
 *
 * A token points into the text, which is not changed; no state but the place in
 * the text is kept. Each byte is looked at once or twice.
 */
#include "ctf/schema/tsdl_lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

void sonde_tsdl_lexer_init(struct sonde_tsdl_lexer *lexer, const char *text,
			   size_t size, struct sonde_schema_error *error)
{
	*lexer = (struct sonde_tsdl_lexer){
		.at = text,
		.end = text + size,
		.line_start = text,
		.line = 1,
		.error = error,
	};
}

int sonde_token_complain(const struct sonde_token *token,
			 struct sonde_schema_error *error, const char *format,
			 ...)
{
	char text[sizeof(error->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return sonde_schema_complain(error, "line %u, column %u: %s",
				     token->line, token->column, text);
}

bool sonde_token_is(const struct sonde_token *token, const char *name)
{
	return token->kind == SONDE_TOKEN_NAME && strlen(name) == token->size &&
	       memcmp(token->text, name, token->size) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       is_digit(c) || c == '_';
}

static char peek(const struct sonde_tsdl_lexer *lexer, size_t ahead)
{
	if (ahead < (size_t)(lexer->end - lexer->at))
		return lexer->at[ahead];
	return 0;
}

static void skip_byte(struct sonde_tsdl_lexer *lexer)
{
	if (*lexer->at++ == '\n') {
		lexer->line++;
		lexer->line_start = lexer->at;
	}
}

static void begin_token(const struct sonde_tsdl_lexer *lexer,
			struct sonde_token *token)
{
	*token = (struct sonde_token){
		.text = lexer->at,
		.line = lexer->line,
		.column = (uint32_t)(lexer->at - lexer->line_start) + 1,
	};
}

static int skip_comment(struct sonde_tsdl_lexer *lexer)
{
	struct sonde_token start;

	begin_token(lexer, &start);
	lexer->at += 2;
	while (lexer->at < lexer->end) {
		if (lexer->at[0] == '*' && peek(lexer, 1) == '/') {
			lexer->at += 2;
			return 0;
		}
		skip_byte(lexer);
	}
	return sonde_token_complain(&start, lexer->error,
				    "this comment does not end");
}

/* Blanks and comments; a backslash that ends a line is a blank. */
static int skip_blanks(struct sonde_tsdl_lexer *lexer)
{
	while (lexer->at < lexer->end) {
		char c = *lexer->at;
		char next = peek(lexer, 1);

		if (c == '/' && next == '/') {
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
		} else if (c == '/' && next == '*') {
			if (skip_comment(lexer))
				return -EINVAL;
		} else if ((c && strchr(" \t\r\n\f\v", c)) ||
			   (c == '\\' && (next == '\n' || next == '\r'))) {
			skip_byte(lexer);
		} else {
			break;
		}
	}
	return 0;
}

static unsigned int number_base(struct sonde_tsdl_lexer *lexer)
{
	if (lexer->at[0] != '0')
		return 10;
	if ((peek(lexer, 1) | 0x20) != 'x')
		return 8;
	lexer->at += 2;
	return 16;
}

static int take_number(struct sonde_tsdl_lexer *lexer,
		       struct sonde_token *token)
{
	unsigned int base = number_base(lexer);
	const char *digits = lexer->at;
	bool too_much = false;

	token->kind = SONDE_TOKEN_NUMBER;
	for (; lexer->at < lexer->end; lexer->at++) {
		uint32_t digit = sonde_number_digit(*lexer->at);

		if (digit >= base)
			break;
		too_much |= __builtin_mul_overflow(token->number, base,
						   &token->number);
		too_much |= __builtin_add_overflow(token->number, digit,
						   &token->number);
	}
	if (too_much)
		return sonde_token_complain(token, lexer->error,
					    "this number is above 2^64 - 1");
	if (lexer->at == digits)
		return sonde_token_complain(token, lexer->error,
					    "expected digits after 0x");
	while ((peek(lexer, 0) | 0x20) == 'u' || (peek(lexer, 0) | 0x20) == 'l')
		lexer->at++;
	if (is_name(peek(lexer, 0)))
		return sonde_token_complain(token, lexer->error,
					    "this is no number");
	return 0;
}

/* Up to `max` digits of a base that is a power of two. */
static uint32_t escaped_number(const char **at, const char *end,
			       unsigned int shift, int max)
{
	uint32_t value = 0;

	for (; max > 0 && *at < end; max--, (*at)++) {
		uint32_t digit = sonde_number_digit(**at);

		if (digit >> shift)
			break;
		value = value << shift | digit;
	}
	return value;
}

/* One byte of a string or character constant, from behind a backslash. As in
 * other readers, a hexadecimal one has up to three digits. */
static unsigned char escape(const char **at, const char *end)
{
	static const char codes[] = "abfnrtv";
	static const char values[] = "\a\b\f\n\r\t\v";
	const char *code;
	char c = **at;

	if (c >= '0' && c <= '7')
		return (unsigned char)escaped_number(at, end, 3, 3);
	(*at)++;
	if (c == 'x')
		return (unsigned char)escaped_number(at, end, 4, 3);
	code = c ? strchr(codes, c) : NULL;
	return (unsigned char)(code ? values[code - codes] : c);
}

/* Finds the end of what begins with a quote. */
static int take_quoted(struct sonde_tsdl_lexer *lexer,
		       struct sonde_token *token)
{
	char quote = *lexer->at++;

	token->text = lexer->at;
	while (lexer->at < lexer->end && *lexer->at != quote) {
		if (*lexer->at == '\\' && lexer->end - lexer->at > 1)
			lexer->at++;
		skip_byte(lexer);
	}
	if (lexer->at == lexer->end)
		return sonde_token_complain(
			token, lexer->error, "this %s does not end",
			quote == '"' ? "string" : "character");
	token->size = (size_t)(lexer->at - token->text);
	lexer->at++;
	token->kind = SONDE_TOKEN_STRING;
	return 0;
}

static int take_character(struct sonde_tsdl_lexer *lexer,
			  struct sonde_token *token)
{
	const char *end;
	const char *at;

	if (take_quoted(lexer, token))
		return -EINVAL;
	at = token->text;
	end = at + token->size;
	token->kind = SONDE_TOKEN_NUMBER;
	if (at < end && *at == '\\') {
		at++;
		token->number = escape(&at, end);
	} else if (at < end) {
		token->number = (unsigned char)*at++;
	}
	if (at != end || token->size == 0)
		return sonde_token_complain(token, lexer->error,
					    "expected one character between "
					    "the quotes");
	return 0;
}

static int take_sign(struct sonde_tsdl_lexer *lexer, struct sonde_token *token)
{
	static const struct {
		char text[4];
		int kind;
	} longer[] = {
		{ "...", SONDE_TOKEN_RANGE },
		{ ":=", SONDE_TOKEN_ASSIGN },
		{ "->", SONDE_TOKEN_ARROW },
	};
	char c = *lexer->at;

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		size_t size = strlen(longer[i].text);

		if ((size_t)(lexer->end - lexer->at) < size ||
		    memcmp(lexer->at, longer[i].text, size) != 0)
			continue;
		lexer->at += size;
		token->kind = longer[i].kind;
		return 0;
	}
	if (!c || !strchr("{}[]()<>;,.:=*+-", c))
		return sonde_token_complain(
			token, lexer->error,
			c > ' ' && c < 0x7f ? "'%c' has no meaning here" :
					      "byte 0x%02x has no meaning here",
			(unsigned char)c);
	token->kind = (unsigned char)c;
	lexer->at++;
	return 0;
}

int sonde_tsdl_lexer_next(struct sonde_tsdl_lexer *lexer,
			  struct sonde_token *ret_token)
{
	char c;
	char next;

	if (skip_blanks(lexer))
		return -EINVAL;
	begin_token(lexer, ret_token);
	ret_token->kind = SONDE_TOKEN_END;
	if (lexer->at == lexer->end)
		return 0;
	c = *lexer->at;
	next = peek(lexer, 1);
	/* A wide string or character is one like others. */
	if (c == 'L' && (next == '"' || next == '\''))
		c = *++lexer->at;
	if (c == '"')
		return take_quoted(lexer, ret_token);
	if (c == '\'')
		return take_character(lexer, ret_token);
	if (is_digit(c))
		return take_number(lexer, ret_token);
	if (!is_name(c))
		return take_sign(lexer, ret_token);
	while (is_name(peek(lexer, 0)))
		lexer->at++;
	ret_token->kind = SONDE_TOKEN_NAME;
	ret_token->size = (size_t)(lexer->at - ret_token->text);
	return 0;
}

const char *sonde_token_flaw(const struct sonde_token *token)
{
	const char *end = token->text + token->size;

	for (const char *at = token->text; at < end; at++) {
		if (!*at)
			return "a zero byte";
		if (*at == '\\' && ++at < end &&
		    (!*at || !strchr("abfnrtvx\\'\"?01234567\n", *at)))
			return "an escape that means nothing";
	}
	return NULL;
}

char *sonde_token_string(const struct sonde_token *token,
			 struct sonde_pool *pool)
{
	const char *at = token->text;
	const char *end = at + token->size;
	/* No escape is shorter than what it stands for. */
	char *string = sonde_pool_get(pool, token->size + 1, 1);
	char *out = string;

	while (string && at < end) {
		unsigned char c = (unsigned char)*at++;

		if (c == '\\' && at < end)
			c = escape(&at, end);
		*out++ = (char)c;
	}
	return string;
}
