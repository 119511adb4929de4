/* SPDX-License-Identifier: MIT */
/*
 * write2.c - a schema as CTF 2 metadata.
 *
 * The order is: preamble, trace class, clock classes, then each data stream
 * class with its event record classes behind it; ctf/describe.c takes parts.
 *
 * A fragment is a line; an empty one follows, as one follows a block of the old
 * language (ctf/metadata.h): blanks behind a JSON text mean nothing.
 */
#include "ctf/schema/write2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_TEXT 37

static void open_fragment(struct sonde_json *json, const char *type)
{
	json->put(json->to, "\x1e", 1);
	json->comma = false;
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "type", type);
}

static void close_fragment(struct sonde_json *json)
{
	sonde_json_close(json, '}');
	json->put(json->to, "\n\n", 2);
}

static void put_if(struct sonde_json *json, const char *property,
		   const char *value)
{
	if (value && *value)
		sonde_json_put_text(json, property, value);
}

static void put_identity(struct sonde_json *json, const char *namespace_name,
			 const char *name, const char *uid)
{
	put_if(json, "namespace", namespace_name);
	put_if(json, "name", name);
	put_if(json, "uid", uid);
}

static void put_attributes(struct sonde_json *json, const char *attributes)
{
	if (attributes)
		sonde_json_put_raw(json, "attributes", attributes);
}

static const char *uuid_text(char text[UUID_TEXT], const uint8_t uuid[16])
{
	size_t used = 0;

	for (size_t i = 0; i < 16; i++)
		used += (size_t)snprintf(text + used, UUID_TEXT - used,
					 i == 4 || i == 6 || i == 8 || i == 10 ?
						 "-%02x" :
						 "%02x",
					 uuid[i]);
	return text;
}

static void put_preamble(struct sonde_json *json,
			 const struct sonde_schema *schema)
{
	open_fragment(json, "preamble");
	sonde_json_put_unsigned(json, "version", 2);
	if (schema->has_uuid) {
		sonde_json_open(json, "uuid", '[');
		for (size_t i = 0; i < 16; i++)
			sonde_json_put_unsigned(json, NULL, schema->uuid[i]);
		sonde_json_close(json, ']');
	}
	close_fragment(json);
}

static void put_environment(struct sonde_json *json,
			    const struct sonde_schema *schema)
{
	sonde_json_open(json, "environment", '{');
	for (size_t i = 0; i < schema->nr_env; i++) {
		const struct sonde_env *env = &schema->env[i];

		if (env->text)
			sonde_json_put_text(json, env->name, env->text);
		else
			sonde_json_put_signed(json, env->name, env->number);
	}
	sonde_json_close(json, '}');
}

static int put_trace(struct sonde_json_writer *writer)
{
	const struct sonde_schema *schema = writer->schema;
	struct sonde_json *json = &writer->json;
	const char *uid = schema->uid;
	char uuid[UUID_TEXT];
	int error;

	/* One UUID was both the trace's and the metadata's in CTF 1.8. */
	if (schema->major == 1 && schema->has_uuid)
		uid = uuid_text(uuid, schema->uuid);
	open_fragment(json, "trace-class");
	put_identity(json, schema->namespace_name, schema->name, uid);
	if (schema->nr_env > 0)
		put_environment(json, schema);
	error = sonde_json_put_scope(writer, "packet-header-field-class",
				     SONDE_SCOPE_PACKET_HEADER,
				     schema->packet_header);
	put_attributes(json, schema->attributes);
	close_fragment(json);
	return error;
}

/* Streams refer to clocks by these; they are nowhere else. */
static void put_clock_id(struct sonde_json *json, const char *property,
			 int clock)
{
	char id[32];

	(void)snprintf(id, sizeof(id), "clock-%d", clock);
	sonde_json_put_text(json, property, id);
}

static void put_origin(struct sonde_json *json,
		       const struct sonde_schema_clock *clock)
{
	if (clock->info.absolute) {
		sonde_json_put_text(json, "origin", "unix-epoch");
	} else if (clock->origin_name) {
		sonde_json_open(json, "origin", '{');
		put_if(json, "namespace", clock->origin_namespace);
		sonde_json_put_text(json, "name", clock->origin_name);
		sonde_json_put_text(json, "uid", clock->origin_uid);
		sonde_json_close(json, '}');
	}
}

static int put_offset(struct sonde_json_writer *writer,
		      const struct sonde_clock_info *info)
{
	struct sonde_json *json = &writer->json;
	uint64_t more = info->offset_cycles / info->frequency;
	int64_t seconds;

	if (more > INT64_MAX ||
	    __builtin_add_overflow(info->offset_s, (int64_t)more, &seconds))
		return sonde_json_refuse(writer, "a clock's offset of more "
						 "than 2^63 seconds");
	sonde_json_open(json, "offset-from-origin", '{');
	sonde_json_put_signed(json, "seconds", seconds);
	sonde_json_put_unsigned(json, "cycles",
				info->offset_cycles % info->frequency);
	sonde_json_close(json, '}');
	return 0;
}

static int put_clock(struct sonde_json_writer *writer, size_t i)
{
	const struct sonde_schema_clock *clock = &writer->schema->clocks[i];
	const struct sonde_clock_info *info = &clock->info;
	struct sonde_json *json = &writer->json;
	const char *uid = clock->uid;
	char uuid[UUID_TEXT];
	int error;

	if (!uid && info->has_uuid)
		uid = uuid_text(uuid, info->uuid);
	open_fragment(json, "clock-class");
	put_clock_id(json, "id", (int)i);
	put_identity(json, clock->namespace_name, info->name, uid);
	sonde_json_put_unsigned(json, "frequency", info->frequency);
	put_origin(json, clock);
	error = put_offset(writer, info);
	if (clock->has_precision)
		sonde_json_put_unsigned(json, "precision", info->precision);
	if (clock->has_accuracy)
		sonde_json_put_unsigned(json, "accuracy", clock->accuracy);
	put_if(json, "description", info->description);
	put_attributes(json, clock->attributes);
	close_fragment(json);
	return error;
}

/* -1 and NULL: it has none. */
static void write2_put_event_attributes(struct sonde_json *json, int level,
					const char *model_uri)
{
	bool named = level >= 0 && level < SONDE_JSON_LEVELS;

	sonde_json_open(json, "attributes", '{');
	if (named || model_uri)
		sonde_json_open(json, SONDE_JSON_BT_NAMESPACE, '{');
	if (named)
		sonde_json_put_text(json, SONDE_JSON_LOG_LEVEL,
				    sonde_json_levels[level]);
	if (model_uri)
		sonde_json_put_text(json, SONDE_JSON_EMF_URI, model_uri);
	if (named || model_uri)
		sonde_json_close(json, '}');
	if (level >= SONDE_JSON_LEVELS) {
		sonde_json_open(json, SONDE_JSON_LTTNG_NAMESPACE, '{');
		sonde_json_put_signed(json, SONDE_JSON_LOG_LEVEL, level);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, '}');
}

static int put_event(struct sonde_json_writer *writer,
		     const struct sonde_event_class *event)
{
	struct sonde_json *json = &writer->json;
	int error;

	writer->event = event;
	open_fragment(json, "event-record-class");
	sonde_json_put_unsigned(json, "id", event->info.id);
	if (event->stream_class->has_id)
		sonde_json_put_unsigned(json, "data-stream-class-id",
					event->stream_class->id);
	put_identity(json, event->namespace_name, event->info.name, event->uid);
	error = sonde_json_put_scope(writer, "specific-context-field-class",
				     SONDE_SCOPE_EVENT_CONTEXT,
				     event->scopes[SONDE_SCOPE_EVENT_CONTEXT]);
	if (!error)
		error = sonde_json_put_scope(
			writer, "payload-field-class", SONDE_SCOPE_PAYLOAD,
			event->scopes[SONDE_SCOPE_PAYLOAD]);
	/* Attributes of CTF 2 say what those would. */
	if (event->attributes)
		put_attributes(json, event->attributes);
	else if (event->info.loglevel >= 0 || event->model_uri)
		write2_put_event_attributes(json, event->info.loglevel,
					    event->model_uri);
	close_fragment(json);
	writer->event = NULL;
	return error;
}

static int put_stream(struct sonde_json_writer *writer,
		      const struct sonde_stream_class *stream)
{
	static const char *const properties[SONDE_NR_SCOPES] = {
		[SONDE_SCOPE_PACKET_CONTEXT] = "packet-context-field-class",
		[SONDE_SCOPE_EVENT_HEADER] = "event-record-header-field-class",
		[SONDE_SCOPE_COMMON_CONTEXT] =
			"event-record-common-context-field-class",
	};
	struct sonde_json *json = &writer->json;
	int error = 0;

	writer->stream = stream;
	open_fragment(json, "data-stream-class");
	if (stream->has_id)
		sonde_json_put_unsigned(json, "id", stream->id);
	put_identity(json, stream->namespace_name, stream->name, stream->uid);
	if (stream->clock >= 0)
		put_clock_id(json, "default-clock-class-id", stream->clock);
	for (enum sonde_scope i = 0; i < SONDE_NR_SCOPES && !error; i++)
		if (properties[i])
			error = sonde_json_put_scope(writer, properties[i], i,
						     stream->scopes[i]);
	put_attributes(json, stream->attributes);
	close_fragment(json);
	for (size_t i = 0; i < stream->nr_events && !error; i++)
		error = put_event(writer, stream->events[i]);
	writer->stream = NULL;
	return error;
}

static void put_text(void *to, const char *bytes, size_t size)
{
	sonde_ctf_text_append(to, bytes, size);
}

int sonde_schema_write_json(const struct sonde_schema *schema,
			    struct sonde_schema_error *error, char **ret_text,
			    size_t *ret_size)
{
	struct sonde_json_writer writer = { .schema = schema, .error = error };
	int status;

	error->text[0] = 0;
	writer.json =
		(struct sonde_json){ .put = put_text, .to = &writer.text };
	put_preamble(&writer.json, schema);
	status = put_trace(&writer);
	for (size_t i = 0; i < schema->nr_clocks && !status; i++)
		status = put_clock(&writer, i);
	for (size_t i = 0; i < schema->nr_streams && !status; i++)
		status = put_stream(&writer, schema->streams[i]);
	if (!status)
		status = writer.text.error;
	if (status) {
		sonde_ctf_text_fini(&writer.text);
		return status;
	}
	*ret_text = writer.text.bytes;
	*ret_size = writer.text.size;
	return 0;
}
