/* SPDX-License-Identifier: MIT */
/*
 * screen.h - a terminal whose whole screen is drawn anew now and then, and keys.
 *
 * While it is ours, the terminal shows its other screen, without a cursor, and
 * gives keys as they are pressed; sonde_screen_fini() puts all back. Ctrl-C stays
 * a signal. Where standard output is no terminal, drawings are written one after
 * the other, and there are no keys.
 *
 * A drawing is written as far as it is taken, and nobody waits: as long as one
 * isn't taken, the next ones are left out, and counted.
 *
 * One thread. SIGPIPE is ignored or blocked by whoever calls this.
 */
#ifndef VIEW_LIVE_SCREEN_H
#define VIEW_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "view/live/outlet.h"

enum {
	SONDE_KEY_PRESS_NONE = -1, /* none is pressed */
	SONDE_KEY_PRESS_LEFT = 256,
	SONDE_KEY_PRESS_RIGHT,
	SONDE_KEY_PRESS_OTHER, /* an escape sequence of another kind */
};

struct sonde_screen {
	struct sonde_outlet outlet;
	bool is_terminal;
	uint64_t left_out; /* drawings */
	/* ---- private ---- */
	int keys_fd; /* -1: none */
	struct termios saved;
};

/* Keys come from `keys_fd`, if that is a terminal; -1: from nowhere. Both are
 * borrowed. Not `whole`: as if it were no terminal. 0 or -ENOMEM. */
int sonde_screen_init(struct sonde_screen *screen, int fd, int keys_fd,
		      bool whole);
void sonde_screen_fini(struct sonde_screen *screen);

/* A character, or one of the above. Doesn't wait. */
int sonde_screen_key(struct sonde_screen *screen);

/* How many lines there are; 0: no limit. */
size_t sonde_screen_rows(const struct sonde_screen *screen);

/* Lines; what doesn't fit is cut off. 0; -EPIPE: who looked has gone; -errno.
 * `*ret_drawn`: it was not left out. */
int sonde_screen_draw(struct sonde_screen *screen, const char *text,
		      size_t length, bool *ret_drawn);

/* Waits until all is written. 0; -EINTR: a signal came; as draw. */
int sonde_screen_drain(struct sonde_screen *screen);

#endif /* VIEW_LIVE_SCREEN_H */
