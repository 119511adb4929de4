/* SPDX-License-Identifier: MIT */
/*
 * recording.c - memory that fits this machine and the directory of a trace,
 * before anything is recorded (recording.h).
 *
 * Only sizes that the user didn't give are changed. What can't work is said
 * before the directory is made.
 */
#include "cmd/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/time.h"
#include "cmd/attach_hooks.h"
#include "cmd/cmd.h"
#include "session/budget.h"
#include "session/cgroup.h"
#include "sys/cpus.h"

/* Kernel events take so much, whatever control groups leave us. */
#define SONDE_SOURCE_MEMORY_LEAST (1ull << 20)

/*
 * ./sonde-20250131-235959, and with a number if that is taken. Making it is
 * what takes it: another recording may start this very second.
 */
static int make_dated(char *out, size_t size, struct sonde_directory *ret_place,
		      struct sonde_directory_error *error)
{
	time_t now = time(NULL);
	struct tm local;
	char stamp[32];
	int rc = -EEXIST;

	(void)localtime_r(&now, &local);
	(void)strftime(stamp, sizeof(stamp), "sonde-%Y%m%d-%H%M%S", &local);
	(void)snprintf(out, size, "%s", stamp);
	for (int i = 2; i < 1000; i++) {
		rc = sonde_directory_make_new(out, ret_place, error);
		if (rc != -EEXIST)
			return rc;
		(void)snprintf(out, size, "%s-%d", stamp, i);
	}
	return rc;
}

/* The trace's directory, whose path is `out` then. Or complains. */
int sonde_command_make_directory(const char *output, char *out, size_t size,
				 struct sonde_directory *ret_place)
{
	struct sonde_directory_error error = { "" };
	int rc;

	if (output) {
		(void)snprintf(out, size, "%s", output);
		rc = sonde_directory_make(out, ret_place, &error);
	} else {
		rc = make_dated(out, size, ret_place, &error);
	}
	if (rc)
		sonde_complain("%s", error.text);
	return rc;
}

void sonde_command_scratch_name(const char *kind, const char *folder,
				char path[PATH_MAX])
{
	const char *top = secure_getenv("TMPDIR");

	(void)snprintf(path, PATH_MAX, "%.4000s/sonde-%s-%d-%" PRIx64,
		       top && *top == '/' ? top : folder, kind, getpid(),
		       sonde_monotonic_ns());
}

/* The budget of memory that a recording will share out. */
static struct sonde_budget budget_of(const struct sonde_record_options *options,
				     uint64_t memory_bytes)
{
	return (struct sonde_budget){
		.total_bytes = memory_bytes,
		.nr_possible = sonde_cpus_possible(),
		.nr_online = sonde_cpus_online(),
		.subbuf_bytes = options->session.subbuf_bytes,
		.stacks_depth = sonde_session_program_stacks(&options->session),
		.mode = options->session.mode,
	};
}

/* Whether the memory is enough for one process. Here, for it depends on the
 * number of CPUs. */
int sonde_command_check_memory(const struct sonde_record_options *options)
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
void sonde_command_fit_memory(struct sonde_record_options *options)
{
	bool kernel_given = options->session.kernel.memory_bytes != 0;
	uint64_t left = sonde_cgroup_left("");

	if (!kernel_given)
		options->session.kernel.memory_bytes =
			SONDE_SOURCE_MEMORY_PER_CPU * sonde_cpus_online();
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

int sonde_command_prepare(struct sonde_record_options *options,
			  struct sonde_command_start *ret_start)
{
	int rc = sonde_command_hooks(options, ret_start->hooks);

	*ret_start->preload = '\0';
	ret_start->config = (struct sonde_frontend_config){
		.session = &options->session,
		.program = options->program,
		.quiet = options->quiet,
		.program_path = ret_start->program,
		.hooks = ret_start->hooks,
		.say = sonde_complain_text,
	};
	if (!rc && options->program)
		rc = sonde_command_find_program(options->program[0],
						ret_start->program);
	if (!rc)
		rc = sonde_command_find_preload(options, ret_start->program,
						ret_start->preload);
	if (*ret_start->preload) {
		ret_start->config.preload = ret_start->preload;
		options->session.hooks = ret_start->hooks;
	}
	if (!rc)
		rc = sonde_command_attach_hooks(
			options, &ret_start->table,
			&ret_start->config.attach_hooks);
	return rc;
}

int sonde_command_prepare_recording(struct sonde_record_options *options,
				    struct sonde_command_start *ret_start)
{
	int rc;

	sonde_command_fit_memory(options);
	rc = sonde_command_check_memory(options);
	return rc ? rc : sonde_command_prepare(options, ret_start);
}
