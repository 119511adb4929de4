/* SPDX-License-Identifier: MIT */
/*
 * session_wait.c - `sonde wait`: returns when an event happens that a session waits
 * for. Its recorder answers then; nobody asks again and again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/session.h"

struct words {
	bool json, quiet;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option wait_options[] = {
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "what happened, as JSON" },
	{ 0 }
};
/* clang-format on */

static void wait_tell(const struct sonde_session_document *answer)
{
	const char *event = sonde_session_document_text(answer, "event");
	const char *process = sonde_session_document_text(answer, "process");
	const char *directory =
		sonde_session_document_text(answer, "directory");
	uint64_t pid = sonde_session_document_number(answer, "pid");

	(void)fputs(event, stdout);
	if (pid)
		(void)printf(" in %s (pid %" PRIu64 ")",
			     process ? process : "?", pid);
	else if (!strcmp(event, "loss"))
		(void)printf(" of %" PRIu64 " events",
			     sonde_session_document_number(answer, "count"));
	(void)printf("%s%s\n", directory ? ": the snapshot is " : "",
		     directory ? directory : "");
}

static int wait_for_event(const struct sonde_rundir *home, const char *name,
			  bool is_quiet, bool as_json)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_WAIT };
	struct sonde_session_document *answer;
	int rc = sonde_command_ask(home, name, &ask, &answer);

	if (rc)
		return rc;
	if (as_json)
		(void)puts(sonde_session_document_line(answer));
	if (!sonde_session_document_text(answer, "event")) {
		sonde_complain("session '%s' has ended", name);
		rc = 1;
	} else if (!as_json && !is_quiet) {
		wait_tell(answer);
	}
	sonde_session_document_free(answer);
	return rc;
}

static int run(int argc, char **argv)
{
	const struct sonde_command *command = &sonde_command_wait;
	struct sonde_rundir home;
	struct words words = { 0 };
	const char *name;
	int rc = sonde_option_take(command, argc, argv, &words, NULL);

	if (rc >= 0)
		return rc;
	rc = sonde_command_session(command, argc, argv, &home, &name);
	if (rc)
		return rc;
	rc = wait_for_event(&home, name, words.quiet, words.json);
	sonde_rundir_close(&home);
	return rc;
}

const struct sonde_command sonde_command_wait = {
	.name = "wait",
	.run = run,
	.brief = "NAME",
	.does = "wait for what a session waits for",
	.usage =
		"sonde wait NAME [-q] [--json]\n"
		"\n"
		"Returns when an event happens that 'sonde start --when' names, or\n"
		"when a program asks for a snapshot, and tells what was done.\n",
	.options = wait_options,
	.words = SONDE_VALUE_SESSION,
};
