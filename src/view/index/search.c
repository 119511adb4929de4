/* SPDX-License-Identifier: MIT */
/* search.c - one event after the other, some of them wanted (search.h). */
#include "view/index/search.h"

#include <errno.h>

#define LOOK_EVERY 4096 /* events */

int sonde_view_search_next(struct sonde_view_search *search,
			   const struct sonde_event **ret_event)
{
	int got;

	while ((got = search->backward ?
			      sonde_cursor_prev(search->cursor, ret_event) :
			      sonde_cursor_next(search->cursor, ret_event)) >
	       0) {
		if (search->filter &&
		    sonde_filter_match(search->filter, *ret_event))
			return 1;
		if (++search->looked % LOOK_EVERY == 0 &&
		    search->is_enough(search->ctx))
			return -EAGAIN;
		if (!search->filter)
			return 1;
	}
	return got;
}
