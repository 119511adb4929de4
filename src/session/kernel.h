/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the kernel's half of a session: which sources it has, what their
 * trace says of them, and when the state of the system is recorded.
 *
 * Its trace is DIR/kernel beside DIR/user, since readers choose their views by
 * a trace's domain; they share the clock and the machine's identity, so a
 * reader that opens DIR has one sequence of events.
 *
 * Descriptions are known before anything is recorded. The dump of the system's
 * state is a source like others, read right after it was taken. What --until
 * waits for are triggers of the session: a second, small set of the same
 * sources. They cost what the events that are waited for cost, and a look at
 * each of their streams in each of the recorder's rounds.
 *
 * Life: open, create, start, look as often as one likes, finish, close. One
 * thread.
 */
#ifndef SESSION_KERNEL_H
#define SESSION_KERNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "session/session.h"
#include "source/source.h"

struct sonde_session_kernel;

struct sonde_session_kernel_setup {
	const struct sonde_session_config *config; /* borrowed */
	enum sonde_clock_kind clock_kind;
	uint64_t (*now)(void);
	uint64_t number; /* a random one, of the session */
	pid_t self[2];
	struct sonde_summary *summary; /* borrowed */
	/* Marks are taken, if a source can; borrowed. NULL: they aren't. */
	const struct sonde_source_marks *marks;
};

/*
 * Gets the sources ready; makes no file yet. 0; -errno with *error if none can
 * be had, and then nothing is left behind.
 */
int sonde_session_kernel_open(const struct sonde_session_kernel_setup *setup,
			      struct sonde_source_error *error,
			      struct sonde_session_kernel **ret_kernel);

/* Of a recording with kernel events: names in its directory. */
#define SONDE_TRACE_KERNEL "kernel"
#define SONDE_TRACE_USER   "user"

/* The file that marks can be written to (source/source.h); NULL: there is none. */
const char *
sonde_session_kernel_door(const struct sonde_session_kernel *kernel);

/* The sources that it has, in one text ("modules", "bpf,tracefs"). */
const char *
sonde_session_kernel_sources(const struct sonde_session_kernel *kernel);

/* Makes the directory for the trace in `dir`, and the trace, of any session that
 * has what this one has. 0 or -errno. */
int sonde_session_kernel_open_trace(const struct sonde_session_kernel *kernel,
				    int dir, struct sonde_session *session);

/* The session that records has its trace: the sources are added to it. 0 or
 * -errno. */
int sonde_session_kernel_create(struct sonde_session_kernel *kernel,
				struct sonde_session *session);

/* Records from now on, the state of the system first; `root` and its
 * descendants unless all of the machine is recorded. 0; -errno with *error, and
 * then nothing is recorded, and the trace stays empty. */
int sonde_session_kernel_start(struct sonde_session_kernel *kernel, pid_t root,
			       struct sonde_source_error *error);

/* Records a process that runs already, before the start or after, where those are
 * meant (config.h): 0 or -errno with *error. */
int sonde_session_kernel_join(struct sonde_session_kernel *kernel, pid_t pid,
			      struct sonde_source_error *error);

/* Once in each of the recorder's rounds, when nothing is half written. */
void sonde_session_kernel_look(struct sonde_session_kernel *kernel);

/* Bytes of its largest ring. */
uint64_t
sonde_session_kernel_ring_bytes(const struct sonde_session_kernel *kernel);

/* A process has begun to record events of its own, so its files are mapped by
 * now: what they are goes to the trace. */
void sonde_session_kernel_saw_process(struct sonde_session_kernel *kernel,
				      pid_t pid);

/* Stops, writes what is left, adds to the summary. The trace is still open, for
 * its clock to be set. */
void sonde_session_kernel_finish(struct sonde_session_kernel *kernel);

/* Overwrite mode: what the sources hold now, and the state of the system as it is,
 * go to the trace of `copy` (sonde_session_snapshot()); all goes on. 0 or -errno. */
int sonde_session_kernel_snapshot(const struct sonde_session_kernel *kernel,
				  struct sonde_session *copy);

/* The session has turned to another trace (sonde_session_turn()): what readers need
 * at its beginning goes there. */
void sonde_session_kernel_turned(struct sonde_session_kernel *kernel);

/* All events of the trace before are in it: it is about to be closed. */
void sonde_session_kernel_end_turn(struct sonde_session_kernel *kernel);

/* The output's trace is about to be closed: how far its clock may be off. */
void sonde_session_kernel_end_trace(const struct sonde_session_kernel *kernel,
				    struct sonde_output *output);

/* Closes the sources; leaves nothing in the system. NULL is fine. */
void sonde_session_kernel_close(struct sonde_session_kernel *kernel);

#endif /* SESSION_KERNEL_H */
