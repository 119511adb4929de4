/* SPDX-License-Identifier: MIT */
/*
 * protocol.c - requests to the recorder of a session, and their answers
 * (protocol.h).
 *
 * A request is bounded and checked as a whole before anything is done. Whoever
 * answers is believed only if it runs as our user, or as root.
 */
#include "session/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/port.h"
#include "base/utf8.h"
#include "session/named.h"
#include "sys/peer.h"
#include "sys/write.h"

static const char *const words[] = {
	[SONDE_ASK_STATUS] = "status",
	[SONDE_ASK_SNAPSHOT] = "snapshot",
	[SONDE_ASK_STOP] = "stop",
	[SONDE_ASK_DESTROY] = "destroy",
};

/* ---- requests ---- */

static int find_word(const char *word, enum sonde_session_ask_what *ret_what)
{
	for (size_t i = 0; word && i < SONDE_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i])) {
			*ret_what = (enum sonde_session_ask_what)i;
			return 0;
		}
	return -EINVAL;
}

/* JSON has no other texts: what is none would arrive as another path. */
static bool is_json_text(const char *text)
{
	return sonde_utf8_is_valid(text, strlen(text));
}

static int check(const struct sonde_session_document *document,
		 struct sonde_session_ask *ask, char *error, size_t error_size)
{
	const char *word = sonde_session_document_text(document, "do");
	const char *directory =
		sonde_session_document_text(document, "directory");

	if (sonde_session_document_number(document, "sonde") !=
	    SONDE_PROTOCOL_VERSION)
		(void)snprintf(error, error_size,
			       "\"sonde\" must be %d, the version",
			       SONDE_PROTOCOL_VERSION);
	else if (find_word(word, &ask->what))
		(void)snprintf(error, error_size,
			       "\"do\" must be one of the words of "
			       "docs/protocol.md");
	else if (ask->what == SONDE_ASK_SNAPSHOT &&
		 (!directory || *directory != '/' || !is_json_text(directory) ||
		  strlen(directory) >= sizeof(ask->directory)))
		(void)snprintf(error, error_size,
			       "\"directory\" must be a path from the root on, "
			       "in UTF-8");
	else
		return 0;
	return -EINVAL;
}

int sonde_session_ask_read(const char *line, size_t size,
			   struct sonde_session_ask *ret_ask, char *error,
			   size_t error_size)
{
	struct sonde_session_document *document;
	struct sonde_session_ask ask = { .what = SONDE_ASK_STATUS };
	const char *directory;
	int rc = sonde_session_document_read(line, size, &document);

	if (rc == -EINVAL)
		(void)snprintf(error, error_size, "that is no JSON object");
	if (rc)
		return rc;
	rc = check(document, &ask, error, error_size);
	directory = sonde_session_document_text(document, "directory");
	if (!rc && ask.what == SONDE_ASK_SNAPSHOT)
		(void)snprintf(ask.directory, sizeof(ask.directory), "%s",
			       directory);
	sonde_session_document_free(document);
	if (!rc)
		*ret_ask = ask;
	return rc;
}

char *sonde_session_ask_write(const struct sonde_session_ask *ask)
{
	char *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);
	struct sonde_json json;

	if (!to)
		return NULL;
	json = sonde_json_to_file(to);
	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "sonde", SONDE_PROTOCOL_VERSION);
	sonde_json_put_text(&json, "do", words[ask->what]);
	if (ask->what == SONDE_ASK_SNAPSHOT)
		sonde_json_put_text(&json, "directory", ask->directory);
	sonde_json_close(&json, '}');
	(void)fputc('\n', to);
	if (fclose(to)) {
		free(line);
		return NULL;
	}
	return line;
}

/* ---- the other end ---- */

/* A line, as much as `size`; its length, or -errno. */
static ssize_t receive_line(int fd, char *to, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = recv(fd, to + used, size - used, 0);
		const char *end;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EPIPE;
		end = memchr(to + used, '\n', (size_t)n);
		if (end)
			return end - to;
		used += (size_t)n;
	}
	return -EPROTO;
}

static int receive_answer(int fd, struct sonde_session_document **ret_answer)
{
	char *room = malloc(SONDE_DOCUMENT_MAX);
	ssize_t n;
	int rc;

	if (!room)
		return -ENOMEM;
	n = receive_line(fd, room, SONDE_DOCUMENT_MAX);
	rc = n < 0 ? (int)n :
		     sonde_session_document_read(room, (size_t)n, ret_answer);
	free(room);
	return rc == -EINVAL ? -EPROTO : rc == -ECONNRESET ? -EPIPE : rc;
}

static int check_peer(int fd)
{
	struct sonde_peer peer;
	int rc = sonde_peer_of(fd, &peer);

	if (rc)
		return rc;
	rc = sonde_peer_is_trusted(&peer) ? 0 : -EPERM;
	sonde_peer_release(&peer);
	return rc;
}

int sonde_session_ask_recorder(const struct sonde_rundir *dir, const char *name,
			       const struct sonde_session_ask *ask,
			       struct sonde_session_document **ret_answer)
{
	char *line;
	int fd = -1;
	int rc = is_json_text(ask->directory) ?
			 sonde_session_connect(dir, name, &fd) :
			 -EILSEQ;

	if (rc)
		return rc;
	line = sonde_session_ask_write(ask);
	rc = line ? check_peer(fd) : -ENOMEM;
	if (!rc)
		rc = sonde_write_socket(fd, line, strlen(line));
	if (!rc)
		rc = receive_answer(fd, ret_answer);
	free(line);
	(void)close(fd); /* nothing is buffered */
	return rc;
}
