/* SPDX-License-Identifier: MIT */
/*
 * perfetto_packets.h - packets of a Perfetto trace, one at a time: their frame,
 * the names in them, and events' fields as annotations. What is in which packet
 * is perfetto.c's business.
 *
 * The numbers of fields are from Perfetto's published message definitions.
 */
#ifndef VIEW_EXPORT_PERFETTO_PACKETS_H
#define VIEW_EXPORT_PERFETTO_PACKETS_H

#include <stdint.h>
#include <stdio.h>

#include <sonde/trace.h>

#include "reader/names/names.h"
#include "view/export/names.h"
#include "view/export/proto.h"

#define TRACE_PACKET 1

enum packet_field {
	PACKET_FTRACE = 1,
	PACKET_CHROME = 5,
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DROPPED = 42,
	PACKET_SYSTEM = 45,
	PACKET_TRACK = 60,
	PACKET_FIRST = 87,
};
#define FLAG_CLEARED 1u
#define FLAG_NEEDS   2u

/* Of PACKET_CHROME. */
enum chrome_field {
	CHROME_METADATA = 2,
	METADATA_NAME = 1,
	METADATA_TEXT = 2,
};

enum event_field {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNT = 30,
	EVENT_COUNT_DOUBLE = 44,
};
enum event_type {
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
};

enum annotation_field {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
	ANNOTATION_MEMBER = 11,
	ANNOTATION_ELEMENT = 12,
};

enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
};
enum process_field {
	PROCESS_PID = 1,
	PROCESS_NAME = 6
};
enum thread_field {
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5
};

enum interned_field {
	INTERNED_EVENT_NAME = 2,
	INTERNED_ANNOTATION_NAME = 3
};
enum {
	INTERNED_IID = 1,
	INTERNED_TEXT = 2
};

enum {
	CLOCKS_CLOCK = 1,
	CLOCKS_PRIMARY = 2
};
enum {
	CLOCK_ID = 1,
	CLOCK_TIME = 2
};
#define CLOCK_IS_REALTIME 1u
#define CLOCK_IS_BOOTTIME 6u

enum {
	SYSTEM_UTSNAME = 1
};

enum {
	FTRACE_CPU = 1,
	FTRACE_EVENT = 2
};
enum {
	FTRACE_EVENT_TIME = 1,
	FTRACE_EVENT_PID = 2
};

#define SEQUENCE 1u

struct sonde_perfetto_packets {
	struct sonde_proto packet; /* the one that is being written */
	/* ---- private ---- */
	FILE *to;
	struct sonde_export_names *names;
	struct sonde_names *codes;
	struct sonde_proto interned; /* what goes along with it */
	uint8_t *known;              /* by name: as what the viewer knows it */
};

/* All are borrowed. `codes`: of addresses; NULL: these are numbers alone. 0 or
 * -ENOMEM. */
int sonde_perfetto_packets_init(struct sonde_perfetto_packets *packets,
				FILE *to, struct sonde_export_names *names,
				struct sonde_names *codes);
void sonde_perfetto_packets_fini(struct sonde_perfetto_packets *packets);

/* A new packet; returns packets->packet. */
struct sonde_proto *
sonde_perfetto_begin(struct sonde_perfetto_packets *packets);
/* Writes it. 0, -ENOMEM, -EIO. */
int sonde_perfetto_end(struct sonde_perfetto_packets *packets);

/* Inside a track event: its name. */
void sonde_perfetto_name(struct sonde_perfetto_packets *packets, uint32_t name);
/* Inside a track event: its stack, as an array of names; nothing if it has none. */
void sonde_perfetto_stack(struct sonde_perfetto_packets *packets,
			  const struct sonde_event *event);
/* Inside a track event: all fields of a scope; behind the address of code its
 * name, as NAME_name. */
void sonde_perfetto_fields(struct sonde_perfetto_packets *packets,
			   const struct sonde_event *event,
			   enum sonde_scope scope);

#endif /* VIEW_EXPORT_PERFETTO_PACKETS_H */
