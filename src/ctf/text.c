/* SPDX-License-Identifier: MIT */
/*
 * text.c - text that grows (text.h).
 */
#include "ctf/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sonde_ctf_text_fini(struct sonde_ctf_text *text)
{
	free(text->bytes);
	*text = (struct sonde_ctf_text){ 0 };
}

/* Make room for `more` bytes; returns where they go, or NULL. */
static char *ctf_text_make_room(struct sonde_ctf_text *text, size_t more)
{
	size_t room = text->room ? text->room : 1024;
	char *bytes;

	if (text->error)
		return NULL;
	while (room - text->size < more)
		room *= 2;
	if (room != text->room) {
		bytes = realloc(text->bytes, room);
		if (!bytes) {
			text->error = -ENOMEM;
			return NULL;
		}
		text->bytes = bytes;
		text->room = room;
	}
	return text->bytes + text->size;
}

void sonde_ctf_text_append(struct sonde_ctf_text *text, const char *bytes,
			   size_t size)
{
	char *to = ctf_text_make_room(text, size);

	if (to && size > 0) {
		memcpy(to, bytes, size);
		text->size += size;
	}
}

void sonde_ctf_text_puts(struct sonde_ctf_text *text, const char *string)
{
	sonde_ctf_text_append(text, string, strlen(string));
}

void sonde_ctf_text_printf(struct sonde_ctf_text *text, const char *format, ...)
{
	va_list args;
	char *to;
	int size;

	va_start(args, format);
	size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	to = size < 0 ? NULL : ctf_text_make_room(text, (size_t)size + 1);
	if (!to) {
		text->error = -ENOMEM;
		return;
	}
	va_start(args, format);
	(void)vsnprintf(to, (size_t)size + 1, format, args);
	va_end(args);
	text->size += (size_t)size;
}

void sonde_ctf_text_cut(struct sonde_ctf_text *text, size_t size)
{
	text->size = size;
	text->error = 0;
}
