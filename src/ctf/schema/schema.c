/* SPDX-License-Identifier: MIT */
/*
 * schema.c - the nodes of a schema: made, copied, freed; and what is said of
 * them. All memory is the schema's pool, which has a limit.
 */
#include "ctf/schema/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS_MAX 100

/* Names come from the metadata; the text is one line. */
__attribute__((format(printf, 2, 0))) static void
set_text(struct sonde_schema_error *error, const char *format, va_list args)
{
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	for (char *at = error->text; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

int sonde_schema_complain(struct sonde_schema_error *error, const char *format,
			  ...)
{
	va_list args;

	if (error->text[0])
		return -EINVAL;
	va_start(args, format);
	set_text(error, format, args);
	va_end(args);
	return -EINVAL;
}

void sonde_schema_warn(struct sonde_schema *schema, const char *format, ...)
{
	struct sonde_schema_error said;
	const char **warnings;
	va_list args;

	if (schema->nr_warnings == WARNINGS_MAX)
		return;
	va_start(args, format);
	set_text(&said, format, args);
	va_end(args);
	warnings =
		sonde_pool_grow(&schema->pool, schema->warnings,
				schema->nr_warnings, &schema->warnings_capacity,
				sizeof(*warnings));
	if (!warnings)
		return;
	schema->warnings = warnings;
	warnings[schema->nr_warnings] =
		sonde_pool_text(&schema->pool, said.text, strlen(said.text));
	if (warnings[schema->nr_warnings])
		schema->nr_warnings++;
}

static void *copy_bytes(struct sonde_schema *schema, const void *bytes,
			size_t nr, size_t size)
{
	void *copy = sonde_pool_get(&schema->pool, nr, size);

	if (copy)
		memcpy(copy, bytes, nr * size);
	return copy;
}

/* Labels and names don't change, so they are shared; the names of a location
 * do (finish.c). */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static struct sonde_class *copy_below(struct sonde_schema *schema,
				      const struct sonde_class *cls, int depth)
{
	struct sonde_class *copy;

	if (depth > SONDE_SCHEMA_DEPTH)
		return NULL;
	copy = copy_bytes(schema, cls, 1, sizeof(*cls));
	if (!copy)
		return NULL;
	copy->ref = NULL;
	copy->reg = -1;
	if (cls->location.nr_names) {
		copy->location.names = copy_bytes(schema, cls->location.names,
						  cls->location.nr_names,
						  sizeof(*cls->location.names));
		if (!copy->location.names)
			return NULL;
	}
	if (cls->nr_members == 0)
		return copy;
	copy->members = copy_bytes(schema, cls->members, cls->nr_members,
				   sizeof(*cls->members));
	if (!copy->members)
		return NULL;
	for (size_t i = 0; i < cls->nr_members; i++) {
		copy->members[i].cls =
			copy_below(schema, cls->members[i].cls, depth + 1);
		if (!copy->members[i].cls)
			return NULL;
	}
	return copy;
}

struct sonde_class *sonde_schema_copy(struct sonde_schema *schema,
				      const struct sonde_class *cls)
{
	return copy_below(schema, cls, 1);
}

struct sonde_stream_class *sonde_schema_stream(struct sonde_schema *schema,
					       uint64_t id)
{
	struct sonde_stream_class *stream;
	struct sonde_stream_class **streams;

	streams = sonde_pool_grow(&schema->pool, schema->streams,
				  schema->nr_streams, &schema->streams_capacity,
				  sizeof(struct sonde_stream_class *));
	stream = sonde_pool_get(&schema->pool, 1, sizeof(*stream));
	if (!streams || !stream)
		return NULL;
	stream->id = id;
	stream->clock = -1;
	schema->streams = streams;
	schema->streams[schema->nr_streams++] = stream;
	return stream;
}

struct sonde_event_class *
sonde_schema_event(struct sonde_schema *schema,
		   struct sonde_stream_class *stream_class, uint64_t id)
{
	struct sonde_event_class *event;
	struct sonde_event_class **events;

	events = sonde_pool_grow(&schema->pool, stream_class->events,
				 stream_class->nr_events,
				 &stream_class->events_capacity,
				 sizeof(struct sonde_event_class *));
	event = sonde_pool_get(&schema->pool, 1, sizeof(*event));
	if (!events || !event)
		return NULL;
	event->info.id = id;
	event->info.stream_class_id = stream_class->id;
	event->info.name = "";
	event->info.loglevel = -1;
	event->stream_class = stream_class;
	stream_class->events = events;
	stream_class->events[stream_class->nr_events++] = event;
	return event;
}

void sonde_schema_free(struct sonde_schema *schema)
{
	if (!schema)
		return;
	sonde_pool_fini(&schema->pool);
	free(schema);
}
