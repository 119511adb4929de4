/* SPDX-License-Identifier: MIT */
/*
 * files.h - the files of a cut: in one directory, and in it one for each source
 * if there are several, called by its number and name; in each the metadata as
 * they are, the clock's line if its times were read by one (core/clock_offset.h), and
 * streams under the names they had. A stream of which nothing is
 * kept has no file. Those that a function takes (to.h) are made without a name.
 */
#ifndef READER_CUT_FILES_H
#define READER_CUT_FILES_H

#include <stdint.h>

#include "base/text.h"
#include "ctf/directory.h"
#include "reader/cut/to.h"
#include "reader/reader.h"

#define SONDE_CUT_PATH_BYTES 4096

struct sonde_cut_files {
	const struct sonde_trace *trace;
	const struct sonde_cut_to *to;
	struct sonde_trace_error *error;
	uint64_t nr, bytes; /* streams' files, and bytes of all */
	/* ---- private ---- */
	struct sonde_directory place;
	int *dirs; /* one for each source; NULL at first */
	int fd;    /* of the present stream; -1: none, also at first */
	char path[SONDE_CUT_PATH_BYTES]; /* its, in the new trace */
};

/* Each of these returns 0, or a negative errno with words in *error. */

/* Makes what directories are wanted, and copies metadata. */
int sonde_cut_files_begin(struct sonde_cut_files *files);
/* Writes to the end of the present stream's file. */
int sonde_cut_files_append(struct sonde_cut_files *files,
			   const struct sonde_stream *stream,
			   const uint8_t *bytes, uint64_t size);
/* The stream is complete. */
int sonde_cut_files_end(struct sonde_cut_files *files);
/* Nothing more is written. */
void sonde_cut_files_fini(struct sonde_cut_files *files);

/* Puts words into *error; returns err. */
#define sonde_cut_fail(files, err, ...) \
	sonde_text_fail((files)->error, err, __VA_ARGS__)

#endif /* READER_CUT_FILES_H */
