/* SPDX-License-Identifier: MIT */
/*
 * json_text.h - JSON text being put together, without blanks or line ends.
 *
 * Commas come by themselves. `name` is that of a property, or NULL in an
 * array. Strings may hold any bytes: what is no UTF-8 becomes U+FFFD.
 */
#ifndef CTF_SCHEMA_JSON_TEXT_H
#define CTF_SCHEMA_JSON_TEXT_H

#include <stdint.h>

#include "ctf/text.h"

/* '{' or '[', and '}' or ']'. */
void sonde_json_open(struct sonde_text *text, const char *name, char bracket);
void sonde_json_close(struct sonde_text *text, char bracket);

void sonde_json_put_text(struct sonde_text *text, const char *name,
			 const char *value);
void sonde_json_put_unsigned(struct sonde_text *text, const char *name,
			     uint64_t value);
void sonde_json_put_signed(struct sonde_text *text, const char *name,
			   int64_t value);
/* What is JSON already. */
void sonde_json_put_raw(struct sonde_text *text, const char *name,
			const char *json);

#endif /* CTF_SCHEMA_JSON_TEXT_H */
