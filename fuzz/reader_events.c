/* SPDX-License-Identifier: MIT */
/*
 * reader_events.c - fuzz the decoding of events: any metadata (metadata.h), any
 * bytes.
 *
 * Input: decisions for the metadata, then for two streams of a few packets each
 * whose sizes are right and whose events are any bytes.
 *
 * What must hold: the events going back are those going forward; those of
 * slices, of all streams one after the other, and those that a filter leaves
 * are the same ones as among all; a walk through an event ends where the event
 * does; a field that is asked for by its path is what the walk found there; a
 * seek finds the first event at or after a time. Orders are compared if the
 * events of each stream are in the order of time, seeks if also no event is
 * later than the end that its packet names.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fuzz.h"
#include "metadata.h"
#include "reader/core/cursor.h"
#include "reader/core/open.h"

#define STREAMS      2u
#define PACKETS      3u
#define PACKET_BYTES 160u
#define EVENTS_MAX   8192u
#define CHECKED_MAX  16u /* fields of an event that are asked for */
#define EMPTY_MAX    65536u

struct seen {
	int64_t time_ns;
	uint64_t sum; /* of where it is and what is in it */
};

static struct seen events[EVENTS_MAX];
static size_t nr_events;
static bool in_order;
static bool in_packets; /* none is later than its packet says */

/* ---- what is in an event ---- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
}

static uint64_t mix_value(uint64_t sum, const struct sonde_value *value)
{
	sum = mix(sum, value->length);
	if (value->kind != SONDE_KIND_STRING && value->kind != SONDE_KIND_BLOB)
		return mix(sum, value->u);
	for (uint64_t i = 0; i < value->length; i++)
		sum = mix(sum, (uint8_t)value->text[i]);
	return sum;
}

static void check_field(const struct sonde_event *event, enum sonde_scope scope,
			const char *path, const struct sonde_value *walked)
{
	struct sonde_field field;
	struct sonde_value value;
	int err = sonde_event_class_field(event->cls, scope, path, &field);

	if (err == -EINVAL)
		return; /* it is nested too deep for a path */
	FUZZ_CHECK(!err);
	FUZZ_CHECK(!sonde_event_value(event, &field, &value));
	FUZZ_CHECK(value.cls == walked->cls && value.kind == walked->kind);
	FUZZ_CHECK(mix_value(1, &value) == mix_value(1, walked));
}

/* A group that the walk is in: its path, and what kind it is. */
struct group {
	char path[256];
	enum sonde_kind kind;
	uint64_t nr; /* members so far */
};

static void path_of(const struct group *in, const char *name, char *path)
{
	const char *dot = in->path[0] ? "." : "";

	if (in->kind == SONDE_KIND_OPTIONAL)
		(void)snprintf(path, 256, "%.255s", in->path);
	else if (name)
		(void)snprintf(path, 256, "%.200s%s%s", in->path, dot, name);
	else
		(void)snprintf(path, 256, "%.200s[%" PRIu64 "]", in->path,
			       in->nr);
}

static uint64_t walk_scope(const struct sonde_event *event,
			   enum sonde_scope scope, uint64_t sum, bool check)
{
	struct group groups[SONDE_WALK_DEPTH + 1];
	struct group *in = groups;
	enum sonde_walk_item item;
	struct sonde_value value;
	struct sonde_walk walk;
	uint32_t left = check ? CHECKED_MAX : 0;
	const char *name;

	*in = (struct group){ .kind = SONDE_KIND_STRUCT };
	sonde_walk_begin(&walk, event, scope);
	while ((item = sonde_walk_next(&walk, &name, &value))) {
		char path[256];

		if (item == SONDE_WALK_GROUP_END) {
			in--;
			continue;
		}
		sum = mix_value(mix(sum, value.kind), &value);
		if (left)
			path_of(in, name, path);
		in->nr++;
		if (item == SONDE_WALK_GROUP) {
			in++;
			in->kind = value.kind;
			in->nr = 0;
			in->path[0] = '\0';
			if (left)
				memcpy(in->path, path, sizeof(path));
		} else if (left) {
			left--;
			check_field(event, scope, path, &value);
		}
	}
	FUZZ_CHECK(!walk.damaged || walk.nr_empty > EMPTY_MAX);
	if (scope == SONDE_SCOPE_PAYLOAD && !walk.damaged)
		FUZZ_CHECK(walk.pos == event->end);
	return sum;
}

static struct seen see(const struct sonde_event *event, bool check)
{
	struct seen seen = { event->time_ns, 1 };
	struct sonde_stream_info info;

	sonde_stream_get_info(event->stream, &info);
	seen.sum = mix(seen.sum, info.index);
	seen.sum = mix(seen.sum, sonde_event_packet(event));
	seen.sum = mix(seen.sum, event->pos);
	seen.sum = mix(seen.sum, event->end);
	for (enum sonde_scope i = 0; i < SONDE_NR_SCOPES; i++)
		if (sonde_event_class_scope(event->cls, i))
			seen.sum = walk_scope(event, i, seen.sum, check);
	return seen;
}

/* ---- all events, in several ways ---- */

static struct sonde_cursor *
cursor_of(struct sonde_trace *trace, const struct sonde_cursor_options *options)
{
	struct sonde_cursor *cursor;

	FUZZ_CHECK(!sonde_cursor_new(trace, options, &cursor));
	return cursor;
}

static int64_t end_of_packet(const struct sonde_event *event)
{
	return event->stream->packets[sonde_event_packet(event)].end_ns;
}

/* Notes all events; false if there are too many. */
static bool read_all(struct sonde_cursor *cursor)
{
	const struct sonde_event *event;

	in_order = true;
	in_packets = true;
	for (nr_events = 0; sonde_cursor_next(cursor, &event) > 0;
	     nr_events++) {
		if (nr_events == EVENTS_MAX)
			return false;
		events[nr_events] = see(event, nr_events < 64);
		in_order &= !nr_events ||
			    events[nr_events - 1].time_ns <= event->time_ns;
		in_packets &= event->time_ns <= end_of_packet(event);
	}
	return true;
}

static uint64_t sum_of_all(void)
{
	uint64_t sum = nr_events;

	for (size_t i = 0; i < nr_events; i++)
		sum += events[i].sum;
	return sum;
}

/* The rest of a cursor's events, in any order. */
static uint64_t sum_of_rest(struct sonde_cursor *cursor)
{
	const struct sonde_event *event;
	uint64_t sum = 0;

	while (sonde_cursor_next(cursor, &event) > 0)
		sum += see(event, false).sum + 1;
	return sum;
}

static void read_back(struct sonde_cursor *cursor)
{
	const struct sonde_event *event;
	uint64_t sum = 0;
	size_t nr = nr_events;

	while (sonde_cursor_prev(cursor, &event) > 0) {
		struct seen seen = see(event, nr % 64 == 1);

		FUZZ_CHECK(nr-- > 0);
		FUZZ_CHECK(!in_order || seen.sum == events[nr].sum);
		sum += seen.sum + 1;
	}
	FUZZ_CHECK(sum == sum_of_all());
}

static void turn(struct fuzz_input *in, struct sonde_cursor *cursor)
{
	const struct sonde_event *event;
	size_t at = 0;

	for (int i = 0; i < 8 && in_order; i++) {
		uint32_t steps = fuzz_below(in, 400);
		bool back = i & 1;

		while (steps--) {
			bool more = back ? at > 0 : at < nr_events;

			FUZZ_CHECK((back ? sonde_cursor_prev(cursor, &event) :
					   sonde_cursor_next(cursor, &event)) ==
				   more);
			if (!more)
				break;
			at -= back;
			FUZZ_CHECK(see(event, false).sum == events[at].sum);
			at += !back;
		}
	}
}

static void check_seek(struct fuzz_input *in, struct sonde_cursor *cursor)
{
	size_t at = fuzz_below(in, (uint32_t)nr_events);
	int64_t time_ns = events[at].time_ns;
	const struct sonde_event *event;

	if (time_ns < SONDE_TIME_MAX && (fuzz_u8(in) & 1))
		time_ns++;
	FUZZ_CHECK(!sonde_cursor_seek(cursor, time_ns));
	if (!in_order || !in_packets || time_ns == SONDE_TIME_MAX)
		return;
	for (at = 0; at < nr_events && events[at].time_ns < time_ns; at++)
		;
	FUZZ_CHECK(sonde_cursor_next(cursor, &event) == (at < nr_events));
	if (at < nr_events)
		FUZZ_CHECK(see(event, false).sum == events[at].sum);
	FUZZ_CHECK(!sonde_cursor_seek(cursor, time_ns));
	FUZZ_CHECK(sonde_cursor_prev(cursor, &event) == (at > 0));
	if (at > 0)
		FUZZ_CHECK(see(event, false).sum == events[at - 1].sum);
}

/* A span, as a whole and in two slices. */
static void check_slices(struct fuzz_input *in, struct sonde_trace *trace)
{
	int64_t cut = (int64_t)(fuzz_number(in) & INT64_MAX) - 1;
	struct sonde_cursor_options options;
	struct sonde_cursor *cursors[3];
	uint64_t sums[3];

	sonde_cursor_options_init(&options);
	options.unmerged = fuzz_u8(in) & 1;
	if (fuzz_u8(in) & 1)
		options.from_ns = (int64_t)fuzz_number(in);
	if (fuzz_u8(in) & 1)
		options.to_ns = (int64_t)fuzz_number(in);
	cursors[0] = cursor_of(trace, &options);
	FUZZ_CHECK(!sonde_cursor_new_slice(trace, &options, SONDE_TIME_MIN, cut,
					   &cursors[1]));
	FUZZ_CHECK(!sonde_cursor_new_slice(trace, &options, cut + 1,
					   SONDE_TIME_MAX, &cursors[2]));
	for (size_t i = 0; i < 3; i++) {
		sums[i] = sum_of_rest(cursors[i]);
		sonde_cursor_free(cursors[i]);
	}
	FUZZ_CHECK(sums[0] == sums[1] + sums[2]);
}

/* ---- filters ---- */

/* `name` > 3, where it is a number at the top of the payload. */
static bool is_more(const struct sonde_event *event, const char *wanted)
{
	enum sonde_walk_item item;
	struct sonde_value value;
	struct sonde_walk walk;
	const char *name;

	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	while ((item = sonde_walk_next(&walk, &name, &value))) {
		if (item != SONDE_WALK_VALUE || !name ||
		    strcmp(name, wanted) != 0)
			continue;
		if (value.kind == SONDE_KIND_INT)
			return value.i > 3;
		return value.kind == SONDE_KIND_FLOAT ? value.d > 3 :
							value.u > 3;
	}
	return false;
}

static bool is_plain_number(const struct sonde_trace *trace, const char *path)
{
	struct sonde_field field;
	bool found = false;

	for (size_t i = 0; i < trace->nr_classes; i++) {
		if (sonde_event_class_field(trace->classes[i],
					    SONDE_SCOPE_PAYLOAD, path, &field))
			continue;
		if (field.cls->kind > SONDE_KIND_FLOAT || field.depth > 1)
			return false;
		found = true;
	}
	return found;
}

static void check_filter(struct fuzz_input *in, struct sonde_trace *trace,
			 uint32_t nr_names)
{
	struct sonde_cursor_options options;
	const struct sonde_event *event;
	struct sonde_trace_error error;
	struct sonde_filter *filter;
	struct sonde_cursor *cursor;
	uint64_t sum = 0;
	char name[16];
	char text[32];

	(void)snprintf(name, sizeof(name), "f%u", fuzz_below(in, nr_names));
	if (!is_plain_number(trace, name))
		return;
	(void)snprintf(text, sizeof(text), "%s > 3", name);
	FUZZ_CHECK(!sonde_filter_new(trace, text, &error, &filter));
	cursor = cursor_of(trace, NULL);
	while (sonde_cursor_next(cursor, &event) > 0) {
		bool match = sonde_filter_match(filter, event);

		FUZZ_CHECK(match == is_more(event, name));
		sum += match ? see(event, false).sum + 1 : 0;
	}
	sonde_cursor_free(cursor);
	sonde_cursor_options_init(&options);
	options.filter = filter;
	cursor = cursor_of(trace, &options);
	FUZZ_CHECK(sum_of_rest(cursor) == sum);
	sonde_cursor_free(cursor);
	sonde_filter_free(filter);
}

/* ---- the streams ---- */

static void put(uint8_t *to, uint64_t value)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static size_t make_packet(struct fuzz_input *in, bool clock, uint8_t *to)
{
	size_t head = clock ? 20 : 12;
	size_t room = fuzz_u8(in) % PACKET_BYTES;
	uint32_t begin = fuzz_u16(in);
	uint32_t end = fuzz_u8(in) & 3 ? 0xffffffff : fuzz_u32(in);
	uint32_t length = fuzz_u8(in) % 8;
	uint32_t spare = fuzz_u8(in) % 8;
	const uint8_t *bytes = fuzz_bytes(in, room, &room);

	memcpy(to + head, bytes, room);
	put(to, (head + room) * 8 - (room ? spare : 0));
	put(to + 4, (head + room) * 8);
	if (clock) {
		put(to + 8, begin);
		put(to + 12, end);
	}
	put(to + head - 4, length);
	return head + room;
}

static void make_stream(struct fuzz_input *in, struct sonde_source *source)
{
	static uint8_t bytes[PACKETS * (PACKET_BYTES + 20)];
	uint32_t nr = fuzz_below(in, PACKETS + 1);
	struct sonde_bytes copy;
	size_t used = 0;

	for (uint32_t i = 0; i < nr; i++)
		used += make_packet(in, source->schema->nr_clocks,
				    bytes + used);
	FUZZ_CHECK(!sonde_bytes_copy(bytes, used, &copy));
	FUZZ_CHECK(!sonde_trace_add_stream(source, "fuzz/s", &copy, NULL, 0));
}

static void read_trace(struct fuzz_input *in, struct sonde_trace *trace,
		       uint32_t nr_names)
{
	struct sonde_cursor *cursor = cursor_of(trace, NULL);

	if (read_all(cursor) && nr_events) {
		read_back(cursor);
		turn(in, cursor);
		check_seek(in, cursor);
		check_slices(in, trace);
		check_filter(in, trace, nr_names);
	}
	sonde_cursor_free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct metadata metadata;
	struct fuzz_input in = { bytes, size };
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error;
	struct sonde_source *source;

	FUZZ_CHECK(trace);
	metadata_make(&in, &metadata);
	if (!sonde_trace_add_source(trace, "fuzz", metadata.text, metadata.used,
				    &error, &source)) {
		for (size_t i = 0; i < STREAMS; i++)
			make_stream(&in, source);
		FUZZ_CHECK(!sonde_trace_finish(trace));
		read_trace(&in, trace, metadata.nr_names);
	} else if (getenv("FUZZ_SHOW")) {
		(void)fprintf(stderr, "%s\n", error.text);
	}
	sonde_trace_close(trace);
	return 0;
}
