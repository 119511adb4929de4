/* SPDX-License-Identifier: MIT */
/*
 * snapshot_span.h - a snapshot becomes what happened in the last so many seconds
 * before it was asked for, and until it was made:
 *
 *	      from            asked   made  answered
 *	.......|----- last -----|.......|......|
 *	       |====== kept ============|
 *
 * How long it took from when it was asked for until it was made isn't known, but no
 * longer than until the answer came; so much more is kept.
 */
#ifndef CMD_SNAPSHOT_SPAN_H
#define CMD_SNAPSHOT_SPAN_H

#include <stdint.h>

#include "session/document.h"

struct sonde_command_span {
	uint64_t last_ns;
	uint64_t asked_ns, answered_ns; /* monotonic */
};

/*
 * Cuts the snapshot in `whole` into `directory`, which is empty; `answer` is what the
 * recorder said of it, and has then, besides: "directory", "last_ns", "last_events"
 * that are in it and, if that is known, "missing_ns", of the beginning of what is
 * kept, in which events may be missing, and "reach_ns": so long before now nothing is
 * missing. 0, or an exit status: said why.
 */
int sonde_command_span_cut(const struct sonde_command_span *span,
			   const char *whole, const char *directory,
			   struct sonde_session_document *answer);

/* For people; `last` is how long that is, in their words. */
void sonde_command_span_tell(const struct sonde_session_document *answer,
			     const char *last, const char *directory);

#endif /* CMD_SNAPSHOT_SPAN_H */
