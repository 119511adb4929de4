/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - a timeline as JSON in Chrome's trace event format: an object whose
 * "traceEvents" are begins (B), ends (E), instants (i), counters (C), complete
 * spans (X) and names (M), one per line.
 *
 * Times are microseconds with three decimals, from the trace's begin: readers
 * keep them as doubles, which can't tell nanoseconds apart since 1970. The begin
 * is in "otherData". Threads are under their processes. What is not a thread's
 * is under numbers that no process has: CPUs (interrupts), scheduling (what each
 * CPU ran, of a kernel trace) and streams.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/pool.h"
#include "view/export/clocks.h"
#include "view/export/export.h"
#include "view/export/strangers.h"
#include "view/text/buffer.h"
#include "view/text/fields.h"

#define FLUSH_BYTES (1u << 18)
#define CPUS_MAX    4096

/* Process ids end at 2^22 on Linux; each machine has its own 2^24. */
#define PID_CPUS       (1 << 23)
#define PID_SCHEDULING (PID_CPUS + 1)
#define PID_STREAMS    (PID_CPUS + 2)
#define PID_COUNTERS   (PID_CPUS + 3)

/* What is known of an event class. */
struct class
{
	const struct sonde_shape *payload;
	bool is_switch;
	struct sonde_field prev_comm, prev_tid, next_tid;
};

/* Since when a CPU runs a thread. */
struct running {
	bool known;
	int64_t since_ns;
	int64_t tid;
};

struct chrome {
	struct sonde_export *export;
	struct sonde_spans spans;
	struct sonde_writer fields;
	struct sonde_json json; /* into the buffer */
	struct sonde_pool pool;
	struct sonde_buffer buffer;
	struct class *classes;   /* by index of event class */
	struct running *running; /* by CPU */
	struct sonde_strangers strangers;
	int64_t begin_ns;
	bool scheduling; /* has a name */
};

/* ---- one line ---- */

static int chrome_flush(struct chrome *c)
{
	size_t used = c->buffer.used;

	c->buffer.used = 0;
	if (c->buffer.failed)
		return -ENOMEM;
	return sonde_export_write(c->export->to, c->buffer.text, used);
}

static void put_buffer(void *to, const char *bytes, size_t size)
{
	sonde_buffer_text(to, bytes, size);
}

static void chrome_put_time(struct chrome *c, const char *name, int64_t ns)
{
	uint64_t value = ns > 0 ? (uint64_t)ns : 0;
	unsigned int rest = (unsigned int)(value % 1000);

	sonde_json_name(&c->json, name);
	sonde_buffer_room(&c->buffer, 64);
	sonde_put_uint(&c->buffer, value / 1000);
	sonde_put_char(&c->buffer, '.');
	sonde_put_char(&c->buffer, (char)('0' + rest / 100));
	sonde_put_char(&c->buffer, (char)('0' + rest / 10 % 10));
	sonde_put_char(&c->buffer, (char)('0' + rest % 10));
}

static int64_t pid_of(const struct sonde_track *track)
{
	int64_t pid = track->pid >= 0 ? track->pid : track->id;

	if (track->kind == SONDE_TRACK_CPU)
		pid = PID_CPUS;
	else if (track->kind == SONDE_TRACK_STREAM)
		pid = PID_STREAMS;
	return pid + ((int64_t)track->machine << 24);
}

static void chrome_begin_line(struct chrome *c, const char *phase, int64_t pid,
			      int64_t tid)
{
	sonde_json_line(&c->json, 0);
	sonde_json_open(&c->json, NULL, '{');
	sonde_json_put_text(&c->json, "ph", phase);
	sonde_json_put_signed(&c->json, "pid", pid);
	sonde_json_put_signed(&c->json, "tid", tid);
}

static void put_moment(struct chrome *c, int64_t time_ns)
{
	chrome_put_time(c, "ts",
			(int64_t)((uint64_t)time_ns - (uint64_t)c->begin_ns));
}

static void chrome_put_name(struct chrome *c, const char *name)
{
	sonde_json_put_text(&c->json, "name", name);
}

/* The fields of an event; NULL: none. */
static void put_args(struct chrome *c, const struct sonde_event *event)
{
	struct sonde_event_class_info info;
	const struct class *of;
	bool has_stack;

	if (!event)
		return;
	sonde_event_class_get_info(event->cls, &info);
	of = &c->classes[info.index];
	has_stack = sonde_names_has_stacks(c->fields.names) &&
		    sonde_names_stack(c->fields.names, event);
	if (!of->payload && !has_stack)
		return;
	sonde_json_open(&c->json, "args", '{');
	if (has_stack) {
		sonde_json_name(&c->json, "stack");
		sonde_put_stack(&c->fields, c->fields.names, event, &c->buffer);
	}
	if (of->payload)
		sonde_shape_put(&c->fields, of->payload, event,
				SONDE_SCOPE_PAYLOAD, !has_stack, &c->buffer);
	sonde_json_close(&c->json, '}');
}

static int chrome_end_line(struct chrome *c)
{
	sonde_json_close(&c->json, '}');
	return c->buffer.used >= FLUSH_BYTES ? chrome_flush(c) : 0;
}

/* ---- what a timeline has ---- */

static int put_metadata(struct chrome *c, const char *what, int64_t pid,
			int64_t tid, const char *name)
{
	if (name[0] == 0)
		return 0;
	chrome_begin_line(c, "M", pid, tid);
	chrome_put_name(c, what);
	sonde_json_open(&c->json, "args", '{');
	chrome_put_name(c, name);
	sonde_json_close(&c->json, '}');
	return chrome_end_line(c);
}

static int put_track(void *ctx, const struct sonde_track *track,
		     const struct sonde_timeline_name *name)
{
	struct chrome *c = ctx;
	int64_t pid = pid_of(track);
	const char *process = name->process;
	int err;

	if (track->kind == SONDE_TRACK_CPU)
		process = "CPUs";
	else if (track->kind == SONDE_TRACK_STREAM)
		process = "streams";
	err = put_metadata(c, "process_name", pid, track->id, process);
	return err != 0 ? err :
			  put_metadata(c, "thread_name", pid, track->id,
				       name->track);
}

static int open_span(void *ctx, const struct sonde_track *track,
		     const struct sonde_event *event)
{
	const struct sonde_track_span *span = &track->spans[track->depth - 1];
	struct chrome *c = ctx;

	chrome_begin_line(c, "B", pid_of(track), track->id);
	put_moment(c, span->begin_ns);
	chrome_put_name(c, c->spans.names.texts[span->name]);
	put_args(c, event);
	return chrome_end_line(c);
}

static int chrome_close_span(void *ctx, const struct sonde_track *track,
			     int64_t time_ns, const struct sonde_event *event)
{
	struct chrome *c = ctx;

	chrome_begin_line(c, "E", pid_of(track), track->id);
	put_moment(c, time_ns);
	put_args(c, event);
	return chrome_end_line(c);
}

static int counter(void *ctx, size_t i, int64_t time_ns,
		   const struct sonde_value *value)
{
	struct chrome *c = ctx;

	chrome_begin_line(c, "C", PID_COUNTERS, 0);
	put_moment(c, time_ns);
	chrome_put_name(c, c->export->timeline.counters[i].name);
	sonde_json_open(&c->json, "args", '{');
	if (value->kind == SONDE_KIND_FLOAT) {
		sonde_json_name(&c->json, "value");
		sonde_buffer_room(&c->buffer, 64);
		sonde_put_double(&c->buffer, value->d, 64);
	} else if (value->kind == SONDE_KIND_INT) {
		sonde_json_put_signed(&c->json, "value", value->i);
	} else {
		sonde_json_put_unsigned(&c->json, "value", value->u);
	}
	sonde_json_close(&c->json, '}');
	return chrome_end_line(c);
}

static int64_t number_of(const struct sonde_event *event,
			 const struct sonde_field *field)
{
	struct sonde_value value;

	return sonde_event_value(event, field, &value) == 0 ? value.i : -1;
}

/* What the CPU ran until this switch, if what it says fits the switch before:
 * if not, some are missing between. */
static int put_run(struct chrome *c, const struct class *of,
		   const struct sonde_event *event)
{
	int32_t cpu = sonde_event_cpu(event);
	struct sonde_value comm;
	struct running *running;
	int64_t since_ns;
	int64_t tid;
	char name[64] = "";
	bool fits;

	if (cpu < 0 || cpu >= CPUS_MAX)
		return 0;
	running = &c->running[cpu];
	since_ns = running->since_ns;
	tid = running->tid;
	fits = running->known && tid == number_of(event, &of->prev_tid);
	*running = (struct running){ true, event->time_ns,
				     number_of(event, &of->next_tid) };
	if (!fits || sonde_event_value(event, &of->prev_comm, &comm) != 0)
		return 0;
	if (sonde_strangers_has(&c->strangers, tid)) {
		c->strangers.nr_runs += tid > 0;
		return 0;
	}
	(void)sonde_value_utf8(&comm, name, sizeof(name) - 1);
	if (!c->scheduling &&
	    put_metadata(c, "process_name", PID_SCHEDULING, 0, "scheduling"))
		return -EIO;
	c->scheduling = true;
	chrome_begin_line(c, "X", PID_SCHEDULING, cpu);
	put_moment(c, since_ns);
	chrome_put_time(c, "dur", event->time_ns - since_ns);
	chrome_put_name(c, name);
	put_args(c, event);
	return chrome_end_line(c);
}

static int instant(void *ctx, const struct sonde_track *track,
		   const struct sonde_event *event)
{
	struct sonde_event_class_info info;
	struct chrome *c = ctx;

	sonde_event_class_get_info(event->cls, &info);
	if (c->classes[info.index].is_switch)
		return put_run(c, &c->classes[info.index], event);
	chrome_begin_line(c, "i", pid_of(track), track->id);
	put_moment(c, event->time_ns);
	chrome_put_name(c, sonde_event_name(event));
	sonde_json_put_text(&c->json, "s", "t");
	put_args(c, event);
	return chrome_end_line(c);
}

/* ---- the whole ---- */

static int look_at_class(struct chrome *c, const struct sonde_event_class *cls,
			 struct class *of)
{
	const enum sonde_scope scope = SONDE_SCOPE_PAYLOAD;
	struct sonde_event_class_info info;
	int err = 0;

	sonde_event_class_get_info(cls, &info);
	of->is_switch =
		!strcmp(info.name, "sched_switch") &&
		!sonde_event_class_field(cls, scope, "prev_comm",
					 &of->prev_comm) &&
		!sonde_event_class_field(cls, scope, "prev_tid",
					 &of->prev_tid) &&
		!sonde_event_class_field(cls, scope, "next_tid", &of->next_tid);
	of->payload =
		sonde_shape_new(&c->fields, cls, scope, NULL, &c->pool, &err);
	return err;
}

static int chrome_tell_clock(void *ctx, const struct sonde_export_clock *clock)
{
	struct sonde_json *json = ctx;

	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "host", clock->host);
	sonde_json_put_text(json, "on", clock->on);
	if (clock->within_ns < 0)
		sonde_json_put_raw(json, "within_ns", "null");
	else
		sonde_json_put_signed(json, "within_ns", clock->within_ns);
	sonde_json_put_bool(json, "at_all_times", clock->is_all);
	sonde_json_close(json, '}');
	return 0;
}

static void open_file(struct chrome *c, const struct sonde_trace *trace)
{
	char begin[24];

	(void)snprintf(begin, sizeof(begin), "%" PRId64, c->begin_ns);
	c->json = (struct sonde_json){ .put = put_buffer, .to = &c->buffer };
	sonde_json_open(&c->json, NULL, '{');
	sonde_json_put_text(&c->json, "displayTimeUnit", "ns");
	sonde_json_open(&c->json, "otherData", '{');
	sonde_json_put_text(&c->json, "begin_ns", begin);
	sonde_json_open(&c->json, "clocks", '[');
	(void)sonde_export_clocks(trace, chrome_tell_clock, &c->json);
	sonde_json_close(&c->json, ']');
	sonde_json_close(&c->json, '}');
	sonde_json_line(&c->json, 0);
	sonde_json_open(&c->json, "traceEvents", '[');
}

static int prepare(struct chrome *c, const struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	int64_t end_ns;
	int err = sonde_buffer_init(&c->buffer);

	sonde_pool_init(&c->pool, 0);
	sonde_writer_init(&c->fields, SONDE_STYLE_JSON, false);
	c->classes = calloc(nr ? nr : 1, sizeof(*c->classes));
	c->running = calloc(CPUS_MAX, sizeof(*c->running));
	if (err == 0)
		err = sonde_export_open_names(c->export, &c->fields.names);
	if (err != 0 || !c->classes || !c->running)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < nr; i++)
		err = look_at_class(c, sonde_trace_event_class(trace, i),
				    &c->classes[i]);
	(void)sonde_trace_range(trace, &c->begin_ns, &end_ns);
	open_file(c, trace);
	return err;
}

static int finish(struct chrome *c)
{
	(void)put_metadata(c, "process_name", PID_COUNTERS, 0, "counters");
	sonde_json_line(&c->json, 0);
	sonde_json_close(&c->json, ']');
	sonde_json_close(&c->json, '}');
	sonde_buffer_text(&c->buffer, "\n", 1);
	return chrome_flush(c);
}

static const struct sonde_timeline_ops ops = {
	.track = put_track,
	.open = open_span,
	.close = chrome_close_span,
	.instant = instant,
	.counter = counter,
};

int sonde_export_chrome(struct sonde_export *export)
{
	struct chrome c = { .export = export };
	int err = sonde_strangers_init(&c.strangers, export);

	if (err == 0)
		err = prepare(&c, export->timeline.pairs.trace);
	if (err == 0)
		err = sonde_timeline_run(&export->timeline, &ops, &c, &c.spans);
	if (err == 0)
		err = finish(&c);
	sonde_export_note(export, &c.spans);
	sonde_strangers_fini(&c.strangers, export);
	sonde_spans_fini(&c.spans);
	sonde_names_free(c.fields.names);
	sonde_buffer_fini(&c.buffer);
	sonde_pool_fini(&c.pool);
	free(c.classes);
	free(c.running);
	return err;
}
