/* SPDX-License-Identifier: MIT */
/*
 * config.c - see config.h: the one place that says what can't be recorded.
 */
#include "session/config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "session/rules.h"

struct complaint {
	char *text;
	size_t size;
};

#define fail(complaint, ...)                                          \
	sonde_text_say((complaint)->text, (complaint)->size, -EINVAL, \
		       __VA_ARGS__)

void sonde_session_config_init(struct sonde_session_config *ret_config)
{
	*ret_config = (struct sonde_session_config){
		.memory_bytes = SONDE_MEMORY_DEFAULT,
		.loglevel = SONDE_LOGLEVEL_ALL,
		.mode = SONDE_DISCARD,
		.rules_size = 1,
		.pins_size = 1,
		.kernel.string_bytes = SONDE_SOURCE_STRING_DEFAULT,
	};
}

const char *sonde_session_action_name(enum sonde_trigger_action action)
{
	static const char *const names[] = {
		[SONDE_DO_SNAPSHOT] = "snapshot", [SONDE_DO_STOP] = "stop",
		[SONDE_DO_RUN] = "run",           [SONDE_DO_NOTIFY] = "notify",
		[SONDE_DO_ROTATE] = "rotate",     [SONDE_DO_ASK] = "snapshot@",
	};

	return names[action];
}

int sonde_session_config_add(struct sonde_session_config *config, char sign,
			     const char *glob, char *error, size_t error_size)
{
	return sonde_session_rules_add(config->rules, &config->rules_size, sign,
				       glob, error, error_size);
}

/* What can't be done to a program that runs already. */
static int check_attach(const struct sonde_session_config *config,
			const struct complaint *complaint)
{
	if (!config->attaches)
		return 0;
	if (sonde_session_counts(config) && !config->has_hooks &&
	    (config->nr_conditions || config->nr_filters ||
	     config->mode == SONDE_TALLY))
		return fail(complaint,
			    "conditions, values and keys are for programs that "
			    "sonde has started, and for what --malloc, "
			    "--locks, --io and --functions put into others; of "
			    "one that runs with its own tracepoints, sonde "
			    "count counts all events that are selected");
	if ((config->nr_conditions || config->nr_filters) && !config->has_hooks)
		return fail(complaint,
			    "conditions are tested in programs that sonde "
			    "record has started, and by what --malloc, "
			    "--locks, --io and --functions put into others; "
			    "of one that runs with its own tracepoints, record "
			    "all and give --filter to sonde print");
	if (config->kernel.rules && !config->kernel.whole_machine &&
	    (config->kernel.rules->nr || config->kernel.nr_probes ||
	     !config->kernel.sample_hz))
		return fail(complaint,
			    "-k with -p records the kernel events of all of "
			    "the machine: add --all");
	if (config->is_realtime)
		return fail(
			complaint,
			"--realtime is for a program that sonde record "
			"starts, which maps its rings before anything else; "
			"one that runs maps them at an event");
	return 0;
}

static int check_what(const struct sonde_session_config *config,
		      const struct complaint *complaint)
{
	if (config->kernel.whole_machine && !config->kernel.rules)
		return fail(complaint,
			    "--all is about kernel events; say which, "
			    "such as -k sched,syscalls");
	if (config->kernel.sample_hz && config->mode != SONDE_DISCARD &&
	    config->mode != SONDE_OVERWRITE)
		return fail(complaint, "--sample is for --mode discard and "
				       "overwrite, which record events");
	if ((config->contexts || config->wants_ip) &&
	    !sonde_session_has_programs(config))
		return fail(complaint,
			    "--context is about events of programs: the "
			    "kernel's have tid, pid and, by --stack, stacks");
	if (config->kernel.until && !config->kernel.rules)
		return fail(complaint,
			    "--until waits for a kernel event; say with -k "
			    "or --sample what is recorded meanwhile");
	if (!sonde_session_has_programs(config) &&
	    !config->kernel.whole_machine)
		return fail(complaint,
			    "which program? Try: sonde %s -- PROGRAM ARGS; "
			    "-p PID for one that runs already%s",
			    sonde_session_counts(config) ? "count" : "record",
			    sonde_session_counts(config) ?
				    "" :
				    "; or all of the machine with -a -k "
				    "EVENTS");
	return 0;
}

static int check_chunks(const struct sonde_session_config *config,
			const struct complaint *complaint)
{
	if (!config->rotates)
		return config->keep_chunks || config->keep_bytes ||
				       config->compresses ?
			       fail(complaint,
				    "--keep and --compress are for a trace in "
				    "chunks: how many stay, and that they are "
				    "compressed; say with --rotate when one "
				    "ends") :
			       0;
	if (config->mode != SONDE_DISCARD)
		return fail(complaint,
			    "--rotate is for --mode discard, which writes "
			    "events as they come; of --mode overwrite, sonde "
			    "snapshot writes what there is");
	if (config->keep_bytes && config->keep_bytes / 2 < config->rotate_bytes)
		return fail(complaint,
			    "--keep is less than two chunks of --rotate: make "
			    "it larger, or chunks smaller");
	return 0;
}

static bool is_between(uint64_t value, uint64_t least, uint64_t most)
{
	return !value || (value >= least && value <= most);
}

static int check_sizes(const struct sonde_session_config *config,
		       const struct complaint *complaint)
{
	const struct sonde_session_kernel_config *kernel = &config->kernel;

	if (!config->memory_bytes ||
	    !is_between(config->memory_bytes, SONDE_MEMORY_MIN,
			SONDE_MEMORY_MAX) ||
	    !is_between(kernel->memory_bytes, SONDE_MEMORY_MIN,
			SONDE_MEMORY_MAX))
		return fail(complaint, "the memory is out of bounds");
	if (!is_between(config->subbuf_bytes, SONDE_SUBBUF_MIN,
			SONDE_SUBBUF_MAX) ||
	    (config->subbuf_bytes & (config->subbuf_bytes - 1)))
		return fail(complaint, "no size of sub-buffers");
	if (!is_between(config->read_timer_us, SONDE_READ_TIMER_MIN_US,
			SONDE_READ_TIMER_MAX_US) ||
	    config->duration_us > SONDE_DURATION_MAX_US)
		return fail(complaint, "a time is out of bounds");
	if (kernel->string_bytes > SONDE_SOURCE_BYTES_MAX ||
	    kernel->buffer_bytes > SONDE_SOURCE_BYTES_MAX ||
	    kernel->returns > SONDE_SOURCE_RETURNS_MAX)
		return fail(complaint, "a limit of kernel events is too large");
	if (config->subbuf_bytes > config->memory_bytes / 8)
		return fail(complaint,
			    "--subbuf is more than an eighth of --memory; "
			    "give --memory at least %" PRIu64 "k",
			    config->subbuf_bytes / UINT64_C(128));
	return 0;
}

int sonde_session_config_check(const struct sonde_session_config *config,
			       char *error, size_t error_size)
{
	const struct complaint complaint = { error, error_size };
	int rc = check_attach(config, &complaint);

	if (!rc)
		rc = check_what(config, &complaint);
	if (!rc)
		rc = check_chunks(config, &complaint);
	if (!rc && config->rules_size < 2)
		rc = fail(&complaint, "no rule selects an event");
	return rc ? rc : check_sizes(config, &complaint);
}
