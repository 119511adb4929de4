/* SPDX-License-Identifier: MIT */
/*
 * tsdl.c - the text of the metadata (tsdl.h), of what describe.c says there is;
 * fields.c has the types.
 */
#include "ctf/tsdl.h"

#include <inttypes.h>
#include <stdbool.h>

#include "ctf/describe.h"
#include "ctf/fields.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_NAME "le"
#else
#define BYTE_ORDER_NAME "be"
#endif

static void put_uuid(struct sonde_ctf_text *text, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < 16; i++)
		sonde_ctf_text_printf(
			text, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			uuid[i]);
}

static void put_entry(struct sonde_ctf_text *text, const struct sonde_env *env)
{
	sonde_ctf_text_printf(text, "\t%s = ", env->name);
	if (env->text)
		sonde_tsdl_string(text, env->text);
	else
		sonde_ctf_text_printf(text, "%" PRId64, env->number);
	sonde_ctf_text_puts(text, ";\n");
}

static void tsdl_put_scope(struct sonde_ctf_text *text, const char *property,
			   const struct sonde_class *cls, const char *prefix,
			   const char *clock)
{
	if (!cls)
		return;
	sonde_ctf_text_printf(text, "\t%s := ", property);
	sonde_tsdl_scope(text, cls, prefix, clock);
	sonde_ctf_text_puts(text, ";\n");
}

static void tsdl_put_trace(struct sonde_ctf_text *text,
			   const struct sonde_schema *schema)
{
	sonde_ctf_text_puts(text, "/* CTF 1.8 */\n\n"
				  "trace {\n"
				  "\tmajor = 1;\n"
				  "\tminor = 8;\n"
				  "\tuuid = \"");
	put_uuid(text, schema->uuid);
	sonde_ctf_text_puts(text, "\";\n\tbyte_order = " BYTE_ORDER_NAME ";\n");
	tsdl_put_scope(text, "packet.header", schema->packet_header, "", NULL);
	sonde_ctf_text_puts(text, "};\n\n");
}

static void tsdl_put_clock(struct sonde_ctf_text *text,
			   const struct sonde_clock_info *clock)
{
	sonde_ctf_text_printf(text, "clock {\n\tname = \"%s\";\n\tuuid = \"",
			      clock->name);
	put_uuid(text, clock->uuid);
	sonde_ctf_text_puts(text, "\";\n\tdescription = ");
	sonde_tsdl_string(text, clock->description);
	sonde_ctf_text_printf(text,
			      ";\n\tfreq = %" PRIu64 ";\n\toffset_s = %" PRId64
			      ";\n\toffset = %" PRIu64 ";\n};\n\n",
			      clock->frequency, clock->offset_s,
			      clock->offset_cycles);
}

static int fail(struct sonde_ctf_text *text, int error)
{
	if (error && !text->error)
		text->error = error;
	return error;
}

void sonde_tsdl_preamble(struct sonde_ctf_text *text,
			 const struct sonde_ctf_config *config)
{
	struct sonde_schema schema;

	if (!fail(text, sonde_schema_describe_trace(&schema, config))) {
		tsdl_put_trace(text, &schema);
		sonde_ctf_text_puts(text, "env {\n");
		for (size_t i = 0; i < schema.nr_env; i++)
			put_entry(text, &schema.env[i]);
		sonde_ctf_text_puts(text, "};\n\n");
		tsdl_put_clock(text, &schema.clocks[0].info);
	}
	sonde_pool_fini(&schema.pool);
}

/* A comment can't hold what ends it, nor line ends: see metadata.h. */
static void put_comment(struct sonde_ctf_text *text, const char *comment)
{
	sonde_ctf_text_puts(text, "/* ");
	for (; *comment; comment++) {
		bool plain =
			*comment >= ' ' && *comment < 127 && *comment != '*';

		sonde_ctf_text_append(text, plain ? comment : "?", 1);
	}
	sonde_ctf_text_puts(text, " */\n");
}

static void tsdl_put_event(struct sonde_ctf_text *text,
			   const struct sonde_event_class *event)
{
	sonde_ctf_text_printf(text,
			      "event {\n\tname = \"%s\";\n\tid = %" PRIu64
			      ";\n\tstream_id = %" PRIu64 ";\n"
			      "\tloglevel = %d;\n",
			      event->info.name, event->info.id,
			      event->stream_class->id, event->info.loglevel);
	if (event->model_uri)
		sonde_ctf_text_printf(text, "\tmodel.emf.uri = \"%s\";\n",
				      event->model_uri);
	tsdl_put_scope(text, "context",
		       event->scopes[SONDE_SCOPE_EVENT_CONTEXT], "_", NULL);
	tsdl_put_scope(text, "fields", event->scopes[SONDE_SCOPE_PAYLOAD], "_",
		       NULL);
	sonde_ctf_text_puts(text, "};\n\n");
}

static void tsdl_put_class(struct sonde_ctf_text *text,
			   const struct sonde_stream_class *stream,
			   const char *clock)
{
	struct sonde_class *const *scopes = stream->scopes;

	sonde_ctf_text_printf(text, "stream {\n\tid = %" PRIu64 ";\n",
			      stream->id);
	tsdl_put_scope(text, "event.header", scopes[SONDE_SCOPE_EVENT_HEADER],
		       "", clock);
	tsdl_put_scope(text, "packet.context",
		       scopes[SONDE_SCOPE_PACKET_CONTEXT], "", clock);
	tsdl_put_scope(text, "event.context",
		       scopes[SONDE_SCOPE_COMMON_CONTEXT], "_", clock);
	sonde_ctf_text_puts(text, "};\n\n");
	for (size_t i = 0; i < stream->nr_events; i++)
		tsdl_put_event(text, stream->events[i]);
}

void sonde_tsdl_class(struct sonde_ctf_text *text,
		      const struct sonde_ctf_config *config, uint32_t class_id,
		      enum sonde_header_kind kind, const char *comment)
{
	struct sonde_schema schema;

	if (comment)
		put_comment(text, comment);
	if (!fail(text, sonde_schema_describe_class(&schema, config->domain,
						    class_id, kind)))
		tsdl_put_class(text, schema.streams[0], config->clock.name);
	sonde_pool_fini(&schema.pool);
}

int sonde_tsdl_event(struct sonde_ctf_text *text, enum sonde_ctf_domain domain,
		     uint32_t class_id, uint32_t id,
		     const struct sonde_desc *desc,
		     const struct sonde_ctf_contexts *has)
{
	struct sonde_schema schema;
	int error = sonde_schema_describe_event(&schema, domain, class_id, id,
						desc, has);

	if (!error)
		tsdl_put_event(text, schema.streams[0]->events[0]);
	sonde_pool_fini(&schema.pool);
	return error;
}
