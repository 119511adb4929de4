/* SPDX-License-Identifier: MIT */
/*
 * screen.c - a terminal's whole screen (screen.h), by the sequences of ECMA-48
 * that every terminal of today obeys: to the upper left corner, erase to the end
 * of a line and of the screen, the other screen, the cursor.
 */
#include "view/live/screen.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/port.h"

#define OUTLET_BYTES ((size_t)4 << 20)
#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define OWN_SCREEN   "\033[?25h\033[?1049l"
#define HOME         "\033[H"
#define END_OF_LINE  "\033[K"
#define END_OF_ALL   "\033[J"
#define ESCAPE       0x1b

/* Keys one by one, not shown; Ctrl-Z would leave the terminal so. */
static void take_keys(struct sonde_screen *screen, int fd)
{
	struct termios raw;

	if (fd < 0 || tcgetattr(fd, &screen->saved))
		return;
	raw = screen->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	if (!tcsetattr(fd, TCSANOW, &raw))
		screen->keys_fd = fd;
}

int sonde_screen_init(struct sonde_screen *screen, int fd, int keys_fd,
		      bool whole)
{
	*screen = (struct sonde_screen){ .keys_fd = -1 };
	if (sonde_outlet_init(&screen->outlet, fd, OUTLET_BYTES))
		return -ENOMEM;
	screen->is_terminal = whole && isatty(fd);
	if (!screen->is_terminal)
		return 0;
	take_keys(screen, keys_fd);
	(void)sonde_outlet_put(&screen->outlet, OTHER_SCREEN,
			       strlen(OTHER_SCREEN)); /* it has room */
	return 0;
}

/* A drawing that isn't taken is cut: what puts the terminal back is more. */
static void leave_screen(struct sonde_screen *screen)
{
	if (!sonde_outlet_put(&screen->outlet, OWN_SCREEN, strlen(OWN_SCREEN)))
		return;
	(void)sonde_outlet_flush(&screen->outlet);
	if (screen->outlet.used)
		(void)sonde_outlet_wait(&screen->outlet, 200);
}

void sonde_screen_fini(struct sonde_screen *screen)
{
	if (screen->is_terminal)
		leave_screen(screen);
	if (screen->keys_fd >= 0)
		(void)tcsetattr(screen->keys_fd, TCSANOW, &screen->saved);
	sonde_outlet_fini(&screen->outlet);
	screen->keys_fd = -1;
	screen->is_terminal = false;
}

void sonde_screen_abandon(const struct sonde_screen *screen)
{
	ssize_t n;

	if (!screen->is_terminal)
		return;
	/* nobody is left to be told if this fails */
	n = write(screen->outlet.fd, OWN_SCREEN, strlen(OWN_SCREEN));
	(void)n;
	if (screen->keys_fd >= 0)
		(void)tcsetattr(screen->keys_fd, TCSANOW, &screen->saved);
}

/* ---- keys ---- */

/* Never waits: VMIN and VTIME are 0. */
static int read_byte(const struct sonde_screen *screen)
{
	struct pollfd pollfd = { .fd = screen->keys_fd, .events = POLLIN };
	unsigned char byte;

	if (poll(&pollfd, 1, 0) <= 0 || read(screen->keys_fd, &byte, 1) != 1)
		return SONDE_KEY_PRESS_NONE;
	return byte;
}

/* Which key a sequence is: its last byte, and its first digit before that. */
static int key_of_sequence(int digit, int last)
{
	static const struct {
		char digit, last;
		int key;
	} keys[] = {
		{ 0, 'A', SONDE_KEY_PRESS_UP },
		{ 0, 'B', SONDE_KEY_PRESS_DOWN },
		{ 0, 'C', SONDE_KEY_PRESS_RIGHT },
		{ 0, 'D', SONDE_KEY_PRESS_LEFT },
		{ 0, 'H', SONDE_KEY_PRESS_HOME },
		{ 0, 'F', SONDE_KEY_PRESS_END },
		{ '1', '~', SONDE_KEY_PRESS_HOME },
		{ '4', '~', SONDE_KEY_PRESS_END },
		{ '5', '~', SONDE_KEY_PRESS_PAGE_UP },
		{ '6', '~', SONDE_KEY_PRESS_PAGE_DOWN },
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(keys); i++)
		if (keys[i].last == last &&
		    (!keys[i].digit || keys[i].digit == digit))
			return keys[i].key;
	return SONDE_KEY_PRESS_OTHER;
}

/* Behind an escape: "[D", "OD", with numbers in between; or nothing. */
static int read_sequence(const struct sonde_screen *screen)
{
	int byte = read_byte(screen);
	int digit = 0;

	if (byte != '[' && byte != 'O')
		return byte < 0 ? ESCAPE : SONDE_KEY_PRESS_OTHER;
	byte = read_byte(screen);
	while (byte == ';' || (byte >= '0' && byte <= '9')) {
		digit = digit ? digit : byte;
		byte = read_byte(screen);
	}
	return key_of_sequence(digit, byte);
}

int sonde_screen_key(struct sonde_screen *screen)
{
	int byte;

	if (screen->keys_fd < 0)
		return SONDE_KEY_PRESS_NONE;
	byte = read_byte(screen);
	return byte == ESCAPE ? read_sequence(screen) : byte;
}

int sonde_screen_wait(const struct sonde_screen *screen, int timeout_ms)
{
	struct pollfd keys = { .fd = screen->keys_fd, .events = POLLIN };
	int got = poll(&keys, 1, timeout_ms);

	if (got < 0)
		return -errno;
	if (got && !(keys.revents & POLLIN))
		return -EPIPE;
	return got > 0;
}

/* ---- drawings ---- */

static struct winsize screen_size(const struct sonde_screen *screen)
{
	struct winsize size = { .ws_row = 0 };

	if (screen->is_terminal)
		(void)ioctl(screen->outlet.fd, TIOCGWINSZ, &size);
	return size;
}

size_t sonde_screen_rows(const struct sonde_screen *screen)
{
	return screen_size(screen).ws_row;
}

size_t sonde_screen_columns(const struct sonde_screen *screen)
{
	return screen_size(screen).ws_col;
}

/* As a drawing that takes the whole screen, without what was there; NULL: no
 * memory. */
static char *make_drawing(const struct sonde_screen *screen, const char *text,
			  size_t length, size_t *ret_length)
{
	size_t rows = sonde_screen_rows(screen);
	const char *end = text + length;
	/* each byte may be a line */
	char *drawing = malloc(16 + length * (1 + strlen(END_OF_LINE)));
	char *to = drawing;

	if (!drawing)
		return NULL;
	to = stpcpy(to, HOME);
	for (size_t row = 1; text < end && (!rows || row <= rows); row++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		if (row > 1)
			to = stpcpy(to, "\n");
		to = mempcpy(to, text, (size_t)(line_end - text));
		to = stpcpy(to, END_OF_LINE);
		text = line_end + 1;
	}
	to = stpcpy(to, END_OF_ALL);
	*ret_length = (size_t)(to - drawing);
	return drawing;
}

static int outlet_draw(struct sonde_screen *screen, const char *text,
		       size_t length, bool *ret_drawn)
{
	int err = sonde_outlet_flush(&screen->outlet);

	*ret_drawn = !err && !screen->outlet.used &&
		     sonde_outlet_put(&screen->outlet, text, length);
	screen->left_out += !err && !*ret_drawn;
	return err ? err : sonde_outlet_flush(&screen->outlet);
}

int sonde_screen_draw(struct sonde_screen *screen, const char *text,
		      size_t length, bool *ret_drawn)
{
	char *drawing;
	int err;

	if (!screen->is_terminal)
		return outlet_draw(screen, text, length, ret_drawn);
	drawing = make_drawing(screen, text, length, &length);
	if (!drawing)
		return -ENOMEM;
	err = outlet_draw(screen, drawing, length, ret_drawn);
	free(drawing);
	return err;
}

int sonde_screen_drain(struct sonde_screen *screen)
{
	int err = sonde_outlet_flush(&screen->outlet);

	while (!err && screen->outlet.used)
		err = sonde_outlet_wait(&screen->outlet, -1);
	return err;
}
