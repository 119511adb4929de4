/* SPDX-License-Identifier: MIT */
/*
 * tracedat_file.h - a trace.dat of trace-cmd, versions 6 and 7, as it is documented
 * (trace-cmd.dat.v6(5), trace-cmd.dat.v7(5)): what it tells, and where the pages of
 * each CPU are.
 *
 *	6:	formats.h's whole; u32 size, kallsyms; u32 size, printk formats;
 *		u64 size, names of threads; u32 CPUs; "options  \0", options;
 *		"flyrecord\0", of each CPU u64 offset, u64 size
 *	7:	formats.h's beginning; name\0 version\0 of a compression; u64 offset
 *		of options; anywhere sections, whose offsets options have
 *
 *	option:  u16 id, u32 size, bytes; id 0 ends: in 7 with a u64, the offset of
 *		 more options, or 0
 *	section: u16 id, u16 flags, u32, u64 size, bytes; flag 1: they are
 *		 compressed, u32 size, u32 bytes as they were, and so many bytes
 *
 * Pages are those of the kernel's ring buffer (source/tracefs/page.h). In a section
 * with flag 1 a CPU's are in chunks: u32 how many, and each compressed as above.
 *
 * Everything is borrowed from the file's bytes, or from what was unpacked, until
 * close. Nothing is believed. Bounds: SONDE_TRACEDAT_BUFFERS_MAX buffers,
 * SONDE_TRACEDAT_PARTS_MAX CPUs of them all, SONDE_TRACEDAT_UNPACKED_MAX bytes of
 * one compressed piece, SONDE_TRACEDAT_OPTIONS_MAX options.
 */
#ifndef IMPORT_TRACEDAT_FILE_H
#define IMPORT_TRACEDAT_FILE_H

#include "import/formats.h"
#include "import/report.h"

#define SONDE_TRACEDAT_BUFFERS_MAX  1024u
#define SONDE_TRACEDAT_PARTS_MAX    (1u << 16)
#define SONDE_TRACEDAT_CPUS_MAX     8192u
#define SONDE_TRACEDAT_UNPACKED_MAX (256u << 20)
#define SONDE_TRACEDAT_OPTIONS_MAX  (1u << 17)

/* What one instance of tracefs has recorded. */
struct sonde_import_tracedat_buffer {
	const char *name;  /* "": the kernel's own */
	const char *clock; /* maybe a list, with the one in brackets */
	uint32_t page_bytes;
};

/* A CPU's pages in a buffer. */
struct sonde_import_tracedat_part {
	uint32_t buffer;
	uint32_t cpu;
	bool is_packed;
	struct sonde_import_bytes pages;
};

/* Times of a counter: ns = ticks * mult >> shift. An offset is there as well, which
 * trace-cmd's own report doesn't apply. */
struct sonde_import_tracedat_tsc {
	uint32_t mult; /* 0: it isn't said */
	uint32_t shift;
};

struct sonde_import_tracedat {
	struct sonde_import_formats formats;
	struct sonde_format_page layout;
	/* Texts; "" if the file doesn't say. */
	const char *trace_cmd, *uname;
	/* What is added to times to be those since 1970. */
	bool has_date;
	int64_t date_ns;
	struct sonde_import_tracedat_tsc tsc;
	struct sonde_import_bytes names; /* lines: "pid name" */
	struct sonde_import_tracedat_buffer *buffers;
	size_t nr_buffers, room_buffers;
	struct sonde_import_tracedat_part *parts;
	size_t nr_parts, room_parts;
	const char **stats; /* each a CPU's, as the kernel says it */
	size_t nr_stats, room_stats;
	uint64_t nr_texts; /* buffers that are text, not records */
	uint64_t unread;   /* parts that make no sense */
	/* ---- private ---- */
	struct sonde_import_bytes file;
	const char *compression;
	bool is_zlib;      /* else zstd, or none */
	const char *clock; /* of the whole file */
	uint32_t nr_cpus;
	int64_t shift_ns;
	uint32_t nr_options;
	uint64_t parts_bytes, unpacked_bytes;
	void **unpacked;
	size_t nr_unpacked, room_unpacked;
};

/* By the first 8 bytes, of any version and byte order. */
bool sonde_import_tracedat_is(const char first[8]);

/* 0; or -errno with *error. To be closed in any case. */
int sonde_import_tracedat_open(const struct sonde_import_bytes *whole,
			       struct sonde_import_tracedat *ret_file,
			       struct sonde_import_error *error);
void sonde_import_tracedat_close(struct sonde_import_tracedat *file);

/* A walk over a part's pages, in their order. */
struct sonde_import_tracedat_walk {
	struct sonde_import_bytes pages; /* those that are at hand */
	uint32_t page_bytes;
	/* ---- private ---- */
	struct sonde_import_bytes packed;
	uint32_t nr_chunks; /* that are left */
	bool is_zlib;
	void *chunk;
};

/* `part` may not be NULL, and is borrowed. */
void sonde_import_tracedat_walk(const struct sonde_import_tracedat *file,
				const struct sonde_import_tracedat_part *part,
				struct sonde_import_tracedat_walk *ret_walk);
/* 1 and a page, valid until the next; 0 at the end; -EPROTO: what is left can't be
 * read; -ENOMEM. */
int sonde_import_tracedat_next(struct sonde_import_tracedat_walk *walk,
			       struct sonde_import_bytes *ret_page);
void sonde_import_tracedat_walk_end(struct sonde_import_tracedat_walk *walk);

#endif /* IMPORT_TRACEDAT_FILE_H */
