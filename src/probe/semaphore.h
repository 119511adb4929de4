/* SPDX-License-Identifier: MIT */
/*
 * semaphore.h - the counter of a probe of <sys/sdt.h>, which tracers raise while
 * they want the probe: the program comes there only if it isn't 0.
 *
 * A tracepoint at such a place has a source line of kind "sdt": "PROVIDER:NAME
 * ADDRESS", the counter's address in hexadecimal, 0 if there is none. The
 * kernel and other tracers raise the same counters, each by one; all of us do
 * so without a lock, in the moment between a read and a write.
 */
#ifndef PROBE_SEMAPHORE_H
#define PROBE_SEMAPHORE_H

#include "probe/inject/process.h"
#include "probe/points.h"

#define SONDE_PROBE_SDT_KIND "sdt"

/* Whether it is at a probe of <sys/sdt.h>; *ret_semaphore (may be NULL): the
 * counter's address, or 0. */
bool sonde_probe_semaphore_of(const struct sonde_probe_point *point,
			      uint64_t *ret_semaphore);
/* By one; never below 0 nor beyond what it can hold. 0 or -errno. */
int sonde_probe_semaphore_change(const struct sonde_process *process,
				 uint64_t semaphore, bool raise);

#endif /* PROBE_SEMAPHORE_H */
