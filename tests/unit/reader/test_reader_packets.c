/* SPDX-License-Identifier: MIT */
/* A stream's table of packets: heads, index files, repairs, losses. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reader/core/open.h"
#include "reader/core/packets.h"
#include "reader_traces.h"

/* A packet whose numbers are made of `i`: 100 ticks each, one event. */
static void add_packet(struct made *file, uint32_t i)
{
	made_packet(file, &(struct made_head){ .begin = i * 100,
					       .end = i * 100 + 50,
					       .sequence = i });
	made_number(file, i * 100 + 1, (int32_t)i);
	made_packet_end(file, 6);
}

static void add_packets(struct made *file, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		add_packet(file, i);
}

#define EVENT_BYTES  14
#define PACKET_BYTES (MADE_HEAD_BYTES + EVENT_BYTES + 6)

static struct sonde_stream *only_stream(const struct sonde_trace *trace)
{
	assert_int_equal(trace->nr_streams, 1);
	return trace->streams[0];
}

/* Opens the file, expects so many packets and so many problems. */
static struct sonde_trace *open_file(struct made *file, size_t nr_packets,
				     size_t nr_problems)
{
	struct sonde_trace *trace = made_open(made_metadata, file, 1);

	made_free(file);
	assert_int_equal(only_stream(trace)->nr_packets, nr_packets);
	assert_int_equal(made_nr_problems(trace), nr_problems);
	return trace;
}

/* Opens the file, expects its only problem to be this. */
static void check_problem(struct made *file, size_t nr_packets,
			  enum sonde_problem_kind kind, size_t packet,
			  uint64_t byte)
{
	struct sonde_trace *trace = open_file(file, nr_packets, 1);
	struct sonde_problem problem = made_problem(trace, kind, 0);

	assert_int_equal(problem.packet, packet);
	assert_int_equal(problem.byte, byte);
	assert_ptr_equal(problem.stream, trace->streams[0]);
	sonde_trace_close(trace);
}

/* ---- heads ---- */

static void heads_become_packets(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;
	struct sonde_packet_info packet;
	const struct sonde_stream *stream;

	(void)state;
	add_packets(&file, 3);
	trace = open_file(&file, 3, 0);
	stream = sonde_trace_stream(trace, 0);
	assert_int_equal(sonde_stream_packet(stream, 1, &packet), 0);
	assert_int_equal(packet.offset, PACKET_BYTES);
	assert_int_equal(packet.bytes, PACKET_BYTES);
	assert_int_equal(packet.content_bits, (PACKET_BYTES - 6) * 8);
	assert_int_equal(packet.begin, 100);
	assert_int_equal(packet.end, 150);
	assert_int_equal(packet.sequence, 1);
	assert_true(packet.has_sequence);
	assert_true(packet.has_discarded);
	assert_int_equal(packet.cpu, 0);
	assert_int_equal(sonde_stream_packet(stream, 3, &packet), -ERANGE);
	sonde_trace_close(trace);
}

static void an_empty_file_is_a_stream_without_packets(void **state)
{
	struct made file = { 0 };
	struct sonde_stream_info info;
	struct sonde_trace *trace = open_file(&file, 0, 0);

	(void)state;
	sonde_stream_get_info(sonde_trace_stream(trace, 0), &info);
	assert_int_equal(info.nr_packets, 0);
	assert_int_equal(info.begin, SONDE_TIME_MAX);
	assert_int_equal(info.end, SONDE_TIME_MIN);
	assert_int_equal(info.clock, -1);
	sonde_trace_close(trace);
}

static void a_packet_that_the_file_cuts_is_kept(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_packets(&file, 3);
	file.used -= 10;
	trace = open_file(&file, 3, 1);
	assert_int_equal(trace->streams[0]->packets[2].bytes,
			 PACKET_BYTES - 10);
	assert_int_equal(trace->streams[0]->packets[2].content_bits,
			 (PACKET_BYTES - 10) * 8);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_TRUNCATED, 0).byte,
			 3 * PACKET_BYTES - 10);
	sonde_trace_close(trace);
}

static void a_head_that_the_file_cuts_is_no_packet(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < MADE_HEAD_BYTES; bytes++) {
		struct made file = { 0 };

		add_packets(&file, 3);
		file.used = 2 * PACKET_BYTES + bytes;
		check_problem(&file, 2, SONDE_PROBLEM_TRUNCATED, 2,
			      2 * PACKET_BYTES + bytes);
	}
}

static void a_head_without_magic_ends_the_stream(void **state)
{
	struct made file = { 0 };

	(void)state;
	add_packets(&file, 4);
	memset(file.bytes + (size_t)2 * PACKET_BYTES, 0, 4);
	check_problem(&file, 2, SONDE_PROBLEM_DAMAGE, 2, 2 * PACKET_BYTES + 4);
}

/* Four packets, of which the third has another number at `at`. */
static struct made spoiled_u32(size_t at, uint32_t value)
{
	struct made file = { 0 };

	add_packets(&file, 3);
	made_spoil_u32(&file, at, value);
	add_packet(&file, 3);
	return file;
}

static struct made spoiled_u64(size_t at, uint64_t value)
{
	struct made file = { 0 };

	add_packets(&file, 3);
	made_spoil_u64(&file, at, value);
	add_packet(&file, 3);
	return file;
}

static void another_trace_s_packet_is_read_all_the_same(void **state)
{
	struct made file = spoiled_u32(MADE_UUID, 7);
	struct sonde_trace *trace = open_file(&file, 4, 1);

	(void)state;
	(void)made_problem(trace, SONDE_PROBLEM_UUID, 0);
	sonde_trace_close(trace);
}

static void another_stream_s_packet_ends_the_stream(void **state)
{
	struct made file = spoiled_u64(MADE_INSTANCE, 7);

	(void)state;
	check_problem(&file, 2, SONDE_PROBLEM_DAMAGE, 2, 2 * PACKET_BYTES);
}

static void an_unknown_stream_class_ends_the_stream(void **state)
{
	struct made file = spoiled_u32(MADE_STREAM, 7);
	struct sonde_trace *trace = open_file(&file, 2, 1);

	(void)state;
	(void)made_problem(trace, SONDE_PROBLEM_DAMAGE, 0);
	sonde_trace_close(trace);
}

static void impossible_packet_sizes_end_the_stream(void **state)
{
	static const uint64_t sizes[] = { 0, 8, 8 * MADE_HEAD_BYTES - 8,
					  8 * PACKET_BYTES + 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made file = spoiled_u64(MADE_SIZE, sizes[i]);

		check_problem(&file, 2, SONDE_PROBLEM_DAMAGE, 2,
			      2 * PACKET_BYTES);
	}
}

static void a_packet_larger_than_the_file_is_cut(void **state)
{
	static const uint64_t sizes[] = { 3 * 8 * PACKET_BYTES,
					  UINT64_C(1) << 63, -UINT64_C(8) };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made file = spoiled_u64(MADE_SIZE, sizes[i]);
		struct sonde_trace *trace = open_file(&file, 3, 1);

		assert_int_equal(trace->streams[0]->packets[2].bytes,
				 2 * PACKET_BYTES);
		assert_int_equal(trace->streams[0]->packets[2].content_bits,
				 8 * (PACKET_BYTES - 6));
		(void)made_problem(trace, SONDE_PROBLEM_TRUNCATED, 0);
		sonde_trace_close(trace);
	}
}

static void content_that_does_not_fit_is_cut_and_the_rest_is_read(void **state)
{
	static const uint64_t sizes[][2] = {
		{ UINT64_MAX, PACKET_BYTES * 8 },
		{ PACKET_BYTES * 8 + 1, PACKET_BYTES * 8 },
		{ 0, MADE_HEAD_BYTES * 8 },
		{ MADE_HEAD_BYTES * 8 - 1, MADE_HEAD_BYTES * 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made file = spoiled_u64(MADE_CONTENT, sizes[i][0]);
		struct sonde_trace *trace = open_file(&file, 4, 1);

		assert_int_equal(trace->streams[0]->packets[2].content_bits,
				 sizes[i][1]);
		assert_int_equal(
			made_problem(trace, SONDE_PROBLEM_DAMAGE, 0).packet, 2);
		sonde_trace_close(trace);
	}
}

/* ---- other heads ---- */

/* A begin of 16 bits, and nothing else but the content's size. */
static const char narrow[] =
	"/* CTF 1.8 */\n"
	"clock { name = c; freq = 1000000000; };\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n"
	"stream {\n"
	"	packet.context := struct {\n"
	"		integer { size = 32; } content_size;\n"
	"		integer { size = 16; map = clock.c.value; }\n"
	"			timestamp_begin;\n"
	"	};\n"
	"	event.header := struct { integer { size = 8; } id; };\n"
	"};\n"
	"event { name = e; id = 0; fields := struct { }; };\n";

static void add_narrow(struct made *file, uint16_t begin)
{
	made_u32(file, 7 * 8 - 3);
	made_u16(file, begin);
	made_u8(file, 0);
}

static void narrow_begins_go_on_from_the_packet_before(void **state)
{
	static const uint16_t begins[] = { 60000, 65535, 65535, 5, 5000, 0 };
	static const int64_t times[] = { 60000, 65535, 65535,
					 65541, 70536, 131072 };
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		add_narrow(&file, begins[i]);
	trace = made_open(narrow, &file, 1);
	assert_int_equal(trace->streams[0]->nr_packets, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct sonde_packet *packet =
			&trace->streams[0]->packets[i];

		assert_int_equal(packet->begin_ns, times[i]);
		assert_int_equal(packet->ticks, times[i]);
	}
	made_free(&file);
	sonde_trace_close(trace);
}

static void without_a_packet_size_the_packet_is_its_content(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_narrow(&file, 1);
	add_narrow(&file, 2);
	trace = made_open(narrow, &file, 1);
	assert_int_equal(trace->streams[0]->nr_packets, 2);
	assert_int_equal(trace->streams[0]->packets[1].offset, 7);
	assert_int_equal(trace->streams[0]->packets[1].bytes, 7);
	assert_int_equal(trace->streams[0]->packets[1].content_bits, 53);
	made_free(&file);
	sonde_trace_close(trace);
}

static void without_sizes_the_file_is_one_packet(void **state)
{
	static const char bare[] =
		"/* CTF 1.8 */\n"
		"trace { major = 1; minor = 8; byte_order = le; };\n"
		"stream {\n"
		"	event.header := struct { integer { size = 8; } id; };\n"
		"};\n"
		"event { name = e; id = 0; fields := struct { }; };\n";
	struct made file = { 0 };
	struct sonde_trace *trace;
	int64_t begin;
	int64_t end;

	(void)state;
	made_u64(&file, 0);
	trace = made_open(bare, &file, 1);
	assert_int_equal(trace->streams[0]->nr_packets, 1);
	assert_int_equal(trace->streams[0]->packets[0].content_bits, 64);
	assert_int_equal(trace->streams[0]->packets[0].begin_ns,
			 SONDE_TIME_MIN);
	assert_int_equal(trace->streams[0]->packets[0].end_ns, SONDE_TIME_MIN);
	assert_int_equal(sonde_trace_range(trace, &begin, &end), -ENODATA);
	made_free(&file);
	sonde_trace_close(trace);
}

/* ---- times ---- */

static void add_times(struct made *file, uint64_t begin, uint64_t end)
{
	made_packet(file, &(struct made_head){ .begin = begin, .end = end });
	made_packet_end(file, 0);
	/* so that nobody complains about the sequence */
	made_spoil_u64(file, MADE_SEQUENCE, file->packet / MADE_HEAD_BYTES);
}

static void an_end_that_can_not_be_is_the_next_begin(void **state)
{
	struct made file = { 0 };
	struct sonde_packet_info packet;
	struct sonde_trace *trace;

	(void)state;
	add_times(&file, 100, 0);
	add_times(&file, 200, 150);
	add_times(&file, 300, 300);
	trace = open_file(&file, 3, 2);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_FORMAT, 0).packet,
			 1);
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_FORMAT, 1).packet,
			 0);
	assert_int_equal(trace->streams[0]->packets[0].end_ns, 200);
	assert_int_equal(trace->streams[0]->packets[1].end_ns, 300);
	assert_int_equal(trace->streams[0]->packets[2].end_ns, 300);
	assert_int_equal(sonde_stream_packet(trace->streams[0], 0, &packet), 0);
	assert_int_equal(packet.end, SONDE_TIME_MAX);
	assert_false(trace->streams[0]->overlapping);
	sonde_trace_close(trace);
}

static void old_lttng_s_ends_are_the_next_begins(void **state)
{
	static const char env[] = "env { tracer_name = \"lttng-modules\";"
				  " tracer_major = 2; tracer_minor = 10; };\n";
	struct made file = { 0 };
	struct sonde_trace *trace;
	char metadata[8192];

	(void)state;
	(void)snprintf(metadata, sizeof(metadata), "%s%s", made_metadata, env);
	add_packet(&file, 1);
	add_packet(&file, 2);
	made_packet(&file, &(struct made_head){ .begin = 300, .end = 310 });
	made_number(&file, 333, 1);
	made_packet_end(&file, 0);
	trace = made_open(metadata, &file, 1);
	assert_int_equal(trace->streams[0]->packets[0].end_ns, 200);
	assert_int_equal(trace->streams[0]->packets[1].end_ns, 300);
	assert_int_equal(trace->streams[0]->packets[2].end_ns, 333);
	made_free(&file);
	sonde_trace_close(trace);
}

static void packets_are_sorted_by_their_begins(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;
	const struct sonde_packet *packets;

	(void)state;
	add_times(&file, 300, 400);
	add_times(&file, 100, 200);
	add_times(&file, 100, 100);
	trace = made_open(made_metadata, &file, 1);
	packets = trace->streams[0]->packets;
	(void)made_problem(trace, SONDE_PROBLEM_FORMAT, 0);
	assert_int_equal(packets[0].offset, MADE_HEAD_BYTES);
	assert_int_equal(packets[1].offset, 2 * MADE_HEAD_BYTES);
	assert_int_equal(packets[2].offset, 0);
	made_free(&file);
	sonde_trace_close(trace);
}

static void packets_that_overlap_are_found(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_times(&file, 100, 201);
	add_times(&file, 200, 300);
	trace = open_file(&file, 2, 0);
	assert_true(trace->streams[0]->overlapping);
	sonde_trace_close(trace);
	add_times(&file, 100, 200);
	add_times(&file, 200, 300);
	trace = open_file(&file, 2, 0);
	assert_false(trace->streams[0]->overlapping);
	sonde_trace_close(trace);
}

static void the_range_is_that_of_all_packets(void **state)
{
	struct made files[2] = { { 0 }, { 0 } };
	struct sonde_trace *trace;
	int64_t begin;
	int64_t end;

	(void)state;
	add_times(&files[0], 200, 700);
	add_times(&files[1], 100, 300);
	trace = made_open(made_metadata, files, 2);
	assert_int_equal(sonde_trace_range(trace, &begin, &end), 0);
	assert_int_equal(begin, 100);
	assert_int_equal(end, 700);
	made_free(&files[0]);
	made_free(&files[1]);
	sonde_trace_close(trace);
}

/* ---- packets that don't tell their times ---- */

/* Packets of two events, {u8 size in bits, u8 low time, u8 low time}. */
static const char timeless[] =
	"/* CTF 1.8 */\n"
	"clock { name = c; freq = 1000000000; };\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n"
	"stream {\n"
	"	packet.context := struct {\n"
	"		integer { size = 8; } content_size;\n"
	"	};\n"
	"	event.header := struct {\n"
	"		integer { size = 8; map = clock.c.value; } timestamp;\n"
	"	};\n"
	"};\n"
	"event { name = e; fields := struct { }; };\n";

static void add_timeless(struct made *file, const uint8_t *times, uint8_t nr)
{
	made_u8(file, (uint8_t)(8 + nr * 8));
	made_bytes(file, times, nr);
}

static void times_that_heads_lack_are_those_of_events(void **state)
{
	static const uint8_t times[] = { 10, 20, 200, 5, 7, 6 };
	struct made file = { 0 };
	struct sonde_trace *trace;
	const struct sonde_packet *packets;

	(void)state;
	add_timeless(&file, times, 2);
	add_timeless(&file, times, 0);
	add_timeless(&file, times + 2, 2);
	add_timeless(&file, times + 4, 2);
	trace = made_open(timeless, &file, 1);
	packets = trace->streams[0]->packets;
	assert_int_equal(packets[0].begin_ns, 10);
	assert_int_equal(packets[0].end_ns, 20);
	assert_int_equal(packets[1].begin_ns, 20);
	assert_int_equal(packets[1].end_ns, 20);
	assert_int_equal(packets[2].begin_ns, 200);
	assert_int_equal(packets[2].end_ns, 256 + 5);
	/* the counter goes on from packet to packet */
	assert_int_equal(packets[3].begin_ns, 256 + 7);
	assert_int_equal(packets[3].end_ns, 512 + 6);
	assert_int_equal(trace->end_ns, 512 + 6);
	made_free(&file);
	sonde_trace_close(trace);
}

static void the_last_packet_s_end_is_that_of_its_events(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	made_packet(&file, &(struct made_head){ .begin = 100 });
	made_number(&file, 110, 1);
	made_number(&file, 190, 1);
	made_packet_end(&file, 0);
	trace = open_file(&file, 1, 1);
	assert_int_equal(trace->streams[0]->packets[0].begin_ns, 100);
	assert_int_equal(trace->streams[0]->packets[0].end_ns, 190);
	sonde_trace_close(trace);
}

/* ---- losses ---- */

static void add_counts(struct made *file, uint64_t begin, uint64_t sequence,
		       uint64_t discarded)
{
	made_packet(file, &(struct made_head){ .begin = begin,
					       .end = begin + 50,
					       .sequence = sequence,
					       .discarded = discarded });
	made_packet_end(file, 0);
}

static void check_loss(const struct sonde_trace *trace,
		       enum sonde_problem_kind kind, size_t i,
		       const int64_t expected[3])
{
	struct sonde_problem problem = made_problem(trace, kind, i);

	assert_int_equal(problem.count, expected[0]);
	assert_int_equal(problem.begin, expected[1]);
	assert_int_equal(problem.end, expected[2]);
}

static void discarded_events_are_told_with_their_times(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_counts(&file, 100, 5, 1000);
	add_counts(&file, 200, 6, 1000);
	add_counts(&file, 300, 7, 1007);
	add_counts(&file, 400, 8, 1010);
	trace = open_file(&file, 4, 2);
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 0,
		   (int64_t[]){ 7, 250, 350 });
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 1,
		   (int64_t[]){ 3, 350, 450 });
	sonde_trace_close(trace);
}

static void what_the_stream_s_first_packet_counts_was_lost_in_it(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_counts(&file, 100, 0, 9);
	trace = open_file(&file, 1, 1);
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 0,
		   (int64_t[]){ 9, 100, 150 });
	sonde_trace_close(trace);
}

static void a_count_that_goes_back_starts_again(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_counts(&file, 100, 0, 0);
	add_counts(&file, 200, 1, 50);
	add_counts(&file, 300, 2, 10);
	add_counts(&file, 400, 3, 11);
	trace = open_file(&file, 4, 3);
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 0,
		   (int64_t[]){ 50, 150, 250 });
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 1,
		   (int64_t[]){ 1, 350, 450 });
	assert_int_equal(made_problem(trace, SONDE_PROBLEM_FORMAT, 0).packet,
			 2);
	sonde_trace_close(trace);
}

static void gaps_in_the_sequence_are_lost_packets(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_counts(&file, 100, 3, 0);
	add_counts(&file, 200, 4, 0);
	add_counts(&file, 300, 9, 0);
	trace = open_file(&file, 3, 1);
	check_loss(trace, SONDE_PROBLEM_LOST_PACKETS, 0,
		   (int64_t[]){ 4, 250, 300 });
	sonde_trace_close(trace);
}

static void counters_go_on_from_file_to_file(void **state)
{
	struct made files[3] = { { 0 }, { 0 }, { 0 } };
	struct sonde_trace *trace;

	(void)state;
	/* the second part first, and another instance between them */
	add_counts(&files[0], 300, 2, 5);
	add_counts(&files[1], 100, 0, 0);
	made_spoil_u64(&files[1], MADE_INSTANCE, 2);
	add_counts(&files[2], 100, 0, 0);
	add_counts(&files[2], 200, 1, 4);
	trace = made_open(made_metadata, files, 3);
	assert_int_equal(made_nr_problems(trace), 2);
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 0,
		   (int64_t[]){ 4, 150, 250 });
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 1,
		   (int64_t[]){ 1, 250, 350 });
	for (size_t i = 0; i < 3; i++)
		made_free(&files[i]);
	sonde_trace_close(trace);
}

static void a_packet_in_two_files_counts_once(void **state)
{
	struct made files[2] = { { 0 }, { 0 } };
	struct sonde_trace *trace;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		add_counts(&files[i], 100, 0, 0);
		add_counts(&files[i], 200, 1, 3);
		add_counts(&files[i], 300, 4, 3);
	}
	trace = made_open(made_metadata, files, 2);
	assert_int_equal(made_nr_problems(trace), 2);
	check_loss(trace, SONDE_PROBLEM_LOST_EVENTS, 0,
		   (int64_t[]){ 3, 150, 250 });
	check_loss(trace, SONDE_PROBLEM_LOST_PACKETS, 0,
		   (int64_t[]){ 2, 250, 300 });
	made_free(&files[0]);
	made_free(&files[1]);
	sonde_trace_close(trace);
}

/* ---- index files ---- */

#define NR_INDEXED 40

static void put_be(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

enum field {
	OFFSET,
	SIZE,
	CONTENT,
	BEGIN,
	END,
	DISCARDED,
	STREAM,
	INSTANCE,
	SEQUENCE
};

#define INDEX_HEAD  16
#define INDEX_ENTRY 72

static void spoil_index(struct made *index, size_t i, enum field field,
			uint64_t value)
{
	put_be(index->bytes + INDEX_HEAD + i * INDEX_ENTRY + field * 8, value,
	       8);
}

/* An index of what add_packets() makes. */
static struct made make_index(uint32_t nr)
{
	struct made index = { 0 };
	static const uint8_t zeros[INDEX_ENTRY];

	made_bytes(&index, zeros, INDEX_HEAD);
	put_be(index.bytes, 0xc1f1dcc1, 4);
	put_be(index.bytes + 4, 1, 4);
	put_be(index.bytes + 8, 1, 4);
	put_be(index.bytes + 12, INDEX_ENTRY, 4);
	for (uint32_t i = 0; i < nr; i++) {
		made_bytes(&index, zeros, INDEX_ENTRY);
		spoil_index(&index, i, OFFSET, i * PACKET_BYTES);
		spoil_index(&index, i, SIZE, 8 * PACKET_BYTES);
		spoil_index(&index, i, CONTENT, 8 * (PACKET_BYTES - 6));
		spoil_index(&index, i, BEGIN, i * 100);
		spoil_index(&index, i, END, i * 100 + 50);
		spoil_index(&index, i, SEQUENCE, i);
	}
	return index;
}

/* The trace of a file and its index. */
static struct sonde_trace *open_indexed(const struct made *file,
					const struct made *index)
{
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error;
	struct sonde_source *source;
	struct sonde_bytes bytes;

	assert_non_null(trace);
	assert_int_equal(sonde_trace_add_source(trace, "made", made_metadata,
						strlen(made_metadata), &error,
						&source),
			 0);
	assert_int_equal(sonde_bytes_copy(file->bytes, file->used, &bytes), 0);
	assert_int_equal(sonde_trace_add_stream(source, "made/0", &bytes,
						index->bytes, index->used),
			 0);
	assert_int_equal(sonde_trace_finish(trace), 0);
	return trace;
}

/* But for what lies between the members. */
static void check_same(const struct sonde_packet *a,
		       const struct sonde_packet *b)
{
	assert_memory_equal(a, b, offsetof(struct sonde_packet, cpu));
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->has_discarded, b->has_discarded);
	assert_int_equal(a->has_sequence, b->has_sequence);
	assert_int_equal(a->has_begin, b->has_begin);
	assert_int_equal(a->has_end, b->has_end);
}

/* Heads are read from a file, and looked at where they are of one in memory: both say
 * the same. `more`: so many bytes are added to each head. */
static void check_file(const char *metadata, size_t more)
{
	static const uint8_t zeros[1024];
	struct made_directory directory;
	struct made file = { 0 };
	struct sonde_trace *in_memory;
	struct sonde_trace *in_file;

	for (uint32_t i = 0; i < 3; i++) {
		made_packet(&file, &(struct made_head){ .begin = i * 100,
							.end = i * 100 + 50,
							.sequence = i });
		made_bytes(&file, zeros, more);
		made_number(&file, i * 100 + 1, (int32_t)i);
		made_packet_end(&file, 6);
	}
	made_directory(&directory);
	made_write(&directory, "metadata", metadata, strlen(metadata));
	made_write(&directory, "0", file.bytes, file.used);
	in_memory = made_open(metadata, &file, 1);
	in_file = made_open_directory(directory.path);
	assert_int_equal(only_stream(in_file)->nr_packets, 3);
	assert_int_equal(made_nr_problems(in_file), 0);
	for (size_t i = 0; i < 3; i++)
		check_same(&in_file->streams[0]->packets[i],
			   &in_memory->streams[0]->packets[i]);
	sonde_trace_close(in_file);
	sonde_trace_close(in_memory);
	made_directory_remove(&directory);
	made_free(&file);
}

static void heads_of_a_file_are_those_of_its_bytes(void **state)
{
	(void)state;
	check_file(made_metadata, 0);
}

/* More than is read of each. */
static void long_heads_are_read_as_well(void **state)
{
	static const char cpu[] = "u32 cpu_id;";
	char metadata[8192];
	const char *at = strstr(made_metadata, cpu);

	(void)state;
	assert_non_null(at);
	at += strlen(cpu);
	(void)snprintf(metadata, sizeof(metadata), "%.*s u8 more[1000];%s",
		       (int)(at - made_metadata), made_metadata, at);
	check_file(metadata, 1000);
}

static void an_index_saves_looking_at_every_head(void **state)
{
	struct made file = { 0 };
	struct made index = make_index(NR_INDEXED);
	struct sonde_trace *trace;
	struct sonde_trace *scanned;

	(void)state;
	add_packets(&file, NR_INDEXED);
	scanned = made_open(made_metadata, &file, 1);
	/* not one of the samples: 0, 2, 5, 7 ... */
	memset(file.bytes + (size_t)3 * PACKET_BYTES, 0, MADE_HEAD_BYTES);
	trace = open_indexed(&file, &index);
	assert_int_equal(made_nr_problems(trace), 0);
	assert_int_equal(trace->streams[0]->nr_packets, NR_INDEXED);
	for (size_t i = 0; i < NR_INDEXED; i++)
		check_same(&trace->streams[0]->packets[i],
			   &scanned->streams[0]->packets[i]);
	made_free(&file);
	made_free(&index);
	sonde_trace_close(trace);
	sonde_trace_close(scanned);
}

/* Opens with this index, which is not to be used. */
static void check_refused(struct made *index)
{
	struct made file = { 0 };
	struct sonde_trace *trace;

	add_packets(&file, NR_INDEXED);
	trace = open_indexed(&file, index);
	assert_int_equal(trace->streams[0]->nr_packets, NR_INDEXED);
	assert_int_equal(trace->streams[0]->packets[NR_INDEXED - 1].end_ns,
			 (NR_INDEXED - 1) * 100 + 50);
	assert_int_equal(made_nr_problems(trace), 1);
	(void)made_problem(trace, SONDE_PROBLEM_INDEX, 0);
	made_free(&file);
	made_free(index);
	sonde_trace_close(trace);
}

static void an_index_that_is_none_is_not_used(void **state)
{
	static const size_t sizes[] = {
		0, 1, 15, 16, 17, 87, INDEX_HEAD + INDEX_ENTRY
	};

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		struct made index = make_index(NR_INDEXED);

		if (i == 8) /* any minor version from 1 on will do */
			i = 12;
		index.bytes[i] ^= 0x40;
		check_refused(&index);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made index = make_index(NR_INDEXED);

		index.used = sizes[i];
		check_refused(&index);
	}
}

static void an_index_that_contradicts_the_stream_is_not_used(void **state)
{
	static const struct {
		size_t i;
		enum field field;
		uint64_t value;
	} wrong[] = {
		{ 0, OFFSET, 8 },
		{ 7, OFFSET, UINT64_MAX },
		{ 7, SIZE, 0 },
		{ 7, SIZE, UINT64_MAX - 7 },
		{ 7, SIZE, 8 * PACKET_BYTES + 1 },
		{ 7, SIZE, 8 * PACKET_BYTES + 8 },
		{ NR_INDEXED - 1, SIZE, 8 * PACKET_BYTES - 8 },
		{ 7, CONTENT, UINT64_MAX },
		{ 7, STREAM, 1 },
		{ 7, INSTANCE, 1 },
		{ 0, CONTENT, 8 * MADE_HEAD_BYTES },
		{ 0, BEGIN, 1 },
		{ NR_INDEXED - 1, END, 1 },
		{ NR_INDEXED - 1, SEQUENCE, 1 },
		{ 0, DISCARDED, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct made index = make_index(NR_INDEXED);

		spoil_index(&index, wrong[i].i, wrong[i].field, wrong[i].value);
		check_refused(&index);
	}
}

static void every_entry_of_an_index_can_be_checked(void **state)
{
	struct made index = make_index(NR_INDEXED);
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_packets(&file, NR_INDEXED);
	trace = open_indexed(&file, &index);
	assert_null(
		sonde_index_check(trace->streams[0], index.bytes, index.used));
	/* not one of the samples: opening doesn't see it */
	spoil_index(&index, 3, BEGIN, 301);
	sonde_trace_close(trace);
	trace = open_indexed(&file, &index);
	assert_int_equal(made_nr_problems(trace), 0);
	assert_non_null(
		sonde_index_check(trace->streams[0], index.bytes, index.used));
	made_free(&file);
	made_free(&index);
	sonde_trace_close(trace);
}

static void an_index_without_sequence_numbers_is_not_enough(void **state)
{
	struct made index = make_index(NR_INDEXED);
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	/* minor version 0 may have entries of any size from 56 on */
	put_be(index.bytes + 8, 0, 4);
	add_packets(&file, NR_INDEXED);
	trace = open_indexed(&file, &index);
	assert_int_equal(made_nr_problems(trace), 0);
	assert_int_equal(trace->streams[0]->packets[5].sequence, 5);
	made_free(&file);
	made_free(&index);
	sonde_trace_close(trace);
}

static void a_damaged_stream_is_told_of_in_spite_of_its_index(void **state)
{
	struct made index = make_index(NR_INDEXED);
	struct made file = { 0 };
	struct sonde_trace *trace;

	(void)state;
	add_packets(&file, NR_INDEXED);
	file.used -= PACKET_BYTES + 1;
	trace = open_indexed(&file, &index);
	(void)made_problem(trace, SONDE_PROBLEM_TRUNCATED, 0);
	(void)made_problem(trace, SONDE_PROBLEM_INDEX, 0);
	assert_int_equal(trace->streams[0]->nr_packets, NR_INDEXED - 1);
	sonde_trace_close(trace);
	memset(file.bytes, 0, 4);
	trace = open_indexed(&file, &index);
	(void)made_problem(trace, SONDE_PROBLEM_DAMAGE, 0);
	assert_int_equal(trace->streams[0]->nr_packets, 0);
	made_free(&file);
	made_free(&index);
	sonde_trace_close(trace);
}

/* ---- problems ---- */

static void a_problem_is_listed_once_with_its_largest_count(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace = open_file(&file, 0, 0);
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_ORDER,
		.stream = trace->streams[0],
		.packet = 3,
		.count = 5,
		.text = "words",
	};

	(void)state;
	sonde_problem_add(trace, &problem);
	problem.count = 7;
	sonde_problem_add(trace, &problem);
	problem.count = 6;
	sonde_problem_add(trace, &problem);
	assert_int_equal(made_nr_problems(trace), 1);
	problem = made_problem(trace, SONDE_PROBLEM_ORDER, 0);
	assert_int_equal(problem.count, 7);
	assert_string_equal(problem.text, "words");
	problem.packet++;
	sonde_problem_add(trace, &problem);
	problem.kind = SONDE_PROBLEM_DAMAGE;
	sonde_problem_add(trace, &problem);
	assert_int_equal(made_nr_problems(trace), 3);
	sonde_trace_close(trace);
}

static void endless_problems_are_counted_in_the_last(void **state)
{
	struct made file = { 0 };
	struct sonde_trace *trace = open_file(&file, 0, 0);
	struct sonde_problem problem = {
		.kind = SONDE_PROBLEM_DAMAGE,
		.text = "words",
	};

	(void)state;
	for (problem.packet = 0; problem.packet < 10100; problem.packet++)
		sonde_problem_add(trace, &problem);
	assert_int_equal(made_nr_problems(trace), 10000);
	assert_int_equal(sonde_trace_problem(trace, 9999, &problem), 0);
	assert_int_equal(problem.count, 101);
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_become_packets),
		cmocka_unit_test(heads_of_a_file_are_those_of_its_bytes),
		cmocka_unit_test(long_heads_are_read_as_well),
		cmocka_unit_test(an_empty_file_is_a_stream_without_packets),
		cmocka_unit_test(a_packet_that_the_file_cuts_is_kept),
		cmocka_unit_test(a_head_that_the_file_cuts_is_no_packet),
		cmocka_unit_test(a_head_without_magic_ends_the_stream),
		cmocka_unit_test(another_trace_s_packet_is_read_all_the_same),
		cmocka_unit_test(another_stream_s_packet_ends_the_stream),
		cmocka_unit_test(an_unknown_stream_class_ends_the_stream),
		cmocka_unit_test(impossible_packet_sizes_end_the_stream),
		cmocka_unit_test(a_packet_larger_than_the_file_is_cut),
		cmocka_unit_test(
			content_that_does_not_fit_is_cut_and_the_rest_is_read),
		cmocka_unit_test(narrow_begins_go_on_from_the_packet_before),
		cmocka_unit_test(
			without_a_packet_size_the_packet_is_its_content),
		cmocka_unit_test(without_sizes_the_file_is_one_packet),
		cmocka_unit_test(an_end_that_can_not_be_is_the_next_begin),
		cmocka_unit_test(old_lttng_s_ends_are_the_next_begins),
		cmocka_unit_test(packets_are_sorted_by_their_begins),
		cmocka_unit_test(packets_that_overlap_are_found),
		cmocka_unit_test(the_range_is_that_of_all_packets),
		cmocka_unit_test(times_that_heads_lack_are_those_of_events),
		cmocka_unit_test(the_last_packet_s_end_is_that_of_its_events),
		cmocka_unit_test(discarded_events_are_told_with_their_times),
		cmocka_unit_test(
			what_the_stream_s_first_packet_counts_was_lost_in_it),
		cmocka_unit_test(a_count_that_goes_back_starts_again),
		cmocka_unit_test(gaps_in_the_sequence_are_lost_packets),
		cmocka_unit_test(counters_go_on_from_file_to_file),
		cmocka_unit_test(a_packet_in_two_files_counts_once),
		cmocka_unit_test(an_index_saves_looking_at_every_head),
		cmocka_unit_test(an_index_that_is_none_is_not_used),
		cmocka_unit_test(
			an_index_that_contradicts_the_stream_is_not_used),
		cmocka_unit_test(every_entry_of_an_index_can_be_checked),
		cmocka_unit_test(
			an_index_without_sequence_numbers_is_not_enough),
		cmocka_unit_test(
			a_damaged_stream_is_told_of_in_spite_of_its_index),
		cmocka_unit_test(
			a_problem_is_listed_once_with_its_largest_count),
		cmocka_unit_test(endless_problems_are_counted_in_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
