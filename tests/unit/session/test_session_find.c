/* SPDX-License-Identifier: MIT */
/*
 * test_session_find.c - which running processes are meant, and what /proc says
 * of them.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/attach.h"
#include "session/find.h"
#include "session/ps.h"
#include "sys/proc.h"

static struct sonde_find_maps maps_of(const char *const *lines)
{
	struct sonde_find_maps maps = { 0 };

	for (; *lines; lines++) {
		struct sonde_proc_mapping mapping;
		char line[256];

		(void)snprintf(line, sizeof(line), "%.*s",
			       (int)strcspn(*lines, "\n"), *lines);
		if (sonde_proc_parse_mapping(line, &mapping))
			sonde_find_mapping(&mapping, &maps);
	}
	return maps;
}

static void a_mapping_of_an_arena_is_found(void **state)
{
	static const char *const lines[] = {
		"55d0c0e00000-55d0c0e01000 r--p 00000000 fe:01 1234   /bin/x\n",
		"7f1e276dc000-7f1e278dc000 rw-s 00000000 00:01 525687   "
		"/memfd:sonde-arena (deleted)\n",
		"7f2e276dc000-7f2e278dc000 rw-s 00000000 00:01 525688   "
		"/memfd:sonde-arena (deleted)\n",
		NULL
	};
	struct sonde_find_maps maps = maps_of(lines);

	(void)state;
	assert_true(maps.has_arena);
	assert_false(maps.has_library);
	assert_int_equal(maps.start, 0x7f1e276dc000);
	assert_int_equal(maps.end, 0x7f1e278dc000);
}

static void other_mappings_are_no_arena(void **state)
{
	static const char *const lines[] = {
		"7f1e276dc000-7f1e278dc000 rw-s 0 00:01 5 /memfd:sonde\n",
		"7f1e276dc000-7f1e278dc000 rw-s 0 00:01 5 "
		"/memfd:sonde-arena2 (deleted)\n",
		"7f1e276dc000-7f1e278dc000 rw-s 0 00:01 5 "
		"/home/memfd:sonde-arena\n",
		"7f1e276dc000-7f1e278dc000 rw-p 00000000 00:00 0 \n",
		"7f1e276dc000-7f1e278dc000 rw-p 00000000 00:00 0 [heap]\n",
		"/memfd:sonde-arena\n",
		"\n",
		"",
		NULL
	};
	struct sonde_find_maps maps = maps_of(lines);

	(void)state;
	assert_false(maps.has_arena);
	assert_false(maps.has_library);
}

static void libraries_of_ours_are_known_by_name(void **state)
{
	static const char *const linked[] = {
		"7f00-7f01 r-xp 0 fe:01 9 /usr/lib/libsonde.so.0.1.0\n", NULL
	};
	static const char *const preloaded[] = {
		"7f00-7f01 r-xp 0 fe:01 9 /opt/a b/libsonde-preload.so\n", NULL
	};
	static const char *const other[] = {
		"7f00-7f01 r-xp 0 fe:01 9 /usr/libsonde/libc.so.6\n", NULL
	};

	(void)state;
	assert_true(maps_of(linked).has_library);
	assert_true(maps_of(preloaded).has_library);
	assert_false(maps_of(other).has_library);
}

static void links_of_arenas_are_told_from_others(void **state)
{
	(void)state;
	assert_true(sonde_find_is_arena_link("/memfd:sonde-arena (deleted)"));
	assert_true(sonde_find_is_arena_link("/memfd:sonde-arena"));
	assert_false(
		sonde_find_is_arena_link("/memfd:sonde-arena-x (deleted)"));
	assert_true(sonde_find_is_arena_link("/dev/shm/x/sonde-arena.12.ab"));
	assert_false(sonde_find_is_arena_link("/tmp/sonde-arena"));
	assert_false(sonde_find_is_arena_link(""));
}

static void groups_below_are_in_the_group(void **state)
{
	(void)state;
	assert_true(sonde_find_in_cgroup("/a/b", "/a"));
	assert_true(sonde_find_in_cgroup("/a/b", "a/b"));
	assert_true(sonde_find_in_cgroup("/a/b", "/sys/fs/cgroup/a"));
	assert_true(sonde_find_in_cgroup("/a/b", "/sys/fs/cgroup/a/"));
	assert_true(sonde_find_in_cgroup("/a/b", "/"));
	assert_true(sonde_find_in_cgroup("/a/b", "/sys/fs/cgroup"));
	assert_false(sonde_find_in_cgroup("/ab", "/a"));
	assert_false(sonde_find_in_cgroup("/a", "/a/b"));
	assert_false(sonde_find_in_cgroup("/", "/a"));
	assert_false(sonde_find_in_cgroup("/a", "/sys/fs/cgroups/a"));
}

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void groups_of_a_container_are_in_it(void **state)
{
	(void)state;
	assert_true(sonde_find_in_container("/docker/" ID64, "0123456789ab"));
	assert_true(sonde_find_in_container("/docker/" ID64 "/a", "0123"));
	assert_true(sonde_find_in_container(
		"/system.slice/docker-" ID64 ".scope", ID64));
	assert_true(sonde_find_in_container(
		"/machine.slice/machine-web.scope/x", "web"));
	assert_true(sonde_find_in_container("/lxc.payload.web", "web"));
	assert_true(sonde_find_in_container("/lxc/web", "web"));
	assert_false(sonde_find_in_container("/docker/" ID64, "123456789ab"));
	assert_false(sonde_find_in_container("/docker/" ID64, ID64 "0"));
	assert_false(sonde_find_in_container("/lxc/webs", "web"));
	assert_false(sonde_find_in_container("/a", ""));
	assert_false(sonde_find_in_container("/", "a"));
}

static void long_names_are_compared_as_far_as_they_are_known(void **state)
{
	(void)state;
	assert_true(sonde_attach_is_named("nginx", "nginx"));
	assert_false(sonde_attach_is_named("nginx2", "nginx"));
	assert_false(sonde_attach_is_named("ngin", "nginx"));
	assert_true(
		sonde_attach_is_named("systemd-journal", "systemd-journald"));
	assert_true(
		sonde_attach_is_named("exactly15charsx", "exactly15charsx"));
	assert_false(
		sonde_attach_is_named("systemd-journ", "systemd-journald"));
}

static void check_words(int error, uid_t uid, const char *word)
{
	char text[SONDE_ATTACH_TEXT];

	sonde_attach_explain(error, 42, "server", uid, text, sizeof(text));
	assert_non_null(strstr(text, "42"));
	assert_non_null(strstr(text, word));
	assert_null(strchr(text, '\n'));
}

static void a_refusal_names_what_is_in_the_way(void **state)
{
	(void)state;
	check_words(-ESRCH, 0, "hidepid");
	check_words(-EACCES, geteuid() + 1, "belongs to user");
	check_words(-EACCES, geteuid(), "PR_SET_DUMPABLE");
	check_words(-EPERM, 0, "CAP_CHECKPOINT_RESTORE");
	check_words(-ENODATA, 0, "SONDE_SECCOMP");
	check_words(-ENOENT, 0, "sonde probe");
	check_words(-EMFILE, 0, "Too many open files");
}

static void check_container(const char *group, const char *expected)
{
	char container[SONDE_PS_CONTAINER];

	sonde_ps_container_of(group, container);
	assert_string_equal(container, expected);
}

static void a_container_is_known_by_its_long_number(void **state)
{
	(void)state;
	check_container("/docker/" ID64, "0123456789ab");
	check_container("/system.slice/docker-" ID64 ".scope", "0123456789ab");
	check_container("/kubepods/besteffort/pod1234/cri-" ID64,
			"0123456789ab");
	check_container("/docker/" ID64 "0", "");
	check_container("/user.slice/user-1000.slice", "");
	check_container("", "");
}

static void a_process_without_an_arena_is_told_from_none(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(sonde_find_arena(getppid(), &fd), -ENOENT);
	assert_int_equal(sonde_find_arena(0x7fffffff, &fd), -ESRCH);
	assert_false(sonde_find_is_filtered(getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_of_an_arena_is_found),
		cmocka_unit_test(other_mappings_are_no_arena),
		cmocka_unit_test(libraries_of_ours_are_known_by_name),
		cmocka_unit_test(links_of_arenas_are_told_from_others),
		cmocka_unit_test(groups_below_are_in_the_group),
		cmocka_unit_test(groups_of_a_container_are_in_it),
		cmocka_unit_test(
			long_names_are_compared_as_far_as_they_are_known),
		cmocka_unit_test(a_refusal_names_what_is_in_the_way),
		cmocka_unit_test(a_container_is_known_by_its_long_number),
		cmocka_unit_test(a_process_without_an_arena_is_told_from_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
