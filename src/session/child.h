/* SPDX-License-Identifier: MIT */
/*
 * child.h - starting the recording child (recorder.h).
 *
 * It is made by a clone that sends no signal when it ends, so an ordinary wait
 * never meets it: waitpid() with __WALL does. Of our descriptors it keeps
 * stderr and its own two; nothing of ours stays open because it lives on.
 */
#ifndef SESSION_CHILD_H
#define SESSION_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/config.h"
#include "session/handshake.h"
#include "session/recorder.h"

struct sonde_child {
	uint64_t session;
	char name[SONDE_SESSION_NAME_MAX]; /* path of the recorder's socket */
	int control_fd;                    /* -1: none */
	pid_t pid;                         /* 0: none */
};

/*
 * 0, or -errno with what failed in *ret_what (a constant text). Both pointers
 * in are needed as long as the child is being started, no longer.
 */
int sonde_child_start(const struct sonde_session_config *session,
		      const char *directory, int dir,
		      struct sonde_child *ret_child, const char **ret_what);

/* The same for a session by name: the child has a session (setsid) of its own,
 * keeps none of our descriptors but those that are named, and outlives us
 * (session/recorder.h). */
int sonde_child_start_named(const struct sonde_session_config *session,
			    const char *directory,
			    const struct sonde_recorder_named *named,
			    struct sonde_child *ret_child,
			    const char **ret_what);

/* A message of the child's; what recv() gives. */
ssize_t sonde_child_receive(const struct sonde_child *child, void *message,
			    size_t size);

/* What a message says that tells of an error, in one line with its cause.
 * Whether it is what the user got wrong about kernel events. */
bool sonde_child_explain(const struct sonde_recorder_ready *ready, char *text,
			 size_t size);

/* Closes the control socket, which ends it if nothing has yet, and waits for
 * that. Returns its status as wait gives it; 0 if there is none. */
int sonde_child_end(struct sonde_child *child);

#endif /* SESSION_CHILD_H */
