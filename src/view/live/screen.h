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
	SONDE_KEY_PRESS_UP,
	SONDE_KEY_PRESS_DOWN,
	SONDE_KEY_PRESS_PAGE_UP,
	SONDE_KEY_PRESS_PAGE_DOWN,
	SONDE_KEY_PRESS_HOME,
	SONDE_KEY_PRESS_END,
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
/* Puts the terminal back as far as that can be done at once, where the process
 * is about to end; async-signal-safe. */
void sonde_screen_abandon(const struct sonde_screen *screen);

/* A character, or one of the above. Doesn't wait. */
int sonde_screen_key(struct sonde_screen *screen);

/* Waits for a key, at most so long (negative: for ever). 1; 0: there is none;
 * -EINTR: a signal came; -EPIPE: there will be none any more. */
int sonde_screen_wait(const struct sonde_screen *screen, int timeout_ms);

/* How many lines there are, and how many columns; 0: no limit. */
size_t sonde_screen_rows(const struct sonde_screen *screen);
size_t sonde_screen_columns(const struct sonde_screen *screen);

/* Lines; what doesn't fit is cut off. 0; -EPIPE: who looked has gone; -errno.
 * `*ret_drawn`: it was not left out. */
int sonde_screen_draw(struct sonde_screen *screen, const char *text,
		      size_t length, bool *ret_drawn);

/* Waits until all is written. 0; -EINTR: a signal came; as draw. */
int sonde_screen_drain(struct sonde_screen *screen);

#endif /* VIEW_LIVE_SCREEN_H */
