/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the tracefs source makes of the kernel's bytes: formats, sub-buffers,
 * records. All of it from memory; test_tracefs_files.c has the files, and
 * test_tracefs_live.c the kernel.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/timing.h"
#include "source/tracefs/convert.h"
#include "types/desc.h"

#define PAGE 4096u

static const struct sonde_format_page layout = {
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
	.data_size = PAGE - 16,
};

#define COMMON                                                                 \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\t"    \
	"signed:0;\n"                                                          \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char switch_format[] =
	"name: sched_switch\nID: 372\nformat:\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"%s\", REC->prev_comm\n"
	"field:int hostile;\toffset:8;\tsize:4;\tsigned:1;\n";

static const char openat_format[] =
	"name: sys_enter_openat\nID: 782\nformat:\n" COMMON
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\t"
	"signed:0;\n";

static const char mixed_format[] =
	"name: mixed\nID: 9\nformat:\n" COMMON
	"\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] near;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u16[] words;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 pair[2];\toffset:20;\tsize:8;\tsigned:0;\n"
	"\tfield:bool on;\toffset:28;\tsize:1;\tsigned:0;\n"
	"\tfield:struct thing odd;\toffset:32;\tsize:12;\tsigned:0;\n"
	"\tfield:unsigned long ip;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\tfield:char rest[];\toffset:56;\tsize:0;\tsigned:0;\n";

static struct sonde_format parse(const char *text)
{
	struct sonde_format format;

	assert_int_equal(sonde_format_parse(text, strlen(text), &format), 0);
	return format;
}

/* ---- formats ---- */

static void fields_have_the_kinds_that_their_declarations_say(void **state)
{
	static const struct {
		const char *name;
		enum sonde_format_kind kind;
		uint32_t offset, size, element;
	} expected[] = {
		{ "text", SONDE_FORMAT_STRING, 8, 4, 1 },
		{ "near", SONDE_FORMAT_STRING, 12, 4, 1 },
		{ "words", SONDE_FORMAT_SEQUENCE, 16, 4, 2 },
		{ "pair", SONDE_FORMAT_ARRAY, 20, 8, 4 },
		{ "on", SONDE_FORMAT_INT, 28, 1, 0 },
		{ "odd", SONDE_FORMAT_ARRAY, 32, 12, 1 },
		{ "ip", SONDE_FORMAT_INT, 48, 8, 0 },
	};
	struct sonde_format format = parse(mixed_format);

	(void)state;
	assert_int_equal(format.id, 9);
	assert_string_equal(format.name, "mixed");
	assert_int_equal(format.nr, 4 + 7);
	for (size_t i = 0; i < 7; i++) {
		const struct sonde_format_field *field = &format.fields[4 + i];

		assert_string_equal(field->name, expected[i].name);
		assert_int_equal(field->kind, expected[i].kind);
		assert_int_equal(field->offset, expected[i].offset);
		assert_int_equal(field->size, expected[i].size);
		assert_int_equal(field->element, expected[i].element);
		assert_false(field->is_common);
	}
	assert_true(sonde_format_find(&format, "near")->is_relative);
	assert_true(sonde_format_find(&format, "on")->is_bool);
	assert_true(sonde_format_find(&format, "ip")->is_pointer);
	assert_true(sonde_format_find(&format, "common_pid")->is_common);
	assert_null(sonde_format_find(&format, "rest"));
}

static void what_the_print_format_says_is_no_field(void **state)
{
	struct sonde_format format = parse(switch_format);

	(void)state;
	assert_int_equal(format.nr, 4 + 7);
}

static void hostile_formats_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		"ID: 5\n",
		"name: x\nID: 99999999999\n",
		"name: x\nID: -1\n",
		"name: 1x\nID: 5\n",
		"name: a b\nID: 5\n",
		"name: x\nID: 5\nfield:int a;\toffset:8;\n",
		"name: x\nID: 5\nfield:int a;\toffset:65535;\tsize:4;\n",
		"name: x\nID: 5\nfield:int a;\toffset:8;\tsize:65535;\n",
		"name: x\nID: 5\nfield:int a;\toffset:8;\tsize:4294967295;\n",
		"name: x\nID: 5\nfield:int;;;;\toffset:8;\tsize:4;\n",
		"name: x\nID: 5\nfield:;\toffset:8;\tsize:4;\n",
		"name: x\nID: 5\nfield:int a-b[;\toffset:8;\tsize:4;\n",
		"name: x\nID: 5\nfield:int []];\toffset:8;\tsize:4;\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sonde_format format;

		if (sonde_format_parse(texts[i], strlen(texts[i]), &format) !=
		    -EINVAL)
			fail_msg("taken: %s", texts[i]);
	}
}

static void
a_format_cut_off_anywhere_is_refused_or_has_whole_fields(void **state)
{
	size_t size = strlen(switch_format);

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		struct sonde_format format;
		char *copy = malloc(cut + 1);

		memcpy(copy, switch_format, cut);
		if (!sonde_format_parse(copy, cut, &format)) {
			assert_true(format.nr <= 11);
			for (uint32_t i = 0; i < format.nr; i++) {
				assert_true(format.fields[i].size > 0);
				assert_true(format.fields[i].offset +
						    format.fields[i].size <=
					    64);
			}
		}
		free(copy);
	}
}

static void more_fields_than_fit_are_cut(void **state)
{
	char text[16384] = "name: x\nID: 5\n";
	size_t used = strlen(text);
	struct sonde_format format;

	(void)state;
	for (int i = 0; i < 100; i++) {
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"field:int f%d;\toffset:%d;\tsize:4;\n", i, 8 + 4 * i);
	}
	format = parse(text);
	assert_int_equal(format.nr, SONDE_FORMAT_FIELDS);
	assert_true(format.is_cut);
}

static void the_layout_of_pages_is_read_and_checked(void **state)
{
	static const char good[] =
		"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
	static const char overlap[] =
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: char data;\toffset:12;\tsize:4080;\tsigned:0;\n";
	struct sonde_format_page page;

	(void)state;
	assert_int_equal(sonde_format_parse_page(good, strlen(good), &page), 0);
	assert_int_equal(page.commit_offset, 8);
	assert_int_equal(page.commit_size, 8);
	assert_int_equal(page.data_offset, 16);
	assert_int_equal(page.data_size, 4080);
	assert_int_equal(sonde_format_parse_page(overlap, strlen(overlap),
						 &page),
			 -EINVAL);
	assert_int_equal(sonde_format_parse_page("", 0, &page), -EINVAL);
}

static void only_the_record_header_we_know_is_taken(void **state)
{
	static const char good[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";
	char other[sizeof(good)];

	(void)state;
	assert_true(sonde_format_event_header_is_known(good, strlen(good)));
	memcpy(other, good, sizeof(good));
	*strstr(other, "27") = '3';
	assert_false(sonde_format_event_header_is_known(other, strlen(other)));
	assert_false(sonde_format_event_header_is_known("", 0));
}

/* ---- pages ---- */

struct maker {
	_Alignas(8) uint8_t bytes[PAGE + SONDE_CONVERT_SLACK];
	size_t used;
};

static void put(struct maker *maker, const void *bytes, size_t size)
{
	assert_true(maker->used + size <= PAGE);
	memcpy(maker->bytes + maker->used, bytes, size);
	maker->used += size;
}

static void put_word(struct maker *maker, uint32_t word)
{
	put(maker, &word, sizeof(word));
}

static void set_commit(struct maker *maker, uint64_t commit)
{
	memcpy(maker->bytes + 8, &commit, sizeof(commit));
}

static void finish(struct maker *maker)
{
	set_commit(maker, maker->used - 16);
}

static void begin(struct maker *maker, uint64_t ts)
{
	memset(maker->bytes, 0xee, sizeof(maker->bytes));
	memcpy(maker->bytes, &ts, sizeof(ts));
	maker->used = 16;
}

static void put_head(struct maker *maker, uint32_t type, uint32_t delta)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	put_word(maker, delta << 5 | type);
#else
	put_word(maker, type << 27 | delta);
#endif
}

static void put_record(struct maker *maker, uint32_t delta, const void *data,
		       size_t size)
{
	put_head(maker, (uint32_t)size / 4, delta);
	put(maker, data, size);
}

static void put_long_record(struct maker *maker, uint32_t delta,
			    const void *data, size_t size)
{
	put_head(maker, 0, delta);
	put_word(maker, (uint32_t)size + 4);
	put(maker, data, size);
}

static void time_goes_through_extends_stamps_and_padding(void **state)
{
	static const uint64_t expected[] = { 1005,
					     1005,
					     1005 + (3ull << 27) + 7 + 2,
					     (9ull << 27) + 4 + 1,
					     (9ull << 27) + 5 + 100 + 6,
					     (9ull << 27) + 5 + 100 + 6 + 8 };
	uint32_t data = 42;
	struct maker maker;
	struct sonde_page page;
	struct sonde_page_record record;

	(void)state;
	begin(&maker, 1000);
	put_record(&maker, 5, &data, 4);
	put_record(&maker, 0, &data, 4); /* nested */
	put_head(&maker, 30, 7);
	put_word(&maker, 3);
	put_record(&maker, 2, &data, 4);
	put_head(&maker, 31, 4);
	put_word(&maker, 9);
	put_record(&maker, 1, &data, 4);
	put_head(&maker, 29, 100); /* taken back: its time counts */
	put_word(&maker, 8);
	put_word(&maker, 0xbad);
	put_record(&maker, 6, &data, 4);
	put_head(&maker, 29, 1); /* 1 stands for 0 */
	put_word(&maker, 4);
	put_long_record(&maker, 8, &data, 4);
	put_head(&maker, 29, 0); /* to the end */
	put_word(&maker, 0xbad);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(sonde_page_next(&page, &record), 1);
		assert_int_equal(record.ts, expected[i]);
		assert_int_equal(record.size, 4);
		assert_memory_equal(record.data, &data, 4);
	}
	assert_int_equal(sonde_page_next(&page, &record), 0);
	assert_int_equal(sonde_page_next(&page, &record), 0);
}

static void absolute_times_have_the_upper_bits_of_those_before(void **state)
{
	const uint64_t high = 3ull << 59;
	const uint64_t late = (1ull << 59) - 10;
	uint32_t data = 0;
	struct maker maker;
	struct sonde_page page;
	struct sonde_page_record record;

	(void)state;
	begin(&maker, high | late);
	put_head(&maker, 31, (late + 5) & 0x7ffffff);
	put_word(&maker, (uint32_t)((late + 5) >> 27));
	put_record(&maker, 0, &data, 4);
	put_head(&maker, 31, 20); /* beyond 2^59: the upper bits change */
	put_word(&maker, 0);
	put_record(&maker, 0, &data, 4);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_page_next(&page, &record), 1);
	assert_int_equal(record.ts, (high | late) + 5);
	assert_int_equal(sonde_page_next(&page, &record), 1);
	assert_int_equal(record.ts, (4ull << 59) + 20);
}

static void a_page_says_how_many_were_lost_before_it(void **state)
{
	struct maker maker;
	struct sonde_page page;
	uint32_t data = 0;
	uint64_t lost = 77;

	(void)state;
	begin(&maker, 1);
	put_record(&maker, 0, &data, 4);
	set_commit(&maker, 8 | 1ull << 31 | 1ull << 30);
	put(&maker, &lost, sizeof(lost));
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_true(page.has_missed && page.is_missed_known);
	assert_int_equal(page.missed, 77);
	set_commit(&maker, 8 | 1ull << 31);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_true(page.has_missed && !page.is_missed_known);
	/* No room for the number it claims to have. */
	set_commit(&maker, (PAGE - 16) | 1ull << 31 | 1ull << 30);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_true(page.has_missed && !page.is_missed_known);
	set_commit(&maker, 8);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_false(page.has_missed);
}

static void a_page_whose_commit_lies_is_refused(void **state)
{
	struct maker maker;
	struct sonde_page page;

	(void)state;
	begin(&maker, 1);
	set_commit(&maker, PAGE - 15);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page),
			 -EPROTO);
	set_commit(&maker, (1u << 27) - 1);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page),
			 -EPROTO);
	set_commit(&maker, 8);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, 23, &page),
			 -EPROTO);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, 24, &page), 0);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, 15, &page),
			 -EPROTO);
}

/* What is before the tear is delivered. */
static void check_torn(struct maker *maker)
{
	struct sonde_page page;
	struct sonde_page_record record;

	finish(maker);
	assert_int_equal(sonde_page_open(&layout, maker->bytes, PAGE, &page),
			 0);
	assert_int_equal(sonde_page_next(&page, &record), 1);
	assert_int_equal(sonde_page_next(&page, &record), -EPROTO);
	assert_int_equal(sonde_page_next(&page, &record), -EPROTO);
}

static void a_torn_page_ends_in_an_error_after_what_is_whole(void **state)
{
	static const struct {
		uint32_t type, delta, nr_words, word;
	} tears[] = {
		{ 2, 0, 1, 0 },           /* a word too few */
		{ 28, 0, 0, 0 },          /* nothing of it */
		{ 0, 0, 0, 0 },           /* no length */
		{ 0, 0, 1, 3 },           /* a length below its own size */
		{ 0, 0, 1, 0xffffffff },  /* and beyond all */
		{ 0, 0, 1, 12 },          /* just beyond the end */
		{ 29, 5, 0, 0 },          /* padding without length */
		{ 29, 5, 1, 0 },          /* that would not move on */
		{ 29, 5, 1, 0xfffffffc }, /* or move out */
		{ 30, 5, 0, 0 },          { 31, 5, 0, 0 },
	};
	uint32_t data = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(tears) / sizeof(tears[0]); i++) {
		struct maker maker;

		begin(&maker, 1);
		put_record(&maker, 1, &data, 4);
		put_head(&maker, tears[i].type, tears[i].delta);
		for (uint32_t k = 0; k < tears[i].nr_words; k++)
			put_word(&maker, tears[i].word);
		check_torn(&maker);
	}
}

/* ---- plans ---- */

struct made {
	struct sonde_format format;
	_Alignas(8) uint8_t room[SONDE_DESC_MAX];
	const struct sonde_desc *desc;
	struct sonde_tracefs_plan plan;
	struct sonde_tracefs_plan_fields fields;
};

static int try_make(struct made *made,
		    const struct sonde_tracefs_plan_event *event,
		    const char *text)
{
	made->format = parse(text);
	made->desc = (const void *)made->room;
	return sonde_tracefs_plan_make(event, &made->format, made->room,
				       &made->plan, &made->fields);
}

/* The characters, without the NUL. */
static void put_chars(uint8_t *at, const char *text)
{
	while (*text)
		*at++ = (uint8_t)*text++;
}

static struct made *make(const struct sonde_tracefs_plan_event *event,
			 const char *text)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_int_equal(try_make(made, event, text), 0);
	return made;
}

static const struct sonde_tracefs_plan_event switch_event = {
	.group = "sched",
	.name = "sched_switch",
	.shown = "sched_switch",
};

static const struct sonde_tracefs_plan_event mixed_event = {
	.group = "test",
	.name = "mixed",
	.shown = "mixed",
};

static void
names_are_those_of_the_trace_and_priorities_are_shifted(void **state)
{
	static const char *const names[] = { "prev_comm", "prev_tid",
					     "prev_prio", "prev_state",
					     "next_comm", "next_tid",
					     "next_prio" };
	struct made *made = make(&switch_event, switch_format);
	struct sonde_fields it = sonde_desc_fields(made->desc);
	struct sonde_field_view field;
	uint8_t record[64 + SONDE_TRACEFS_PLAN_SLACK] = { 0 };
	uint8_t out[128 + SONDE_TRACEFS_PLAN_SLACK];
	int32_t prio[2] = { 120, 98 };
	int32_t shifted[2];

	(void)state;
	for (size_t i = 0; i < 7; i++) {
		assert_true(sonde_fields_next(&it, &field));
		assert_string_equal(field.name, names[i]);
	}
	assert_string_equal(sonde_desc_provider(made->desc), "sched");
	memcpy(record + 28, &prio[0], 4);
	memcpy(record + 60, &prio[1], 4);
	put_chars(record + 8, "abcdefghijklmnop");
	put_chars(record + 56, "wxyz");
	assert_int_equal(made->plan.fixed, 56);
	assert_ptr_equal(sonde_tracefs_plan_run(&made->plan, record, 64, out),
			 out + 56);
	memcpy(&shifted[0], out + 20, 4);
	memcpy(&shifted[1], out + 52, 4);
	assert_int_equal(shifted[0], 20);
	assert_int_equal(shifted[1], -2);
	assert_memory_equal(out, "abcdefghijklmnop", 16);
	assert_memory_equal(out + 48, "wxyz", 4);
	free(made);
}

static void what_is_adjacent_is_copied_in_one_step(void **state)
{
	struct made *made = make(&switch_event, switch_format);

	(void)state;
	/* comm and tid; prio; state, comm and tid; prio */
	assert_int_equal(made->plan.nr, 4);
	assert_int_equal(made->plan.steps[0].bytes, 20);
	assert_int_equal(made->plan.steps[2].bytes, 28);
	free(made);
}

static void located_texts_and_sequences_come_from_where_they_are(void **state)
{
	struct made *made = make(&mixed_event, mixed_format);
	uint8_t record[96 + SONDE_TRACEFS_PLAN_SLACK] = { 0 };
	uint8_t out[512];
	uint32_t loc[3] = { 6u << 16 | 64, 3u << 16 | (72 - 16),
			    5u << 16 | 80 };
	uint32_t nr = 2;

	(void)state;
	memcpy(record + 8, loc, sizeof(loc));
	put_chars(record + 64, "hello");
	put_chars(record + 72, "abc"); /* no NUL in its 3 bytes */
	put_chars(record + 80, "ABCDE");
	put_chars(record + 20, "12345678");
	assert_non_null(sonde_tracefs_plan_run(&made->plan, record, 96, out));
	assert_string_equal((char *)out, "hello");
	assert_string_equal((char *)out + 6, "abc");
	assert_memory_equal(out + 10, &nr, 4);
	assert_memory_equal(out + 14, "ABCD", 4);
	assert_memory_equal(out + 18, "12345678", 8);
	free(made);
}

static void what_is_located_outside_of_its_record_is_empty(void **state)
{
	static const uint32_t locs[] = { 0xffffffff, 1u << 16 | 96,
					 97u << 16,  2u << 16 | 95,
					 0xffff0000, 0x0000ffff };
	struct made *made = make(&mixed_event, mixed_format);

	(void)state;
	for (size_t i = 0; i < sizeof(locs) / sizeof(locs[0]); i++) {
		uint8_t *record = calloc(1, 96 + SONDE_TRACEFS_PLAN_SLACK);
		uint8_t out[1024];
		static const uint8_t empty[6] = { 0 };

		memset(record + 56, 'x', 40);
		for (int k = 0; k < 3; k++)
			memcpy(record + 8 + 4 * k, &locs[i], 4);
		assert_non_null(
			sonde_tracefs_plan_run(&made->plan, record, 96, out));
		assert_memory_equal(out, empty, 6);
		free(record);
	}
	free(made);
}

static void a_record_shorter_than_its_format_is_refused(void **state)
{
	struct made *made = make(&switch_event, switch_format);
	uint8_t record[64 + SONDE_TRACEFS_PLAN_SLACK] = { 0 };
	uint8_t out[128];

	(void)state;
	assert_null(sonde_tracefs_plan_run(&made->plan, record, 63, out));
	assert_non_null(sonde_tracefs_plan_run(&made->plan, record, 64, out));
	free(made);
}

static void formats_without_the_common_fields_are_refused(void **state)
{
	static const char *const texts[] = {
		"name: x\nID: 5\nfield:int a;\toffset:8;\tsize:4;\n",
		"name: x\nID: 5\n"
		"field:int common_type;\toffset:0;\tsize:4;\n"
		"field:int common_pid;\toffset:4;\tsize:4;\n",
		"name: x\nID: 5\n"
		"field:short common_type;\toffset:0;\tsize:2;\n"
		"field:int common_pid;\toffset:8;\tsize:4;\n",
		"name: x\nID: 65536\n" COMMON,
	};
	struct made *made = calloc(1, sizeof(*made));

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(try_make(made, &mixed_event, texts[i]),
				 -EINVAL);
	free(made);
}

static struct made *make_openat(const char *text)
{
	int nr = sonde_syscall_number(SONDE_SYSCALL_NATIVE, "openat");
	struct sonde_tracefs_plan_event event = {
		.group = "syscalls",
		.name = "sys_enter_openat",
		.shown = "syscall_entry_openat",
		.call = sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)nr),
	};

	return make(&event, text);
}

/* Bytes of a payload with scalars only. */
static size_t payload_size(const struct sonde_desc *desc)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field;
	size_t size = 0;

	while (sonde_fields_next(&it, &field))
		size += field.stored_bits / 8u;
	return size;
}

static void a_call_has_the_arguments_of_its_description(void **state)
{
	struct made *made = make_openat(openat_format);
	uint64_t record[7 + SONDE_TRACEFS_PLAN_SLACK / 8] = {
		0, 257, 0xffffff9c, 0x1234567890, 02101, 0644
	};
	uint8_t out[128];
	int32_t dfd;
	uint64_t filename;
	uint32_t rest[2];

	(void)state;
	assert_string_equal(sonde_desc_name(made->desc),
			    "syscall_entry_openat");
	assert_int_equal(payload_size(made->desc), 20);
	assert_ptr_equal(sonde_tracefs_plan_run(&made->plan, (uint8_t *)record,
						52, out),
			 out + 20);
	memcpy(&dfd, out, 4);
	memcpy(&filename, out + 4, 8);
	memcpy(rest, out + 12, 8);
	assert_int_equal(dfd, -100);
	assert_int_equal(filename, 0x1234567890);
	assert_int_equal(rest[0], 02101);
	assert_int_equal(rest[1], 0644);
	/* The kernel compares whole registers: only what is as wide here. */
	assert_int_equal(made->fields.nr, 1);
	assert_string_equal(made->fields.fields[0].name, "filename");
	free(made);
}

static void a_call_with_other_arguments_goes_by_its_format(void **state)
{
	static const char text[] =
		"name: sys_enter_openat\nID: 782\nformat:\n" COMMON
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int only;\toffset:16;\tsize:8;\tsigned:0;\n";
	struct made *made = make_openat(text);
	struct sonde_fields it = sonde_desc_fields(made->desc);
	struct sonde_field_view field;

	(void)state;
	assert_string_equal(sonde_desc_name(made->desc),
			    "syscall_entry_openat");
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "__syscall_nr");
	assert_true(sonde_fields_next(&it, &field));
	assert_string_equal(field.name, "only");
	free(made);
}

static void a_string_that_the_kernel_records_is_the_argument(void **state)
{
	int nr = sonde_syscall_number(SONDE_SYSCALL_NATIVE, "openat");
	struct sonde_tracefs_plan_event event = {
		.group = "syscalls",
		.name = "sys_enter_openat",
		.shown = "syscall_entry_openat",
		.call = sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)nr),
		.has_strings = true,
	};
	struct made *made = make(&event, openat_format);
	uint64_t record[9 + SONDE_TRACEFS_PLAN_SLACK / 8] = {
		0, 257, 0xffffff9c, 0x1234567890, 02101, 0644
	};
	uint32_t where = 52 | 5u << 16;
	uint8_t out[128];
	int32_t dfd;
	uint32_t rest[2];

	(void)state;
	memcpy((uint8_t *)record + 48, &where, 4);
	memcpy((uint8_t *)record + 52, "/etc", 5);
	assert_ptr_equal(sonde_tracefs_plan_run(&made->plan, (uint8_t *)record,
						57, out),
			 out + 12 + 5);
	memcpy(&dfd, out, 4);
	memcpy(rest, out + 4, 8);
	assert_int_equal(dfd, -100);
	assert_int_equal(rest[0], 02101);
	assert_int_equal(rest[1], 0644);
	assert_string_equal((char *)out + 12, "/etc");
	free(made);
}

/* As Linux 7 may have it: the string of one argument, not of the list. */
static void a_list_that_the_kernel_does_not_record_is_a_pointer(void **state)
{
	static const char text[] =
		"name: sys_enter_execve\nID: 800\nformat:\n" COMMON
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:const char * filename;\toffset:16;\tsize:8;\t"
		"signed:0;\n"
		"\tfield:const char *const * argv;\toffset:24;\tsize:8;\t"
		"signed:0;\n"
		"\tfield:const char *const * envp;\toffset:32;\tsize:8;\t"
		"signed:0;\n"
		"\tfield:__data_loc char[] __filename_val;\toffset:40;\t"
		"size:4;\tsigned:0;\n";
	int nr = sonde_syscall_number(SONDE_SYSCALL_NATIVE, "execve");
	const struct sonde_syscall *call =
		sonde_syscall(SONDE_SYSCALL_NATIVE, (uint32_t)nr);
	struct sonde_tracefs_plan_event event = {
		.group = "syscalls",
		.name = "sys_enter_execve",
		.shown = "syscall_entry_execve",
		.call = call,
		.has_strings = true,
	};
	struct made *made = make(&event, text);
	uint64_t record[8 + SONDE_TRACEFS_PLAN_SLACK / 8] = { 0, 59, 1, 2, 3 };
	uint32_t where = 44 | 3u << 16;
	uint8_t out[128];
	uint64_t lists[2];

	(void)state;
	memcpy((uint8_t *)record + 40, &where, 4);
	memcpy((uint8_t *)record + 44, "/x", 3);
	assert_ptr_equal(sonde_tracefs_plan_run(&made->plan, (uint8_t *)record,
						47, out),
			 out + 16 + 3);
	memcpy(lists, out, 16);
	assert_int_equal(lists[0], 2);
	assert_int_equal(lists[1], 3);
	assert_string_equal((char *)out + 16, "/x");
	assert_int_equal(sonde_desc_nr_fields(made->desc), 3);
	free(made);
}

/* ---- where wake-ups come from ---- */

static const char waking_fields[] =
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

static struct made *make_wakeup(const char *group, const char *name)
{
	struct sonde_tracefs_plan_event event = { .group = group,
						  .name = name,
						  .shown = name };
	char text[2048];

	(void)snprintf(text, sizeof(text), "name: x\nID: 3\nformat:\n%s%s",
		       COMMON, waking_fields);
	return make(&event, text);
}

static const char *last_field(const struct sonde_desc *desc)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field = { .name = "" };

	while (sonde_fields_next(&it, &field))
		;
	return field.name;
}

static void wakeups_tell_what_they_were_made_in(void **state)
{
	static const char *const names[] = { "sched_waking", "sched_wakeup",
					     "sched_wakeup_new" };
	static const struct {
		uint8_t flags, expected;
	} flags[] = {
		{ 0x00, 0 }, { 0x01, 0 }, /* interrupts off */
		{ 0x04, 0 },              /* somebody else is to run */
		{ 0x80, 0 },              /* softirqs off */
		{ 0x08, 2 }, { 0x10, 1 },
		{ 0x90, 1 }, { 0x18, 2 }, /* an interrupt in a softirq */
		{ 0x40, 2 },              /* an NMI */
		{ 0xff, 2 },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct made *made = make_wakeup("sched", names[i]);

		assert_string_equal(last_field(made->desc), "in_interrupt");
		for (size_t k = 0; k < sizeof(flags) / sizeof(*flags); k++) {
			uint8_t record[36 + SONDE_TRACEFS_PLAN_SLACK] = { 0 };
			uint8_t out[64];

			record[2] = flags[k].flags;
			assert_ptr_equal(sonde_tracefs_plan_run(
						 &made->plan, record, 36, out),
					 out + 29);
			assert_int_equal(out[28], flags[k].expected);
		}
		free(made);
	}
}

static void other_events_have_no_such_field(void **state)
{
	static const char *const events[][2] = { { "sched", "sched_switch" },
						 { "other", "sched_waking" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct made *made = make_wakeup(events[i][0], events[i][1]);

		assert_string_equal(last_field(made->desc), "target_cpu");
		free(made);
	}
}

/* As Linux 6.1 with PREEMPT_RT has it: one common field more. */
static void longer_common_fields_are_passed_over(void **state)
{
	static const char text[] =
		"name: sched_waking\nID: 3\nformat:\n" COMMON
		"\tfield:unsigned char common_preempt_lazy_count;\toffset:8;\t"
		"size:1;\tsigned:0;\n\n"
		"\tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:1;\n"
		"\tfield:pid_t pid;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:int prio;\toffset:32;\tsize:4;\tsigned:1;\n"
		"\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n";
	struct sonde_tracefs_plan_event event = { .group = "sched",
						  .name = "sched_waking",
						  .shown = "sched_waking" };
	struct made *made = make(&event, text);
	uint8_t record[40 + SONDE_TRACEFS_PLAN_SLACK] = { 3, 0, 0x10 };
	uint8_t out[64];
	int32_t cpu = 7;

	(void)state;
	record[8] = 0xaa;
	put_chars(record + 12, "abc");
	memcpy(record + 36, &cpu, 4);
	assert_ptr_equal(sonde_tracefs_plan_run(&made->plan, record, 40, out),
			 out + 29);
	assert_string_equal((char *)out, "abc");
	memcpy(&cpu, out + 24, 4);
	assert_int_equal(cpu, 7);
	assert_int_equal(out[28], 1);
	assert_null(sonde_tracefs_plan_run(&made->plan, record, 39, out));
	free(made);
}

/* ---- records ---- */

static struct sonde_convert convert;
static struct sonde_convert_event events[2];

/* Event 9 is `made`, with id 1; sched_switch 372, with id 2. */
static void set_table(const struct made *mixed, const struct made *switches)
{
	memset(&convert, 0, sizeof(convert));
	events[0] =
		(struct sonde_convert_event){ .plan = &mixed->plan, .id = 1 };
	events[1] = (struct sonde_convert_event){ .plan = &switches->plan,
						  .id = 2,
						  .is_for_all = true };
	convert.index[9] = 1;
	convert.index[372] = 2;
	convert.events = events;
}

static void put_event(struct maker *maker, uint32_t delta, uint16_t type,
		      uint32_t tid)
{
	uint8_t record[64] = { 0 };

	memcpy(record, &type, 2);
	memcpy(record + 4, &tid, 4);
	put_record(maker, delta, record, sizeof(record));
}

struct seen {
	uint32_t id;
	uint64_t ts;
	uint32_t tid;
};

/* The head of the record at *at of a packet; moves on by its size. */
static struct seen next_record(const uint8_t **at, uint64_t *last)
{
	struct seen seen = { 0 };
	uint16_t id;
	uint32_t low;

	memcpy(&id, *at, 2);
	if (id == SONDE_LARGE_ESCAPE) {
		memcpy(&seen.id, *at + 2, 4);
		memcpy(&seen.ts, *at + 6, 8);
		*at += SONDE_HEAD_LARGE_FULL;
	} else {
		seen.id = id;
		memcpy(&low, *at + 2, 4);
		seen.ts = (*last & ~0xffffffffull) | low;
		if (seen.ts < *last)
			seen.ts += 1ull << 32;
		*at += SONDE_HEAD_LARGE;
	}
	*last = seen.ts;
	memcpy(&seen.tid, *at, 4);
	/* mixed: two empty texts, an empty sequence, numbers; or a switch */
	*at += 4 + (seen.id == 1 ? 6 + 8 + 1 + 12 + 8 : 56);
	return seen;
}

static void records_have_id_time_and_thread(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	uint64_t last = 0x1fffffff0;
	uint8_t packet[1024];
	const uint8_t *at = packet;
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;
	struct seen seen;

	(void)state;
	set_table(mixed, switches);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, last);
	put_event(&maker, 0, 9, 17);
	put_event(&maker, 0x20, 372, 18); /* over 2^32: short all the same */
	put_event(&maker, 1, 1000, 19);   /* nobody's */
	put_head(&maker, 30, 0);
	put_word(&maker, 64); /* 2^33 later: long */
	put_event(&maker, 0, 9, 20);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), 0);
	assert_int_equal(out.seen, 4);
	assert_int_equal(out.packer.nr, 3);
	assert_int_equal(out.ts_begin, last);
	seen = next_record(&at, &last);
	assert_int_equal(seen.id, 1);
	assert_int_equal(seen.ts, 0x1fffffff0);
	assert_int_equal(seen.tid, 17);
	seen = next_record(&at, &last);
	assert_int_equal(seen.id, 2);
	assert_int_equal(seen.ts, 0x200000010);
	assert_int_equal(seen.tid, 18);
	seen = next_record(&at, &last);
	assert_int_equal(seen.ts, 0x200000011 + (1ull << 33));
	assert_int_equal(seen.tid, 20);
	assert_ptr_equal(at, out.packer.at);
	free(mixed);
	free(switches);
}

static void what_we_do_ourselves_is_left_out_but_for_switches(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	uint8_t packet[1024];
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;

	(void)state;
	set_table(mixed, switches);
	convert.self[1] = 17;
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, 1);
	put_event(&maker, 0, 9, 17);
	put_event(&maker, 0, 372, 17);
	put_event(&maker, 0, 9, 0); /* idle is nobody */
	put_event(&maker, 0, 9, 18);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), 0);
	assert_int_equal(out.seen, 4);
	assert_int_equal(out.packer.nr, 3);
	free(mixed);
	free(switches);
}

static void what_fails_its_condition_leaves_no_trace(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	struct sonde_condition *condition;
	uint64_t last = 100;
	uint8_t packet[1024];
	const uint8_t *at = packet;
	char why[200];
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;

	(void)state;
	set_table(mixed, switches);
	assert_int_equal(sonde_condition_new(switches->desc,
					     "tid == 5 && prev_prio == -100",
					     why, sizeof(why), &condition),
			 0);
	events[1].condition = condition;
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, 100);
	put_event(&maker, 0, 372, 4);
	put_event(&maker, 7, 372, 5);
	put_event(&maker, 8, 372, 6);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), 0);
	assert_int_equal(out.packer.nr, 1);
	assert_int_equal(out.ts_begin, 107);
	last = out.ts_begin;
	assert_int_equal(next_record(&at, &last).tid, 5);
	assert_ptr_equal(at, out.packer.at);
	sonde_condition_free(condition);
	free(mixed);
	free(switches);
}

static void a_full_packet_goes_on_with_the_same_record(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	uint8_t packet[300];
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;
	uint32_t tid = 1;
	int rc = 1;

	(void)state;
	set_table(mixed, switches);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, 50);
	for (uint32_t i = 1; i <= 40; i++)
		put_event(&maker, 1, 372, i);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	while (rc > 0) {
		const uint8_t *at = packet;
		uint64_t last;

		rc = sonde_convert(&convert, &page, &out);
		assert_true(rc >= 0);
		assert_true(sonde_convert_out_used(&out) > 0);
		assert_true(sonde_convert_out_used(&out) <=
			    sizeof(packet) - SONDE_CONVERT_SLACK);
		last = out.ts_begin;
		assert_int_equal(last, 50 + tid);
		while (at < out.packer.at)
			assert_int_equal(next_record(&at, &last).tid, tid++);
		sonde_convert_out_reset(&out);
	}
	assert_int_equal(tid, 41);
	free(mixed);
	free(switches);
}

static void a_record_too_large_for_any_packet_is_counted(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	uint8_t packet[80];
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;

	(void)state;
	set_table(mixed, switches);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, 50);
	put_event(&maker, 1, 372, 1);
	put_event(&maker, 1, 372, 1);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), 0);
	assert_int_equal(out.too_large, 2);
	assert_int_equal(out.packer.nr, 0);
	free(mixed);
	free(switches);
}

static void a_record_without_the_common_fields_ends_the_page(void **state)
{
	struct made *mixed = make(&mixed_event, mixed_format);
	struct made *switches = make(&switch_event, switch_format);
	uint8_t packet[1024];
	uint16_t short_switch[4] = { 372 };
	uint16_t other[2] = { 1000 };
	struct sonde_convert_out out;
	struct sonde_page page;
	struct maker maker;

	(void)state;
	set_table(mixed, switches);
	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	begin(&maker, 1);
	put_record(&maker, 0, short_switch, 4);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), -EPROTO);
	begin(&maker, 1);
	put_record(&maker, 0, short_switch, 8);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), -EPROTO);
	begin(&maker, 1);
	put_record(&maker, 0, other, 4);
	finish(&maker);
	assert_int_equal(sonde_page_open(&layout, maker.bytes, PAGE, &page), 0);
	assert_int_equal(sonde_convert(&convert, &page, &out), -EPROTO);
	assert_int_equal(out.packer.nr, 0);
	free(mixed);
	free(switches);
}

/* ---- clocks ---- */

/* Records are older than the newest pair of clocks. */
static void a_time_before_the_newest_pair_is_on_its_line(void **state)
{
	const struct sonde_pair first = { 1000, 5000, 10 };
	const struct sonde_pair second = { 1000 + 16000000, 5000 + 1000000,
					   10 };
	struct sonde_timing timing;

	(void)state;
	assert_true(sonde_timing_init(&timing, &first, &second));
	assert_in_range(sonde_timing_at(&timing, 1000), 4999, 5001);
	assert_in_range(sonde_timing_at(&timing, 1000 + 8000000), 504999,
			505001);
	assert_in_range(sonde_timing_at(&timing, 1000 + 32000000), 2004999,
			2005001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			fields_have_the_kinds_that_their_declarations_say),
		cmocka_unit_test(what_the_print_format_says_is_no_field),
		cmocka_unit_test(hostile_formats_are_refused),
		cmocka_unit_test(
			a_format_cut_off_anywhere_is_refused_or_has_whole_fields),
		cmocka_unit_test(more_fields_than_fit_are_cut),
		cmocka_unit_test(the_layout_of_pages_is_read_and_checked),
		cmocka_unit_test(only_the_record_header_we_know_is_taken),
		cmocka_unit_test(time_goes_through_extends_stamps_and_padding),
		cmocka_unit_test(
			absolute_times_have_the_upper_bits_of_those_before),
		cmocka_unit_test(a_page_says_how_many_were_lost_before_it),
		cmocka_unit_test(a_page_whose_commit_lies_is_refused),
		cmocka_unit_test(
			a_torn_page_ends_in_an_error_after_what_is_whole),
		cmocka_unit_test(
			names_are_those_of_the_trace_and_priorities_are_shifted),
		cmocka_unit_test(what_is_adjacent_is_copied_in_one_step),
		cmocka_unit_test(
			located_texts_and_sequences_come_from_where_they_are),
		cmocka_unit_test(
			what_is_located_outside_of_its_record_is_empty),
		cmocka_unit_test(a_record_shorter_than_its_format_is_refused),
		cmocka_unit_test(formats_without_the_common_fields_are_refused),
		cmocka_unit_test(a_call_has_the_arguments_of_its_description),
		cmocka_unit_test(
			a_call_with_other_arguments_goes_by_its_format),
		cmocka_unit_test(
			a_string_that_the_kernel_records_is_the_argument),
		cmocka_unit_test(
			a_list_that_the_kernel_does_not_record_is_a_pointer),
		cmocka_unit_test(wakeups_tell_what_they_were_made_in),
		cmocka_unit_test(other_events_have_no_such_field),
		cmocka_unit_test(longer_common_fields_are_passed_over),
		cmocka_unit_test(records_have_id_time_and_thread),
		cmocka_unit_test(
			what_we_do_ourselves_is_left_out_but_for_switches),
		cmocka_unit_test(what_fails_its_condition_leaves_no_trace),
		cmocka_unit_test(a_full_packet_goes_on_with_the_same_record),
		cmocka_unit_test(a_record_too_large_for_any_packet_is_counted),
		cmocka_unit_test(
			a_record_without_the_common_fields_ends_the_page),
		cmocka_unit_test(a_time_before_the_newest_pair_is_on_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
