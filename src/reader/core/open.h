/* SPDX-License-Identifier: MIT */
/*
 * open.h - the steps of opening a trace: for open.c, which has files, and for
 * those that have bytes already (fuzzers, tests).
 *
 *	trace = sonde_trace_new();
 *	sonde_trace_add_source(trace, "name", metadata, size, &error, &source);
 *	sonde_trace_add_stream(source, "name", &bytes, NULL, 0);	...
 *	sonde_trace_finish(trace, &error);
 *
 * After any failure: sonde_trace_close().
 */
#ifndef READER_CORE_OPEN_H
#define READER_CORE_OPEN_H

#include "reader/reader.h"

/* NULL without memory. */
struct sonde_trace *sonde_trace_new(void);

/* Parses the metadata and makes plans for it. */
int sonde_trace_add_source(struct sonde_trace *trace, const char *path,
			   const void *metadata, size_t size,
			   struct sonde_trace_error *error,
			   struct sonde_source **ret_source);

/* Puts its times on another machine's clock, as a file `.clock` says
 * (core/clock_offset.h); one that makes no sense is a problem of the trace's, and
 * changes nothing. Before streams are added. `text` ends with a zero; NULL: it
 * can't be read. -ENOMEM. */
int sonde_trace_set_clock(struct sonde_source *source, const char *text);

/* Where the reading of a file begins: at a packet, and in that behind what was
 * read before. */
struct sonde_open_place {
	uint64_t packet, byte; /* in the file; zeros: at its beginning */
};

/* A file's bytes as a stream has them, see "Positions" in reader/reader.h. */
struct sonde_bytes {
	const uint8_t *data; /* NULL: none */
	size_t bytes, mapped_bytes;
	bool is_file; /* what is dropped comes back from the file, */
	int fd;       /* which is this; the caller's. -1: it is closed */
	struct sonde_ctf_packed *packed; /* what they are of; or NULL */
	const char *lack; /* why there aren't more; NULL: it is all */
	struct sonde_open_place from;
};
/* Maps a file's bytes, or copies `from`. -errno. */
int sonde_bytes_map(int fd, uint64_t size, struct sonde_bytes *ret_bytes);
int sonde_bytes_copy(const void *from, size_t size,
		     struct sonde_bytes *ret_bytes);
/* If it is a packed stream file (ctf/packed.h), its bytes become those that it is
 * unpacked. -errno. */
int sonde_bytes_unpack(struct sonde_bytes *bytes);
void sonde_bytes_unmap(const struct sonde_bytes *bytes);

/* Owns `bytes` from now on, whatever it returns: 0 or -ENOMEM. `index`: an
 * index file's bytes, or NULL; read here and not kept. */
int sonde_trace_add_stream(struct sonde_source *source, const char *path,
			   const struct sonde_bytes *bytes,
			   const uint8_t *index, size_t index_bytes);

/* What is behind `end` reads as zeros from the next page on: who writes the file
 * may cut it there while it is read. Best effort. */
void sonde_stream_cover(const struct sonde_stream *stream, uint64_t end);

/* When all is there: losses, and from when to when it is. -ENOMEM. */
int sonde_trace_finish(struct sonde_trace *trace);

/* Whether a stream's index file, if it has one, agrees with every packet: 0;
 * -EINVAL and why not; -errno if it can't be read. */
int sonde_stream_index_check(const struct sonde_stream *stream,
			     const char **ret_why);

/* Puts words into *error and returns err. */
__attribute__((format(printf, 3, 4))) int
sonde_trace_fail(struct sonde_trace_error *error, int err, const char *format,
		 ...);

/* Which part of a trace is opened. */
struct sonde_open_part {
	/* Where the file's reading begins; false: it is left out. NULL: all is
	 * read. */
	bool (*from)(void *ctx, const char *path,
		     struct sonde_open_place *ret_place);
	void *ctx;
	bool as_recorded; /* no clock is put on another one's time */
};

/* sonde_trace_open(), but for what a model knows of the trace's threads.
 * `part`: NULL is all of it. */
int sonde_trace_open_files(const char *const *paths, size_t nr_paths,
			   const struct sonde_open_part *part,
			   struct sonde_trace_error *error,
			   struct sonde_trace **ret_trace);

#endif /* READER_CORE_OPEN_H */
