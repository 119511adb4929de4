/* SPDX-License-Identifier: MIT */
/*
 * schema.h - what a trace's metadata says, whichever language says it.
 *
 *   unpack.c    metadata in packets -> its text
 *   tsdl_*.c    CTF 1.8 text        -> schema
 *   json*.c     CTF 2 fragments     -> schema
 *   schema.c    what both need: making and copying nodes; which parser it is
 *   finish.c    and after both: resolving references, checking
 *   byte_order.c  and among that, byte orders inside of a byte
 *   lookup.c    what is found by name
 *   write2*.c   schema              -> CTF 2 fragments
 *
 * The reader compiles a schema into plans (src/reader/plan.c); nothing else
 * looks at it while events are read. All of a schema lives in its pool.
 *
 * ## Invariants of a finished schema (sonde_schema_finish)
 *
 *  1. Each `struct sonde_class` appears at one place only of one scope: what an
 *     alias names is copied where it is used. So a place is a pointer.
 *  2. align_bits is a power of two, at least 1, at most 2^20.
 *  3. Numbers of fixed size have 1 to 64 bits; a fixed array has at most 2^32
 *     elements; nesting is at most SONDE_SCHEMA_DEPTH deep.
 *  4. A length, a tag or a selector is a number (`ref`) that is decoded before
 *     what depends on it, and has a register: `ref->reg` >= 0. There are at
 *     most SONDE_SCHEMA_REGS registers in an event and the scopes around it.
 *     Several places may share a register if they are options of one variant.
 *  5. Every stream class has a header layout that makes sense: if there are
 *     several event classes, some number in its header has
 *     SONDE_ROLE_EVENT_ID; ids are unique in a stream class, and stream class
 *     ids in a schema.
 *  6. Clock frequencies are not 0.
 *
 * Names are as users see them: in CTF 1.8 one leading underscore is gone.
 */
#ifndef CTF_SCHEMA_SCHEMA_H
#define CTF_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "base/pool.h"
#include "types/type.h"

#define SONDE_SCHEMA_DEPTH 32
#define SONDE_SCHEMA_REGS  SONDE_WALK_REGS

/* How the URI begins of what `sonde generate` made an event of. */
#define SONDE_CTF_MODEL_URI "sonde:"

struct sonde_event_class {
	struct sonde_event_class_info info; /* .source and .index: reader's */
	struct sonde_stream_class *stream_class;
	bool has_id; /* else, if it is the only one, any id is its */
	struct sonde_class *scopes[SONDE_NR_SCOPES]; /* its own two only */
	const char *attributes;                      /* JSON text; NULL */
	const char *uid, *namespace_name;            /* NULL: none */
	const char *model_uri; /* what describes it; NULL */
	int nr_regs;           /* with the scopes around */
	void *plan;            /* the reader's */
};

struct sonde_stream_class {
	uint64_t id;
	bool has_id;
	const char *name, *uid, *namespace_name; /* NULL: none */
	const char *attributes;
	int clock; /* of schema->clocks; -1 none: it has no times */
	struct sonde_class *scopes[SONDE_NR_SCOPES]; /* PACKET_CONTEXT,
				EVENT_HEADER, COMMON_CONTEXT; else NULL */
	size_t nr_events, events_capacity;
	struct sonde_event_class **events; /* as in the metadata */
	int nr_regs; /* of packet header, context, event header, common */
	void *plan;  /* the reader's */
};

struct sonde_schema_clock {
	struct sonde_clock_info info;
	const char *uid, *namespace_name; /* NULL: none */
	const char *origin_name, *origin_namespace, *origin_uid; /* NULL */
	uint64_t accuracy;
	bool has_precision, has_accuracy;
	const char *attributes;
};

struct sonde_schema {
	struct sonde_pool pool;
	int major, minor;
	bool big_endian; /* CTF 1.8: trace.byte_order */
	bool has_uuid;
	uint8_t uuid[16];
	const char *name, *uid, *namespace_name; /* of the trace; NULL */
	const char *attributes;
	struct sonde_class *packet_header; /* NULL: none */

	size_t nr_env, env_capacity;
	struct sonde_env *env;
	size_t nr_clocks, clocks_capacity;
	struct sonde_schema_clock *clocks;
	size_t nr_streams, streams_capacity;
	struct sonde_stream_class **streams;
	/* What is read, but not by all readers or not as the format has it:
	 * lines of words, as of a complaint. */
	size_t nr_warnings, warnings_capacity;
	const char **warnings;
};

/* Where in the metadata something is wrong: one line of words that begins
 * "line 12, column 3: " (CTF 1.8) or "fragment 4: " (CTF 2); what is wrong
 * with the schema as a whole, with the field: 'event 3 "open", payload, a: '. */
struct sonde_schema_error {
	char text[384];
};

/*
 * The contents of a file `metadata`, any form: packets, text with or without
 * its first line, JSON fragments. 0, -EINVAL with *error, -ENOMEM. The result
 * is finished and lives until sonde_schema_free().
 */
int sonde_schema_parse(const void *bytes, size_t size,
		       struct sonde_schema_error *error,
		       struct sonde_schema **ret_schema);
void sonde_schema_free(struct sonde_schema *schema);

/* Its parts: the parsers of text (NUL-free, any size) and of fragments; they
 * don't finish. */
int sonde_schema_parse_tsdl(struct sonde_schema *schema, const char *text,
			    size_t size, struct sonde_schema_error *error);
int sonde_schema_parse_json(struct sonde_schema *schema, const char *text,
			    size_t size, struct sonde_schema_error *error);
/* Metadata in packets, either byte order: its text, to be freed by free(). */
int sonde_schema_unpack(const void *bytes, size_t size,
			struct sonde_schema_error *error, char **ret_text,
			size_t *ret_size);

/* ---- for parsers ---- */

/* Makers: zeroed, align 1, reg and clock -1, location relative; NULL without
 * memory. */
static inline struct sonde_class *
sonde_schema_class(struct sonde_schema *schema, enum sonde_kind kind)
{
	return sonde_class_new(&schema->pool, kind);
}
/* A deep copy, unresolved (invariant 1). NULL also if it is nested too deep. */
struct sonde_class *sonde_schema_copy(struct sonde_schema *schema,
				      const struct sonde_class *cls);
struct sonde_stream_class *sonde_schema_stream(struct sonde_schema *schema,
					       uint64_t id);
struct sonde_event_class *
sonde_schema_event(struct sonde_schema *schema,
		   struct sonde_stream_class *stream_class, uint64_t id);

/* Resolves locations, gives registers and alignments, and checks the
 * invariants. 0, -EINVAL with *error, -ENOMEM. */
int sonde_schema_finish(struct sonde_schema *schema,
			struct sonde_schema_error *error);

/* Sets *error, unless it says something already; returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int
sonde_schema_complain(struct sonde_schema_error *error, const char *format,
		      ...);

/* Notes what is read all the same. Few are kept, and no more than there is
 * memory for. */
__attribute__((format(printf, 2, 3))) void
sonde_schema_warn(struct sonde_schema *schema, const char *format, ...);

/* ---- writing ---- */

/*
 * The same schema as CTF 2 fragments: the data streams it describes are the
 * same bytes. *ret_text is for free(). -ENOTSUP with *error if the schema has
 * something that CTF 2 can't say; -ENOMEM.
 */
int sonde_schema_write_json(const struct sonde_schema *schema,
			    struct sonde_schema_error *error, char **ret_text,
			    size_t *ret_size);

#endif /* CTF_SCHEMA_SCHEMA_H */
