/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_reports.c - every report says the same of a trace in one slice
 * and in many.
 *
 * The trace is of three threads on three CPUs that allocate, free and lock at
 * random, with some events left out, as if lost. Its packets are small, so that
 * a slice may be as short as a few events.
 */
#include "analysis/analysis.h"
#include "analysis/reports/reports.h"

#include "reader_traces.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "random.h"
#include "view/text/show.h"

#define SEED      20261120u
#define THREADS   3
#define STEPS     6000
#define BLOCKS    40
#define LOCKS     3
#define IN_PACKET 9
#define CALLER    0x400000
#define COND      0xa000

/* clang-format off */
static const char metadata_end[] =
	MADE_CLOCK
	MADE_STREAM_CLASS("	event.context := struct { i32 vtid; };\n")
	MADE_EVENT("malloc:malloc", 0, "u64 size; u64 ptr; u64 caller;")
	MADE_EVENT("malloc:calloc", 1,
		   "u64 count; u64 size; u64 ptr; u64 caller;")
	MADE_EVENT("malloc:realloc_begin", 2, "u64 old; u64 size; u64 caller;")
	MADE_EVENT("malloc:realloc", 3,
		   "u64 old; u64 size; u64 ptr; u64 caller;")
	MADE_EVENT("malloc:free", 4, "u64 ptr; u64 caller;")
	MADE_EVENT("lock:mutex_wait", 5, "u64 mutex; u64 caller;")
	MADE_EVENT("lock:mutex_lock", 6, "u64 mutex; i32 result; u64 caller;")
	MADE_EVENT("lock:mutex_busy", 7, "u64 mutex; u64 caller;")
	MADE_EVENT("lock:mutex_unlock", 8, "u64 mutex; u64 caller;")
	MADE_EVENT("lock:cond_wait", 9, "u64 cond; u64 mutex; u64 caller;")
	MADE_EVENT("lock:cond_wake", 10,
	      "u64 cond; u64 mutex; i32 result; u64 caller;")
	MADE_EVENT("lock:cond_signal", 11, "u64 cond; u64 caller;")
	MADE_EVENT("work_begin", 12, "u32 item; string what;")
	MADE_EVENT("work_end", 13, "u32 item; string what;");
/* clang-format on */

static uint64_t state = SEED;

/* The streams, one for each CPU, and the time. */
static struct made files[THREADS];
static size_t in_packet[THREADS];
static uint64_t now;

static void end_packet(size_t thread)
{
	made_spoil_u64(&files[thread], MADE_END, now);
	made_packet_end(&files[thread], random_below(&state, 2) * 8);
	in_packet[thread] = 0;
}

/* Begins an event; its fields are for the caller. NULL: it was lost. */
static struct made *begin_event(size_t thread, uint16_t id)
{
	struct made *file = &files[thread];

	now += random_below(&state, 30);
	if (random_below(&state, 50) == 0)
		return NULL;
	if (in_packet[thread] == IN_PACKET)
		end_packet(thread);
	if (!in_packet[thread]++)
		made_packet(file, &(struct made_head){
					  .begin = now,
					  .cpu = (uint32_t)thread,
					  .instance = (uint32_t)thread,
				  });
	made_u16(file, id);
	made_u64(file, now);
	made_u32(file, 100 + (uint32_t)thread);
	return file;
}

/* An event of numbers, the last of which are 0 if it has fewer. */
static void event(size_t thread, uint16_t id, uint64_t a, uint64_t b,
		  uint64_t c, uint64_t d)
{
	static const size_t nr_words[] = { 3, 4, 3, 4, 2, 2, 0, 2, 2, 3, 0, 2 };
	const uint64_t words[] = { a, b, c, d };
	struct made *file = begin_event(thread, id);

	for (size_t i = 0; file && i < nr_words[id]; i++)
		made_u64(file, words[i]);
}

/* Those with a result: mutex_lock, and, if there is one, cond_wake. */
static void result_event(size_t thread, uint64_t cond, uint64_t mutex,
			 int32_t result)
{
	struct made *file = begin_event(thread, cond ? 10 : 6);

	if (!file)
		return;
	if (cond)
		made_u64(file, cond);
	made_u64(file, mutex);
	made_u32(file, (uint32_t)result);
	made_u64(file, CALLER);
}

static void allocate(size_t thread)
{
	static uint64_t blocks[BLOCKS];
	static uint64_t next = 0x1000;
	uint64_t *block = &blocks[random_below(&state, BLOCKS)];
	uint64_t caller = CALLER + random_below(&state, 7) * 16;
	uint64_t size =
		1 +
		random_below(&state, random_below(&state, 10) ? 200 : 100000);
	uint64_t ptr = random_below(&state, 4) ? next += 64 : 0;

	if (!*block && random_below(&state, 2)) {
		event(thread, 0, size, ptr, caller, 0);
		*block = ptr;
	} else if (!*block) {
		event(thread, 1, 3, size, ptr, caller);
		*block = ptr;
	} else if (random_below(&state, 4)) {
		event(thread, 4, *block, caller, 0, 0);
		*block = 0;
	} else {
		event(thread, 2, *block, size, caller, 0);
		event(thread, 3, *block, size, ptr, caller);
		*block = ptr ? ptr : *block;
	}
}

static void lock(size_t thread)
{
	static unsigned int depths[THREADS][LOCKS];
	size_t which = (size_t)random_below(&state, LOCKS);
	unsigned int *depth = &depths[thread][which];
	uint64_t mutex = 0x9000 + which * 40;

	switch (random_below(&state, *depth ? 8 : 4)) {
	case 0:
		event(thread, 5, mutex, CALLER, 0, 0);
		break;
	case 1:
		event(thread, 7, mutex, CALLER, 0, 0);
		break;
	case 2:
		event(thread, 11, COND, CALLER, 0, 0);
		break;
	case 3:
		result_event(thread, 0, mutex,
			     random_below(&state, 9) ? 0 : ETIMEDOUT);
		++*depth;
		break;
	case 4:
		event(thread, 9, COND, mutex, CALLER, 0);
		result_event(thread, COND, mutex, 0);
		break;
	default:
		event(thread, 8, mutex, CALLER, 0, 0);
		--*depth;
	}
}

static void work(size_t thread)
{
	static const char *const words[] = { "read", "write", "a longer one" };
	const char *word = words[random_below(&state, SONDE_ARRAY_SIZE(words))];
	struct made *file =
		begin_event(thread, (uint16_t)(12 + random_below(&state, 2)));

	if (!file)
		return;
	made_u32(file, (uint32_t)random_below(&state, 5));
	made_bytes(file, word, strlen(word) + 1);
}

static struct sonde_trace *make_trace(void)
{
	static void (*const things[])(size_t thread) = { allocate, lock, work };
	char metadata[8192];
	struct sonde_trace *trace;

	now = 1000;
	for (size_t step = 0; step < STEPS; step++)
		things[random_below(&state, SONDE_ARRAY_SIZE(things))](
			(size_t)random_below(&state, THREADS));
	for (size_t thread = 0; thread < THREADS; thread++)
		end_packet(thread);
	(void)snprintf(metadata, sizeof(metadata), "%s%s",
		       made_metadata_before_clock, metadata_end);
	trace = made_open(metadata, files, THREADS);
	for (size_t thread = 0; thread < THREADS; thread++)
		made_free(&files[thread]);
	return trace;
}

/* ---- the reports ---- */

/* As JSON, for free(). */
static char *text_of(const struct sonde_report *report)
{
	const struct sonde_show show = { .json = true };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(sonde_report_error(report), 0);
	assert_int_equal(sonde_show_report(&show, report, to), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static struct sonde_filter *filter_of(struct sonde_trace *trace,
				      const char *expression)
{
	struct sonde_trace_error error;
	struct sonde_filter *filter = NULL;

	if (expression && sonde_filter_new(trace, expression, &error, &filter))
		fail_msg("%s: %s", expression, error.text);
	return filter;
}

struct words {
	const char *name;
	const char *begin, *end, *key, *value, *by;
	bool across;
};

static char *run(struct sonde_trace *trace, const struct words *words,
		 uint64_t slice_bytes, unsigned int threads)
{
	struct sonde_filter *begin = filter_of(trace, words->begin);
	struct sonde_filter *end = filter_of(trace, words->end);
	struct sonde_filter *key = filter_of(trace, words->key);
	struct sonde_filter *value = filter_of(trace, words->value);
	struct sonde_analysis_args args = {
		.trace = trace,
		.limit = 1000,
		.begin = begin,
		.end = end,
		.key = key,
		.value = value,
		.by = words->by,
		.across = words->across,
		.show = sonde_show_cell,
	};
	struct sonde_report *report = NULL;
	char *text;
	int err;

	sonde_map_options_init(&args.map);
	args.map.slice_bytes = slice_bytes;
	args.map.threads = threads;
	err = sonde_analysis_run(sonde_analysis_find(words->name), &args,
				 &report);
	if (err)
		fail_msg("%s: %s", words->name, args.error);
	text = text_of(report);
	sonde_report_free(report);
	sonde_filter_free(begin);
	sonde_filter_free(end);
	sonde_filter_free(key);
	sonde_filter_free(value);
	return text;
}

static void one_slice_and_many_say_the_same(void **unused)
{
	static const struct words all[] = {
		{ .name = "top" },
		{ .name = "top", .by = "thread" },
		{ .name = "top", .by = "what", .value = "item" },
		{ .name = "period", .begin = "$event == \"work_begin\"" },
		{ .name = "period",
		  .begin = "$event == \"work_*\"",
		  .key = "what" },
		{ .name = "latency",
		  .begin = "$event == \"work_begin\"",
		  .end = "$event == \"work_end\"" },
		{ .name = "latency",
		  .begin = "$event == \"work_begin\"",
		  .end = "$event == \"work_end\"",
		  .key = "what" },
		{ .name = "latency",
		  .begin = "item == 3",
		  .end = "item < 4",
		  .key = "item / 2" },
		{ .name = "latency",
		  .begin = "$event == \"work_begin\"",
		  .end = "$event == \"work_end\"",
		  .key = "$time / 100",
		  .across = true },
		{ .name = "malloc" },
		{ .name = "locks" },
	};
	struct sonde_trace *trace = make_trace();

	(void)unused;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(all); i++) {
		char *one = run(trace, &all[i], UINT64_MAX, 1);
		char *many = run(trace, &all[i], 1, 1);
		char *at_once = run(trace, &all[i], 500, 4);

		assert_true(strlen(one) > 200);
		assert_string_equal(one, many);
		assert_string_equal(one, at_once);
		free(one);
		free(many);
		free(at_once);
	}
	sonde_trace_close(trace);
}

static char *diff(struct sonde_trace *a, struct sonde_trace *b,
		  uint64_t slice_bytes, size_t *ret_nr)
{
	struct sonde_analysis_args sides[2] = {
		{ .trace = a,
		  .threshold = 0.1,
		  .show = sonde_show_cell,
		  .other = &sides[1] },
		{ .trace = b },
	};
	struct sonde_report *report;
	char *text;

	for (size_t i = 0; i < 2; i++) {
		sonde_map_options_init(&sides[i].map);
		sides[i].map.slice_bytes = slice_bytes;
	}
	assert_int_equal(sonde_analysis_diff.run(&sides[0], &report), 0);
	*ret_nr = (size_t)sides[0].nr_warnings;
	text = text_of(report);
	sonde_report_free(report);
	return text;
}

static void diff_of_one_slice_and_of_many_is_the_same(void **unused)
{
	struct sonde_trace *a = make_trace();
	struct sonde_trace *b = make_trace();
	size_t nr_one;
	size_t nr_many;
	char *one = diff(a, b, UINT64_MAX, &nr_one);
	char *many = diff(a, b, 1, &nr_many);

	(void)unused;
	assert_string_equal(one, many);
	assert_int_equal(nr_one, nr_many);
	free(one);
	free(many);
	sonde_trace_close(a);
	sonde_trace_close(b);
}

static void trace_does_not_differ_from_itself(void **unused)
{
	struct sonde_trace *trace = make_trace();
	size_t nr = 1;

	(void)unused;
	free(diff(trace, trace, 0, &nr));
	assert_int_equal(nr, 0);
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_slice_and_many_say_the_same),
		cmocka_unit_test(diff_of_one_slice_and_of_many_is_the_same),
		cmocka_unit_test(trace_does_not_differ_from_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
