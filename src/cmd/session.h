/* SPDX-License-Identifier: MIT */
/*
 * session.h - what the commands about sessions by name share: the directory of
 * their files, what is known of one, and words for what went wrong.
 */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "session/named.h"
#include "session/protocol.h"

/* The one word of the command line, checked, and the directory. 0, or an exit
 * status: said why. */
int sonde_command_session(const struct sonde_command *command, int argc,
			  char **argv, struct sonde_rundir *ret_home,
			  const char **ret_name);

/* The directory; 0, or an exit status: said why. */
int sonde_command_home(struct sonde_rundir *ret_home);

/*
 * What is known of a session: by its recorder, or by its file if that has none;
 * "state" is "recording", "stopped" or, if the recorder was killed and no other
 * can take its place, "died", with "reason". 0; -ENOENT: there is no such
 * session; or -errno.
 */
int sonde_command_look(const struct sonde_rundir *home, const char *name,
		       struct sonde_session_document **ret_document);

/* Asks the recorder; one that was killed gets another, if that can be. 0 and an
 * answer that is no error; or an exit status: said why. */
int sonde_command_ask(const struct sonde_rundir *home, const char *name,
		      const struct sonde_session_ask *ask,
		      struct sonde_session_document **ret_answer);

/* 0 if it has a recorder, maybe another one by now; else an exit status: said why it
 * has none. */
int sonde_command_at_rest(const struct sonde_rundir *home, const char *name);

/* One line, with the name that was meant if there is none of this one. Returns
 * an exit status. */
int sonde_command_complain(const struct sonde_rundir *home, const char *name,
			   int error);

#endif /* CMD_SESSION_H */
