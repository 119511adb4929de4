/* SPDX-License-Identifier: MIT */
/*
 * roster.h - what the threads of recorded processes are called, and where the
 * processes come from.
 *
 * A name costs the program nothing: we read /proc/PID/task/TID/comm from
 * outside, when a process has been let in, and then whenever we are awake and
 * it is time. Each thread that is new, and each whose name has changed, becomes
 * an event `sonde:name` {tid, pid, age, procname} in a stream of ours, "names":
 * `age` ticks before it the thread was last seen under another name; 0: it is
 * new. Readers take it, like `sonde:thread`, for what it says about other
 * events, and don't count it among them.
 *
 * How a thread is scheduled is an event `sonde:schedule` {tid, pid, policy_number, prio,
 * nice}, when it is first seen, and when that has changed.
 *
 * A process's parent, PID namespace and control group are an event `sonde:process`
 * {pid, ppid, pid_ns, cgroup}, when they are first seen, and when they have changed.
 *
 * All these numbers of threads and processes are the recorder's. A process in a PID
 * namespace of its own has others, and those are in its events. Of each of its
 * threads an event `sonde:contained` {image, tid, pid, own_tid, own_pid} says both, when
 * it is first seen: in the events of that image (the stream class) the thread is
 * own_tid. Of an image that has one such event, no thread is known by its number
 * alone; with all numbers 0 it says only that. The event is declared with the first
 * of them.
 *
 * What is not known, and can't be without a call in the program:
 *   - threads that live between two looks only
 *   - when exactly a name changed: in the last `age` ticks
 *   - children by fork that go on without exec: they have their parent's arena,
 *     and don't come to the recorder
 *   - children by clone() into a new PID namespace of a process that stays in ours,
 *     and that go on without exec: their numbers are taken for ours. By unshare()
 *     and fork they are known by the namespace of the process's children
 *
 * Looks get rarer the longer they take: at most 1 % of the time goes into them.
 * Bounds: ROSTER_THREADS_MAX threads in one look, ROSTER_NAMES_MAX in all.
 *
 * One thread at a time.
 */
#ifndef SESSION_ROSTER_H
#define SESSION_ROSTER_H

#include <stdint.h>

#include "session/arena_source.h"
#include "session/consumer.h"

#define SONDE_ROSTER_THREADS_MAX 4096u
#define SONDE_ROSTER_NAMES_MAX   65536u

struct sonde_roster;

/* Makes the stream class `class_id` in the recording's trace. NULL if that
 * fails: then no names are recorded. */
struct sonde_roster *sonde_roster_new(struct sonde_output *output,
				      uint32_t class_id,
				      enum sonde_header_kind header);

/* Looks at an image's process and its threads. NULL is fine. */
void sonde_roster_look(struct sonde_roster *roster,
		       const struct sonde_arena_source *image);

/* Nothing is known of the numbers in its events: its process has ended, and may
 * have been in another PID namespace. NULL is fine. */
void sonde_roster_disown(struct sonde_roster *roster,
			 const struct sonde_arena_source *image);

/* All that is known, of threads that have ended, too, for another trace. NULL is
 * fine for both. */
void sonde_roster_copy(const struct sonde_roster *roster,
		       struct sonde_roster *to);

/* Closes the stream and frees it. NULL is fine. */
void sonde_roster_close(struct sonde_roster *roster);

#endif /* SESSION_ROSTER_H */
