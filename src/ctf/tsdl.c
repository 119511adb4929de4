/* SPDX-License-Identifier: MIT */
/*
 * tsdl.c - the text of the metadata (tsdl.h); fields.c has the payloads.
 */
#include "ctf/tsdl.h"

#include <inttypes.h>
#include <stdbool.h>

#include "ctf/fields.h"
#include "ctf/packet.h"
#include "types/desc.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_NAME "le"
#else
#define BYTE_ORDER_NAME "be"
#endif

static void put_uuid(struct sonde_text *text, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < 16; i++)
		sonde_text_printf(text, "%s%02x",
				  i == 4 || i == 6 || i == 8 || i == 10 ? "-" :
									  "",
				  uuid[i]);
}

static void put_entry(struct sonde_text *text, const struct sonde_ctf_env *env)
{
	sonde_text_printf(text, "\t%s = ", env->name);
	if (env->text)
		sonde_tsdl_string(text, env->text);
	else
		sonde_text_printf(text, "%" PRId64, env->number);
	sonde_text_puts(text, ";\n");
}

/* struct sonde_ctf_packet_head begins so; put_context() has the rest. */
static void tsdl_put_trace(struct sonde_text *text, const uint8_t uuid[16])
{
	sonde_text_puts(text, "/* CTF 1.8 */\n\n"
			      "trace {\n"
			      "\tmajor = 1;\n"
			      "\tminor = 8;\n"
			      "\tuuid = \"");
	put_uuid(text, uuid);
	sonde_text_puts(
		text,
		"\";\n"
		"\tbyte_order = " BYTE_ORDER_NAME ";\n"
		"\tpacket.header := struct {\n"
		"\t\tinteger { size = 32; align = 8; signed = 0; base = 16; }"
		" magic;\n"
		"\t\tinteger { size = 8; align = 8; signed = 0; base = 16; }"
		" uuid[16];\n"
		"\t\tinteger { size = 32; align = 8; signed = 0; }"
		" stream_id;\n"
		"\t\tinteger { size = 64; align = 8; signed = 0; }"
		" stream_instance_id;\n"
		"\t};\n"
		"};\n\n");
}

static void tsdl_put_clock(struct sonde_text *text,
			   const struct sonde_ctf_clock *clock)
{
	sonde_text_printf(text, "clock {\n\tname = \"%s\";\n\tuuid = \"",
			  clock->name);
	put_uuid(text, clock->uuid);
	sonde_text_puts(text, "\";\n\tdescription = ");
	sonde_tsdl_string(text, clock->description);
	sonde_text_printf(text,
			  ";\n\tfreq = %" PRIu64 ";\n\toffset_s = %" PRId64
			  ";\n\toffset = %" PRIu64 ";\n};\n\n",
			  clock->freq, clock->offset_s, clock->offset);
}

void sonde_tsdl_preamble(struct sonde_text *text,
			 const struct sonde_ctf_config *config)
{
	tsdl_put_trace(text, config->uuid);
	sonde_text_puts(text, "env {\n");
	for (size_t i = 0; i < config->nr_env; i++)
		put_entry(text, &config->env[i]);
	sonde_text_puts(text, "};\n\n");
	tsdl_put_clock(text, &config->clock);
}

static void put_context_time(struct sonde_text *text, const char *clock,
			     const char *name)
{
	sonde_text_printf(text,
			  "\t\tinteger { size = 64; align = 8; signed = 0;"
			  " map = clock.%s.value; } %s;\n",
			  clock, name);
}

static void put_context(struct sonde_text *text, const char *clock,
			enum sonde_ctf_domain domain)
{
	static const char *const words[] = { "content_size", "packet_size",
					     "packet_seq_num",
					     "events_discarded" };

	sonde_text_puts(text, "\tpacket.context := struct {\n");
	put_context_time(text, clock, "timestamp_begin");
	put_context_time(text, clock, "timestamp_end");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sonde_text_printf(text,
				  "\t\tinteger { size = 64; align = 8;"
				  " signed = 0; } %s;\n",
				  words[i]);
	/* A kernel's stream is no process's: the place of vpid is 0 then, and
	 * the upper half of the CPU's number. */
	if (domain == SONDE_CTF_KERNEL)
		sonde_text_puts(text, "\t\tinteger { size = 64; align = 8;"
				      " signed = 0; } cpu_id;\n");
	else
		sonde_text_puts(text, "\t\tinteger { size = 32; align = 8;"
				      " signed = 0; } cpu_id;\n"
				      "\t\tinteger { size = 32; align = 8;"
				      " signed = 0; } vpid;\n");
	sonde_text_puts(text, "\t};\n");
}

/* Who a kernel's events were about: source/source.h has it in each record. */
static void put_event_context(struct sonde_text *text)
{
	sonde_text_puts(text,
			"\tevent.context := struct {\n"
			"\t\tinteger { size = 32; align = 8; signed = 1; }"
			" _tid;\n"
			"\t};\n");
}

/* A record's header (ring/layout.h): a short id and time, or, if the id is the
 * escape, the long form. */
static void put_header(struct sonde_text *text, enum sonde_header_kind kind,
		       const char *clock)
{
	bool large = kind == SONDE_LARGE;
	uint32_t escape = large ? SONDE_LARGE_ESCAPE : SONDE_COMPACT_ESCAPE;

	sonde_text_printf(
		text,
		"\tevent.header := struct {\n"
		"\t\tenum : integer { size = %u; align = %u; signed = 0; } {"
		" compact = 0 ... %u, extended = %u } id;\n"
		"\t\tvariant <id> {\n"
		"\t\t\tstruct { integer { size = %u; align = %u; signed = 0;"
		" map = clock.%s.value; } timestamp; } compact;\n"
		"\t\t\tstruct {\n"
		"\t\t\t\tinteger { size = 32; align = 8; signed = 0; } id;\n"
		"\t\t\t\tinteger { size = 64; align = 8; signed = 0;"
		" map = clock.%s.value; } timestamp;\n"
		"\t\t\t} extended;\n"
		"\t\t} v;\n"
		"\t} align(8);\n",
		large ? 16 : 5, large ? 8 : 1, escape - 1, escape,
		large ? 32 : SONDE_COMPACT_TIME_BITS, large ? 8 : 1, clock,
		clock);
}

/* A comment can't hold what ends it, nor line ends: see metadata.h. */
static void put_comment(struct sonde_text *text, const char *comment)
{
	sonde_text_puts(text, "/* ");
	for (; *comment; comment++) {
		bool plain =
			*comment >= ' ' && *comment < 127 && *comment != '*';

		sonde_text_append(text, plain ? comment : "?", 1);
	}
	sonde_text_puts(text, " */\n");
}

static void put_event_head(struct sonde_text *text, uint32_t class_id,
			   uint32_t id, uint32_t loglevel)
{
	sonde_text_printf(text,
			  ";\n\tid = %u;\n\tstream_id = %u;\n"
			  "\tloglevel = %u;\n\tfields := ",
			  id, class_id, loglevel);
}

static void put_thread_event(struct sonde_text *text, uint32_t class_id)
{
	sonde_text_puts(text, "event {\n\tname = \"sonde:thread\"");
	put_event_head(text, class_id, SONDE_CONTEXT_ID, SONDE_DEBUG);
	sonde_text_puts(text,
			"struct {\n"
			"\t\tinteger { size = 32; align = 8; signed = 0; }"
			" _tid;\n"
			"\t\tinteger { size = 32; align = 8; signed = 0; }"
			" _pid;\n"
			"\t};\n};\n\n");
}

void sonde_tsdl_class(struct sonde_text *text,
		      const struct sonde_ctf_config *config, uint32_t class_id,
		      enum sonde_header_kind kind, const char *comment)
{
	const char *clock = config->clock.name;

	if (comment)
		put_comment(text, comment);
	sonde_text_printf(text, "stream {\n\tid = %u;\n", class_id);
	put_header(text, kind, clock);
	put_context(text, clock, config->domain);
	if (config->domain == SONDE_CTF_KERNEL)
		put_event_context(text);
	sonde_text_puts(text, "};\n\n");
	if (config->domain == SONDE_CTF_PROGRAMS)
		put_thread_event(text, class_id);
}

int sonde_tsdl_event(struct sonde_text *text, enum sonde_ctf_domain domain,
		     uint32_t class_id, uint32_t id,
		     const struct sonde_desc *desc)
{
	int error;

	sonde_text_puts(text, "event {\n\tname = \"");
	if (domain == SONDE_CTF_PROGRAMS)
		sonde_text_printf(text, "%s:", sonde_desc_provider(desc));
	sonde_text_printf(text, "%s\"", sonde_desc_name(desc));
	put_event_head(text, class_id, id, sonde_desc_loglevel(desc));
	error = sonde_tsdl_fields(text, desc);
	sonde_text_puts(text, ";\n};\n\n");
	return error;
}
