/* SPDX-License-Identifier: MIT */
/*
 * start.c - starting a session by name (start.h).
 *
 * Each step is undone if a later one fails: the recorder that has been made is
 * let go, and the name with it. What failed is said in the result.
 */
#include "session/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/child.h"
#include "session/named.h"
#include "session/start_hooks.h"

static int fail(struct sonde_recorder_start_result *result, int error,
		const char *what)
{
	(void)snprintf(result->text, sizeof(result->text), "%s: %s", what,
		       strerrordesc_np(-error));
	return error;
}

static int receive_ready(const struct sonde_child *child,
			 struct sonde_recorder_ready *ret_ready,
			 struct sonde_recorder_start_result *result)
{
	if (sonde_child_receive(child, ret_ready, sizeof(*ret_ready)) ==
	    (ssize_t)sizeof(*ret_ready))
		return 0;
	return fail(result, -ECHILD,
		    "the recorder was killed before it recorded anything");
}

/* Its go; then the kernel's events begin. */
static int send_go(const struct sonde_child *child,
		   const struct sonde_recorder_ready *ready,
		   struct sonde_recorder_start_result *result)
{
	const struct sonde_recorder_go go = { .program = 0 };
	struct sonde_recorder_ready second = { 0 };
	int rc = 0;

	if (send(child->control_fd, &go, sizeof(go), MSG_NOSIGNAL) < 0)
		return fail(result, -ECHILD, "the recorder was killed");
	if (ready->has_kernel)
		rc = receive_ready(child, &second, result);
	if (!rc && second.error) {
		result->wrong_rules = sonde_child_explain(&second, result->text,
							  sizeof(result->text));
		return second.error;
	}
	result->has_kernel = ready->has_kernel;
	return rc;
}

static int await_recorder(const struct sonde_child *child,
			  struct sonde_recorder_start_result *result)
{
	struct sonde_recorder_ready ready;
	int rc = receive_ready(child, &ready, result);

	if (rc)
		return rc;
	if (ready.error) {
		result->wrong_rules = sonde_child_explain(&ready, result->text,
							  sizeof(result->text));
		return ready.error;
	}
	result->nr_attached = ready.nr_attached;
	(void)snprintf(result->text, sizeof(result->text), "%.*s",
		       (int)sizeof(ready.text) - 1, ready.text);
	return send_go(child, &ready, result);
}

static int start_session(const struct sonde_recorder_start_config *config,
			 struct sonde_recorder_start_result *ret_result)
{
	struct sonde_recorder_named named = config->named;
	struct sonde_child child;
	const char *what;
	int rc;

	*ret_result = (struct sonde_recorder_start_result){ .text = "" };
	rc = sonde_session_listen(named.home, named.name, &named.listen_fd);
	if (rc)
		return fail(ret_result, rc, "the session's socket");
	rc = sonde_child_start_named(config->session, config->directory, &named,
				     &child, &what);
	(void)close(named.listen_fd); /* the recorder has it */
	if (rc) {
		sonde_session_remove_socket(named.home, named.name);
		return fail(ret_result, rc, what);
	}
	rc = await_recorder(&child, ret_result);
	ret_result->pid = child.pid;
	if (!rc && config->hooks)
		rc = sonde_session_start_hooks(config, &child, ret_result);
	else if (!rc)
		(void)close(child.control_fd); /* it isn't missed */
	if (rc)
		(void)sonde_child_end(&child); /* it says why itself */
	return rc;
}

int sonde_recorder_start(const struct sonde_recorder_start_config *config,
			 struct sonde_recorder_start_result *ret_result)
{
	return config->hooks ? sonde_session_start_holder(config, start_session,
							  ret_result) :
			       start_session(config, ret_result);
}
