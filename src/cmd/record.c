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
#include "ctf/place.h"
#include "ring/layout.h"
#include "session/budget.h"
#include "session/census.h"
#include "session/cgroup.h"
#include "session/front.h"
#include "session/kin.h"
#include "session/options.h"
#include "source/doctor.h"
#include "view/text/show.h"

/* Kernel events take so much, whatever control groups leave us. */
#define SONDE_SOURCE_MEMORY_LEAST (1ull << 20)

#define EXIT_FAILED               1
#define EXIT_NOT_EXECUTABLE       126
#define EXIT_NOT_FOUND            127
#define EXIT_SIGNAL_BASE          128

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

	if (!options->session.has_hooks)
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

/*
 * ./sonde-20250131-235959, and with a number if that is taken. Making it is
 * what takes it: another recording may start this very second.
 */
static int make_dated(char *out, size_t size, struct sonde_place *ret_place,
		      struct sonde_place_error *error)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	int rc = -EEXIST;

	(void)localtime_r(&now, &local);
	(void)strftime(stamp, sizeof(stamp), "sonde-%Y%m%d-%H%M%S", &local);
	(void)snprintf(out, size, "%s", stamp);
	for (int i = 2; i < 1000; i++) {
		rc = sonde_place_make_new(out, ret_place, error);
		if (rc != -EEXIST)
			return rc;
		(void)snprintf(out, size, "%s-%d", stamp, i);
	}
	return rc;
}

/* The trace's directory, whose path is `out` then. Or complains. */
static int make_directory(const struct sonde_record_options *options, char *out,
			  size_t size, struct sonde_place *ret_place)
{
	struct sonde_place_error error = { "" };
	int rc;

	if (options->output) {
		(void)snprintf(out, size, "%s", options->output);
		rc = sonde_place_make(out, ret_place, &error);
	} else {
		rc = make_dated(out, size, ret_place, &error);
	}
	if (rc)
		sonde_complain("%s", error.text);
	return rc;
}

static void say(const char *text)
{
	sonde_complain("%s", text);
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

/* In the summary, or at once if there is none. */
static void note(struct sonde_front_result *result, const char *text)
{
	if (result->have_summary)
		sonde_summary_note_first(&result->summary, text);
	else
		sonde_complain("%s", text);
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
	note(result, text);
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

/* Nothing was selected: of the events that were named, which are meant? */
static void explain_rules(const struct sonde_record_options *options,
			  const char *program, struct sonde_summary *summary)
{
	const char *rule = options->session.rules;
	struct sonde_nearest nearest;

	if (!summary->nr_processes || summary->nr_event_types)
		return;
	for (; *rule; rule += strlen(rule) + 1) {
		if (*rule != '+' || strpbrk(rule, "*?["))
			continue;
		sonde_nearest_begin(&nearest, rule + 1);
		sonde_list_try(program, &nearest);
		if (*sonde_nearest_hint(&nearest))
			sonde_summary_note(summary,
					   "-e %.100s: no such event%s",
					   rule + 1,
					   sonde_nearest_hint(&nearest));
	}
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

/* What a recording will share out. */
static struct sonde_budget budget_of(const struct sonde_record_options *options,
				     uint64_t memory_bytes)
{
	return (struct sonde_budget){
		.total_bytes = memory_bytes,
		.nr_possible = sonde_nr_possible_cpus(),
		.nr_online = sonde_nr_online_cpus(),
		.subbuf_bytes = options->session.subbuf_bytes,
		.mode = options->session.mode,
	};
}

/* Whether the memory is enough for one process. Here, for it depends on the
 * number of CPUs. */
static int check_memory(const struct sonde_record_options *options)
{
	struct sonde_budget budget =
		budget_of(options, options->session.memory_bytes);
	char size[32];

	if (sonde_budget_largest_subbuf(&budget))
		return 0;
	while (budget.total_bytes < SONDE_MEMORY_MAX) {
		budget.total_bytes *= 2;
		if (!sonde_budget_largest_subbuf(&budget))
			continue;
		sonde_complain("--memory and --subbuf leave no room for even "
			       "one process on %u CPUs; give --memory %s, or "
			       "a smaller --subbuf",
			       budget.nr_online,
			       sonde_number_put_size(budget.total_bytes, size,
						     sizeof(size)));
		return SONDE_EXIT_USAGE;
	}
	sonde_complain("--subbuf is too large for the rings of one process on "
		       "%u CPUs, whatever --memory is; give a smaller one",
		       budget.nr_possible);
	return SONDE_EXIT_USAGE;
}

static void warn_of_group(const char *option, uint64_t bytes, uint64_t left)
{
	char size[32];
	char rest[32];

	sonde_complain("--%s %s is more than a quarter of the %s that the "
		       "memory control group has left: the program may be "
		       "killed for want of memory",
		       option, sonde_number_put_size(bytes, size, sizeof(size)),
		       sonde_number_put_size(left >> 10 << 10, rest,
					     sizeof(rest)));
}

/* A quarter of what is left, if that is less than the default; but so much that
 * there can be a recording. */
static uint64_t fitting(uint64_t wanted, uint64_t least, uint64_t left)
{
	uint64_t quarter = left / 4 / SONDE_MEMORY_MIN * SONDE_MEMORY_MIN;

	if (wanted <= quarter)
		return wanted;
	return quarter > least ? quarter : least;
}

/* The least that is enough for one process. */
static uint64_t least_memory(const struct sonde_record_options *options)
{
	struct sonde_budget budget = budget_of(options, SONDE_MEMORY_MIN);

	while (budget.total_bytes < options->session.memory_bytes &&
	       !sonde_budget_largest_subbuf(&budget))
		budget.total_bytes *= 2;
	return budget.total_bytes;
}

/* The defaults follow the memory that control groups leave us, for the program
 * is killed where they are full. */
static void fit_memory(struct sonde_record_options *options, bool kernel_given)
{
	uint64_t left = sonde_cgroup_left("");

	if (left == UINT64_MAX)
		return;
	if (!options->memory_given)
		options->session.memory_bytes =
			fitting(options->session.memory_bytes,
				least_memory(options), left);
	if (!kernel_given)
		options->session.kernel.memory_bytes =
			fitting(options->session.kernel.memory_bytes,
				SONDE_SOURCE_MEMORY_LEAST, left);
	if (options->program && options->session.memory_bytes > left / 4)
		warn_of_group("memory", options->session.memory_bytes, left);
	if (options->session.kernel.rules &&
	    options->session.kernel.memory_bytes > left / 4)
		warn_of_group("kernel-memory",
			      options->session.kernel.memory_bytes, left);
}

/* What a recorder that was killed has left in the kernel. */
static void clean_up(void)
{
	char text[400];

	if (sonde_source_clean(text, sizeof(text)) > 0)
		sonde_complain("%s", text);
}

/* Everything is there but the directory. */
static int record_into_directory(const struct sonde_record_options *options,
				 struct sonde_front_config *config)
{
	static struct sonde_front_result result;
	struct sonde_place place = SONDE_PLACE_NONE;
	char directory[PATH_MAX];
	int rc;

	if (make_directory(options, directory, sizeof(directory), &place))
		return EXIT_FAILED;
	config->directory = directory;
	config->place = &place;
	if (options->verbose)
		sonde_complain("recording %.200s into %.200s",
			       options->program ? config->program_path :
			       options->session.attaches ? "what runs already" :
							   "the machine",
			       directory);
	if (options->session.kernel.rules)
		clean_up();
	if (!sonde_session_has_programs(&options->session) && !options->quiet)
		sonde_complain("recording the machine; Ctrl-C ends it");
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

static int record(const struct sonde_record_options *options)
{
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
	int rc = check_memory(options);

	if (!rc && options->program)
		rc = find_program(options->program[0], program);
	if (!rc)
		rc = find_preload(options, preload);
	if (rc)
		return rc;
	config.preload = *preload ? preload : NULL;
	return record_into_directory(options, &config);
}

static int run(int argc, char **argv)
{
	static struct sonde_record_options options;
	bool kernel_given;
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
	kernel_given = options.session.kernel.memory_bytes != 0;
	if (!kernel_given)
		options.session.kernel.memory_bytes =
			SONDE_SOURCE_MEMORY_PER_CPU * sonde_nr_online_cpus();
	fit_memory(&options, kernel_given);
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
