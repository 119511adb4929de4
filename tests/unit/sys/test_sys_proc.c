/* SPDX-License-Identifier: MIT */
/*
 * test_sys_proc.c - sys/textfile.h, sys/proc.h and sys/cpus.h: small files, and
 * what those of /proc say, sane and hostile; of this process, what is true.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "sys/cpus.h"
#include "sys/proc.h"

#define TAIL "7 7 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 "
#define REST "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 3 0 0\n"

/* ---- text ---- */

static void a_stat_is_read_from_its_last_bracket(void **state)
{
	struct sonde_proc_stat stat;

	(void)state;
	assert_true(sonde_proc_parse_stat(
		"7 (x) R 1 (y) S 5 " TAIL "12345678901 " REST, &stat));
	assert_string_equal(stat.name, "x) R 1 (y");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 5);
	assert_int_equal(stat.flags, 64);
	assert_true(stat.start == 12345678901);
	assert_int_equal(stat.cpu, 3);
}

static void a_damaged_stat_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"7",
		"7 (x",
		"7 x) S 1",
		")(",
		"7 (x)",
		"7 (x) ",
		"7 (x) S",
		"7 (x) S 1 2 3",
		"7 (x) S 99999999999999999999 " TAIL "33 " REST,
		"7 (x) S -1 " TAIL "33 " REST,
		"7 (x) S 1 " TAIL "33 0 1 2 3\n4 5 6 7 8 9 10 11 12 13 14 15",
	};
	struct sonde_proc_stat stat = { .parent = 42, .name = "as it was" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_false(sonde_proc_parse_stat(texts[i], &stat));
		assert_int_equal(stat.parent, 42);
		assert_string_equal(stat.name, "as it was");
	}
}

static void a_long_name_is_cut_and_terminated(void **state)
{
	struct sonde_proc_stat stat;
	char text[512];
	char name[81];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)snprintf(text, sizeof(text), "7 (%s) Z 1 " TAIL "33 " REST, name);
	memset(&stat, 0xff, sizeof(stat));
	assert_true(sonde_proc_parse_stat(text, &stat));
	assert_int_equal(strnlen(stat.name, sizeof(stat.name)),
			 sizeof(stat.name) - 1);
	assert_int_equal(stat.state, 'Z');
}

static void a_line_is_found_where_lines_begin(void **state)
{
	static const char text[] = "Name:\tNSpid:\t7\\n\nNSpidx:\t8\n"
				   "NSpid:\t101\t6\t2\nSigBlk:\t00ff\n";
	uint64_t last = 42;

	(void)state;
	assert_int_equal(sonde_proc_numbers(sonde_proc_find(text, "NSpid"), 10,
					    &last),
			 3);
	assert_int_equal(last, 2);
	assert_int_equal(sonde_proc_numbers(sonde_proc_find(text, "SigBlk"), 16,
					    &last),
			 1);
	assert_int_equal(last, 0xff);
	assert_null(sonde_proc_find(text, "Uid"));
	assert_int_equal(sonde_proc_numbers(NULL, 10, &last), 0);
	assert_int_equal(sonde_proc_numbers("x", 10, &last), 0);
	assert_int_equal(last, 0xff);
}

static void check_group(const char *text, const char *controller,
			const char *expected)
{
	const char *path = sonde_proc_find_cgroup(text, controller);
	size_t size = path ? strcspn(path, "\n") : 0;

	assert_int_equal(!path, !*expected);
	assert_int_equal(size, strlen(expected));
	if (path)
		assert_memory_equal(path, expected, size);
}

static void a_group_is_found_by_its_controller(void **state)
{
	static const char old[] = "4:cpu:0::/no\n3:cpu,memory:/m,cpuset:/a\n"
				  "1:name=systemd:/x";
	static const char both[] = "12:memory:/old\n0::/new/0::x\n";

	(void)state;
	check_group(both, "", "/new/0::x");
	check_group(both, "memory", "/old");
	check_group(both, NULL, "/old");
	check_group(both, "mem", "");
	check_group("0::/\n", "", "/");
	check_group(old, "", "");
	check_group(old, "memory", "/m,cpuset:/a");
	check_group(old, "cpuset", "");
	check_group(old, NULL, "/m,cpuset:/a");
	check_group("", NULL, "");
	check_group("nonsense\n/:", NULL, "");
	check_group("0:\n", "", "");
	check_group("0\n::/a", "", "/a");
}

static void a_mapping_has_its_name_back(void **state)
{
	struct sonde_proc_mapping mapping = { 0 };
	char line[] = "7f00-8f00 r-xs 00001000 fe:12 77    /tmp/a\\012b c "
		      "(deleted)";

	(void)state;
	assert_true(sonde_proc_parse_mapping(line, &mapping));
	assert_int_equal(mapping.begin, 0x7f00);
	assert_int_equal(mapping.end, 0x8f00);
	assert_int_equal(mapping.mode, SONDE_MAPPED_READ | SONDE_MAPPED_EXEC |
					       SONDE_MAPPED_SHARED);
	assert_int_equal(mapping.offset, 0x1000);
	assert_int_equal(mapping.major, 0xfe);
	assert_int_equal(mapping.minor, 0x12);
	assert_int_equal(mapping.ino, 77);
	assert_string_equal(mapping.path, "/tmp/a\nb c (deleted)");
}

static void damaged_mappings_are_none(void **state)
{
	static const char *const lines[] = {
		"",
		"7f00",
		"7f00-8f00",
		"7f00-8f00 r-x",
		"7f00-8f00 rwzp 0 0:0 1 /x",
		"7f00-8f00 r-xp 0 0:0 1x",
		"8f00-7f00 r-xp 0 0:0 1 /x",
		"7f00-7f00 r-xp 0 0:0 1 /x",
		"7f00-8f00 r-xp 0 1000:0 1 /x",
		"7f00-8f00 r-xp 0 0:100000 1 /x",
		"7f00-10000000000000000 r-xp 0 0:0 1 /x",
	};
	struct sonde_proc_mapping mapping;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *line = strdup(lines[i]);

		assert_non_null(line);
		assert_false(sonde_proc_parse_mapping(line, &mapping));
		free(line);
	}
}

static void a_mapping_needs_no_path(void **state)
{
	struct sonde_proc_mapping mapping;
	char line[] = "7f00-8f00 rw-p 00000000 00:00 0 ";

	(void)state;
	assert_true(sonde_proc_parse_mapping(line, &mapping));
	assert_string_equal(mapping.path, "");
	assert_int_equal(mapping.mode, SONDE_MAPPED_READ | SONDE_MAPPED_WRITE);
}

static void a_system_call_has_its_place(void **state)
{
	struct sonde_proc_syscall call = { .pc = 42 };

	(void)state;
	assert_false(sonde_proc_parse_syscall("running\n", &call));
	assert_false(sonde_proc_parse_syscall("", &call));
	assert_false(sonde_proc_parse_syscall("1 0x2 0x3", &call));
	assert_false(sonde_proc_parse_syscall("-1 0x2", &call));
	assert_int_equal(call.pc, 42);
	assert_true(sonde_proc_parse_syscall(
		"7 0x1 0x2 0x3 0x4 0x5 0xffffffffffffffff 0x7ffe 0x7f00\n",
		&call));
	assert_int_equal(call.number, 7);
	assert_int_equal(call.args[0], 1);
	assert_true(call.args[5] == UINT64_MAX);
	assert_int_equal(call.sp, 0x7ffe);
	assert_int_equal(call.pc, 0x7f00);
	assert_true(sonde_proc_parse_syscall("-1 0x7ffe 0x7f01\n", &call));
	assert_int_equal(call.number, -1);
	assert_int_equal(call.pc, 0x7f01);
}

/* ---- CPUs ---- */

static void lists_of_cpus_are_read(void **state)
{
	const char *at = "0-3,8\n";
	uint32_t first;
	uint32_t last;

	(void)state;
	assert_true(sonde_cpus_take(&at, &first, &last));
	assert_int_equal(first, 0);
	assert_int_equal(last, 3);
	assert_true(sonde_cpus_take(&at, &first, &last));
	assert_int_equal(first, 8);
	assert_int_equal(last, 8);
	assert_false(sonde_cpus_take(&at, &first, &last));
	assert_string_equal(at, "\n");
	assert_int_equal(sonde_cpus_span("0\n", 4096), 1);
	assert_int_equal(sonde_cpus_span("0-3,8-11", 4096), 12);
	assert_int_equal(sonde_cpus_span("0-3", 4), 4);
}

static void what_is_no_list_of_cpus_spans_nothing(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "-",
					     "0-",
					     "0-3x",
					     "3-0",
					     "0,,1",
					     "0, 1",
					     "0-4",
					     ",0",
					     "0-3,x",
					     "0,",
					     "0-99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(sonde_cpus_span(texts[i], 4), 0);
}

/* ---- files ---- */

static void a_line_that_is_too_long_is_cut_and_the_next_is_whole(void **state)
{
	static struct sonde_lines lines;
	char path[] = "/tmp/test_sys_proc.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	const char *line;

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 200000; i++)
		(void)fputc('a', file);
	(void)fputs("\nnext\nlast", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(sonde_lines_open(&lines, "%s", path), 0);
	assert_int_equal(unlink(path), 0);
	line = sonde_lines_next(&lines);
	assert_non_null(line);
	assert_int_equal(strlen(line), SONDE_LINE_MAX);
	line = sonde_lines_next(&lines);
	assert_non_null(line);
	assert_string_equal(line, "next");
	line = sonde_lines_next(&lines);
	assert_non_null(line);
	assert_string_equal(line, "last");
	assert_null(sonde_lines_next(&lines));
	sonde_lines_close(&lines);
}

static void a_file_is_read_up_to_its_room(void **state)
{
	char text[4] = "xxx";

	(void)state;
	assert_int_equal(sonde_textfile_read(text, sizeof(text),
					     "/proc/%s/comm", "self"),
			 3);
	assert_string_equal(text, "tes");
	assert_int_equal(sonde_textfile_read(text, sizeof(text),
					     "/proc/self/none"),
			 -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(sonde_textfile_read(text, sizeof(text), "/proc"),
			 -EISDIR);
	assert_string_equal(text, "");
}

static void a_first_line_has_no_newline(void **state)
{
	char text[32];

	(void)state;
	assert_int_equal(sonde_textfile_read_line(text, sizeof(text),
						  "/proc/self/comm"),
			 strlen("test_sys_proc"));
	assert_string_equal(text, "test_sys_proc");
}

/* ---- processes ---- */

static void a_process_is_known_from_proc(void **state)
{
	struct sonde_proc_stat stat;
	char name[SONDE_COMM_SIZE];
	char group[SONDE_CGROUP_BYTES] = "";
	uint64_t number = 0;

	(void)state;
	assert_int_equal(sonde_proc_stat(getpid(), &stat), 0);
	assert_string_equal(stat.name, "test_sys_proc");
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.parent, getppid());
	assert_int_equal(sonde_process_parent(getpid()), getppid());
	assert_true(sonde_process_start(getpid()) == stat.start);
	assert_true(stat.start >= sonde_process_start(getppid()));
	assert_int_equal(sonde_process_uid(getpid()), geteuid());
	if (sonde_process_cgroup(getpid(), group))
		assert_int_equal(*group, '/');
	assert_int_equal(sonde_proc_status(getpid(), "Tgid", 10, &number), 0);
	assert_int_equal(number, getpid());
	assert_int_equal(sonde_proc_status(getpid(), "None", 10, &number),
			 -ENOENT);
	assert_int_equal(prctl(PR_SET_NAME, "a\nb)\x80"), 0);
	sonde_process_name(getpid(), name);
	assert_string_equal(name, "a"); /* a line of its own in comm */
	assert_int_equal(prctl(PR_SET_NAME, "test_sys_proc"), 0);
}

static void counters_are_found_among_devices(void **state)
{
	char folder[] = "/tmp/test_sys_proc_XXXXXX";
	char devices[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(devices, sizeof(devices), "%s/x86", folder);
	folder_write(folder, "x86/software/type", "1");
	folder_write(folder, "x86/uncore/cpumask", "0");
	assert_int_equal(sonde_cpus_counters(devices), 0);
	folder_write(folder, "x86/cpu/type", "4");
	assert_int_equal(sonde_cpus_counters(devices), 1);
	(void)snprintf(devices, sizeof(devices), "%s/arm", folder);
	assert_int_equal(sonde_cpus_counters(devices), 0);
	folder_write(folder, "arm/armv8_cortex_a53/cpus", "0-3");
	assert_int_equal(sonde_cpus_counters(devices), 1);
	assert_int_equal(folder_remove(folder), 0);
}

static void a_process_is_in_a_namespace(void **state)
{
	struct stat ours;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/pid", &ours), 0);
	assert_true(sonde_process_ns(0, "pid") == ours.st_ino);
	assert_true(sonde_process_ns(getpid(), "pid") == ours.st_ino);
	assert_true(sonde_process_ns(getpid(), "user") != ours.st_ino);
	assert_int_equal(sonde_process_ns(getpid(), "none"), 0);
}

static void links_that_are_no_numbers_are_nothing(void **state)
{
	(void)state;
	assert_true(sonde_proc_link_number("net:[4026531840]", NULL) ==
		    4026531840);
	assert_int_equal(sonde_proc_link_number("net:[12", NULL), 0);
	assert_int_equal(sonde_proc_link_number("net:12]", NULL), 0);
	assert_int_equal(sonde_proc_link_number("", NULL), 0);
	assert_int_equal(sonde_proc_link_number("socket:[77]", "socket"), 77);
	assert_int_equal(sonde_proc_link_number("socket:[77]", "sock"), 0);
	assert_int_equal(sonde_proc_link_number("socket:[77]", "net"), 0);
	assert_int_equal(sonde_proc_link_number("/x/socket:[77]", "socket"), 0);
	assert_int_equal(sonde_proc_link_number("socket:[77]x", "socket"), 0);
	assert_int_equal(sonde_proc_link_number("socket:[]", "socket"), 0);
}

static void a_process_that_is_gone_is_nobody(void **state)
{
	struct sonde_proc_stat stat;
	char name[SONDE_COMM_SIZE];
	uint64_t number;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sonde_proc_stat(pid, &stat), -ENOENT);
	assert_int_equal(sonde_proc_status(pid, "Tgid", 10, &number), -ESRCH);
	assert_int_equal(sonde_process_parent(pid), 0);
	assert_int_equal(sonde_process_start(pid), 0);
	assert_int_equal(sonde_process_uid(pid), (uid_t)-1);
	sonde_process_name(pid, name);
	assert_string_equal(name, "?");
	assert_null(sonde_proc_dir(pid, "task"));
}

static void numbers_of_a_directory_are_listed(void **state)
{
	DIR *dir = sonde_proc_dir(getpid(), "task");

	(void)state;
	assert_non_null(dir);
	assert_int_equal(sonde_proc_next(dir), getpid());
	assert_int_equal(sonde_proc_next(dir), -1);
	(void)closedir(dir); /* it was only read */
}

static void children_are_listed_in_order(void **state)
{
	pid_t pids[3];
	FILE *children;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			(void)pause();
			_exit(0);
		}
	}
	children = sonde_proc_children(getpid(), getpid());
	assert_non_null(children);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sonde_proc_next_child(children), pids[i]);
	assert_int_equal(sonde_proc_next_child(children), 0);
	(void)fclose(children); /* it was only read */
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
}

static void a_mapping_of_ours_is_found(void **state)
{
	static struct sonde_lines lines;
	struct sonde_proc_mapping mapping;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *at =
		mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before = 0;
	bool found = false;

	(void)state;
	assert_true(at != MAP_FAILED);
	assert_int_equal(sonde_proc_maps_open(&lines, getpid()), 0);
	while (sonde_proc_maps_next(&lines, &mapping)) {
		assert_true(mapping.begin >= before);
		before = mapping.end;
		found |= (uint64_t)(uintptr_t)at >= mapping.begin &&
			 (uint64_t)(uintptr_t)at < mapping.end;
	}
	sonde_lines_close(&lines);
	assert_true(found);
	assert_int_equal(munmap(at, size), 0);
}

static void stolen_time_is_that_of_the_cpu(void **state)
{
	static const char text[] = "cpu  1 2 3 4 5 6 7 80 9 10\n"
				   "cpu0 1 2 3 4 5 6 7 8 9 10\n"
				   "cpu10 1 2 3 4 5 6 7 88 9 10\n"
				   "cpu1 1 2 3 4 5 6 7 18446744073709551615\n"
				   "cpu2 1 2 3\nintr 4 5 6 7 8 9\n";
	uint64_t ticks = 42;

	(void)state;
	assert_false(sonde_proc_parse_stolen(text, 2, &ticks));
	assert_false(sonde_proc_parse_stolen(text, 3, &ticks));
	assert_false(sonde_proc_parse_stolen("", 0, &ticks));
	assert_int_equal(ticks, 42);
	assert_true(sonde_proc_parse_stolen(text, 0, &ticks));
	assert_int_equal(ticks, 8);
	assert_true(sonde_proc_parse_stolen(text, 10, &ticks));
	assert_int_equal(ticks, 88);
	assert_true(sonde_proc_parse_stolen(text, 1, &ticks));
	assert_true(ticks == UINT64_MAX);
	assert_int_equal(sonde_proc_stolen_ns(UINT32_MAX), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stolen_time_is_that_of_the_cpu),
		cmocka_unit_test(a_stat_is_read_from_its_last_bracket),
		cmocka_unit_test(a_damaged_stat_changes_nothing),
		cmocka_unit_test(a_long_name_is_cut_and_terminated),
		cmocka_unit_test(a_line_is_found_where_lines_begin),
		cmocka_unit_test(a_group_is_found_by_its_controller),
		cmocka_unit_test(a_mapping_has_its_name_back),
		cmocka_unit_test(damaged_mappings_are_none),
		cmocka_unit_test(a_mapping_needs_no_path),
		cmocka_unit_test(a_system_call_has_its_place),
		cmocka_unit_test(lists_of_cpus_are_read),
		cmocka_unit_test(what_is_no_list_of_cpus_spans_nothing),
		cmocka_unit_test(
			a_line_that_is_too_long_is_cut_and_the_next_is_whole),
		cmocka_unit_test(a_file_is_read_up_to_its_room),
		cmocka_unit_test(a_first_line_has_no_newline),
		cmocka_unit_test(a_process_is_known_from_proc),
		cmocka_unit_test(counters_are_found_among_devices),
		cmocka_unit_test(a_process_is_in_a_namespace),
		cmocka_unit_test(links_that_are_no_numbers_are_nothing),
		cmocka_unit_test(a_process_that_is_gone_is_nobody),
		cmocka_unit_test(numbers_of_a_directory_are_listed),
		cmocka_unit_test(children_are_listed_in_order),
		cmocka_unit_test(a_mapping_of_ours_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
