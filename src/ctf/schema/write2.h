/* SPDX-License-Identifier: MIT */
/*
 * write2.h - what the writer of CTF 2 metadata (write2.c) and that of its field
 * classes (write2_class.c) share.
 */
#ifndef CTF_SCHEMA_WRITE2_H
#define CTF_SCHEMA_WRITE2_H

#include "base/json.h"
#include "ctf/schema/json.h"
#include "ctf/text.h"

struct sonde_json_writer {
	const struct sonde_schema *schema;
	struct sonde_schema_error *error;
	struct sonde_ctf_text text;
	struct sonde_json json; /* into the text */
	/* What is being written. */
	const struct sonde_stream_class *stream;
	const struct sonde_event_class *event;
	const struct sonde_class *scopes[SONDE_NR_SCOPES]; /* around it */
	enum sonde_scope scope;
	int depth;
	const struct sonde_class *around[SONDE_SCHEMA_DEPTH]; /* structures */
};

/* Says which event and stream, and why it can't be written; -ENOTSUP. */
int sonde_json_refuse(const struct sonde_json_writer *writer, const char *why);

/* Writes the scope's structure as `property`, if there is one. */
int sonde_json_put_scope(struct sonde_json_writer *writer, const char *property,
			 enum sonde_scope scope, const struct sonde_class *cls);

#endif /* CTF_SCHEMA_WRITE2_H */
