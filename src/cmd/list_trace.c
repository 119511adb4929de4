/* SPDX-License-Identifier: MIT */
/*
 * list_trace.c - events out of the metadata of a trace of Sonde's (list.h).
 *
 * It reads what ctf/tsdl.h writes and no more: types stand where they are
 * used, structures hold declarations of `type name;` with perhaps `[length]`
 * after the name, and what isn't an event is skipped up to its closing brace.
 * A stack of the structures it is in stands in for recursion.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/list.h"

#define WORD_MAX 512
#define NEST_MAX 16

enum token_kind {
	END,
	WORD,
	STRING,
	MARK,
	BAD
};

struct token {
	enum token_kind kind;
	char mark;
	char text[WORD_MAX]; /* of a WORD or STRING; cut if it is longer */
};

/* A structure or variant that is being read. */
struct level {
	size_t start; /* of its type in the text */
	bool variant;
	uint32_t nr;
};

struct parser {
	const char *at;
	const char *end;
	struct token token; /* the next one */
	const struct sonde_list_sink *sink;
	struct sonde_list_text *text;
	uint32_t depth;
	struct level level[NEST_MAX];
	char event[WORD_MAX];
	uint32_t loglevel;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
	       c == '+';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool skip_comment(struct parser *parser)
{
	const char *end;

	if (parser->end - parser->at < 2 || parser->at[0] != '/' ||
	    parser->at[1] != '*')
		return false;
	end = memmem(parser->at + 2, (size_t)(parser->end - parser->at - 2),
		     "*/", 2);
	parser->at = end ? end + 2 : parser->end;
	return true;
}

static void skip_blanks(struct parser *parser)
{
	while (parser->at < parser->end) {
		if (is_space(*parser->at))
			parser->at++;
		else if (!skip_comment(parser))
			return;
	}
}

static void keep(struct token *token, size_t *n, char c)
{
	if (*n + 1 < sizeof(token->text))
		token->text[(*n)++] = c;
}

static void read_string(struct parser *parser)
{
	struct token *token = &parser->token;
	size_t n = 0;

	token->kind = BAD;
	for (parser->at++; parser->at < parser->end; parser->at++) {
		char c = *parser->at;

		if (c == '"') {
			parser->at++;
			token->kind = STRING;
			break;
		}
		if (c == '\\' && parser->end - parser->at > 1)
			c = *++parser->at;
		/* It goes to a terminal. */
		if (c < ' ' || c > '~')
			c = '?';
		keep(token, &n, c);
	}
	token->text[n] = 0;
}

static void read_word(struct parser *parser)
{
	struct token *token = &parser->token;
	size_t n = 0;

	token->kind = WORD;
	while (parser->at < parser->end && is_word(*parser->at))
		keep(token, &n, *parser->at++);
	token->text[n] = 0;
}

/* Move to the next token. */
static void next(struct parser *parser)
{
	struct token *token = &parser->token;

	skip_blanks(parser);
	if (parser->at == parser->end) {
		token->kind = END;
	} else if (*parser->at == '"') {
		read_string(parser);
	} else if (is_word(*parser->at)) {
		read_word(parser);
	} else {
		token->kind = MARK;
		token->mark = *parser->at++;
	}
}

static bool at_mark(const struct parser *parser, char mark)
{
	return parser->token.kind == MARK && parser->token.mark == mark;
}

static bool at_word(const struct parser *parser, const char *word)
{
	return parser->token.kind == WORD &&
	       strcmp(parser->token.text, word) == 0;
}

static bool take_mark(struct parser *parser, char mark)
{
	if (!at_mark(parser, mark))
		return false;
	next(parser);
	return true;
}

static bool at_end(const struct parser *parser)
{
	return parser->token.kind == END || parser->token.kind == BAD;
}

/* Past the block that the next '{' opens, or a ';' before it. */
static void skip_block(struct parser *parser)
{
	uint32_t depth = 0;

	while (!at_end(parser)) {
		if (at_mark(parser, '{'))
			depth++;
		else if (at_mark(parser, '}') && depth > 0)
			depth--;
		else if (at_mark(parser, ';') && depth == 0)
			break;
		next(parser);
	}
	next(parser);
}

/* What `integer { ... }` and `floating_point { ... }` say. */
struct number {
	unsigned size;
	unsigned mantissa;
	bool is_signed;
	bool hex;
	bool big;
	bool text;
};

static void read_attribute(struct parser *parser, struct number *number)
{
	char name[WORD_MAX];
	const char *value = parser->token.text;

	memcpy(name, parser->token.text, sizeof(name));
	next(parser);
	if (!take_mark(parser, '=') || parser->token.kind != WORD)
		return;
	if (strcmp(name, "size") == 0)
		number->size = (unsigned)strtoul(value, NULL, 10);
	else if (strcmp(name, "mant_dig") == 0)
		number->mantissa = (unsigned)strtoul(value, NULL, 10);
	else if (strcmp(name, "signed") == 0)
		number->is_signed = *value == '1' || *value == 't';
	else if (strcmp(name, "base") == 0)
		number->hex = strcmp(value, "16") == 0;
	else if (strcmp(name, "byte_order") == 0)
		number->big = strcmp(value, "be") == 0;
	else if (strcmp(name, "encoding") == 0)
		number->text = true;
	next(parser);
}

/* The `{ a = b; ... }` after a number's or a string's keyword, if any. */
static int read_attributes(struct parser *parser, struct number *number)
{
	if (!take_mark(parser, '{'))
		return 0;
	while (!at_mark(parser, '}')) {
		if (parser->token.kind != WORD)
			return -EINVAL;
		read_attribute(parser, number);
		if (!take_mark(parser, ';'))
			return -EINVAL;
	}
	next(parser);
	return 0;
}

static int read_number(struct parser *parser, bool is_float)
{
	struct number number = { 0 };
	int error = read_attributes(parser, &number);

	if (is_float)
		sonde_list_say(parser->text, "f%u",
			       number.mantissa == 24 ? 32 : 64);
	else if (number.text)
		sonde_list_say(parser->text, "char");
	else
		sonde_list_say(parser->text, "%c%u",
			       number.is_signed ? 'i' : 'u', number.size);
	sonde_list_say(parser->text, "%s%s", number.hex ? " hex" : "",
		       number.big ? " be" : "");
	return error;
}

/* `_x` means x. */
static const char *plain(const char *name)
{
	return name[0] == '_' ? name + 1 : name;
}

/* `enum : integer {...} { label = first ... last, ... }` */
static int read_enum(struct parser *parser)
{
	const char *separator = "";
	int error;

	if (!take_mark(parser, ':') || !at_word(parser, "integer"))
		return -EINVAL;
	next(parser);
	sonde_list_say(parser->text, "enum ");
	error = read_number(parser, false);
	if (error != 0 || !take_mark(parser, '{'))
		return -EINVAL;
	sonde_list_say(parser->text, " {");
	while (!at_mark(parser, '}')) {
		if (parser->token.kind != WORD && parser->token.kind != STRING)
			return -EINVAL;
		sonde_list_say(parser->text, "%s%s", separator,
			       parser->token.kind == WORD ?
				       plain(parser->token.text) :
				       parser->token.text);
		next(parser);
		if (take_mark(parser, '=') && parser->token.kind == WORD) {
			sonde_list_say(parser->text, "=%s", parser->token.text);
			next(parser);
		}
		if (at_word(parser, "...")) {
			next(parser);
			sonde_list_say(parser->text, "..%s",
				       parser->token.text);
			next(parser);
		}
		separator = ", ";
		(void)take_mark(parser, ',');
	}
	next(parser);
	sonde_list_say(parser->text, "}");
	return 0;
}

static int open_level(struct parser *parser, bool variant)
{
	struct level *level;

	if (variant) {
		while (!at_end(parser) && !at_mark(parser, '{'))
			next(parser);
	}
	if (!take_mark(parser, '{') || parser->depth + 1 == NEST_MAX)
		return -EINVAL;
	level = &parser->level[++parser->depth];
	level->start = parser->text->used;
	level->variant = variant;
	level->nr = 0;
	sonde_list_say(parser->text, variant ? "<" : "{");
	return 0;
}

/* Put `name` and a blank before what was said since `start`. */
static void say_before(struct sonde_list_text *text, size_t start,
		       const char *name)
{
	size_t length = strlen(name);
	size_t used = text->used;

	if (used + length + 1 >= sizeof(text->bytes))
		return;
	memmove(text->bytes + start + length + 1, text->bytes + start,
		used - start);
	memcpy(text->bytes + start, name, length);
	text->bytes[start + length] = ' ';
	text->used = used + length + 1;
	text->bytes[text->used] = 0;
}

/* Whether what was said from `start` on ends with `ending`, which goes. */
static bool cut_ending(struct sonde_list_text *text, size_t start,
		       const char *ending)
{
	size_t length = strlen(ending);

	if (text->used - start != length ||
	    memcmp(text->bytes + start, ending, length) != 0)
		return false;
	text->used = start;
	text->bytes[start] = 0;
	return true;
}

/* `[N]` or `[_field]` after a name, if any. */
static int read_length(struct parser *parser, size_t start)
{
	struct sonde_list_text *text = parser->text;
	const char *length = parser->token.text;

	if (!take_mark(parser, '['))
		return 0;
	if (parser->token.kind != WORD)
		return -EINVAL;
	if (length[0] < '0' || length[0] > '9') {
		if (cut_ending(text, start, "u8 hex"))
			sonde_list_say(text, "blob");
		else
			sonde_list_say(text, "[]");
	} else if (cut_ending(text, start, "char")) {
		sonde_list_say(text, "text[%s]", length);
	} else {
		sonde_list_say(text, "[%s]", length);
	}
	next(parser);
	return take_mark(parser, ']') ? 0 : -EINVAL;
}

/* Whether the declaration that comes next is of a sequence as long as the
 * field `name` says. */
static bool is_length_of_next(const struct parser *parser, const char *name)
{
	struct parser ahead = *parser;
	uint32_t depth = 0;

	while (!at_end(&ahead) && !(depth == 0 && at_mark(&ahead, ';'))) {
		if (at_mark(&ahead, '{')) {
			depth++;
		} else if (at_mark(&ahead, '}')) {
			if (depth-- == 0)
				return false;
		} else if (depth == 0 && take_mark(&ahead, '[')) {
			return at_word(&ahead, name);
		}
		next(&ahead);
	}
	return false;
}

/*
 * A name, and what may follow it, after the type that was said from `start`
 * on. At the outermost level the field is delivered. A sequence's length is
 * its own affair.
 */
static int read_name(struct parser *parser, size_t start)
{
	struct level *level = &parser->level[parser->depth];
	char name[WORD_MAX];
	int error;

	if (parser->token.kind != WORD)
		return -EINVAL;
	memcpy(name, parser->token.text, sizeof(name));
	next(parser);
	error = read_length(parser, start);
	if (error != 0 || !take_mark(parser, ';'))
		return -EINVAL;
	if (strncmp(name, "__", 2) == 0 && is_length_of_next(parser, name)) {
		parser->text->used = start;
		parser->text->bytes[start] = 0;
		return 0;
	}
	if (parser->depth == 0) {
		error = parser->sink->field(parser->sink->user, plain(name),
					    parser->text->bytes + start);
		parser->text->used = 0;
		return error;
	}
	say_before(parser->text, start, plain(name));
	if (level->nr++ > 0)
		say_before(parser->text, start, level->variant ? " |" : ",");
	return 0;
}

static int read_declaration(struct parser *parser)
{
	size_t start = parser->text->used;
	bool variant = at_word(parser, "variant");
	struct number number = { 0 };
	int error = -EINVAL;

	if (variant || at_word(parser, "struct")) {
		next(parser);
		return open_level(parser, variant);
	}
	if (at_word(parser, "integer")) {
		next(parser);
		error = read_number(parser, false);
	} else if (at_word(parser, "floating_point")) {
		next(parser);
		error = read_number(parser, true);
	} else if (at_word(parser, "enum")) {
		next(parser);
		error = read_enum(parser);
	} else if (at_word(parser, "string")) {
		next(parser);
		sonde_list_say(parser->text, "string");
		error = read_attributes(parser, &number);
	}
	return error ? error : read_name(parser, start);
}

/* The fields after `fields := struct {`. */
static int read_fields(struct parser *parser)
{
	int error = 0;

	parser->depth = 0;
	parser->text->used = 0;
	parser->text->bytes[0] = 0;
	while (error == 0) {
		struct level *level = &parser->level[parser->depth];

		if (!at_mark(parser, '}')) {
			error = read_declaration(parser);
			continue;
		}
		next(parser);
		if (parser->depth == 0)
			return take_mark(parser, ';') ? 0 : -EINVAL;
		sonde_list_say(parser->text, level->variant ? ">" : "}");
		parser->depth--;
		error = read_name(parser, level->start);
	}
	return error;
}

/* One `name = value;` of an event, or its fields. */
static int read_property(struct parser *parser)
{
	char name[WORD_MAX];

	if (parser->token.kind != WORD)
		return -EINVAL;
	memcpy(name, parser->token.text, sizeof(name));
	next(parser);
	(void)take_mark(parser, ':');
	if (!take_mark(parser, '='))
		return -EINVAL;
	if (strcmp(name, "fields") == 0) {
		int error = parser->sink->event(
			parser->sink->user, parser->event, parser->loglevel);

		if (error != 0)
			return error;
		if (!at_word(parser, "struct"))
			return -EINVAL;
		next(parser);
		return take_mark(parser, '{') ? read_fields(parser) : -EINVAL;
	}
	if (strcmp(name, "name") == 0)
		memcpy(parser->event, parser->token.text,
		       sizeof(parser->event));
	else if (strcmp(name, "loglevel") == 0)
		parser->loglevel =
			(uint32_t)strtoul(parser->token.text, NULL, 10);
	next(parser);
	return take_mark(parser, ';') ? 0 : -EINVAL;
}

static int read_event(struct parser *parser)
{
	int error = 0;

	parser->event[0] = 0;
	parser->loglevel = 0;
	if (!take_mark(parser, '{'))
		return -EINVAL;
	while (error == 0 && !at_mark(parser, '}'))
		error = read_property(parser);
	next(parser);
	return error || take_mark(parser, ';') ? error : -EINVAL;
}

int sonde_list_trace(const char *text, size_t size,
		     const struct sonde_list_sink *sink)
{
	struct parser *parser;
	int error = 0;

	if (size < 10 || memcmp(text, "/* CTF 1.8", 10) != 0)
		return -EINVAL;
	parser = calloc(1, sizeof(*parser));
	if (!parser)
		return -ENOMEM;
	parser->text = calloc(1, sizeof(*parser->text));
	if (!parser->text)
		error = -ENOMEM;
	parser->at = text;
	parser->end = text + size;
	parser->sink = sink;
	next(parser);
	while (error == 0 && parser->token.kind != END) {
		if (at_word(parser, "event")) {
			next(parser);
			error = read_event(parser);
		} else if (parser->token.kind == BAD) {
			error = -EINVAL;
		} else {
			skip_block(parser);
		}
	}
	free(parser->text);
	free(parser);
	return error;
}
