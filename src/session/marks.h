/* SPDX-License-Identifier: MIT */
/*
 * marks.h - which of the marks that a source is given (source/marks/table.h) a
 * session records: those that its rules and their conditions select, as of any
 * program's events.
 *
 * One for each source, whose kinds have their conditions kept. One thread.
 */
#ifndef SESSION_MARKS_H
#define SESSION_MARKS_H

#include "session/filters.h"
#include "session/session.h"

struct sonde_session_marks;

/* NULL: no memory left. */
struct sonde_session_marks *sonde_session_marks_new(void);

/* Before the first mark. Both are borrowed; no filters: NULL. */
void sonde_session_marks_bind(struct sonde_session_marks *marks,
			      const struct sonde_session *session,
			      struct sonde_filters *filters);

/* For the source's configuration; borrowed. NULL for NULL. */
const struct sonde_source_marks *
sonde_session_marks_wants(struct sonde_session_marks *marks);

/* NULL is fine. */
void sonde_session_marks_free(struct sonde_session_marks *marks);

#endif /* SESSION_MARKS_H */
