/* SPDX-License-Identifier: MIT */
/*
 * control.h - sessions by name: recording programs that run, by a program. What
 * `sonde start`, `status`, `snapshot`, `rotate`, `change`, `clear`, `stop` and
 * `destroy` do. Link with -lsonde-control.
 *
 * ## Rules for all functions
 *
 * They return 0 or a negative errno value; if `error` isn't NULL, it then has one
 * line that says what is wrong and what helps. Results are written on success
 * only. Nothing is printed, errno is not part of the interface, and nothing is
 * kept between two calls: they may be made by any number of threads at a time.
 * None is async-signal-safe. Each waits for the session's recorder, which
 * is another process; what is recorded never waits.
 *
 * Names have up to 24 letters, digits, '.', '_' and '-', and begin with a letter
 * or a digit. Sessions are those of the effective user.
 *
 * A program may record itself: it is a process like any other.
 */
#ifndef SONDE_CONTROL_H
#define SONDE_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SONDE_CONTROL_API __attribute__((visibility("default")))
#else
#define SONDE_CONTROL_API
#endif

struct sonde_control_error {
	char text[1024];
};

/* emitted = recorded + held + discarded + overwritten + lost_disk + cleared */
struct sonde_control_events {
	uint64_t emitted;
	uint64_t recorded;    /* in the trace, or in the snapshot */
	uint64_t held;        /* in memory, and can be read */
	uint64_t discarded;   /* lost by the programs */
	uint64_t overwritten; /* made room for newer ones */
	uint64_t lost_disk;   /* could not be written */
	uint64_t cleared;     /* dropped by sonde_control_clear() */
};

enum sonde_control_state {
	SONDE_CONTROL_RECORDING = 1,
	SONDE_CONTROL_STOPPED = 2, /* its trace is complete */
	SONDE_CONTROL_DIED = 3,    /* its recorder was killed */
};

struct sonde_control_session {
	enum sonde_control_state state;
	int32_t pid;           /* the recorder's */
	uint32_t nr_processes; /* that are recorded now */
	uint32_t nr_snapshots; /* that were made */
	struct sonde_control_events events;
	char directory[4096]; /* of its trace */
};

/*
 * Starts a session, by the program `sonde` that is found in PATH. `options`: the
 * words of `sonde start` behind the name, with NULL at the end. When it returns,
 * whatever is emitted by the processes that are meant is recorded. -EEXIST:
 * there is a session of that name.
 */
SONDE_CONTROL_API int sonde_control_start(const char *name,
					  const char *const *options,
					  struct sonde_control_error *error);

/* -ENOENT: there is no session of that name; here and below. */
SONDE_CONTROL_API int
sonde_control_status(const char *name, struct sonde_control_session *ret_status,
		     struct sonde_control_error *error);

/*
 * A complete trace of what the rings of a session with --mode overwrite hold, in
 * the directory, which is new or empty; a relative path is one of ours. What is
 * in it is told if `ret_events` isn't NULL. The session goes on.
 */
SONDE_CONTROL_API int
sonde_control_snapshot(const char *name, const char *directory,
		       struct sonde_control_events *ret_events,
		       struct sonde_control_error *error);

struct sonde_control_chunk {
	uint64_t recorded; /* events in it */
	uint64_t bytes;    /* of its files */
	char directory[4096];
};

/* Ends the chunk that is written of a session's trace, if that was started with
 * --rotate: it is complete when this returns. `ret_chunk` may be NULL. */
SONDE_CONTROL_API int
sonde_control_rotate(const char *name, struct sonde_control_chunk *ret_chunk,
		     struct sonde_control_error *error);

/* What isn't said (0 or NULL) stays as it is. */
struct sonde_control_wish {
	/* Patterns, each behind a '+' (these events) or a '-' (but not these),
	 * with NULL at the end. They take the place of those before. */
	const char *const *rules;
	uint64_t memory_bytes; /* for all rings together */
	uint32_t has_loglevel; /* or 0 */
	uint32_t loglevel;     /* enum sonde_loglevel of abi.h; 255: all */
};

/* When it returns, every event from then on is recorded, or not, as it was told.
 * -EINVAL: it can't be changed so, and nothing was changed. */
SONDE_CONTROL_API int
sonde_control_change(const char *name, const struct sonde_control_wish *wish,
		     struct sonde_control_error *error);

/* Drops what the rings of a session with --mode overwrite hold; it goes on. */
SONDE_CONTROL_API int sonde_control_clear(const char *name,
					  struct sonde_control_error *error);

/* Nothing is recorded any more when it returns, and the trace is complete.
 * `ret_status` may be NULL. */
SONDE_CONTROL_API int
sonde_control_stop(const char *name, struct sonde_control_session *ret_status,
		   struct sonde_control_error *error);

/* The same, and then the session is forgotten; one that has ended is forgotten
 * alone. Traces stay. */
SONDE_CONTROL_API int sonde_control_destroy(const char *name,
					    struct sonde_control_error *error);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_CONTROL_H */
