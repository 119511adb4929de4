/* SPDX-License-Identifier: MIT */
/*
 * record.c - `sonde record`: from words to a recording, and from its result to
 * a screen and an exit status.
 */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "kernel/able.h"
#include "session/budget.h"
#include "session/front.h"
#include "session/kin.h"

#define EXIT_FAILED         1
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127
#define EXIT_SIGNAL_BASE    128

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

	if (!options->hook_malloc && !options->hook_locks)
		return 0;
	rc = sonde_launch_find_preload(SONDE_LIBDIR, path);
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
 * what takes it: another recording may start this very second. What else keeps
 * it from being made, the recorder finds out again, and tells. Returns whether
 * the directory is ours: made, or about to be.
 */
static bool choose_directory(const struct sonde_record_options *options,
			     char *out, size_t size)
{
	int rc;

	time_t now = time(NULL);
	struct tm local;
	char stamp[32];

	if (options->output) {
		(void)snprintf(out, size, "%s", options->output);
		return access(out, F_OK) && errno == ENOENT;
	}
	(void)localtime_r(&now, &local);
	(void)strftime(stamp, sizeof(stamp), "sonde-%Y%m%d-%H%M%S", &local);
	(void)snprintf(out, size, "%s", stamp);
	rc = mkdir(out, 0777);
	for (int i = 2; rc && errno == EEXIST && i < 1000; i++) {
		(void)snprintf(out, size, "%s-%d", stamp, i);
		rc = mkdir(out, 0777);
	}
	return !rc;
}

static void say(const char *text)
{
	sonde_complain("%s", text);
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	(void)remove(path); /* what can't be removed stays */
	return 0;
}

/* What the recorder made; it has ended. */
static void remove_tree(const char *path)
{
	/* No other thread is left. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	(void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The program didn't start: what was made for it goes, if nothing is in it.
 * The directory itself was empty, but may be the user's. */
static void remove_trace(const char *directory, bool is_ours)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/index", directory);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/metadata", directory);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/kernel", directory);
	remove_tree(path);
	(void)snprintf(path, sizeof(path), "%s/user", directory);
	remove_tree(path);
	if (is_ours)
		(void)rmdir(directory);
}

static int explain_failure(const struct sonde_front_result *result, int rc,
			   const char *directory, bool is_ours)
{
	if (rc == -ENOTEMPTY || rc == -EEXIST) {
		sonde_complain("%.200s: there is something in it already; give "
			       "another directory with -o, or remove it",
			       directory);
		return EXIT_FAILED;
	}
	sonde_complain("%s", result->failed);
	if (is_ours || result->has_directory)
		remove_trace(directory, is_ours);
	if (result->stop_signal)
		return EXIT_SIGNAL_BASE + result->stop_signal;
	if (result->wrong_rules)
		return SONDE_EXIT_USAGE;
	if (!result->exec_failed)
		return EXIT_FAILED;
	return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void show(const struct sonde_record_options *options,
		 const struct sonde_front_result *result, const char *directory)
{
	struct sonde_summary_style style = {
		.directory = directory,
		.memory_bytes = options->memory_bytes,
		.kernel_memory_bytes = options->kernel_memory_bytes,
		.nr_cpus = sonde_nr_online_cpus(),
		.has_program = options->program != NULL,
		.has_kernel = result->has_kernel,
		.color = isatty(STDERR_FILENO) && !secure_getenv("NO_COLOR"),
		.hooks = options->hook_malloc || options->hook_locks,
		.quiet = options->quiet,
	};

	if (!result->have_summary)
		return;
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

/* Whether the memory is enough for one process. Here, for it depends on the
 * number of CPUs. */
static int check_memory(const struct sonde_record_options *options)
{
	struct sonde_budget budget = {
		.total_bytes = options->memory_bytes,
		.nr_possible = sonde_nr_possible_cpus(),
		.nr_online = sonde_nr_online_cpus(),
		.subbuf_bytes = options->subbuf_bytes,
		.mode = options->mode,
	};
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
			       sonde_format_size(budget.total_bytes, size,
						 sizeof(size)));
		return SONDE_EXIT_USAGE;
	}
	sonde_complain("--subbuf is too large for the rings of one process on "
		       "%u CPUs, whatever --memory is; give a smaller one",
		       budget.nr_possible);
	return SONDE_EXIT_USAGE;
}

/* What a recorder that was killed has left in the kernel. */
static void clean_up(void)
{
	char text[400];

	if (sonde_kernel_clean(text, sizeof(text)) > 0)
		sonde_complain("%s", text);
}

static int record(const struct sonde_record_options *options)
{
	static struct sonde_front_result result;
	char program[PATH_MAX];
	char preload[PATH_MAX] = "";
	char directory[PATH_MAX];
	struct sonde_front_config config = {
		.options = options,
		.directory = directory,
		.program_path = program,
		.hooks = hooks(options),
		.say = say,
	};
	bool is_ours;
	int rc = check_memory(options);

	if (!rc && options->program)
		rc = find_program(options->program[0], program);
	if (!rc)
		rc = find_preload(options, preload);
	if (rc)
		return rc;
	config.preload = *preload ? preload : NULL;
	is_ours = choose_directory(options, directory, sizeof(directory));
	if (options->verbose)
		sonde_complain("recording %.200s into %.200s",
			       options->program ? program : "the machine",
			       directory);
	if (options->kernel_rules)
		clean_up();
	if (!options->program && !options->quiet)
		sonde_complain("recording the machine; Ctrl-C ends it");
	rc = sonde_front_run(&config, &result);
	if (rc)
		return explain_failure(&result, rc, directory, is_ours);
	show(options, &result, directory);
	return exit_status(options, &result);
}

int sonde_cmd_record(int argc, char **argv)
{
	static struct sonde_record_options options;
	char error[512];

	if (sonde_record_options_parse(argc, argv, &options, error,
				       sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options.help) {
		sonde_help_record();
		return 0;
	}
	if (!options.kernel_memory_bytes)
		options.kernel_memory_bytes =
			SONDE_KERNEL_MEMORY_PER_CPU * sonde_nr_online_cpus();
	return record(&options);
}
