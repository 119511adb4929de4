/* SPDX-License-Identifier: MIT */
/*
 * front_hooks.c - who gets hooks, and when: those that are meant at the start,
 * and from time to time those that came later.
 *
 * Finding them is attach.c's. Why the last one could not be had is kept until
 * that is asked for.
 */
#include "session/front_hooks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/attach.h"

struct sonde_front_hooking {
	const struct sonde_front_hooks *hooks; /* borrowed */
	struct sonde_attach *attach;
	pid_t failed; /* the last one, and why */
	char text[SONDE_ATTACH_TEXT];
};

static int hook(void *ctx, const struct sonde_peer *who)
{
	struct sonde_front_hooking *hooking = ctx;
	char text[SONDE_ATTACH_TEXT];
	int rc = hooking->hooks->attach(hooking->hooks->ctx, who->pid, text,
					sizeof(text));

	if (!rc)
		return 0;
	hooking->failed = who->pid;
	(void)snprintf(hooking->text, sizeof(hooking->text), "%s", text);
	return rc;
}

static const char *why_not(void *ctx, pid_t pid)
{
	const struct sonde_front_hooking *hooking = ctx;

	return hooking->failed == pid ? hooking->text :
					"a process can't be attached to";
}

/* NOLINTNEXTLINE(readability-function-size): parameters as the .h has them */
int sonde_front_hooks_start(const struct sonde_front_hooks *hooks,
			    const struct sonde_attach_options *options,
			    const struct sonde_child *child, char *text,
			    size_t size, struct sonde_front_hooking **ret,
			    unsigned int *ret_nr)
{
	struct sonde_front_hooking *hooking = calloc(1, sizeof(*hooking));
	const struct sonde_attach_config config = {
		.options = options,
		.front = child->pid,
		.hook = hook,
		.why_not = why_not,
		.ctx = hooking,
	};
	int rc = hooking ? hooks->begin(hooks->ctx, child) : -ENOMEM;

	(void)snprintf(text, size, "attaching: %s", strerrordesc_np(-rc));
	if (!rc) {
		hooking->hooks = hooks;
		rc = sonde_attach_new(&config, text, size, &hooking->attach);
	}
	if (!rc) {
		*ret_nr = sonde_attach_look(hooking->attach);
		if (sonde_attach_is_hopeless(hooking->attach, text, size))
			rc = -ESRCH;
	}
	if (rc)
		sonde_front_hooks_free(hooking);
	else
		*ret = hooking;
	return rc;
}

int sonde_front_hooks_program(const struct sonde_front_hooks *hooks,
			      const struct sonde_child *child, pid_t pid,
			      char *text, size_t size,
			      struct sonde_front_hooking **ret)
{
	struct sonde_front_hooking *hooking = calloc(1, sizeof(*hooking));
	int rc = hooking ? hooks->begin(hooks->ctx, child) : -ENOMEM;

	(void)snprintf(text, size, "attaching: %s", strerrordesc_np(-rc));
	if (rc) {
		free(hooking);
		return rc;
	}
	hooking->hooks = hooks;
	*ret = hooking;
	return hooks->start(hooks->ctx, pid, text, size);
}

int sonde_front_hooks_change(struct sonde_front_hooking *hooking,
			     const char *functions, char *text, size_t size)
{
	return hooking->hooks->change(hooking->hooks->ctx, functions, text,
				      size);
}

void sonde_front_hooks_look(struct sonde_front_hooking *hooking)
{
	if (!hooking)
		return;
	hooking->hooks->look(hooking->hooks->ctx);
	if (hooking->attach && sonde_attach_waits(hooking->attach))
		(void)sonde_attach_look(hooking->attach);
}

void sonde_front_hooks_end(struct sonde_front_hooking *hooking)
{
	if (hooking)
		hooking->hooks->end(hooking->hooks->ctx);
}

void sonde_front_hooks_tell(const struct sonde_front_hooking *hooking,
			    struct sonde_summary *summary)
{
	if (hooking)
		hooking->hooks->tell(hooking->hooks->ctx, summary);
}

void sonde_front_hooks_free(struct sonde_front_hooking *hooking)
{
	if (hooking && hooking->attach)
		sonde_attach_free(hooking->attach);
	free(hooking);
}
