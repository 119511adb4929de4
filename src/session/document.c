/* SPDX-License-Identifier: MIT */
/*
 * document.c - a JSON object that somebody else wrote (document.h).
 *
 * The text's size and depth are bounded before it is read, and what isn't an
 * object is refused. A path is followed member by member; what is of another
 * type is not given.
 */
#include "session/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_object.h>
#include <json-c/json_object_iterator.h>
#include <json-c/json_tokener.h>

#include "base/number.h"

#define DEPTH 8

struct sonde_session_document {
	struct json_object *root;
};

static int parse(const char *text, size_t size, struct json_object **ret_root)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
	struct json_object *root;

	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT |
						JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tokener, text, (int)size);
	json_tokener_free(tokener);
	if (!json_object_is_type(root, json_type_object)) {
		json_object_put(root);
		return -EINVAL;
	}
	*ret_root = root;
	return 0;
}

int sonde_session_document_read(const char *text, size_t size,
				struct sonde_session_document **ret_document)
{
	struct sonde_session_document *document;
	int rc;

	if (size > SONDE_DOCUMENT_MAX)
		return -EINVAL;
	document = calloc(1, sizeof(*document));
	if (!document)
		return -ENOMEM;
	rc = parse(text, size, &document->root);
	if (rc)
		free(document);
	else
		*ret_document = document;
	return rc;
}

void sonde_session_document_free(struct sonde_session_document *document)
{
	if (!document)
		return;
	json_object_put(document->root);
	free(document);
}

/* A member, or a place in a list; NULL: it isn't there. */
static struct json_object *document_step(struct json_object *at,
					 const char *name)
{
	struct json_object *member = NULL;
	uint64_t place;

	if (json_object_is_type(at, json_type_array))
		return sonde_number_parse(name, UINT32_MAX, &place) ?
			       json_object_array_get_idx(at, place) :
			       NULL;
	if (json_object_is_type(at, json_type_object))
		(void)json_object_object_get_ex(at, name, &member);
	return member;
}

/* NULL: it isn't there. */
static struct json_object *find(const struct sonde_session_document *document,
				const char *path)
{
	struct json_object *at = document->root;
	char name[64];

	while (at && *path) {
		size_t length = strcspn(path, ".");

		if (length >= sizeof(name))
			return NULL;
		memcpy(name, path, length);
		name[length] = '\0';
		at = document_step(at, name);
		path += length;
		path += *path == '.';
	}
	return at;
}

static const char *text_of(struct json_object *value)
{
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ?
		       text :
		       NULL;
}

const char *
sonde_session_document_text(const struct sonde_session_document *document,
			    const char *path)
{
	return text_of(find(document, path));
}

bool sonde_session_document_has_number(
	const struct sonde_session_document *document, const char *path)
{
	return json_object_is_type(find(document, path), json_type_int);
}

bool sonde_session_document_may_count(
	const struct sonde_session_document *document, const char *name)
{
	struct json_object *value;

	return !json_object_object_get_ex(document->root, name, &value) ||
	       (json_object_is_type(value, json_type_int) &&
		json_object_get_int64(value) >= 0);
}

bool sonde_session_document_may_list(
	const struct sonde_session_document *document, const char *name)
{
	struct json_object *value;

	return !json_object_object_get_ex(document->root, name, &value) ||
	       json_object_is_type(value, json_type_array);
}

static bool document_is_among(const char *name, const char *const *names,
			      size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

const char *
sonde_session_document_other(const struct sonde_session_document *document,
			     const char *const *names, size_t nr)
{
	struct json_object_iterator at = json_object_iter_begin(document->root);
	struct json_object_iterator end = json_object_iter_end(document->root);

	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
		const char *name = json_object_iter_peek_name(&at);

		if (!document_is_among(name, names, nr))
			return name;
	}
	return NULL;
}

uint64_t
sonde_session_document_number(const struct sonde_session_document *document,
			      const char *path)
{
	struct json_object *value = find(document, path);

	return json_object_is_type(value, json_type_int) ?
		       json_object_get_uint64(value) :
		       0;
}

bool sonde_session_document_is_true(
	const struct sonde_session_document *document, const char *path)
{
	struct json_object *value = find(document, path);

	return json_object_is_type(value, json_type_boolean) &&
	       json_object_get_boolean(value);
}

size_t sonde_session_document_nr(const struct sonde_session_document *document,
				 const char *path)
{
	struct json_object *list = find(document, path);

	return json_object_is_type(list, json_type_array) ?
		       json_object_array_length(list) :
		       0;
}

const char *
sonde_session_document_word(const struct sonde_session_document *document,
			    const char *path, size_t i)
{
	struct json_object *list = find(document, path);

	if (!json_object_is_type(list, json_type_array) ||
	    i >= json_object_array_length(list))
		return NULL;
	return text_of(json_object_array_get_idx(list, i));
}

void sonde_session_document_set_text(struct sonde_session_document *document,
				     const char *name, const char *text)
{
	/* Without memory it is not there. */
	(void)json_object_object_add(document->root, name,
				     json_object_new_string(text));
}

void sonde_session_document_set_number(struct sonde_session_document *document,
				       const char *name, uint64_t number)
{
	/* Without memory it is not there. */
	(void)json_object_object_add(document->root, name,
				     json_object_new_uint64(number));
}

const char *
sonde_session_document_line(const struct sonde_session_document *document)
{
	return json_object_to_json_string_ext(
		document->root,
		JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
}
