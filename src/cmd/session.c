/* SPDX-License-Identifier: MIT */
/*
 * session.c - `sonde stop`, `sonde destroy`, `sonde clear` and `sonde rotate`:
 * asking the recorder of a session by name for something.
 */
#include "cmd/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/everywhere.h"
#include "cmd/session_inherit.h"
#include "view/text/show.h"

#define EXIT_FAILED 1

/* ---- shared ---- */

int sonde_command_home(struct sonde_rundir *ret_home)
{
	int rc = sonde_rundir_open(ret_home);

	if (!rc)
		return 0;
	sonde_complain("there is no place for the sockets of sessions (%s): "
		       "set XDG_RUNTIME_DIR to a directory of your own",
		       strerrordesc_np(-rc));
	return EXIT_FAILED;
}

int sonde_command_session(const struct sonde_command *command, int argc,
			  char **argv, struct sonde_rundir *ret_home,
			  const char **ret_name)
{
	if (optind + 1 != argc) {
		sonde_complain("%s: give the name of one session; 'sonde "
			       "status' lists them",
			       command->name);
		return SONDE_EXIT_USAGE;
	}
	*ret_name = argv[optind];
	if (!sonde_session_is_name(*ret_name)) {
		sonde_complain("%s: '%.60s' is no name of a session: use up to "
			       "%u letters, digits, '.', '_' and '-'",
			       command->name, *ret_name, SONDE_NAMED_CHARS);
		return SONDE_EXIT_USAGE;
	}
	return sonde_command_home(ret_home);
}

static bool has_none(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -EPIPE;
}

int sonde_command_look(const struct sonde_rundir *home, const char *name,
		       struct sonde_session_document **ret_document)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_STATUS };
	struct sonde_session_document *document;
	char text[1000];
	int rc = sonde_session_ask_recorder(home, name, &ask, ret_document);

	if (!has_none(rc))
		return rc;
	rc = sonde_session_read_document(home, name, &document);
	if (!rc && sonde_session_is(document, "recording")) {
		/* Somebody else may just have done it. */
		rc = sonde_command_inherit(home, document, text, sizeof(text));
		if ((!rc || rc == -EADDRINUSE) &&
		    !sonde_session_ask_recorder(home, name, &ask,
						ret_document)) {
			sonde_session_document_free(document);
			return 0;
		}
		rc = 0;
		sonde_session_document_set_text(document, "state", "died");
		sonde_session_document_set_text(document, "reason", text);
	}
	if (!rc)
		*ret_document = document;
	return rc;
}

static void try_session(void *ctx, const char *name)
{
	sonde_nearest_try(ctx, name);
}

int sonde_command_complain(const struct sonde_rundir *home, const char *name,
			   int error)
{
	struct sonde_nearest nearest;
	const char *hint;

	switch (error) {
	case -ENOENT:
		sonde_nearest_begin(&nearest, name);
		/* Without a list there is no hint. */
		(void)sonde_session_each_name(home, try_session, &nearest);
		hint = sonde_nearest_hint(&nearest);
		sonde_complain("there is no session '%s'%s", name,
			       *hint ? hint : "; 'sonde status' lists them");
		break;
	case -ENOSYS:
		sonde_complain("this build has no sessions by name (they need "
			       "json-c)");
		break;
	case -EPERM:
		sonde_complain("the socket of session '%s' is a stranger's: "
			       "nothing was sent",
			       name);
		break;
	case -EPROTO:
	case -EINVAL:
		sonde_complain("what there is of session '%s' makes no sense: "
			       "another version of Sonde's?",
			       name);
		break;
	default:
		sonde_complain("session '%s': %s", name,
			       strerrordesc_np(-error));
	}
	return EXIT_FAILED;
}

/* ---- asking ---- */

int sonde_command_at_rest(const struct sonde_rundir *home, const char *name)
{
	struct sonde_session_document *document;
	int rc = sonde_command_look(home, name, &document);

	if (rc)
		return sonde_command_complain(home, name, rc);
	if (sonde_session_is(document, "recording")) {
		sonde_session_document_free(document);
		return 0;
	}
	if (sonde_session_is(document, "died"))
		sonde_complain(
			"the recorder of session '%s' was killed: what "
			"it wrote is in %.300s (%.400s); 'sonde destroy "
			"%s' forgets it",
			name,
			sonde_session_document_text(document, "directory"),
			sonde_session_document_text(document, "reason"), name);
	else
		sonde_complain("session '%s' is stopped; its trace is in "
			       "%.300s",
			       name,
			       sonde_session_document_text(document,
							   "directory"));
	sonde_session_document_free(document);
	return EXIT_FAILED;
}

int sonde_command_ask(const struct sonde_rundir *home, const char *name,
		      const struct sonde_session_ask *ask,
		      struct sonde_session_document **ret_answer)
{
	const char *error;
	int rc = sonde_session_ask_recorder(home, name, ask, ret_answer);

	if (has_none(rc)) {
		rc = sonde_command_at_rest(home, name);
		if (rc)
			return rc;
		rc = sonde_session_ask_recorder(home, name, ask, ret_answer);
	}
	if (rc)
		return sonde_command_complain(home, name, rc);
	if (sonde_session_document_is_true(*ret_answer, "ok"))
		return 0;
	error = sonde_session_document_text(*ret_answer, "error");
	sonde_complain("session '%s': %.900s", name,
		       error ? error : "it gives no answer");
	sonde_session_document_free(*ret_answer);
	return EXIT_FAILED;
}

/* ---- stop and destroy ---- */

struct words {
	bool json;
	bool quiet;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option end_options[] = {
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json),
	  "what the session ended with, as JSON" },
	SONDE_EVERYWHERE_OPTIONS,
	{ 0 }
};

static const struct sonde_option clear_options[] = {
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "its status then, as JSON" },
	{ 0 }
};

static const struct sonde_option rotate_options[] = {
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "the chunk that ended, as JSON" },
	{ 0 }
};

/* clang-format on */

/* -1: go on; or an exit status. */
static int read_session_options(const struct sonde_command *command, int argc,
				char **argv, struct words *ret_words)
{
	*ret_words = (struct words){ .json = false };
	return sonde_option_take(command, argc, argv, ret_words, NULL);
}

static void tell_chunk(const struct sonde_session_document *answer)
{
	(void)printf("%" PRIu64 " events in %s\n",
		     sonde_session_document_number(answer, "recorded"),
		     sonde_session_document_text(answer, "directory"));
}

/* `stop` and `destroy` tell what the session ended with, `rotate` the chunk,
 * `clear` nothing. */
static int order_session(const struct sonde_rundir *home, const char *name,
			 const struct words *words,
			 enum sonde_session_ask_what what)
{
	const struct sonde_session_ask ask = { .what = what };
	struct sonde_session_document *answer;
	const char *text;
	int rc = sonde_command_ask(home, name, &ask, &answer);

	if (rc)
		return rc;
	text = sonde_session_document_text(answer, "text");
	if (words->json)
		(void)puts(sonde_session_document_line(answer));
	else if (text && !words->quiet)
		(void)fputs(text, stderr);
	else if (what == SONDE_ASK_ROTATE && !words->quiet &&
		 sonde_session_document_text(answer, "directory"))
		tell_chunk(answer);
	sonde_session_document_free(answer);
	return 0;
}

/* A session without a recorder is forgotten by removing its file. */
static bool forget_at_rest(const struct sonde_rundir *home, const char *name,
			   const struct words *words)
{
	struct sonde_session_document *document;
	bool at_rest;

	if (sonde_command_look(home, name, &document))
		return false;
	at_rest = !sonde_session_is(document, "recording");
	if (at_rest && words->json)
		(void)puts(sonde_session_document_line(document));
	sonde_session_document_free(document);
	if (!at_rest)
		return false;
	sonde_session_remove_file(home, name);
	sonde_rundir_clean(home);
	return true;
}

static int order(const struct sonde_command *command, int argc, char **argv,
		 enum sonde_session_ask_what what)
{
	struct sonde_rundir home;
	struct words words;
	const char *name;
	int rc = read_session_options(command, argc, argv, &words);

	if (rc >= 0)
		return rc;
	rc = sonde_command_session(command, argc, argv, &home, &name);
	if (rc)
		return rc;
	if (what != SONDE_ASK_DESTROY || !forget_at_rest(&home, name, &words))
		rc = order_session(&home, name, &words, what);
	sonde_rundir_close(&home);
	return rc;
}

static int stop_session(int argc, char **argv)
{
	int rc = sonde_command_everywhere(&sonde_command_stop, argc, argv);

	return rc >= 0 ? rc :
			 order(&sonde_command_stop, argc, argv, SONDE_ASK_STOP);
}

static int destroy(int argc, char **argv)
{
	int rc = sonde_command_everywhere(&sonde_command_destroy, argc, argv);

	return rc >= 0 ? rc :
			 order(&sonde_command_destroy, argc, argv,
			       SONDE_ASK_DESTROY);
}

static int clear_rings(int argc, char **argv)
{
	return order(&sonde_command_clear, argc, argv, SONDE_ASK_CLEAR);
}

static int rotate_session(int argc, char **argv)
{
	return order(&sonde_command_rotate, argc, argv, SONDE_ASK_ROTATE);
}

const struct sonde_command sonde_command_stop = {
	.name = "stop",
	.run = stop_session,
	.brief = "NAME",
	.does = "end what a session records",
	.usage =
		"sonde stop NAME [-q] [--json]\n"
		"sonde stop NAME --hosts GLOB --from URL\n"
		"\n"
		"Nothing is recorded any more when it returns, and the trace is\n"
		"complete. What the session was stays known: sonde status.\n",
	.options = end_options,
	.words = SONDE_VALUE_SESSION,
};

const struct sonde_command sonde_command_destroy = {
	.name = "destroy",
	.run = destroy,
	.brief = "NAME",
	.does = "end a session and forget it",
	.usage = "sonde destroy NAME [-q] [--json]\n"
		 "sonde destroy NAME --hosts GLOB --from URL\n"
		 "\n"
		 "As 'sonde stop', and then the name is free. Traces stay.\n",
	.options = end_options,
	.words = SONDE_VALUE_SESSION,
};

const struct sonde_command sonde_command_clear = {
	.name = "clear",
	.run = clear_rings,
	.brief = "NAME",
	.does = "drop what a flight recorder has",
	.usage =
		"sonde clear NAME [-q] [--json]\n"
		"\n"
		"Drops what the rings of a session hold, which was started with\n"
		"--mode overwrite and goes on. What was dropped is counted.\n",
	.options = clear_options,
	.words = SONDE_VALUE_SESSION,
};

const struct sonde_command sonde_command_rotate = {
	.name = "rotate",
	.run = rotate_session,
	.brief = "NAME",
	.does = "end a chunk of a session's trace",
	.usage =
		"sonde rotate NAME [-q] [--json]\n"
		"\n"
		"Ends the chunk that is written of a session's trace, which was\n"
		"started with --rotate and goes on in another one. When it\n"
		"returns, the chunk is complete: it can be read alone, moved, and\n"
		"removed.\n",
	.options = rotate_options,
	.words = SONDE_VALUE_SESSION,
};
