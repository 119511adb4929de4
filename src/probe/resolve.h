/* SPDX-License-Identifier: MIT */
/*
 * resolve.h - what a user wrote of a probe, as tracepoints: places, conditions
 * and what is collected, by the debugging information of a process.
 *
 * What GDB makes of `trace`, `if` and `collect`, without a GDB: the answer is
 * the packets that define the tracepoints (points.h), as GDB would send them.
 */
#ifndef PROBE_RESOLVE_H
#define PROBE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sonde_probe_request {
	pid_t pid;
	const char *where; /* "LOCATION [if CONDITION]" */
	/* "n, *p@4, $args", "/s name"; NULL: nothing, or, of a probe of
	 * <sys/sdt.h>, its arguments */
	const char *collect;
	bool has_name; /* the events get one from elsewhere */
};

/*
 * Lines, for free(): "at PLACE" for each tracepoint, in words, and the packets.
 * NULL, with *error of one line.
 */
char *sonde_probe_resolve(const struct sonde_probe_request *request,
			  char *error, size_t error_size);

#endif /* PROBE_RESOLVE_H */
