/* SPDX-License-Identifier: MIT */
/*
 * frontend_hooks.c - who gets hooks, and when: those that are meant at the start,
 * and from time to time those that came later.
 *
 * Finding them is attach.c's. Why the first ones could not be had is kept, and
 * told in the end: a recording of some of those that were meant says so.
 */
#include "session/frontend_hooks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/attach.h"

#define REFUSED_MAX 6u /* a summary has notes of others, too */

struct refused {
	pid_t pid;
	char why[SONDE_ATTACH_TEXT];
};

struct sonde_frontend_hooking {
	const struct sonde_frontend_hooks *hooks; /* borrowed */
	struct sonde_attach *attach;              /* NULL: one program alone */
	/* Borrowed, while the first look goes on; or NULL. */
	const struct sonde_frontend_hooks_start *start;
	unsigned int nr_refused; /* in the list: the first ones */
	struct refused refused[REFUSED_MAX];
};

static struct refused *find_refused(struct sonde_frontend_hooking *hooking,
				    pid_t pid)
{
	for (unsigned int i = 0; i < hooking->nr_refused; i++)
		if (hooking->refused[i].pid == pid)
			return &hooking->refused[i];
	return NULL;
}

/* One that may be tried again has one place. */
static void keep_refused(struct sonde_frontend_hooking *hooking, pid_t pid,
			 const char *why)
{
	struct refused *refused = find_refused(hooking, pid);

	if (!refused && hooking->nr_refused < REFUSED_MAX)
		refused = &hooking->refused[hooking->nr_refused++];
	if (!refused)
		return;
	refused->pid = pid;
	(void)snprintf(refused->why, sizeof(refused->why), "%s", why);
}

static void unrefuse(struct sonde_frontend_hooking *hooking, pid_t pid)
{
	struct refused *refused = find_refused(hooking, pid);

	if (refused)
		*refused = hooking->refused[--hooking->nr_refused];
}

static int hook(void *ctx, const struct sonde_peer *who)
{
	struct sonde_frontend_hooking *hooking = ctx;
	char text[SONDE_ATTACH_TEXT];
	int rc = hooking->hooks->attach(hooking->hooks->ctx, who->pid, text,
					sizeof(text));

	if (rc)
		keep_refused(hooking, who->pid, text);
	else
		unrefuse(hooking, who->pid);
	return rc;
}

static const char *why_not(void *ctx, pid_t pid)
{
	const struct refused *refused = find_refused(ctx, pid);

	return refused ? refused->why : "a process can't be attached to";
}

static bool is_enough(void *ctx)
{
	const struct sonde_frontend_hooks_start *start =
		((struct sonde_frontend_hooking *)ctx)->start;

	return start && start->is_over(start->ctx);
}

/* Who isn't there when it is enough is nothing to tell. */
static int look_first(struct sonde_frontend_hooking *hooking,
		      const struct sonde_frontend_hooks_start *start,
		      char *text, size_t size, unsigned int *ret_nr)
{
	bool is_hopeless;

	hooking->start = start;
	*ret_nr = sonde_attach_look(hooking->attach);
	*text = '\0';
	is_hopeless = !is_enough(hooking) &&
		      sonde_attach_is_hopeless(hooking->attach, text, size);
	hooking->start = NULL;
	return is_hopeless ? -ESRCH : 0;
}

int sonde_frontend_hooks_start(const struct sonde_frontend_hooks_start *start,
			       char *text, size_t size,
			       struct sonde_frontend_hooking **ret,
			       unsigned int *ret_nr)
{
	struct sonde_frontend_hooking *hooking = calloc(1, sizeof(*hooking));
	const struct sonde_attach_config config = {
		.options = start->options,
		.frontend = start->child->pid,
		.hook = hook,
		.why_not = why_not,
		.is_over = is_enough,
		.ctx = hooking,
	};
	int rc = hooking ?
			 start->hooks->begin(start->hooks->ctx, start->child) :
			 -ENOMEM;

	(void)snprintf(text, size, "attaching: %s", strerrordesc_np(-rc));
	if (!rc) {
		hooking->hooks = start->hooks;
		rc = sonde_attach_new(&config, text, size, &hooking->attach);
	}
	if (!rc)
		rc = look_first(hooking, start, text, size, ret_nr);
	if (rc)
		sonde_frontend_hooks_free(hooking);
	else
		*ret = hooking;
	return rc;
}

int sonde_frontend_hooks_program(const struct sonde_frontend_hooks *hooks,
				 const struct sonde_child *child, pid_t pid,
				 char *text, size_t size,
				 struct sonde_frontend_hooking **ret)
{
	struct sonde_frontend_hooking *hooking = calloc(1, sizeof(*hooking));
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

int sonde_frontend_hooks_change(struct sonde_frontend_hooking *hooking,
				const char *functions, char *text, size_t size)
{
	return hooking->hooks->change(hooking->hooks->ctx, functions, text,
				      size);
}

void sonde_frontend_hooks_look(struct sonde_frontend_hooking *hooking)
{
	if (!hooking)
		return;
	hooking->hooks->look(hooking->hooks->ctx);
	if (hooking->attach && sonde_attach_waits(hooking->attach))
		(void)sonde_attach_look(hooking->attach);
}

void sonde_frontend_hooks_end(struct sonde_frontend_hooking *hooking)
{
	if (hooking)
		hooking->hooks->end(hooking->hooks->ctx);
}

void sonde_frontend_hooks_tell(const struct sonde_frontend_hooking *hooking,
			       struct sonde_summary *summary)
{
	if (!hooking)
		return;
	hooking->hooks->tell(hooking->hooks->ctx, summary);
	if (!hooking->attach)
		return;
	summary->nr_missed += sonde_attach_nr_refused(hooking->attach);
	for (unsigned int i = 0; i < hooking->nr_refused; i++)
		if (sonde_attach_was_refused(hooking->attach,
					     hooking->refused[i].pid))
			sonde_summary_note(summary, "%s",
					   hooking->refused[i].why);
}

void sonde_frontend_hooks_free(struct sonde_frontend_hooking *hooking)
{
	if (hooking && hooking->attach)
		sonde_attach_free(hooking->attach);
	free(hooking);
}
