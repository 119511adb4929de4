/* SPDX-License-Identifier: MIT */
/*
 * start.h - starting a session by name: its recorder, which goes on without us.
 *
 * The name is taken first, by its socket; then the recorder is made, and when it
 * is ready, whoever is meant is recorded. If we end before we have heard of that,
 * there is no session (session/recorder.h).
 */
#ifndef SESSION_START_H
#define SESSION_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/frontend_hooks.h"
#include "session/recorder.h"

struct sonde_recorder_start_config {
	const struct sonde_session_config *session;
	/* Its listen_fd is ours to find. */
	struct sonde_recorder_named named;
	const char *directory; /* of the trace, from the root on */
	/* What puts --malloc and --locks in (session/start_hooks.h); NULL: none
	 * are wanted */
	const struct sonde_frontend_hooks *hooks;
};

struct sonde_recorder_start_result {
	pid_t pid; /* the recorder's */
	bool has_kernel;
	uint32_t nr_attached; /* processes that ran already */
	bool wrong_rules;     /* -k says something that makes no sense */
	/* What failed; or what there is to tell. */
	char text[SONDE_RECORDER_TEXT];
};

/* 0, or -errno of what the text names; -EADDRINUSE: there is such a session. */
int sonde_recorder_start(const struct sonde_recorder_start_config *config,
			 struct sonde_recorder_start_result *ret_result);

#endif /* SESSION_START_H */
