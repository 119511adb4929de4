/* SPDX-License-Identifier: MIT */
/*
 * locks.h - rows of a program's locks: when each was held, by whom, and when
 * threads waited for it, as `sonde report locks` understands the events of
 * `sonde record --locks`.
 *
 * A first pass finds which locks there are, a second one makes rows of the
 * SONDE_VIEW_LOCKS that were waited for longest, or used most: a program may have
 * as many as it has objects. A trace without such events isn't read.
 */
#ifndef VIEW_INDEX_LOCKS_H
#define VIEW_INDEX_LOCKS_H

#include "view/index/build.h"

#define SONDE_VIEW_LOCKS 256u

/* Whether the trace has events of locks. */
bool sonde_view_locks_any(const struct sonde_trace *trace);
/* Half the work each: the trace's locks in their order, then their rows. 0 or a
 * negative errno. `end_ns` is the trace's. */
struct sonde_view_locks;
int sonde_view_locks_find(struct sonde_view_build *build,
			  struct sonde_trace *trace,
			  const struct sonde_map_options *options,
			  struct sonde_view_locks **ret_locks);
int sonde_view_locks_run(struct sonde_view_locks *locks,
			 const struct sonde_map_options *options,
			 int64_t end_ns);
void sonde_view_locks_free(struct sonde_view_locks *locks);

#endif /* VIEW_INDEX_LOCKS_H */
