/* SPDX-License-Identifier: MIT */
/*
 * step.h - while-stepping: after a hit, the thread is stepped by the CPU's
 * trap flag, and each instruction's end is a record of the probe's step event.
 *
 * The hit sets TF in the flags that the program gets back; from then on, each
 * instruction ends in SIGTRAP (a few microseconds). Instructions in pads and
 * in the image are passed over; system calls and signal handlers run without
 * being stepped. It ends when the steps are done, or the run is.
 *
 * A debugger may keep the signals of single steps to itself. One that has set
 * is_driven is asked to do the steps instead (driven_x86_64.S), and calls
 * sonde_agent_stepped() after each.
 *
 * A thread that blocks SIGTRAP is not stepped: the kernel would end it. At most
 * SONDE_AGENT_STEPPERS_MAX hits are stepped at a time; of others, which are
 * counted as cut, only the hit is recorded.
 */
#ifndef PROBE_AGENT_STEP_H
#define PROBE_AGENT_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "probe/inject/agent.h"

#define SONDE_AGENT_SINGLE_STEP 0x100ull /* TF */

/* Asks the debugger for steps. Not 0: there is none. */
SONDE_HIDDEN int sonde_agent_ask(void);

/* A hit of a probe with steps: registers are the program's, as it will get
 * them. */
SONDE_HIDDEN void sonde_agent_step_begin(struct sonde_agent *agent,
					 uint32_t index,
					 struct sonde_agent_registers *r);

/* An instruction has been executed. */
enum sonde_agent_stepped {
	SONDE_AGENT_STEPPED_NOT, /* this thread isn't stepped by us */
	SONDE_AGENT_STEPPED,     /* and is to be stepped on */
	SONDE_AGENT_STEPPED_LAST,
};
SONDE_HIDDEN enum sonde_agent_stepped
sonde_agent_stepped(struct sonde_agent *agent,
		    struct sonde_agent_registers *registers);

/*
 * The same, in the signal handler: `context` is the kernel's (kernel.h).
 * False: this thread isn't stepped by us.
 */
SONDE_HIDDEN bool sonde_agent_step(struct sonde_agent *agent,
				   uint64_t *context);

#endif /* PROBE_AGENT_STEP_H */
