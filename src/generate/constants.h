/* SPDX-License-Identifier: MIT */
/*
 * constants.h - what of an enumeration or a variant is a constant of C in the header,
 * and when two types would have the same one: PROVIDER_TYPE_LABEL, in upper case, has
 * several ways to be taken apart ('e' with 'f_up', 'e_f' with 'up').
 *
 * Pure functions. Cost of a comparison: that of two names, unless one begins as the
 * other; then that of all pairs of constants.
 */
#ifndef GENERATE_CONSTANTS_H
#define GENERATE_CONSTANTS_H

#include "generate/model.h"

/* Whether label `i` of an enumeration is one: it is a name, and the first that looks so,
 * and C's int has its value. */
bool sonde_generate_is_constant(const struct sonde_class *cls, size_t i);

/* Whether they have one in common; then its part that each calls its own. */
bool sonde_generate_have_one(const struct sonde_generate_named *a,
			     const struct sonde_generate_named *b,
			     const char **ret_of_a, const char **ret_of_b);

#endif /* GENERATE_CONSTANTS_H */
