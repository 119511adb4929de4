/* SPDX-License-Identifier: MIT */
/*
 * search.h - from an event to the next one, or the one before, that a filter wants:
 * as long as whoever waits has patience, for a filter that hardly anything matches
 * could read the whole trace.
 */
#ifndef VIEW_INDEX_SEARCH_H
#define VIEW_INDEX_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_view_search {
	struct sonde_cursor *cursor;       /* borrowed */
	const struct sonde_filter *filter; /* NULL: all; borrowed */
	bool backward;
	/* asked now and then */
	bool (*is_enough)(void *ctx);
	void *ctx;
	/* ---- private ---- */
	uint64_t looked; /* events */
};

/* 1 and the event; 0: there is none. -EAGAIN: it is enough, and *ret_event is how
 * far it came, which a filter doesn't want; -ENOMEM. */
int sonde_view_search_next(struct sonde_view_search *search,
			   const struct sonde_event **ret_event);

#endif /* VIEW_INDEX_SEARCH_H */
