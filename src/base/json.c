/* SPDX-License-Identifier: MIT */
/*
 * json.c - JSON being written (json.h).
 *
 * begin() writes what stands before a value, in this order: the comma, the new
 * line or the blank, the name. Nesting needs no stack: behind '{' and '[' no
 * comma is due, behind anything else one is.
 */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/escape.h"

static void put_file(void *to, const char *bytes, size_t size)
{
	(void)fwrite(bytes, 1, size, to);
}

struct sonde_json sonde_json_to_file(FILE *to)
{
	return (struct sonde_json){
		.put = put_file,
		.to = to,
		.blanks = true,
	};
}

/* Letters, digits and the like: what stands for itself, and is most. */
static bool json_is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_quoted(const struct sonde_json *json, const char *text,
		       size_t size)
{
	json->put(json->to, "\"", 1);
	while (size > 0) {
		char escape[SONDE_ESCAPE_MAX];
		size_t used = 0;

		while (used < size && json_is_plain(text[used]))
			used++;
		if (used > 0)
			json->put(json->to, text, used);
		else
			json->put(json->to, escape,
				  sonde_escape_json(text, size, escape, &used));
		text += used;
		size -= used;
	}
	json->put(json->to, "\"", 1);
}

static void put_line(struct sonde_json *json)
{
	json->put(json->to, "\n", 1);
	for (unsigned int i = 0; i < json->indent; i++)
		json->put(json->to, " ", 1);
	json->new_line = false;
}

static void begin(struct sonde_json *json, const char *name)
{
	if (json->comma)
		json->put(json->to, ", ",
			  json->blanks && !json->new_line ? 2 : 1);
	if (json->new_line)
		put_line(json);
	if (name) {
		put_quoted(json, name, strlen(name));
		json->put(json->to, ": ", json->blanks ? 2 : 1);
	}
	json->comma = true;
}

void sonde_json_name(struct sonde_json *json, const char *name)
{
	begin(json, name);
}

void sonde_json_open(struct sonde_json *json, const char *name, char bracket)
{
	begin(json, name);
	json->put(json->to, &bracket, 1);
	json->comma = false;
}

void sonde_json_close(struct sonde_json *json, char bracket)
{
	if (json->new_line)
		put_line(json);
	json->put(json->to, &bracket, 1);
	json->comma = true;
}

void sonde_json_line(struct sonde_json *json, unsigned char indent)
{
	json->new_line = true;
	json->indent = indent;
}

void sonde_json_put_raw(struct sonde_json *json, const char *name,
			const char *value)
{
	begin(json, name);
	json->put(json->to, value, strlen(value));
}

void sonde_json_put_bytes(struct sonde_json *json, const char *name,
			  const char *value, size_t size)
{
	begin(json, name);
	put_quoted(json, value, size);
}

void sonde_json_put_text(struct sonde_json *json, const char *name,
			 const char *value)
{
	if (value)
		sonde_json_put_bytes(json, name, value, strlen(value));
	else
		sonde_json_put_raw(json, name, "null");
}

static void json_put_number(struct sonde_json *json, const char *name,
			    uint64_t value, bool negative)
{
	char digits[21];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	if (negative)
		digits[--at] = '-';
	begin(json, name);
	json->put(json->to, digits + at, sizeof(digits) - at);
}

void sonde_json_put_unsigned(struct sonde_json *json, const char *name,
			     uint64_t value)
{
	json_put_number(json, name, value, false);
}

void sonde_json_put_signed(struct sonde_json *json, const char *name,
			   int64_t value)
{
	json_put_number(json, name,
			value < 0 ? -(uint64_t)value : (uint64_t)value,
			value < 0);
}

void sonde_json_put_double(struct sonde_json *json, const char *name,
			   double value)
{
	char text[40] = "null";

	if (isfinite(value))
		(void)snprintf(text, sizeof(text), "%.17g", value);
	sonde_json_put_raw(json, name, text);
}

void sonde_json_put_bool(struct sonde_json *json, const char *name, bool value)
{
	sonde_json_put_raw(json, name, value ? "true" : "false");
}
