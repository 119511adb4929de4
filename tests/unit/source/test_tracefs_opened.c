/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names of files as they are opened, in the tracefs source: what is looked up
 * in a directory like /proc, and which opens in a sub-buffer get an event of
 * their own.
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
#include "source/tracefs/convert.h"
#include "types/desc.h"

#define PAGE 4096u

/* ---- a directory like /proc ---- */

static char top[64];
static struct sonde_open_files opened;

static void make_thread(uint32_t tid, uint32_t pid)
{
	char path[64];
	char text[256];

	(void)snprintf(path, sizeof(path), "%u/status", tid);
	(void)snprintf(text, sizeof(text),
		       "Name:\tTgid:\t9\nUmask:\t0022\nTgid:\t%u\nPid:\t%u\n",
		       pid, tid);
	folder_write(top, path, text);
}

static void make_file(uint32_t tid, int fd, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%u/fdinfo/%d", tid, fd);
	folder_write(top, path, "pos:\t0\nflags:\t0100001\nmnt_id:\t1\n");
	(void)snprintf(path, sizeof(path), "%s/%u/fd", top, tid);
	(void)mkdir(path, 0700); /* may be there */
	(void)snprintf(path, sizeof(path), "%s/%u/fd/%d", top, tid, fd);
	(void)unlink(path); /* may not be there */
	assert_int_equal(symlink(name, path), 0);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(top, sizeof(top), "/tmp/sonde-test-XXXXXX");
	assert_non_null(mkdtemp(top));
	assert_int_equal(sonde_open_files_init(&opened, top), 0);
	opened.id = 7;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sonde_open_files_fini(&opened);
	return folder_remove(top);
}

/* ---- looks ---- */

/* Whether a payload is what `text` says of it, by the event's description. */
static bool is_so(const uint8_t *payload, size_t size, const char *text)
{
	struct sonde_condition *condition;
	char why[200] = "";
	bool holds;

	if (sonde_condition_new(sonde_open_files_desc(&opened), text, why,
				sizeof(why), &condition))
		fail_msg("%s: %s", text, why);
	holds = sonde_condition_test(condition, payload, size, 1, 0);
	sonde_condition_free(condition);
	return holds;
}

static void the_event_says_whose_file_it_is_and_what(void **state)
{
	size_t size;

	(void)state;
	make_thread(12, 10);
	make_file(12, 5, "/some/file");
	size = sonde_open_files_look(&opened, 12, 5);
	assert_int_equal(size, 20 + sizeof("/some/file"));
	assert_string_equal(sonde_desc_name(sonde_open_files_desc(&opened)),
			    "lttng_statedump_file_descriptor");
	assert_true(is_so(opened.payload, size,
			  "pid == 10 && file_table_address == 10 && fd == 5 && "
			  "flags == 0x8001 && filename == \"/some/file\""));
	assert_false(is_so(opened.payload, size, "filename == \"/some\""));
}

static void what_is_gone_or_was_not_opened_has_no_name(void **state)
{
	static const char *const names[] = { "socket:[77]", "pipe:[5]",
					     "anon_inode:[eventpoll]" };

	(void)state;
	make_thread(12, 12);
	make_file(12, 5, "/some/file");
	assert_int_equal(sonde_open_files_look(&opened, 12, 4), 0);
	assert_int_equal(sonde_open_files_look(&opened, 13, 5), 0);
	for (size_t i = 0; i < 3; i++) {
		make_file(12, 6, names[i]);
		assert_int_equal(sonde_open_files_look(&opened, 12, 6), 0);
	}
	folder_write(top, "12/fdinfo/5", "flags:\n");
	assert_int_equal(sonde_open_files_look(&opened, 12, 5), 0);
	folder_write(top, "12/fdinfo/5", "");
	assert_int_equal(sonde_open_files_look(&opened, 12, 5), 0);
	folder_write(top, "20/status", "Name:\tx\nTgid:\t99999999999\n");
	make_file(20, 5, "/some/file");
	assert_int_equal(sonde_open_files_look(&opened, 20, 5), 0);
}

static void a_round_has_so_many_looks(void **state)
{
	(void)state;
	make_thread(12, 12);
	make_file(12, 5, "/some/file");
	for (uint32_t i = 0; i < SONDE_OPENED_MAX; i++)
		assert_int_not_equal(sonde_open_files_look(&opened, 12, 5), 0);
	assert_int_equal(sonde_open_files_look(&opened, 12, 5), 0);
	sonde_open_files_refresh(&opened);
	assert_int_not_equal(sonde_open_files_look(&opened, 12, 5), 0);
}

static void a_process_is_asked_for_anew_in_each_round(void **state)
{
	size_t size;

	(void)state;
	make_thread(12, 10);
	make_file(12, 5, "/some/file");
	assert_int_not_equal(sonde_open_files_look(&opened, 12, 5), 0);
	make_thread(12, 11); /* another thread has the number */
	sonde_open_files_refresh(&opened);
	size = sonde_open_files_look(&opened, 12, 5);
	assert_true(is_so(opened.payload, size, "pid == 11"));
}

/* ---- sub-buffers ---- */

#define OPEN_TYPE  100u
#define CLOSE_TYPE 101u
#define OPEN_ID    1u
#define CLOSE_ID   2u

static const struct sonde_format_page layout = {
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
	.data_size = PAGE - 16,
};

/* An open's exit has an s64 at 16, a close's entry an s32. */
static const struct sonde_tracefs_plan plans[2] = {
	{ .need = 24,
	  .fixed = 8,
	  .nr = 1,
	  .steps = { { .kind = SONDE_TRACEFS_STEP_COPY_8,
		       .from = 16,
		       .bytes = 8 } } },
	{ .need = 20,
	  .fixed = 4,
	  .nr = 1,
	  .steps = { { .kind = SONDE_TRACEFS_STEP_COPY_4,
		       .from = 16,
		       .bytes = 4 } } },
};

static struct sonde_convert_event events[2];
static struct sonde_convert convert;
static _Alignas(8) uint8_t page_bytes[PAGE + SONDE_CONVERT_SLACK];
static size_t used;

static void begin(void)
{
	memset(page_bytes, 0, sizeof(page_bytes));
	used = 16;
	events[0] = (struct sonde_convert_event){ .plan = &plans[0],
						  .id = OPEN_ID,
						  .file = SONDE_CONVERT_OPENED,
						  .file_at = 16 };
	events[1] = (struct sonde_convert_event){ .plan = &plans[1],
						  .id = CLOSE_ID,
						  .file = SONDE_CONVERT_CLOSES,
						  .file_at = 16 };
	memset(&convert, 0, sizeof(convert));
	convert.index[OPEN_TYPE] = 1;
	convert.index[CLOSE_TYPE] = 2;
	convert.events = events;
	convert.opened = &opened;
}

static void put(uint16_t type, uint32_t tid, int64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint32_t head = 1u << 5 | 6;
#else
	uint32_t head = 6u << 27 | 1;
#endif

	memcpy(page_bytes + used, &head, 4);
	memcpy(page_bytes + used + 4, &type, 2);
	memcpy(page_bytes + used + 8, &tid, 4);
	memcpy(page_bytes + used + 20, &value, 8);
	used += 28;
}

static void open_page(struct sonde_page *page)
{
	uint64_t commit = used - 16;

	memcpy(page_bytes + 8, &commit, 8);
	assert_int_equal(sonde_page_open(&layout, page_bytes, PAGE, page), 0);
}

/* What comes out, a letter for each record: o, c, and n with the name's last
 * letter behind it. */
static void check_out(const struct sonde_convert_out *out, const char *expected)
{
	const uint8_t *at = out->start;
	char seen[256] = "";
	size_t n = 0;

	while (at < out->packer.at) {
		uint16_t id;

		assert_true(n < sizeof(seen) - 3);
		memcpy(&id, at, 2);
		at += SONDE_HEAD_LARGE + 4;
		if (id == opened.id) {
			size_t size = 20 + strlen((const char *)at + 20) + 1;

			seen[n++] = 'n';
			seen[n++] = (char)at[size - 2];
			at += size;
		} else {
			seen[n++] = id == OPEN_ID ? 'o' : 'c';
			at += id == OPEN_ID ? 8 : 4;
		}
	}
	assert_ptr_equal(at, out->packer.at);
	assert_string_equal(seen, expected);
}

static void check_page(const char *expected, uint64_t nr_seen)
{
	uint8_t packet[16384];
	struct sonde_convert_out out;
	struct sonde_page page;

	open_page(&page);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	assert_int_equal(sonde_convert(&convert, &page, &out), 0);
	check_out(&out, expected);
	assert_int_equal(out.seen, nr_seen);
}

static void make_two(void)
{
	make_thread(12, 10);
	make_thread(13, 10);
	make_thread(20, 20);
	make_file(12, 5, "/a");
	make_file(13, 5, "/a");
	make_file(12, 6, "/b");
	make_file(20, 5, "/x");
}

static void an_open_that_succeeded_is_followed_by_the_name(void **state)
{
	(void)state;
	make_two();
	begin();
	put(OPEN_TYPE, 12, 5);
	put(OPEN_TYPE, 12, -2);
	put(OPEN_TYPE, 12, 1ll << 32 | 5); /* no number of a file */
	put(OPEN_TYPE, 12, 6);
	put(OPEN_TYPE, 20, 5); /* another's */
	put(OPEN_TYPE, 20, 9); /* closed by now */
	check_page("onaooonbonxo", 6);
}

static void what_was_closed_or_opened_again_meanwhile_has_no_name(void **state)
{
	(void)state;
	make_two();
	begin();
	put(OPEN_TYPE, 12, 5);
	put(OPEN_TYPE, 12, 6);
	put(CLOSE_TYPE, 12, 5);
	put(OPEN_TYPE, 12, 5);
	check_page("oonbcona", 4);
	begin();
	put(OPEN_TYPE, 12, 5);
	put(CLOSE_TYPE, 13, 5); /* the same process */
	check_page("oc", 2);
	begin();
	put(OPEN_TYPE, 12, 5);
	put(CLOSE_TYPE, 20, 5); /* not the same */
	check_page("onac", 2);
}

static void who_does_not_ask_gets_no_names(void **state)
{
	(void)state;
	make_two();
	begin();
	convert.opened = NULL;
	put(OPEN_TYPE, 12, 5);
	check_page("o", 1);
	begin();
	convert.self[0] = 12;
	put(OPEN_TYPE, 12, 5);
	check_page("", 1);
	assert_int_equal(opened.left, SONDE_OPENED_MAX);
}

/* An open and its name are not torn apart, whatever the packet holds. */
static void names_go_into_the_packets_of_their_opens(void **state)
{
	uint8_t packet[SONDE_OPENED_PAYLOAD_BYTES + 128];
	struct sonde_convert_out out;
	struct sonde_page page;
	char name[1000] = "/";
	uint64_t nr = 0;
	int rc = 1;

	(void)state;
	memset(name + 1, 'z', sizeof(name) - 2);
	make_two();
	begin();
	for (int i = 0; i < 100; i++)
		put(OPEN_TYPE, 12, i % 2 ? -1 : 1000 + i);
	for (int i = 0; i < 100; i += 2)
		make_file(12, 1000 + i, name);
	open_page(&page);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	while (rc > 0) {
		rc = sonde_convert(&convert, &page, &out);
		assert_true(rc >= 0);
		assert_true(sonde_convert_out_used(&out) <= sizeof(packet));
		assert_true(packet[0] == OPEN_ID);
		nr += sonde_convert_out_used(&out);
		sonde_convert_out_reset(&out);
	}
	assert_int_equal(out.packer.nr, 150);
	assert_int_equal(out.seen, 100);
	assert_int_equal(out.too_large, 0);
	assert_int_equal(nr, 150 * 10 + 100 * 8 + 50 * (20 + sizeof(name)));
}

static void a_record_that_is_cut_names_nothing(void **state)
{
	uint8_t packet[16384];
	struct sonde_convert_out out;
	struct sonde_page page;
	uint32_t head;

	(void)state;
	make_two();
	begin();
	put(OPEN_TYPE, 12, 5);
	put(CLOSE_TYPE, 12, 5);
	/* Its data are 4 bytes: not even the common fields. */
	memcpy(&head, page_bytes + 16 + 28, 4);
	head -= 5;
	memcpy(page_bytes + 16 + 28, &head, 4);
	used -= 20;
	open_page(&page);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	assert_int_equal(sonde_convert(&convert, &page, &out), -EPROTO);
	check_out(&out, "ona");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_event_says_whose_file_it_is_and_what),
		TEST(what_is_gone_or_was_not_opened_has_no_name),
		TEST(a_round_has_so_many_looks),
		TEST(a_process_is_asked_for_anew_in_each_round),
		TEST(an_open_that_succeeded_is_followed_by_the_name),
		TEST(what_was_closed_or_opened_again_meanwhile_has_no_name),
		TEST(who_does_not_ask_gets_no_names),
		TEST(names_go_into_the_packets_of_their_opens),
		TEST(a_record_that_is_cut_names_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
