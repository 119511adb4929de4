/* SPDX-License-Identifier: MIT */
/*
 * forked.h - a child of fork() has the text of its parent, probes and all: they
 * are taken out of it.
 */
#ifndef PROBE_INJECT_FORKED_H
#define PROBE_INJECT_FORKED_H

#include "probe/inject/process.h"

/* Takes out what is another process's, as far as sites[] of their agents names
 * it. 0, also if there are none; -errno with *error: what is there
 * stays, and does nothing but to run what it replaced. */
int sonde_process_clear_inherited(pid_t pid, struct sonde_process_error *error);

/* For that, and for who tests it: agents that are another process's. */
#define SONDE_INHERITED_MAX 16u /* of one process that are looked at */

struct sonde_process_inherited {
	uint64_t retire, data; /* addresses */
};

/* Of a process with these mappings, whose memory is read from `memory` as from
 * /proc/PID/mem: how many, into ret[SONDE_INHERITED_MAX]. What stands there is
 * whatever the process wrote. */
size_t sonde_process_find_inherited(int memory,
				    const struct sonde_maps *mappings,
				    struct sonde_process_inherited *ret);

#endif /* PROBE_INJECT_FORKED_H */
