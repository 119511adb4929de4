/* SPDX-License-Identifier: MIT */
/* header.h - what the headers for all targets have in common: C's names. */
#ifndef GENERATE_HEADER_H
#define GENERATE_HEADER_H

#include "generate/model.h"

/* What a header begins with: its guard, by the word of its target and a line below
 * ("BARE_", say), what it includes, what it is about, the types that have names. */
void sonde_generate_put_begin(const struct sonde_generate_model *model,
			      const char *target, const char *includes,
			      FILE *to);

/* The parameters of an event's function, "uint32_t number, size_t nr_articles"
 * and so on; nothing if there are none. */
void sonde_generate_put_arguments(const struct sonde_class *payload, FILE *to);

/* The same as members of a structure that keeps what they were: a line for each,
 * an array by a pointer to it. */
void sonde_generate_put_kept(const struct sonde_class *payload, FILE *to);

/* In a comment, which it can't end; behind `before`. NULL: nothing. */
void sonde_generate_put_about(const char *before, const char *about, FILE *to);

void sonde_generate_put_upper(const char *name, FILE *to);

#endif /* GENERATE_HEADER_H */
