/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "session/options.h"

static struct sonde_record_options options;
static char error[512];

#define PARSE(...)                                               \
	parse((char *const[]){ "record", __VA_ARGS__, NULL },    \
	      sizeof((char *const[]){ "record", __VA_ARGS__ }) / \
		      sizeof(char *))

static int parse(char *const *argv, size_t argc)
{
	error[0] = '\0';
	return sonde_record_options_parse((int)argc, argv, &options, error,
					  sizeof(error));
}

static void check_refused(int rc, const char *word)
{
	assert_int_equal(rc, -EINVAL);
	if (!strstr(error, word))
		fail_msg("'%s' does not name '%s'", error, word);
	assert_null(strchr(error, '\n'));
}

static void words_after_the_options_are_the_program(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-q", "ls", "-l"), 0);
	assert_string_equal(options.program[0], "ls");
	assert_string_equal(options.program[1], "-l");
	assert_null(options.program[2]);
	assert_int_equal(PARSE("--", "-odd", "--"), 0);
	assert_string_equal(options.program[0], "-odd");
	assert_string_equal(options.program[1], "--");
}

static void defaults_select_everything(void **state)
{
	(void)state;
	assert_int_equal(PARSE("ls"), 0);
	assert_int_equal(options.session.memory_bytes, 64 << 20);
	assert_int_equal(options.session.loglevel, SONDE_LOGLEVEL_ALL);
	assert_int_equal(options.session.mode, SONDE_DISCARD);
	assert_null(options.output);
	assert_int_equal(options.session.rules_size, 4);
	assert_memory_equal(options.session.rules, "+*\0", 4);
}

static void values_are_taken_in_all_three_forms(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-oa", "x"), 0);
	assert_string_equal(options.output, "a");
	assert_int_equal(PARSE("-o", "b", "x"), 0);
	assert_string_equal(options.output, "b");
	assert_int_equal(PARSE("--output=c=d", "x"), 0);
	assert_string_equal(options.output, "c=d");
}

static void patterns_become_rules_in_order(void **state)
{
	static const char rules[] = "+a:*\0-a:b\0+c\0";

	(void)state;
	assert_int_equal(
		PARSE("-e", "a:*", "--exclude", "a:b", "--event=c", "x"), 0);
	assert_int_equal(options.session.rules_size, sizeof(rules));
	assert_memory_equal(options.session.rules, rules, sizeof(rules));
}

static void probes_of_other_makers_are_rules_and_sites(void **state)
{
	static const char rules[] = "+sdt:a:b\0+sdt:c:*\0";

	(void)state;
	assert_int_equal(
		PARSE("-e", "sdt:a:b if arg1 > 2", "-e", "sdt:c:*", "x"), 0);
	assert_memory_equal(options.session.rules, rules, sizeof(rules));
	assert_int_equal(options.session.nr_conditions, 0);
	assert_int_equal(options.nr_sites, 2);
	assert_string_equal(options.sites[0], "sdt:a:b if arg1 > 2");
	assert_false(options.session.has_hooks);
	assert_int_equal(PARSE("-e", "sdt:a:b", "-p", "1"), 0);
	assert_true(options.session.has_hooks);
	assert_int_equal(
		PARSE("-e", "sdt:a:b /s arg1,arg2 if arg1 == \"x\"", "x"), 0);
	assert_memory_equal(options.session.rules, rules, 9);
	check_refused(PARSE("-e", "sdt:a:b /s", "x"), "/s arg1");
	check_refused(PARSE("-e", "sdt:a:b /s 1", "x"), "/s arg1");
	check_refused(PARSE("-e", "sdt:a:b /s arg13", "x"), "/s arg1");
	check_refused(PARSE("-e", "sdt:a:b and more", "x"), "/s arg1");
	check_refused(PARSE("-e", "sdt:a:b if arg1 >", "x"), "column");
	check_refused(PARSE("-e", "sdt:a:b", "--filter", "n == 1", "x"),
		      "--filter");
	check_refused(PARSE("-e", "sdt:a:b", "-a", "-k", "sched"), "sdt:a:b");
}

static void only_excluding_starts_from_everything(void **state)
{
	static const char rules[] = "-a\0+*\0";

	(void)state;
	assert_int_equal(PARSE("--exclude", "a", "x"), 0);
	assert_int_equal(options.session.rules_size, sizeof(rules));
	assert_memory_equal(options.session.rules, rules, sizeof(rules));
}

static void rules_that_exceed_their_room_are_refused(void **state)
{
	char pattern[SONDE_RULES_MAX];
	char *argv[64] = { "record" };
	int argc = 1;

	(void)state;
	memset(pattern, 'a', sizeof(pattern));
	pattern[200] = '\0';
	while (argc < 41) {
		argv[argc++] = "-e";
		argv[argc++] = pattern;
	}
	argv[argc++] = "x";
	check_refused(parse(argv, (size_t)argc), "--exclude");
	pattern[200] = 'a';
	pattern[300] = '\0';
	check_refused(PARSE("-e", pattern, "x"), "255");
	check_refused(PARSE("-e", "", "x"), "empty");
}

static void sizes_out_of_range_name_the_limits(void **state)
{
	(void)state;
	check_refused(PARSE("--memory", "63k", "x"), "64k to 64G");
	check_refused(PARSE("--memory", "65G", "x"), "64G");
	check_refused(PARSE("--memory", "64Q", "x"), "64Q");
	check_refused(PARSE("--memory", "99999999999999999999", "x"), "64G");
	check_refused(PARSE("--memory", "18446744073709551615T", "x"), "64G");
	check_refused(PARSE("--memory", "-1", "x"), "-1");
	check_refused(PARSE("--subbuf", "5000", "x"), "power of two");
	check_refused(PARSE("--subbuf", "8M", "x"), "4M");
	check_refused(PARSE("--subbuf", "1M", "--memory", "1M", "x"), "8192k");
	check_refused(PARSE("--read-timer", "1us", "x"), "20us");
	check_refused(PARSE("--read-timer", "11s", "x"), "10s");
	check_refused(PARSE("--read-timer", "5h", "x"), "5h");
	check_refused(PARSE("--recorder-cpus", "one", "x"), "one");
	check_refused(PARSE("--recorder-cpus", "0-", "x"), "0-");
	check_refused(PARSE("--recorder-cpus", "0,1024", "x"), "1024");
}

static void the_kind_of_headers_is_found_out_unless_given(void **state)
{
	(void)state;
	assert_int_equal(PARSE("x"), 0);
	assert_int_equal(options.session.headers, SONDE_HEADERS_AUTO);
	assert_int_equal(PARSE("--headers", "large", "x"), 0);
	assert_int_equal(options.session.headers, SONDE_HEADERS_LARGE);
	assert_int_equal(PARSE("--headers=compact", "x"), 0);
	assert_int_equal(options.session.headers, SONDE_HEADERS_COMPACT);
	assert_int_equal(PARSE("--headers=large", "--headers=auto", "x"), 0);
	assert_int_equal(options.session.headers, SONDE_HEADERS_AUTO);
}

static void the_format_is_the_old_one_unless_given(void **state)
{
	(void)state;
	assert_int_equal(PARSE("x"), 0);
	assert_int_equal(options.session.ctf_version, SONDE_CTF_1_8);
	assert_int_equal(PARSE("--ctf", "2", "x"), 0);
	assert_int_equal(options.session.ctf_version, SONDE_CTF_2);
	assert_int_equal(PARSE("--ctf=2", "--ctf=1.8", "x"), 0);
	assert_int_equal(options.session.ctf_version, SONDE_CTF_1_8);
	check_refused(PARSE("--ctf", "3", "x"), "1.8");
}

static void unknown_words_are_named(void **state)
{
	(void)state;
	check_refused(PARSE("--frob", "x"), "--frob");
	check_refused(PARSE("--frob=1", "x"), "'--frob'");
	check_refused(PARSE("-Z", "x"), "'-Z'");
	check_refused(PARSE("--mode", "ring", "x"), "overwrite");
	check_refused(PARSE("--headers", "small", "x"), "compact");
	check_refused(PARSE("--loglevel", "loud", "x"), "loud");
	check_refused(PARSE("--malloc=yes", "x"), "--malloc");
	check_refused(PARSE("--stack=0", "x"), "from 1 to 64");
	check_refused(PARSE("--stack=65", "x"), "from 1 to 64");
	check_refused(PARSE("--stack=deep", "x"), "from 1 to 64");
	assert_int_equal(PARSE("--stack", "x"), 0);
	assert_int_equal(options.session.stacks_depth, 16);
	assert_int_equal(PARSE("--stack=64", "x"), 0);
	assert_int_equal(options.session.stacks_depth, 64);
	/* A number is no program, unless it is said so. */
	assert_int_equal(PARSE("--stack", "8", "--sample", "500", "x", "9"), 0);
	assert_int_equal(options.session.stacks_depth, 8);
	assert_int_equal(options.session.kernel.sample_hz, 500);
	assert_string_equal(options.program[0], "x");
	assert_int_equal(PARSE("--stack", "--", "8"), 0);
	assert_int_equal(options.session.stacks_depth, 16);
	assert_string_equal(options.program[0], "8");
	assert_int_equal(PARSE("--stack", "8x"), 0);
	assert_string_equal(options.program[0], "8x");
	check_refused(PARSE("-o"), "--output");
	check_refused(PARSE("-o", "--", "x"), "needs a value before '--'");
	check_refused(PARSE("-o", "--quiet", "x"), "--output=--quiet");
	check_refused(PARSE("-q"), "which program");
}

static void kernel_rules_add_up(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-k", "block,net", "-ksyscalls if ret < 0",
			       "--kernel-source=bpf", "--kernel-memory", "2M",
			       "--self", "x"),
			 0);
	assert_int_equal(options.session.kernel.rules->nr, 3);
	assert_string_equal(options.session.kernel.rules->rules[2].condition,
			    "ret < 0");
	assert_int_equal(options.session.kernel.source, SONDE_SOURCE_BPF);
	assert_int_equal(options.session.kernel.memory_bytes, 2 << 20);
	assert_true(options.session.kernel.self);
	assert_false(options.session.kernel.whole_machine);
	/* and start anew with each command line */
	assert_int_equal(PARSE("-k", "block", "x"), 0);
	assert_int_equal(options.session.kernel.rules->nr, 1);
	assert_int_equal(PARSE("x"), 0);
	assert_null(options.session.kernel.rules);
	assert_int_equal(options.session.kernel.string_bytes,
			 SONDE_SOURCE_STRING_DEFAULT);
}

static void what_runs_already_needs_no_program(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-p", "42", "-pnginx", "--process=x", "-u",
			       "www", "--cgroup", "/a"),
			 0);
	assert_null(options.program);
	assert_true(options.session.attaches);
	assert_int_equal(options.session.attach.nr_whom, 3);
	assert_string_equal(options.session.attach.whom[0], "42");
	assert_string_equal(options.session.attach.whom[1], "nginx");
	assert_string_equal(options.session.attach.users[0], "www");
	assert_string_equal(options.session.attach.cgroups[0], "/a");
	assert_int_equal(PARSE("-a", "-k", "sched", "-p", "1"), 0);
	check_refused(PARSE("-p", "1", "x"), "'x'");
	check_refused(PARSE("-p", ""), "empty");
	assert_int_equal(PARSE("-p", "1", "--locks"), 0);
	assert_true(options.session.attaches && options.session.has_hooks);
	check_refused(PARSE("-p", "1", "-e", "a if b > 1"), "conditions");
	check_refused(PARSE("-p", "1", "--filter", "b > 1"), "conditions");
	check_refused(PARSE("-p", "1", "-k", "sched"), "--all");
	assert_int_equal(PARSE("x"), 0);
	assert_false(options.session.attaches);
}

static void a_duration_has_a_unit(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--duration", "100ms", "x"), 0);
	assert_int_equal(options.session.duration_us, 100000);
	assert_int_equal(PARSE("--duration", "2min", "x"), 0);
	assert_int_equal(options.session.duration_us, 120000000);
	assert_int_equal(PARSE("--duration", "1h", "x"), 0);
	assert_int_equal(options.session.duration_us, 3600000000);
	assert_int_equal(PARSE("x"), 0);
	assert_int_equal(options.session.duration_us, 0);
	check_refused(PARSE("--duration", "10", "x"), "unit");
	check_refused(PARSE("--duration", "0s", "x"), "unit");
	check_refused(PARSE("--duration", "1001h", "x"), "1000h");
}

static void the_machine_needs_no_program_but_rules(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-a", "-k", "sched"), 0);
	assert_null(options.program);
	assert_true(options.session.kernel.whole_machine);
	assert_int_equal(PARSE("-a", "-k", "sched", "x"), 0);
	assert_string_equal(options.program[0], "x");
	check_refused(PARSE("-a", "x"), "-k");
	check_refused(PARSE("-k", "sched"), "which program");
	check_refused(PARSE("-k", ",", "x"), "pattern");
	check_refused(PARSE("--kernel-source", "magic", "x"), "tracefs");
	check_refused(PARSE("--kernel-memory", "1", "x"), "64k");
	check_refused(PARSE("--kernel-strings", "1M", "x"), "4096");
	check_refused(PARSE("--kernel-returns", "0", "x"), "65536");
	check_refused(PARSE("--kernel-returns", "1M", "x"), "65536");
	assert_int_equal(PARSE("--kernel-returns", "64", "x"), 0);
	assert_int_equal(options.session.kernel.returns, 64);
}

static void conditions_are_read_with_their_rules(void **state)
{
	(void)state;
	assert_int_equal(PARSE("-e", "a:*", "-e", "b:c if n > 3", "--filter",
			       "m == 1", "p"),
			 0);
	assert_int_equal(options.session.nr_conditions, 1);
	assert_string_equal(options.session.conditions[0].text, "n > 3");
	assert_string_equal(options.session.rules +
				    options.session.conditions[0].rule,
			    "+b:c");
	assert_int_equal(options.session.nr_filters, 1);
	assert_string_equal(options.session.filters[0], "m == 1");
	check_refused(PARSE("-e", "b:c if n = 3", "p"), "column 3");
	check_refused(PARSE("-e", "b:c if", "p"), "missing");
	check_refused(PARSE("--filter", "(n", "p"), "column 3");
	/* an event's name may have an "if" in it */
	assert_int_equal(PARSE("-e", "iffy:notif", "p"), 0);
	assert_int_equal(options.session.nr_conditions, 0);
}

static void help_needs_no_program(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--help"), 0);
	assert_true(options.help);
}

static void levels_have_names_and_numbers(void **state)
{
	uint32_t level;

	(void)state;
	assert_int_equal(sonde_parse_loglevel("Warning", &level), 0);
	assert_int_equal(level, 4);
	assert_int_equal(sonde_parse_loglevel("debug", &level), 0);
	assert_int_equal(level, 14);
	assert_int_equal(sonde_parse_loglevel("14", &level), 0);
	assert_int_equal(sonde_parse_loglevel("15", &level), -EINVAL);
	assert_int_equal(sonde_parse_loglevel("3x", &level), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_after_the_options_are_the_program),
		cmocka_unit_test(defaults_select_everything),
		cmocka_unit_test(values_are_taken_in_all_three_forms),
		cmocka_unit_test(patterns_become_rules_in_order),
		cmocka_unit_test(only_excluding_starts_from_everything),
		cmocka_unit_test(probes_of_other_makers_are_rules_and_sites),
		cmocka_unit_test(rules_that_exceed_their_room_are_refused),
		cmocka_unit_test(sizes_out_of_range_name_the_limits),
		cmocka_unit_test(the_kind_of_headers_is_found_out_unless_given),
		cmocka_unit_test(the_format_is_the_old_one_unless_given),
		cmocka_unit_test(unknown_words_are_named),
		cmocka_unit_test(kernel_rules_add_up),
		cmocka_unit_test(what_runs_already_needs_no_program),
		cmocka_unit_test(a_duration_has_a_unit),
		cmocka_unit_test(the_machine_needs_no_program_but_rules),
		cmocka_unit_test(conditions_are_read_with_their_rules),
		cmocka_unit_test(help_needs_no_program),
		cmocka_unit_test(levels_have_names_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
