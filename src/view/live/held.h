/* SPDX-License-Identifier: MIT */
/*
 * held.h - lines that are held back until no earlier one can come any more.
 *
 * A trace that is being written is written stream by stream, so of two events
 * the later one may be read first. Lines are put in the order of reading, and
 * taken in the order of time; equal times stay in the order of reading.
 *
 * Memory: the texts, up to a limit. One thread.
 */
#ifndef VIEW_LIVE_HELD_H
#define VIEW_LIVE_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_held_line {
	int64_t time_ns;
	size_t offset, length; /* in the text */
};

/* Zeros, but for the limit, are an empty one. */
struct sonde_held {
	size_t limit; /* of bytes of text */
	struct sonde_held_line *lines;
	size_t from, nr, room; /* those from `from` to `nr` are held */
	char *text;
	size_t used, text_room;
	bool is_disordered;
};

void sonde_held_fini(struct sonde_held *held);

/* Whether a line of that length fits. */
bool sonde_held_has_room(const struct sonde_held *held, size_t length);

/* 0 or -ENOMEM. */
int sonde_held_put(struct sonde_held *held, int64_t time_ns, const char *text,
		   size_t length);

/* Takes the earliest line, if it is not later than this time; NULL: there is
 * none. The text lives until the next call. */
const char *sonde_held_take(struct sonde_held *held, int64_t until_ns,
			    int64_t *ret_time_ns, size_t *ret_length);

#endif /* VIEW_LIVE_HELD_H */
