/* SPDX-License-Identifier: MIT */
/*
 * body.h - the file that holds an index' blocks (chunks and nodes of rows, values
 * of counters), one behind the other, as they become full.
 *
 * What is to be written is gathered to a megabyte, and the file is made longer in
 * large steps, so that it is seldom mapped anew. Who reads has the mapping, or what
 * is gathered: it makes no difference. A block begins at a multiple of eight.
 *
 * The caller sees to it that nothing is added while anything is read.
 */
#ifndef VIEW_INDEX_BODY_H
#define VIEW_INDEX_BODY_H

#include <stddef.h>
#include <stdint.h>

/* So many bytes behind a block must be there to be read, whatever they are: what is
 * in it is decoded, and then one sees whether it was sound. */
#define SONDE_VIEW_BEHIND 392u

struct sonde_view_body {
	int fd;
	uint64_t used;    /* of the file, with what is still to be written */
	uint64_t written; /* of it; what follows is in `buffer` */
	unsigned char *buffer;
	uint64_t mapped;
	const unsigned char *map;
};

/* `fd`: an empty file, which becomes its; -1: it gets one later. */
void sonde_view_body_init(struct sonde_view_body *body, int fd);
void sonde_view_body_fini(struct sonde_view_body *body);
/* Of an empty one: `fd` and all its bytes, mapped, become its. 0 or -errno. */
int sonde_view_body_map(struct sonde_view_body *body, int fd);

/* Room for a block of up to so many bytes, which will be at body->used: the caller
 * adds to that how many it took. 0, -ENOMEM, or the errno of writing. */
int sonde_view_body_room(struct sonde_view_body *body, size_t size,
			 unsigned char **ret_to);
/* Writes what is gathered. 0 or a negative errno. */
int sonde_view_body_flush(struct sonde_view_body *body);

/* So many bytes, and SONDE_VIEW_BEHIND behind them; NULL: there are fewer.
 * *ret_size is how many there are. */
const unsigned char *sonde_view_body_bytes(const struct sonde_view_body *body,
					   uint64_t offset, size_t size,
					   size_t *ret_size);

#endif /* VIEW_INDEX_BODY_H */
