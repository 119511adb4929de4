/* SPDX-License-Identifier: MIT */
/* child.c - see child.h. */
#include "probe/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define NS_PER_MS  1000000L
#define PIECE      4096u

static _Noreturn void run_child(int fd, sonde_probe_child_answer *answer,
				void *ctx)
{
	FILE *to = fdopen(fd, "w");

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 0); /* if it falls: no core file */
	if (to) {
		answer(ctx, to);
		(void)fflush(to);
	}
	_exit(0);
}

static int64_t now_ms(void)
{
	return (int64_t)(sonde_monotonic_ns() / NS_PER_MS);
}

static char *read_answer(int fd, int64_t time_max_ms)
{
	int64_t until = now_ms() + time_max_ms;
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char *bytes = calloc(1, ANSWER_MAX + 1);
	size_t nr = 0;

	while (bytes && nr < ANSWER_MAX) {
		int64_t left = until - now_ms();
		size_t piece =
			ANSWER_MAX - nr < PIECE ? ANSWER_MAX - nr : PIECE;
		ssize_t got;
		int rc = left > 0 ? poll(&pollfd, 1, (int)left) : 0;

		if (rc < 0 && errno == EINTR)
			continue;
		got = rc > 0 ? read(fd, bytes + nr, piece) : 0;
		if (got <= 0)
			break;
		nr += (size_t)got;
	}
	return bytes;
}

char *sonde_probe_child_ask(sonde_probe_child_answer *answer, void *ctx,
			    int64_t time_max_ms)
{
	char *bytes = NULL;
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC))
		return NULL;
	child = fork();
	if (child == 0)
		run_child(fds[1], answer, ctx);
	(void)close(fds[1]);
	if (child > 0) {
		bytes = read_answer(fds[0], time_max_ms);
		(void)kill(child, SIGKILL); /* it is done, or too slow */
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	(void)close(fds[0]);
	return bytes;
}
