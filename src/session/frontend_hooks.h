/* SPDX-License-Identifier: MIT */
/*
 * frontend_hooks.h - --malloc and --locks of processes that run: who is meant gets
 * hooks, and those that start later, too.
 *
 * Putting them in is another folder's (probe/hooks/hooks.h), which builds upon
 * this one: so it comes as a table of functions.
 */
#ifndef SESSION_FRONTEND_HOOKS_H
#define SESSION_FRONTEND_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session/child.h"
#include "session/config.h"
#include "session/summary.h"

struct sonde_frontend_hooks {
	void *ctx;
	int (*begin)(void *ctx, const struct sonde_child *child);
	/* 0, or -errno with one line in `text`. */
	int (*attach)(void *ctx, pid_t pid, char *text, size_t size);
	/* The same of a program that we start, and which is stopped behind its
	 * exec, traced by this thread: it runs when this returns. -ECHILD: it
	 * has ended. */
	int (*start)(void *ctx, pid_t pid, char *text, size_t size);
	/* Other functions from now on, in the form of rules: '+' or '-' and a
	 * GLOB each. 0 and lines on what is recorded, or -errno with one. */
	int (*change)(void *ctx, const char *functions, char *text,
		      size_t size);
	/* Some times a second: who has ended is given up. */
	void (*look)(void *ctx);
	/* May be repeated. */
	void (*end)(void *ctx);
	void (*tell)(void *ctx, struct sonde_summary *summary);
};

#define SONDE_FRONTEND_HOOKS_MS 250

struct sonde_frontend_hooking;

/* What the first look is for. The pointers in are borrowed. */
struct sonde_frontend_hooks_start {
	const struct sonde_frontend_hooks *hooks;
	const struct sonde_attach_options *options;
	const struct sonde_child *child;
	/* Asked before each process: whether it is enough, as the user has said so
	 * or has gone. That may take a while for each. */
	bool (*is_over)(void *ctx);
	void *ctx;
};

/* The first look. 0 and how many have hooks now; text: something to tell, or
 * empty. Or -errno with what failed in `text`. The pointers in are borrowed. */
int sonde_frontend_hooks_start(const struct sonde_frontend_hooks_start *start,
			       char *text, size_t size,
			       struct sonde_frontend_hooking **ret,
			       unsigned int *ret_nr);
/* Of the program alone, see start(). 0, -ECHILD, or -errno with what failed. */
int sonde_frontend_hooks_program(const struct sonde_frontend_hooks *hooks,
				 const struct sonde_child *child, pid_t pid,
				 char *text, size_t size,
				 struct sonde_frontend_hooking **ret);
/* Other functions in those that have hooks, and in those that come; see change(). */
int sonde_frontend_hooks_change(struct sonde_frontend_hooking *hooking,
				const char *functions, char *text, size_t size);
/* To be called every SONDE_FRONTEND_HOOKS_MS. */
void sonde_frontend_hooks_look(struct sonde_frontend_hooking *hooking);
/* Takes them out, if that isn't done yet; before the recorder finishes. */
void sonde_frontend_hooks_end(struct sonde_frontend_hooking *hooking);
void sonde_frontend_hooks_tell(const struct sonde_frontend_hooking *hooking,
			       struct sonde_summary *summary);
void sonde_frontend_hooks_free(struct sonde_frontend_hooking *hooking);

#endif /* SESSION_FRONTEND_HOOKS_H */
