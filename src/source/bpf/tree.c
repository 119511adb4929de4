/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.c - scope TREE: the process that it begins with.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int bpf_tree_seed(struct bpf_source *source, pid_t root,
		  struct sonde_source_error *error)
{
	int map = bpf_object__find_map_fd_by_name(source->object, "tracked");
	const struct sonde_bpf_member unseen = { 0 };
	uint32_t key = (uint32_t)root;
	int rc;

	if (map < 0 || root <= 0)
		return sonde_source_fail(error, -EINVAL,
					 "BPF: no process to begin with");
	rc = bpf_map_update_elem(map, &key, &unseen, BPF_ANY);
	if (rc)
		return sonde_source_fail(error, rc,
					 "BPF: process %d can't be followed: "
					 "%s",
					 (int)root, strerrordesc_np(-rc));
	return 0;
}
