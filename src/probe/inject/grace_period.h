/* SPDX-License-Identifier: MIT */
/*
 * grace_period.h - a grace period: what had been in some code when it began has left it
 * when it is over. No thread is stopped for it.
 */
#ifndef PROBE_INJECT_GRACE_PERIOD_H
#define PROBE_INJECT_GRACE_PERIOD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* An address range of code, its first byte excluded: who is at the first is
 * not inside. */
struct sonde_grace_period_range {
	uint64_t start, end;
};

/*
 * Waits until every thread of `pid` has run some user code since now, or sleeps
 * outside of all ranges. 0; -EAGAIN after `limit_ms`.
 */
int sonde_grace_period_wait(pid_t pid,
			    const struct sonde_grace_period_range *ranges,
			    size_t nr, unsigned int limit_ms);

#endif /* PROBE_INJECT_GRACE_PERIOD_H */
