/* SPDX-License-Identifier: MIT */
/*
 * notes.h - what of a trace has been collected, in memory and in a file of text:
 *
 *	position N		where to go on in its log
 *	ended N			all was said, for the Nth time
 *	damaged N		messages that could not be used
 *	place PATH		its directory, below OUT
 *	document N NAME		this version is there, or about to be
 *	file PIECES BYTES FROM-TO,FROM-TO NAME
 *				pieces FROM to before TO are there; how many
 *				pieces and bytes an end said it has, or 0
 *
 * A file replaces the one before in one step. It may say less than there is,
 * never more, but for documents: a version is noted before it is put in place,
 * so that no older one ever takes its place again.
 */
#ifndef FLEET_NOTES_H
#define FLEET_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "session/net/message.h"

struct sonde_notes_range {
	uint64_t from, to;
};

/* A file of the trace. */
struct sonde_notes_file {
	struct sonde_key key; /* its name */
	char name[SONDE_NET_FILE_MAX + 1];
	uint64_t version; /* of a document; 0: it is none */
	/* pieces: sorted, apart from one another; malloc */
	struct sonde_notes_range *ranges;
	size_t nr_ranges, ranges_room;
	uint64_t wanted, bytes; /* as an end said */
	int fd; /* open to be written; 0: it isn't. For who writes it */
};

struct sonde_notes {
	uint64_t position, ended, damaged;
	char place[2 * SONDE_NET_NAME_MAX + SONDE_NET_PATH_MAX + 16];
	struct sonde_hash files; /* of struct sonde_notes_file */
};

void sonde_notes_init(struct sonde_notes *notes);
void sonde_notes_fini(struct sonde_notes *notes);

/* The file of this name, new if there was none; NULL without memory. */
struct sonde_notes_file *sonde_notes_file(struct sonde_notes *notes,
					  const char *name);

/* Piece `number` is there. -ENOMEM. */
int sonde_notes_add(struct sonde_notes_file *file, uint64_t number);
/* How many pieces below `end` are there. */
uint64_t sonde_notes_count(const struct sonde_notes_file *file, uint64_t end);

/* Takes what an end says: -EINVAL, -ENOMEM. */
int sonde_notes_take_end(struct sonde_notes *notes, const char *body,
			 size_t size);

/* Reads the file `name` in `dir`, or writes it. -ENOENT; -EINVAL: it isn't one
 * of ours. */
int sonde_notes_read(struct sonde_notes *notes, int dir, const char *name);
int sonde_notes_write(const struct sonde_notes *notes, int dir,
		      const char *name);

#endif /* FLEET_NOTES_H */
