/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h - whether programs that we start may make libsonde's system calls.
 *
 * They inherit our seccomp filters, and one of those may kill for such a call.
 * Only trying tells: a child makes all of them, and is killed or not. Without
 * filters nothing is tried.
 */
#ifndef SESSION_SANDBOX_H
#define SESSION_SANDBOX_H

#include "session/config.h"

/*
 * The number of filters that we run under and that allow libsonde's calls; 0
 * if there are none; -EPERM if they don't allow them all, or it can't be found
 * out. With those of what the session asks programs for: --realtime, --context. To be
 * called while we have one thread.
 */
int sonde_sandbox_try(const struct sonde_session_config *config);

#endif /* SESSION_SANDBOX_H */
