/* SPDX-License-Identifier: MIT */
/*
 * start_hooks.c - the holder of a session's hooks (start_hooks.h).
 *
 * States: it starts the recorder and puts hooks in, while who started it waits;
 * it says how that went, and leaves the terminal; it holds. One thread.
 */
#include "session/start_hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/number.h"
#include "session/holder.h"
#include "sys/dir.h"

/* What the holder says to who made it. */
struct started {
	int rc;
	struct sonde_recorder_start_result result;
};

/* Between sonde_session_start_hooks() and hold_hooks(); one session per holder. */
static struct sonde_frontend_hooking *hooking;
static int control_fd = -1;
static int starter_fd = -1; /* a pipe to who started us */

/* Who has not heard of a session has none. */
static void void_session(void)
{
	static const char nothing = 0;

	(void)send(control_fd, &nothing, sizeof(nothing), MSG_NOSIGNAL);
}

static bool has_starter_gone(void *ctx)
{
	struct pollfd starter = { .fd = starter_fd };

	(void)ctx;
	return poll(&starter, 1, 0) > 0 && starter.revents & POLLERR;
}

int sonde_session_start_hooks(const struct sonde_recorder_start_config *config,
			      struct sonde_child *child,
			      struct sonde_recorder_start_result *ret_result)
{
	const struct sonde_frontend_hooks_start start = {
		.hooks = config->hooks,
		.options = &config->session->attach,
		.child = child,
		.is_over = has_starter_gone,
	};
	char text[sizeof(ret_result->text)] = "";
	unsigned int nr = 0;
	int rc = sonde_frontend_hooks_start(&start, text, sizeof(text),
					    &hooking, &nr);

	if (rc || *text)
		memcpy(ret_result->text, text, sizeof(text));
	control_fd = child->control_fd;
	if (rc)
		void_session();
	ret_result->nr_attached += nr;
	return rc;
}

static void change_functions(const char *functions)
{
	struct sonde_holder_said said = { .rc = 0 };

	said.rc = sonde_frontend_hooks_change(hooking, functions, said.text,
					      sizeof(said.text));
	(void)send(control_fd, &said, sizeof(said), MSG_NOSIGNAL);
}

/* What the recorder asks for, which is read in any case: what is left unread would
 * make it lose our answer. False: for the end, or it has gone. */
static bool heed_recorder(void)
{
	char asked[1 + SONDE_RULES_MAX + 1];
	ssize_t n = recv(control_fd, asked, sizeof(asked) - 1, MSG_DONTWAIT);

	if (n < 1 || asked[0] != SONDE_HOLDER_CHANGE)
		return false;
	asked[n] = '\0';
	change_functions(asked + 1);
	return true;
}

/* Until the recorder asks for it, or has gone. */
static void hold_hooks(void)
{
	struct pollfd pollfd = { .fd = control_fd, .events = POLLIN };
	static struct sonde_summary notes;

	do
		while (poll(&pollfd, 1, SONDE_FRONTEND_HOOKS_MS) == 0 ||
		       !pollfd.revents)
			sonde_frontend_hooks_look(hooking);
	while (heed_recorder());
	sonde_frontend_hooks_end(hooking);
	sonde_frontend_hooks_tell(hooking, &notes);
	(void)send(control_fd, &notes, sizeof(notes), MSG_NOSIGNAL);
	sonde_frontend_hooks_free(hooking);
}

/* Nothing of who started us is held by a session that goes on. Best effort. */
static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (chdir("/") == 0 && null > STDERR_FILENO)
		(void)close(null); /* it has its copies */
}

/* What who started us had from others, a lock of a script's say; Sonde's own are
 * for one program. Best effort. */
static void close_inherited(void)
{
	DIR *list = sonde_dir_open_at(AT_FDCWD, "/proc/self/fd");
	const char *name;
	uint64_t fd;

	while (list && (name = sonde_dir_next(list)))
		if (sonde_number_parse(name, INT_MAX, &fd) &&
		    fd > STDERR_FILENO && fcntl((int)fd, F_GETFD) == 0)
			(void)close((int)fd);
	if (list)
		(void)closedir(list); /* it was only read */
}

/* fds[]: a pipe to who started us. */
_Noreturn static void
be_holder(const struct sonde_recorder_start_config *config,
	  sonde_session_recorder_start *start, const int fds[2])
{
	struct started started = { 0 };
	const int to = fds[1];

	/* While we could read it ourselves, a write to one who has gone would
	 * succeed. */
	(void)close(fds[0]);
	starter_fd = to;
	close_inherited();
	(void)setsid();                          /* no terminal's signals */
	(void)prctl(PR_SET_NAME, "sonde-hooks"); /* for ps */
	(void)signal(SIGPIPE, SIG_IGN);
	started.rc = start(config, &started.result);
	if (write(to, &started, sizeof(started)) != sizeof(started) &&
	    !started.rc) {
		sonde_frontend_hooks_end(hooking);
		void_session();
		started.rc = -EPIPE;
	}
	if (started.rc)
		_exit(1);
	(void)close(to); /* all was written */
	leave_terminal();
	hold_hooks();
	_exit(0);
}

int sonde_session_start_holder(const struct sonde_recorder_start_config *config,
			       sonde_session_recorder_start *start,
			       struct sonde_recorder_start_result *ret_result)
{
	struct started started = { .rc = -ECHILD };
	int fds[2];
	pid_t holder;
	ssize_t n = 0;

	*ret_result = (struct sonde_recorder_start_result){
		.text = "the holder of the hooks was killed before anything was "
			"recorded",
	};
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	holder = fork();
	if (holder == 0)
		be_holder(config, start, fds);
	(void)close(fds[1]); /* the holder has it */
	if (holder > 0)
		do
			n = read(fds[0], &started, sizeof(started));
		while (n < 0 && errno == EINTR);
	(void)close(fds[0]); /* it was only read */
	if (n != (ssize_t)sizeof(started))
		return -ECHILD;
	*ret_result = started.result;
	return started.rc;
}
