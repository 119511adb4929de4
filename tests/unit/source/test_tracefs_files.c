/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The tracefs source and files: which events are found and switched on in a
 * directory like tracefs, what comes out of a CPU's pipe (here a FIFO, which
 * gives a page at a time as the kernel does), symbols of ELF files.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "source/tracefs/catalog.h"
#include "source/tracefs/stream.h"
#include "source/tracefs/symbol.h"
#include "sys/textfile.h"
#include "types/desc.h"

#define PAGE 4096u

/* ---- a directory like tracefs ---- */

static char top[64];
static int root = -1;

static void check_file(const char *path, const char *expected)
{
	char text[4096];

	assert_true(sonde_textfile_read_at(root, path, text, sizeof(text)) >=
		    0);
	assert_string_equal(text, expected);
}

static void write_event(const char *group, const char *name, uint32_t id)
{
	char path[256];
	char text[1024];

	(void)snprintf(path, sizeof(path), "events/%s/%s/format", group, name);
	(void)snprintf(
		text, sizeof(text),
		"name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\t"
		"signed:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:int value;\toffset:8;\tsize:4;\tsigned:1;\n",
		name, id);
	folder_write(top, path, text);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/sonde-test-XXXXXX");
	assert_non_null(mkdtemp(top));
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder_write(top, "events/enable", "0\n");
	folder_write(top, "events/one/enable", "0\n");
	folder_write(top, "events/two/enable", "0\n");
	folder_write(top, "set_event", "");
	write_event("one", "a", 11);
	write_event("one", "b", 12);
	write_event("two", "a", 21);
	write_event("two", "c", 22);
	write_event("ftrace", "function", 1);
	write_event("sonde_77", "p0_f", 31);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(root);
	return folder_remove(top);
}

static struct sonde_source_error error;
static const struct sonde_tracefs_probes no_probes;

static int find(const char *text, struct sonde_source_config *config,
		struct sonde_catalog *catalog)
{
	static struct sonde_source_rules rules;
	char why[200];
	int rc;

	sonde_source_rules_fini(&rules);
	memset(&rules, 0, sizeof(rules));
	assert_int_equal(sonde_source_rules_add(&rules, text, why, sizeof(why)),
			 0);
	config->rules = &rules;
	rc = sonde_catalog_find(root, config, &no_probes, catalog, &error);
	return rc;
}

static bool has(const struct sonde_catalog *catalog, const char *group,
		const char *name)
{
	for (uint32_t i = 0; i < catalog->nr; i++)
		if (!strcmp(catalog->events[i].group, group) &&
		    !strcmp(sonde_desc_name(catalog->events[i].desc), name))
			return true;
	return false;
}

/* ---- finding ---- */

static void rules_select_by_group_name_and_glob(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_catalog catalog;

	(void)state;
	assert_int_equal(find("one", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 2);
	assert_true(has(&catalog, "one", "a") && has(&catalog, "one", "b"));
	sonde_catalog_fini(&catalog);
	assert_int_equal(find("*,!two:a", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 3);
	assert_false(has(&catalog, "two", "a"));
	/* What can't be switched on, and others' probes, are not there. */
	assert_false(has(&catalog, "ftrace", "function"));
	assert_false(has(&catalog, "sonde_77", "p0_f"));
	sonde_catalog_fini(&catalog);
	assert_int_equal(find("three", &config, &catalog), -ENODATA);
	sonde_catalog_fini(&catalog);
}

static bool a_is_taken(void *ctx, const char *group, const char *name)
{
	assert_ptr_equal(ctx, &error);
	return !strcmp(group, "one") && !strcmp(name, "a");
}

static void what_another_source_delivers_is_left_to_it(void **state)
{
	struct sonde_source_config config = { .is_taken = a_is_taken,
					      .ctx = &error };
	struct sonde_catalog catalog;

	(void)state;
	assert_int_equal(find("a", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 1);
	assert_true(has(&catalog, "two", "a"));
	sonde_catalog_fini(&catalog);
}

static void calls_are_known_by_the_names_programs_use(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_catalog catalog;

	(void)state;
	write_event("syscalls", "sys_enter_newuname", 41);
	write_event("syscalls", "sys_exit_newuname", 42);
	write_event("syscalls", "sys_enter_getpid", 43);
	write_event("syscalls", "sys_enter_not_yet_known", 44);
	assert_int_equal(find("syscalls:uname", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 2);
	assert_true(has(&catalog, "syscalls", "syscall_entry_uname") &&
		    has(&catalog, "syscalls", "syscall_exit_uname"));
	sonde_catalog_fini(&catalog);
	assert_int_equal(find("syscalls:not_yet_known", &config, &catalog), 0);
	assert_string_equal(sonde_desc_name(catalog.events[0].desc),
			    "syscall_entry_not_yet_known");
	sonde_catalog_fini(&catalog);
}

static void a_format_that_is_none_concerns_who_named_it(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_catalog catalog;

	(void)state;
	folder_write(top, "events/bad/thing/format", "name: thing\nID: x\n");
	assert_int_equal(find("bad:thing,one", &config, &catalog), -EINVAL);
	assert_non_null(strstr(error.text, "events/bad/thing"));
	sonde_catalog_fini(&catalog);
	assert_int_equal(find("bad,one", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 2);
	sonde_catalog_fini(&catalog);
}

static void a_condition_that_makes_no_sense_is_told(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_catalog catalog;

	(void)state;
	assert_int_equal(find("one:a if value ==", &config, &catalog), -EINVAL);
	assert_non_null(strstr(error.text, "one:a"));
	sonde_catalog_fini(&catalog);
}

/* ---- switching on ---- */

static void whole_groups_are_switched_on_at_once(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_instance instance = { .fd = root };
	struct sonde_catalog catalog;

	(void)state;
	assert_int_equal(find("one,two:c", &config, &catalog), 0);
	assert_int_equal(sonde_catalog_enable(&catalog, &instance, &error), 0);
	check_file("events/one/enable", "0\n1");
	check_file("events/two/enable", "0\n");
	check_file("set_event", "two:c\n");
	sonde_catalog_fini(&catalog);
}

static void the_kernel_gets_what_it_can_test_of_a_condition(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_instance instance = { .fd = root };
	struct sonde_catalog catalog;

	(void)state;
	folder_write(top, "events/one/a/filter", "");
	assert_int_equal(find("one:a if value == 5", &config, &catalog), 0);
	assert_true(catalog.events[0].is_filter_exact);
	assert_int_equal(sonde_catalog_enable(&catalog, &instance, &error), 0);
	check_file("events/one/a/filter", catalog.events[0].filter);
	assert_non_null(strstr(catalog.events[0].filter, "value"));
	sonde_catalog_fini(&catalog);
}

static void a_filter_that_is_refused_is_tested_by_us(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_instance instance = { .fd = root };
	struct sonde_catalog catalog;

	(void)state;
	/* There is no file `filter`, so it can't be written. */
	assert_int_equal(find("one:a if value == 5", &config, &catalog), 0);
	assert_int_equal(sonde_catalog_enable(&catalog, &instance, &error), 0);
	assert_false(catalog.events[0].is_filter_exact);
	assert_non_null(catalog.events[0].condition);
	sonde_catalog_fini(&catalog);
}

static void
events_that_cannot_be_switched_on_concern_who_named_them(void **state)
{
	struct sonde_source_config config = { .rules = NULL };
	struct sonde_instance instance = { .fd = root };
	struct sonde_catalog catalog;
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/set_event", top);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(find("one:a", &config, &catalog), 0);
	assert_int_equal(sonde_catalog_enable(&catalog, &instance, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "one:a"));
	sonde_catalog_fini(&catalog);
	/* One whole group is left, which has a file of its own. */
	assert_int_equal(find("*:a,one", &config, &catalog), 0);
	assert_int_equal(catalog.nr, 3);
	assert_int_equal(sonde_catalog_enable(&catalog, &instance, &error), 0);
	assert_int_equal(catalog.nr, 2);
	assert_false(has(&catalog, "two", "a"));
	sonde_catalog_fini(&catalog);
}

/* ---- a CPU's pipe ---- */

static const struct sonde_format_page layout = {
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
	.data_size = PAGE - 16,
};

static struct sonde_convert convert;
static struct sonde_catalog one;
static struct sonde_convert_event event;
static int pipe_in = -1;

static void open_pipe(struct sonde_tracefs_stream *stream, size_t packet)
{
	static struct sonde_source_config config;
	char path[256];

	assert_int_equal(find("one:a", &config, &one), 0);
	event = (struct sonde_convert_event){ .plan = one.events[0].plan,
					      .id = 1 };
	memset(&convert, 0, sizeof(convert));
	convert.index[11] = 1;
	convert.events = &event;
	folder_write(top, "per_cpu/cpu3/stats",
		     "entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\n"
		     "oldest event ts: 0\nnow ts: 0\ndropped events: 0\n"
		     "read events: 0\n");
	(void)snprintf(path, sizeof(path), "%s/per_cpu/cpu3/trace_pipe_raw",
		       top);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(
		sonde_tracefs_stream_open(stream, root, 3, &layout, packet), 0);
	pipe_in = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(pipe_in >= 0);
}

static void close_pipe(struct sonde_tracefs_stream *stream)
{
	close(pipe_in);
	sonde_tracefs_stream_fini(stream);
	sonde_tracefs_stream_fini(stream);
	sonde_catalog_fini(&one);
}

/* A page of `nr` events of one:a; `flags` go into its commit word. */
static void send_page(uint64_t ts, uint32_t nr, uint64_t flags, uint64_t missed)
{
	uint32_t page[PAGE / 4] = { 0 };
	uint64_t commit = 16ull * nr | flags;
	uint32_t *at = page + 4;

	memcpy(page, &ts, 8);
	memcpy(page + 2, &commit, 8);
	for (uint32_t i = 0; i < nr; i++, at += 4) {
		uint16_t id = 11;
		uint32_t tid = 5;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		at[0] = 1u << 5 | 3;
#else
		at[0] = 3u << 27 | 1;
#endif
		memcpy(at + 1, &id, 2);
		memcpy(at + 2, &tid, 4);
		at[3] = i;
	}
	memcpy(at, &missed, 8);
	assert_int_equal(write(pipe_in, page, PAGE), PAGE);
}

/* Takes a chunk and returns its events; 0 if there is none. */
static uint64_t take(struct sonde_tracefs_stream *stream,
		     struct sonde_ring_chunk *chunk)
{
	int rc = sonde_tracefs_stream_peek(stream, &convert, chunk);

	assert_true(rc >= 0);
	if (!rc)
		return 0;
	sonde_tracefs_stream_advance(stream, chunk);
	/* Head, tid and a number each. */
	assert_int_equal(chunk->size % 14, 0);
	return chunk->size / 14;
}

static void what_was_read_is_delivered_as_it_comes(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;

	(void)state;
	open_pipe(&stream, 64 << 10);
	assert_int_equal(take(&stream, &chunk), 0);
	sonde_tracefs_stream_refresh(&stream, 0);
	send_page(1000, 200, 0, 0);
	send_page(2000, 3, 0, 0);
	assert_int_equal(take(&stream, &chunk), 203);
	assert_true(chunk.first && !chunk.closed);
	assert_int_equal(chunk.ts_begin, 1001);
	assert_int_equal(chunk.events_before, 0);
	assert_int_equal(chunk.events, 203);
	sonde_tracefs_stream_refresh(&stream, 0);
	send_page(3000, 2, 0, 0);
	assert_int_equal(take(&stream, &chunk), 2);
	assert_true(!chunk.first && !chunk.closed);
	assert_int_equal(chunk.events, 205);
	close_pipe(&stream);
}

static void a_page_that_is_not_half_full_ends_a_round(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;

	(void)state;
	open_pipe(&stream, 64 << 10);
	send_page(1000, 3, 0, 0);
	send_page(2000, 4, 0, 0);
	assert_int_equal(take(&stream, &chunk), 3);
	assert_int_equal(take(&stream, &chunk), 0);
	sonde_tracefs_stream_refresh(&stream, 0);
	assert_int_equal(take(&stream, &chunk), 4);
	/* When nothing is recorded any more, everything is read. */
	stream.is_ended = true;
	sonde_tracefs_stream_refresh(&stream, 0);
	send_page(3000, 5, 0, 0);
	send_page(4000, 6, 0, 0);
	assert_int_equal(take(&stream, &chunk), 11);
	close_pipe(&stream);
}

static void full_packets_are_closed_and_numbered(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;
	uint64_t nr = 0;
	uint64_t seq = 0;
	uint64_t end = 0;

	(void)state;
	open_pipe(&stream, 1000);
	for (uint64_t i = 1; i <= 3; i++)
		send_page(i * 1000, 200, 0, 0);
	for (uint64_t n; (n = take(&stream, &chunk)); nr += n) {
		assert_true(chunk.first);
		assert_int_equal(chunk.seq, seq++);
		assert_int_equal(chunk.events_before, nr);
		assert_int_equal(chunk.events, nr + n);
		assert_true(chunk.ts_begin >= end);
		if (chunk.closed) {
			assert_true(chunk.ts_end >= chunk.ts_begin);
			end = chunk.ts_end;
		}
	}
	assert_int_equal(nr, 600);
	assert_true(seq > 8);
	close_pipe(&stream);
}

static void peeking_twice_gives_the_same_and_more(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk first;
	struct sonde_ring_chunk second;

	(void)state;
	open_pipe(&stream, 64 << 10);
	send_page(1000, 10, 0, 0);
	assert_int_equal(sonde_tracefs_stream_peek(&stream, &convert, &first),
			 1);
	assert_int_equal(sonde_tracefs_stream_peek(&stream, &convert, &second),
			 1);
	assert_ptr_equal(first.data, second.data);
	assert_int_equal(first.size, second.size);
	assert_int_equal(first.events, second.events);
	assert_int_equal(first.ts_begin, second.ts_begin);
	assert_int_equal(first.seq, second.seq);
	assert_true(first.first && second.first);
	sonde_tracefs_stream_refresh(&stream, 0);
	send_page(2000, 10, 0, 0);
	assert_int_equal(take(&stream, &second), 20);
	assert_ptr_equal(first.data, second.data);
	close_pipe(&stream);
}

static void what_was_overwritten_lies_between_two_packets(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;
	struct sonde_source_counts counts;

	(void)state;
	open_pipe(&stream, 64 << 10);
	stream.is_ended = true;
	send_page(1000, 10, 1ull << 31 | 1ull << 30, 100);
	send_page(2000, 10, 0, 0);
	send_page(3000, 7, 1ull << 31, 0); /* how many, `stats` says */
	folder_write(top, "per_cpu/cpu3/stats",
		     "entries: 27\noverrun: 150\ncommit overrun: 0\nbytes: 0\n"
		     "dropped events: 0\nread events: 0\n");
	assert_int_equal(take(&stream, &chunk), 20);
	assert_true(chunk.first && chunk.closed);
	assert_int_equal(chunk.events_before, 100);
	assert_int_equal(chunk.events, 120);
	assert_int_equal(take(&stream, &chunk), 7);
	assert_true(chunk.first && !chunk.closed);
	assert_int_equal(chunk.events_before, 170);
	assert_int_equal(chunk.events, 177);
	sonde_tracefs_stream_count(&stream, &counts);
	assert_int_equal(counts.delivered, 27);
	assert_int_equal(counts.overwritten, 150);
	assert_int_equal(counts.lost_full, 0);
	close_pipe(&stream);
}

/* The kernel counts what it doesn't give: at first, and to the end. */
static void what_the_kernel_keeps_is_tried_again_and_counted(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;
	struct sonde_source_counts counts;

	(void)state;
	open_pipe(&stream, 64 << 10);
	send_page(1000, 10, 0, 0);
	assert_int_equal(take(&stream, &chunk), 10);
	assert_int_equal(take(&stream, &chunk), 0);
	stream.is_ended = true;
	sonde_tracefs_stream_refresh(&stream, 0);
	folder_write(top, "per_cpu/cpu3/stats",
		     "entries: 38\noverrun: 0\ncommit overrun: 0\nbytes: 0\n"
		     "dropped events: 0\nread events: 12\n");
	assert_int_equal(take(&stream, &chunk), 0);
	assert_int_equal(stream.nr_refused, 101);
	sonde_tracefs_stream_count(&stream, &counts);
	assert_int_equal(counts.delivered, 10);
	assert_int_equal(counts.lost_unread, 40);
	/* As if it had come in time. */
	stream.nr_refused = 0;
	sonde_tracefs_stream_refresh(&stream, 0);
	folder_write(top, "per_cpu/cpu3/stats",
		     "entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\n"
		     "dropped events: 0\nread events: 50\n");
	send_page(2000, 40, 0, 0);
	assert_int_equal(take(&stream, &chunk), 40);
	assert_int_equal(take(&stream, &chunk), 0);
	sonde_tracefs_stream_count(&stream, &counts);
	assert_int_equal(counts.delivered, 50);
	assert_int_equal(counts.lost_unread, 0);
	close_pipe(&stream);
}

static void what_the_kernel_dropped_is_counted(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;
	struct sonde_source_counts counts;

	(void)state;
	open_pipe(&stream, 64 << 10);
	folder_write(top, "per_cpu/cpu3/stats",
		     "entries: 27\noverrun: 0\ncommit overrun: 3\nbytes: 0\n"
		     "dropped events: 18446744073709551\nread events: 0\n");
	send_page(1000, 10, 0, 0);
	assert_int_equal(take(&stream, &chunk), 10);
	assert_int_equal(chunk.discarded, 18446744073709554);
	sonde_tracefs_stream_count(&stream, &counts);
	assert_int_equal(counts.lost_full, 18446744073709554);
	assert_int_equal(counts.delivered, 10);
	close_pipe(&stream);
}

static void a_page_that_makes_no_sense_is_an_error(void **state)
{
	struct sonde_tracefs_stream stream;
	struct sonde_ring_chunk chunk;

	(void)state;
	open_pipe(&stream, 64 << 10);
	send_page(1000, 10, 1u << 20, 0);
	assert_int_equal(sonde_tracefs_stream_peek(&stream, &convert, &chunk),
			 -EPROTO);
	close_pipe(&stream);
}

#define GOOD "entries: 1\nread events: 1\n"

static void statistics_without_what_we_need_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		GOOD "overrun: 1\n",
		GOOD "overrun: 1\ncommit overrun: 1\ndropped events: x\n",
		GOOD "overrun: 1\ncommit overrun: 1\ndropped events: 1",
		GOOD "overrun: \ncommit overrun: 1\ndropped events: 1\n",
		(GOOD "overrun: 99999999999999999999\ncommit overrun: 1\n"
		      "dropped events: 1\n"),
		("entries: 1\noverrun: 1\ncommit overrun: 1\n"
		 "dropped events: 1\n"),
		("read events: 1\noverrun: 1\ncommit overrun: 1\n"
		 "dropped events: 1\n"),
	};
	struct sonde_tracefs_stream_losses losses;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (sonde_tracefs_stream_parse_losses(texts[i], &losses) !=
		    -EINVAL)
			fail_msg("taken: %s", texts[i]);
}

/* ---- symbols ---- */

/* Looked for in this very program. */
__attribute__((noinline, used)) int sonde_test_marked(int x);
int sonde_test_marked(int x)
{
	return x * 77 + 3;
}

static const uint8_t *map_self(size_t *ret_size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE, fd, 0);
	assert_true(bytes != MAP_FAILED);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static void a_function_is_found_where_its_code_is(void **state)
{
	size_t size;
	const uint8_t *bytes = map_self(&size);
	int (*function)(int) = sonde_test_marked;
	const void *code;
	uint64_t offset;

	(void)state;
	memcpy(&code, &function, sizeof(code));
	assert_int_equal(sonde_symbol_offset(bytes, size, "sonde_test_marked",
					     &offset),
			 0);
	assert_true(offset < size - 16);
	assert_memory_equal(bytes + offset, code, 4);
	assert_int_equal(sonde_symbol_offset(bytes, size, "sonde_test_mark",
					     &offset),
			 -ENOENT);
	/* Used here, but defined elsewhere. */
	assert_int_equal(sonde_symbol_offset(bytes, size, "mkfifo", &offset),
			 -ENOENT);
	assert_int_equal(sonde_symbol_offset("#!/bin/sh\n", 10, "main",
					     &offset),
			 -ENOEXEC);
}

/* The address sanitizer watches. */
static void a_damaged_file_is_never_read_outside(void **state)
{
	size_t size;
	const uint8_t *bytes = map_self(&size);
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t length = round % 3 ? size : size * round / 300;
		uint8_t *copy = malloc(length + 1);
		uint64_t offset;

		memcpy(copy, bytes, length);
		for (int i = 0; i < 8 && length; i++) {
			random = random * 1664525 + 1013904223;
			/* Mostly in the heads. */
			copy[random % (i % 2 ? length : 1024 % length + 1)] =
				(uint8_t)(random >> 24);
		}
		(void)sonde_symbol_offset(copy, length, "sonde_test_marked",
					  &offset);
		free(copy);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_select_by_group_name_and_glob),
		TEST(what_another_source_delivers_is_left_to_it),
		TEST(calls_are_known_by_the_names_programs_use),
		TEST(a_format_that_is_none_concerns_who_named_it),
		TEST(a_condition_that_makes_no_sense_is_told),
		TEST(whole_groups_are_switched_on_at_once),
		TEST(the_kernel_gets_what_it_can_test_of_a_condition),
		TEST(a_filter_that_is_refused_is_tested_by_us),
		TEST(events_that_cannot_be_switched_on_concern_who_named_them),
		TEST(what_was_read_is_delivered_as_it_comes),
		TEST(a_page_that_is_not_half_full_ends_a_round),
		TEST(full_packets_are_closed_and_numbered),
		TEST(peeking_twice_gives_the_same_and_more),
		TEST(what_was_overwritten_lies_between_two_packets),
		TEST(what_the_kernel_keeps_is_tried_again_and_counted),
		TEST(what_the_kernel_dropped_is_counted),
		TEST(a_page_that_makes_no_sense_is_an_error),
		cmocka_unit_test(statistics_without_what_we_need_are_refused),
		cmocka_unit_test(a_function_is_found_where_its_code_is),
		cmocka_unit_test(a_damaged_file_is_never_read_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
