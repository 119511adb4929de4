/* SPDX-License-Identifier: MIT */
/*
 * outlet.h - text for a reader who may be slow, or asleep: a terminal, a pipe.
 *
 * Nothing here waits for the reader, but sonde_outlet_wait(). What isn't taken
 * yet waits in the outlet, up to its room; a text for which there is no room is
 * refused as a whole. So what the reader gets are whole texts, in order.
 *
 * A descriptor's own file description may be shared with others, the shell and
 * the traced program among them, who would not expect it to refuse writes: so a
 * terminal or pipe is opened once more for us alone. Where that can't be, it is
 * asked first whether it would take something, and gets so little that a pipe
 * takes it at once.
 *
 * One thread. SIGPIPE is ignored or blocked by whoever calls this.
 */
#ifndef VIEW_LIVE_OUTLET_H
#define VIEW_LIVE_OUTLET_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_outlet {
	int fd;
	bool is_own;    /* opened by us */
	bool is_polled; /* it may block */
	char *text;     /* what wasn't taken yet */
	size_t from, used, room;
};

/* `fd` is borrowed. 0 or -ENOMEM. */
int sonde_outlet_init(struct sonde_outlet *outlet, int fd, size_t room);
void sonde_outlet_fini(struct sonde_outlet *outlet);

/* False: there is no room for it, and nothing of it will be written. What there
 * is is written as far as it is taken. */
bool sonde_outlet_put(struct sonde_outlet *outlet, const char *text,
		      size_t length);

/* Writes what is taken now. 0; -EPIPE: the reader has gone; -errno. */
int sonde_outlet_flush(struct sonde_outlet *outlet);

/* Waits until something can be written, at most so long (negative: for ever), and
 * writes it. 0; -ETIMEDOUT; -EINTR: a signal came; as flush. */
int sonde_outlet_wait(struct sonde_outlet *outlet, int timeout_ms);

#endif /* VIEW_LIVE_OUTLET_H */
