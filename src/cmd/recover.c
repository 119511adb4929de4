/* SPDX-License-Identifier: MIT */
/*
 * recover.c - `sonde recover`: a trace of what is left in memory of recordings whose
 * recorders were killed (session/recover.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/recording.h"
#include "session/recover.h"
#include "sys/cpus.h"
#include "sys/proc.h"

struct words {
	bool json;
	bool quiet;
	bool remove;
	const char *output;
	const char *arena; /* or NULL: what processes hold */
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option recover_options[] = {
	{ "output", 'o', "DIR", SONDE_VALUE_DIR, TO(output),
	  "the trace (default: ./sonde-YYYYMMDD-HHMMSS)" },
	{ "arena", 0, "DIR", SONDE_VALUE_DIR, TO(arena),
	  "of the files in the directory that sonde record --arena, or "
	  "SONDE_ARENA, named" },
	{ "remove", 0, NULL, NULL, TO(remove),
	  "then remove those that no process has" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "what is in it, as JSON" },
	{ 0 }
};
/* clang-format on */

/* Why, as far as it can be known. */
static void complain_of_nothing(const struct sonde_session_recover_found *found,
				const struct words *words)
{
	if (found->nr_recorded)
		sonde_complain("recover: nothing was left behind: the "
			       "recorders of %u arena slot%s live; 'sonde "
			       "snapshot NAME' copies what they hold",
			       found->nr_recorded,
			       found->nr_recorded == 1 ? "" : "s");
	else if (found->nr_booted)
		sonde_complain("recover: the files are of before the last "
			       "boot, whose clock is gone: their times can't "
			       "be told any more");
	else if (found->nr_counting)
		sonde_complain("recover: events were only counted: there is "
			       "nothing to make a trace of");
	else if (found->nr_arenas)
		sonde_complain("recover: nothing was left behind in the trace "
			       "memory of %u program%s: %s",
			       found->nr_arenas,
			       found->nr_arenas == 1 ? "" : "s",
			       found->nr_damaged ? "some of it makes no sense" :
						   "none was being recorded");
	else if (words->arena)
		sonde_complain("recover: no file of trace memory is in %s",
			       words->arena);
	else
		sonde_complain("recover: no process that may be looked into "
			       "holds trace memory: it went with the last "
			       "process that had it");
}

static void complain_of_closed(const struct sonde_session_recover_found *found)
{
	if (found->nr_denied)
		sonde_complain("recover: %u process%s may not be looked into: "
			       "run as their user, or as root "
			       "(CAP_SYS_PTRACE)",
			       found->nr_denied,
			       found->nr_denied == 1 ? "" : "es");
	if (found->nr_closed)
		sonde_complain("recover: %u process%s closed the descriptor "
			       "of trace memory: run as root "
			       "(CAP_CHECKPOINT_RESTORE)",
			       found->nr_closed,
			       found->nr_closed == 1 ? " has" : "es have");
}

static void tell_recovered(const struct sonde_summary *summary,
			   const char *directory, const struct words *words)
{
	struct sonde_summary_style style = {
		.directory = directory,
		.memory_bytes = SONDE_MEMORY_MAX,
		.nr_cpus = sonde_cpus_online(),
		.quiet = words->quiet,
	};

	if (words->json)
		sonde_summary_print_json(summary, &style, stdout);
	else
		sonde_summary_print(summary, &style, stderr);
}

static int write_recovered(struct sonde_session_recover *recover,
			   const struct words *words)
{
	static struct sonde_summary summary;
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	char directory[PATH_MAX];
	int rc = sonde_command_make_directory(words->output, directory,
					      sizeof(directory), &place);

	if (rc)
		return SONDE_EXIT_FAILED;
	rc = sonde_session_recover_write(recover, place.dir, directory,
					 &summary);
	if (rc) {
		sonde_complain("recover: %s: %s", directory,
			       strerrordesc_np(-rc));
		sonde_directory_remove(&place);
		return SONDE_EXIT_FAILED;
	}
	sonde_directory_close(&place);
	tell_recovered(&summary, directory, words);
	return summary.disk_error ? SONDE_EXIT_FAILED : 0;
}

static bool recover_look_in(struct sonde_session_recover *recover,
			    const struct words *words, char **pids)
{
	int rc;

	if (*pids) {
		sonde_complain("recover: give a directory or processes, not "
			       "both");
		return false;
	}
	rc = sonde_session_recover_look_in(recover, words->arena);
	if (rc)
		sonde_complain("recover: --arena %s: %s", words->arena,
			       strerrordesc_np(-rc));
	return !rc;
}

/* At the processes that were named, or all; or at files. False: said why. */
static bool recover_look(struct sonde_session_recover *recover,
			 const struct words *words, char **pids)
{
	if (words->arena)
		return recover_look_in(recover, words, pids);
	if (!*pids)
		sonde_session_recover_look(recover);
	for (; *pids; pids++) {
		pid_t pid = sonde_proc_number(*pids);

		if (pid <= 0) {
			sonde_complain("recover: '%s' is no process's number; "
				       "'sonde recover --help' says more",
				       *pids);
			return false;
		}
		sonde_session_recover_look_at(recover, pid);
	}
	return true;
}

static int recover_whole(const struct words *words, char **pids)
{
	struct sonde_session_recover *recover = sonde_session_recover_new();
	const struct sonde_session_recover_found *found;
	int rc;

	if (!recover) {
		sonde_complain("recover: no memory left");
		return SONDE_EXIT_FAILED;
	}
	found = sonde_session_recover_found(recover);
	if (!recover_look(recover, words, pids)) {
		rc = SONDE_EXIT_USAGE;
	} else if (found->nr_slots) {
		rc = write_recovered(recover, words);
	} else {
		complain_of_nothing(found, words);
		rc = SONDE_EXIT_FAILED;
	}
	if (words->remove && (!rc || !found->nr_slots))
		sonde_session_recover_remove(recover);
	if (!words->quiet)
		complain_of_closed(found);
	sonde_session_recover_free(recover);
	return rc;
}

static int run(int argc, char **argv)
{
	struct words words = { .output = NULL };
	int status = sonde_option_take(&sonde_command_recover, argc, argv,
				       &words, NULL);

	if (status >= 0)
		return status;
	return recover_whole(&words, argv + optind);
}

const struct sonde_command sonde_command_recover = {
	.name = "recover",
	.run = run,
	.brief = "[PID...]",
	.does = "what killed recorders left behind",
	.usage =
		"sonde recover [PID...] [-o DIR] [-q] [--json]\n"
		"sonde recover --arena DIR [--remove] [-o DIR] [-q] [--json]\n"
		"\n"
		"Writes a trace of what the memory of programs holds whose recorders\n"
		"were killed: of all, or of those that the processes hold. Nothing is\n"
		"changed: programs run on, and what can be taken over still can be.\n",
	.options = recover_options,
	.notes = "Exit status: 0 if there was something, 1 if not, 2 for wrong "
		 "usage.\n",
};
