/* SPDX-License-Identifier: MIT */
/*
 * several.h - the fast path of an event that other slots than slot 0 record, one
 * or several: its state word has their bits (SONDE_STATE_SLOTS, ring/control.h).
 *
 * As the slow path has it, a record is planned from a copy of the ring's commit
 * word, and made only if that is still the same, in a restartable sequence on the
 * CPU that it was planned for. As the fast path has it, nothing else is checked
 * but the gate and the room, so all slots' records have one reading of the clock,
 * which was made behind the copies. What isn't made goes the slow way: closed
 * gates, full sub-buffers, a thread that the kernel has interrupted.
 *
 * In the program's thread, any context. Cost for each slot: its state, the event's id
 * in it, and 25 instructions of several_x86_64.S.
 */
#ifndef TRACER_SEVERAL_H
#define TRACER_SEVERAL_H

#include <stdint.h>

#include "base/port.h"

/* `inc` as sonde_emit_block() has it; 8 bytes of `data` may be read, of more than 8 bytes
 * 32, however few the payload has. Returns the slots, of those in the state word, that are to be looked
 * at by the slow path. */
SONDE_HIDDEN uint32_t sonde_several_record(uint32_t state, const void *data,
					   uint64_t inc);

#endif /* TRACER_SEVERAL_H */
