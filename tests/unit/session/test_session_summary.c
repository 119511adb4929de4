/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/launch.h"
#include "session/options.h"
#include "session/summary.h"

static const struct sonde_summary good = {
	.recorded = 1234567,
	.bytes = 14 << 20,
	.recorder_cpu_ns = 12300000,
	.recorder_busy_ns = 11000000,
	.program_cpu_ns = 246000000,
	.wall_ns = 500000000,
	.lives_ns = 500000000,
	.nr_processes = 1,
	.nr_event_types = 2,
};

static const struct sonde_summary_style plain = {
	.has_program = true,
	.directory = "out",
	.memory_bytes = 64 << 20,
};

static char screen[8192];

static const char *shown(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style,
			 void (*print)(const struct sonde_summary *,
				       const struct sonde_summary_style *,
				       FILE *))
{
	FILE *out;

	screen[0] = '\0';
	out = fmemopen(screen, sizeof(screen), "w");

	print(summary, style, out);
	assert_int_equal(fclose(out), 0);
	return screen;
}

static void check_says(const char *text)
{
	if (!strstr(screen, text))
		fail_msg("'%s' is not in:\n%s", text, screen);
}

static void a_good_recording_takes_three_lines(void **state)
{
	(void)state;
	assert_string_equal(
		shown(&good, &plain, sonde_summary_print),
		"sonde: 1,234,567 events recorded, 0 lost (14.0 MiB in 0.500 "
		"s, 2,469,134 events/s, 1 process)\n"
		"sonde: the recorder used 12.3 ms of CPU time, 5.0 % of the "
		"program's 246.0 ms\n"
		"sonde: trace in out; next: sonde print out\n");
}

static void a_short_run_is_not_charged_with_start_and_end(void **state)
{
	struct sonde_summary summary = good;
	struct sonde_summary_style verbose = plain;

	(void)state;
	summary.recorder_cpu_ns = 25400000;
	summary.recorder_busy_ns = 2100000;
	summary.program_cpu_ns = 16900000;
	verbose.verbose = true;
	(void)shown(&summary, &verbose, sonde_summary_print);
	check_says("sonde: the recorder used 2.1 ms of CPU time while the "
		   "program used 16.9 ms, and 23.3 ms to start and to end\n");
	check_says("sonde: 2 event types could have occurred; 'sonde stat' "
		   "counts those that did\n");
	assert_null(strchr(screen, '%'));
	(void)shown(&summary, &verbose, sonde_summary_print_json);
	check_says("\"recorder_busy_ns\": 2100000");
}

static void each_loss_has_its_reason_and_remedy(void **state)
{
	struct sonde_summary summary = good;

	(void)state;
	summary.lost_full = 1000;
	summary.lost_size = 1;
	summary.lost_contended = 2;
	summary.lost_overwritten = 3;
	summary.lost_disk = 4;
	summary.lost_marks = 5;
	summary.least_record_limit = 4000;
	summary.disk_error = -ENOSPC;
	(void)shown(&summary, &plain, sonde_summary_print);
	check_says("1,015 lost");
	check_says("lost 1,000 events: the rings were full; try --memory 256M");
	check_says(
		"lost 1 events: larger than a sub-buffer takes (4000 bytes)");
	check_says("lost 2 events: every ring was busy");
	check_says("lost 3 events: overwritten");
	check_says("lost 5 events: marks that their programs could not write");
	check_says("lost 4 events: writing to out failed (No space left on "
		   "device)");
}

static void what_was_lost_before_its_test_is_up_to_so_many(void **state)
{
	struct sonde_summary summary = good;

	(void)state;
	summary.lost_kernel_full = 1000;
	summary.lost_kernel_unread = 5;
	(void)shown(&summary, &plain, sonde_summary_print);
	check_says(" 1,005 lost");
	check_says("lost 1,000 events: the kernel's buffers were full");
	check_says("lost 5 events: the kernel recorded them");
	assert_null(strstr(screen, "up to"));
	summary.loses_unwanted = true;
	(void)shown(&summary, &plain, sonde_summary_print);
	check_says(" up to 1,005 lost");
	check_says("lost up to 1,000 events: the kernel's buffers were full");
	check_says("lost up to 5 events: the kernel recorded them");
	(void)shown(&summary, &plain, sonde_summary_print_json);
	check_says("\"lost_at_most\": true");
	check_says("\"kernel_unread\": 5");
}

static void quiet_hides_all_but_what_went_wrong(void **state)
{
	struct sonde_summary summary = good;
	struct sonde_summary_style style = plain;

	(void)state;
	style.quiet = true;
	assert_string_equal(shown(&summary, &style, sonde_summary_print), "");
	summary.lost_full = 1;
	(void)shown(&summary, &style, sonde_summary_print);
	check_says("sonde: lost 1 events: the rings were full");
	assert_null(strstr(screen, "babeltrace2"));
}

static void an_untraceable_program_gets_advice(void **state)
{
	struct sonde_summary summary = { 0 };
	struct sonde_summary_style style = plain;

	(void)state;
	(void)shown(&summary, &style, sonde_summary_print);
	check_says("try --malloc, --locks or --io");
	style.hooks = true;
	(void)shown(&summary, &style, sonde_summary_print);
	check_says("static, set-user-ID");
	summary.nr_processes = 1;
	(void)shown(&summary, &style, sonde_summary_print);
	check_says("nothing was called of what --log");
	style.hooks = false;
	(void)shown(&summary, &style, sonde_summary_print);
	check_says("no event was selected");
}

static void notes_are_bounded_and_counted(void **state)
{
	struct sonde_summary summary = good;

	(void)state;
	for (int i = 0; i < SONDE_NOTES_MAX + 3; i++)
		sonde_summary_note(&summary, "note %d %0300d", i, 0);
	(void)shown(&summary, &plain, sonde_summary_print);
	check_says("note 9 ");
	check_says("3 more");
	assert_null(strstr(screen, "note 10"));
}

static void json_is_one_line_with_its_text_escaped(void **state)
{
	struct sonde_summary summary = good;
	struct sonde_summary_style style = plain;

	(void)state;
	style.directory = "a\"b\\c\n";
	summary.lost_full = 5;
	sonde_summary_note(&summary, "tab\there");
	(void)shown(&summary, &style, sonde_summary_print_json);
	check_says("{\"events_recorded\": 1234567, \"events_lost\": 5, ");
	check_says("\"trace\": \"a\\\"b\\\\c\\n\"");
	check_says("\"notes\": [\"tab\\there\"]}\n");
	assert_ptr_equal(strchr(screen, '\n'), screen + strlen(screen) - 1);
}

static void programs_are_found_as_a_shell_finds_them(void **state)
{
	char path[PATH_MAX];

	(void)state;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	setenv("PATH", "/nowhere:/usr/bin:/bin", 1);
	assert_int_equal(sonde_launch_find("sh", path), 0);
	assert_non_null(strstr(path, "/bin/sh"));
	assert_int_equal(sonde_launch_find("/bin/sh", path), 0);
	assert_int_equal(sonde_launch_find("no-such-program", path), -ENOENT);
	assert_int_equal(sonde_launch_find("", path), -ENOENT);
	assert_int_equal(sonde_launch_find("/", path), -EISDIR);
	assert_int_equal(sonde_launch_find("/etc/passwd", path), -EACCES);
	assert_int_equal(sonde_launch_find("./no-such-program", path), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_recording_takes_three_lines),
		cmocka_unit_test(a_short_run_is_not_charged_with_start_and_end),
		cmocka_unit_test(each_loss_has_its_reason_and_remedy),
		cmocka_unit_test(
			what_was_lost_before_its_test_is_up_to_so_many),
		cmocka_unit_test(quiet_hides_all_but_what_went_wrong),
		cmocka_unit_test(an_untraceable_program_gets_advice),
		cmocka_unit_test(notes_are_bounded_and_counted),
		cmocka_unit_test(json_is_one_line_with_its_text_escaped),
		cmocka_unit_test(programs_are_found_as_a_shell_finds_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
