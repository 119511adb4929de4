/* SPDX-License-Identifier: MIT */
/*
 * host.h - what a machine does that others ask of its sessions.
 */
#ifndef CMD_HOST_H
#define CMD_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/host_keep.h"
#include "cmd/host_policy.h"
#include "fleet/job_protocol.h"

/* Sessions of which is known when machines asked for them. */
#define SONDE_COMMAND_HOST_RECENT 16u

struct sonde_command_host_config {
	const char *name; /* the machine's */
	const char *url;  /* where it is asked */
	const char *out;  /* where traces are put */
	const char *from; /* where snapshots are shipped; NULL: they aren't */
	struct sonde_command_host_policy policy;
	struct sonde_command_host_kept kept;
	/* For so long after a machine's own order no other machine's is obeyed
	 * that is of the same session: what happens to all is seen by all. */
	uint64_t pause_ns;
	struct sonde_command_host_recent {
		char session[SONDE_NAMED_CHARS + 1];
		uint64_t at_ns;           /* monotonic; 0: never */
		char directory[PATH_MAX]; /* of the snapshot */
	} recent[SONDE_COMMAND_HOST_RECENT];
};

/*
 * Does it, by a process of this program, if the policy permits all of it. The answer,
 * as of fleet/job_protocol.h: malloc'd, at most SONDE_NET_WORK_MAX; NULL without memory.
 */
void *sonde_command_host_do(struct sonde_command_host_config *config,
			    const struct sonde_fleet_order *order,
			    size_t *ret_size);

#endif /* CMD_HOST_H */
