/* SPDX-License-Identifier: MIT */
/*
 * language.c - see language.h. In CTF 2, each part is a schema of its own, which
 * is written and goes.
 */
#include "ctf/language.h"

#include "ctf/describe.h"
#include "ctf/tsdl.h"

/* Appends what a schema was made for, unless that failed. */
static int say_json(struct sonde_schema *schema, int error,
		    struct sonde_ctf_text *to)
{
	if (!error)
		error = sonde_schema_describe_json(schema, to);
	sonde_pool_fini(&schema->pool);
	return error;
}

int sonde_ctf_say_trace(const struct sonde_ctf_config *config,
			struct sonde_ctf_text *to)
{
	struct sonde_schema schema;
	int error;

	if (config->version == SONDE_CTF_1_8) {
		sonde_tsdl_preamble(to, config);
		return to->error;
	}
	error = sonde_schema_describe_trace(&schema, config);
	return say_json(&schema, error, to);
}

int sonde_ctf_say_class(const struct sonde_ctf_config *config,
			const struct sonde_ctf_class *cls, const char *comment,
			struct sonde_ctf_text *to)
{
	struct sonde_schema schema;
	int error;

	if (config->version == SONDE_CTF_1_8) {
		sonde_tsdl_class(to, config, cls->id, cls->kind, comment);
		return to->error;
	}
	error = sonde_schema_describe_class(&schema, config->domain, cls->id,
					    cls->kind);
	return say_json(&schema, error, to);
}

int sonde_ctf_say_event(const struct sonde_ctf_config *config,
			const struct sonde_ctf_class *cls, uint32_t id,
			const struct sonde_desc *desc,
			struct sonde_ctf_text *to)
{
	struct sonde_schema schema;
	int error;

	if (config->version == SONDE_CTF_1_8) {
		error = sonde_tsdl_event(to, config->domain, cls->id, id, desc,
					 &cls->has);
		return error ? error : to->error;
	}
	error = sonde_schema_describe_event(&schema, config->domain, cls->id,
					    id, desc, &cls->has);
	return say_json(&schema, error, to);
}
