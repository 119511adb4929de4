/* SPDX-License-Identifier: MIT */
/*
 * explain.c - from a row's state to what is behind it (explain.h), by the rows
 * alone.
 */
#include "view/index/explain.h"

#include "reader/reader.h"
#include "view/index/build.h"

bool sonde_view_is_blocked(const struct sonde_view_piece *piece)
{
	return piece->state == SONDE_VIEW_BLOCKED ||
	       piece->state == SONDE_VIEW_BLOCKED_LOCK ||
	       piece->state == SONDE_VIEW_BLOCKED_FILE;
}

/* Who ended what a row was blocked in: the state that follows knows. */
int64_t sonde_view_waker(const struct sonde_view_index *index, uint32_t row,
			 const struct sonde_view_piece *piece,
			 int64_t *ret_time)
{
	struct sonde_view_piece next = *piece;

	if (sonde_view_is_blocked(piece) &&
	    !sonde_view_rows_at(sonde_view_index_rows(index), row, piece->end,
				&next))
		next.state = SONDE_VIEW_UNKNOWN;
	*ret_time = next.begin;
	if (next.state != SONDE_VIEW_READY || !next.about)
		return -1;
	return sonde_view_index_row(index, SONDE_VIEW_ROW_THREAD,
				    (int32_t)next.about);
}

int32_t sonde_view_holder(const struct sonde_view_piece *piece)
{
	return (int32_t)(piece->about & ((1u << SONDE_VIEW_HOLDER) - 1));
}

uint32_t sonde_view_waiters(const struct sonde_view_piece *piece)
{
	return piece->about >> SONDE_VIEW_HOLDER;
}

int32_t sonde_view_event_tid(const struct sonde_view_index *index,
			     const struct sonde_event *event, int64_t begin_ns)
{
	int32_t cpu = sonde_event_cpu(event);
	int32_t tid = sonde_event_own_tid(event);
	struct sonde_view_piece piece;
	int64_t row;

	if (tid >= 0 || cpu < 0 || event->time_ns == SONDE_TIME_MIN)
		return tid;
	row = sonde_view_index_row(index, SONDE_VIEW_ROW_CPU, cpu);
	if (row >= 0 &&
	    sonde_view_rows_at(sonde_view_index_rows(index), (uint32_t)row,
			       event->time_ns - begin_ns - 1, &piece) &&
	    (piece.state == SONDE_VIEW_RUNNING ||
	     piece.state == SONDE_VIEW_IDLE))
		tid = (int32_t)piece.about;
	return tid;
}

const char *sonde_view_thread_name(const struct sonde_view_index *index,
				   int32_t tid)
{
	int64_t row = sonde_view_index_row(index, SONDE_VIEW_ROW_THREAD, tid);

	if (tid == 0)
		return "idle";
	return row >= 0 ? sonde_view_index_rows(index)->rows[row].name : "";
}
