/* SPDX-License-Identifier: MIT */
/*
 * lex.c - see lex.h. Nothing of the machine's locale has a say: letters are
 * ASCII's, and the decimal point is a point.
 */
#include "expr/lex.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"

uint32_t sonde_expr_column(const char *text, size_t offset)
{
	uint32_t column = 1;

	for (size_t i = 0; i < offset; i++)
		column += ((unsigned char)text[i] & 0xc0) != 0x80;
	return column;
}

int sonde_expr_fail(struct sonde_expr_error *error, const char *text,
		    size_t offset, const char *format, ...)
{
	va_list args;

	if (!error)
		return -EINVAL;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	/* What is cited from the text must not reach a terminal as control. */
	for (char *c = error->text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	}
	error->column = sonde_expr_column(text, offset);
	return -EINVAL;
}

static bool lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_begin(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$';
}

/* The value of a digit of any base up to 16; 16 if it is none. */
static unsigned int digit_value(char c)
{
	if (lex_is_digit(c))
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A' + 10);
	return 16;
}

/* ---- names ---- */

/* One or more of [A-Za-z0-9_], the first of them no digit. */
static uint32_t skip_name(const char *text, uint32_t at)
{
	if (is_name_begin(text[at]))
		at++;
	while (lex_is_digit(text[at]) ||
	       (text[at] != '$' && is_name_begin(text[at])))
		at++;
	return at;
}

/* a.b[3].c: what follows the first name. */
static int lex_path(struct sonde_expr_lexer *lexer,
		    struct sonde_expr_token *token)
{
	const char *text = lexer->text;
	uint32_t at = skip_name(text, lexer->at);

	while (!lexer->is_c) {
		if (text[at] == '.' && text[at + 1] != '$' &&
		    is_name_begin(text[at + 1])) {
			at = skip_name(text, at + 1);
		} else if (text[at] == '.') {
			return sonde_expr_fail(
				lexer->error, text, at + 1,
				"expected a field's name after '.'");
		} else if (text[at] == '[') {
			uint32_t open = at++;

			while (lex_is_digit(text[at]))
				at++;
			if (at == open + 1 || text[at] != ']')
				return sonde_expr_fail(
					lexer->error, text, at,
					"expected a number and ']' after '['");
			at++;
		} else {
			break;
		}
	}
	token->kind = SONDE_EXPR_TOKEN_NAME;
	lexer->at = at;
	return 0;
}

/* ---- numbers ---- */

static bool is_integer_suffix(const char *suffix, size_t length)
{
	static const char suffixes[][4] = { "",   "u",  "l",   "ul",
					    "lu", "ll", "ull", "llu" };
	char lower[4] = { 0 };

	if (length >= sizeof(lower))
		return false;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)(suffix[i] | 0x20);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(suffixes); i++) {
		if (strcmp(suffixes[i], lower) == 0)
			return true;
	}
	return false;
}

static int lex_integer(struct sonde_expr_lexer *lexer,
		       struct sonde_expr_token *token, uint32_t at,
		       unsigned int base)
{
	const char *text = lexer->text;
	uint32_t begin = at;
	uint64_t number = 0;
	uint32_t end;

	for (; digit_value(text[at]) < base; at++) {
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit_value(text[at]),
					   &number))
			return sonde_expr_fail(lexer->error, text, lexer->at,
					       "a number of more than 64 bits");
	}
	if (lex_is_digit(text[at]) || at == begin)
		return sonde_expr_fail(lexer->error, text, at,
				       "expected a digit of base %u", base);
	end = skip_name(text, at);
	if (!is_integer_suffix(text + at, end - at))
		return sonde_expr_fail(
			lexer->error, text, at,
			"unknown unit '%.*s': numbers may have ns, us, ms, s, "
			"m, h",
			(int)(end - at > 64 ? 64 : end - at), text + at);
	token->literal.value.u = number;
	token->literal.value.type = SONDE_EXPR_INT;
	if (number > INT64_MAX || memchr(text + at, 'u', end - at) ||
	    memchr(text + at, 'U', end - at))
		token->literal.value.type = SONDE_EXPR_UINT;
	lexer->at = end;
	return 0;
}

/* Digits, a point, digits, an exponent. Returns the end. */
static uint32_t skip_decimal(const char *text, uint32_t at, bool *ret_exponent)
{
	uint32_t exponent;

	while (lex_is_digit(text[at]))
		at++;
	if (text[at] == '.')
		at++;
	while (lex_is_digit(text[at]))
		at++;
	*ret_exponent = false;
	if (text[at] != 'e' && text[at] != 'E')
		return at;
	exponent = at + 1;
	if (text[exponent] == '+' || text[exponent] == '-')
		exponent++;
	if (!lex_is_digit(text[exponent]))
		return at;
	*ret_exponent = true;
	while (lex_is_digit(text[exponent]))
		exponent++;
	return exponent;
}

/* What strtod() makes of it where the decimal point is a point. */
static int lex_double(struct sonde_expr_lexer *lexer,
		      struct sonde_expr_token *token)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	char *end;

	if (!plain)
		return -ENOMEM;
	token->literal.value.type = SONDE_EXPR_DOUBLE;
	token->literal.value.d = strtod_l(lexer->text + lexer->at, &end, plain);
	freelocale(plain);
	lexer->at = (uint32_t)(end - lexer->text);
	return 0;
}

static int lex_decimal(struct sonde_expr_lexer *lexer,
		       struct sonde_expr_token *token)
{
	const char *text = lexer->text;
	bool exponent;
	uint32_t at = skip_decimal(text, lexer->at, &exponent);
	uint32_t end = skip_name(text, at);
	int64_t unit_ns =
		exponent ? 0 : sonde_date_time_unit_ns(text + at, end - at);
	bool whole =
		!exponent && !memchr(text + lexer->at, '.', at - lexer->at);

	if (unit_ns) {
		token->literal.value.type = SONDE_EXPR_INT;
		if (sonde_date_time_scale(text + lexer->at, at - lexer->at,
					  unit_ns, &token->literal.value.i))
			return sonde_expr_fail(lexer->error, text, lexer->at,
					       "a duration of more than "
					       "2^63 nanoseconds");
		lexer->at = end;
		return 0;
	}
	if (whole)
		return lex_integer(lexer, token, lexer->at,
				   text[lexer->at] == '0' ? 8 : 10);
	if (end != at)
		return sonde_expr_fail(lexer->error, text, at,
				       "unknown unit: numbers may have ns, us, "
				       "ms, s, m, h");
	return lex_double(lexer, token);
}

/* Times of day need their seconds: `a ? 12:30` is a choice of two numbers. */
static int lex_number(struct sonde_expr_lexer *lexer,
		      struct sonde_expr_token *token)
{
	const char *text = lexer->text + lexer->at;
	struct sonde_date_time moment = { 0 };
	size_t length = 0;
	int moment_found = sonde_date_time_scan(text, &length, &moment);

	if (moment_found == 1 && (moment.dated || moment.seconds)) {
		token->kind = SONDE_EXPR_TOKEN_MOMENT;
		token->moment = moment;
		lexer->at += (uint32_t)length;
		return 0;
	}
	if (moment_found < 0 && length > strlen("00:00"))
		return sonde_expr_fail(lexer->error, lexer->text, lexer->at,
				       "there is no time %.*s",
				       (int)(length > 64 ? 64 : length), text);
	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		return lex_integer(lexer, token, lexer->at + 2, 16);
	if (text[0] == '0' && (text[1] | 0x20) == 'b')
		return lex_integer(lexer, token, lexer->at + 2, 2);
	return lex_decimal(lexer, token);
}

/* ---- strings and characters ---- */

/* A literal's bytes as they are said, and as a glob that means the same. */
struct spelling {
	char *text, *glob;
	uint32_t length, glob_length;
	bool wild; /* has a '*' or '?' that isn't escaped */
};

/* c is said by an escape, or is one that means nothing to globs. */
static void add_plain(struct spelling *to, char c)
{
	if (c == '*' || c == '?' || c == '[' || c == '\\')
		to->glob[to->glob_length++] = '\\';
	to->glob[to->glob_length++] = c;
	to->text[to->length++] = c;
}

static void add_wild(struct spelling *to, char c)
{
	to->wild |= c == '*' || c == '?';
	to->glob[to->glob_length++] = c;
	to->text[to->length++] = c;
}

/* Digits of \nnn and \xnn; returns how many there are, at most `limit`. */
static uint32_t lex_take_code(const char *text, unsigned int base,
			      uint32_t limit, unsigned int *ret_code)
{
	uint32_t length = 0;

	*ret_code = 0;
	for (; length < limit && digit_value(text[length]) < base; length++)
		*ret_code = *ret_code * base + digit_value(text[length]);
	return length;
}

/* The escape at `at`, behind its backslash; returns its length, 0 if there is
 * no such. */
static uint32_t take_escape(const char *text, unsigned int *ret_code)
{
	static const char names[] = "abfnrtve\\\"'*?[]";
	static const char meant[] = "\a\b\f\n\r\t\v\033\\\"'*?[]";
	const char *found;
	uint32_t length;

	if (text[0] == 'x') {
		length = lex_take_code(text + 1, 16, 2, ret_code);
		return length ? length + 1 : 0;
	}
	length = lex_take_code(text, 8, 3, ret_code);
	if (length)
		return *ret_code < 256 ? length : 0;
	found = text[0] ? strchr(names, text[0]) : NULL;
	if (!found)
		return 0;
	*ret_code = (unsigned char)meant[found - names];
	return 1;
}

/* Up to the quote that ends it, from behind the one that begins it. */
static int lex_take_quoted(struct sonde_expr_lexer *lexer, char quote,
			   struct spelling *to)
{
	const char *text = lexer->text;
	uint32_t at = lexer->at + 1;

	while (text[at] && text[at] != quote) {
		unsigned int code;
		uint32_t length;

		if (text[at] != '\\') {
			add_wild(to, text[at++]);
			continue;
		}
		length = take_escape(text + at + 1, &code);
		if (!length)
			return sonde_expr_fail(lexer->error, text, at,
					       "unknown escape in a string");
		add_plain(to, (char)code);
		at += 1 + length;
	}
	if (!text[at])
		return sonde_expr_fail(lexer->error, text, lexer->at,
				       "expected a closing %c", quote);
	lexer->at = at + 1;
	return 0;
}

static int lex_quoted(struct sonde_expr_lexer *lexer,
		      struct sonde_expr_token *token)
{
	char quote = lexer->text[lexer->at];
	const char *close = strchr(lexer->text + lexer->at, 0);
	size_t room = (size_t)(close - (lexer->text + lexer->at));
	struct sonde_node_literal *literal = &token->literal;
	struct spelling to = {
		.text = sonde_pool_get(lexer->pool, 1, room + 1),
		.glob = sonde_pool_get(lexer->pool, 2, room + 1),
	};
	int err;

	if (!to.text || !to.glob)
		return -ENOMEM;
	err = lex_take_quoted(lexer, quote, &to);
	if (err)
		return err;
	if (quote == '\'') {
		if (to.length != 1)
			return sonde_expr_fail(
				lexer->error, lexer->text, token->offset,
				"'...' is one character of one byte; strings "
				"are written \"...\"");
		literal->value.type = SONDE_EXPR_INT;
		literal->value.i = (unsigned char)to.text[0];
		return 0;
	}
	if (to.wild && memchr(to.glob, 0, to.glob_length))
		return sonde_expr_fail(lexer->error, lexer->text, token->offset,
				       "a pattern can't have a zero byte");
	literal->value.type = SONDE_EXPR_STRING;
	literal->value.text = to.text;
	literal->value.length = to.length;
	literal->glob = to.wild ? to.glob : NULL;
	literal->glob_length = to.glob_length;
	return 0;
}

/* ---- operators ---- */

static int lex_operator(struct sonde_expr_lexer *lexer,
			struct sonde_expr_token *token)
{
	static const struct {
		char text[3];
		enum sonde_expr_token_kind kind;
		bool is_c;
	} operators[] = {
#define X(token, text, precedence, node) \
	{ text, SONDE_EXPR_TOKEN_##token, (node) >= SONDE_NODE_DEREFERENCE },
		SONDE_EXPR_OPERATORS(X)
#undef X
	};
	const char *text = lexer->text + lexer->at;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(operators); i++) {
		size_t length = strlen(operators[i].text);

		if (operators[i].is_c && !lexer->is_c)
			continue;
		if (strncmp(text, operators[i].text, length) == 0) {
			token->kind = operators[i].kind;
			lexer->at += (uint32_t)length;
			return 0;
		}
	}
	if (text[0] == '=')
		return sonde_expr_fail(lexer->error, lexer->text, lexer->at,
				       "'=' is no operator; '==' compares");
	if (text[0] > ' ' && text[0] < 127)
		return sonde_expr_fail(lexer->error, lexer->text, lexer->at,
				       "unexpected '%c'", text[0]);
	return sonde_expr_fail(lexer->error, lexer->text, lexer->at,
			       "unexpected byte 0x%02x",
			       (unsigned char)text[0]);
}

static int lex_one(struct sonde_expr_lexer *lexer,
		   struct sonde_expr_token *token)
{
	const char *text = lexer->text + lexer->at;

	if (!text[0])
		return 0;
	if (is_name_begin(text[0]))
		return lex_path(lexer, token);
	token->kind = SONDE_EXPR_TOKEN_VALUE;
	if (lex_is_digit(text[0]) || (text[0] == '.' && lex_is_digit(text[1])))
		return lex_number(lexer, token);
	if (text[0] == '"' || text[0] == '\'')
		return lex_quoted(lexer, token);
	return lex_operator(lexer, token);
}

int sonde_expr_lex(struct sonde_expr_lexer *lexer,
		   struct sonde_expr_token *ret_token)
{
	struct sonde_expr_token token = { .kind = SONDE_EXPR_TOKEN_END };
	int err;

	lexer->at += (uint32_t)strspn(lexer->text + lexer->at, " \t\r\n");
	token.offset = lexer->at;
	err = lex_one(lexer, &token);
	if (err)
		return err;
	token.length = lexer->at - token.offset;
	*ret_token = token;
	return 0;
}
