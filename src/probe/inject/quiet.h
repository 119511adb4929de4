/* SPDX-License-Identifier: MIT */
/*
 * quiet.h - what threads are about, while none of them is stopped.
 */
#ifndef PROBE_INJECT_QUIET_H
#define PROBE_INJECT_QUIET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* An address range of code, its first byte excluded: who is at the first is
 * not inside. */
struct sonde_quiet_range {
	uint64_t start, end;
};

/*
 * Waits until every thread of `pid` has run some user code since now, or sleeps
 * outside of all ranges. 0; -EAGAIN after `limit_ms`.
 */
int sonde_quiet_wait(pid_t pid, const struct sonde_quiet_range *ranges,
		     size_t nr, unsigned int limit_ms);

#endif /* PROBE_INJECT_QUIET_H */
