/* SPDX-License-Identifier: MIT */
/*
 * text.c - text appended to memory of the caller's (text.h).
 *
 * `length` counts what all of it would take; what is in memory is its
 * beginning, and ends with a NUL if there is room for one byte.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

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
