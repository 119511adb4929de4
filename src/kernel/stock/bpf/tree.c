/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.c - scope TREE: the root and its threads, as they are at the start.
 */
#include "kernel/stock/bpf/bpf.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int seed_one(int map, uint32_t tid, uint64_t *nr)
{
	uint64_t key = tid; /* no address is as low: tree.bpf.h */
	uint32_t one = 1;
	int rc = bpf_map_update_elem(map, &key, &one, BPF_NOEXIST);

	*nr += !rc;
	return rc == -E2BIG ? rc : 0;
}

static int seed_threads(int map, pid_t root, uint64_t *nr)
{
	const struct dirent *entry;
	char path[64];
	DIR *tasks;
	int rc;

	rc = seed_one(map, (uint32_t)root, nr);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)root);
	tasks = opendir(path);
	/* Without /proc there is its first thread, which is all there is of a
	 * program that has not begun. */
	if (!tasks)
		return rc;
	/* Only we read it. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (!rc && (entry = readdir(tasks))) {
		unsigned long tid = strtoul(entry->d_name, NULL, 10);

		if (tid && tid <= INT32_MAX)
			rc = seed_one(map, (uint32_t)tid, nr);
	}
	(void)closedir(tasks); /* was only read */
	return rc;
}

int bpf_tree_seed(struct bpf_source *source, pid_t root,
		  struct sonde_kernel_error *error)
{
	int map = bpf_object__find_map_fd_by_name(source->object, "tracked");
	int seeds =
		bpf_object__find_map_fd_by_name(source->object, ".data.seeds");
	uint32_t first = 0;
	uint64_t nr = 0;
	int rc;

	if (map < 0 || seeds < 0 || root <= 0)
		return sonde_kernel_fail(error, -EINVAL,
					 "BPF: no process to begin with");
	rc = seed_threads(map, root, &nr);
	if (!rc)
		rc = bpf_map_update_elem(seeds, &first, &nr, BPF_ANY);
	if (rc)
		return sonde_kernel_fail(error, rc,
					 "BPF: process %d can't be followed "
					 "(more than %u threads?): %s",
					 (int)root, SONDE_BPF_TRACKED_MAX,
					 strerrordesc_np(-rc));
	return 0;
}
