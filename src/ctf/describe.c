/* SPDX-License-Identifier: MIT */
/*
 * describe.c - packets' and records' frames as ring/layout.h and packet.h have
 * them, in types (describe.h).
 */
#include "ctf/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "ctf/packet.h"
#include "ctf/schema/json.h"
#include "ring/contexts.h"
#include "types/desc.h"

/* Of the kernel's events, those whose names begin with their provider's. */
#define PROBES "kgdb"
#define OURS   "sonde"

struct part {
	const char *name;
	uint8_t bits;
	enum sonde_role role;
};

static void begin(struct sonde_schema *schema)
{
	*schema = (struct sonde_schema){ .major = 1, .minor = 8 };
	sonde_pool_init(&schema->pool, 0);
}

/* The 16 bytes of a UUID. */
static struct sonde_class *bytes(struct sonde_pool *pool)
{
	struct sonde_class *cls =
		sonde_class_new_group(pool, SONDE_KIND_ARRAY, 1);

	if (!cls || sonde_class_add(cls, "",
				    sonde_class_new_number(
					    pool, SONDE_KIND_UINT, 8, 8)))
		return NULL;
	cls->members[0].cls->base = 16;
	cls->count = 16;
	cls->align_bits = 8;
	return cls;
}

static struct sonde_class *describe_make_part(struct sonde_schema *schema,
					      const struct part *part,
					      uint32_t align)
{
	struct sonde_class *cls =
		part->role == SONDE_ROLE_UUID ?
			bytes(&schema->pool) :
			sonde_class_new_number(&schema->pool, SONDE_KIND_UINT,
					       part->bits, align);

	if (!cls)
		return NULL;
	cls->role = part->role;
	if (part->role == SONDE_ROLE_MAGIC)
		cls->base = 16;
	if (part->role == SONDE_ROLE_TIME || part->role == SONDE_ROLE_TIME_END)
		cls->clock = 0;
	return cls;
}

static struct sonde_class *structure(struct sonde_schema *schema,
				     const struct part *parts, size_t nr,
				     uint32_t align)
{
	struct sonde_class *cls =
		sonde_class_new_group(&schema->pool, SONDE_KIND_STRUCT, nr + 1);
	int err = cls ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !err; i++)
		err = sonde_class_add(cls, parts[i].name,
				      describe_make_part(schema, &parts[i],
							 align));
	return err ? NULL : cls;
}

/* ---- the trace ---- */

int sonde_schema_describe_trace(struct sonde_schema *schema,
				const struct sonde_ctf_config *config)
{
	const struct sonde_ctf_clock *from = &config->clock;
	/* struct sonde_ctf_packet_head begins so; its context has the rest */
	static const struct part header[] = {
		{ "magic", 32, SONDE_ROLE_MAGIC },
		{ "uuid", 0, SONDE_ROLE_UUID },
		{ "stream_id", 32, SONDE_ROLE_STREAM_CLASS_ID },
		{ "stream_instance_id", 64, SONDE_ROLE_STREAM_ID },
	};
	struct sonde_clock_info *clock;

	begin(schema);
	schema->has_uuid = true;
	memcpy(schema->uuid, config->uuid, sizeof(schema->uuid));
	schema->env = sonde_pool_get(&schema->pool, config->nr_env + 1,
				     sizeof(*schema->env));
	schema->clocks =
		sonde_pool_get(&schema->pool, 1, sizeof(*schema->clocks));
	if (!schema->env || !schema->clocks)
		return -ENOMEM;
	for (size_t i = 0; i < config->nr_env; i++)
		schema->env[schema->nr_env++] = (struct sonde_env){
			.name = config->env[i].name,
			.text = config->env[i].text,
			.number = config->env[i].number,
		};
	clock = &schema->clocks[schema->nr_clocks++].info;
	*clock = (struct sonde_clock_info){
		.name = from->name,
		.description = from->description,
		.frequency = from->freq,
		.offset_s = from->offset_s,
		.offset_cycles = from->offset,
		.absolute = from->offset_s != 0 || from->offset != 0,
		.has_uuid = true,
	};
	memcpy(clock->uuid, from->uuid, sizeof(clock->uuid));
	schema->packet_header =
		structure(schema, header, SONDE_ARRAY_SIZE(header), 8);
	return schema->packet_header ? 0 : -ENOMEM;
}

/* ---- stream classes ---- */

/* A kernel's stream is no process's: the place of vpid is 0 then, and the upper
 * half of the CPU's number. */
static struct sonde_class *packet_context(struct sonde_schema *schema,
					  enum sonde_ctf_domain domain)
{
	const bool kernel = domain == SONDE_CTF_KERNEL;
	const struct part parts[] = {
		{ "timestamp_begin", 64, SONDE_ROLE_TIME },
		{ "timestamp_end", 64, SONDE_ROLE_TIME_END },
		{ "content_size", 64, SONDE_ROLE_CONTENT_BITS },
		{ "packet_size", 64, SONDE_ROLE_PACKET_BITS },
		{ "packet_seq_num", 64, SONDE_ROLE_SEQUENCE },
		{ "events_discarded", 64, SONDE_ROLE_DISCARDED },
		{ "cpu_id", kernel ? 64 : 32, SONDE_ROLE_NONE },
		{ "vpid", 32, SONDE_ROLE_NONE },
	};

	return structure(schema, parts, SONDE_ARRAY_SIZE(parts) - kernel, 8);
}

/* The id of a record's header, which says in which form the header is. */
static struct sonde_class *header_id(struct sonde_schema *schema, bool large)
{
	const struct part id = { "id", large ? 16 : 5, SONDE_ROLE_EVENT_ID };
	const uint32_t escape =
		large ? SONDE_LARGE_ESCAPE : SONDE_COMPACT_ESCAPE;
	struct sonde_class *cls =
		describe_make_part(schema, &id, large ? 8 : 1);
	struct sonde_label *labels =
		sonde_pool_get(&schema->pool, 2, sizeof(*labels));

	if (!cls || !labels)
		return NULL;
	labels[0] = (struct sonde_label){ 0, escape - 1, "compact" };
	labels[1] = (struct sonde_label){ escape, escape, "extended" };
	cls->is_enum = true;
	cls->labels = labels;
	cls->nr_labels = 2;
	return cls;
}

/* A record's header (ring/layout.h): a short id and time, or, if the id is the
 * escape, the long form. */
static struct sonde_class *record_header(struct sonde_schema *schema,
					 enum sonde_header_kind kind)
{
	const bool large = kind == SONDE_LARGE;
	const struct part compact = { "timestamp",
				      large ? 32 : SONDE_COMPACT_TIME_BITS,
				      SONDE_ROLE_TIME };
	static const struct part extended[] = {
		{ "id", 32, SONDE_ROLE_EVENT_ID },
		{ "timestamp", 64, SONDE_ROLE_TIME },
	};
	struct sonde_pool *pool = &schema->pool;
	struct sonde_class *header =
		sonde_class_new_group(pool, SONDE_KIND_STRUCT, 2);
	struct sonde_class *forms =
		sonde_class_new_group(pool, SONDE_KIND_VARIANT, 2);
	int err = header && forms ? 0 : -ENOMEM;

	if (!err)
		err = sonde_class_add(header, "id", header_id(schema, large));
	if (!err)
		err = sonde_class_add_dependent(pool, header, "v", forms);
	if (!err)
		err = sonde_class_add(forms, "compact",
				      structure(schema, &compact, 1,
						large ? 8 : 1));
	if (!err)
		err = sonde_class_add(forms, "extended",
				      structure(schema, extended,
						SONDE_ARRAY_SIZE(extended), 8));
	if (err)
		return NULL;
	header->align_bits = 8;
	return header;
}

static struct sonde_stream_class *begin_stream(struct sonde_schema *schema,
					       uint32_t class_id)
{
	struct sonde_stream_class *stream =
		sonde_schema_stream(schema, class_id);

	if (stream) {
		stream->has_id = true;
		stream->clock = 0;
	}
	return stream;
}

static int add_event(struct sonde_schema *schema,
		     struct sonde_stream_class *stream, uint32_t id,
		     uint32_t loglevel, const char *name,
		     struct sonde_class *payload)
{
	struct sonde_event_class *event =
		sonde_schema_event(schema, stream, id);

	if (!event || !name || !payload)
		return -ENOMEM;
	event->info.name = name;
	event->info.loglevel = (int)loglevel;
	event->scopes[SONDE_SCOPE_PAYLOAD] = payload;
	return 0;
}

/* Whom a kernel's events were about: source/source.h has it in each record. */
static struct sonde_class *event_context(struct sonde_schema *schema)
{
	static const struct part tid = { "tid", 32, SONDE_ROLE_NONE };
	struct sonde_class *cls = structure(schema, &tid, 1, 8);

	if (cls)
		cls->members[0].cls->kind = SONDE_KIND_INT;
	return cls;
}

int sonde_schema_describe_class(struct sonde_schema *schema,
				enum sonde_ctf_domain domain, uint32_t class_id,
				enum sonde_header_kind kind)
{
	static const struct part thread[] = {
		{ "tid", 32, SONDE_ROLE_NONE },
		{ "pid", 32, SONDE_ROLE_NONE },
	};
	struct sonde_stream_class *stream;
	struct sonde_class **scopes;

	begin(schema);
	stream = begin_stream(schema, class_id);
	if (!stream)
		return -ENOMEM;
	scopes = stream->scopes;
	scopes[SONDE_SCOPE_PACKET_CONTEXT] = packet_context(schema, domain);
	scopes[SONDE_SCOPE_EVENT_HEADER] = record_header(schema, kind);
	if (!scopes[SONDE_SCOPE_PACKET_CONTEXT] ||
	    !scopes[SONDE_SCOPE_EVENT_HEADER])
		return -ENOMEM;
	if (domain == SONDE_CTF_PROGRAMS)
		return add_event(schema, stream, SONDE_CONTEXT_ID, SONDE_DEBUG,
				 "sonde:thread",
				 structure(schema, thread,
					   SONDE_ARRAY_SIZE(thread), 8));
	scopes[SONDE_SCOPE_COMMON_CONTEXT] = event_context(schema);
	return scopes[SONDE_SCOPE_COMMON_CONTEXT] ? 0 : -ENOMEM;
}

/* ---- events ---- */

/* The number of its call stack (ring/stacks.h), before the payload, and contexts; the
 * kernel's have the process, without which the stack has no names. */
static int add_contexts(struct sonde_schema *schema,
			enum sonde_ctf_domain domain, uint32_t contexts,
			struct sonde_stream_class *stream)
{
	struct part parts[2 + SONDE_CONTEXTS] = {
		{ "stack", 8 * SONDE_STACK_BYTES, SONDE_ROLE_NONE },
		{ "pid", 32, SONDE_ROLE_NONE },
	};
	size_t nr = domain == SONDE_CTF_KERNEL ? 2 : 1;
	struct sonde_class *cls;

	for (size_t i = 0; i < SONDE_CONTEXTS; i++)
		if (contexts >> i & 1)
			parts[nr++] = (struct part){
				sonde_ring_context_name(i)->field,
				8 * SONDE_CONTEXT_BYTES, SONDE_ROLE_NONE
			};
	cls = structure(schema, parts, nr, 8);
	/* -1: it isn't known. */
	for (size_t i = 1; cls && contexts && i < nr; i++)
		cls->members[i].cls->kind = SONDE_KIND_INT;
	stream->events[0]->scopes[SONDE_SCOPE_EVENT_CONTEXT] = cls;
	return cls ? 0 : -ENOMEM;
}

/* What describes the event just added, by the name and the checksum of that. */
static int add_model_uri(struct sonde_schema *schema,
			 const struct sonde_stream_class *stream,
			 const struct sonde_desc *desc)
{
	char uri[SONDE_NAME_MAX + 32];
	int length = snprintf(uri, sizeof(uri), "%s%s:%016" PRIx64,
			      SONDE_CTF_MODEL_URI, sonde_desc_provider(desc),
			      sonde_desc_checksum(desc));
	const char *kept = sonde_pool_text(&schema->pool, uri, (size_t)length);

	stream->events[stream->nr_events - 1]->model_uri = kept;
	return kept ? 0 : -ENOMEM;
}

int sonde_schema_describe_event(struct sonde_schema *schema,
				enum sonde_ctf_domain domain, uint32_t class_id,
				uint32_t id, const struct sonde_desc *desc,
				const struct sonde_ctf_contexts *has)
{
	struct sonde_stream_class *stream;
	struct sonde_class *payload = NULL;
	char name[2 * SONDE_NAME_MAX];
	bool has_provider;
	int length;
	int err;

	begin(schema);
	stream = begin_stream(schema, class_id);
	if (!stream)
		return -ENOMEM;
	err = sonde_class_from_desc(&schema->pool, desc, &payload);
	if (err)
		return err;
	/* The kernel's own names are unique; those of probes are users', and
	 * those that were described are their providers'. */
	has_provider = domain == SONDE_CTF_PROGRAMS ||
		       sonde_desc_checksum(desc) ||
		       !strcmp(sonde_desc_provider(desc), PROBES) ||
		       !strcmp(sonde_desc_provider(desc), OURS);
	length = snprintf(name, sizeof(name), "%s%s%s",
			  has_provider ? sonde_desc_provider(desc) : "",
			  has_provider ? ":" : "", sonde_desc_name(desc));
	err = add_event(schema, stream, id, sonde_desc_loglevel(desc),
			sonde_pool_text(&schema->pool, name, (size_t)length),
			payload);
	if (!err && sonde_desc_checksum(desc))
		err = add_model_uri(schema, stream, desc);
	return err || !has->stacks ?
		       err :
		       add_contexts(schema, domain, has->contexts, stream);
}

/* ---- as CTF 2 ---- */

int sonde_schema_describe_json(const struct sonde_schema *schema,
			       struct sonde_ctf_text *to)
{
	struct sonde_schema_error words;
	int nr_before = 0;
	const char *at;
	size_t size;
	char *text;
	int err = sonde_schema_write_json(schema, &words, &text, &size);

	if (err)
		return err;
	at = text;
	/* Fragments at the begin are not what a schema is for: preamble and
	 * trace class, and an event's stream class. */
	if (schema->nr_streams)
		nr_before =
			schema->streams[0]->scopes[SONDE_SCOPE_EVENT_HEADER] ?
				2 :
				3;
	for (; nr_before > 0; nr_before--)
		at = memchr(at + 1, SONDE_JSON_SEPARATOR,
			    (size_t)(text + size - at) - 1);
	sonde_ctf_text_append(to, at, (size_t)(text + size - at));
	free(text);
	return to->error;
}
