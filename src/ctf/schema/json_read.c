/* SPDX-License-Identifier: MIT */
/*
 * json_read.c - JSON values of the types they must have (json.h).
 */
#include "ctf/schema/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json_object.h>
#include <json-c/linkhash.h>

int sonde_json_fail(const struct sonde_json_parser *parser, const char *format,
		    ...)
{
	char trail[256] = "";
	char words[256];
	size_t used = 0;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	for (int i = 0; i < parser->depth && used < sizeof(trail) / 2; i++)
		used += (size_t)snprintf(
			trail + used, sizeof(trail) - used, "%.60s%s",
			parser->trail[i] ? parser->trail[i] : "(no name)",
			i + 1 < parser->depth ? "." : ": ");
	return sonde_schema_complain(parser->error, "fragment %zu: %s%s",
				     parser->fragment, trail, words);
}

/* If it is no object, there is nothing to go through. */
struct sonde_json_each sonde_json_each(struct json_object *object)
{
	struct sonde_json_each each = { NULL, NULL, NULL };
	struct lh_table *table = json_object_get_object(object);

	if (table)
		each.entry = lh_table_head(table);
	return each;
}

bool sonde_json_next(struct sonde_json_each *each)
{
	struct lh_entry *entry = each->entry;

	if (!entry)
		return false;
	each->name = lh_entry_k(entry);
	each->value = lh_entry_v(entry);
	each->entry = lh_entry_next(entry);
	return true;
}

/* Whether `name` is one of a list's words. */
static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);

	while (*names) {
		size_t word = strcspn(names, " !");

		if (word == length && strncmp(names, name, length) == 0)
			return true;
		names += word;
		names += strspn(names, " !");
	}
	return false;
}

static int check_required(const struct sonde_json_parser *parser,
			  struct json_object *object, const char *names)
{
	char name[64];

	while (*names) {
		size_t word = strcspn(names, " !");

		(void)snprintf(name, sizeof(name), "%.*s", (int)word, names);
		names += word;
		if (*names == '!' &&
		    !json_object_object_get_ex(object, name, NULL))
			return sonde_json_fail(parser, "'%s' is missing", name);
		names += strspn(names, " !");
	}
	return 0;
}

/* None is known here, so to use one is an error, and so is to declare it. */
static int refuse_extensions(const struct sonde_json_parser *parser,
			     struct json_object *extensions)
{
	struct sonde_json_each space = sonde_json_each(extensions);

	if (!json_object_is_type(extensions, json_type_object))
		return sonde_json_fail(parser, "'extensions' is no object");
	while (sonde_json_next(&space)) {
		struct sonde_json_each each = sonde_json_each(space.value);

		if (!json_object_is_type(space.value, json_type_object))
			return sonde_json_fail(
				parser, "the extensions '%.60s' are no object",
				space.name);
		if (sonde_json_next(&each))
			return sonde_json_fail(parser,
					       "needs the extension '%.60s' of "
					       "'%.60s', which isn't supported",
					       each.name, space.name);
	}
	return 0;
}

int sonde_json_check(const struct sonde_json_parser *parser,
		     struct json_object *object, const char *names)
{
	struct sonde_json_each each = sonde_json_each(object);
	int error = 0;

	if (!json_object_is_type(object, json_type_object))
		return sonde_json_fail(parser, "an object is expected here");
	while (!error && sonde_json_next(&each)) {
		if (strcmp(each.name, "extensions") == 0)
			error = refuse_extensions(parser, each.value);
		else if (!is_listed("type attributes", each.name) &&
			 !is_listed(names, each.name))
			error = sonde_json_fail(
				parser, "there is no property '%.60s' here",
				each.name);
	}
	return error ? error : check_required(parser, object, names);
}

int sonde_json_copy(const struct sonde_json_parser *parser,
		    struct json_object *string, const char **ret_text)
{
	size_t length = (size_t)json_object_get_string_len(string);
	const char *text = json_object_get_string(string);
	const char *copy;

	if (strlen(text) != length)
		return sonde_json_fail(parser, "a text with a NUL in it");
	copy = sonde_pool_text(&parser->schema->pool, text, length);
	if (!copy)
		return -ENOMEM;
	*ret_text = copy;
	return 0;
}

int sonde_json_text(const struct sonde_json_parser *parser,
		    struct json_object *object, const char *name,
		    const char **ret_text)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value))
		return 0;
	if (!json_object_is_type(value, json_type_string))
		return sonde_json_fail(parser, "'%s' is no text", name);
	return sonde_json_copy(parser, value, ret_text);
}

bool sonde_json_is_negative(struct json_object *integer)
{
	return json_object_get_int64(integer) < 0;
}

int sonde_json_number(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *name,
		      uint64_t *ret_number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value))
		return 0;
	if (!json_object_is_type(value, json_type_int) ||
	    sonde_json_is_negative(value))
		return sonde_json_fail(
			parser, "'%s' is no integer from 0 to 2^64 - 1", name);
	*ret_number = json_object_get_uint64(value);
	return 0;
}

int sonde_json_signed(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *name,
		      int64_t *ret_number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value))
		return 0;
	/* What is larger comes out as INT64_MAX from one, not the other. */
	if (!json_object_is_type(value, json_type_int) ||
	    (!sonde_json_is_negative(value) &&
	     json_object_get_uint64(value) > INT64_MAX))
		return sonde_json_fail(
			parser, "'%.60s' is no integer of 64 bits with a sign",
			name);
	*ret_number = json_object_get_int64(value);
	return 0;
}

int sonde_json_word(const struct sonde_json_parser *parser,
		    struct json_object *object, const char *name,
		    const char *const *words, size_t *ret_index)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value))
		return 0;
	if (json_object_is_type(value, json_type_string)) {
		const char *text = json_object_get_string(value);

		for (size_t i = 0; words[i]; i++) {
			if (strcmp(text, words[i]) == 0) {
				*ret_index = i;
				return 0;
			}
		}
	}
	return sonde_json_fail(parser, "'%s' can't be %.60s", name,
			       json_object_to_json_string(value));
}

int sonde_json_array(const struct sonde_json_parser *parser,
		     struct json_object *object, const char *name,
		     struct json_object **ret_array)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, name, &value))
		return 0;
	if (!json_object_is_type(value, json_type_array))
		return sonde_json_fail(parser, "'%s' is no array", name);
	*ret_array = value;
	return 0;
}

int sonde_json_attributes(const struct sonde_json_parser *parser,
			  struct json_object *object, const char **ret_text)
{
	struct json_object *value;
	const char *text;
	size_t length;

	if (!json_object_object_get_ex(object, "attributes", &value))
		return 0;
	if (!json_object_is_type(value, json_type_object))
		return sonde_json_fail(parser, "'attributes' is no object");
	text = json_object_to_json_string_length(
		value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
		&length);
	text = text ? sonde_pool_text(&parser->schema->pool, text, length) :
		      NULL;
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
