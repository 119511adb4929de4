/* SPDX-License-Identifier: MIT */
/*
 * trace.c - a trace, put together from bytes: metadata becomes a source with
 * its clocks, event classes and plans, a file's bytes become a stream with its
 * packets. Where bytes come from is open.c's business.
 *
 * A clock's counter c means base + floor(c * 10^9 / frequency) nanoseconds. The
 * division is done once, to 64 binary places and upwards, so that a counter
 * which is a whole number of nanoseconds doesn't come out as one less; the
 * result is at most 1 ns too large, and that after 2^64 / frequency ticks at
 * the earliest if a tick is a small fraction.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/port.h"
#include "ctf/packed.h"
#include "reader/attribution.h"
#include "reader/core/clock_offset.h"
#include "reader/core/open.h"
#include "reader/core/packets.h"
#include "reader/core/problems.h"

/* Readable zeros behind a file's bytes. */
#define TAIL_BYTES 128
/* Positions are bits, and sums of two must not wrap. */
#define FILE_BYTES_MAX (UINT64_C(1) << 56)

int sonde_trace_fail(struct sonde_trace_error *error, int err,
		     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	error->column = 0;
	return err;
}

struct sonde_trace *sonde_trace_new(void)
{
	struct sonde_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	sonde_pool_init(&trace->pool, 0);
	trace->begin_ns = SONDE_TIME_MAX;
	trace->end_ns = SONDE_TIME_MIN;
	(void)pthread_mutex_init(&trace->attribution_mutex, NULL);
	trace->problems = sonde_problems_new();
	if (trace->problems)
		return trace;
	free(trace);
	return NULL;
}

void sonde_trace_close(struct sonde_trace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < trace->nr_streams; i++) {
		struct sonde_stream *stream = trace->streams[i];
		struct sonde_bytes bytes = {
			.data = stream->data,
			.mapped_bytes = stream->mapped_bytes,
			.packed = stream->packed,
		};

		sonde_bytes_unmap(&bytes);
		free(stream->packets);
	}
	for (size_t i = 0; i < trace->nr_sources; i++)
		sonde_schema_free(trace->sources[i]->schema);
	for (size_t i = 0; i < trace->nr_machines; i++)
		if (trace->machines[i].attribution)
			trace->attributor->free(trace->machines[i].attribution);
	(void)pthread_mutex_destroy(&trace->attribution_mutex);
	sonde_problems_free(trace->problems);
	sonde_pool_fini(&trace->pool);
	free(trace);
}

/* ---- bytes ---- */

/* Zeros for `size` bytes and the tail; NULL without memory. */
static uint8_t *map_zeros(uint64_t size, int protection,
			  struct sonde_bytes *ret_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t mapped = (size + TAIL_BYTES + page - 1) & ~(page - 1);
	void *data;

	if (size > FILE_BYTES_MAX)
		return NULL;
	data = mmap(NULL, mapped, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (data == MAP_FAILED)
		return NULL;
	*ret_bytes = (struct sonde_bytes){
		.data = data,
		.bytes = size,
		.mapped_bytes = mapped,
	};
	return data;
}

int sonde_bytes_map(int fd, uint64_t size, struct sonde_bytes *ret_bytes)
{
	struct sonde_bytes bytes = { 0 };
	uint8_t *data;
	int err;

	*ret_bytes = bytes;
	if (!size)
		return 0;
	data = map_zeros(size, PROT_READ, &bytes);
	if (!data)
		return -ENOMEM;
	if (mmap(data, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED) {
		err = -errno;
		sonde_bytes_unmap(&bytes);
		return err;
	}
	bytes.is_file = true;
	bytes.fd = fd;
	*ret_bytes = bytes;
	return 0;
}

int sonde_bytes_copy(const void *from, size_t size,
		     struct sonde_bytes *ret_bytes)
{
	uint8_t *data;

	*ret_bytes = (struct sonde_bytes){ 0 };
	if (!size)
		return 0;
	data = map_zeros(size, PROT_READ | PROT_WRITE, ret_bytes);
	if (!data)
		return -ENOMEM;
	memcpy(data, from, size);
	return 0;
}

void sonde_bytes_unmap(const struct sonde_bytes *bytes)
{
	union {
		const uint8_t *data;
		void *mapping;
	} of = { .data = bytes->data };

	if (bytes->packed)
		sonde_ctf_packed_free(bytes->packed); /* and what it is of */
	else if (bytes->data)
		(void)munmap(of.mapping, bytes->mapped_bytes);
}

int sonde_bytes_unpack(struct sonde_bytes *bytes)
{
	struct sonde_ctf_packed *packed;
	struct sonde_ctf_unpacked unpacked;
	int err;

	if (!bytes->data || !sonde_ctf_is_packed(bytes->data, bytes->bytes))
		return 0;
	err = sonde_ctf_packed_new(bytes->data, bytes->bytes,
				   bytes->mapped_bytes, TAIL_BYTES, &packed);
	if (err)
		return err;
	unpacked = sonde_ctf_packed_bytes(packed);
	bytes->data = unpacked.data;
	bytes->bytes = unpacked.size;
	bytes->mapped_bytes = unpacked.mapped;
	bytes->packed = packed;
	bytes->lack = unpacked.lack;
	return 0;
}

void sonde_stream_drop(const struct sonde_stream *stream, uint64_t from,
		       uint64_t to)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	union {
		const uint8_t *data;
		void *mapping;
	} of = { .data = stream->data };

	from &= ~(page - 1);
	to &= ~(page - 1);
	of.data += from;
	if (stream->is_file && from < to)
		(void)madvise(of.mapping, to - from, MADV_DONTNEED);
}

void sonde_stream_cover(const struct sonde_stream *stream, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	union {
		const uint8_t *data;
		void *mapping;
	} of = { .data = stream->data };

	end = (end + page - 1) & ~(page - 1);
	if (!stream->is_file || end >= stream->mapped_bytes)
		return;
	of.data += end;
	(void)mmap(of.mapping, stream->mapped_bytes - end, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* ---- sources ---- */

static struct sonde_clock_scale scale_of(const struct sonde_clock_info *clock)
{
	__extension__ typedef __int128 wide;
	__extension__ typedef unsigned __int128 unsigned_wide;
	const uint64_t ns_per_s = 1000000000;
	unsigned_wide offset = (unsigned_wide)clock->offset_cycles * ns_per_s;
	unsigned_wide rest = ns_per_s % clock->frequency;
	wide base = (wide)clock->offset_s * (wide)ns_per_s +
		    (wide)(offset / clock->frequency);
	unsigned_wide last;

	if (base > INT64_MAX)
		base = INT64_MAX;
	if (base < INT64_MIN)
		base = INT64_MIN;
	/* 2: the result is rounded, and SONDE_TIME_MAX is no time */
	last = base > INT64_MAX - 2 ? 0 :
				      (unsigned_wide)(INT64_MAX - 2 - base) *
					      clock->frequency / ns_per_s;
	return (struct sonde_clock_scale){
		.whole = ns_per_s / clock->frequency,
		.fraction = (uint64_t)(((rest << 64) + clock->frequency - 1) /
				       clock->frequency),
		.base_ns = (int64_t)base,
		.last = last > UINT64_MAX ? UINT64_MAX : (uint64_t)last,
	};
}

static int take_clocks(struct sonde_source *source)
{
	struct sonde_pool *pool = &source->trace->pool;
	size_t nr = source->schema->nr_clocks;

	source->clocks = sonde_pool_get(pool, nr, sizeof(*source->clocks));
	source->scales = sonde_pool_get(pool, nr, sizeof(*source->scales));
	if (nr && (!source->clocks || !source->scales))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		source->clocks[i] = source->schema->clocks[i].info;
		source->scales[i] = scale_of(&source->clocks[i]);
	}
	return 0;
}

static bool says_sonde(const struct sonde_source *source, const char *name)
{
	const char *text = sonde_source_env(source, name);

	return text && !strcmp(text, "sonde");
}

static int64_t env_number(const struct sonde_source *source, const char *name)
{
	for (size_t i = 0; i < source->schema->nr_env; i++)
		if (!strcmp(source->schema->env[i].name, name))
			return source->schema->env[i].number;
	return 0;
}

/* LTTng up to 2.10 could write an event after it had taken a packet's end. */
static bool does_end_early(const struct sonde_source *source)
{
	const char *tracer = sonde_source_env(source, "tracer_name");

	return tracer && !strncmp(tracer, "lttng-", 6) &&
	       env_number(source, "tracer_major") == 2 &&
	       env_number(source, "tracer_minor") <= 10;
}

/* What says something about other events. */
static bool is_internal(const char *name)
{
	static const char *const names[] = {
		"sonde:thread",   "sonde:name",      "sonde:mappings",
		"sonde:mapping",  "sonde:stack",     "sonde:stacks_lost",
		"sonde:code",     "sonde:code_lost", "sonde:process",
		"sonde:schedule", "sonde:began",     "sonde:contained",
		"sonde:looked",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Addresses that are told as numbers from an origin (types/origins.h). */
static int take_payload_origins(struct sonde_source *source,
				const struct sonde_event_class *cls)
{
	const struct sonde_class *payload = cls->scopes[SONDE_SCOPE_PAYLOAD];
	int err = 0;

	for (size_t i = 0; payload && i < payload->nr_members && !err; i++)
		err = sonde_class_take_origins(&source->schema->pool,
					       payload->members[i].cls);
	return err;
}

static int take_event_class(struct sonde_source *source,
			    struct sonde_event_class *cls)
{
	struct sonde_trace *trace = source->trace;
	struct sonde_event_class **classes =
		sonde_pool_grow(&trace->pool, trace->classes, trace->nr_classes,
				&trace->classes_capacity,
				sizeof(struct sonde_event_class *));

	if (!classes)
		return -ENOMEM;
	cls->info.source = source;
	cls->info.index = trace->nr_classes;
	if (!cls->info.name)
		cls->info.name = "";
	cls->info.internal = source->is_sonde && is_internal(cls->info.name);
	if (cls->info.internal && !strcmp(cls->info.name, "sonde:contained"))
		trace->has_own_numbers = true;
	trace->classes = classes;
	trace->classes[trace->nr_classes++] = cls;
	return source->is_sonde ? take_payload_origins(source, cls) : 0;
}

static int take_event_classes(struct sonde_source *source)
{
	const struct sonde_schema *schema = source->schema;
	int err = 0;

	for (size_t i = 0; i < schema->nr_streams; i++) {
		const struct sonde_stream_class *cls = schema->streams[i];

		for (size_t k = 0; k < cls->nr_events && !err; k++)
			err = take_event_class(source, cls->events[k]);
	}
	return err;
}

static struct sonde_source *append_source(struct sonde_trace *trace,
					  const char *path)
{
	struct sonde_source **sources =
		sonde_pool_grow(&trace->pool, trace->sources, trace->nr_sources,
				&trace->sources_capacity,
				sizeof(struct sonde_source *));
	struct sonde_source *source =
		sonde_pool_get(&trace->pool, 1, sizeof(*source));

	if (!sources || !source)
		return NULL;
	source->trace = trace;
	source->path = sonde_pool_text(&trace->pool, path, strlen(path));
	if (!source->path)
		return NULL;
	trace->sources = sources;
	source->index = trace->nr_sources;
	trace->sources[trace->nr_sources++] = source;
	return source;
}

/* Of several traces, words about one have its name in them. */
static void note_warnings(const struct sonde_source *source)
{
	const struct sonde_schema *schema = source->schema;
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_METADATA,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.count = 1,
	};

	for (size_t i = 0; i < schema->nr_warnings; i++)
		sonde_problem_say(source->trace, &problem,
				  "%.100s/metadata: %s", source->path,
				  schema->warnings[i]);
}

int sonde_trace_add_source(struct sonde_trace *trace, const char *path,
			   const void *metadata, size_t size,
			   struct sonde_trace_error *error,
			   struct sonde_source **ret_source)
{
	struct sonde_source *source = append_source(trace, path);
	struct sonde_schema_error said = { 0 };
	int err;

	if (!source)
		return sonde_trace_fail(error, -ENOMEM, "no memory");
	if (!size)
		return sonde_trace_fail(error, -EINVAL,
					"%.400s/metadata is empty", path);
	err = sonde_schema_parse(metadata, size, &said, &source->schema);
	if (err)
		return sonde_trace_fail(error, err, "%.100s/metadata: %s", path,
					err == -ENOMEM ? "no memory" :
							 said.text);
	source->metadata_bytes = size;
	note_warnings(source);
	source->is_sonde = says_sonde(source, "tracer2_name") ||
			   says_sonde(source, "tracer_name");
	source->ends_early = does_end_early(source);
	source->lost_at_most = sonde_source_env(source, "kernel_lost_at_most");
	err = take_clocks(source);
	if (!err)
		err = take_event_classes(source);
	if (err)
		return sonde_trace_fail(error, err, "no memory");
	err = sonde_plan_make(trace, source, error);
	if (!err)
		*ret_source = source;
	return err;
}

static int bad_clock(const struct sonde_source *source, const char *why)
{
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_METADATA,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.count = 1,
	};

	sonde_problem_say(source->trace, &problem,
			  "%.100s/" SONDE_CLOCK_OFFSET_FILE
			  "%s: times are as they were recorded; sonde sync "
			  "--write makes it anew",
			  source->path, why);
	return 0;
}

int sonde_trace_set_clock(struct sonde_source *source, const char *text)
{
	struct sonde_pool *pool = &source->trace->pool;
	struct sonde_clock_offset *line =
		sonde_pool_get(pool, 1, sizeof(*line));
	char why[64];
	size_t nr_line;
	int err;

	if (!text)
		return bad_clock(source, " can't be read");
	if (!line)
		return -ENOMEM;
	err = sonde_clock_offset_parse(text, pool, line, &nr_line);
	(void)snprintf(why, sizeof(why), ", line %zu, makes no sense", nr_line);
	if (err)
		return err == -EINVAL ? bad_clock(source, why) : err;
	source->line = line;
	for (size_t i = 0; i < source->schema->nr_clocks; i++)
		source->scales[i] =
			sonde_clock_offset_scale(line, &source->scales[i]);
	return 0;
}

/* ---- streams ---- */

static struct sonde_stream *append_stream(struct sonde_trace *trace,
					  const char *path)
{
	struct sonde_stream **streams =
		sonde_pool_grow(&trace->pool, trace->streams, trace->nr_streams,
				&trace->streams_capacity,
				sizeof(struct sonde_stream *));
	struct sonde_stream *stream =
		sonde_pool_get(&trace->pool, 1, sizeof(*stream));

	if (!streams || !stream)
		return NULL;
	stream->trace = trace;
	stream->path = sonde_pool_text(&trace->pool, path, strlen(path));
	if (!stream->path)
		return NULL;
	stream->index = trace->nr_streams;
	trace->streams = streams;
	trace->streams[trace->nr_streams++] = stream;
	return stream;
}

/* Of what it is unpacked, the end is missing. */
static void note_lack(const struct sonde_stream *stream, const char *lack)
{
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_TRUNCATED,
		.stream = stream,
		.byte = stream->bytes,
		.begin = SONDE_TIME_MIN,
		.end = SONDE_TIME_MAX,
		.text = lack,
	};

	sonde_problem_add(stream->trace, &problem);
}

int sonde_trace_add_stream(struct sonde_source *source, const char *path,
			   const struct sonde_bytes *bytes,
			   const uint8_t *index, size_t index_bytes)
{
	struct sonde_stream *stream = append_stream(source->trace, path);

	if (!stream) {
		sonde_bytes_unmap(bytes);
		return -ENOMEM;
	}
	stream->source = source;
	stream->data = bytes->data;
	stream->bytes = bytes->bytes;
	stream->mapped_bytes = bytes->mapped_bytes;
	stream->is_file = bytes->is_file;
	stream->packed = bytes->packed;
	stream->from_packet = bytes->from.packet;
	stream->from_byte = bytes->from.byte;
	source->trace->is_part |= stream->from_byte != 0;
	if (bytes->lack)
		note_lack(stream, bytes->lack);
	return sonde_packets_find(stream, bytes->is_file ? bytes->fd : -1,
				  index, index_bytes);
}

/* From when to when the packets say they are. */
static void take_range(struct sonde_stream *stream)
{
	stream->begin_ns = SONDE_TIME_MAX;
	stream->end_ns = SONDE_TIME_MIN;
	for (size_t i = 0; i < stream->nr_packets; i++) {
		const struct sonde_packet *packet = &stream->packets[i];
		int64_t end_ns = packet->end_ns;

		if (packet->begin_ns == SONDE_TIME_MIN)
			continue;
		if (end_ns == SONDE_TIME_MAX)
			end_ns = packet->begin_ns;
		if (packet->begin_ns < stream->begin_ns)
			stream->begin_ns = packet->begin_ns;
		if (end_ns > stream->end_ns)
			stream->end_ns = end_ns;
	}
}

void sonde_source_widen(const struct sonde_source *source, int64_t *begin_ns,
			int64_t *end_ns)
{
	const struct sonde_trace *trace = source->trace;

	for (size_t i = 0; i < trace->nr_streams; i++)
		if (trace->streams[i]->source == source)
			sonde_stream_widen(trace->streams[i], begin_ns, end_ns);
}

struct sonde_clock_widest sonde_source_widest(const struct sonde_source *source)
{
	struct sonde_clock_widest widest = { .bound_ns = -1 };
	int64_t begin_ns = SONDE_TIME_MAX;
	int64_t end_ns = SONDE_TIME_MIN;

	sonde_source_widen(source, &begin_ns, &end_ns);
	if (source->line && begin_ns <= end_ns)
		widest = sonde_clock_offset_widest(source->line, begin_ns,
						   end_ns);
	if (widest.bound_ns >= 0)
		widest.bound_ns += SONDE_CLOCK_OFFSET_ROUNDING_NS;
	return widest;
}

/* The one of that name; the first one has the first name there is. */
static size_t machine_of(struct sonde_trace *trace,
			 const struct sonde_source *source)
{
	const char *host = sonde_source_env(source, "hostname");

	if (!host || !*host)
		return 0;
	for (size_t i = 0; i < trace->nr_machines; i++) {
		struct sonde_trace_machine *machine = &trace->machines[i];

		if (!*machine->host)
			machine->host = host;
		if (!strcmp(machine->host, host))
			return i;
	}
	trace->machines[trace->nr_machines].host = host;
	return trace->nr_machines++;
}

static int find_machines(struct sonde_trace *trace)
{
	trace->machines = sonde_pool_get(&trace->pool, trace->nr_sources + 1,
					 sizeof(*trace->machines));
	if (!trace->machines)
		return -ENOMEM;
	trace->nr_machines = 1;
	trace->machines[0].host = "";
	for (size_t i = 0; i < trace->nr_sources; i++)
		trace->sources[i]->machine =
			machine_of(trace, trace->sources[i]);
	return 0;
}

int sonde_trace_finish(struct sonde_trace *trace)
{
	int err = find_machines(trace);

	if (err)
		return err;
	for (size_t i = 0; i < trace->nr_streams; i++) {
		struct sonde_stream *stream = trace->streams[i];

		err = sonde_packets_measure(stream);
		if (err)
			return err;
		take_range(stream);
		sonde_stream_widen(stream, &trace->begin_ns, &trace->end_ns);
	}
	return sonde_losses_find(trace);
}
