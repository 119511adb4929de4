/* SPDX-License-Identifier: MIT */
/*
 * reader_packets.c - fuzz the reading of streams: heads, events, fields, with
 * metadata that has a bit of everything.
 *
 * Input: decisions for a stream. A packet is a head, made of numbers that are
 * right unless a decision says otherwise, and any bytes as its events; what is
 * left at the end follows as it is. Two streams share the bytes.
 *
 * What must hold: packets lie inside the file, one behind the other, events
 * inside their packets; there are as many events going back as there were going
 * forward; none before a time that was sought.
 */
#include <string.h>

#include "fuzz.h"
#include "reader/core/open.h"

#define STREAM_MAX 16384u
#define HEAD_BYTES 52u

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct {"
	" integer { size = 32; } magic; integer { size = 32; } stream_id;"
	" integer { size = 32; } stream_instance_id; }; };\n"
	"clock { name = c; freq = 1000000; offset_s = 1700000000; };\n"
	"typealias integer { size = 64; map = clock.c.value; } := time;\n"
	"typealias integer { size = 27; align = 1; map = clock.c.value; } := t27;"
	"\n"
	"stream { id = 0; packet.context := struct {"
	" time timestamp_begin; time timestamp_end;"
	" integer { size = 32; } content_size;"
	" integer { size = 32; } packet_size;"
	" integer { size = 32; } packet_seq_num;"
	" integer { size = 32; } events_discarded; };"
	" event.header := struct {"
	" enum : integer { size = 5; align = 1; } { compact = 0 ... 30,"
	" extended = 31 } id;"
	" variant <id> { struct { t27 timestamp; } compact;"
	" struct { integer { size = 32; align = 8; } id; time timestamp; }"
	" extended; } v; } align(8);"
	" event.context := struct { integer { size = 16; } tid; }; };\n"
	"stream { id = 1; packet.context := struct {"
	" integer { size = 32; map = clock.c.value; } timestamp_begin;"
	" integer { size = 32; } content_size; };"
	" event.header := struct { integer { size = 8; } id;"
	" integer { size = 16; map = clock.c.value; } timestamp; }; };\n"
	"event { name = a; id = 0; stream_id = 0; fields := struct {"
	" string s; integer { size = 7; align = 1; } n;"
	" integer { size = 16; byte_order = be; } list[n]; }; };\n"
	"event { name = b; id = 1; stream_id = 0; fields := struct {"
	" enum : integer { size = 8; } { x = 0 ... 9, y = 10, z = 11 ... 255 }"
	" tag; variant <tag> { integer { size = 3; align = 1; } x;"
	" struct { string t[2]; floating_point { exp_dig = 8; mant_dig = 24; } f;"
	" } y; integer { size = 64; align = 64; } z; } v;"
	" integer { size = 8; encoding = UTF8; } text[5]; }; };\n"
	"event { name = c; id = 2; stream_id = 0; fields := struct { }; };\n"
	"event { name = d; id = 40; stream_id = 0; fields := struct {"
	" integer { size = 8; } n; struct { integer { size = 8; } m;"
	" string s[m]; } nested[n]; }; };\n"
	"event { name = e; id = 0; stream_id = 1; fields := struct {"
	" integer { size = 12; align = 1; } n; }; };\n"
	"event { name = f; id = 1; stream_id = 1; fields := struct { string s; };"
	" };\n";

/* ---- the input's stream ---- */

static void put(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

/* What is right, or a number of the fuzzer's. */
static uint64_t decide(struct fuzz_input *in, uint8_t spoiled, uint8_t bit,
		       uint64_t right)
{
	return spoiled & bit ? fuzz_number(in) : right;
}

static size_t make_packet(struct fuzz_input *in, uint8_t *to, uint32_t nr)
{
	uint8_t spoiled = fuzz_u8(in) < 64 ? fuzz_u8(in) : 0;
	size_t room = fuzz_u8(in);
	size_t padding = fuzz_u8(in) % 16;
	const uint8_t *events = fuzz_bytes(in, room, &room);
	uint64_t content = HEAD_BYTES + room;

	put(to, 0xc1fc1fc1, 4);
	put(to + 4, 0, 4);
	put(to + 8, decide(in, spoiled, 1, 7), 4);
	put(to + 12, decide(in, spoiled, 2, nr * 1000), 8);
	put(to + 20, decide(in, spoiled, 4, nr * 1000 + 900), 8);
	put(to + 28, decide(in, spoiled, 8, content * 8), 4);
	put(to + 32, decide(in, spoiled, 16, (content + padding) * 8), 4);
	put(to + 36, decide(in, spoiled, 32, nr), 4);
	put(to + 40, decide(in, spoiled, 64, nr), 4);
	memset(to + 44, 0, HEAD_BYTES - 44);
	memcpy(to + HEAD_BYTES, events, room);
	memset(to + content, 0, padding);
	return content + padding;
}

static size_t make_stream(struct fuzz_input *in, uint8_t *to)
{
	uint32_t nr = fuzz_u8(in) % 8;
	const uint8_t *rest;
	size_t used = 0;
	size_t left;

	for (uint32_t i = 0; i < nr; i++)
		used += make_packet(in, to + used, i);
	rest = fuzz_bytes(in, STREAM_MAX - used, &left);
	memcpy(to + used, rest, left);
	return used + left;
}

/* ---- reading ---- */

static void walk(const struct sonde_event *event)
{
	enum sonde_walk_item item;
	struct sonde_value value;
	struct sonde_walk walk;
	const char *name;
	char text[16];

	for (enum sonde_scope scope = 0; scope < SONDE_NR_SCOPES; scope++) {
		sonde_walk_begin(&walk, event, scope);
		while ((item = sonde_walk_next(&walk, &name, &value)))
			if (item == SONDE_WALK_VALUE &&
			    value.kind == SONDE_KIND_STRING)
				(void)sonde_value_utf8(&value, text,
						       sizeof(text));
	}
}

static void check_event(const struct sonde_event *event)
{
	struct sonde_packet_info packet;
	uint64_t offset = sonde_event_offset(event);

	FUZZ_CHECK(!sonde_stream_packet(event->stream,
					sonde_event_packet(event), &packet));
	FUZZ_CHECK(offset >= packet.offset);
	FUZZ_CHECK(offset + sonde_event_bytes(event) <=
		   packet.offset + packet.bytes);
	walk(event);
}

static void check_packets(const struct sonde_stream *stream)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < stream->nr_packets; i++) {
		const struct sonde_packet *packet = &stream->packets[i];

		FUZZ_CHECK(packet->bytes > 0);
		FUZZ_CHECK(packet->offset + packet->bytes <= stream->bytes);
		FUZZ_CHECK(packet->content_bits <= packet->bytes * 8);
		FUZZ_CHECK(packet->begin_ns <= packet->end_ns);
		FUZZ_CHECK(i == 0 || packet[-1].begin_ns <= packet->begin_ns);
		bytes += packet->bytes;
	}
	FUZZ_CHECK(bytes <= stream->bytes);
}

static void check_seek(struct sonde_cursor *cursor, int64_t time_ns)
{
	const struct sonde_event *event;

	FUZZ_CHECK(!sonde_cursor_seek(cursor, time_ns));
	if (sonde_cursor_next(cursor, &event) > 0)
		FUZZ_CHECK(event->time_ns >= time_ns);
}

static void read_trace(struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int64_t time_ns = 0;
	uint64_t forward = 0;
	uint64_t back = 0;

	FUZZ_CHECK(!sonde_cursor_new(trace, NULL, &cursor));
	for (; sonde_cursor_next(cursor, &event) > 0; forward++) {
		check_event(event);
		if (forward % 7 == 0)
			time_ns = event->time_ns;
	}
	for (; sonde_cursor_prev(cursor, &event) > 0; back++)
		check_event(event);
	FUZZ_CHECK(forward == back);
	if (forward)
		check_seek(cursor, time_ns);
	sonde_cursor_free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t room[STREAM_MAX];
	struct fuzz_input in = { bytes, size };
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error;
	struct sonde_source *source;
	struct sonde_bytes copy;
	size_t used = make_stream(&in, room);

	FUZZ_CHECK(trace);
	FUZZ_CHECK(!sonde_trace_add_source(trace, "fuzz", metadata,
					   sizeof(metadata) - 1, &error,
					   &source));
	for (size_t i = 0; i < 2; i++) {
		size_t from = i ? used / 2 : 0;

		FUZZ_CHECK(!sonde_bytes_copy(room + from, used - from, &copy));
		FUZZ_CHECK(!sonde_trace_add_stream(source, "fuzz/s", &copy,
						   NULL, 0));
		check_packets(trace->streams[i]);
	}
	FUZZ_CHECK(!sonde_trace_finish(trace));
	read_trace(trace);
	sonde_trace_close(trace);
	return 0;
}
