/* SPDX-License-Identifier: MIT */
/*
 * watch.h - which processes should be recorded, and aren't?
 *
 * A process that doesn't come to the recorder can't tell why. So the recorder
 * looks at the descendants of the front end (which is a subreaper) from time to
 * time: a process that could have events, but has no arena of ours, is a
 * suspect, with a reason as far as the kernel lets us see one. Whoever comes
 * later is none any more, so one that is just starting does no harm. Who is
 * left at the end is named.
 *
 * What lives shorter than the time between two looks may not be seen: numbers
 * are lower bounds, and are told as such. Which processes could have events?
 * Those whose files hold tracepoints that the session selects (declared.h), or
 * all if calls are hooked. The others are no loss, and never named.
 *
 * Nothing is read that touches another process's memory (/proc/PID/environ),
 * and so could make us wait. Each look is bounded: processes, threads, and
 * files that are searched.
 *
 * One thread at a time.
 */
#ifndef SESSION_WATCH_H
#define SESSION_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "session/declared.h"
#include "session/summary.h"

struct sonde_watch_config {
	pid_t frontend;
	bool hooks;                      /* --malloc or --locks: all count */
	struct sonde_declared *declared; /* borrowed; NULL: only hooks count */
	/* Whether the session has an arena; its memory file's identity. */
	bool (*has_arena)(void *ctx, dev_t dev, ino_t ino);
	void *ctx;
};

struct sonde_watch;

/* NULL if memory fails. */
struct sonde_watch *sonde_watch_new(const struct sonde_watch_config *config);

void sonde_watch_look(struct sonde_watch *watch);

/* The process is recorded, or the user has been told why not. */
void sonde_watch_came(struct sonde_watch *watch, pid_t pid);

/* Names those that didn't come. */
void sonde_watch_tell(const struct sonde_watch *watch,
		      struct sonde_summary *summary);

/* NULL is fine. */
void sonde_watch_free(struct sonde_watch *watch);

#endif /* SESSION_WATCH_H */
