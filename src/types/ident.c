/* SPDX-License-Identifier: MIT */
/*
 * ident.c - identifiers out of C expressions (the last part of desc.h).
 *
 * An expression that is one chain of names, `a->b[i].c` and the like, is named
 * after its last link. Any other becomes the words in it, joined by '_'.
 */
#include "types/desc.h"

#include "base/port.h"

static bool ident_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/*
 * The last link of a chain, or `expr` itself if it isn't a chain. Brackets are
 * skipped: what is in them doesn't make links.
 */
static const char *last_link(const char *expr)
{
	const char *link = expr;
	uint32_t depth = 0;

	if (*expr >= '0' && *expr <= '9')
		return expr;
	for (const char *p = expr; *p; p++) {
		if (*p == '(' || *p == '[')
			depth++;
		else if (*p == ')' || *p == ']')
			depth -= depth > 0;
		else if (depth > 0 || ident_is_word(*p))
			continue;
		else if (*p == '.')
			link = p + 1;
		else if (*p == '-' && p[1] == '>')
			link = ++p + 1;
		else if (*p != ' ')
			return expr;
	}
	return link;
}

/* Copy the words of `text` joined by '_'; returns the length. */
static size_t join_words(const char *text, char *out, size_t room)
{
	size_t n = 0;
	bool gap = false;

	for (; *text && n + 1 < room; text++) {
		if (!ident_is_word(*text)) {
			gap = n > 0;
			continue;
		}
		if (gap && n + 2 < room)
			out[n++] = '_';
		gap = false;
		out[n++] = *text;
	}
	return n;
}

static size_t ident_copy_text(const char *text, char *out, size_t room)
{
	size_t n = 0;

	for (; text[n] && n + 1 < room; n++)
		out[n] = text[n];
	out[n] = 0;
	return n;
}

size_t sonde_field_ident(const char *expr, char *out, size_t room)
{
	size_t n;

	while (*expr == '*' || *expr == '&' || *expr == ' ')
		expr++;
	expr = last_link(expr);
	n = join_words(expr, out, room);
	if (n == 0)
		return ident_copy_text("field", out, room);
	out[n] = 0;
	if (out[0] >= '0' && out[0] <= '9') {
		/* A leading letter; the last character goes if it must. */
		if (n + 1 == room)
			n--;
		for (size_t i = n; i > 0; i--)
			out[i] = out[i - 1];
		out[0] = 'v';
		out[++n] = 0;
	}
	return n;
}

static bool ident_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool taken(const struct sonde_desc_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->nr; i++) {
		if (ident_equal(names->name[i], name))
			return true;
	}
	return false;
}

/* Room for '_', the digits of a suffix and a NUL. */
#define SUFFIX_ROOM 6

static void append_suffix(char *name, size_t length, uint32_t suffix)
{
	char digits[SUFFIX_ROOM];
	uint32_t n = 0;

	if (length > SONDE_IDENT_MAX - SUFFIX_ROOM)
		length = SONDE_IDENT_MAX - SUFFIX_ROOM;
	name[length++] = '_';
	for (; suffix > 0 && n < SUFFIX_ROOM - 2; suffix /= 10)
		digits[n++] = (char)('0' + suffix % 10);
	while (n > 0)
		name[length++] = digits[--n];
	name[length] = 0;
}

const char *sonde_desc_names_add(struct sonde_desc_names *names,
				 const char *expr)
{
	uint32_t last = SONDE_ARRAY_SIZE(names->name) - 1;
	char *name;
	size_t length;

	/* More names than a scope can have: the caller's mistake, and the last
	 * ones then share their place. */
	name = names->name[names->nr < last ? names->nr : last];
	length = sonde_field_ident(expr, name, SONDE_IDENT_MAX);
	for (uint32_t i = 2; taken(names, name); i++)
		append_suffix(name, length, i);
	if (names->nr < last)
		names->nr++;
	return name;
}
