/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Call stacks of tracefs' events: which of the kernel's records belong together, and
 * what becomes of those that lack one. A CPU's pipe is a FIFO, which gives a page at
 * a time as the kernel does.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "source/sample/mapped_code.h"
#include "source/source.h"
#include "source/tracefs/stream.h"

#define PAGE       4096u
#define EVENT      11u
#define KERNEL     4u
#define USER       13u
#define PID        7u
#define KERNEL_AT  0xffffffff81000000ull
#define PROGRAM_AT 0x400000ull
#define RECORD     (SONDE_HEAD_LARGE + 4u + SONDE_TRACEFS_STACK_HEAD + 4u)

/* Levels, by common_flags. */
enum {
	THREAD = 0x00,
	SOFT = 0x10,
	HARD = 0x18,
	NMI = 0x58
};

static const struct sonde_format_page layout = {
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
	.data_size = PAGE - 16,
};

static char top[64];
static int root = -1;
static int pipe_in = -1;
static struct sonde_source_config config;
static struct sonde_tracefs_stacks stacks;
static struct sonde_convert convert;
static struct sonde_tracefs_stream stream;
static const struct sonde_tracefs_plan plan = {
	.need = 12,
	.fixed = 4,
	.nr = 1,
	.steps = { { .kind = SONDE_TRACEFS_STEP_COPY_4,
		     .from = 8,
		     .bytes = 4 } },
};
static struct sonde_convert_event event = { .plan = &plan, .id = 1 };

/* ---- a directory like tracefs ---- */

static void write_format(const char *name, uint32_t id, const char *fields)
{
	char path[64];
	char text[512];

	(void)snprintf(path, sizeof(path), "events/ftrace/%s/format", name);
	(void)snprintf(text, sizeof(text),
		       "name: %s\nID: %u\nformat:\n%s\nprint fmt: \"\"\n", name,
		       id, fields);
	folder_write(top, path, text);
}

static void write_stats(uint32_t dropped)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\n"
		       "dropped events: %u\nread events: 0\n",
		       dropped);
	folder_write(top, "per_cpu/cpu3/stats", text);
}

/* The process has code without rules from PROGRAM_AT on. */
static void map_program(void)
{
	struct sonde_perf_record record = { .kind = SONDE_PERF_BEGAN,
					    .pid = PID };

	sonde_perf_code_heed(config.code, &record, "", 1);
	record.kind = SONDE_PERF_MAPPED;
	record.mapping = (struct sonde_statedump_mapping){
		.pid = PID,
		.begin = PROGRAM_AT,
		.end = PROGRAM_AT + 4096,
		.path = "/none",
	};
	sonde_perf_code_heed(config.code, &record, "", 1);
}

static int set_up(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/sonde-test-XXXXXX");
	assert_non_null(mkdtemp(top));
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	write_format("kernel_stack", KERNEL,
		     "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		     "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\t"
		     "signed:0;\n");
	write_format("user_stack", USER,
		     "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;"
		     "\n\tfield:unsigned long caller[8];\toffset:16;\tsize:64;"
		     "\tsigned:0;\n");
	write_stats(0);
	(void)snprintf(path, sizeof(path), "%s/per_cpu/cpu3/trace_pipe_raw",
		       top);
	assert_int_equal(mkfifo(path, 0600), 0);
	config.stacks = sonde_callstacks_store_new();
	config.code = sonde_perf_code_new();
	config.stack_frames = 16;
	assert_true(config.stacks && config.code);
	map_program();
	assert_int_equal(sonde_tracefs_stacks_init(&stacks, root, &config), 0);
	memset(&convert, 0, sizeof(convert));
	convert.index[EVENT] = 1;
	convert.events = &event;
	convert.stacks = &stacks;
	event.is_call = event.is_probe = false;
	assert_int_equal(sonde_tracefs_stream_open(&stream, root, 3, &layout,
						   64 << 10),
			 0);
	pipe_in = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(pipe_in >= 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_tracefs_stream_fini(&stream);
	close(pipe_in);
	close(root);
	sonde_tracefs_stacks_fini(&stacks);
	sonde_callstacks_store_free(config.stacks);
	sonde_perf_code_free(config.code);
	return folder_remove(top);
}

/* ---- pages ---- */

static uint8_t page[PAGE];
static uint32_t used;

static void begin_page(uint64_t ts)
{
	memset(page, 0, sizeof(page));
	memcpy(page, &ts, 8);
	used = 0;
}

/* Of so many bytes behind the common fields, each a tick later than the last. */
static uint8_t *put(uint16_t type, uint8_t flags, uint32_t tid, uint32_t size)
{
	uint8_t *at = page + 16 + used;
	uint32_t whole = (8 + size + 3) & ~3u;
	uint32_t word = whole / 4 > 28 ? 0 : whole / 4;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word |= 1u << 5;
#else
	word = word << 27 | 1;
#endif
	assert_true(used + whole + 8 < PAGE - 16);
	memcpy(at, &word, 4);
	at += 4;
	if (whole / 4 > 28) {
		uint32_t length = whole + 4;

		memcpy(at, &length, 4);
		at += 4;
	}
	memcpy(at, &type, 2);
	at[2] = flags;
	at[3] = 1;
	memcpy(at + 4, &tid, 4);
	used = (uint32_t)(at + whole - (page + 16));
	return at + 8;
}

static void put_event(uint8_t flags, uint32_t tid)
{
	(void)put(EVENT, flags, tid, 4);
}

/* Frames are `first` and those 16 bytes behind it. */
static void put_frames(uint8_t *to, uint64_t first, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++, first += 16)
		memcpy(to + 8 * i, &first, 8);
}

static void put_kernel(uint8_t flags, uint32_t tid, uint32_t nr, uint32_t from)
{
	uint8_t *at = put(KERNEL, flags, tid, 8 + 8 * nr);

	memcpy(at, &nr, 4);
	put_frames(at + 8, KERNEL_AT + from, nr);
}

static void put_user(uint8_t flags, uint32_t tid, uint32_t pid, uint32_t nr,
		     uint32_t from)
{
	uint8_t *at = put(USER, flags, tid, 72);

	memcpy(at, &pid, 4);
	put_frames(at + 8, PROGRAM_AT + from, nr);
}

static void send_page(uint64_t commit_flags)
{
	uint64_t commit = used | commit_flags;

	memcpy(page + 8, &commit, 8);
	assert_int_equal(write(pipe_in, page, PAGE), PAGE);
}

/* A round at that time. What comes of it is added to `records`. */
static uint8_t records[4096];
static size_t nr_records;

static void take(uint64_t now)
{
	struct sonde_ring_chunk chunk;

	sonde_tracefs_stream_refresh(&stream, now);
	while (sonde_tracefs_stream_peek(&stream, &convert, &chunk) > 0) {
		assert_int_equal(chunk.size % RECORD, 0);
		memcpy(records + nr_records * RECORD, chunk.data, chunk.size);
		nr_records += chunk.size / RECORD;
		assert_int_equal(chunk.events, nr_records);
		sonde_tracefs_stream_advance(&stream, &chunk);
	}
}

static void take_to_the_end(uint64_t now)
{
	stream.is_ended = true;
	take(now);
}

/* Starts anew. */
static void take_page(void)
{
	nr_records = 0;
	send_page(0);
	take_to_the_end(1);
}

/* ---- what is there ---- */

static uint32_t number_of(size_t i)
{
	uint32_t number;

	assert_true(i < nr_records);
	memcpy(&number, records + i * RECORD + SONDE_HEAD_LARGE + 4, 4);
	return number;
}

static uint32_t process_of(size_t i)
{
	uint32_t pid;

	memcpy(&pid, records + i * RECORD + SONDE_HEAD_LARGE + 8, 4);
	return pid;
}

/* The i-th event's stack: of so many frames of the kernel and the program, from
 * those on, ending so. */
static void check_stack(size_t i, uint32_t nr_kernel, uint32_t kernel_from,
			uint32_t nr_program, uint32_t program_from,
			enum sonde_stacks_end end)
{
	const struct sonde_stacks_entry *entry;
	uint32_t number = number_of(i);

	assert_true(number);
	entry = sonde_stacks_place(config.stacks->tables[0],
				   SONDE_STACKS_DEPTH_MAX, number - 1);
	assert_int_equal(entry->nr, nr_kernel + nr_program);
	assert_int_equal(entry->end, end);
	for (uint32_t k = 0; k < nr_kernel; k++)
		assert_int_equal(entry->frames[k],
				 KERNEL_AT + kernel_from + 16 * k);
	for (uint32_t k = 0; k < nr_program; k++)
		assert_int_equal(entry->frames[nr_kernel + k] &
					 ~SONDE_FRAME_EXACT,
				 PROGRAM_AT + program_from + 16 * k);
}

static void check_none(size_t i)
{
	assert_int_equal(number_of(i), 0);
}

static uint64_t nr_lost(void)
{
	return config.stacks->tables[0]->nr_lost;
}

/* ---- tests ---- */

static void an_event_has_what_follows_it(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 3, 0);
	put_user(THREAD, 5, PID, 2, 0x100);
	put_event(THREAD, 6);
	put_kernel(THREAD, 6, 2, 0x40);
	put_user(THREAD, 6, 0, 0, 0);
	take_page();
	assert_int_equal(nr_records, 2);
	check_stack(0, 3, 0, 2, 0x100, SONDE_STACK_BROKEN);
	assert_int_equal(process_of(0), PID);
	/* A thread of the kernel's. */
	check_stack(1, 2, 0x40, 0, 0, SONDE_STACK_WHOLE);
	assert_int_equal(nr_lost(), 0);
}

static void interrupts_have_their_own(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	put_event(SOFT, 5);
	put_event(HARD, 5);
	put_kernel(HARD, 5, 1, 0x300);
	put_user(HARD, 5, PID, 1, 0x30);
	put_kernel(SOFT, 5, 1, 0x200);
	put_user(SOFT, 5, PID, 1, 0x20);
	put_kernel(THREAD, 5, 1, 0x100);
	put_event(NMI, 5);
	put_kernel(NMI, 5, 1, 0x400); /* of the program there it has none */
	put_user(THREAD, 5, PID, 1, 0x10);
	/* What comes below it says that nothing more comes for it. */
	nr_records = 0;
	send_page(0);
	take(1);
	assert_int_equal(nr_records, 4);
	for (uint32_t i = 0; i < 3; i++)
		check_stack(i, 1, 0x100 + 0x100 * i, 1, 0x10 + 0x10 * i,
			    SONDE_STACK_BROKEN);
	check_stack(3, 1, 0x400, 0, 0, SONDE_STACK_BROKEN);
	assert_int_equal(nr_lost(), 0);
}

static void without_the_kernels_half_there_is_none(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 1, 0x10);
	put_user(THREAD, 5, PID, 1, 0);
	put_event(THREAD, 5);
	put_user(THREAD, 5, PID, 1, 0);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 1, 0x20);
	put_event(THREAD, 5);
	take_page();
	assert_int_equal(nr_records, 5);
	check_none(0);
	check_stack(1, 1, 0x10, 1, 0, SONDE_STACK_BROKEN);
	check_none(2);
	check_stack(3, 1, 0x20, 0, 0, SONDE_STACK_BROKEN);
	check_none(4);
	assert_int_equal(nr_lost(), 3);
}

static void others_stacks_are_no_ones(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	put_kernel(THREAD, 6, 1, 0); /* another thread's */
	put_kernel(SOFT, 5, 1, 0);   /* of what isn't recorded */
	put_event(THREAD, 5);
	(void)put(99, THREAD, 5, 4); /* nor is this, */
	put_kernel(THREAD, 5, 1, 0); /* whose stack it is */
	put_user(THREAD, 5, PID, 1, 0);
	take_page();
	assert_int_equal(nr_records, 2);
	check_none(0);
	check_none(1);
	assert_int_equal(nr_lost(), 2);
}

static void a_call_has_the_programs_half(void **state)
{
	(void)state;
	event.is_call = true;
	begin_page(100);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 3, 0);
	put_user(THREAD, 5, PID, 8, 0);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 3, 0);
	take_page();
	check_stack(0, 0, 0, 8, 0, SONDE_STACK_DEEP);
	check_none(1);
	assert_int_equal(nr_lost(), 1);
}

static void a_probe_is_where_it_is(void **state)
{
	const struct sonde_stacks_entry *entry;

	(void)state;
	event.is_probe = true;
	begin_page(100);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 2, 0);
	put_user(THREAD, 5, 0, 0, 0);
	take_page();
	entry = sonde_stacks_place(config.stacks->tables[0],
				   SONDE_STACKS_DEPTH_MAX, number_of(0) - 1);
	assert_int_equal(entry->frames[0],
			 KERNEL_AT & ~SONDE_FRAME_KERNEL_EXACT);
	assert_int_equal(entry->frames[1], KERNEL_AT + 16);
}

static void a_deep_stack_is_cut_and_says_so(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	put_kernel(THREAD, 5, 100, 0);
	put_user(THREAD, 5, PID, 1, 0);
	take_page();
	check_stack(0, SONDE_CALLSTACKS_KERNEL_MAX, 0, 0, 0, SONDE_STACK_DEEP);
}

static void a_record_that_contradicts_itself_is_no_stack(void **state)
{
	uint32_t nr = 4;

	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	memcpy(put(KERNEL, THREAD, 5, 8 + 24), &nr, 4);
	(void)put(USER, THREAD, 5, 16);
	put_event(THREAD, 5);
	(void)put(KERNEL, THREAD, 5, 0);
	take_page();
	assert_int_equal(nr_records, 2);
	check_none(0);
	check_none(1);
	assert_int_equal(nr_lost(), 2);
}

/* More of them than there is room for: those behind it have theirs. */
static void many_interrupts_take_the_place_of_one_below(void **state)
{
	(void)state;
	begin_page(100);
	put_event(THREAD, 5);
	for (uint32_t i = 0; i < SONDE_TRACEFS_WAITING_MAX; i++) {
		put_event(SOFT, 5);
		put_kernel(SOFT, 5, 1, 16 * i);
		put_user(SOFT, 5, PID, 1, 16 * i);
	}
	put_kernel(THREAD, 5, 1, 0);
	put_user(THREAD, 5, PID, 1, 0);
	take_page();
	assert_int_equal(nr_records, SONDE_TRACEFS_WAITING_MAX + 1);
	check_none(0);
	for (uint32_t i = 0; i < SONDE_TRACEFS_WAITING_MAX; i++)
		check_stack(i + 1, 1, 16 * i, 1, 16 * i, SONDE_STACK_BROKEN);
	assert_int_equal(nr_lost(), 1);
}

/* ---- across pages ---- */

/* An event of 1004 at the end of a page that is read then, */
static void begin_in_a_page(uint64_t now)
{
	nr_records = 0;
	begin_page(1000);
	put_event(THREAD, 4);
	put_kernel(THREAD, 4, 1, 0x20);
	put_user(THREAD, 4, PID, 1, 0);
	put_event(THREAD, 5);
	send_page(0);
	take(now);
	/* It waits. */
	assert_int_equal(nr_records, 1);
}

/* and what belongs to it. */
static void end_in_another_page(uint64_t flags)
{
	begin_page(2000);
	put_kernel(THREAD, 5, 1, 0x10);
	put_user(THREAD, 5, PID, 1, 0);
	send_page(flags);
}

static void what_comes_in_the_next_page_is_waited_for(void **state)
{
	(void)state;
	begin_in_a_page(900);
	end_in_another_page(0);
	take(1900);
	assert_int_equal(nr_records, 2);
	check_stack(1, 1, 0x10, 1, 0, SONDE_STACK_BROKEN);
	assert_int_equal(nr_lost(), 0);
}

static void what_was_lost_between_pages_may_have_been_its(void **state)
{
	(void)state;
	begin_in_a_page(900);
	end_in_another_page(0);
	write_stats(1);
	take(1900);
	assert_int_equal(nr_records, 2);
	check_none(1);
	assert_int_equal(nr_lost(), 1);
}

static void what_was_lost_before_does_not_matter(void **state)
{
	struct sonde_source_counts counts;

	(void)state;
	write_stats(1);
	sonde_tracefs_stream_count(&stream, &counts);
	begin_in_a_page(900);
	end_in_another_page(0);
	take(1900);
	check_stack(1, 1, 0x10, 1, 0, SONDE_STACK_BROKEN);
	assert_int_equal(nr_lost(), 0);
}

/* What was dropped by the begin of a round may have been dropped after the event. */
static void what_was_lost_by_then_is_known_of_times_before_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SONDE_TRACEFS_ROUNDS; i++)
		take(1100 + i);
	begin_in_a_page(1200);
	end_in_another_page(0);
	take(1900);
	assert_int_equal(nr_records, 2);
	check_none(1);
	assert_int_equal(nr_lost(), 1);
}

static void what_was_overwritten_between_pages_too(void **state)
{
	(void)state;
	begin_in_a_page(900);
	end_in_another_page(1ull << 31 | 1ull << 30);
	take_to_the_end(1900);
	assert_int_equal(number_of(1), 0);
	assert_int_equal(nr_lost(), 1);
}

static void a_packet_that_is_ended_waits_for_nothing(void **state)
{
	struct sonde_ring_chunk chunk;

	(void)state;
	begin_in_a_page(900);
	sonde_tracefs_stream_part(&stream, &convert);
	assert_int_equal(sonde_tracefs_stream_peek(&stream, &convert, &chunk),
			 1);
	assert_true(chunk.closed);
	assert_int_equal(chunk.size, RECORD);
	assert_int_equal(nr_lost(), 1);
}

static void a_kernel_with_other_records_has_none(void **state)
{
	struct sonde_tracefs_stacks other;

	(void)state;
	write_format("kernel_stack", KERNEL,
		     "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		     "\tfield:unsigned int caller[8];\toffset:12;\tsize:32;\t"
		     "signed:0;\n");
	assert_int_equal(sonde_tracefs_stacks_init(&other, root, &config),
			 -EOPNOTSUPP);
	sonde_tracefs_stacks_fini(&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_event_has_what_follows_it),
		TEST(interrupts_have_their_own),
		TEST(without_the_kernels_half_there_is_none),
		TEST(others_stacks_are_no_ones),
		TEST(a_call_has_the_programs_half),
		TEST(a_probe_is_where_it_is),
		TEST(a_deep_stack_is_cut_and_says_so),
		TEST(a_record_that_contradicts_itself_is_no_stack),
		TEST(many_interrupts_take_the_place_of_one_below),
		TEST(what_comes_in_the_next_page_is_waited_for),
		TEST(what_was_lost_between_pages_may_have_been_its),
		TEST(what_was_lost_before_does_not_matter),
		TEST(what_was_lost_by_then_is_known_of_times_before_alone),
		TEST(what_was_overwritten_between_pages_too),
		TEST(a_packet_that_is_ended_waits_for_nothing),
		TEST(a_kernel_with_other_records_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
