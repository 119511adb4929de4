/* SPDX-License-Identifier: MIT */
/*
 * session_snapshot.c - `sonde snapshot`: what the rings of a session hold, as a
 * trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/everywhere.h"
#include "cmd/recording.h"
#include "cmd/session.h"

struct words {
	bool json;
	bool quiet;
	const char *output;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option snapshot_options[] = {
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "the snapshot (default: ./sonde-YYYYMMDD-HHMMSS)" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "what is in it, as JSON" },
	SONDE_EVERYWHERE_OPTIONS,
	SONDE_EVERYWHERE_BY,
	{ 0 }
};
/* clang-format on */

static void tell_snapshot(const struct sonde_session_document *answer,
			  const char *directory)
{
	const char *note;

	for (size_t i = 0;
	     (note = sonde_session_document_word(answer, "notes", i)); i++)
		sonde_complain("%.1000s", note);
	(void)printf("%" PRIu64 " events in %s (%" PRIu64
		     " older ones were overwritten, %" PRIu64 " lost)\n",
		     sonde_session_document_number(answer, "events.recorded"),
		     directory,
		     sonde_session_document_number(answer,
						   "events.overwritten"),
		     sonde_session_document_number(answer, "events.discarded") +
			     sonde_session_document_number(answer,
							   "events.lost_disk"));
}

/* The recorder writes into a directory that we have made, so it is where a
 * relative path means here. */
static int take(const struct sonde_rundir *home, const char *name,
		const struct words *words)
{
	struct sonde_session_ask ask = { .what = SONDE_ASK_SNAPSHOT };
	struct sonde_place place = SONDE_PLACE_NONE;
	struct sonde_session_document *answer;
	char directory[PATH_MAX];
	bool was_made;
	int rc = sonde_command_at_rest(home, name);

	if (rc)
		return rc;
	if (sonde_command_make_directory(words->output, directory,
					 sizeof(directory), &place))
		return SONDE_EXIT_FAILED;
	was_made = place.made;
	rc = sonde_place_where(&place, ask.directory);
	sonde_place_close(&place);
	if (rc) {
		sonde_complain("%.300s: %s", directory, strerrordesc_np(-rc));
		return SONDE_EXIT_FAILED;
	}
	rc = sonde_command_ask(home, name, &ask, &answer);
	if (rc) {
		/* It is empty if nothing was written. */
		if (was_made)
			(void)remove(ask.directory);
		return rc;
	}
	if (words->json)
		(void)puts(sonde_session_document_line(answer));
	else if (!words->quiet)
		tell_snapshot(answer, directory);
	sonde_session_document_free(answer);
	return 0;
}

static int snapshot(int argc, char **argv)
{
	struct sonde_rundir home;
	struct words words = { .output = NULL };
	const char *name;
	int rc = sonde_command_everywhere(&sonde_command_snapshot, argc, argv);

	if (rc < 0)
		rc = sonde_option_take(&sonde_command_snapshot, argc, argv,
				       &words, NULL);
	if (rc >= 0)
		return rc;
	rc = sonde_command_session(&sonde_command_snapshot, argc, argv, &home,
				   &name);
	if (rc)
		return rc;
	rc = take(&home, name, &words);
	sonde_rundir_close(&home);
	return rc;
}

const struct sonde_command sonde_command_snapshot = {
	.name = "snapshot",
	.run = snapshot,
	.brief = "NAME [-o DIR]",
	.does = "write what a flight recorder has",
	.usage =
		"sonde snapshot NAME [-o DIR] [-q] [--json]\n"
		"sonde snapshot NAME --hosts GLOB --from URL\n"
		"\n"
		"A complete trace of what the rings of a session hold, which was\n"
		"started with --mode overwrite and goes on.\n",
	.options = snapshot_options,
	.words = SONDE_VALUE_SESSION,
};
