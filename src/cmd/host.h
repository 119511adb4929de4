/* SPDX-License-Identifier: MIT */
/*
 * host.h - what a machine does that others ask of its sessions.
 */
#ifndef CMD_HOST_H
#define CMD_HOST_H

#include <stdbool.h>

#include "cmd/host_policy.h"
#include "fleet/words.h"

struct sonde_command_host_config {
	const char *name; /* the machine's */
	const char *out;  /* where traces are put */
	const char *from; /* where snapshots are shipped; NULL: they aren't */
	struct sonde_command_host_policy policy;
};

/*
 * Does it, by a process of this program, if the policy permits all of it. The answer,
 * as of fleet/words.h: malloc'd, at most SONDE_NET_WORK_MAX; NULL without memory.
 */
void *sonde_command_host_do(const struct sonde_command_host_config *config,
			    const struct sonde_fleet_order *order,
			    size_t *ret_size);

#endif /* CMD_HOST_H */
