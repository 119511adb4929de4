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

#include "session/document.h"

struct sonde_trace;

struct sonde_command_reach {
	bool has_made;   /* else it has no clock, for there is nothing in it */
	int64_t made_ns; /* when it was made, on the trace's scale of time */
	/* From then to when it was made, at least, nothing is missing, by the counter
	 * of its records alone, so no clock that is set plays a part. */
	bool is_known;
	uint64_t reach_ns;
};

/* Of a snapshot as it was written, and what its recorder answered. */
void sonde_command_reach_find(const struct sonde_trace *trace,
			      const struct sonde_session_document *answer,
			      struct sonde_command_reach *ret_reach);

/* What `sonde snapshot --json` printed of the trace in `directory`, which may have been
 * cut. false: nobody knows. */
bool sonde_command_host_reach(const char *directory, const char *answer,
			      size_t size, uint64_t *ret_ns);

#endif /* CMD_HOST_REACH_H */
