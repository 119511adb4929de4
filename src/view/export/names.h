/* SPDX-License-Identifier: MIT */
/*
 * names.h - texts that come again and again, each kept once and known by a
 * small number.
 *
 * Number 0 is "(other)": it stands for all that came after the table was full,
 * so that a trace with endless different names takes bounded memory.
 */
#ifndef VIEW_EXPORT_NAMES_H
#define VIEW_EXPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pool.h"

#define SONDE_NAMES_MAX       (1u << 18)
#define SONDE_NAMES_BYTES_MAX (24u << 20)
/* Longer texts are cut. */
#define SONDE_NAME_MAX     512
#define SONDE_NAMES_RECENT 1024

struct sonde_export_names {
	struct sonde_hash numbers;
	struct sonde_pool pool; /* of the texts, terminated */
	const char **texts;
	uint32_t nr, room;
	struct sonde_export_names_recent {
		const char *text;
		uint32_t number;
	} recent[SONDE_NAMES_RECENT]; /* by address */
};

int sonde_export_names_init(struct sonde_export_names *names);
void sonde_export_names_fini(struct sonde_export_names *names);

/* The text's number; 0 if there is no place left. */
uint32_t sonde_export_names_get(struct sonde_export_names *names,
				const char *text, size_t length);
/* Of a text that stays where it is as long as the names do: it is hashed once,
 * and then known by its address. */
uint32_t sonde_export_names_lasting(struct sonde_export_names *names,
				    const char *text);

#endif /* VIEW_EXPORT_NAMES_H */
