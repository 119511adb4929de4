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
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/recording.h"
#include "ctf/directory.h"
#include "doctor/doctor.h"
#include "ring/hello.h"
#include "ring/layout.h"
#include "session/budget.h"
#include "session/cgroup.h"
#include "session/declared.h"
#include "session/frontend.h"
#include "session/options.h"
#include "sys/cpus.h"
#include "view/text/show.h"

/* Somebody may have moved it: `path` is where it is then. */
static void find_directory(const struct sonde_directory *place,
			   struct sonde_frontend_result *result,
			   char path[PATH_MAX])
{
	char text[SONDE_NOTE_SIZE];
	char now[PATH_MAX];
	char safe[SONDE_NOTE_SIZE];
	int rc;

	if (sonde_directory_is_at(place, path))
		return;
	rc = sonde_directory_where(place, now);
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

static void show(const struct sonde_record_options *options,
		 struct sonde_frontend_result *result, const char *directory,
		 const char *program)
{
	struct sonde_summary_style style = {
		.directory = directory,
		.memory_bytes = options->session.memory_bytes,
		.kernel_memory_bytes = options->session.kernel.memory_bytes,
		.nr_cpus = sonde_cpus_online(),
		.has_program = options->program != NULL,
		.has_kernel = result->has_kernel,
		.color = isatty(STDERR_FILENO) && !secure_getenv("NO_COLOR"),
		.hooks = options->session.has_hooks,
		.verbose = options->verbose,
		.quiet = options->quiet,
	};

	if (!result->have_summary)
		return;
	style.is_explained =
		options->session.attaches ||
		(options->program &&
		 sonde_command_explain_nothing(program, &result->summary));
	if (options->program)
		sonde_command_explain_rules(options, program, &result->summary);
	if (options->json)
		sonde_summary_print_json(&result->summary, &style, stderr);
	else
		sonde_summary_print(&result->summary, &style, stderr);
}

/* Everything is there but the directory. */
static int record_into_directory(const struct sonde_record_options *options,
				 struct sonde_frontend_config *config)
{
	static struct sonde_frontend_result result;
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	char directory[PATH_MAX];
	char text[400];
	int rc;

	if (sonde_command_make_directory(options->output, directory,
					 sizeof(directory), &place))
		return SONDE_EXIT_FAILED;
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
	rc = sonde_frontend_run(config, &result);
	if (rc) {
		/* What was made for the program goes. */
		sonde_directory_remove(&place);
		return sonde_command_explain_failure(&result, rc);
	}
	find_directory(&place, &result, directory);
	show(options, &result, directory, config->program_path);
	sonde_directory_close(&place);
	return sonde_command_exit_status(options, &result);
}

/* A directory of ours, made if it isn't there, for the program's environment. */
static bool set_arena(const char *path)
{
	struct sonde_directory_error error = { "" };
	char whole[PATH_MAX];
	bool is_good;
	int dir;

	if (mkdir(path, S_IRWXU) && errno != EEXIST) {
		sonde_complain("--arena %s: %s", path, strerrordesc_np(errno));
		return false;
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !realpath(path, whole)) {
		sonde_complain("--arena %s: %s", path, strerrordesc_np(errno));
		is_good = false;
	} else {
		is_good = !sonde_directory_check(dir, path, &error);
		if (!is_good)
			sonde_complain("--arena: %s", error.text);
	}
	if (dir >= 0)
		(void)close(dir); /* it was only looked at */
	/* one thread NOLINTNEXTLINE(concurrency-mt-unsafe) */
	return is_good && !setenv(SONDE_ARENA_ENV, whole, 1);
}

int sonde_command_record_run(struct sonde_record_options *options)
{
	struct sonde_command_start start;
	int rc;

	if (options->arena && !set_arena(options->arena))
		return SONDE_EXIT_FAILED;
	rc = sonde_command_prepare_recording(options, &start);
	return rc ? rc : record_into_directory(options, &start.config);
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
	return sonde_command_record_run(&options);
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
