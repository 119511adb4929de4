/* SPDX-License-Identifier: MIT */
/*
 * trace.h - read traces in the Common Trace Format, 1.8 and 2, whoever wrote
 * them. Link with -lsonde-trace.
 *
 * ## The objects
 *
 *   trace    what was opened: one or several directories, each with a file
 *            `metadata` (a *source*), merged on one time axis
 *   stream   one data file of a source: packets, one after the other. The
 *            files of one stream instance (rotated, chunked) are several
 *            streams here, with the same instance
 *   packet   a run of events with a header: times, sizes, losses
 *   event    one record. A `struct sonde_event` is a place in a packet; its
 *            fields are read from there, without copies, when asked for
 *   class    the type of a field; an *event class* that of an event
 *   cursor   goes through a trace's events in the order of time, both ways
 *   filter   an expression (docs/filter.md), compiled for a trace
 *
 * ## Rules for all functions
 *
 * Times are nanoseconds since 1970 (UTC) as far as the trace's clocks say, in
 * an int64_t. Errors are negative errno values. Results come last and are
 * written on success only. Nothing is printed, no signal is handled, errno is
 * not part of the interface. A trace may be read by any number of threads at a
 * time, each with its own cursors; a cursor belongs to one thread. No function
 * is async-signal-safe. Files are mapped: a file that is cut while it is read
 * raises SIGBUS.
 *
 * What is wrong with a trace is never fatal once it is open: see *problems*.
 * A packet is read up to the damage in it; the next one is read if its head is
 * in order.
 */
#ifndef SONDE_TRACE_H
#define SONDE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SONDE_TRACE_API __attribute__((visibility("default")))
#else
#define SONDE_TRACE_API
#endif

/* A time that is not known; also "from the start" and "to the end". */
#define SONDE_TIME_MIN INT64_MIN
#define SONDE_TIME_MAX INT64_MAX

struct sonde_trace;
struct sonde_source;
struct sonde_stream;
struct sonde_event_class;
struct sonde_class;
struct sonde_cursor;
struct sonde_filter;

/* Where to put the words about what went wrong; never NULL. */
struct sonde_trace_error {
	char text[512];  /* one line, without a newline */
	uint32_t column; /* in an expression, from 1; 0 otherwise */
};

/* ---- open ---- */

/*
 * Opens the traces in `paths`: each is a directory that holds `metadata`, or
 * one below which such directories are (searched five levels deep). Reads the
 * metadata and the packets' heads, no events. On failure (-ENOENT: no trace
 * there, -EINVAL: metadata that can't be understood, -ENOMEM, -EMFILE and what
 * open() says) *error says which file, where and why.
 */
SONDE_TRACE_API int sonde_trace_open(const char *const *paths, size_t nr_paths,
				     struct sonde_trace_error *error,
				     struct sonde_trace **ret_trace);

/* After all its cursors and filters. NULL is allowed. */
SONDE_TRACE_API void sonde_trace_close(struct sonde_trace *trace);

/* From the first to the last time that packets and events name; -ENODATA if
 * there are none. */
SONDE_TRACE_API int sonde_trace_range(const struct sonde_trace *trace,
				      int64_t *ret_begin, int64_t *ret_end);

/* ---- what there is; all that is returned lives as long as the trace ---- */

SONDE_TRACE_API size_t sonde_trace_nr_sources(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_source *
sonde_trace_source(const struct sonde_trace *trace, size_t i);

struct sonde_env {
	const char *name;
	const char *text; /* NULL: the value is `number` */
	int64_t number;
};

struct sonde_clock_info {
	const char *name;        /* "" if it has none */
	const char *description; /* "" if it has none */
	uint64_t frequency;      /* Hz, not 0 */
	int64_t offset_s;        /* at counter 0, from its origin */
	uint64_t offset_cycles;
	uint64_t precision; /* cycles; 0 unknown */
	bool absolute;      /* the origin is 1970 */
	bool has_uuid;
	uint8_t uuid[16];
};

struct sonde_source_info {
	const char *path; /* the directory */
	int major;        /* of the format: 1 or 2 */
	int minor;
	bool big_endian; /* the native byte order */
	bool has_uuid;
	uint8_t uuid[16];
	size_t nr_env;
	const struct sonde_env *env;
	size_t nr_clocks;
	const struct sonde_clock_info *clocks;
};
SONDE_TRACE_API void sonde_source_get_info(const struct sonde_source *source,
					   struct sonde_source_info *ret_info);

/* The value of an environment entry as text; NULL if there is none or it is a
 * number. */
SONDE_TRACE_API const char *sonde_source_env(const struct sonde_source *source,
					     const char *name);

SONDE_TRACE_API size_t sonde_trace_nr_streams(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_stream *
sonde_trace_stream(const struct sonde_trace *trace, size_t i);

struct sonde_stream_info {
	size_t index;     /* of sonde_trace_stream() */
	const char *path; /* the file */
	const struct sonde_source *source;
	uint64_t class_id;
	bool has_instance;
	uint64_t instance;
	int32_t cpu;    /* of the first packet; -1 unknown */
	uint64_t bytes; /* of the file */
	size_t nr_packets;
	int clock;          /* of the source's clocks; -1 none */
	int64_t begin, end; /* SONDE_TIME_MAX, _MIN if it has no times */
};
SONDE_TRACE_API void sonde_stream_get_info(const struct sonde_stream *stream,
					   struct sonde_stream_info *ret_info);

struct sonde_packet_info {
	uint64_t offset;       /* bytes in the file */
	uint64_t bytes;        /* with padding */
	uint64_t content_bits; /* from the packet's start */
	int64_t begin, end;    /* SONDE_TIME_MIN, _MAX where unknown */
	bool has_discarded, has_sequence;
	uint64_t discarded; /* the snapshot that the packet holds */
	uint64_t sequence;
	int32_t cpu; /* -1 unknown */
};
/* -ERANGE beyond the last one. */
SONDE_TRACE_API int sonde_stream_packet(const struct sonde_stream *stream,
					size_t i,
					struct sonde_packet_info *ret_info);

/* ---- problems: what is wrong with a trace, as far as it has been read ---- */

enum sonde_problem_kind {
	SONDE_PROBLEM_LOST_EVENTS,  /* the tracer said so: `count` events */
	SONDE_PROBLEM_LOST_PACKETS, /* gap in sequence numbers: `count` */
	SONDE_PROBLEM_DAMAGE, /* bytes that can't be; reading resumed after */
	SONDE_PROBLEM_TRUNCATED, /* the file ends inside a packet */
	SONDE_PROBLEM_ORDER,     /* `count` events earlier than one before */
	SONDE_PROBLEM_INDEX,     /* the index file is not the stream's */
	SONDE_PROBLEM_FORMAT,    /* allowed nowhere, but harmless here */
	SONDE_PROBLEM_METADATA,  /* the same, of a source's metadata */
	SONDE_PROBLEM_UUID,      /* packets have another trace's UUID */
};

struct sonde_problem {
	enum sonde_problem_kind kind;
	const struct sonde_stream *stream; /* NULL: of a source as a whole */
	size_t packet;
	uint64_t byte;      /* in the file, where the damage begins */
	int64_t begin, end; /* between which times; MIN, MAX unknown */
	uint64_t count;
	const char *text; /* one line; lives as long as the trace */
};
/*
 * Losses, cut files and indexes are known from the start; damage and disorder
 * inside packets once they have been read. A problem met by several cursors is
 * counted once. -ERANGE beyond the last one.
 */
SONDE_TRACE_API int sonde_trace_problem(const struct sonde_trace *trace,
					size_t i,
					struct sonde_problem *ret_problem);

/* ---- classes ---- */

enum sonde_kind {
	SONDE_KIND_UINT, /* also booleans, characters, pointers */
	SONDE_KIND_INT,
	SONDE_KIND_BOOL,
	SONDE_KIND_BITS, /* a bit array or bit map; value in .u */
	SONDE_KIND_FLOAT,
	SONDE_KIND_STRING, /* UTF-8 after conversion, see sonde_value */
	SONDE_KIND_BLOB,
	SONDE_KIND_STRUCT,
	SONDE_KIND_ARRAY,    /* of a length that the class says */
	SONDE_KIND_SEQUENCE, /* of a length that the event says */
	SONDE_KIND_VARIANT,
	SONDE_KIND_OPTIONAL,
};

/* The parts of an event, outermost first. */
enum sonde_scope {
	SONDE_SCOPE_PACKET_HEADER,
	SONDE_SCOPE_PACKET_CONTEXT,
	SONDE_SCOPE_EVENT_HEADER,
	SONDE_SCOPE_COMMON_CONTEXT, /* the stream's event.context */
	SONDE_SCOPE_EVENT_CONTEXT,
	SONDE_SCOPE_PAYLOAD,
	SONDE_NR_SCOPES,
};

SONDE_TRACE_API size_t
sonde_trace_nr_event_classes(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_event_class *
sonde_trace_event_class(const struct sonde_trace *trace, size_t i);

struct sonde_event_class_info {
	size_t index; /* of sonde_trace_event_class() */
	const struct sonde_source *source;
	uint64_t stream_class_id;
	uint64_t id;
	const char *name; /* "" if it has none */
	int loglevel;     /* -1 if it has none */
	bool internal;    /* carries context for others; not an event */
};
SONDE_TRACE_API void
sonde_event_class_get_info(const struct sonde_event_class *cls,
			   struct sonde_event_class_info *ret_info);

/* info.index by itself: for tables by class. */
SONDE_TRACE_API size_t
sonde_event_class_index(const struct sonde_event_class *cls);

/* The structure of a scope, or NULL if the class has none. */
SONDE_TRACE_API const struct sonde_class *
sonde_event_class_scope(const struct sonde_event_class *cls,
			enum sonde_scope scope);

SONDE_TRACE_API enum sonde_kind sonde_class_kind(const struct sonde_class *cls);
/* Of a number: bits (0: of variable length), preferred base (2, 8, 10, 16). */
SONDE_TRACE_API unsigned int sonde_class_bits(const struct sonde_class *cls);
SONDE_TRACE_API unsigned int sonde_class_base(const struct sonde_class *cls);
/* Members of a structure, options of a variant, 1 of an array and the like. */
SONDE_TRACE_API size_t sonde_class_nr_members(const struct sonde_class *cls);
SONDE_TRACE_API const struct sonde_class *
sonde_class_member(const struct sonde_class *cls, size_t i,
		   const char **ret_name);
/* The label of a number's value (an enumeration's, a bit's); NULL if none.
 * If ranges overlap, the i-th label; begin with 0. */
SONDE_TRACE_API const char *sonde_class_label(const struct sonde_class *cls,
					      uint64_t value, size_t i);
SONDE_TRACE_API bool sonde_class_has_labels(const struct sonde_class *cls);

/* ---- cursors ---- */

struct sonde_event {
	int64_t time_ns; /* SONDE_TIME_MIN in a stream without clock */
	uint64_t ticks;  /* its clock's counter */
	const struct sonde_event_class *cls;
	const struct sonde_stream *stream;
	/* ---- private ---- */
	struct sonde_lane *lane;
	const uint8_t *data; /* of the packet */
	uint64_t pos;        /* bits: where what follows the header begins */
	uint64_t end;        /* bits: where it ends */
	uint32_t head_bits;  /* from the event's first bit to there */
	int32_t tid, pid;    /* from context records; -1 none */
	uint32_t packet;
};

struct sonde_cursor_options {
	int64_t from_ns, to_ns; /* both inclusive; MIN and MAX for all */
	const struct sonde_filter *filter; /* NULL: all; borrowed */
	const bool *streams; /* NULL: all; [nr_streams], borrowed */
	bool unmerged;       /* stream by stream, faster */
	bool internal;       /* also those of classes that are `internal` */
};

/* An options value for everything. */
SONDE_TRACE_API void
sonde_cursor_options_init(struct sonde_cursor_options *options);

/* Stands before the first event. -ENOMEM. NULL options: everything. */
SONDE_TRACE_API int sonde_cursor_new(struct sonde_trace *trace,
				     const struct sonde_cursor_options *options,
				     struct sonde_cursor **ret_cursor);
SONDE_TRACE_API void sonde_cursor_free(struct sonde_cursor *cursor);

/*
 * The next event, or the one before: 1 and *ret_event, valid until the
 * cursor's next call; 0 at the end; -ENOMEM. After next() said 0, prev() gives
 * the last event; changing direction gives the same event once more.
 * Events of equal times come in the order of their streams, then of the file.
 * prev() on a cursor with `unmerged` is -ENOTSUP.
 */
SONDE_TRACE_API int sonde_cursor_next(struct sonde_cursor *cursor,
				      const struct sonde_event **ret_event);
SONDE_TRACE_API int sonde_cursor_prev(struct sonde_cursor *cursor,
				      const struct sonde_event **ret_event);

/*
 * Stands before the first event at or after `time_ns`; SONDE_TIME_MAX: behind
 * the last. Costs a binary search and a part of a packet in each stream.
 */
SONDE_TRACE_API int sonde_cursor_seek(struct sonde_cursor *cursor,
				      int64_t time_ns);

/* How far it is, for a progress bar: bytes of packets done and of all. */
SONDE_TRACE_API void sonde_cursor_progress(const struct sonde_cursor *cursor,
					   uint64_t *ret_done,
					   uint64_t *ret_all);

/* ---- an event's fields ---- */

struct sonde_value {
	enum sonde_kind kind;
	const struct sonde_class *cls;
	uint64_t length; /* STRING, BLOB: bytes; STRUCT, ARRAY, SEQUENCE:
			  * members or elements */
	union {
		uint64_t u; /* UINT, BOOL, BITS; which option of a VARIANT;
			     * 0 or 1 of an OPTIONAL */
		int64_t i;  /* INT */
		double d;   /* FLOAT */
		const char *text; /* STRING (not terminated), BLOB; of a
				   * SEQUENCE its bytes, if it is one of bytes
				   * shown in hexadecimal and whole, else NULL
				   */
	};
};
/* Strings in UTF-8 or ASCII point into the file. Those in UTF-16 and 32 are
 * given as they are in the file; sonde_value_utf8() converts them, and copies
 * the others. It adds no zero byte, leaves out characters that don't fit, and
 * returns the bytes that all of them take. */
SONDE_TRACE_API size_t sonde_value_utf8(const struct sonde_value *value,
					char *buffer, size_t size);

/*
 * A path to a field of an event class, found once and used for each event:
 * members by name, elements by [i], separated by dots: "a", "hdr.len",
 * "list[2].key". Through a variant or an optional goes the name of the option.
 * `scope` SONDE_NR_SCOPES: the payload, then the contexts, innermost first.
 * Plain data; valid as long as the trace. -ENOENT if there is no such field,
 * -EINVAL if the path makes no sense.
 */
#define SONDE_FIELD_DEPTH 12
struct sonde_field {
	const struct sonde_event_class *owner;
	const struct sonde_class *cls;
	/* ---- private ---- */
	uint32_t block;
	uint32_t offset; /* bits, from the block */
	uint8_t scope, depth;
	bool direct;   /* it has a place: block and offset */
	bool simple;   /* and is a number of `bits` in the order below */
	bool text;     /* or a string of single bytes: ends at a zero, or after
		      * `room` bytes if that isn't 0 */
	uint8_t quick; /* how it is had at `at`; 0: not so */
	uint32_t room;
	uint8_t bits, kind;
	bool big_endian, is_signed;
	bool whole;  /* simple, at a byte, and in this machine's byte order */
	uint32_t at; /* bytes, from the body's begin, which is at a byte */
	uint64_t mask, sign; /* of a whole one: its bits, and the sign's */
	uint32_t path[SONDE_FIELD_DEPTH];
};
SONDE_TRACE_API int sonde_event_class_field(const struct sonde_event_class *cls,
					    enum sonde_scope scope,
					    const char *path,
					    struct sonde_field *ret_field);

/* The field's value: 0, or -ENOENT if this event doesn't have it (another
 * option of a variant, an element behind the end). The event must be of the
 * field's class. */
SONDE_TRACE_API int sonde_event_value(const struct sonde_event *event,
				      const struct sonde_field *field,
				      struct sonde_value *ret_value);

/* Several at once, which is faster. What the event doesn't have gets the class
 * NULL. Returns how many it has. */
SONDE_TRACE_API size_t sonde_event_values(const struct sonde_event *event,
					  const struct sonde_field *fields,
					  size_t nr_fields,
					  struct sonde_value *ret_values);

/*
 * All fields of a scope, in order, for those who show them:
 *
 *	struct sonde_walk walk;
 *	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
 *	while ((item = sonde_walk_next(&walk, &name, &value)) ...)
 *
 * A STRUCT, ARRAY or SEQUENCE (its value has the length), a VARIANT or an
 * OPTIONAL begins a group; its members follow; ITEM_END ends it. The outermost
 * structure itself is not given. `name` is NULL for elements.
 */
enum sonde_walk_item {
	SONDE_WALK_END, /* of all */
	SONDE_WALK_VALUE,
	SONDE_WALK_GROUP,
	SONDE_WALK_GROUP_END,
};
#define SONDE_WALK_DEPTH 40
#define SONDE_WALK_REGS  64
struct sonde_walk {
	/* ---- private ---- */
	const uint8_t *data;
	uint64_t pos, limit; /* bits */
	int depth;
	bool damaged;      /* a value reached beyond the limit */
	const char *why;   /* it is damaged in another way, in words */
	uint32_t nr_empty; /* elements without a bit, so far */
	struct sonde_walk_level {
		const struct sonde_class *cls;
		uint64_t at, length;
		uint64_t from; /* where its last element began */
	} level[SONDE_WALK_DEPTH];
	uint64_t regs[SONDE_WALK_REGS];
};
SONDE_TRACE_API void sonde_walk_begin(struct sonde_walk *walk,
				      const struct sonde_event *event,
				      enum sonde_scope scope);
SONDE_TRACE_API enum sonde_walk_item
sonde_walk_next(struct sonde_walk *walk, const char **ret_name,
		struct sonde_value *ret_value);

/*
 * What nearly every trace knows, wherever it keeps it (Sonde's thread records,
 * contexts named vtid, tid, vpid, pid, procname, cpu_id in the packet context);
 * -1 or -ENOENT if it doesn't. Where no context says it, a kernel's trace does:
 * the thread that the CPU ran, by sched_switch; its process and its name, by
 * the state dump, forks, exec and switches. The first event for which that is
 * needed costs a pass over the trace, on all CPUs. Numbers are the machine's; of a
 * thread in a PID namespace of its own that only has a number there, it is that
 * plus a multiple of 4194304, one for each program.
 */
SONDE_TRACE_API int32_t sonde_event_tid(const struct sonde_event *event);
SONDE_TRACE_API int32_t sonde_event_pid(const struct sonde_event *event);
SONDE_TRACE_API int sonde_event_procname(const struct sonde_event *event,
					 struct sonde_value *ret_value);
SONDE_TRACE_API int32_t sonde_event_cpu(const struct sonde_event *event);
SONDE_TRACE_API const char *sonde_event_name(const struct sonde_event *event);
/* Where it begins in the file, how many bytes it touches, and its packet. */
SONDE_TRACE_API uint64_t sonde_event_offset(const struct sonde_event *event);
SONDE_TRACE_API uint64_t sonde_event_bytes(const struct sonde_event *event);
SONDE_TRACE_API size_t sonde_event_packet(const struct sonde_event *event);

/* ---- expressions ---- */

/*
 * Compiles an expression of the filter language for all event classes of a
 * trace. -EINVAL with error->column and text, -ENOMEM. A name that no event
 * class has is an error. Times without a date are relative to the trace's
 * begin. May be used by several threads at a time.
 */
SONDE_TRACE_API int sonde_filter_new(struct sonde_trace *trace,
				     const char *expression,
				     struct sonde_trace_error *error,
				     struct sonde_filter **ret_filter);
SONDE_TRACE_API void sonde_filter_free(struct sonde_filter *filter);

/* Whether an event matches: the expression's value is not 0 or empty. */
SONDE_TRACE_API bool sonde_filter_match(const struct sonde_filter *filter,
					const struct sonde_event *event);
/* The expression's value: a number, a double or a string in UTF-8, without a
 * class; -ENOENT if a field that it needs is not there. A string lives until
 * another event of this cursor is asked for, or another filter of this one. */
SONDE_TRACE_API int sonde_filter_value(const struct sonde_filter *filter,
				       const struct sonde_event *event,
				       struct sonde_value *ret_value);
/* Whether it can be true of some event of this class. */
SONDE_TRACE_API bool sonde_filter_wants(const struct sonde_filter *filter,
					const struct sonde_event_class *cls);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_TRACE_H */
