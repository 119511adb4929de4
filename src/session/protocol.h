/* SPDX-License-Identifier: MIT */
/*
 * protocol.h - what can be asked of the recorder of a session: docs/protocol.md.
 *
 * A request is one line, a JSON object; so is the answer. Whoever asks may be
 * hostile as far as the words go: a request is bounded and checked here, before
 * anything is done.
 */
#ifndef SESSION_PROTOCOL_H
#define SESSION_PROTOCOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "ring/layout.h"
#include "session/document.h"
#include "source/marks/mark.h"
#include "sys/rundir.h"

#define SONDE_PROTOCOL_VERSION 1
#define SONDE_ASK_MAX          8192u /* bytes of a request, with its newline */

enum sonde_session_ask_what {
	SONDE_ASK_STATUS,
	SONDE_ASK_SNAPSHOT,
	SONDE_ASK_STOP,
	SONDE_ASK_DESTROY,
	SONDE_ASK_CHANGE,
	SONDE_ASK_CLEAR,
	SONDE_ASK_WAIT,
	SONDE_ASK_READ,
	SONDE_ASK_ROTATE,
	SONDE_ASK_JOIN,
	SONDE_ASK_MARK,
};

/* What is to be another while it records; what is 0 stays. */
struct sonde_session_wish {
	uint64_t memory_bytes;
	bool has_loglevel;
	uint32_t loglevel;
	size_t rules_size; /* with the empty string at the end */
	char rules[SONDE_RULES_MAX];
	/* Functions, in the form of rules; changed by themselves. */
	size_t functions_size;
	char functions[SONDE_RULES_MAX];
};

struct sonde_session_ask {
	enum sonde_session_ask_what what;
	char directory[PATH_MAX];       /* snapshot: a path from the root on */
	struct sonde_session_wish wish; /* change */
	char text[SONDE_MARK_MAX + 1];  /* mark: a line (source/marks/mark.h) */
};

/* Pure: a request without its newline. 0; -EINVAL with one line in `error`,
 * -ENOMEM. */
int sonde_session_ask_read(const char *line, size_t size,
			   struct sonde_session_ask *ret_ask, char *error,
			   size_t error_size);

/* Rules as a member of that name, a list of words. */
void sonde_session_put_rules(struct sonde_json *json, const char *name,
			     const char *rules);

/* The request as a line, to be freed; NULL without memory. */
char *sonde_session_ask_write(const struct sonde_session_ask *ask);

/*
 * Asks the recorder of the session, and waits for its answer. 0 and the answer,
 * which may say that it failed; -ENOENT, -ECONNREFUSED: nobody is there;
 * -EPIPE: it ended meanwhile; -EPERM: it is a stranger; -EILSEQ: a text is not
 * UTF-8; -E2BIG: the request is too long; -EPROTO.
 */
int sonde_session_ask_recorder(const struct sonde_rundir *dir, const char *name,
			       const struct sonde_session_ask *ask,
			       struct sonde_session_document **ret_answer);

#endif /* SESSION_PROTOCOL_H */
