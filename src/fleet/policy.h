/* SPDX-License-Identifier: MIT */
/*
 * policy.h - what a machine lets others ask of its sessions: lines of a file that
 * its administrator writes (sonde-host(1)).
 *
 *	# a comment
 *	COMMAND SESSIONS [OPTION | OPTION=GLOB | OPTION<=BOUND]...
 *	snapshot SESSIONS by=HOSTS
 *
 * An order (order.h) is permitted if one line permits all of it: the command, the
 * session's name by the glob, and each option. What isn't named is refused, so an
 * empty policy permits nothing.
 *
 * 1. OPTION=GLOB permits only values that mean no more than the glob does: each of
 *    those between commas matches it as text, has no set and no `\`, no `*` or `?`
 *    where the glob has anything but `*`, and no blank (a condition).
 * 2. OPTION<=BOUND permits values up to it: of durations, else sizes and numbers.
 * 3. A limit of what is recorded (needs[] in policy.c) would be none if the option
 *    were left out: so that is refused.
 * 4. `do` is of no use without a glob, and `run` is permitted only by do=run:
 *    commands that others choose are run for no other word; so is snapshot@HOSTS by
 *    do=snapshot@HOSTS.
 * 5. `last` of a snapshot is permitted with the snapshot, of which it is a part.
 * 6. What a machine says itself (order->by) is permitted by lines with a `by=` that
 *    means it, and no other order is by these.
 *
 * Pure, no allocation; what is checked is a stranger's.
 */
#ifndef FLEET_POLICY_H
#define FLEET_POLICY_H

#include "fleet/order.h"

#define SONDE_FLEET_POLICY_MAX  16384u /* bytes */
#define SONDE_FLEET_POLICY_LINE 1024u  /* of a line */

struct sonde_fleet_policy {
	char text[SONDE_FLEET_POLICY_MAX + 1]; /* lines that are right */
};

/* 0; -E2BIG; -EINVAL: with what is wrong, and in which line, in `error`. */
int sonde_fleet_policy_parse(const char *text, size_t size,
			     struct sonde_fleet_policy *ret_policy, char *error,
			     size_t error_size);

/* 0; -EACCES, with words in `error`. */
int sonde_fleet_policy_check(const struct sonde_fleet_policy *policy,
			     const struct sonde_fleet_order *order, char *error,
			     size_t error_size);

#endif /* FLEET_POLICY_H */
