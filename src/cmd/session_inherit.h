/* SPDX-License-Identifier: MIT */
/* session_inherit.h - going on with a session whose recorder was killed. */
#ifndef CMD_SESSION_INHERIT_H
#define CMD_SESSION_INHERIT_H

#include <stddef.h>

#include "session/document.h"
#include "sys/rundir.h"

/*
 * A session whose recorder was killed gets another one, which takes over the
 * rings that its programs still have, if it is one that keeps them (overwrite
 * mode). 0, or -errno and why not in `text`.
 */
int sonde_command_inherit(const struct sonde_rundir *home,
			  const struct sonde_session_document *document,
			  char *text, size_t size);

#endif /* CMD_SESSION_INHERIT_H */
