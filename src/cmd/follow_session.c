/* SPDX-License-Identifier: MIT */
/*
 * follow_session.c - a session that is there, looked at while it goes on.
 *
 * Its recorder is asked to read its rings before each look (docs/protocol.md), so
 * it is known up to when the trace is whole, and how often it looks by itself
 * doesn't matter. The session notices nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "cmd/follow.h"
#include "cmd/read_watch.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "reader/follow.h"

/* A record's time is taken before it is committed: so much before, at most, and
 * no reader would notice if it were more. */
#define HOLD_NS UINT64_C(5000000)

char *sonde_command_session_trace(const struct sonde_rundir *home,
				  const char *name, int *ret_status)
{
	struct sonde_session_document *document;
	const char *directory;
	const char *mode;
	char *copy = NULL;
	int rc = sonde_command_look(home, name, &document);

	*ret_status = SONDE_EXIT_FAILED;
	if (rc) {
		*ret_status = sonde_command_complain(home, name, rc);
		return NULL;
	}
	directory = sonde_session_document_text(document, "directory");
	mode = sonde_session_document_text(document, "mode");
	if (!directory || !mode)
		*ret_status = sonde_command_complain(home, name, -EPROTO);
	else if (!sonde_session_is(document, "recording"))
		sonde_complain("session '%s' records nothing any more: sonde "
			       "print %.300s",
			       name, directory);
	else if (!strcmp(mode, "overwrite"))
		sonde_complain(
			"session '%s' keeps its events in memory (--mode "
			"overwrite): sonde snapshot %s writes them; "
			"sonde live -p PID shows a process's",
			name, name);
	else
		copy = strdup(directory);
	sonde_session_document_free(document);
	return copy;
}

bool sonde_command_session_read(const struct sonde_rundir *home,
				const char *name, uint64_t *ret_read_ns)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_READ };
	struct sonde_session_document *answer;
	uint64_t now_ns = sonde_monotonic_ns();
	int rc = sonde_session_ask_recorder(home, name, &ask, &answer);

	*ret_read_ns = 0;
	if (rc)
		return false;
	if (sonde_session_document_is_true(answer, "ok"))
		*ret_read_ns = now_ns;
	sonde_session_document_free(answer);
	return true;
}

static int follow_session(const struct sonde_command_follower *follower,
			  const struct sonde_rundir *home, const char *name)
{
	const struct timespec pause = {
		.tv_nsec = SONDE_FOLLOW_LOOK_MS * 1000000,
	};
	bool goes_on = true;
	int error = follower->skip(follower->ctx);

	while (goes_on && !error && !sonde_watch_progress(0, 0)) {
		uint64_t read_ns;

		goes_on = sonde_command_session_read(home, name, &read_ns);
		error = follower->look(follower->ctx, read_ns);
		if (goes_on && !error)
			(void)nanosleep(&pause, NULL);
	}
	if (!error)
		error = follower->end(follower->ctx);
	if (!goes_on)
		sonde_complain("session '%s' has ended", name);
	return error;
}

static int follow_trace(const struct sonde_command_follower *follower,
			const struct sonde_rundir *home, const char *name,
			const char *directory)
{
	struct sonde_follow *follow;
	int status;

	if (sonde_follow_new(directory, &follow)) {
		sonde_complain("%s: no memory left", follower->command->name);
		return SONDE_EXIT_FAILED;
	}
	status = follower->begin(follower->ctx, follow, HOLD_NS);
	if (!status) {
		int error;

		sonde_watch_begin(follower->command->name, false);
		error = follow_session(follower, home, name);
		status = follower->finish(follower->ctx, error);
		sonde_watch_end();
	}
	sonde_follow_free(follow);
	return status;
}

int sonde_command_follow_session(const struct sonde_command_follower *follower,
				 char *name)
{
	char *words[] = { (char[]){ "" }, name, NULL };
	struct sonde_rundir home;
	const char *checked;
	char *directory;
	int status;

	optind = 1;
	status = sonde_command_session(follower->command, 2, words, &home,
				       &checked);
	if (status)
		return status;
	directory = sonde_command_session_trace(&home, checked, &status);
	if (directory)
		status = follow_trace(follower, &home, checked, directory);
	free(directory);
	sonde_rundir_close(&home);
	return status;
}
