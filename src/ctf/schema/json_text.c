/* SPDX-License-Identifier: MIT */
/*
 * json_text.c - JSON text being put together (json_text.h).
 */
#include "ctf/schema/json_text.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 character at `text`, which a NUL ends; 0: it is none. */
static size_t character_size(const unsigned char *text)
{
	size_t more = *text < 0x80 ? 0 :
		      *text < 0xe0 ? 1 :
		      *text < 0xf0 ? 2 :
				     3;
	uint32_t code = *text & (0x7fu >> (more ? more + 1 : 0));
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };

	if ((*text >= 0x80 && *text < 0xc0) || *text >= 0xf8)
		return 0;
	for (size_t i = 1; i <= more; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	return more + 1;
}

static void put_string(struct sonde_text *text, const char *string)
{
	sonde_text_append(text, "\"", 1);
	while (*string) {
		unsigned char byte = (unsigned char)*string;
		size_t size = character_size((const unsigned char *)string);

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
