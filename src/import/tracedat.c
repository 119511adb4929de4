/* SPDX-License-Identifier: MIT */
/*
 * tracedat.c - a trace.dat into a trace.
 *
 * A CPU's pages are in the order of time, so each part of the file is walked once
 * and is a stream. What pages say of losses is lost where it was. What the kernel
 * has counted above that, for a CPU, is lost at its last stream's end.
 *
 * All instances' times are one clock's, for a trace has one: those by another
 * clock than the first one's are left out, and that is told.
 */
#include "import/tracedat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "import/names.h"
#include "import/payload.h"
#include "import/tracedat_file.h"
#include "source/tracefs/page.h"
#include "source/tracefs/stream.h"

#define NS_PER_S      1000000000
#define IDS           65536u /* of the kernel's events */
#define PROGRESS_EACH 256u   /* pages */
#define CLOCK_BYTES   32u
#define COMMON_TYPE   2u /* bytes of a record's first field, its event */

enum tracedat_class {
	TRACEDAT_EVENTS,
	TRACEDAT_NAMES,
};

struct tracedat_event {
	const char *group;
	struct sonde_import_bytes text;
	bool is_tried;
	uint16_t id;                     /* in the trace */
	struct sonde_tracefs_plan *plan; /* NULL: it can't be had */
};

struct tracedat_import {
	const struct sonde_import_config *config;
	struct sonde_import_tracedat file;
	struct sonde_import_output *output;
	struct sonde_import_payload *payload;
	struct sonde_import_format *format; /* the one that is looked at */
	char clock[CLOCK_BYTES];
	uint16_t index[IDS]; /* by the kernel's number: 1 + in `events`; 0 */
	struct tracedat_event *events;
	size_t nr, room;
	uint16_t nr_ids;
	struct sonde_import_stream **streams; /* by part; NULL: nothing there */
	uint64_t first_ns, last_ns;
	uint64_t lost, unread, nr_formatless, nr_gaps, nr_other_clocks;
	uint64_t nr_pages, done_bytes;
};

/* A part that is being walked. */
struct tracedat_lane {
	size_t part;
	uint64_t last_ns;
	uint64_t missed; /* before what comes next */
	struct sonde_import_stream *stream;
};

/* ---- formats ---- */

static int tracedat_add_format(void *ctx, const char *group,
			       const struct sonde_import_bytes *text)
{
	struct tracedat_import *import = ctx;
	uint32_t id;

	if (sonde_import_format_parse(text, import->format))
		return 0; /* its records are counted */
	id = import->format->format.id;
	if (id >= IDS || import->index[id] || import->nr == UINT16_MAX)
		return 0;
	if (SONDE_GROW(import->events, import->nr, import->room))
		return -ENOMEM;
	import->events[import->nr++] =
		(struct tracedat_event){ .group = group, .text = *text };
	import->index[id] = (uint16_t)import->nr;
	return 0;
}

/* The event is described when it occurs. */
static int tracedat_describe(struct tracedat_import *import,
			     struct tracedat_event *event)
{
	struct sonde_import_format *format = import->format;
	int rc;

	event->is_tried = true;
	if (sonde_import_format_parse(&event->text, format) ||
	    import->nr_ids == SONDE_LARGE_ESCAPE - 1 ||
	    sonde_import_format_plan(event->group, format))
		return 0;
	event->plan = malloc(sizeof(*event->plan));
	if (!event->plan)
		return -ENOMEM;
	*event->plan = format->plan;
	event->id = ++import->nr_ids;
	rc = sonde_import_output_event(import->output, TRACEDAT_EVENTS,
				       event->id, (const void *)format->desc);
	return rc;
}

/* What a record is of; NULL: there is no format, which is counted. */
static int tracedat_event_of(struct tracedat_import *import,
			     const struct sonde_page_record *record,
			     struct tracedat_event **ret_event)
{
	struct tracedat_event *event = NULL;
	uint16_t type = 0;
	int rc = 0;

	if (record->size >= COMMON_TYPE)
		memcpy(&type, record->data, sizeof(type));
	if (import->index[type])
		event = &import->events[import->index[type] - 1];
	if (event && !event->is_tried)
		rc = tracedat_describe(import, event);
	if (!event || !event->plan) {
		import->nr_formatless++;
		event = NULL;
	}
	*ret_event = event;
	return rc;
}

/* ---- the trace ---- */

/* The clock's name: of a list the one in brackets. */
static void tracedat_clock(const char *text, char to[CLOCK_BYTES])
{
	const char *from = strchr(text, '[');
	size_t length;

	from = from ? from + 1 : text;
	length = strcspn(from, "] \n");
	if (length >= CLOCK_BYTES)
		length = CLOCK_BYTES - 1;
	memcpy(to, from, length);
	to[length] = '\0';
}

static bool tracedat_counts_ns(const struct tracedat_import *import)
{
	static const char *const others[] = { "counter", "uptime", "x86-tsc",
					      "ppc-tb" };

	if (import->file.tsc.mult)
		return true;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(others); i++)
		if (!strcmp(import->clock, others[i]))
			return false;
	return true;
}

/* Word `nr` of the text, or the last one if there are fewer. */
static void tracedat_word(const char *text, unsigned int nr, char *to,
			  size_t size)
{
	size_t length = strcspn(text, " ");

	for (; nr && text[length]; nr--) {
		text += length + strspn(text + length, " ");
		length = strcspn(text, " ");
	}
	(void)snprintf(to, size, "%.*s", (int)length, text);
}

/* "Linux HOST RELEASE MACHINE". */
static void tracedat_system(const char *uname, struct utsname *ret_system)
{
	memset(ret_system, 0, sizeof(*ret_system));
	tracedat_word(uname, 0, ret_system->sysname,
		      sizeof(ret_system->sysname));
	tracedat_word(uname, 1, ret_system->nodename,
		      sizeof(ret_system->nodename));
	tracedat_word(uname, 2, ret_system->release,
		      sizeof(ret_system->release));
	tracedat_word(uname, UINT32_MAX, ret_system->machine,
		      sizeof(ret_system->machine));
}

/* Seconds since 1970 at time 0 of the clock, rounded down, and what is left. */
static void tracedat_offset(int64_t ns, struct sonde_ctf_clock *clock)
{
	int64_t rest = ns % NS_PER_S;

	clock->offset_s = ns / NS_PER_S - (rest < 0);
	clock->offset = (uint64_t)(rest < 0 ? rest + NS_PER_S : rest);
}

static int tracedat_begin(struct tracedat_import *import)
{
	const struct sonde_import_tracedat *file = &import->file;
	const struct sonde_ctf_env env[] = {
		{ .name = "converted_from", .text = "trace.dat" },
		{ .name = "trace_cmd_version", .text = file->trace_cmd },
		{ .name = "trace_clock", .text = import->clock },
	};
	struct utsname system;
	struct sonde_ctf_config trace = {
		.domain = SONDE_CTF_KERNEL,
		.system = &system,
		.hostname = system.nodename,
		.clock = { .name = "ftrace",
			   .description = "the trace clock of ftrace",
			   .freq = NS_PER_S },
		.env = env,
		.nr_env = SONDE_ARRAY_SIZE(env),
	};
	uint32_t id;
	int rc;

	tracedat_system(file->uname, &system);
	tracedat_offset(file->date_ns, &trace.clock);
	rc = sonde_import_output_new(import->config, &trace, &import->output);
	if (!rc)
		rc = sonde_import_output_class(import->output,
					       "the kernel, by ftrace", &id);
	if (!rc)
		rc = sonde_import_output_class(import->output,
					       "names, by trace-cmd", &id);
	return rc ? rc :
		    sonde_import_names_describe(import->output, TRACEDAT_NAMES);
}

/* ---- records ---- */

static uint64_t tracedat_ns(const struct tracedat_import *import,
			    uint64_t ticks)
{
	const struct sonde_import_tracedat_tsc *tsc = &import->file.tsc;
	__extension__ unsigned __int128 wide = ticks;
	uint64_t ns = ticks;

	if (tsc->mult)
		ns = (uint64_t)(wide * tsc->mult >> tsc->shift);
	return ns ? ns : 1; /* 0 is no time (statedump/packets.h) */
}

/* The lane's stream, at the time of what comes next. NULL: an error that the
 * output knows. */
static struct sonde_import_stream *
tracedat_stream(struct tracedat_import *import, struct tracedat_lane *lane)
{
	const struct sonde_import_tracedat_part *part =
		&import->file.parts[lane->part];
	const char *name = import->file.buffers[part->buffer].name;
	char path[64];

	if (!lane->stream) {
		if (*name)
			(void)snprintf(path, sizeof(path), "instance%u_cpu%u",
				       part->buffer, part->cpu);
		else
			(void)snprintf(path, sizeof(path), "cpu%u", part->cpu);
		lane->stream = sonde_import_output_stream(
			import->output, TRACEDAT_EVENTS, part->cpu, path);
		import->streams[lane->part] = lane->stream;
	}
	if (lane->stream)
		lane->stream->out.at = lane->last_ns;
	return lane->stream;
}

static void tracedat_look_at_time(struct tracedat_import *import,
				  struct tracedat_lane *lane, uint64_t ns)
{
	if (ns > lane->last_ns)
		lane->last_ns = ns;
	if (!import->first_ns || lane->last_ns < import->first_ns)
		import->first_ns = lane->last_ns;
	if (lane->last_ns > import->last_ns)
		import->last_ns = lane->last_ns;
}

static int tracedat_put(struct tracedat_import *import,
			struct tracedat_lane *lane,
			const struct sonde_page_record *record)
{
	const struct sonde_import_bytes raw = { .at = record->data,
						.left = record->size };
	struct tracedat_event *event;
	struct sonde_import_stream *stream;
	int rc = tracedat_event_of(import, record, &event);

	if (rc || !event)
		return rc;
	if (!sonde_import_payload_make(import->payload, event->plan, &raw)) {
		import->unread++;
		return 0;
	}
	tracedat_look_at_time(import, lane, tracedat_ns(import, record->ts));
	stream = tracedat_stream(import, lane);
	if (!stream)
		return -ENOMEM;
	if (lane->missed) {
		rc = sonde_import_output_lose(stream, lane->missed);
		import->lost += lane->missed;
		lane->missed = 0;
	}
	stream->out.tid = import->payload->tid;
	return rc ? rc :
		    sonde_import_payload_put(import->payload, event->id, NULL,
					     stream);
}

static int tracedat_put_page(struct tracedat_import *import,
			     struct tracedat_lane *lane,
			     const struct sonde_import_bytes *bytes)
{
	struct sonde_page_record record;
	struct sonde_page page;
	int rc = 0;
	int more = sonde_page_open(&import->file.layout, bytes->at, bytes->left,
				   &page);

	if (more) {
		import->unread++;
		return 0;
	}
	import->nr_gaps += page.has_missed && !page.is_missed_known;
	if (page.is_missed_known &&
	    __builtin_add_overflow(lane->missed, page.missed, &lane->missed))
		lane->missed = UINT64_MAX;
	while (!rc && (more = sonde_page_next(&page, &record)) > 0)
		rc = tracedat_put(import, lane, &record);
	import->unread += more < 0;
	return rc;
}

static int tracedat_progress(struct tracedat_import *import, size_t bytes)
{
	import->done_bytes += bytes;
	if (import->nr_pages++ % PROGRESS_EACH || !import->config->progress)
		return 0;
	return import->config->progress(import->done_bytes,
					import->file.parts_bytes);
}

static int tracedat_put_part(struct tracedat_import *import, size_t part)
{
	struct tracedat_lane lane = { .part = part };
	struct sonde_import_tracedat_walk walk;
	struct sonde_import_bytes page;
	int rc = 0;
	int more;

	sonde_import_tracedat_walk(&import->file, &import->file.parts[part],
				   &walk);
	while ((more = sonde_import_tracedat_next(&walk, &page)) > 0) {
		rc = tracedat_put_page(import, &lane, &page);
		if (!rc)
			rc = tracedat_progress(import, page.left);
		if (rc)
			break;
	}
	sonde_import_tracedat_walk_end(&walk);
	if (!rc && more == -ENOMEM)
		return more;
	import->unread += more < 0;
	return rc;
}

static int tracedat_put_parts(struct tracedat_import *import)
{
	const struct sonde_import_tracedat *file = &import->file;
	char clock[CLOCK_BYTES];
	int rc = 0;

	for (size_t i = 0; !rc && i < file->nr_parts; i++) {
		tracedat_clock(file->buffers[file->parts[i].buffer].clock,
			       clock);
		if (strcmp(clock, import->clock) != 0)
			import->nr_other_clocks++;
		else
			rc = tracedat_put_part(import, i);
	}
	return rc;
}

/* ---- losses ---- */

/* The stream of the CPU that was made last; NULL. */
static struct sonde_import_stream *
tracedat_stream_of_cpu(const struct tracedat_import *import, uint64_t cpu)
{
	for (size_t i = import->file.nr_parts; i > 0; i--)
		if (import->streams[i - 1] &&
		    import->file.parts[i - 1].cpu == cpu)
			return import->streams[i - 1];
	return NULL;
}

/* What the kernel says of a CPU: how many were lost. */
static uint64_t tracedat_said(const char *text, uint64_t *ret_cpu)
{
	struct sonde_tracefs_stream_losses losses;
	const char *at = strstr(text, "CPU: ");

	*ret_cpu = UINT64_MAX;
	if (at) {
		at += strlen("CPU: ");
		(void)sonde_number_take(&at, 10, UINT32_MAX, ret_cpu);
	}
	if (sonde_tracefs_stream_parse_losses(text, &losses))
		return 0;
	return losses.overrun + losses.commit_overrun + losses.dropped;
}

/* Above what pages have told. */
static int tracedat_lose_rest(struct tracedat_import *import)
{
	const struct sonde_import_tracedat *file = &import->file;
	struct sonde_import_stream *last = NULL;
	uint64_t said = 0;
	uint64_t rest;
	uint64_t cpu;

	for (size_t i = 0; i < file->nr_stats; i++) {
		uint64_t more = tracedat_said(file->stats[i], &cpu);

		said += more;
		if (more && !last)
			last = tracedat_stream_of_cpu(import, cpu);
	}
	rest = said > import->lost ? said - import->lost : 0;
	for (size_t i = 0; !last && i < file->nr_parts; i++)
		last = import->streams[i];
	if (!rest || !last)
		return 0;
	import->lost += rest;
	return sonde_import_output_lose(last, rest);
}

/* ---- names ---- */

/* "pid name": of the thread; which process it is of isn't said. */
static int tracedat_put_name(struct sonde_import_stream *stream,
			     const char *line)
{
	uint64_t tid;

	if (!sonde_number_take(&line, 10, INT32_MAX, &tid) || *line != ' ')
		return 0;
	return sonde_import_names_put(stream, (int32_t)tid, (int32_t)tid,
				      line + 1);
}

static int tracedat_put_names(struct tracedat_import *import)
{
	struct sonde_import_bytes left = import->file.names;
	struct sonde_import_stream *stream;
	char line[64];
	int rc = 0;

	if (!left.left || !import->first_ns)
		return 0;
	stream = sonde_import_output_stream(import->output, TRACEDAT_NAMES, 0,
					    "names");
	if (!stream)
		return -ENOMEM;
	stream->out.at = import->first_ns;
	while (!rc && left.left) {
		const void *end = memchr(left.at, '\n', left.left);
		size_t size = end ? (size_t)((const uint8_t *)end - left.at) :
				    left.left;

		(void)snprintf(line, sizeof(line), "%.*s",
			       size < sizeof(line) ? (int)size :
						     (int)sizeof(line) - 1,
			       (const char *)left.at);
		(void)sonde_import_bytes_take(&left, size + (end != NULL));
		rc = tracedat_put_name(stream, line);
	}
	return rc;
}

/* ---- the whole ---- */

static void tracedat_notes(const struct tracedat_import *import,
			   struct sonde_import_report *report)
{
	if (!tracedat_counts_ns(import))
		sonde_import_note(report,
				  "times are counts of the trace clock "
				  "\"%s\", shown as if they were nanoseconds",
				  import->clock);
	else if (!import->file.has_date)
		sonde_import_note(report,
				  "times are of the trace clock \"%s\", and "
				  "have no date: trace-cmd record --date says "
				  "it",
				  import->clock);
	if (import->nr_gaps)
		sonde_import_note(report,
				  "at %llu places events were lost, and the "
				  "file doesn't say how many",
				  (unsigned long long)import->nr_gaps);
	if (import->nr_formatless)
		sonde_import_note(report,
				  "%llu records are left out: the file has no "
				  "format of theirs that can be read",
				  (unsigned long long)import->nr_formatless);
	if (import->nr_other_clocks)
		sonde_import_note(report,
				  "what CPUs recorded by another clock than "
				  "\"%s\" is left out, %llu times",
				  import->clock,
				  (unsigned long long)import->nr_other_clocks);
	if (import->file.nr_texts)
		sonde_import_note(report,
				  "what a latency tracer has written as text "
				  "is left out");
}

static int tracedat_write(struct tracedat_import *import,
			  struct sonde_import_report *report)
{
	int rc = tracedat_begin(import);
	int closed;

	if (!rc)
		rc = tracedat_put_parts(import);
	if (!rc)
		rc = tracedat_lose_rest(import);
	if (!rc)
		rc = tracedat_put_names(import);
	if (import->output)
		report->events = sonde_import_output_events(import->output);
	report->lost = import->lost;
	report->unread += import->unread + import->file.unread;
	tracedat_notes(import, report);
	closed = sonde_import_output_close(import->output, import->last_ns);
	return rc ? rc : closed;
}

static int tracedat_run(struct tracedat_import *import,
			struct sonde_import_report *report,
			struct sonde_import_error *error)
{
	const struct sonde_import_tracedat *file = &import->file;
	int rc;

	if (!file->nr_buffers)
		return sonde_import_fail(error, -EINVAL,
					 file->nr_texts ?
						 "it holds the text of a "
						 "latency tracer, and no "
						 "records" :
						 "it has no records");
	tracedat_clock(file->buffers[0].clock, import->clock);
	import->payload = malloc(sizeof(*import->payload));
	import->format = malloc(sizeof(*import->format));
	/* of pointers NOLINTNEXTLINE(bugprone-sizeof-expression) */
	import->streams = calloc(file->nr_parts + 1, sizeof(*import->streams));
	if (!import->payload || !import->format || !import->streams)
		return sonde_import_fail(error, -ENOMEM, "no memory left");
	rc = sonde_import_formats_each(&file->formats, tracedat_add_format,
				       import);
	if (rc == -EPROTO)
		return sonde_import_fail(error, rc,
					 "the formats of its events make no "
					 "sense: the file is damaged");
	if (!rc)
		rc = tracedat_write(import, report);
	return rc ? sonde_import_fail(error, rc, "writing the trace: %s",
				      strerrordesc_np(-rc)) :
		    0;
}

int sonde_import_tracedat(const struct sonde_import_bytes *file,
			  const struct sonde_import_config *config,
			  struct sonde_import_report *report,
			  struct sonde_import_error *error)
{
	struct tracedat_import *import = calloc(1, sizeof(*import));
	int rc;

	if (!import)
		return sonde_import_fail(error, -ENOMEM, "no memory left");
	import->config = config;
	rc = sonde_import_tracedat_open(file, &import->file, error);
	if (!rc)
		rc = tracedat_run(import, report, error);
	for (size_t i = 0; i < import->nr; i++)
		free(import->events[i].plan);
	free(import->events);
	free(import->payload);
	free(import->format);
	free(import->streams);
	sonde_import_tracedat_close(&import->file);
	free(import);
	return rc;
}
