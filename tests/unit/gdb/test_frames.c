/* SPDX-License-Identifier: MIT */
/*
 * Trace frames read back from a trace. The trace is written by the CTF writer,
 * with payloads that a model of the agent made.
 */
#include "unit.h"

#include <fcntl.h>

#include "collect_model.h"
#include "test_ctf_witness.h"

#include "ctf/packet.h"
#include "gdb/frames.h"
#include "gdb/registers.h"
#include "probe/output.h"

enum {
	TID = 77,
	OTHER_TID = 78,
	NR_HITS = 100,
	HEAD_BYTES = 6,
	ID_HIT = 1,
	ID_STEP,
	ID_STATIC,
	ID_EVENT,
};

/*
 * trace work: collect n (4 bytes at rbp - 4), $var; while-stepping: collect
 * $rax. strace at 401100: collect $_sdata, n.
 */
static const char *const packets[] = {
	"QTDP:1:401000:E:2:0-",
	"QTDP:-1:401000:R41X0A,26000622040322040c27-",
	"QTDP:-1:401000:X4,2e000527-",
	"QTDP:-1:401000:SR01-",
	"QTDPsrc:1:401000:at:0:4:776f726b",
	"QTDPsrc:1:401000:cmd:0:9:636f6c6c656374206e",
	"QTDP:2:401100:E:0:0:S-",
	"QTDP:-2:401100:LX0A,26000622040322040c27-",
	"QTDV:5:0:0:766172",
	NULL,
};

struct recording {
	struct scratch scratch;
	struct sonde_probe_points points;
	struct sonde_probe_plan plans[2];
	struct collect_world world;
	struct sonde_ctf_trace *trace;
	struct sonde_ctf_stream *stream;
	uint64_t clock;
};

static void put_record(struct recording *recording, uint32_t id,
		       const void *payload, size_t size)
{
	uint8_t head[13] = { SONDE_COMPACT_ESCAPE };
	uint64_t time = ++recording->clock;

	memcpy(head + 1, &id, 4);
	memcpy(head + 5, &time, 8);
	assert_int_equal(sonde_ctf_packet_append(recording->stream, head,
						 sizeof(head)),
			 0);
	if (size)
		assert_int_equal(sonde_ctf_packet_append(recording->stream,
							 payload, size),
				 0);
}

static void put_thread(struct recording *recording, uint32_t tid)
{
	uint32_t ids[] = { tid, 70 };

	put_record(recording, 0, ids, sizeof(ids));
}

static void put_frame(struct recording *recording, uint32_t id,
		      const struct sonde_probe_plan *plan,
		      const struct sonde_probe_plan_part *part)
{
	uint8_t payload[SONDE_AGENT_STAGE];
	size_t size = collect_hit(&recording->world, plan, part, payload);

	put_record(recording, id, payload, size);
}

static void put_hit(struct recording *recording, uint32_t n)
{
	struct collect_world *world = &recording->world;

	memcpy(world->memory + 0x800 - 4, &n, 4);
	world->variables[5] = (int64_t)n * 3;
	world->registers[SONDE_AGENT_RBP] = COLLECT_BASE + 0x800;
	world->registers[SONDE_AGENT_RIP] = 0x401000;
	put_frame(recording, ID_HIT, &recording->plans[0],
		  &recording->plans[0].hit);
	world->registers[SONDE_AGENT_RIP] = 0x401003;
	world->registers[SONDE_AGENT_RAX] = n;
	put_frame(recording, ID_STEP, &recording->plans[0],
		  &recording->plans[0].step);
}

static const struct sonde_desc *event_desc(struct maker *maker)
{
	maker_start(maker, "http", "request", SONDE_INFO);
	maker_field(maker, "status", SONDE_TYPE_INT, 32, 1, 0);
	return maker_finish(maker);
}

static void begin(struct recording *recording)
{
	static const struct sonde_ctf_config config = {
		.hostname = "host",
		.clock = { .name = "tsc",
			   .description = "",
			   .freq = 1000000000,
			   .offset_s = 1700000000 },
	};
	static const struct sonde_ctf_stream_config stream = {
		.class_id = 5,
		.name = "cpu0",
	};
	struct maker maker;
	char error[256];

	memset(recording, 0, sizeof(*recording));
	scratch_make(&recording->scratch);
	collect_define(&recording->points, packets);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(sonde_probe_plan_make(
					 &recording->points.list[i],
					 &recording->points, error,
					 sizeof(error), &recording->plans[i]),
				 0);
	assert_int_equal(sonde_ctf_trace_create(recording->scratch.trace,
						&config, &recording->trace),
			 0);
	assert_int_equal(sonde_ctf_trace_add_class(recording->trace, 5,
						   SONDE_HEAD_COMPACT, NULL),
			 0);
	assert_int_equal(
		sonde_ctf_trace_add_event(recording->trace, 5, ID_HIT,
					  recording->plans[0].hit.desc),
		0);
	assert_int_equal(
		sonde_ctf_trace_add_event(recording->trace, 5, ID_STEP,
					  recording->plans[0].step.desc),
		0);
	assert_int_equal(
		sonde_ctf_trace_add_event(recording->trace, 5, ID_STATIC,
					  recording->plans[1].hit.desc),
		0);
	assert_int_equal(sonde_ctf_trace_add_event(recording->trace, 5,
						   ID_EVENT,
						   event_desc(&maker)),
			 0);
	assert_int_equal(sonde_ctf_stream_open(recording->trace, &stream,
					       &recording->stream),
			 0);
	recording->clock = 1000;
	assert_int_equal(sonde_ctf_packet_begin(recording->stream, 1000, 0), 0);
	put_thread(recording, TID);
}

/* Finishes the trace, and writes what lies beside it. */
static void end(struct recording *recording)
{
	struct sonde_probe_output output;

	assert_int_equal(sonde_ctf_packet_publish(recording->stream,
						  recording->clock, 0),
			 0);
	assert_int_equal(sonde_ctf_stream_close(recording->stream,
						recording->clock, 0),
			 0);
	assert_int_equal(sonde_ctf_trace_close(recording->trace), 0);
	sonde_probe_output_init(&output);
	output.place.dir = open(recording->scratch.trace,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(sonde_probe_output_points(&output, &recording->points),
			 0);
	sonde_probe_output_fini(&output);
}

static void forget(struct recording *recording)
{
	for (size_t i = 0; i < 2; i++)
		sonde_probe_plan_free(&recording->plans[i]);
	sonde_probe_points_clear(&recording->points);
	scratch_remove(&recording->scratch);
}

static struct sonde_gdb_frames *open_frames(const struct recording *recording,
					    uint64_t bytes, bool circular)
{
	struct sonde_gdb_frames_config config = { bytes, circular };
	struct sonde_gdb_frames *frames = NULL;
	char error[512] = "";

	if (sonde_gdb_frames_open(recording->scratch.trace, &config, error,
				  sizeof(error), &frames))
		print_error("%s\n", error);
	assert_non_null(frames);
	return frames;
}

static void record_hits(struct recording *recording)
{
	begin(recording);
	for (uint32_t i = 0; i < NR_HITS; i++)
		put_hit(recording, 1000 + i);
	end(recording);
}

static uint32_t n_of(const struct sonde_gdb_frame *frame)
{
	uint32_t n = 0;

	assert_int_equal(sonde_gdb_frame_memory(frame, COLLECT_BASE + 0x800 - 4,
						(uint8_t *)&n, 4),
			 4);
	return n;
}

static void a_frame_holds_what_was_collected(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	uint8_t bytes[8];
	uint64_t value;
	int64_t variable;

	(void)state;
	record_hits(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	assert_int_equal(sonde_gdb_frames_nr(frames), 2 * NR_HITS);
	for (uint32_t i = 0; i < NR_HITS; i++) {
		assert_int_equal(sonde_gdb_frames_get(frames, 2 * i, &frame),
				 0);
		assert_int_equal(frame.point, 1);
		assert_int_equal(frame.tid, TID);
		assert_int_equal(frame.address, 0x401000);
		assert_int_equal(n_of(&frame), 1000 + i);
		assert_int_equal(sonde_gdb_frame_variable(&frame, 5, &variable),
				 0);
		assert_int_equal(variable, 3 * (1000 + i));
		assert_int_equal(sonde_gdb_frame_variable(&frame, 6, &variable),
				 -ENODATA);
		/* registers: rax and rbp were asked for */
		assert_int_equal(sonde_gdb_frame_register(
					 &frame, SONDE_AGENT_RBP, &value),
				 0);
		assert_int_equal(value, COLLECT_BASE + 0x800);
		assert_int_equal(sonde_gdb_frame_register(
					 &frame, SONDE_AGENT_RBX, &value),
				 -ENODATA);
		/* only what is there */
		assert_int_equal(
			sonde_gdb_frame_memory(&frame, COLLECT_BASE + 0x800 - 2,
					       bytes, 8),
			2);
		assert_int_equal(sonde_gdb_frame_memory(&frame,
							COLLECT_BASE + 0x800,
							bytes, 8),
				 0);
		/* the step */
		assert_int_equal(
			sonde_gdb_frames_get(frames, 2 * i + 1, &frame), 0);
		assert_int_equal(frame.address, 0x401003);
		assert_int_equal(sonde_gdb_frame_register(
					 &frame, SONDE_AGENT_RAX, &value),
				 0);
		assert_int_equal(value, 1000 + i);
	}
	assert_int_equal(sonde_gdb_frames_get(frames, 2 * NR_HITS, &frame),
			 -ENOENT);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

static void frames_are_found(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	uint64_t hits;
	uint64_t bytes;

	(void)state;
	record_hits(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_PC,
					       0x401003, 0, UINT64_MAX, &frame),
			 0);
	assert_int_equal(frame.number, 1);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_PC,
					       0x401003, 0, 1, &frame),
			 0);
	assert_int_equal(frame.number, 3);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_INSIDE,
					       0x401001, 0x401003, UINT64_MAX,
					       &frame),
			 0);
	assert_int_equal(frame.number, 1);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_OUTSIDE,
					       0x401001, 0x401003, 1, &frame),
			 0);
	assert_int_equal(frame.number, 2);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_POINT, 1,
					       0, 7, &frame),
			 0);
	assert_int_equal(frame.number, 8);
	assert_int_equal(sonde_gdb_frames_find(frames, SONDE_GDB_FIND_POINT, 2,
					       0, UINT64_MAX, &frame),
			 -ENOENT);
	sonde_gdb_frames_count(frames, 1, 0x401000, &hits, &bytes);
	assert_int_equal(hits, NR_HITS);
	assert_true(bytes > NR_HITS * 2 * SONDE_GDB_G_BYTES);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

static void a_full_buffer_keeps_the_first_or_the_last(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	uint64_t hits;
	uint64_t bytes;
	uint64_t all;

	(void)state;
	record_hits(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	sonde_gdb_frames_count(frames, 1, 0x401000, &hits, &all);
	sonde_gdb_frames_free(frames);

	frames = open_frames(&recording, all / 4, false);
	assert_int_equal(sonde_gdb_frames_nr(frames), NR_HITS / 2);
	assert_int_equal(sonde_gdb_frames_get(frames, 0, &frame), 0);
	assert_int_equal(n_of(&frame), 1000);
	sonde_gdb_frames_free(frames);

	frames = open_frames(&recording, all / 4, true);
	assert_int_equal(sonde_gdb_frames_nr(frames), NR_HITS / 2);
	sonde_gdb_frames_count(frames, 1, 0x401000, &hits, &bytes);
	assert_int_equal(bytes, all / 4);
	assert_int_equal(sonde_gdb_frames_get(frames, NR_HITS / 2 - 2, &frame),
			 0);
	assert_int_equal(n_of(&frame), 1000 + NR_HITS - 1);
	sonde_gdb_frames_free(frames);

	frames = open_frames(&recording, all, false);
	assert_int_equal(sonde_gdb_frames_nr(frames), 2 * NR_HITS);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

/* By pieces of any size, in any order. */
static void raw_bytes_are_the_frames_one_behind_the_other(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	static uint8_t all[1 << 18];
	uint8_t piece[7777];
	size_t size = 0;
	uint64_t at = 0;

	(void)state;
	record_hits(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	for (size_t nr;
	     (nr = sonde_gdb_frames_raw(frames, size, all + size, 1999));)
		size += nr;
	for (uint64_t i = 0; i < 2 * NR_HITS; i++) {
		uint16_t point;
		uint32_t bytes;

		assert_int_equal(sonde_gdb_frames_get(frames, i, &frame), 0);
		memcpy(&point, all + at, 2);
		memcpy(&bytes, all + at + 2, 4);
		assert_int_equal(point, 1);
		assert_int_equal(bytes, frame.nr_bytes);
		assert_memory_equal(all + at + HEAD_BYTES, frame.blocks, bytes);
		at += HEAD_BYTES + bytes;
	}
	assert_int_equal(at, size);
	for (size_t from = size; from > 1000; from -= 1000) {
		size_t nr = sonde_gdb_frames_raw(frames, from - 1000, piece,
						 sizeof(piece));

		assert_int_equal(nr, size - from + 1000 < sizeof(piece) ?
					     size - from + 1000 :
					     sizeof(piece));
		assert_memory_equal(piece, all + from - 1000, nr);
	}
	assert_int_equal(sonde_gdb_frames_raw(frames, size, piece, 10), 0);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

static void static_data_is_the_event_of_the_same_thread(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	uint32_t status = 404;
	uint32_t other = 500;
	char text[256];
	size_t length;

	(void)state;
	begin(&recording);
	recording.world.registers[SONDE_AGENT_RBP] = COLLECT_BASE + 0x800;
	put_frame(&recording, ID_STATIC, &recording.plans[1],
		  &recording.plans[1].hit);
	put_thread(&recording, OTHER_TID);
	put_record(&recording, ID_EVENT, &other, 4);
	put_thread(&recording, TID);
	put_record(&recording, ID_EVENT, &status, 4);
	/* a hit that was not followed by an event: another hit is */
	put_frame(&recording, ID_STATIC, &recording.plans[1],
		  &recording.plans[1].hit);
	put_frame(&recording, ID_STATIC, &recording.plans[1],
		  &recording.plans[1].hit);
	put_record(&recording, ID_EVENT, &other, 4);
	end(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	assert_int_equal(sonde_gdb_frames_get(frames, 0, &frame), 0);
	assert_int_equal(sonde_gdb_frame_static_data(frames, &frame, text,
						     sizeof(text), &length),
			 0);
	text[length] = '\0';
	assert_string_equal(text, "http:request status=404");
	assert_int_equal(sonde_gdb_frames_get(frames, 1, &frame), 0);
	assert_int_equal(sonde_gdb_frame_static_data(frames, &frame, text,
						     sizeof(text), &length),
			 -ENODATA);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

static void the_list_of_what_is_there_is_xml(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	struct sonde_gdb_frame frame;
	char text[1024];

	(void)state;
	record_hits(&recording);
	frames = open_frames(&recording, UINT64_MAX, false);
	assert_int_equal(sonde_gdb_frames_get(frames, 0, &frame), 0);
	assert_true(sonde_gdb_frame_info(&frame, text, sizeof(text)) <
		    sizeof(text));
	assert_string_equal(text,
			    "<!DOCTYPE traceframe-info SYSTEM "
			    "\"traceframe-info.dtd\">\n"
			    "<traceframe-info>\n"
			    "<memory start=\"0x7fff07fc\" length=\"0x4\"/>\n"
			    "<tvar id=\"0x5\"/>\n"
			    "</traceframe-info>\n");
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

static void a_trace_without_frames_is_refused(void **state)
{
	struct sonde_gdb_frames_config config = { UINT64_MAX, false };
	struct sonde_gdb_frames *frames = NULL;
	struct recording recording;
	char path[160];
	char error[512];
	FILE *file;

	(void)state;
	record_hits(&recording);
	(void)snprintf(path, sizeof(path), "%s/gdb/points",
		       recording.scratch.trace);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("tp T1:401000:E:0:0\ntp nonsense\n", file);
	(void)fclose(file);
	assert_int_equal(sonde_gdb_frames_open(recording.scratch.trace, &config,
					       error, sizeof(error), &frames),
			 -EINVAL);
	assert_non_null(strstr(error, "line 2"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sonde_gdb_frames_open(recording.scratch.trace, &config,
					       error, sizeof(error), &frames),
			 -ENOENT);
	assert_non_null(strstr(error, "no trace frames"));
	forget(&recording);
}

/* An event of the tracepoint's name whose payload is another's. */
static void an_event_that_is_no_frame_is_left_out(void **state)
{
	struct sonde_gdb_frames *frames;
	struct recording recording;
	char path[160];
	FILE *file;

	(void)state;
	record_hits(&recording);
	(void)snprintf(path, sizeof(path), "%s/gdb/points",
		       recording.scratch.trace);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("tp T1:401000:E:0:0\n"
		    "tp A1:401000:M-1,7fff0000,20\n"
		    "tp Z1:401000:at:0:4:776f726b\n",
		    file);
	(void)fclose(file);
	frames = open_frames(&recording, UINT64_MAX, false);
	assert_int_equal(sonde_gdb_frames_nr(frames), 0);
	sonde_gdb_frames_free(frames);
	forget(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_holds_what_was_collected),
		cmocka_unit_test(frames_are_found),
		cmocka_unit_test(a_full_buffer_keeps_the_first_or_the_last),
		cmocka_unit_test(raw_bytes_are_the_frames_one_behind_the_other),
		cmocka_unit_test(static_data_is_the_event_of_the_same_thread),
		cmocka_unit_test(the_list_of_what_is_there_is_xml),
		cmocka_unit_test(a_trace_without_frames_is_refused),
		cmocka_unit_test(an_event_that_is_no_frame_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
