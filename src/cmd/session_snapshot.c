/* SPDX-License-Identifier: MIT */
/*
 * session_snapshot.c - `sonde snapshot`: what the rings of a session hold, as a
 * trace.
 *
 * With --last the recorder writes all of it, as it knows no other way, into DIR.whole,
 * and then this process cuts that into DIR (snapshot_span.h), and removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "cmd/everywhere.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "cmd/snapshot_span.h"

/* And a second, which everywhere.c adds. */
#define LAST_MAX_US ((uint64_t)(24 * 3600 + 1) * 1000000)

struct words {
	bool json;
	bool quiet;
	const char *output, *last;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option snapshot_options[] = {
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "the snapshot (default: ./sonde-YYYYMMDD-HHMMSS)" },
	{ "last", 0, "TIME", NULL, TO(last),
	  "only what happened so long before it was asked for, such as 10s" },
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

/* Asks the recorder to write into a directory that we have made, so it is where a
 * relative path means here. */
static int snapshot_ask(const struct sonde_rundir *home, const char *name,
			struct sonde_directory *place, const char *directory,
			struct sonde_session_document **ret_answer)
{
	struct sonde_session_ask ask = { .what = SONDE_ASK_SNAPSHOT };
	bool was_made = place->made;
	int rc = sonde_directory_where(place, ask.directory);

	sonde_directory_close(place); /* the recorder locks it */
	if (rc) {
		sonde_complain("%.300s: %s", directory, strerrordesc_np(-rc));
		return SONDE_EXIT_FAILED;
	}
	rc = sonde_command_ask(home, name, &ask, ret_answer);
	/* It is empty if nothing was written. */
	if (rc && was_made)
		(void)remove(ask.directory);
	return rc;
}

/* ---- the last so many seconds ---- */

/* What the recorder wrote, in a directory that we had made. */
static void span_remove(const char *whole)
{
	int dir = open(whole, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return;
	sonde_directory_clear(dir);
	(void)close(dir);
	(void)rmdir(whole);
}

/* DIR.whole, new. */
static int span_make_whole(const char *directory, char whole[PATH_MAX],
			   struct sonde_directory *ret_place)
{
	struct sonde_directory_error error;
	int n = snprintf(whole, PATH_MAX, "%s.whole", directory);

	if (n < 0 || n >= PATH_MAX)
		(void)snprintf(error.text, sizeof(error.text), "%.300s: %s",
			       directory, strerrordesc_np(ENAMETOOLONG));
	else if (!sonde_directory_make_new(whole, ret_place, &error))
		return 0;
	sonde_complain("snapshot: %s", error.text);
	return SONDE_EXIT_FAILED;
}

/* Into `place`, whose path is `directory`, as which it goes again if that fails. */
static int span_take(const struct sonde_rundir *home, const char *name,
		     struct sonde_command_span *span,
		     struct sonde_directory *place, const char *directory,
		     struct sonde_session_document **ret_answer)
{
	struct sonde_directory whole_place = SONDE_DIRECTORY_NONE;
	char whole[PATH_MAX];
	bool was_made = place->made;
	int rc = span_make_whole(directory, whole, &whole_place);

	sonde_directory_close(place); /* which is locked when it is written */
	span->asked_ns = sonde_monotonic_ns();
	if (!rc)
		rc = snapshot_ask(home, name, &whole_place, whole, ret_answer);
	if (!rc) {
		span->answered_ns = sonde_monotonic_ns();
		rc = sonde_command_span_cut(span, whole, directory,
					    *ret_answer);
		span_remove(whole);
		if (rc)
			sonde_session_document_free(*ret_answer);
	}
	if (rc && was_made)
		(void)rmdir(directory); /* unless something is in it */
	return rc;
}

/* ---- the command ---- */

static int span_parse_last(const char *last, struct sonde_command_span *span)
{
	uint64_t us;

	if (!last)
		return 0;
	if (sonde_number_parse_time_us(last, &us) || !us || us > LAST_MAX_US) {
		sonde_complain("--last %.100s: give a time up to 24h, such as "
			       "10s",
			       last);
		return SONDE_EXIT_USAGE;
	}
	span->last_ns = us * 1000;
	return 0;
}

static int take(const struct sonde_rundir *home, const char *name,
		const struct words *words)
{
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_command_span span = { .last_ns = 0 };
	struct sonde_session_document *answer;
	char directory[PATH_MAX];
	int rc = span_parse_last(words->last, &span);

	if (!rc)
		rc = sonde_command_at_rest(home, name);
	if (rc)
		return rc;
	if (sonde_command_make_directory(words->output, directory,
					 sizeof(directory), &place))
		return SONDE_EXIT_FAILED;
	rc = span.last_ns ?
		     span_take(home, name, &span, &place, directory, &answer) :
		     snapshot_ask(home, name, &place, directory, &answer);
	if (rc)
		return rc;
	if (words->json)
		(void)puts(sonde_session_document_line(answer));
	else if (!words->quiet && span.last_ns)
		sonde_command_span_tell(answer, words->last, directory);
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
		"sonde snapshot NAME [--last TIME] [-o DIR] [-q] [--json]\n"
		"sonde snapshot NAME --hosts GLOB --from URL\n"
		"\n"
		"A complete trace of what the rings of a session hold, which was\n"
		"started with --mode overwrite and goes on.\n",
	.options = snapshot_options,
	.words = SONDE_VALUE_SESSION,
};
