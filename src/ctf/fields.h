/* SPDX-License-Identifier: MIT */
/*
 * fields.h - the fields of an event in the metadata's language (tsdl.h).
 */
#ifndef CTF_FIELDS_H
#define CTF_FIELDS_H

#include <sonde/abi.h>

#include "ctf/text.h"

/* Append the event's payload as a structure, without a name. -EINVAL if a
 * variant is an option of another. */
int sonde_tsdl_fields(struct sonde_text *text, const struct sonde_desc *desc);

/* Append a quoted string. */
void sonde_tsdl_string(struct sonde_text *text, const char *string);

#endif /* CTF_FIELDS_H */
