/* SPDX-License-Identifier: MIT */
/*
 * start_hooks.h - sessions by name with --malloc and --locks of processes that
 * run: who put the hooks in must take them out, so a process of its own, the
 * *holder*, starts the recorder and stays until the session ends.
 *
 *	sonde start		makes the holder, and returns with what it says
 *	holder			starts the recorder, puts the hooks in, looks for
 *				processes that come later, takes the hooks out
 *	recorder		records; asks the holder to end before it ends
 *
 * The holder and the recorder have the recorder's control socket between them
 * (holder.h).
 *
 * If the recorder is killed, the holder takes the hooks out and ends. If the
 * holder is killed, the processes' servants take them out (probe/inject), and the
 * recorder goes on without.
 */
#ifndef SESSION_START_HOOKS_H
#define SESSION_START_HOOKS_H

#include "session/child.h"
#include "session/start.h"

typedef int
sonde_session_recorder_start(const struct sonde_recorder_start_config *config,
			     struct sonde_recorder_start_result *ret_result);

/* Has a holder do it. What `start` returns there, and its result. */
int sonde_session_start_holder(const struct sonde_recorder_start_config *config,
			       sonde_session_recorder_start *start,
			       struct sonde_recorder_start_result *ret_result);

/* In the holder, once the recorder records: 0 and they are in; or -errno of what
 * the result's text names, and the recorder ends. */
int sonde_session_start_hooks(const struct sonde_recorder_start_config *config,
			      struct sonde_child *child,
			      struct sonde_recorder_start_result *ret_result);

#endif /* SESSION_START_HOOKS_H */
