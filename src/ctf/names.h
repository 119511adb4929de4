/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of the files in a trace directory.
 *
 *	metadata		the metadata
 *	NAME NAME_1 NAME_2	a stream's files, in order
 *	index/NAME.idx		a stream file's index
 *	.X.new			X while it isn't ready to be seen
 *
 * Readers pass over names that start with a dot.
 */
#ifndef CTF_NAMES_H
#define CTF_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_CTF_METADATA  "metadata"
#define SONDE_CTF_INDEX_DIR "index"

/* Bytes a stream's name may have; room is left for what is added to it. */
#define SONDE_CTF_NAME_MAX 200

struct sonde_ctf_name {
	char text[256];
};

/* Whether a stream may be called so. */
bool sonde_ctf_name_valid(const char *name);

void sonde_ctf_name_stream(struct sonde_ctf_name *ret_name, const char *stream,
			   uint32_t file_nr);
void sonde_ctf_name_hidden(struct sonde_ctf_name *ret_name, const char *name);
/* In the directory for indexes. */
void sonde_ctf_name_index(struct sonde_ctf_name *ret_visible,
			  struct sonde_ctf_name *ret_hidden, const char *name);

/* Whether it is a name that sonde_ctf_name_hidden() makes. */
bool sonde_ctf_name_is_hidden(const char *name);

#endif /* CTF_NAMES_H */
