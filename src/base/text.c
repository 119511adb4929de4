/* SPDX-License-Identifier: MIT */
/*
 * text.c - text appended to memory of the caller's, and lists in text (text.h).
 *
 * `length` counts what all of it would take; what is in memory is its
 * beginning, and ends with a NUL if there is room for one byte.
 */
#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sonde_text_add(struct sonde_text *text, const char *format, ...)
{
	size_t room = text->length < text->size ? text->size - text->length : 0;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(room ? text->to + text->length : NULL, room, format,
			   args);
	va_end(args);
	if (length > 0)
		text->length += (size_t)length;
}

int sonde_text_say(char *to, size_t size, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(to, size, format, args);
	va_end(args);
	return rc;
}

size_t sonde_text_item(const char *list, char between)
{
	char quote = 0;
	int depth = 0;
	size_t n;

	for (n = 0; list[n]; n++) {
		char c = list[n];

		if (quote) {
			if (c == '\\' && list[n + 1])
				n++;
			else if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (strchr("([{", c)) {
			depth++;
		} else if (strchr(")]}", c)) {
			depth--;
		} else if (c == between && depth <= 0) {
			break;
		}
	}
	return n;
}

bool sonde_text_is_name(const char *text, size_t size)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return size && strspn(text, letters) >= size &&
	       (*text < '0' || *text > '9');
}

const char *sonde_text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *sonde_text_skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

size_t sonde_text_trim(const char *text, size_t length)
{
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return length;
}
