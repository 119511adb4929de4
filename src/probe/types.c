/* SPDX-License-Identifier: MIT */
/* types.c - see types.h. */
#include "probe/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "probe/inject/agent.h"

enum {
	LABEL_SIZE = 128,
	TEXT_MAX = 65535,
};

static bool types_is_width(char letter, uint64_t bits)
{
	if (letter == 'f')
		return bits == 32 || bits == 64;
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static bool take_labels(const char **at, struct sonde_probe_type *type)
{
	if (type->letter != 'e' || **at != '{')
		return true;
	type->labels = *at + 1;
	*at = strchr(*at, '}');
	if (!*at)
		return false;
	(*at)++;
	return true;
}

static bool take_count(const char **at, struct sonde_probe_type *type)
{
	uint64_t nr;

	if (**at != '*')
		return true;
	(*at)++;
	if (!sonde_number_take(at, 10, UINT16_MAX, &nr) || nr == 0 ||
	    type->letter == 'f' || type->letter == 't')
		return false;
	type->nr = (uint16_t)nr;
	return true;
}

bool sonde_probe_type_parse(const char *text, struct sonde_probe_type *ret_type)
{
	struct sonde_probe_type type = { .letter = text[0], .nr = 1 };
	const char *at = text + 1;
	uint64_t number;

	if (!type.letter || !strchr("suxbfet", type.letter))
		return false;
	type.is_signed = type.letter == 's';
	if (type.letter == 'e') {
		if (*at != 's' && *at != 'u')
			return false;
		type.is_signed = *at++ == 's';
	}
	if (!sonde_number_take(&at, 10, TEXT_MAX, &number))
		return false;
	if (type.letter == 't') {
		if (number == 0)
			return false;
		type.bits = 8;
		type.nr = (uint16_t)number;
	} else if (types_is_width(type.letter, number)) {
		type.bits = (uint8_t)number;
	} else {
		return false;
	}
	if (!take_labels(&at, &type) || !take_count(&at, &type) || *at != ':')
		return false;
	type.name = at + 1;
	*ret_type = type;
	return true;
}

uint32_t sonde_probe_type_bytes(const struct sonde_probe_type *type)
{
	return (uint32_t)type->bits / 8 * type->nr;
}

/* ---- fields ---- */

static uint32_t flags_of(const struct sonde_probe_type *type)
{
	if (type->letter == 'x')
		return SONDE_FIELD_HEX;
	if (type->letter == 'b')
		return SONDE_FIELD_BOOL;
	return type->is_signed ? SONDE_FIELD_SIGNED : 0;
}

/* "NAME=number", and a comma if there are more. */
static const char *types_take_label(const char *at, char name[LABEL_SIZE],
				    struct sonde_build_label *label)
{
	size_t length = strcspn(at, "=,}");

	if (at[length] != '=' || length == 0 || length >= LABEL_SIZE)
		return NULL;
	memcpy(name, at, length);
	name[length] = '\0';
	label->text = name;
	at += length + 1;
	if (!sonde_number_take_signed(&at, &label->first) ||
	    (*at != ',' && *at != '}'))
		return NULL;
	label->last = label->first;
	return *at == ',' ? at + 1 : at;
}

static void build_enum(struct sonde_build *build, const char *name,
		       const struct sonde_probe_type *type)
{
	struct sonde_build_label labels[SONDE_PROBE_TYPE_LABELS_MAX];
	char(*names)[LABEL_SIZE] =
		calloc(SONDE_PROBE_TYPE_LABELS_MAX, sizeof(*names));
	const char *at = type->labels;
	size_t nr = 0;

	while (names && at && *at != '}' && nr < SONDE_PROBE_TYPE_LABELS_MAX) {
		at = types_take_label(at, names[nr], &labels[nr]);
		if (at)
			nr++;
	}
	sonde_build_enum(build, name, type->bits, flags_of(type), labels, nr);
	free(names);
}

void sonde_probe_type_build(struct sonde_build *build, const char *name,
			    const struct sonde_probe_type *type)
{
	if (type->letter == 't')
		sonde_build_text(build, name, type->nr);
	else if (type->nr > 1)
		sonde_build_array(build, name, type->nr, type->bits,
				  flags_of(type) & ~SONDE_FIELD_BOOL);
	else if (type->letter == 'f')
		sonde_build_float(build, name, type->bits);
	else if (type->letter == 'e')
		build_enum(build, name, type);
	else
		sonde_build_int(build, name, type->bits, flags_of(type));
}

/* ---- lines ---- */

static bool types_is_type(const struct sonde_probe_source *source)
{
	return strcmp(source->kind, SONDE_PROBE_TYPES_KIND) == 0;
}

/* "A3.0:" */
static const char *read_key(const char *text, uint64_t *ret_action,
			    uint64_t *ret_k)
{
	if (*text++ != 'A' ||
	    !sonde_number_take(&text, 10, UINT32_MAX - 1, ret_action))
		return NULL;
	if (*text++ != '.' ||
	    !sonde_number_take(&text, 10, UINT32_MAX - 1, ret_k))
		return NULL;
	return *text == ':' ? text + 1 : NULL;
}

bool sonde_probe_types_of_read(const struct sonde_probe_point *point,
			       size_t action, uint32_t k,
			       struct sonde_probe_type *ret_type)
{
	for (size_t i = 0; i < point->nr_sources; i++) {
		uint64_t of;
		uint64_t its_k;
		const char *text;

		if (!types_is_type(&point->sources[i]))
			continue;
		text = read_key(point->sources[i].text, &of, &its_k);
		if (text && of == action && its_k == k)
			return sonde_probe_type_parse(text, ret_type);
	}
	return false;
}

bool sonde_probe_types_held(const struct sonde_probe_source *source, bool steps,
			    struct sonde_probe_held *ret_held)
{
	const char *text = source->text;
	uint64_t reg;

	if (!types_is_type(source) || *text++ != (steps ? 'S' : 'R') ||
	    !sonde_number_take(&text, 10, SONDE_AGENT_REGISTERS - 1, &reg) ||
	    *text++ != ':' || !sonde_probe_type_parse(text, &ret_held->type) ||
	    ret_held->type.nr != 1 || strchr("ft", ret_held->type.letter))
		return false;
	ret_held->reg = (uint8_t)reg;
	return true;
}
