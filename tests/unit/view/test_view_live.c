/* SPDX-License-Identifier: MIT */
/* Events as lines while the trace is written: order, filters, slow readers. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "random.h"
#include "reader/follow.h"
#include "reader_traces.h"
#include "view/live/held.h"
#include "view/live/live.h"
#include "view/live/outlet.h"

static uint64_t random_seed;

/* ---- lines that are held back ---- */

static int64_t take_time(struct sonde_held *held, int64_t until_ns)
{
	int64_t time_ns;
	size_t length;
	int64_t in_text;
	const char *text = sonde_held_take(held, until_ns, &time_ns, &length);

	if (!text)
		return -1;
	assert_int_equal(length, sizeof(in_text));
	memcpy(&in_text, text, sizeof(in_text));
	assert_int_equal(in_text, time_ns);
	return time_ns;
}

static void put_time(struct sonde_held *held, int64_t time_ns)
{
	assert_int_equal(sonde_held_put(held, time_ns, (const char *)&time_ns,
					sizeof(time_ns)),
			 0);
}

static void lines_come_in_the_order_of_time(void **state)
{
	struct sonde_held held = { .limit = 1 << 20 };
	int64_t taken_ns = 0;
	int64_t last_ns = 0;
	int nr = 0;

	(void)state;
	random_seed = 1;
	for (int64_t i = 1; i < 20000; i++) {
		/* never before what was taken */
		put_time(&held, taken_ns + 1 + random_int(&random_seed) % 100);
		if (i % 50)
			continue;
		taken_ns = i;
		while ((last_ns = take_time(&held, taken_ns)) > 0) {
			assert_true(last_ns <= taken_ns);
			nr++;
		}
	}
	last_ns = 0;
	for (int64_t ns; (ns = take_time(&held, INT64_MAX)) > 0; nr++) {
		assert_true(ns >= last_ns);
		last_ns = ns;
	}
	assert_int_equal(nr, 19999);
	sonde_held_fini(&held);
}

static void lines_that_were_taken_take_no_room(void **state)
{
	struct sonde_held held = { .limit = 100 };

	(void)state;
	for (int64_t i = 1; i < 1000; i++) {
		assert_true(sonde_held_has_room(&held, sizeof(i)));
		put_time(&held, i);
		assert_int_equal(take_time(&held, INT64_MAX), i);
		assert_int_equal(take_time(&held, INT64_MAX), -1);
	}
	for (int64_t i = 0; i < 12; i++)
		put_time(&held, 5);
	assert_false(sonde_held_has_room(&held, sizeof(int64_t)));
	assert_int_equal(take_time(&held, 4), -1);
	sonde_held_fini(&held);
}

/* ---- readers ---- */

static void a_reader_who_sleeps_costs_whole_texts(void **state)
{
	static char text[1000];
	static char got[1 << 20];
	struct sonde_outlet outlet;
	int ends[2];
	int taken = 0;
	ssize_t n;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(sonde_outlet_init(&outlet, ends[1], 10000), 0);
	while (sonde_outlet_put(&outlet, text, sizeof(text)))
		taken++;
	assert_true(taken >= 10 + 4096 / 1000);
	/* who else writes there isn't refused */
	assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
	assert_int_equal(sonde_outlet_wait(&outlet, 0), -ETIMEDOUT);
	n = read(ends[0], got, sizeof(got));
	assert_true(n > 0);
	assert_int_equal(sonde_outlet_wait(&outlet, -1), 0);
	assert_int_equal(outlet.used, 0);
	n += read(ends[0], got, sizeof(got));
	assert_int_equal(n, taken * 1000);
	assert_int_equal(close(ends[0]), 0);
	assert_true(sonde_outlet_put(&outlet, text, sizeof(text)));
	assert_int_equal(sonde_outlet_flush(&outlet), -EPIPE);
	sonde_outlet_fini(&outlet);
	assert_int_equal(close(ends[1]), 0);
}

/* ---- all of it ---- */

static struct made_directory directory;
static struct sonde_follow *follow;
static struct sonde_live *live;
static int ends[2];
static char said[1000];

static void say(const char *text)
{
	(void)snprintf(said, sizeof(said), "%s", text);
}

static int set_up(void **state)
{
	(void)state;
	made_directory(&directory);
	assert_int_equal(sonde_follow_new(directory.path, &follow), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	said[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_live_free(live);
	sonde_follow_free(follow);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
	made_directory_remove(&directory);
	return 0;
}

static void begin(const char *filter)
{
	const struct sonde_live_config config = {
		.follow = follow,
		.fd = ends[1],
		.filter = filter,
		.columns = "event,payload",
		.say = say,
	};

	assert_int_equal(sonde_live_new(&config, &live), 0);
}

static const char *shown(void)
{
	static char text[100000];
	ssize_t n = read(ends[0], text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void write_metadata(const char *more)
{
	char text[8192];

	(void)snprintf(text, sizeof(text), "%s%s", made_metadata, more);
	made_write(&directory, "metadata", text, strlen(text));
}

/* A file of one number, in a packet that ends at `end`. */
static void write_number(const char *name, uint64_t time, uint64_t end, int n,
			 uint64_t discarded)
{
	struct made file = { 0 };

	made_packet(&file, &(struct made_head){ .begin = time,
						.end = end,
						.discarded = discarded });
	made_number(&file, time, n);
	made_packet_end(&file, 0);
	made_write(&directory, name, file.bytes, file.used);
	made_free(&file);
}

static void check_sum(uint64_t events)
{
	struct sonde_live_counts counts;

	sonde_live_count(live, &counts);
	assert_int_equal(counts.events, events);
	assert_int_equal(counts.events,
			 counts.shown + counts.filtered + counts.left_out);
}

static void an_event_waits_for_earlier_ones(void **state)
{
	uint64_t now = sonde_monotonic_ns();

	(void)state;
	begin(NULL);
	write_metadata("");
	/* the trace's clock is ours; the last packet ends now */
	write_number("cpu0", now + 2000, now + 3000, 2, 0);
	assert_int_equal(sonde_live_look(live, now + 1000), 0);
	assert_string_equal(shown(), "");
	write_number("cpu1", now + 1000, now + 3000, 1, 0);
	assert_int_equal(sonde_live_look(live, now + 3000), 0);
	assert_int_equal(sonde_live_end(live), 0);
	assert_int_equal(sonde_live_drain(live), 0);
	assert_string_equal(shown(), "number  n = 1\nnumber  n = 2\n");
	check_sum(2);
}

static void what_comes_late_is_shown_and_counted(void **state)
{
	struct sonde_live_counts counts;

	(void)state;
	begin(NULL);
	write_metadata("");
	write_number("cpu0", 2000, 3000, 2, 0);
	assert_int_equal(sonde_live_end(live), 0);
	assert_int_equal(sonde_live_drain(live), 0);
	write_number("cpu1", 1000, 3000, 1, 0);
	assert_int_equal(sonde_live_end(live), 0);
	assert_int_equal(sonde_live_drain(live), 0);
	assert_string_equal(shown(), "number  n = 2\nnumber  n = 1\n");
	sonde_live_count(live, &counts);
	assert_int_equal(counts.late, 1);
	check_sum(2);
}

static void events_wait_until_a_filter_can_be_asked(void **state)
{
	struct made file = { 0 };

	(void)state;
	begin("size > 5 || n == 1");
	write_metadata("");
	write_number("cpu0", 1000, 3000, 1, 0);
	assert_int_equal(sonde_live_look(live, 0), 0);
	assert_non_null(strstr(said, "--filter: "));
	check_sum(0);
	assert_int_equal(sonde_live_end(live), -EINVAL);
	assert_string_equal(sonde_live_wrong_option(live), "--filter");
	write_metadata(MADE_EVENT("new", 2, "u8 size;"));
	made_packet(&file, &(struct made_head){ .begin = 10, .end = 20 });
	for (uint8_t size = 4; size < 8; size++) {
		made_u16(&file, 2);
		made_u64(&file, 2000u + size);
		made_u8(&file, size);
	}
	made_packet_end(&file, 0);
	made_write(&directory, "cpu1", file.bytes, file.used);
	made_free(&file);
	assert_int_equal(sonde_live_end(live), 0);
	assert_int_equal(sonde_live_drain(live), 0);
	assert_string_equal(shown(), "number  n = 1\n"
				     "new     size = 6\n"
				     "new     size = 7\n");
	check_sum(5);
}

static void what_was_there_before_is_skipped_and_losses_are_told(void **state)
{
	struct sonde_live_counts counts;

	(void)state;
	begin(NULL);
	write_metadata("");
	write_number("cpu0", 1000, 3000, 1, 7);
	assert_int_equal(sonde_live_skip(live), 0);
	write_number("cpu0_1", 4000, 5000, 2, 10);
	assert_int_equal(sonde_live_end(live), 0);
	assert_int_equal(sonde_live_drain(live), 0);
	assert_non_null(strstr(shown(), "number  n = 2\n-- 3 events "));
	sonde_live_count(live, &counts);
	assert_int_equal(counts.lost, 3);
	check_sum(1);
}

static void a_slow_reader_costs_lines_that_are_counted(void **state)
{
	struct sonde_live_counts counts;
	struct made file = { 0 };
	uint64_t now = sonde_monotonic_ns();
	const char *text;
	unsigned int nr = 0;

	(void)state;
	begin(NULL);
	write_metadata("");
	made_packet(&file, &(struct made_head){ .begin = now, .end = now + 1 });
	for (int i = 0; i < 20000; i++)
		made_number(&file, now, i);
	made_packet_end(&file, 0);
	made_write(&directory, "cpu0", file.bytes, file.used);
	made_free(&file);
	assert_int_equal(sonde_live_look(live, 0), 0);
	check_sum(0 + 20000);
	sonde_live_count(live, &counts);
	assert_true(counts.left_out > 0);
	for (text = shown(); (text = strchr(text, '\n')); text++)
		nr++;
	assert_int_equal(sonde_live_look(live, 0), 0);
	for (text = shown(); (text = strchr(text, '\n')); text++)
		nr++;
	assert_int_equal(sonde_live_drain(live), 0);
	text = shown();
	assert_non_null(strstr(text, " lines are left out"));
	for (; (text = strchr(text, '\n')); text++)
		nr++;
	/* and the notice */
	assert_int_equal(nr, counts.shown + 1);
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_the_order_of_time),
		cmocka_unit_test(lines_that_were_taken_take_no_room),
		cmocka_unit_test(a_reader_who_sleeps_costs_whole_texts),
		LIVE(an_event_waits_for_earlier_ones),
		LIVE(what_comes_late_is_shown_and_counted),
		LIVE(events_wait_until_a_filter_can_be_asked),
		LIVE(what_was_there_before_is_skipped_and_losses_are_told),
		LIVE(a_slow_reader_costs_lines_that_are_counted),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
