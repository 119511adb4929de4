/* SPDX-License-Identifier: MIT */
/*
 * names.c - texts that are kept once and known by a number (names.h).
 *
 * A number once given stays; when the table is full every new text is number 0.
 * One look in a hash table for each.
 */
#include "view/export/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct number {
	struct sonde_key key;
	uint64_t number;
};

int sonde_export_names_init(struct sonde_export_names *names)
{
	static const char other[] = "(other)";

	*names = (struct sonde_export_names){ 0 };
	sonde_pool_init(&names->pool, SONDE_NAMES_BYTES_MAX);
	sonde_hash_init(&names->numbers, sizeof(struct number),
			SONDE_NAMES_MAX);
	(void)sonde_export_names_get(names, other, sizeof(other) - 1);
	return names->nr == 1 ? 0 : -ENOMEM;
}

void sonde_export_names_fini(struct sonde_export_names *names)
{
	sonde_hash_fini(&names->numbers);
	sonde_pool_fini(&names->pool);
	free(names->texts);
	*names = (struct sonde_export_names){ 0 };
}

uint32_t sonde_export_names_get(struct sonde_export_names *names,
				const char *text, size_t length)
{
	/* A zero byte would end the copy early. */
	size_t used = strnlen(text, length < SONDE_NAME_MAX ? length :
							      SONDE_NAME_MAX);
	const struct sonde_key key = sonde_key_of_text(text, used);
	struct number *number;
	char *copy;

	number = sonde_hash_get(&names->numbers, &key);
	if (number)
		return (uint32_t)number->number;
	if (SONDE_GROW(names->texts, names->nr, names->room))
		return 0;
	copy = sonde_pool_text(&names->pool, text, used);
	number = copy ? sonde_hash_put(&names->numbers, &key) : NULL;
	if (!number)
		return 0;
	number->number = names->nr;
	names->texts[names->nr++] = copy;
	return (uint32_t)number->number;
}

uint32_t sonde_export_names_lasting(struct sonde_export_names *names,
				    const char *text)
{
	uint32_t hash = (uint32_t)((uintptr_t)text * 0x9e3779b97f4a7c15u >> 32);
	struct sonde_export_names_recent *recent =
		&names->recent[hash % SONDE_NAMES_RECENT];

	if (recent->text != text) {
		recent->text = text;
		recent->number =
			sonde_export_names_get(names, text, strlen(text));
	}
	return recent->number;
}
