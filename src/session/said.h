/* SPDX-License-Identifier: MIT */
/*
 * said.h - marks that are said to the recorder (docs/protocol.md): a source that is
 * given lines (source/marks/mark.h), each an event of who says it, at the time when it
 * is heard.
 *
 * They are in the trace of programs' events, or where there is none in the kernel's.
 * In discard mode a mark is in the trace when sonde_session_said_take() returns; in
 * overwrite mode the newest are kept, in SAID_BYTES of memory that no budget counts,
 * which is taken with the first. One thread.
 */
#ifndef SESSION_SAID_H
#define SESSION_SAID_H

#include "session/marks.h"
#include "session/session.h"

struct sonde_session_said;

/* Of a session that has its traces. `mode` is the session's. NULL: no memory left. */
struct sonde_session_said *sonde_session_said_new(struct sonde_session *session,
						  struct sonde_filters *filters,
						  enum sonde_ring_mode mode);

/* Records a line that the process has said. 0; -ENOENT: the session has no such
 * events; -ENODEV: no trace for them; -ENOSPC: it was lost, and counted; another
 * -errno. */
int sonde_session_said_take(struct sonde_session_said *said, pid_t pid,
			    const char *line);

/* Takes the source out of the session, which stays. */
void sonde_session_said_end(struct sonde_session_said *said);
/* After that, or after the session's end. NULL is fine for both. */
void sonde_session_said_free(struct sonde_session_said *said);

#endif /* SESSION_SAID_H */
