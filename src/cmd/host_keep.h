/* SPDX-License-Identifier: MIT */
/*
 * host_keep.h - how many of the snapshots stay that others ask a machine for, or how
 * much of the disk they may take: the oldest are removed.
 *
 * Only those that this process has made are ever removed, so neither traces of
 * sessions nor what somebody else has put there: a name alone says nothing. What is
 * left of an earlier process stays.
 */
#ifndef CMD_HOST_KEEP_H
#define CMD_HOST_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_command_host_snapshot {
	char *name; /* malloc; below the directory of all */
	uint64_t bytes;
};

/* All zero: nothing is removed. */
struct sonde_command_host_kept {
	uint64_t nr_max, bytes_max;               /* 0: as many as there are */
	struct sonde_command_host_snapshot *list; /* the oldest first */
	size_t nr, capacity;
	uint64_t bytes;
};

/* Sets one of the limits by "3" or "200M"; false: it is none. */
bool sonde_command_host_keep_parse(struct sonde_command_host_kept *kept,
				   const char *text);

/* One more, just made in the directory `out`, by its path below that; removes those
 * that are too many by now, of which it is never one itself. 0 or -errno: what
 * couldn't be remembered, or removed, stays. */
int sonde_command_host_keep(struct sonde_command_host_kept *kept,
			    const char *out, const char *path);

#endif /* CMD_HOST_KEEP_H */
