/* SPDX-License-Identifier: MIT */
/*
 * metadata.h - the file `metadata`, which grows while it is read.
 *
 * The text is a preamble, which may change, and a body, to which whole blocks
 * are added (tsdl.h). A block ends with an empty line, and nothing else makes
 * one. Blocks wait in memory until they are synced:
 *
 *   - a block, or several, that fit into the file's last page are appended by
 *     one write. A write that stays in a page isn't torn when the writer is
 *     killed: the kernel looks for signals between pages. Where a block does
 *     not fit, empty lines fill the page first.
 *   - a block larger than a page, or more text than there was before, makes a
 *     new file that replaces the old one.
 *
 * So the file is valid text at every instant, and syncing costs time in
 * proportion to what is new.
 */
#ifndef CTF_METADATA_H
#define CTF_METADATA_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/text.h"

struct sonde_ctf_metadata {
	int dir; /* borrowed */
	int fd;
	struct sonde_ctf_text preamble;
	struct sonde_ctf_text body;
	size_t synced;      /* of the body: how much is in the file */
	uint64_t file_size; /* empty lines included */
	bool is_behind;     /* the preamble is newer than the file */
	bool was_harmed;    /* somebody else removed or changed it */
};

/* Write all of it to a new file, which takes the place of the old one. */
int sonde_ctf_metadata_rewrite(struct sonde_ctf_metadata *metadata);

/* Write what was added to the body since. */
int sonde_ctf_metadata_sync(struct sonde_ctf_metadata *metadata);

/* Write it again if it isn't what was written, or isn't there any more. */
int sonde_ctf_metadata_heal(struct sonde_ctf_metadata *metadata);

void sonde_ctf_metadata_fini(struct sonde_ctf_metadata *metadata);

#endif /* CTF_METADATA_H */
