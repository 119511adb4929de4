/* SPDX-License-Identifier: MIT */
/* Traces in directories, and what they say about themselves. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/core/open.h"
#include "reader_traces.h"

static struct made_directory directory;

static int set_up(void **state)
{
	(void)state;
	made_directory(&directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	made_directory_remove(&directory);
	return 0;
}

static void write_metadata(const char *folder)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s/metadata", folder);
	made_write(&directory, name, made_metadata, strlen(made_metadata));
}

/* A file of one packet, whose one event is at `time`. */
static void write_stream(const char *name, uint64_t time)
{
	struct made file = { 0 };

	made_packet(&file, &(struct made_head){ .begin = time, .end = time });
	made_number(&file, time, 1);
	made_packet_end(&file, 0);
	made_write(&directory, name, file.bytes, file.used);
	made_free(&file);
}

static const char *below(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", directory.path, name);
	return path;
}

/* Opens what is at `name`, which must fail; the words. */
static const char *open_badly(const char *name, int expected)
{
	static struct sonde_trace_error error;
	const char *path = below(name);
	struct sonde_trace *trace = NULL;

	assert_int_equal(sonde_trace_open(&path, 1, &error, &trace), expected);
	assert_null(trace);
	assert_null(strchr(error.text, '\n'));
	return error.text;
}

static struct sonde_stream_info stream_info(const struct sonde_trace *trace,
					    size_t i)
{
	struct sonde_stream_info info;

	sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
	return info;
}

/* ---- directories ---- */

static void a_directory_with_metadata_is_a_trace(void **state)
{
	struct sonde_source_info info;
	struct sonde_trace *trace;

	(void)state;
	write_metadata("t");
	write_stream("t/cpu10", 1000);
	write_stream("t/cpu2", 2000);
	trace = made_open_directory(below("t"));
	assert_int_equal(sonde_trace_nr_sources(trace), 1);
	assert_int_equal(sonde_trace_nr_streams(trace), 2);
	sonde_source_get_info(sonde_trace_source(trace, 0), &info);
	assert_string_equal(info.path, below("t"));
	assert_string_equal(stream_info(trace, 0).path, below("t/cpu2"));
	assert_string_equal(stream_info(trace, 1).path, below("t/cpu10"));
	assert_null(sonde_trace_source(trace, 1));
	assert_null(sonde_trace_stream(trace, 2));
	sonde_trace_close(trace);
}

static void what_is_no_stream_is_passed_over(void **state)
{
	struct sonde_trace *trace;

	(void)state;
	write_metadata("t");
	write_stream("t/cpu0", 1000);
	write_stream("t/.cpu1.new", 1000);
	write_stream("t/index/cpu7", 1000);
	write_stream("t/folder/cpu8", 1000);
	assert_int_equal(mkfifo(below("t/fifo"), 0666), 0);
	trace = made_open_directory(below("t"));
	assert_int_equal(sonde_trace_nr_streams(trace), 1);
	assert_int_equal(made_nr_problems(trace), 0);
	sonde_trace_close(trace);
}

static void traces_are_found_five_levels_down(void **state)
{
	struct sonde_trace *trace;

	(void)state;
	write_metadata("a/2/3/4/5");
	write_metadata("b");
	write_metadata("c/.hidden");
	write_metadata("d/index");
	write_metadata("b/inside");
	trace = made_open_directory(directory.path);
	assert_int_equal(sonde_trace_nr_sources(trace), 2);
	sonde_trace_close(trace);
}

static void six_levels_down_nothing_is_found(void **state)
{
	(void)state;
	write_metadata("1/2/3/4/5/6");
	assert_non_null(strstr(open_badly(".", -ENOENT), "no trace"));
}

static void links_in_circles_are_followed_once(void **state)
{
	struct sonde_trace *trace;

	(void)state;
	write_metadata("a/t");
	assert_int_equal(symlink("..", below("a/up")), 0);
	assert_int_equal(symlink("t", below("a/same")), 0);
	assert_int_equal(symlink("nowhere", below("a/broken")), 0);
	trace = made_open_directory(directory.path);
	assert_int_equal(sonde_trace_nr_sources(trace), 1);
	sonde_trace_close(trace);
}

static void several_paths_are_one_trace(void **state)
{
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	char path[3][256];
	const char *paths[] = { path[0], path[1], path[2] };
	int64_t begin;
	int64_t end;

	(void)state;
	write_metadata("a");
	write_stream("a/cpu0", 1000);
	write_metadata("b");
	write_stream("b/cpu0", 3000);
	(void)snprintf(path[0], sizeof(path[0]), "%s", below("a"));
	(void)snprintf(path[1], sizeof(path[1]), "%s", below("b"));
	(void)snprintf(path[2], sizeof(path[2]), "%s", below("."));
	assert_int_equal(sonde_trace_open(paths, 3, &error, &trace), 0);
	assert_int_equal(sonde_trace_nr_sources(trace), 2);
	assert_int_equal(sonde_trace_nr_event_classes(trace), 4);
	assert_int_equal(sonde_trace_range(trace, &begin, &end), 0);
	assert_int_equal(begin, 1000);
	assert_int_equal(end, 3000);
	sonde_trace_close(trace);
}

static void index_files_are_found_beside_their_streams(void **state)
{
	struct sonde_trace *trace;
	struct sonde_problem problem;

	(void)state;
	write_metadata("t");
	write_stream("t/cpu0", 1000);
	write_stream("t/cpu1", 1000);
	made_write(&directory, "t/index/cpu1.idx", "nonsense", 8);
	trace = made_open_directory(below("t"));
	assert_int_equal(made_nr_problems(trace), 1);
	problem = made_problem(trace, SONDE_PROBLEM_INDEX, 0);
	assert_ptr_equal(problem.stream, sonde_trace_stream(trace, 1));
	sonde_trace_close(trace);
}

/* ---- what can't be opened ---- */

static void errors_name_the_file_and_the_reason(void **state)
{
	static const char bad[] = "/* CTF 1.8 */\ntrace { major = 1; !\n";

	(void)state;
	assert_non_null(strstr(open_badly("none", -ENOENT), "/none: "));
	write_stream("file", 1);
	assert_non_null(strstr(open_badly("file", -ENOTDIR), "/file: "));
	assert_int_equal(mkdir(below("empty"), 0777), 0);
	assert_non_null(strstr(open_badly("empty", -ENOENT), "metadata"));
	made_write(&directory, "bad/metadata", bad, strlen(bad));
	assert_non_null(
		strstr(open_badly("bad", -EINVAL), "bad/metadata: line 2"));
	made_write(&directory, "blank/metadata", "", 0);
	assert_non_null(strstr(open_badly("blank", -EINVAL),
			       "blank/metadata is empty"));
}

/* Places that are met twice are not traces, only because of that. */
static void a_path_without_a_trace_is_an_error_everywhere(void **state)
{
	struct sonde_trace_error error;
	struct sonde_trace *trace = NULL;
	char path[3][256];
	const char *with_none[] = { path[0], path[1] };
	const char *with_some[] = { path[0], path[2] };

	(void)state;
	assert_int_equal(mkdir(below("none"), 0777), 0);
	assert_int_equal(mkdir(below("none/deep"), 0777), 0);
	assert_int_equal(symlink("..", below("none/up")), 0);
	assert_int_equal(symlink("deep", below("none/same")), 0);
	assert_int_equal(symlink(".", below("none/itself")), 0);
	assert_non_null(strstr(open_badly("none", -ENOENT), "no trace here"));
	write_metadata("a/b/t");
	assert_int_equal(symlink("../../none/deep", below("a/b/none")), 0);
	(void)snprintf(path[0], sizeof(path[0]), "%s", below("a"));
	(void)snprintf(path[1], sizeof(path[1]), "%s", below("none/deep"));
	(void)snprintf(path[2], sizeof(path[2]), "%s", below("a/b"));
	assert_int_equal(sonde_trace_open(with_none, 2, &error, &trace),
			 -ENOENT);
	assert_non_null(strstr(error.text, "none/deep: no trace here"));
	assert_int_equal(sonde_trace_open(with_some, 2, &error, &trace), 0);
	assert_int_equal(sonde_trace_nr_sources(trace), 1);
	sonde_trace_close(trace);
}

static void no_path_is_no_trace(void **state)
{
	struct sonde_trace_error error;
	struct sonde_trace *trace = NULL;

	(void)state;
	assert_int_equal(sonde_trace_open(NULL, 0, &error, &trace), -ENOENT);
	assert_null(trace);
}

/* ---- what a trace says about itself ---- */

static struct sonde_trace *with_clock(const char *clock)
{
	struct sonde_trace *trace;
	char *text;

	assert_true(asprintf(&text, "%s%s%s", made_metadata_before_clock, clock,
			     made_metadata_after_clock) > 0);
	trace = made_open(text, NULL, 0);
	free(text);
	return trace;
}

/* The time of a counter's value. */
static int64_t time_of(const char *clock, uint64_t ticks)
{
	struct sonde_trace *trace = with_clock(clock);
	int64_t time = sonde_scale_ns(&trace->sources[0]->scales[0], ticks);

	sonde_trace_close(trace);
	return time;
}

static void counters_become_nanoseconds(void **state)
{
	(void)state;
	assert_int_equal(time_of("clock { name = c; };", 77), 77);
	assert_int_equal(time_of("clock { name = c; freq = 1000; };", 77),
			 77000000);
	assert_int_equal(time_of("clock { name = c; freq = 3000000000; };", 3),
			 1);
	assert_int_equal(time_of("clock { name = c; freq = 3000000000; };", 5),
			 1);
	/* 2,494,139,000 Hz for a day: exact, as computed with 128 bits */
	assert_int_equal(time_of("clock { name = c; freq = 2494139000; };",
				 215493609600001),
			 86400000000000);
	assert_int_equal(time_of("clock { name = c; freq = 1; };", 3),
			 3000000000);
}

static void offsets_are_exact(void **state)
{
	(void)state;
	assert_int_equal(
		time_of("clock { name = c; offset = 1795161994027399675; };",
			5),
		1795161994027399680);
	assert_int_equal(time_of("clock { name = c; freq = 3000000000;"
				 " offset_s = 1700000000; offset = 2000000000;"
				 " };",
				 6),
			 1700000000666666668);
	assert_int_equal(time_of("clock { name = c; offset_s = -2; };", 1),
			 -1999999999);
	/* the last second that a time can be in whole */
	assert_int_equal(time_of("clock { name = c; offset_s = 9223372036; };",
				 1),
			 9223372036000000001);
}

static void clocks_are_told_as_the_metadata_has_them(void **state)
{
	struct sonde_trace *trace = with_clock(
		"clock { name = c; description = \"words\"; freq = 1000;"
		" offset_s = 3; offset = 4; precision = 5; absolute = true; };");
	struct sonde_source_info info;

	(void)state;
	sonde_source_get_info(sonde_trace_source(trace, 0), &info);
	assert_int_equal(info.major, 1);
	assert_int_equal(info.minor, 8);
	assert_false(info.big_endian);
	assert_true(info.has_uuid);
	assert_int_equal(info.uuid[15], 15);
	assert_int_equal(info.nr_clocks, 1);
	assert_string_equal(info.clocks[0].name, "c");
	assert_string_equal(info.clocks[0].description, "words");
	assert_int_equal(info.clocks[0].frequency, 1000);
	assert_int_equal(info.clocks[0].offset_s, 3);
	assert_int_equal(info.clocks[0].offset_cycles, 4);
	assert_int_equal(info.clocks[0].precision, 5);
	assert_true(info.clocks[0].absolute);
	sonde_trace_close(trace);
}

static void the_environment_is_found_by_name(void **state)
{
	struct sonde_trace *trace =
		with_clock("clock { name = c; };\n"
			   "env { hostname = \"here\"; tracer_major = 2; };");
	const struct sonde_source *source = sonde_trace_source(trace, 0);
	struct sonde_source_info info;

	(void)state;
	assert_string_equal(sonde_source_env(source, "hostname"), "here");
	assert_null(sonde_source_env(source, "tracer_major"));
	assert_null(sonde_source_env(source, "nothing"));
	sonde_source_get_info(source, &info);
	assert_int_equal(info.nr_env, 2);
	assert_string_equal(info.env[1].name, "tracer_major");
	assert_null(info.env[1].text);
	assert_int_equal(info.env[1].number, 2);
	sonde_trace_close(trace);
}

static bool is_internal(const char *env)
{
	struct sonde_event_class_info info;
	struct sonde_trace *trace;
	char clock[256];

	(void)snprintf(clock, sizeof(clock),
		       "clock { name = c; };\nenv { %s };\n"
		       "event { name = \"sonde:thread\"; id = 9;"
		       " stream_id = 0; };\n",
		       env);
	trace = with_clock(clock);
	sonde_event_class_get_info(sonde_trace_event_class(trace, 0), &info);
	assert_string_equal(info.name, "sonde:thread");
	assert_int_equal(info.index, 0);
	assert_int_equal(info.id, 9);
	assert_ptr_equal(info.source, sonde_trace_source(trace, 0));
	sonde_trace_close(trace);
	return info.internal;
}

static void thread_records_are_internal_in_sonde_s_traces_only(void **state)
{
	(void)state;
	assert_true(is_internal("tracer2_name = \"sonde\";"));
	assert_true(is_internal("tracer_name = \"sonde\";"));
	assert_false(is_internal("tracer_name = \"lttng-ust\";"));
	assert_false(is_internal(""));
}

/* ---- classes ---- */

/* The class of the one field of the first event. */
static const struct sonde_class *field_class(const struct sonde_trace *trace)
{
	const struct sonde_class *payload;
	const char *name;

	payload = sonde_event_class_scope(sonde_trace_event_class(trace, 0),
					  SONDE_SCOPE_PAYLOAD);
	assert_non_null(payload);
	assert_int_equal(sonde_class_kind(payload), SONDE_KIND_STRUCT);
	assert_int_equal(sonde_class_nr_members(payload), 1);
	assert_null(sonde_class_member(payload, 1, &name));
	payload = sonde_class_member(payload, 0, &name);
	assert_string_equal(name, "f");
	return payload;
}

static struct sonde_trace *with_field(const char *type)
{
	char clock[512];

	(void)snprintf(clock, sizeof(clock),
		       "clock { name = c; };\n"
		       "event { name = e; id = 9; stream_id = 0;"
		       " fields := struct { %s f; }; };\n",
		       type);
	return with_clock(clock);
}

static void numbers_tell_their_width_and_base(void **state)
{
	struct sonde_trace *trace =
		with_field("integer { size = 23; signed = true; base = 16; }");
	const struct sonde_class *cls = field_class(trace);

	(void)state;
	assert_int_equal(sonde_class_kind(cls), SONDE_KIND_INT);
	assert_int_equal(sonde_class_bits(cls), 23);
	assert_int_equal(sonde_class_base(cls), 16);
	assert_false(sonde_class_has_labels(cls));
	assert_null(sonde_class_label(cls, 0, 0));
	sonde_trace_close(trace);
}

static void labels_are_found_by_value(void **state)
{
	struct sonde_trace *trace =
		with_field("enum : integer { size = 32; signed = true; }"
			   " { low = -5 ... -3, zero = 0, high = 7 ... 9 }");
	const struct sonde_class *cls = field_class(trace);

	(void)state;
	assert_true(sonde_class_has_labels(cls));
	assert_null(sonde_class_label(cls, (uint64_t)-6, 0));
	assert_string_equal(sonde_class_label(cls, (uint64_t)-5, 0), "low");
	assert_string_equal(sonde_class_label(cls, (uint64_t)-3, 0), "low");
	assert_null(sonde_class_label(cls, (uint64_t)-3, 1));
	assert_null(sonde_class_label(cls, (uint64_t)-2, 0));
	assert_string_equal(sonde_class_label(cls, 0, 0), "zero");
	assert_string_equal(sonde_class_label(cls, 8, 0), "high");
	assert_null(sonde_class_label(cls, 10, 0));
	sonde_trace_close(trace);
}

static void overlapping_labels_come_in_the_metadata_s_order(void **state)
{
	struct sonde_trace *trace =
		with_field("enum : integer { size = 32; }"
			   " { b = 5 ... 9, a = 0 ... 6, c = 6 }");
	const struct sonde_class *cls = field_class(trace);

	(void)state;
	assert_string_equal(sonde_class_label(cls, 6, 0), "b");
	assert_string_equal(sonde_class_label(cls, 6, 1), "a");
	assert_string_equal(sonde_class_label(cls, 6, 2), "c");
	assert_null(sonde_class_label(cls, 6, 3));
	assert_string_equal(sonde_class_label(cls, 1, 0), "a");
	sonde_trace_close(trace);
}

static void bits_have_the_labels_of_those_that_are_set(void **state)
{
	static const struct sonde_label labels[] = {
		{ 0, 0, "first" },
		{ 2, 4, "middle" },
		{ 63, 63, "last" },
		{ 70, 80, "beyond" },
	};
	const struct sonde_class cls = {
		.kind = SONDE_KIND_BITS,
		.bits = 64,
		.nr_labels = 4,
		.labels = labels,
		.labels_ascend = true,
	};

	(void)state;
	assert_null(sonde_class_label(&cls, 0, 0));
	assert_null(sonde_class_label(&cls, 2, 0));
	assert_string_equal(sonde_class_label(&cls, 1, 0), "first");
	assert_string_equal(sonde_class_label(&cls, 9, 0), "first");
	assert_string_equal(sonde_class_label(&cls, 9, 1), "middle");
	assert_string_equal(sonde_class_label(&cls, UINT64_MAX, 2), "last");
	assert_null(sonde_class_label(&cls, UINT64_MAX, 3));
}

#define IN_DIRECTORY(test) \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(a_directory_with_metadata_is_a_trace),
		IN_DIRECTORY(what_is_no_stream_is_passed_over),
		IN_DIRECTORY(traces_are_found_five_levels_down),
		IN_DIRECTORY(six_levels_down_nothing_is_found),
		IN_DIRECTORY(links_in_circles_are_followed_once),
		IN_DIRECTORY(several_paths_are_one_trace),
		IN_DIRECTORY(index_files_are_found_beside_their_streams),
		IN_DIRECTORY(errors_name_the_file_and_the_reason),
		IN_DIRECTORY(a_path_without_a_trace_is_an_error_everywhere),
		cmocka_unit_test(no_path_is_no_trace),
		cmocka_unit_test(counters_become_nanoseconds),
		cmocka_unit_test(offsets_are_exact),
		cmocka_unit_test(clocks_are_told_as_the_metadata_has_them),
		cmocka_unit_test(the_environment_is_found_by_name),
		cmocka_unit_test(
			thread_records_are_internal_in_sonde_s_traces_only),
		cmocka_unit_test(numbers_tell_their_width_and_base),
		cmocka_unit_test(labels_are_found_by_value),
		cmocka_unit_test(
			overlapping_labels_come_in_the_metadata_s_order),
		cmocka_unit_test(bits_have_the_labels_of_those_that_are_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
