/* SPDX-License-Identifier: MIT */
/*
 * json_class.c - field classes of CTF 2 (json.h).
 *
 * Each type has a row in `types`: the kind it becomes, which properties it may
 * and must have, and what reads them. What a type has in common with others
 * (bits, an integer's mappings, a length) is read by functions of its own.
 */
#include "ctf/schema/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <json-c/json_object.h>

#include "base/port.h"

#define ALIGN_MAX    (1u << 20)
#define ELEMENTS_MAX (UINT64_C(1) << 32)

/* ---- properties that types share ---- */

static int read_alignment(const struct sonde_json_parser *parser,
			  struct json_object *object, const char *name,
			  struct sonde_class *cls)
{
	uint64_t align = cls->align_bits;
	int error = sonde_json_number(parser, object, name, &align);

	if (error)
		return error;
	if (align == 0 || align > ALIGN_MAX || (align & (align - 1)))
		return sonde_json_fail(parser,
				       "'%s' is no power of two from 1 to %u",
				       name, ALIGN_MAX);
	cls->align_bits = (uint32_t)align;
	return 0;
}

/* What all fields of fixed length have. */
static int read_bits(const struct sonde_json_parser *parser,
		     struct json_object *object, struct sonde_class *cls)
{
	static const char *const bytes[] = { "little-endian", "big-endian",
					     NULL };
	static const char *const bits[] = { "first-to-last", "last-to-first",
					    NULL };
	uint64_t length = 0;
	size_t big_endian = 0;
	size_t last_first;
	int error = sonde_json_number(parser, object, "length", &length);

	if (error)
		return error;
	if (length < 1 || length > 64)
		return sonde_json_fail(parser,
				       "a 'length' of %" PRIu64
				       " bits; 1 to 64 are supported",
				       length);
	cls->bits = (uint8_t)length;
	error = sonde_json_word(parser, object, "byte-order", bytes,
				&big_endian);
	last_first = big_endian;
	if (!error)
		error = sonde_json_word(parser, object, "bit-order", bits,
					&last_first);
	cls->big_endian = big_endian;
	cls->last_bit_first = last_first != big_endian;
	return error ? error : read_alignment(parser, object, "alignment", cls);
}

/* A field of two roles: the second of them says nothing more. */
static bool implies(enum sonde_role role, enum sonde_role other)
{
	return role == other ||
	       (role == SONDE_ROLE_STREAM_CLASS_ID &&
		other == SONDE_ROLE_STREAM_ID) ||
	       (role == SONDE_ROLE_PACKET_BITS &&
		other == SONDE_ROLE_CONTENT_BITS) ||
	       (role == SONDE_ROLE_TIME && other == SONDE_ROLE_TIME_END);
}

static int add_role(const struct sonde_json_parser *parser,
		    struct sonde_class *cls, struct json_object *value)
{
	const char *name = json_object_is_type(value, json_type_string) ?
				   json_object_get_string(value) :
				   "";
	size_t role = SONDE_ARRAY_SIZE(sonde_json_roles) - 1;

	while (role > 0 && strcmp(name, sonde_json_roles[role].name) != 0)
		role--;
	if (role == SONDE_ROLE_NONE ||
	    (role == SONDE_ROLE_UUID) != (cls->kind == SONDE_KIND_BLOB))
		return sonde_json_fail(parser, "it can't have the role %.60s",
				       json_object_to_json_string(value));
	if (cls->role == SONDE_ROLE_NONE ||
	    implies((enum sonde_role)role, cls->role))
		cls->role = (enum sonde_role)role;
	else if (!implies(cls->role, (enum sonde_role)role))
		return sonde_json_fail(parser, "it can't be both '%s' and '%s'",
				       sonde_json_roles[cls->role].name, name);
	return 0;
}

static int read_roles(const struct sonde_json_parser *parser,
		      struct json_object *object, struct sonde_class *cls)
{
	struct json_object *roles = NULL;
	int error = sonde_json_array(parser, object, "roles", &roles);
	size_t nr = roles ? json_object_array_length(roles) : 0;

	for (size_t i = 0; i < nr && !error; i++)
		error = add_role(parser, cls,
				 json_object_array_get_idx(roles, i));
	if (error)
		return error;
	if (cls->role == SONDE_ROLE_MAGIC && cls->bits != 32)
		return sonde_json_fail(parser,
				       "a magic number of other than 32 bits");
	if (cls->role == SONDE_ROLE_UUID && cls->count != 16)
		return sonde_json_fail(parser, "a UUID of other than 16 bytes");
	return 0;
}

/* `null` after a name goes back to where that name was looked for. */
static int read_path(const struct sonde_json_parser *parser,
		     struct json_object *path, const char *property,
		     struct sonde_location *location)
{
	size_t nr = json_object_array_length(path);
	int error = 0;

	location->names = sonde_pool_get(&parser->schema->pool, nr + 1,
					 sizeof(*location->names));
	if (!location->names)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !error; i++) {
		struct json_object *name = json_object_array_get_idx(path, i);
		const char **to = &location->names[location->nr_names];

		if (!name && location->nr_names && to[-1]) {
			location->nr_names--;
			continue;
		}
		*to = NULL;
		if (json_object_is_type(name, json_type_string))
			error = sonde_json_copy(parser, name, to);
		else if (name)
			error = sonde_json_fail(
				parser,
				"'%s' has something else in its path "
				"than names and null",
				property);
		location->nr_names++;
	}
	return error;
}

static int read_location(const struct sonde_json_parser *parser,
			 struct json_object *object, const char *property,
			 struct sonde_location *location)
{
	struct json_object *path = NULL;
	struct json_object *value;
	size_t scope = SONDE_NR_SCOPES;
	int error = 0;

	(void)json_object_object_get_ex(object, property, &value);
	if (!json_object_is_type(value, json_type_object))
		return sonde_json_fail(parser, "'%s' is no object", property);
	error = sonde_json_check(parser, value, "origin path!");
	if (!error)
		error = sonde_json_word(parser, value, "origin",
					sonde_json_origins, &scope);
	if (!error)
		error = sonde_json_array(parser, value, "path", &path);
	if (error)
		return error;
	location->scope = (enum sonde_scope)scope;
	error = read_path(parser, path, property, location);
	if (!error && (location->nr_names == 0 ||
		       !location->names[location->nr_names - 1]))
		error = sonde_json_fail(
			parser, "the path of '%s' doesn't end with a name",
			property);
	return error;
}

/* The length of a string, blob or array. */
static int read_length(const struct sonde_json_parser *parser,
		       struct json_object *object, struct sonde_class *cls)
{
	int error;

	if (cls->length == SONDE_LENGTH_FIELD)
		return read_location(parser, object, "length-field-location",
				     &cls->location);
	error = sonde_json_number(parser, object, "length", &cls->count);
	if (!error && cls->count > ELEMENTS_MAX)
		error = sonde_json_fail(parser, "a 'length' of more than 2^32");
	return error;
}

/* ---- the types ---- */

static int read_bit_map(struct sonde_json_parser *parser,
			struct json_object *object, struct sonde_class *cls)
{
	int error = read_bits(parser, object, cls);

	return error ? error : sonde_json_labels(parser, object, "flags", cls);
}

static int read_plain_bits(struct sonde_json_parser *parser,
			   struct json_object *object, struct sonde_class *cls)
{
	return read_bits(parser, object, cls);
}

static int read_float(struct sonde_json_parser *parser,
		      struct json_object *object, struct sonde_class *cls)
{
	uint64_t length = 0;
	int error = sonde_json_number(parser, object, "length", &length);

	if (error)
		return error;
	if (length != 16 && length != 32 && length != 64)
		return sonde_json_fail(parser,
				       "a floating point number of %" PRIu64
				       " bits; 16, 32 and 64 are supported",
				       length);
	return read_bits(parser, object, cls);
}

static int read_integer(struct sonde_json_parser *parser,
			struct json_object *object, struct sonde_class *cls)
{
	uint64_t base = 10;
	int error = 0;

	if (json_object_object_get_ex(object, "length", NULL))
		error = read_bits(parser, object, cls);
	else
		cls->align_bits = 8; /* of variable length */
	if (!error)
		error = sonde_json_number(parser, object,
					  "preferred-display-base", &base);
	if (error)
		return error;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return sonde_json_fail(
			parser,
			"'preferred-display-base' is none of 2, 8, 10, 16");
	cls->base = (uint8_t)base;
	cls->is_enum = json_object_object_get_ex(object, "mappings", NULL);
	error = sonde_json_labels(parser, object, "mappings", cls);
	return error ? error : read_roles(parser, object, cls);
}

static int read_string(struct sonde_json_parser *parser,
		       struct json_object *object, struct sonde_class *cls)
{
	size_t encoding = SONDE_ENCODING_UTF8;
	int error;

	cls->align_bits = 8;
	error = sonde_json_word(parser, object, "encoding",
				sonde_json_encodings, &encoding);
	cls->encoding = (enum sonde_encoding)encoding;
	if (error || cls->length == SONDE_LENGTH_ZERO)
		return error;
	return read_length(parser, object, cls);
}

static int read_blob(struct sonde_json_parser *parser,
		     struct json_object *object, struct sonde_class *cls)
{
	int error;

	cls->align_bits = 8;
	error = sonde_json_text(parser, object, "media-type", &cls->media_type);
	if (!error)
		error = read_length(parser, object, cls);
	return error ? error : read_roles(parser, object, cls);
}

/* A structure's member or a variant's option. */
static int read_member(struct sonde_json_parser *parser,
		       struct json_object *object, struct sonde_member *member)
{
	int error = sonde_json_text(parser, object, "name", &member->name);

	if (!error)
		error = sonde_json_ranges(parser, object, member);
	if (error)
		return error;
	return sonde_json_class(parser, member->name,
				json_object_object_get(object, "field-class"),
				&member->cls);
}

static int read_members(struct sonde_json_parser *parser,
			struct json_object *list, const char *properties,
			struct sonde_class *cls)
{
	size_t nr = list ? json_object_array_length(list) : 0;
	int error = 0;

	cls->members = sonde_pool_get(&parser->schema->pool, nr + 1,
				      sizeof(*cls->members));
	if (!cls->members)
		return -ENOMEM;
	cls->nr_members = nr;
	for (size_t i = 0; i < nr && !error; i++) {
		struct json_object *object = json_object_array_get_idx(list, i);

		error = sonde_json_check(parser, object, properties);
		if (!error)
			error = read_member(parser, object, &cls->members[i]);
	}
	return error;
}

static int read_struct(struct sonde_json_parser *parser,
		       struct json_object *object, struct sonde_class *cls)
{
	struct json_object *list = NULL;
	int error = read_alignment(parser, object, "minimum-alignment", cls);

	if (!error)
		error = sonde_json_array(parser, object, "member-classes",
					 &list);
	if (!error)
		error = read_members(parser, list, "name! field-class!", cls);
	return error;
}

/* The only member of an array or optional, in `property`. */
static int read_element(struct sonde_json_parser *parser,
			struct json_object *object, const char *property,
			struct sonde_class *cls)
{
	cls->members =
		sonde_pool_get(&parser->schema->pool, 1, sizeof(*cls->members));
	if (!cls->members)
		return -ENOMEM;
	cls->nr_members = 1;
	return sonde_json_class(parser, property,
				json_object_object_get(object, property),
				&cls->members[0].cls);
}

static int read_array(struct sonde_json_parser *parser,
		      struct json_object *object, struct sonde_class *cls)
{
	int error = read_alignment(parser, object, "minimum-alignment", cls);

	if (!error)
		error = read_length(parser, object, cls);
	return error ? error :
		       read_element(parser, object, "element-field-class", cls);
}

static int read_optional(struct sonde_json_parser *parser,
			 struct json_object *object, struct sonde_class *cls)
{
	int error = read_location(parser, object, "selector-field-location",
				  &cls->location);

	if (!error)
		error = read_element(parser, object, "field-class", cls);
	return error ? error :
		       sonde_json_ranges(parser, object, &cls->members[0]);
}

static int read_variant(struct sonde_json_parser *parser,
			struct json_object *object, struct sonde_class *cls)
{
	struct json_object *list = NULL;
	int error = read_location(parser, object, "selector-field-location",
				  &cls->location);

	if (!error)
		error = sonde_json_array(parser, object, "options", &list);
	if (!error)
		error = read_members(parser, list,
				     "name field-class! selector-field-ranges!",
				     cls);
	if (error)
		return error;
	if (cls->nr_members == 0)
		return sonde_json_fail(parser, "a variant without options");
	error = sonde_json_options_overlap(cls);
	return error > 0 ? sonde_json_fail(parser, "a value that chooses two "
						   "options of a variant") :
			   error;
}

#define BITS    "length! byte-order! bit-order alignment "
#define INTEGER "preferred-display-base mappings "

static const struct {
	const char *name;
	enum sonde_kind kind;
	enum sonde_length length;
	const char *properties; /* as of sonde_json_check() */
	int (*read)(struct sonde_json_parser *parser,
		    struct json_object *object, struct sonde_class *cls);
} types[] = {
	{ "fixed-length-bit-array", SONDE_KIND_BITS, 0, BITS, read_plain_bits },
	{ "fixed-length-bit-map", SONDE_KIND_BITS, 0, BITS "flags!",
	  read_bit_map },
	{ "fixed-length-boolean", SONDE_KIND_BOOL, 0, BITS, read_plain_bits },
	{ "fixed-length-unsigned-integer", SONDE_KIND_UINT, 0,
	  BITS INTEGER "roles", read_integer },
	{ "fixed-length-signed-integer", SONDE_KIND_INT, 0, BITS INTEGER,
	  read_integer },
	{ "fixed-length-floating-point-number", SONDE_KIND_FLOAT, 0, BITS,
	  read_float },
	{ "variable-length-unsigned-integer", SONDE_KIND_UINT, 0,
	  INTEGER "roles", read_integer },
	{ "variable-length-signed-integer", SONDE_KIND_INT, 0, INTEGER,
	  read_integer },
	{ "null-terminated-string", SONDE_KIND_STRING, SONDE_LENGTH_ZERO,
	  "encoding", read_string },
	{ "static-length-string", SONDE_KIND_STRING, SONDE_LENGTH_FIXED,
	  "length! encoding", read_string },
	{ "dynamic-length-string", SONDE_KIND_STRING, SONDE_LENGTH_FIELD,
	  "length-field-location! encoding", read_string },
	{ "static-length-blob", SONDE_KIND_BLOB, SONDE_LENGTH_FIXED,
	  "length! media-type roles", read_blob },
	{ "dynamic-length-blob", SONDE_KIND_BLOB, SONDE_LENGTH_FIELD,
	  "length-field-location! media-type", read_blob },
	{ "structure", SONDE_KIND_STRUCT, 0, "member-classes minimum-alignment",
	  read_struct },
	{ "static-length-array", SONDE_KIND_ARRAY, SONDE_LENGTH_FIXED,
	  "element-field-class! minimum-alignment length!", read_array },
	{ "dynamic-length-array", SONDE_KIND_SEQUENCE, SONDE_LENGTH_FIELD,
	  "element-field-class! minimum-alignment length-field-location!",
	  read_array },
	{ "optional", SONDE_KIND_OPTIONAL, 0,
	  "field-class! selector-field-location! selector-field-ranges",
	  read_optional },
	{ "variant", SONDE_KIND_VARIANT, 0, "options! selector-field-location!",
	  read_variant },
};

static int read_class(struct sonde_json_parser *parser,
		      struct json_object *object,
		      struct sonde_class **ret_class)
{
	struct json_object *type = json_object_object_get(object, "type");
	const char *name = json_object_is_type(type, json_type_string) ?
				   json_object_get_string(type) :
				   "";
	struct sonde_class *cls;
	size_t i = 0;
	int error;

	while (i < SONDE_ARRAY_SIZE(types) && strcmp(name, types[i].name) != 0)
		i++;
	if (i == SONDE_ARRAY_SIZE(types))
		return sonde_json_fail(parser,
				       "there is no field class '%.60s'", name);
	error = sonde_json_check(parser, object, types[i].properties);
	if (error)
		return error;
	cls = sonde_schema_class(parser->schema, types[i].kind);
	if (!cls)
		return -ENOMEM;
	cls->length = types[i].length;
	error = sonde_json_attributes(parser, object, &cls->attributes);
	if (!error)
		error = types[i].read(parser, object, cls);
	if (!error)
		*ret_class = cls;
	return error;
}

static int find_alias(const struct sonde_json_parser *parser,
		      struct json_object *name, struct sonde_class **ret_class)
{
	const struct sonde_lookup_key key = {
		.bytes = json_object_get_string(name),
		.size = (size_t)json_object_get_string_len(name),
	};
	const struct sonde_class *alias =
		sonde_lookup_find(&parser->aliases, &key);

	if (!alias)
		return sonde_json_fail(parser, "there is no alias '%.60s'",
				       json_object_get_string(name));
	*ret_class = sonde_schema_copy(parser->schema, alias);
	return *ret_class ? 0 : -ENOMEM;
}

int sonde_json_class(struct sonde_json_parser *parser, const char *name,
		     struct json_object *value, struct sonde_class **ret_class)
{
	int error;

	if (parser->depth == SONDE_SCHEMA_DEPTH)
		return sonde_json_fail(parser, "nested more than %d deep",
				       SONDE_SCHEMA_DEPTH);
	parser->trail[parser->depth++] = name;
	if (json_object_is_type(value, json_type_object))
		error = read_class(parser, value, ret_class);
	else if (json_object_is_type(value, json_type_string))
		error = find_alias(parser, value, ret_class);
	else
		error = sonde_json_fail(parser, "a field class is neither an "
						"object nor a name");
	parser->depth--;
	return error;
}
