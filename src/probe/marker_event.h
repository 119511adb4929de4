/* SPDX-License-Identifier: MIT */
/*
 * marker_event.h - $_sdata: a static tracepoint's own event, recorded for those hits
 * only whose condition is true.
 *
 * A probe at the site of a sonde_event gives the register with the state word a
 * value that means "this event, in the tool's arena" (ring/control.h); then the
 * program evaluates the event's fields and libsonde appends it there, behind
 * the frame of the same thread.
 */
#ifndef PROBE_MARKER_EVENT_H
#define PROBE_MARKER_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/arena.h"
#include "probe/inject/probes.h"

/*
 * Fills the spec's force_register and force_value if there is such a site at
 * its address, and a libsonde that can do it; *ret_is_guest says whether. From
 * then on the program may use the arena at any time: it must stay mapped. 0 or
 * -errno.
 */
int sonde_probe_marker_event_force(struct sonde_process *process,
				   struct sonde_probe_arena *arena,
				   struct sonde_probe_spec *spec,
				   bool *ret_is_guest);

#endif /* PROBE_MARKER_EVENT_H */
