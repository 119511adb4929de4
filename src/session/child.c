/* SPDX-License-Identifier: MIT */
/*
 * child.c - the recording child: how it is started, spoken with and ended
 * (child.h).
 *
 * Of our descriptors it keeps stderr and its own. One message from it says that
 * it is ready, or why not.
 */
#include "session/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session/find.h"
#include "session/recorder.h"

static int take_number(struct sonde_child *child)
{
	return getrandom(&child->session, sizeof(child->session), 0) ==
			       (ssize_t)sizeof(child->session) ?
		       0 :
		       -errno;
}

/* All but the three standard ones, and those that are kept. Best effort. */
static void close_others(const int *kept, size_t nr)
{
	unsigned int from = STDERR_FILENO + 1;

	for (;;) {
		unsigned int next = UINT_MAX;

		for (size_t i = 0; i < nr; i++)
			if ((unsigned int)kept[i] >= from &&
			    (unsigned int)kept[i] < next)
				next = (unsigned int)kept[i];
		if (next > from)
			(void)syscall(SYS_close_range, from,
				      next == UINT_MAX ? next : next - 1, 0);
		if (next == UINT_MAX)
			return;
		from = next + 1;
	}
}

/* The recording child's whole life. */
__attribute__((noreturn)) static void
be_recorder(const struct sonde_recorder_config *config)
{
	const struct sonde_recorder_named *named = config->named;
	const int kept[] = { config->control_fd,
			     config->dir,
			     config->listen_fd >= 0 ? config->listen_fd :
						      config->dir,
			     named ? named->listen_fd : config->dir,
			     named ? named->home->fd : config->dir,
			     named ? named->place->parent : config->dir };
	int null;

	/* One of them is the other end of our control socket: its end tells us
	 * of the front end's. */
	close_others(kept, SONDE_ARRAY_SIZE(kept));
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Whoever reads what the program prints must not wait for us. */
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	/* No terminal, directory or reader of our words is held by a session
	 * that goes on. Best effort. */
	if (named && setsid() > 0 && !chdir("/") && null >= 0)
		(void)dup2(null, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, SONDE_RECORDER_COMM); /* for ps */
	_exit(sonde_recorder_run(config) ? 1 : 0);
}

static int start(struct sonde_child *child,
		 struct sonde_recorder_config *config, const char **ret_what)
{
	int pair[2];
	long pid;
	int rc = 0;

	*ret_what = "socketpair";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	config->control_fd = pair[1];
	config->frontend = getpid();
	*ret_what = "starting the recorder";
	/* A fork, but for the signal at its end. */
	pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		be_recorder(config);
	if (pid < 0)
		rc = -errno;
	(void)close(pair[1]); /* the child has it */
	if (rc) {
		(void)close(pair[0]); /* nothing was sent */
		return rc;
	}
	child->control_fd = pair[0];
	child->pid = (pid_t)pid;
	return 0;
}

int sonde_child_start(const struct sonde_session_config *session,
		      const char *directory, int dir,
		      struct sonde_child *ret_child, const char **ret_what)
{
	struct sonde_child child = { .control_fd = -1 };
	struct sonde_recorder_config config = {
		.session = session,
		.directory = directory,
		.dir = dir,
	};
	int rc;

	*ret_what = "listening on a socket";
	rc = take_number(&child);
	if (!rc)
		rc = sonde_handshake_listen(child.name, &config.listen_fd);
	if (rc)
		return rc;
	config.number = child.session;
	config.path = child.name;
	rc = start(&child, &config, ret_what);
	(void)close(config.listen_fd); /* the child has it */
	if (rc)
		(void)unlink(child.name); /* nobody listens */
	else
		*ret_child = child;
	return rc;
}

int sonde_child_start_named(const struct sonde_session_config *session,
			    const char *directory,
			    const struct sonde_recorder_named *named,
			    struct sonde_child *ret_child,
			    const char **ret_what)
{
	struct sonde_child child = { .control_fd = -1 };
	struct sonde_recorder_config config = {
		.session = session,
		.named = named,
		.directory = directory,
		.dir = named->place->dir,
		.listen_fd = -1,
	};
	int rc = named->inherited ? 0 : take_number(&child);

	*ret_what = "a random number";
	if (rc)
		return rc;
	if (named->inherited)
		child.session = named->inherited;
	config.number = child.session;
	/* Who puts hooks in brings the arena that they write to. */
	*ret_what = "listening on a socket";
	if (session->has_hooks)
		rc = sonde_handshake_listen(child.name, &config.listen_fd);
	if (rc)
		return rc;
	config.path = child.name;
	rc = start(&child, &config, ret_what);
	if (config.listen_fd >= 0)
		(void)close(config.listen_fd); /* the child has it */
	if (!rc)
		*ret_child = child;
	else if (*child.name)
		(void)unlink(child.name); /* nobody listens */
	return rc;
}

ssize_t sonde_child_receive(const struct sonde_child *child, void *message,
			    size_t size)
{
	ssize_t n;

	do
		n = recv(child->control_fd, message, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

bool sonde_child_explain(const struct sonde_recorder_ready *ready, char *text,
			 size_t size)
{
	if (*ready->kernel_text) {
		(void)snprintf(text, size, "%.*s",
			       (int)sizeof(ready->kernel_text) - 1,
			       ready->kernel_text);
		return ready->error == -EINVAL || ready->error == -ENODATA;
	}
	(void)snprintf(text, size, "%.*s%s%s", (int)sizeof(ready->text) - 1,
		       ready->text, ready->is_whole ? "" : ": ",
		       ready->is_whole ? "" : strerrordesc_np(-ready->error));
	return false;
}

int sonde_child_end(struct sonde_child *child)
{
	int status = 0;

	if (child->control_fd >= 0)
		(void)close(child->control_fd); /* that is the message */
	child->control_fd = -1;
	if (child->pid)
		(void)waitpid(child->pid, &status, __WALL);
	/* Unless it was killed, it has done that. */
	if (*child->name)
		(void)unlink(child->name);
	child->pid = 0;
	return status;
}
