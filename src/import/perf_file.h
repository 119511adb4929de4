/* SPDX-License-Identifier: MIT */
/*
 * perf_file.h - a perf.data: its head, the events that were asked for, and what it
 * tells of where it was recorded. As Linux documents it
 * (tools/perf/Documentation/perf.data-file-format.txt).
 *
 *	a file:	"PERFILE2", sizes; sections of attributes and of data; behind the
 *		data a section for each bit of the head that is set (features)
 *	a pipe:	"PERFILE2", 16; records only, of which some are what a file has in
 *		sections
 *
 * A record: struct perf_event_header { u32 type; u16 misc, size }, and its fields.
 * Of some the size says half: what follows them is skipped by what they say.
 *
 * Everything is borrowed from the file's bytes. Bounds: SONDE_PERF_ATTRS_MAX
 * events, SONDE_PERF_IDS_MAX ids of theirs.
 */
#ifndef IMPORT_PERF_FILE_H
#define IMPORT_PERF_FILE_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/hash.h"
#include "import/formats.h"
#include "import/report.h"

#define SONDE_PERF_ATTRS_MAX 8192u
#define SONDE_PERF_IDS_MAX   (1u << 22)

/* Behind those that the kernel writes (its own enumeration ends below 64). */
enum sonde_import_perf_type {
	SONDE_PERF_HEADER_ATTR = 64,
	SONDE_PERF_TRACING_DATA = 66,
	SONDE_PERF_BUILD_ID = 67,
	SONDE_PERF_AUXTRACE = 71,
	SONDE_PERF_HEADER_FEATURE = 80,
	SONDE_PERF_COMPRESSED = 81,
	SONDE_PERF_COMPRESSED2 = 83,
};

/* An event that was asked for. */
struct sonde_import_perf_attr {
	struct perf_event_attr
		attr;     /* as far as the file has it; zeros behind */
	const char *name; /* "" if the file doesn't say */
};

/* What the features tell. Texts are "" if it isn't there. */
struct sonde_import_perf_facts {
	const char *hostname, *release, *version, *machine, *command;
	bool has_clock; /* of days: at clock_ns it was wall_ns since 1970 */
	uint64_t clock_ns, wall_ns;
	bool has_formats;
	struct sonde_import_formats formats;
};

struct sonde_import_perf {
	struct sonde_import_bytes records;
	bool is_pipe;
	bool is_unfinished; /* the head was never completed */
	struct sonde_import_perf_attr *attrs;
	size_t nr, room;
	struct sonde_hash ids;       /* the kernel's numbers of events */
	struct sonde_hash build_ids; /* by path */
	struct sonde_import_perf_facts facts;
	uint64_t unread; /* parts that make no sense */
	/* ---- private ---- */
	uint8_t *plain; /* what was compressed (perf_unzip.h); NULL */
};

/* By the first 8 bytes, of either byte order. */
bool sonde_import_perf_is(const char first[8]);

/* 0; or -errno with *error. To be closed in any case. */
int sonde_import_perf_open(const struct sonde_import_bytes *file,
			   struct sonde_import_perf *ret_perf,
			   struct sonde_import_error *error);
void sonde_import_perf_close(struct sonde_import_perf *perf);

/* A record with all that belongs to it. */
struct sonde_import_perf_piece {
	const struct perf_event_header *head; /* maybe unaligned: copy */
	uint32_t type;
	uint16_t misc;
	struct sonde_import_bytes body; /* behind the head */
	struct sonde_import_bytes tail; /* what follows it: tracing data */
};

/* The next of `records`: 1; 0 at the end; -EPROTO: what is left can't be read. */
int sonde_import_perf_next(struct sonde_import_bytes *records,
			   struct sonde_import_perf_piece *ret_piece);

/* What a pipe's record tells of the recording: kept. 0, or -errno with *error. */
int sonde_import_perf_learn(struct sonde_import_perf *perf,
			    const struct sonde_import_perf_piece *piece,
			    struct sonde_import_error *error);

/* The event with this number; NULL. */
const struct sonde_import_perf_attr *
sonde_import_perf_attr(const struct sonde_import_perf *perf, uint64_t id);

/* A file's build id; NULL. */
struct sonde_import_perf_build_id {
	struct sonde_key key; /* its path */
	uint8_t bytes[20];
	uint32_t nr;
};

const struct sonde_import_perf_build_id *
sonde_import_perf_build_id(const struct sonde_import_perf *perf,
			   const char *path);

#endif /* IMPORT_PERF_FILE_H */
