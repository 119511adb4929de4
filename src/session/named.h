/* SPDX-License-Identifier: MIT */
/*
 * named.h - sessions that are found by a name.
 *
 * A session NAME has two files in the directory that is its user's alone
 * (sys/rundir.h):
 *
 *	session-NAME		the socket of its recorder, while that lives
 *	session-NAME.json	what it is, as docs/protocol.md has it
 *
 * Who has the socket has the session: it can be made once, and a recorder that
 * was killed leaves one that nobody answers. The file is written by whoever has
 * the socket, and replaced as a whole.
 *
 * No call waits. One thread.
 */
#ifndef SESSION_NAMED_H
#define SESSION_NAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "session/document.h"
#include "sys/rundir.h"

#define SONDE_NAMED_CHARS 24u /* of a name, at most */

/* Whether a session may be called so: letters, digits, '.', '_' and '-', of
 * which the last three don't begin it. */
bool sonde_session_is_name(const char *name);

/* The socket, for one who becomes the session's recorder. 0; -EADDRINUSE: it has
 * one; or -errno. */
int sonde_session_listen(const struct sonde_rundir *dir, const char *name,
			 int *ret_fd);

/* A connection to its recorder. 0; -ENOENT, -ECONNREFUSED: it has none. */
int sonde_session_connect(const struct sonde_rundir *dir, const char *name,
			  int *ret_fd);

/* What its file says, to be freed. 0; -ENOENT: there is no such session. */
int sonde_session_read_file(const struct sonde_rundir *dir, const char *name,
			    char **ret_text);

/* The same, as a document; for sonde_session_document_free(). */
int sonde_session_read_document(const struct sonde_rundir *dir,
				const char *name,
				struct sonde_session_document **ret_document);

/* Whether a session's document says that it is "recording", "stopped", "died". */
bool sonde_session_is(const struct sonde_session_document *document,
		      const char *state);

int sonde_session_write_file(const struct sonde_rundir *dir, const char *name,
			     const char *text);

/* The socket is the caller's. */
void sonde_session_remove_socket(const struct sonde_rundir *dir,
				 const char *name);
/* The session is forgotten. */
void sonde_session_remove_file(const struct sonde_rundir *dir,
			       const char *name);

/* Calls `each` with the name of each session that has a file. 0 or -errno. */
int sonde_session_each_name(const struct sonde_rundir *dir,
			    void (*each)(void *ctx, const char *name),
			    void *ctx);

#endif /* SESSION_NAMED_H */
