/* SPDX-License-Identifier: MIT */
/* put.h - the body of an event's function, of targets without libsonde. */
#ifndef GENERATE_PUT_H
#define GENERATE_PUT_H

#include "generate/model.h"

/* Statements that put all fields of a payload, each on a line of its own. `target`
 * is the word in the names of what they call, "bare" say; `before` leads to the
 * fields: "" if they are the function's parameters. */
void sonde_generate_put_fields(const char *target, const char *before,
			       const struct sonde_class *payload, FILE *to);

#endif /* GENERATE_PUT_H */
