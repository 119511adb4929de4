/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.c - a mark's words into an event, and back (mark.h).
 *
 * A line is copied once, and then cut where its words end: each name and text is
 * followed by a NUL within the copy, which has room for one more than the line.
 * What a quoted text stands for is never longer than it, so it takes its place.
 */
#include "source/marks/mark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "types/build.h"
#include "types/desc.h"
#include "types/select.h"

#define BLANKS     " \t\n"
#define NO_FIELD   "is no field: write NAME=VALUE"
#define NAME_CHARS (SONDE_NAME_MAX - 1u)

/* ---- values ---- */

/* -12, 7, or 0x2a. */
static bool mark_is_integer(const char *text, struct sonde_marks_field *field)
{
	bool is_negative = *text == '-';
	bool is_hex = !strncmp(text, "0x", 2);
	const char *at = text + is_negative;
	uint64_t max = is_negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
	uint64_t number;

	if (!sonde_number_take_prefixed(&at, max, &number) || *at)
		return false;
	field->kind = SONDE_MARK_INTEGER;
	field->flags = is_hex                             ? SONDE_FIELD_HEX :
		       number > INT64_MAX && !is_negative ? 0 :
							    SONDE_FIELD_SIGNED;
	field->number = is_negative ? 0 - number : number;
	return true;
}

static bool mark_is_real(const char *text, struct sonde_marks_field *field)
{
	char *end;

	/* Not what strtod() takes besides: words, blanks, 0x1p3. */
	if (strspn(text, "+-.0123456789eE") != strlen(text) ||
	    !strpbrk(text, "0123456789") || !strpbrk(text, ".eE"))
		return false;
	field->real = strtod(text, &end);
	field->kind = SONDE_MARK_REAL;
	return !*end;
}

/* ---- words ---- */

void sonde_marks_begin(struct sonde_marks_line *mark)
{
	mark->provider = SONDE_MARK_PROVIDER;
	mark->name = NULL;
	mark->level = SONDE_INFO;
	mark->nr = 0;
}

const char *sonde_marks_set_name(struct sonde_marks_line *mark, char *word)
{
	char *colon = strchr(word, ':');
	size_t size = colon ? (size_t)(colon - word) : 0;
	const char *name = colon ? colon + 1 : word;

	if ((colon && !sonde_text_is_name(word, size)) ||
	    !sonde_text_is_name(name, strlen(name)) || size > NAME_CHARS ||
	    strlen(name) > NAME_CHARS)
		return "is no name of an event: write EVENT or "
		       "PROVIDER:EVENT, of letters, digits and '_'";
	/* State, and probes at the kernel's functions: readers believe them. */
	if (colon && (!strncmp(word, "sonde:", size + 1) ||
		      !strncmp(word, "kgdb:", size + 1)))
		return "is an event of Sonde's own: take another provider";
	if (colon) {
		*colon = '\0';
		mark->provider = word;
	}
	mark->name = name;
	return NULL;
}

/* 0, -E2BIG or -EEXIST. */
static int mark_new_field(struct sonde_marks_line *mark, const char *name,
			  size_t name_size,
			  struct sonde_marks_field **ret_field)
{
	for (uint32_t i = 0; i < mark->nr; i++)
		if (strlen(mark->fields[i].name) == name_size &&
		    !memcmp(mark->fields[i].name, name, name_size))
			return -EEXIST;
	if (mark->nr == SONDE_FIELDS_MAX)
		return -E2BIG;
	*ret_field = &mark->fields[mark->nr++];
	(*ret_field)->name = name;
	return 0;
}

const char *sonde_marks_add_field(struct sonde_marks_line *mark, char *word,
				  bool is_text)
{
	struct sonde_marks_field *field;
	char *equals = strchr(word, '=');
	int rc;

	if (!equals || !sonde_text_is_name(word, (size_t)(equals - word)))
		return NO_FIELD;
	rc = mark_new_field(mark, word, (size_t)(equals - word), &field);
	if (rc)
		return rc == -EEXIST ? "is the name of two fields" :
				       "is one field too many";
	*equals = '\0';
	field->text = equals + 1;
	if (is_text || (!mark_is_integer(field->text, field) &&
			!mark_is_real(field->text, field)))
		field->kind = SONDE_MARK_STRING;
	return NULL;
}

int sonde_marks_add_text(struct sonde_marks_line *mark, const char *name,
			 const char *text)
{
	struct sonde_marks_field *field;
	int rc = mark_new_field(mark, name, strlen(name), &field);

	if (rc)
		return rc;
	field->kind = SONDE_MARK_STRING;
	field->text = text;
	return 0;
}

/* ---- a line ---- */

/* The bytes up to what ends them, into our room. */
static char *mark_copy(struct sonde_marks_line *mark, const char *line,
		       size_t size)
{
	const char *nul = memchr(line, 0, size);

	if (nul)
		size = (size_t)(nul - line);
	while (size && strchr(BLANKS, line[size - 1]))
		size--;
	if (size > SONDE_MARK_MAX)
		size = SONDE_MARK_MAX;
	memcpy(mark->words, line, size);
	mark->words[size] = '\0';
	return mark->words;
}

/* "<3>", if it begins so. */
static char *mark_take_level(struct sonde_marks_line *mark, char *at)
{
	const char *end = at + 1;
	uint64_t level;

	if (*at != '<' ||
	    !sonde_number_take(&end, 10, SONDE_LEVELS - 1, &level) ||
	    *end != '>')
		return at;
	mark->level = (uint32_t)level;
	return at + (end + 1 - at);
}

/* Takes the text behind a quote out of its quotes. What follows it; or NULL: it
 * doesn't end, a blank isn't behind it, or it has a '\' that stands for nothing. */
static char *mark_unquote(char *at)
{
	static const char letters[] = "\"\\nt";
	static const char meanings[] = "\"\\\n\t";
	char *to = at;

	for (; *at != '"'; at++) {
		const char *letter;

		if (*at == '\\') {
			letter = *++at ? strchr(letters, *at) : NULL;
			if (!letter)
				return NULL;
			*to++ = meanings[letter - letters];
		} else if (*at) {
			*to++ = *at;
		} else {
			return NULL;
		}
	}
	*to = '\0';
	at++;
	return !*at || strchr(BLANKS, *at) ? at : NULL;
}

/* FIELD=VALUE at `at`; *ret_next is what follows. */
static const char *mark_take_field(struct sonde_marks_line *mark, char *at,
				   char **ret_next)
{
	char *value = at + strcspn(at, "=" BLANKS);
	bool is_quoted = value[0] == '=' && value[1] == '"';
	char *end = at + strcspn(at, BLANKS);

	if (is_quoted) {
		end = mark_unquote(value + 2);
		if (!end)
			return "has a text that doesn't end";
		/* Its first quote goes as well. */
		memmove(value + 1, value + 2, strlen(value + 2) + 1);
	} else if (*end) {
		*end++ = '\0';
	}
	*ret_next = end;
	return sonde_marks_add_field(mark, at, is_quoted);
}

const char *sonde_marks_parse(struct sonde_marks_line *mark, const char *line,
			      size_t size)
{
	const char *wrong;
	char *next;
	char *at;

	sonde_marks_begin(mark);
	at = mark_take_level(mark, mark_copy(mark, line, size));
	at += strspn(at, BLANKS);
	next = at + strcspn(at, BLANKS);
	if (*next)
		*next++ = '\0';
	wrong = sonde_marks_set_name(mark, at);
	while (!wrong && *(at = next + strspn(next, BLANKS)))
		wrong = mark_take_field(mark, at, &next);
	return wrong;
}

void sonde_marks_take_text(struct sonde_marks_line *mark, const char *line,
			   size_t size)
{
	const char *text;

	sonde_marks_begin(mark);
	text = mark_take_level(mark, mark_copy(mark, line, size));
	mark->name = SONDE_MARK_LINE;
	(void)sonde_marks_add_text(mark, SONDE_MARK_TEXT, text); /* the first */
}

/* ---- the event ---- */

int sonde_marks_describe(const struct sonde_marks_line *mark, bool is_kernel,
			 void *room)
{
	char name[2 * SONDE_NAME_MAX];
	struct sonde_build build;

	(void)snprintf(name, sizeof(name), "%s:%s", mark->provider, mark->name);
	sonde_build_begin(&build, room,
			  is_kernel ? SONDE_MARK_PROVIDER : mark->provider,
			  is_kernel ? name : mark->name,
			  (enum sonde_loglevel)mark->level);
	for (uint32_t i = 0; i < mark->nr; i++) {
		const struct sonde_marks_field *field = &mark->fields[i];

		switch (field->kind) {
		case SONDE_MARK_INTEGER:
			sonde_build_int(&build, field->name, 64, field->flags);
			break;
		case SONDE_MARK_REAL:
			sonde_build_float(&build, field->name, 64);
			break;
		case SONDE_MARK_STRING:
			sonde_build_string(&build, field->name);
			break;
		}
	}
	return sonde_build_end(&build);
}

uint64_t sonde_marks_loss(const struct sonde_marks_line *mark)
{
	uint64_t loss = 0;

	if (strcmp(mark->provider, SONDE_MARK_LOSS_PROVIDER) ||
	    strcmp(mark->name, SONDE_MARK_LOSS_NAME))
		return 0;
	for (uint32_t i = 0; i < mark->nr; i++) {
		const struct sonde_marks_field *field = &mark->fields[i];

		if (!strcmp(field->name, SONDE_MARK_LOSS_FIELD) &&
		    field->kind == SONDE_MARK_INTEGER &&
		    (!(field->flags & SONDE_FIELD_SIGNED) ||
		     (int64_t)field->number > 0))
			loss = field->number;
	}
	return loss < SONDE_MARK_LOSS_MAX ? loss : SONDE_MARK_LOSS_MAX;
}

size_t sonde_marks_put_payload(const struct sonde_marks_line *mark,
			       uint8_t *out)
{
	uint8_t *at = out;

	for (uint32_t i = 0; i < mark->nr; i++) {
		const struct sonde_marks_field *field = &mark->fields[i];
		bool is_text = field->kind == SONDE_MARK_STRING;
		size_t size = is_text ? strlen(field->text) + 1 : 8;

		memcpy(at, is_text ? field->text : (const void *)&field->number,
		       size);
		at += size;
	}
	return (size_t)(at - out);
}

/* ---- as words ---- */

struct mark_out {
	char *at, *end; /* room for a NUL is behind `end` */
	bool is_cut;
};

static void mark_put(struct mark_out *out, const char *text)
{
	size_t size = strlen(text);

	if (out->is_cut || size > (size_t)(out->end - out->at)) {
		out->is_cut = true;
		return;
	}
	memcpy(out->at, text, size + 1);
	out->at += size;
}

static void mark_put_quoted(struct mark_out *out, const char *text)
{
	mark_put(out, "\"");
	for (; *text; text++) {
		const char letter[2] = { *text };

		mark_put(out, *text == '"'  ? "\\\"" :
			      *text == '\\' ? "\\\\" :
			      *text == '\n' ? "\\n" :
			      *text == '\t' ? "\\t" :
					      letter);
	}
	mark_put(out, "\"");
}

size_t sonde_marks_write(const struct sonde_marks_line *mark, char *out,
			 size_t size)
{
	struct mark_out to = { .at = out, .end = out + size - 1 };
	char level[8];

	(void)snprintf(level, sizeof(level), "<%u>", mark->level % 100);
	mark_put(&to, mark->level == SONDE_INFO ? "" : level);
	mark_put(&to, mark->provider);
	mark_put(&to, ":");
	mark_put(&to, mark->name);
	for (uint32_t i = 0; i < mark->nr; i++) {
		const struct sonde_marks_field *field = &mark->fields[i];

		mark_put(&to, " ");
		mark_put(&to, field->name);
		mark_put(&to, "=");
		if (field->kind == SONDE_MARK_STRING)
			mark_put_quoted(&to, field->text);
		else
			mark_put(&to, field->text);
	}
	mark_put(&to, "\n");
	return to.is_cut || to.at - out > (ptrdiff_t)SONDE_MARK_MAX ?
		       0 :
		       (size_t)(to.at - out);
}
