/* SPDX-License-Identifier: MIT */
/*
 * pairs_function.c - functions' names by address and image (pairs_function.h).
 *
 * An event costs one look into a hash table; the first of its function the
 * search for the name. What the table has no room for goes by its address.
 */
#include "view/export/pairs_function.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "reader/names/names.h"
#include "reader/reader.h"

#define PLACES_MAX ((size_t)7 << 17)

struct sonde_pair_function {
	struct sonde_names *names;
	struct sonde_hash places;
};

struct code_place {
	struct sonde_key key; /* address, image */
	uint32_t name;
	uint32_t is_known;
};

struct sonde_pair_function *sonde_pair_function_new(struct sonde_trace *trace)
{
	struct sonde_pair_function *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	sonde_hash_init(&code->places, sizeof(struct code_place), PLACES_MAX);
	code->names = sonde_names_new(trace);
	if (code->names)
		return code;
	free(code);
	return NULL;
}

void sonde_pair_function_free(struct sonde_pair_function *code)
{
	if (!code)
		return;
	sonde_names_free(code->names);
	sonde_hash_fini(&code->places);
	free(code);
}

static uint32_t pair_look_up(struct sonde_pair_function *code,
			     struct sonde_export_names *names, uint64_t image,
			     uint64_t address, int64_t time_ns)
{
	const struct sonde_names_place place = {
		.image = image,
		.address = address,
		.from_ns = time_ns,
		.to_ns = time_ns,
	};
	const struct sonde_name *name = sonde_names_code(code->names, &place);
	const char *text;

	if (!name)
		return 0;
	text = *name->function ? name->function : name->text;
	return sonde_export_names_get(names, text, strlen(text));
}

uint32_t sonde_pair_function_name(struct sonde_pair_function *code,
				  struct sonde_export_names *names,
				  const struct sonde_event *event,
				  uint64_t address)
{
	uint64_t image = sonde_names_image(event);
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_HEX, address,
		(uint32_t)(image >> 32) * 0x9e3779b1u + (uint32_t)image);
	struct code_place *place;

	if (!sonde_names_has_mappings(code->names))
		return 0;
	place = sonde_hash_put(&code->places, &key);
	if (!place)
		return 0;
	if (!place->is_known)
		place->name = pair_look_up(code, names, image, address,
					   event->time_ns);
	place->is_known = 1;
	return place->name;
}
