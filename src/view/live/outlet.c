/* SPDX-License-Identifier: MIT */
/*
 * outlet.c - text for a reader who may be slow (outlet.h).
 */
#include "view/live/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fd.h"

int sonde_outlet_init(struct sonde_outlet *outlet, int fd, size_t room)
{
	struct stat st;
	int own = -1;

	*outlet = (struct sonde_outlet){ .fd = fd, .room = room };
	outlet->text = malloc(room);
	if (!outlet->text)
		return -ENOMEM;
	if (fstat(fd, &st) || S_ISREG(st.st_mode))
		return 0; /* a file takes everything at once */
	if (S_ISFIFO(st.st_mode) || isatty(fd))
		/* the same, with a description of our own */
		own = sonde_fd_reopen(fd, O_WRONLY | O_NONBLOCK | O_NOCTTY);
	outlet->is_own = own >= 0;
	outlet->is_polled = own < 0;
	if (own >= 0)
		outlet->fd = own;
	return 0;
}

void sonde_outlet_fini(struct sonde_outlet *outlet)
{
	if (outlet->is_own)
		(void)close(outlet->fd); /* it was for writing to others */
	free(outlet->text);
	*outlet = (struct sonde_outlet){ .fd = -1 };
}

/* Writes some of it: how much, 0 if nothing is taken now, or -errno. */
static ssize_t outlet_write(const struct sonde_outlet *outlet, const char *text,
			    size_t length)
{
	struct pollfd pollfd = { .fd = outlet->fd, .events = POLLOUT };
	ssize_t n;

	if (outlet->is_polled) {
		if (poll(&pollfd, 1, 0) <= 0)
			return 0;
		if (length > PIPE_BUF)
			length = PIPE_BUF;
	}
	n = write(outlet->fd, text, length);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

int sonde_outlet_flush(struct sonde_outlet *outlet)
{
	while (outlet->used) {
		ssize_t n = outlet_write(outlet, outlet->text + outlet->from,
					 outlet->used);

		if (n <= 0)
			return (int)n;
		outlet->from += (size_t)n;
		outlet->used -= (size_t)n;
	}
	outlet->from = 0;
	return 0;
}

bool sonde_outlet_put(struct sonde_outlet *outlet, const char *text,
		      size_t length)
{
	if (outlet->room - outlet->used < length)
		(void)sonde_outlet_flush(outlet); /* the next one says it */
	if (outlet->room - outlet->used < length)
		return false;
	if (outlet->room - outlet->from - outlet->used < length) {
		memmove(outlet->text, outlet->text + outlet->from,
			outlet->used);
		outlet->from = 0;
	}
	memcpy(outlet->text + outlet->from + outlet->used, text, length);
	outlet->used += length;
	return true;
}

int sonde_outlet_wait(struct sonde_outlet *outlet, int timeout_ms)
{
	struct pollfd pollfd = { .fd = outlet->fd, .events = POLLOUT };
	int nr = poll(&pollfd, 1, timeout_ms);

	if (nr < 0)
		return -errno;
	return nr ? sonde_outlet_flush(outlet) : -ETIMEDOUT;
}
