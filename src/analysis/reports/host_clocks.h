/* SPDX-License-Identifier: MIT */
/*
 * host_clocks.h - how the clocks of other machines are to one machine's, during
 * a span of its time, from what their threads sent to each other (transfers.h).
 *
 * Bytes are sent after the call began that sent them, by the one clock, and before
 * they are taken from the kernel, by the other. From many of these, there and back,
 * follow the lines between the two clocks that can be (clock/align.h), of which
 * nothing is assumed but that they are lines for the span and half a minute before
 * and after it. Machines that do not talk to the first one are reached by way of
 * others, and what is not known adds up: the way with the least of it is taken.
 *
 * A machine with which nobody exchanged enough has no known clock.
 */
#ifndef ANALYSIS_REPORTS_HOST_CLOCKS_H
#define ANALYSIS_REPORTS_HOST_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/reports/transfers.h"

struct sonde_host_clock {
	bool is_known;
	/* When the first machine's shows t, this one shows t + offset_ns, at
	 * most bound_ns earlier or later, for each t of the span. */
	int64_t offset_ns, bound_ns;
	uint32_t by; /* the machine by which it is known */
	size_t nr_messages;
};

/* Of `nr` machines, of which `first` has the span. Transfers are matched. 0 or
 * -ENOMEM. */
int sonde_host_clocks_find(const struct sonde_transfers *transfers,
			   uint32_t first, int64_t begin_ns, int64_t end_ns,
			   struct sonde_host_clock *clocks, size_t nr);

#endif /* ANALYSIS_REPORTS_HOST_CLOCKS_H */
