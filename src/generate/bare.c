/* SPDX-License-Identifier: MIT */
/*
 * bare.c - a model as a header for programs without a C library
 * (sonde/bare.h): an event's function puts its fields into a packet (put.h).
 */
#include "generate/header.h"
#include "generate/put.h"

static void bare_put_event(const struct sonde_generate_model *model,
			   const struct sonde_generate_event *event,
			   unsigned int id, FILE *to)
{
	sonde_generate_put_about("", event->about, to);
	(void)fprintf(to,
		      "SONDE_BARE_GENERATED void %s_%s("
		      "struct sonde_bare *sonde_to%s",
		      model->provider, event->name,
		      event->payload->nr_members ? ", " : "");
	sonde_generate_put_arguments(event->payload, to);
	(void)fprintf(to,
		      ")\n{\n        SONDE_BARE_LOCK(sonde_to);\n"
		      "        do {\n"
		      "                sonde_bare_begin(sonde_to, %u);",
		      id);
	sonde_generate_put_fields("bare", "", event->payload, to);
	(void)fputs("\n        } while (sonde_bare_end(sonde_to));\n"
		    "        SONDE_BARE_UNLOCK(sonde_to);\n}\n\n",
		    to);
}

static void bare_put_ring(const struct sonde_generate_model *model, FILE *to)
{
	uint8_t uuid[16];

	sonde_generate_uuid(model, uuid);
	(void)fputs("/* The initialiser of a struct sonde_bare. */\n#define ",
		    to);
	sonde_generate_put_upper(model->provider, to);
	(void)fputs("_RING(memory, packet_bytes, clock) \\\n"
		    "        SONDE_BARE_RING_(memory, packet_bytes, clock",
		    to);
	for (size_t i = 0; i < sizeof(uuid); i++)
		(void)fprintf(to, ",%s0x%02x",
			      i % 8 ? " " : " \\\n            ", uuid[i]);
	(void)fputs(")\n\n", to);
}

void sonde_generate_bare(const struct sonde_generate_model *model, FILE *to)
{
	unsigned int id = 1;

	sonde_generate_put_begin(model, "BARE_", "#include <sonde/bare.h>\n\n",
				 to);
	bare_put_ring(model, to);
	for (const struct sonde_generate_event *event = model->events; event;
	     event = event->next)
		bare_put_event(model, event, id++, to);
	(void)fputs("#endif\n", to);
}
