/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the reader's insides: what <sonde/trace.h> keeps opaque.
 *
 *   core/open.c     directories and files -> bytes
 *   core/trace.c    bytes -> sources (schema) and streams
 *   core/packets.c  a stream's table of packets, from its heads
 *   core/index.c    the same from its index
 *   core/clock_offset.c  one machine's clock on another one's time
 *   core/measure.c  when packets are that don't say so
 *   core/losses.c   what the heads' counters say is missing
 *   core/head.c     one packet's head
 *   core/problems.c what is wrong, once each
 *   core/info.c     the accessors of <sonde/trace.h> that only look
 *   core/load.h     numbers out of bits
 *   core/plan.c     an event class -> how to pass over and into its bytes
 *   core/lane.c     a stream, event by event, in batches, both ways
 *   core/cursor.c   lanes merged by time
 *   core/walk.c     a structure, field by field
 *   core/field.c    one field by its path
 *   core/filter.c   expressions bound to event classes
 *   core/map.c      slices of a trace on all CPUs
 *
 * A trace is immutable once open, but for its problems, which a mutex guards.
 * All that changes while reading belongs to a cursor.
 *
 * ## Positions
 *
 * Bits, from the first bit of the packet, in a uint64_t. A packet has at most
 * 2^60 bits, so sums of two positions never wrap. Files are mapped with at
 * least 128 readable bytes of zeros behind their end: loads may look there, and
 * checks against a limit come after.
 *
 * ## The order of packets, and who owns an event
 *
 * A stream's table is sorted by packets' begins (`begin_ns`), and
 * begin_ns <= end_ns holds in it, repaired where the trace says otherwise.
 * Each event has a *key*: the largest time in its packet so far, kept within
 * the packet's begin and end. Keys never fall inside a packet. An analysis in
 * slices gives an event to the slice that its key is in, so each event is in
 * exactly one, whatever is wrong with its time.
 */
#ifndef READER_READER_H
#define READER_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "ctf/packed.h"
#include "ctf/schema/schema.h"

/* Counter values to nanoseconds since 1970: base + (ticks * whole +
 * (ticks * fraction >> 64)). Monotonic in ticks, up to `last`: what comes after
 * it is SONDE_TIME_MAX or later. */
struct sonde_clock_scale {
	uint64_t whole, fraction;
	int64_t base_ns;
	uint64_t last;
};

struct sonde_source {
	struct sonde_trace *trace;
	size_t index; /* its place in trace->sources */
	const char *path;
	struct sonde_schema *schema;
	struct sonde_clock_info *clocks;       /* schema->nr_clocks */
	struct sonde_clock_scale *scales;      /* likewise */
	const struct sonde_clock_offset *line; /* in the scales; NULL: none */
	size_t machine;    /* whose it is, of trace->machines */
	bool is_sonde;     /* env tracer2_name, or tracer_name, is "sonde" */
	bool lost_at_most; /* lost events may not have been asked for */
	size_t metadata_bytes; /* that were read */
	bool ends_early; /* its tracer writes packets' ends that are too early */
};

/* What a packet's head says. A bit of `has` per sonde_role. */
struct sonde_head {
	const struct sonde_stream_class *cls;
	uint32_t has;
	uint64_t instance, packet_bits, content_bits;
	uint64_t ticks_begin, ticks_end, discarded, sequence;
	uint8_t uuid[16];
	bool other_uuid;                  /* not the metadata's */
	int32_t cpu;                      /* -1 unknown */
	uint32_t context_bit;             /* where the packet context begins */
	uint32_t head_bits;               /* where the first event may begin */
	uint64_t regs[SONDE_SCHEMA_REGS]; /* those of the head's numbers */
};
#define SONDE_HEAD_HAS(head, role) (((head)->has >> (role)) & 1)

/*
 * Reads the head at `data`, of which `bytes` are in the file (more are
 * readable, see above). 0, or in *ret_why what is wrong and in *ret_bit where:
 * -EINVAL (no magic, an unknown stream class) or -ENODATA
 * (it goes beyond the end). Sizes and times are as the trace has them,
 * unchecked.
 */
int sonde_head_parse(const struct sonde_source *source, const uint8_t *data,
		     uint64_t bytes, struct sonde_head *ret_head,
		     const char **ret_why, uint64_t *ret_bit);

/*
 * The place of a number with this role in a packet's head or context, for
 * those who rewrite packets: its first bit and class. -ENOENT.
 */
int sonde_head_field(const struct sonde_source *source, const uint8_t *data,
		     uint64_t bytes, enum sonde_role role, uint64_t *ret_bit,
		     const struct sonde_class **ret_cls);
/* Writes a number of fixed size there. */
void sonde_store_number(uint8_t *data, uint64_t bit,
			const struct sonde_class *cls, uint64_t value);

struct sonde_packet {
	uint64_t offset; /* bytes in the file */
	uint64_t bytes;
	uint64_t content_bits;    /* <= bytes * 8 */
	int64_t begin_ns, end_ns; /* begin <= end; _MIN, _MIN without clock */
	uint64_t ticks;           /* at begin, extended to 64 bits; 0 unknown */
	uint64_t discarded, sequence;
	int32_t cpu;
	uint8_t has_discarded : 1, has_sequence : 1, has_begin : 1, has_end : 1;
};

struct sonde_stream {
	struct sonde_trace *trace;
	const struct sonde_source *source;
	const struct sonde_stream_class *cls; /* NULL if it has no packets */
	const char *path;
	const uint8_t *data; /* mapped; NULL if the file is empty */
	uint64_t bytes;
	size_t mapped_bytes;
	bool is_file; /* else a copy in memory */
	struct sonde_ctf_packed
		*packed;      /* what it is unpacked from; NULL: no */
	uint64_t from_packet; /* where the first packet is that is read */
	uint64_t from_byte;   /* events that begin before are passed over */
	struct sonde_packet *packets; /* malloc; sorted by begin_ns */
	size_t nr_packets;
	bool overlapping; /* some packet begins before one before it ends */
	bool has_instance;
	uint64_t instance;
	size_t index;                          /* in trace->streams */
	const struct sonde_clock_scale *scale; /* NULL: no clock */
	int64_t begin_ns, end_ns;              /* SONDE_TIME_MAX, _MIN: none */
};

/*
 * Gives the pages of these bytes of the file back to the kernel, as mapped
 * pages count as this process's memory. They may be read again: then they come
 * back. Any thread.
 */
void sonde_stream_drop(const struct sonde_stream *stream, uint64_t from,
		       uint64_t to);
/* To be called before these bytes of the file are looked at: if it is packed, they
 * are unpacked (ctf/packed.h). NULL, or why they can't be had. Any thread. */
static inline const char *sonde_stream_need(const struct sonde_stream *stream,
					    uint64_t from, uint64_t bytes)
{
	return stream->packed ?
		       sonde_ctf_packed_need(stream->packed, from, bytes) :
		       NULL;
}
/* A packet's head has no more bytes. */
#define SONDE_NEED_HEAD ((uint64_t)64 << 10)
/* How many bytes behind a reader stay. */
#define SONDE_KEEP_BYTES ((uint64_t)4 << 20)

/* What has CPUs, processes and threads with numbers of its own: sources with the
 * same host name, and with the first of them those that have none. */
struct sonde_trace_machine {
	const char *host; /* "" if it isn't known */
	/* answers about it; made when they are first asked for, under the
	 * trace's mutex */
	struct sonde_attribution *attribution;
	bool attribution_made;
	int attribution_error; /* why there is none */
};

struct sonde_trace {
	struct sonde_pool pool; /* of what is found at opening */
	size_t nr_sources, sources_capacity;
	struct sonde_source **sources;
	size_t nr_streams, streams_capacity;
	struct sonde_stream **streams;
	size_t nr_classes, classes_capacity;
	struct sonde_event_class **classes; /* info.index is the place here */
	int64_t begin_ns, end_ns;           /* SONDE_TIME_MAX, _MIN: none */
	struct sonde_problems *problems;    /* problems.c's own */
	/* Programs' events say others than their machine's: sonde:contained. */
	bool has_own_numbers;
	bool is_part; /* some stream isn't read from its beginning */
	const struct sonde_attributor *attributor; /* NULL: none */
	pthread_mutex_t attribution_mutex;
	/* When all is there; at least one. NULL before. */
	struct sonde_trace_machine *machines;
	size_t nr_machines;
};

static inline int64_t sonde_scale_ns(const struct sonde_clock_scale *scale,
				     uint64_t ticks)
{
	__extension__ typedef unsigned __int128 wide;
	uint64_t part = (uint64_t)((wide)ticks * scale->fraction >> 64);

	if (__builtin_expect(ticks > scale->last, 0))
		return SONDE_TIME_MAX;
	return (int64_t)((uint64_t)scale->base_ns + ticks * scale->whole +
			 part);
}

/* Widens a span (begin at first SONDE_TIME_MAX, end _MIN) to all of the stream, which
 * may have none. */
static inline void sonde_stream_widen(const struct sonde_stream *stream,
				      int64_t *begin_ns, int64_t *end_ns)
{
	if (stream->begin_ns < *begin_ns)
		*begin_ns = stream->begin_ns;
	if (stream->end_ns > *end_ns)
		*end_ns = stream->end_ns;
}

/* The same, to the span of all streams of a source. */
void sonde_source_widen(const struct sonde_source *source, int64_t *begin_ns,
			int64_t *end_ns);

/* end - begin; 0 if it ends before it begins. */
static inline int64_t sonde_elapsed_ns(int64_t begin_ns, int64_t end_ns)
{
	int64_t ns;

	if (end_ns <= begin_ns)
		return 0;
	return __builtin_sub_overflow(end_ns, begin_ns, &ns) ? INT64_MAX : ns;
}

/*
 * Times of several machines (core/clock_offset.h). How far a time of this trace's
 * can be from the clock that it was put on; -1: nobody knows.
 */
int64_t sonde_source_bound_ns(const struct sonde_source *source,
			      int64_t time_ns);
/* How far the difference of two traces' times can be from the truth: 0 on one
 * machine; -1: nobody knows, as they were not put on one clock. */
int64_t sonde_source_apart_ns(const struct sonde_source *one, int64_t one_ns,
			      const struct sonde_source *other,
			      int64_t other_ns);
/* Whether all machines' traces were put on one clock; one machine's are. */
bool sonde_trace_is_on_one_clock(const struct sonde_trace *trace);
/* Whether it is known which of the two was first. */
bool sonde_source_is_ordered(const struct sonde_source *one, int64_t one_ns,
			     const struct sonde_source *other,
			     int64_t other_ns);

/*
 * Whether an enumeration's labels are of bits, to be combined: each is of one
 * bit, or of 0. C has no other way to say so, nor has CTF 1.8. One label alone,
 * and those that merely count (0, 1, 2), are not.
 */
bool sonde_class_names_bits(const struct sonde_class *cls);

/*
 * Notes a problem, unless one of the same kind, stream and packet is there
 * already; then the larger count stays. `text` is copied. Any thread. Without
 * memory, or after 10,000, the problem is only counted.
 */
void sonde_problem_add(struct sonde_trace *trace,
		       const struct sonde_problem *problem);
/* The same, with a text that is put together here. */
__attribute__((format(printf, 3, 4))) void
sonde_problem_say(struct sonde_trace *trace,
		  const struct sonde_problem *problem, const char *format, ...);

/* When the event's clock was at `ticks`, which the event says of what was before
 * it; the event's own time if it can't have been. */
static inline int64_t sonde_event_since_ns(const struct sonde_event *event,
					   uint64_t ticks)
{
	const struct sonde_clock_scale *scale = event->stream->scale;

	return scale && ticks > 1 && ticks <= event->ticks ?
		       sonde_scale_ns(scale, ticks) :
		       event->time_ns;
}

/* The image that is a stream class of that source, by a number for all of the
 * trace's. */
uint64_t sonde_source_image(const struct sonde_source *source,
			    uint64_t class_id);

/* What a context says of the event's thread, or an event around it, as its machine
 * numbers it; -1 if none does. */
int32_t sonde_event_own_tid(const struct sonde_event *event);
int32_t sonde_event_own_pid(const struct sonde_event *event);
/* 0, or -ENOENT. */
int sonde_event_own_procname(const struct sonde_event *event,
			     struct sonde_value *ret_value);
/* Of the event's process: its parent, as the machine numbers it, -1 if that isn't
 * known; its PID namespace, 0 if that isn't; its control group, and of that the
 * first digits of a container's id, 0 or -ENOENT. */
int32_t sonde_event_ppid(const struct sonde_event *event);
uint32_t sonde_event_pid_ns(const struct sonde_event *event);
int sonde_event_cgroup(const struct sonde_event *event,
		       struct sonde_value *ret_value);
int sonde_event_container(const struct sonde_event *event,
			  struct sonde_value *ret_value);

/* How a thread is scheduled. */
struct sonde_event_schedule {
	int32_t prio;       /* as the kernel's events have it */
	int32_t nice;       /* of those that have no better policy */
	const char *policy; /* "other", "fifo" ...; a constant */
};
/* The event's thread; NULL: it isn't known. */
const struct sonde_event_schedule *
sonde_event_schedule(const struct sonde_event *event);

/* The field that is the scope's i-th member, whatever it is called. -ENOENT,
 * -EINVAL. */
int sonde_event_class_member(const struct sonde_event_class *cls,
			     enum sonde_scope scope, size_t i,
			     struct sonde_field *ret_field);

/* ---- plans: made at opening for all classes, see core/plan.h ---- */
int sonde_plan_make(struct sonde_trace *trace, struct sonde_source *source,
		    struct sonde_trace_error *error);

#endif /* READER_READER_H */
