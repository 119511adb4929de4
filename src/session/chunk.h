/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - the chunks of a trace (docs/decisions/0021-chunks.md), as directories:
 *
 *	DIR/chunk-000001	can be read
 *	DIR/.chunk-000001	is being made, or removed
 *
 * Numbers begin with 1 and go up, whichever of them are left. Who removes one
 * hides it first, so what can be seen can be read, whenever he is killed.
 */
#ifndef SESSION_CHUNK_H
#define SESSION_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_CHUNK_PREFIX    "chunk-"
#define SONDE_CHUNK_NAME      SONDE_CHUNK_PREFIX "%06u"
#define SONDE_CHUNK_NAME_ROOM 32

/* Directories in it that files of its traces may be in. */
#define SONDE_CHUNK_PARTS 3u
extern const char *const sonde_chunk_parts[SONDE_CHUNK_PARTS];

void sonde_chunk_name(uint32_t nr, bool is_hidden,
		      char name[SONDE_CHUNK_NAME_ROOM]);

/* What its files take on the disk; of one that can't be seen, nothing. */
uint64_t sonde_chunk_bytes(int top, const char *name);

/* Below `top`, by its name, which is hidden. Best effort. */
void sonde_chunk_remove_hidden(int top, const char *name);
/* One that can be seen; 0 or -errno of hiding it. */
int sonde_chunk_remove(int top, uint32_t nr);

#endif /* SESSION_CHUNK_H */
