/* SPDX-License-Identifier: MIT */
/*
 * reach.h - mapping the rings of a recorder that came while the program ran.
 *
 * A program that nobody recorded when it began has mapped the arena's first
 * SONDE_META_SPAN bytes, and no more (docs/decisions/0012). A recorder that
 * attaches makes the file longer, makes a slot active, and sets state words. It
 * does nothing to the process, which finds out at its next event:
 *
 *	1. the fast path meets closed rings (all zero: no gate is ever open) and
 *	   goes the slow way
 *	2. there, the slot's end is beyond what this process has mapped: the file
 *	   is mapped a second time, longer, by one mremap() from what is mapped of
 *	   it already (an old size of 0 means: a copy). No descriptor is needed; the
 *	   program may have closed it
 *	3. one store makes that mapping the process's, and the fast path finds it
 *
 * Several threads may do so at once, and a signal handler in the middle of one:
 * each makes a mapping, one is taken, the others are unmapped. Nobody waits, and
 * no event is lost. What was mapped before stays, for `end` of its rings may be
 * in it.
 *
 * Children of fork inherit what is mapped. Those that were made before have to
 * map by themselves, at another address. So has each mapping a number, which is
 * part of its threads' keys (ring/layout.h, invariant 3): a thread finds no gate
 * open that was opened by a process with another mapping, even one in another
 * PID namespace with the same number. There are as many numbers as the key has room
 * for, so mappings of the same size at the same address share one (`reaches` in the
 * arena): what one has written as `end` is as good for another. Children that are
 * forked one after the other find the same address free, however many they are.
 * Where each gets another, SONDE_REACHES_MAX mappings are made.
 *
 * Where mapping fails, it is not tried again: the events of this process are
 * counted as lost, and the process is counted in `nr_unreached`.
 */
#ifndef TRACER_REACH_H
#define TRACER_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "ring/emit.h"

#define SONDE_REACHES_MAX 1023u

/* At the start: `span` bytes are mapped at sonde_arena. */
SONDE_HIDDEN void sonde_reach_start(uint64_t span);

/* What events are written to: fills in rings, mapped and reach. */
SONDE_HIDDEN void sonde_reach_look(struct sonde_emitter *emitter);

#endif /* TRACER_REACH_H */
