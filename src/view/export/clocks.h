/* SPDX-License-Identifier: MIT */
/*
 * clocks.h - how well the times of an export's machines can be compared: whose clock
 * each was put on, and how far its times can be from that (reader/core/clock_offset.h).
 */
#ifndef VIEW_EXPORT_CLOCKS_H
#define VIEW_EXPORT_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/reader.h"

struct sonde_export_clock {
	const char *host; /* "": it isn't known */
	const char *on;
	int64_t within_ns; /* the widest bound that is known; -1: none is */
	bool is_all;       /* one is known at all times */
};

/* Of each machine whose clock was put on another one's, or is that one; until `put`
 * returns less than 0, which is returned. */
int sonde_export_clocks(const struct sonde_trace *trace,
			int (*put)(void *ctx,
				   const struct sonde_export_clock *clock),
			void *ctx);

#endif /* VIEW_EXPORT_CLOCKS_H */
