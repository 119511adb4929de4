/* SPDX-License-Identifier: MIT */
/*
 * live.c - `sonde live`: the events as they happen, a line each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/follow.h"
#include "cmd/read.h"
#include "cmd/recording.h"
#include "view/live/live.h"
#include "view/text/show.h"

struct live {
	struct sonde_record_options options;
	struct sonde_live *lines;
};

static int begin_live(void *ctx, struct sonde_follow *follow, uint64_t hold_ns)
{
	struct live *state = ctx;
	struct sonde_live_config config = {
		.follow = follow,
		.fd = STDOUT_FILENO,
		.filter = state->options.shown_filter,
		.columns = state->options.columns,
		.hold_ns = hold_ns,
		.json = state->options.json,
		.no_names = state->options.no_names,
		.say = sonde_complain_text,
	};
	struct sonde_show show;

	sonde_show_init(&show, stdout);
	config.colour = show.colour;
	if (!sonde_live_new(&config, &state->lines))
		return 0;
	sonde_complain("live: no memory left");
	return SONDE_EXIT_FAILED;
}

static int skip_live(void *ctx)
{
	return sonde_live_skip(((struct live *)ctx)->lines);
}

static int look_live(void *ctx, uint64_t read_ns)
{
	return sonde_live_look(((struct live *)ctx)->lines, read_ns);
}

static int end_live(void *ctx)
{
	return sonde_live_end(((struct live *)ctx)->lines);
}

static void tell_live_counts(const struct live *state)
{
	struct sonde_live_counts counts;

	sonde_live_count(state->lines, &counts);
	if (!state->options.quiet)
		sonde_complain("%" PRIu64 " events, %" PRIu64
			       " of them shown, %" PRIu64
			       " filtered out, %" PRIu64 " left out; %" PRIu64
			       " lost",
			       counts.events, counts.shown, counts.filtered,
			       counts.left_out, counts.lost);
	if (counts.late)
		sonde_complain("%" PRIu64 " of the events shown came after "
			       "later ones",
			       counts.late);
	if (counts.lost_packets)
		sonde_complain("%" PRIu64 " packets could not be written: "
			       "their events are lost",
			       counts.lost_packets);
	if (counts.damages)
		sonde_complain("in %" PRIu64 " places of the trace, events "
			       "could not be read",
			       counts.damages);
}

static int tell_live_error(const struct live *state, int error_number)
{
	const char *option = sonde_live_wrong_option(state->lines);
	const struct sonde_trace_error *error = sonde_live_error(state->lines);
	bool is_filter = option && !strcmp(option, "--filter");

	if (!option) {
		sonde_complain("live: %s",
			       *error->text ? error->text :
					      strerrordesc_np(-error_number));
		return SONDE_EXIT_FAILED;
	}
	sonde_read_explain(option,
			   is_filter ? state->options.shown_filter :
				       state->options.columns,
			   error);
	return SONDE_EXIT_USAGE;
}

/* What is held back, the counts, and what went wrong. */
static int finish_live(void *ctx, int error)
{
	struct live *state = ctx;
	int writing = 0;
	int status;

	if (!sonde_command_is_enough(error)) {
		writing = sonde_live_drain(state->lines);
		tell_live_counts(state);
	}
	status = error && !sonde_command_is_enough(error) ?
			 tell_live_error(state, error) :
			 sonde_command_explain_writing(&sonde_command_live,
						       writing);
	sonde_live_free(state->lines);
	return status;
}

static int run(int argc, char **argv)
{
	static struct live live;
	const struct sonde_command_follower follower = {
		.command = &sonde_command_live,
		.begin = begin_live,
		.skip = skip_live,
		.look = look_live,
		.end = end_live,
		.finish = finish_live,
		.ctx = &live,
	};

	return sonde_command_follow(&follower, argc, argv, &live.options);
}

const struct sonde_command sonde_command_live = {
	.name = "live",
	.run = run,
	.brief = "NAME | -p PID | -- PROGRAM",
	.does = "the events as they happen",
	.usage = "sonde live NAME [options]\n"
		 "sonde live -p PID|NAME [options]\n"
		 "sonde live [options] -- PROGRAM [ARGS]\n"
		 "\n"
		 "A line for each event, some 100 ms old at most, in the order "
		 "of time.\nCtrl-C ends it.\n",
	.options = sonde_live_option_table,
	.words = SONDE_VALUE_SESSION,
};
