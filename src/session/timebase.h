/* SPDX-License-Identifier: MIT */
/*
 * timebase.h - the clock of a recording: which one, how to read it, and what
 * the trace says about it.
 *
 * The CPU's counter where it is fit for it, CLOCK_MONOTONIC else. The counter's
 * frequency is known well enough at the start to write the metadata, and better
 * the longer the recording lasts: finish replaces it.
 */
#ifndef SESSION_TIMEBASE_H
#define SESSION_TIMEBASE_H

#include <stddef.h>
#include <stdint.h>

#include "clock/calibrate.h"
#include "ctf/trace.h"

struct sonde_timebase {
	struct sonde_clock clock;
	struct sonde_clock_snapshot first;
	uint64_t (*now)(void);
};

/* Chooses the clock. *ret_clock is what the trace has to say about it; its
 * strings are static. */
void sonde_timebase_init(struct sonde_timebase *ret_timebase,
			 struct sonde_ctf_clock *ret_clock);

/* At the end: what is known now goes to the traces, of which NULL ones are
 * left out: the same to all, for they are one recording's. 0 or -errno. */
int sonde_timebase_finish(struct sonde_timebase *timebase,
			  struct sonde_ctf_trace *const *traces, size_t nr);

#endif /* SESSION_TIMEBASE_H */
