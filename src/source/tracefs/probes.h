/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.h - events at any instruction: the rules kprobe:, kretprobe:, uprobe:
 * and uretprobe:.
 *
 * A probe is a line in tracefs' kprobe_events or uprobe_events. These files are
 * everybody's; our lines are in a group of their own, sonde_PID, which tells
 * whose they are: if PID is gone, they are left over. What makes a probe's
 * event record, and where to, is the instance's business, like for any event;
 * probes must be off when they are removed.
 *
 * A user's function is looked up in the file's symbols here (symbol.h), for the
 * kernel wants a place in the file.
 */
#ifndef SOURCE_TRACEFS_PROBES_H
#define SOURCE_TRACEFS_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/rules.h"
#include "source/source.h"

struct sonde_probe {
	const struct sonde_source_rule *rule;
	const char *provider; /* "kprobe", ...; static */
	char name[64];        /* in its group */
	char shown[96];       /* in the trace: "kprobe_vfs_read" */
	bool is_user;
};

struct sonde_tracefs_probes {
	const struct sonde_source_config *config; /* borrowed */
	char group[32];
	uint32_t returns; /* of a kretprobe: sonde_source_returns() */
	uint32_t nr;
	struct sonde_probe probes[SONDE_SOURCE_RULES_MAX];
};

/* What the probes of config->rules would be called; touches nothing. */
void sonde_tracefs_probes_list(const struct sonde_source_config *config,
			       pid_t owner,
			       struct sonde_tracefs_probes *ret_probes);

/* Makes them all, or none: 0 or -errno with *error (-EINVAL if it is the
 * rule's fault or the kernel has no such probes). `root` is tracefs. */
int sonde_tracefs_probes_make(int root,
			      const struct sonde_tracefs_probes *probes,
			      struct sonde_source_error *error);

void sonde_tracefs_probes_remove(int root,
				 const struct sonde_tracefs_probes *probes);

#endif /* SOURCE_TRACEFS_PROBES_H */
