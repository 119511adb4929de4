/* SPDX-License-Identifier: MIT */
/*
 * recording_messages.c - the program of a recording, and what is said of how it
 * went (recording.h).
 *
 * Complaints name what was asked for; notes go into the summary.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nearest.h"
#include "clock/calibrate.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/recording.h"
#include "ring/layout.h"
#include "session/declared.h"
#include "sys/program.h"

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127
#define EXIT_SIGNAL_BASE    128

int sonde_command_find_program(const char *name, char path[PATH_MAX])
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
		sonde_complain("%.200s: can't be executed (%s)%s", name,
			       strerrordesc_np(-rc),
			       access(path, F_OK) ? "" : "; try chmod +x");
		return EXIT_NOT_EXECUTABLE;
	}
}

int sonde_command_find_preload(const struct sonde_record_options *options,
			       const char *program, char path[PATH_MAX])
{
	bool is_needed = options->session.has_hooks;
	/* Functions that are compiled to call something when they begin, and
	 * are recorded by probes: let it be ours, which does nothing. */
	bool is_wanted =
		options->nr_functions && options->program &&
		sonde_program_names(program, "__fentry__") &&
		!sonde_program_reason(sonde_program_look(AT_FDCWD, program));
	int rc;

	if (options->session.attaches || (!is_needed && !is_wanted))
		return 0;
	rc = sonde_launch_find_helper(&sonde_launch_preload,
				      SONDE_LIBDIR_FROM_BINDIR, SONDE_LIBDIR,
				      path);
	if (rc && !is_needed)
		*path = '\0'; /* gprof's does as well, and takes longer */
	if (!rc || !is_needed)
		return 0;
	if (rc == -EINVAL)
		sonde_complain("%.200s: a blank or colon in its path keeps the "
			       "loader from preloading it; move it, and set "
			       "SONDE_PRELOAD_DIR",
			       path);
	else
		sonde_complain(
			"libsonde-preload.so is not in %s; --malloc, "
			"--locks, --io and --functions need it: install it, "
			"or set SONDE_PRELOAD_DIR",
			secure_getenv("SONDE_PRELOAD_DIR") ?
				"SONDE_PRELOAD_DIR" :
				SONDE_LIBDIR);
	return SONDE_EXIT_FAILED;
}

int sonde_command_load(const char *who,
		       const struct sonde_launch_helper *helper,
		       const char *const names[], void *ret_functions[])
{
	const char *why;

	if (!sonde_launch_open_helper(helper, SONDE_LIBDIR_FROM_BINDIR,
				      SONDE_LIBDIR, names, ret_functions, &why))
		return 0;
	if (why)
		sonde_complain("%s: can't open %.500s", who, why);
	else
		sonde_complain("%s: %s is not in %s: install it", who,
			       helper->name, SONDE_LIBDIR);
	return SONDE_EXIT_FAILED;
}

int sonde_command_function_rule(const struct sonde_record_options *options,
				struct sonde_shadow_rule *ret)
{
	struct sonde_clock clock;

	*ret = (struct sonde_shadow_rule){ .depth = options->functions_depth };
	ret->is_on = options->functions_depth || options->functions_min_ns;
	if (!options->functions_min_ns)
		return 0;
	sonde_clock_choose(true, &clock);
	if (clock.source != SONDE_CLOCK_SOURCE_CPU) {
		sonde_complain("--min-duration: the CPU's counter is no clock "
			       "here (sonde doctor says why), and a reading of "
			       "another would cost more than most calls; leave "
			       "it out, and give it to sonde print --tree");
		return SONDE_EXIT_FAILED;
	}
	ret->min_ticks = (uint64_t)((double)options->functions_min_ns *
				    (double)clock.freq / 1e9);
	return 0;
}

int sonde_command_hooks(const struct sonde_record_options *options,
			char text[SONDE_HOOKS_TEXT])
{
	struct sonde_shadow_rule rule;
	int rc = sonde_command_function_rule(options, &rule);
	int used =
		snprintf(text, SONDE_HOOKS_TEXT, "%s%s%s%s%s",
			 options->hooks & SONDE_RECORD_MALLOC ? "malloc," : "",
			 options->hooks & SONDE_RECORD_LOCKS ? "locks," : "",
			 options->hooks & SONDE_RECORD_IO ? "io," : "",
			 options->hooks & SONDE_RECORD_LOG ? "log," : "",
			 options->hook_functions ? "functions," : "");

	if (!rc && rule.is_on)
		(void)snprintf(text + used, SONDE_HOOKS_TEXT - (size_t)used,
			       "rule=%" PRIu64 ":%" PRIu32 ",", rule.min_ticks,
			       rule.depth);
	return rc;
}

int sonde_command_explain_failure(const struct sonde_frontend_result *result,
				  int rc)
{
	sonde_complain("%s", result->failed);
	if (result->stop_signal)
		return EXIT_SIGNAL_BASE + result->stop_signal;
	if (result->wrong_rules)
		return SONDE_EXIT_USAGE;
	if (!result->exec_failed)
		return SONDE_EXIT_FAILED;
	return rc == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static bool has_tracepoints(const char *program)
{
	struct sonde_declared *declared = sonde_declared_new("", 1, 0);
	int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool has = declared && fd >= 0 &&
		   sonde_declared_has_tracepoints(declared, fd);

	if (fd >= 0)
		(void)close(fd); /* it was only read */
	sonde_declared_free(declared);
	return has;
}

bool sonde_command_explain_nothing(const char *program,
				   struct sonde_summary *summary)
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

void sonde_command_explain_rules(const struct sonde_record_options *options,
				 const char *program,
				 struct sonde_summary *summary)
{
	const char *rule = options->session.rules;
	struct sonde_nearest nearest;

	if (!summary->nr_processes)
		return;
	for (; *rule; rule += strlen(rule) + 1)
		/* Most often it is this. */
		if (strcmp(rule, "+*") != 0 &&
		    strncmp(rule + 1, "sdt:", 4) != 0 &&
		    !sonde_list_has(program, rule + 1, &nearest) &&
		    *sonde_nearest_hint(&nearest))
			sonde_summary_note(
				summary,
				"%s %.100s: %.100s has no such event%s",
				*rule == '-' ? "--exclude" : "-e", rule + 1,
				program, sonde_nearest_hint(&nearest));
}

int sonde_command_exit_status(const struct sonde_record_options *options,
			      const struct sonde_frontend_result *result)
{
	/* A signal is the way to end a recording of the machine. */
	if (!options->program)
		return result->have_summary ? 0 : SONDE_EXIT_FAILED;
	if (!result->have_status)
		return EXIT_SIGNAL_BASE + result->stop_signal;
	if (WIFSIGNALED(result->status))
		return EXIT_SIGNAL_BASE + WTERMSIG(result->status);
	return WEXITSTATUS(result->status);
}
