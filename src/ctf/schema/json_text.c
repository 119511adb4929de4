/* SPDX-License-Identifier: MIT */
/*
 * json_text.c - JSON text being put together (json_text.h).
 */
#include "ctf/schema/json_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

static void put_string(struct sonde_text *text, const char *string)
{
	sonde_text_append(text, "\"", 1);
	while (*string) {
		unsigned char byte = (unsigned char)*string;
		uint32_t code;
		size_t size =
			sonde_utf8_decode(string, strnlen(string, 4), &code);

		if (size == 0)
			sonde_text_puts(text, "\xef\xbf\xbd");
		else if (byte < ' ')
			sonde_text_printf(text, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			sonde_text_printf(text, "\\%c", byte);
		else
			sonde_text_append(text, string, size);
		string += size ? size : 1;
	}
	sonde_text_append(text, "\"", 1);
}

/* The comma, if it isn't the first one here, and the name. */
static void begin(struct sonde_text *text, const char *name)
{
	if (text->size > 0 && !strchr("{[:", text->bytes[text->size - 1]))
		sonde_text_append(text, ",", 1);
	if (name) {
		put_string(text, name);
		sonde_text_append(text, ":", 1);
	}
}

void sonde_json_open(struct sonde_text *text, const char *name, char bracket)
{
	begin(text, name);
	sonde_text_append(text, &bracket, 1);
}

void sonde_json_close(struct sonde_text *text, char bracket)
{
	sonde_text_append(text, &bracket, 1);
}

void sonde_json_put_text(struct sonde_text *text, const char *name,
			 const char *value)
{
	begin(text, name);
	put_string(text, value);
}

void sonde_json_put_unsigned(struct sonde_text *text, const char *name,
			     uint64_t value)
{
	begin(text, name);
	sonde_text_printf(text, "%" PRIu64, value);
}

void sonde_json_put_signed(struct sonde_text *text, const char *name,
			   int64_t value)
{
	begin(text, name);
	sonde_text_printf(text, "%" PRId64, value);
}

void sonde_json_put_raw(struct sonde_text *text, const char *name,
			const char *json)
{
	begin(text, name);
	sonde_text_puts(text, json);
}
