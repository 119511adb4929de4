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
#include "session/config.h"
#include "session/named.h"
#include "session/rules.h"
#include "sys/peer.h"
#include "sys/write.h"
#include "types/select.h"

static const char *const words[] = {
	[SONDE_ASK_STATUS] = "status", [SONDE_ASK_SNAPSHOT] = "snapshot",
	[SONDE_ASK_STOP] = "stop",     [SONDE_ASK_DESTROY] = "destroy",
	[SONDE_ASK_CHANGE] = "change", [SONDE_ASK_CLEAR] = "clear",
	[SONDE_ASK_WAIT] = "wait",     [SONDE_ASK_READ] = "read",
	[SONDE_ASK_ROTATE] = "rotate", [SONDE_ASK_JOIN] = "join",
	[SONDE_ASK_MARK] = "mark",
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

static int refuse_words(char *error, size_t error_size, const char *text)
{
	(void)snprintf(error, error_size, "%s", text);
	return -EINVAL;
}

static int read_directory(const struct sonde_session_document *document,
			  struct sonde_session_ask *ask, char *error,
			  size_t error_size)
{
	const char *directory =
		sonde_session_document_text(document, "directory");

	if (!directory || *directory != '/' || !is_json_text(directory) ||
	    strlen(directory) >= sizeof(ask->directory))
		return refuse_words(
			error, error_size,
			"\"directory\" must be a path from the root "
			"on, in UTF-8");
	(void)snprintf(ask->directory, sizeof(ask->directory), "%s", directory);
	return 0;
}

/* Each a sign and a pattern. */
static int take_rules(const struct sonde_session_document *document,
		      const char *name, char rules[SONDE_RULES_MAX],
		      size_t *size, char *error, size_t error_size)
{
	size_t nr = sonde_session_document_nr(document, name);
	int rc = 0;

	if (nr)
		*size = 1;
	for (size_t i = 0; !rc && i < nr; i++) {
		const char *rule =
			sonde_session_document_word(document, name, i);

		if (!rule || (*rule != '+' && *rule != '-') ||
		    !is_json_text(rule)) {
			(void)snprintf(error, error_size,
				       "each of \"%s\" must be '+' or '-' and "
				       "a pattern, in UTF-8",
				       name);
			return -EINVAL;
		}
		rc = sonde_session_rules_add(rules, size, *rule, rule + 1,
					     error, error_size);
	}
	return rc;
}

/* What isn't said stays; what is said wrongly isn't taken for not said. */
static int ask_check_types(const struct sonde_session_document *document,
			   char *error, size_t error_size)
{
	if (!sonde_session_document_may_list(document, "rules"))
		return refuse_words(error, error_size,
				    "\"rules\" must be a list");
	if (!sonde_session_document_may_list(document, "functions"))
		return refuse_words(error, error_size,
				    "\"functions\" must be a list");
	if (!sonde_session_document_may_count(document, "loglevel"))
		return refuse_words(error, error_size,
				    "\"loglevel\" must be a number: 0 to 14, "
				    "or 255 for all");
	if (!sonde_session_document_may_count(document, "memory_bytes"))
		return refuse_words(error, error_size,
				    "\"memory_bytes\" must be a number of "
				    "bytes");
	return 0;
}

static int check_wish(const struct sonde_session_wish *wish, char *error,
		      size_t error_size)
{
	bool has_more =
		wish->rules_size || wish->has_loglevel || wish->memory_bytes;

	if (!has_more && !wish->functions_size)
		return refuse_words(error, error_size,
				    "nothing to be changed: say \"rules\", "
				    "\"loglevel\", \"memory_bytes\" or "
				    "\"functions\"");
	/* One who holds hooks does it, and the other is done at once: it would
	 * not be all or nothing. */
	if (has_more && wish->functions_size)
		return refuse_words(error, error_size,
				    "\"functions\" are changed by themselves: "
				    "say the rest in another request");
	return 0;
}

static int read_wish(const struct sonde_session_document *document,
		     struct sonde_session_wish *wish, char *error,
		     size_t error_size)
{
	uint64_t level = sonde_session_document_number(document, "loglevel");
	int rc = ask_check_types(document, error, error_size);

	if (!rc)
		rc = take_rules(document, "rules", wish->rules,
				&wish->rules_size, error, error_size);
	if (!rc)
		rc = take_rules(document, "functions", wish->functions,
				&wish->functions_size, error, error_size);
	if (rc)
		return rc;
	wish->has_loglevel =
		sonde_session_document_has_number(document, "loglevel");
	wish->loglevel = (uint32_t)level;
	wish->memory_bytes =
		sonde_session_document_number(document, "memory_bytes");
	if (level >= SONDE_LEVELS && level != SONDE_LOGLEVEL_ALL)
		return refuse_words(
			error, error_size,
			"\"loglevel\" must be 0 to 14, or 255 for all");
	if (wish->memory_bytes && (wish->memory_bytes < SONDE_MEMORY_MIN ||
				   wish->memory_bytes > SONDE_MEMORY_MAX))
		return refuse_words(error, error_size,
				    "\"memory_bytes\" is out of bounds");
	return check_wish(wish, error, error_size);
}

/* What the line says is looked at where it is recorded. */
static int read_mark(const struct sonde_session_document *document,
		     struct sonde_session_ask *ask, char *error,
		     size_t error_size)
{
	const char *text = sonde_session_document_text(document, "text");

	if (!text || strlen(text) >= sizeof(ask->text) || !is_json_text(text))
		return refuse_words(error, error_size,
				    "\"text\" must be an event as a line of at "
				    "most 4096 bytes, in UTF-8");
	(void)snprintf(ask->text, sizeof(ask->text), "%s", text);
	return 0;
}

static int read_request(const struct sonde_session_document *document,
			struct sonde_session_ask *ask, char *error,
			size_t error_size)
{
	const char *word = sonde_session_document_text(document, "do");

	if (sonde_session_document_number(document, "sonde") !=
	    SONDE_PROTOCOL_VERSION) {
		(void)snprintf(error, error_size,
			       "\"sonde\" must be %d, the version",
			       SONDE_PROTOCOL_VERSION);
		return -EINVAL;
	}
	if (find_word(word, &ask->what))
		return refuse_words(error, error_size,
				    "\"do\" must be one of the words of "
				    "docs/protocol.md");
	switch (ask->what) {
	case SONDE_ASK_SNAPSHOT:
		return read_directory(document, ask, error, error_size);
	case SONDE_ASK_CHANGE:
		return read_wish(document, &ask->wish, error, error_size);
	case SONDE_ASK_MARK:
		return read_mark(document, ask, error, error_size);
	case SONDE_ASK_STATUS:
	case SONDE_ASK_CLEAR:
	case SONDE_ASK_WAIT:
	case SONDE_ASK_READ:
	case SONDE_ASK_ROTATE:
	case SONDE_ASK_JOIN:
	case SONDE_ASK_STOP:
	case SONDE_ASK_DESTROY:
		break;
	}
	return 0;
}

int sonde_session_ask_read(const char *line, size_t size,
			   struct sonde_session_ask *ret_ask, char *error,
			   size_t error_size)
{
	struct sonde_session_document *document;
	struct sonde_session_ask ask = { .what = SONDE_ASK_STATUS };
	int rc = sonde_session_document_read(line, size, &document);

	if (rc == -EINVAL)
		(void)snprintf(error, error_size, "that is no JSON object");
	if (rc)
		return rc;
	rc = read_request(document, &ask, error, error_size);
	sonde_session_document_free(document);
	if (!rc)
		*ret_ask = ask;
	return rc;
}

void sonde_session_put_rules(struct sonde_json *json, const char *name,
			     const char *rules)
{
	sonde_json_open(json, name, '[');
	for (; *rules; rules += strlen(rules) + 1)
		sonde_json_put_text(json, NULL, rules);
	sonde_json_close(json, ']');
}

static void put_wish(struct sonde_json *json,
		     const struct sonde_session_wish *wish)
{
	if (wish->rules_size)
		sonde_session_put_rules(json, "rules", wish->rules);
	if (wish->functions_size)
		sonde_session_put_rules(json, "functions", wish->functions);
	if (wish->has_loglevel)
		sonde_json_put_unsigned(json, "loglevel", wish->loglevel);
	if (wish->memory_bytes)
		sonde_json_put_unsigned(json, "memory_bytes",
					wish->memory_bytes);
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
	if (ask->what == SONDE_ASK_CHANGE)
		put_wish(&json, &ask->wish);
	if (ask->what == SONDE_ASK_MARK)
		sonde_json_put_text(&json, "text", ask->text);
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

static bool are_sayable(const char *rules)
{
	for (; *rules; rules += strlen(rules) + 1)
		if (!is_json_text(rules))
			return false;
	return true;
}

static bool is_sayable(const struct sonde_session_ask *ask)
{
	return are_sayable(ask->wish.rules) &&
	       are_sayable(ask->wish.functions) &&
	       is_json_text(ask->directory) && is_json_text(ask->text);
}

int sonde_session_ask_recorder(const struct sonde_rundir *dir, const char *name,
			       const struct sonde_session_ask *ask,
			       struct sonde_session_document **ret_answer)
{
	char *line;
	int fd = -1;
	int rc = is_sayable(ask) ? sonde_session_connect(dir, name, &fd) :
				   -EILSEQ;

	if (rc)
		return rc;
	line = sonde_session_ask_write(ask);
	rc = !line                        ? -ENOMEM :
	     strlen(line) > SONDE_ASK_MAX ? -E2BIG :
					    sonde_peer_check(fd);
	if (!rc)
		rc = sonde_write_socket(fd, line, strlen(line));
	if (!rc)
		rc = receive_answer(fd, ret_answer);
	free(line);
	(void)close(fd); /* nothing is buffered */
	return rc;
}
