/* SPDX-License-Identifier: MIT */
/*
 * tsdl_roles.c - in CTF 1.8, a field means something to the format by its
 * name, in the scope that the name belongs to; and what maps to a clock tells
 * time in an event header.
 *
 * Event headers are searched to the bottom: LTTng has an `id` and a
 * `timestamp` in an option of a variant, and those override the ones before.
 *
 * The clock of a stream is the one that its packet context and event header
 * map to. If they map to none, as in old traces and those written by hand, it
 * is the only clock of the trace, and fields with the usual names tell its
 * time. If the trace has no clock at all, but such fields, they count
 * nanoseconds (Babeltrace 2 reads them so; Zephyr writes such traces).
 */
#include <errno.h>
#include <string.h>

#include "ctf/schema/tsdl_parse.h"

struct role_name {
	const char *name;
	enum sonde_role role;
};

static const struct role_name header_roles[] = {
	{ "magic", SONDE_ROLE_MAGIC },
	{ "stream_id", SONDE_ROLE_STREAM_CLASS_ID },
	{ "stream_instance_id", SONDE_ROLE_STREAM_ID },
	{ NULL, SONDE_ROLE_NONE },
};

static const struct role_name context_roles[] = {
	{ "packet_size", SONDE_ROLE_PACKET_BITS },
	{ "content_size", SONDE_ROLE_CONTENT_BITS },
	{ "timestamp_begin", SONDE_ROLE_TIME },
	{ "timestamp_end", SONDE_ROLE_TIME_END },
	{ "events_discarded", SONDE_ROLE_DISCARDED },
	{ "packet_seq_num", SONDE_ROLE_SEQUENCE },
	{ NULL, SONDE_ROLE_NONE },
};

/* A field of that name has no meaning to us; others won't have it. */
static void warn_name(struct sonde_schema *schema, const char *name)
{
	sonde_schema_warn(schema, "a field '%s' that is no unsigned integer",
			  name);
}

static void name_roles(struct sonde_schema *schema, struct sonde_class *scope,
		       const struct role_name *roles)
{
	for (size_t i = 0; scope && i < scope->nr_members; i++) {
		const struct sonde_member *member = &scope->members[i];
		const struct role_name *role = roles;

		while (role->name && strcmp(role->name, member->name) != 0)
			role++;
		if (member->cls->kind == SONDE_KIND_UINT)
			member->cls->role = role->role;
		else if (role->name)
			warn_name(schema, role->name);
		if (role->role == SONDE_ROLE_MAGIC &&
		    (i || member->cls->bits != 32))
			sonde_schema_warn(schema, "a field 'magic' that is not "
						  "the first, of 32 bits");
	}
}

/* uint8_t uuid[16] */
static void find_uuid(struct sonde_schema *schema, struct sonde_class *header)
{
	for (size_t i = 0; header && i < header->nr_members; i++) {
		struct sonde_class *cls = header->members[i].cls;

		if (strcmp(header->members[i].name, "uuid") != 0)
			continue;
		if (cls->kind == SONDE_KIND_ARRAY && cls->count == 16 &&
		    cls->members[0].cls->bits == 8 &&
		    cls->members[0].cls->align_bits == 8 &&
		    cls->members[0].cls->kind == SONDE_KIND_UINT)
			cls->role = SONDE_ROLE_UUID;
		else
			sonde_schema_warn(schema, "a field 'uuid' that is no "
						  "array of 16 bytes");
	}
}

/* The clock that a class or its members map to, if they agree; -1 none, -2
 * they don't. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int roles_clock_of(const struct sonde_class *cls, int clock, int depth)
{
	if (depth > SONDE_SCHEMA_DEPTH || clock == -2)
		return clock;
	if (cls->clock >= 0)
		return clock == -1 || clock == cls->clock ? cls->clock : -2;
	for (size_t i = 0; i < cls->nr_members; i++)
		clock = roles_clock_of(cls->members[i].cls, clock, depth + 1);
	return clock;
}

/* The clock that a stream's times map to, as far as they do. */
static int mapped_clock(const struct sonde_stream_class *stream)
{
	const struct sonde_class *context =
		stream->scopes[SONDE_SCOPE_PACKET_CONTEXT];
	const struct sonde_class *header =
		stream->scopes[SONDE_SCOPE_EVENT_HEADER];
	int clock = -1;

	if (context)
		clock = roles_clock_of(context, clock, 1);
	if (header)
		clock = roles_clock_of(header, clock, 1);
	return clock;
}

/* Times without a clock are numbers like others. */
static void map_context(struct sonde_class *context, int clock)
{
	for (size_t i = 0; context && i < context->nr_members; i++) {
		struct sonde_class *cls = context->members[i].cls;

		if (cls->role != SONDE_ROLE_TIME &&
		    cls->role != SONDE_ROLE_TIME_END)
			continue;
		cls->clock = (int16_t)clock;
		if (clock < 0)
			cls->role = SONDE_ROLE_NONE;
	}
}

struct header {
	int clock;
	bool mapped; /* some number in it maps to the clock */
};

static void name_header_field(const struct header *header,
			      struct sonde_member *member)
{
	struct sonde_class *cls = member->cls;

	if (cls->kind != SONDE_KIND_UINT)
		return;
	if (header->clock >= 0 && !header->mapped &&
	    strcmp(member->name, "timestamp") == 0)
		cls->clock = (int16_t)header->clock;
	if (cls->clock >= 0)
		cls->role = SONDE_ROLE_TIME;
	else if (strcmp(member->name, "id") == 0)
		cls->role = SONDE_ROLE_EVENT_ID;
}

/* Through structures and variants; elements of arrays have no names. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void name_header(const struct header *header, struct sonde_class *cls,
			int depth)
{
	if (depth > SONDE_SCHEMA_DEPTH ||
	    (cls->kind != SONDE_KIND_STRUCT && cls->kind != SONDE_KIND_VARIANT))
		return;
	for (size_t i = 0; i < cls->nr_members; i++) {
		name_header_field(header, &cls->members[i]);
		name_header(header, cls->members[i].cls, depth + 1);
	}
}

/* Whether a number in it has that name. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static bool has_number(const struct sonde_class *cls, const char *name,
		       int depth)
{
	if (!cls || depth > SONDE_SCHEMA_DEPTH ||
	    (cls->kind != SONDE_KIND_STRUCT && cls->kind != SONDE_KIND_VARIANT))
		return false;
	for (size_t i = 0; i < cls->nr_members; i++) {
		const struct sonde_member *member = &cls->members[i];

		if ((member->cls->kind == SONDE_KIND_UINT &&
		     strcmp(member->name, name) == 0) ||
		    has_number(member->cls, name, depth + 1))
			return true;
	}
	return false;
}

static bool has_times(const struct sonde_stream_class *stream)
{
	const struct sonde_class *context =
		stream->scopes[SONDE_SCOPE_PACKET_CONTEXT];

	return has_number(context, "timestamp_begin", 1) ||
	       has_number(context, "timestamp_end", 1) ||
	       has_number(stream->scopes[SONDE_SCOPE_EVENT_HEADER], "timestamp",
			  1);
}

/* For a trace that has times, and no clock. */
static int add_clock_for_times(struct sonde_schema *schema)
{
	bool needed = false;

	for (size_t i = 0; i < schema->nr_streams; i++)
		needed = needed || has_times(schema->streams[i]);
	if (!needed || schema->nr_clocks)
		return 0;
	schema->clocks = sonde_pool_grow(&schema->pool, schema->clocks, 0,
					 &schema->clocks_capacity,
					 sizeof(*schema->clocks));
	if (!schema->clocks)
		return -ENOMEM;
	schema->clocks[schema->nr_clocks++] = (struct sonde_schema_clock){
		.info = { .name = "default",
			  .description = "",
			  .frequency = 1000000000 },
	};
	return 0;
}

/* Others look for the first one only, and want a number. */
static void check_id(struct sonde_schema *schema,
		     const struct sonde_class *header)
{
	for (size_t i = 0; i < header->nr_members; i++) {
		const struct sonde_member *member = &header->members[i];

		if (strcmp(member->name, "id") == 0 &&
		    member->cls->kind != SONDE_KIND_UINT)
			warn_name(schema, "id");
	}
}

/* Other readers have one clock for a stream, whatever maps to it. */
static void roles_check_clock(struct sonde_schema *schema,
			      const struct sonde_stream_class *stream)
{
	const struct sonde_class *common =
		stream->scopes[SONDE_SCOPE_COMMON_CONTEXT];
	int clock = stream->clock;

	if (common)
		clock = roles_clock_of(common, clock, 1);
	for (size_t i = 0; i < stream->nr_events; i++)
		for (enum sonde_scope k = SONDE_SCOPE_EVENT_CONTEXT;
		     k < SONDE_NR_SCOPES; k++)
			if (stream->events[i]->scopes[k])
				clock = roles_clock_of(
					stream->events[i]->scopes[k], clock, 1);
	if (clock == -2)
		sonde_schema_warn(
			schema, "stream %llu: its fields map to several clocks",
			(unsigned long long)stream->id);
}

static void stream_roles(struct sonde_schema *schema,
			 struct sonde_stream_class *stream, int clock)
{
	struct sonde_class *context =
		stream->scopes[SONDE_SCOPE_PACKET_CONTEXT];
	struct sonde_class *event_header =
		stream->scopes[SONDE_SCOPE_EVENT_HEADER];
	struct header header = { .clock = clock };

	name_roles(schema, context, context_roles);
	map_context(context, clock);
	if (!event_header)
		return;
	check_id(schema, event_header);
	header.mapped = roles_clock_of(event_header, -1, 1) >= 0;
	name_header(&header, event_header, 1);
}

int sonde_tsdl_roles(struct sonde_schema *schema,
		     struct sonde_schema_error *error)
{
	int status = add_clock_for_times(schema);

	if (status)
		return status;
	name_roles(schema, schema->packet_header, header_roles);
	find_uuid(schema, schema->packet_header);
	for (size_t i = 0; i < schema->nr_streams; i++) {
		struct sonde_stream_class *stream = schema->streams[i];
		int clock = mapped_clock(stream);

		if (clock == -2)
			return sonde_schema_complain(
				error,
				"stream %llu: its packet context and event "
				"header map to several clocks",
				(unsigned long long)stream->id);
		if (stream->has_id &&
		    !has_number(schema->packet_header, "stream_id", 1))
			sonde_schema_warn(schema,
					  "stream %llu has an id, but packets "
					  "have none",
					  (unsigned long long)stream->id);
		if (clock == -1 && schema->nr_clocks == 1)
			clock = 0;
		stream_roles(schema, stream, clock);
		stream->clock = mapped_clock(stream);
		roles_check_clock(schema, stream);
	}
	return 0;
}
