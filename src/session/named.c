/* SPDX-License-Identifier: MIT */
/*
 * named.c - sessions that are found by a name: their socket and their file
 * (named.h).
 *
 * A name is checked before it is part of a path. Who has the socket has the
 * session; the file is replaced as a whole, and read up to a bound. No call
 * waits.
 */
#include "session/named.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/dir.h"
#include "sys/textfile.h"
#include "sys/write.h"

#define PREFIX     "session-"
#define SUFFIX     ".json"
#define BACKLOG    16
#define FILE_BYTES (256u << 10)

#define PLAIN      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

bool sonde_session_is_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= SONDE_NAMED_CHARS && strchr(PLAIN, *name) &&
	       strspn(name, PLAIN "._-") == length;
}

static void put_name(char out[SONDE_SOCKET_NAME_MAX], const char *before,
		     const char *name, const char *after)
{
	(void)snprintf(out, SONDE_SOCKET_NAME_MAX, "%s" PREFIX "%s%s", before,
		       name, after);
}

int sonde_session_listen(const struct sonde_rundir *dir, const char *name,
			 int *ret_fd)
{
	char socket[SONDE_SOCKET_NAME_MAX];
	const struct sonde_rundir_socket what = {
		.name = socket,
		.type = SOCK_STREAM | SOCK_NONBLOCK,
		.mode = 0600,
		.backlog = BACKLOG,
	};

	put_name(socket, "", name, "");
	return sonde_rundir_listen(dir, &what, ret_fd);
}

int sonde_session_connect(const struct sonde_rundir *dir, const char *name,
			  int *ret_fd)
{
	char socket[SONDE_SOCKET_NAME_MAX];

	put_name(socket, "", name, "");
	return sonde_rundir_connect(dir, socket, SOCK_STREAM, ret_fd);
}

int sonde_session_read_file(const struct sonde_rundir *dir, const char *name,
			    char **ret_text)
{
	char file[SONDE_SOCKET_NAME_MAX];
	char *text = malloc(FILE_BYTES);
	int rc;

	if (!text)
		return -ENOMEM;
	put_name(file, "", name, SUFFIX);
	rc = sonde_textfile_read_at(dir->fd, file, text, FILE_BYTES);
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret_text = text;
	return 0;
}

int sonde_session_read_document(const struct sonde_rundir *dir,
				const char *name,
				struct sonde_session_document **ret_document)
{
	char *text;
	int rc = sonde_session_read_file(dir, name, &text);

	if (rc)
		return rc;
	rc = sonde_session_document_read(text, strlen(text), ret_document);
	free(text);
	return rc;
}

bool sonde_session_is(const struct sonde_session_document *document,
		      const char *state)
{
	const char *is = sonde_session_document_text(document, "state");

	return is && !strcmp(is, state);
}

int sonde_session_write_file(const struct sonde_rundir *dir, const char *name,
			     const char *text)
{
	char file[SONDE_SOCKET_NAME_MAX];
	char draft[SONDE_SOCKET_NAME_MAX];

	put_name(file, "", name, SUFFIX);
	put_name(draft, ".", name, SUFFIX);
	return sonde_write_replace(dir->fd, draft, file, text, strlen(text));
}

void sonde_session_remove_socket(const struct sonde_rundir *dir,
				 const char *name)
{
	char socket[SONDE_SOCKET_NAME_MAX];

	put_name(socket, "", name, "");
	sonde_rundir_remove(dir, socket);
}

void sonde_session_remove_file(const struct sonde_rundir *dir, const char *name)
{
	char file[SONDE_SOCKET_NAME_MAX];

	put_name(file, "", name, SUFFIX);
	(void)unlinkat(dir->fd, file, 0); /* it may be gone */
}

/* The session whose file it is, if it is one's. */
static bool name_of(const char *file, char name[SONDE_NAMED_CHARS + 1])
{
	size_t length = strlen(file);
	size_t rest = strlen(PREFIX) + strlen(SUFFIX);

	if (length <= rest || length > rest + SONDE_NAMED_CHARS ||
	    memcmp(file, PREFIX, strlen(PREFIX)) != 0 ||
	    strcmp(file + length - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	memcpy(name, file + strlen(PREFIX), length - rest);
	name[length - rest] = '\0';
	return sonde_session_is_name(name);
}

int sonde_session_each_name(const struct sonde_rundir *dir,
			    void (*each)(void *ctx, const char *name),
			    void *ctx)
{
	DIR *list = sonde_dir_open_at(dir->fd, ".");
	char name[SONDE_NAMED_CHARS + 1];
	const char *file;

	if (!list)
		return -errno;
	while ((file = sonde_dir_next(list)))
		if (name_of(file, name))
			each(ctx, name);
	(void)closedir(list); /* it was only read */
	return 0;
}
