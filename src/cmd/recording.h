/* SPDX-License-Identifier: MIT */
/*
 * recording.h - what commands share that record or count: memory that fits this
 * machine, the directory of the trace, the program, and what is said of how it
 * went.
 *
 * They complain themselves.
 */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "ctf/directory.h"
#include "ring/shadow.h"
#include "session/frontend.h"
#include "session/frontend_hooks.h"
#include "session/launch.h"
#include "session/options.h"

#define SONDE_EXIT_FAILED 1
#define SONDE_HOOKS_TEXT  96

/* Sizes that were not given follow the machine, and the memory that control
 * groups leave us. */
void sonde_command_fit_memory(struct sonde_record_options *options);

/* Whether the memory is enough for one process. 0, or an exit status. */
int sonde_command_check_memory(const struct sonde_record_options *options);

/* The trace's directory, whose path is `out` then: `output`, or one that
 * is called by the time if that is NULL. 0, or -errno: it was said why. */
int sonde_command_make_directory(const char *output, char *out, size_t size,
				 struct sonde_directory *ret_place);

/* The name of a directory for a trace that goes again, below $TMPDIR, or else
 * `folder`. */
void sonde_command_scratch_name(const char *kind, const char *folder,
				char path[PATH_MAX]);

/* The program's path, and that of what is preloaded into it (or unchanged): of
 * `program`, which is that path. 0, or an exit status. */
int sonde_command_find_program(const char *name, char path[PATH_MAX]);
int sonde_command_find_preload(const struct sonde_record_options *options,
			       const char *program, char path[PATH_MAX]);

/* Opens a library of ours for good, and finds the functions in it. 0, or an exit
 * status: said why, with `who` before it. */
int sonde_command_load(const char *who,
		       const struct sonde_launch_helper *helper,
		       const char *const names[], void *ret_functions[]);

/* Which calls of functions are recorded; by this machine's clock. 0, or an exit
 * status. */
int sonde_command_function_rule(const struct sonde_record_options *options,
				struct sonde_shadow_rule *ret);

/* The calls that are recorded (session/launch.h). 0, or an exit status. */
int sonde_command_hooks(const struct sonde_record_options *options,
			char text[SONDE_HOOKS_TEXT]);

/* What a front end is told, and what that points to; as long as it runs. */
struct sonde_command_start {
	struct sonde_frontend_config config;
	struct sonde_frontend_hooks table;
	char program[PATH_MAX];
	char preload[PATH_MAX];
	char hooks[SONDE_HOOKS_TEXT];
};

/* The program, and what is preloaded into it. 0, or an exit status. */
int sonde_command_prepare(struct sonde_record_options *options,
			  struct sonde_command_start *ret_start);
/* The same, with the memory of a recording, and what is put into processes that
 * run. */
int sonde_command_prepare_recording(struct sonde_record_options *options,
				    struct sonde_command_start *ret_start);

/* Records; the exit status. */
int sonde_command_record_run(struct sonde_record_options *options);

/* Says why nothing began; the exit status of that. */
int sonde_command_explain_failure(const struct sonde_frontend_result *result,
				  int rc);

/* Notes why no process was recorded, as far as it can be known. False: not at
 * all. */
bool sonde_command_explain_nothing(const char *program,
				   struct sonde_summary *summary);

/* Notes rules that the program has no event for: which are meant? */
void sonde_command_explain_rules(const struct sonde_record_options *options,
				 const char *program,
				 struct sonde_summary *summary);

/* The program's, or how the recording ended. */
int sonde_command_exit_status(const struct sonde_record_options *options,
			      const struct sonde_frontend_result *result);

#endif /* CMD_RECORDING_H */
