/* SPDX-License-Identifier: MIT */
/*
 * attach.h - recording processes that run already: `sonde record -p`, -u,
 * --cgroup, --container.
 *
 * A look goes through /proc once. A process is meant if its number or name is
 * one of those of -p, its user one of -u's, and its control group is one of
 * --cgroup's and of --container's, or below it; what wasn't given excludes none. Whoever is meant is
 * held by a pidfd before anything else is read of its number, and its arena
 * (session/find.h) is given to the recorder. Children of fork share it.
 *
 * Processes that start later are found by the next look, or are expected, where the
 * kernel gives notice of them (sys/execs.h, for CAP_NET_ADMIN only): then they are
 * looked at every millisecond until they have an arena. A process that was refused is
 * not tried again; one without an arena is, as it may execute another program.
 *
 * One thread.
 */
#ifndef SESSION_ATTACH_H
#define SESSION_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/config.h"
#include "session/summary.h"
#include "sys/peer.h"

#define SONDE_ATTACH_TEXT 240

struct sonde_attach;

struct sonde_attach_config {
	const struct sonde_attach_options *options;
	pid_t frontend; /* it and we are never meant */
	/*
	 * Takes over the arena's descriptor, and of `who` what it wants. 0;
	 * -EALREADY: it has the arena; or -errno.
	 */
	int (*take)(void *ctx, int arena_fd, struct sonde_peer *who);
	const char *(*why)(
		int error); /* a constant text: why it wasn't taken */
	/*
	 * NULL, or, besides: it is sampled from now on, whether it has an arena or
	 * not (`is_taken`). 0, -ESRCH, or -errno with one line in `why`.
	 */
	int (*sample)(void *ctx, pid_t pid, bool is_taken, char *why,
		      size_t size);
	/*
	 * Or, in place of all that: makes events in the process (session/frontend.h).
	 * 0 or -errno, and then `why_not` gives one line, until the next call.
	 */
	int (*hook)(void *ctx, const struct sonde_peer *who);
	const char *(*why_not)(void *ctx, pid_t pid);
	/* NULL, or: whether a look is to end before the next process. */
	bool (*is_over)(void *ctx);
	void *ctx;
};

/* 0; -EINVAL, with one line in `error`: no such user. */
int sonde_attach_new(const struct sonde_attach_config *config, char *error,
		     size_t error_size, struct sonde_attach **ret_attach);

void sonde_attach_free(struct sonde_attach *attach);

/* The process has executed a program just now. If it is meant, it will be met. */
void sonde_attach_expect(struct sonde_attach *attach, pid_t pid);
/* Looks for those who are expected; whether any still is. */
bool sonde_attach_meet_expected(struct sonde_attach *attach);
#define SONDE_ATTACH_EXPECTED_NS 1000000ull /* from one look to the next */

/* One that says itself that it is to be recorded, and is held by `who`. 0; or
 * -errno, with one line in `why`. */
int sonde_attach_join(struct sonde_attach *attach, struct sonde_peer *who,
		      char *why, size_t size);

/* Returns how many came. */
uint32_t sonde_attach_look(struct sonde_attach *attach);

/* After the first look: whether nobody can come any more, and why nobody did;
 * or what is waited for, or who of those that were meant is not recorded. An empty
 * text: all is well. */
bool sonde_attach_is_hopeless(struct sonde_attach *attach, char *text,
			      size_t size);

/* Whether processes that start later may be meant: not if all was numbers. */
bool sonde_attach_waits(const struct sonde_attach *attach);

/* Whether a process that is sampled runs still; known only if nobody is waited for. */
bool sonde_attach_samples(const struct sonde_attach *attach);

/* How many were meant and can't be recorded, though they may be looked into. Whether
 * the process is one of them. */
uint32_t sonde_attach_nr_refused(const struct sonde_attach *attach);
bool sonde_attach_was_refused(const struct sonde_attach *attach, pid_t pid);

/* At the end: who was meant, and could not be recorded. */
void sonde_attach_tell(const struct sonde_attach *attach,
		       struct sonde_summary *summary);

/* Pure: what to say of a process that sonde_find_arena() has given this for.
 * `name` and `uid` are the process's. */
void sonde_attach_explain(int error, pid_t pid, const char *name, uid_t uid,
			  char *text, size_t size);

/* Pure: whether the name of a process (15 characters at most are known) is
 * `wanted`. */
bool sonde_attach_is_named(const char *name, const char *wanted);

#endif /* SESSION_ATTACH_H */
