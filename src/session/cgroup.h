/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - how much memory the control groups that we run in have left.
 *
 * The program runs in the same ones. What its rings take counts there, and a
 * group without memory has a process killed. Both versions of control groups;
 * of a group and all its ancestors that can be seen, the least counts. Memory
 * of files that can be dropped counts as left.
 */
#ifndef SESSION_CGROUP_H
#define SESSION_CGROUP_H

#include <stdint.h>

/*
 * Bytes left; UINT64_MAX if there is no limit, or none can be seen. `root` is
 * put before each path: an empty string, or where a test has its files.
 */
uint64_t sonde_cgroup_left(const char *root);

#endif /* SESSION_CGROUP_H */
