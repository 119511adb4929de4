/* SPDX-License-Identifier: MIT */
/*
 * json.c - CTF 2 metadata: a sequence of JSON texts, its fragments.
 *
 * Before each fragment there is a record separator, after it an end of line.
 * A fragment refers to earlier ones only; so each is read, turned into nodes of
 * the schema and forgotten before the next one. json.h says how strictly.
 */
#include "ctf/schema/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <json-c/json_object.h>
#include <json-c/json_tokener.h>

#include "base/port.h"
#include "base/uuid.h"

#define UUID_BYTES 16

/* How an internal id stands for a clock of schema->clocks. */
struct known_clock {
	int index;
};

static struct sonde_lookup_key text_key(const char *text)
{
	return (struct sonde_lookup_key){ .bytes = text, .size = strlen(text) };
}

/* ---- preamble, aliases, trace class ---- */

static int read_uuid(struct sonde_json_parser *parser,
		     struct json_object *array)
{
	if (json_object_array_length(array) != UUID_BYTES)
		return sonde_json_fail(parser, "'uuid' has not %d numbers",
				       UUID_BYTES);
	for (size_t i = 0; i < UUID_BYTES; i++) {
		struct json_object *byte = json_object_array_get_idx(array, i);
		int64_t value = json_object_get_int64(byte);

		if (!json_object_is_type(byte, json_type_int) || value < 0 ||
		    value > UINT8_MAX)
			return sonde_json_fail(parser,
					       "'uuid' has what is no byte");
		parser->schema->uuid[i] = (uint8_t)value;
	}
	parser->schema->has_uuid = true;
	return 0;
}

static int read_preamble(struct sonde_json_parser *parser,
			 struct json_object *fragment)
{
	struct json_object *uuid = NULL;
	uint64_t version = 0;
	int error = sonde_json_number(parser, fragment, "version", &version);

	if (!error && parser->fragment != 1)
		error = sonde_json_fail(parser, "a second preamble");
	if (!error && version != 2)
		error = sonde_json_fail(parser,
					"version %" PRIu64
					" of the format; 2 is supported",
					version);
	if (!error)
		error = sonde_json_array(parser, fragment, "uuid", &uuid);
	return error || !uuid ? error : read_uuid(parser, uuid);
}

static int read_alias(struct sonde_json_parser *parser,
		      struct json_object *fragment)
{
	struct sonde_lookup_key key;
	const char *name = NULL;
	struct sonde_class *cls;
	int error = sonde_json_text(parser, fragment, "name", &name);

	if (!error)
		error = sonde_json_class(
			parser, name,
			json_object_object_get(fragment, "field-class"), &cls);
	if (error)
		return error;
	key = text_key(name);
	error = sonde_lookup_add(&parser->aliases, &key, cls);
	if (error == -EEXIST)
		return sonde_json_fail(parser, "a second alias '%.60s'", name);
	return error;
}

static int add_env(struct sonde_json_parser *parser,
		   const struct sonde_env *entry)
{
	struct sonde_schema *schema = parser->schema;
	struct sonde_env *env =
		sonde_pool_grow(&schema->pool, schema->env, schema->nr_env,
				&schema->env_capacity, sizeof(*env));

	if (!env)
		return -ENOMEM;
	schema->env = env;
	schema->env[schema->nr_env++] = *entry;
	return 0;
}

static int read_env(struct sonde_json_parser *parser,
		    struct json_object *environment)
{
	struct sonde_json_each each = sonde_json_each(environment);
	int error = 0;

	if (!json_object_is_type(environment, json_type_object))
		return sonde_json_fail(parser, "'environment' is no object");
	while (!error && sonde_json_next(&each)) {
		struct sonde_env entry = {
			.name = sonde_pool_text(&parser->schema->pool,
						each.name, strlen(each.name)),
		};

		if (!entry.name)
			return -ENOMEM;
		if (json_object_is_type(each.value, json_type_string))
			error = sonde_json_copy(parser, each.value,
						&entry.text);
		else
			error = sonde_json_signed(parser, environment,
						  each.name, &entry.number);
		if (!error)
			error = add_env(parser, &entry);
	}
	return error;
}

/* The names by which traces, clocks, streams and events may be known. */
static int read_identity(struct sonde_json_parser *parser,
			 struct json_object *fragment,
			 const char **ret_namespace, const char **ret_name,
			 const char **ret_uid)
{
	int error =
		sonde_json_text(parser, fragment, "namespace", ret_namespace);

	if (!error)
		error = sonde_json_text(parser, fragment, "name", ret_name);
	if (!error)
		error = sonde_json_text(parser, fragment, "uid", ret_uid);
	return error;
}

/*
 * Drops roles where they mean nothing, and checks the others; `clock` is the
 * stream's, -1 none.
 */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int settle_roles(struct sonde_json_parser *parser,
			struct sonde_class *cls, enum sonde_scope scope,
			int clock)
{
	int error = 0;

	if (!(sonde_json_roles[cls->role].scopes & 1u << scope))
		cls->role = SONDE_ROLE_NONE;
	if (cls->role == SONDE_ROLE_TIME || cls->role == SONDE_ROLE_TIME_END) {
		if (clock < 0)
			return sonde_json_fail(
				parser,
				"a field has the role '%s', but the "
				"data stream class has no clock",
				sonde_json_roles[cls->role].name);
		cls->clock = (int16_t)clock;
	}
	if (cls->role == SONDE_ROLE_UUID && !parser->schema->has_uuid)
		return sonde_json_fail(parser, "a field has the metadata's "
					       "UUID, but that has none");
	if (cls->role == SONDE_ROLE_MAGIC)
		parser->schema->big_endian = cls->big_endian;
	for (size_t i = 0; i < cls->nr_members && !error; i++)
		error = settle_roles(parser, cls->members[i].cls, scope, clock);
	return error;
}

static int read_scope(struct sonde_json_parser *parser,
		      struct json_object *fragment, const char *property,
		      enum sonde_scope scope, struct sonde_class **ret_class,
		      int clock)
{
	struct json_object *value;
	struct sonde_class *cls;
	int error;

	if (!json_object_object_get_ex(fragment, property, &value))
		return 0;
	error = sonde_json_class(parser, property, value, &cls);
	if (error)
		return error;
	if (cls->kind != SONDE_KIND_STRUCT)
		return sonde_json_fail(parser, "'%s' is no structure",
				       property);
	error = settle_roles(parser, cls, scope, clock);
	if (!error)
		*ret_class = cls;
	return error;
}

static int read_trace(struct sonde_json_parser *parser,
		      struct json_object *fragment)
{
	struct sonde_schema *schema = parser->schema;
	struct json_object *environment;
	int error;

	if (parser->has_trace_class)
		return sonde_json_fail(parser, "a second trace class");
	if (schema->nr_streams > 0)
		return sonde_json_fail(parser, "the trace class comes after a "
					       "data stream class");
	parser->has_trace_class = true;
	error = read_identity(parser, fragment, &schema->namespace_name,
			      &schema->name, &schema->uid);
	if (!error)
		error = sonde_json_attributes(parser, fragment,
					      &schema->attributes);
	if (!error &&
	    json_object_object_get_ex(fragment, "environment", &environment))
		error = read_env(parser, environment);
	if (error)
		return error;
	return read_scope(parser, fragment, "packet-header-field-class",
			  SONDE_SCOPE_PACKET_HEADER, &schema->packet_header,
			  -1);
}

/* ---- clock classes ---- */

static int read_origin(struct sonde_json_parser *parser,
		       struct json_object *fragment,
		       struct sonde_schema_clock *clock)
{
	static const char *const words[] = { "unix-epoch", NULL };
	struct json_object *origin;
	size_t word;
	int error;

	if (!json_object_object_get_ex(fragment, "origin", &origin))
		return 0;
	if (!json_object_is_type(origin, json_type_object)) {
		error = sonde_json_word(parser, fragment, "origin", words,
					&word);
		clock->info.absolute = !error;
		return error;
	}
	error = sonde_json_check(parser, origin, "namespace name! uid!");
	return error ? error :
		       read_identity(parser, origin, &clock->origin_namespace,
				     &clock->origin_name, &clock->origin_uid);
}

static int read_offset(struct sonde_json_parser *parser,
		       struct json_object *fragment,
		       struct sonde_clock_info *info)
{
	struct json_object *offset;
	int error;

	if (!json_object_object_get_ex(fragment, "offset-from-origin", &offset))
		return 0;
	error = sonde_json_check(parser, offset, "seconds cycles");
	if (!error)
		error = sonde_json_signed(parser, offset, "seconds",
					  &info->offset_s);
	if (!error)
		error = sonde_json_number(parser, offset, "cycles",
					  &info->offset_cycles);
	if (!error && info->offset_cycles >= info->frequency)
		error = sonde_json_fail(parser, "an offset of a second or more "
						"in 'cycles'");
	return error;
}

static int read_clock_values(struct sonde_json_parser *parser,
			     struct json_object *fragment,
			     struct sonde_schema_clock *clock)
{
	int error = read_identity(parser, fragment, &clock->namespace_name,
				  &clock->info.name, &clock->uid);

	if (!error)
		error = sonde_json_text(parser, fragment, "description",
					&clock->info.description);
	if (!error)
		error = sonde_json_number(parser, fragment, "frequency",
					  &clock->info.frequency);
	if (!error && clock->info.frequency == 0)
		error = sonde_json_fail(parser, "a 'frequency' of 0");
	if (!error)
		error = sonde_json_number(parser, fragment, "precision",
					  &clock->info.precision);
	if (!error)
		error = sonde_json_number(parser, fragment, "accuracy",
					  &clock->accuracy);
	clock->has_precision =
		json_object_object_get_ex(fragment, "precision", NULL);
	clock->has_accuracy =
		json_object_object_get_ex(fragment, "accuracy", NULL);
	if (!error)
		error = read_origin(parser, fragment, clock);
	if (!error)
		error = read_offset(parser, fragment, &clock->info);
	if (!error)
		error = sonde_json_attributes(parser, fragment,
					      &clock->attributes);
	return error;
}

static int add_clock(struct sonde_json_parser *parser, const char *id,
		     const struct sonde_schema_clock *clock)
{
	struct sonde_schema *schema = parser->schema;
	struct sonde_lookup_key key = text_key(id);
	struct known_clock *known =
		sonde_pool_get(&schema->pool, 1, sizeof(*known));
	struct sonde_schema_clock *clocks =
		sonde_pool_grow(&schema->pool, schema->clocks,
				schema->nr_clocks, &schema->clocks_capacity,
				sizeof(*clocks));
	int error;

	if (!known || !clocks)
		return -ENOMEM;
	if (schema->nr_clocks == INT16_MAX)
		return sonde_json_fail(parser, "more than %d clock classes",
				       INT16_MAX);
	known->index = (int)schema->nr_clocks;
	error = sonde_lookup_add(&parser->clocks, &key, known);
	if (error == -EEXIST)
		return sonde_json_fail(parser, "a second clock class '%.60s'",
				       id);
	if (error)
		return error;
	schema->clocks = clocks;
	schema->clocks[schema->nr_clocks++] = *clock;
	return 0;
}

static int read_clock(struct sonde_json_parser *parser,
		      struct json_object *fragment)
{
	struct sonde_schema_clock clock = { .info.name = "",
					    .info.description = "" };
	const char *id = "";
	const char *end;
	int error = sonde_json_text(parser, fragment, "id", &id);

	if (!error)
		error = read_clock_values(parser, fragment, &clock);
	if (error)
		return error;
	/* What tracers write there is the machine's boot id. */
	if (clock.uid) {
		end = sonde_uuid_parse(clock.uid, clock.info.uuid);
		clock.info.has_uuid = end && !*end;
	}
	return add_clock(parser, id, &clock);
}

/* ---- data stream classes, event record classes ---- */

static int find_clock(struct sonde_json_parser *parser,
		      struct json_object *fragment, int *ret_clock)
{
	const struct known_clock *known;
	struct sonde_lookup_key key;
	const char *id = NULL;
	int error = sonde_json_text(parser, fragment, "default-clock-class-id",
				    &id);

	if (error || !id)
		return error;
	key = text_key(id);
	known = sonde_lookup_find(&parser->clocks, &key);
	if (!known)
		return sonde_json_fail(parser,
				       "there is no clock class '%.60s'", id);
	*ret_clock = known->index;
	return 0;
}

/* Adds it to the schema, and to what events may refer to. */
static int add_stream(struct sonde_json_parser *parser, uint64_t id,
		      struct sonde_stream_class **ret_stream)
{
	struct sonde_stream_class *stream =
		sonde_schema_stream(parser->schema, id);
	struct sonde_lookup_key key;
	int error;

	if (!stream)
		return -ENOMEM;
	key = (struct sonde_lookup_key){ .bytes = &stream->id,
					 .size = sizeof(stream->id) };
	error = sonde_lookup_add(&parser->streams, &key, stream);
	if (error == -EEXIST)
		return sonde_json_fail(
			parser, "a second data stream class %" PRIu64, id);
	*ret_stream = stream;
	return error;
}

static int read_stream(struct sonde_json_parser *parser,
		       struct json_object *fragment)
{
	static const struct {
		enum sonde_scope scope;
		const char *property;
	} scopes[] = {
		{ SONDE_SCOPE_PACKET_CONTEXT, "packet-context-field-class" },
		{ SONDE_SCOPE_EVENT_HEADER, "event-record-header-field-class" },
		{ SONDE_SCOPE_COMMON_CONTEXT,
		  "event-record-common-context-field-class" },
	};
	struct sonde_stream_class *stream = NULL;
	uint64_t id = 0;
	int error = sonde_json_number(parser, fragment, "id", &id);

	if (!error)
		error = add_stream(parser, id, &stream);
	if (error || !stream)
		return error;
	stream->has_id = json_object_object_get_ex(fragment, "id", NULL);
	error = read_identity(parser, fragment, &stream->namespace_name,
			      &stream->name, &stream->uid);
	if (!error)
		error = sonde_json_attributes(parser, fragment,
					      &stream->attributes);
	if (!error)
		error = find_clock(parser, fragment, &stream->clock);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(scopes) && !error; i++)
		error = read_scope(parser, fragment, scopes[i].property,
				   scopes[i].scope,
				   &stream->scopes[scopes[i].scope],
				   stream->clock);
	return error;
}

/* Sets it if an attribute of babeltrace2's or LTTng's says it. */
static void read_log_level(struct json_object *fragment, int *ret_level)
{
	struct json_object *attributes =
		json_object_object_get(fragment, "attributes");
	struct json_object *space;
	struct json_object *level;

	if (json_object_object_get_ex(attributes, SONDE_JSON_BT_NAMESPACE,
				      &space) &&
	    json_object_object_get_ex(space, SONDE_JSON_LOG_LEVEL, &level)) {
		const char *name = json_object_get_string(level);

		for (int i = 0; i < SONDE_JSON_LEVELS && name; i++)
			if (strcmp(name, sonde_json_levels[i]) == 0)
				*ret_level = i;
	}
	if (json_object_object_get_ex(attributes, SONDE_JSON_LTTNG_NAMESPACE,
				      &space) &&
	    json_object_object_get_ex(space, SONDE_JSON_LOG_LEVEL, &level) &&
	    json_object_is_type(level, json_type_int)) {
		int64_t value = json_object_get_int64(level);

		if (value >= 0 && value <= INT32_MAX)
			*ret_level = (int)value;
	}
}

static const char *read_model_uri(const struct sonde_json_parser *parser,
				  struct json_object *fragment)
{
	struct json_object *attributes =
		json_object_object_get(fragment, "attributes");
	struct json_object *space;
	struct json_object *uri;
	const char *text;

	if (!json_object_object_get_ex(attributes, SONDE_JSON_BT_NAMESPACE,
				       &space) ||
	    !json_object_object_get_ex(space, SONDE_JSON_EMF_URI, &uri) ||
	    !json_object_is_type(uri, json_type_string))
		return NULL;
	text = json_object_get_string(uri);
	return sonde_pool_text(&parser->schema->pool, text, strlen(text));
}

static int read_event(struct sonde_json_parser *parser,
		      struct json_object *fragment)
{
	struct sonde_event_class *event;
	struct sonde_stream_class *stream;
	struct sonde_lookup_key key;
	uint64_t stream_id = 0;
	uint64_t id = 0;
	int error = sonde_json_number(parser, fragment, "data-stream-class-id",
				      &stream_id);

	if (!error)
		error = sonde_json_number(parser, fragment, "id", &id);
	if (error)
		return error;
	key = (struct sonde_lookup_key){ .bytes = &stream_id,
					 .size = sizeof(stream_id) };
	stream = sonde_lookup_find(&parser->streams, &key);
	if (!stream)
		return sonde_json_fail(parser,
				       "there is no data stream class %" PRIu64,
				       stream_id);
	event = sonde_schema_event(parser->schema, stream, id);
	if (!event)
		return -ENOMEM;
	event->has_id = json_object_object_get_ex(fragment, "id", NULL);
	error = read_identity(parser, fragment, &event->namespace_name,
			      &event->info.name, &event->uid);
	if (!error)
		error = sonde_json_attributes(parser, fragment,
					      &event->attributes);
	if (event->attributes)
		read_log_level(fragment, &event->info.loglevel);
	event->model_uri = read_model_uri(parser, fragment);
	if (!error)
		error = read_scope(parser, fragment,
				   "specific-context-field-class",
				   SONDE_SCOPE_EVENT_CONTEXT,
				   &event->scopes[SONDE_SCOPE_EVENT_CONTEXT],
				   stream->clock);
	return error ? error :
		       read_scope(parser, fragment, "payload-field-class",
				  SONDE_SCOPE_PAYLOAD,
				  &event->scopes[SONDE_SCOPE_PAYLOAD],
				  stream->clock);
}

/* ---- the sequence ---- */

static const struct {
	const char *name;
	const char *properties; /* as of sonde_json_check() */
	int (*read)(struct sonde_json_parser *parser,
		    struct json_object *fragment);
} fragments[] = {
	{ "preamble", "version! uuid", read_preamble },
	{ "field-class-alias", "name! field-class!", read_alias },
	{ "trace-class",
	  "namespace name uid environment packet-header-field-class",
	  read_trace },
	{ "clock-class",
	  "id! namespace name uid frequency! origin offset-from-origin "
	  "precision accuracy description",
	  read_clock },
	{ "data-stream-class",
	  "id namespace name uid default-clock-class-id "
	  "packet-context-field-class event-record-header-field-class "
	  "event-record-common-context-field-class",
	  read_stream },
	{ "event-record-class",
	  "id data-stream-class-id namespace name uid "
	  "specific-context-field-class payload-field-class",
	  read_event },
};

static int read_fragment(struct sonde_json_parser *parser,
			 struct json_object *fragment)
{
	struct json_object *type = json_object_object_get(fragment, "type");
	const char *name = json_object_is_type(type, json_type_string) ?
				   json_object_get_string(type) :
				   "";
	size_t i = 0;
	int error;

	while (i < SONDE_ARRAY_SIZE(fragments) &&
	       strcmp(name, fragments[i].name) != 0)
		i++;
	if (i == SONDE_ARRAY_SIZE(fragments))
		return sonde_json_fail(parser,
				       "there is no fragment of type "
				       "'%.60s'",
				       name);
	if (parser->fragment == 1 && fragments[i].read != read_preamble)
		return sonde_json_fail(parser, "it is no preamble");
	error = sonde_json_check(parser, fragment, fragments[i].properties);
	return error ? error : fragments[i].read(parser, fragment);
}

/* One JSON text, without blanks around it. */
static int parse_fragment(struct sonde_json_parser *parser, const char *text,
			  size_t size)
{
	struct json_tokener *tokener;
	struct json_object *fragment;
	enum json_tokener_error status;
	int error;

	if (size > SONDE_JSON_FRAGMENT_MAX)
		return sonde_json_fail(parser, "longer than %u MiB",
				       SONDE_JSON_FRAGMENT_MAX >> 20);
	tokener = json_tokener_new_ex(SONDE_JSON_DEPTH);
	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT |
						JSON_TOKENER_VALIDATE_UTF8);
	fragment = json_tokener_parse_ex(tokener, text, (int)size);
	status = json_tokener_get_error(tokener);
	if (status == json_tokener_continue)
		error = sonde_json_fail(parser, "it is not complete");
	else if (status != json_tokener_success)
		error = sonde_json_fail(parser, "not JSON at byte %zu: %s",
					json_tokener_get_parse_end(tokener),
					json_tokener_error_desc(status));
	else
		error = read_fragment(parser, fragment);
	json_object_put(fragment);
	json_tokener_free(tokener);
	return error;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int parse_sequence(struct sonde_json_parser *parser, const char *text,
			  size_t size)
{
	const char *end = text + size;
	int error = 0;

	if (size == 0 || *text != SONDE_JSON_SEPARATOR)
		return sonde_schema_complain(
			parser->error,
			"fragment 1: no record separator before it");
	while (text < end && !error) {
		const char *start = text + 1;
		const char *stop;

		text = memchr(start, SONDE_JSON_SEPARATOR,
			      (size_t)(end - start));
		if (!text)
			text = end;
		stop = text;
		while (start < stop && is_blank(*start))
			start++;
		while (start < stop && is_blank(stop[-1]))
			stop--;
		parser->fragment++;
		error = parse_fragment(parser, start, (size_t)(stop - start));
	}
	return error;
}

int sonde_schema_parse_json(struct sonde_schema *schema, const char *text,
			    size_t size, struct sonde_schema_error *error)
{
	struct sonde_json_parser parser = { .schema = schema, .error = error };
	int status;

	schema->major = 2;
	schema->minor = 0;
	status = parse_sequence(&parser, text, size);
	/* As if recording had stopped before it came; others want one. */
	if (!status && schema->nr_streams == 0)
		sonde_schema_warn(schema, "there is no data stream class");
	sonde_lookup_fini(&parser.aliases);
	sonde_lookup_fini(&parser.clocks);
	sonde_lookup_fini(&parser.streams);
	return status;
}
