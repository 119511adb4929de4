/* SPDX-License-Identifier: MIT */
/*
 * child.h - debugging information read in a process apart.
 *
 * It is somebody's file, there may be gigabytes of it, and libdw is not made
 * for broken ones. So a child by fork reads it, and says in lines what it
 * found; whoever asks checks them.
 */
#ifndef PROBE_CHILD_H
#define PROBE_CHILD_H

#include <stdint.h>
#include <stdio.h>

typedef void sonde_probe_child_answer(void *ctx, FILE *to);

/* All that the child wrote in time, before it ended or fell; for free(). NULL:
 * it could not be asked. */
char *sonde_probe_child_ask(sonde_probe_child_answer *answer, void *ctx,
			    int64_t time_max_ms);

#endif /* PROBE_CHILD_H */
