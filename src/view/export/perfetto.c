/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - a timeline as a Perfetto trace: a sequence of TracePacket
 * messages, each behind the tag of field 1, as its file is one message with one
 * repeated field.
 *
 *   first	a clock snapshot: our nanoseconds since 1970 serve as boot time,
 *		which is what packets use unless they say otherwise, and as real
 *		time, so that the viewer can show the time of day. The system's
 *		name, by which the viewer reads task states. How far machines'
 *		clocks can be from one another, as the metadata that browsers
 *		write: the viewer lists them, and the format has no other place
 *   tracks	a TrackDescriptor for each process, thread, CPU and counter
 *   spans	a TrackEvent SLICE_BEGIN and a SLICE_END on the thread's track
 *   others	a TrackEvent INSTANT; fields are debug annotations
 *   scheduler	sched_switch and its like, as the ftrace events which they were:
 *		the viewer makes CPU and thread states only of these
 *
 * Names of events and annotations are interned: a number stands for the text,
 * which goes along when it is used first. All packets are one sequence; the
 * first says that nothing was interned before, the others that they need it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "view/export/clocks.h"
#include "view/export/export.h"
#include "view/export/perfetto_packets.h"
#include "view/export/strangers.h"

/* ---- what the viewer wants as ftrace events ---- */

#define FTRACE_FIELDS 7

/* Of a switch and of a wake-up, which field is whose number, and from which on
 * the fields of a switch are about the next thread. */
#define PREV_TID  1
#define NEXT      4
#define NEXT_TID  5
#define WOKEN_TID 1

static const struct ftrace {
	const char *name;
	uint32_t message; /* field of the ftrace event */
	enum {
		POWER,
		SWITCH,
		WAKEUP
	} about;
	struct {
		const char *name;
		uint32_t number;
	} fields[FTRACE_FIELDS];
} ftraces[] = {
	{ "sched_switch",
	  4,
	  SWITCH,
	  { { "prev_comm", 1 },
	    { "prev_tid", 2 },
	    { "prev_prio", 3 },
	    { "prev_state", 4 },
	    { "next_comm", 5 },
	    { "next_tid", 6 },
	    { "next_prio", 7 } } },
	{ "sched_wakeup",
	  17,
	  WAKEUP,
	  { { "comm", 1 }, { "tid", 2 }, { "prio", 3 }, { "target_cpu", 5 } } },
	{ "sched_waking",
	  20,
	  WAKEUP,
	  { { "comm", 1 }, { "tid", 2 }, { "prio", 3 }, { "target_cpu", 5 } } },
	{ "sched_wakeup_new",
	  114,
	  WAKEUP,
	  { { "comm", 1 }, { "tid", 2 }, { "prio", 3 }, { "target_cpu", 5 } } },
	{ "power_cpu_frequency",
	  11,
	  POWER,
	  { { "state", 1 }, { "cpu_id", 2 } } },
	{ "cpu_frequency", 11, POWER, { { "state", 1 }, { "cpu_id", 2 } } },
	{ "power_cpu_idle", 13, POWER, { { "state", 1 }, { "cpu_id", 2 } } },
	{ "cpu_idle", 13, POWER, { { "state", 1 }, { "cpu_id", 2 } } },
};

/* An event class, as one of these; ftrace NULL: it isn't. */
struct class
{
	const struct ftrace *ftrace;
	bool has[FTRACE_FIELDS];
	struct sonde_field fields[FTRACE_FIELDS];
};

struct process {
	struct sonde_key key; /* machine and pid */
	uint64_t named;
};

struct perfetto {
	struct sonde_export *export;
	struct sonde_spans spans;
	struct sonde_names *codes;
	struct sonde_perfetto_packets packets;
	struct sonde_hash processes;
	struct class *classes; /* by index of event class */
	struct sonde_strangers strangers;
};

static uint64_t perfetto_time_of(int64_t time_ns)
{
	return time_ns > 0 ? (uint64_t)time_ns : 0;
}

/* ---- track events ---- */

static uint64_t uuid_of_track(const struct sonde_track *track)
{
	return track->index + 1u;
}

static uint64_t uuid_of_process(uint32_t machine, int32_t pid)
{
	return 1ull << 62 | (uint64_t)machine << 32 | (uint32_t)pid;
}

static uint64_t uuid_of_counter(size_t i)
{
	return 2ull << 62 | i;
}

static void perfetto_begin_event(struct perfetto *p, uint64_t track,
				 int64_t time_ns, enum event_type type)
{
	struct sonde_proto *packet = sonde_perfetto_begin(&p->packets);

	sonde_proto_uint(packet, PACKET_TIME, perfetto_time_of(time_ns));
	sonde_proto_uint(packet, PACKET_FLAGS, FLAG_NEEDS);
	sonde_proto_open(packet, PACKET_TRACK_EVENT);
	sonde_proto_uint(packet, EVENT_TYPE, type);
	sonde_proto_uint(packet, EVENT_TRACK, track);
}

static int end_event(struct perfetto *p, const struct sonde_event *event)
{
	if (event) {
		sonde_perfetto_fields(&p->packets, event,
				      SONDE_SCOPE_EVENT_CONTEXT);
		sonde_perfetto_fields(&p->packets, event, SONDE_SCOPE_PAYLOAD);
		sonde_perfetto_stack(&p->packets, event);
	}
	sonde_proto_close(&p->packets.packet);
	return sonde_perfetto_end(&p->packets);
}

static int perfetto_open_span(void *ctx, const struct sonde_track *track,
			      const struct sonde_event *event)
{
	const struct sonde_track_span *span = &track->spans[track->depth - 1];
	struct perfetto *p = ctx;

	perfetto_begin_event(p, uuid_of_track(track), span->begin_ns,
			     TYPE_BEGIN);
	sonde_perfetto_name(&p->packets, span->name);
	return end_event(p, event);
}

static int perfetto_close_span(void *ctx, const struct sonde_track *track,
			       int64_t time_ns, const struct sonde_event *event)
{
	struct perfetto *p = ctx;

	perfetto_begin_event(p, uuid_of_track(track), time_ns, TYPE_END);
	return end_event(p, event);
}

static int perfetto_counter(void *ctx, size_t i, int64_t time_ns,
			    const struct sonde_value *value)
{
	struct perfetto *p = ctx;

	perfetto_begin_event(p, uuid_of_counter(i), time_ns, TYPE_COUNTER);
	if (value->kind == SONDE_KIND_FLOAT)
		sonde_proto_double(&p->packets.packet, EVENT_COUNT_DOUBLE,
				   value->d);
	else if (value->kind == SONDE_KIND_UINT && value->u > INT64_MAX)
		sonde_proto_double(&p->packets.packet, EVENT_COUNT_DOUBLE,
				   (double)value->u);
	else
		sonde_proto_int(&p->packets.packet, EVENT_COUNT, value->i);
	return end_event(p, NULL);
}

/* ---- ftrace events ---- */

static void put_ftrace_field(struct perfetto *p, uint32_t number,
			     const struct sonde_value *value)
{
	char text[64];

	if (value->kind == SONDE_KIND_STRING) {
		size_t length = sonde_value_utf8(value, text, sizeof(text));

		sonde_proto_bytes(&p->packets.packet, number, text,
				  length < sizeof(text) ? length :
							  sizeof(text) - 1);
	} else {
		sonde_proto_int(&p->packets.packet, number, value->i);
	}
}

/* The number of the thread that field i is; -1: it isn't there. */
static int64_t tid_in(const struct class *cls, const struct sonde_event *event,
		      size_t i)
{
	struct sonde_value value;

	if (!cls->has[i] || sonde_event_value(event, &cls->fields[i], &value))
		return -1;
	return value.i;
}

/* Which fields are about threads of which the trace has only a part: bits. All
 * bits: the whole event is. */
static unsigned int hidden_in(struct perfetto *p, const struct class *cls,
			      const struct sonde_event *event)
{
	const unsigned int all = (1u << FTRACE_FIELDS) - 1;
	unsigned int hidden = 0;
	int64_t next;

	if (cls->ftrace->about == WAKEUP)
		return sonde_strangers_has(&p->strangers,
					   tid_in(cls, event, WOKEN_TID)) ?
			       all :
			       0;
	if (cls->ftrace->about != SWITCH)
		return 0;
	next = tid_in(cls, event, NEXT_TID);
	if (sonde_strangers_has(&p->strangers, tid_in(cls, event, PREV_TID)))
		hidden |= (1u << NEXT) - 1;
	if (sonde_strangers_has(&p->strangers, next)) {
		hidden |= all & ~((1u << NEXT) - 1);
		p->strangers.nr_runs += next > 0;
	}
	return hidden;
}

static void put_ftrace_fields(struct perfetto *p, const struct class *cls,
			      const struct sonde_event *event,
			      unsigned int hidden)
{
	const struct sonde_value nobody = { .kind = SONDE_KIND_INT };

	for (size_t i = 0; i < FTRACE_FIELDS; i++) {
		uint32_t number = cls->ftrace->fields[i].number;
		struct sonde_value value;

		if (cls->has[i] && hidden >> i & 1) {
			if (i == PREV_TID || i == NEXT_TID)
				put_ftrace_field(p, number, &nobody);
		} else if (cls->has[i] &&
			   !sonde_event_value(event, &cls->fields[i], &value)) {
			put_ftrace_field(p, number, &value);
		}
	}
}

/* Who isn't shown is nobody, thread 0: the viewer draws nothing there. */
static int put_ftrace(struct perfetto *p, const struct class *cls,
		      const struct sonde_track *track,
		      const struct sonde_event *event)
{
	unsigned int hidden = hidden_in(p, cls, event);
	struct sonde_proto *packet;

	if (hidden == (1u << FTRACE_FIELDS) - 1)
		return 0;
	packet = sonde_perfetto_begin(&p->packets);
	sonde_proto_open(packet, PACKET_FTRACE);
	sonde_proto_uint(packet, FTRACE_CPU, (uint64_t)sonde_event_cpu(event));
	sonde_proto_open(packet, FTRACE_EVENT);
	sonde_proto_uint(packet, FTRACE_EVENT_TIME,
			 perfetto_time_of(event->time_ns));
	if (track->kind == SONDE_TRACK_THREAD)
		sonde_proto_uint(packet, FTRACE_EVENT_PID,
				 hidden >> PREV_TID & 1 ? 0 :
							  (uint64_t)track->id);
	sonde_proto_open(packet, cls->ftrace->message);
	put_ftrace_fields(p, cls, event, hidden);
	for (int open = 3; open > 0; open--)
		sonde_proto_close(packet);
	return sonde_perfetto_end(&p->packets);
}

static int perfetto_instant(void *ctx, const struct sonde_track *track,
			    const struct sonde_event *event)
{
	struct perfetto *p = ctx;
	const char *name = sonde_event_name(event);
	struct sonde_event_class_info info;

	sonde_event_class_get_info(event->cls, &info);
	if (p->classes[info.index].ftrace && sonde_event_cpu(event) >= 0)
		return put_ftrace(p, &p->classes[info.index], track, event);
	perfetto_begin_event(p, uuid_of_track(track), event->time_ns,
			     TYPE_INSTANT);
	sonde_perfetto_name(&p->packets,
			    sonde_export_names_lasting(&p->spans.names, name));
	return end_event(p, event);
}

/* ---- descriptions ---- */

static int put_process(struct perfetto *p, const struct sonde_track *track,
		       const struct sonde_timeline_name *name)
{
	struct sonde_key key = sonde_key_make(
		SONDE_KEY_UINT, (uint32_t)name->pid, track->machine);
	struct process *process = sonde_hash_get(&p->processes, &key);
	struct sonde_proto *packet;

	if (process && (process->named || name->process[0] == 0))
		return 0;
	if (!process)
		process = sonde_hash_put(&p->processes, &key);
	if (!process)
		return -ENOMEM;
	process->named = name->process[0] != 0;
	packet = sonde_perfetto_begin(&p->packets);
	sonde_proto_open(packet, PACKET_TRACK);
	sonde_proto_uint(packet, TRACK_UUID,
			 uuid_of_process(track->machine, name->pid));
	sonde_proto_open(packet, TRACK_PROCESS);
	sonde_proto_int(packet, PROCESS_PID, name->pid);
	if (process->named)
		sonde_proto_text(packet, PROCESS_NAME, name->process);
	sonde_proto_close(packet);
	sonde_proto_close(packet);
	return sonde_perfetto_end(&p->packets);
}

static int perfetto_put_track(void *ctx, const struct sonde_track *track,
			      const struct sonde_timeline_name *name)
{
	bool thread = track->kind == SONDE_TRACK_THREAD;
	struct perfetto *p = ctx;
	struct sonde_proto *packet;
	int err = thread ? put_process(p, track, name) : 0;

	if (err != 0)
		return err;
	packet = sonde_perfetto_begin(&p->packets);
	sonde_proto_open(packet, PACKET_TRACK);
	sonde_proto_uint(packet, TRACK_UUID, uuid_of_track(track));
	if (thread) {
		sonde_proto_uint(packet, TRACK_PARENT,
				 uuid_of_process(track->machine, name->pid));
		sonde_proto_open(packet, TRACK_THREAD);
		sonde_proto_int(packet, THREAD_PID, name->pid);
		sonde_proto_int(packet, THREAD_TID, track->id);
		if (name->track[0])
			sonde_proto_text(packet, THREAD_NAME, name->track);
		sonde_proto_close(packet);
	} else {
		sonde_proto_text(packet, TRACK_NAME, name->track);
	}
	sonde_proto_close(packet);
	return sonde_perfetto_end(&p->packets);
}

static int put_counters(struct perfetto *p)
{
	const struct sonde_timeline_config *config = &p->export->timeline;
	int err = 0;

	for (size_t i = 0; err == 0 && i < config->nr_counters; i++) {
		struct sonde_proto *packet = sonde_perfetto_begin(&p->packets);

		sonde_proto_open(packet, PACKET_TRACK);
		sonde_proto_uint(packet, TRACK_UUID, uuid_of_counter(i));
		sonde_proto_text(packet, TRACK_NAME, config->counters[i].name);
		sonde_proto_open(packet, TRACK_COUNTER);
		sonde_proto_close(packet);
		sonde_proto_close(packet);
		err = sonde_perfetto_end(&p->packets);
	}
	return err;
}

static int put_system(struct perfetto *p, const struct sonde_source *source)
{
	static const char *const names[] = { "sysname", "kernel_version",
					     "kernel_release", "machine" };
	struct sonde_proto *packet = sonde_perfetto_begin(&p->packets);

	sonde_proto_open(packet, PACKET_SYSTEM);
	sonde_proto_open(packet, SYSTEM_UTSNAME);
	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		const char *text = sonde_source_env(source, names[i]);

		/* The fields are numbered in this order, from 1. */
		if (text)
			sonde_proto_text(packet, i + 1, text);
	}
	sonde_proto_close(packet);
	sonde_proto_close(packet);
	return sonde_perfetto_end(&p->packets);
}

static int perfetto_tell_clock(void *ctx,
			       const struct sonde_export_clock *clock)
{
	struct perfetto *p = ctx;
	struct sonde_proto *packet = sonde_perfetto_begin(&p->packets);
	char name[300];
	char text[400];

	(void)snprintf(name, sizeof(name), "clock of %.255s",
		       *clock->host ? clock->host : "?");
	if (clock->within_ns < 0)
		(void)snprintf(text, sizeof(text),
			       "put on %s's; how well isn't known", clock->on);
	else
		(void)snprintf(text, sizeof(text),
			       "put on %s's, within %" PRId64 " ns of it%s",
			       clock->on, clock->within_ns,
			       clock->is_all ? "" :
					       "; at some times that isn't "
					       "known");
	sonde_proto_open(packet, PACKET_CHROME);
	sonde_proto_open(packet, CHROME_METADATA);
	sonde_proto_text(packet, METADATA_NAME, name);
	sonde_proto_text(packet, METADATA_TEXT, text);
	sonde_proto_close(packet);
	sonde_proto_close(packet);
	return sonde_perfetto_end(&p->packets);
}

static void perfetto_put_clock(struct sonde_proto *packet, uint32_t id,
			       int64_t time_ns)
{
	sonde_proto_open(packet, CLOCKS_CLOCK);
	sonde_proto_uint(packet, CLOCK_ID, id);
	sonde_proto_uint(packet, CLOCK_TIME, perfetto_time_of(time_ns));
	sonde_proto_close(packet);
}

static int perfetto_put_head(struct perfetto *p,
			     const struct sonde_trace *trace)
{
	struct sonde_proto *packet = sonde_perfetto_begin(&p->packets);
	int64_t begin_ns = 0;
	int64_t end_ns;
	int err;

	(void)sonde_trace_range(trace, &begin_ns, &end_ns);
	sonde_proto_uint(packet, PACKET_TIME, perfetto_time_of(begin_ns));
	sonde_proto_uint(packet, PACKET_FLAGS, FLAG_CLEARED | FLAG_NEEDS);
	sonde_proto_uint(packet, PACKET_FIRST, 1);
	sonde_proto_uint(packet, PACKET_DROPPED, 1);
	sonde_proto_open(packet, PACKET_CLOCKS);
	sonde_proto_uint(packet, CLOCKS_PRIMARY, CLOCK_IS_BOOTTIME);
	perfetto_put_clock(packet, CLOCK_IS_BOOTTIME, begin_ns);
	perfetto_put_clock(packet, CLOCK_IS_REALTIME, begin_ns);
	sonde_proto_close(packet);
	err = sonde_perfetto_end(&p->packets);
	if (err == 0 && sonde_trace_nr_sources(trace) > 0)
		err = put_system(p, sonde_trace_source(trace, 0));
	if (err == 0)
		err = sonde_export_clocks(trace, perfetto_tell_clock, p);
	return err != 0 ? err : put_counters(p);
}

/* ---- the whole ---- */

static void find_ftrace(const struct sonde_event_class *cls, struct class *of)
{
	struct sonde_event_class_info info;

	sonde_event_class_get_info(cls, &info);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(ftraces); i++)
		if (!strcmp(info.name, ftraces[i].name))
			of->ftrace = &ftraces[i];
	for (size_t i = 0; of->ftrace && i < FTRACE_FIELDS; i++)
		of->has[i] = of->ftrace->fields[i].name &&
			     sonde_event_class_field(cls, SONDE_SCOPE_PAYLOAD,
						     of->ftrace->fields[i].name,
						     &of->fields[i]) == 0;
}

static int prepare(struct perfetto *p, const struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);

	sonde_hash_init(&p->processes, sizeof(struct process),
			SONDE_SPANS_TRACKS);
	p->classes = calloc(nr ? nr : 1, sizeof(*p->classes));
	if (!p->classes || sonde_export_open_names(p->export, &p->codes) ||
	    sonde_perfetto_packets_init(&p->packets, p->export->to,
					&p->spans.names, p->codes) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		find_ftrace(sonde_trace_event_class(trace, i), &p->classes[i]);
	return perfetto_put_head(p, trace);
}

static const struct sonde_timeline_ops ops = {
	.track = perfetto_put_track,
	.open = perfetto_open_span,
	.close = perfetto_close_span,
	.instant = perfetto_instant,
	.counter = perfetto_counter,
};

int sonde_export_perfetto(struct sonde_export *export)
{
	struct perfetto p = { .export = export };
	int err = sonde_strangers_init(&p.strangers, export);

	if (err == 0)
		err = prepare(&p, export->timeline.pairs.trace);
	if (err == 0)
		err = sonde_timeline_run(&export->timeline, &ops, &p, &p.spans);
	sonde_export_note(export, &p.spans);
	sonde_strangers_fini(&p.strangers, export);
	sonde_spans_fini(&p.spans);
	sonde_hash_fini(&p.processes);
	sonde_perfetto_packets_fini(&p.packets);
	sonde_names_free(p.codes);
	free(p.classes);
	return err;
}
