/* SPDX-License-Identifier: MIT */
/*
 * leave.h - a process that can't be recorded any more says so in its arena.
 *
 * The recorder reads it when it is done with the arena. No system call is made:
 * whoever calls this may be about to lose the right to make any, or be the
 * child of a vfork. Async-signal-safe, any thread.
 */
#ifndef TRACER_LEAVE_H
#define TRACER_LEAVE_H

#include <stdint.h>

#include <sonde/abi.h>

#include "ring/layout.h"

/*
 * Notes that process `pid`, which becomes `name` (a path or a word), won't be
 * recorded from now on. What sonde_leave_undo() takes; null if there is no
 * arena, or no room in it.
 */
SONDE_EXPORT struct sonde_leave *
sonde_leave_note(uint32_t pid, enum sonde_leave_why why, const char *name);

/* It didn't come to that (exec failed). */
SONDE_EXPORT void sonde_leave_undo(struct sonde_leave *leave);

/*
 * The calling thread is about to do what makes reading the clock deadly. When
 * this returns no event of the process is enabled, nor will one be: its own,
 * and those of the processes it shares the arena with, parents and children by
 * fork. (Words of its own would take a system call.)
 */
SONDE_EXPORT void sonde_leave_recording(enum sonde_leave_why why);

#endif /* TRACER_LEAVE_H */
