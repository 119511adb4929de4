/* SPDX-License-Identifier: MIT */
/*
 * host_reach.h - how far back a snapshot reaches: since when nothing is missing of the
 * processes that are in it.
 */
#ifndef CMD_HOST_REACH_H
#define CMD_HOST_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `answer` is what `sonde snapshot --json` printed of the trace in `directory`. false:
 * nobody knows. *ret_ns: from then to when it was made, at least, and by the counter
 * of its records alone, so no clock that is set plays a part. */
bool sonde_command_host_reach(const char *directory, const char *answer,
			      size_t size, uint64_t *ret_ns);

#endif /* CMD_HOST_REACH_H */
