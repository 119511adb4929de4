/* SPDX-License-Identifier: MIT */
/*
 * host_policy.h - the file of a machine's policy (fleet/policy.h), as it is now.
 *
 * It is read before each order, so what was forbidden is forbidden from the next
 * one on; and some times a second, so that who has written something wrong is told
 * at once. What is wrong is said once, and what was permitted before stays: a slip
 * must neither open a machine nor lose the hold of it. One thread.
 */
#ifndef CMD_HOST_POLICY_H
#define CMD_HOST_POLICY_H

#include "fleet/policy.h"

struct sonde_command_host_policy {
	const char *path; /* borrowed */
	struct sonde_fleet_policy policy;
	/* private: what was read last, and what was wrong with it */
	char text[SONDE_FLEET_POLICY_MAX];
	size_t size;
	char why[300];
};

/* The first time, when a policy that is wrong is none: 0, or an exit status and it is
 * said what is wrong. */
int sonde_command_host_policy_begin(struct sonde_command_host_policy *policy,
				    const char *path);

/* Takes what has changed; says what is wrong, and that it has changed if not
 * `quiet`. */
void sonde_command_host_policy_renew(struct sonde_command_host_policy *policy,
				     bool quiet);

#endif /* CMD_HOST_POLICY_H */
