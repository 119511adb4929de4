/* SPDX-License-Identifier: MIT */
/*
 * sync.h - the clocks of pairs of hosts, window by window.
 *
 * Messages are read from text, a line each:
 *
 *	A B SENT RECEIVED	from host A to host B, sent and received at these
 *				times, in nanoseconds, each by its host's own
 *				clock; # begins a comment
 *
 * A clock isn't a line for ever: it is taken to be one within a window. Where no
 * line can be (align.h), the window is halved, down to a second.
 */
#ifndef FLEET_SYNC_H
#define FLEET_SYNC_H

#include <stddef.h>
#include <stdint.h>

#include "clock/align.h"
#include "session/net/message.h"

struct sonde_sync;

/* NULL without memory. */
struct sonde_sync *sonde_sync_new(void);
/* NULL is fine. */
void sonde_sync_free(struct sonde_sync *sync);

/* Takes a line. -EINVAL: it says no message; -ENOMEM. */
int sonde_sync_take(struct sonde_sync *sync, const char *line);
/* Takes a message that is known. -EINVAL: no such names or times; -ENOMEM. */
int sonde_sync_add(struct sonde_sync *sync, const char *from, const char *to,
		   int64_t sent_ns, int64_t received_ns);

struct sonde_sync_window {
	const char *a, *b;  /* the hosts, by name */
	int64_t begin, end; /* of A's times, those of messages */
	size_t nr_there, nr_back;
	int error; /* of sonde_align_solve(): 0, -ENODATA, -EDOM */
	const struct sonde_align *align; /* until `take` returns */
};

/* All windows of at most so many nanoseconds, of all pairs, in an order.
 * -ENOMEM. */
typedef void sonde_sync_fn(void *ctx, const struct sonde_sync_window *window);
int sonde_sync_solve(struct sonde_sync *sync, uint64_t window_ns,
		     sonde_sync_fn *take, void *ctx);

#endif /* FLEET_SYNC_H */
