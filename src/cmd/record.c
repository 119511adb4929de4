/* SPDX-License-Identifier: MIT */
/*
 * record.c - `sonde record`: from words to a recording, and from its result to
 * a screen and an exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/number.h"
#include "cmd/attach_hooks.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/recording.h"
#include "ctf/place.h"
#include "doctor/doctor.h"
#include "ring/layout.h"
#include "session/budget.h"
#include "session/census.h"
#include "session/cgroup.h"
#include "session/front.h"
#include "session/kin.h"
#include "session/options.h"
#include "view/text/show.h"

#define EXIT_FAILED         1
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127
#define EXIT_SIGNAL_BASE    128

static void say(const char *text)
{
	sonde_complain("%s", text);
}

static int find_program(const char *name, char path[PATH_MAX])
{
	int rc = sonde_launch_find(name, path);

	switch (rc) {
	case 0:
		return 0;
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
		sonde_complain("%.200s: no such program%s", name,
			       strchr(name, '/') ? "" :
						   " in PATH; give its path, "
						   "such as ./PROGRAM");
		return EXIT_NOT_FOUND;
	case -EISDIR:
		sonde_complain("%.200s: is a directory, not a program", name);
		return EXIT_NOT_EXECUTABLE;
	default:
		sonde_complain("%.200s: can't be executed (%s); try chmod +x",
			       name, strerrordesc_np(-rc));
		return EXIT_NOT_EXECUTABLE;
	}
}

static int find_preload(const struct sonde_record_options *options,
			char path[PATH_MAX])
{
	int rc;

	if (!options->session.has_hooks || options->session.attaches)
		return 0;
	rc = sonde_launch_find_preload(SONDE_LIBDIR_FROM_BINDIR, SONDE_LIBDIR,
				       path);
	if (!rc)
		return 0;
	if (rc == -EINVAL)
		sonde_complain("%.200s: a blank or colon in its path keeps the "
			       "loader from preloading it; move it, and set "
			       "SONDE_PRELOAD_DIR",
			       path);
	else
		sonde_complain("libsonde-preload.so is not in %s; --malloc and "
			       "--locks need it: install it, or set "
			       "SONDE_PRELOAD_DIR",
			       secure_getenv("SONDE_PRELOAD_DIR") ?
				       "SONDE_PRELOAD_DIR" :
				       SONDE_LIBDIR);
	return EXIT_FAILED;
}

static const char *hooks(const struct sonde_record_options *options)
{
	if (options->hook_malloc && options->hook_locks)
		return "malloc,locks";
	return options->hook_malloc ? "malloc" : "locks";
}

static int explain_failure(const struct sonde_front_result *result, int rc)
{
	sonde_complain("%s", result->failed);
	if (result->stop_signal)
		return EXIT_SIGNAL_BASE + result->stop_signal;
	if (result->wrong_rules)
		return SONDE_EXIT_USAGE;
	if (!result->exec_failed)
		return EXIT_FAILED;
	return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Somebody may have moved it: `path` is where it is then. */
static void find_directory(const struct sonde_place *place,
			   struct sonde_front_result *result,
			   char path[PATH_MAX])
{
	char text[SONDE_NOTE_SIZE];
	char now[PATH_MAX];
	char safe[SONDE_NOTE_SIZE];
	int rc;

	if (sonde_place_is_at(place, path))
		return;
	rc = sonde_place_where(place, now);
	(void)sonde_show_safe(safe, sizeof(safe), now, rc ? 0 : strlen(now));
	if (rc == -ENOENT)
		(void)snprintf(text, sizeof(text),
			       "%.150s was removed while it was written: "
			       "nothing of the recording is left",
			       path);
	else if (rc)
		(void)snprintf(text, sizeof(text),
			       "%.150s is not the trace any more: somebody "
			       "moved it while it was written",
			       path);
	else
		(void)snprintf(text, sizeof(text),
			       "%.80s is not the trace any more: somebody "
			       "moved it, and it is in %.90s",
			       path, safe);
	if (rc == -ENOENT && result->have_summary)
		sonde_summary_lose_all(&result->summary, rc);
	/* in the summary, or at once if there is none */
	if (result->have_summary)
		sonde_summary_note_first(&result->summary, text);
	else
		sonde_complain("%s", text);
	(void)snprintf(path, PATH_MAX, "%s", rc ? "" : now);
}

static bool has_tracepoints(const char *program)
{
	struct sonde_census *census = sonde_census_new("", 1, 0);
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool has =
		census && fd >= 0 && sonde_census_has_tracepoints(census, fd);

	if (fd >= 0)
		(void)close(fd); /* it was only read */
	sonde_census_free(census);
	return has;
}

/* Why no process was recorded, as far as it can be known. False: not at all. */
static bool explain_nothing(const char *program, struct sonde_summary *summary)
{
	struct rlimit limit;
	struct stat st;

	if (summary->nr_processes || summary->nr_refused)
		return false;
	if (!getrlimit(RLIMIT_FSIZE, &limit) &&
	    limit.rlim_cur < SONDE_META_SPAN) {
		sonde_summary_note(summary,
				   "no process could be recorded: ulimit -f "
				   "(%llu KiB) leaves no room for its trace "
				   "memory, which begins at %u KiB; raise it",
				   (unsigned long long)limit.rlim_cur / 1024,
				   (unsigned int)(SONDE_META_SPAN / 1024));
		return true;
	}
	if (!has_tracepoints(program))
		return false;
	if (!stat(program, &st) && st.st_mode & (S_ISUID | S_ISGID))
		sonde_summary_note(summary,
				   "%.100s has tracepoints, and is not "
				   "recorded: it changes its user or group "
				   "when it is started",
				   program);
	else
		sonde_summary_note(summary,
				   "%.100s has tracepoints, and did not reach "
				   "the recorder: it ended at once, or "
				   "something denies it trace memory or a "
				   "socket (ulimit -f or -v, seccomp)",
				   program);
	return true;
}

/* Rules that the program has no event for: which are meant? */
static void explain_rules(const struct sonde_record_options *options,
			  const char *program, struct sonde_summary *summary)
{
	const char *rule = options->session.rules;
	struct sonde_nearest nearest;

	if (!summary->nr_processes)
		return;
	for (; *rule; rule += strlen(rule) + 1)
		/* Most often it is this. */
		if (strcmp(rule, "+*") != 0 &&
		    !sonde_list_has(program, rule + 1, &nearest) &&
		    *sonde_nearest_hint(&nearest))
			sonde_summary_note(
				summary,
				"%s %.100s: %.100s has no such event%s",
				*rule == '-' ? "--exclude" : "-e", rule + 1,
				program, sonde_nearest_hint(&nearest));
}

static void show(const struct sonde_record_options *options,
		 struct sonde_front_result *result, const char *directory,
		 const char *program)
{
	struct sonde_summary_style style = {
		.directory = directory,
		.memory_bytes = options->session.memory_bytes,
		.kernel_memory_bytes = options->session.kernel.memory_bytes,
		.nr_cpus = sonde_nr_online_cpus(),
		.has_program = options->program != NULL,
		.has_kernel = result->has_kernel,
		.color = isatty(STDERR_FILENO) && !secure_getenv("NO_COLOR"),
		.hooks = options->session.has_hooks,
		.verbose = options->verbose,
		.quiet = options->quiet,
	};

	if (!result->have_summary)
		return;
	style.is_explained = options->session.attaches ||
			     (options->program &&
			      explain_nothing(program, &result->summary));
	if (options->program)
		explain_rules(options, program, &result->summary);
	if (options->json)
		sonde_summary_print_json(&result->summary, &style, stderr);
	else
		sonde_summary_print(&result->summary, &style, stderr);
}

static int exit_status(const struct sonde_record_options *options,
		       const struct sonde_front_result *result)
{
	/* A signal is the way to end a recording of the machine. */
	if (!options->program)
		return result->have_summary ? 0 : EXIT_FAILED;
	if (!result->have_status)
		return EXIT_SIGNAL_BASE + result->stop_signal;
	if (WIFSIGNALED(result->status))
		return EXIT_SIGNAL_BASE + WTERMSIG(result->status);
	return WEXITSTATUS(result->status);
}

/* Everything is there but the directory. */
static int record_into_directory(const struct sonde_record_options *options,
				 struct sonde_front_config *config)
{
	static struct sonde_front_result result;
	struct sonde_place place = SONDE_PLACE_NONE;
	char directory[PATH_MAX];
	char text[400];
	int rc;

	if (sonde_command_make_directory(options->output, directory,
					 sizeof(directory), &place))
		return EXIT_FAILED;
	config->directory = directory;
	config->place = &place;
	if (options->verbose)
		sonde_complain("recording %.200s into %.200s",
			       options->program ? config->program_path :
			       options->session.attaches ? "what runs already" :
							   "the machine",
			       directory);
	/* what a recorder that was killed has left in the kernel */
	if (options->session.kernel.rules &&
	    sonde_doctor_clean(text, sizeof(text)) > 0)
		sonde_complain("%s", text);
	rc = sonde_front_run(config, &result);
	if (rc) {
		/* What was made for the program goes. */
		sonde_place_remove(&place);
		return explain_failure(&result, rc);
	}
	find_directory(&place, &result, directory);
	show(options, &result, directory, config->program_path);
	sonde_place_close(&place);
	return exit_status(options, &result);
}

static int record(struct sonde_record_options *options)
{
	struct sonde_front_hooks table;
	char program[PATH_MAX];
	char preload[PATH_MAX] = "";
	struct sonde_front_config config = {
		.session = &options->session,
		.program = options->program,
		.quiet = options->quiet,
		.program_path = program,
		.hooks = hooks(options),
		.say = say,
	};
	int rc = sonde_command_check_memory(options);

	if (!rc && options->program)
		rc = find_program(options->program[0], program);
	if (!rc)
		rc = find_preload(options, preload);
	if (!rc)
		rc = sonde_command_attach_hooks(options, &table,
						&config.attach_hooks);
	if (rc)
		return rc;
	config.preload = *preload ? preload : NULL;
	return record_into_directory(options, &config);
}

static int run(int argc, char **argv)
{
	static struct sonde_record_options options;
	char error[512];

	if (sonde_record_options_parse(argc, argv, &options, error,
				       sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options.help) {
		sonde_help(&sonde_command_record);
		return 0;
	}
	sonde_command_fit_memory(&options);
	return record(&options);
}

const struct sonde_command sonde_command_record = {
	.name = "record",
	.run = run,
	.brief = "[options] -- PROGRAM [ARGS]",
	.does = "run and record; with -p, what runs",
	.usage = "sonde record [options] -- PROGRAM [ARGS]\n"
		 "sonde record -p PID|NAME [options]\n"
		 "sonde record -a -k RULES [options]\n",
	.options = sonde_record_option_table,
	.notes = "The exit status is the program's, 128 + N if signal N killed "
		 "it.\n",
	.words = SONDE_VALUE_PROGRAM,
	.ends_at_word = true,
};
