/* SPDX-License-Identifier: MIT */
/*
 * perf_put.c - events, streams and records of what was in a perf.data
 * (perf_put.h).
 */
#include "import/perf_put.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/hex.h"
#include "base/port.h"
#include "base/text.h"
#include "import/names.h"
#include "import/payload.h"
#include "import/perf_kernel.h"
#include "source/callstacks.h"
#include "source/sample/events.h"
#include "types/build.h"

#define NS_PER_S      1000000000u
#define NAME_BYTES    200u
#define OTHER_BYTES   16u
#define PUT_ID(event) (1u + (event)) /* in the samples' class */

enum perf_put_class {
	PUT_TRACEPOINTS,
	PUT_SAMPLES,
	PUT_DUMP,
	PUT_NR_CLASSES,
};

/* What becomes of an event's samples. */
enum perf_put_fate {
	PUT_OTHER,  /* perf:NAME; also a tracepoint without a format */
	PUT_TIME,   /* sonde:sample */
	PUT_RECORD, /* a tracepoint */
};

struct perf_put_event {
	enum perf_put_fate fate;
	uint16_t id;        /* in its class; 0: it has none */
	uint32_t period_ns; /* of a sample of time; 0: by its own */
	struct sonde_tracefs_plan plan;
};

struct sonde_import_perf_put {
	const struct sonde_import_perf *perf;
	struct sonde_import_output *output;
	struct perf_put_event *events; /* by attribute */
	uint16_t nr_ids[PUT_NR_CLASSES];
	/* By class and CPU; NULL: nothing was there yet. */
	struct sonde_import_stream **streams[PUT_NR_CLASSES];
	struct sonde_import_stream *stacks_stream;
	struct sonde_stacks *stacks;
	struct sonde_callstacks told;
	uint64_t last_ns;
	uint64_t lost, lost_said, unread, nr_formatless, nr_cpuless;
	struct sonde_import_perf_kernel kernel;
	const char *nameless; /* why the kernel's code is; NULL: it isn't */
	bool has_stacks;      /* tracepoints have a stack and a process */
	struct sonde_perf_record parsed;
	uint64_t room[SONDE_IMPORT_PERF_ROOM / 8];
	struct sonde_import_payload *payload;
};

/* ---- the trace ---- */

static void perf_put_system(const struct sonde_import_perf_facts *facts,
			    struct utsname *ret_system)
{
	memset(ret_system, 0, sizeof(*ret_system));
	(void)snprintf(ret_system->sysname, sizeof(ret_system->sysname),
		       "Linux");
	(void)snprintf(ret_system->release, sizeof(ret_system->release), "%s",
		       facts->release);
	(void)snprintf(ret_system->machine, sizeof(ret_system->machine), "%s",
		       facts->machine);
}

static int perf_put_open(struct sonde_import_perf_put *put,
			 const struct sonde_import_config *config)
{
	const struct sonde_import_perf_facts *facts = &put->perf->facts;
	const struct sonde_ctf_env env[] = {
		{ .name = "converted_from", .text = "perf.data" },
		{ .name = "perf_version", .text = facts->version },
		{ .name = "perf_command", .text = facts->command },
	};
	uint64_t offset =
		facts->has_clock ? facts->wall_ns - facts->clock_ns : 0;
	struct utsname system;
	const struct sonde_ctf_config trace = {
		.domain = SONDE_CTF_KERNEL,
		.hostname = facts->hostname,
		.system = &system,
		.clock = {
			.name = "perf",
			.description = "the clock of perf record",
			.freq = NS_PER_S,
			.offset_s = (int64_t)(offset / NS_PER_S),
			.offset = offset % NS_PER_S,
		},
		.env = env,
		.nr_env = SONDE_ARRAY_SIZE(env),
	};

	perf_put_system(facts, &system);
	return sonde_import_output_new(config, &trace, &put->output);
}

static int perf_put_classes(struct sonde_import_perf_put *put)
{
	static const char *const comments[PUT_NR_CLASSES] = {
		"the kernel, by perf", "samples, by perf", "names, by perf"
	};
	uint32_t id;
	int rc = 0;

	for (size_t i = 0; !rc && i < PUT_NR_CLASSES; i++) {
		rc = sonde_import_output_class(put->output, comments[i], &id);
		put->streams[i] = calloc(SONDE_IMPORT_CPUS_MAX,
					 sizeof(struct sonde_import_stream *));
		if (!put->streams[i])
			rc = -ENOMEM;
	}
	return rc;
}

static void perf_put_describe_other(struct sonde_build *build)
{
	sonde_build_int(build, "pid", 32, SONDE_FIELD_SIGNED);
	sonde_build_int(build, "stack", 32, 0);
	sonde_build_int(build, "period", 64, 0);
}

/* Samples have the ids 1, 2 ... in the order of source/sample/events.h. */
static int perf_put_describe_samples(struct sonde_import_perf_put *put)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	int rc = 0;

	for (size_t i = 0; !rc && i < SONDE_SAMPLE_NR_EVENTS; i++) {
		rc = sonde_sample_describe((enum sonde_sample_event)i, room);
		if (!rc)
			rc = sonde_import_output_event(
				put->output, PUT_SAMPLES,
				++put->nr_ids[PUT_SAMPLES], (const void *)room);
	}
	return rc;
}

/* The next id of the samples' class, for what perf calls `name`. */
static int perf_put_describe_event(struct sonde_import_perf_put *put,
				   const char *name)
{
	uint64_t room[SONDE_DESC_MAX / 8];
	int rc = sonde_build_whole(room, "perf", name, SONDE_INFO,
				   perf_put_describe_other);

	return rc ? rc :
		    sonde_import_output_event(put->output, PUT_SAMPLES,
					      ++put->nr_ids[PUT_SAMPLES],
					      (const void *)room);
}

/* ---- what becomes of an event ---- */

static bool perf_put_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* On CPUs of two kinds the upper half says which. */
static bool perf_put_is_cycles(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE && attr->freq &&
	       attr->sample_freq &&
	       ((uint32_t)attr->config == PERF_COUNT_HW_CPU_CYCLES ||
		(uint32_t)attr->config == PERF_COUNT_HW_REF_CPU_CYCLES);
}

/* One clock's samples are the time: those of another are the same time again. */
static bool perf_put_is_time(const struct sonde_import_perf *perf, size_t i)
{
	const struct perf_event_attr *attr = &perf->attrs[i].attr;

	if (!perf_put_is_clock(attr) && !perf_put_is_cycles(attr))
		return false;
	for (size_t k = 0; k < i; k++) {
		const struct perf_event_attr *other = &perf->attrs[k].attr;

		if (perf_put_is_clock(other) || perf_put_is_cycles(other))
			return other->type == attr->type &&
			       (uint32_t)other->config ==
				       (uint32_t)attr->config;
	}
	return true;
}

static uint32_t perf_put_period(const struct perf_event_attr *attr)
{
	uint64_t ns =
		attr->freq ?
			NS_PER_S / (attr->sample_freq + !attr->sample_freq) :
			attr->sample_period;

	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/* "cache-misses:u" as a name of CTF's. */
static void perf_put_name(const struct sonde_import_perf_attr *attr, size_t i,
			  char *to, size_t size)
{
	struct sonde_text text = { .to = to, .size = size };

	if (!*attr->name)
		sonde_text_add(&text, "event%zu", i);
	for (const char *at = attr->name; *at && text.length + 1 < size; at++)
		sonde_text_add(&text, "%c",
			       sonde_text_is_name(at, 1) ||
					       (*at >= '0' && *at <= '9') ?
				       *at :
				       '_');
	if (*to >= '0' && *to <= '9')
		*to = '_';
}

static int perf_put_add_others(struct sonde_import_perf_put *put)
{
	const struct sonde_import_perf *perf = put->perf;
	char name[NAME_BYTES];
	int rc = 0;

	for (size_t i = 0; !rc && i < perf->nr; i++) {
		const struct sonde_import_perf_attr *attr = &perf->attrs[i];
		struct perf_put_event *event = &put->events[i];

		if (perf_put_is_time(perf, i)) {
			event->fate = PUT_TIME;
			event->id = PUT_ID(SONDE_SAMPLE);
			event->period_ns = perf_put_period(&attr->attr);
		}
		if (event->fate != PUT_OTHER ||
		    attr->attr.type == PERF_TYPE_TRACEPOINT ||
		    put->nr_ids[PUT_SAMPLES] == SONDE_LARGE_ESCAPE - 1)
			continue;
		perf_put_name(attr, i, name, sizeof(name));
		rc = perf_put_describe_event(put, name);
		event->id = put->nr_ids[PUT_SAMPLES];
	}
	return rc;
}

/* ---- tracepoints ---- */

/* Whether one of them was to have its call chain. All events of a class have the
 * same context. */
static bool perf_put_wants_stacks(const struct sonde_import_perf *perf)
{
	for (size_t i = 0; i < perf->nr; i++)
		if (perf->attrs[i].attr.type == PERF_TYPE_TRACEPOINT &&
		    perf->attrs[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

/* Gives the event to all attributes that ask for it. */
static bool perf_put_want(struct sonde_import_perf_put *put,
			  const struct sonde_import_format *format, uint16_t id)
{
	bool found = false;

	for (size_t i = 0; i < put->perf->nr; i++) {
		const struct perf_event_attr *attr = &put->perf->attrs[i].attr;

		if (attr->type != PERF_TYPE_TRACEPOINT ||
		    attr->config != format->format.id)
			continue;
		found = true;
		if (!id)
			break;
		put->events[i].fate = PUT_RECORD;
		put->events[i].id = id;
		put->events[i].plan = format->plan;
	}
	return found;
}

static int perf_put_take_format(void *ctx, const char *group,
				const struct sonde_import_bytes *text)
{
	static struct sonde_import_format format; /* it is large */
	struct sonde_import_perf_put *put = ctx;
	uint16_t id = put->nr_ids[PUT_TRACEPOINTS];
	int rc;

	if (sonde_import_format_parse(text, &format) ||
	    !perf_put_want(put, &format, 0) || id == SONDE_LARGE_ESCAPE - 1 ||
	    sonde_import_format_plan(group, &format))
		return 0; /* its records are counted */
	rc = sonde_import_output_event(put->output, PUT_TRACEPOINTS, ++id,
				       (const void *)format.desc);
	put->nr_ids[PUT_TRACEPOINTS] = id;
	(void)perf_put_want(put, &format, id);
	return rc;
}

static int perf_put_events(struct sonde_import_perf_put *put)
{
	const struct sonde_import_perf_facts *facts = &put->perf->facts;
	int rc = perf_put_describe_samples(put);

	put->has_stacks = perf_put_wants_stacks(put->perf);
	if (put->has_stacks)
		sonde_import_output_give_stacks(put->output, PUT_TRACEPOINTS);
	if (!rc)
		rc = sonde_import_names_describe(put->output, PUT_DUMP);
	if (!rc)
		rc = sonde_import_names_describe_kernel(put->output, PUT_DUMP);
	if (!rc && facts->has_formats)
		rc = sonde_import_formats_each(&facts->formats,
					       perf_put_take_format, put);
	return rc ? rc : perf_put_add_others(put);
}

/* ---- life ---- */

static void perf_put_free(struct sonde_import_perf_put *put)
{
	for (size_t i = 0; i < PUT_NR_CLASSES; i++)
		free(put->streams[i]);
	sonde_callstacks_free(put->stacks);
	sonde_callstacks_fini(&put->told);
	sonde_import_perf_kernel_fini(&put->kernel);
	free(put->events);
	free(put->payload);
	free(put);
}

int sonde_import_perf_put_new(const struct sonde_import_perf *perf,
			      const struct sonde_import_config *config,
			      struct sonde_import_perf_put **ret_put,
			      struct sonde_import_error *error)
{
	struct sonde_import_perf_put *put = calloc(1, sizeof(*put));
	int rc = -ENOMEM;

	if (!put)
		return sonde_import_fail(error, rc, "no memory left");
	put->perf = perf;
	put->events = calloc(perf->nr + 1, sizeof(*put->events));
	put->stacks = sonde_callstacks_new();
	put->payload = malloc(sizeof(*put->payload));
	if (put->events && put->stacks && put->payload)
		rc = perf_put_open(put, config);
	if (!rc)
		rc = perf_put_classes(put);
	if (!rc)
		rc = perf_put_events(put);
	if (!rc) {
		*ret_put = put;
		return 0;
	}
	(void)sonde_import_output_close(put->output, 0); /* `rc` is told */
	perf_put_free(put);
	return sonde_import_fail(error, rc, "the trace can't be begun: %s",
				 strerrordesc_np(-rc));
}

void sonde_import_perf_put_begin(struct sonde_import_perf_put *put,
				 uint64_t first_ns)
{
	/* 0 is no time (statedump/packets.h). */
	put->last_ns = first_ns ? first_ns : 1;
}

/* ---- streams ---- */

/* Of the class and CPU, ready for what comes next. NULL: an error that the output
 * knows. */
static struct sonde_import_stream *
perf_put_stream(struct sonde_import_perf_put *put, enum perf_put_class class_id,
		uint32_t cpu, int32_t tid)
{
	static const char *const names[PUT_NR_CLASSES] = { "cpu", "samples_cpu",
							   "dump" };
	struct sonde_import_stream **at = &put->streams[class_id][cpu];
	char name[32];

	if (!*at) {
		(void)snprintf(name, sizeof(name), "%s%u", names[class_id],
			       cpu);
		*at = sonde_import_output_stream(put->output, class_id, cpu,
						 name);
	}
	if (*at) {
		(*at)->out.at = put->last_ns;
		(*at)->out.tid = (uint32_t)tid;
	}
	return *at;
}

static void perf_put_tell_stacks(struct sonde_import_perf_put *put)
{
	struct sonde_import_stream **stream = &put->stacks_stream;
	struct sonde_callstacks_target target = {
		.stack_id = PUT_ID(SONDE_SAMPLE_STACK),
		.lost_id = PUT_ID(SONDE_SAMPLE_STACKS_LOST),
	};

	if (!*stream)
		*stream = sonde_import_output_stream(put->output, PUT_SAMPLES,
						     0, "samples_stacks");
	if (!*stream)
		return;
	(*stream)->out.at = put->last_ns;
	target.out = &(*stream)->out;
	while (sonde_callstacks_tell(&put->told, put->stacks,
				     SONDE_STACKS_DEPTH_MAX, &target))
		(void)sonde_import_output_look(*stream); /* its error sticks */
}

/* At the end, when all mappings are known. */
static void perf_put_kernel(struct sonde_import_perf_put *put)
{
	struct sonde_import_stream *stream;

	if (!put->kernel.is_wanted)
		return;
	stream = perf_put_stream(put, PUT_DUMP, 0, 0);
	if (stream)
		put->nameless = sonde_import_perf_kernel_put(&put->kernel,
							     put->perf, stream);
}

/* ---- records ---- */

static uint32_t perf_put_stack(struct sonde_import_perf_put *put)
{
	return sonde_callstacks_keep(put->stacks, &put->parsed.chain);
}

static void perf_put_time(struct sonde_import_perf_put *put,
			  const struct perf_put_event *event,
			  const struct sonde_import_perf_record *record,
			  struct sonde_out *out)
{
	bool by_itself = perf_put_is_clock(&record->attr->attr) &&
			 record->period && record->period <= UINT32_MAX;
	const uint32_t words[3] = {
		(uint32_t)record->pid,
		perf_put_stack(put),
		by_itself ? (uint32_t)record->period : event->period_ns,
	};
	uint8_t *at = sonde_out_event(out, event->id, SONDE_SAMPLE_BYTES);

	if (at)
		memcpy(at, words, SONDE_SAMPLE_BYTES);
}

static void perf_put_other(struct sonde_import_perf_put *put,
			   const struct perf_put_event *event,
			   const struct sonde_import_perf_record *record,
			   struct sonde_out *out)
{
	const uint32_t words[2] = { (uint32_t)record->pid,
				    perf_put_stack(put) };
	uint8_t *at = sonde_out_event(out, event->id, OTHER_BYTES);

	if (!at)
		return;
	memcpy(at, words, sizeof(words));
	memcpy(at + sizeof(words), &record->period, sizeof(record->period));
}

/* The thread is the record's own: perf has none for one that has ended. */
static int perf_put_tracepoint(struct sonde_import_perf_put *put,
			       const struct perf_put_event *event,
			       const struct sonde_import_perf_record *record)
{
	struct sonde_import_stream *stream;
	uint32_t context[2]; /* one without a chain has been parsed as of one */

	if (!sonde_import_payload_make(put->payload, &event->plan,
				       &record->raw)) {
		put->unread++;
		return 0;
	}
	stream = perf_put_stream(put, PUT_TRACEPOINTS, record->cpu,
				 (int32_t)put->payload->tid);
	if (!stream)
		return -ENOMEM;
	context[0] = record->has_chain ? perf_put_stack(put) : 0;
	context[1] = (uint32_t)record->pid;
	return sonde_import_payload_put(put->payload, event->id,
					put->has_stacks ? context : NULL,
					stream);
}

static int perf_put_sample(struct sonde_import_perf_put *put,
			   const struct sonde_import_perf_record *record)
{
	const struct perf_put_event *event =
		&put->events[record->attr - put->perf->attrs];
	struct sonde_import_stream *stream;

	put->nr_cpuless += !record->has_cpu;
	put->kernel.is_wanted |=
		(record->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
		PERF_RECORD_MISC_KERNEL;
	if (event->fate == PUT_RECORD)
		return perf_put_tracepoint(put, event, record);
	if (!event->id) {
		put->nr_formatless++;
		return 0;
	}
	stream = perf_put_stream(put, PUT_SAMPLES, record->cpu, record->tid);
	if (!stream)
		return -ENOMEM;
	if (event->fate == PUT_TIME)
		perf_put_time(put, event, record, &stream->out);
	else
		perf_put_other(put, event, record, &stream->out);
	return sonde_import_output_look(stream);
}

static void perf_put_mapping(struct sonde_import_perf_put *put,
			     struct sonde_out *out)
{
	struct sonde_perf_record *parsed = &put->parsed;
	char build_id[2 * SONDE_PERF_BUILD_ID_MAX + 1];
	const struct sonde_import_perf_build_id *known;

	known = sonde_import_perf_build_id(put->perf, parsed->mapping.path);
	if (!parsed->build_id_bytes && known) {
		parsed->build_id_bytes = known->nr;
		memcpy(parsed->build_id, known->bytes, known->nr);
	}
	sonde_hex_put(parsed->build_id, parsed->build_id_bytes, build_id);
	sonde_statedump_emit_mapping(out, &parsed->mapping, build_id);
}

static void perf_put_began(struct sonde_import_perf_put *put,
			   struct sonde_out *out)
{
	const int32_t numbers[2] = { put->parsed.pid, put->parsed.parent };
	uint8_t *at = sonde_out_event(out, PUT_ID(SONDE_SAMPLE_BEGAN),
				      SONDE_SAMPLE_BEGAN_BYTES);

	if (at)
		memcpy(at, numbers, SONDE_SAMPLE_BEGAN_BYTES);
}

static int perf_put_named(struct sonde_import_perf_put *put,
			  struct sonde_import_bytes body)
{
	int32_t pid = (int32_t)sonde_import_bytes_u32(&body);
	int32_t tid = (int32_t)sonde_import_bytes_u32(&body);
	const char *name = sonde_import_bytes_text(&body);
	struct sonde_import_stream *stream;

	if (body.failed) {
		put->unread++;
		return 0;
	}
	stream = perf_put_stream(put, PUT_DUMP, 0, tid);
	return stream ? sonde_import_names_put(stream, pid, tid, name) :
			-ENOMEM;
}

/* What perf says at the end of a kernel that counts losses by event has been said
 * where they were, as far as there were records behind them. */
static int perf_put_lost(struct sonde_import_perf_put *put,
			 const struct sonde_import_perf_record *record)
{
	bool is_tracepoint =
		record->attr && record->attr->attr.type == PERF_TYPE_TRACEPOINT;
	struct sonde_import_stream *stream =
		perf_put_stream(put,
				is_tracepoint ? PUT_TRACEPOINTS : PUT_SAMPLES,
				record->cpu, record->tid);

	if (!stream)
		return -ENOMEM;
	put->lost += put->parsed.lost;
	return sonde_import_output_lose(stream, put->parsed.lost);
}

static int perf_put_parsed(struct sonde_import_perf_put *put,
			   const struct sonde_import_perf_record *record)
{
	struct sonde_import_stream *stream;

	if (put->parsed.kind == SONDE_PERF_SAMPLE)
		return perf_put_sample(put, record);
	if (put->parsed.kind == SONDE_PERF_LOST)
		return perf_put_lost(put, record);
	/* What perf found as it began is no beginning. */
	if (put->parsed.kind == SONDE_PERF_OTHER ||
	    (put->parsed.kind == SONDE_PERF_BEGAN && !record->ns))
		return 0;
	stream = perf_put_stream(put, PUT_SAMPLES, record->cpu, record->tid);
	if (!stream)
		return -ENOMEM;
	if (put->parsed.kind == SONDE_PERF_MAPPED)
		perf_put_mapping(put, &stream->out);
	else
		perf_put_began(put, &stream->out);
	return sonde_import_output_look(stream);
}

static bool perf_put_is_data(const struct sonde_import_perf_piece *piece)
{
	return (piece->type == PERF_RECORD_MMAP ||
		piece->type == PERF_RECORD_MMAP2) &&
	       piece->misc & PERF_RECORD_MISC_MMAP_DATA;
}

int sonde_import_perf_put_record(struct sonde_import_perf_put *put,
				 const struct sonde_import_perf_piece *piece,
				 const struct sonde_import_perf_record *record)
{
	int rc = 0;

	if (record->ns > put->last_ns)
		put->last_ns = record->ns;
	if (piece->type == PERF_RECORD_LOST_SAMPLES) {
		struct sonde_import_bytes body = piece->body;

		put->lost_said += sonde_import_bytes_u64(&body);
		return 0;
	}
	if (perf_put_is_data(piece))
		return 0;
	if (sonde_import_perf_kernel_is(piece))
		return sonde_import_perf_kernel_mapped(&put->kernel, piece);
	if (!sonde_import_perf_parse(piece, record, put->room, &put->parsed)) {
		put->unread++;
		return 0;
	}
	if (piece->type == PERF_RECORD_COMM)
		rc = perf_put_named(put, piece->body);
	return rc ? rc : perf_put_parsed(put, record);
}

/* ---- the end ---- */

static void perf_put_notes(const struct sonde_import_perf_put *put,
			   struct sonde_import_report *report)
{
	const struct sonde_import_perf *perf = put->perf;

	if (perf->is_unfinished)
		sonde_import_note(report,
				  "perf was killed, or still records: what it "
				  "writes at its end is missing");
	if (!perf->facts.has_clock)
		sonde_import_note(report,
				  "times are of perf's own clock, and have no "
				  "date: perf record -k mono says it");
	if (put->nr_cpuless)
		sonde_import_note(report,
				  "%llu samples don't say their CPU, and are "
				  "shown as of CPU 0: perf record --sample-cpu "
				  "says it",
				  (unsigned long long)put->nr_cpuless);
	if (put->nameless)
		sonde_import_note(report, "the kernel's code has no names: %s",
				  put->nameless);
	if (put->nr_formatless)
		sonde_import_note(
			report,
			"%llu records are left out: the file has no "
			"format of their tracepoints that can be read",
			(unsigned long long)put->nr_formatless);
}

/* Losses that no record tells of. */
static void perf_put_rest_of_lost(struct sonde_import_perf_put *put)
{
	uint64_t rest = put->lost_said - put->lost;
	struct sonde_import_stream *stream;

	if (put->lost_said <= put->lost)
		return;
	stream = perf_put_stream(
		put,
		put->nr_ids[PUT_TRACEPOINTS] ? PUT_TRACEPOINTS : PUT_SAMPLES, 0,
		0);
	put->lost += rest;
	if (stream)
		(void)sonde_import_output_lose(stream, rest); /* it sticks */
}

int sonde_import_perf_put_finish(struct sonde_import_perf_put *put,
				 struct sonde_import_report *report)
{
	int rc;

	if (!put)
		return 0;
	perf_put_rest_of_lost(put);
	perf_put_tell_stacks(put);
	perf_put_kernel(put);
	report->events = sonde_import_output_events(put->output);
	report->lost = put->lost;
	report->unread += put->unread;
	perf_put_notes(put, report);
	rc = sonde_import_output_close(put->output, put->last_ns);
	perf_put_free(put);
	return rc;
}
