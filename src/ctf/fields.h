/* SPDX-License-Identifier: MIT */
/*
 * fields.h - types (types/type.h) in the metadata's language (tsdl.h).
 */
#ifndef CTF_FIELDS_H
#define CTF_FIELDS_H

#include <sonde/abi.h>

#include "ctf/text.h"
#include "types/type.h"

/* Append a structure, without a name. Names get `prefix` before them; `clock`
 * is the name of the trace's, for numbers that are times. */
void sonde_tsdl_scope(struct sonde_ctf_text *text,
		      const struct sonde_class *cls, const char *prefix,
		      const char *clock);

/* Append a quoted string. */
void sonde_tsdl_string(struct sonde_ctf_text *text, const char *string);

#endif /* CTF_FIELDS_H */
