/* SPDX-License-Identifier: MIT */
/* Traces that are written while they are read, part by part. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"
#include "reader/follow.h"
#include "reader_traces.h"

static uint64_t random_seed;

#define FILES_MAX 8
#define READ_MAX  4096

static struct made_directory directory;
static struct sonde_follow *follow;
static struct sonde_trace_error error;

/* What was read, in the order of reading. */
static struct {
	int64_t times[READ_MAX];
	size_t nr;
} events;

static int set_up(void **state)
{
	(void)state;
	made_directory(&directory);
	assert_int_equal(sonde_follow_new(directory.path, &follow), 0);
	events.nr = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_follow_free(follow);
	made_directory_remove(&directory);
	return 0;
}

static void write_metadata(const char *more)
{
	char text[8192];

	(void)snprintf(text, sizeof(text), "%s%s", made_metadata, more);
	made_write(&directory, "metadata", text, strlen(text));
}

/* The file as it is, whose last packet may go on: its padding is written over
 * by what is added next. */
static void write_file(const char *name, const struct made *file)
{
	struct made copy = { .packet = file->packet };

	made_bytes(&copy, file->bytes, file->used);
	made_packet_end(&copy, 4096);
	made_write(&directory, name, copy.bytes, copy.used);
	made_free(&copy);
}

static void begin_packet(struct made *file, uint64_t time, uint64_t discarded)
{
	made_packet(file, &(struct made_head){ .begin = time,
					       .end = time + 1000,
					       .discarded = discarded });
}

static void read_part(struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;

	assert_int_equal(sonde_cursor_new(trace, NULL, &cursor), 0);
	while (sonde_cursor_next(cursor, &event) > 0) {
		assert_true(events.nr < READ_MAX);
		events.times[events.nr++] = event->time_ns;
	}
	sonde_cursor_free(cursor);
}

/* Reads the next part, and how many events it has; -1: there is nothing new. */
static int read_next(void)
{
	size_t before = events.nr;
	struct sonde_trace *trace;
	int got = sonde_follow_look(follow, &error, &trace);

	assert_true(got >= 0);
	if (!got)
		return -1;
	read_part(trace);
	assert_int_equal(sonde_follow_pass(follow, trace), 0);
	return (int)(events.nr - before);
}

static struct sonde_follow_losses lost(void)
{
	struct sonde_follow_losses losses;

	sonde_follow_lost(follow, &losses);
	return losses;
}

static void before_there_is_a_trace_there_is_nothing_new(void **state)
{
	struct made file = { 0 };

	(void)state;
	assert_int_equal(read_next(), -1);
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), -1);
	write_metadata("");
	assert_int_equal(read_next(), 1);
	made_free(&file);
}

static void what_is_no_trace_is_an_error_in_the_end(void **state)
{
	struct sonde_trace *trace;
	int got = 0;

	(void)state;
	write_metadata("what is this?");
	for (int i = 0; i < 100 && !got; i++)
		got = sonde_follow_look(follow, &error, &trace);
	assert_int_equal(got, -EINVAL);
	assert_non_null(strstr(error.text, "metadata"));
}

static void each_event_is_in_one_part(void **state)
{
	struct made file = { 0 };

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	made_number(&file, 12, 2);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 2);
	assert_int_equal(read_next(), -1);
	/* the packet goes on */
	made_text(&file, 13, "three");
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 1);
	/* it ends, and another one begins */
	made_number(&file, 14, 4);
	made_packet_end(&file, 100);
	begin_packet(&file, 20, 0);
	made_number(&file, 21, 5);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 2);
	assert_int_equal(read_next(), -1);
	assert_int_equal(events.times[2], 13);
	assert_int_equal(events.times[4], 21);
	made_free(&file);
}

static void a_part_that_was_not_passed_comes_again(void **state)
{
	struct sonde_trace *trace;
	struct made file = { 0 };

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	write_file("cpu0", &file);
	assert_int_equal(sonde_follow_look(follow, &error, &trace), 1);
	sonde_trace_close(trace);
	made_number(&file, 12, 2);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 2);
	made_free(&file);
}

static void new_events_and_new_files_are_met(void **state)
{
	struct made file = { 0 };
	struct made other = { 0 };

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 1);
	write_metadata(MADE_EVENT("new", 2, "u8 n;"));
	begin_packet(&other, 10, 0);
	made_u16(&other, 2);
	made_u64(&other, 30);
	made_u8(&other, 7);
	write_file("cpu1", &other);
	assert_int_equal(read_next(), 1);
	assert_int_equal(events.times[1], 30);
	assert_int_equal(lost().damages, 0);
	made_free(&file);
	made_free(&other);
}

static void losses_are_counted_once(void **state)
{
	struct made file = { 0 };
	struct made other = { 0 };

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 3);
	made_number(&file, 11, 1);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 1);
	assert_int_equal(lost().events, 3);
	/* nothing but a loss */
	made_spoil_u64(&file, MADE_DISCARDED, 5);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 0);
	assert_int_equal(lost().events, 5);
	assert_int_equal(read_next(), -1);
	/* the stream goes on in another file; two packets are missing */
	made_packet(&other, &(struct made_head){ .begin = 20,
						 .end = 30,
						 .sequence = 3,
						 .discarded = 9 });
	made_number(&other, 21, 2);
	write_file("cpu0_1", &other);
	assert_int_equal(read_next(), 1);
	assert_int_equal(lost().events, 9);
	assert_int_equal(lost().packets, 2);
	made_free(&file);
	made_free(&other);
}

static void what_is_behind_is_told_and_may_go(void **state)
{
	struct made file = { 0 };
	const char *path;
	uint64_t bytes;
	size_t packet;
	bool found = false;

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	made_packet_end(&file, 100);
	begin_packet(&file, 20, 0);
	made_number(&file, 21, 2);
	packet = file.packet;
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 2);
	for (size_t i = 0; !sonde_follow_behind(follow, i, &path, &bytes); i++)
		if (strstr(path, "/cpu0")) {
			assert_int_equal(bytes, packet);
			found = true;
		}
	assert_true(found);
	memset(file.bytes, 0, packet);
	made_number(&file, 22, 3);
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 1);
	assert_int_equal(lost().damages, 0);
	made_free(&file);
}

/* Sets a file's time of change to long ago. */
static void age(const char *name)
{
	const struct timespec times[2] = { { 1000, 0 }, { 1000, 0 } };
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", directory.path, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void files_at_rest_are_not_opened(void **state)
{
	struct made file = { 0 };

	(void)state;
	write_metadata("");
	begin_packet(&file, 10, 0);
	made_number(&file, 11, 1);
	write_file("cpu0", &file);
	age("cpu0");
	age("metadata");
	age("");
	assert_int_equal(read_next(), 1);
	made_spoil_u64(&file, MADE_DISCARDED, 5);
	write_file("cpu0", &file);
	age("cpu0");
	assert_int_equal(read_next(), -1);
	assert_int_equal(lost().events, 0);
	/* what has just been changed isn't believed to be at rest */
	write_file("cpu0", &file);
	assert_int_equal(read_next(), 0);
	assert_int_equal(lost().events, 5);
	made_free(&file);
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Files grow by some events, or packets, between looks at random. */
static void at_random_nothing_is_lost_or_read_twice(void **state)
{
	struct made files[FILES_MAX] = { { 0 } };
	int64_t now = 1;
	char name[16];

	(void)state;
	random_seed = 16;
	write_metadata("");
	while (now < READ_MAX) {
		int i = random_int(&random_seed) % FILES_MAX;
		struct made *file = &files[i];

		if (!file->used || random_int(&random_seed) % 8 == 0) {
			if (file->used)
				made_packet_end(
					file,
					(size_t)random_int(&random_seed) % 64);
			begin_packet(file, (uint64_t)now, 0);
		}
		for (int n = random_int(&random_seed) % 20; n && now < READ_MAX;
		     n--)
			made_number(file, (uint64_t)now++, 0);
		(void)snprintf(name, sizeof(name), "cpu%d", i);
		write_file(name, file);
		if (random_int(&random_seed) % 3 == 0)
			(void)read_next();
	}
	(void)read_next();
	assert_int_equal(events.nr, READ_MAX - 1);
	qsort(events.times, events.nr, sizeof(*events.times), compare_times);
	for (size_t i = 0; i < events.nr; i++)
		assert_int_equal(events.times[i], i + 1);
	for (int i = 0; i < FILES_MAX; i++)
		made_free(&files[i]);
}

#define FOLLOWED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLLOWED(before_there_is_a_trace_there_is_nothing_new),
		FOLLOWED(what_is_no_trace_is_an_error_in_the_end),
		FOLLOWED(each_event_is_in_one_part),
		FOLLOWED(a_part_that_was_not_passed_comes_again),
		FOLLOWED(new_events_and_new_files_are_met),
		FOLLOWED(losses_are_counted_once),
		FOLLOWED(what_is_behind_is_told_and_may_go),
		FOLLOWED(files_at_rest_are_not_opened),
		FOLLOWED(at_random_nothing_is_lost_or_read_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
