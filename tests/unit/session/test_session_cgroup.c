/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "session/cgroup.h"
#include "unit.h"

static char root[64];

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/sonde-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return folder_remove(root);
}

static void version_2(void)
{
	folder_write(root, "proc/self/cgroup", "0::/a.slice/b.scope\n");
	folder_write(root, "proc/self/mountinfo",
		     "22 1 0:20 / /proc rw - proc proc rw\n"
		     "30 1 0:27 / /cg rw shared:4 - cgroup2 cgroup2 rw\n");
}

static void without_groups_there_is_no_limit(void **state)
{
	(void)state;
	assert_true(sonde_cgroup_left(root) == UINT64_MAX);
	folder_write(root, "proc/self/cgroup", "nonsense\n0::\n:::\n");
	folder_write(root, "proc/self/mountinfo",
		     "nonsense - cgroup2\n - cgroup2 a b\n");
	assert_true(sonde_cgroup_left(root) == UINT64_MAX);
}

static void of_all_ancestors_the_least_counts(void **state)
{
	(void)state;
	version_2();
	folder_write(root, "cg/a.slice/b.scope/memory.max", "max\n");
	assert_true(sonde_cgroup_left(root) == UINT64_MAX);
	folder_write(root, "cg/a.slice/memory.max", "1000000\n");
	assert_int_equal(sonde_cgroup_left(root), 1000000);
	folder_write(root, "cg/a.slice/memory.current", "300000\n");
	assert_int_equal(sonde_cgroup_left(root), 700000);
	folder_write(root, "cg/a.slice/b.scope/memory.max", "500000\n");
	assert_int_equal(sonde_cgroup_left(root), 500000);
	folder_write(root, "cg/memory.max", "400\n");
	assert_int_equal(sonde_cgroup_left(root), 400);
}

static void what_can_be_dropped_counts_as_left(void **state)
{
	(void)state;
	version_2();
	folder_write(root, "cg/a.slice/b.scope/memory.max", "1000\n");
	folder_write(root, "cg/a.slice/b.scope/memory.current", "1000\n");
	assert_int_equal(sonde_cgroup_left(root), 0);
	folder_write(
		root, "cg/a.slice/b.scope/memory.stat",
		"anon 100\nfile 900\ninactive_file 500\nactive_file 200\n");
	assert_int_equal(sonde_cgroup_left(root), 700);
	/* Both are taken at different times. */
	folder_write(root, "cg/a.slice/b.scope/memory.stat",
		     "inactive_file 5000\n");
	assert_int_equal(sonde_cgroup_left(root), 1000);
}

static void the_first_version_of_groups_is_known_too(void **state)
{
	(void)state;
	folder_write(root, "proc/self/cgroup",
		     "5:cpu,cpuacct:/x\n4:memory:/docker/me\n");
	folder_write(root, "proc/self/mountinfo",
		     "30 1 0:27 / /cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		     "31 1 0:28 /docker /mem rw - cgroup cgroup rw,memory\n");
	folder_write(root, "mem/me/memory.limit_in_bytes",
		     "9223372036854771712\n");
	assert_true(sonde_cgroup_left(root) == UINT64_MAX);
	folder_write(root, "mem/memory.limit_in_bytes", "5000\n");
	folder_write(root, "mem/memory.usage_in_bytes", "4000\n");
	folder_write(root, "mem/memory.stat",
		     "inactive_file 1\ntotal_inactive_file 500\n"
		     "total_active_file 250\n");
	assert_int_equal(sonde_cgroup_left(root), 1750);
}

static void a_group_that_is_not_mounted_has_its_mounted_ancestor(void **state)
{
	(void)state;
	folder_write(root, "proc/self/cgroup", "0::/elsewhere\n");
	folder_write(root, "proc/self/mountinfo",
		     "30 1 0:27 /mine /cg rw - cgroup2 cgroup2 rw\n");
	folder_write(root, "cg/memory.max", "777\n");
	assert_int_equal(sonde_cgroup_left(root), 777);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_groups_there_is_no_limit),
		TEST(of_all_ancestors_the_least_counts),
		TEST(what_can_be_dropped_counts_as_left),
		TEST(the_first_version_of_groups_is_known_too),
		TEST(a_group_that_is_not_mounted_has_its_mounted_ancestor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
