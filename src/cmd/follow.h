/* SPDX-License-Identifier: MIT */
/*
 * follow.h - a recording that is looked at while it goes on, as `sonde live` and
 * `sonde top` do: of a session that is there, or of one that is made for that.
 *
 *	begin	a trace is followed (reader/follow.h)
 *	skip	of a session: what is in it already was before
 *	look	every SONDE_FOLLOW_LOOK_MS
 *	end	the trace is whole; it isn't there any more behind this
 *	finish	the last one, whatever went wrong
 *
 * The order is that; where there is nothing to end, finish follows begin.
 */
#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "session/options.h"

#define SONDE_FOLLOW_LOOK_MS 10

struct sonde_follow;

struct sonde_command_follower {
	const struct sonde_command *command;
	/* The follow is borrowed. No event that happened more than `hold_ns`
	 * ago comes any more. 0, or an exit status: said why. */
	int (*begin)(void *ctx, struct sonde_follow *follow, uint64_t hold_ns);
	/* 0; -ECANCELED or -EPIPE: it is enough; or -errno. `read_ns`: all that
	 * happened up to then, by CLOCK_MONOTONIC, is in the trace; 0: that
	 * isn't known. */
	int (*skip)(void *ctx);
	int (*look)(void *ctx, uint64_t read_ns);
	int (*end)(void *ctx);
	/* What ended it, or 0. An exit status. */
	int (*finish)(void *ctx, int error);
	void *ctx;
};

/* By the words of the command line: of a session, or of what they say is to be
 * recorded. `options` is for the follower, too. An exit status. */
int sonde_command_follow(const struct sonde_command_follower *follower,
			 int argc, char **argv,
			 struct sonde_record_options *options);

/* Nothing went wrong: the user, or who read, wants no more. */
bool sonde_command_is_enough(int error);

/* What became of the last writing, 0 or -errno; an exit status. */
int sonde_command_explain_writing(const struct sonde_command *command,
				  int error);

/* ---- follow_session.c ---- */

/* Of a session by name, until it ends or Ctrl-C. An exit status. */
int sonde_command_follow_session(const struct sonde_command_follower *follower,
				 char *name);

struct sonde_rundir;
/* The directory of a session's trace, to be freed; or NULL and an exit status: said
 * why. */
char *sonde_command_session_trace(const struct sonde_rundir *home,
				  const char *name, int *ret_status);
/* Has its recorder read what there is. By when all that had happened is in its trace,
 * by our clock; 0: nobody says. False: the session has ended. */
bool sonde_command_session_read(const struct sonde_rundir *home,
				const char *name, uint64_t *ret_read_ns);

#endif /* CMD_FOLLOW_H */
