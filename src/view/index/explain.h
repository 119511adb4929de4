/* SPDX-License-Identifier: MIT */
/*
 * explain.h - what goes with a row's state: who woke a thread, who has a lock, and
 * which thread an event is of.
 *
 * Between the index' lock and unlock.
 */
#ifndef VIEW_INDEX_EXPLAIN_H
#define VIEW_INDEX_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/index/index.h"

bool sonde_view_is_blocked(const struct sonde_view_piece *piece);

/* The row of who woke the thread, `piece` of which is blocked or waits for a CPU;
 * -1: not known. *ret_time: when that was. */
int64_t sonde_view_waker(const struct sonde_view_index *index, uint32_t row,
			 const struct sonde_view_piece *piece,
			 int64_t *ret_time);

/* The thread that has a lock, by its piece; 0: not known. How many wait for it. */
int32_t sonde_view_holder(const struct sonde_view_piece *piece);
uint32_t sonde_view_waiters(const struct sonde_view_piece *piece);

/* Whose event it is, of a trace that begins then; -1: not known. Where the event
 * doesn't say so, its CPU's row does: who ran just before. (sonde_event_tid()
 * would read the whole trace for the first answer.) */
int32_t sonde_view_event_tid(const struct sonde_view_index *index,
			     const struct sonde_event *event, int64_t begin_ns);
/* The name that the thread's row has, its last one; "": not known. */
const char *sonde_view_thread_name(const struct sonde_view_index *index,
				   int32_t tid);

#endif /* VIEW_INDEX_EXPLAIN_H */
