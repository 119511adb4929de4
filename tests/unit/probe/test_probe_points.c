/* SPDX-License-Identifier: MIT */
#include "probe/points.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sonde_probe_points points;
static struct sonde_probe_point *point;
static bool complete;

static int define(const char *packet)
{
	return sonde_probe_points_define(&points, packet, &complete, &point);
}

static int begin(void **state)
{
	(void)state;
	memset(&points, 0, sizeof(points));
	return 0;
}

static int end(void **state)
{
	(void)state;
	sonde_probe_points_clear(&points);
	return 0;
}

static void assert_lines(const struct sonde_probe_points *of,
			 const char *const *lines)
{
	char line[20000];
	size_t i;

	for (i = 0; lines[i]; i++) {
		assert_int_equal(sonde_probe_points_line(of, i, line,
							 sizeof(line)),
				 strlen(lines[i]));
		assert_string_equal(line, lines[i]);
	}
	assert_int_equal(sonde_probe_points_line(of, i, line, sizeof(line)), 0);
}

static void what_gdb_defines_is_told_back(void **state)
{
	static const char *const lines[] = {
		"T1:401000:E:0:5:F5:X3,221227",
		"A1:401000:R20",
		"A1:401000:M6,fffffffffffffff8,4",
		"A1:401000:M-1,404040,10",
		"A1:401000:X00000002,2227",
		"Z1:401000:at:0:5:663a313233",
		"Z1:401000:cmd:0:9:636f6c6c6563742061",
		"T2:402000:D:a:0:S",
		"A2:402000:L",
		"S2:402000:R0100",
		"S2:402000:M-1,8,8",
		"Z2:402000:at:0:9:2a3078343032303030",
		NULL,
	};

	(void)state;
	assert_int_equal(define("1:401000:E:0:5:F5:X3,221227-"), 0);
	assert_false(complete);
	assert_int_equal(define("-1:401000:R20M6,FFFFFFFFFFFFFFF8,4M-1,404040,"
				"10-"),
			 0);
	assert_false(complete);
	assert_int_equal(define("-1:401000:X00000002,2227"), 0);
	assert_true(complete);
	assert_int_equal(sonde_probe_points_source(
				 &points, "1:401000:at:0:5:663a313233"),
			 0);
	assert_int_equal(sonde_probe_points_source(
				 &points,
				 "1:401000:cmd:0:9:636f6c6c6563742061"),
			 0);
	assert_int_equal(define("2:402000:D:a:0:S-"), 0);
	assert_int_equal(define("-2:402000:L-"), 0);
	assert_int_equal(define("-2:402000:SR100-"), 0);
	assert_int_equal(define("-2:402000:M-1,8,8"), 0);
	assert_true(complete);
	assert_int_equal(sonde_probe_points_source(
				 &points, "2:402000:at:0:6:2d6d20612f62"),
			 0);
	assert_int_equal(points.nr, 2);
	assert_int_equal(points.list[0].actions[1].offset, -8);
	assert_int_equal(points.list[0].actions[2].reg, -1);
	assert_lines(&points,
		     (const char *const[]){
			     lines[0], lines[1], lines[2], lines[3], lines[4],
			     lines[5], lines[6], lines[7], lines[8],
			     "S2:402000:R100", lines[10], lines[11], NULL });
}

static void lines_make_the_same_points(void **state)
{
	static const char *const lines[] = {
		"T1:401000:E:0:5:F5:X3,221227",
		"A1:401000:RFFFFFF",
		"S1:401000:M-1,8,8",
		"Z1:401000:cond:0:5:61203e2031",
		"T7:ffffffffff600000:D:0:0:S",
		NULL,
	};
	struct sonde_probe_points copy = { 0 };

	(void)state;
	for (size_t i = 0; lines[i]; i++)
		assert_int_equal(
			sonde_probe_points_read_line(&points, lines[i]), 0);
	assert_lines(&points, lines);
	assert_int_equal(sonde_probe_points_add_builtins(&points), 0);
	assert_int_equal(sonde_probe_points_copy(&copy, &points), 0);
	assert_lines(&copy, lines);
	assert_int_equal(copy.nr_variables, 4);
	assert_true(copy.variables[2].builtin);
	sonde_probe_points_clear(&copy);
}

static void a_point_told_again_stays_as_it_is(void **state)
{
	static const char *const lines[] = { "T1:401000:E:0:0", "A1:401000:R01",
					     "Z1:401000:cmd:0:1:61", NULL };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(define("1:401000:E:0:0-"), 0);
		assert_int_equal(define("-1:401000:R1"), 0);
		assert_int_equal(complete, i == 0);
		assert_int_equal(sonde_probe_points_source(
					 &points, "1:401000:cmd:0:1:61"),
				 0);
	}
	assert_lines(&points, lines);
}

static void sources_come_in_pieces(void **state)
{
	(void)state;
	assert_int_equal(define("1:10:E:0:0"), 0);
	assert_int_equal(
		sonde_probe_points_source(&points, "1:10:cond:0:4:6162"), 0);
	assert_int_equal(
		sonde_probe_points_source(&points, "1:10:cond:2:4:6364"), 0);
	assert_string_equal(points.list[0].sources[0].text, "abcd");
	/* Not where the last one ended. */
	assert_int_equal(sonde_probe_points_source(&points,
						   "1:10:cond:9:4:6364"),
			 -EINVAL);
}

static void a_long_source_is_told_in_pieces(void **state)
{
	char packet[17000] = "1:10:cond:0:1f41:";
	size_t used = strlen(packet);
	char line[20000];

	(void)state;
	assert_int_equal(define("1:10:E:0:0"), 0);
	for (int i = 0; i < 8001; i++, used += 2)
		memcpy(packet + used, "61", 3);
	assert_int_equal(sonde_probe_points_source(&points, packet), 0);
	assert_true(sonde_probe_points_line(&points, 1, line, sizeof(line)) <
		    0x4000);
	assert_int_equal(sonde_probe_points_line(&points, 2, line,
						 sizeof(line)),
			 strlen("Z1:10:cond:1f40:1f41:61"));
	assert_string_equal(line, "Z1:10:cond:1f40:1f41:61");
	assert_int_equal(
		sonde_probe_points_line(&points, 3, line, sizeof(line)), 0);
}

static void variables_are_told_back(void **state)
{
	char line[100];

	(void)state;
	assert_int_equal(sonde_probe_points_add_builtins(&points), 0);
	assert_int_equal(sonde_probe_points_variable(
				 &points, "5:ffffffffffffffff:0:616263"),
			 0);
	/* GDB sends ours, too: nothing changes. */
	assert_int_equal(sonde_probe_points_variable(&points, "1:5:1:7878"), 0);
	assert_int_equal(sonde_probe_points_variable_line(&points, 0, line,
							  sizeof(line)),
			 strlen("1:0:1:74696d657374616d70"));
	assert_string_equal(line, "1:0:1:74696d657374616d70");
	(void)sonde_probe_points_variable_line(&points, 4, line, sizeof(line));
	assert_string_equal(line, "5:ffffffffffffffff:0:616263");
	assert_int_equal(points.variables[4].value, -1);
	assert_int_equal(sonde_probe_points_variable_line(&points, 5, line,
							  sizeof(line)),
			 0);
}

static void malformed_packets_are_refused(void **state)
{
	static const char *const packets[] = {
		"",
		":",
		"1",
		"1:",
		"1:2",
		"1:2:",
		"1:2:X:0:0",
		"1:2:E",
		"1:2:E:",
		"1:2:E:0",
		"1:2:E:0:",
		"1:2:E:0:0x",
		"1:2:E:0:0:",
		"1:2:E:0:0:G",
		"1:2:E:0:0:F",
		"1:2:E:0:0:F10",
		"1:2:E:0:0:X",
		"1:2:E:0:0:X1",
		"1:2:E:0:0:X1,",
		"1:2:E:0:0:X1,2",
		"1:2:E:0:0:X2,22",
		"1:2:E:0:0:X1,gg",
		"1:2:E:0:0:X1,22:X1,22",
		"1:2:E:0:0--",
		"11111111111111111:2:E:0:0",
		"ffffffff:2:E:0:0",
		"1:22222222222222222:E:0:0",
		"-1:2:R1",
	};
	static const char *const actions[] = {
		"-1:10:Q",     "-1:10:R",      "-1:10:M",       "-1:10:M-1",
		"-1:10:M-1,1", "-1:10:M-1,1,", "-1:10:M1a,1,1", "-1:10:X",
		"-1:10:X1",    "-1:10:X2,2",   "-1:10:R1-R1",   "-1:10:--",
		"-1:10:",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++)
		assert_true(define(packets[i]) < 0);
	assert_int_equal(points.nr, 0);
	assert_int_equal(define("1:2:E:0:0:X2001,22"), -E2BIG);
	assert_int_equal(define("1:10:E:0:0-"), 0);
	for (size_t i = 0; i < 12; i++)
		assert_true(define(actions[i]) < 0);
}

static void hostile_definitions_are_bounded(void **state)
{
	char packet[64];
	int rc = 0;
	int i;

	(void)state;
	for (i = 0; i < 100000 && rc == 0; i++) {
		(void)snprintf(packet, sizeof(packet), "1:%x:E:0:0-", i);
		/* Each is looked for among all: keep that short. */
		if (i > 300)
			break;
		rc = define(packet);
	}
	rc = 0;
	for (i = 0; i < 1000 && rc == 0; i++)
		rc = define("-1:0:R1-");
	assert_int_equal(rc, -E2BIG);
	rc = 0;
	for (i = 0; i < 1000 && rc == 0; i++)
		rc = sonde_probe_points_source(&points, "1:0:cmd:0:1:61");
	assert_int_equal(rc, -E2BIG);
	assert_int_equal(sonde_probe_points_variable(&points, "ffff:0:0:61"),
			 -E2BIG);
	assert_int_equal(sonde_probe_points_source(&points,
						   "1:0:cmd:0:ffffffff:61"),
			 -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_gdb_defines_is_told_back,
						begin, end),
		cmocka_unit_test_setup_teardown(lines_make_the_same_points,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_point_told_again_stays_as_it_is, begin, end),
		cmocka_unit_test_setup_teardown(sources_come_in_pieces, begin,
						end),
		cmocka_unit_test_setup_teardown(a_long_source_is_told_in_pieces,
						begin, end),
		cmocka_unit_test_setup_teardown(variables_are_told_back, begin,
						end),
		cmocka_unit_test_setup_teardown(malformed_packets_are_refused,
						begin, end),
		cmocka_unit_test_setup_teardown(hostile_definitions_are_bounded,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
