/* SPDX-License-Identifier: MIT */
/*
 * constants.c - see constants.h. Types can share a constant only if one's name begins
 * as the other's, whatever the case; what the longer one has more is the beginning of
 * the other's label, then.
 */
#include "generate/constants.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "types/desc.h"

/* PROVIDER_TYPE_ */
#define PREFIX_BYTES (2 * SONDE_NAME_MAX + 2)

/* Whether C's type of an enumeration's constants, int, has the value. */
static bool constants_is_int(const struct sonde_class *cls, uint64_t value)
{
	if (cls->kind == SONDE_KIND_INT)
		return (int64_t)value >= INT32_MIN &&
		       (int64_t)value <= INT32_MAX;
	return value <= INT32_MAX;
}

bool sonde_generate_is_constant(const struct sonde_class *cls, size_t i)
{
	const struct sonde_label *labels = cls->labels;
	size_t length = strspn(labels[i].name, "abcdefghijklmnopqrstuvwxyz"
					       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					       "0123456789_");

	if (labels[i].name[length] || !constants_is_int(cls, labels[i].low))
		return false;
	for (size_t k = 0; k < i; k++)
		if (!strcasecmp(labels[k].name, labels[i].name))
			return false;
	return true;
}

static size_t nr_candidates(const struct sonde_class *cls)
{
	return cls->is_enum                    ? cls->nr_labels :
	       cls->kind == SONDE_KIND_VARIANT ? cls->nr_members + 1 :
						 0;
}

/* NULL: that is none. */
static const char *constant_at(const struct sonde_class *cls, size_t i)
{
	if (cls->is_enum)
		return sonde_generate_is_constant(cls, i) ?
			       cls->labels[i].name :
			       NULL;
	if (i == cls->nr_members)
		return "none";
	return sonde_class_is_length(cls, i) ? NULL : cls->members[i].name;
}

/* The constant is called `begin`, and then as one of the type's; NULL: it isn't. */
static const char *constants_find(const struct sonde_class *cls,
				  const char *begin, const char *name)
{
	size_t length = strlen(begin);

	if (strncasecmp(name, begin, length) != 0)
		return NULL;
	for (size_t i = 0; i < nr_candidates(cls); i++) {
		const char *own = constant_at(cls, i);

		if (own && !strcasecmp(own, name + length))
			return own;
	}
	return NULL;
}

/* `more` is what b's name has behind a's. */
static bool constants_share(const struct sonde_class *a,
			    const struct sonde_class *b, const char *more,
			    const char **ret_of_a, const char **ret_of_b)
{
	for (size_t i = 0; i < nr_candidates(a); i++) {
		const char *of_a = constant_at(a, i);
		const char *of_b = of_a ? constants_find(b, more, of_a) : NULL;

		if (!of_b)
			continue;
		*ret_of_a = of_a;
		*ret_of_b = of_b;
		return true;
	}
	return false;
}

static size_t constants_put_prefix(const struct sonde_generate_named *type,
				   char out[PREFIX_BYTES])
{
	(void)snprintf(out, PREFIX_BYTES, "%s_%s_", type->provider, type->name);
	return strlen(out);
}

static bool constants_begin_alike(const char *a, const char *b)
{
	size_t length_a = strlen(a);
	size_t length_b = strlen(b);

	return !strncasecmp(a, b, length_a < length_b ? length_a : length_b);
}

bool sonde_generate_have_one(const struct sonde_generate_named *a,
			     const struct sonde_generate_named *b,
			     const char **ret_of_a, const char **ret_of_b)
{
	char of_a[PREFIX_BYTES];
	char of_b[PREFIX_BYTES];
	size_t length_a;
	size_t length_b;

	if (!nr_candidates(a->cls) || !nr_candidates(b->cls) ||
	    (!strcmp(a->provider, b->provider) &&
	     !constants_begin_alike(a->name, b->name)))
		return false;
	length_a = constants_put_prefix(a, of_a);
	length_b = constants_put_prefix(b, of_b);
	if (!constants_begin_alike(of_a, of_b))
		return false;
	if (length_a <= length_b)
		return constants_share(a->cls, b->cls, of_b + length_a,
				       ret_of_a, ret_of_b);
	return constants_share(b->cls, a->cls, of_a + length_b, ret_of_b,
			       ret_of_a);
}
