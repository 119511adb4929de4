/* SPDX-License-Identifier: MIT */
/*
 * follow.c - a recording that is looked at while it goes on (follow.h).
 *
 * Without a session there is a recording as any other, into a directory that is
 * removed at the end; the front end looks into it between two waits. What was read
 * of its files is given back to the file system, so that a look of days takes no
 * more room than one of seconds.
 */
#include "cmd/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "cmd/read_watch.h"
#include "cmd/recording.h"
#include "reader/follow.h"

#define READ_US     5000
#define HOLD_NS     UINT64_C(30000000) /* six rounds of the recorder */
#define FREE_BYTES  ((uint64_t)1 << 20)
#define SCRATCH_DIR "/tmp"

struct own {
	const struct sonde_command_follower *follower;
	const struct sonde_record_options *options;
	struct sonde_follow *follow;
	int error; /* of the last look; what ended it */
	struct sonde_directory place;
	char directory[PATH_MAX];
	/* Of the i-th file, what was given back. */
	uint64_t *freed;
	size_t nr_freed, freed_room;
};

static void punch(const char *path, uint64_t from, uint64_t to)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	/* A file system that can't has to keep it. */
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)from, (off_t)(to - from));
	(void)close(fd); /* nothing was written */
}

/* What was read of the trace's files, which nobody else reads. */
static void free_behind(struct own *own)
{
	const char *path;
	uint64_t bytes;

	for (size_t i = 0; !sonde_follow_behind(own->follow, i, &path, &bytes);
	     i++) {
		if (i == own->nr_freed) {
			if (SONDE_GROW(own->freed, own->nr_freed,
				       own->freed_room))
				return;
			own->freed[own->nr_freed++] = 0;
		}
		if (bytes - own->freed[i] < FREE_BYTES)
			continue;
		punch(path, own->freed[i], bytes);
		own->freed[i] = bytes;
	}
}

/* For the front end. */
static bool look(void *ctx)
{
	struct own *own = ctx;

	own->error = own->follower->look(own->follower->ctx, 0);
	if (own->error)
		return false;
	if (!own->options->output)
		free_behind(own);
	return true;
}

static int make_scratch(struct own *own, const char *output)
{
	char path[PATH_MAX];

	if (!output) {
		sonde_command_scratch_name("live", SCRATCH_DIR, path);
		output = path;
	}
	return sonde_command_make_directory(output, own->directory,
					    sizeof(own->directory),
					    &own->place) ?
		       SONDE_EXIT_FAILED :
		       0;
}

/* The trace goes, or stays where the user wants it. */
static void leave_place(struct own *own, bool is_kept)
{
	if (is_kept)
		sonde_directory_close(&own->place);
	else
		sonde_directory_remove(&own->place);
	free(own->freed);
	own->freed = NULL;
}

/* The front end had them blocked: from now on Ctrl-C ends our waiting for whoever
 * looks. */
static void wait_with_signals(const struct own *own)
{
	sigset_t mask;

	sonde_watch_begin(own->follower->command->name, false);
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGINT);  /* it is valid */
	(void)sigaddset(&mask, SIGTERM); /* likewise */
	(void)pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
}

static void tell_summary(const struct own *own,
			 const struct sonde_frontend_config *config,
			 struct sonde_frontend_result *result)
{
	if (own->options->program && result->have_summary) {
		(void)sonde_command_explain_nothing(config->program_path,
						    &result->summary);
		sonde_command_explain_rules(own->options, config->program_path,
					    &result->summary);
	}
	for (uint32_t i = 0;
	     i < result->summary.nr_notes && i < SONDE_NOTES_MAX; i++)
		sonde_complain("%s", result->summary.notes[i]);
}

/* From begin to finish. */
static int record(struct own *own, struct sonde_frontend_config *config)
{
	const struct sonde_command_follower *follower = own->follower;
	static struct sonde_frontend_result result;
	int rc = sonde_frontend_run(config, &result);
	bool is_enough;
	int status;

	if (rc) {
		leave_place(own, false);
		/* As if nobody read: nothing was recorded, so nothing is shown
		 * and counted. */
		(void)follower->finish(follower->ctx, -EPIPE);
		return sonde_command_explain_failure(&result, rc);
	}
	wait_with_signals(own);
	if (!own->error)
		own->error = follower->end(follower->ctx);
	leave_place(own, own->options->output);
	is_enough = sonde_command_is_enough(own->error);
	status = follower->finish(follower->ctx, own->error);
	if (is_enough)
		return 0;
	tell_summary(own, config, &result);
	return status ? status :
			sonde_command_exit_status(own->options, &result);
}

static int begin(struct own *own)
{
	const struct sonde_command_follower *follower = own->follower;
	int rc = make_scratch(own, own->options->output);

	if (rc)
		return rc;
	if (sonde_follow_new(own->directory, &own->follow)) {
		sonde_complain("%s: no memory left", follower->command->name);
		rc = SONDE_EXIT_FAILED;
	} else {
		rc = follower->begin(follower->ctx, own->follow, HOLD_NS);
	}
	if (rc)
		leave_place(own, false);
	return rc;
}

static int follow_own(const struct sonde_command_follower *follower,
		      struct sonde_record_options *options)
{
	static struct own own;
	static struct sonde_command_start start;
	int rc;

	options->session.read_timer_us = READ_US;
	options->session.is_scratch = !options->output;
	rc = sonde_command_prepare_recording(options, &start);
	own.follower = follower;
	own.options = options;
	if (!rc)
		rc = begin(&own);
	if (!rc) {
		start.config.look = look;
		start.config.look_ctx = &own;
		start.config.look_ms = SONDE_FOLLOW_LOOK_MS;
		start.config.directory = own.directory;
		start.config.place = &own.place;
		rc = record(&own, &start.config);
	}
	sonde_follow_free(own.follow);
	return rc;
}

int sonde_command_follow(const struct sonde_command_follower *follower,
			 int argc, char **argv,
			 struct sonde_record_options *options)
{
	char error[512];

	if (sonde_record_options_parse_table(follower->command->options, argc,
					     argv, options, error,
					     sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options->help) {
		sonde_help(follower->command);
		return 0;
	}
	return options->name ?
		       sonde_command_follow_session(follower, options->name) :
		       follow_own(follower, options);
}

bool sonde_command_is_enough(int error)
{
	return error == -EPIPE || error == -ECANCELED;
}

int sonde_command_explain_writing(const struct sonde_command *command,
				  int error)
{
	if (!error || error == -EPIPE || error == -EINTR)
		return 0;
	sonde_complain("%s: writing failed: %s", command->name,
		       strerrordesc_np(-error));
	return SONDE_EXIT_FAILED;
}
