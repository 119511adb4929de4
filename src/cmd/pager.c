/* SPDX-License-Identifier: MIT */
/*
 * pager.c - a pager between standard output and the terminal (pager.h).
 *
 * Between begin and end standard output is a pipe to the pager; end closes the
 * pipe and waits for the pager. A user who leaves the pager early ends the
 * output, which is not an error.
 */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t pid; /* 0: none */
	int terminal;
} pager;

/* What the user says; NULL: nothing. */
static const char *pager_wish(void)
{
	/* One thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	return getenv("PAGER");
}

static bool is_wanted(void)
{
	/* One thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	const char *terminal = getenv("TERM");
	const char *own = pager_wish();

	return isatty(STDOUT_FILENO) && terminal &&
	       strcmp(terminal, "dumb") != 0 &&
	       (!own || (*own && strcmp(own, "cat") != 0));
}

/* In the child. Who can't become a pager says why not. */
static _Noreturn void become_pager(int from, int failed)
{
	static const char *const less[] = { "less", NULL };
	const char *const shell[] = { "sh", "-c", pager_wish(), NULL };
	const char *const *words = pager_wish() ? shell : less;
	int error = 0;

	/* less's own variable: that of the user counts
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (dup2(from, STDIN_FILENO) < 0 || setenv("LESS", "FRX", 0))
		error = errno;
	(void)signal(SIGPIPE, SIG_DFL);
	if (!error)
		(void)execvp(words[0], (char *const *)(const void *)words);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126); /* then nobody is there to be told */
	_exit(127);
}

/* Its standard input; -1: it can't be had. */
static int start(pid_t *ret_pid)
{
	int text[2];
	int failed[2];
	int error = 0;

	if (pipe2(text, O_CLOEXEC))
		return -1;
	if (pipe2(failed, O_CLOEXEC)) {
		(void)close(text[0]);
		(void)close(text[1]);
		return -1;
	}
	*ret_pid = fork();
	if (*ret_pid == 0)
		become_pager(text[0], failed[1]);
	(void)close(text[0]);
	(void)close(failed[1]);
	/* it ends without a word when the program has been executed */
	if (*ret_pid > 0 && read(failed[0], &error, sizeof(error)) > 0)
		(void)waitpid(*ret_pid, NULL, 0);
	(void)close(failed[0]);
	if (*ret_pid > 0 && !error)
		return text[1];
	(void)close(text[1]);
	return -1;
}

void sonde_pager_begin(void)
{
	pid_t pid;
	int to;

	if (pager.pid || !is_wanted() || fflush(stdout))
		return;
	pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager.terminal < 0)
		return;
	to = start(&pid);
	if (to >= 0 && dup2(to, STDOUT_FILENO) >= 0)
		pager.pid = pid;
	if (to >= 0)
		(void)close(to);
	if (!pager.pid)
		(void)close(pager.terminal);
	else
		/* who leaves it has seen enough: writing fails then */
		(void)signal(SIGPIPE, SIG_IGN);
}

void sonde_pager_end(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;

	if (!pager.pid)
		return;
	(void)fflush(stdout); /* if it has gone, the user has seen enough */
	(void)dup2(pager.terminal, STDOUT_FILENO);
	(void)close(pager.terminal);
	/* Ctrl-C is the pager's now */
	(void)sigaction(SIGINT, &ignore, &before);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &before, NULL);
	pager.pid = 0;
}
