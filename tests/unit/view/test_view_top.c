/* SPDX-License-Identifier: MIT */
/* What programs are doing, from parts of a trace: what is so across parts, the
 * order of time, losses, turns. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "reader/follow.h"
#include "reader_traces.h"
#include "view/live/top.h"

/* clang-format off */
#define METADATA_END \
	MADE_STREAM_CLASS("	event.context := struct { i32 tid; i32 pid; };\n") \
	MADE_EVENT("lock:mutex_wait", 0, "u64 mutex; u64 caller;") \
	MADE_EVENT("lock:mutex_lock", 1, "u64 mutex; u64 caller; i32 result;") \
	MADE_EVENT("lock:mutex_unlock", 2, "u64 mutex; u64 caller;") \
	MADE_EVENT("syscall_entry_read", 3, "u8 fd;") \
	MADE_EVENT("syscall_exit_read", 4, "i32 ret;") \
	MADE_EVENT("malloc:malloc", 5, "u64 size; u64 ptr; u64 caller;") \
	MADE_EVENT("malloc:free", 6, "u64 ptr; u64 caller;")
/* clang-format on */

enum {
	WAIT,
	LOCK,
	UNLOCK,
	CALL,
	RETURN,
	MALLOC,
	FREE,
};

#define MUTEX  0x1000
#define CALLER 0x2000
#define BLOCK  0x3000
#define PID    7

static struct made_directory directory;
static struct sonde_follow *follow;
static struct sonde_top *top;
static struct made file;
static int nr_files;

static void say(const char *text)
{
	fail_msg("%s", text);
}

static int set_up(void **state)
{
	const struct sonde_top_config config = { .say = say };
	struct sonde_top_config with = config;
	char text[8192];

	(void)state;
	made_directory(&directory);
	assert_int_equal(sonde_follow_new(directory.path, &follow), 0);
	with.follow = follow;
	assert_int_equal(sonde_top_new(&with, &top), 0);
	(void)snprintf(text, sizeof(text), "%s%s", made_metadata_before_clock,
		       MADE_CLOCK METADATA_END);
	made_write(&directory, "metadata", text, strlen(text));
	nr_files = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_top_free(top);
	sonde_follow_free(follow);
	made_directory_remove(&directory);
	return 0;
}

/* ---- events ---- */

static void begin_file(uint64_t begin, uint64_t end, uint64_t discarded)
{
	made_packet(&file, &(struct made_head){ .begin = begin,
						.end = end,
						.discarded = discarded });
}

static void end_file(void)
{
	char name[16];

	made_packet_end(&file, 0);
	(void)snprintf(name, sizeof(name), "cpu%d", nr_files++);
	made_write(&directory, name, file.bytes, file.used);
	made_free(&file);
	file = (struct made){ 0 };
}

static void put_head(uint16_t id, uint64_t time, int32_t tid)
{
	made_u16(&file, id);
	made_u64(&file, time);
	made_u32(&file, (uint32_t)tid);
	made_u32(&file, PID);
}

static void put_lock(uint16_t id, uint64_t time, int32_t tid)
{
	put_head(id, time, tid);
	made_u64(&file, MUTEX);
	made_u64(&file, CALLER + (uint64_t)tid);
	if (id == LOCK)
		made_u32(&file, 0);
}

static void put_return(uint64_t time, int32_t tid, int32_t ret)
{
	put_head(RETURN, time, tid);
	made_u32(&file, (uint32_t)ret);
}

static void put_call(uint64_t time, int32_t tid)
{
	put_head(CALL, time, tid);
	made_u8(&file, 0);
}

/* ---- tables ---- */

static struct sonde_report *report;

/* The cell of a table's row; fails if there is none. */
static struct sonde_cell_value cell(const char *table, const char *column,
				    size_t row)
{
	struct sonde_section section;

	for (size_t i = 0; sonde_report_section(report, i, &section); i++) {
		if (!section.key || strcmp(section.key, table) != 0)
			continue;
		assert_true(row < section.nr_rows);
		for (size_t k = 0; k < section.nr_columns; k++)
			if (!strcmp(section.columns[k].key, column))
				return section
					.cells[row * section.nr_columns + k];
	}
	fail_msg("no %s in %s", column, table);
	return (struct sonde_cell_value){ .set = false };
}

static void make_report(enum sonde_top_table table, const char *having)
{
	const struct sonde_top_view view = { .table = table,
					     .sort = -1,
					     .having = having };

	assert_int_equal(sonde_top_turn(top), 0);
	assert_int_equal(sonde_top_report(top, &view, &report), 0);
}

static void what_is_held_is_held_in_the_next_part(void **state)
{
	(void)state;
	begin_file(1000, 2500, 0);
	put_lock(LOCK, 1000, 1);
	put_lock(WAIT, 2000, 2);
	end_file();
	assert_int_equal(sonde_top_look(top, 0), 0);
	begin_file(2600, 5000, 0);
	put_lock(UNLOCK, 3000, 1);
	put_lock(LOCK, 4500, 2);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	make_report(SONDE_TOP_ALL, NULL);
	assert_int_equal(cell("locks", "count", 0).u, 2);
	assert_int_equal(cell("locks", "wait_count", 0).u, 1);
	assert_int_equal(cell("locks", "wait_max", 0).i, 2500);
	assert_int_equal(cell("locks", "holder", 0).i, 2);
	assert_int_equal(cell("waits", "holder", 0).i, 1);
	assert_int_equal(cell("waits", "holder_caller", 0).u, CALLER + 1);
	assert_int_equal(cell("sums", "events", 0).u, 4);
	assert_int_equal(cell("processes", "count", 0).u, 4);
	assert_int_equal(cell("processes", "threads", 0).u, 2);
	sonde_report_free(report);
}

static void what_is_read_late_is_played_in_its_order(void **state)
{
	uint64_t now = sonde_monotonic_ns();

	(void)state;
	begin_file(now, now + 9000, 0);
	put_lock(UNLOCK, now + 3000, 1);
	put_lock(LOCK, now + 4000, 2);
	end_file();
	/* the trace's clock is ours, or was as far ahead as the packet's end */
	assert_int_equal(sonde_top_look(top, 1), 0);
	begin_file(now, now + 9000, 0);
	put_lock(LOCK, now + 1000, 1);
	put_lock(WAIT, now + 2000, 2);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	make_report(SONDE_TOP_ALL, NULL);
	assert_int_equal(cell("sums", "out_of_order", 0).u, 0);
	assert_int_equal(cell("locks", "wait_max", 0).i, 2000);
	sonde_report_free(report);
}

static void where_events_are_lost_a_call_is_unknown(void **state)
{
	(void)state;
	begin_file(1000, 2000, 0);
	put_call(1000, 1);
	put_return(1300, 1, -9);
	put_call(1500, 1);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	assert_int_equal(sonde_top_look(top, 0), 0);
	begin_file(2100, 2200, 5); /* 5 lost */
	end_file();
	assert_int_equal(sonde_top_look(top, 0), 0);
	begin_file(2300, 3000, 0);
	put_return(2500, 1, 0);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	make_report(SONDE_TOP_CALLS, "read");
	assert_int_equal(cell("sums", "lost", 0).u, 5);
	assert_int_equal(cell("calls", "count", 0).u, 1);
	assert_int_equal(cell("calls", "error_count", 0).u, 1);
	assert_int_equal(cell("calls", "max", 0).i, 300);
	sonde_report_free(report);
	make_report(SONDE_TOP_CALLS, "unknown");
	assert_int_equal(cell("calls", "count", 0).u, 1);
	assert_false(cell("calls", "max", 0).set);
	sonde_report_free(report);
}

static void where_events_are_lost_nobody_is_known_to_hold_a_lock(void **state)
{
	(void)state;
	begin_file(1000, 2000, 0);
	put_lock(LOCK, 1000, 1);
	put_lock(WAIT, 1500, 2);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	begin_file(2100, 2200, 5); /* 5 lost */
	end_file();
	assert_int_equal(sonde_top_look(top, 0), 0);
	begin_file(2300, 9000, 0);
	put_lock(LOCK, 7000, 2); /* it may have had and released it */
	put_lock(WAIT, 8000, 3);
	put_lock(UNLOCK, 8400, 2);
	put_lock(LOCK, 8500, 3);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	make_report(SONDE_TOP_ALL, NULL);
	assert_int_equal(cell("locks", "wait_max", 0).i, 500);
	assert_int_equal(cell("waits", "holder", 0).i, 2);
	sonde_report_free(report);
}

static void a_rate_is_that_of_the_last_turn(void **state)
{
	(void)state;
	begin_file(1000, 2000, 0);
	for (uint64_t i = 0; i < 10; i++) {
		put_head(MALLOC, 1000 + i, 1);
		made_u64(&file, 100);
		made_u64(&file, BLOCK + i * 256);
		made_u64(&file, CALLER);
	}
	put_head(FREE, 1100, 1);
	made_u64(&file, BLOCK);
	made_u64(&file, CALLER);
	end_file();
	assert_int_equal(sonde_top_end(top), 0);
	make_report(SONDE_TOP_ALL, NULL);
	assert_true(cell("memory", "calls", 0).d > 0);
	assert_int_equal(cell("memory", "count", 0).u, 10);
	assert_int_equal(cell("memory", "live", 0).i, 900);
	assert_true(cell("threads", "allocations", 0).d > 0);
	assert_true(cell("threads", "byte_rate", 0).d >
		    cell("threads", "allocations", 0).d * 99);
	sonde_report_free(report);
	make_report(SONDE_TOP_ALL, NULL);
	assert_true(cell("memory", "calls", 0).d == 0);
	assert_true(cell("threads", "rate", 0).d == 0);
	assert_int_equal(cell("memory", "count", 0).u, 10);
	assert_int_equal(cell("threads", "count", 0).u, 11);
	sonde_report_free(report);
}

#define TOP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOP(what_is_held_is_held_in_the_next_part),
		TOP(what_is_read_late_is_played_in_its_order),
		TOP(where_events_are_lost_a_call_is_unknown),
		TOP(where_events_are_lost_nobody_is_known_to_hold_a_lock),
		TOP(a_rate_is_that_of_the_last_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
